"""Tests of the Codebook page: drafts, versions, invalid input, import and proposed keywords."""

from __future__ import annotations

from string import ascii_lowercase
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from core.baseline.lexicon import FULL_LIST
from core.codebook import Codebook, load_yaml
from core.documents import Document
from core.errors import StorageFull
from core.services.codebooks import codebook as codebooks
from core.services.codebooks import label_keywords, prompt_diff
from core.services.project_session import ProjectSession
from core.store.reviews import Decision, ReviewChange
from tests.app.studio import HOSTILE, button, html, open_page

if TYPE_CHECKING:
    from streamlit.testing.v1 import AppTest
    from streamlit.testing.v1.element_tree import Button

BOOK = load_yaml("{unit: review, labels: [{name: Price, keywords: [cheap]}, {name: Food, keywords: [soup]}]}")
PRICE, FOOD = (label.id for label in BOOK.labels)


@pytest.fixture
def saved(session: ProjectSession) -> ProjectSession:
    codebooks.save(session, BOOK)
    session.store.documents.add([Document("a", {"text": f"cheap soup {HOSTILE}"}, gold={"gold": {PRICE: True}})])
    return session


def names(session: ProjectSession) -> tuple[str, ...]:
    return codebooks.codebook_status(session).codebook.names


def delete_button(at: AppTest) -> Button:
    (found,) = (each for each in at.button if each.label == "Delete the label")
    return found


def test_template_becomes_version_1(session: ProjectSession) -> None:
    at = open_page("codebook")
    assert "Start from a template" in html(at)
    at.button(key="use-restaurant_aspects").click().run()
    assert "v1 draft" in html(at)
    assert codebooks.current(session) is None
    at.text_input(key="codebook_note").set_value("to begin with")
    at.button(key="codebook-save").click().run()
    assert "Saved as v1" in html(at)
    assert [version.note for version in codebooks.history(session)] == ["to begin with"]


def test_codebook_from_gold_columns_opens_their_mapping(session: ProjectSession) -> None:
    session.store.documents.add([Document("a", {"text": "soup"}, source={"text": "soup", "Food": "1"})])
    at = button(open_page("codebook"), "Map gold columns")
    assert "map gold columns" in html(at)
    assert at.button(key="data-map-gold-submit").label


def test_note_stays_while_the_user_looks_at_another_page_and_ends_with_the_draft(saved: ProjectSession) -> None:
    codebooks.save_draft(saved, codebooks.change(codebooks.current(saved), domain="hotels"))
    at = open_page("codebook")
    at.text_input(key="codebook_note").set_value("hotels only").run()
    for page in ("data", "codebook"):
        at.switch_page(f"screens/{page}/page.py").run()
    assert at.text_input(key="codebook_note").value == "hotels only"
    at.button(key="draft-discard-1").click().run()
    at.text_input(key="codebook-book-domain").set_value("ships").run()
    assert at.text_input(key="codebook_note").value == ""


def test_new_label_type_warns_about_documents_reviewed_with_another_one(saved: ProjectSession) -> None:
    at = open_page("codebook")
    at.selectbox(key="codebook-book-kind").set_value("choice").run()
    assert "reviewed with another type" not in html(at)
    decision = Decision("a", (ReviewChange(PRICE, None, True),), "Submitted")
    saved.store.reviews.record([decision], actor="ann", codebook_version=1)
    shown = html(at.run())
    assert 0 < shown.find("1 document was reviewed with another type") < shown.find("Proposed from your texts")
    at.button(key="codebook-save").click().run()
    at.selectbox(key="codebook-book-kind").set_value("multilabel").run()
    assert "reviewed with another type" not in html(at)


def test_new_definition_tells_of_reviewed_documents_above_the_proposed_keywords(saved: ProjectSession) -> None:
    decision = Decision("a", (ReviewChange(PRICE, None, True),), "Submitted")
    saved.store.reviews.record([decision], actor="ann", codebook_version=1)
    at = open_page("codebook")
    at.text_area(key=f"codebook-label-description-{PRICE}").set_value("What it costs.").run()
    shown = html(at)
    assert 0 < shown.find("1 reviewed document was decided under the earlier") < shown.find("Proposed from your texts")


def refuse(*_: object) -> None:
    raise StorageFull("The disk is full.", "Free some space.")


def test_template_that_cannot_be_saved_is_not_called_the_draft(
    session: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = open_page("codebook")
    monkeypatch.setattr(codebooks, "save_draft", refuse)
    shown = html(at.button(key="use-restaurant_aspects").click().run())
    assert "The disk is full." in shown
    assert "is now the draft" not in shown


def test_changes_of_a_label_that_cannot_be_saved_are_reported_and_keep_the_input(
    saved: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = open_page("codebook")
    monkeypatch.setattr(codebooks, "save_draft", refuse)
    added = f"label-include-{PRICE}-new"
    assert "The disk is full." in html(at.text_input(key=added).set_value("far too cheap").run())
    assert at.text_input(key=added).value == "far too cheap"
    shown = html(delete_button(at).click().run())
    assert "The disk is full." in shown
    assert "is deleted" not in shown


def test_first_label_is_added_and_named(session: ProjectSession) -> None:
    at = open_page("codebook")
    at.button(key="label-add").click().run()
    (label,) = codebooks.codebook_status(session).codebook.labels
    at.text_input(key=f"codebook-label-name-{label.id}").set_value("Noise").run()
    assert names(session) == ("Noise",)
    assert "loud" in at.button_group(key=f"label-offered-{label.id}").options[2]


def test_next_example_has_a_button_of_its_own(session: ProjectSession) -> None:
    codebooks.save(session, load_yaml("{labels: [{name: Price, include: [cheap, dear]}]}"))
    at = open_page("codebook")
    first, second = (button for button in at.button if button.label == "Remove this example")
    first.click().run()
    (left,) = (button for button in at.button if button.label == "Remove this example")
    assert left.id == second.id  # the second click of a double click is on the button that is gone


@pytest.mark.parametrize(("typed", "why"), [("food", "already"), ("none", "reserved"), ("", "needs a name")])
def test_invalid_name_stays_in_its_field(saved: ProjectSession, typed: str, why: str) -> None:
    at = open_page("codebook")
    field = f"codebook-label-name-{PRICE}"
    at.text_input(key=field).set_value(typed).run()
    assert why in html(at).split("moot-wrong")[-1]
    assert at.text_input(key=field).value == typed
    assert names(saved) == ("Price", "Food")
    at.text_area(key=f"codebook-label-description-{PRICE}").set_value("What it costs.").run()
    assert at.text_input(key=field).value == typed  # another edit keeps the invalid name
    assert codebooks.codebook_status(saved).codebook.label(PRICE).description == "What it costs."
    at.button(key="codebook-save").click().run()
    assert "Not saved: a field is invalid" in html(at)
    assert len(codebooks.history(saved)) == 1
    at.text_input(key=field).set_value("Cost").run()
    assert "moot-wrong" not in html(at)
    assert names(saved) == ("Cost", "Food")


def test_a_long_list_of_keywords_says_that_the_description_does_not_count(saved: ProjectSession) -> None:
    words = f"With {FULL_LIST} keywords or more, words of the description alone do not select the label."
    at = open_page("codebook")
    assert words not in html(at)
    keywords = [f"word{letter}" for letter in ascii_lowercase[:FULL_LIST]]
    at.multiselect(key=f"codebook-label-keywords-{PRICE}").set_value(keywords).run()
    assert words in html(at)


def test_pasted_list_of_keywords_is_split(saved: ProjectSession) -> None:
    at = open_page("codebook")
    at.multiselect(key=f"codebook-label-keywords-{PRICE}").set_value(["cheap", "per night, bill; cheap,"]).run()
    assert codebooks.codebook_status(saved).codebook.label(PRICE).keywords == ("cheap", "per night", "bill")
    assert at.multiselect(key=f"codebook-label-keywords-{PRICE}").value == ["cheap", "per night", "bill"]


def test_keyword_with_a_comma_stays_when_another_is_added(saved: ProjectSession) -> None:
    book = codebooks.codebook_status(saved).codebook
    codebooks.save_draft(saved, codebooks.change_label(book, PRICE, keywords=("1,50",)))
    at = open_page("codebook")
    at.multiselect(key=f"codebook-label-keywords-{PRICE}").set_value(["1,50", "cheap"]).run()
    assert codebooks.codebook_status(saved).codebook.label(PRICE).keywords == ("1,50", "cheap")


def test_keywords_without_a_match_are_removed_together_and_put_back(saved: ProjectSession) -> None:
    def keywords() -> tuple[str, ...]:
        return codebooks.codebook_status(saved).codebook.label(PRICE).keywords

    field = f"codebook-label-keywords-{PRICE}"
    at = open_page("codebook")
    at.multiselect(key=field).set_value(["bill", "cheap", "dear", "fee"]).run()
    button(at, "Remove 3 keywords without a match")
    assert keywords() == ("cheap",)
    assert not [button for button in at.button if button.key == "keywords-remove"]
    at.multiselect(key=field).set_value(["cheap", "money"]).run()
    button(at, "Put back 3 keywords")
    assert keywords() == ("bill", "cheap", "dear", "fee", "money")
    assert not [button for button in at.button if button.key == "keywords-restore"]
    assert "description" not in at.button(key="keywords-remove").help
    at.multiselect(key=field).set_value([f"word{letter}" for letter in ascii_lowercase[:FULL_LIST]]).run()
    assert at.button(key="keywords-remove").help.endswith("words of the description select the label too.")


def test_keywords_of_a_label_that_was_deleted_in_another_tab_are_not_removed(saved: ProjectSession) -> None:
    at = open_page("codebook")
    at.multiselect(key=f"codebook-label-keywords-{PRICE}").set_value(["bill", "cheap"]).run()
    read_matches = label_keywords.count_matches

    def delete_then_read(session: ProjectSession, book: Codebook, label_id: str, *more: Any) -> Any:
        codebooks.save_draft(session, codebooks.delete_label(book, label_id))
        return read_matches(session, book, label_id, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_keywords, "count_matches", delete_then_read)
        button(at, "Remove 1 keyword without a match")
    assert CHOICE in html(at)


def test_edits_are_a_draft_until_they_are_saved_and_can_be_discarded(saved: ProjectSession) -> None:
    at = open_page("codebook")
    at.multiselect(key=f"codebook-label-keywords-{PRICE}").set_value(["cheap", "bill"]).run()
    at.text_input(key=f"label-include-{PRICE}-new").set_value("worth the money").run()
    at.text_area(key=f"codebook-label-include-{PRICE}-0").set_value("worth every penny").run()
    at.text_input(key="codebook-book-unit").set_value("hotel review").run()
    label = codebooks.codebook_status(saved).codebook.label(PRICE)
    assert (label.keywords, label.include) == (("cheap", "bill"), ("worth every penny",))
    assert "v2 draft, 3 changes" in html(at)
    assert "Draft saved" in html(at)
    button(at, "Restore the saved version")
    assert codebooks.codebook_status(saved).codebook == BOOK
    assert at.text_input(key="codebook-book-unit").value == "review"


def test_labels_are_moved_and_deleted(saved: ProjectSession) -> None:
    at = open_page("codebook")
    at.button(key="icon-label-down").click().run()
    assert names(saved) == ("Food", "Price")
    (before,) = [element.proto.id for element in at.get("popover") if element.proto.popover.help == "Delete the label"]
    deleted = delete_button(at).click()
    deleted.run()
    assert len(names(saved)) == 1
    (after,) = [element.proto.id for element in at.get("popover") if element.proto.popover.help == "Delete the label"]
    assert after != before, "it is closed"
    assert delete_button(at).id != deleted.id, "a second click does not delete the next label"


def test_deleting_a_label_with_gold_leads_to_map_gold_columns(saved: ProjectSession) -> None:
    at = open_page("codebook")
    delete_button(at).click().run()
    assert "Price is deleted" in html(at)
    assert "1 gold label of it is left. To give it to another label, use Map gold columns on Data." in html(at)
    delete_button(at).click().run()  # Food has no gold
    assert "Food is deleted" not in html(at)


def test_gold_counts_of_several_raters_are_named_as_those_of_the_majority(saved: ProjectSession) -> None:
    assert "Gold: majority of the raters" not in html(open_page("codebook"))
    saved.store.documents.add([Document("n", {"text": "t"}, gold={"ann": {PRICE: True}, "ben": {PRICE: True}})])
    assert "Gold: majority of the raters" in html(open_page("codebook"))
    data = html(open_page("data"))
    assert "bar: mean of the raters, line: each rater" in data
    assert "gold: majority of the raters" in data


def test_keyword_matches_escape_documents(saved: ProjectSession) -> None:
    shown = html(open_page("codebook"))
    assert "Keyword matches</td><td>1</td><td>of 1 documents" in shown
    assert "<img src=x" not in shown


def test_imports_codebook_and_refuses_invalid_file(saved: ProjectSession) -> None:
    at = open_page("codebook")
    assert "An import replaces the draft" not in html(at)
    at.file_uploader[0].set_value(("c.yaml", b"labels: [{name: a}, {name: A}]", "text/yaml")).run()
    assert "two labels have the same name" in html(at)
    at.file_uploader[0].set_value(("c.yaml", b"labels: [{name: price}, {name: Staff}]", "text/yaml")).run()
    assert "c.yaml is now the draft" in html(at)
    assert "An import replaces the draft" in html(at)
    assert names(saved) == ("price", "Staff")
    assert codebooks.codebook_status(saved).codebook.labels[0].id == PRICE


def test_a_rating_has_a_scale(saved: ProjectSession) -> None:
    at = open_page("codebook")
    at.selectbox(key="codebook-book-kind").set_value("rating").run()
    at.number_input(key="codebook-book-min").set_value(9).run()
    assert "min must be below" in html(at)
    at.number_input(key="codebook-book-min").set_value(0).run()
    scale = codebooks.codebook_status(saved).codebook.scale
    assert scale is not None
    assert (scale.min, scale.max) == (0, 5)


def test_dimension_has_its_own_scale(session: ProjectSession) -> None:
    book = load_yaml("{kind: rating, labels: [{name: Fluency}, {name: Overall}]}")
    fluency, overall = book.items
    codebooks.save(session, book)
    gold = [{rater: {fluency: rating, overall: 4} for rater in ("ann", "ben")} for rating in (0, 1, 2)]
    session.store.documents.add(Document(f"d{n}", {"text": "t"}, gold=values) for n, values in enumerate(gold))

    def scales() -> list[str]:
        return [str(scale) for scale in codebooks.codebook_status(session).codebook.scales]

    at = open_page("codebook")
    assert "gold ratings: 0 to 2" in html(at)
    assert "majority of the raters" not in html(at)  # no counts are shown
    button(at, "Use 0 to 2")
    assert scales() == ["0 to 2", "1 to 5"]
    assert "one for each dimension" in html(at)
    at.number_input(key=f"codebook-label-max-{fluency}").set_value(3).run()
    assert scales() == ["0 to 3", "1 to 5"]
    at.number_input(key=f"codebook-label-min-{fluency}").set_value(7).run()
    assert "min must be below" in html(at)
    assert scales() == ["0 to 3", "1 to 5"]
    button(at, "Use 0 to 5 for all dimensions")
    assert scales() == ["0 to 5", "0 to 5"]


def test_warns_of_a_label_without_words(session: ProjectSession) -> None:
    codebooks.save(session, load_yaml("labels: [{name: Other}]"))
    assert "The built-in model cannot find this label" in html(open_page("codebook"))


def test_compares_versions(saved: ProjectSession) -> None:
    renamed = codebooks.change_label(BOOK, PRICE, name="Cost")
    codebooks.save(saved, codebooks.change(renamed, kind="choice"), "renamed")
    at = open_page("codebook")
    button(at, "Compare")
    shown = html(at)
    assert "<del>Price</del> <ins>Cost</ins>" in shown
    assert "<dt>label type</dt><dd><del>Multiple labels</del> <ins>Single choice</ins></dd>" in shown
    assert [button.label for button in at.button if button.label.startswith("Restore v")] == ["Restore v1"]


def test_proposed_keywords_are_added_one_by_one_or_together_and_undone(saved: ProjectSession) -> None:
    codebooks.save(
        saved, load_yaml("{unit: review, labels: [{name: Birds, description: 'Finches, sparrows, gulls.'}]}")
    )
    texts = ["A finch.", "Two finches.", "A sparrow.", "Sparrows.", "A gull.", "Gulls <b>here</b>."]
    saved.store.documents.add([Document(f"n{number}", {"text": text}) for number, text in enumerate(texts)])
    (label,) = codebooks.codebook_status(saved).codebook.labels
    at = open_page("codebook")
    assert "<b>here" not in html(at)
    assert codebooks.codebook_status(saved).codebook.labels[0].keywords == (), "nothing is added silently"
    at.button(key=f"propose-{label.id}-gulls").click().run()
    assert codebooks.codebook_status(saved).codebook.labels[0].keywords == ("gulls",)
    at.button(key="propose-all").click().run()
    assert set(codebooks.codebook_status(saved).codebook.labels[0].keywords) == {"gulls", "finches", "sparrows"}
    assert "3 accepted changes" in html(at)
    at.button(key="accepted-changes-undo").click().run()
    assert codebooks.codebook_status(saved).codebook.labels[0].keywords == ()
    assert "accepted change" not in html(at)


def test_page_does_not_wait_until_the_texts_are_read(saved: ProjectSession, monkeypatch: pytest.MonkeyPatch) -> None:
    saved.store.documents.add([Document("n1", {"text": "Cheap."})])
    preview, propose, prompts_drawn = prompt_diff.preview, label_keywords.propose, Event()

    def preview_first(*args: Any) -> Any:
        prompts_drawn.set()
        return preview(*args)

    def propose_later(*args: Any) -> Any:
        assert prompts_drawn.wait(10)
        return propose(*args)

    monkeypatch.setattr(prompt_diff, "preview", preview_first)
    monkeypatch.setattr(label_keywords, "propose", propose_later)
    assert "Proposed from your texts" in html(open_page("codebook"))


def describe(at: AppTest, text: str) -> AppTest:
    return at.text_area(key=f"codebook-label-description-{PRICE}").set_value(text).run()


def description(at: AppTest) -> str:
    return str(at.text_area(key=f"codebook-label-description-{PRICE}").value)


CHOICE = "The codebook was changed in another tab"


def test_text_that_another_tab_wrote_is_not_saved_before_the_user_chooses(saved: ProjectSession) -> None:
    first = describe(open_page("codebook"), "What it costs.")
    second = open_page("codebook")
    assert CHOICE not in html(second)
    describe(second, "Whether it is cheap.")
    assert CHOICE not in html(second)
    first.button(key="codebook-save").click().run()
    assert CHOICE in html(first)
    assert len(codebooks.history(saved)) == 1
    assert description(first) == "What it costs."
    first.button(key="draft-keep-own").click().run()
    first.button(key="codebook-save").click().run()
    assert "Saved as v2" in html(first)
    assert codebooks.current(saved).label(PRICE).description == "What it costs."
    assert description(second.run()) == "Whether it is cheap."  # the other tab keeps its text, too
    second.button(key="draft-use-other").click().run()
    assert CHOICE not in html(second)
    assert description(second) == "What it costs."


def test_edit_after_a_change_in_another_tab_stays_in_its_tab_until_the_user_chooses(saved: ProjectSession) -> None:
    first, second = open_page("codebook"), open_page("codebook")
    describe(first, "What it costs.")
    describe(second, "Whether it is cheap.")
    assert CHOICE in html(second)
    assert description(second) == "Whether it is cheap."
    assert codebooks.codebook_status(saved).codebook.label(PRICE).description == "What it costs."
    second.switch_page("screens/data/page.py").run()
    second.switch_page("screens/codebook/page.py").run()
    assert description(second) == "Whether it is cheap."
    second.button(key="draft-discard-1").click().run()
    assert codebooks.codebook_status(saved).dirty, "the draft of the other tab stays"
    second.button(key="draft-keep-own").click().run()
    assert CHOICE not in html(second)
    assert codebooks.codebook_status(saved).codebook.label(PRICE).description == "Whether it is cheap."


def test_page_that_is_opened_again_shows_the_draft_of_another_tab(saved: ProjectSession) -> None:
    first = describe(open_page("codebook"), "What it costs.")
    describe(open_page("codebook"), "Whether it is cheap.")
    for page in ("data", "codebook"):
        first.switch_page(f"screens/{page}/page.py").run()
    assert CHOICE not in html(first)
    assert description(first) == "Whether it is cheap."
