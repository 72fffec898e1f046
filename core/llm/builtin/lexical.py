"""The built-in model: which words of the codebook are in the text, said in the form of a debate.

It is a lexical baseline and no language model: it looks up the codebook's keywords, names and derived words, quotes the
clauses they stand in, and knows a few grounds for doubt. It never sees the prompt. Its replies depend on the ask's
role and structured inputs, the codebook and the document's first field, and on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from core.codebook import Codebook
from core.debate.turns import Ask, Reply, Said
from core.documents import Document
from core.llm.builtin import choosing, labelling
from core.llm.builtin.lexicon import lexicon_of
from core.llm.builtin.scan import scan
from core.llm.builtin.view import View

VERSION = "1"
"""Part of the key of every stored reply: raise it whenever a reply changes."""

CANNOT_RATE = "The word-list baseline cannot rate: words say what a text is about, not where it lies on a scale."

_CHOOSING = (choosing.propose, choosing.challenge, choosing.decide)
_LABELLING = (labelling.propose, labelling.challenge, labelling.decide)
_PROPOSING = frozenset({"extractor", "annotator"})
_DECIDING = frozenset({"judge"})


def answer(ask: Ask, codebook: Codebook, document: Document) -> str:
    """The reply to an ask, in the formats that the parser reads. Pure: the same arguments give the same text.

    An extractor or annotator proposes and a judge decides; any other role proposes when it has heard nobody, challenges
    what it has heard from one and decides between several.
    """
    if codebook.kind == "rating":
        return CANNOT_RATE
    lexicon = lexicon_of(codebook)
    view = View(lexicon, scan(lexicon, document.text))
    heard = list(_heard(ask.inputs))
    propose, challenge, decide = _CHOOSING if codebook.kind == "choice" else _LABELLING
    if not heard or ask.role in _PROPOSING:
        return propose(view, ask.role in _DECIDING)
    if len(heard) == 1 and ask.role not in _DECIDING:
        return challenge(view, heard[0])
    return decide(view, heard)


def describe(codebook: Codebook) -> list[str]:
    """What a user should know before seating the built-in model: a sentence for each label that it can't look for."""
    if codebook.kind == "rating":
        return [f"{CANNOT_RATE} Give this codebook's roles a language model."]
    consequence = "can never be chosen" if codebook.kind == "choice" else "stays unresolved"
    return [
        f"'{label.name}' has no word that the word-list baseline could look for and {consequence}: add keywords, or "
        "typical things to its description."
        for label, usable in zip(codebook.labels, lexicon_of(codebook).usable, strict=True)
        if not usable
    ]


def hits(codebook: Codebook, text: str) -> Mapping[str, tuple[tuple[int, int], ...]]:
    """Where each label's keywords stand in a text, as offsets by label id, in order; empty where there is none."""
    found = scan(lexicon_of(codebook), text).hits
    return {
        label.id: tuple((hit.start, hit.end) for hit in own if hit.term.source == "keyword")
        for label, own in zip(codebook.labels, found, strict=True)
    }


def evidence(codebook: Codebook, text: str) -> tuple[float, ...]:
    """What the codebook's words say for each label, in order: 0 where none occurs, 1 for one keyword. Of a choice,
    where labels compete, every word counts in full."""
    lexicon = lexicon_of(codebook)
    found = scan(lexicon, text)
    measure = found.weight if codebook.kind == "choice" else found.score
    return tuple(map(measure, range(len(lexicon.usable))))


def _heard(inputs: Mapping[str, Any]) -> Iterator[Reply]:
    """The replies among an ask's inputs; the extraction comes first wherever it stands."""
    for _, value in sorted(inputs.items(), key=lambda item: item[0] != "extraction"):
        for one in value if isinstance(value, Sequence) and not isinstance(value, str | bytes) else (value,):
            if isinstance(one, Said):
                one = one.reply
            if isinstance(one, Reply):
                yield one
