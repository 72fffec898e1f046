"""Steps of a debate in order, for any protocol.

Agents who answer in parallel form one step per round. The result of such a step is their vote.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from core.annotations import VERDICT
from core.debate import protocols, turns
from core.errors import UsageError
from core.runs import RunRow
from core.services.cache import cached_while
from core.services.evaluation import run_data
from core.services.evaluation.run_data import Grid
from core.services.runs.configuration import pretty, role_titles
from core.services.session import ProjectSession
from core.stats.arrays import Codes
from core.stats.debate_rounds import is_right, vote_of


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """One step: the members of a family of roles in one round, and their joint result."""

    name: str
    """unique in the run"""
    title: str
    family: str
    round: int
    members: Mapping[str, Grid]
    predicted: Grid


@cached_while(lambda _, run: (run.state, run.turns, run.verdicts, run.unresolved, run.failed))
def stages(session: ProjectSession, run: RunRow) -> tuple[Stage, ...]:
    """Return the steps of a run's debates in which a role gave a list, in order. Empty before the first."""
    codebook = run.settings.codebook
    speeches = [speech for speech in session.store.stages.speeches(run.run_id) if speech.lists]
    table = session.store.stages.values(run.run_id, speeches, codebook.items, run_data.item_values(codebook))
    which, rows, columns, values = (table[name] for name in ("speech", "row", "column", "value"))
    shape = (run.documents, len(codebook.items))
    groups: dict[tuple[str, int], dict[str, Grid]] = {}
    for place, speech in enumerate(speeches):
        grid = np.full(shape, np.nan)
        own = which == place
        grid[rows[own], columns[own]] = values[own]
        groups.setdefault((turns.family(speech.role), speech.round), {})[speech.role] = grid
    titles = step_titles(run)
    several = {family for family, round in groups if round}
    found = []
    for (family, round), members in groups.items():
        title = titles.get(next(iter(members)), family) if len(members) == 1 else f"{pretty(family)}s"
        numbered = f"{title}, round {round + 1}" if family in several else title
        name = f"{family} {round + 1}" if family in several else family
        predicted = vote_of(list(members.values()), measured=codebook.kind == "rating")
        found.append(Stage(name, numbered, family, round, members, predicted))
    return tuple(found)


def last_lists(found: Iterable[Stage]) -> dict[str, Grid]:
    """Return the last list of each role, by role, from the steps of a run in order.

    For each document, a list of a later round replaces the whole list of an earlier round.
    """
    last: dict[str, Grid] = {}
    for stage in found:
        for role, predicted in stage.members.items():
            spoke = ~np.isnan(predicted).all(axis=1, keepdims=True)
            last[role] = np.where(spoke, predicted, last[role]) if role in last else predicted
    return last


def step_titles(run: RunRow) -> dict[str, str]:
    """Return the titles of the roles of a run and of its verdict."""
    return role_titles(run.settings) | {VERDICT: "Verdict"}


def decider(run: RunRow) -> str:
    """Return the role whose list becomes the verdict, ``verdict`` if there is no single deciding role."""
    try:
        return protocols.of(run.settings).deciding_role(protocols.params_of(run.settings))
    except UsageError:
        return VERDICT


def steps(run: RunRow, found: tuple[Stage, ...], verdict: Grid) -> list[tuple[str, str, Grid]]:
    """Return (name, title, values) of the steps of a debate; the last one is the verdict.

    The verdict replaces the deciding step, because a role's own list may contain labels that were not up for decision.
    One entry means that nothing was debated.
    """
    last = found[-1] if found else None
    decides = decider(run)
    is_last = last is not None and (decides in last.members or (decides == VERDICT and len(last.members) > 1))
    before = found[:-1] if is_last else found
    name, title = (last.name, last.title) if is_last and last is not None else (decides, step_titles(run)[decides])
    return [*((stage.name, stage.title, stage.predicted) for stage in before), (name, title, verdict)]


def coded(reference: Grid, *annotations: Grid, measured: bool) -> list[Codes]:
    """Return the reference and annotations as codes that are equal where an annotation is right; -1 where missing.

    The code of a rating is 1 within a point of the reference and 0 elsewhere. Ratings have no finite set of values: a
    mean may lie between two points.
    """
    grids = [reference, *annotations]
    codes = [is_right(reference, own, measured=True) for own in grids] if measured else grids
    return [np.where(np.isnan(own), -1, code).astype(np.int64) for own, code in zip(grids, codes, strict=True)]
