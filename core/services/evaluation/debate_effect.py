"""Effect of the debate: corrections and regressions of each step, their cost, and the upper bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from core.codebook import Codebook, Kind
from core.debate.personas import FAMILY
from core.debate.turns import family
from core.documents import Reference
from core.formatting import format_count, format_money, format_points, join_names
from core.runs import RunRow, total_cost
from core.services.evaluation import annotation_arrays
from core.services.evaluation.annotation_arrays import (
    TIED,
    Grid,
    Stage,
    debate_statuses,
    group_codes,
    last_lists,
    sampling_design,
    step_titles,
    strict_design,
    verdict_arrays,
)
from core.services.evaluation.panel_ablation import members_of
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_scores
from core.stats import flips, panels
from core.stats.arrays import Codes, Mask, coded
from core.stats.debate_rounds import Bound, Round, bound, rounds
from core.stats.flips import Flip, FlipTable, Objections, objections
from core.stats.intervals import format_interval
from core.stats.metric_intervals import Design
from core.store.runs import RoleCost


@dataclass(frozen=True, slots=True)
class StepCost:
    """Cost of a step on the documents with a reference, in total and per label gained."""

    cost_usd: float | None
    """None when a reply has no price."""
    tokens: int
    seconds: float
    net: float
    """Labels corrected minus labels regressed, from reviewed documents by their weights."""

    @property
    def per_label(self) -> float | None:
        """Dollars for each label gained; None when nothing was gained or a price is unknown."""
        return self.cost_usd / self.net if self.cost_usd is not None and self.net > 0 else None

    @property
    def tokens_per_label(self) -> float | None:
        """Tokens for each label gained; None when nothing was gained."""
        return self.tokens / self.net if self.net > 0 else None


@dataclass(frozen=True, slots=True)
class DebateEffect:
    """Effect of a run's debates against a reference."""

    flip_table: FlipTable | None
    """None with a single step. For a choice, the cells of a label are the documents with that reference label."""
    on_all: Flip | None
    """The last step against the first on all debated documents with a reference, where a missing value is wrong."""
    noun: str
    """Noun for one cell of the flip table: label, document or rating."""
    titles: Mapping[str, str]
    """Titles of roles and of the steps of the flip table."""
    prices: Mapping[str, StepCost]
    """Of each step of the flip table after the first, by its name, and of all of them as ``whole``."""
    critic: Objections | None
    """None without a critic that gives lists."""
    rounds: tuple[Round, ...]
    """Steps in which several agents answered in parallel."""
    upper_bound: Bound
    panels: Mapping[str, Mapping[str, panels.BeforeAfter]]
    """For ratings, by family with several rounds: dimension -> before and after."""
    has_means: bool = False
    """True if verdicts are ratings between two points. They are more often less than a point off, whatever is said."""

    @property
    def sentence(self) -> str | None:
        """Corrections and regressions of the whole debate, None with one step.

        A second sentence follows if steps made changes and the debate as a whole made none, and one on means.
        """
        return "".join(words for words, _ in self.sentence_pieces()) or None

    def sentence_pieces(self) -> tuple[tuple[str, bool], ...]:
        """Return the sentence in pieces, each with whether to emphasise it; empty with one step."""
        if self.flip_table is None:
            return ()
        overall, steps = self.flip_table.whole, self.flip_table.steps
        than = f"the {self.titles.get(overall.against, overall.against).lower()} alone"
        pieces = flips.sentence(overall, than=than, noun=self.noun)
        changes = [change.total.corrected + change.total.regressed for change in (*steps, overall)]
        reversed_later = any(changes) and not changes[-1]
        reversal = ((" A later step reversed what one step changed.", False),) if reversed_later else ()
        return (*pieces, *reversal, *(((_MEANS, False),) if self.has_means else ()))


_MEANS = (
    " Verdicts are means, and a mean is less than a point off more often than a whole rating. Compare the absolute "
    "error too."
)


@cached_scores
def debate_effect(session: ProjectSession, run: RunRow, reference: Reference = "gold") -> DebateEffect:
    """Return what the debates of a run changed, for any protocol and kind of label. Cached."""
    codebook = run.settings.codebook
    rating = codebook.kind == "rating"
    stages = annotation_arrays.stages(session, run)
    loaded = verdict_arrays(session, run, reference)
    gold, predicted = loaded.reference, loaded.verdicts
    is_partly_read = np.isnan(predicted).any(axis=1, keepdims=True)  # does not count as an end
    verdict = np.where(is_partly_read, np.nan, predicted)
    path = annotation_arrays.steps(run, stages, verdict)
    design = sampling_design(session, run, reference, loaded)
    groups = group_codes(session, run)
    flip_table = on_all = None
    if len(path) > 1:
        true, steps = _coded_steps(codebook, gold, path)
        flip_table = flips.flip_table(true, steps, codebook.names, design)
        debated = np.where((debate_statuses(session, run) == "waiting")[:, None], -1, true)
        ends = [(name, np.where(values < 0, round(TIED), values)) for name, values in (steps[0], steps[-1])]
        all_documents = strict_design(session, run, reference, loaded)
        on_all = flips.flip_table(debated, ends, codebook.names, all_documents).whole
    has_reference: Mask = np.any(~np.isnan(gold), axis=1)
    with_reference = [*compress(loaded.documents, has_reference)]
    return DebateEffect(
        flip_table=flip_table,
        on_all=on_all,
        noun=noun(run),
        titles={**step_titles(run), **{step.name: step.title for step in path}},
        prices=_prices(flip_table, stages, session.store.costs.spent(run.run_id, with_reference)) if flip_table else {},
        critic=_critic(gold, stages, verdict, design, codebook.kind),
        rounds=rounds(
            gold,
            [(stage.title, stage.members) for stage in annotation_arrays.parallel_stages(session, run)],
            vote=annotation_arrays.family_vote(run),
            kind=codebook.kind,
            design=design,
            groups=groups,
        ),
        upper_bound=bound(
            gold, [list(stage.members.values()) for stage in stages], verdict, kind=codebook.kind, design=design
        ),
        panels=_panels(run, stages, gold, design, groups) if rating else {},
        has_means=rating and bool(np.any(np.nan_to_num(verdict) % 1)),
    )


def _coded_steps(codebook: Codebook, gold: Grid, path: Sequence[Stage]) -> tuple[Codes, list[tuple[str, Codes]]]:
    """Return codes of the reference, and by name of each step those of its labels, ``[document, label]``."""
    true, *codes = coded(gold, *(step.predicted for step in path), kind=codebook.kind)
    if codebook.kind == "choice":  # a column per label, with values for the documents with this reference label
        true = np.where(true == np.arange(len(codebook.labels)), true, -1)
        codes = [np.broadcast_to(step_codes, true.shape) for step_codes in codes]
    return true, [(step.name, step_codes) for step, step_codes in zip(path, codes, strict=True)]


def noun(run: RunRow) -> str:
    """Return the noun for one cell of the flip table: label, document or rating."""
    return {"multilabel": "label", "choice": "document", "rating": "rating"}[run.settings.codebook.kind]


def summary(debate: DebateEffect) -> tuple[tuple[str, bool], ...]:
    """Return what the debate changed, its cost, and the step with the largest gain.

    The text is in pieces, each with whether to emphasise it; empty without a flip table.
    """
    flip_table, titles, pieces = debate.flip_table, debate.titles, list(debate.sentence_pieces())
    if flip_table is None:
        return ()
    per_label = debate.prices["whole"].per_label
    if per_label:
        pieces.append((f" Each {debate.noun} gained cost {format_money(per_label)}.", False))
    best, whole = max(flip_table.steps, key=Flip.gained), flip_table.whole
    if len(flip_table.steps) > 1 and best.gained() > 0 and whole.gained() > 0:
        gains = sorted(((gained, name) for name in best.labels if (gained := best.gained(name)) > 0), reverse=True)[:2]
        on_labels = f", on {' and '.join(name for _, name in gains)}" if len(best.labels) > 1 else ""
        step = titles.get(best.role, best.role).lower()
        if any(other.gained() < 0 for other in flip_table.steps):  # the best step may only undo the errors of another
            by_step = [f"{titles.get(s.role, s.role).lower()} {format_points(s.gain.value)}" for s in flip_table.steps]
            words = f" By step: {join_names(by_step)} points."
        elif best.gained() > whole.gained() / 2:
            words = f" Most of the gain comes from the {step}{on_labels}."
        else:
            of_all = f"{format_points(best.gain.value)} of {format_points(whole.gain.value)} points"
            words = f" The largest step is that of the {step}: {of_all}{on_labels}."
        pieces.append((words, False))
    if flip_table.excluded and debate.on_all is not None:
        gain = debate.on_all.gain
        span = f", {format_interval(gain.interval, 'points', named=True)}" if gain.interval else ""
        counted = f"On all {format_count(debate.on_all.total.n, debate.noun)}, with missing ones counted as wrong"
        pieces.append((f" {counted}: {format_points(gain.value)} points{span}.", False))
    return tuple(pieces)


def _prices(flip_table: FlipTable, stages: tuple[Stage, ...], spent: list[RoleCost]) -> dict[str, StepCost]:
    """Return the cost by step; turns of roles without a list count for the last step."""
    named = {(stage.family, stage.round): stage.name for stage in stages}
    last = flip_table.roles[-1]
    by_name: dict[str, list[RoleCost]] = {}
    for cost in spent:
        name = named.get((family(cost.role), cost.round), last)
        by_name.setdefault(name if name in flip_table.roles else last, []).append(cost)
    prices = {step.role: _price(by_name.get(step.role, []), step.gained()) for step in flip_table.steps}
    after_first = [cost for name, costs in by_name.items() if name != flip_table.roles[0] for cost in costs]
    return prices | {"whole": _price(after_first, flip_table.whole.gained())}


def _price(spent: list[RoleCost], net: float) -> StepCost:
    return StepCost(
        cost_usd=total_cost(cost.cost_usd for cost in spent),
        tokens=sum(cost.prompt_tokens + cost.completion_tokens for cost in spent),
        seconds=sum(cost.seconds for cost in spent),
        net=net,
    )


def _critic(gold: Grid, stages: tuple[Stage, ...], verdict: Grid, design: Design, kind: Kind) -> Objections | None:
    critic_index = next((index for index, stage in enumerate(stages) if stage.family == "critic" and index), None)
    if critic_index is None or kind == "rating":
        return None
    claim, critic = stages[critic_index - 1].predicted, stages[critic_index].predicted
    true, claimed, predicted, ended = coded(gold, claim, critic, verdict, kind=kind)
    return objections(true, claimed, predicted, ended, design)


def _panels(
    run: RunRow, stages: tuple[Stage, ...], gold: Grid, design: Design, groups: Codes | None
) -> dict[str, dict[str, panels.BeforeAfter]]:
    families = dict.fromkeys(stage.family for stage in stages)
    by_family = {family: [stage for stage in stages if stage.family == family] for family in families}
    return {
        family: panels.before_after(
            gold,
            family_stages[0].members,
            last_lists(family_stages),
            run.settings.codebook.names,
            teams=members_of(run) if family == FAMILY else None,
            design=design,
            groups=groups,
        )
        for family, family_stages in by_family.items()
        if len(family_stages) > 1
    }
