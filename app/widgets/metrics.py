"""Scores: metrics with their intervals side by side, and tables of all metrics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import streamlit as st

from app.components import component
from app.widgets import common, layout
from core.formatting import MISSING, join_names
from core.stats.intervals import Estimate, format_interval
from core.stats.metrics import Metric as ScoreMetric
from core.stats.metrics import Scores, metrics

_METRICS = component("metrics")


@dataclass(frozen=True, slots=True)
class MetricNote:
    """One line below a metric. ``tone`` is the colour of the ``strong`` part (right, wrong, unres)."""

    text: str
    strong: str = ""
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: a share from 0 to 1 with its interval on a bar, or plain ``text`` without a bar."""

    name: str
    share: Estimate | None = None
    text: str | None = None
    lines: tuple[MetricNote, ...] = ()

    def data(self) -> dict[str, Any]:
        """Return the data for the component."""
        row: dict[str, Any] = {"name": self.name, "notes": [asdict(line) for line in self.lines]}
        if self.text is not None:
            return row | {"text": self.text}
        return row | estimate_data(self.share)


def metric_strip(metrics: Iterable[Metric], *, key: str = "numbers") -> None:
    """Draw metrics side by side."""
    _METRICS(key=key, data={"metrics": [metric.data() for metric in metrics]})


def estimate_data(estimate: Estimate | None, value: str = "value", prefix: str = "") -> dict[str, float | None]:
    """Return an estimate for charts and components: its ``value``, and ``low`` and ``high``, which get the prefix.

    Each is None if undefined.
    """
    interval = estimate.interval if estimate else None
    return {
        value: estimate.value if estimate else None,
        f"{prefix}low": interval.low if interval else None,
        f"{prefix}high": interval.high if interval else None,
    }


def score_metric(metric: ScoreMetric, estimate: Estimate, note: str = "") -> Metric:
    """Return a score as a metric: a share on a bar if the score has an interval, else text."""
    lines = [part for part in (note, format_interval(estimate.interval, named=not note)) if part]
    if metric.interval is None or metric.kinds == ("rating",):
        return Metric(metric.name, text=metric.format(estimate.value), lines=tuple(map(MetricNote, lines)))
    return Metric(metric.name, estimate, lines=(MetricNote(", ".join(lines)),))


AGREEMENT = ("kappa", "ac1", "alpha")


def agreement(scores: Scores, reference: str, counted: str, *, key: str) -> None:
    """Draw the chance-corrected agreement of verdicts and reference with intervals, per label and over all labels.

    For several labels per document there is no value over all labels.
    """
    each = [metric for metric in metrics(scores.kind, per_label=True) if metric.key in AGREEMENT]
    rows = [[name, *(_cell(metric, label[metric.key]) for metric in each)] for name, label in scores.labels.items()]
    whole = {metric.key: metric for metric in metrics(scores.kind) if metric.key in AGREEMENT}
    if whole:
        rows.append(["All labels", *(_cell(metric, scores[name]) for name, metric in whole.items())])
    undefined = [name for name, label in scores.labels.items() if any(label[key].value is None for key in AGREEMENT)]
    with layout.panel("Agreement", f"of verdict and {reference}, corrected for chance", counted=counted, key=key):
        common.table(["Label", *(metric.name for metric in each)], rows)
        if undefined:
            same = f"all verdicts and all of {reference} are the same"
            common.line(f"{join_names(undefined)}: undefined ({MISSING}), because {same}.")


def dimension_table(scores: Scores) -> None:
    """Draw all scores of each dimension of a rating, with intervals."""
    each = metrics(scores.kind, per_label=True)
    rows = [[name, *(_cell(metric, label[metric.key]) for metric in each)] for name, label in scores.labels.items()]
    common.table(["Dimension", *(metric.name for metric in each)], rows)


def score_tables(scores: Scores, *, key: str) -> None:
    """Draw all metrics, over all labels and per label, in an expander."""
    each = metrics(scores.kind, per_label=True)
    with st.expander("All metrics", key=key):
        left, right = st.columns([1, 2.2], gap="small")
        overall = [
            {"metric": metric.name, "value": _cell(metric, scores[metric.key])} for metric in metrics(scores.kind)
        ]
        left.dataframe(overall, hide_index=True, height="content", key=f"{key}-overall")
        rows = [
            {
                "dimension" if scores.kind == "rating" else "label": name,
                "n": label.n,
                **{metric.name: _cell(metric, label[metric.key]) for metric in each},
            }
            for name, label in scores.labels.items()
        ]
        right.dataframe(rows, hide_index=True, height="content", key=f"{key}-labels")


def _cell(metric: ScoreMetric, estimate: Estimate) -> str:
    interval = format_interval(estimate.interval)
    return metric.format(estimate.value) + (f" ({interval})" if interval else "")
