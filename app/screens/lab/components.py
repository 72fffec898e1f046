"""Components of the Lab: template editor, text diff, trial results and version history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

from app.components import component
from app.widgets.live_board import label_data
from core.codebook import Codebook, Kind
from core.prompts.checking import Problem
from core.services.codebooks.diff import Line
from core.services.lab.history import VersionRow
from core.services.lab.results import EFFECT_ORDER, TrialResult
from core.stats.intervals import Estimate

_TEMPLATE_EDITOR = component("template_editor")
_TEXT_DIFF = component("text_diff")
_TRIAL_RESULTS = component("trial_results")
_VERSION_HISTORY = component("version_history")

Callback = Callable[[], None]


def _ignore() -> None:
    """Do nothing. Components report a trigger only if they have a callback for it."""


def template_editor(
    text: str,
    problems: Iterable[Problem],
    *,
    life: str,
    name: str,
    key: str,
    on_text: Callback = _ignore,
    on_go: Callback = _ignore,
) -> None:
    """Draw the editor of a template, with line numbers, coloured variables and problems at their lines.

    When typing pauses, ``st.session_state[key]["text"]`` contains ``{life, text}``. The editor loads ``text`` only if
    ``life`` has changed, so that no input is overwritten. Ctrl+Enter calls ``on_go``.
    """
    _TEMPLATE_EDITOR(
        key=key,
        data={"text": text, "life": life, "name": name, "problems": [asdict(each) for each in problems], "height": 470},
        on_text_change=on_text,
        on_go_change=on_go,
    )


def text_diff(lines: Sequence[Line], *, key: str) -> None:
    """Draw the diff of two texts, with the line numbers of both and changed words marked."""
    _TEXT_DIFF(key=key, data={"lines": [asdict(line) for line in lines], "height": 470})


def trial_results(
    found: TrialResult,
    codebook: Codebook,
    *,
    scores: str,
    measure: str,
    few: str = "",
    rows: bool = True,
    key: str,
) -> None:
    """Draw the results of a trial. Without ``rows``, only the scores are shown."""
    _TRIAL_RESULTS(
        key=key,
        data={
            "counts": {effect: found.count(effect) for effect in EFFECT_ORDER},
            "rows": [asdict(one) for one in found.documents] if rows else [],
            "sentence": found.sentence,
            "note": scores,
            "warning": few,
            "metric": measure,
            "kind": codebook.kind,
            "labels": label_data(codebook),
            "score_changes": [
                _score_change(measure.rpartition(" ")[2] if codebook.kind == "rating" else "Macro F1", 0, found.change),
                *(_score_change(label.name, label.colour, label.change) for label in found.labels),
            ],
        },
    )


def _score_change(name: str, colour: int, change: Estimate) -> dict[str, Any]:
    low, high = (change.interval.low, change.interval.high) if change.interval else (None, None)
    return {"name": name, "colour": colour, "value": change.value, "low": low, "high": high}


def version_history(
    rows: Sequence[VersionRow],
    *,
    kind: Kind,
    opened: str,
    promotable: bool,
    key: str,
    on_open: Callback = _ignore,
    on_promote: Callback = _ignore,
) -> None:
    """Draw the versions as a tree with scores, cost, notes and runs. ``opened`` is the version in the editor."""
    _VERSION_HISTORY(
        key=key,
        data={
            "rows": [_version(row, opened) for row in rows],
            "metric": "share correct" if kind == "rating" else "macro F1",
            "promotable": promotable,
        },
        on_open_change=on_open,
        on_promote_change=on_promote,
    )


def _version(row: VersionRow, opened: str) -> dict[str, Any]:
    score, more = row.score, len(row.runs) - 2
    return {
        **asdict(row),
        "is_open": row.name == opened,
        "runs": ", ".join(row.runs[:2]) + (f" and {more} more" if more > 0 else ""),
        "score": score.value.value if score else None,
        "n": score.n if score else None,
        "cost": score.cost_usd if score else None,
        "held_out": row.held_out.value.value if row.held_out else None,
    }
