"""Tests of regressions on labels and columns, corrected by documents reviewed in queue order."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import jsonschema
import numpy as np
import orjson
import pytest
from click.testing import CliRunner

from core.cli import main
from core.codebook import Codebook, Label
from core.documents import Document
from core.errors import UsageError
from core.runs import RunRow
from core.services import manuscript
from core.services.evaluation import annotation_arrays, corrected_regression
from core.services.evaluation.corrected_regression import Formula
from core.services.manuscript_formats import write
from core.services.project_session import ProjectSession
from core.services.review import actions, queue
from core.services.review.queue import QueueFilter
from core.services.workspace import Workspace
from tests.core.services.sessions import annotate

BOOK = Codebook(labels=(Label(name="Clean", keywords=("clean",)), Label(name="Staff", keywords=("staff",))))
CLEAN = BOOK.labels[0].id
COUNT = 160


def build(workspace: Workspace, path: Path) -> tuple[ProjectSession, RunRow]:
    """Return a project with 90 of 160 documents reviewed.

    In the south "clean" always occurs in "a clean record", which the word lists mistake for cleanliness.
    """
    session = workspace.open(path)
    session.store.documents.add(
        Document(
            f"d{n:03}",
            {"text": f"{['a clean record' if n % 2 else 'a clean bath', 'the staff sang'][n % 3 == 2]} {n}"},
            source={
                "region": "south" if n % 2 else "north",
                "year": 2000 + n % 10,
                "id": f"d{n:03}",
                "one": 1,
                "day": f"20{10 + n % 5}-07-01",
                "stars": "" if n == 7 else f"{1 + n % 4}",
            },
        )
        for n in range(COUNT)
    )
    session.store.codebooks.save(BOOK)
    run = annotate(session).model_copy(update={"created_at": 1_763_000_000.0})  # makes the draws reproducible
    listed = queue.list_queue(session, run, QueueFilter(sort="queue", size=90), actor="ada")
    wrong = [id for id in listed.sampling if (n := int(id[1:])) % 2 and n % 3 < 2]
    actions.edit(session, run.run_id, wrong, CLEAN, False, actions.Attribution("ada"))
    actions.submit(session, run.run_id, list(listed.sampling), actions.Attribution("ada"), sampling=listed.sampling)
    return session, run


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ProjectSession, RunRow]]:
    workspace = Workspace()
    yield build(workspace, tmp_path_factory.mktemp("regression") / "p.duckdb")
    workspace.close()


def test_errors_of_the_model_do_not_bias_the_difference(world: tuple[ProjectSession, RunRow]) -> None:
    # Two thirds of the northern and none of the southern documents are about Clean; the verdicts show no difference.
    session, run = world
    analysis = corrected_regression.analyse(session, run, Formula("Clean", ("region",)))
    north, south = analysis.terms.values()
    assert list(analysis.terms) == ["intercept", "region: south"]
    assert north.estimate.interval is not None
    assert 2 / 3 in north.estimate.interval
    assert south.estimate.interval is not None
    assert -2 / 3 in south.estimate.interval
    assert south.p < 0.001
    assert south.naive.value == pytest.approx(0, abs=0.02)
    assert "160 documents, 90 of them reviewed (90 random draws)" in analysis.sentence


def test_columns_are_numbers_dates_or_categories(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    assert sorted(corrected_regression.columns(session, run)) == ["day", "region", "stars", "year"]
    dated = corrected_regression.analyse(session, run, Formula("Staff", ("day", "stars")))
    assert list(dated.terms) == ["intercept", "day", "stars"]
    rated = corrected_regression.analyse(session, run, Formula("stars", ("Clean",)))
    assert (rated.left_out, rated.regression.documents) == (1, 159)
    mean = corrected_regression.analyse(session, run, Formula("Clean"))
    assert mean.terms["intercept"].estimate.interval is not None
    assert 1 / 3 in mean.terms["intercept"].estimate.interval


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (Formula("year", ("stars",)), "contains no label"),
        (Formula("Clean", ("Clean",)), "twice"),
        (Formula("Clean", ("id",)), "'id' is not a label"),
        (Formula("Clean", ("nothing",)), "'nothing' is not a label"),
        (Formula("stars", ("Clean",), "logistic"), "not yes or no"),
        (Formula("Clean", ("Staff",), "poisson"), "family .poisson. does not exist"),  # type: ignore[arg-type]
    ],
)
def test_invalid_formula_is_refused(world: tuple[ProjectSession, RunRow], formula: Formula, message: str) -> None:
    session, run = world
    with pytest.raises(UsageError, match=message):
        corrected_regression.analyse(session, run, formula)


def test_names_of_labels_that_are_also_columns_are_listed_once(
    world: tuple[ProjectSession, RunRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    session, run = world
    monkeypatch.setattr(session.store.annotations, "columns", lambda _run_id: ["Staff", "stars"])
    with pytest.raises(UsageError, match="There are: Clean, Staff, stars"):
        corrected_regression.analyse(session, run, Formula("Clean", ("nothing",)))


def test_column_with_two_texts_can_be_an_outcome(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    analysis = corrected_regression.analyse(session, run, Formula("region", ("Clean",), "logistic"))
    assert list(analysis.terms) == ["intercept", "Clean"]


def test_kept_regression_is_in_the_paper(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    assert "egami2023" not in manuscript.build(session, run, "reviewed").bibtex
    formula = Formula("Clean", ("region",))
    corrected_regression.save_formulas(session, run, [formula, formula])
    assert corrected_regression.saved_formulas(session, run) == (formula,)
    built = manuscript.build(session, run, "reviewed")
    assert any("prediction-powered inference" in str(block) for block in built.sections["Methods"])
    text = write(built, "markdown")
    assert "Linear regression Clean \\~ region: 160 documents" in text
    assert "| region: south |" in text
    assert "@article{angelopoulos2023" in text
    corrected_regression.save_formulas(session, run, [Formula("Clean", ("id",))])
    assert "'id' is not a label" in str(manuscript.build(session, run, "reviewed").sections["Results"][-1])
    corrected_regression.save_formulas(session, run, [])


def test_command_prints_the_same_regression(
    world: tuple[ProjectSession, RunRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    session, run = world
    monkeypatch.setattr("core.cli.console.open_session", lambda _path: nullcontext(session))
    arguments = ["regress", "--project", "p.duckdb", "--run", run.run_id, "--outcome", "Clean", "--on", "region"]
    report = orjson.loads(CliRunner().invoke(main, [*arguments, "--json"]).stdout.splitlines()[-1])
    schemas = json.loads((Path(__file__).parents[4] / "docs/reference/schemas.json").read_text(encoding="utf-8"))
    jsonschema.validate(report, {"$ref": "#/$defs/regress", **schemas}, jsonschema.Draft202012Validator)
    assert set(report) == set(schemas["$defs"]["regress"]["properties"])
    analysis = corrected_regression.analyse(session, run, Formula("Clean", ("region",)))
    assert report["coefficients"]["region: south"]["estimate"] == analysis.terms["region: south"].estimate.value
    assert report["tuning"] == analysis.regression.tuning
    shown = CliRunner().invoke(main, arguments).stdout
    assert "Clean ~ region (linear): 160 documents" in shown
    assert "region: south" in shown


def test_design_file_reproduces_the_results_of_survey_packages(world: tuple[ProjectSession, RunRow]) -> None:
    from statsmodels.regression.linear_model import WLS
    from statsmodels.tools import add_constant  # imported here, because it takes seconds

    # Expected values: svymean, and svyglm on the verdict on Staff, of R's survey 4.1-1 on this file.
    session, run = world
    rows = list(csv.DictReader(io.StringIO(manuscript.design_file(session, run).removeprefix("\ufeff"))))
    reviewed = [row for row in rows if row["weight"]]
    y, x, weight = (
        np.array([float(row[name]) for row in reviewed]) for name in ("human_Clean", "model_Staff", "weight")
    )
    mean = (weight * y).sum() / weight.sum()
    assert mean == pytest.approx(0.332205941262, abs=1e-9)
    n = len(reviewed)
    error = np.sqrt(n / (n - 1) * ((weight * (y - mean)) ** 2).sum()) / weight.sum()
    assert error == pytest.approx(0.0551755786569, abs=1e-9)
    fitted = WLS(y, add_constant(x), weights=weight).fit()
    assert fitted.params == pytest.approx([0.496756547682, -0.496756547682], abs=1e-9)


def test_regression_after_discards_is_that_of_the_kept_documents(workspace: Workspace, tmp_path: Path) -> None:
    session, run = build(workspace, tmp_path / "p.duckdb")
    formula, ada = Formula("Clean", ("year",)), actions.Attribution("ada")
    sampling = queue.list_queue(session, run, QueueFilter(sort="queue", size=30), actor="ada").sampling
    actions.set_status(session, run.run_id, list(sampling), "Discarded", ada, sampling=sampling)
    analysis = corrected_regression.analyse(session, run, formula)
    assert (analysis.regression.reviewed, analysis.regression.drawn, analysis.discarded) == (90, 120, 30)
    assert analysis.sentence.endswith("; discarded: 30")
    sampling = queue.list_queue(session, run, QueueFilter(sort="queue", size=40), actor="ada").sampling
    actions.submit(session, run.run_id, list(sampling), ada, sampling=sampling)
    loaded = annotation_arrays.reviewed_sample(session, run)
    kept = loaded.order[loaded.is_kept]
    years = np.array([2000.0 + int(loaded.documents[row][1:]) % 10 for row in kept])
    expected = np.linalg.lstsq(np.column_stack([np.ones(130), years]), loaded.reference[kept, 0], rcond=None)[0]
    terms = corrected_regression.analyse(session, run, formula).terms.values()
    assert [term.estimate.value for term in terms] == pytest.approx(expected, rel=1e-6)
