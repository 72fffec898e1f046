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
from core.baseline.roles import BaselineRoles
from core.baseline.scan import scan
from core.codebook import Codebook
from core.debate.turns import AttributedReply, Reply, Request, family
from core.documents import Document

VERSION = "3"
"""Part of the key of every stored reply: increase it whenever a reply changes."""

COUNTS = (
    "The word-list baseline rates by counting: how many of a dimension's words are there, and how many words the text "
    "shares with its other fields. It judges nothing."
)
"""The notice wherever the baseline rates."""

_PROPOSING = frozenset({"extractor", "annotator", "magistrate"})
_DECIDING = frozenset({"judge", "refiner"})
_CHALLENGING = frozenset({"critic", "reviewer"})


def write_reply(request: Request, codebook: Codebook, document: Document) -> str:
    """Return the reply to a request, in the formats that the parser reads.

    Pure: the same arguments give the same text. The behaviour follows from the inputs (a position to argue for), else
    from the role's name (an annotator ignores other replies, a judge decides, a critic challenges). Otherwise it
    follows from the replies among the inputs: without any it proposes, it challenges a single one, and it
    decides between several. So every protocol runs, custom ones too.
    """
    for special_reply in (persona_extraction.write_reply, panel_roles.coordinator_reply, panel_roles.aggregator_reply):
        if (text := special_reply(request)) is not None:
            return text
    roles = BaselineRoles(request.narrow(codebook), request.document or document, panel_roles.persona_focus(request))
    if panel_roles.is_persona(request):
        return panel_roles.persona_reply(request, roles)
    if (argument := panel_roles.argument_reply(request, roles.matches)) is not None:
        return argument
    role, replies = family(request.role), list(_replies(request.inputs))
    if not replies or role in _PROPOSING:
        return roles.propose(role in _DECIDING)
    if role in _CHALLENGING:
        return roles.challenge(replies[-1])
    if len(replies) == 1 and role not in _DECIDING:
        return roles.challenge(replies[0])
    return roles.decide(replies)


def describe(codebook: Codebook) -> list[str]:
    """Return a sentence for each label that the built-in model cannot look for."""
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
    """Return the positions of each label's keywords in a text, as offsets by label id; empty if there are none."""
    found = scan(lexicon_of(codebook), text).hits
    return {
        label.id: tuple((hit.start, hit.end) for hit in own if hit.term.source == "keyword")
        for label, own in zip(codebook.labels, found, strict=True)
    }


def evidence(codebook: Codebook, text: str) -> tuple[float, ...]:
    """Return the score of each label by the codebook's words, in order: 0 without a word, 1 for one keyword.

    For a choice, where labels compete, every word counts in full.
    """
    lexicon = lexicon_of(codebook)
    found = scan(lexicon, text)
    measure = found.weight if codebook.kind == "choice" else found.score
    return tuple(map(measure, range(len(lexicon.usable))))


def _replies(inputs: Mapping[str, Any]) -> Iterator[Reply]:
    """Yield the replies among a request's inputs, of several rounds the last of each speaker; the extraction first."""
    for _, value in sorted(inputs.items(), key=lambda item: item[0] != "extraction"):
        if isinstance(value, Reply):
            yield value
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
            yield from {each.role: each.reply for each in value if isinstance(each, AttributedReply)}.values()
            yield from (each for each in value if isinstance(each, Reply))
