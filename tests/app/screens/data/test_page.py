"""Tests of the Data page: choosing, checking and importing files, and browsing documents."""

from __future__ import annotations

import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app import context
from app.pages import PAGES
from app.widgets.elements import literal
from core.codebook import load_yaml
from core.documents import Document
from core.errors import UsageError
from core.services import projects
from core.services.data import importing
from core.services.project_session import ProjectSession
from core.store.reviews import Decision
from tests.app.studio import HOSTILE, NAVIGATION, button, component_data, html, open_page, studio, until_shown
from tests.core.ingest.conftest import make_xlsx

CSV = f"""id,text,Food,Service
a,the soup was good,1,no
b,{HOSTILE},0,yes
c,nothing,0,maybe
d,the soup was good,1,no
e,,1,no
f,some bread,1,no
g,too,few
""".encode()


def upload(content: bytes, name: str = "soup.csv") -> AppTest:
    at = open_page("data")
    return at.file_uploader(key="data-file-0").set_value([(name, content, "text/csv")]).run()


def test_format_of_a_text_file_is_named_like_its_suffix(session: ProjectSession) -> None:
    assert "<span>txt</span>" in html(upload(b"The soup was cold.\nFriendly staff.\n", "notes.TXT"))
    assert "<span>csv</span>" in html(upload(CSV))


def test_file_is_previewed_and_imported(session: ProjectSession) -> None:
    at = upload(CSV)
    shown = html(at)
    assert "Rows read: 7, kept: 5, rejected: 2" in shown
    assert "row 8: 3 fields, expected 4" in shown
    assert "Labels from the gold columns" in shown
    assert "<img src=x" not in shown
    assert session.store.documents.count() == 0
    button(at, "Import 5")
    shown = until_shown(at, "5 documents imported from soup.csv")
    assert "2 rows rejected." in shown
    assert "<img src=x" not in shown
    assert session.store.documents.count() == 5
    latest = session.store.codebooks.latest()
    assert latest is not None
    assert latest.codebook.names == ("Food",)  # Service has too many unknown values to become a label by default


def test_rater_column_that_is_chosen_as_text_names_no_raters_any_more(session: ProjectSession) -> None:
    at = upload(b"id,who,text,A\n1,ann,the first text,1\n1,bob,the first text,0\n2,ann,the second text,1\n")
    at.selectbox(key="map-rater").set_value("who").run()
    at.selectbox(key="map-text").set_value("who").run()
    assert at.selectbox(key="map-rater").value == ""
    at.selectbox(key="map-text").set_value("text").run()
    assert at.selectbox(key="map-rater").value == ""


def test_name_of_a_new_project_is_kept_while_the_user_looks_at_another_page(session: ProjectSession) -> None:
    session.store.documents.add([Document("a", {"text": "soup"})])
    at = upload(b"id,text\n1,bread\n", "bakery.csv")
    at.segmented_control(key="data-destination").set_value("new").run()
    assert at.text_input(key="data-new-project").value == "bakery"
    at.text_input(key="data-new-project").set_value("my breads").run()
    for page in ("home", "data"):
        at.switch_page(f"screens/{page}/page.py").run()
    assert at.text_input(key="data-new-project").value == "my breads"
    button(at, "Import 1")
    until_shown(at, "1 document imported")
    assert at.session_state["project"].stem == "my breads"


def test_chosen_columns_stay_when_the_destination_changes(session: ProjectSession) -> None:
    session.store.documents.add([Document("a", {"text": "soup"})])
    at = upload(b"key,name,text,note\nk1,n1,one,first\nk2,n2,two,second\n")
    at.selectbox(key="map-text").set_value("note").run()
    for destination in ("replace", "new"):
        at.segmented_control(key="data-destination").set_value(destination).run()
        assert at.selectbox(key="map-text").value == "note"


def test_columns_chosen_before_the_page_is_drawn_again_are_all_kept(session: ProjectSession) -> None:
    at = upload(b"key,name,text,note\nk1,n1,one,first\nk2,n2,two,second\n")
    at.selectbox(key="map-text").set_value("note")
    at.multiselect(key="map-context").set_value(["name"])
    at.selectbox(key="map-id").set_value("key").run()
    button(at, "Import 2")
    until_shown(at, "2 documents imported")
    (first, _) = session.store.documents.load(session.store.documents.ids())
    assert (first.id, first.fields) == ("k1", {"note": "first", "name": "n1"})


def hold(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> threading.Event:
    """Let a function of a module wait for the returned event before it begins."""
    may_go_on, function = threading.Event(), getattr(module, name)

    def begin_later(*arguments: Any) -> Any:
        assert may_go_on.wait(30)
        return function(*arguments)

    monkeypatch.setattr(module, name, begin_later)
    return may_go_on


def test_project_is_not_moved_while_a_file_is_imported_into_it(
    session: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = hold(monkeypatch, importing, "store_documents")
    session.store.documents.add([Document("0", {"text": "zero"})])
    at = button(upload(b"id,text\n1,one\n2,two\n"), "Import 2")
    with pytest.raises(UsageError, match="is being imported"):
        projects.delete_project(context.workspace(), session.path)
    may_go_on.set()
    until_shown(at, "2 documents imported")
    assert session.jobs == {}


def test_running_import_has_its_own_next_step(session: ProjectSession, monkeypatch: pytest.MonkeyPatch) -> None:
    may_go_on = hold(monkeypatch, projects, "create_project")
    session.store.documents.add([Document("0", {"text": "zero"})])
    at = upload(b"id,text\n1,one\n2,two\n")
    assert "then press Import" in html(at)
    at.segmented_control(key="data-destination").set_value("new").run()
    button(at, "Import 2")
    shown = html(at.run())
    assert "soup.csv is being imported" in shown
    assert "Wait until the documents are imported." in shown
    assert "press Import" not in shown
    may_go_on.set()
    until_shown(at, "2 documents imported from soup.csv")


def test_import_that_fails_unexpectedly_can_be_started_again(
    session: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: Any) -> None:
        raise ZeroDivisionError

    at = upload(b"id,text\n1,one\n2,two\n")
    with monkeypatch.context() as broken:
        broken.setattr(importing, "store_documents", fail)
        button(at, "Import 2")
        while not at.exception:
            at.run()
    button(at.run(), "Import 2")
    until_shown(at, "2 documents imported")


def test_several_files_are_imported_together(session: ProjectSession) -> None:
    at = open_page("data")
    at.file_uploader(key="data-file-0").set_value(
        [
            ("ann.csv", b"id,text,Food\n1,soup,1\n2,tea,0\n", "text/csv"),
            ("bo.csv", b"id,text,Food\n1,soup,0\n", "text/csv"),
        ]
    ).run()
    shown = html(at)
    assert "ann.csv and bo.csv, not imported yet" in shown
    assert "Rows read: 3, kept: 2, rejected: 0, merged: 1" in shown
    at.file_uploader(key="drop-1").set_value([("cy.csv", b"id,text,Food\n3,milk,0\n", "text/csv")]).run()
    assert "Rows read: 4, kept: 3" in html(at)
    button(at, "Import 3")
    until_shown(at, "3 documents imported from ann.csv, bo.csv and cy.csv")
    assert session.store.annotations.raters() == ["ann", "bo", "cy"]
    at.file_uploader(key="drop-2").set_value([("x.csv", b"\x00\x01" * 500, "text/csv")]).run()
    assert "x.csv" in html(at)


def test_file_of_another_type_is_named(session: ProjectSession) -> None:
    at = open_page("data")
    uploader = at.file_uploader(key="data-file-0")
    assert list(uploader.proto.type) == []  # otherwise the browser refuses the file, and only a tooltip says why
    uploader.set_value([("notes.pdf", b"%PDF-1.7", "application/pdf")]).run()
    assert "notes.pdf is not a table in text form but a PDF" in html(at)


def test_row_options_change_the_preview(session: ProjectSession) -> None:
    at = upload(CSV)
    assert "Duplicate texts: 1" in html(at)
    at.segmented_control(key="rows-duplicates").set_value("first").run()
    assert "Rows read: 7, kept: 4, rejected: 3" in html(at)
    at.segmented_control(key="rows-empties").set_value("keep").run()
    assert "Rows read: 7, kept: 5, rejected: 2" in html(at)
    at.selectbox(key="map-id").set_value("").run()
    at.selectbox(key="map-text").set_value("id").run()
    assert "Rows read: 7, kept: 6, rejected: 1" in html(at)
    button(at, "Cancel")
    assert "Import your texts" in html(at)


def test_labels_of_repeated_texts_can_be_united(session: ProjectSession) -> None:
    at = upload(b"text,labels\nabc,Food\nabc,Room\ndef,Food|Room\n")
    control = at.segmented_control(key="rows-duplicates")
    assert control.options == ["Keep all", "Unite their labels"]
    control.set_value("first").run()
    assert "Rows read: 3, kept: 2, rejected: 0, merged: 1" in html(at)


def test_unknown_gold_value_can_be_mapped(session: ProjectSession) -> None:
    session.store.codebooks.save(load_yaml("labels: [{name: Food}, {name: Service}]"))
    at = upload(CSV)
    assert "<b>maybe</b> in Service, once, first in row 4" in html(at)
    at.segmented_control(key="map-value-0").set_value("present").run()
    assert "your choice" in html(at)
    names = [box.label for box in at.selectbox if box.label.startswith("Gold of label")]
    assert len(set(names)) == len(names) > 1
    at.selectbox(key="map-gold-0-" + label_id(session, "Food")).set_value("").run()
    button(at, "Import 5")
    assert [(item, value, count) for _, item, value, count in session.store.documents.gold_counts()] == [
        (label_id(session, "Service"), False, 3),
        (label_id(session, "Service"), True, 2),
    ]


def test_names_of_labels_are_no_markdown_where_a_gold_value_is_mapped(session: ProjectSession) -> None:
    names = "[a](http://b.eu)", "Neutral"
    session.store.codebooks.save(load_yaml(f"{{kind: choice, labels: [{{name: '{names[0]}'}}, {{name: {names[1]}}}]}}"))
    at = upload(b"id,text,gold\na,soup one,maybe\nb,soup two,Neutral\n")
    at.segmented_control(key="gold_kind").set_value("choice").run()
    at.multiselect(key="map-gold-choice").set_value(["gold"]).run()
    assert at.segmented_control(key="map-value-0").options == ["No gold", *map(literal, names)]


def test_empty_gold_cells_can_mean_absent(session: ProjectSession) -> None:
    session.store.codebooks.save(load_yaml("labels: [{name: Food}]"))
    at = upload(b"id,text,Food\na,soup one,x\nb,soup two,\nc,soup three,\n")
    assert "<b>empty</b> in Food, 2 times, first in row 3" in html(at)
    at.segmented_control(key="map-value-0").set_value("absent").run()
    at.segmented_control(key="map-value-0").set_value("present").run()  # x moved up
    button(at, "Import 3")
    food = label_id(session, "Food")
    assert session.store.documents.gold_counts() == [("gold", food, False, 2), ("gold", food, True, 1)]


def test_gold_of_a_second_rater_is_mapped(session: ProjectSession) -> None:
    session.store.codebooks.save(load_yaml("labels: [{name: Food}]"))
    food = label_id(session, "Food")
    at = upload(b"id,text,Food,second\na,soup one,1,0\nb,soup two,0,0\n")
    at.text_input(key="gold_new_rater").set_value("Ann").run()
    at.selectbox(key=f"map-gold-1-{food}").set_value("second").run()
    assert "Rater Ann" in html(at)
    button(at, "Import 2")
    assert session.store.documents.gold_counts() == [
        ("Ann", food, False, 2),
        ("gold", food, False, 1),
        ("gold", food, True, 1),
    ]


def test_proposed_raters_keep_their_names_when_columns_are_chosen_by_hand(session: ProjectSession) -> None:
    session.store.codebooks.save(load_yaml("kind: choice\nlabels: [{name: good}, {name: bad}]"))
    at = upload(b"id,text,stance_r1,stance_r2,third\na,soup one,good,bad,good\nb,soup two,bad,bad,bad\n")
    for names in (["stance_r1", "third"], ["stance_r1"], ["stance_r1", "third", "stance_r2"]):
        at.multiselect(key="map-gold-choice").set_value(names).run()
    button(at, "Import 2")
    assert {rater for rater, *_ in session.store.documents.gold_counts()} == {"r1", "r2", "third"}


def test_names_of_columns_may_end_with_any_rater(session: ProjectSession) -> None:
    at = upload(b"id,text,food_anna,food_ben,room_anna,room_ben\na,soup one,1,0,1,1\nb,soup two,0,0,1,0\n")
    assert "4 labels" in html(at)
    assert at.toggle(key="map-raters").label == "anna and ben are raters"
    at.toggle(key="map-raters").set_value(True).run()
    assert "2 labels by 2 raters" in html(at)
    at.toggle(key="map-raters").set_value(False).run()
    at.toggle(key="map-raters").set_value(True).run()
    at.multiselect(key="map-gold-label").set_value(["food_anna", "food_ben", "room_anna"]).run()
    button(at, "Import 2")
    counts = sorted((rater, value, count) for rater, _, value, count in session.store.documents.gold_counts())
    assert counts == [("anna", False, 1), ("anna", True, 1), ("anna", True, 2), ("ben", False, 2)]


def test_label_columns_that_may_be_by_raters_are_asked_about_beside_import(session: ProjectSession) -> None:
    at = upload(b"id,text,food_anna,food_ben,room_anna,room_ben\na,soup one,1,0,1,1\nb,soup two,0,0,1,0\n")
    question = "Are anna and ben raters?</b><p>Their 4 columns are read as 4 labels, not as 2 labels by 2 raters."
    assert question in html(at)
    button(at, "Read as 2 labels by 2 raters")
    assert at.toggle(key="map-raters").value
    assert "2 labels by 2 raters" in html(at)
    assert "Are anna and ben raters?" not in html(at)
    at = upload(b"id,text,food,room\na,soup one,1,0\nb,soup two,0,1\n")
    assert "raters?" not in html(at)


def label_id(session: ProjectSession, name: str) -> str:
    latest = session.store.codebooks.latest()
    assert latest is not None
    label = latest.codebook.find(name)
    assert label is not None
    return label.id


def test_file_is_read_again_with_another_delimiter(session: ProjectSession) -> None:
    at = upload("text;n\nBär über Köln;1\n".encode("latin-1"), "b.csv")
    assert at.selectbox(key="map-text").value == "text"
    at.selectbox(key="read-delimiter").set_value(",").run()
    assert at.selectbox(key="map-text").value == "text;n"
    at.selectbox(key="read-delimiter").set_value("").run()
    assert at.selectbox(key="map-text").value == "text"


def test_list_of_sheets_names_the_one_that_was_read(session: ProjectSession) -> None:
    rows = [["id", "text"], [1, "Great"], [2, "Dirty"]]
    at = upload(make_xlsx({"Notes": [["Read me"]], "Data": rows, "More": rows}), "b.xlsx")
    assert at.selectbox(key="read-sheet").options == ["Data (detected)", "Notes", "Data", "More"]
    at.selectbox(key="read-sheet").set_value("More").run()
    assert at.selectbox(key="read-sheet").options == ["Detect", "Notes", "Data", "More"]


def test_chosen_kind_of_gold_without_a_column_is_said(session: ProjectSession) -> None:
    at = upload(b"id,text,mood\n1,The soup was cold.,fine words\n2,The bed was hard.,more words\n")
    assert "No gold column is chosen" not in html(at)
    at.segmented_control(key="gold_kind").set_value("list").run()
    at.multiselect(key="map-gold-list").set_value([]).run()
    assert "No gold column is chosen" in html(at)
    at.multiselect(key="map-gold-list").set_value(["mood"]).run()
    assert "No gold column is chosen" not in html(at)


def test_first_line_is_imported_if_the_file_has_no_header(session: ProjectSession) -> None:
    at = upload(b"The soup was cold.\nThe bed was hard.\n", "b.csv")
    assert any(button.label == "Import 1" for button in at.button)
    at.selectbox(key="read-header").set_value("none").run()
    assert any(button.label == "Import 2" for button in at.button)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "is empty"), (b"id,text\n", "but no rows"), (b"PK\x03\x04" + b"\x00\xff" * 200, "is not a table")],
)
def test_unreadable_file_is_explained(session: ProjectSession, content: bytes, words: str) -> None:
    at = upload(content)
    assert words in html(at)
    assert "Import your texts" in html(at)


def test_file_is_read_by_path(session: ProjectSession, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"text\none two\n")
    at = open_page("data")
    at.text_input(key="data-path").set_value(str(tmp_path / "no.csv"))
    button(at, "Read")
    assert "cannot be read: No such file" in html(at)
    at.text_input(key="data-path").set_value(f'"{tmp_path / "x.csv"}"')
    button(at, "Read")
    assert "x.csv, not imported yet" in html(at)
    assert "cannot be read" not in html(at)


def test_misspelt_labels_of_a_new_codebook_are_named(session: ProjectSession) -> None:
    rows = "".join(f"text {number},Staff\n" for number in range(20))
    shown = html(upload(f"text,labels\n{rows}last,staf\nmore,Food\n".encode()))
    assert "Perhaps misspelt: &#x27;staf&#x27; (1) for &#x27;Staff&#x27; (20)" in shown


def test_import_into_a_project_with_documents(session: ProjectSession) -> None:
    button(upload(b"id,text\n1,one\n2,two\n"), "Import 2")
    for content, title in ((b"id,text\n1,one\n2,two\n", "Add missing values"), (b"id,text\n2,two\n3,x\n", "Import 1")):
        assert next(button for button in upload(content).button if button.key == "data-import").label == title
    at = upload(b"id,text\n2,zwei\n3,drei\n")
    assert "has or had a document &#x27;2&#x27; with a different text" in html(at)
    assert next(button for button in at.button if button.key == "data-import").disabled
    session.store.reviews.record([Decision("2", status="Submitted")], actor="me")
    at.segmented_control(key="data-destination").set_value("replace").run()
    assert "1 document gets a new id, such as 7 (2)" in html(at)
    button(at, "Import 2")
    assert "1 document got a new id" in html(at)
    assert {document.id: document.text for document in session.store.documents.page()} == {"2 (2)": "zwei", "3": "drei"}
    assert html(at).count("moot-line") >= 2  # both imports are listed


def test_documents_are_searched_and_paged(session: ProjectSession) -> None:
    rows = "".join(f"d{n},text number {n}\n" for n in range(120))
    at = button(upload(b"id,text\n" + rows.encode()), "Import 120")
    assert "1 to 50 of 120" in html(at)
    at.text_input(key="data_search").set_value("number 11").run()
    assert "1 to 11 of 11" in html(at)
    at.text_input(key="data_search").set_value("zebra").run()
    assert "No document matches the search." in html(at)


def test_gold_is_remapped(session: ProjectSession) -> None:
    session.store.codebooks.save(load_yaml("labels: [{name: Food}, {name: Service}]"))
    at = upload(CSV)
    at.segmented_control(key="gold_kind").set_value("none").run()
    button(at, "Import 5")
    assert "No gold labels" in html(at)
    assert any(button.key == "next-step" for button in at.button)
    button(at, "Map gold columns")
    assert not any(button.key == "next-step" for button in at.button), "it would compete with Add the gold"
    at.segmented_control(key="gold_kind").set_value("none").run()
    assert at.button(key="data-map-gold-submit").disabled
    at.segmented_control(key="gold_kind").set_value("label").run()
    button(at, "Add the gold")
    assert "Gold added: 5 documents with gold" in html(at)
    assert session.store.documents.with_gold() == 5
    button(at, "Map gold columns")
    button(at, "Replace the gold")
    assert "Gold replaced: 5 documents with gold" in html(at)


def test_unknown_gold_value_of_a_stored_document_is_found_by_its_id(session: ProjectSession) -> None:
    at = upload(b"text,gold\nsoup one,good\nsoup two,goood\n,good\nsoup four,bad\n")
    at.segmented_control(key="gold_kind").set_value("choice").run()
    at.multiselect(key="map-gold-choice").set_value(["gold"]).run()
    button(at, "Import 3")
    session.store.codebooks.save(load_yaml("kind: choice\nlabels: [{name: good}, {name: goood}]"))
    shown = html(button(open_page("data"), "Map gold columns"))
    assert "<b>bad</b> in gold, once, first in document 4" in shown


def test_gold_of_replaced_documents_is_not_remapped(session: ProjectSession) -> None:
    session.store.codebooks.save(load_yaml("labels: [{name: Food}, {name: Service}]"))
    at = button(button(upload(CSV), "Import 5"), "Map gold columns")
    session.store.documents.replace_all([Document("new", {"text": "new"})])  # in another tab
    button(at, "Replace the gold")
    assert "have changed since their columns were read" in html(at)
    assert session.store.documents.with_gold() == 0


def test_pages_without_a_project_lead_to_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with studio(tmp_path, monkeypatch):
        for name in PAGES:
            assert ("No project is open" in html(open_page(name))) is (name != "home")


def test_long_unknown_values_are_shortened_in_the_middle(session: ProjectSession) -> None:
    session.store.codebooks.save(load_yaml("labels: [{name: Food}, {name: Service}]"))
    start = "no evidence of an effect on the outcome of interest in the"
    rows = f"a,1,{start} target summary\nb,0,{start} generated summary\n" + "more,1,1\nrows,0,0\n" * 4
    at = upload(f"text,Food,Service\n{rows}".encode())
    shown = html(at)
    for end in ("target", "generated"):
        assert f'<b title="{start} {end} summary">no evidence' in shown
        assert f"{end} summary</b>" in shown


def test_words_are_mapped_to_ratings_and_rows_grouped(session: ProjectSession) -> None:
    session.store.codebooks.save(load_yaml("{kind: rating, labels: [{name: Clarity}], scale: {min: 1, max: 3}}"))
    clarity = label_id(session, "Clarity")
    at = upload(b"text,Clarity,chat,turn\nnow we talk,high,a,2\nhello there,2,a,1\nwho knows,unsure,b,1\n")
    at.segmented_control(key="gold_kind").set_value("label").run()
    at.selectbox(key=f"map-gold-0-{clarity}").set_value("Clarity").run()
    shown = html(at)
    assert "outside the rating scale" in shown
    position = 0 if shown.index("<b>high</b>") < shown.index("<b>unsure</b>") else 1
    at.selectbox(key=f"map-value-{position}").set_value("3").run()
    at.selectbox(key="map-group").set_value("chat").run()
    at.selectbox(key="map-order").set_value("turn").run()
    button(at, "Import 3")
    rows = session.store.documents.page(0, 9)
    assert [(document.text, document.group, document.order) for document in rows] == [
        ("hello there", "a", 1.0),
        ("now we talk", "a", 2.0),
        ("who knows", "b", 1.0),
    ]
    assert [document.gold.get("gold", {}).get(clarity) for document in rows] == [2, 3, None]


def test_notes_on_rows_and_on_lost_text_are_shown(session: ProjectSession) -> None:
    at = upload(b'text,chat,turn,,,,,,\nnow we talk,a,2,,,,,,\nhello there,a,later,,,,,,\nlost,a,1,,,,,,"open\n')
    assert "Row 4: the quote opened in field 9 is never closed" in html(at)
    at.selectbox(key="map-group").set_value("chat").run()
    at.selectbox(key="map-order").set_value("turn").run()
    assert "is neither a number nor an ISO date" in html(at)


def test_reload_keeps_the_pending_import(session: ProjectSession) -> None:
    at = upload(CSV)
    at.segmented_control(key="rows-duplicates").set_value("first").run()
    sent = [arguments["parameters"] for arguments in component_data(at, "url_parameters")]
    (id,) = [parameters["import_id"] for parameters in sent if "import_id" in parameters]

    again = open_page("data")  # another tab shows the pending file
    assert "soup.csv is not imported yet" in html(again)
    button(again, "Continue")
    assert "Rows read: 7, kept: 4, rejected: 3" in html(again)

    reloaded = AppTest.from_file(NAVIGATION, default_timeout=30)
    reloaded.query_params["import_id"] = id
    reloaded.run().switch_page("screens/data/page.py").run()
    assert "Rows read: 7, kept: 4, rejected: 3" in html(reloaded)
    button(reloaded, "Cancel")
    assert "Import your texts" in html(reloaded)
    assert "Import your texts" in html(at.run())  # the first tab too, as tabs share the pending import
    assert "soup.csv" not in html(open_page("data"))


def test_map_gold_columns_opens_with_those_of_the_last_import(session: ProjectSession) -> None:
    at = upload(b"text,coder_anna,coder_Ben\none,Staff,Food; Staff\ntwo,Food,Food\nthree,Food; Staff,Staff\n")
    at.segmented_control(key="gold_kind").set_value("list").run()
    at.multiselect(key="map-gold-list").set_value(["coder_anna", "coder_Ben"]).run()
    button(button(at, "Import 3"), "Map gold columns")
    assert at.segmented_control(key="gold_kind").value == "list"
    assert at.multiselect(key="map-gold-list").value == ["coder_anna", "coder_Ben"]
    button(at, "Replace the gold")
    assert "Gold replaced: 3 documents with gold" in html(at)


def test_list_shows_the_beginning_of_a_long_word(session: ProjectSession) -> None:
    session.store.documents.add([Document("d1", {"text": "w" * 100_000})])
    at = open_page("data")
    (shown,) = component_data(at, "document_list")
    assert shown["rows"][0]["excerpt"] == "w" * 200
    assert "w" * 1000 not in html(at)


@pytest.mark.parametrize("page", ["home", "data"])
def test_file_that_cannot_be_read_does_not_stay_in_the_way_of_the_next(session: ProjectSession, page: str) -> None:
    at = open_page(page)
    at.file_uploader(key="drop-0").set_value([("empty.csv", b"", "text/csv")]).run()
    assert "empty.csv is empty." in html(at)
    at.file_uploader(key="drop-1").set_value([("soup.csv", CSV, "text/csv")]).run()
    assert "Rows read: 7" in html(at)
