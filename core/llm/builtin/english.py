"""Lists about English words: which take which endings, and which belong together."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a list that is written as running text."""
    return frozenset(text.split())


def groups(text: str) -> tuple[frozenset[str], ...]:
    """Groups of words, separated by bars or line ends."""
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
