"""Tests of the names of references: names of people and runs are kept unchanged."""

from __future__ import annotations

import asyncio

import pytest

from core.errors import UsageError
from core.runs import RoleModel, RunDetails
from core.services.evaluation.evaluation import evaluate
from core.services.evaluation.reference import (
    ReferenceNames,
    available_references,
    default_reference,
    reference_names,
)
from tests.core.services import sample_world
from tests.core.services.sample_world import both
from tests.core.store.helpers import make_settings, store_debate, store_debates


@pytest.mark.parametrize(
    ("reference", "names"),
    [
        ("gold", ("Gold", "gold", "gold")),
        ("gold@Ann", ("Rater Ann", "rater Ann", "gold by Ann")),
        ("author", ("Authors", "authors", "a label by its author")),
        ("reviewed", ("Reviewed", "review", "a review")),
        ("reviewed@Ann", ("Reviewed by Ann", "review by Ann", "a review by Ann")),
        ("run:r1", ("Run r1", "run r1", "a verdict of r1")),
        ("run:r1/critic", ("Run r1, critic", "run r1, critic", "a list of r1, critic")),
    ],
)
def test_each_reference_has_names(reference, names):
    assert reference_names(reference) == ReferenceNames(*names)


def test_unknown_reference_is_rejected():
    with pytest.raises(UsageError, match="no reference 'guess'"):
        reference_names("guess")


@pytest.mark.parametrize(
    ("wanted", "expected"), [("reviewed", "reviewed"), ("gold", "reviewed"), ("person@ann", "reviewed")]
)
def test_default_reference_covers_documents(wanted, expected):
    assert default_reference({"gold": 0, "reviewed": 3}, wanted) == expected


def test_gold_is_default_without_any_reference():
    assert default_reference({"gold": 0, "reviewed": 0}, "reviewed") == "gold"


def test_output_of_models_is_a_reference_only_if_wanted():
    counts = {"gold": 0, "reviewed": 0, "run:r1": 9, "latent": 9}
    assert [default_reference(counts, wanted) for wanted in ("gold", "latent", "run:r1")] == [
        "gold",
        "latent",
        "run:r1",
    ]


def test_trials_and_deleted_runs_are_not_references(project, session, run_id):
    def add_run(model="local/llama", **fields):
        settings = make_settings(sample_world.CODEBOOK, role_models={"judge": RoleModel.parse(model)})
        added = project.store.runs.create(settings, ["d0", "d1"], **fields).run_id
        store_debates(store_debate(project, added, id, {"judge": None}, both("a")) for id in ("d0", "d1"))
        asyncio.run(project.sink.state(added, "done"))
        return added

    asyncio.run(project.sink.state(run_id, "done"))

    add_run(purpose="lab")
    other, canary, deleted = add_run(), add_run(experiment_id=f"canary:{run_id}"), add_run()
    project.store.runs.describe({deleted: RunDetails(status="deleted")})
    # The gold, this run and the other one are annotators of the latent truth; a canary run repeats another run.
    result = available_references(session, run_id)
    assert {name: count for name, count in result.items() if count} == {
        "gold": 7,
        f"run:{canary}": 2,
        f"run:{other}": 2,
        "latent": 4,
    }
    assert evaluate(session, session.run(run_id), "latent").n > 0
    project.store.runs.describe({other: RunDetails(status="deleted")})
    assert "latent" not in available_references(session, run_id)
