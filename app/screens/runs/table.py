"""The table of runs as data: columns, and for each run its texts and the numbers to sort by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from core.formatting import (
    MISSING,
    format_cost,
    format_duration,
    format_number,
    format_percent,
    format_price,
    format_tokens,
)
from core.runs import RunRow
from core.services.evaluation.run_comparison import LeaderboardRow
from core.services.runs.configuration import DOCUMENTS, MODELS, PROTOCOL, SUMMARY
from core.stats.intervals import Estimate, format_estimate

ALWAYS = (PROTOCOL, MODELS)
"""Headings of the configuration that are shown even where no run differs."""
DEFAULT_FIGURES = ("n", "coverage", "strict", "cost")
NUMERIC = (DOCUMENTS, "Seed", "Iteration")
FIGURES = {
    "n": ("Scored", "Documents with a reference and a verdict"),
    "coverage": ("Coverage", "Share of the documents with a reference that have a verdict"),
    "strict": ("Strict", "The score with documents without a verdict as wrong ones (ratings: with a correlation of 0)"),
    "cost": ("Full cost", "As if no reply had been reused"),
    "paid": ("Paid", "What this run paid; reused replies were free"),
    "tokens": ("Tokens", "As if no reply had been reused"),
    "seconds": ("Time", "While the run was active"),
    "kappa": ("Kappa", "Cohen's kappa of the verdicts and the reference"),
    "alpha": ("Alpha", "Krippendorff's alpha of the verdicts and the reference"),
}
"""Columns of figures beside the main score: title and explanation."""


def table_data(rows: Sequence[LeaderboardRow], headings: Sequence[str], figures: Sequence[str]) -> dict[str, Any]:
    """Return the data of the component: columns, and for each run its texts and the numbers to sort by."""
    most_common = {
        heading: Counter(row.configuration[heading] for row in rows).most_common(1)[0][0] for heading in headings
    }
    columns = [
        {"key": "main", "title": metric_names(rows), "numeric": True},
        {"key": "interval", "title": "95% interval", "numeric": False, "interval": True},
    ]
    for figure, (title, help) in FIGURES.items():
        if figure in figures:
            columns.append({"key": figure, "title": title, "numeric": True, "help": help})
    columns += [{"key": heading, "title": heading, "numeric": heading in NUMERIC} for heading in headings]
    return {"columns": columns, "runs": [_run_data(row, most_common) for row in rows]}


def metric_names(rows: Sequence[LeaderboardRow]) -> str:
    """Return the names of the main scores of these runs: of several kinds of codebook, each has its own."""
    first, *others = dict.fromkeys(row.metric.name for row in rows)
    return " or ".join([first, *(f"{name[0].lower()}{name[1:]}" for name in others)])


def _run_data(row: LeaderboardRow, most_common: Mapping[str, str]) -> dict[str, Any]:
    details, estimate = row.run.details, row.main
    interval = estimate.interval if estimate is not None else None
    cells = {heading: _configuration_cell(row.configuration[heading], usual) for heading, usual in most_common.items()}
    return {
        "id": row.run.run_id,
        "name": row.run.title,
        "tags": list(details.tags),
        "pinned": details.pinned,
        "archived": details.status == "archived",
        "cells": cells | _figures(row),
        "interval": [interval.low, interval.high, estimate.value] if interval and estimate else None,
    }


def _configuration_cell(text: str, most_common: str) -> dict[str, Any]:
    usual_parts = set(most_common.split(", "))
    parts = [[part, part not in usual_parts] for part in text.split(", ")]
    digits = text.replace(",", "")
    return {"parts": parts, "value": float(digits) if digits.isdigit() else None, "title": text}


def _figures(row: LeaderboardRow) -> dict[str, Any]:
    run, cost, report = row.run, row.cost, row.report
    scores = report.scores if report is not None else None
    coverage = scores.coverage if scores is not None else None
    main = row.main.value if row.main is not None else None
    overall = scores.overall if scores is not None else {}
    incomplete = report is not None and report.excluded > 0
    return {
        "main": _number(main, format_number(main), "main") if main is not None else _number(None, _state(run)),
        "coverage": _number(coverage, format_percent(coverage), "unres" if incomplete else ""),
        "strict": _estimate(row.rank_score),
        "n": _number(scores.n if scores else None, f"{scores.n:,}" if scores else MISSING),
        "cost": _number(cost["cost_usd"], _price(cost["cost_usd"], run)),
        "paid": _number(cost["paid_usd"], _price(cost["paid_usd"], run)),
        "tokens": _number(cost["tokens"], format_tokens(cost["tokens"] or 0)),
        "seconds": _number(run.seconds, format_duration(run.seconds)),
        **{key: _estimate(overall.get(key, Estimate())) for key in ("kappa", "alpha")},
    }


def _price(dollars: float | None, run: RunRow) -> str:
    return format_cost(dollars, run.estimated_calls) if dollars else format_price(dollars)


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return _number(estimate.value, format_estimate(estimate))


def _number(value: float | None, text: str, tone: str = "") -> dict[str, Any]:
    return {"parts": [[text, False]], "value": value, "tone": tone}


def _state(run: RunRow) -> str:
    return "no reference" if run.verdicts else "no verdict" if run.state == "done" else run.state


def results(row: LeaderboardRow) -> dict[str, str]:
    """Return score, cost and time of a run in words, by name."""
    main, cost = row.main, row.cost
    score = format_estimate(main) if main is not None and main.value is not None else _state(row.run)
    tokens = format_tokens(cost["tokens"] or 0)
    return {row.metric.name: score, "Full cost": _price(cost["cost_usd"], row.run), "Tokens": tokens}


def parts_that_differ(configuration: Mapping[str, str]) -> list[str]:
    """Return the headings of a configuration without models and prompts that are equal for all roles."""
    shown = []
    for heading in configuration:
        part = next((part for part in (" model", " prompt") if heading.endswith(part)), "")
        values = {value for other, value in configuration.items() if part and other.endswith(part)}
        if not part or len(values) > 1:
            shown.append(heading)
    return shown


def headings(rows: Sequence[LeaderboardRow], *, all_of_them: bool) -> list[str]:
    """Return the headings of the configuration to show: all of them, or those in which the runs differ.

    The headings of ``ALWAYS`` come last if no run differs in them.
    """
    if all_of_them:
        return list(SUMMARY)
    differs = [name for name in SUMMARY if len({row.configuration[name] for row in rows}) > 1]
    return [*differs, *(name for name in ALWAYS if name not in differs)]
