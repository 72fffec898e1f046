"""Net effect of a change of a label's words on documents with known labels."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core import baseline
from core.codebook import Codebook, Label
from core.services.codebooks import codebook as codebooks
from core.services.codebooks.net_effect import NetEffect, net_effect

BOOK = Codebook(labels=(Label(name="Service", keywords=("staff",)), Label(name="Food", keywords=("soup",))))
SERVICE, FOOD = (label.id for label in BOOK.labels)
KNOWN = [
    ("The porter helped.", {SERVICE: True}),
    ("A porter smiled at the staff.", {SERVICE: True}),
    ("Porter and stout on tap.", {SERVICE: False}),
    ("The porters carried it all.", {SERVICE: True}),
    ("We slept.", {SERVICE: False}),
]


def test_counts_what_a_keyword_corrects_and_breaks() -> None:
    after = codebooks.change_label(BOOK, SERVICE, keywords=("staff", "porter"))
    effect = net_effect(BOOK, after, KNOWN)
    assert effect == NetEffect(corrected=2, regressed=1, documents=5)
    assert effect.net == 1
    assert effect.pays
    assert str(effect) == "Word-list baseline: +2 right, -1 wrong on 5 labelled documents"


def test_removing_a_keyword_has_the_opposite_effect() -> None:
    before = codebooks.change_label(BOOK, SERVICE, keywords=("staff", "porter"))
    effect = net_effect(before, BOOK, KNOWN)
    assert effect == NetEffect(1, 2, 5)
    assert not effect.pays


def test_a_change_that_breaks_as_much_as_it_corrects_does_not_pay() -> None:
    assert not NetEffect(1, 1, 9).pays
    assert NetEffect(0, 0, 9).pays


def test_a_choice_changes_if_another_label_wins() -> None:
    book = BOOK.model_copy(update={"kind": "choice"})
    after = codebooks.change_label(book, SERVICE, keywords=("staff", "porter", "tray"))
    known = [("A porter with a tray of soup", {SERVICE: True, FOOD: False})]
    assert net_effect(book, after, known) == NetEffect(1, 0, 1)


def test_a_word_that_another_label_loses_counts() -> None:
    after = codebooks.change_label(BOOK, SERVICE, keywords=("staff", "soup spoon"))
    assert net_effect(BOOK, after, [("Soup spoons lay there.", {SERVICE: False, FOOD: True})]) == NetEffect(0, 2, 1)


def test_an_exception_that_another_label_has_already_counts() -> None:
    before = codebooks.change_label(BOOK, FOOD, exclude=("staff",))
    after = codebooks.change_label(before, SERVICE, exclude=("staff",))
    known = [("staff", {SERVICE: False, FOOD: False})]
    assert net_effect(before, after, known).net == right(after, known) - right(before, known)


WORDS = ("soup", "spoon", "soup spoon", "staff", "porter", "bread", "rude staff", "fee")
TEXTS = st.lists(st.sampled_from(["soup", "spoon", "staff", "porter", "bread", "rude", "fee", "and", "."]), max_size=7)
LESSONS = st.tuples(
    st.sampled_from([SERVICE, FOOD]), st.sampled_from(["keywords", "include", "exclude"]), st.sampled_from(WORDS)
)


def right(book: Codebook, known: list[tuple[str, dict[str, bool]]]) -> int:
    return sum((label in baseline.select(book, text)) == value for text, own in known for label, value in own.items())


@given(
    st.lists(st.tuples(TEXTS.map(" ".join), st.fixed_dictionaries({SERVICE: st.booleans(), FOOD: st.booleans()})),
             min_size=1, max_size=8),
    st.lists(LESSONS, min_size=1, max_size=6),
)  # fmt: skip
def test_lessons_that_pay_never_lower_the_number_of_right_decisions(
    known: list[tuple[str, dict[str, bool]]], lessons: list[tuple[str, str, str]]
) -> None:
    book = BOOK
    for label, part, text in lessons:
        after = codebooks.change_label(book, label, **{part: (*getattr(book.label(label), part), text)})
        effect = net_effect(book, after, known)
        assert right(after, known) - right(book, known) == effect.net
        if effect.pays:
            assert right(after, known) >= right(book, known)
            book = after
    assert right(book, known) >= right(BOOK, known)
