"""Tests of protocols from a YAML file: syntax, line numbers in errors, execution."""

from __future__ import annotations

import re

import pytest

from core.debate.protocols import find
from core.debate.protocols.custom import parse_definition
from core.debate.turns import Reply, ReplyError
from core.errors import UsageError
from tests.core.debate.canned_debates import PRICE, SERVICE, context_of, decision_text, run_debate

PROMPT = '{prompt: "## system\\n{{ definitions }} {{ decision }}\\n## user\\n{{ document }} {{ replies }}"}'
TALK = f"""name: Talk
roles:
  one: {PROMPT}
  two: {PROMPT}
  last: {PROMPT}
order:
  - repeat: [[one, two]]
    times: 3
    until: agreed
  - last
inputs:
  last: [two]
decides: last
"""
BOOM = Reply(error=ReplyError("server fault", "boom"))


def run_script(script: str, *answers: Reply | str):
    spec = find("custom", {"script": script})
    context = context_of(spec, "choice", script=script)
    return run_debate(spec, context, lambda _ask, number: answers[min(number, len(answers) - 1)])


S, P = decision_text("choice", "Service"), decision_text("choice", "Price")


def test_roles_run_in_the_described_order() -> None:
    verdict, requests = run_script(TALK, S, P, S, S, P)
    assert [request.role for request in requests] == ["one", "two", "one", "two", "last"]
    assert verdict.values == {"label": PRICE}
    assert requests[0].replies_to == ()
    assert requests[2].replies_to == ("one", "two")
    assert requests[4].replies_to == ("two",)
    assert requests[4].messages[1].content.count("<analysis") == 2
    assert len(run_script(TALK, S)[1]) == 3  # the first round already agrees
    assert len(run_script(TALK, S, P, S, P, S, P, S)[1]) == 7


def test_several_deciding_roles_vote() -> None:
    script = TALK.replace("decides: last", "decides: {vote: [one, two, last]}")
    assert run_script(script, S, P, S, P, S, P, S)[0].values == {"label": SERVICE}
    assert run_script(script, S, P, S, P, S, P, BOOM)[0].status == "unresolved"  # the two remaining votes tie
    assert run_script(script, BOOM)[0].status == "failed"


def test_failed_request_fails_the_debate_only_in_a_deciding_role() -> None:
    assert run_script(TALK, BOOM, S, BOOM, S, BOOM, S, S)[0].values == {"label": SERVICE}
    assert run_script(TALK, S, S, BOOM)[0].status == "failed"
    assert run_script(TALK, S, S, "Hm.")[0].status == "unresolved"
    repeated = TALK.replace("decides: last", "decides: one")
    assert run_script(repeated, S, P, BOOM, P, S)[0].values == {"label": SERVICE}
    assert run_script(repeated, S, P, S, P, BOOM, P, S)[0].status == "failed"


def test_last_reply_of_the_deciding_role_counts_even_if_unreadable() -> None:
    repeated = TALK.replace("decides: last", "decides: one")
    taken_back = "I was mistaken: this cannot be about Service."
    assert run_script(repeated, S, P, S, P, taken_back, P, taken_back, S)[0].status == "unresolved"


def test_headings_of_rounds_only_go_forwards() -> None:
    late = TALK.replace("  - last\n", "  - last\n  - two\n").replace("  last: [two]", "  last: []")
    _, requests = run_script(late, S, P, S, P, S, P, S)
    assert re.findall(r"Round \d", requests[-1].messages[1].content) == ["Round 1", "Round 2", "Round 3"]


def test_spec_has_counts_title_and_kinds() -> None:
    spec = find("custom", {"script": TALK + "kinds: [choice]\nabout: They talk.\n"})
    params = spec.parse_params({"script": TALK})
    assert spec.title == "Talk"
    assert spec.summary == "They talk."
    assert str(spec.total_requests(params, context_of(spec, "choice", script=TALK).codebook)) == "3 to 7"
    assert set(spec.unsupported) == {"multilabel", "rating"}
    undescribed = find("custom")
    assert "--protocol FILE.yaml" in undescribed.check({"script": ""}, context_of(spec, "choice", script=TALK).codebook)
    assert undescribed.describe_vote(undescribed.parse_params(), "choice") == ""


@pytest.mark.parametrize(
    ("change", "line", "message"),
    [
        (("decides: last", "decides: nobody"), 13, "role 'nobody' does not exist"),
        (("  - last\n", "  - lost\n"), 10, "role 'lost' does not exist"),
        (("times: 3", "times: 99"), 8, "less than or equal to 10"),
        (("until: agreed", "until: bored"), 9, "agreed"),
        (("name: Talk", "name: Talk\ncolour: red"), 2, "'colour' is not a known key"),
        (("  two: ", "  decision: "), 4, "'decision' cannot be a role"),
        (("  two: ", "  judge_2: "), 4, "'judge_2' cannot be a role"),
        (("  two: ", "  judge_b: "), 4, "does not end in an underscore and a single letter"),
        (("  two: ", f"  {'two' * 11}: "), 4, "at most 31 small letters"),
        (("  two: ", "  gold: "), 4, "'gold' cannot be a role"),  # a reference
        (("  last: {prompt", "  last: {speech"), 5, "'speech' is not a known key"),
        (("## user", "## usr"), 3, "'## user' part is missing"),
        (("  - last\n", ""), 5, "'last' is never asked"),
        (("order:", "order: ["), 7, "not YAML"),
        (("decides: last", "kinds: [essay]\ndecides: last"), 13, "'multilabel', 'choice' or 'rating'"),
        (("decides: last", "decides: {vote: [one]}"), 13, "at least two"),
        (("decides: last", "decides: {vote: [one, one, two]}"), 13, "each once"),
    ],
)
def test_error_names_line(change: tuple[str, str], line: int, message: str) -> None:
    wrong = TALK.replace(*change)
    assert wrong != TALK
    with pytest.raises(UsageError, match=message) as error:
        parse_definition(wrong, "mine.yaml")
    assert f"mine.yaml, line {line}" in str(error.value)


@pytest.mark.parametrize("text", ["", "just words", "[]", "name: x", "roles: {}", "roles: 3", "x: &a [*a]"])
def test_any_other_text_raises_usage_error(text: str) -> None:
    with pytest.raises(UsageError):
        parse_definition(text)


def test_error_names_unknown_variable() -> None:
    with pytest.raises(UsageError, match="variable 'wisdom' does not exist"):
        parse_definition(TALK.replace("{{ replies }}", "{{ wisdom }}", 1))
