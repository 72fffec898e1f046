"""Answers in JSON: which label a value names, and what it answers for a label."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from core.debate.reading.choice_grammar import read_choice
from core.debate.reading.headings import FURTHER, REJECTING, SUBJECT, has, is_aside
from core.debate.reading.json_blocks import DEPTH, entry_name, lookup, nested
from core.debate.reading.label_names import Names
from core.debate.reading.labels_grammar import UNLIKELY, Unreadable, is_comment, sole_answer
from core.debate.reading.tokens import NEGATION_KINDS, NO_ANSWER, UNITS, MaybeAnswer, tokenise
from core.documents import is_number

CHOSEN = (
    "answer", "choice", "category", "class", "classification", "prediction", "decision", "verdict", "code", "stance",
    "sentiment", "intent", "emotion", "final_decision", "final_answer", "final_label", "predicted_label",
)  # fmt: skip
PRESENT = ("present", "present_labels", "present_aspects", "labels_present", "aspects_present", "included", "selected",
            "final_labels", "final_aspects", "final", "topics", "categories", "themes", "frames", "codes",
            "tags")  # fmt: skip
ABSENT = ("absent", "absent_labels", "absent_aspects", "not_present", "excluded", "rejected", "removed", "dropped")
"""Keys of the one label, of the present and the absent ones."""
UNDECIDED = ("undecided", "uncertain", "unclear", "unsure", "borderline", "possible", "maybe")
"""Keys of labels that are left open."""
DECIDING_KEYS = frozenset({*CHOSEN, *PRESENT})
"""Keys of a decision of any kind."""
_QUESTION = re.compile(r"format|schema|inject|request")
"""Parts of keys of an object that repeats the question."""
_ANSWER_KEYS = frozenset({"present", "answer", "value", "decision", "verdict", "status", "applies", "applicable",
                          "mentioned", "included", "selected", "ruling", "judgment", "judgement", "outcome",
                          "supported", "valid", "is_valid", "is_present", "keep"})  # fmt: skip
_EVIDENCE = frozenset({"quote", "quotes", "evidence"})
_NOTES = frozenset(
    {"label", "name", "aspect", "dimension", "quote", "quotes", "evidence", "reason", "reasons", "reasoning", "why",
     "explanation", "rationale", "justification", "confidence", "score", "comment", "note", "notes", "sentiment"}
)  # fmt: skip
_CERTAINTY = re.compile(
    r"(?:.*[_ ])?(?:certain(?:ty)?|conf(?:iden(?:t|ce))?|likel(?:y|ihood)|presence|prob(?:ability)?)"
    r"(?:[_ ]of[_ ]\w+|[_ ]present)?(?:[_ ]?(?:score|level|value|pct|percent))?|support"
    r"|(?:(?:evidence|support)[_ ])?(?:score|strength)"
)
"""Keys that state how sure it is that a label is present."""
_RELEVANCE = re.compile(r"(?:relevance|presence|support|evidence_)(?!\w*count)")
"""Parts of keys where 0, or a low value in words, doubts a label."""
_ASIDE = re.compile(r"object|counter|issue|concern|problem|doubt|caveat|limitation|type|kind")
"""Parts of keys whose value does not concern the label unless it is absent: "objection": "none", "type": "implicit"."""
_LOW = re.compile(
    r"\W*(?:(?:very|rather|quite|too) )?(?:low|weak|poor|none|little|insufficient)"
    r"(?: (?:confidence|certainty|evidence|likelihood|probability|relevance|support))?\W*\Z"
)
"""A low certainty. Words of the document, such as "poor hygiene" as support, do not match."""
_NO_EVIDENCE = re.compile(
    r"\W*(?:there (?:is|was) )?(?:no|not any|without) (?:\w+ )?(?:mention|evidence|reference|quotes?|support)\b"
    r"|\W*n/?a\W*\Z",
    re.IGNORECASE,
)
_PLACED = re.compile(rf"\b(?:on|at|from|by|with) (?!all\b|(?:the |this )?(?:{UNITS})\b)", re.IGNORECASE)
"""Words of a place behind "no mention", which make it a quote: "No mention of the price on the menu"."""
_DOUBTS = NEGATION_KINDS | {"open", "hedge"}
"""Kinds of tokens that doubt a label."""


def by_name(data: Any, names: Names) -> dict[str, Any]:
    """Return the object whose keys are names of the codebook, also inside a wrapper without a decision, or {}."""
    for inner in nested(data):
        if any(names.find(key) is not None for key in inner):
            return inner
        if any(key.strip().casefold() in DECIDING_KEYS and _decides(value, names) for key, value in inner.items()):
            break
    return {}


def _decides(value: Any, names: Names) -> bool:
    """Return True if a value names a label or is "none", unlike the "positive" of {"sentiment": ...}."""
    listed = [entry_name(entry) for entry in (value if isinstance(value, list) else [value])]
    is_none = any(
        isinstance(name, str) and {token.kind for token in tokenise(name, names)} == {"none"} for name in listed
    )
    return is_none or any(label_named(name, names) is not None for name in listed)


def own_part(data: Any, names: Names, depth: int = DEPTH) -> Any:
    """Return an object without the objects in it, or in the one that it wraps, that are not its decision.

    An object of absent or further labels becomes a list.
    """
    if not depth or not isinstance(data, dict) or any(names.find(key) is not None for key in data):
        return data
    own: dict[str, Any] = {}
    for key, value in data.items():
        folded = key.strip().casefold()
        if not isinstance(value, dict):
            own[key] = value
        elif has(key, REJECTING) or (has(key, FURTHER) and "new" not in folded):
            listed = [name for name in value if names.find(name) is not None]
            own[key] = listed or lookup(value, "labels", "aspects", "label", "aspect") or [value]
        elif not (is_aside(key) or _QUESTION.search(folded)):
            own[key] = value
    inner = [key for key, value in own.items() if isinstance(value, dict)]
    return {**own, inner[0]: own_part(own[inner[0]], names, depth - 1)} if len(inner) == 1 else own


def label_named(name: Any, names: Names) -> str | None:
    """Return the label that a JSON value names, by its name, its code or in words."""
    if not isinstance(name, str | int | float) or isinstance(name, bool):
        return None
    with suppress(ValueError, OverflowError):
        return names.find(str(name)) or names.find_code(float(name))
    with suppress(Unreadable):
        return read_choice(str(name), names, codes=True)
    return None


def is_earlier_key(key: str) -> bool:
    """Return True for a key whose labels are not the decision: "initial_labels", "evidence"."""
    return key.strip().casefold() in UNDECIDED or is_aside(key) or has(key, SUBJECT)


def answer_of(value: Any, names: Names) -> MaybeAnswer:
    """Return the answer of a JSON value; ``NO_ANSWER`` for anything that is not an answer.

    An answer is a boolean, 1 or 0, words such as yes, null for open, evidence, or an object with one of these under
    ``present``, ``answer`` and the like.
    """
    if isinstance(value, dict):
        folded = {key.strip().casefold(): entry for key, entry in value.items()}
        candidates = [entry for key, entry in folded.items() if key in _ANSWER_KEYS]
        answers = {
            sole_answer(entry, names) if isinstance(entry, str) else answer_of(entry, names) for entry in candidates
        }
        others = {key: entry for key, entry in folded.items() if key not in _ANSWER_KEYS}
        if not value or len(answers) > 1 or any(_is_doubt(key, entry, names) for key, entry in others.items()):
            return NO_ANSWER
        return answers.pop() if answers else _answer_of_notes(folded, names)
    if isinstance(value, bool | int | float):
        return bool(value) if value in (0, 1) else NO_ANSWER
    if isinstance(value, list):
        return True if value and not any(_denies_evidence(entry, names) for entry in value) else NO_ANSWER
    if value is None:
        return None
    answer = sole_answer(value, names)
    if answer == NO_ANSWER and value.strip() and is_comment(value, names):
        return True  # evidence
    return answer


def _answer_of_notes(notes: dict[str, Any], names: Names) -> MaybeAnswer:
    """Return True for an entry in a list of labels, or evidence for a label, unless a note denies it."""
    for key, note in notes.items():
        quotes = note if isinstance(note, list) else [note] if isinstance(note, str) else []
        is_blank = isinstance(note, str) and not note.strip(" .-")
        if key in _EVIDENCE and (is_blank or any(_denies_evidence(quote, names) for quote in quotes)):
            return NO_ANSWER
        is_quote = key in ("quote", "quotes")
        if not isinstance(note, str) or _ASIDE.search(key):
            continue
        if sole_answer(note, names) is False or (not is_quote and _denies_mention(note, names)):
            return NO_ANSWER
    return True if entry_name(notes) is not None or notes.keys() & _EVIDENCE else NO_ANSWER


def _denies_evidence(quote: Any, names: Names) -> bool:
    """Return True for "n/a", "not mentioned", "No evidence found." and values that are not text.

    Empty text denies nothing: a schema makes models fill lists with "" or "the".
    """
    if not isinstance(quote, str) or sole_answer(quote, names) is False:
        return True
    if (denied := _NO_EVIDENCE.match(quote)) and not _PLACED.search(quote, denied.end()):
        return True
    kinds = [token.kind for token in tokenise(quote, names) if token.kind not in ("stop", "fill", "verb", "link")]
    return kinds == ["none"]


def _denies_mention(note: str, names: Names) -> bool:
    """Return True if a note states that the text contains nothing: "The staff are never mentioned", "No evidence"."""
    tokens = tokenise(note, names)
    is_of_others = any(token.kind == "name" for token in tokens)
    is_denied = any(token.kind == "absent" and " " in token.text for token in tokens)
    return _NO_EVIDENCE.match(note) is not None or (is_denied and not is_of_others)


def _is_doubt(key: str, value: Any, names: Names) -> bool:
    """Return True if the value of a key beside a label doubts it: "probability": 0.1, "critique": "incorrect"."""
    is_certainty = _CERTAINTY.fullmatch(key) is not None
    if is_certainty or _RELEVANCE.search(key):
        if is_number(value):
            return value == 0 or (is_certainty and (value < 0.5 or 10 < value < 50))
        if isinstance(value, str) and (_LOW.match(value.casefold()) or UNLIKELY.fullmatch(value.casefold())):
            return True
    if key in _NOTES:
        return False
    kinds = {token.kind for token in tokenise(value, names)} if isinstance(value, str) else set()
    is_doubtful = bool(kinds) and kinds <= _DOUBTS
    if _ASIDE.search(key):
        return is_doubtful and "absent" in kinds
    return is_doubtful or is_claim(value, names)


def is_claim(value: Any, names: Names) -> bool:
    """Return True if the value of an unknown name is a yes or a no. A number may be anything: "confidence": 1."""
    return isinstance(value, bool) or (isinstance(value, str) and isinstance(sole_answer(value, names), bool))
