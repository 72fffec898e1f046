"""Words that say nothing about a label: function words, and words too general to tell labels apart."""

from __future__ import annotations

import re

from core.llm.builtin.english import words

FUNCTION_WORDS = words(
    """
    a about above across after again against all almost along already also although always am among an and
    another any anyone anything are aren around as at away back be became because become been before behind
    being below beside besides between beyond both but by came can cannot could couldn d did didn do does doesn
    doing don done down during each eg either else enough etc even ever every everyone everything except far few
    for from further get gets getting given go goes going gone got had hadn half has hasn have haven having he
    hence her here hers herself him himself his how however i ie if in indeed instead into is isn it its itself
    just keep kept last least less let like ll m made make makes making many may maybe me mere might mine more
    most mostly much must my myself near neither never no nobody none nor not nothing now of off often on once
    one ones only onto or other others otherwise our ours ourselves out over own per perhaps please put quite
    rather re really s same seem seemed seems several shall she should shouldn since so some somebody someone
    something sometimes somewhat soon still such t take taken than that the their theirs them themselves then
    there therefore these they this those though through throughout thus till to together too took toward
    towards under unless until up upon us used using usually ve very via vs was wasn we well went were weren
    what whatever when whenever where whereas wherever whether which while who whoever whole whom whose why will
    with within without won would wouldn yes yet you your yours yourself yourselves
    """
)
"""Never searched for on their own, whoever lists them."""

GENERIC_WORDS = words(
    """
    able absolutely actual actually amazing anyway anywhere apart apply appropriate ask asked aspect aspects
    author awesome awful bad best better big bit bring brought case certain certainly clear clearly come comes
    coming comment comments completely concern concerned concerning concerns consider considered contain
    contains content count counts couple customer customers day days decent define defined definitely definition
    describe described describes describing description detail details difference different directly discuss
    discussed discusses discussion document documents eight end entire entirely especially event everywhere
    exactly example examples excellent experience experiences express expressed expresses expressing extremely
    fact fantastic feel feeling feels felt fifty find fine first five forty found four full fully general
    generally give gives giving good great guest guests happen happened happens happy hardly high highly
    horrible hour hours hundred idea important impression include included includes including incredible
    indicate indicates issue issues item items kind kinds know known label labels large late later leave left
    level literally little long look looked looking looks lot lots love loved lovely low main mainly matter
    matters mean means mention mentioned mentions merely minute minutes month months name named namely need
    needed needs new next nice night nine number old opinion opinions order overall part particular particularly
    parts people perfect person poor possible present pretty problem problems provide provided provides quality
    question questions read reader reason recommend refer reference refers related relates relating relation
    relevant remark remarks report reports return review reviewer reviewers reviews right said say saying says
    second see seen sense sentence sentences seven short show shows simple simply single six small sort sorts
    speak speaks special specific specifically state stated statement statements states stay stayed stuff
    suggest suggests super sure talk talks tell tells ten term terms terrible terribly text texts thing things
    think third thirty thought thousand three time times today told tomorrow topic topics tried try trying turn
    twelve twenty two type types typical typically unit use useful user users various visit visited visits want
    wanted wants way ways week weeks wish wonderful word words work worked working works worse worst write
    writer writes writing wrong wrote year years yesterday
    """
)
"""Left out of words that are derived from descriptions and examples. A keyword or a name may well be one of them."""

COMMON_WORDS = words(
    """
    add afternoon allow april august autumn become begin change continue create december dozen eighty eleven
    evening expect fall february fifteen follow friday grow half hold january july june lead live march meet
    midnight million moment monday morning move ninety noon november october pass period pull raise remain
    remember require run saturday send september seventy sixty start summer sunday thursday tuesday turn
    understand watch wednesday weekend win winter
    """
)
"""As general as the above; these are left out in all their forms."""

CATCH_ALL_NAMES = words("other others miscellaneous misc general overall unknown rest remaining anything")
"""Label names that no text contains when it means them."""

NEGATIONS = words("not excluding except excludes excluded without unless nor")
"""Words after which a description lists what does not count."""

PREDICATE_NEGATION = re.compile(
    r"\b(?:(?:is|are) (?:not|no)|(?:do|does|should|must|may) not (?:count|belong|include|qualify|apply|fall|be|mean)|"
    r"doesn't count|don't count|isn't|aren't|says? nothing|not enough|neither (?:is|are|do|does))\b",
    re.IGNORECASE,
)
"""Makes a sentence of a description one about what does not count."""
