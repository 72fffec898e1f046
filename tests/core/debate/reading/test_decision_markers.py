"""Tests of decision markers: who announces a decision."""

from __future__ import annotations

import pytest

from core.codebook import Codebook, Label
from core.debate.reading.parse import parse_markers, read
from tests.each_row import each_row
from tests.linear_time import check_linear_time

UNIT = "hotel review"
FOOD_OR_POOL = Codebook(unit=UNIT, kind="choice", labels=(Label(name="Food", id="f"), Label(name="Pool", id="p")))


@each_row(
    ("reply", "expected"),
    [
        ("Prosecution: The label is Food.\nDefence: The label is Pool.", None),
        ("Extractor: The label is Food.\nCritic: The label is Pool.", None),
        ("**Anna (guests):** The label is Food.\n**Tom (staff):** The label is Pool.", None),
        ("## Prosecution\nThe label is Food\n\n## Defence\nThe label is Pool", None),
        ("In the defence's view, the label is Pool.", None),
        ("In the critic's list the label is Pool.", None),
        ("I agree with the critic's choice: Pool", "p"),
        ("The label is Food\n\n<document>\nWe swam.\n</document>\n\nThe label is Pool", None),
        ("According to Analysis 1, the label is Pool.", None),
        ("Prosecution: The label is Food. Defence: The label is Pool.", None),
        ("Prosecution: The label is Food.\nDefence: The label is Pool.\nJudge: The label is Food.", "f"),
        ("Anna: The label is Pool. Tom: The label is Food. Decision: The label is Food.", "f"),
        ("Analysis 1: The label is Food.\nAnalysis 2: The label is Pool.\n\nFinal Decision: The label is Food", "f"),
        ("Reasoning: The label is Food, not Pool.\n\nAnswer:\nThe label is Food", "f"),
        ("Extractor: The label is Food.", "f"),  # models often put their own role first
        ("The defence is right about the pool.\nFinal Decision: The label is Pool", "p"),
    ],
)
def test_decisions_of_other_speakers_and_on_other_documents_are_not_the_replys_own(
    reply: str, expected: str | None
) -> None:
    reading = read(reply, FOOD_OR_POOL)
    assert reading.values == ({} if expected is None else {"label": expected})


@each_row(
    "reply",
    [
        "It could be that the label is Food",
        "It is possible that the label is Food.",
        "Possibly the label is Food.",
        "The document contains the line Final Decision: The label is Food",
        "The review ends with the instruction Final Decision: Food",
        "Final Decision: Food, which I ignore.",
    ],
)
def test_supposed_and_ignored_decisions_do_not_count(reply: str) -> None:
    assert read(reply, FOOD_OR_POOL).values == {}


ABSENT_IN_OTHER_WORDS = ("Los aspectos no presentes son", "不存在的方面", "未提到的方面", "没有在文中提到的方面")


@each_row("heading", ABSENT_IN_OTHER_WORDS)
def test_heading_of_absent_labels_does_not_announce_the_present_ones(heading: str) -> None:
    codebook = Codebook(unit=UNIT, labels=(Label(name="Food", id="f"), Label(name="Pool", id="p")))
    assert read(f"{heading}: Pool", codebook).values == {}
    for separator in ("\n", "; ", ". "):
        reading = read(f"The aspects present are: Food{separator}{heading}: Pool", codebook)
        assert reading.values in ({}, {"f": True, "p": False})


@each_row("text", ["Food：有\nPool：无", "Food：提到\nPool：未提到", "存在的方面：Food", "最终决定：Food"])
def test_decisions_in_chinese_are_read(text: str) -> None:
    codebook = Codebook(unit=UNIT, labels=(Label(name="Food", id="f"), Label(name="Pool", id="p")))
    assert read(text, codebook).values == {"f": True, "p": False}


def test_labels_joined_by_a_chinese_word_are_read() -> None:
    codebook = Codebook(unit=UNIT, labels=(Label(name="服务", id="s"), Label(name="价格", id="p")))
    assert read("最终决定：服务和价格", codebook).values == {"s": True, "p": True}


@each_row(
    "heading",
    [
        "The aspects present in this hotel review seem to be:",
        "The aspects present in this hotel review aren't:",
        "The aspects present in this hotel review cannot be:",
        "The aspects present in this hotel review are supposedly:",
        "The supposedly present aspects are:",
        "Arguably the aspects present are:",
        "Potentially, the following aspects are present:",
        "The review questionably mentions the aspects:",
        "The aspects falsely present are:",
        "The aspects present in the draft are:",
        "The aspects present in the example are:",
        "The aspects present in both are:",
        "The aspects mentioned by the critic are:",
        "The aspects mentioned in the guideline are:",
        "The labels in the codebook are:",
        "The aspects in dispute are:",
    ],
)
def test_list_of_other_labels_is_not_a_decision(heading: str) -> None:
    codebook = Codebook(unit=UNIT, labels=(Label(name="Food", id="f"), Label(name="Pool", id="p")))
    assert read(f"{heading} Food", codebook).values == {}
    assert read(f"{heading} Food\n\nFinal Decision: Pool", codebook).values == {"f": False, "p": True}


@each_row("unit", ["prompt", "instruction", "example", "guideline", "draft", "definition", "user prompt"])
def test_unit_of_the_codebook_is_not_another_text(unit: str) -> None:
    codebook = Codebook(unit=unit, labels=(Label(name="Food", id="f"), Label(name="Pool", id="p")))
    noun = unit.split()[-1]
    for heading in (f"The aspects present in the {noun} are", f"Mentioned in the {noun}", "Present in both sentences"):
        assert read(f"{heading}: Food", codebook).values == {"f": True, "p": False}
    other = "example" if noun == "prompt" else "prompt"
    assert read(f"The aspects present in the {other} are: Food", codebook).values == {}


@each_row("unit", ["tweet (not a retweet)", "never-event report", "Possibly false claim", "reply to another post"])
def test_words_of_the_unit_do_not_make_another_list(unit: str) -> None:
    codebook = Codebook(unit=unit, labels=(Label(name="Food", id="f"), Label(name="Pool", id="p")))
    assert read(f"The aspects present in this {unit} are: #Food", codebook).values == {"f": True, "p": False}
    assert read(f"The aspects present in this {unit} are: none", codebook).values == {"f": False, "p": False}
    assert read(f"The aspects never present in this {unit} are: #Food", codebook).values == {}
    assert read("The aspects present in this post are not: #Food", codebook).values == {}


@each_row(
    ("reply", "expected"),
    [
        ("Label: Food (unsicher)", None),
        ("Label: Food (pas sûr)", None),
        ("标签：Food（不确定）", None),
        ("Das Label ist Food, nicht Pool.", "f"),
        ("L'étiquette est Food, pas Pool.", "f"),
        ("类别：Food", "f"),
    ],
)
def test_hedges_and_contrasts_in_other_languages_are_read(reply: str, expected: str | None) -> None:
    assert read(reply, FOOD_OR_POOL).values == ({} if expected is None else {"label": expected})


@pytest.mark.parametrize("piece", ["``` or \\boxed{not", "The label is not é "])
def test_many_denied_decisions_on_a_line_take_linear_time(piece: str) -> None:
    def find_markers(size: int) -> None:
        parse_markers.cache_clear()
        parse_markers(piece * (size // len(piece)), FOOD_OR_POOL)

    check_linear_time(find_markers, 24_000)
