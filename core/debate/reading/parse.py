"""Parsing of a reply's text into a reading: the decision, or why it is unreadable. Pure; never raises.

A decision counts only if every token of it is accounted for and nothing after it contradicts it. The reader of each
kind of codebook chooses the decision: the last one that is announced, or else one that the reply states without
announcing it. The docstring of the package lists all steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from core.codebook import Codebook, Kind
from core.debate.reading.base_reader import CUT as CUT
from core.debate.reading.base_reader import ReplyReader
from core.debate.reading.choice_reader import ChoiceReader
from core.debate.reading.decision_markers import answer_of, parse_markers, without_reasoning
from core.debate.reading.label_names import names_of
from core.debate.reading.labels_grammar import NOT_IN_CODEBOOK as NOT_IN_CODEBOOK
from core.debate.reading.labels_grammar import Unreadable
from core.debate.reading.labels_reader import LabelsReader
from core.debate.reading.ratings_reader import RatingsReader
from core.debate.turns import Reading
from core.documents import storable

EMPTY = "the reply is empty"
ONLY_REASONING = "the reply is only reasoning"
NO_DECISION = "no decision line"
MAX_CHARACTERS = 200_000
"""Most characters of a reply without its reasoning. A longer one repeats itself, and other debates wait while it is
read."""
TOO_LONG = f"the reply has more than {MAX_CHARACTERS:,} characters"
UNKNOWN_NAMES, UNKNOWN_CHARACTERS = 50, 200
"""Most names outside the codebook that a reading keeps, and most characters of each."""

_READERS: Mapping[Kind, type[ReplyReader]] = {
    "multilabel": LabelsReader,
    "choice": ChoiceReader,
    "rating": RatingsReader,
}


def read(text: str, codebook: Codebook, *, finish_reason: str = "stop") -> Reading:
    """Read the decision of a reply, in any form that this project asks for, completely or not at all.

    The last announced decision wins; quoted, denied, supposed and reported ones do not count. With ``finish_reason``
    equal to ``length`` a decision counts only if its line is ended or its JSON closed, and no earlier decision counts
    instead. Without an announced decision, a reply counts if it answers for every label, consists of names, or starts
    or ends with the one label of a choice. A reading that does not count has a ``problem`` and no values. Empty text,
    text that is only reasoning and text that is too long have a problem like any other.
    """
    if len(text) > MAX_CHARACTERS and len(answer_of(text).strip()) > MAX_CHARACTERS:
        return Reading(problem=TOO_LONG)
    marked = parse_markers(text, codebook)
    cut = finish_reason == "length"
    if not marked.text.strip():
        return Reading(problem=EMPTY if not text.strip() else CUT if cut else ONLY_REASONING)
    reader = _READERS[codebook.kind](marked, cut=cut)
    try:
        reading = reader.read_announced() or reader.read_unannounced()
    except Unreadable as error:
        return Reading(unknown=_storable(error.unknown), problem=error.problem)
    if reading is not None:
        start = len(text) - len(marked.text) + reader.start
        return replace(reading, unknown=_storable(reading.unknown), start=start)
    return reader.read_undecided() or Reading(problem=CUT if cut else NO_DECISION)


def mentions(text: str, codebook: Codebook) -> frozenset[str]:
    """Return the ids of the labels whose name occurs in ``text`` as whole words, in any context.

    A name inside a longer one does not count. Reasoning at the start of the text is left out.
    """
    return frozenset(mention.item for mention in names_of(codebook).mentions(without_reasoning(text)))


def _storable(names: Iterable[str]) -> tuple[str, ...]:
    """Return names without lone surrogates, which JSON can contain and the store refuses."""
    return tuple(dict.fromkeys(storable(name[:UNKNOWN_CHARACTERS]) for name in names))[:UNKNOWN_NAMES]
