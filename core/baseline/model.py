"""The built-in model: which words of the codebook are in the text, said in the form of a debate.

It is a lexical baseline and no language model: it looks up the codebook's keywords, names and derived words, quotes the
clauses they stand in, and knows a few grounds for doubt. It never sees the prompt. Its replies depend on the ask's
role and structured inputs, the codebook and the document's fields (on labels the first alone), and on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from core.baseline import panel_roles, persona_extraction
from core.baseline.lexicon import lexicon_of
from core.baseline.roles import Voice
from core.baseline.scan import scan
from core.codebook import Codebook
from core.debate.turns import AttributedReply, Reply, Request, family
from core.documents import Document

VERSION = "3"
"""Part of the key of every stored reply: raise it whenever a reply changes."""

COUNTS = (
    "The word-list baseline rates by counting: how many of a dimension's words are there, and how many words the text "
    "shares with its other fields. It judges nothing."
)
"""What is said of it wherever it rates."""

_PROPOSING = frozenset({"extractor", "annotator", "magistrate"})
_DECIDING = frozenset({"judge", "refiner"})
_CHALLENGING = frozenset({"critic", "reviewer"})


def answer(request: Request, codebook: Codebook, document: Document) -> str:
    """The reply to an ask, in the formats that the parser reads. Pure: the same arguments give the same text.

    What a role does follows from what it is given (a position to argue for) or its name where that tells it (an
    annotator says the same whatever it has heard, a judge decides, a critic challenges), and otherwise from what it has
    heard: nobody, and it proposes; one, and it challenges them; several, and it decides between them. So any protocol
    runs, one that a user wrote too.
    """
    for chore in (persona_extraction.answer, panel_roles.chair, panel_roles.clerk):
        if (text := chore(request)) is not None:
            return text
    voice = Voice(request.narrow(codebook), request.document or document, panel_roles.concern(request))
    if panel_roles.is_persona(request):
        return panel_roles.speak(request, voice)
    if (argument := panel_roles.answer(request, voice.view)) is not None:
        return argument
    role, heard = family(request.role), list(_heard(request.inputs))
    if not heard or role in _PROPOSING:
        return voice.propose(role in _DECIDING)
    if role in _CHALLENGING:
        return voice.challenge(heard[-1])
    if len(heard) == 1 and role not in _DECIDING:
        return voice.challenge(heard[0])
    return voice.decide(heard)


def describe(codebook: Codebook) -> list[str]:
    """What a user should know before seating the built-in model: a sentence for each label that it can't look for."""
    consequence = {
        "multilabel": "stays unresolved", "choice": "can never be chosen", "rating": "stays unresolved"
    }[codebook.kind]  # fmt: skip
    found = [
        f"'{label.name}' has no word that the word-list baseline could look for and {consequence}: add keywords, or "
        "typical things to its description."
        for label, usable in zip(codebook.labels, lexicon_of(codebook).usable, strict=True)
        if not usable
    ]
    return [COUNTS, *found] if codebook.kind == "rating" else found


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
    """The replies among an ask's inputs, of several rounds the last of each speaker; the extraction comes first."""
    for _, value in sorted(inputs.items(), key=lambda item: item[0] != "extraction"):
        if isinstance(value, Reply):
            yield value
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
            yield from {each.role: each.reply for each in value if isinstance(each, AttributedReply)}.values()
            yield from (each for each in value if isinstance(each, Reply))
