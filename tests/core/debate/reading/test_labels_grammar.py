"""Tests of decisions without an announcing line: each reply is read completely or not at all."""

from __future__ import annotations

import itertools
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.codebook import Codebook, parse_codebook
from core.debate.reading.decision_markers import parse_markers
from core.debate.reading.label_names import names_of
from core.debate.reading.labels_grammar import sole_answer
from core.debate.reading.parse import CUT, NO_DECISION, read
from core.debate.reading.tokens import NO_ANSWER
from core.debate.turns import Reading
from tests.core.debate.reading.decisions import BEFORE, COMMON, HARD
from tests.each_row import each_row
from tests.linear_time import check_linear_time

STAY = parse_codebook({"kind": "multilabel", "labels": [{"name": name} for name in ("Food", "Service", "Q: Price")]})
TONE = parse_codebook({"kind": "choice", "labels": [{"name": "Warm", "code": 1}, {"name": "Cold", "code": 2}]})
SUMMARY = parse_codebook({"kind": "rating", "labels": [{"name": "Fluency"}, {"name": "Effect"}]})


def reading(text: str, codebook: Codebook = STAY, finish_reason: str = "stop") -> Reading:
    return read(text, codebook, finish_reason=finish_reason)


def present(text: str, finish_reason: str = "stop") -> set[str]:
    result = reading(text, finish_reason=finish_reason)
    assert result.problem == ""
    assert set(result.values) == set(STAY.items)
    return {STAY.label(item).name for item in result.present}


@each_row(
    "text",
    [
        '{"Food": true, "Service": false, "Q: Price": false}',
        '```json\n{"food": "Yes", "SERVICE": "no", "#Q: Price": "absent"}\n```',
        "Here you are: {'Food': True, 'Service': False, 'Q: Price': False}",
        '{"Food": 1, "Service": 0, "Q: Price": 0, "confidence": 1, "reasoning": "The meal was praised."}',
        '{"result": {"Food": true, "Service": false, "Q: Price": false}}',
        '{"Food": {"present": true, "quote": "no salt"}, "Service": {"present": "no"}, "Q: Price": {"answer": false}}',
        "Food: present\nService: absent\nQ: Price: absent",
        "I looked at each.\n\n- **Food**: yes\n- **Service**: no\n- **Q: Price**: no\n\nThat is all.",
        "Food: yes (the pasta)\nThe guest praises it.\nService: No. Never named.\nQ: Price: not mentioned in the text",
        "1. Food - Yes, praised.\n2. Service - No, nothing.\n3. Q: Price = no",
        "Food: yes, Service: no, Q: Price: no",
        "Food: yes\nService: no\nQ: Price: no\n\nThe meal is praised; however brief, that is all.",
        "Food: yes\nService: no\nQ: Price: no\n\nThe food is praised, but nothing else.",
        "- [x] Food\n- [ ] Service\n- [ ] Q: Price",
        "[x] Food\n[ ] Service\n[ ] Q: Price",
        "✅ Food\n❌ Service\n❌ Q: Price",
        "| Label | Present |\n|---|---|\n| Food | yes |\n| Service | no |\n| Q: Price | no |",
        "| # | Aspect | Why | Decision |\n|:-|-|-|-|\n"
        "| 1 | **Food** | praised | ✓ |\n| 2 | Service | - | ✗ |\n| 3 | Q: Price | | ✗ |",
        "Aspect | Present?\n--- | ---\nFood | Yes\nService | No\nQ: Price | No\n",
        '{"present": ["Food"], "absent": ["Service", "Q: Price"]}',
        "Food",
        "**Food**.",
        '["Food"]',
        "The meal is praised, the rest is not named.\n\nLabels: Food",
    ],
)
def test_decisions_per_label_are_read(text: str) -> None:
    assert present(text) == {"Food"}
    assert present(text + "\n\nFinal Decision: Service") == {"Service"}, "an announced decision takes precedence"


@each_row(
    ("text", "message"),
    [
        ('{"Food": true, "Service": false}', 'not for "Q: Price"'),
        ("Food: yes\nService: no", 'not for "Q: Price"'),
        ("Food: yes", 'not for "Service", "Q: Price"'),
        ('{"Food": true, "Service": false, "Q: Price": false, "Pool": true}', 'not in the codebook: "Pool"'),
        ("Food: yes\nService: no\nQ: Price: no\nPool: yes", 'not in the codebook: "Pool"'),
        ('{"Food": 0.9, "Service": 0.1, "Q: Price": 0.2}', NO_DECISION),
        ("Food: yes/no\nService: yes/no\nQ: Price: yes/no", NO_DECISION),
        ("Food: 4\nService: 2\nQ: Price: 3", NO_DECISION),
        ("Food: no one liked it\nService: no-show\nQ: Price: present-day", NO_DECISION),
        ("Food: yes\nService: no\nQ: Price: no\n\nOn reflection, Food is not meant.", "not say plainly"),
        ('{"Food": true, "Service": false, "Q: Price": false}\nWait, the service is praised.', "not say plainly"),
        # The author or the meaning of the answers is unclear.
        ("The critic says:\nFood: yes\nService: no\nQ: Price: no", NO_DECISION),
        ("## Extractor\n- Food: yes\n- Service: no\n- Q: Price: no", NO_DECISION),
        ("If the extractor were right:\nFood: yes\nService: no\nQ: Price: no", NO_DECISION),
        ('The format is {"Food": true, "Service": true, "Q: Price": true}', NO_DECISION),
        ('The guest writes "so\nFood: yes\nService: no\nQ: Price: no\nbye".', NO_DECISION),
        ("| Label | Extractor | Critic |\n|-|-|-|\n| Food | yes | no |\n| Service | no | no |", NO_DECISION),
        ("| Label | Absent |\n|-|-|\n| Food | yes |\n| Service | no |\n| Q: Price | no |", NO_DECISION),
        ("| Label | Extractor |\n|-|-|\n| Food | yes |\n| Service | no |\n| Q: Price | no |", NO_DECISION),
        ("Food and Service, I think", NO_DECISION),
        ("Food, Pool", NO_DECISION),
        ("Label: Food\nQuote: x\nLabel: Service", NO_DECISION),
        ("Category: Food\n\nBut on reflection it is the service that is meant.", "not say plainly"),
        ('The guest writes "so\nLabel: Food" and leaves.', NO_DECISION),
        ("The critic says:\nLabel: Food", NO_DECISION),
    ],
)
def test_ambiguous_statements_are_not_guessed(text: str, message: str) -> None:
    result = reading(text)
    assert not result.values
    assert message in result.problem


def test_open_or_contradictory_labels_stay_undecided() -> None:
    result = reading('{"Food": true, "Service": null, "Q: Price": "unclear"}')
    assert [STAY.label(item).name for item in result.undecided] == ["Service", "Q: Price"]
    assert set(result.values.values()) == {True}
    assert 'different things about "Food"' in reading("Food: yes\nService: no\nQ: Price: yes\nFood: no").problem


@each_row(
    ("text", "complete"),
    [
        ('{"Food": true, "Service": false, "Q: Price": false}', True),
        ('{"Food": true, "Service": false, "Q: Pr', False),
        ("Food: yes\nService: no\nQ: Price: no\n", True),
        ("Food: yes\nService: no\nQ: Price: no", False),
        ("Food, Service", False),
    ],
)
def test_cut_reply_is_read_only_if_complete(text: str, complete: bool) -> None:
    if complete:
        assert present(text, finish_reason="length") == {"Food"}
    else:
        assert reading(text, finish_reason="length").problem == CUT


@each_row(
    ("text", "expected"),
    [
        # Decisions for no label and for several labels are read.
        ('{"Food": false, "Service": false, "Q: Price": false}', set()),
        ("Food: no\nService: no\nQ: Price: no", set()),
        ("none", set()),
        ("Final Decision: none, not a single one.", set()),
        ("[]", set()),
        ("Food, Service", {"Food", "Service"}),
        ("- Food\n- Service", {"Food", "Service"}),
        # Answers in an announced list are read.
        ("Final Decision:\n\n| Label | Present |\n|---|---|\n| Food | yes |\n| Service | no |\n\nBye.", {"Food"}),
        ("Final Decision:\n[x] Food\n[ ] Service", {"Food"}),
        ("Final Decision:\nFood: Yes, the meal.\nService: No, nothing is said.", {"Food"}),
        ('{"labels": {"Food": "yes", "Service": "no", "Q: Price": 0}}', {"Food"}),
        ('{"labels": {"Food": "the pasta was praised", "Service": "absent"}}', {"Food"}),
        ('{"labels": {"Food": ["great pasta"], "Service": false}}', {"Food"}),
        ('{"labels": [{"label": "Food", "present": "yes"}, {"label": "Service", "present": "no"}]}', {"Food"}),
        ('{"labels": [{"label": "Food", "value": true}, {"label": "Service", "value": false}]}', {"Food"}),
    ],
)
def test_decisions_for_no_label_several_labels_and_in_a_list_are_read(text: str, expected: set[str]) -> None:
    # Regression: a "no" next to a name in JSON and an empty box without a bullet counted as present.
    assert present(text) == expected


def test_announced_values_that_are_not_answers_are_a_problem() -> None:
    for value in ("0.4", "[]", '"yes, but weakly"'):
        assert reading(f'{{"labels": {{"Food": true, "Service": {value}, "Q: Price": false}}}}').problem


@each_row(
    "text",
    [
        '{"Warm": true, "Cold": false}',
        "Warm: yes\nCold: no",
        "| Label | Verdict |\n|-|-|\n| Warm | Yes |\n| Cold | No |",
        "Warm",
        "**warm**",
        "1",
        "It is kind throughout.\n\n**Answer:** Warm",
        '{"answer": "Warm"}',
        '{"category": 1, "why": "kind"}',
        '{"final_decision": "warm"}',
    ],
)
def test_choice_statements_are_read(text: str) -> None:
    assert reading(text, TONE).values == {"label": TONE.labels[0].id}


@each_row(
    "text",
    [
        '{"Warm": true, "Cold": true}', '{"Warm": false, "Cold": false}', "Warm: yes\nCold: yes", "Warm, Cold", "3",
        '{"answer": "Warmish"}', '{"Warm": 0.9, "Cold": 0.1}', "Warm\nCold", "Label: Warm\nLabel: Cold", "none",
        "It is Warm, I think.",
    ],
)  # fmt: skip
def test_statements_without_a_single_choice_have_a_problem(text: str) -> None:
    result = reading(text, TONE)
    assert not result.values
    assert result.problem


@each_row(
    "text",
    [
        '{"Fluency": 4, "Effect": 2}',
        '{"Fluency": {"score": 4, "why": "x"}, "Effect": "2/5"}',
        '{"scores": {"Fluency": 4, "Effect": 2}}',
        '[{"dimension": "Fluency", "rating": 4}, {"dimension": "Effect", "rating": 2}]',
        "Fluency: 4\nEffect: 2/5 (thin)",
        "It reads well.\n- **Fluency**: 4\n- **Effect**: 2\nOverall: 3",
        "| Dimension | Rating |\n|-|-|\n| Fluency | 4 |\n| Effect | 2 |",
    ],
)
def test_rating_statements_are_read(text: str) -> None:
    assert reading(text, SUMMARY).values == dict(zip(SUMMARY.items, (4, 2), strict=True))


@each_row(
    "text",
    [
        "Fluency: 4",
        '{"Fluency": 4}',
        "Fluency: 4 errors\nEffect: 2 trials",
        "Extractor's ratings:\nFluency: 4\nEffect: 2",
        'The critic would say {"Fluency": 4, "Effect": 2}',
        "Fluency: 4\nEffect: 2\n\nActually, Effect is worth a 3.",
        "| Dimension | A | B |\n|-|-|-|\n| Fluency | 4 | 3 |\n| Effect | 2 | 2 |",
        '{"Fluency": true, "Effect": "good"}',
    ],
)
def test_statements_without_ratings_have_a_problem(text: str) -> None:
    result = reading(text, SUMMARY)
    assert not result.values
    assert result.problem


@each_row(
    ("words", "answer"),
    [
        ("yes", True), ("**Yes**", True), ("Present (twice)", True), ("Y", True), ("1", True), ("[x]", True),
        ("no", False), ("No. Not once", False), ("not mentioned", False), ("n", False), ("0", False), ("[ ]", False),
        ("n/a", None), ("?", None), ("yes, but implied", NO_ANSWER), ("no, though perhaps", NO_ANSWER),
        ("yes/no", NO_ANSWER), ("no one", NO_ANSWER), ("1.5", NO_ANSWER), ("10", NO_ANSWER),
        ("", NO_ANSWER), ("yesterday", NO_ANSWER),
    ],
)  # fmt: skip
def test_yes_and_no_in_words_are_read(words: str, answer: bool | str | None) -> None:
    assert sole_answer(words, names_of(STAY)) is answer


@settings(max_examples=200, deadline=None)
@given(st.lists(st.booleans(), min_size=3, max_size=3), st.sampled_from(["json", "lines", "table"]), st.data())
def test_any_list_of_yes_and_no_is_read_back(reference: list[bool], form: str, data: st.DataObject) -> None:
    yes, no = data.draw(
        st.sampled_from([("yes", "no"), ("Present", "Absent"), ("TRUE", "FALSE"), ("1", "0"), ("✓", "✗")])
    )
    answers = dict(zip(STAY.names, (yes if value else no for value in reference), strict=True))
    match form:
        case "json":
            text = json.dumps(answers)
        case "lines":
            text = "\n".join(f"{name}: {word}" for name, word in answers.items())
        case _:
            text = "| Aspect | Present |\n|---|---|\n" + "".join(f"| {n} | {w} |\n" for n, w in answers.items())
    assert present(text) == {name for name, value in zip(STAY.names, reference, strict=True) if value}


HOSTILE = [
    "Food: yes\n", "Food: yes, ", "x: yes; ", "Food: ", "| Food | yes |\n", "| Food | yes ", "|", "- [x] Food\n", "[ ]",
    "Label: Food\n", "Label: ", '{"Food": true} ', '{"Food": true}\n', "{'Food': True}", "{'Food': ", '{"a": {"b": {',
    "Fluency: 4\n", "Fluency: 4, ", '{"Fluency": 4}', "Food, ", "Food\n", "yes ", "The critic says:\nFood: yes\n",
    "Food: no, however ", "however Food ", "says ", " = ", "> Final Decision: x\n", "I see. Label: Food. ",
    "it is a bit more of a ", "; →\n", "> Food →\n", "a:\n→\n", '{a\\"', "/ . ",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("codebook", [STAY, TONE, SUMMARY], ids=["labels", "choice", "ratings"])
def test_hostile_text_takes_linear_time(piece: str, codebook: Codebook) -> None:
    def read_pieces(size: int) -> None:
        for finish_reason in ("stop", "length"):
            parse_markers.cache_clear()
            reading(piece * (size // len(piece)), codebook, finish_reason)

    # From about 3,000 characters on, nested objects cost more.
    check_linear_time(read_pieces, 24_000 if "{" in piece else 3_000)


@pytest.mark.parametrize("piece", ["the critic is right about Food ", "\u0327\u0301"])
def test_long_lines_take_linear_time(piece: str) -> None:
    def read_pieces(size: int) -> None:
        for codebook in (STAY, TONE, SUMMARY):
            parse_markers.cache_clear()
            reading(piece * (size // len(piece)), codebook)

    check_linear_time(read_pieces, 48_000)


def test_long_runs_of_one_sign_take_linear_time() -> None:
    check_linear_time(lambda size: reading(f"Label: {'!' * size}@ Food", TONE), 12_000)
    check_linear_time(lambda size: reading(f"- Food: yes {';' * size}x", STAY), 12_000)
    check_linear_time(lambda size: reading(f"1. Warm{' ' * size}x\nThe label is 1", TONE), 12_000)
    ratings = "Fluency: 4\nEffect: 3\n\nI agree that Fluency"
    check_linear_time(lambda size: reading(f"{ratings}{' ' * size}x", SUMMARY), 12_000)


def test_long_line_of_ratings_takes_linear_time() -> None:
    def read_ratings(size: int) -> None:
        assert list(reading("Fluency: 4, Effect: 2, " * size, SUMMARY).values.values()) == [4, 2]

    check_linear_time(read_ratings, 360)


HOTEL = parse_codebook(
    {
        "kind": "multilabel",
        "unit": "hotel review",
        "labels": [{"name": name} for name in ("Cleanliness", "Service", "Price", "Location", "Food")],
    }
)
SUBSETS = [
    tuple(name for name, taken in zip(HOTEL.names, bits, strict=True) if taken)
    for bits in itertools.product((False, True), repeat=len(HOTEL.names))
]


def decided(text: str) -> set[str] | None:
    """Return the labels read as present; None if any part of the reply is unresolved."""
    result = read(text, HOTEL)
    return None if result.problem or result.undecided else {HOTEL.label(item).name for item in result.present}


@each_row("form", COMMON)
def test_common_forms_are_read_for_every_subset(form: str) -> None:
    for present in SUBSETS:
        text = COMMON[form](present, [name for name in HOTEL.names if name not in present])
        assert decided(text) == set(present), text


@each_row("form", [*COMMON, *HARD])
def test_no_form_is_misread_after_any_text(form: str) -> None:
    for place, before in enumerate(BEFORE):
        for present in SUBSETS[place % 3 :: 3]:  # each subset after a third of the texts
            text = before + (COMMON | HARD)[form](present, [name for name in HOTEL.names if name not in present])
            assert decided(text) in (None, set(present)), text


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([*COMMON, *HARD]),
    st.sampled_from(SUBSETS),
    st.sampled_from(BEFORE),
    st.sampled_from(["", "\n", "\n\nI hope that this helps.", "\n\nConfidence: 0.9", "\nReason: the guest says so."]),
    st.randoms(use_true_random=False),
)
def test_decision_is_read_correctly_or_unresolved(
    form: str, present: tuple[str, ...], before: str, after: str, order: random.Random
) -> None:
    names = list(present)
    order.shuffle(names)
    text = before + (COMMON | HARD)[form](names, [name for name in HOTEL.names if name not in present]) + after
    assert decided(text) in (None, set(present)), text


@each_row("style", ["{}. {}", "{}) {}", "({}) {}", "{}.{}"])
@each_row(
    "text",
    [
        "Final Decision: The present aspects are: {0}",
        "The aspects present in this text are: {0}",
        'Final Decision: "{0}"',
        "Final Decision: Aim",
        "Final Decision: The present aspects are: #Aim",
        "{0}: yes\n{1}: no",
        "Final Decision:\n- {0}",
        '{{"labels": ["Aim"]}}',
    ],
)
def test_numbered_names_are_read_with_and_without_their_numbers(style: str, text: str) -> None:
    labels = [style.format(1, "Aim"), style.format(2, "Method")]
    codebook = parse_codebook({"kind": "multilabel", "labels": [{"name": name} for name in labels]})
    result = reading(text.format(*labels), codebook)
    assert result.problem == ""
    assert [codebook.label(item).name for item in result.present] == [labels[0]]


@each_row(
    ("text", "present"),
    [
        ("Background: no\nResults: yes\nConclusion: no", ["Results"]),
        ("- Results\n- Conclusion", ["Results", "Conclusion"]),
        ("1. Conclusion\n2. Background", ["Background", "Conclusion"]),
    ],
)
def test_label_named_like_a_heading_is_a_label(text: str, present: list[str]) -> None:
    labels = [{"name": name} for name in ("Background", "Results", "Conclusion")]
    codebook = parse_codebook({"kind": "multilabel", "labels": labels})
    result = reading(text, codebook)
    assert result.problem == ""
    assert {codebook.label(item).name for item in result.present} == set(present)


def test_bracket_that_nothing_is_absent_takes_nothing_back() -> None:
    assert present("Final Decision: The present aspects are: Food, Service (absent: none)") == {"Food", "Service"}
    assert present("Final Decision: Food, Service (absent: Q: Price)") == {"Food", "Service"}


DECISION = "Final Decision: The present aspects are: Service\n\n"


@each_row(
    ("text", "present"),
    [
        # Earlier misreadings are fixed.
        ("Final Decision: Present: Cleanliness, Service; Absent: Price, Location, Food", {"Cleanliness", "Service"}),
        ("Final Decision: Reject #Food; keep #Price", {"Price"}),
        ("Final Decision:\nCleanliness: Yes\nService: No\nPrice: No\nLocation: No\nFood: Yes", {"Cleanliness", "Food"}),
        ("Final Decision: Price, Food, excluding Location", {"Price", "Food"}),
        ("Final Decision: Price. Location, Food are absent.", {"Price"}),
        ("Final Decision: Price, and not Food", {"Price"}),
        ("Final Decision: Price, ~~Food~~", {"Price"}),
        ("Final Decision: all except Food", None),
        ("Final Decision: Price, Food\nOn second thought, drop Food.", None),
        ("Final Decision: Price, Food\n\nThe critic is right that Food is absent.", None),
        ("Final Decision: Price, Food\n\nI agree with the extractor that Location is present.", None),
        ("Final Decision: Price, Food\n\nThe critic's objection to Food is valid.", None),
        ("Final Decision: Price\n\nThe critic's objection to Food is valid.", {"Price"}),
        ("Final Decision: Price, Food\n\nThe critic's objection to Food is not valid.", {"Price", "Food"}),
        ("The critic's objection to Food is valid.", None),
        ("Labels: Cleanliness, Service, Price, Location, Food (choose those that apply)", None),
        ("Final Decision: Cleanliness, Service, Price, Location, Food. Select all that apply.", None),
        ("Select all that apply.\nFinal Decision: Price, Food", {"Price", "Food"}),
        ("Final Decision: Price, Food\n\nThe critic is not right that Food is absent.", {"Price", "Food"}),
        ("Final Decision: Price, Food\n\nThe critic says that Food is absent.", {"Price", "Food"}),
        ("Final Decision: Service\n\n```\nFinal Decision: Price\n```\nis what the text tries to inject.", None),
        ('```json\n{"labels": ["Price"]}\n```\nis only what the text tries to inject.', None),
        ("Final Decision: Price, Food*\n\n* uncertain", None),
        ("Final Decision:\n- Price\n- Food*\n\n\\* borderline", None),
        ("**Final Decision:** *Price*, *Food*\n\n* uncertain about the tone only", {"Price", "Food"}),
        ("Final Decision: Price; (Food)", None),
        ("(Price), Food", None),
        ("Price and (Food)", None),
        ("(Price), (Food)", {"Price", "Food"}),
        ("Final Decision: (Price, Food). Location is absent.", {"Price", "Food"}),
        ("Final Decision: Price, Food. Scratch that.", None),
        ("Final Decision: Price, Food (not sure)", None),
        ("Final Decision: Price, Food and Wi-Fi", None),
        ("The review speaks about Price and Food.", None),
        # Answers in further words are read.
        ("✅ Present: Food, Price\n❌ Absent: Cleanliness, Service, Location", {"Food", "Price"}),
        (
            "**1. Cleanliness:** Absent\n**2. Service:** Absent\n**3. Price:** Present\n**4. Location:** Absent\n"
            "**5. Food:** Present",
            {"Food", "Price"},
        ),
        (
            "Cleanliness: no evidence\nService: no mention of it\nPrice: explicitly mentioned\n"
            "Location: not explicitly mentioned\nFood: clearly present",
            {"Food", "Price"},
        ),
        ("Final Decision: The present aspects are: all", set(HOTEL.names)),
        ("The present aspects are: all of them", set(HOTEL.names)),
        ('{"present": ["none"]}', set()),
        ("Final Decision: The present aspects are: Food, Price (unsupported)", {"Food"}),
        ("Final Decision: The present aspects are: Food, <s>Price</s>", {"Food"}),
        ("Final Decision: The present aspects are: Food, Price</s>", {"Food", "Price"}),
        ("Final Decision: The present aspects are: Food, Price (disputed)", None),
        ("Final Decision: The present aspects are: Food, Price (incorrectly extracted)", None),
        # Words around a decision are read.
        (DECISION + "Excluded:\n- Price", {"Service"}),
        (
            DECISION + 'Excluded:\n- Price (the phrase "worth it" is too vague)\n- Food (no meal is mentioned)',
            {"Service"},
        ),
        (DECISION + "**Not included:**\n- Price (too vague)", {"Service"}),
        (DECISION + "Excluded:\n- Service (too vague)", None),
        (DECISION + "Also:\n- Price", None),
        (DECISION + "I overrule the critic: Price is present.", None),
        (DECISION + "I side with the critic that Service is absent.", None),
        (DECISION + "I side with the critic that Price is absent.", {"Service"}),
        ("Food is not explicitly mentioned, but the plates were cold, so it is present.", None),
        (
            "Cleanliness: Absent. Not discussed.\nService: Present. Discussed.\nPrice: Absent.\nLocation: Absent.\n"
            "Food: Absent. Not mentioned.",
            {"Service"},
        ),
        (
            "Cleanliness: Absent. Present.\nService: Present.\nPrice: Absent.\nLocation: Absent.\nFood: Absent.",
            None,
        ),
        ("The text in <document> asks for none, which counts for nothing.\n\nFinal Decision: Food", {"Food"}),
        ("<document>\nFinal Decision: Food", None),
        ("Final Decision: Food!!!", {"Food"}),
        ("Final Decision: Food n Price", None),
        # JSON with further labels is not read in part.
        ('{"labels": ["Food"], "added": ["Price"]}', None),
        ('{"labels": ["Food"], "additional_labels": ["Price"]}', None),
        ('{"present": ["Food"], "implied": "Price"}', None),
        ('{"labels": ["Food"], "Price": true}', None),
        ('{"labels": ["Food"], "Price": false}', {"Food"}),
        ('{"labels": ["Food"], "added": ["Food"], "removed": ["Price"]}', {"Food"}),
        ('{"labels": ["Food"], "extractor": ["Price"]}', {"Food"}),
        ('{"labels": ["Food"]}\n\nCorrected:\n{"labels": ["Price"]}', {"Price"}),
    ],
)
def test_decision_in_other_words_is_read_completely_or_unresolved(text: str, present: set[str] | None) -> None:
    assert decided(text) == present


@each_row(
    ("text", "present"),
    [
        ("Absent: Food - not absent\nPresent: Q: Price, Service", None),
        ("Excluded: Food (wrongly excluded), Service\nPresent: Q: Price", None),
        ("Absent: Food (except breakfast), Service\nPresent: Q: Price", None),
        ("Absent: Food (mentioned), Service\nPresent: Q: Price", None),
        ("Absent: Food: mentioned\nPresent: Q: Price, Service", None),
        ("Present: Food\n\nAbsent:\n- Q: Price: it is clearly discussed\n- Service: not mentioned", None),
        ("Final Decision: Food\n\nAbsent:\n- Q: Price: it is clearly discussed\n- Service: not mentioned", None),
        ("Absent: Food (no meal is mentioned), Service\nPresent: Q: Price", {"Q: Price"}),
        ("Absent: Food - because only the staff are mentioned\nPresent: Q: Price, Service", {"Q: Price", "Service"}),
        ("Absent: Food (wrongly added by the extractor), Service\nPresent: Q: Price", {"Q: Price"}),
        ("Absent: Food - I found no mention of a meal\nPresent: Q: Price, Service", {"Q: Price", "Service"}),
        ("Final Decision: Food\n\nAbsent:\n- Q: Price: never discussed\n- Service: not mentioned", {"Food"}),
    ],
)
def test_comment_on_an_absent_label_may_not_affirm_it(text: str, present: set[str] | None) -> None:
    result = reading(text)
    assert (None if result.problem else {STAY.label(item).name for item in result.present}) == present


def test_label_left_open_after_the_decision_is_undecided() -> None:
    for reply in ("Final Decision: Food\nUndecided: Service", "Undecided: Service\nFinal Decision: Food"):
        result = reading(reply)
        assert not result.problem, reply
        assert len(result.present) == len(result.undecided) == 1, reply
    assert reading("Final Decision: Food\nUndecided: Food").present == ()
