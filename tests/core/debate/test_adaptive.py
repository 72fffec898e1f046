"""A debate is left out only where what was said first is sure and the text bears it out, and the loss is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.debate.context import DebateContext, interpret
from core.debate.protocols import PROTOCOLS
from core.debate.protocols.ecj import doubt
from core.debate.turns import Reply, ReplyError, Request
from core.documents import Document
from tests.core.cli.invoking import annotate, write
from tests.core.debate.playing import CODEBOOKS, DOCUMENT, SERVICE, case_of, play, says

ECJ = PROTOCOLS["ecj"]
SURE = '- #Service: "The staff were kind"\nFinal Decision: The present aspects are: Service'


def heard(text: str, kind: str = "multilabel") -> Reply:
    codebook = CODEBOOKS[kind]  # type: ignore[index]
    form = "choice" if kind == "choice" else "labels"
    return interpret(Request("extractor", (), form=form), Reply(text), codebook, DOCUMENT)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ([SURE], ""),
        ([SURE, "Final Decision: The present aspects are: Service"], ""),
        ([says("multilabel"), says("multilabel")], ""),
        ([says("multilabel")], "nobody else looked"),
        ([says("multilabel", "Service")], "no words"),
        ([SURE, says("multilabel", "Service", "Price")], "differ"),
        ([SURE.replace("kind", "rude and slow all day")], "not in the text"),
        ([f"{SURE}, Sauna"], "not in the codebook"),
        (["Hard to say."], "could not be read"),
        ([f"Undecided: Price\n{SURE}"], "left open"),
    ],
)
def test_what_counts_as_sure(texts: list[str], why: str) -> None:
    found = doubt([heard(text) for text in texts], CODEBOOKS["multilabel"])
    assert (why in found) if why else not found


def test_a_second_extractor_that_fails_or_a_choice_without_words_is_not_sure() -> None:
    assert doubt([heard(SURE), Reply(error=ReplyError("server fault", "boom"))], CODEBOOKS["multilabel"])
    assert not doubt([heard('Service: "staff were kind"\nThe label is Service', "choice")], CODEBOOKS["choice"])
    assert "no words" in doubt([heard("The label is Service", "choice")], CODEBOOKS["choice"])


def test_the_sure_are_decided_at_once_the_others_and_the_audited_debated() -> None:
    case = case_of(ECJ, adaptive=True, audit=0)
    verdict, asked = play(ECJ, case, lambda _ask, _number: SURE)
    assert ([ask.role for ask in asked], verdict.path, verdict.values[SERVICE]) == (["extractor"], "short", True)
    doubtful, asked = play(ECJ, case, lambda _ask, _number: says("multilabel", "Service"))
    assert (len(asked), doubtful.path) == (3, "full")
    audited, asked = play(ECJ, case_of(ECJ, adaptive=True, audit=1), lambda _ask, _number: SURE)
    assert (len(asked), audited.path) == (3, "audited")
    plain, _ = play(ECJ, case_of(ECJ), lambda _ask, _number: SURE)
    assert plain.path == ""


def test_two_extractors_speak_at_once_from_one_template() -> None:
    case = case_of(ECJ, adaptive=True, second=True, audit=0)
    verdict, asked = play(ECJ, case, lambda _ask, _number: says("multilabel"))
    assert [ask.role for ask in asked] == ["extractor", "extractor_b"]
    assert asked[0].messages == asked[1].messages
    assert (verdict.path, set(verdict.values.values())) == ("short", {False})


def test_the_audited_share_is_that_of_the_documents_and_the_same_whenever_it_is_drawn() -> None:
    case = case_of(ECJ, adaptive=True, audit=0.2)
    documents = [Document(str(number), DOCUMENT.fields) for number in range(1000)]

    def courses() -> list[str]:
        cases = [DebateContext(document, case.settings) for document in documents]
        return [play(ECJ, one, lambda _ask, _number: SURE)[0].path for one in cases]

    drawn = courses()
    assert drawn == courses()
    assert 160 <= drawn.count("audited") <= 240, "five deviations around 200"


def test_a_run_tells_what_it_left_out_and_what_its_audit_changed(tmp_path: Path) -> None:
    write(tmp_path, *(f"{number}: the staff were friendly." for number in range(30)), "Nothing to see here.")
    told = annotate(tmp_path, "--param", "adaptive=true", "--param", "audit=0.3").json
    left_out = told["adaptive"]
    assert left_out["short"] + left_out["audited"] + left_out["full"] == told["verdicts"] == 31
    assert left_out["full"] >= 1
    assert left_out["audited"] > 0
    assert left_out["calls_saved"] == 2 * left_out["short"]
    assert told["calls"] + left_out["calls_saved"] == 93
    assert left_out["audit_changed"] <= left_out["audited"]
    low, high = left_out["audit_interval"]
    assert 0 <= low <= high <= 1
    whole = annotate(tmp_path).json
    assert "adaptive" not in whole
    assert whole["cached_calls"] == told["calls"], "the same asks are the same replies"


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "Text.")
    told = annotate(tmp_path, "--param", "adaptive=yes", "--param", "scope=each", code=2)
    assert "scope=each" in told.stderr
    assert "ratings have none" in ECJ.check(ECJ.settled({"adaptive": True}), CODEBOOKS["rating"])
