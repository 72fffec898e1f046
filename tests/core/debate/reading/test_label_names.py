from __future__ import annotations

from core.debate.reading.label_names import Names, split_ordinals
from tests.each_row import each_row


def names(*labels: str) -> Names:
    return Names(tuple((label, label, None) for label in labels))


TOPICS = names("Law and order", "Food & Drink", "Pro-government", "Battery life", "Health", "Sci/Tech")


@each_row(
    ("text", "found"),
    [
        ("law & order", "Law and order"),
        ("Law-and-order", "Law and order"),
        ("#LawAndOrder", "Law and order"),
        ("food and drink", "Food & Drink"),
        ("#FoodDrink", "Food & Drink"),
        ("pro government", "Pro-government"),
        ("Battery-life", "Battery life"),
        ("#batterylife", "Battery life"),
        ("pro–government", "Pro-government"),
        ("Sci-Tech", "Sci/Tech"),
        ("Sci & Tech", "Sci/Tech"),
        ("sci tech", "Sci/Tech"),
    ],
)
def test_finds_name_with_other_marks_between_its_words(text: str, found: str) -> None:
    assert [mention.item for mention in TOPICS.mentions(text)] == [found]
    assert TOPICS.find(text) == found


@each_row("text", ["batterylife", "law, order", "#lawless", "battery - life", ""])
def test_does_not_find_other_words(text: str) -> None:
    assert TOPICS.mentions(text) == []


def test_name_whose_words_are_labels_is_found_only_as_written() -> None:
    labels = names("Food", "Food & Drink", "Room", "Service", "Room service")
    assert [mention.item for mention in labels.mentions("food and drink")] == ["Food"]
    assert [mention.item for mention in labels.mentions("#roomservice")] == []
    assert [mention.item for mention in labels.mentions("food & drink, room service")] == [
        "Food & Drink",
        "Room service",
    ]


def test_spelling_of_two_names_finds_neither() -> None:
    assert names("Co op", "Co-op").find("coop") is None


@each_row(
    ("line", "split"),
    [
        ("1. Health 2. Battery life", "   Health ;  Battery life"),
        ("1) Health, 2) Battery life", "   Health,    Battery life"),
        ("a) **Health** b) Battery life", "   **Health** ;  Battery life"),
        ("1. Health 3. Battery life", "1. Health 3. Battery life"),
        ("1. Health 2. Weather", "1. Health 2. Weather"),
        ("1. Health", "1. Health"),
        ("", ""),
    ],
)
def test_splits_numbered_names_of_a_line(line: str, split: str) -> None:
    assert split_ordinals(line, TOPICS) == split


@each_row("style", ["{}. {}", "{}) {}", "({}) {}", "{}.{}", "{}: {}", "{} - {}"])
def test_numbered_name_is_found_without_its_number_and_by_it(style: str) -> None:
    first, second = labels = (style.format(1, "Aim"), style.format(2, "Method"))
    index = names(*labels)
    assert [index.find(text) for text in (first, "aim", "Method")] == [first, first, second]
    assert [mention.item for mention in index.mentions("#Method, aim")] == [second, first]
    assert [index.find_code(number) for number in (1.0, 2.0, 3.0)] == [first, second, None]


def test_number_of_a_name_is_not_a_code_beside_codes_and_other_names() -> None:
    coded = Names((("a", "1. Aim", 2.0), ("b", "2. Method", 1.0)))
    assert (coded.find_code(1.0), coded.find_code(2.0)) == ("b", "a")
    assert names("1. Aim", "Aim").find("aim") == "Aim"
    assert names("1. Aim", "2. Aim").find("aim") is None
    assert names("2.5", "1:1").find("5") is None
