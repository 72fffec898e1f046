"""What stands beside a rating's scores: each rater alone, the raters among themselves, and ROUGE-L."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from app.widgets.layout import panel


def beside(report: Mapping[str, Any]) -> None:
    """The tables that a report of ``evaluate`` has cause for; nothing for one rater and one field."""
    if "raters" in report:
        with panel("Against each rater", "Spearman's correlation", key="evaluate-raters"):
            _raters(report)
    if report.get("overlap"):
        with panel("ROUGE-L for comparison", "overlap of words alone, Spearman's correlation", key="evaluate-overlap"):
            _overlap(report)


def _raters(report: Mapping[str, Any]) -> None:
    """Dimensions in rows; each rater, the mean and the median of them, and how far they agree among themselves."""
    sides = {**report["raters"], "their mean": report, "their median": report["median"]}
    rows = [
        [
            escape(name),
            *(_number(side["labels"][name]["spearman"]) for side in sides.values()),
            _number(report["agreement"][name]),
        ]
        for name in report["labels"]
    ]
    _table(["Dimension", *map(escape, sides), "the raters' own alpha"], rows)


def _overlap(report: Mapping[str, Any]) -> None:
    fields = report["overlap"]
    rows = [
        [
            escape(name),
            *(_number(own["labels"][name]["spearman"]) for own in fields.values()),
            _number(report["labels"][name]["spearman"]),
        ]
        for name in report["labels"]
    ]
    heads = [f"with {escape(field)} (mean F1 {_number(own['mean'])})" for field, own in fields.items()]
    _table(["Dimension", *heads, "this run"], rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table of cells that are html already."""
    head = "".join(f"<th>{cell}</th>" for cell in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    st.html(f'<div class="moot-scroll"><table class="moot-table"><tr>{head}</tr>{body}</table></div>')


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
