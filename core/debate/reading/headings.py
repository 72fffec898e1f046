"""Classify headings and keys of JSON by what they say of the labels under them.

"Rejected: A" rejects A, and {"initial_labels": ["A"]} is aside: about an earlier decision.

Labels that the decision lacks contradict it, unless the heading is known to reject them or to be aside: about an
earlier decision, about somebody else's, or about evidence.
"""

from __future__ import annotations

import re

from core.debate.reading.decision_markers import (
    CONTENT,
    LOOK_BACK,
    OWN_DECISION,
    ROLE,
    SENTENCE_END,
    MarkedReply,
    is_of_document,
)
from core.debate.reading.tokens import UNITS

_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_DECIDING = re.compile(
    rf"\b(?:{OWN_DECISION}|refined|amended|modified|consensus|recommended|agreed|merged|revision"
    r"|(?:complete|full) (?:list|labels?)|corrections?|correct|outcome|ruling|re-?considered|re-?evaluated|reviewed"
    r"|changed? to|improved|better|actual|keep|kept|proposed|should|suggested|true|instead"
    r"|after (?:the )?(?:debate|discussion|review))\b"
    r"|\A(?:therefore|thus|hence|so|now|ultimately|after \w+|change|in short|in the end|in total|besser|mejor|plutôt"
    r"|round \d+|present|vote|summary|my \w+|(?:(?:the|present|new|best|predicted) )*"
    r"(?:labels?|list|aspects?|topics|themes|tags|codes?|categor(?:y|ies)|class|sentiment|stance|prediction))\Z"
)
"""Headings of a decision that is complete: a label that the list lacks is absent."""
_OWN = re.compile(
    rf"\b(?:{OWN_DECISION}|i|me|my|we|our|after|again|also|but|changed?|conclu\w+|consequently|considering|correction"
    r"|finally|given|hence|however|improved|judging|look(?:ing)?|new|now|on reflection|overall|rather|re-?\w+ed"
    r"|ruling|so|step|summary|sum|taken|therefore|thus|together|ultimately|update|wait)\b|\A\W*round \d"
)
"""Words of a heading over a later decision of the reply itself."""
_FIRST_PERSON = re.compile(r"\b(?:i|me)\b")
_SOMEBODY_ELSES = re.compile(
    r"\b(?:attempt|contain|for reference|inject|manipulat|quot|trick)[^,;]*$|\b(?:not obey|which i ignore)\b"
    rf"|\b(?:author|customer|guest|user|{UNITS}) (?:\w+ )?(?:asks?|begs?|demands?|ends?|orders?|wants?)\b[^,;]*$"
    rf"|\b(?:from the (?:{UNITS})|guest|author|owner|reviewer|someone|user|another|the other|what {ROLE}"
    rf"|{ROLE} (?:proposes|wants|would))\b[^,;]*:\W*$"
)
"""Words before a decision that ascribe it to somebody else: "The guest wants this:", "Attempted manipulation,"."""
_NUMBERED = re.compile(r"(?<!round )\d")
_CORRECTING = re.compile(r"\b(?:final|revised|corrected|updated|new)\b")
REJECTING = re.compile(
    r"\b(?:absen|remov|reject|drop|delet|exclu|incorrect|wrong|unsupp|unment|unsel|unus|inapplic|irrelevan|dismiss"
    r"|discard|omit|withdr|overrul|overturn|filtered out|left out|insufficient|false pos"
    r"|(?:no|not|non|weak|nicht|pas|niet|não)\b|ausen|fehl)|\A[不未没沒无非]"
)
"""Beginnings of words for labels that are absent: "removed", "false_positives"."""
_ASIDE = re.compile(
    r"\b(?:initial|previous|prior(?!it)|earlier|original|first|draft|before|consider|candidate|baseline|gold|reference"
    r"|extractor|criti[cq]|opponent|opposing|annotator|persona|prosecut|defen[cds]|argument\b|counter|votes\b|judge \d"
    r"|alternativ|runner|rival|option|exampl|sampl|evidence|quot|reason|expla|rational|justif|thought|confiden|certain"
    r"|definition|available|codebook|template|guideline|all labels|(?<!re-)evaluated|debated|challenged|contested"
    r"|disputed|objection|conflict|disagree|remaining|weight|counts?\b|max|diff(?:erences?)?\b|averag|normali|rank"
    r"|importan|deduct|mistake|error)"
)
"""Beginnings of words for an earlier decision, for that of another role, for evidence, and for the question."""
NEARLY = re.compile(r"\b(?:second|third|other|nearest|possib|close)")
"""Beginnings of words for a label that would be the next to choose: "second_choice"."""
SUBJECT = re.compile(r"analysis|comment|document|note|parent|text")
"""Parts of keys whose labels are not the decision; an object under one may contain it."""
FURTHER = re.compile(r"\b(?:add(?!ress)|also|extra(?!ct)|further|impli|miss|new|other(?!wise)|secondary|false neg)")
"""Beginnings of words for labels that are present, too: "added", "false_negatives"."""
VERDICT = re.compile(r"\b(?:correct|valid|accurate|right|supported|final)\Z")
"""The end of a key of a yes or no about the decision: "is_correct"."""


def is_deciding(heading: str) -> bool:
    """Return True if the labels under a heading are a complete decision: "Final labels", but not "judge_2"."""
    return has(heading, _DECIDING) and not has(heading, _NUMBERED)


def is_aside(heading: str) -> bool:
    """Return True if the labels under a heading are not the decision: "initial_labels", "The critic's labels"."""
    return has(heading, _ASIDE) and not has(heading, _CORRECTING)


def has(heading: str, pattern: re.Pattern[str]) -> bool:
    """Return True if a heading or key has the words of a pattern: "finalLabels" is read as "final labels"."""
    words = _CAPITAL.sub(" ", heading).replace("_", " ").casefold()
    return pattern.search(" ".join(words.split())) is not None


def is_own(marked: MarkedReply, start: int, earlier: int) -> bool:
    """Return False if words before a decision, from the ``earlier`` position on, ascribe it to somebody else.

    So does a block quotation. The words are those before the decision in its sentence, a heading above it, or the
    beginning of its line up to a colon. A heading must say that the decision is the reply's own.
    """
    begin = max(marked.line_start(start), earlier)
    before = marked.lines[max(begin, start - LOOK_BACK) : start].casefold()
    if is_quoted(marked, start):
        return False
    lead = SENTENCE_END.split(before)[-1]
    if not CONTENT.search(lead):
        lead = before.partition(":")[0] + ":" if ":" in before and earlier < begin else ""
    above = marked.lines[earlier:begin].rstrip(" \n>*_").rpartition("\n")[2][-LOOK_BACK:].casefold()
    is_heading = above.endswith((":", "->", "→")) or above.lstrip().startswith("#")
    headings = [above] if is_heading else []
    if lead.rstrip(" >*_\"'([").endswith((":", "-", "–", "—")):
        headings.append(lead)
    elif _SOMEBODY_ELSES.search(lead):
        return False
    return all(map(_is_own_heading, headings))


def is_quoted(marked: MarkedReply, start: int) -> bool:
    """Return True if a decision is in a block quotation, or ascribed to the document."""
    line = marked.lines[marked.line_start(start) : start]
    return line.lstrip().startswith(">") or is_of_document(marked, start)


def _is_own_heading(heading: str) -> bool:
    """Return True if a casefolded heading, or words up to a colon, announce a decision of the reply itself."""
    if has(heading, REJECTING) or _SOMEBODY_ELSES.search(heading):
        return False
    return _FIRST_PERSON.search(heading) is not None or (_OWN.search(heading) is not None and not is_aside(heading))
