"""Tests of the codebook: unique names, stable ids, lossless YAML, errors that name the field."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from core.codebook import COLOURS, Codebook, Label, Scale, dump_yaml, load_yaml, normalise, parse_codebook
from core.errors import CodebookError
from tests.each_row import each_row

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=20)
NAMES = WORDS.filter(lambda name: normalise(name) not in ("", "none"))
LABELS = st.lists(
    st.builds(Label, name=NAMES, description=WORDS, include=st.lists(WORDS, max_size=3), keywords=st.lists(WORDS)),
    max_size=5,
    unique_by=lambda label: normalise(label.name),
)


@given(st.builds(Codebook, name=WORDS, unit=WORDS, guideline=WORDS, labels=LABELS))
def test_yaml_round_trip_keeps_the_codebook(codebook: Codebook) -> None:
    assert load_yaml(dump_yaml(codebook)) == codebook


@each_row(
    ("text", "message"),
    [
        ("labels: [{name: Food}, {name: Food}]", "two labels have the same name: 'Food' and 'Food'"),
        ("labels: [{name: Food}, {name: ' #FOOD* '}]", "same name"),
        ("labels: [{name: None at all}, {name: none}]", "reserved"),
        ("labels: [{nam: Food}]", "label 1 > name"),
        ("labels: [{name: Food, colour: 9}]", "label 'Food' > colour"),
        ("labels: [{name: Food, keyword: [a]}]", "label 'Food' > keyword: this field does not exist"),
        ("labels: [{name: Food, keywords: menu}]", "label 'Food' > keywords: expected a list, such as [one, two]"),
        ("labels: [Food]", "label 1: expected fields, such as {name: Food}"),
        ("labels: [{name: }]", "label 1 > name: this field is required"),
        ("labels: [{name: Food}]\nlabels: [{name: Staff}]", "line 2: the key 'labels' is repeated"),
        ("labels: [{name: Yes, code: 1000001}, {name: No, code: 1000001.0}]", "two labels have the same code: 1000001"),
        ("kind: essay", "kind"),
        ("labels: [{name: a, id: x}, {name: b, id: x}]", "same id"),
        ("- just\n- a list", "expected name, kind, unit and labels, found a list"),
        ("", "found nothing"),
        ("labels:\n- name: Food\n  keywords: [a, [b]]", "line 3: label 'Food' > keywords > 2: expected text"),
        ("kind: rating\nscale: 1-5", "line 2: scale: expected fields, such as {min: 1, max: 5}"),
        (
            "labels:\n- {name: A, code: x}\n- {nam: B}",
            "line 2: label 'A' > code: expected a number; line 3: label 2 > ",
        ),
        ("labels:\n- name: A\n  unit: note: b", "line 3: this is not YAML. Put a text with a colon in quotes"),
        ("labels:\n\t- name: A", "line 2: this is not YAML. Indent with spaces, not with tabs."),
        ("name: A\n\tunit: b", "line 2: this is not YAML. Indent with spaces, not with tabs."),
        ("name: [unclosed", "line"),
        ("kind: rating\nscale: {min: 5, max: 1}", "below"),
    ],
)
def test_invalid_codebook_error_names_the_field(text: str, message: str) -> None:
    with pytest.raises(CodebookError) as caught:
        load_yaml(text)
    assert message in str(caught.value)


def test_ids_and_colours_are_assigned_and_kept_on_renaming() -> None:
    codebook = parse_codebook({"labels": [{"name": f"L{index}"} for index in range(COLOURS + 1)]})
    assert [label.colour for label in codebook.labels] == [1, 2, 3, 4, 5, 6, 7, 8, 1]
    first = codebook.labels[0]
    renamed = codebook.model_copy(update={"labels": (first.model_copy(update={"name": "New"}), *codebook.labels[1:])})
    assert load_yaml(dump_yaml(renamed)).labels[0].id == first.id
    again = parse_codebook({"labels": [{"name": "L0"}]})
    assert again.labels[0].id == first.id  # ids depend only on the name


def test_names_are_matched_after_normalisation_and_never_approximately() -> None:
    codebook = Codebook(labels=(Label(name="Room Service"),))
    assert codebook.find("#room  service") == codebook.labels[0]
    assert codebook.find("Room Servic") is None


def test_double_quotes_in_names_become_single_quotes() -> None:
    assert Label(name='the "view"').name == "the 'view'"


def test_hidden_characters_are_no_part_of_a_name() -> None:
    label = Label(name="\u202eroom\u200b\x07 service\ufeff")
    assert label.name == "room service"
    codebook = Codebook(labels=(label,))
    assert codebook.find("room\u200b\u202e service") == codebook.labels[0]
    assert Label(name="\U0001f469\u200d\U0001f373").name == "\U0001f469\u200d\U0001f373"  # a joiner makes one emoji
    with pytest.raises(ValidationError, match="needs a name"):
        Label(name="\u202e\u200b")


def test_yaml_text_fields_are_read_as_written() -> None:
    text = """
        name: 2024
        unit: 1.50
        labels:
          - {name: yes, code: 1, keywords: [5, no, 1.5]}
          - {name: 007, description: 2024-05-01}
    """
    codebook = load_yaml(text)
    assert codebook.names == ("yes", "007")
    assert (codebook.name, codebook.unit, codebook.labels[0].code) == ("2024", "1.50", 1)
    assert codebook.labels[0].keywords == ("5", "no", "1.5")
    assert codebook.labels[1].description == "2024-05-01"


def test_empty_yaml_fields_have_their_default() -> None:
    codebook = load_yaml("{guideline: , unit: , labels: [{name: Food, description: , include: , code: }]}")
    assert codebook == Codebook(labels=(Label(name="Food"),))


def test_required_labels_are_checked() -> None:
    with pytest.raises(CodebookError, match="no labels"):
        Codebook(name="Empty").require_labels()


def test_definition_hash_depends_on_text_and_not_on_colour() -> None:
    label = Label(name="Food", keywords=("a", "b"))

    def hashes(**changes: object) -> dict[str, str]:
        return Codebook(labels=(label.model_copy(update=changes),)).definition_hashes

    assert hashes(colour=5) == hashes(keywords=("b", "a")) == hashes()
    assert hashes(description="x") != hashes()


def test_name_of_more_than_500_characters_is_refused() -> None:
    assert parse_codebook({"labels": [{"name": "x" * 500}]}).names == ("x" * 500,)
    with pytest.raises(CodebookError, match="501 characters; at most 500") as refused:
        parse_codebook({"labels": [{"name": "x" * 501}]})
    assert "x" * 100 not in str(refused.value)
    stored = {"labels": [{"name": "x" * 501}]}  # saved by an earlier version
    assert Codebook.model_validate(stored).names == ("x" * 501,)
    assert parse_codebook(stored, is_stored=True).names == ("x" * 501,)


def test_codebook_of_1001_labels_is_refused() -> None:
    with pytest.raises(CodebookError, match=r"1,001 labels; at most 1,000"):
        parse_codebook({"labels": [{"name": f"label {number}"} for number in range(1_001)]})


def test_each_dimension_can_have_its_own_scale() -> None:
    source = {"kind": "rating", "labels": [{"name": "Fluency", "scale": {"min": 0, "max": 2}}, {"name": "Overall"}]}
    codebook = parse_codebook(source)
    fluency, overall = codebook.items
    assert codebook.scale_of(fluency) == Scale(min=0, max=2)
    assert codebook.scale_of(overall) == Scale(min=1, max=5)
    assert codebook.scales == (Scale(min=0, max=2), Scale(min=1, max=5))
    assert codebook.scale == Scale(min=0, max=5), "the scale of the codebook covers all dimensions"
    assert codebook.mixes_scales
    assert list(codebook.narrowed(fluency).scales) == [Scale(min=0, max=2)]
    assert load_yaml(dump_yaml(codebook)) == codebook


def test_equal_scales_of_all_dimensions_become_the_scale_of_the_codebook() -> None:
    scale = {"scale": {"min": 0, "max": 2}}
    codebook = parse_codebook({"kind": "rating", "labels": [{"name": "A", **scale}, {"name": "B", **scale}]})
    shared = parse_codebook({"kind": "rating", "labels": [{"name": "A"}, {"name": "B"}], **scale})
    assert codebook == shared
    assert codebook.hash == shared.hash
    with pytest.raises(CodebookError, match="a scale belongs to kind rating"):
        parse_codebook({"labels": [{"name": "A", **scale}]})


@each_row(
    "text",
    [
        "{kind: rating, scale: {min: 0, max: 1000000000}, labels: [{name: A}]}",
        "{kind: rating, labels: [{name: A, scale: {min: 0, max: 1000000000}}]}",
    ],
)
def test_scale_of_a_billion_steps_is_refused(text):
    with pytest.raises(CodebookError, match="more than 1001 steps"):
        load_yaml(text)


def test_values_and_items_are_named_for_people():
    labels = (Label(name="Alpha", id="a"), Label(name="Beta", id="b"))
    multilabel, choice = (Codebook(kind=kind, labels=labels) for kind in ("multilabel", "choice"))
    assert [multilabel.value_name(value) for value in (True, False, None, 4.0)] == [
        "present",
        "absent",
        "undecided",
        "4",
    ]
    assert [choice.value_name(value) for value in ("b", "gone")] == ["Beta", "gone"]
    assert [book.item_title(item) for book in (multilabel, choice) for item in book.items] == ["Alpha", "Beta", "Label"]
    assert multilabel.narrowed("b").label_names == {"b": "Beta"}, "not those of the whole codebook"
