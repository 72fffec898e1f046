"""Keys of the results in the JSON of ``evaluate`` and ``compare``, and the conversion of results to JSON data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any

from core.runs import RoleModel
from core.stats.intervals import Interval

JSON_KEYS: Mapping[str, str] = {
    "AgentRound": "agent accuracy kept to_right to_wrong sideways",
    "Alternative": "epsilon people winning_rate advantage passed why_not",
    "Band": "low high n wrong share",
    "Basis": "design units population complete discarded warning shaped_by",
    "BeforeAfter": "before after",
    "Bound": "cells at_first ever reached gap",
    "Calibration": "n excluded bins ece worst brier",
    "CalibrationBin": "low high n certainty right",
    "Certainty": "kind voters calibration counted why_not",
    "CochranQ": "names n excluded right statistic df p",
    "Coverage": "n left_out runs pooled",
    "Cue": "word weight errors hits",
    "DebateEffect": "flip_table on_all noun titles prices critic rounds upper_bound panels",
    "Drift": "run_id later days changed share chance counted problem models documents",
    "Equivalence": "margin interval equivalent non_inferior",
    "Estimate": "value interval clear",
    "Flip": "role against total labels gain label_gains",
    "FlipTable": "roles documents excluded cells shares steps whole errors_by label_errors_by",
    "GroupScores": "style group before after",
    "LabelErrors": "label_id name judged iterations sides by_length by_labels tags counted wrong",
    "LeftOut": "person n model_wins person_wins p replaceable",
    "MainTest": "metric difference p adjusted verdict",
    "McNemar": "n excluded only_first only_second p groups direction",
    "Objections": "cells raised justified followed followed_rightly followed_wrongly ignored_rightly missed precision "
    "recall followed_share",
    "Recommendation": "roles model reason title",
    "Repeated": "n missing mean sd interval low high",
    "RepeatedRuns": "runs measures labels by_run by_label stability documents counted",
    "Round": "name agents asked documents unanimous agreement with_majority consecutive vote mean upper_bound",
    "SideErrors": "side wrong consistent debated cues",
    "Stability": "iterations counts labels inconsistent unanimous",
    "StepCost": "cost_usd tokens seconds net per_label tokens_per_label",
    "Styles": "runs counted parts gains sentence",
    "TTest": "kind n_first n_second excluded mean_first mean_second difference t df p interval direction",
    "Tally": "corrected regressed kept_right kept_wrong n net right_after right_before",
}
"""The keys of each class: names of its fields and properties. Scripts depend on them."""


def json_data(value: Any) -> Any:
    """Return a value as JSON data: an interval as its ends, a model as ``connection/model``, a result by ``JSON_KEYS``.

    Raises KeyError for a class that is not in ``JSON_KEYS``.
    """
    if isinstance(value, Interval):
        return [value.low, value.high]
    if isinstance(value, RoleModel):
        return value.spec
    if isinstance(value, Mapping):
        return {str(key): json_data(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [json_data(item) for item in value]
    if is_dataclass(value):
        return {key: json_data(getattr(value, key)) for key in JSON_KEYS[type(value).__name__].split()}
    return value
