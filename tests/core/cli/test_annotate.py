"""Tests of runs from the command line: the header of the file, and a project that is also edited in the studio."""

from __future__ import annotations

import socket
from importlib.util import find_spec
from pathlib import Path

import pytest

from core.codebook import Codebook, Label
from core.debate.personas import DEFAULT_PERSONAS
from core.engine import ray_job
from core.services.codebooks.codebook import change_label
from core.store.project import Project
from tests.core.cli.invoking import CODEBOOK, annotate, arguments, moot, rows, write
from tests.servers.scripted import ECJ, Scripted, debating, reply_with


def test_header_is_a_choice(tmp_path: Path) -> None:
    write(tmp_path)
    file = tmp_path / "notes.txt"
    file.write_text("The staff\nThe staff were friendly.\n", encoding="utf-8")
    codebook = ("--codebook", tmp_path / "codebook.yaml", "--json")
    assert moot("annotate", file, "--no-header", "--text", "text", *codebook).json["documents"] == 2
    other = ("--project", tmp_path / "other.duckdb")
    assert moot("annotate", file, "--header", "--text", "The staff", *codebook, *other).json["documents"] == 1


def test_encoding_and_delimiter_are_choices(tmp_path: Path) -> None:
    write(tmp_path)
    file = tmp_path / "notes.csv"
    file.write_bytes("text|a;b\nZupa była zimna|1;2\n".encode("cp852"))
    options = ("--text", "text", "--codebook", tmp_path / "codebook.yaml", "--encoding", "cp852", "--delimiter", "|")
    assert moot("annotate", file, *options, "--json").json["documents"] == 1
    assert rows(tmp_path, "SELECT text FROM documents", "notes.duckdb") == [("Zupa była zimna",)]
    assert moot("keywords", file, *options, "--json").json["documents"] == 1


def test_rejected_rows_beyond_the_shown_ones_are_counted(tmp_path: Path) -> None:
    write(tmp_path, "The staff were friendly.", *[""] * 7)
    shown = annotate(tmp_path).stderr
    assert "read 8, kept 1, rejected 7" in shown
    assert shown.count("no text in column 'text'") == 5
    assert "  and 2 more\n" in shown


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_finished_run_resumes_without_its_connection(tmp_path: Path, finish: str) -> None:
    write(tmp_path, "The staff were friendly.")
    end = "." if finish == "stop" else " and"  # a decision that was cut is unresolved
    judge = reply_with(f"{ECJ['judge']}{end}", finish)
    with Scripted(debating(judge=judge)) as server:
        first = annotate(tmp_path, "--connection", f"toy={server.url}", "--model", "toy/m").json
    again = annotate(tmp_path, "--resume", "r0001")
    assert again.json == first
    assert again.json["unresolved"] == (finish == "length")


def test_run_keeps_the_unsaved_codebook_of_the_studio(tmp_path: Path) -> None:
    write(tmp_path, "The staff were friendly.")
    annotate(tmp_path)
    unsaved = Codebook(name="half written", labels=(Label(name="Service"),))
    with Project(tmp_path / "p.duckdb") as project:
        project.store.codebooks.save_draft(unsaved)
    annotate(tmp_path)
    (tmp_path / "codebook.yaml").write_text(CODEBOOK.replace("station", "station, bus"), encoding="utf-8")
    annotate(tmp_path)
    with Project(tmp_path / "p.duckdb") as project:
        assert len(project.store.codebooks.history()) == 2
        assert project.store.codebooks.draft() == unsaved


def test_run_keeps_the_ids_of_labels_renamed_in_the_studio(tmp_path: Path) -> None:
    write(tmp_path, "The staff were friendly.")
    annotate(tmp_path)
    with Project(tmp_path / "p.duckdb") as project:
        saved = project.store.codebooks.history()[0].codebook
        renamed = change_label(saved, saved.labels[0].id, name="Staff")
        project.store.codebooks.save(renamed)
    (tmp_path / "codebook.yaml").write_text(CODEBOOK.replace("Service", "Staff"), encoding="utf-8")
    annotate(tmp_path)
    with Project(tmp_path / "p.duckdb") as project:
        assert project.store.codebooks.history()[0].codebook.label_names == renamed.label_names


def test_run_with_personas_keeps_the_unsaved_personas_of_the_studio(tmp_path: Path) -> None:
    write(tmp_path, "The staff were friendly.")
    persona_file = tmp_path / "personas.json"
    persona_file.write_text(DEFAULT_PERSONAS.text, encoding="utf-8")
    unsaved = DEFAULT_PERSONAS.model_copy(update={"task": "half written"})
    panel = ("--protocol", "panel", "--param", f"personas={persona_file}")
    annotate(tmp_path, *panel)
    with Project(tmp_path / "p.duckdb") as project:
        project.store.personas.save_draft(unsaved)
    annotate(tmp_path, *panel)
    with Project(tmp_path / "p.duckdb") as project:
        assert project.store.personas.draft() == unsaved


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_ray_that_is_not_installed_leaves_nothing_behind(tmp_path: Path) -> None:
    write(tmp_path, "The staff were friendly.")
    assert "Ray is not installed" in annotate(tmp_path, "--engine", "ray", code=2).stderr
    assert not (tmp_path / "p.duckdb").exists()
    annotate(tmp_path)
    moot("rerun", "r0001", "--project", tmp_path / "p.duckdb", "--engine", "ray", code=2)
    assert len(rows(tmp_path, "SELECT run_id FROM runs")) == 1


@pytest.mark.parametrize("form", ["{}", "ray://{}"])
def test_cluster_that_cannot_be_reached_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(ray_job, "find_spec", lambda _name: True)
    write(tmp_path, "The staff were friendly.")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = form.format(f"127.0.0.1:{closed.getsockname()[1]}")
    error = annotate(tmp_path, "--engine", "ray", "--param", f"ray_address={address}", code=2).stderr
    assert f"No Ray cluster can be reached at {address}" in error
    assert "moot rerun" in error
    assert not (tmp_path / "p.duckdb").exists()


def test_texts_under_other_ids_are_reported_before_they_are_added_again(tmp_path: Path) -> None:
    write(tmp_path, "staff", "breakfast")
    annotate(tmp_path)
    command = [argument for argument in arguments(tmp_path) if argument != "--id"]
    command.remove("id")
    message = moot(*command).stderr
    assert (
        "2 texts are already in the project under other ids; they are added again. --id chooses the id column"
        in message
    )
    assert "other ids" not in annotate(tmp_path).stderr
