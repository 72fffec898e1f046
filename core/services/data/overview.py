"""What is in a project's documents: counts, lengths, gold, imports. Read from SQL, a page at a time."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from core.codebook import CHOICE_ITEM, Codebook
from core.documents import Document, Value
from core.ingest import Profile, Rejected, rejected_csv
from core.ingest.table import as_text
from core.services.session import ProjectSession
from core.store.documents import Import


@dataclass(frozen=True, slots=True)
class GoldBar:
    """One bar of the distribution of gold: how many documents have this value of this item by this rater."""

    label: str
    colour: int
    rater: str
    value: str
    count: int
    known: int
    """Documents that this rater said anything of for the item."""

    @property
    def share(self) -> float:
        """Of the documents that the rater spoke of."""
        return self.count / self.known if self.known else 0.0


@dataclass(frozen=True, slots=True)
class Chapter:
    """One import of the project as the page lists it."""

    id: int
    file_name: str
    at: float
    added: int
    repeated: int
    rejected: int
    reasons: tuple[str, ...]
    """The first rejected rows in words."""


@dataclass(frozen=True, slots=True)
class Overview:
    """What is in the project."""

    documents: int
    with_gold: int
    raters: tuple[str, ...]
    lengths: tuple[tuple[int, int], ...]
    """(words from, documents), each bar ``width`` words wide."""
    width: int
    bars: tuple[GoldBar, ...]
    chapters: tuple[Chapter, ...]


def overview(session: ProjectSession, codebook: Codebook | None) -> Overview:
    """Counts, the lengths of the texts, how the gold is spread, and the imports, the newest first."""
    store = session.store.documents
    lengths, width = _lengths(session)
    counts: dict[tuple[str, str], dict[Value, int]] = {}
    for rater, item, value, count in store.gold_counts():
        counts.setdefault((item, rater), {})[value] = count
    return Overview(
        documents=store.count(),
        with_gold=store.with_gold(),
        raters=tuple(store.raters()),
        lengths=lengths,
        width=width,
        bars=_bars(counts, codebook),
        chapters=tuple(_chapter(session, one) for one in reversed(store.imports())),
    )


def _lengths(session: ProjectSession) -> tuple[tuple[tuple[int, int], ...], int]:
    """A histogram of about 20 bars: the width grows until they are few."""
    width = 1
    for width in (1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 5000, 25_000, 100_000):
        bars = session.store.documents.lengths(width)
        if not bars or bars[-1][0] // width < 30:
            return tuple(bars), width
    return tuple(session.store.documents.lengths(width)), width


def _chapter(session: ProjectSession, one: Import) -> Chapter:
    counts = one.counts
    rejected = int(counts.get("rejected", 0))
    rows = session.store.documents.rejected(one.id, 5) if rejected else []
    return Chapter(
        one.id, one.file_name, one.at, int(counts.get("documents", 0)), int(counts.get("repeated", 0)), rejected,
        tuple(f"row {row.line}: {row.reason}" for row in rows),
    )  # fmt: skip


def rejected_of_import(session: ProjectSession, import_id: int) -> bytes:
    """The rejected rows of an import as a csv file."""
    return rejected_csv(Rejected(row.line, row.reason, row.raw) for row in session.store.documents.rejected(import_id))


def page(session: ProjectSession, *, search: str = "", offset: int = 0, limit: int = 50) -> tuple[int, list[Document]]:
    """How many documents hold ``search`` in text or id, and one page of them in order."""
    wanted = search.strip() or None
    return session.store.documents.count(wanted), session.store.documents.page(offset, limit, wanted)


def gold_bars(found: Profile, codebook: Codebook | None) -> tuple[GoldBar, ...]:
    """How the gold of documents that are not in the project yet is spread."""
    counts: dict[tuple[str, str], dict[Value, int]] = {}
    for share in found.gold:
        values = dict(share.values)
        if share.present or share.absent:
            values |= {True: share.present, False: share.absent}
        counts[share.item, share.rater] = values
    return _bars(counts, codebook)


def _bars(counts: Mapping[tuple[str, str], Mapping[Value, int]], codebook: Codebook | None) -> tuple[GoldBar, ...]:
    """Multilabel: present, label by label. Choice: documents of each label. Rating: each value of each dimension.
    A value that one rater used has a bar for each who spoke of the item, so that their shares can be compared. Items
    that are not in the codebook (any more) come last, under their bare id."""
    labels = {label.id: (label.name, label.colour) for label in codebook.labels} if codebook is not None else {}
    places = {label_id: place for place, label_id in enumerate(labels)}
    used: dict[str, dict[Value, None]] = {}
    for (item, _), values in counts.items():
        used.setdefault(item, {}).update(dict.fromkeys(values))
    bars = []
    for (item, rater), own in counts.items():
        values = {value: own.get(value, 0) for value in used[item]}
        known = sum(values.values())
        name, colour = labels.get(item, (f"{item} (not in the codebook)", 0))
        if item == CHOICE_ITEM and item not in labels:
            for value, count in values.items():
                named, shade = labels.get(str(value), (f"{value} (not in the codebook)", 0))
                bars.append((places.get(str(value), 999), GoldBar(named, shade, rater, "", count, known)))
        elif set(values) <= {True, False} and not any(type(value) is not bool for value in values):
            bars.append((places.get(item, 999), GoldBar(name, colour, rater, "", values.get(True, 0), known)))
        else:
            ordered = sorted(values.items(), key=lambda pair: (str(type(pair[0])), pair[0]))
            place = places.get(item, 999)
            bars += [(place, GoldBar(name, colour, rater, as_text(value), count, known)) for value, count in ordered]
    return tuple(bar for _, bar in sorted(bars, key=lambda pair: (pair[0], pair[1].rater)))


@dataclass(frozen=True, slots=True)
class Cooccurrence:
    """How often two labels are in the gold of one document."""

    label: str
    other: str
    count: int
    share: float
    """of the documents that have ``label``"""


def together(session: ProjectSession, codebook: Codebook) -> tuple[Cooccurrence, ...]:
    """All pairs of labels of a multilabel codebook; empty for other kinds and without gold."""
    if codebook.kind != "multilabel" or len(codebook.labels) < 2:
        return ()
    counts = {(one, other): count for one, other, count in session.store.evaluations.together(codebook.items)}
    if not counts:
        return ()
    return tuple(
        Cooccurrence(
            one.name,
            other.name,
            count := counts.get((one.id, other.id), 0),
            count / counts[one.id, one.id] if (one.id, one.id) in counts else 0.0,
        )
        for one in codebook.labels
        for other in codebook.labels
    )


# Words that hardly any text of a language does without, and that the others do not have.
_TELLING: Mapping[str, frozenset[str]] = {
    "English": frozenset(["the", "and", "was", "with", "this", "that", "have", "were", "they", "not"]),
    "German": frozenset(["und", "der", "die", "das", "nicht", "ist", "wir", "sehr", "war", "mit"]),
    "French": frozenset(["les", "des", "est", "dans", "une", "pas", "pour", "nous", "avec", "très"]),
    "Spanish": frozenset(["los", "las", "una", "muy", "pero", "está", "por", "como", "para", "fue"]),
    "Italian": frozenset(["che", "non", "molto", "della", "anche", "sono", "gli", "nel", "più", "era"]),
    "Portuguese": frozenset(["não", "uma", "muito", "foi", "com", "são", "mais", "você", "dos", "também"]),
    "Dutch": frozenset(["het", "een", "niet", "van", "zijn", "maar", "ook", "voor", "werd", "wij"]),
}
_SCRIPTS: tuple[tuple[str, str, str], ...] = (
    ("Cyrillic script", "\u0400", "\u04ff"),
    ("Greek script", "\u0370", "\u03ff"),
    ("Hebrew script", "\u0590", "\u05ff"),
    ("Arabic script", "\u0600", "\u06ff"),
    ("Devanagari script", "\u0900", "\u097f"),
    ("Thai script", "\u0e00", "\u0e7f"),
    ("Japanese", "\u3040", "\u30ff"),
    ("Korean", "\uac00", "\ud7af"),
    ("Chinese characters", "\u4e00", "\u9fff"),
)
LOOKED_AT = 1000
"""Texts whose language is guessed, drawn at random but always the same."""
UNKNOWN = "not told"


def language(text: str) -> str:
    """A guess at a text's language: by its script, or in Latin script by telling words (two different ones at least);
    ``UNKNOWN`` where neither says enough, as in a short text. Seven languages of Latin script are told apart."""
    letters = [character for character in text[:2000] if character.isalpha()]
    if not letters:
        return UNKNOWN
    for name, first, last in _SCRIPTS:
        if sum(first <= letter <= last for letter in letters) > 0.2 * len(letters):
            return name
    words = set(text[:2000].lower().replace(".", " ").replace(",", " ").split())
    found = sorted(((len(words & telling), name) for name, telling in _TELLING.items()), reverse=True)
    return found[0][1] if found[0][0] >= 2 and found[0][0] > found[1][0] else UNKNOWN


def languages(session: ProjectSession) -> dict[str, int]:
    """Languages of up to ``LOOKED_AT`` documents by number of texts, the most frequent first."""
    ids = session.store.documents.ids()
    if len(ids) > LOOKED_AT:
        ids = random.Random(0).sample(ids, LOOKED_AT)
    return dict(Counter(language(one.text) for one in session.store.documents.load(ids, gold=False)).most_common())


def gold_words(document: Document, codebook: Codebook | None) -> list[str]:
    """A document's gold in words: the labels present, the label chosen, or ``name 4``; with the rater if several."""
    labels = {label.id: label.name for label in codebook.labels} if codebook is not None else {}
    places = {label_id: place for place, label_id in enumerate(labels)}
    words = []
    for rater, said in document.gold.items():
        tail = f" ({rater})" if len(document.gold) > 1 else ""
        for item, value in sorted(said.items(), key=lambda pair: places.get(pair[0], len(places))):
            if value is True:
                words.append(f"{labels.get(item, item)}{tail}")
            elif value is not False:
                text = as_text(value)
                words.append(
                    f"{labels.get(text, text)}{tail}"
                    if item == CHOICE_ITEM
                    else f"{labels.get(item, item)} {text}{tail}"
                )
    return words
