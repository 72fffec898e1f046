"""Every protocol on every kind of label it does, with each of its replies failing or unreadable, and replayed: none may
raise, guess or drift."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from core import resources
from core.codebook import Codebook, Kind, Label
from core.debate.context import DebateContext, together
from core.debate.protocols import PROTOCOLS, find
from core.debate.spec import ProtocolSpec
from core.debate.turns import Reply, ReplyError, Step
from core.documents import Document
from core.errors import UsageError
from tests.core.debate.playing import CODEBOOKS, agreeing, case_of, play

SAMPLE = resources.folder("sample_data") / "protocols" / "second_reading.yaml"
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
    "custom": [
        {"script": resources.folder("sample_data").joinpath("protocols/second_reading.yaml").read_text("utf-8")}
    ],
    "courtroom": [{"trials": "all", "judges": 2}, {"bench": "parallel", "judges": 4, "shots": 0}],
}
"""Parameters besides the defaults and the presets under which a protocol is put through the conformance tests."""


def _short(given: dict[str, Any]) -> str:
    return "-".join(str(value)[:12].strip("# ") for value in given.values()) or "default"


CASES = [
    pytest.param(find(card.name, given), kind, given, id=f"{card.name}-{kind}-{_short(given)}")
    for card in PROTOCOLS.values()
    for given in ({}, *({"preset": name} for name in card.presets), *VARIANTS.get(card.name, []))
    for kind in find(card.name, given).kinds
    if not card.check(card.settled(given), CODEBOOKS[kind])
]
BOOM = Reply(error=ReplyError("server fault", "boom"))
each = pytest.mark.parametrize(("card", "kind", "given"), CASES)


@each
def test_with_readable_replies_it_makes_the_asks_it_declares(
    card: ProtocolSpec, kind: Kind, given: dict[str, Any]
) -> None:
    case = case_of(card, kind, **given)
    verdict, asked = play(card, case)
    assert verdict.status == "verdict"
    declared = card.asks(case.params, case.codebook)
    made = Counter(ask.role for ask in asked)
    for role, count in declared.items():
        assert count.least <= made[role] <= count.most, role
    assert not made.keys() - declared.keys()
    assert set(declared) == {role.name for role in card.roles(case.params)}


@each
def test_each_reply_failing_never_raises_and_is_never_a_label(
    card: ProtocolSpec, kind: Kind, given: dict[str, Any]
) -> None:
    case = case_of(card, kind, **given)
    _, asked = play(card, case)
    for position in range(len(asked)):
        verdict, _ = play(card, case, None, **{f"n{position}": BOOM})
        assert verdict.status in ("failed", "verdict")
        if verdict.status == "failed":
            assert set(verdict.values.values()) == {None}
            assert verdict.error == BOOM.error
    verdict, _ = play(card, case, lambda _ask, _number: BOOM)
    assert verdict.status == "failed"


@each
def test_each_reply_unreadable_is_asked_again_at_most_once(
    card: ProtocolSpec, kind: Kind, given: dict[str, Any]
) -> None:
    case = case_of(card, kind, **given)
    whole = play(card, case)[1]
    for position in range(len(whole)):
        mute = whole[position]

        def hand(ask, number, mute=mute):
            same = (ask.role, ask.round, ask.item) == (mute.role, mute.round, mute.item)
            return "Hard to say." if same and ask.form != "text" else agreeing(kind)(ask, number)

        verdict, asked = play(card, case, hand)
        assert max(ask.retry for ask in asked) <= 1
        for ask in (ask for ask in asked if ask.retry):
            assert ask.messages[-2].content == "Hard to say."
            assert "could not be read" in ask.messages[-1].content
        assert None not in verdict.values.values() or verdict.status == "unresolved"
        assert verdict.status != "failed"


@each
def test_a_replay_asks_the_very_same_and_ends_the_same(card: ProtocolSpec, kind: Kind, given: dict[str, Any]) -> None:
    for answers in ({}, {"n0": "Hard to say."}, {"n1": ""}, {"n0": BOOM}):
        first = play(card, case_of(card, kind, **given), agreeing(kind), **answers)
        second = play(card, case_of(card, kind, **given), agreeing(kind), **answers)
        assert first == second


@each
def test_the_unchanging_part_comes_first_and_others_are_never_the_assistant(
    card: ProtocolSpec, kind: Kind, given: dict[str, Any]
) -> None:
    case = case_of(card, kind, **given)
    other = DebateContext(Document("2", {"text": "Something else."}), case.settings)
    for one, two in zip(play(card, case)[1], play(card, other)[1], strict=False):
        assert [message.role for message in one.messages] == ["system", "user"]
        assert one.messages[0] == two.messages[0]
        assert one.messages[1] != two.messages[1]


@pytest.mark.parametrize("card", PROTOCOLS.values(), ids=lambda card: card.name)
def test_what_it_does_not_do_is_refused_with_a_reason(card: ProtocolSpec) -> None:
    assert card.kinds.keys() | card.refuses.keys() == CODEBOOKS.keys()
    assert all(card.refuses.values())


@pytest.mark.parametrize("card", PROTOCOLS.values(), ids=lambda card: card.name)
def test_a_card_s_parameters_read_what_is_typed_and_name_what_there_is(card: ProtocolSpec) -> None:
    settled = card.settled()
    assert card.settled({name: str(value) for name, value in settled.items()}) == settled
    with pytest.raises(UsageError, match="has no parameter 'colour'"):
        card.settled({"colour": "red"})
    for param in card.params:
        for value in ("no such thing", "-17", "1e9"):
            if isinstance(param.default, str) and not param.choices:
                continue
            with pytest.raises(UsageError, match=param.name):
                card.settled({param.name: value})
    if card.presets:
        with pytest.raises(UsageError, match="no preset 'x'"):
            card.settled({"preset": "x"})


def test_children_run_in_parallel_stage_by_stage() -> None:
    case = case_of(PROTOCOLS["ecj"])

    def child(rounds: int) -> Step[int]:
        for _ in range(rounds):
            yield from case.ask("extractor")
        return rounds

    step = together(child(2), child(0), child(1))
    assert len(next(step)) == 2
    assert len(step.send((Reply("x"), Reply("y")))) == 1
    with pytest.raises(StopIteration) as end:
        step.send((Reply("z"),))
    assert end.value.value == (2, 0, 1)


def test_an_ask_about_one_label_is_read_as_if_there_were_no_other() -> None:
    book = Codebook(labels=(Label(name="Service"), Label(name="Price")))
    case = case_of(PROTOCOLS["single"], codebook=book).about(book.items[1])
    ask = case.compose("annotator", form=case.form)
    assert ask.item == book.items[1]
    assert "#Price" in ask.messages[0].content
    assert "#Service" not in ask.messages[0].content
