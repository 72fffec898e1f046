"""Regressions on the labels of a run, corrected by its reviewed documents, and those saved for a paper."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from core.codebook import Codebook
from core.errors import UsageError
from core.formatting import format_count, format_number, format_p_value, join_names
from core.runs import RunRow
from core.services.evaluation.annotation_arrays import Grid, group_codes, reviewed_sample
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_by_documents
from core.stats.arrays import Numbers
from core.stats.corrected_regression import Coefficient, Family, Regression, Rows, regression
from core.stats.intervals import ends, format_interval

FAMILIES: tuple[Family, ...] = ("linear", "logistic")
MAX_CATEGORIES = 20
"""Most different texts of a column that become categories."""
INTERCEPT = "intercept"
_DATE = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?(?:[T ].*)?")


@dataclass(frozen=True, slots=True)
class Formula:
    """A regression: names of labels, of dimensions, or of imported columns. Without predictors it is a mean."""

    outcome: str
    predictors: tuple[str, ...] = ()
    family: Family = "linear"

    def __str__(self) -> str:
        return f"{self.outcome} ~ {' + '.join(self.predictors) or '1'}"


@dataclass(frozen=True, slots=True)
class Analysis:
    """A regression with its terms by name: the intercept, predictors, and categories as ``column: value``."""

    formula: Formula
    terms: Mapping[str, Coefficient]
    regression: Regression
    left_out: int
    """Documents with a verdict that lack a value of a column."""
    groups: int | None
    """Independent groups of documents, None if documents are independent."""
    discarded: int
    """Reviewed documents that were discarded. The coefficients are for those that would be kept."""

    @property
    def sentence(self) -> str:
        """The documents behind the coefficients, in words."""
        result = self.regression
        left_out = f"; excluded: {self.left_out:,} without a value" if self.left_out else ""
        left_out += f"; discarded: {self.discarded:,}" if self.discarded else ""
        grouping = f", {self.groups:,} independent groups" if self.groups is not None else ""
        return (
            f"{format_count(result.documents, 'document')}, {result.reviewed:,} of them reviewed "
            f"({format_count(result.drawn, 'random draw')}){grouping}; "
            f"weight of the verdicts {result.tuning:.2f}{left_out}"
        )


@cached_by_documents
def columns(session: ProjectSession, run: RunRow) -> tuple[str, ...]:
    """Return the imported columns that a regression can use: numbers, dates, or few different texts."""
    names = session.store.annotations.columns(run.run_id)
    return tuple(name for name in names if name not in run.settings.codebook.names and _read(session, run, name))


def analyse(session: ProjectSession, run: RunRow, formula: Formula) -> Analysis:
    """Return the regression of a run. UsageError for an unknown name or where it cannot be estimated."""
    codebook = run.settings.codebook
    if not any(name in codebook.names for name in (formula.outcome, *formula.predictors)):
        raise UsageError("The regression contains no label.", f"Use one of: {join_names(codebook.names)}.")
    if formula.outcome in formula.predictors or len(set(formula.predictors)) < len(formula.predictors):
        raise UsageError("The regression names a variable twice.", "Name each variable once.")
    if formula.family not in FAMILIES:
        raise UsageError(f"The family '{formula.family}' does not exist.", f"Choose {' or '.join(FAMILIES)}.")
    loaded = reviewed_sample(session, run)
    verdicts, order = loaded.verdicts, loaded.order
    all_rows = np.flatnonzero(loaded.population)
    reviewed = np.searchsorted(all_rows, order)
    human = np.where(np.isin(np.arange(len(verdicts)), order)[:, None], loaded.reference, verdicts)
    names, by_model = _rows(session, run, formula, verdicts)
    _, by_people = _rows(session, run, formula, human)
    _, changed = _rows(session, run, formula, _with_errors(codebook, verdicts))
    complete = ~np.isnan(by_model.outcome) & ~np.isnan(by_model.predictors).any(axis=1)
    if formula.family == "logistic" and not np.isin(by_model.outcome[complete], (0, 1)).all():
        raise UsageError(f"{formula.outcome} is not yes or no.", "Use a linear regression.")
    is_kept = ~np.isnan(human).any(axis=1)
    used = [_used(rows, complete).take(all_rows) for rows in (by_model, changed)]
    groups = group_codes(session, run)
    row_groups = groups[all_rows] if groups is not None else None
    people = _used(by_people, complete & is_kept).take(order)  # discarded documents are left out
    try:
        result = regression(formula.family, used[0], people, used[1], reviewed, loaded.sample, groups=row_groups)
    except ValueError as error:
        raise UsageError(f"{formula} cannot be estimated: {error}.", _remedy(str(error))) from error
    return Analysis(
        formula,
        dict(zip(names, result.coefficients, strict=True)),
        result,
        int((~complete[all_rows]).sum()),
        len(np.unique(row_groups)) if row_groups is not None else None,
        loaded.discarded,
    )


def to_json(analysis: Analysis) -> dict[str, Any]:
    """Return the output of ``moot regress --json``."""
    result = analysis.regression
    return {
        **asdict(analysis.formula),
        "documents": result.documents,
        "reviewed": result.reviewed,
        "drawn": result.drawn,
        "left_out": analysis.left_out,
        "discarded": analysis.discarded,
        "groups": analysis.groups,
        "tuning": result.tuning,
        "coefficients": {
            name: {
                "estimate": coefficient.estimate.value,
                "interval": ends(coefficient.estimate.interval),
                "error": coefficient.error,
                "p": coefficient.p,
                "verdicts_alone": coefficient.naive.value,
            }
            for name, coefficient in analysis.terms.items()
        },
    }


def table(analysis: Analysis) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the head and the rows of the coefficients as text."""
    rows = []
    for name, coefficient in analysis.terms.items():
        p = format_p_value(coefficient.p).removeprefix("p ").removeprefix("= ")
        estimate, span = format_number(coefficient.estimate.value), format_interval(coefficient.estimate.interval)
        rows.append((name, estimate, span, p, format_number(coefficient.naive.value)))
    return ("term", "estimate", "95% interval", "p", "verdicts alone"), tuple(rows)


def saved_formulas(session: ProjectSession, run: RunRow) -> tuple[Formula, ...]:
    """Return the regressions that belong to the paper of a run."""
    stored = session.store.settings.get(_setting(run)) or []
    return tuple(Formula(row["outcome"], tuple(row["predictors"]), row["family"]) for row in stored)


def save_formulas(session: ProjectSession, run: RunRow, formulas: Sequence[Formula]) -> None:
    """Store the regressions that belong to the paper of a run."""
    session.store.settings.set(_setting(run), [asdict(formula) for formula in dict.fromkeys(formulas)])


def _setting(run: RunRow) -> str:
    return f"regressions {run.run_id}"


def _remedy(problem: str) -> str:
    if "draws" in problem:
        return "Review more documents in the order of the queue."
    if "collinear" in problem:
        return "Leave out a predictor that follows from the others, or that has a single value."
    return "Use a linear regression, or leave out a predictor that separates the outcomes."


def _used(rows: Rows, complete: Any) -> Rows:
    """Return rows of zeros, which are left out, where a value is missing."""
    return Rows(np.where(complete, rows.outcome, 0.0), np.where(complete[:, None], rows.predictors, 0.0))


def _rows(session: ProjectSession, run: RunRow, formula: Formula, values: Grid) -> tuple[list[str], Rows]:
    """Return the names of the terms and the rows of all documents for these labels; NaN for a missing value."""
    outcome = _variable(session, run, formula.outcome, values)
    if len(outcome) != 1:
        raise UsageError(f"{formula.outcome} has several values.", "Choose a label or a numeric column as the outcome.")
    terms = {INTERCEPT: np.ones(len(values))}
    for name in formula.predictors:
        terms |= _variable(session, run, name, values)
    return list(terms), Rows(next(iter(outcome.values())), np.column_stack(list(terms.values())))


def _variable(session: ProjectSession, run: RunRow, name: str, values: Grid) -> Mapping[str, Numbers]:
    """Return the columns of a variable by term. UsageError for an unknown column and for one with too many texts."""
    codebook = run.settings.codebook
    if name not in codebook.names:
        if (by_term := _read(session, run, name)) is not None:
            return by_term
        names = ", ".join(dict.fromkeys((*codebook.names, *session.store.annotations.columns(run.run_id))))
        raise UsageError(
            f"'{name}' is not a label, and not a column of numbers, dates or at most {MAX_CATEGORIES} texts.",
            f"There are: {names}.",
        )
    column = codebook.names.index(name)
    if codebook.kind == "choice":
        return {name: np.where(np.isnan(values[:, 0]), np.nan, values[:, 0] == column)}
    return {name: values[:, column]}


def _with_errors(codebook: Codebook, values: Grid) -> Grid:
    """Return the values with every label wrong: the other one, the next one of a choice, or a point further."""
    match codebook.kind:
        case "multilabel":
            return 1 - values
        case "choice":
            return (values + 1) % len(codebook.labels)
        case "rating":
            return values + 1


@cached_by_documents
def _read(session: ProjectSession, run: RunRow, name: str) -> Mapping[str, Numbers] | None:
    """Return an imported column by term; None if it cannot be used."""
    texts = [(text or "").strip() for text in session.store.annotations.column(run.run_id, name)]
    return _numeric(name, texts) or _categories(name, texts)


def _numeric(name: str, texts: Sequence[str]) -> dict[str, Numbers] | None:
    """Return a column of numbers, or of dates as years; None for other texts or a single value."""
    numbers = np.full(len(texts), np.nan)
    for row, text in enumerate(texts):
        if not text:
            continue
        try:
            numbers[row] = float(text)
        except ValueError:
            if (date := _DATE.fullmatch(text)) is None:
                return None
            year, month, day = (int(part or 1) for part in date.groups())
            numbers[row] = year + (month - 1) / 12 + (day - 1) / 372
    finite = numbers[np.isfinite(numbers)]
    return {name: np.where(np.isfinite(numbers), numbers, np.nan)} if len(np.unique(finite)) > 1 else None


def _categories(name: str, texts: Sequence[str]) -> dict[str, Numbers] | None:
    """Return a column for each text but the most frequent one, which is the baseline; None for one or too many."""
    counts = Counter(filter(None, texts))
    if not 1 < len(counts) <= MAX_CATEGORIES:
        return None
    ((baseline, _),) = counts.most_common(1)
    missing = np.array([not text for text in texts])
    return {
        f"{name}: {value}": np.where(missing, np.nan, np.array([text == value for text in texts], dtype=np.float64))
        for value in sorted(counts)
        if value != baseline
    }
