"""Tests of ``moot annotate --protocol panel`` on the sample, with personas from a file and from documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.codebook import Codebook, Label
from core.files import shipped_folder
from core.services import personas
from core.services.workspace import Workspace
from tests.core.cli.invoking import moot, rows
from tests.servers.scripted import Scripted, reply_with

SAMPLES = shipped_folder("sample_data")
PANEL = SAMPLES / "panel"
RATERS = ("ann", "ben", "cara")


def test_task_of_a_panel_lists_the_labels_first() -> None:
    labels = (Label(name="Tone", description="Is it kind?"), Label(name="Length"))
    book = Codebook(kind="rating", unit="answer", domain="advice", guideline="Be fair.", labels=labels)
    assert personas.task_of(book) == (
        "A panel rates one answer on these dimensions: Tone: Is it kind?; Length. Domain: advice. Be fair."
    )


def rate(folder: Path, *more: object, code: int = 0):
    gold = [part for rater in RATERS for part in ("--gold", f"Child fit=Child fit_{rater}@{rater}")]
    return moot(
        "annotate",
        SAMPLES / "story_questions.csv",
        "--id",
        "id",
        "--text",
        "answer",
        "--context",
        "question",
        "--context",
        "story",
        "--codebook",
        SAMPLES / "story_questions.yaml",
        "--group",
        "story_id",
        "--order",
        "number",
        "--limit",
        "4",
        "--project",
        folder / "p.duckdb",
        "--json",
        "--protocol",
        "panel",
        *gold,
        *more,
        code=code,
    )


def test_personas_from_a_file_are_evaluated_against_three_raters(tmp_path: Path) -> None:
    options = ("--param", f"personas={PANEL / 'personas.yaml'}", "--param", "turns=2")
    result = rate(tmp_path, *options)
    assert (result.json["documents"], result.json["verdicts"]) == (4, 4)
    (report,) = moot("evaluate", "--project", tmp_path / "p.duckdb", "--json").json["runs"]
    assert set(report["raters"]) == set(RATERS)
    assert report["labels"]["Child fit"]["n"] == 4
    assert set(report["overlap"]) == {"question", "story"}
    (saved,) = rows(tmp_path, "SELECT version, note FROM persona_versions")
    assert saved == (1, "from the command line")
    workspace = Workspace()
    try:
        session = workspace.open(tmp_path / "p.duckdb", create=False)
        run = personas.last_panel(session)
        assert run is not None
        costs = personas.costs(session, run)
        assert [cost.name for cost in costs][:2] == ["Parents", "Teachers and librarians"]
        assert sum(files.turns for files in costs) == result.json["calls"] + result.json["cached_calls"]
        assert all(cost.per_document == cost.tokens / 4 for cost in costs)
    finally:
        workspace.close()


def test_personas_are_generated_from_documents(tmp_path: Path) -> None:
    sources = f"{PANEL / 'reading_at_home.md'},{PANEL / 'librarians_notes.txt'}"
    options = ("--param", f"sources={sources}", "--param", "groups=2", "--param", "turns=0")
    result = rate(tmp_path, *options)
    assert "personas v1:" in result.stderr
    assert "in 2 groups" in result.stderr
    assert result.json["verdicts"] == 4
    (body,) = rows(tmp_path, "SELECT body FROM persona_versions")[0]
    groups = json.loads(body)["groups"]
    assert len(groups) == 2
    assert rows(tmp_path, "SELECT count(*) FROM persona_sources") == [(2,)]
    roles = {role for (role,) in rows(tmp_path, "SELECT DISTINCT role FROM turns")}
    assert roles == {f"persona_{n}" for n in range(1, 1 + sum(len(group["personas"]) for group in groups))} | {
        "aggregator"
    }


def test_generated_personas_are_paid_from_the_budget(tmp_path: Path) -> None:
    stakeholder = {"name": "Guest", "description": "a child", "dimensions": [{"dimension": "fun", "evidence": "fun"}]}
    with Scripted(reply_with(json.dumps({"stakeholders": [stakeholder]}))) as server:
        sources = f"sources={PANEL / 'reading_at_home.md'},{PANEL / 'librarians_notes.txt'}"
        model = ("--connection", f"kept={server.url}", "--model", "kept/m", "--price", "kept/m=1000/1000")
        options = (*model, "--param", sources, "--param", "turns=0", "--param", "max_tokens=100")
        refused = rate(tmp_path, *options, "--budget", "0.0001", code=2)
        assert "does not suffice to generate the personas" in refused.stderr
        assert list(tmp_path.iterdir()) == [], "no reply was paid"
        done = rate(tmp_path, *options, "--budget", "1000", code=None)
    ((spent,),) = rows(tmp_path, "SELECT sum(cost_usd) FROM replies WHERE run_id = ''")
    ((budget,),) = rows(tmp_path, "SELECT settings ->> '$.budget_usd' FROM runs")
    assert 0 < spent < 1000
    generated = done.json["personas"]
    assert generated["cost_usd"] == pytest.approx(spent)
    assert generated["calls"] == generated["requests"] > 0
    assert 1000 * (generated["prompt_tokens"] + generated["completion_tokens"]) == pytest.approx(spent * 1e6)
    assert float(budget) == pytest.approx(1000 - spent)


@pytest.mark.parametrize(
    ("param", "problem"),
    [
        ("personas=/no/such.yaml", "cannot be read"),
        ("sources=/no/such.txt", "File /no/such.txt does not exist"),
        ("turns=many", "whole number"),
        ("style=grand", "cannot be 'grand'"),
    ],
)
def test_invalid_persona_options_leave_no_project(tmp_path: Path, param: str, problem: str) -> None:
    result = rate(tmp_path, "--param", param, code=2)
    assert problem in result.stderr
    assert not (tmp_path / "p.duckdb").exists()


@pytest.mark.parametrize(
    ("text", "problem"),
    [(" ", "notes.txt"), ("The weather was fine. Nothing else happened.", "No stakeholder was found in notes.txt")],
)
def test_sources_without_personas_leave_no_project(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "notes.txt").write_text(text)
    assert problem in rate(tmp_path, "--param", f"sources={tmp_path / 'notes.txt'}", code=2).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_paid_replies_and_projects_that_existed_are_kept_if_no_persona_is_found(tmp_path: Path) -> None:
    source = f"sources={PANEL / 'reading_at_home.md'}"
    with Scripted(reply_with(json.dumps({"stakeholders": []}))) as server:
        paid = ("--connection", f"kept={server.url}", "--model", "kept/m", "--param", "max_tokens=100")
        rate(tmp_path, *paid, "--param", source, code=2)
        assert rows(tmp_path, "SELECT count(*) > 0 FROM replies") == [(True,)]
    (tmp_path / "notes.txt").write_text("The weather was fine.")
    rate(tmp_path, "--param", f"sources={tmp_path / 'notes.txt'}", code=2)
    assert rows(tmp_path, "SELECT count(*) > 0 FROM replies") == [(True,)]
