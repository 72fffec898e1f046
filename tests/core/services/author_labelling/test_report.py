"""Tests of the report on the sample chats, of imports and exports, and of the command line."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from core.author_labelling.questions import Question
from core.cli import authors
from core.codebook import Codebook, Label
from core.errors import ExportError, InputError, WorkStopped
from core.files import shipped_folder
from core.formatting import MISSING
from core.llm.connections import parse_connection
from core.services.author_labelling import files
from core.services.author_labelling.labelling import load_labelling
from core.services.author_labelling.report import (
    annotate,
    author_report,
    run_predictivity,
    to_json,
)
from core.services.evaluation import evaluation
from core.services.project_session import ProjectSession
from core.services.runs import planning
from core.services.workspace import Workspace
from tests.core.cli.invoking import moot
from tests.core.services.sessions import until
from tests.servers import faults
from tests.servers.scripted import Behaviour, Scripted, reply_with

SAMPLE = shipped_folder("sample_data") / files.SAMPLE.data


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name)))
        workspace = Workspace()
        yield workspace
        workspace.close()


@pytest.fixture(scope="module")
def session(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> ProjectSession:
    opened = workspace.open(tmp_path_factory.mktemp("project") / "chats.duckdb")
    assert files.load_sample(opened) == 43
    return opened


def comparable(session: ProjectSession) -> list[Question]:
    return [each.question for each in load_labelling(session).questions.values() if each.truth is not None]


def test_sample_reproduces_the_figures_of_the_paper(session: ProjectSession) -> None:
    assert files.load_sample(session) == 0, "a second import adds nothing"
    report = author_report(session)
    collection = report.collection
    assert dict(collection.excluded) == {"greeting": 1, "spam": 1, "sensitive": 1}
    assert (collection.asked, collection.answered, collection.abstained, collection.declined) == (69, 66, 2, 1)
    assert collection.completion.value == pytest.approx(68 / 69)
    readers, experts = report.groups
    assert (readers.group, readers.annotators, readers.labels) == ("readers", 3, 180)
    assert readers.accuracy.value == pytest.approx(70 / 180)
    assert readers.accuracy.interval is not None
    assert sum(stratum.questions for stratum in readers.strata) == 60
    assert [stratum.agreeing for stratum in experts.strata] == [3, 2, 1][: len(experts.strata)]
    assert experts.accuracy.value is not None
    totals = {click.arm: (click.impressions, click.clicks) for click in report.clicks if not click.day}
    assert totals == {"selector": (8, 6), "keywords": (5, 1)}
    assert json.loads(json.dumps(to_json(report)))["labels"]["Feeling"]["abstained"] == 2


def test_authors_answers_are_a_reference_for_runs(session: ProjectSession) -> None:
    run = planning.create_runs(
        session, planning.project_settings(session, planning.Plan(protocol="single")), session.store.documents.ids()
    )[0]
    session.start_or_resume(run.run_id).result(timeout=60)
    report = evaluation.to_json(evaluation.evaluate(session, session.run(run.run_id), "author"))
    assert set(report["labels"]) == {"Purchase", "Urgent"}
    assert report["labels"]["Purchase"]["n"] == 12


def test_builtin_annotator_answers_each_question_once(session: ProjectSession) -> None:
    assert session.engine.submit(annotate(session, "builtin/lexical")).result() == 60, "only what authors answered"
    assert session.engine.submit(annotate(session, "builtin/lexical")).result() == 0
    group = next(group for group in author_report(session).groups if group.group == "built-in")
    assert (group.labels, group.kappa.value, group.cost_usd) == (60, None, 0)


def test_export_names_the_source_of_each_label(session: ProjectSession, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in files.export_labels(session, ".jsonl").decode().splitlines()]
    authors = [row for row in rows if row["group"] == "author"]
    assert len(authors) == 69
    assert tuple(authors[0]) == files.COLUMNS
    first = next(row for row in authors if row["label"] == "Feeling" and row["answer"])
    assert first["options"][first["position"]] == first["answer"]
    assert files.save_labels(session, tmp_path / "labels.csv").read_bytes().startswith(b"\xef\xbb\xbfquestion_id,")
    for path in (tmp_path / "labels.txt", session.path, tmp_path / "missing" / "labels.csv"):
        with pytest.raises(ExportError):
            files.save_labels(session, path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1"),
        ('{"author": "a"}', "conversation"),
        ('{"author": "a", "conversation": "c", "at": 1, "messages": []}', "messages"),
        ('{"author": "a", "conversation": "c", "at": 1, "messages": [{"role": "bot", "text": "Hi"}]}', "> role: Input"),
        (
            '{"author": "a", "conversation": "c", "at": 1, "messages": [{"role": "author", "text": "Is it a tent?"}], '
            '"questions": [{"label": "Unknown", "question": "?", "answer": "x"}]}',
            "no label 'Unknown'",
        ),
        (
            '{"author": "a", "conversation": "c", "at": 1, "messages": [{"role": "author", "text": "Is it a tent?"}], '
            '"questions": [{"label": "Urgent", "question": "?", "options": ["Yes", "No"], "answer": "Maybe"}]}',
            "'Maybe' is not an option",
        ),
    ],
)
def test_error_names_the_bad_line_and_nothing_is_stored(
    session: ProjectSession, tmp_path: Path, line: str, message: str
) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text(line, encoding="utf-8")
    before = len(load_labelling(session).log)
    with pytest.raises(InputError, match=message):
        files.import_chats(session, path)
    assert len(load_labelling(session).log) == before


def test_unreadable_files_are_refused(session: ProjectSession, tmp_path: Path) -> None:
    (tmp_path / "latin.jsonl").write_bytes(b"\xff\xfe\xfa")
    for name in ("latin.jsonl", "missing.jsonl"):
        with pytest.raises(InputError):
            files.import_chats(session, tmp_path / name)


def test_command_prints_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    project = tmp_path / "chats.duckdb"
    moot("authors", "--project", project, code=2)
    done = moot("authors", "--project", project, "--sample", "--export", tmp_path / "all.jsonl", "--json")
    assert done.json["collection"]["answered"] == 66
    assert set(done.json["annotators"]) == {"readers", "experts"}
    assert (tmp_path / "all.jsonl").exists()
    lines = moot("authors", "--project", project).stdout.splitlines()
    assert lines[0].endswith("95% intervals over authors in brackets)")
    head, readers = (line for line in lines if line.startswith(("annotators", "readers")))
    assert readers.endswith(MISSING)  # an imported file states no cost
    columns = re.split(r"  +", head)
    counts = dict(zip(columns, re.split(r"  +", readers), strict=True))
    assert (counts["labels"], counts["abstained"], counts["unresolved"]) == ("180", "0", "0")
    moot("authors", "--project", project, "--annotate", "nowhere/x", code=2)


@pytest.mark.parametrize("failure", [faults.answer(400, "content_filter"), reply_with("")], ids=["refused", "empty"])
def test_question_without_reply_is_unresolved_and_the_others_are_answered(
    workspace: Workspace, tmp_path: Path, failure: Behaviour
) -> None:
    session = workspace.open(tmp_path / "chats.duckdb")
    files.load_sample(session)
    questions = comparable(session)
    failing = questions[0].text

    async def behave(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        fails = failing in json.dumps(body, ensure_ascii=False)
        return await (failure if fails else reply_with("The label is 1"))(request, body)

    with Scripted(behave) as server:
        session.models.add(parse_connection("lab", server.url))
        answered = session.engine.submit(annotate(session, "lab/m", copies=1)).result()
        assert 0 < answered < len(questions)
    group = next(group for group in author_report(session).groups if group.group == "models")
    assert (group.labels, group.unresolved) == (answered, len(questions) - answered)


def test_unreadable_answer_is_requested_again_and_the_others_are_kept(workspace: Workspace, tmp_path: Path) -> None:
    session = workspace.open(tmp_path / "chats.duckdb")
    files.load_sample(session)
    questions = comparable(session)
    unreadable, requested = ["I cannot say.", "Perhaps."], 0

    async def behave(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        nonlocal requested
        requested += 1
        is_first = questions[0].text in json.dumps(body, ensure_ascii=False)
        return await reply_with(unreadable.pop(0) if is_first and unreadable else "The label is 2")(request, body)

    def label(copies: int = 1) -> int:
        return session.engine.submit(annotate(session, "some/m", copies=copies)).result()

    def first_answer() -> str | None:
        (answer,) = load_labelling(session).questions[questions[0].id].annotators["models"].values()
        return answer.choice

    with Scripted(behave) as server:
        session.models.add(parse_connection("some", server.url))
        assert (label(), first_answer()) == (len(questions) - 1, None)
        requested = 0
        assert (label(), first_answer(), requested) == (1, questions[0].options[1], 1)
        assert (label(), requested) == (0, 1), "all are answered"
        assert (label(copies=2), requested) == (len(questions), 1 + len(questions)), "no reply is used twice"


def test_predictivity_keeps_a_test_of_each_model_and_names_its_answers(
    workspace: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = workspace.open(tmp_path / "chats.duckdb")
    session.store.codebooks.save(Codebook(labels=(Label(name="Urgent"),)))
    question = {"label": "Urgent", "question": "Urgent?", "options": ["Yes", "No"], "answer": "Yes"}
    path = tmp_path / "chats.jsonl"

    def add(author: str, count: int) -> None:
        chats = [
            {
                "author": author,
                "conversation": f"c{at}",
                "at": at,
                "messages": [{"role": "author", "text": f"Report {at} is due tomorrow."}],
                "questions": [question],
            }
            for at in range(count)
        ]
        path.write_text("\n".join(map(json.dumps, chats)), encoding="utf-8")
        files.import_chats(session, path)

    def test_with(spec: str) -> dict[str, Any]:
        session.engine.submit(run_predictivity(session, spec)).result()
        return tests()

    def tests() -> dict[str, Any]:
        data = to_json(author_report(session))["predictivity"]
        answers = {model: test["answers"] for model, test in data["by_model"].items()}
        return {"latest": data["model"], "now": data["answers_now"], **answers}

    add("ada", 8)
    with Scripted(reply_with("The label is 1")) as server:
        session.models.add(parse_connection("some", server.url))
        assert test_with("some/m") == {"latest": "some/m", "now": 8, "some/m": 8}
    add("bo", 3)
    assert tests() == {"latest": "some/m", "now": 11, "some/m": 8}
    after = {"latest": "builtin/lexical", "now": 11, "some/m": 8, "builtin/lexical": 11}
    assert test_with("builtin/lexical") == after
    authors._print_report(to_json(author_report(session)), "authors")
    printed = capsys.readouterr().out
    assert "by some/m on 8 answers (now 11: run it again):" in printed
    assert "by builtin/lexical on 11 answers:" in printed


def test_stopped_model_keeps_its_answers(workspace: Workspace, tmp_path: Path) -> None:
    session = workspace.open(tmp_path / "chats.duckdb")
    files.load_sample(session)
    requested = 0

    async def behave(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        nonlocal requested
        requested += 1
        if requested == 3:
            await asyncio.sleep(60)
        return await reply_with("The label is 1")(request, body)

    with Scripted(behave) as server:
        session.models.add(parse_connection("slow", server.url))
        session.start_job(
            "answers", lambda report: session.engine.submit(annotate(session, "slow/m", copies=1, report=report)), ""
        )
        job = session.jobs["answers"]
        until(lambda: requested == 3)
        assert 0 < job.share < 1
        job.stop()
        with pytest.raises(WorkStopped):
            job.result()
        assert session.activity == ""
        questions = comparable(session)
        assert sum("models" in each.annotators for each in load_labelling(session).questions.values()) == 2
        again = session.engine.submit(annotate(session, "slow/m", copies=1)).result()
        assert (again, requested) == (len(questions) - 2, len(questions) + 1)
