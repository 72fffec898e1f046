"""Tests of runs with vectors of a server: what they cost, and that no text is embedded twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from core.engine import retries
from tests.core.cli.invoking import CommandResult, moot, write
from tests.servers.scripted import Scripted, reply_with

TEXTS = tuple(f"The staff of house {number} were friendly." for number in range(6))
PRICE = ("--price", "near/tiny=1000000/0")
"""One dollar per token."""


class Server(Scripted):
    """A server whose model ``tiny`` bills 3 tokens per text.

    The first ``busy`` requests for vectors get a 429. A ``broken`` server answers all of them with a 500.
    ``stated_usd`` is the cost of a token that it states, None for none.
    """

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.busy = 0
        self.broken = False
        self.stated_usd: float | None = None

    @property
    def embedded(self) -> list[str]:
        """The texts for which vectors were requested, except the refused ones."""
        return [text for body in self.requests for text in body.get("input", ())]

    async def _answer(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if "input" not in body:
            return await reply_with("The aspects present in this review are: #Service")(request, body)
        if self.busy:
            self.busy -= 1
            self.requests.pop()
            return web.json_response({"error": {"message": "slow down"}}, status=429, headers={"retry-after": "0"})
        if self.broken:
            return web.json_response({"error": {"message": "out of memory"}}, status=500)
        rows = [
            {"object": "embedding", "index": index, "embedding": [1.0, float(sum(map(ord, text)) % 97)]}
            for index, text in enumerate(body["input"])
        ]
        usage = {"prompt_tokens": 3 * len(rows), "total_tokens": 3 * len(rows)}
        if self.stated_usd is not None:
            usage["cost"] = self.stated_usd * usage["total_tokens"]
        return web.json_response({"object": "list", "model": "tiny", "data": rows, "usage": usage})


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, *TEXTS)
    lines = ["id,text,Service", *(f"d{number},{text},1" for number, text in enumerate(TEXTS))]
    (tmp_path / "texts.csv").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


def annotate(
    folder: Path, server: Server, *more: object, gold: tuple[str, str] = ("--gold", "Service=Service"), code: int = 0
) -> CommandResult:
    return moot(
        *("annotate", folder / "texts.csv", "--text", "text", "--id", "id", *gold),
        *("--codebook", folder / "codebook.yaml", "--project", folder / "p.duckdb", "--json"),
        *("--connection", f"near=http://127.0.0.1:{server.port}/v1", *more),
        code=code,
    )


COURTROOM = ("--protocol", "courtroom", "--param", "likeness=near/tiny", "--limit", 2)


def test_examples_are_embedded_once_and_their_tokens_are_part_of_the_cost(folder: Path, server: Server) -> None:
    server.busy = 3
    first = annotate(folder, server, *COURTROOM, *PRICE).json
    assert sorted(server.embedded) == sorted(TEXTS), "the pool and the documents, each once"
    assert first["cost_usd"] == 3 * len(TEXTS)
    assert first["verdicts"] == 2
    resumed = annotate(folder, server, *COURTROOM, *PRICE, "--resume", first["run_id"]).json
    assert {**resumed, "seconds": 0} == {**first, "seconds": 0}
    again = annotate(folder, server, *COURTROOM, *PRICE, "--seed", 5).json
    assert again["cost_usd"] == 0
    assert len(server.embedded) == len(TEXTS), "another run of another process finds the vectors in the project"
    runs = moot("runs", "--project", folder / "p.duckdb", "--json").json["runs"]
    assert {run["turns"] for run in runs} == {first["calls"]}, "vectors are neither turns nor calls"


def test_vectors_without_a_known_price_leave_the_cost_open(folder: Path, server: Server) -> None:
    assert annotate(folder, server, *COURTROOM).json["cost_usd"] is None
    refused = annotate(folder, server, *COURTROOM, "--budget", 5, code=2)
    assert "The price of near/tiny is unknown" in refused.stderr


def test_cost_that_the_server_states_for_vectors_is_read(folder: Path, server: Server) -> None:
    server.stated_usd = 0.5
    assert annotate(folder, server, *COURTROOM).json["cost_usd"] == 0.5 * 3 * len(TEXTS)


def test_cost_that_the_server_states_for_vectors_allows_a_budget(folder: Path, server: Server) -> None:
    server.stated_usd = 0.5
    summary = _compare_by_vectors(folder, server, "sad", "--budget", 1000)
    assert summary["cost_usd"] == 0.5 * summary["prompt_tokens"] > 0


def test_failed_request_for_vectors_is_repeated_like_a_chat_call(
    folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "MAX_WAIT", 0.0)
    server.broken = True
    assert annotate(folder, server, *COURTROOM[:-1], 1, code=None).json["failed"] == 1
    assert len(server.requests) == retries.ATTEMPTS


@pytest.mark.parametrize("engine", ["live", "batch"])
def test_server_without_vectors_pauses_the_run(
    folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.setattr(retries, "MAX_WAIT", 0.0)
    server.broken = True
    texts = [f"d{number},text {number},1" for number in range(6, 46)]
    with (folder / "texts.csv").open("a", encoding="utf-8") as file:
        file.write("\n" + "\n".join(texts))
    paused = annotate(folder, server, *COURTROOM[:-1], 40, "--engine", engine, code=3)
    assert "5 documents in a row met the same error: near answered 500" in paused.stderr
    assert len(server.requests) == retries.ATTEMPTS


def test_similarity_of_a_run_without_examples_is_not_needed(folder: Path, server: Server) -> None:
    without_examples = (
        ("--protocol", "single", "--param", "method=vanilla"),
        ("--protocol", "courtroom", "--param", "shots=0"),
    )
    for protocol in without_examples:
        for similarity in ("near/tiny", "gone/tiny"):
            options = (*protocol, "--param", f"likeness={similarity}", "--limit", 1, "--budget", 1)
            assert annotate(folder, server, *options).json["verdicts"] == 1


def test_spent_budget_pauses_before_more_texts_are_embedded(folder: Path, server: Server) -> None:
    paused = annotate(folder, server, *COURTROOM, *PRICE, "--budget", 15, code=3)
    assert paused.json["status"] == "paused"
    assert paused.json["cost_usd"] <= 15
    assert "of the budget of" in paused.stderr
    assert server.embedded == [], "four texts of the pool may cost up to a dollar per character"


def test_vectors_of_the_built_in_model_are_part_of_the_cost(folder: Path, server: Server) -> None:
    summary = _compare_by_vectors(folder, server, "sad", *PRICE)
    assert summary["verdicts"] == len(TEXTS)
    assert sorted(set(server.embedded)) == sorted(server.embedded)
    probed = 1 + server.embedded.index("It rained all day.")  # the probe before the run is not part of its cost
    assert summary["cost_usd"] == summary["prompt_tokens"] == 3 * (len(server.embedded) - probed)


def test_vectors_of_the_built_in_model_are_paid_once(folder: Path, server: Server) -> None:
    first = _compare_by_vectors(folder, server, "sad", *PRICE)
    again = _compare_by_vectors(folder, server, "gloomy", *PRICE)
    embedded = Counter(server.embedded)
    assert {embedded[text] for text in TEXTS} == {1}, "a run with another codebook finds the vectors in the project"
    assert (first["verdicts"], again["verdicts"]) == (len(TEXTS), len(TEXTS))
    assert 0 < again["cost_usd"] < first["cost_usd"], "only the new definition is paid"
    calls = {first["calls"], again["calls"]}
    assert calls == {3 * len(TEXTS)}, "a reply to each role, vectors are no calls"


def _compare_by_vectors(folder: Path, server: Server, definition: str, *more: object) -> dict[str, Any]:
    """Annotate with a codebook whose words no text has, so that texts are compared with its definitions by vectors."""
    labels = f"[{{name: Alpha}}, {{name: Beta, description: {definition}}}]"
    (folder / "codebook.yaml").write_text(f"{{kind: choice, labels: {labels}}}")
    lines = ["id,text,label", *(f"d{number},{text},Alpha" for number, text in enumerate(TEXTS))]
    (folder / "texts.csv").write_text("\n".join(lines), encoding="utf-8")
    gold = ("--gold", "label=label")
    return annotate(folder, server, "--model", "builtin/lexical@near/tiny", *more, gold=gold).json
