"""Tests of the courtroom protocol: first and second answers, judges, precedents, long arguments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.codebook import Codebook
from core.debate.protocols import PROTOCOLS
from core.debate.protocols.courtroom import cut, fits, sentences
from core.debate.turns import Reply, ReplyError, Request
from core.documents import Precedent
from core.errors import UsageError
from tests.core.debate.canned_debates import (
    LABELS,
    PRICE,
    ROOM,
    SERVICE,
    Responder,
    context_of,
    decision_text,
    run_debate,
)
from tests.each_row import each_row

SPEC = PROTOCOLS["courtroom"]
BOOM = Reply(error=ReplyError("server fault", "boom"))
BINARY = Codebook(kind="choice", unit="review", labels=LABELS[:2])
SHOWN = {
    ("label", SERVICE): (Precedent("8", "Kind porters.", {"label": SERVICE}),),
    ("label", PRICE): (Precedent("9", "A fair bill.", {"label": PRICE}),),
}


def court_replies(
    rulings: str = "SSS", first: str = "Service", second: str = "Price", argument: str = "So it is."
) -> Responder:
    """Reply for all roles of a trial.

    The magistrate answers ``first`` and then ``second``. Judge i answers the label with the i-th letter of ``rulings``
    (S, P or R); ``-`` is an unreadable reply and ``!`` a failed request.
    """
    names = {"S": "Service", "P": "Price", "R": "Room"}

    def respond(request: Request, _number: int) -> Reply | str:
        match request.role.split("_")[0]:
            case "magistrate":
                return decision_text("choice", second if request.round else first)
            case "judge":
                letter = rulings[int(request.role[-1]) - 1]
                return BOOM if letter == "!" else "Hm." if letter == "-" else decision_text("choice", names[letter])
            case "clerk":
                return "Because it says so."
        return argument

    return respond


def roles(requests: list[Request]) -> list[str]:
    return [request.role for request in requests if not request.reask]


def test_trial_has_its_stages_in_order() -> None:
    verdict, requests = run_debate(SPEC, context_of(SPEC, "choice", precedents=SHOWN), court_replies())
    assert roles(requests) == [
        "magistrate",
        "magistrate",
        "prosecutor",
        "defender",
        "clerk",
        "clerk",
        "judge_1",
        "judge_2",
        "judge_3",
    ]
    assert verdict.values == {"label": SERVICE}
    prosecutor, defender = requests[2:4]
    assert "You argue that the label is Service." in prosecutor.messages[1].content
    assert "You argue that the label is Price." in defender.messages[1].content
    assert prosecutor.replies_to == defender.replies_to == ()
    # The position of a counsel is assigned, so their replies do not count as opinions.
    assert [request.is_auxiliary for request in requests] == [False, True, True, True, True, True, False, False, False]
    prompt = requests[6].messages[1].content
    for words in ("Kind porters.", "A fair bill.", "Because it says so."):
        assert words in prompt


def test_judges_of_the_paper_see_the_arguments_without_their_labels() -> None:
    def judge(**params: str) -> str:
        _, requests = run_debate(SPEC, context_of(SPEC, "choice", **params), court_replies("SSSSS"))
        return next(request for request in requests if request.role == "judge_1").messages[1].content

    assert "The defence:\n<analysis " in judge(preset="paper")
    assert "the label is Price" not in judge(preset="paper")
    assert "The defence argues that the label is Price:" in judge()


def test_second_answer_of_a_binary_choice_is_the_other_label() -> None:
    _, requests = run_debate(SPEC, context_of(SPEC, codebook=BINARY, judges=1), court_replies("S"))
    assert roles(requests) == ["magistrate", "prosecutor", "defender", "judge_1"]
    assert "the label is Price" in requests[2].messages[1].content
    assert "third label" not in requests[3].messages[0].content


def test_second_answer_is_requested_without_the_first_label() -> None:
    _, requests = run_debate(SPEC, context_of(SPEC, "choice"), court_replies())
    assert requests[1].excluded_label == SERVICE
    assert requests[1].is_auxiliary
    assert [request.answer_only for request in requests[:3]] == [True, True, False]
    assert "- Service" not in requests[1].messages[0].content
    assert "second-best answer" in requests[1].messages[0].content
    assert "who disagrees" in requests[1].messages[1].content
    assert "third label" in requests[-1].messages[0].content
    verdict, requests = run_debate(SPEC, context_of(SPEC, "choice"), court_replies(second="Service"))
    assert verdict.notes[0] == "the hearing gave no second answer: 'Price' was defended"
    assert verdict.values == {"label": SERVICE}


@each_row(
    ("rulings", "label", "status"),
    [
        ("SSP", SERVICE, "verdict"),
        ("SPPRR", None, "unresolved"),
        ("SP", None, "unresolved"),
        ("SSPP", None, "unresolved"),
        ("SS-", SERVICE, "verdict"),
        ("S--", None, "unresolved"),
        ("SS!", SERVICE, "verdict"),
        ("S!!", None, "failed"),
        ("RRS", ROOM, "verdict"),  # a judge may name any label
    ],
)
def test_majority_of_parallel_judges_decides(rulings: str, label: str | None, status: str) -> None:
    context = context_of(SPEC, "choice", bench="parallel", judges=len(rulings))
    verdict, requests = run_debate(SPEC, context, court_replies(rulings))
    assert (verdict.values["label"], verdict.status) == (label, status)
    judges = [request for request in requests if request.role.startswith("judge") and not request.reask]
    assert len({request.messages for request in judges}) == 1


@each_row(
    ("rulings", "label", "status", "readable"),
    [
        ("SSP", PRICE, "verdict", 2),
        ("S-P", PRICE, "verdict", 1),
        ("S!P", PRICE, "verdict", 1),
        ("SS-", None, "unresolved", 2),
        ("SS!", None, "failed", 2),
    ],
)
def test_last_judge_in_sequence_decides(rulings: str, label: str | None, status: str, readable: int) -> None:
    verdict, requests = run_debate(SPEC, context_of(SPEC, "choice", judges=3), court_replies(rulings))
    assert (verdict.values["label"], verdict.status) == (label, status)
    last = next(request for request in requests if request.role == "judge_3")
    assert len(last.replies_to) == 2 + readable


def test_single_judge_gets_the_same_messages_in_both_modes() -> None:
    both = [
        run_debate(SPEC, context_of(SPEC, "choice", precedents=SHOWN, judges=1, bench=bench), court_replies("P"))
        for bench in ("sequence", "parallel")
    ]
    assert [request.messages for request in both[0][1]] == [request.messages for request in both[1][1]]
    assert both[0][0] == both[1][0]


def test_clerk_is_skipped_without_precedents() -> None:
    verdict, requests = run_debate(SPEC, context_of(SPEC, "choice", shots=3), court_replies())
    assert "clerk" not in roles(requests)
    assert "Precedents:" not in requests[-1].messages[1].content
    assert verdict.status == "verdict"


def test_precedents_can_cover_every_label() -> None:
    shown = {**SHOWN, ("label", ROOM): (Precedent("7", "A wide bed.", {"label": ROOM}),)}
    for precedents, expected in (("answers", {"8", "9"}), ("labels", {"7", "8", "9"})):
        context = context_of(SPEC, "choice", shown, precedents_for=precedents)
        _, requests = run_debate(SPEC, context, court_replies())
        assert {request.document.id for request in requests if request.document is not None} == expected


def test_reason_of_a_precedent_does_not_depend_on_the_document() -> None:
    context = context_of(SPEC, "choice", precedents=SHOWN)
    _, requests = run_debate(SPEC, context, court_replies())
    clerk = next(request for request in requests if request.role == "clerk")
    assert clerk.document is not None
    assert clerk.document.id == "8"
    assert context.document.text not in clerk.messages[1].content
    verdict, requests = run_debate(SPEC, context, court_replies(), n4=BOOM)
    assert verdict.status == "verdict"
    assert requests[-1].messages[1].content.count("Why:") == 1


def test_document_is_not_its_own_precedent() -> None:
    precedents = {("label", SERVICE): (Precedent("1", "The staff.", {"label": SERVICE}),)}
    assert "clerk" not in roles(run_debate(SPEC, context_of(SPEC, "choice", precedents=precedents), court_replies())[1])


def test_long_argument_is_requested_again_and_then_cut() -> None:
    long = "It is so. It really is. And more."
    verdict, requests = run_debate(SPEC, context_of(SPEC, "choice"), court_replies(argument=long))
    again = [request for request in requests if request.reask]
    assert [request.role for request in again] == ["prosecutor", "defender"]
    assert "3 sentences and 8 words. The limit is one sentence of at most 60 words." in again[0].messages[-1].content
    prompt = requests[-1].messages[1].content
    assert "It is so." in prompt
    assert "It really is." not in prompt
    assert verdict.status == "verdict"
    _, requests = run_debate(SPEC, context_of(SPEC, "choice", sentences=3), court_replies(argument=long))
    assert not [request for request in requests if request.reask]
    assert "Your limit is at most 3 sentences and 180 words." in requests[2].messages[0].content
    words = "It is so " * 21
    _, requests = run_debate(SPEC, context_of(SPEC, "choice"), court_replies(argument=words))
    assert "it has 1 sentence and 63 words" in next(one for one in requests if one.reask).messages[-1].content


def test_long_argument_is_cut_if_the_shorter_one_has_no_text() -> None:
    replies = court_replies(argument="It is so. It really is.")

    def respond(request: Request, number: int) -> Reply | str:
        return "<think>Too long?</think>" if request.reask else replies(request, number)

    _, requests = run_debate(SPEC, context_of(SPEC, "choice"), respond)
    assert requests[-1].messages[1].content.count("\nIt is so.\n") == 2


@each_row("role", [0, 1, 2, 3])
def test_failed_magistrate_or_counsel_fails_the_debate(role: int) -> None:
    assert run_debate(SPEC, context_of(SPEC, "choice"), court_replies(), **{f"n{role}": BOOM})[0].status == "failed"


def test_unreadable_first_answer_is_unresolved() -> None:
    verdict, requests = run_debate(SPEC, context_of(SPEC, "choice"), lambda _request, _number: "Hm.")
    assert verdict.status == "unresolved"
    assert len(requests) == 2


def label_replies(first: tuple[str, ...], second: tuple[str, ...], present: bool) -> Responder:
    def respond(request: Request, _number: int) -> str:
        if request.role == "magistrate":
            return decision_text("multilabel", *(second if request.round else first))
        if not request.role.startswith("judge"):
            return "So it is."
        name = next(label.name for label in LABELS if label.name in request.messages[0].content)
        return decision_text("multilabel", *[name] * present)

    return respond


def test_each_contested_label_has_a_trial() -> None:
    context = context_of(SPEC, judges=2)
    verdict, requests = run_debate(
        SPEC, context, label_replies(("Service", "Price"), ("Service", "Room"), present=True)
    )
    assert verdict.values == {SERVICE: True, PRICE: True, ROOM: True}
    assert verdict.notes[0] == "tried: 'Price', 'Room'"
    assert len(requests) == 2 + 2 * (2 + 2)
    assert {request.item for request in requests} == {"", PRICE, ROOM}
    arguing = {
        (request.role, request.item): request.messages[1].content
        for request in requests
        if request.role == "prosecutor"
    }
    assert "the aspect #Price is present" in arguing["prosecutor", PRICE]
    assert "the aspect #Room is not present" in arguing["prosecutor", ROOM]
    verdict, _ = run_debate(SPEC, context, label_replies(("Service", "Price"), ("Service", "Room"), present=False))
    assert verdict.values == {SERVICE: True, PRICE: False, ROOM: False}


def test_agreement_skips_the_trial() -> None:
    verdict, requests = run_debate(SPEC, context_of(SPEC), label_replies(("Service",), ("Service",), present=False))
    assert verdict.values == {SERVICE: True, PRICE: False, ROOM: False}
    assert verdict.notes == ("tried: nothing, as the hearing left no doubt",)
    assert len(requests) == 2
    assert "disagrees" not in "".join(message.content for message in requests[1].messages)
    assert "repeat the first if nothing is doubtful" in requests[1].messages[1].content


def test_unreadable_second_list_is_reported() -> None:
    replies = label_replies(("Service",), ("Service",), present=False)
    verdict, _ = run_debate(SPEC, context_of(SPEC), replies, n1="Hm.", n2="Hm.")
    assert verdict.notes == ("tried: nothing, as the hearing gave no second answer",)


@given(judges=st.integers(1, 5), every=st.booleans(), second=st.sets(st.sampled_from(["Service", "Price", "Room"])))
def test_number_of_requests_for_multiple_labels(judges: int, every: bool, second: set[str]) -> None:
    context = context_of(SPEC, judges=judges, trials="all" if every else "disputed")
    _, requests = run_debate(SPEC, context, label_replies(("Service",), tuple(second), present=True))
    contested = 3 if every else len(second ^ {"Service"})
    assert len(requests) == (1 if every else 2) + contested * (2 + judges)


@given(
    judges=st.integers(1, 5),
    shots=st.integers(0, 3),
    available=st.integers(0, 4),
    binary=st.booleans(),
    bench=st.sampled_from(["sequence", "parallel"]),
)
def test_number_of_requests_for_a_choice(judges: int, shots: int, available: int, binary: bool, bench: str) -> None:
    shown = {
        ("label", label): tuple(Precedent(f"{label}{n}", f"Text {n}", {"label": label}) for n in range(available))
        for label in (SERVICE, PRICE)
    }
    context = context_of(SPEC, "choice", shown, BINARY if binary else None, judges=judges, shots=shots, bench=bench)
    _, requests = run_debate(SPEC, context, court_replies("S" * judges))
    assert len(requests) == (1 if binary else 2) + 2 + 2 * min(shots, available) + judges  # h + 2 + q + J


def test_ratings_are_not_supported() -> None:
    assert "rating" in SPEC.unsupported
    with pytest.raises(UsageError, match="judges cannot be 6"):
        SPEC.parse_params({"judges": "6"})


@each_row(
    ("text", "count"),
    [
        ("", 0),
        ("One.", 1),
        ("Is it? It is!", 2),
        ("No stop at all", 1),
        ("E.g. Mr. Smith, i.e. the owner, paid 3.50 euros.", 1),
        ("Das Personal ist nett, z. B. hilfsbereit, d.h. gut, bzw. sehr gut.", 1),
        ("Le personnel est aimable, p. ex. à la réception.", 1),
        ("Персонал добр, т.е. хорош. Это так.", 2),
        ("A line\nand another", 2),
        ('"Kind." he says. Then more.', 3),
        ("...", 0),
        ("**Argument:**\n\nThe words are kind.", 1),
        ("## Argument\nThe words are kind. #Service: it fits.", 2),
        ("Two reasons:\n1. The staff were kind.\n(2.) It paid.", 2),
        ("服务很好。房间「很干净。」真的！", 3),
    ],
)
def test_sentences_are_counted(text: str, count: int) -> None:
    assert len(sentences(text)) == count


@given(st.text(max_size=400), st.integers(1, 4))
def test_cut_argument_is_within_the_limit(text: str, most: int) -> None:
    assert fits(cut(text, most), most)
    assert len(cut(text, most)) <= len(text)


def test_cut_argument_keeps_a_sentence_after_its_heading_or_number() -> None:
    assert cut("**Argument:**\n\nThe words fit. And more.", 1) == "**Argument:** The words fit."
    assert cut("1. Price is named. 2. So is Room.", 1) == "1. Price is named."
    assert cut("服务很好。房间很干净。", 1) == "服务很好。"


def test_reasoning_of_a_counsel_or_a_clerk_is_not_shown_to_the_judges() -> None:
    def reply(request: Request, number: int) -> Reply | str:
        answer = court_replies()(request, number)
        thought = "<think>\nHmm. Maybe more. Or less.\n</think>\n"
        return f"{thought}{answer}" if request.role in ("prosecutor", "defender", "clerk") else answer

    _, requests = run_debate(SPEC, context_of(SPEC, "choice", precedents=SHOWN), reply)
    assert not [request for request in requests if request.reask]
    prompt = requests[-1].messages[1].content
    assert ("So it is." in prompt, "Because it says so." in prompt, "Hmm" in prompt) == (True, True, False)


def test_endless_sentence_is_too_long() -> None:
    assert not fits("很好" * 91, 1)
    assert len(cut("很好" * 91, 1)) == 180
    assert not fits("and " * 61, 1)
    assert len(cut("and " * 90, 1).split()) == 60
