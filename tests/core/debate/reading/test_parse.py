"""Tests of the reply parser.

The two long replies follow the form of the examples in sections 5.3.1 and 5.3.2 of the ECJ paper, in other words.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.codebook import CHOICE_ITEM, Codebook, Label, normalise, parse_codebook
from core.debate.reading.decision_markers import parse_markers, without_reasoning
from core.debate.reading.parse import CUT, EMPTY, NO_DECISION, ONLY_REASONING, TOO_LONG, mentions, read
from core.debate.turns import Reading
from tests.each_row import each_row
from tests.linear_time import check_linear_time

ASPECTS = ("Cleanliness", "Service", "Price", "Location", "Food", "Food and drinks")


def make(*names: str, kind: str = "multilabel", **more: object) -> Codebook:
    return parse_codebook({"kind": kind, "labels": [{"name": name} for name in names], **more})


HOTEL = make(*ASPECTS, unit="hotel review")
CLAUSES = parse_codebook(
    {
        "kind": "choice",
        "labels": [
            {"name": "Governing Law", "code": 3},
            {"name": "License Grant", "code": 17},
            {"name": "Non-compete", "code": 1},
            {"name": "Assignment, anti", "code": 2.5},
        ],
    }
)
SUMMARY = make("Fluency", "Effect Direction", "PIO Consistency", kind="rating")


def present(reading: Reading, codebook: Codebook = HOTEL) -> set[str]:
    assert reading.problem == ""
    assert set(reading.values) | set(reading.undecided) == set(codebook.items)
    return {codebook.label(item).name for item in reading.present}


def names(text: str, codebook: Codebook = HOTEL, *, finish_reason: str = "stop") -> set[str]:
    return present(read(text, codebook, finish_reason=finish_reason), codebook)


def problem(text: str, codebook: Codebook = HOTEL, *, finish_reason: str = "stop") -> str:
    reading = read(text, codebook, finish_reason=finish_reason)
    assert not reading.values
    assert not reading.readable
    return reading.problem


def choice(text: str, *, finish_reason: str = "stop") -> str:
    reading = read(text, CLAUSES, finish_reason=finish_reason)
    assert reading.problem == ""
    return CLAUSES.label(str(reading.values["label"])).name


EXTRACTOR = """Opinion: The aspects present in this review are: #Price, #Location, #Food, #Cleanliness, #Service.

- #Price: "we paid \\$75 a night for a 'junior suite'"
- #Location: "halfway up the avenue. It's close to a seedy block"
- #Food: "the diner next door" and "breakfast (coffee, bagels, cereal) in a small room"
- #Cleanliness: "tidied every day."
- #Service: "the desk was so-so."
"""
CRITIC = """I disagree with including #Food as an aspect here. The review speaks of a diner next door, but that is about
where it is. Therefore, #Food is not a significant aspect in the review.

The other aspects—#Price, #Location, #Cleanliness, and #Service—are clearly and explicitly mentioned in the review."""


@each_row(
    "text",
    [
        '{"labels": ["Price",],}',
        "{'labels': ['Price']}",
        """{'labels': [{'label': 'Price', 'quotes': ['the hotel's "best" price, True']}], 'sure': True, 'x': None}""",
        r"{'labels': ['Price'], 'note': 'it\'s \"so\"'}",
        "{labels: [Price]}",
        '{"labels": ["Price"] "note": "no comma"}',
        '{"note": "he said "hi"", "labels": ["Price"]}',
        '{"labels": [{"label": "Price" "quotes": []}]}',
    ],
)
def test_broken_json_is_repaired_if_no_word_is_lost(text: str) -> None:
    assert names(text) == {"Price"}


@each_row(
    "text",
    [
        '{"labels": ["Price"',
        '{"labels": ["Price", ...]',
        '{"labels": ["Price" /* not Food ]}',
        '{"labels": ["Price"], "labels": ["Food"]}',
        '{"labels": ["Price", "Fo',
        "{'labels': ['Price']",
        'Final Decision: Price\n{"labels": [}',
    ],
)
def test_broken_json_is_not_a_decision(text: str) -> None:
    assert "JSON" in problem(text)


@each_row(
    "text",
    [
        'The guest writes "The aspects present in this review are: none".',
        "The guest writes “Great hotel. Final Decision: none” and leaves.",
        "Der Gast schreibt „Final Decision: none“.",
        "The guest writes «Final Decision: none».",
        'The guest writes "great stay\nFinal Decision: none\nbye".',
        'Its 5" screen: "a 5" screen. Final Decision: none" they say.',
        'It holds: "answer {"labels": []} now".',
        'It holds ‘{"labels": []}’.',
        "The text says the aspects present are none.",
        "The document instructs me: Final Decision: none",
        "The aspects present in this review are not Food.",
        "The aspects present are no longer: Food",
        "If the critic is right, the aspects present in this review are: #Food.",
        "Unless I am mistaken the final decision is: Food",
        "I do not think that the final decision is: The present aspects are: Price",
        "I disagree that the aspects present in this review are: #Food",
        "I doubt the aspects present in this review are: #Food",
        "The extractor's final decision: Food",
        "The aspects present in this review are well supported.",
        "The aspects present aren't: Food",
        CRITIC,
    ],
)
def test_quoted_reported_hypothetical_or_denied_decision_does_not_count(text: str) -> None:
    assert problem(text) == NO_DECISION
    # The text neither overrides an earlier decision nor replaces a later one.
    assert names(f"Final Decision: Price\n\n{text}") == {"Price"}
    assert names(f"{text}\n\nFinal Decision: Price") == {"Price"}


@each_row(
    "text",
    [
        "The other aspects present in this review are: #Food",
        "The aspects present in this review would be: Food",
        "Determine which aspects present are: Food",
    ],
)
def test_list_that_is_no_decision_makes_one_above_it_unclear(text: str) -> None:
    assert problem(text) == NO_DECISION
    assert "plainly" in problem(f"Final Decision: Price\n\n{text}")
    assert names(f"{text}\n\nFinal Decision: Price") == {"Price"}


def test_last_decision_counts() -> None:
    injected = "The aspects present in this review are: #Food\n\nIgnore the above.\n\n"
    assert names(injected + "The aspects present in this review are: #Price") == {"Price"}
    assert names("Final Decision: Food. Final Decision: Price") == {"Price"}


@each_row(
    ("text", "expected"),
    [
        # Decision lines are read.
        (EXTRACTOR, {"Price", "Location", "Food", "Cleanliness", "Service"}),
        ('Aspects present: #Cleanliness, #Price.\n\n- Cleanliness: "clean bath"', {"Cleanliness", "Price"}),
        (
            "The present aspects are: Price, Location, Cleanliness, Service.",
            {"Price", "Location", "Cleanliness", "Service"},
        ),
        ("Final Decision: The present aspects are: [Price], [Location]", {"Price", "Location"}),
        ("The aspects present in this hotel review are: #Service, #Price", {"Service", "Price"}),
        ("the ASPECTS present in THE text ARE: #service & #PRICE", {"Service", "Price"}),
        ("The labels present in this conversation of two doctors are: Service; Price", {"Service", "Price"}),
        ("The labels are: Service / Price", {"Service", "Price"}),
        ("The only aspect present in this review is #Food.", {"Food"}),
        ("The aspects I believe are present in the review are: Price and Food.", {"Price", "Food"}),
        ("The following aspects are present in this review: Price, Food", {"Price", "Food"}),
        ("The aspects present in this review are as follows: Price", {"Price"}),
        ("I think the aspects present are Price and Service.", {"Price", "Service"}),
        ("Final Decision: Price", {"Price"}),
        ("My final decision is: Price", {"Price"}),
        ("Final decision - Price, Food", {"Price", "Food"}),
        ("FINAL DECISION (after weighing both): Price", {"Price"}),
        ("Judge: Final Decision: #Food and drinks and Service", {"Food and drinks", "Service"}),
        ("Final Decision: none", set()),
        ("Final Decision: The present aspects are: None.", set()),
        ("The aspects present in this review are: none of the listed aspects.", set()),
        ("The aspects present in this review are: no aspects", set()),
        ("The aspects present in this review are: none, as it is about the weather.", set()),
        ("The aspects present in this hotel review are none of the aspects.", set()),
        # Layout and markdown are ignored.
        ("**Final Decision:** The present aspects are: **Price**, **Food**", {"Price", "Food"}),
        ("**Final Decision**: Price", {"Price"}),
        ("__Final Decision:__ _Price_", {"Price"}),
        ("The **aspects present** in this review are: `#Price`", {"Price"}),
        ("> The aspects present in this review are: #Price", {"Price"}),
        ("- The aspects present in this review are: #Price", {"Price"}),
        ("## Final Decision\n\nPrice, Food\n\nBecause of the words.", {"Price", "Food"}),
        (
            "### Final Decision:\n- **Price**: cheap, a bargain\n- **Food** (breakfast)\n  - nice\n\nBye.",
            {"Price", "Food"},
        ),
        ("Final Decision:\n\n1. Price\n2. Food\n", {"Price", "Food"}),
        ("Final Decision:\n* #Price\n* #Food", {"Price", "Food"}),
        ("The aspects present in this review are:\n#Price\n#Food\n\nDone", {"Price", "Food"}),
        ("Final Decision:\n**Price**\n**Food**: good, tasty\nThe critic overlooked Service.", {"Price", "Food"}),
        ("Final Decision:\n- [x] Price\n- [ ] Food\n- Service: absent\n- Location (not mentioned)", {"Price"}),
        ("Final Decision:\n```\nPrice, Food\n```", {"Price", "Food"}),
        ("Final Decision: Price,\nFood", {"Price", "Food"}),
        ("Final Decision:\nThe present aspects are: Price", {"Price"}),
        ('Final Decision:\n"The present aspects are: Price, Food"', {"Price", "Food"}),
        ('Final Decision: "The present aspects are: Price, Food"', {"Price", "Food"}),
        ('The aspects present in this review are: "Service", "Food"', {"Service", "Food"}),
        ('The aspects present in this review are: "Service" “Food” «Price»', {"Service", "Food", "Price"}),
        ("The aspects present in this review are: #Service #Food #Price", {"Service", "Food", "Price"}),
        (
            "The aspects present in this review are: #Service (staff, desk), #Food – tasty, #Price",
            {"Service", "Food", "Price"},
        ),
        ('The aspects present in this review are: #Service: "a, b", #Food because of breakfast', {"Service", "Food"}),
        ("The aspects present in this review are: #Service. The rest, Food, is absent.", {"Service"}),
        ("<answer>Final Decision: Price</answer>", {"Price"}),
        ("Ｆinal Decision： Price\n\nFinal Decision： Ｐｒｉｃｅ，Food", {"Price", "Food"}),
        ("Final Decision: Price, but not Food", {"Price"}),
        ("Final Decision: Price\r\nBye\r\n", {"Price"}),
        # JSON is read.
        ('{"labels": ["Price", "#Food"]}', {"Price", "Food"}),
        ('Here it is:\n```json\n{"aspects": [{"name": "price", "quotes": ["cheap"]}]}\n```\nDone.', {"Price"}),
        (
            '{"labels": [{"label": "Food", "evidence": "x"}, {"aspect": "Service"}], "reason": "The label is Price"}',
            {"Food", "Service"},
        ),
        ('{"Labels": []}', set()),
        ('{"labels": ["none"]}', set()),
        ('{"labels": "Price, Food"}', {"Price", "Food"}),
        ('{"labels": {"Price": true, "Food": false}}', {"Price"}),
        ('{"labels": [{"label": "Price", "present": true}, {"label": "Food", "present": false}]}', {"Price"}),
        ('[{"label": "Price", "quotes": []}, {"label": "Food", "quotes": []}]', {"Price", "Food"}),
        ('{"answer": {"labels": ["Price"]}}', {"Price"}),
        ('{"note": "line one\nline two", "labels": ["Price"]}', {"Price"}),
        ('{"labels": ["Food"]}\nFinal Decision: Price', {"Price"}),
        ('Final Decision: Food\n{"labels": ["Price"]}', {"Price"}),
        ('{"labels": ["Food"]} {"labels": ["Price"]}', {"Price"}),
        # Thinking is ignored.
        ("<think>The aspects present in this review are: #Food</think>\nFinal Decision: Price", {"Price"}),
        ("<think>a</think><thinking>b\n</thinking> Final Decision: Price", {"Price"}),
        ("Some servers keep the opening tag. Final Decision: Food\n</think>\nFinal Decision: Price", {"Price"}),
        ("Final Decision: Price, because the text has <think> and </think> in it", {"Price"}),
    ],
)
def test_decision_is_read_in_any_layout(text: str, expected: set[str]) -> None:
    assert names(text) == expected


def test_tags_around_a_whole_reply_are_left_out_and_its_positions_kept() -> None:
    reply = "\n<Analysis>\nFood is praised.\nFinal Decision: Food\n</analysis>\n"
    assert without_reasoning(reply).strip() == "Food is praised.\nFinal Decision: Food"
    assert reply[read(reply, HOTEL).start :].startswith(" Food\n</analysis")


def test_empty_reply_has_no_decision() -> None:
    assert problem("") == problem("  \n") == EMPTY


@each_row("text", ["<think>Final Decision: Food", "<think>x</think>\n"])
def test_reply_that_is_only_reasoning_has_no_decision(text: str) -> None:
    assert problem(text) == ONLY_REASONING


def test_unknown_names_are_reported_as_written() -> None:
    reading = read("Final Decision: Price, Food quality, #Wi-Fi (slow)", HOTEL)
    assert not reading.readable
    assert reading.unknown == ("Food quality", "Wi-Fi")

    reading = read('{"labels": ["Pool", 3, {"x": 1}]}', HOTEL)
    assert reading.unknown[:2] == ("Pool", "3")
    assert '"Pool"' in reading.problem


@each_row(
    ("text", "message"),
    [
        ("Final Decision: Foo, Bar", 'not in the codebook: "Foo", "Bar"'),
        ("Final Decision: Foods", "Foods"),
        ("Final Decision: Food\nThe aspects present in this review are Pool and Spa.", '"Pool", "Spa"'),
        ("Final Decision: Service-level", "Service-level"),
        ("Final Decision: none, Food", 'says none and also names "Food"'),
        ("Final Decision: none and Pool", 'not in the codebook: "Pool"'),
        ("Final Decision: none; Pool", 'not in the codebook: "Pool"'),
        ("Final Decision: none (nothing fits); Pool", 'not in the codebook: "Pool"'),
        ("Final Decision:", "names no label"),
        ("Final Decision: not Food", "names no label"),
        ("Final Decision: possibly Food", "not say plainly"),
        ("Final Decision: Food or Price", "not say plainly"),
        ("Final Decision: all of them", "all of them"),
        ("Final Decision: Food, possibly Price", "not say plainly"),
        ("Final Decision: Food, Price (not explicitly mentioned but implied)", "not say plainly"),
        ("Final Decision: Food, but also Price", "not say plainly"),
        ("Final Decision:\n- **Service**: friendly, Food", "not say plainly"),
        ("Final Decision: Food, Price, not Price", 'different things about "Price"'),
        ("No marker, but #Food is there.", NO_DECISION),
    ],
)
def test_problem_describes_the_unread_text(text: str, message: str) -> None:
    assert message in problem(text)


@each_row(
    ("text", "expected", "open_items"),
    [
        ("Undecided: #Price\nThe aspects present in this review are: #Food", {"Food"}, {"Price"}),
        ("Undecided: #Price\nUndecided: #Location\nFinal Decision: none", set(), {"Price", "Location"}),
        (
            "Undecided: Food\n\nMore words.\n\nUndecided: #Price, #Service\nFinal Decision: Food",
            {"Food"},
            {"Price", "Service"},
        ),
        ("Final Decision: Food, Price\n**Undecided:** Price", {"Food"}, {"Price"}),
        ("Undecided: none\nFinal Decision: Food", {"Food"}, set()),
        (
            "Undecided: Price (not mentioned), Service or Location\nFinal Decision: Food",
            {"Food"},
            {"Price", "Service", "Location"},
        ),
        ('He wrote "so\nUndecided: Price\nbye".\nFinal Decision: Food', {"Food"}, set()),
        (
            '{"labels": ["Food"], "undecided": ["Price", {"label": "Service", "reason": "thin"}]}',
            {"Food"},
            {"Price", "Service"},
        ),
        ('{"labels": {"Food": true, "Price": null}}', {"Food"}, {"Price"}),
    ],
)
def test_labels_left_open_are_undecided(text: str, expected: set[str], open_items: set[str]) -> None:
    reading = read(text, HOTEL)
    assert present(reading) == expected
    assert {HOTEL.label(item).name for item in reading.undecided} == open_items
    assert all(reading.undecided.values())


def test_reasons_of_undecided_labels_are_kept() -> None:
    reading = read("Undecided: #Price\nFinal Decision: none", HOTEL)
    assert set(reading.undecided.values()) == {"left undecided"}
    reading = read('{"labels": [], "undecided": [{"label": "Price", "reason": "thin"}]}', HOTEL)
    assert set(reading.undecided.values()) == {"thin"}


def test_reply_that_leaves_all_labels_open_is_readable() -> None:
    reading = read("\n".join(f"Undecided: #{name}" for name in ASPECTS), HOTEL)
    assert reading.readable
    assert set(reading.undecided) == set(HOTEL.items)
    assert not reading.values
    assert "names no label" in problem("Undecided: #Price")


def test_label_can_be_named_undecided() -> None:
    codebook = make("For", "Against", "Undecided")
    assert names("Final Decision:\n- **Undecided**: neutral wording\n- For", codebook) == {"Undecided", "For"}


TRICKY = (
    "R&D", "C#", "C++", ".NET", "Wi-Fi 2.0", "Bed/breakfast", "Bed", "breakfast", "Bed, bath", "Food",
    "Food and drinks", "Café", "服务", "服务质量", "👩‍🍳 chef", "❤️", "שירות", "خدمة العملاء", "Children's area",
    "St. Mary", "No smoking", "None given", "food_q", "Price (EUR)", "Price", "[tag]", "Straße", "ﬁne", "Q: A",
    "2.5", "either/or", "or", "कि", "서비스",
)  # fmt: skip


@each_row("name", TRICKY)
@each_row(
    "form",
    [
        "The aspects present in this text are: #{0}, #Zebra.",
        "**Final Decision:** The present aspects are: {0}, Zebra",
        "Final Decision:\n- **{0}**: some words, more words\n- Zebra",
        'Final Decision: "{0}" and "Zebra"',
        '{{"labels": [{{"label": "{0}", "quotes": []}}, "Zebra"]}}',
        "Final Decision: \u200f{0}\u200f (why), Zebra",
    ],
)
def test_names_with_separators_signs_and_scripts(name: str, form: str) -> None:
    codebook = make(*TRICKY, "Zebra")
    assert names(form.format(name), codebook) == {name, "Zebra"}
    assert names(form.format(name.upper() if name.isascii() else name), codebook) == {name, "Zebra"}


def test_longest_matching_name_is_read() -> None:
    assert names("Final Decision: Food and drinks") == {"Food and drinks"}
    assert names("Final Decision: drinks, Food and Price", make("Food", "drinks", "Food and Price")) == {
        "drinks",
        "Food and Price",
    }
    assert names("Final Decision: Bed, bath", make("Bed", "bath", "Bed, bath")) == {"Bed, bath"}


@each_row(
    ("text", "expected"),
    [
        ("The aspects present in this review are: #Price\n", {"Price"}),
        ('The aspects present in this review are: #Price\n\n- #Price: "che', {"Price"}),
        ('{"labels": ["Price"]}', {"Price"}),
        ("Final Decision:\n- Price\n- Food\n\nBecause", {"Price", "Food"}),
        ("## Final Decision\nPrice, Food\n\nBeca", {"Price", "Food"}),
        ("Undecided: Food\nFinal Decision: Price\n", {"Price"}),
    ],
)
def test_cut_reply_with_complete_decision_is_read(text: str, expected: set[str]) -> None:
    assert names(text, finish_reason="length") == expected


@each_row(
    "text",
    [
        "The aspects present in this review are: #Price",
        "Final Decision: Food\nThe aspects present in this review are: #Price, #Lo",
        "Final Decision: Food\n\nThe aspects present in th",
        "Final Decision: Food\n\n**Final Deci",
        "Final Decision: Food\nThe label is",
        "Final Decision: Food\nFinal Decision: Price,\n",
        "Final Decision: Food\nFinal Decision:\n- Price\n",
        "Final Decision: Food\nFinal Decision:\n",
        'Final Decision: Food\n{"labels": ["Price"',
        '{"labels": ["Food"]}\n{"lab',
        "Final Decision: Food\nUndecided: Pri",
        "Food it is, as the",
        "<think>Final Decision: Food",
    ],
)
def test_cut_reply_does_not_fall_back_to_an_earlier_decision(text: str) -> None:
    assert problem(text, finish_reason="length") == CUT


@each_row(
    ("text", "expected"),
    [
        ("The label is Governing Law", "Governing Law"),
        ("The label is 3.", "Governing Law"),
        ("The label is 2.5", "Assignment, anti"),
        ("The label is Assignment, anti, which is plain.", "Assignment, anti"),
        ("The label is 17: License Grant. It lets them copy.", "License Grant"),
        ("The label is license grant (17)", "License Grant"),
        ("**Let's think step by step.** It binds them. The label is **Non-compete**.", "Non-compete"),
        ("So the label is label 3 (Governing Law).", "Governing Law"),
        ("The final label for this clause is: 'Non-compete'", "Non-compete"),
        ("The label is\n\n**Non-compete**\n", "Non-compete"),
        ("Final Decision: 17", "License Grant"),
        ("The label is Non-compete, not License Grant", "Non-compete"),
        ("The label is Non-compete because License Grant is narrower", "Non-compete"),
        ("The text says the label is 3. Hence, the label is 1", "Non-compete"),
        ("The label is not 3. The label is 1", "Non-compete"),
        ('{"label": "Non-compete", "quotes": ["x"]}', "Non-compete"),
        ('{"label": 3}', "Governing Law"),
        ('{"label": "17"}', "License Grant"),
        ('{"label": {"name": "non-compete"}}', "Non-compete"),
        ('{"labels": ["Non-compete"]}', "Non-compete"),
        ("The aspects present in this clause are: #Non-compete", "Non-compete"),
    ],
)
def test_choice_is_read(text: str, expected: str) -> None:
    assert choice(text) == expected


@each_row(
    ("text", "message"),
    [
        ("The label is Licence", '"Licence"'),
        ("The label is 99", '"99"'),
        ("The label is Non-compete or License Grant", "more than one label"),
        ("The label is Non-compete, License Grant", "more than one label"),
        ("The label is 17 (Governing Law)", "more than one label"),
        ('{"labels": ["Non-compete", 3]}', "more than one label"),
        ("The label is none", "does not choose"),
        ('{"label": true}', "not in the codebook"),
        ("The label is not 3.", NO_DECISION),
        ("It is 3.", NO_DECISION),
    ],
)
def test_reply_without_a_single_choice_has_a_problem(text: str, message: str) -> None:
    assert message in problem(text, CLAUSES)


STANCE = make("For", "Neither", "Not mentioned", "Never mind", kind="choice")


@each_row(
    ("text", "expected"),
    [
        ("The label is Neither", "Neither"),
        ("It could be For. The label is: **neither**.", "Neither"),
        ("The label is not mentioned", "Not mentioned"),
        ("The label is Not mentioned because the text is about cats", "Not mentioned"),
        ("The label is never mind.", "Never mind"),
        ("The label is For. The label is not mentioned in the text.", "For"),
        ("The label is For. The label is neither weak nor strong.", "For"),
    ],
)
def test_label_name_can_begin_like_a_denial(text: str, expected: str) -> None:
    (value,) = read(text, STANCE).values.values()
    assert {label.id: label.name for label in STANCE.labels}[str(value)] == expected
    aspects = make("Food", "Not relevant")
    listed = read("The aspects present in this text are: Not relevant, Food", aspects)
    assert present(listed, aspects) == {"Not relevant", "Food"}


@each_row(
    ("text", "is_open"),
    [
        ("I cannot tell.\nUndecided: the label", True),
        ("**Undecided:** too little to go by", True),
        ("Undecided: none", False),
        ("Undecided:", False),
    ],
)
def test_choice_can_be_left_open(text: str, is_open: bool) -> None:
    reading = read(text, STANCE)
    assert not reading.values
    assert (set(reading.undecided) == {CHOICE_ITEM}) is reading.readable is is_open
    assert read(f"The label is For\n{text}", STANCE).values


def test_undecided_choice_is_readable() -> None:
    reading = read("No word fits.\nUndecided: #License Grant, #Non-compete", CLAUSES)
    assert reading.undecided == {"label": "left undecided"}
    assert reading.readable
    assert choice("Undecided: #License Grant\nThe label is 3") == "Governing Law"


def test_cut_choice_is_read_only_if_complete() -> None:
    assert problem("The label is 1. So the label is 1", CLAUSES, finish_reason="length") == CUT
    assert choice("The label is 1\nbeca", finish_reason="length") == "Non-compete"


def ratings(text: str, codebook: Codebook = SUMMARY, **more: str) -> dict[str, object]:
    reading = read(text, codebook, **more)
    assert reading.problem == ""
    assert set(reading.values) | set(reading.undecided) == set(codebook.items)
    return {codebook.label(item).name: value for item, value in reading.values.items()}


@each_row(
    ("text", "expected"),
    [
        ("Final ratings:\nFluency: 4\nEffect Direction: 3.5\nPIO Consistency: 5/5", [4, 3.5, 5]),
        ("Final ratings: Fluency: 4, Effect Direction: 2; PIO Consistency: 1", [4, 2, 1]),
        (
            "**Final Ratings**\n\n- **Fluency**: 4 (reads well)\n- Effect Direction - 3\n| PIO Consistency | 2 |",
            [4, 3, 2],
        ),
        (
            "Final ratings:\n1. #fluency = 4\n2. EFFECT direction: 4 out of 5\n3. PIO Consistency: **3** stars",
            [4, 4, 3],
        ),
        ('{"ratings": {"PIO Consistency": 2, "Fluency": 4, "Effect Direction": "3"}}', [4, 3, 2]),
        (
            '{"ratings": [{"dimension": "Fluency", "rating": 4}, {"name": "Effect Direction", "score": 3.0},'
            ' {"label": "PIO Consistency", "rating": {"value": 1}}]}',
            [4, 3.0, 1],
        ),
        ("Fluency: 1\nFinal ratings:\nFluency: 4\nEffect Direction: 3\nPIO Consistency: 2\nFluency: 4", [4, 3, 2]),
        (
            "Final ratings:\nFluency: 1\n\nFinal ratings:\nFluency: 4\nEffect Direction: 3\nPIO Consistency: 2",
            [4, 3, 2],
        ),
        ("Final Decision:\nFluency: ４\nEffect Direction: 3\nReason: short\nPIO Consistency: 2", [4, 3, 2]),
    ],
)
def test_ratings_are_read(text: str, expected: list[float]) -> None:
    result = ratings(text)
    assert result == dict(zip(("Fluency", "Effect Direction", "PIO Consistency"), expected, strict=True))
    assert [type(value) for value in result.values()] == [type(value) for value in expected]


@each_row(
    ("rating", "reason"),
    [
        ("9", "9 is outside 1 to 5"),
        ("-1", "-1 is outside 1 to 5"),
        ("99999999999999999999", "not a number"),
        ("good", '"good" is not a number'),
        ("4-5", "not a number"),
        ("4 or 5", "not a number"),
        ("4,5", "not a number"),
        ("4²", "not a number"),
        ("80%", "not a number"),
        ("4/10", "not on the scale to 5"),
        ("n/a", "left undecided"),
        ("4\nEffect Direction: 3", "rated 4 and 3"),
    ],
)
def test_unreadable_rating_is_undecided_with_a_reason(rating: str, reason: str) -> None:
    text = f"Final ratings:\nFluency: 4\nPIO Consistency: 4\nEffect Direction: {rating}"
    reading = read(text, SUMMARY)
    assert ratings(text) == {"Fluency": 4, "PIO Consistency": 4}
    assert [reason in reason_given for reason_given in reading.undecided.values()] == [True]


def test_missing_unknown_and_undecided_ratings_are_reported() -> None:
    reading = read("Undecided: #Fluency\nFinal ratings:\nFluency: 4\nOverall: 3\nEffect Direction: 2", SUMMARY)
    fluency, effect, pio = SUMMARY.items
    assert reading.values == {effect: 2}
    assert reading.undecided == {fluency: "left undecided", pio: "no rating given"}
    assert reading.unknown == ("Overall",)
    assert "no dimension has a rating" in problem("Final ratings:\nFluency: high", SUMMARY)
    assert problem("Fluency: 4", SUMMARY) == NO_DECISION
    assert "not in the codebook" in problem('{"ratings": {"Tone": 4}}', SUMMARY)


@each_row("name", ["label", "Name", "dimension", "scale", "text"])
def test_dimension_can_have_the_name_of_a_key(name: str) -> None:
    codebook = Codebook(kind="rating", labels=(Label(name=name), Label(name="Tone")))
    for reply in (
        f'{{"ratings": {{"{name}": 4, "Tone": 2}}}}',
        f'{{"{name}": 4, "Tone": 2}}',
        f'{{"ratings": [{{"dimension": "{name}", "rating": 4}}, {{"dimension": "Tone", "rating": 2}}]}}',
        f'{{"ratings": {{"{name}": {{"rating": 4}}, "Tone": {{"rating": 2}}}}}}',
    ):
        assert ratings(reply, codebook) == {name: 4, "Tone": 2}


def test_invalid_json_numbers_are_not_ratings() -> None:
    text = '{"ratings": {"Fluency": true, "Effect Direction": null, "PIO Consistency": NaN}}'
    assert "no dimension has a rating" in problem(text, SUMMARY)
    assert "outside" in problem('{"ratings": {"Fluency": ' + "9" * 5000 + "}}", SUMMARY)


def test_cut_ratings_are_read_only_if_complete() -> None:
    text = "Final ratings:\nFluency: 4\nEffect Direction: 3\nPIO Consistency: 2"
    assert problem(text, SUMMARY, finish_reason="length") == CUT
    assert problem(text[:-20], SUMMARY, finish_reason="length") == CUT
    assert len(ratings(text + "\n", finish_reason="length")) == 3


def test_free_text_is_read_according_to_the_kind_of_codebook() -> None:
    assert present(read("The aspects present in this review are: #Food", HOTEL)) == {"Food"}
    assert read("The label is 3", CLAUSES).values == {"label": CLAUSES.labels[0].id}
    assert read("Final ratings: Fluency: 3", SUMMARY).values == {SUMMARY.items[0]: 3}
    assert read("I agree.", HOTEL).problem == NO_DECISION


def test_unit_can_contain_a_verb() -> None:
    codebook = make("Food", unit="pair of what is asked and what are the answers")
    assert names(f"The aspects present in this {codebook.unit} are: #Food", codebook) == {"Food"}


@each_row(
    ("text", "expected"),
    [
        ("The FOOD and the **service**.", {"Food", "Service"}),
        ("Food and drinks were fine", {"Food and drinks"}),
        ("foods, services", set()),
        ("seafood, food-related", {"Food"}),
        ("priceless Location's", {"Location"}),
        ("<think>Food</think> Price", {"Price"}),
        ("", set()),
    ],
)
def test_mentioned_labels_are_found(text: str, expected: set[str]) -> None:
    assert {HOTEL.label(item).name for item in mentions(text, HOTEL)} == expected


def test_mentions_in_scripts_without_spaces() -> None:
    codebook = make("服务", "서비스", "C++", "❤️")
    assert len(mentions("这里的服务很好。서비스는 C++ ❤", codebook)) == 4
    assert mentions("AC++ ❤️", codebook) == {codebook.labels[3].id}


def test_unknown_names_are_storable_and_limited() -> None:
    reading = read('{"labels": ["\\ud800x", "Food"]}', HOTEL)
    assert reading.unknown == ("\ufffdx",)
    reading = read("Final Decision: Food, " + ", ".join(f"x{n}" for n in range(1000)), HOTEL)
    assert len(reading.unknown) == 50


def test_codebook_without_labels() -> None:
    codebook = make()
    assert "not in the codebook" in problem("Final Decision: Food", codebook)
    assert read("Final Decision: none", codebook).readable
    assert mentions("Food", codebook) == frozenset()


PIECES = st.sampled_from(
    [
        "The aspects present in this review are: ", "Final Decision:", "The label is ", "Final ratings:",
        "Undecided: ", '{"labels": [', '{"ratings": {"Fluency": ', "]}", "}}", '"', "“", "”", "«", "»", "'", "\n",
        "\n- ", "\n\n", "```", "#", "**", ", ", ": ", ".", " and ", "not ", "none", "Food", "Food and drinks",
        "Fluency", "License Grant", "3", "17", "(", ")", "[ ]", "<think>", "</think>", "…", "\u200f", "é", "e\u0301",
        "\ud800", "\x00", "服务", "{", "\\",
    ]
)  # fmt: skip
REPLIES = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=25).map("".join))


@settings(max_examples=400, deadline=None)
@given(REPLIES, st.sampled_from([HOTEL, CLAUSES, SUMMARY]), st.sampled_from(["stop", "length"]))
def test_any_text_can_be_read(text: str, codebook: Codebook, finish_reason: str) -> None:
    reading = read(text, codebook, finish_reason=finish_reason)
    assert reading == read(text, codebook, finish_reason=finish_reason)
    assert not set(reading.values) & set(reading.undecided)
    if reading.problem:
        assert not reading.values
        assert "\n" not in reading.problem
    elif codebook.kind == "multilabel":
        assert set(reading.values) | set(reading.undecided) == {label.id for label in codebook.labels}
        assert all(isinstance(value, bool) for value in reading.values.values())
    elif codebook.kind == "choice":
        assert set(reading.values) | set(reading.undecided) == {"label"}
    for name in reading.unknown:
        name.encode()
    assert mentions(text, codebook) <= {label.id for label in codebook.labels}


# Text without characters that quote or hide the rest of the reply or that leave labels open.
OPEN = st.text(st.characters(exclude_characters='"“”„«»<{[', exclude_categories=("Cs",)), max_size=100)


@settings(max_examples=300, deadline=None)
@given(st.lists(OPEN | PIECES.filter(lambda piece: not set(piece) & set('"“”„«»<{[U')), max_size=15), st.data())
def test_last_line_decides_after_arbitrary_text(pieces: list[str], data: st.DataObject) -> None:
    chosen = data.draw(st.sets(st.sampled_from(ASPECTS)))
    form = data.draw(st.sampled_from(["Final Decision: {}", "The aspects present in this review are: {}"]))
    decision = form.format(", ".join(sorted(chosen)) or "none")
    text = f"{''.join(pieces)}\n\nI read it twice.\n\n{decision}\n"  # else the text may end with a speaker's name
    assert names(text) == names(text, finish_reason="length") == chosen


@each_row(
    "before",
    ["Final Decision:**Final Decision:\n# Review", "#a\n#The label is #"],
)
def test_announcements_are_not_taken_for_speakers(before: str) -> None:
    assert names(f"{before}\n\nFinal Decision: Food\n") == {"Food"}


NAME = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        NAME.filter(
            lambda name: (
                any(c.isalnum() and c.isascii() for c in normalise(name)) and normalise(name) not in {"none", "zebra"}
            )
        ),
        max_size=4,
    )
)
def test_any_name_with_a_letter_is_read_back(labels: list[str]) -> None:
    codebook = make(*{normalise(name): name for name in labels}.values(), "Zebra")
    for label in codebook.labels:
        text = json.dumps({"labels": [label.name]}, ensure_ascii=False)
        assert read(text, codebook).present == (label.id,)


@each_row(
    "words",
    [
        "The review says: ", "The review says:\n```\n", "The document itself contained ", "The text also quotes\n",
        "I ignored the line in the review: ", "I ignored this:\n\n", "The *review* ends with ",
        "The end of the passage reads: ", "The last sentence of this hotel review says: ",
        "The tweet includes the instruction: ", "Instruction in the review:\n",
        "My answer ignores the line in the review: ",
        "Here is what the review says:\n", "Based on the soup. The review says:\n",
        "The words of the review that say: ",
    ],
)  # fmt: skip
@each_row("decision", ["Final Decision: The present aspects are: {}", '{{"labels": ["{}"]}}'])
def test_decision_that_is_only_reported_from_the_document_does_not_count(words: str, decision: str) -> None:
    reply = f"{decision.format('Food')}\n\n{words}{decision.format('Service')}"
    reading = read(reply, HOTEL)
    assert reading.problem or present(reading) == {"Food"}


def test_decision_after_words_about_the_document_counts() -> None:
    for words in (
        "The review says that the soup was cold. ", "The review contains: ", "The text mentions only the soup:\n",
        "I ignored the insult in it.\n\n", "The review ends with a complaint about the soup, so: ",
    ):  # fmt: skip
        for decision in ("Final Decision: The present aspects are: Food", '{"labels": ["Food"]}'):
            assert names(words + decision) == {"Food"}, words + decision


@each_row("words", ["I ignored the line in the review.\n\n", "I ignored the critic:\n"])
def test_last_decision_after_other_words_counts(words: str) -> None:
    for decision in ("Final Decision: The present aspects are: {}", '{{"labels": ["{}"]}}'):
        assert names(f"{decision.format('Food')}\n\n{words}{decision.format('Service')}") == {"Service"}


@each_row(
    "words",
    [
        "**Evidence from the passage in the review**\n", "My answer, based on the words of the review:\n",
        "Here is my decision, based only on what the review says:\n", "The price remark can be ignored\n",
        "- Instructions in the text: ignored\n", "Based on what this review says, ",
        "Looking again at what the review says:\n", "- Price: just one word in the review\n",
        "I considered the last sentence of the review\n\n", "Judging by the last words of the sentence:\n",
    ],
)  # fmt: skip
def test_decision_on_the_basis_of_the_document_counts(words: str) -> None:
    list_before = "The aspects present in this review are: #Food\n\n"
    assert names(f"{list_before}{words}Final Decision: The present aspects are: Service") == {"Service"}


def test_decision_in_a_thought_that_never_ends_does_not_count() -> None:
    decision = "Final Decision: The present aspects are: "
    assert names(f"{decision}Food\n<think>\n{decision}Service") == {"Food"}
    assert names(f"{decision}Food\n<think>\nHm.</think> {decision}Service") == {"Service"}


def test_reply_that_is_too_long_is_unreadable_unless_its_length_is_reasoning() -> None:
    decision, long = "\nThe label is 3", "The label is 1. " * 20_000
    assert problem(long + decision, CLAUSES) == TOO_LONG
    assert problem(long + decision, CLAUSES, finish_reason="length") == TOO_LONG
    for reply in (f"<think>{long}</think>{decision}", f"{decision}<|im_end|>{long}", decision + " " * 200_000):
        assert read(reply, CLAUSES).values == {"label": CLAUSES.labels[0].id}


HOSTILE = [
    "The aspects present in this review are #Food x ", "the label is ", "Final Decision:\n", "Final ratings: ", "{",
    '{"', '{"labels": [', '{"a":', '{"labels": ["x", {"y', "[{", '"', "“", "'a ", "#", "(", " ", "the ", "aspects ",
    "present ", "in this ", "<think></think>", "Service or ", "\u0301\u0327", "Food: 4\n", "Undecided: #Food\n",
    'Food "x" ', "none of the ", "and ", "- \n", "\\", "Service (", "...", "\u202e", "_",
    "\n<think>", "<analysis>x ", "The review says:\nFinal Decision:\n",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    def read_pieces(size: int) -> None:
        text = piece * (size // len(piece))
        for finish_reason in ("stop", "length"):
            parse_markers.cache_clear()
            read(text, HOTEL, finish_reason=finish_reason)
        mentions(text, HOTEL)

    # From about 3,000 characters on, nested objects cost more.
    check_linear_time(read_pieces, 24_000 if "{" in piece else 6_000)


AFTER_A_DECISION = (
    "\n", "\r", "\u2028", " \n", ".\n", "-\n", "✓\r", "İ", "!", "Food: yes\n", "3. ", "the critic is right about Food ",
    "The Service would be if would be if ", '{"present": ["Food"]}\n', "Answer: Food\n", "Better: Food, ",
    "Response: Food\n",
)  # fmt: skip


@pytest.mark.parametrize("piece", AFTER_A_DECISION)
@pytest.mark.parametrize("codebook", [HOTEL, CLAUSES, SUMMARY], ids=["labels", "choice", "ratings"])
def test_hostile_text_after_an_announced_decision_takes_linear_time(piece: str, codebook: Codebook) -> None:
    def read_pieces(size: int) -> None:
        for decision in ("Final Decision: ", "Final Decision: Food\n"):
            parse_markers.cache_clear()
            read(decision + piece * (size // len(piece)), codebook)

    check_linear_time(read_pieces, 6_000)


@pytest.mark.parametrize("piece", ["Fluency a b c d ", "Fluency is 2, ", "3 for Fluency ", "(1-", "|\n"])
def test_hostile_text_after_ratings_takes_linear_time(piece: str) -> None:
    ratings = "Final Ratings:\nFluency: 3\nEffect Direction: 3\nPIO Consistency: 3\n"

    def read_pieces(size: int) -> None:
        for before in ("", "initially "):
            read(f"{ratings}{before}{piece * (size // len(piece))}", SUMMARY)

    check_linear_time(read_pieces, 6_000)


def test_ratings_are_checked_against_the_scale_of_their_dimension() -> None:
    labels = [{"name": "Fluency", "scale": {"min": 0, "max": 2}}, {"name": "Overall", "scale": {"min": 1, "max": 7}}]
    codebook = parse_codebook({"kind": "rating", "labels": labels})
    for text in ("Final Ratings:\nFluency: 3\nOverall: 7/7", '{"ratings": {"Fluency": 3, "Overall": 7}}'):
        result = read(text, codebook)
        assert list(result.values.values()) == [7]
        assert list(result.undecided.values()) == ["3 is outside 0 to 2"]
