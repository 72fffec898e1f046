"""What a label's words find in the project's documents, and what a model will be sent: the editor's two mirrors."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from core import baseline, prompts
from core.codebook import CHOICE_ITEM, Codebook, Label
from core.debate import protocols
from core.documents import Document
from core.llm.usage import estimate_usage
from core.prompts.messages import Message
from core.runs import RunSettings, Template
from core.services import cache
from core.services.codebooks.diff import Piece, lines
from core.services.runs import planning
from core.services.runs.preview import RequestPreview
from core.services.runs.preview import preview_requests as sent
from core.services.session import ProjectSession

LOOKED_AT = 5_000
"""Documents that are looked through at most, drawn at random but always the same."""
MISSED = 4
"""Documents that no keyword finds, named at most."""
STAND_IN = Document("", {"text": "(the text of a document stands here)"})


@dataclass(frozen=True, slots=True)
class InData:
    """What a label's keywords find. ``with_gold`` documents have gold on the label, ``present`` of them say present."""

    documents: int
    total: int
    hit: int
    with_gold: int
    present: int
    present_hit: int
    absent_hit: int
    by_word: tuple[tuple[str, int], ...]
    """Keyword -> documents that it stands in, the most first."""
    missed_ids: tuple[str, ...]
    """Some of the documents with the label in gold in which no keyword stands."""
    catches: tuple[tuple[str, int], ...]
    """Suggested word -> documents with the label in gold that no keyword finds and this word does."""

    @property
    def missed(self) -> int:
        """Documents with the label in gold in which no keyword stands."""
        return self.present - self.present_hit

    @property
    def idle(self) -> tuple[str, ...]:
        """Keywords that stand nowhere."""
        return tuple(word for word, count in self.by_word if not count)


@dataclass(frozen=True, slots=True)
class Part:
    """A message of a prompt, with what it was under the saved codebook."""

    speaker: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class RolePreview:
    """What one role will be sent on a document. ``tokens`` are estimated by length, ``more`` than before."""

    role: str
    title: str
    parts: tuple[Part, ...]
    tokens: int
    more: int


@dataclass(frozen=True, slots=True)
class _Looked:
    """A document as far as keywords go: its text, and what gold says of each label."""

    id: str
    text: str
    gold: dict[str, bool]


def in_your_data(session: ProjectSession, codebook: Codebook, label_id: str, suggested: Sequence[str] = ()) -> InData:
    """What the label's keywords find in up to ``LOOKED_AT`` documents, by the rules of the built-in model.

    With several raters, present is what most of those say who spoke of the label.
    """
    store = session.store.documents
    looked = _sample(session)
    label = codebook.label(label_id)
    words = tuple(dict.fromkeys((*label.keywords, *suggested)))
    found = _found(session, words)
    own, offered = range(len(label.keywords)), range(len(label.keywords), len(words))
    hit = [any(number in each for number in own) for each in found]
    counts = Counter(number for each in found for number in each)
    missed = [
        (one.id, each)
        for each, one, is_hit in zip(found, looked, hit, strict=True)
        if one.gold.get(label_id) and not is_hit
    ]
    catching = Counter(number for _, each in missed for number in each)
    said = [(one.gold[label_id], is_hit) for one, is_hit in zip(looked, hit, strict=True) if label_id in one.gold]
    return InData(
        documents=len(looked),
        total=store.count(),
        hit=sum(hit),
        with_gold=len(said),
        present=sum(present for present, _ in said),
        present_hit=sum(present and is_hit for present, is_hit in said),
        absent_hit=sum(not present and is_hit for present, is_hit in said),
        by_word=tuple(sorted(((words[number], counts[number]) for number in own), key=lambda pair: -pair[1])),
        missed_ids=tuple(id for id, _ in missed[:MISSED]),
        catches=tuple(sorted(((words[n], catching[n]) for n in offered if catching[n]), key=lambda pair: -pair[1])),
    )


def _sample(session: ProjectSession) -> tuple[_Looked, ...]:
    def draw() -> tuple[_Looked, ...]:
        ids = session.store.documents.ids()
        if len(ids) > LOOKED_AT:
            ids = sorted(random.Random(0).sample(ids, LOOKED_AT))
        return tuple(_Looked(one.id, one.text, _present(one)) for one in session.store.documents.load(ids))

    return cache.kept(session, draw, "sample for words", basis=session.store.documents.state())


def _present(document: Document) -> dict[str, bool]:
    votes: dict[str, list[bool]] = {}
    for said in document.gold.values():
        for item, value in said.items():
            if isinstance(value, bool):
                votes.setdefault(item, []).append(value)
            elif item == CHOICE_ITEM:
                votes.setdefault(str(value), []).append(True)
    return {item: 2 * sum(each) > len(each) for item, each in votes.items()}


def _found(session: ProjectSession, words: tuple[str, ...]) -> tuple[frozenset[int], ...]:
    """For each document of the sample the numbers of the words that stand in it."""

    def look() -> tuple[frozenset[int], ...]:
        if not words:
            return (frozenset(),) * len(_sample(session))
        by_word = _by_word(words)
        numbers = {label.id: number for number, label in enumerate(by_word.labels)}
        return tuple(
            frozenset(numbers[id] for id, spans in baseline.hits(by_word, one.text).items() if spans)
            for one in _sample(session)
        )

    return cache.kept(session, look, "words found", words, basis=session.store.documents.state())


@lru_cache(maxsize=16)
def _by_word(words: tuple[str, ...]) -> Codebook:
    """A codebook in which every word is a label of its own: one look through a text then tells them apart."""
    return Codebook(labels=tuple(Label(name=f"zzq{n}", keywords=(word,)) for n, word in enumerate(words)))


# -- what a model is sent


def protocol_for(codebook: Codebook, wanted: str = "") -> str | None:
    """``wanted`` if that protocol does codebooks of this kind, else one that does, None when none does."""
    able = [name for name, card in protocols.PROTOCOLS.items() if codebook.kind in card.kinds]
    return wanted if wanted in able else next(iter(able), None)


def preview(
    codebook: Codebook,
    document: Document | None,
    *,
    protocol: str = "",
    against: Codebook | None = None,
    own: Mapping[str, Template] | None = None,
) -> tuple[RolePreview, ...]:
    """What each role is sent on a document, with what the codebook ``against`` would have said marked line by line.
    ``own`` are the project's templates that stand in for shipped ones, by slot.

    When no protocol does this kind, only the definitions are shown. Raises PromptError.
    """
    name = protocol_for(codebook, protocol)
    shown = document or STAND_IN
    if name is None:
        return (_definitions(codebook, against),)
    now = _messages(codebook, shown, name, own or {})
    same = against is not None and protocol_for(against, name) == name
    before = {
        (one.role, one.title): one for one in (_messages(against, shown, name, own or {}) if against and same else now)
    }
    return tuple(
        _role(one.role, one.title, before.get((one.role, one.title), one).messages, one.messages) for one in now
    )


def _messages(
    codebook: Codebook, document: Document, protocol: str, own: Mapping[str, Template]
) -> tuple[RequestPreview, ...]:
    card = protocols.find(protocol)
    params = card.parse_params()
    settings = RunSettings(
        protocol=protocol,
        codebook=codebook,
        role_models={role.name: planning.DEFAULT_ROLE_MODEL for role in card.roles(params)},
        templates=prompts.replace_templates(card.load_templates(), own),
        params=params,
    )
    return sent(settings, document)


def _role(role: str, title: str, before: Sequence[Message], now: Sequence[Message]) -> RolePreview:
    parts = []
    for number, message in enumerate(now):
        old = before[number].content if number < len(before) else ""
        parts.append(Part(message.role, lines(old, message.content)))
    tokens, were = _tokens(now), _tokens(before)
    return RolePreview(role, title, tuple(parts), tokens, tokens - were)


def _definitions(codebook: Codebook, against: Codebook | None) -> RolePreview:
    template = prompts.shipped_templates("ecj")[prompts.DEFINITIONS]
    now, before = (
        (Message("system", prompts.render_definitions(template, each)),) for each in (codebook, against or codebook)
    )
    return _role("", "Definitions", before, now)


def _tokens(messages: Sequence[Message]) -> int:
    return estimate_usage(sum(len(message.content) for message in messages), 0).prompt_tokens
