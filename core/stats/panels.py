"""Effect of a panel's debate on the agreement of its members, and of their mean with people.

After Chen et al. 2025, *MAJ-Eval: Multi-Agent-as-Judge* (section 5.4.2: correlations with human ratings before and
after; appendix A.4: Krippendorff's alpha of each group, ordinal here like the scale). Section 4.3 reports Spearman's
correlation without its sign, tables 4 and 5 print signs. Here they have their sign, because a panel that rates
backwards is not a good panel. Ratings are first normalised to 0 to 1 by the scale, so that scales can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from core.stats.agreement import krippendorff_alpha, with_interval
from core.stats.arrays import Codes, Ratings, known_mean, ratings
from core.stats.intervals import Estimate
from core.stats.metric_intervals import Design
from core.stats.scoring import difference, score


@dataclass(frozen=True, slots=True)
class Following:
    """Correlation and error of a panel's mean against the reference.

    None if undefined (fewer than two ratings, or no spread).
    """

    n: int
    pearson: Estimate
    spearman: Estimate
    kendall: Estimate
    mae: Estimate
    """mean absolute error, as a share of the scale (0 to 1)"""


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """Comparison of one dimension, or of all together, before and after the debate."""

    before: Following
    after: Following
    alpha_before: Estimate
    """Krippendorff's ordinal alpha among the members; None for fewer than two"""
    alpha_after: Estimate


def normalised(values: npt.ArrayLike, scales: Sequence[tuple[float, float]]) -> Ratings:
    """Return ratings ``[document, dimension]`` as 0 to 1 by the (low, high) of each dimension's scale; NaN stays.

    ValueError for a scale of no width.
    """
    for low, high in scales:
        if not low < high:
            raise ValueError(f"a scale from {low:g} to {high:g} has no width")
    lowest, highest = np.array(scales, dtype=np.float64).reshape(-1, 2).T
    return (ratings(values) - lowest) / (highest - lowest)


def before_after(
    reference: npt.ArrayLike,
    before: Mapping[str, npt.ArrayLike],
    after: Mapping[str, npt.ArrayLike],
    dimensions: Sequence[str],
    scales: Sequence[tuple[float, float]],
    *,
    teams: Mapping[str, str] | None = None,
    design: Design | None = None,
    groups: Codes | None = None,
) -> dict[str, BeforeAfter]:
    """Return a comparison per dimension, from members' ratings ``[document, dimension]`` before and after.

    ``scales`` are (low, high) of each dimension. ``teams`` is the team of each member, for ``panel_mean``. ``design``
    and ``groups`` as for ``debate_rounds.rounds``.
    """
    gold = normalised(reference, scales)
    firsts, lasts = ([ratings(grid) for grid in side.values()] for side in (before, after))
    # Means are normalised, not ratings: equal means of whole numbers are equal, those of fractions may not be.
    mean_before, mean_after = (
        normalised(panel_mean(list(side.values()), [teams[member] for member in side] if teams else ()), scales)
        for side in (before, after)
    )
    return {
        name: BeforeAfter(
            _following(gold[:, column], mean_before[:, column], design),
            _following(gold[:, column], mean_after[:, column], design),
            _alpha([grid[:, column] for grid in firsts], groups),
            _alpha([grid[:, column] for grid in lasts], groups),
        )
        for column, name in enumerate(dimensions)
    }


def _following(reference: Ratings, mean: Ratings, design: Design | None) -> Following:
    label_scores = score("rating", reference[:, None], mean[:, None], ("",), design=design).labels[""]
    return Following(label_scores.n, *(label_scores[key] for key in ("pearson", "spearman", "kendall", "mae")))


def _alpha(members: Sequence[Ratings], groups: Codes | None) -> Estimate:
    if len(members) < 2:
        return Estimate()
    return with_interval(partial(krippendorff_alpha, level="ordinal"), np.column_stack(members), groups)


MEASURES = ("spearman", "kendall", "pearson", "alpha")
MAX_DOCUMENTS = 1_000
"""Maximum number of documents, to save time; callers draw a sample from more."""


def scores(
    reference: npt.ArrayLike,
    members: Sequence[npt.ArrayLike],
    groups: Codes | None = None,
    *,
    teams: Sequence[str] = (),
) -> dict[str, Estimate]:
    """Return each of ``MEASURES`` of a panel, from reference and members' ratings ``[document]``.

    Correlations use ``panel_mean`` on documents with a reference and a rating; None without spread on either side.
    Alpha uses documents that two members rated; None for one member. Documents with equal codes in ``groups`` depend on
    each other. ``teams`` is the team of each member.
    """
    ratings_of_members = [ratings(member) for member in members]
    following = _following(ratings(reference), panel_mean(members, teams), Design(groups=groups))
    correlations = {name: getattr(following, name) for name in MEASURES[:3]}
    return correlations | {"alpha": _alpha(ratings_of_members, groups)}


def gains(
    reference: npt.ArrayLike,
    old: Sequence[npt.ArrayLike],
    new: Sequence[npt.ArrayLike],
    groups: Codes | None = None,
    *,
    teams: Sequence[str] = (),
) -> dict[str, Estimate]:
    """Return the gain of new members over old ones in each of ``MEASURES``. Arguments as for ``scores``."""
    before, after = (panel_mean(side, teams)[:, None] for side in (old, new))
    gold, design = ratings(reference)[:, None], Design(groups=groups)
    differences = difference("rating", gold, before, after, ("",), design=design).labels[""]

    def gain(answers: Ratings, times: Ratings) -> float | None:
        sides = (answers[:, : len(old)], answers[:, len(old) :])
        first, second = (krippendorff_alpha(side, times, "ordinal") for side in sides)
        return None if first is None or second is None else second - first

    alpha = with_interval(gain, np.column_stack([*old, *new]), groups, "signed")
    return {name: differences[name] for name in MEASURES[:3]} | {"alpha": alpha}


TEAM_DIGITS = 4
"""Digits of a mean over teams, as many as a panel's verdict has, so that equal means are ties."""


def panel_mean(members: Sequence[npt.ArrayLike], teams: Sequence[str] = ()) -> Ratings:
    """Return the mean of the members' ratings ``[document, ...]``, NaN without a rating.

    With ``teams``, the team of each member, it is the mean within teams and then over teams, as in a panel's verdict.
    """
    by_team: dict[str, list[Ratings]] = {}
    for team, member in zip(teams or [""] * len(members), members, strict=True):
        by_team.setdefault(team, []).append(ratings(member))
    means = [known_mean(np.stack(side)) for side in by_team.values()]
    return means[0] if len(means) == 1 else np.round(known_mean(np.stack(means)), TEAM_DIGITS)
