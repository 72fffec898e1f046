"""Words: cutting a text into tokens, and the forms under which an English word turns up in it.

There is no stemmer. A stemmer merges words of the text ("wine" and "win"); writing out the forms of the few words that
a codebook holds does not, and leaves one dictionary look-up per token of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

_SINGLE = "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Scripts that are written without spaces, or that glue particles to words: each character is a token."""

_TOKEN = re.compile(rf"[{_SINGLE}]|(?:[^\W_{_SINGLE}][\u0300-\u036f]*)+|[$€£¥₹%]|[\u2600-\u27bf\U0001f300-\U0001faff]")

_VOWEL = re.compile("[aeiouy]")
_CVC = re.compile(r"^[^aeiou]*[aeiou][^aeiouwxy]$")
_SIBILANT = ("s", "x", "z", "ch", "sh")


def tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Each token of ``text`` as it is compared, with its offsets. Apostrophes, hyphens and other marks separate."""
    for match in _TOKEN.finditer(text):
        yield fold(match.group()), match.start(), match.end()


def fold(word: str) -> str:
    """``word`` casefolded and without accents."""
    if word.isascii():
        return word.lower()
    plain = "".join(mark for mark in unicodedata.normalize("NFKD", word) if not unicodedata.combining(mark))
    return (plain or word).casefold()


@lru_cache(maxsize=4096)
def forms(word: str) -> frozenset[str]:
    """Every form under which ``word`` (a token) counts as found: plurals, tenses, comparisons, adverbs, spellings."""
    if not word.isascii() or not word.isalpha() or len(word) < 3:
        return frozenset({word, f"{word}s"} if word.isascii() and word.isalpha() else {word})
    found: set[str] = {word}
    for base in _bases(word):
        for spelling in _related(base, SPELLINGS):
            for related in _related(spelling, IRREGULAR):
                for kin in _related(related, FAMILIES):
                    found.update(_inflections(kin))
    return frozenset(found)


def _related(word: str, groups: tuple[frozenset[str], ...]) -> frozenset[str]:
    return frozenset({word}).union(*(group for group in groups if word in group))


def _bases(word: str, depth: int = 0) -> set[str]:
    """``word`` and what it may be a form of; a base that is no word does no harm, as no text contains its forms."""
    if word in NOT_DERIVED:
        return {word}
    bases = {base for base in _shorter(word) if len(base) > 2 and _VOWEL.search(base)}
    if depth < 2:
        bases = bases.union(*(_bases(base, depth + 1) for base in bases))
    return {word} | bases


def _shorter(word: str) -> Iterator[str]:
    if word.endswith("ies"):
        yield word[:-3] + "y"
        yield word[:-1]
    elif word.endswith("es") and word[:-2].endswith((*_SIBILANT, "o")):
        yield word[:-2]
        yield word[:-1]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        yield word[:-1]
    elif word.endswith("ied"):
        yield word[:-3] + "y"
    elif word.endswith("ed") and not word.endswith("eed"):
        yield from _stems(word[:-2])
    elif word.endswith("ing"):
        yield from _stems(word[:-3])
    elif word.endswith("iness"):
        yield word[:-5] + "y"
    elif word.endswith("ness"):
        yield word[:-4]
    elif word.endswith("ly") and word not in NOT_ADVERBS:
        yield word[:-3] + "y" if word.endswith("ily") else word[:-2]
        if word.endswith("bly"):
            yield word[:-1] + "e"
    elif word.endswith(("er", "est")):
        stem = word.removesuffix("er") if word.endswith("er") else word.removesuffix("est")
        longer = stem[:-1] + "y" if stem.endswith("i") else stem + "e"
        for base in (stem, longer, stem[:-1]):
            if base in GRADABLE:
                yield base


def _stems(stem: str) -> Iterator[str]:
    """Yield the possible stems before -ed or -ing."""
    if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "aeiou":
        yield stem[:-1]
        yield stem
    elif _CVC.match(stem):
        yield stem + "e"
    else:
        yield stem
        yield stem + "e"


def _inflections(base: str) -> Iterator[str]:
    yield base
    soft = len(base) > 2 and base.endswith("y") and base[-2] not in "aeiou"
    stem = base[:-1] + "i" if soft else base
    if base not in ("new", "mean", "good", "custom"):
        yield stem + "es" if soft or base.endswith((*_SIBILANT, "o")) else base + "s"
        if base.endswith("o"):
            yield base + "s"
    if base.endswith("e"):
        verb = gerund = base[:-1]
    else:
        verb, gerund = stem, base
        if _CVC.match(base):
            verb = gerund = base + base[-1]
    yield verb + "ed"
    yield "un" + verb + "ed"
    if base not in NOT_OVER:
        yield "over" + verb + "ed"
        yield "under" + verb + "ed"
    if not base.endswith("ee"):
        yield gerund + "ing"
    if base in GRADABLE:
        yield "un" + base
        yield verb + "er"
        yield verb + "est"
    if base + "ly" not in NOT_ADVERBS:
        yield base[:-1] + "y" if base.endswith("le") else stem + "ly"
    for noun in (stem + "ness", stem + "liness"):
        if noun not in NOT_DERIVED:
            yield noun


def words(text: str) -> frozenset[str]:
    """Return the words of a list written as running text."""
    return frozenset(text.split())


def groups(text: str) -> tuple[frozenset[str], ...]:
    """Return groups of words, separated by bars or line ends."""
    return tuple(words(group) for group in text.strip().replace("\n", "|").split("|"))


def phrases(text: str) -> tuple[str, ...]:
    """Phrases, separated by bars or line ends."""
    return tuple(phrase.strip() for phrase in text.strip().replace("\n", "|").split("|"))


GRADABLE = words(
    """
    big bland bold bright broad calm cheap chewy chilly clean clear close cold comfy cool cosy cozy crisp damp
    dark deep dense dim dirty dry dull dusty easy fair fancy fast fat fine firm flat fresh friendly funny greasy
    grim grubby grumpy happy hard harsh healthy heavy high hot juicy kind large late lazy light lively long loud
    low messy mild moody nasty near neat new nice noisy old plain pleasant polite poor pretty pricey pure quick
    quiet rare rich rough rude sad safe salty shabby sharp short sick simple slick slow small smart smelly
    smooth soft sour spicy steep sticky stiff strange strict strong sturdy sweet tall tasty tender thick thin
    tight tiny tough ugly vague warm weak wet wide wild wise worn young
    """
)
"""Adjectives that are compared with -er and -est."""

NOT_ADVERBS = words(
    """
    friendly lovely lively likely homely costly elderly family early only daily weekly monthly yearly hourly
    ugly belly jelly fly reply supply rely italy assembly butterfly lonely orderly partly hardly lately nearly
    barely mostly holy july ally rally bully folly apply comply multiply silly hilly chilly curly oily smelly
    wooly woolly
    """
)
"""Words on -ly that are not their stem made an adverb."""

NOT_DERIVED = words(
    """
    building setting lighting parking booking serving dressing filling topping meeting opening bedding evening
    morning wedding pudding ceiling clothing nothing something anything everything during wing king ring sing
    thing string spring sterling shilling sibling darling herring bearing bed red hundred speed need seed feed
    bread breed indeed sacred naked wicked weed reed news lens series species business witness fitness likeness
    highness illness wellness his this us gas bus plus christmas always perhaps goods means customs
    """
)
"""Words that end like a derived form and are none, or mean something of their own."""

NOT_OVER = words("look rate see hear come go take turn stand lie do work state wear value line")
"""Verbs that "over" and "under" make into another word."""

IRREGULAR = groups(
    """
    man men | woman women | child children | mouse mice | knife knives | loaf loaves | shelf shelves | half halves
    foot feet | tooth teeth | goose geese | wife wives | life lives | pay paid | eat ate eaten | drink drank drunk
    sit sat | sleep slept | smell smelt | spend spent | buy bought | speak spoke spoken | steal stole stolen
    break broke broken | sell sold | teach taught | learn learnt | write wrote written | drive drove driven
    fly flew flown | ride rode ridden | lose lost | spill spilt | burn burnt | freeze froze frozen
    forget forgot forgotten | hear heard | build built | send sent | grow grew grown | costly cost
    pricey pricier priciest
    """
)
"""Plurals and tenses that no ending leads to."""

FAMILIES = groups(
    """
    taste tasty tasteless | spice spicy | salt salty | flavour flavourful flavourless | noise noisy noiseless
    dirt dirty | dust dusty | stain stainless | grease greasy | smell smelly | expense expensive inexpensive
    afford affordable unaffordable | decor decoration decorate decorative | locate location | reserve reservation
    comfort comfortable comfy uncomfortable | hygiene hygienic unhygienic | help helpful unhelpful helpfulness
    polite impolite | patient impatient | romance romantic | atmosphere atmospheric
    reliable unreliable reliability | attentive inattentive attentiveness | knowledge knowledgeable
    hospitable hospitality inhospitable | competent incompetent competence incompetence
    professional unprofessional professionalism | efficient inefficient efficiency | complain complaint
    apology apologise apologize apologetic apologies | explain explanation | organise organisation
    organize organization | deliver delivery | refund refundable | luxury luxurious
    convenient inconvenient convenience | accessible inaccessible accessibility | durable durability
    sterile sterility | quiet quietness unquiet
    """
)
"""Words of one family. A small start, for words that annotators look for."""

SPELLINGS = groups(
    """
    mould mold | mouldy moldy | cosy cozy | grey gray | centre center | theatre theater | flavour flavor
    flavourful flavorful | colour color | colourful colorful | odour odor | neighbour neighbor
    neighbourhood neighborhood | behaviour behavior | yoghurt yogurt | chilli chili | omelette omelet
    doughnut donut | programme program | pyjamas pajamas | ambience ambiance | savoury savory | litre liter
    metre meter | fibre fiber | jewellery jewelry | licence license | defence defense | apologise apologize
    organise organize | recognise recognize | realise realize | harbour harbor | honour honor | storey story
    favourite favorite
    """
)
"""British and American spellings."""


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


IDIOMS = phrases(
    """
    first place | second place | third place | take place | taking place | taken place | all over the place
    in place of | fall into place | place an order | place our order | place my order | place the order
    in order to | in order for | in short order | made to order | out of order | law and order | of course
    in due course | can't wait | cant wait | cannot wait | couldn't wait | could not wait | check out | check it out
    check them out | check this out | check this place out | double check | reality check | pay attention
    pay a visit | pay our respects | pay off | at any cost | at all costs | last minute | any minute | wait a minute
    up to the minute | no room for | room for improvement | make room for | elbow room | spot on | hit the spot
    soft spot | blind spot | raise the bar | set the bar | behind bars | bar none | free time | time flies
    in the mood | in no mood | change of scene | at the end of the day | word of mouth | food for thought
    piece of cake | icing on the cake | big cheese | spill the beans | best thing since sliced bread | grain of salt
    pinch of salt | salt of the earth | small potatoes | hot potato | couch potato | sour grapes | in a nutshell
    big apple | bad apple | walk on eggshells | out to lunch | in a pickle | go bananas | in hot water
    keep the change | face value | for what it's worth | worth a try | worth a look | worth a visit | worth the trip
    worth mentioning | worth noting | worth remembering | cheap shot | talk is cheap | than we bargained for
    than i bargained for | right on the money | fit the bill | foot the bill | clean bill of health
    tip of the iceberg | tip of my tongue | tip of the tongue | come clean | clean break | clean slate | clean cut
    quick and dirty | dirty look | bite the dust | dust settled | crystal clear | shot in the dark | dark horse
    in light of | in the light of | see the light | make light of | green light | light hearted | loud and clear
    out loud | cold shoulder | cold feet | in cold blood | hot topic | face the music | music to my ears
    far from it | as far as | so far as | by far | far and away | near miss | nowhere near | close to tears
    close to perfect | close call | close second | next to nothing | next to impossible | walk in the park
    miles better | miles ahead | a mile off | point of view | in view of | with a view to | corner the market
    cut corners | middle of the road | a host of | a whole host of | guest of honour | guest of honor | staff writer
    lip service | secret service | jury service | at your service | slow but sure | slowly but surely
    sooner or later | wish list | bucket list | to do list | special occasion | nothing special | no choice but
    no option but | by choice | variety of reasons | spice of life | turn the tables | take a back seat
    edge of your seat | across the board | drawing board | in the long run | run of the mill | big deal
    great deal of | good deal of | deal with | deal breaker | pay the price | drop of a hat | half the battle
    par for the course | out of the question | at a loss | by chance | high time | fine tune | break even
    break down | in good hands | kill time | out of sight | in the long term | bored to tears | line of work
    in line with | a matter of taste | taste in music | have seen better days | rain check | food chain
    cook the books | spread the word | on the other hand | second to none | hands down | fresh air | fresh start
    """
)
"""A hit inside one of them is doubted. Each word stands for its forms: "pay attention" covers "paid attention"."""
