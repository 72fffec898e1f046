"""Calibration of the certainty of a run: the share of votes, of the classifier, or of the model's own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from core.baseline.classifier_replies import NAME
from core.codebook import Codebook
from core.debate import protocols
from core.debate.votes import MajorityVote, VotingRule
from core.documents import VERDICT, Reference
from core.runs import RunRow, builtin_name
from core.services.document_samples import fixed_sample
from core.services.evaluation import annotation_arrays, coverage, repeated_runs
from core.services.evaluation.annotation_arrays import Grid, last_lists, paired_arrays, sampling_design, verdict_arrays
from core.services.project_session import ProjectSession
from core.services.prompt_templates import title_of
from core.services.result_cache import cached_until_commit
from core.stats.arrays import Mask
from core.stats.calibration import Calibration, calibration
from core.stats.debate_rounds import vote_of
from core.store.annotations import decode_value

CertaintySource: TypeAlias = Literal["votes", "classifier", "logprobs"]
MIN_VOTES = 3
"""Minimum number of answers for which a share of votes counts as certainty: a lone answer has all votes."""
MAX_PREDICTED = 3_000
"""Maximum number of documents that the classifier predicts again: a random sample with a fixed seed."""


@dataclass(frozen=True, slots=True)
class Certainty:
    """Calibration of the certainty of values: a share of votes, of the classifier, or from log probabilities.

    ``voters`` describes the voters. ``why_not`` is the reason for a missing calibration, empty otherwise.
    """

    kind: CertaintySource = "votes"
    voters: str = ""
    calibration: Calibration | None = None
    counted: coverage.Coverage | None = None
    why_not: str = ""


@cached_until_commit
def certainty(session: ProjectSession, run: RunRow, reference: Reference = "gold") -> Certainty:
    """Return the calibration of the values of the verdicts.

    If the classifier decides, the certainty is the classifier's own. Otherwise the certainty is the share of votes for
    the verdict: of the iterations if there are at least three, else of the last answers of at least three parallel
    agents or samples, weighed as the run weighs them. Without votes it is the probability that the deciding model gave
    to the words of its decision, if its server reports log probabilities. Ratings have no calibration.
    """
    codebook = run.settings.codebook
    if codebook.kind == "rating":
        return Certainty(why_not="Calibration is not available for ratings.")
    if hash := _classifier_hash(run):
        return _of_classifier(session, run, reference, hash)
    rows = repeated_runs.siblings(session, run)
    loaded = verdict_arrays(session, run, reference)
    if len(rows) >= MIN_VOTES:
        voters = [verdict_arrays(session, row).verdicts_on(loaded.documents) for row in rows]
        certainty_grid = vote_shares(MajorityVote(), voters, loaded.verdicts, codebook)
        return _calibrate(session, run, reference, "votes", f"{len(rows)} iterations", certainty_grid)
    stages = annotation_arrays.stages(session, run)
    families = [stage.family for stage in stages if len(stage.members) >= MIN_VOTES]
    if families:
        # Members who agreed at first did not answer again: their first answers are their last ones.
        members = last_lists(stage for stage in stages if stage.family == families[-1])
        are_samples = protocols.samples_vote(run.settings)
        name = f"{len(members)} {'samples' if are_samples else f'{title_of(families[-1]).lower()}s'}"
        missing = np.full_like(loaded.verdicts, np.nan)
        voters = [members.get(role, missing) for role in annotation_arrays.voters_of(run, members)]
        certainty_grid = vote_shares(annotation_arrays.voting_rule(run), voters, loaded.verdicts, codebook)
        return _calibrate(session, run, reference, "votes", name, certainty_grid)
    decider, items = annotation_arrays.decider(run), codebook.items
    certainty_grid = session.store.annotations.decision_certainty(run.run_id, decider, items)
    if not np.isnan(certainty_grid).all():
        name = f"log probabilities of {decider.replace('_', ' ')}"
        return _calibrate(session, run, reference, "logprobs", name, certainty_grid)
    why = (
        "No certainty is available. Run three iterations or three agents in parallel, or test on the Models page "
        "whether the server reports log probabilities."
    )
    return Certainty(why_not=why)


def vote_shares(rule: VotingRule, voters: Sequence[Grid], verdicts: Grid, codebook: Codebook) -> Grid:
    """Return the share of the votes for each verdict, ``[document, item]``.

    NaN for a cell without a verdict or with fewer than ``MIN_VOTES`` votes.
    """

    def share(cell: Sequence[float]) -> float:
        verdict, *votes = (decode_value(codebook, number) for number in cell)
        if verdict is None or len(votes) - votes.count(None) < MIN_VOTES:
            return np.nan
        return rule.share(votes, verdict)

    return vote_of([verdicts, *voters], share)


def _classifier_hash(run: RunRow) -> str:
    """Return the hash of the classifier that decides in this run, empty if the classifier does not decide."""
    role_models = run.settings.role_models
    role_model = role_models.get(annotation_arrays.decider(run)) or (
        next(iter(role_models.values())) if len(role_models) == 1 else None
    )
    if role_model is None or not role_model.is_builtin:
        return ""
    name, hash = builtin_name(role_model.model)
    return hash if name == NAME else ""


def _of_classifier(session: ProjectSession, run: RunRow, reference: Reference, hash: str) -> Certainty:
    """Return the calibration of the classifier, from new predictions on documents outside its training set.

    At most ``MAX_PREDICTED`` documents are predicted. If there are more, a random sample with a fixed seed is used.
    """
    loaded = verdict_arrays(session, run, reference)
    gold, predicted = loaded.reference, loaded.verdicts
    eligible = np.flatnonzero(np.any(~np.isnan(gold) & ~np.isnan(predicted), axis=1)).tolist()
    texts = session.store.documents.texts([loaded.documents[row] for row in eligible])
    sampled = fixed_sample([row for row in eligible if loaded.documents[row] in texts], MAX_PREDICTED)
    if not sampled:
        why = "The classifier was trained on every document with this reference. Review others, or compare with gold."
        return Certainty("classifier", why_not=why)
    ids = [loaded.documents[row] for row in sampled]
    opinion = session.trainer.predict(hash, run.settings.codebook, [texts[id] for id in ids])
    if opinion is None:
        return Certainty("classifier", why_not="The classifier of this run was deleted, or has other labels.")
    certainty_grid = np.full(gold.shape, np.nan)
    certainty_grid[sampled] = np.where(opinion.values == predicted[sampled], opinion.certainty, np.nan)
    not_sampled = np.isin(np.arange(len(gold)), np.setdiff1d(eligible, sampled))
    return _calibrate(
        session,
        run,
        reference,
        "classifier",
        "on documents outside its training set",
        certainty_grid,
        {"not_sampled": not_sampled},
    )


def _calibrate(
    session: ProjectSession,
    run: RunRow,
    reference: Reference,
    kind: CertaintySource,
    voters: str,
    certainty_grid: Grid,
    extra_reasons: Mapping[coverage.Reason, Mask] | None = None,
) -> Certainty:
    gold, predicted = paired_arrays(session, run, VERDICT, reference)
    right = np.where(np.isnan(gold) | np.isnan(predicted), -1, predicted == gold)
    is_counted: Mask = np.any((right >= 0) & ~np.isnan(certainty_grid), axis=1)
    design = sampling_design(session, run, reference, verdict_arrays(session, run, reference))
    result = calibration(certainty_grid, right, design=design)
    why_not = "" if result.n else "No document has both a certainty and a reference value."
    return Certainty(
        kind, voters, result, coverage.of_documents(session, run, reference, is_counted, extra_reasons), why_not
    )
