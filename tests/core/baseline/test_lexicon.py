"""Tests of tokens, word forms, clauses and words derived from definitions."""

from __future__ import annotations

import csv

from core.baseline.evidence import clauses_of, select
from core.baseline.lexicon import (
    FEW_WORDS,
    FULL_LIST,
    changed_words,
    definitions,
    forms,
    lexicon_of,
    other_aspects,
    tokenise,
)
from core.codebook import Codebook, Kind, Label
from core.files import shipped_folder
from tests.each_row import each_row


def sentences() -> list[tuple[str, set[str], set[str]]]:
    with (shipped_folder("sample_data") / "review_sentences.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        (row["text"], *(set(filter(None, row[name].split("|"))) for name in ("aspects", "possible"))) for row in rows
    ]


def labels_named(*names: str, kind: Kind = "multilabel") -> list[tuple[int, str]]:
    return definitions(Codebook(kind=kind, labels=tuple(Label(name=name) for name in names)))


@each_row(
    ("word", "found"),
    [
        ("stain", "stain stains stained staining"),
        ("clean", "cleanliness cleaned cleaner cleaning unclean cleanly"),
        ("cleanliness", "clean cleaned"),
        ("dirty", "dirtier dirtiest dirtiness dirt"),
        ("price", "prices priced pricing overpriced"),
        ("overpriced", "overpriced"),
        ("dining", "dine dined"),
        ("stop", "stopped stopping stops"),
        ("dish", "dishes"),
        ("dishes", "dish"),
        ("potato", "potatoes"),
        ("family", "families"),
        ("bus", "buses"),
        ("serve", "served serving"),
        ("child", "children"),
        ("mouldy", "moldy"),
        ("ambience", "ambiance"),
        ("friendly", "friendlier friendliness unfriendly"),
        ("comfortable", "comfortably uncomfortable comfort"),
        ("tv", "tvs"),
    ],
)
def test_inflected_forms_match(word: str, found: str) -> None:
    assert forms(word) >= set(found.split())


@each_row(
    ("word", "other"),
    [
        ("menu", "men"),
        ("men", "menu"),
        ("wine", "win"),
        ("win", "wine"),
        ("wait", "waiter"),
        ("serve", "server"),
        ("friend", "friendly"),
        ("bar", "bare"),
        ("new", "news"),
        ("busy", "business"),
        ("evening", "even"),
        ("building", "build"),
        ("bed", "b"),
        ("look", "overlooked"),
        ("glass", "glas"),
        ("close", "closed"),
        ("fee", "feed"),
    ],
)
def test_other_words_do_not_match(word: str, other: str) -> None:
    assert other not in forms(word)


def test_text_is_split_into_tokens() -> None:
    text = "Café's $5 wait-staff 食物 Straße"
    assert [word for word, _, _ in tokenise(text)] == ["cafe", "s", "$", "5", "wait", "staff", "食", "物", "strasse"]
    assert all(text[start:end] for _, start, end in tokenise(text))


def test_keywords_in_scripts_without_spaces() -> None:
    lexicon = lexicon_of(Codebook(labels=(Label(name="食物", keywords=("好吃",)),)))
    assert lexicon.usable == {0, None}


def test_clauses_end_at_ends_of_sentences_and_marks_that_break_a_quote() -> None:
    text = 'Pizza, pasta, and wine! The room was large, but the bathroom was in a bad state "yes"\nEnd'
    assert [text[start:end] for start, end in clauses_of(text)] == [
        "Pizza, pasta, and wine",
        " The room was large, but the bathroom was in a bad state ",
        "yes",
        "End",
    ]


def derived(*labels: Label, unit: str = "text") -> list[dict[str, bool]]:
    """Return for each label its words, True for those that carry it alone."""
    terms = {
        term
        for terms_of_label in lexicon_of(Codebook(unit=unit, labels=labels)).index.values()
        for term in terms_of_label
    }
    return [{term.text: term.carries for term in terms if term.label == number} for number in range(len(labels))]


def test_words_are_derived_from_a_definition() -> None:
    (food, _) = derived(
        Label(
            name="A", description="Pizza, fresh fruit and what guests say of the review.", include=("my soup was cold",)
        ),
        Label(name="B", keywords=("pizza",)),
    )
    assert {"fresh", "fruit", "soup", "cold"} <= set(food)
    assert not {"pizza", "guests", "say", "review", "my", "a"} & set(food)


def test_negated_words_of_a_description_are_ignored() -> None:
    (menu,) = derived(
        Label(
            name="List", description="The offer, not the dishes; drinks do not count. Fees are not prices: set meals."
        )
    )
    assert set(menu) == {"list", "offer", "set", "meals"}


def test_words_shared_with_other_definitions_only_support() -> None:
    first, second, three = derived(
        Label(name="A", description="rooms, lamps, hotels"),
        Label(name="B", description="rooms, chairs"),
        Label(name="C", description="doors"),
        unit="hotel review",
    )
    assert "hotels" not in first
    assert (first["rooms"], first["lamps"], second["chairs"], three["doors"]) == (False, True, True, True)


def test_no_word_is_derived_from_a_definition_in_another_language() -> None:
    label = Label(name="Pro", description="Die Rede stimmt der Maßnahme zu.", include=("Wir stimmen für diese Reform",))
    assert derived(label) == [{"pro": True}]


def test_derived_word_only_supports_a_list_of_keywords() -> None:
    keywords = ("candle", *(f"other{number}" for number in range(FULL_LIST)))
    listed = Label(name="A", description="lamps", include=("a wick",), keywords=keywords)
    short = Label(name="B", description="doors", include=("a hinge",), keywords=keywords[1 : FEW_WORDS + 1])
    terms = {
        term
        for terms_of_label in lexicon_of(Codebook(labels=(listed, short))).index.values()
        for term in terms_of_label
    }
    words = ("lamps", "wick", "doors", "hinge", "candle")
    assert {term.text: term.carries for term in terms if term.text in words} == {
        "lamps": False,
        "wick": False,
        "doors": True,
        "hinge": False,
        "candle": True,
    }


def test_example_words_carry_a_label_with_few_other_words() -> None:
    alone, short, long, common = derived(
        Label(name="A", include=("a squeaky hinge",)),
        Label(name="B", description="How wide the doors are", include=("a wooden latch",)),
        Label(name="C", description=" ".join(f"word{number}" for number in range(FEW_WORDS)), include=("a tin roof",)),
        Label(name="Noise", include=("a rattling shutter",)),
    )
    assert (alone["squeaky"], alone["hinge"]) == (True, True)
    assert (short["wide"], short["wooden"], short["latch"]) == (True, True, True)
    assert (long["word1"], long["tin"], long["roof"]) == (True, False, False)
    assert (common["loud"], common["rattling"]) == (True, False)


def test_incidental_word_of_an_example_is_not_taken_from_the_label_about_it() -> None:
    _, music = derived(Label(name="A", include=("a waiter hummed jazz",)), Label(name="B", description="jazz"))
    assert music["jazz"]


def test_what_a_quality_is_asked_of_is_not_taken_from_the_label_about_it() -> None:
    asked, about = derived(
        Label(name="A", description="How clean the bathroom is"), Label(name="B", description="bathroom")
    )
    assert (asked["bathroom"], about["bathroom"]) == (False, True)


def test_subject_of_a_how_clause_only_supports() -> None:
    (label,) = derived(Label(name="A", description="How clean or dusty the rooms, baths or halls are, and lamps."))
    assert {word for word, carries in label.items() if not carries} == {"rooms", "baths", "halls"}
    assert {"clean", "dusty", "lamps"} <= set(label)


def test_word_for_other_places_changes_the_evidence_of_all_words_of_its_label() -> None:
    book = Codebook(labels=(Label(name="View", keywords=("view",)), Label(name="Food", keywords=("meal",))))
    view, food = book.labels
    wider = book.model_copy(update={"labels": (view.model_copy(update={"keywords": ("view", "nearby")}), food)})
    text = "The view in the bar down the street was great."
    assert select(book, text) != select(wider, text)
    changed = changed_words(lexicon_of(book), lexicon_of(wider))
    assert {"view", "nearby"} <= changed
    assert "meal" not in changed


def test_other_aspects_are_those_that_no_name_is_about() -> None:
    every, others = other_aspects(()), other_aspects(("Price", "unheard-of"))
    assert [aspect.name for aspect in every if aspect not in others] == ["price"]
    assert set(others) < set(every)


def test_shipped_sentences_name_common_aspects_and_occur_once() -> None:
    rows, known = sentences(), {aspect.name for aspect in other_aspects(())}
    assert len({text for text, _, _ in rows}) == len(rows) > 300
    assert {name for _, aspects, possible in rows for name in aspects | possible} <= known
    assert not [text for text, aspects, possible in rows if aspects & possible or not text.strip()]


def test_sentences_define_labels_of_common_aspects_and_of_those_that_they_include() -> None:
    alone, both = labels_named("Service", "Price"), labels_named("Service", "Staff")
    for text, aspects, _ in sentences():
        assert ((0, text) in alone) is bool(aspects & {"service", "staff"})
        assert ((1, text) in alone) is ("price" in aspects)
        assert ((0, text) in both) is ("service" in aspects)


def test_sentences_about_no_aspect_have_a_number_of_their_own_beside_several_labels() -> None:
    several, choice = labels_named("Service", "Price"), labels_named("Service", "Price", kind="choice")
    last = max(number for number, _ in several)
    about_none = {text for text, aspects, possible in sentences() if not aspects | possible}
    assert {text for number, text in several if number == last} == about_none != set()
    assert {number for number, _ in choice} == {0, 1}


def test_codebook_without_a_common_aspect_needs_nosentences() -> None:
    texts = {text for _, text in labels_named("Hawkish", "Dovish")}
    assert texts.isdisjoint(text for text, _, _ in sentences())
