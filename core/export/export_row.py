"""The input of all writers: a document with its labels, evidence and annotators, and helpers that writers share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, BinaryIO

from core.codebook import CHOICE_ITEM, Codebook
from core.documents import VERDICT, Document, Evidence, Value, is_number
from core.errors import ExportError
from core.ingest.table import REVIEW_DETAILS, dump_json, unique_names

REVIEW = "review"
"""The source of a value that a reviewer decided."""


@dataclass(frozen=True, slots=True)
class AnnotatorValues:
    """The values of one annotator for a document: a run's verdict, one of its roles, or a person.

    ``values`` holds what could be read. ``at`` is in Unix seconds, None if unknown. ``status`` is that of a person's
    review (Draft, Submitted, Discarded), empty for a model. A draft has only the decisions of the person and is not
    an answer.
    """

    name: str
    values: Mapping[str, Value | None]
    evidence: tuple[Evidence, ...] = ()
    at: float | None = None
    status: str = ""

    @property
    def is_draft(self) -> bool:
        """True for the values of a person who has neither submitted nor discarded the document."""
        return self.status in ("Pending", "Draft")


TEXT = "text"
"""The key of the first text field in the formats of annotation tools. Spans are offsets into it."""


@dataclass(frozen=True, slots=True)
class SharedColumns:
    """The columns of a table that all exported rows share."""

    roles: tuple[str, ...] = ()
    """The roles of all exported runs."""
    source: tuple[str, ...] = ()
    """The source columns of all exported documents."""
    fields: tuple[str, ...] = ()
    """The text fields after the first one of all exported documents."""

    @property
    def text_names(self) -> tuple[str, ...]:
        """The exported names of the text fields: ``text`` for the first, and ``text_2`` if another has that name."""
        (renamed,) = unique_names([TEXT], (TEXT, *self.fields))
        return TEXT, *(renamed if name == TEXT else name for name in self.fields)


@dataclass(frozen=True, slots=True)
class ExportRow:
    """One document of one run. Items are label ids, and ``"label"`` for a choice, whose value is a label id."""

    document: Document
    run_id: str
    protocol: str
    codebook_version: int
    status: str
    values: Mapping[str, Value | None] = field(default_factory=dict)
    """The final value of each item, None where it is unresolved. A missing item is written as empty."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Where the value of each item comes from: ``verdict``, ``review``, ``gold``, ..."""
    gold: Mapping[str, Value] = field(default_factory=dict)
    """The gold of each item: of several raters the majority, for ratings the mean."""
    evidence: Mapping[str, Sequence[Evidence]] = field(default_factory=dict)
    """The quotes of each role."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """The model of each role, as ``connection/model``."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """The reason why an item has no value."""
    models: tuple[AnnotatorValues, ...] = ()
    """The verdict, then each role in speaking order; empty before the debate has ended."""
    reviewers: tuple[AnnotatorValues, ...] = ()
    """The decisions of people, for formats that separate suggestions from decisions."""
    run_name: str = ""
    """The name that the user gave to the run."""
    review_status: str = "Pending"
    review_note: str = ""
    review_flag: bool = False
    review_error_types: tuple[str, ...] = ()

    @property
    def review_details(self) -> dict[str, Any]:
        """The remarks of the reviewers and their names, by the names in ``REVIEW_DETAILS``."""
        people = [person.name for person in self.reviewers]
        remarks = (self.review_note, self.review_flag, list(self.review_error_types), people)
        return dict(zip(REVIEW_DETAILS, remarks, strict=True))

    @property
    def metadata(self) -> dict[str, Any]:
        """Metadata of the document in annotation tools: the run, the status, and the remarks of the reviewers."""
        return {"run": self.run_id, **{name: getattr(self, name) for name in ABOUT[1:]}, **self.review_details}


ANNOTATORS = ("gold", "pred", "reviewed")
"""Annotators with a column per item, before the roles."""

ABOUT = ("run_id", "protocol", "codebook_version", "status", "review_status")
"""Fields of a row that have a column after those of the items."""


def result_names(columns: SharedColumns, codebook: Codebook) -> tuple[str, ...]:
    """Return the names of the columns of a table of results: those of the source, then those of ``result_cells``.

    A result column whose name the source has already gets ``_2``, so that all are different and none is hidden. So does
    the column of a role and a label that would be named like a column of ``ABOUT`` or ``REVIEW_DETAILS``.
    """
    annotators = (*ANNOTATORS, *columns.roles, "evidence")
    value_names = [f"{annotator}_{name}" for name in codebook.item_names for annotator in annotators]
    fixed = ("document_id", *ABOUT, *REVIEW_DETAILS)
    names = unique_names([*fixed, *value_names], columns.source)
    return *columns.source, names[0], *names[len(fixed) :], *names[1 : len(fixed)]


def source_columns(document: Document) -> Mapping[str, Any]:
    """Return the source columns; the text fields for a document that was not read from a table."""
    return document.source or document.fields


QUOTE_KEYS = ("quote", "field", "start", "end", "match")


def evidence_by_item(row: ExportRow) -> dict[str, list[dict[str, Any]]]:
    """Return the quotes by item, with their roles and their offsets into ``field`` (-1: the text lacks the quote)."""
    result: dict[str, list[dict[str, Any]]] = {}
    for role, quotes in row.evidence.items():
        for quote in quotes:
            keys = {"role": role} | {key: getattr(quote, key) for key in QUOTE_KEYS}
            result.setdefault(quote.item, []).append(keys)
    return result


def result_cells(row: ExportRow, columns: SharedColumns, codebook: Codebook) -> list[Any]:
    """Return the cells of a row: source, document, values and quotes of each item, ``ABOUT`` and ``REVIEW_DETAILS``.

    A source column that the document lacks is None. Labels of a choice have their names; an unknown one stays an id.
    ExportError if the document has another source column.
    """
    source = source_columns(row.document)
    if len(source) > len(columns.source) or not source.keys() <= set(columns.source):
        extra = ", ".join(sorted(map(str, source.keys() - set(columns.source)))[:5])
        raise ExportError(
            f"Document '{row.document.id}' has columns that the table does not have: {extra}.",
            "Export again: documents were added meanwhile.",
        )
    cells = [*(source.get(name) for name in columns.source), row.document.id]
    models = {annotator.name: annotator.values for annotator in row.models}
    reviewed = {item: row.values.get(item) for item in codebook.items if row.sources.get(item) == REVIEW}
    by_annotator = [row.gold, models.get(VERDICT, {}), reviewed, *(models.get(role, {}) for role in columns.roles)]
    evidence = evidence_by_item(row)
    for item in codebook.items:
        values = [annotations.get(item) for annotations in by_annotator]
        cells += [*(codebook.label_names.get(value, value) for value in values), evidence.get(item, [])]
    note, flag, *lists = row.review_details.values()
    joined = [", ".join(names) or None for names in lists]
    return [*cells, *(getattr(row, name) for name in ABOUT), note or None, flag, *joined]


def text_fields(row: ExportRow, columns: SharedColumns) -> dict[str, str]:
    """Return the text fields of a row by exported name; a field that was added meanwhile keeps its own."""
    exported = dict(zip(columns.fields, columns.text_names[1:], strict=True))
    further = islice(row.document.fields.items(), 1, None)
    return {TEXT: row.document.text} | {exported.get(name, name): text for name, text in further}


def label_names(values: Mapping[str, Value | None], codebook: Codebook) -> list[str] | None:
    """Return the names of the labels that are present or chosen; None for ratings, and if no value is known.

    Unresolved labels and labels that are not in the codebook are left out.
    """
    names = codebook.label_names
    match codebook.kind:
        case "choice":
            chosen = values.get(CHOICE_ITEM)
            return [names[chosen]] if isinstance(chosen, str) and chosen in names else None
        case "multilabel":
            resolved = [item for item in names if values.get(item) is not None]
            return [names[item] for item in resolved if values[item] is True] if resolved else None
        case "rating":
            return None


def undecided_names(values: Mapping[str, Value | None], codebook: Codebook) -> list[str]:
    """Return the names of the labels that may be present or absent; none for choices and ratings.

    A list of the labels that are present would state that they are absent.
    """
    names = codebook.label_names.items() if codebook.kind == "multilabel" else ()
    return [name for item, name in names if values.get(item) is None]


def named_ratings(values: Mapping[str, Value | None], codebook: Codebook) -> dict[str, int | float]:
    """Return the ratings by the name of the dimension; none for labels.

    Gold from before the labels became dimensions (True and False) is left out.
    """
    rated = ((name, values.get(item)) for item, name in codebook.label_names.items())
    return {name: value for name, value in rated if is_number(value)} if codebook.kind == "rating" else {}


def evidence_spans(annotator: AnnotatorValues, row: ExportRow, codebook: Codebook) -> list[dict[str, object]]:
    """Return the quotes in the first text field: ``{start, end, text, label}``, each place and label once.

    Offsets are characters (code points, as in Python, Label Studio and Prodigy), the end is exclusive. The quotes of a
    choice belong to the chosen label. Quotes that are not in the text, or in another field, are left out.
    """
    names = dict(codebook.label_names)
    label_id = annotator.values.get(CHOICE_ITEM)
    if label_id in names:
        names[CHOICE_ITEM] = names[label_id]
    first = next(iter(row.document.fields), "")
    text = row.document.text
    spans = dict.fromkeys(
        (quote.start, quote.end, names[quote.item])
        for quote in annotator.evidence
        if quote.supported and quote.field == first and quote.item in names
    )
    return [{"start": start, "end": end, "text": text[start:end], "label": label} for start, end, label in spans]


def write_lines(records: Iterable[Any], file: BinaryIO) -> None:
    """Write each record as JSON on one line."""
    for record in records:
        file.write(dump_json(record) + b"\n")
