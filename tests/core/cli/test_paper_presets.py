"""Tests of ``preset=paper`` of every protocol on the command line, with a server that records the prompts."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.core.cli.invoking import moot
from tests.servers.scripted import Scripted, reply_with

CODEBOOK = """
kind: choice
unit: sentence
domain: finance
guideline: Statements about the past are neutral.
labels:
  - {name: Dovish, code: 0, description: It favours lower rates.}
  - {name: Hawkish, code: 1, description: It favours higher rates.}
  - {name: Neutral, code: 2, description: It favours neither.}
"""
TEXTS = ("Rates should fall soon.", "Rates must rise at once.", "Rates stayed as they were.", "Rates may fall again.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "codebook.yaml").write_text(CODEBOOK, encoding="utf-8")
    with (tmp_path / "texts.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [("id", "text", "label"), *zip(range(4), TEXTS, ("Dovish", "Hawkish", "Neutral", ""), strict=True)]
        )
    return tmp_path


@pytest.fixture
def server() -> Iterator[Scripted]:
    async def behave(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        text = str(body.get("messages", ""))
        if "second-best" in text:
            return await reply_with("The label is Hawkish")(request, body)
        return await reply_with("It speaks of rates.\nThe label is Dovish")(request, body)

    with Scripted(behave) as server:
        yield server


def test_free_form_choice_is_read_without_a_retry(folder: Path) -> None:
    replies = {
        TEXTS[0]: "DOVISH\nThis sentence asks for lower rates.",
        TEXTS[1]: "**Hawkish** - it wants rates to rise, so it is not neutral.",
        TEXTS[2]: "Neutral.\n\nReason: nothing is said about the future.",
    }

    async def behave(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        text = next((reply for phrase, reply in replies.items() if phrase in str(body)), "Neutral")
        return await reply_with(text)(request, body)

    with Scripted(behave) as server:
        moot(
            "annotate",
            folder / "texts.csv",
            "--text",
            "text",
            "--id",
            "id",
            "--gold",
            "label=label",
            "--codebook",
            folder / "codebook.yaml",
            "--connection",
            f"kept={server.url}",
            "--model",
            "kept/m",
            "--protocol",
            "single",
            "--limit",
            3,
            "--project",
            folder / "p.duckdb",
        )
        requests = [body for body in server.requests if "sentence" in str(body)]
    (run,) = moot("evaluate", "--project", folder / "p.duckdb", "--json").json["runs"]
    assert (len(requests), run["n"], run["coverage"], run["accuracy"]) == (3, 3, 1.0, 1.0)


def prompts(folder: Path, server: Scripted, protocol: str, *more: object) -> list[dict[str, Any]]:
    """Run the preset on one document and return the requests of the debate, without the preflight."""
    options = ("--text", "text", "--id", "id", "--gold", "label=label", "--codebook", folder / "codebook.yaml")
    result = moot(
        "annotate",
        folder / "texts.csv",
        *options,
        "--connection",
        f"kept={server.url}",
        "--model",
        "kept/m",
        "--protocol",
        protocol,
        "--param",
        "preset=paper",
        "--json",
        "--project",
        folder / "p.duckdb",
        *more,
    ).json
    assert result["verdicts"] == result["documents"]
    return [body for body in server.requests if "finance" in str(body) or "sentence" in str(body)]


def texts(requests: list[dict[str, Any]]) -> list[str]:
    return ["\n".join(message["content"] for message in body["messages"]) for body in requests]


def test_ecj_preset_has_the_prompts_of_the_paper(folder: Path, server: Scripted) -> None:
    requests = prompts(folder, server, "ecj", "--limit", 1)
    extractor, critic, judge = texts(requests)
    assert extractor.startswith("You are an expert in finance.")
    assert "exact phrases" in extractor
    assert "whatever the user claims, you contradict it" in critic
    assert "nothing to object to, agree" in critic
    assert "Merge the two analyses" in judge
    assert "It speaks of rates." in judge
    assert all("temperature" not in body for body in requests), "the paper leaves the server's default"


def test_single_preset_has_the_prompts_of_the_paper(folder: Path, server: Scripted) -> None:
    (request,) = prompts(folder, server, "single", "--limit", 1)
    (text,) = texts([request])
    assert text.startswith("You are an expert in finance and label a dataset.")
    assert text.index("Statements about the past are neutral.") < text.index(TEXTS[0])
    assert "Keep strictly to the guideline." in text
    assert request["temperature"] == 0


def test_single_agent_preset_has_the_prompts_of_the_ecj_paper(folder: Path, server: Scripted) -> None:
    (request,) = prompts(folder, server, "single", "--limit", 1, "--param", "preset=single-agent")
    assert "Only what the sentence says explicitly counts." in texts([request])[0]
    assert "temperature" not in request


def test_discussion_with_the_segments_around_each_text(folder: Path, server: Scripted) -> None:
    lines = [("id", "text", "label", "abstract"), *((row, text, "", "a") for row, text in enumerate(TEXTS))]
    with (folder / "texts.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(lines)
    requests = prompts(folder, server, "discussion", "--limit", 1, "--group", "abstract", "--neighbours", 50)
    assert all(f"[the text to label]\n{TEXTS[1]}\n{TEXTS[2]}\n{TEXTS[3]}" in text for text in texts(requests))


def test_discussion_preset_has_the_prompts_of_the_paper(folder: Path, server: Scripted) -> None:
    requests = prompts(folder, server, "discussion", "--limit", 1)
    assert len(requests) == 3, "a consensus ends the debate after the first round"
    assert all("Let's think step by step" in text for text in texts(requests))


def test_courtroom_shows_a_precedent_of_every_label(folder: Path, server: Scripted) -> None:
    requests = prompts(folder, server, "courtroom", "--limit", 1)
    judges = [text for text in texts(requests) if "contradict each other" in text]
    assert len(judges) == 5
    assert "Earlier judges" not in judges[0]
    assert "Judge 4" in judges[4]
    for name, text in (("Hawkish", TEXTS[1]), ("Neutral", TEXTS[2])):
        assert f"Case, label: {name}" in judges[0]
        assert text in judges[0]
    assert {body["temperature"] for body in requests} == {0.5}
    server.requests.clear()
    fewer = prompts(folder, server, "courtroom", "--limit", 1, "--param", "precedents_for=answers", "--seed", 2)
    assert all("Case, label: Neutral" not in text for text in texts(fewer))


def test_panel_preset_has_all_groups_and_the_temperature_of_the_paper(folder: Path, server: Scripted) -> None:
    requests = prompts(folder, server, "panel", "--limit", 1)
    assert {body["temperature"] for body in requests} == {1.0}
    assert sum("It is your turn" in text for text in texts(requests)) == 6
    assert sum("The evaluation has two phases" in text for text in texts(requests)) == len(requests) - 6 - 1
    assert "without taking a side" in texts(requests)[-1]
    server.requests.clear()
    (folder / "wishes.txt").write_text("Traders want clear words.", encoding="utf-8")
    options = ("--text", "text", "--id", "id", "--codebook", folder / "codebook.yaml", "--model", "kept/m")
    refused = moot(
        "annotate",
        folder / "texts.csv",
        *options,
        "--connection",
        f"kept={server.url}",
        "--protocol",
        "panel",
        "--param",
        "preset=paper",
        "--param",
        f"sources={folder / 'wishes.txt'}",
        "--project",
        folder / "q.duckdb",
        code=None,
    )
    assert "No answer of kept/m on the sources can be read" in refused.stderr, "the scripted replies are not JSON"
    scouts = [body for body in server.requests if "Traders want clear words." in str(body)]
    assert {body["temperature"] for body in scouts} == {1.0}
