"""Data of a run for statistics: annotations as arrays, steps of its debates, and how documents were selected."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
import numpy.typing as npt

from core.codebook import Codebook
from core.debate import protocols, turns
from core.debate.votes import MajorityVote, VotingRule
from core.documents import VERDICT, Reference
from core.runs import RunRow
from core.services.project_session import ProjectSession
from core.services.prompt_templates import title_of
from core.services.result_cache import cached_by_debates, cached_scores, cached_until_commit, cached_while
from core.services.runs.configuration import role_titles
from core.stats.arrays import Codes, Mask, Numbers, codes_of_groups
from core.stats.debate_rounds import Vote, vote_of
from core.stats.metric_intervals import Design
from core.stats.sampling import WeightedSample
from core.store.annotation_sources import GOLD, REVIEWED, RUN, of_run, source_of
from core.store.annotations import Grid as Grid
from core.store.annotations import decode_value, is_own
from core.store.project import Store
from core.store.sampling_frames import Selection


@dataclass(frozen=True, slots=True, eq=False)
class AnnotationArrays:
    """The reference and the verdicts of a run, in the order of ``documents`` and of the codebook's items."""

    documents: tuple[str, ...]
    reference: Grid
    verdicts: Grid

    def verdicts_on(self, documents: Sequence[str]) -> Grid:
        """Return the verdicts on these documents, in their order; NaN where the run has none."""
        if documents == self.documents:
            return self.verdicts
        rows = rows_in(self.documents, documents)
        return np.where((rows >= 0)[:, None], self.verdicts[rows], np.nan)


def rows_in(documents: Sequence[str], wanted: Iterable[str]) -> Codes:
    """Return the row of each wanted document in ``documents``, -1 for one that is not there."""
    rows = {document: row for row, document in enumerate(documents)}
    return np.array([rows.get(document, -1) for document in wanted], dtype=np.int64)


def ranked_runs(session: ProjectSession) -> list[RunRow]:
    """Return the runs to choose from: finished ones first, queued ones after others, canary runs last.

    Of each kind the latest is first. Archived runs are left out.
    """
    latest_first = [row for row in reversed(session.all_runs()) if row.details.status != "archived"]
    return sorted(latest_first, key=lambda row: (row.state != "done", row.is_canary, row.state == "queued"))


def load_arrays(store: Store, run_id: str, codebook: Codebook, reference: Reference = GOLD) -> AnnotationArrays:
    """Load the documents of a run, their reference and the verdicts."""
    documents = tuple(store.runs.document_ids(run_id))
    values = load_reference(store, run_id, codebook, documents, reference)
    return AnnotationArrays(documents, values, store.annotations.grid(run_id, codebook, VERDICT))


def load_reference(
    store: Store, run_id: str, codebook: Codebook, documents: Sequence[str], reference: Reference = GOLD
) -> Grid:
    """Load a reference on the run's ``documents``.

    That of several raters is their majority (no value on a tie), for ratings their mean. Documents that a run has
    learned from have no reference (``is_test_document``).
    """
    values = annotator_grid(store, run_id, codebook, str(source_of(reference)))
    return np.where(is_test_document(store, run_id, documents)[:, None], values, np.nan)


def is_test_document(store: Store, run_id: str, documents: Sequence[str]) -> Mask:
    """Return a mask ``[document]``: True unless the run has learned from the document (``Store.learned_from``)."""
    learned_from = store.learned_from(run_id)
    return np.array([document not in learned_from for document in documents], dtype=np.bool_)


@cached_scores
def verdict_arrays(session: ProjectSession, run: RunRow, reference: Reference = GOLD) -> AnnotationArrays:
    """Return the reference and the verdicts of a run. Cached: do not change these arrays."""
    store, run_id, codebook = session.store, run.run_id, run.settings.codebook
    if reference == GOLD:
        return load_arrays(store, run_id, codebook)
    loaded = verdict_arrays(session, run)  # verdicts stay while references change
    return replace(loaded, reference=load_reference(store, run_id, codebook, loaded.documents, reference))


@cached_until_commit
def group_codes(session: ProjectSession, run: RunRow) -> Codes | None:
    """Return the group of each document of the run as a code (``codes_of_groups``)."""
    return codes_of_groups(session.store.annotations.groups(run.run_id))


def given_labels(codebook: Codebook, verdicts: Grid) -> Mask:
    """Return ``[document, label]``: True where the verdict gives the label; no column for ratings."""
    match codebook.kind:
        case "multilabel":
            return np.asarray(verdicts == 1)
        case "choice":
            return np.asarray(verdicts[:, :1] == np.arange(len(codebook.labels))[None, :])
        case "rating":
            return np.zeros((len(verdicts), 0), dtype=np.bool_)


@cached_while(lambda _, run, **__: run.documents)  # a frame never changes
def frame_sizes(session: ProjectSession, run: RunRow, frame_run: str, frame: int) -> Numbers:
    """Return the size of each document of the run in a frame of the review queue, ``[document]``; NaN if unknown."""
    return session.store.sampling_frames.sizes(run.run_id, frame_run, frame)


def sampling_design(
    session: ProjectSession, run: RunRow, reference: Reference, scored: AnnotationArrays, *other_verdicts: Grid
) -> Design:
    """Return how the documents of a score were selected, and which of them depend on each other.

    ``scored`` holds all or some documents of the run, in its order, and ``other_verdicts`` those of compared runs.
    Reviewed documents represent all documents with a complete verdict in each run; those that the review queue drew
    carry their probabilities. Documents that a reviewer discarded belong to the sample but have no reference: scores
    are those of the domain that would be kept, whose size is estimated (Särndal, Swensson and Wretman, Model Assisted
    Survey Sampling, 1992, chapter 10). Other references represent a larger population of independent documents or
    groups.
    """
    documents, verdicts = scored.documents, [scored.verdicts, *other_verdicts]
    run_documents = verdict_arrays(session, run).documents
    if (source := source_of(reference)).kind != REVIEWED:
        groups = group_codes(session, run)
        return Design() if groups is None else Design(groups=groups[rows_in(run_documents, documents)])
    rows = rows_in(run_documents, documents)
    represented = np.zeros(len(run_documents), dtype=np.bool_)
    represented[rows] = np.all([~np.isnan(values).any(axis=1) for values in verdicts], axis=0)
    represented &= is_test_document(session.store, run.run_id, run_documents)
    lacks_values = np.zeros(len(run_documents), dtype=np.bool_)  # a codebook with further items leaves gaps
    lacks_values[rows] = np.isnan(scored.reference).any(axis=1)
    sample, order = _draws(session, run, run_documents, represented, lacks_values, source.who)
    codebook = run.settings.codebook
    variables = [values if codebook.kind == "rating" else given_labels(codebook, values) for values in verdicts]
    auxiliary = np.where(represented[rows][:, None], np.hstack([np.ones((len(rows), 1)), *variables]), 0.0)
    return Design(sample=sample, order=np.searchsorted(rows, order), auxiliary=auxiliary)


def strict_design(session: ProjectSession, run: RunRow, reference: Reference, scored: AnnotationArrays) -> Design:
    """Return ``sampling_design`` where reviewed documents also represent those without a complete verdict."""
    without_gaps = replace(scored, verdicts=np.nan_to_num(scored.verdicts, nan=-1.0))
    return sampling_design(session, run, reference, without_gaps)


def _draws(
    session: ProjectSession,
    run: RunRow,
    documents: Sequence[str],
    represented: Mask,
    lacks_values: Mask,
    actor: str,
) -> tuple[WeightedSample, Codes]:
    """Return the submitted and the discarded documents as a sample of the represented documents, and their rows.

    With ``actor`` they are those of this reviewer, as drawn for the reviewer. The masks are ``[document]`` of the
    ``documents`` of the run. Submitted documents that lack values are left out.
    """
    decided = session.store.sampling_frames.selections(actor)
    order = rows_in(documents, [selection.document_id for selection in decided])
    is_discarded = np.array([selection.discarded for selection in decided], dtype=np.bool_)
    is_counted = (order >= 0) & represented[order] & (is_discarded | ~lacks_values[order])
    order, selections = order[is_counted], [*compress(decided, is_counted)]
    population = int(represented.sum())
    sizes: dict[tuple[str, int], Numbers | None] = {("", 0): np.ones(population)}

    def draw_sizes(selection: Selection) -> Numbers | None:
        """Return the sizes of a draw over the population, None where they are unknown."""
        if selection.how == "audit":
            return sizes["", 0]
        if selection.how != "drawn" or selection.run_id is None or selection.frame is None:
            return None
        if (key := (selection.run_id, selection.frame)) not in sizes:
            frame = frame_sizes(session, run, *key)[represented]
            sizes[key] = None if np.isnan(frame).any() else frame
        return sizes[key]

    places = np.cumsum(represented) - 1
    return WeightedSample.of_draws(places[order], [*map(draw_sizes, selections)], population), order


@dataclass(frozen=True, slots=True, eq=False)
class ReviewedSample(AnnotationArrays):
    """The reviewed documents of a run as a sample of those with a complete verdict.

    ``order`` holds the rows of the reviewed documents in the order of their decisions; discarded ones have no reference
    (``is_kept`` is False, ``[reviewed]``). ``population`` is ``[document]``: True for the documents that the sample
    represents.
    """

    design: Design
    sample: WeightedSample
    order: Codes
    is_kept: Mask
    population: Mask

    @property
    def discarded(self) -> int:
        """Number of discarded documents."""
        return int((~self.is_kept).sum())


def reviewed_sample(session: ProjectSession, run: RunRow, *other_verdicts: Grid) -> ReviewedSample:
    """Return the reviewed documents as a sample of those with complete verdicts, here and in ``other_verdicts``."""
    loaded = verdict_arrays(session, run, REVIEWED)
    design = sampling_design(session, run, REVIEWED, loaded, *other_verdicts)
    assert design.sample is not None
    assert design.auxiliary is not None
    population: Mask = design.auxiliary[:, 0] > 0
    is_kept: Mask = np.all(~np.isnan(loaded.reference[design.order]), axis=1)
    values = loaded.documents, loaded.reference, loaded.verdicts
    return ReviewedSample(*values, design, design.sample, design.order, is_kept, population)


@cached_by_debates
def debate_statuses(session: ProjectSession, run: RunRow) -> npt.NDArray[np.str_]:
    """Return how the debate on each document of the run ended, as ``store.annotations.debate_statuses``."""
    return session.store.annotations.debate_statuses(run.run_id)


def paired_arrays(session: ProjectSession, run: RunRow, annotator: str, reference: Reference) -> tuple[Grid, Grid]:
    """Return the reference and an annotator's values on exactly the cells that are scored (see ``paired_with``)."""
    return paired_with(session, run, annotator, verdict_arrays(session, run, reference).reference)


def paired_with(session: ProjectSession, run: RunRow, annotator: str, reference: Grid) -> tuple[Grid, Grid]:
    """Return ``reference`` and an annotator's values, ready for metrics that take complete verdicts.

    Only items that both give a value count, for annotators of the run only where the debate has a verdict. A document
    on which they have no item in common keeps its reference, has no value and is therefore excluded.
    """
    predicted = annotator_values(session, run, annotator)
    if is_own(annotator):
        predicted = np.where(np.equal(debate_statuses(session, run), "verdict")[:, None], predicted, np.nan)
    both = ~np.isnan(reference) & ~np.isnan(predicted)
    any_both = both.any(axis=1, keepdims=True)
    return np.where(both | ~any_both, reference, np.nan), np.where(any_both, np.nan_to_num(predicted), np.nan)


def annotator_values(session: ProjectSession, run: RunRow, annotator: str) -> Grid:
    """Return an annotator's values on the run's documents, as ``annotator_grid``. Do not change the array."""
    if annotator == VERDICT:
        return verdict_arrays(session, run).verdicts
    return annotator_grid(session.store, run.run_id, run.settings.codebook, annotator)


def annotator_grid(store: Store, run_id: str, codebook: Codebook, annotator: str) -> Grid:
    """Return an annotator's values on the run's documents, as ``Annotations.grid``.

    The list of a role whose samples vote is their vote.
    """
    source = of_run(run_id, annotator) if is_own(annotator) else source_of(annotator)
    if source.kind == RUN and protocols.samples_vote(store.runs.require(source.who).settings):
        source = of_run(source.who)
    return store.annotations.grid(run_id, codebook, str(source))


TIED = 9_999.0
"""Result of a tied vote: a wrong one, as no label has this code."""


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """One step: the members of a family of roles in one round, and the joint result of the family.

    If the samples of a role vote, these are the members of a single step. A second extractor has no part in the result:
    the critic and the judge only see the list of the first one.
    """

    name: str
    """Unique in the run."""
    title: str
    family: str
    round: int
    members: Mapping[str, Grid]
    predicted: Grid
    """Decisions of the family by the voting rule of the run, from the last values of each member.

    ``TIED`` where no value won, NaN on documents without an answer in this step.
    """


@cached_until_commit
def _count_imports(session: ProjectSession) -> int:
    return len(session.store.documents.imports())


@cached_while(
    lambda session, run: (
        *(run.state, run.turns, run.verdicts, run.unresolved, run.failed),
        _count_imports(session),
    )
)
def stages(session: ProjectSession, run: RunRow) -> tuple[Stage, ...]:
    """Return the steps of a run's debates in which a role gave a list, in order. Empty before the first."""
    if protocols.samples_vote(run.settings):
        return _sample_stage(session, run)
    rounds = session.store.annotations.debate_rounds(run.run_id)
    grids = session.store.annotations.round_values(run.run_id, rounds, run.settings.codebook)
    groups: dict[tuple[str, int], dict[str, Grid]] = {}
    for (role, round), grid in zip(rounds, grids, strict=True):
        groups.setdefault((turns.family(role), round), {})[role] = grid
    titles = step_titles(run)
    vote = family_vote(run)
    latest: dict[str, Grid] = {}
    repeated_families = {family for family, round in groups if round}
    stages_found = []
    for family, round in _in_rounds(list(groups)):
        members = groups[family, round]
        voters = [role for role in voters_of(run, members) if role in members]
        answered = np.any([~np.isnan(members[role]).all(axis=1) for role in voters], axis=0)[:, None]
        latest = last_values(latest, members)
        title = titles.get(voters[0], family) if len(voters) == 1 else f"{title_of(family)}s"
        numbered = f"{title}, round {round + 1}" if family in repeated_families else title
        name = f"{family} {round + 1}" if family in repeated_families else family
        votes = {role: latest[role] for role in voters_of(run, members) if role in latest}
        predicted = np.where(answered, _vote_or_tie(vote, votes), np.nan)
        stages_found.append(Stage(name, numbered, family, round, members, predicted))
    return tuple(stages_found)


def _sample_stage(session: ProjectSession, run: RunRow) -> tuple[Stage, ...]:
    """Return the only step of a run in which samples of one role vote; empty before the first list."""
    (role,) = run.settings.role_models
    grids = session.store.annotations.sample_values(run.run_id, run.settings.codebook)
    if not len(grids):
        return ()
    samples = {f"sample {number}": grid for number, grid in enumerate(grids, start=1)}
    return (Stage(role, "Samples", turns.family(role), 0, samples, _vote_or_tie(family_vote(run), samples)),)


def _vote_or_tie(vote: Vote, votes: Mapping[str, Grid]) -> Grid:
    """Return the decisions of several roles together, ``TIED`` where no value won, NaN where none gave a value."""
    decided, has_value = vote(votes), np.any([~np.isnan(grid) for grid in votes.values()], axis=0)
    return np.where(np.isnan(decided) & has_value, TIED, decided)


def parallel_stages(session: ProjectSession, run: RunRow) -> list[Stage]:
    """Return the steps in which several agents answered in parallel. Samples of one role are not agents."""
    if protocols.samples_vote(run.settings):
        return []
    return [stage for stage in stages(session, run) if len(stage.members) > 1]


def _in_rounds(order: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return (family, round) of the steps with the rounds of each family ascending, at the places of the family.

    Debates of a run may differ in length, so that a late round of short debates comes before an early one of long ones.
    """
    ascending = {family: iter(sorted(step for step in order if step[0] == family)) for family, _ in order}
    return [next(ascending[family]) for family, _ in order]


def last_lists(stages_in_order: Iterable[Stage]) -> dict[str, Grid]:
    """Return the last list of each role, by role, from the steps of a run in order."""
    last: dict[str, Grid] = {}
    for stage in stages_in_order:
        last = last_values(last, stage.members)
    return last


def last_values(earlier: Mapping[str, Grid], later: Mapping[str, Grid]) -> dict[str, Grid]:
    """Return the last list of each role: for each document, a later list replaces the whole earlier one."""
    last = dict(earlier)
    for role, grid in later.items():
        answered = ~np.isnan(grid).all(axis=1, keepdims=True)
        last[role] = np.where(answered, grid, last[role]) if role in last else grid
    return last


def voters_of(run: RunRow, roles: Collection[str]) -> list[str]:
    """Return the roles that decide together with these roles of one family: all of it that vote, answered or not.

    The roles themselves if none of them votes, or if this version of Moot does not have the protocol.
    """
    given, families = list(roles), {turns.family(role) for role in roles}
    known = protocols.roles_of(run.settings) if protocols.known(run.settings) else ()
    voters = [role.name for role in known if role.votes and role.family in families]
    return given if set(given).isdisjoint(voters) else voters


def voting_rule(run: RunRow) -> VotingRule:
    """Return the rule by which roles of one family decide together in the run, if no single role of it decides."""
    spec = protocols.known(run.settings)
    return spec.vote(protocols.params_of(run.settings), run.settings.codebook.kind) if spec else MajorityVote()


def family_vote(run: RunRow) -> Vote:
    """Return the function that decides for roles of one family together, from grids by role.

    If the deciding role of the run is one of them, it decides: its values replace those of the roles before it. Others
    decide by the voting rule of the run. A role without a grid abstains. A lone voter decides.
    """
    codebook, rule, decides = run.settings.codebook, voting_rule(run), decider(run)

    def decide(cell: Sequence[float]) -> float:
        value, _ = rule.decide([decode_value(codebook, number) for number in cell], codebook)
        if value is None:
            return np.nan
        return float(codebook.label_numbers[value] if isinstance(value, str) else value)

    def vote(grids: Mapping[str, Grid]) -> Grid:
        voters = [decides] if decides in grids else voters_of(run, grids)
        if len(voters) == 1:
            return grids[voters[0]]
        missing = np.full_like(next(iter(grids.values())), np.nan)
        return vote_of([grids.get(role, missing) for role in voters], decide)

    return vote


def step_titles(run: RunRow) -> dict[str, str]:
    """Return the titles of the roles of a run and of its verdict."""
    return role_titles(run.settings) | {VERDICT: "Verdict"}


def decider(run: RunRow) -> str:
    """Return the role whose list becomes the verdict, ``verdict`` if there is no single deciding role."""
    spec = protocols.known(run.settings)
    return spec.deciding_role(protocols.params_of(run.settings)) if spec else VERDICT


def steps(run: RunRow, stages_in_order: tuple[Stage, ...], verdict: Grid) -> list[Stage]:
    """Return the steps of a debate; the last one is the verdict.

    The verdict replaces the deciding step, because a role's own list may contain labels that were not up for decision.
    It also replaces the samples of a single role, because their vote is not a debate. Steps after the deciding step
    change nothing and are left out. One entry means that nothing was debated.
    """
    decides = decider(run)
    deciding = [index for index, stage in enumerate(stages_in_order) if decides in stage.members]
    is_alone = len(run.settings.role_models) == 1
    if decides == VERDICT and stages_in_order and (is_alone or len(stages_in_order[-1].members) > 1):
        deciding = [len(stages_in_order) - 1]
    if not deciding:
        return [*stages_in_order, Stage(decides, step_titles(run)[decides], decides, 0, {}, verdict)]
    return [*stages_in_order[: deciding[-1]], replace(stages_in_order[deciding[-1]], predicted=verdict)]
