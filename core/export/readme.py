"""README beside an exported table: where its labels come from, and what each column means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from core.codebook import CHOICE_ITEM, Codebook, label_noun
from core.export.export_row import REVIEW, ExportRow, SharedColumns
from core.formatting import escape_markdown, format_count, plural


@dataclass(slots=True)
class Summary:
    """Contents of the exported rows, counted while they are written.

    ``reviewed`` counts documents with a decision of a person on at least one label, by ``deciders``. ``reviewers`` may
    also have discarded documents only. ``without_value`` counts documents with a label that has neither a verdict nor a
    review.
    """

    columns: SharedColumns
    runs: dict[str, str] = field(default_factory=dict)
    """Name, protocol and models by run id."""
    rows: int = 0
    reviewed: int = 0
    without_value: int = 0
    deciders: set[str] = field(default_factory=set)
    reviewers: set[str] = field(default_factory=set)
    raters: set[str] = field(default_factory=set)


def observed(rows: Iterable[ExportRow], summary: Summary, codebook: Codebook) -> Iterator[ExportRow]:
    """Yield the rows, and count them in the summary."""
    for row in rows:
        summary.rows += 1
        people = {annotator.name for annotator in row.reviewers}
        if REVIEW in row.sources.values():
            summary.reviewed += 1
            summary.deciders |= people
        summary.without_value += any(row.values.get(item) is None for item in codebook.items)
        summary.reviewers |= people
        summary.raters.update(row.document.gold)
        if row.run_id not in summary.runs:
            models = ", ".join(f"{role}: {model}" for role, model in row.roles.items())
            name = f"{row.run_name}, " if row.run_name else ""
            summary.runs[row.run_id] = f"{name}{row.protocol} ({models})" if models else f"{name}{row.protocol}"
        yield row


def origin(summary: Summary, codebook: Codebook) -> list[str]:
    """Return sentences on the origin of the labels. They claim a review only for documents that have one."""
    many = len(summary.runs) > 1
    lines = [f"- Run {run}: {escape_markdown(description)}" for run, description in summary.runs.items()]
    baseline = any("builtin/lexical" in description for description in summary.runs.values())
    counted = format_count(summary.rows, "row") if many else format_count(summary.rows, "document")
    if summary.reviewed:
        who = format_count(len(summary.deciders), "person", "people")
        reviewed = f"{summary.reviewed:,} of {counted} have labels decided by {who}; all others have model output only."
    else:
        reviewed = f"All labels of {counted} are model output: no person has reviewed them."
    more = ["The built-in word-list baseline is not a language model."] if baseline else []
    if summary.without_value:
        lack, noun = plural(summary.without_value, "lacks", "lack"), label_noun(codebook.kind)
        more.append(f"{summary.without_value:,} {lack} a value for at least one {noun}: unresolved, failed or not run.")
    return [*lines, "", " ".join([reviewed, *more])]


def describe_columns(codebook: Codebook, roles: Sequence[str], raters: int = 0) -> list[tuple[str, str]]:
    """Return the result columns and what they mean. ``NAME`` is that of a label or dimension; a choice has none."""
    gold = "gold label of the imported file"
    if raters > 1:
        rule = "mean" if codebook.kind == "rating" else "majority, empty on a tie,"
        gold += f": {rule} of {raters} raters"
    name = CHOICE_ITEM if codebook.kind == "choice" else "NAME"
    return [
        ("document_id", "the id column of the imported file, else the number of the row"),
        (f"gold_{name}", gold),
        (f"pred_{name}", "verdict of the run, before any review"),
        (f"reviewed_{name}", "decision of a person, also while the review_status is Draft; empty without one"),
        *((f"{role}_{name}", f"last decision of the role {role}") for role in roles),
        (f"evidence_{name}", "quotes: role, quote, field, start and end (characters), match"),
        ("run_id, protocol, codebook_version", "how the verdict was made"),
        ("status", "of the debate on the document: verdict, unresolved, failed or open"),
        ("review_status", "of the document: Pending, Draft, Submitted or Discarded"),
        ("review_note", "note of the reviewer; of several, each note after the name of its reviewer"),
        ("review_flag", "1 (true in Parquet) if the document is flagged"),
        ("review_error_types", "error types that reviewers chose, with commas between them"),
        ("reviewers", "people who decided labels of the document, or discarded it"),
    ]


def _scales(codebook: Codebook) -> list[str]:
    if not codebook.mixes_scales:
        return [str(codebook.scale)]
    named = zip(codebook.names, codebook.scales, strict=True)
    return [f"{escape_markdown(name)} {scale}" for name, scale in named]


def table_readme(codebook: Codebook, summary: Summary) -> bytes:
    """Return the README of a table."""
    values = {
        "multilabel": "The value 1 (true in Parquet) is present, 0 (false) is absent",
        "choice": "A value is the name of a label",
        "rating": f"A value is a number on the scale ({', '.join(_scales(codebook))})",
    }[codebook.kind]
    columns = describe_columns(codebook, summary.columns.roles, len(summary.raters))
    _, (gold, _), (verdict, _), (reviewed, _), *_ = columns
    names = "" if codebook.kind == "choice" else f"NAME is the name of a {label_noun(codebook.kind)}. "
    lines = [
        f"# {escape_markdown(codebook.name) or 'Labels'}",
        "",
        *origin(summary, codebook),
        "",
        "## Columns",
        "",
        "| column | meaning |",
        "| --- | --- |",
        *(f"| {name} | {meaning} |" for name, meaning in columns),
        "",
        f"{names}{values}; an empty cell means an unknown value, never absent.",
        f"The final value is `{reviewed}` where it has one, else `{verdict}`. Score `{verdict}` against `{gold}`,",
        f"not `{reviewed}`: unless the review was blind, a reviewer saw the verdict.",
        "A column of your file that has one of these names keeps it; the result gets `_2`.",
    ]
    return ("\n".join(lines) + "\n").encode()
