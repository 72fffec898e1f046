"""Recommendations of models from the records of runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.debate.turns import Role
from core.runs import RoleModel
from core.services.evaluation import model_recommendations
from core.services.evaluation.model_recommendations import ModelRecord
from core.services.runs import planning
from core.services.session import ProjectSession
from core.services.workspace import Workspace
from core.stats.counts import Counts
from tests.core.services.sessions import BOOK, make, studio


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Workspace, ProjectSession]]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with studio(tmp_path) as both:
        yield both


ROLES = (Role("extractor", "Extractor", ""), Role("critic", "Critic", ""), Role("judge", "Judge", ""))


def record(name: str, tp: int, fp: int, fn: int, n: int = 50) -> ModelRecord:
    role_model = RoleModel(connection="local", model=name)
    return ModelRecord(role_model.spec, role_model, 1, n, Counts(tp, fp, fn, 100))


def test_who_misses_little_extracts_who_is_sure_objects_and_who_is_both_judges() -> None:
    wide, sure, both = (
        record("wide", tp=90, fp=60, fn=10), record("sure", tp=60, fp=3, fn=40), record("both", tp=85, fp=10, fn=15),
    )  # fmt: skip
    given = model_recommendations.recommend_models((wide, sure, both), ROLES)
    assert [(one.role.name, one.record.spec, one.metric) for one in given] == [
        ("extractor", "local/wide", "recall"),
        ("critic", "local/sure", "precision"),
        ("judge", "local/both", "f1"),
    ]
    assert given[0].value == pytest.approx(0.9)
    plan = model_recommendations.apply_recommendations(planning.Plan(), given)
    assert [plan.role_model(role.name).model for role in ROLES] == ["wide", "sure", "both"]


def test_one_model_or_few_documents_give_no_advice() -> None:
    assert model_recommendations.recommend_models((record("a", 1, 1, 1),), ROLES) == ()
    assert (
        model_recommendations.recommend_models(
            (record("a", 1, 1, 1), record("b", 2, 1, 1, n=model_recommendations.MIN_DOCUMENTS - 1)), ROLES
        )
        == ()
    )
    assert model_recommendations.recommend_models((record("a", 1, 1, 1), record("b", 2, 1, 1)), ROLES[:1]) == ()


def test_records_come_from_the_first_speakers_of_real_runs(opened: tuple[Workspace, ProjectSession]) -> None:
    _, session = opened
    cleanliness, service = (label.id for label in BOOK.labels)
    true = [{cleanliness: number < 2, service: number != 2} for number in range(4)]
    session.store.documents.replace_gold({f"d{number}": {"gold": values} for number, values in enumerate(true)})
    for protocol in ("ecj", "single"):
        (run,) = make(session, planning.Plan(protocol=protocol))
        session.start_or_resume(run.run_id).result(30)
    (found,) = model_recommendations.model_records(session)
    assert (found.spec, found.runs) == ("builtin/lexical", 2)
    assert found.n == 2 * 4
    # found: clean in d0 and d1, service in d1 and d3; missed: the service that gold sees in d0
    assert (found.recall, found.precision) == (0.8, 1.0)
