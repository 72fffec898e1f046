"""Tests of the net effect of a keyword or example change on documents with known labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import baseline
from core.codebook import Codebook, Label
from core.services.codebooks import codebook as codebooks
from core.services.codebooks.net_effect import NetEffect, net_effect, reviewed_labels
from core.stats.flips import trace
from core.stats.scoring import score
from core.store.project import Project
from tests.core.services.sample_world import session_with_runs
from tests.core.services.sessions import decide

BOOK = Codebook(labels=(Label(name="Service", keywords=("staff",)), Label(name="Food", keywords=("soup",))))
SERVICE, FOOD = (label.id for label in BOOK.labels)
KNOWN = [
    ("The gondolier sang.", {SERVICE: True}),
    ("A gondolier waved at the staff.", {SERVICE: True}),
    ("Gondolier and stout on tap.", {SERVICE: False}),
    ("The gondoliers carried it all.", {SERVICE: True}),
    ("We slept.", {SERVICE: False}),
]


def test_net_effect_counts_corrections_and_regressions_of_a_keyword() -> None:
    after = codebooks.change_label(BOOK, SERVICE, keywords=("staff", "gondolier"))
    effect = net_effect(BOOK, after, KNOWN)
    assert effect == NetEffect(corrected=2, regressed=1, documents=5)
    assert effect.net == 1
    assert effect.pays
    assert str(effect) == "Word-list baseline on 5 labelled documents: corrects 2 errors, introduces 1"


def test_change_in_macro_f1_matches_hand_counts() -> None:
    after = codebooks.change_label(BOOK, SERVICE, keywords=("staff", "gondolier"))
    # Service: one of three found, then three with one false positive. Food is in no document and has no F1.
    known = [(text, {**labels, FOOD: False}) for text, labels in [*KNOWN, ("The soup was cold.", {SERVICE: False})]]
    assert net_effect(BOOK, after, known).f1_change == pytest.approx(6 / 7 - 1 / 2)
    # A label that is never found has an F1 of 0, and so has the mean of no label.
    assert net_effect(BOOK, after, KNOWN[:1]).f1_change == 1.0
    assert net_effect(BOOK, after, KNOWN[4:]).f1_change == 0.0


SENTENCES = ("The staff waved.", "A gondolier sang.", "Soup for the staff.", "We slept.", "A gondolier and soup.")


@given(
    st.lists(
        st.tuples(st.sampled_from(SENTENCES), st.dictionaries(st.sampled_from(BOOK.items), st.booleans(), min_size=1)),
        min_size=1,
    )
)
def test_effect_is_that_of_two_runs_in_evaluate(known: list[tuple[str, dict[str, bool]]]) -> None:
    after = codebooks.change_label(BOOK, SERVICE, keywords=("staff", "gondolier"))
    after = codebooks.change_label(after, FOOD, keywords=())
    items = sorted({item for _, labels in known for item in labels})
    reference = np.array([[labels.get(item, -1) for item in items] for _, labels in known])
    before, now = (
        np.array([[item in baseline.select(book, text) for item in items] for text, _ in known]).astype(int)
        for book in (BOOK, after)
    )
    effect = net_effect(BOOK, after, known)
    changes = trace(reference, [("before", before), ("after", now)]).changes(0, 1)
    assert (effect.corrected, effect.regressed) == (changes.corrected.sum(), changes.regressed.sum())
    scores = [score("multilabel", reference, values, items, intervals=False)["macro_f1"] for values in (before, now)]
    assert effect.f1_change == pytest.approx((scores[1].value or 0) - (scores[0].value or 0))


def test_more_right_decisions_do_not_pay_if_they_lower_macro_f1() -> None:
    before = Codebook(labels=(BOOK.labels[0], Label(name="Craft", id="craft", keywords=("blimp",))))
    known = [*KNOWN, ("A gondolier bowed.", {SERVICE: True}), ("A blimp rose.", {"craft": True})]
    after = codebooks.change_label(before, SERVICE, keywords=("staff", "gondolier"))
    after = codebooks.change_label(after, "craft", keywords=("airship",))
    effect = net_effect(before, after, known)
    assert effect == NetEffect(corrected=3, regressed=2, documents=7)
    assert effect.f1_change == pytest.approx((8 / 9 + 0) / 2 - (2 / 5 + 1) / 2)
    assert not effect.pays


def test_effect_without_known_labels_is_unknown() -> None:
    after = codebooks.change_label(BOOK, SERVICE, keywords=("staff", "gondolier"))
    assert str(net_effect(BOOK, after, [])) == "Effect unknown until other documents are reviewed"


def test_removing_a_keyword_has_the_opposite_effect() -> None:
    before = codebooks.change_label(BOOK, SERVICE, keywords=("staff", "gondolier"))
    effect = net_effect(before, BOOK, KNOWN)
    assert effect == NetEffect(1, 2, 5)
    assert not effect.pays


def test_change_with_equal_corrections_and_regressions_does_not_pay() -> None:
    assert not NetEffect(1, 1, 9).pays
    assert NetEffect(0, 0, 9).pays


def test_choice_counts_as_changed_if_another_label_wins() -> None:
    book = BOOK.model_copy(update={"kind": "choice"})
    after = codebooks.change_label(book, SERVICE, keywords=("staff", "gondolier", "tray"))
    known = [("A gondolier with a tray of soup", {SERVICE: True, FOOD: False})]
    assert net_effect(book, after, known) == NetEffect(1, 0, 1)


def test_word_that_another_label_loses_counts() -> None:
    after = codebooks.change_label(BOOK, SERVICE, keywords=("staff", "soup spoon"))
    assert net_effect(BOOK, after, [("Soup spoons lay there.", {SERVICE: False, FOOD: True})]) == NetEffect(0, 2, 1)


def test_exception_that_another_label_already_has_counts() -> None:
    before = codebooks.change_label(BOOK, FOOD, exclude=("staff",))
    after = codebooks.change_label(before, SERVICE, exclude=("staff",))
    known = [("staff", {SERVICE: False, FOOD: False})]
    assert net_effect(before, after, known).net == count_correct(after, known) - count_correct(before, known)


WORDS = ("soup", "spoon", "soup spoon", "staff", "gondolier", "bread", "rude staff", "fee")
TEXTS = st.lists(
    st.sampled_from(["soup", "spoon", "staff", "gondolier", "bread", "rude", "fee", "and", "."]), max_size=7
)
CHANGES = st.tuples(
    st.sampled_from([SERVICE, FOOD]), st.sampled_from(["keywords", "include", "exclude"]), st.sampled_from(WORDS)
)


def test_description_that_makes_a_label_the_rest_counts() -> None:
    before = Codebook(labels=(*BOOK.labels, Label(name="Remarks", description="Remarks")))
    remarks = before.labels[-1].id
    after = codebooks.change_label(before, remarks, description="Remarks, anything else")
    known = [("We slept all the night.", {remarks: True}), ("The soup was hot.", {remarks: False})]
    assert net_effect(before, after, known) == NetEffect(corrected=1, regressed=0, documents=2)


def test_changes_to_one_codebook_read_a_text_without_changed_words_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    def select(codebook: Codebook, text: str) -> frozenset[str]:
        read.append(text)
        return select_labels(codebook, text)

    select_labels = baseline.select
    monkeypatch.setattr(baseline, "select", select)
    before = codebooks.change(BOOK, name="read once")
    after = codebooks.change_label(before, SERVICE, keywords=("staff", "bellboy"))
    for left_out in range(len(KNOWN)):
        net_effect(before, after, [*KNOWN[:left_out], *KNOWN[left_out + 1 :]])
    assert sorted(read) == sorted(text for text, _ in KNOWN)


def count_correct(book: Codebook, known: list[tuple[str, dict[str, bool]]]) -> int:
    return sum(
        (label in baseline.select(book, text)) == value for text, labels in known for label, value in labels.items()
    )


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(TEXTS.map(" ".join), st.fixed_dictionaries({SERVICE: st.booleans(), FOOD: st.booleans()})),
        min_size=1,
        max_size=5,
    ),
    st.lists(CHANGES, min_size=1, max_size=4),
)
def test_changes_that_pay_never_lower_the_number_of_correct_decisions(
    known: list[tuple[str, dict[str, bool]]], changes: list[tuple[str, str, str]]
) -> None:
    book = BOOK
    for label, part, text in changes:
        after = codebooks.change_label(book, label, **{part: (*getattr(book.label(label), part), text)})
        effect = net_effect(book, after, known)
        assert count_correct(after, known) - count_correct(book, known) == effect.net
        if effect.pays:
            assert count_correct(after, known) >= count_correct(book, known)
            book = after
    assert count_correct(book, known) >= count_correct(BOOK, known)


def test_reviews_under_a_codebook_of_another_kind_are_no_known_labels(project: Project) -> None:
    session, runs = session_with_runs(project, {"d0": "a"}, {})
    decide(session, runs[0], {"d0": {}})
    book = session.run(runs[0]).settings.codebook
    assert reviewed_labels(session, book) == {"d0": ("d0", {"a": True, "b": False})}
    for kind in ("choice", "rating"):
        assert reviewed_labels(session, book.model_copy(update={"kind": kind})) == {}
