"""Effect of a panel's debate on the agreement of its members, and of their mean with people.

After Chen et al. 2025, *Multi-Agent-as-Judge* (MAJ-Eval; section 5.4.2: correlations with human ratings before and
after; appendix A.4: Krippendorff's alpha of each group, ordinal here like the scale). Section 4.3 reports Spearman's
correlation without its sign, tables 4 and 5 print signs. Here they have their sign, because a panel that rates
backwards is not a good panel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from core.stats.agreement import krippendorff_alpha, with_interval
from core.stats.arrays import Codes, Numbers, known_mean, ratings
from core.stats.intervals import Estimate
from core.stats.metric_intervals import Design
from core.stats.scoring import difference, score

MEASURES = ("spearman", "kendall", "pearson", "alpha")
MAX_DOCUMENTS = 1_000
"""Maximum number of documents, to save time; callers draw a sample from more."""


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """Each of ``MEASURES`` of one dimension, before and after the debate."""

    before: Mapping[str, Estimate]
    after: Mapping[str, Estimate]


def before_after(
    reference: npt.ArrayLike,
    before: Mapping[str, npt.ArrayLike],
    after: Mapping[str, npt.ArrayLike],
    dimensions: Sequence[str],
    *,
    teams: Mapping[str, str] | None = None,
    design: Design | None = None,
    groups: Codes | None = None,
) -> dict[str, BeforeAfter]:
    """Return a comparison per dimension, from members' ratings ``[document, dimension]`` before and after.

    ``teams`` is the team of each member, for ``panel_mean``. ``design`` and ``groups`` as for ``debate_rounds.rounds``.
    """
    gold = ratings(reference)

    def of_side(side: Mapping[str, npt.ArrayLike], column: int) -> dict[str, Estimate]:
        members = [ratings(grid)[:, column] for grid in side.values()]
        of_members = [teams[member] for member in side] if teams else ()
        return scores(gold[:, column], members, groups, teams=of_members, design=design)

    return {
        name: BeforeAfter(of_side(before, column), of_side(after, column)) for column, name in enumerate(dimensions)
    }


def scores(
    reference: npt.ArrayLike,
    members: Sequence[npt.ArrayLike],
    groups: Codes | None = None,
    *,
    teams: Sequence[str] = (),
    design: Design | None = None,
) -> dict[str, Estimate]:
    """Return each of ``MEASURES`` of a panel, from reference and members' ratings ``[document]``.

    Correlations use ``panel_mean`` on documents with a reference and a rating; None without spread on either side.
    Alpha uses documents that two members rated; None for one member. Documents with equal codes in ``groups`` depend on
    each other. ``teams`` is the team of each member. ``design`` is that of the reference, by default with ``groups``.
    """
    gold, mean = ratings(reference)[:, None], panel_mean(members, teams)[:, None]
    correlations = score("rating", gold, mean, ("",), design=design or Design(groups=groups)).labels[""]
    alpha = Estimate()
    if len(members) > 1:
        table = np.column_stack([ratings(member) for member in members])
        alpha = with_interval(partial(krippendorff_alpha, level="ordinal"), table, groups)
    return {name: correlations[name] for name in MEASURES[:3]} | {"alpha": alpha}


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

    def gain(answers: Numbers, times: Numbers) -> float | None:
        sides = (answers[:, : len(old)], answers[:, len(old) :])
        first, second = (krippendorff_alpha(side, times, "ordinal") for side in sides)
        return None if first is None or second is None else second - first

    alpha = with_interval(gain, np.column_stack([*old, *new]), groups, "signed")
    return {name: differences[name] for name in MEASURES[:3]} | {"alpha": alpha}


TEAM_DIGITS = 4
"""Digits of a mean over teams, as many as a panel's verdict has, so that equal means are ties."""


def panel_mean(members: Sequence[npt.ArrayLike], teams: Sequence[str] = ()) -> Numbers:
    """Return the mean of the members' ratings ``[document, ...]``, NaN without a rating.

    With ``teams``, the team of each member, it is the mean within teams and then over teams, as in a panel's verdict.
    """
    by_team: dict[str, list[Numbers]] = {}
    for team, member in zip(teams or [""] * len(members), members, strict=True):
        by_team.setdefault(team, []).append(ratings(member))
    means = [known_mean(np.stack(side)) for side in by_team.values()]
    return means[0] if len(means) == 1 else np.round(known_mean(np.stack(means)), TEAM_DIGITS)
