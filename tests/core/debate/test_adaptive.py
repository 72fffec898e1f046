"""A debate is left out only where what was said first is sure and the text bears it out, and the loss is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.debate.context import DebateContext, parse_reply
from core.debate.protocols import PROTOCOLS
from core.debate.protocols.ecj import doubt
from core.debate.turns import Reply, ReplyError, Request
from core.documents import Document
from tests.core.cli.invoking import annotate, write
from tests.core.debate.playing import CODEBOOKS, DOCUMENT, SERVICE, context_of, play, says

ECJ = PROTOCOLS["ecj"]
SURE = '- #Service: "The staff were kind"\nFinal Decision: The present aspects are: Service'


def reply_of(text: str, kind: str = "multilabel") -> Reply:
    codebook = CODEBOOKS[kind]  # type: ignore[index]
    form = "choice" if kind == "choice" else "labels"
    return parse_reply(Request("extractor", (), form=form), Reply(text), codebook, DOCUMENT)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ([SURE], ""),
        ([SURE, "Final Decision: The present aspects are: Service"], ""),
        ([says("multilabel"), says("multilabel")], ""),
        ([says("multilabel")], "no second extractor"),
        ([says("multilabel", "Service")], "has no quote"),
        ([SURE, says("multilabel", "Service", "Price")], "differ"),
        ([SURE.replace("kind", "rude and slow all day")], "not in the text"),
        ([f"{SURE}, Sauna"], "could not be read"),
        (["Hard to say."], "could not be read"),
        ([f"Undecided: Price\n{SURE}"], "left open"),
    ],
)
def test_doubt_of_an_extraction_and_its_reason(texts: list[str], why: str) -> None:
    found = doubt([reply_of(text) for text in texts], CODEBOOKS["multilabel"])
    assert (why in found) if why else not found


def test_failed_second_extractor_or_unquoted_choice_is_in_doubt() -> None:
    assert doubt([reply_of(SURE), Reply(error=ReplyError("server fault", "boom"))], CODEBOOKS["multilabel"])
    assert not doubt([reply_of('Service: "staff were kind"\nThe label is Service', "choice")], CODEBOOKS["choice"])
    assert "has no quote" in doubt([reply_of("The label is Service", "choice")], CODEBOOKS["choice"])


def test_certain_documents_skip_the_debate_unless_audited() -> None:
    context = context_of(ECJ, adaptive=True, audit=0)
    verdict, requests = play(ECJ, context, lambda _ask, _number: SURE)
    assert ([request.role for request in requests], verdict.path, verdict.values[SERVICE]) == (
        ["extractor"],
        "short",
        True,
    )
    doubtful, requests = play(ECJ, context, lambda _ask, _number: says("multilabel", "Service"))
    assert (len(requests), doubtful.path) == (3, "full")
    audited, requests = play(ECJ, context_of(ECJ, adaptive=True, audit=1), lambda _ask, _number: SURE)
    assert (len(requests), audited.path) == (3, "audited")
    plain, _ = play(ECJ, context_of(ECJ), lambda _ask, _number: SURE)
    assert plain.path == ""


def test_two_extractors_get_the_same_messages() -> None:
    context = context_of(ECJ, adaptive=True, second=True, audit=0)
    verdict, requests = play(ECJ, context, lambda _ask, _number: says("multilabel"))
    assert [request.role for request in requests] == ["extractor", "extractor_b"]
    assert requests[0].messages == requests[1].messages
    assert (verdict.path, set(verdict.values.values())) == ("short", {False})


def test_audited_share_of_documents_is_reproducible() -> None:
    context = context_of(ECJ, adaptive=True, audit=0.2)
    documents = [Document(str(number), DOCUMENT.fields) for number in range(1000)]

    def courses() -> list[str]:
        contexts = [DebateContext(document, context.settings) for document in documents]
        return [play(ECJ, one, lambda _ask, _number: SURE)[0].path for one in contexts]

    drawn = courses()
    assert drawn == courses()
    assert 160 <= drawn.count("audited") <= 240, "five deviations around 200"


def test_run_reports_skipped_debates_and_audit_changes(tmp_path: Path) -> None:
    write(tmp_path, *(f"{number}: the staff were friendly." for number in range(30)), "Nothing to see here.")
    told = annotate(tmp_path, "--param", "adaptive=true", "--param", "audit=0.3").json
    excluded_label = told["adaptive"]
    assert excluded_label["short"] + excluded_label["audited"] + excluded_label["full"] == told["verdicts"] == 31
    assert excluded_label["full"] >= 1
    assert excluded_label["audited"] > 0
    assert excluded_label["calls_saved"] == 2 * excluded_label["short"]
    assert told["calls"] + excluded_label["calls_saved"] == 93
    assert excluded_label["audit_changed"] <= excluded_label["audited"]
    low, high = excluded_label["audit_interval"]
    assert 0 <= low <= high <= 1
    whole = annotate(tmp_path).json
    assert "adaptive" not in whole
    assert whole["cached_calls"] == told["calls"], "the same asks are the same replies"


def test_incompatible_options_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "Text.")
    told = annotate(tmp_path, "--param", "adaptive=yes", "--param", "scope=each", code=2)
    assert "scope=each" in told.stderr
    assert "ratings have none" in ECJ.check(ECJ.parse_params({"adaptive": True}), CODEBOOKS["rating"])
