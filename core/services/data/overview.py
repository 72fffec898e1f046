"""An overview of a project's documents: counts, lengths, gold labels, languages and imports."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import mean, median
from types import MappingProxyType

from core.codebook import CHOICE_ITEM, Codebook
from core.documents import GOLD_RATER, Document, Value
from core.formatting import format_rating
from core.ingest.table import as_text, rejected_csv
from core.services.codebooks import codebook as codebooks
from core.services.document_samples import fixed_sample
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_until_commit
from core.store.documents import Import as Import


@dataclass(frozen=True, slots=True)
class GoldCount:
    """The number of documents that have this value of a label by this rater."""

    label: str
    colour: int
    rater: str
    value: str
    count: int
    total: int
    """Documents with any value of the label by this rater."""

    @property
    def share(self) -> float:
        """The share of the documents that the rater labelled."""
        return self.count / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class DataOverview:
    """The documents of a project in numbers."""

    documents: int
    with_gold: int
    raters: tuple[str, ...]
    words: LengthSummary
    """Words of the first field."""
    gold: tuple[GoldCount, ...]
    imports: tuple[Import, ...]
    """The newest first."""


def load_overview(session: ProjectSession, codebook: Codebook | None) -> DataOverview:
    """Return the overview of a project; label names and colours come from ``codebook``."""
    store = session.store.documents
    counts: dict[tuple[str, str], dict[Value, int]] = {}
    for rater, item, value, count in store.gold_counts():
        counts.setdefault((item, rater), {})[value] = count
    return DataOverview(
        documents=store.count(),
        with_gold=store.with_gold(),
        raters=tuple(session.store.annotations.raters()),
        words=summarise_lengths(store.lengths()),
        gold=gold_distribution(counts, codebook, codebooks.deleted_names(session, codebook)),
        imports=tuple(reversed(store.imports())),
    )


def has_several_raters(session: ProjectSession) -> bool:
    """Return True if the gold is by more than one rater."""
    return len(session.store.annotations.raters()) > 1


def first_rejected(session: ProjectSession, import_: Import) -> list[str]:
    """Return the first rejected rows of an import, with their reasons."""
    return list(map(str, session.store.documents.rejected(import_.id, 5)))


def rejected_rows_csv(session: ProjectSession, import_id: int) -> bytes:
    """Return the rejected rows of an import as a csv file."""
    return rejected_csv(session.store.documents.rejected(import_id))


def count_documents(session: ProjectSession, search: str = "") -> int:
    """Return the number of documents in the project, of those with ``search`` in text or id if it is not empty."""
    return session.store.documents.count(search.strip() or None)


def source_name(session: ProjectSession) -> str:
    """Return the name of the imported file or the number of files; empty without an import."""
    names = list(dict.fromkeys(import_.file_name for import_ in session.store.documents.imports() if import_.file_name))
    if len(names) > 1:
        return f"{len(names)} files"
    return names[0] if names else ""


def document_page(session: ProjectSession, *, search: str = "", offset: int = 0, limit: int = 50) -> list[Document]:
    """Return one page of the documents with ``search`` in text or id, in order."""
    return session.store.documents.page(offset, limit, search.strip() or None)


def gold_distribution(
    counts: Mapping[tuple[str, str], Mapping[Value, int]],
    codebook: Codebook | None,
    deleted: Mapping[str, str] = MappingProxyType({}),
) -> tuple[GoldCount, ...]:
    """Return the distribution of gold labels, counted by item and rater, in the order of the codebook.

    Multilabel: documents in which the label is present. Choice: documents of each label. Rating: documents of each
    value of each dimension. A value used by one rater has a count for every rater of the item, so that their shares
    can be compared. Items that are not in the codebook come last, under their name in ``deleted`` or their id.
    """
    labels = {label.id: (label.name, label.colour) for label in codebook.labels} if codebook is not None else {}
    positions = {label_id: position for position, label_id in enumerate(labels)}
    used: dict[str, dict[Value, None]] = {}
    for (item, _), values in counts.items():
        used.setdefault(item, {}).update(dict.fromkeys(values))
    bars = []
    for (item, rater), value_counts in counts.items():
        values = {value: value_counts.get(value, 0) for value in used[item]}
        total = sum(values.values())
        if item == CHOICE_ITEM and item not in labels:
            shown = [(str(value), "", count) for value, count in values.items()]
        elif all(isinstance(value, bool) for value in values):
            shown = [(item, "", values.get(True, 0))]
        else:
            ordered = sorted(values.items(), key=lambda pair: (isinstance(pair[0], str), pair[0]))
            shown = [(item, as_text(value), count) for value, count in ordered]
        for label, value_text, count in shown:
            name, colour = labels.get(label, (f"{deleted.get(label, label)} (not in the codebook)", 0))
            bars.append((positions.get(label, 999), GoldCount(name, colour, rater, value_text, count, total)))
    return tuple(bar for _, bar in sorted(bars, key=lambda pair: (pair[0], pair[1].rater)))


@dataclass(frozen=True, slots=True)
class Cooccurrence:
    """The number of documents that have both labels as gold."""

    label: str
    other: str
    count: int
    share: float
    """Of the documents that have ``label``."""


MAX_PAIRED_LABELS = 30
"""Maximum number of labels whose co-occurrence is shown. More are not readable and take too long to draw."""


@cached_until_commit
def cooccurrence(session: ProjectSession, codebook: Codebook) -> tuple[Cooccurrence, ...]:
    """Return all pairs of labels of a multilabel codebook; nothing for other kinds and without gold.

    Of more than ``MAX_PAIRED_LABELS`` labels, the most frequent ones are paired.
    """
    if codebook.kind != "multilabel" or len(codebook.labels) < 2:
        return ()
    counts = {(item, other): count for item, other, count in session.store.annotations.together(codebook)}
    if not counts:
        return ()
    frequent = sorted(codebook.labels, key=lambda label: -counts.get((label.id, label.id), 0))[:MAX_PAIRED_LABELS]
    labels = [label for label in codebook.labels if label in frequent]
    return tuple(
        Cooccurrence(
            label.name,
            other.name,
            count := counts.get((label.id, other.id), 0),
            count / counts[label.id, label.id] if (label.id, label.id) in counts else 0.0,
        )
        for label in labels
        for other in labels
    )


# Frequent words of each language that are rare in texts of the other languages here.
_FREQUENT_WORDS: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "English": "the and was with this that have were they not for you our are but had there which very it to",
        "German": "und der die das nicht ist wir sehr mit ein eine ich auch auf den zu von wurde aber wie",
        "French": "les des est dans pas pour nous avec très et était sur au ce une mais",
        "Spanish": "los las muy pero fue el y más había sin también nuestra estaba cuando",
        "Italian": "che non molto della anche sono gli nel più il di è siamo ci alla",
        "Portuguese": "não uma muito foi com são você também os em é mas nos",
        "Dutch": "het een niet van zijn maar ook voor werd wij dat naar deze bij heel",
    }.items()
}
_WORD = re.compile(r"[^\W\d_]+")
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
LANGUAGE_SAMPLE = 1000
"""Texts whose language is guessed: a random sample with a fixed seed."""
UNKNOWN = "unknown"


def guess_language(text: str) -> str:
    """Return a guess at a text's language, by its script or by at least two different frequent words.

    ``UNKNOWN`` if neither is enough, as in a short text. Seven languages in Latin script are distinguished.
    """
    letters = [character for character in text[:2000] if character.isalpha()]
    if not letters:
        return UNKNOWN
    for name, first, last in _SCRIPTS:
        if sum(first <= letter <= last for letter in letters) > 0.2 * len(letters):
            return name
    words = set(_WORD.findall(text[:2000].lower()))
    ranked = sorted(((len(words & frequent), name) for name, frequent in _FREQUENT_WORDS.items()), reverse=True)
    return ranked[0][1] if ranked[0][0] >= 2 and ranked[0][0] > ranked[1][0] else UNKNOWN


@cached_until_commit
def count_languages(session: ProjectSession) -> dict[str, int]:
    """Return the number of texts by language, the most frequent first, from up to ``LANGUAGE_SAMPLE`` documents."""
    ids = fixed_sample(session.store.documents.ids(), LANGUAGE_SAMPLE)
    return dict(Counter(map(guess_language, session.store.documents.texts(ids).values())).most_common())


def format_gold(
    document: Document, codebook: Codebook | None, deleted: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """Return a document's gold as text: the labels present, the label chosen, or ``name 4``.

    The name of a rater follows in brackets, also without others: they may have labelled other documents. Several raters
    of a dimension become their mean: ``name 3.25``. ``deleted`` are the names of other labels by id.
    """
    rated = codebook if codebook is not None and codebook.kind == "rating" else None
    if rated is not None and len(document.gold) > 1:
        return _mean_ratings(document, rated)
    labels = {**(codebook.label_names if codebook is not None else {}), **deleted}
    positions = {label_id: position for position, label_id in enumerate(labels)}
    words = []
    for rater, values in document.gold.items():
        tail = f" ({rater})" if len(document.gold) > 1 or (rater != GOLD_RATER and rated is None) else ""
        for item, value in sorted(values.items(), key=lambda pair: positions.get(pair[0], len(positions))):
            text, name = as_text(value), labels.get(item, item)
            if value is True:
                words.append(f"{name}{tail}")
            elif item == CHOICE_ITEM and value is not False:
                words.append(f"{labels.get(text, text)}{tail}")
            elif value is not False:
                words.append(f"{name} {text}{tail}")
    return words


def _mean_ratings(document: Document, codebook: Codebook) -> list[str]:
    ratings = {
        label.name: [float(values[label.id]) for values in document.gold.values() if label.id in values]
        for label in codebook.labels
    }
    return [f"{name} {format_rating(mean(values))}" for name, values in ratings.items() if values]


BINS = 20


@dataclass(frozen=True, slots=True)
class LengthSummary:
    """A distribution of whole numbers. All zero and without bars when there is nothing."""

    minimum: int = 0
    median: float = 0.0
    maximum: int = 0
    bins: tuple[tuple[int, int, int], ...] = ()
    """Start, stop and number of each bar of a histogram: ``start <= words < stop``, in the last ``words <= stop``."""


def count_gold(documents: Iterable[Document]) -> dict[tuple[str, str], Counter[Value]]:
    """Return the number of documents by item and rater, and by value. Items without gold are left out."""
    counts: defaultdict[tuple[str, str], Counter[Value]] = defaultdict(Counter)
    for document in documents:
        for rater, by_item in document.gold.items():
            for item, value in by_item.items():
                counts[item, rater][value] += 1
    return counts


def summarise_lengths(documents: Mapping[int, int]) -> LengthSummary:
    """Return the distribution of lengths; ``documents`` is their number by length.

    At most ``BINS`` bars of equal width up to the 99th percentile; the last one reaches to the maximum, so that one
    giant text does not flatten the rest.
    """
    if not documents:
        return LengthSummary()
    lengths = sorted(Counter(documents).elements())
    low, high = lengths[0], lengths[-1]
    width = max(1, math.ceil((lengths[math.ceil(0.99 * len(lengths)) - 1] - low + 1) / BINS))
    bars: Counter[int] = Counter()
    for length, count in documents.items():
        bars[min((length - low) // width, BINS - 1)] += count
    last = max(bars)
    bins = [(low + bar * width, low + (bar + 1) * width, bars[bar]) for bar in range(last)]
    bins.append((low + last * width, max(high, low + last * width), bars[last]))
    return LengthSummary(low, median(lengths), high, tuple(bins))
