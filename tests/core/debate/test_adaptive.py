"""Tests of the adaptive ECJ protocol: certain extractions skip the debate, and an audited share measures the loss."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.debate.context import DebateContext, parse_reply
from core.debate.protocols import PROTOCOLS
from core.debate.protocols.ecj import are_certain
from core.debate.turns import Reply, ReplyError, Request
from core.documents import Document
from tests.core.cli.invoking import annotate, write
from tests.core.debate.canned_debates import CODEBOOKS, DOCUMENT, SERVICE, context_of, decision_text, run_debate
from tests.servers.scripted import Scripted, reply_with

ECJ = PROTOCOLS["ecj"]
SURE = '- #Service: "The staff were kind"\nFinal Decision: The present aspects are: Service'


def reply_of(text: str, kind: str = "multilabel") -> Reply:
    codebook = CODEBOOKS[kind]  # type: ignore[index]
    form = "choice" if kind == "choice" else "labels"
    return parse_reply(Request("extractor", (), form=form), Reply(text), codebook, DOCUMENT)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("texts", "certain"),
    [
        ([SURE], True),
        ([SURE, "Final Decision: The present aspects are: Service"], True),
        ([decision_text("multilabel"), decision_text("multilabel")], True),
        pytest.param([decision_text("multilabel")], False, id="no label and no second extractor"),
        pytest.param([decision_text("multilabel", "Service")], False, id="no quote"),
        pytest.param([SURE, decision_text("multilabel", "Service", "Price")], False, id="extractors differ"),
        pytest.param([SURE.replace("kind", "rude and slow all day")], False, id="quote not in the text"),
        pytest.param([f"{SURE}, Sauna"], False, id="unknown label"),
        pytest.param(["Hard to say."], False, id="unreadable"),
        pytest.param([f"Undecided: Price\n{SURE}"], False, id="left open"),
    ],
)
def test_certain_replies_are_complete_alike_and_quoted(texts: list[str], certain: bool) -> None:
    assert are_certain([reply_of(text) for text in texts], CODEBOOKS["multilabel"]) is certain


def test_failed_second_extractor_or_unquoted_choice_is_in_doubt() -> None:
    assert not are_certain([reply_of(SURE), Reply(error=ReplyError("server fault", "boom"))], CODEBOOKS["multilabel"])
    assert are_certain([reply_of('Service: "staff were kind"\nThe label is Service', "choice")], CODEBOOKS["choice"])
    assert not are_certain([reply_of("The label is Service", "choice")], CODEBOOKS["choice"])


def test_certain_documents_skip_the_debate_unless_audited() -> None:
    context = context_of(ECJ, adaptive=True, audit=0)
    verdict, requests = run_debate(ECJ, context, lambda _request, _number: SURE)
    assert ([request.role for request in requests], verdict.path, verdict.values[SERVICE]) == (
        ["extractor"],
        "short",
        True,
    )
    doubtful, requests = run_debate(ECJ, context, lambda _request, _number: decision_text("multilabel", "Service"))
    assert (len(requests), doubtful.path) == (3, "full")
    audited, requests = run_debate(ECJ, context_of(ECJ, adaptive=True, audit=1), lambda _request, _number: SURE)
    assert (len(requests), audited.path) == (3, "audited")
    plain, _ = run_debate(ECJ, context_of(ECJ), lambda _request, _number: SURE)
    assert plain.path == ""


def test_two_extractors_get_the_same_messages() -> None:
    context = context_of(ECJ, adaptive=True, second=True, audit=0)
    verdict, requests = run_debate(ECJ, context, lambda _request, _number: decision_text("multilabel"))
    assert [request.role for request in requests] == ["extractor", "extractor_b"]
    assert requests[0].messages == requests[1].messages
    assert [request.sample for request in requests] == [0, 1]  # a server that accepts a seed gets two of them
    assert (verdict.path, set(verdict.values.values())) == ("short", {False})


def test_audited_share_of_documents_is_reproducible() -> None:
    context = context_of(ECJ, adaptive=True, audit=0.2)
    documents = [Document(str(number), DOCUMENT.fields) for number in range(1000)]

    def paths() -> list[str]:
        contexts = [DebateContext(document, context.settings) for document in documents]
        return [run_debate(ECJ, context, lambda _request, _number: SURE)[0].path for context in contexts]

    first = paths()
    assert first == paths()
    assert 160 <= first.count("audited") <= 240, "200 plus or minus three standard deviations"


def test_run_reports_skipped_debates_and_audit_changes(tmp_path: Path) -> None:
    write(tmp_path, *(f"{number}: the staff were friendly." for number in range(30)), "Nothing to see here.")
    report = annotate(tmp_path, "--param", "adaptive=true", "--param", "audit=0.3").json
    adaptive = report["adaptive"]
    assert adaptive["short"] + adaptive["audited"] + adaptive["full"] == report["verdicts"] == 31
    assert adaptive["full"] >= 1
    assert adaptive["audited"] > 0
    assert adaptive["calls_saved"] == 2 * adaptive["short"]
    assert report["calls"] + adaptive["calls_saved"] == 93
    assert adaptive["audit_changed"] <= adaptive["audited"]
    low, high = adaptive["audit_interval"]
    assert 0 <= low <= high <= 1
    longer = annotate(tmp_path, "--param", "adaptive=true", "--param", "audit=0.3", "--param", "extra_rounds=1").json
    assert longer["adaptive"]["calls_saved"] == 4 * longer["adaptive"]["short"]
    full = annotate(tmp_path).json
    assert "adaptive" not in full
    assert full["cached_calls"] == report["calls"], "identical requests are answered from the cache"


def test_savings_are_less_by_the_calls_of_the_second_extractor(tmp_path: Path) -> None:
    write(tmp_path, *(f"{number}: the staff were kind." for number in range(20)))
    adaptive = ("--param", "adaptive=true", "--param", "second=true")
    with Scripted(reply_with(SURE)) as server:
        models = ("--connection", f"toy={server.url}", "--model", "toy/m", "--price", "toy/m=1000/1000")
        report = annotate(tmp_path, *models, *adaptive, "--param", "audit=0.3").json
        saved = report["adaptive"]
        assert 0 < saved["short"] < 20
        assert report["calls"] + saved["calls_saved"] == 60
        assert saved["cost_saved_usd"] == pytest.approx(0.018 * saved["calls_saved"])
        audited = annotate(tmp_path, *models, *adaptive, "--param", "audit=0.9").json["adaptive"]
    assert audited["calls_saved"] == 2 * audited["short"] - 20 < 0


def test_incompatible_options_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "Text.")
    result = annotate(tmp_path, "--param", "adaptive=yes", "--param", "scope=each", code=2)
    assert "scope=each" in result.stderr
    assert "ratings have none" in ECJ.check(ECJ.parse_params({"adaptive": True}), CODEBOOKS["rating"])
