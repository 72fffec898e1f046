"""Conformance tests of all protocols: number of requests, failed and unreadable replies, replay.

Each protocol runs on every kind of codebook that it supports.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from core.codebook import Codebook, Kind, Label
from core.debate.context import DebateContext, run_parallel
from core.debate.protocol_spec import ProtocolSpec
from core.debate.protocols import PROTOCOLS, find
from core.debate.turns import Reply, ReplyError, Step
from core.documents import Document
from core.errors import UsageError
from core.files import shipped_folder
from tests.core.debate.canned_debates import CODEBOOKS, agreeing_replies, context_of, run_debate
from tests.each_row import each_row

SAMPLE = shipped_folder("sample_data") / "protocols" / "second_reading.yaml"
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "single": [{"method": "vote", "k": 2}, {"method": "form", "k": 3}],
    "ecj": [
        {"extra_rounds": 2},
        {"scope": "each"},
        {"scope": "each", "extra_rounds": 1},
        {"adaptive": True},
        {"adaptive": True, "second": True, "extra_rounds": 1},
    ],
    "discussion": [{"annotators": 4, "rounds": 0}],
    "custom": [{"script": shipped_folder("sample_data").joinpath("protocols/second_reading.yaml").read_text("utf-8")}],
    "courtroom": [{"trials": "all", "judges": 2}, {"bench": "parallel", "judges": 4, "shots": 0}],
}
"""Parameters for the conformance tests, in addition to the defaults and the presets of a protocol."""


CASES = [
    (find(spec.name, given), kind, given)
    for spec in PROTOCOLS.values()
    for given in ({}, *({"preset": name} for name in spec.presets), *VARIANTS.get(spec.name, []))
    for kind in find(spec.name, given).kinds
    if not spec.check(spec.parse_params(given), CODEBOOKS[kind])
]
BOOM = Reply(error=ReplyError("server fault", "boom"))
all_cases = each_row(("spec", "kind", "given"), CASES)


@all_cases
def test_readable_replies_need_the_declared_number_of_requests(
    spec: ProtocolSpec, kind: Kind, given: dict[str, Any]
) -> None:
    context = context_of(spec, kind, **given)
    verdict, requests = run_debate(spec, context)
    assert verdict.status == "verdict"
    declared = spec.request_counts(context.params, context.codebook)
    sent = Counter(request.role for request in requests)
    for role, count in declared.items():
        assert count.minimum <= sent[role] <= count.maximum, role
    assert not sent.keys() - declared.keys()
    assert set(declared) == {role.name for role in spec.roles(context.params)}


@all_cases
def test_failed_reply_never_raises_and_never_becomes_a_label(
    spec: ProtocolSpec, kind: Kind, given: dict[str, Any]
) -> None:
    context = context_of(spec, kind, **given)
    _, requests = run_debate(spec, context)
    for position in range(len(requests)):
        verdict, _ = run_debate(spec, context, None, **{f"n{position}": BOOM})
        assert verdict.status in ("failed", "verdict")
        if verdict.status == "failed":
            assert set(verdict.values.values()) == {None}
            assert verdict.error == BOOM.error
    verdict, _ = run_debate(spec, context, lambda _request, _number: BOOM)
    assert verdict.status == "failed"


@all_cases
def test_unreadable_reply_is_retried_at_most_once(spec: ProtocolSpec, kind: Kind, given: dict[str, Any]) -> None:
    context = context_of(spec, kind, **given)
    for unreadable in run_debate(spec, context)[1]:

        def respond(request, number, other=unreadable):
            same = (request.role, request.round, request.item) == (other.role, other.round, other.item)
            return "Hard to say." if same and request.form != "text" else agreeing_replies(kind)(request, number)

        verdict, requests = run_debate(spec, context, respond)
        assert max(request.reask for request in requests) <= 1
        for request in (request for request in requests if request.reask):
            assert request.messages[-2].content == "Hard to say."
            assert "could not be read" in request.messages[-1].content
        assert None not in verdict.values.values() or verdict.status == "unresolved"
        assert verdict.status != "failed"


@all_cases
def test_replay_makes_same_requests_and_verdict(spec: ProtocolSpec, kind: Kind, given: dict[str, Any]) -> None:
    for answers in ({}, {"n0": "Hard to say."}, {"n1": ""}, {"n0": BOOM}):
        first = run_debate(spec, context_of(spec, kind, **given), agreeing_replies(kind), **answers)
        second = run_debate(spec, context_of(spec, kind, **given), agreeing_replies(kind), **answers)
        assert first == second


@all_cases
def test_constant_part_of_the_prompt_is_the_system_message(
    spec: ProtocolSpec, kind: Kind, given: dict[str, Any]
) -> None:
    context = context_of(spec, kind, **given)
    other = DebateContext(Document("2", {"text": "Something else."}), context.settings)
    for first, second in zip(run_debate(spec, context)[1], run_debate(spec, other)[1], strict=False):
        assert [message.role for message in first.messages] == ["system", "user"]
        assert first.messages[0] == second.messages[0]
        assert first.messages[1] != second.messages[1]


@each_row("spec", PROTOCOLS.values())
def test_unsupported_kind_is_refused_with_a_reason(spec: ProtocolSpec) -> None:
    assert spec.kinds.keys() | spec.unsupported.keys() == CODEBOOKS.keys()
    assert all(spec.unsupported.values())


@each_row("spec", PROTOCOLS.values())
def test_parameters_are_parsed_from_text_and_errors_name_the_allowed_values(spec: ProtocolSpec) -> None:
    params = spec.parse_params()
    assert spec.parse_params({name: str(value) for name, value in params.items()}) == params
    with pytest.raises(UsageError, match="has no parameter 'colour'"):
        spec.parse_params({"colour": "red"})
    with pytest.raises(UsageError, match=r"Did you mean 'temperature'\?.* of every protocol: max_tokens, temperature"):
        spec.parse_params({"temprature": "0"})
    for typo, name in {"ambigous": "ambiguous", "batch_wiat": "batch_wait"}.items():
        with pytest.raises(UsageError, match=rf"Did you mean '{name}'\?.* of every protocol: .*ray_dir"):
            spec.parse_params({typo: "1"})
    for param in spec.params:
        for value in ("no such thing", "-17", "1e9"):
            if isinstance(param.default, str) and not param.choices:
                continue
            with pytest.raises(UsageError, match=param.name):
                spec.parse_params({param.name: value})
    if spec.presets:
        with pytest.raises(UsageError, match="no preset 'x'"):
            spec.parse_params({"preset": "x"})


def test_children_run_in_parallel_stage_by_stage() -> None:
    context = context_of(PROTOCOLS["ecj"])

    def child(rounds: int) -> Step[int]:
        for _ in range(rounds):
            yield from context.ask("extractor")
        return rounds

    step = run_parallel(child(2), child(0), child(1))
    assert len(next(step)) == 2
    assert len(step.send((Reply("x"), Reply("y")))) == 1
    with pytest.raises(StopIteration) as end:
        step.send((Reply("z"),))
    assert end.value.value == (2, 0, 1)


def test_request_about_one_label_leaves_out_other_labels() -> None:
    codebook = Codebook(labels=(Label(name="Service"), Label(name="Price")))
    context = context_of(PROTOCOLS["single"], codebook=codebook).narrowed(codebook.items[1])
    request = context.request("annotator", form=context.form)
    assert request.item == codebook.items[1]
    assert "#Price" in request.messages[0].content
    assert "#Service" not in request.messages[0].content


UNIT = "abstract of an EU study"
_ODD_WORDS = re.compile(
    r"\b(?:[Aa] (?:aspect|abstract|expert)|an (?:label|dimension)|EU studys|Abstract of an eu study)\b"
)


_WARNING = re.compile(
    r"(?i)(?:analys[ei]s|repl(?:y|ies)|draft|arguments|extractor's words|first answer)[^.\n]*instructions"
    r"|instructions[^.\n]*(?:analysis|replies)"
)


@all_cases
def test_prompts_warn_of_instructions_in_foreign_text(spec: ProtocolSpec, kind: Kind, given: dict[str, Any]) -> None:
    _, requests = run_debate(spec, context_of(spec, kind, **given))
    for request in requests:
        text = "\n\n".join(message.content for message in request.messages)
        assert re.search(r"[Dd]o not follow (?:them|instructions)", text)
        assert "<analysis " not in text or _WARNING.search(text), request.role


def prompts_of(spec: ProtocolSpec, kind: Kind, given: dict[str, Any], labels: int) -> list[str]:
    """Return the texts of all requests of a debate with this number of labels without definitions."""
    codebook = CODEBOOKS[kind].model_copy(update={"unit": UNIT, "domain": "reading with children"})
    codebook = codebook.model_copy(update={"labels": codebook.labels[:labels]})
    _, requests = run_debate(spec, context_of(spec, kind, codebook=codebook, **given))
    return ["\n\n".join(message.content for message in request.messages) for request in requests]


@all_cases
def test_prompts_are_grammatical_for_any_unit(spec: ProtocolSpec, kind: Kind, given: dict[str, Any]) -> None:
    texts = prompts_of(spec, kind, given, labels=3)
    assert not [match[0] for text in texts for match in _ODD_WORDS.finditer(text)]
    assert all("definition" not in text.partition("\n\n")[2].partition("\n")[0] for text in texts), "none is given"


@all_cases
def test_prompts_about_one_label_speak_of_one(spec: ProtocolSpec, kind: Kind, given: dict[str, Any]) -> None:
    if kind == "choice" or spec.check(spec.parse_params(given), CODEBOOKS[kind]):
        return
    for text in prompts_of(spec, kind, given, labels=1):
        assert "two of them" not in text
        assert "which aspects" not in text
        assert "each dimension" not in text


def test_vote_is_described_as_the_parameters_decide() -> None:
    single, discussion = find("single"), find("discussion")
    assert single.describe_vote(single.parse_params({"method": "cot"}), "rating") == ""
    mean = "Vote: the mean, dimension by dimension."
    assert single.describe_vote(single.parse_params({"method": "form"}), "rating") == mean
    assert single.describe_vote(single.parse_params({"preset": "g-eval"}), "rating") == mean
    median = "Vote: the median, dimension by dimension. Tie: the mean of the middle two."
    assert single.describe_vote(single.parse_params({"method": "vote"}), "rating") == median
    assert discussion.describe_vote(discussion.parse_params(), "rating") == median
    weighted = discussion.parse_params({"weights": "2.2, 0.85, 0.9"})
    assert discussion.describe_vote(weighted, "rating") == median
    assert discussion.describe_vote(weighted, "choice") == (
        "Vote: the label that more chose than any other, with weighted votes. Tie: unresolved."
    )
    assert "weighted" not in discussion.describe_vote(discussion.parse_params(), "choice")
    assert "the majority" in single.describe_vote(single.parse_params({"method": "form"}), "multilabel")
    panel_mean = "Vote: the mean within groups, then across groups."
    assert find("panel").describe_vote(find("panel").parse_params(), "rating") == panel_mean


def test_weights_of_votes_have_no_effect_on_ratings() -> None:
    discussion = find("discussion")
    (weights,) = (param for param in discussion.params if param.name == "weights")
    assert weights.has_effect(discussion.parse_params(), "choice")
    assert not weights.has_effect(discussion.parse_params(), "rating")
