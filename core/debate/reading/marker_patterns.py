"""Patterns of the words that announce a decision: "Final Decision:", "the label is", "I would go with", ...

They match in text in which all white space except line ends is a space, and emphasis too. A group ``colon``, ``mark``
or ``dash`` is the sign after the words; words without one may be part of a sentence about something else. ``<unit>``
is the codebook's word for a document.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, TypeAlias

from core.debate.reading.tokens import DOUBTFUL_WORDS, LABEL_NOUN, UNITS

MarkerKind: TypeAlias = Literal[
    "aspects", "label", "revised", "final", "ratings", "undecided", "heading", "recap", "sentence", "list"
]
"""Kinds of markers.

A ``revised`` one ("I change my label to A", "my label stays A") is a decision only if a label follows. A ``heading``
("Answer: A"), ``sentence`` ("The text is A") or ``list`` ("The text mentions A and B") counts only if nothing else
announces a decision. A ``recap`` ("Extracted aspects: A") may be somebody else's: it is a ``heading`` only if
nothing below discusses it.
"""

_CHOICE = (
    rf"(?:{LABEL_NOUN}|answer|choice|class(?:ification)?|option|prediction|decision|verdict|stance|sentiment|vote"
    r"|tags?)"
)
_TRANSLATED = (
    r"(?:endgültige|abschließende|finale) ++entscheidung|décision ++finale|decisión ++final|decisione ++finale"
    r"|decisão ++final|eindbeslissing|definitieve ++beslissing|ostateczna ++decyzja|(?:итоговое|окончательное)"
    r" ++решение"
    r"|最终(?:决定|决策|判断|答案|标签|类别)|最終(?:決定|判断|判定)"
)
# "my final", "therefore the"
_OWN_PREFIX = (
    r"(?:(?:final|my|the|judge['’]s|predicted|assigned|chosen|overall|selected|best|correct|revised|updated"
    rf"|thus|therefore|so|hence|list ++of|{UNITS}) ++)*"
)
_HEADINGS = (
    rf"{_OWN_PREFIX}(?:{_CHOICE}|conclusion|intents?|emotions?|results?|output|ruling|final"
    r"|(?:final|my|revised|updated) ++list)"
    r"|ausgabe|vorhandene ++aspekte|aspectos ++presentes"
    r"|aspects ++présents|antwort|réponse|respuesta|risposta"
    r"|resposta|antwoord|odpowiedź|ответ|答案|回答|标签|类别|分类|カテゴリー?|ラベル|klasse|kategorien?|catégories?|categorías?|categorias?|aspekte?|etiquetas?"
    r"|étiquettes?|etichett[ae]|rótulos?|etykiet[ay]|метк[аи]"
    r"|therefore|thus|hence"
)
_ADVERB = r"(?: ++(?:as ++follows|the ++following|therefore|thus|hence|only|just|simply|listed ++below))?"
_BEST = r"(?:better|best|closest|right|correct|stronger|strongest|clearer|(?:more|most) ++\w+)"
_FIT = rf"(?:one|fit|match|reading|{_CHOICE})"
_SEEN = "mentioned|discussed|identified|covered|addressed"
_START = r"(?<![^\W_])"
_NO_VERB = (
    r"(?! (?:but|while|whereas|are|is|would|could|might|may|should|were|seem|appear|cannot|(?:are|is|ca)n['’]t)\b)"
)
_SOME = rf"(?:{_NO_VERB}(?:[^\n:#.]|\.(?! ))){{1,120}}?"
# In "the aspects present in this hotel review are" the unit may be any words; that of the codebook is recognised even
# if it contains a verb.
_LOCATION = rf"(?: ++(?:in|of|for) ++(?:(?:this|the|that) ++<unit>|{_SOME}))?"
_NOUN = rf"(?:<unit>|{UNITS})"
_VERB = rf" ++(?:are|is|should ++be)\b{_ADVERB}(?: ++that\b(?! ++of\b))?(?: *+(?P<colon>:))?"
_BELIEVED = r"(?:(?:that|which) ++)?(?:(?:i|we) ++(?:believe|think|find|consider|see) ++)?"
_SUITABLE = r"(?:most ++|best ++)?(?:appropriate|fitting|suitable|accurate)"
_MINE = rf"(?:my|the) ++(?:(?:earlier|initial|original|previous|first|final) ++)?{_CHOICE}"
_SURELY = (
    r"(?:(?:best|most ++\w+|therefore|thus|clearly|plainly|definitely|overwhelmingly|unambiguously|strongly|mainly"
    r"|primarily|mostly|predominantly|explicitly|openly|genuinely|simply|obviously|directly|certainly) ++)*+"
)
_COUNT = r"(?:(?:one|two|three|four|five|six|\d{1,2}) ++)?"
_CLEARLY = (  # "clearly mentions", not "hardly mentions"
    rf"(?:(?!(?:{DOUBTFUL_WORDS})\b)\w+ly ++)?"
)
_THE_LABELS = rf"(?: ++(?:the ++)?(?:following ++)?{LABEL_NOUN}(?: ++of)?)?"
_IS_ABOUT = (
    r"(?:mentions|discusses|addresses|covers|contains|includes|concerns|touches ++(?:up)?on|talks ++about"
    r"|deals ++with|is ++about)"
)

# "Final Decision: A", "the final answer is A"
_FINAL = (
    rf"{_START}(?:final[ _]++(?:decision|verdict|answer|choice|{LABEL_NOUN})|{_TRANSLATED})(?: *+\([^()\n]{{0,60}}\))?"
    rf"(?:{_VERB}| *+(?P<mark>:)| ++(?P<dash>[-–—]|->|=>?|→) )"
)
# "## Final Decision" on a line of its own
_FINAL_HEADING = rf"^[ >#\d.)_-]*+(?:final ++(?:decision|verdict|answer|choice|{LABEL_NOUN})|{_TRANSLATED})[ ._]*+$"
_BOXED = r"\\boxed *+\{ *+(?:\\(?:text|textbf|mathrm) *+\{)?+"
# "I would go with A", "we classify it as A"
_CHOSEN = (
    rf"{_START}(?:i|we)(?: ++(?:would|will|must|am|therefore|thus|hence|finally|now|still)|['’](?:d|ll|m))*+ ++"
    r"(?:choos(?:e|ing)|select(?:ing)?|pick(?:ing)?|(?:go|stay|stick)(?:ing|k?ing)? ++with|settl(?:e|ing) ++on"
    r"|decid(?:e|ing) ++(?:for|on)"
    r"|(?:classify|label|categori[sz]e|annotate|mark) ++(?:it|this(?: ++\w++)?|the ++\w++) ++as"
    r"(?: ++expressing)?) *+(?P<mark>:)?+"
)
# "Answer:" with the label on the next line
_TITLED = rf"^[ >#\d.)_-]*+(?:{_CHOICE}|conclusion|result)[ ._]*+(?P<colon>:)?+[ _]*+$"
# "Answer: A", "My label -> A", "=> A"
_LED = rf"(?:^[ >#•\d.)_-]*+|(?<=[.!?] ))(?:{_HEADINGS})[ _]*+(?P<mark>->|=>|[:=→]|[-–—] )|^[ _]*+(?:=>|->|[→⇒])"
# "Extracted aspects: A, B", "Priority: A"
_RECAP = (
    rf"^[ >#•\d.)_-]*+{_OWN_PREFIX}(?:(?:extracted|identified|detected) ++(?:{_CHOICE}|intents?|emotions?)"
    r"|response|priority|level|severity(?: ++level)?)[ _]*+[:=]"
)
# "Die Antwort ist A", "the label is A", "la etiqueta más adecuada es A", "最合适的标签是A"
_ANSWERED = (
    r"(?:^[ >#•\d.)_-]*+|[.,;!?] ++|[。，；] *+)"
    r"(?:(?:(?:die|das|la|le|el|il|a|het|the) ++|l['’])?+"
    r"(?:(?:richtige|passende|beste|am ++besten ++passende|bonne|meilleure|mejor|migliore|melhor) ++)?+"
    r"(?:antwort|réponse|respuesta|risposta|resposta|antwoord|label|étiquette|etiqueta|etichetta)"
    r"(?: ++(?:la ++)?(?:plus|más|più|mais) ++\w++)?+"
    r" ++(?:ist|lautet|est|es|è|é|is)\b(?: ++(?:donc|daher|also|quindi))?+"
    r"|(?:daher|also|somit|deshalb|folglich) ++ist ++das ++(?:(?:richtige|passende|beste) ++)?+label"
    r"|(?:因此|所以)?(?:[这该此][^\n，。：:]{1,6}的)?(?:最终|最終|正确的?|最(?:合适|适合|恰当|佳)的?)?"
    r"(?:(?:答案|回答|标签)[是为]|(?:回答|ラベル)は)) *+(?P<mark>:)?+"
)
# "Undecided: A, B"
_UNDECIDED = rf"^[ >#+•\d.)_-]*+undecided(?: ++{LABEL_NOUN})?_* *+(?P<mark>:)"
# "A is the better fit", "both are plausible, but A fits best": the name comes first
_NAME_FIRST = (
    r"(?:^[ >#*_-]*+|[.!?,;] ++(?:(?:but|so|and) ++)?"
    r"|\b(?:i|we) ++(?:still ++)?(?:think|believe|find) ++(?:that ++)?+)"
    rf"(?=[^\n,.;:]{{1,60}}? ++(?:(?:is|remains|seems) ++(?:clearly ++)?the ++{_BEST} ++(?:\w++ ++)?{_FIT}\b"
    r"|(?:fits|matches|describes ++(?:it|this)) ++(?:the ++\w++ ++)?(?:best|better)\b"
    r"|it ++is[.! _]*+$))"
)
# "After considering both, A." and nothing else on the line
_CONCLUDED = (
    r"^(?:after|having|upon|based ++on|given|considering|weighing|taking|overall|all ++in ++all"
    r"|in ++(?:sum|summary|short|conclusion|the ++end)|to ++conclude|finally|ultimately|therefore|thus|hence|so)\b"
    r"(?![^,\n]{0,80}\b(?:only|just|alone|if|without|except)\b)[^,\n]{0,80}, ++(?=[^,.;:\n]{1,60}[.!]?[ _]*+$)"
)
# "I agree with annotator 2: A"
_AGREED = r"(?:^|[.!?] ++)(?:so ++)?(?:i|we) ++(?:agree|side ++with)\b[^:.\n]{0,60}:"
# "Les aspects présents dans cet avis sont : A", "提到的方面:A"
_ASPECTS_TRANSLATED = (
    rf"{_START}(?:l[aeo]s|os|as|gli|le|die|de) ++(?:in ++{_SOME} ++)?(?:vorhandenen ++|aanwezige ++)?"
    r"(?:aspe[ckt]\w++|labels|etiquetas|étiquettes|etichette) ++(?:(?:presentes|présente?s|presenti) ++)?"
    rf"(?:(?:en|dans|in|nell\w*|n[ao](?! presentes?\b)) ++{_SOME} ++)?(?:sind|sont|son|sono|são|zijn) *+(?P<mark>:)"
    r"|(?:存在する|言及されている|含まれる|該当する)(?:側面|ラベル|カテゴリー?|トピック)は"
    r"(?:(?:次|以下)の(?:とおり|通り)(?:です)?)?+ *+(?P<dash>:)"
    r"|(?:提到|提及|涉及|包含|存在|出现)[^\n:]{0,10}(?:方面|标签|类别|主题)(?:是|为|有|包括|如下)?+ *+(?P<colon>:)"
)
# "the aspects present in this review are"
_PRESENT = (
    rf"{_START}(?:(?:the ++)?present ++{LABEL_NOUN}"
    rf"|(?:the ++)?(?:(?:only|final) ++)?{LABEL_NOUN} ++{_BELIEVED}(?:(?:are|is|to ++be|as) ++)?"
    rf"(?:(?:actually|clearly|explicitly) ++)?(?:present|{_SEEN})){_LOCATION}(?:{_VERB}| *+(?P<mark>:))"
)
# "the labels are", "the final label of this text is", which needs the article
_NAMED = (
    rf"{_START}(?:the|my) ++(?:(?:final|only|correct|right|best|predicted|overall|relevant|applicable"
    rf"|{_SUITABLE}) ++)*+{_CHOICE}"
    rf"(?: ++that ++(?:best ++)?(?:fits|applies|describes)(?: ++(?:this|the) ++(?:{_NOUN}|\w++))?(?: ++best)?)?"
    rf"{_LOCATION}{_VERB}"
)
# "I change my label from B to", "my label stays", "the correct label would be"
_REVISED = (
    rf"{_START}(?:(?:i|we)(?: ++(?:would|will|must|am|have|therefore|thus|hence|now|still)|['’](?:d|ll|m|ve))*+ ++"
    rf"(?:(?:chang|revis|updat|adjust|correct|switch|amend)(?:e|es|ed|ing)? ++{_MINE}"
    rf"(?: ++from ++[^\n.:;]{{1,60}}?)? ++to"
    rf"|(?:keep|maintain|retain|confirm|reaffirm|stand ++by|hold ++(?:on ++)?to)(?:ing)? ++{_MINE}"
    rf"(?: ++(?:of|as|at)|(?=[,:]| [-–—] )))"
    rf"|(?:my ++(?:(?:final|own) ++)?|the ++(?:(?:final|correct|right|best|{_SUITABLE}) ++)++){_CHOICE}{_LOCATION}"
    rf" ++(?:remains|stays|(?:would|must|has ++to|will) ++be|is ++still))[,]?+(?: *+(?P<colon>:))?+"
)
# "this text is best labelled as"
_CLASSED = (
    rf"{_START}(?:this|the) ++{_NOUN} ++(?:is|(?:should|can|would) ++be) ++{_SURELY}"
    r"(?:(?:classified|labell?ed|categori[sz]ed|annotated|coded|marked) ++as|labell?ed) *+(?P<mark>:)?+"
)
# "The tweet clearly expresses A"
_EXPRESSED = (
    rf"(?:this|the) ++{_NOUN} ++{_SURELY}(?:expresses|conveys|signals|displays"
    r"|falls ++(?:under|into)(?: ++the ++(?:category|class)(?: ++of)?)?)"
    r"(?: ++(?:strong|clear|deep|(?:an? ++)?(?:\w++ ++)?(?:sense|feelings?) ++of))?"
)
# "I would assign A", "I vote for A", "I'd label this tweet A"; who leans towards A has not decided
_ASSIGNED = (
    r"(?:i|we)(?: ++(?:would|would ++rather|still|clearly)|['’]d)?+ ++(?:"
    r"assign|vote(?: ++for)?|opt ++for|favou?r|maintain|stand ++by|say(?: ++that ++it ++is)?"
    rf"|(?:label|classify|code|mark|tag) ++(?:it|this(?: ++{_NOUN})?|the ++{_NOUN}))"
)
# "The emotion that fits best is A", "the better fit is A"
_BETTER = (
    r"the ++(?:\w++ ++that ++(?:best ++)?(?:fits|applies|matches|describes ++(?:it|(?:this|the) ++\w++))"
    rf"(?: ++best)?|{_BEST} ++(?:(?!alternative|competing)\w++ ++)?{_FIT}(?: ++(?:here|overall))?{_LOCATION}) ++is"
)
# sentences that state a label, of which some have the name first
_STATED = rf"{_START}(?:{_EXPRESSED}|{_ASSIGNED}|{_BETTER}) *+(?P<colon>:)?+|{_NAME_FIRST}|{_CONCLUDED}|{_AGREED}"
# "the main emotion", "the overall tone of this text"
_MAIN = (
    r"the ++(?:(?:dominant|predominant|prevailing|primary|main|overall|strongest|underlying) ++)++"
    rf"(?:emotion|feeling|mood|tone|attitude|intent|{_CHOICE})(?: ++(?:expressed|conveyed|shown|here))?{_LOCATION}"
)
# "this text is clearly", "the main emotion is", "it is described as"
_PLAINLY_STATED = (
    rf"{_START}(?:(?:(?:this|the) ++{_NOUN}|this|it|{_MAIN}|^the ++(?:emotion|feeling|mood)) ++is|it['’]s) ++"
    rf"{_SURELY}"
    r"(?:(?:described|characteri[sz]ed|classified|labell?ed|categori[sz]ed|understood|interpreted|read|seen) ++"
    r"as ++)?(?:an? ++)?"
)
# "this text mentions two aspects:", "it covers nothing but"
_MENTIONING = (
    rf"{_START}(?:this|the) ++{_NOUN} ++{_CLEARLY}(?:mentions|discusses|addresses|covers|contains)"
    rf" ++(?:nothing ++but|(?:only ++)?(?:(?:the ++following|these) ++)?{_COUNT}{LABEL_NOUN} *+(?P<mark>:))"
)
# "the review touches on", "I would tag it with", "two aspects apply here:"
_LISTED = (
    rf"(?:{_START}(?:this|the) ++{_NOUN} ++{_CLEARLY}{_IS_ABOUT}{_THE_LABELS}"
    r"|\b(?:i|we)(?: ++would|['’]d)?+ ++(?:(?:tag|label|annotate|mark|code)"
    rf" ++(?:it|(?:this|the) ++{_NOUN}) ++(?:with|as)|assign){_THE_LABELS}"
    rf"|\b(?:i|we) ++(?:found|find|identif(?:y|ied)|see|detect(?:ed)?) ++"
    rf"{_COUNT}(?:relevant ++)?{LABEL_NOUN}{_LOCATION}(?=:)"
    rf"|(?:^|[.!] ++)(?:(?:only|these) ++)?{_COUNT}{LABEL_NOUN} ++"
    r"(?:apply|are ++(?:present|relevant))(?: ++here)?(?=:)"
    rf"|(?:^|[.!] ++){LABEL_NOUN} ++for ++(?:this|the) ++{_NOUN} ++are|\bmy ++(?:final ++)?list ++is)"
    r"(?: *+(?P<colon>:))?+"
)
# "final ratings:"
_RATING = rf"{_START}final ++(?:ratings?|scores?)(?:{_LOCATION}(?:{_VERB}| *+(?P<mark>:))|[ ._]*+$)"
# "my ratings of this text are:"
_RATED = rf"{_START}(?:the|my) ++(?:final ++)?(?:ratings|scores){_LOCATION} ++are *+(?P<mark>:)"

_FORMS: tuple[tuple[MarkerKind, str], ...] = (
    ("aspects", _PRESENT),
    ("label", _NAMED),
    ("final", _FINAL),
    ("final", _FINAL_HEADING),
    ("ratings", _RATING),
    ("ratings", _RATED),
    ("undecided", _UNDECIDED),
    ("label", _BOXED),
    ("label", _CHOSEN),
    ("label", _CLASSED),
    ("revised", _REVISED),
    ("sentence", _STATED),
    ("heading", _TITLED),
    ("sentence", _PLAINLY_STATED),
    ("heading", _LED),
    ("recap", _RECAP),
    ("heading", _ANSWERED),
    ("aspects", _MENTIONING),
    ("list", _LISTED),
    ("aspects", _ASPECTS_TRANSLATED),
)


@lru_cache(maxsize=32)
def marker_patterns(unit: str) -> tuple[tuple[MarkerKind, re.Pattern[str]], ...]:
    """Return all patterns with their kinds, for documents of a unit ("hotel review")."""
    words = " ++".join(map(re.escape, unit[:200].split())) or "text"
    flags = re.IGNORECASE | re.MULTILINE
    return tuple((kind, re.compile(form.replace("<unit>", words), flags)) for kind, form in _FORMS)
