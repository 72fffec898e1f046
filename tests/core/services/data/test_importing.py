"""Tests of data import: preview, import, and the resulting project."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.codebook import Codebook, load_yaml, parse_codebook
from core.errors import InputError, UsageError
from core.ingest.gold import GoldSource
from core.ingest.mapping import ColumnMapping
from core.services import projects
from core.services.background_jobs import Job
from core.services.codebooks import codebook as codebooks
from core.services.data import importing, overview
from core.services.data.importing import (
    MAX_PENDING,
    ImportDraft,
    ImportOptions,
    PendingImports,
    ReadOptions,
    read_files,
)
from core.services.project_session import ProjectSession
from core.services.workspace import Workspace
from core.store.reviews import Decision
from tests.core.ingest.conftest import make_xlsx
from tests.core.services.data.soup import CODEBOOK, CSV, FOOD, SERVICE, preview, soup, with_id


@pytest.fixture
def session(workspace: Workspace) -> ProjectSession:
    return projects.create_project(workspace, "p")


def test_preview_stores_nothing_and_accounts_for_every_row(session: ProjectSession) -> None:
    draft = with_id(importing.read_files([("soup.csv", CSV)], CODEBOOK))
    built_preview = preview(session, draft, CODEBOOK)
    assert session.store.documents.count() == 0
    built = built_preview.built
    # Of seven rows three are rejected: the second c (repeated id), d (no text), f (two fields).
    assert (built.read, built.kept, len(built.rejected)) == (7, 4, 3)
    assert (built.duplicate_texts, built.empty_texts, built.with_gold) == (1, 1, 3)
    assert [(unknown.value, unknown.count) for unknown in built.unknown_gold] == [("maybe", 1)]

    first = importing.preview_import(replace(draft, duplicates="first", empties="keep"), CODEBOOK, session)
    assert [document.id for document in first.built.documents] == ["a", "b", "c", "d"]


def test_new_message_leaves_the_neighbours_of_stored_documents(session: ProjectSession) -> None:
    mapping = ColumnMapping("text", id="id", group="chat", neighbours=1)
    rows = "id,chat,text\nm1,c1,hello\nm2,c1,food\nm3,c2,alone\n"
    notes = []
    for new in ("", "m4,c1,staff\nm5,c2,not alone\n"):
        draft = replace(importing.read_files([("chat.csv", f"{rows}{new}".encode())]), mapping=mapping)
        built_preview = importing.preview_import(draft, CODEBOOK, session)
        importing.store_documents(session, built_preview)
        notes.append(built_preview.built.notes)
    assert notes == [(), ("2 documents keep the neighbours in the project.",)]
    windows = {document.id: document.fields.get("neighbours") for document in session.store.documents.page()}
    here = "[the text to label]"
    assert windows == {
        "m1": f"{here}\nfood",
        "m2": f"hello\n{here}",
        "m3": None,
        "m4": f"food\n{here}",
        "m5": f"alone\n{here}",
    }
    changed = replace(importing.read_files([("chat.csv", rows.replace("food", "drink").encode())]), mapping=mapping)
    assert importing.preview_import(changed, CODEBOOK, session).conflict


def test_import_stores_documents_and_reports_progress(session: ProjectSession) -> None:
    progress: list[tuple[float, str]] = []
    draft = with_id(importing.read_files([("soup.csv", CSV)], CODEBOOK))
    result = importing.store_documents(
        session, preview(session, draft, CODEBOOK), lambda share, step: progress.append((share, step))
    )
    assert result.counts == {"documents": 4, "repeated": 0, "gold_conflicts": 0, "rejected": 3}
    assert [share for share, _ in progress] == sorted(share for share, _ in progress)
    assert progress[-1] == (1.0, "Done")

    loaded = overview.load_overview(session, CODEBOOK)
    assert (loaded.documents, loaded.with_gold, loaded.raters) == (4, 3, ("gold",))
    # Food: a yes, b and c no. Service: a no, b yes; the "maybe" of c is not a gold value.
    assert [(bar.label, bar.count, bar.total) for bar in loaded.gold] == [("Food", 1, 3), ("Service", 1, 2)]
    assert sum(count for _, _, count in loaded.words.bins) == 4
    (stored,) = loaded.imports
    assert (stored.file_name, stored.counts["documents"], stored.counts["rejected"]) == ("soup.csv", 4, 3)
    assert overview.first_rejected(session, stored)[-1] == "row 8: 3 fields, expected 5"
    assert overview.rejected_rows_csv(session, stored.id).decode("utf-8-sig").count("\n") == 1 + 3

    page = overview.document_page(session, search="SOUP")
    assert (overview.count_documents(session, "SOUP"), [document.id for document in page]) == (2, ["a", "e"])
    assert overview.format_gold(page[0], CODEBOOK) == ["Food"]
    assert overview.document_page(session, offset=3, limit=2)[0].id == "e"


def test_unknown_gold_values_can_be_mapped(session: ProjectSession) -> None:
    draft = with_id(importing.read_files([("soup.csv", CSV)], CODEBOOK))
    draft = replace(draft, mapping=replace(draft.mapping, value_map={"Maybe": True}))
    built_preview = preview(session, draft, CODEBOOK)
    assert built_preview.built.unknown_gold == ()
    assert built_preview.built.documents[2].gold == {"gold": {FOOD: False, SERVICE: True}}


def test_missing_codebook_is_created_from_gold(session: ProjectSession) -> None:
    draft = importing.read_files([("two.csv", b"text,good,bad\nx,1,0\ny,0,1\n")])
    built_preview = importing.preview_import(draft, None, session)
    assert built_preview.new_codebook
    assert built_preview.codebook is not None
    assert built_preview.codebook.names == ("good", "bad")
    importing.store_documents(session, preview(session, draft))
    codebook = codebooks.current(session)
    assert codebook == built_preview.codebook
    assert [(bar.label, bar.count) for bar in overview.load_overview(session, codebook).gold] == [
        ("good", 1),
        ("bad", 1),
    ]


@pytest.mark.parametrize(
    ("labels", "misspelt"),
    [
        (
            ["Staff"] * 20 + ["staf", "Foood"] + ["Food"] * 10,
            "'Foood' (1) for 'Food' (10), 'staf' (1) for 'Staff' (20)",
        ),
        (["Staff"] * 9 + ["staf"], ""),  # too frequent for a slip
        (["stable"] * 30 + ["unstable"], ""),
        (["Group 1"] * 30 + ["Group 2"], ""),
        (["Group A"] * 30 + ["Group B"], ""),
        (["Type I"] * 30 + ["Type II"], ""),
        (["Location"] * 30 + ["Locaton"], "'Locaton' (1) for 'Location' (30)"),
        (["Service"] * 30 + ["Price"], ""),
    ],
)
def test_rare_names_like_a_frequent_one_may_be_misspelt(labels: list[str], misspelt: str) -> None:
    rows = "".join(f"text {number},{label}\n" for number, label in enumerate(labels))
    draft = importing.read_files([("a.csv", f"text,label\n{rows}".encode())])
    draft = replace(draft, mapping=replace(draft.mapping, gold=(GoldSource("label", "choice"),)))
    assert importing.preview_import(draft, None, None).misspelt == misspelt
    as_list = replace(draft, mapping=replace(draft.mapping, gold=(GoldSource("label", "list"),)))
    assert importing.preview_import(as_list, None, None).misspelt == misspelt


def test_names_of_an_existing_codebook_are_not_called_misspelt() -> None:
    book = load_yaml("labels: [{name: Staff}, {name: staf}]")
    rows = "".join(f"text {number},Staff\n" for number in range(20))
    draft = importing.read_files([("a.csv", f"text,labels\n{rows}last,staf\n".encode())], book)
    assert importing.preview_import(draft, book, None).misspelt == ""


def test_gold_is_matched_with_draft_labels_and_the_draft_is_kept(session: ProjectSession) -> None:
    codebooks.save_draft(session, CODEBOOK)
    known = codebooks.editor_codebook(session)
    importing.store_documents(
        session, preview(session, with_id(importing.read_files([("soup.csv", CSV)], known)), known)
    )
    assert session.store.codebooks.latest() is None
    assert codebooks.codebook_status(session).codebook == CODEBOOK
    assert session.store.documents.with_gold() == 3


def test_import_job_runs_in_the_background(session: ProjectSession) -> None:
    job = importing.start_import(soup(session), lambda: session)
    assert job.wait(20)
    where, created = job.result()
    assert (where, created.counts["documents"], job.share) == (session, 4, 1.0)
    again = importing.start_import(
        preview(session, importing.read_files([("x.csv", b"id,text\na,other\n")])), lambda: session
    )
    again.wait(20)
    with pytest.raises(InputError):
        again.result()


def test_import_without_gold_creates_no_codebook(session: ProjectSession) -> None:
    draft = importing.read_files([("plain.csv", b"text\nx\ny\n")])
    built_preview = importing.preview_import(draft, None, session)
    assert (built_preview.codebook, built_preview.new_codebook) == (None, False)
    importing.store_documents(session, preview(session, draft))
    assert codebooks.current(session) is None


def test_new_documents_are_added_and_changed_documents_are_refused(session: ProjectSession) -> None:
    importing.store_documents(session, preview(session, importing.read_files([("a.csv", b"id,text\n1,one\n2,two\n")])))
    again = importing.read_files([("b.csv", b"id,text\n2,two\n3,three\n")])
    assert importing.preview_import(again, None, session).existing == 1
    assert importing.store_documents(session, preview(session, again)).counts == {
        "documents": 1,
        "repeated": 1,
        "gold_conflicts": 0,
        "rejected": 0,
    }

    other = importing.read_files([("c.csv", b"id,text\n3,drei\n")])
    assert importing.preview_import(other, None, session).conflict == "a document '3' with a different text"
    with pytest.raises(InputError, match="has or had a document '3' with a different text"):
        importing.store_documents(session, preview(session, other))
    importing.store_documents(session, preview(session, replace(other, destination="replace")))
    assert [document.text for document in overview.document_page(session)] == ["drei"]


def test_texts_that_the_project_has_under_other_ids_are_counted(session: ProjectSession) -> None:
    importing.store_documents(session, preview(session, importing.read_files([("a.csv", b"id,text\n1,one\n2,two\n")])))
    other_ids = importing.read_files([("b.csv", b"id,text\n1,one\na,two\nb,two\nc,three\n")])
    found = preview(session, other_ids)
    assert (found.existing, found.other_ids) == (1, 2)
    assert importing.describe_other_ids(1) == "1 text is already in the project under other ids"
    assert preview(session, replace(other_ids, destination="replace")).other_ids == 0


def test_removed_document_with_reviews_keeps_its_id(session: ProjectSession) -> None:
    def texts(*rows: str) -> ImportDraft:
        draft = importing.read_files([("a.csv", "\n".join(["text", *rows]).encode())])
        return replace(draft, mapping=ColumnMapping("text"))

    importing.store_documents(session, preview(session, texts("first text", "second text")))
    session.store.reviews.record([Decision("2", status="Submitted")], actor="me")
    importing.store_documents(session, preview(session, replace(texts("first text"), destination="replace")))
    other = texts("first text", "other text")
    assert preview(session, other).conflict == "a document '2' with a different text"
    with pytest.raises(InputError, match="has or had a document '2' with a different text"):
        importing.store_documents(session, preview(session, other))
    assert preview(session, replace(other, destination="replace")).new_ids == 1
    importing.store_documents(session, preview(session, texts("first text", "second text")))
    assert session.store.documents.ids() == ["1", "2"]


def test_file_that_got_new_ids_can_be_added_again(session: ProjectSession) -> None:
    def file(rows: str, **changed: Any) -> ImportDraft:
        return replace(importing.read_files([("a.csv", f"id,text,food\n{rows}".encode())]), **changed)

    importing.store_documents(session, preview(session, file("1,one,\n2,two,\n")))
    session.store.reviews.record([Decision("1", status="Submitted")], actor="me")
    importing.store_documents(session, preview(session, file("1,eins,\n2,two,\n", destination="replace")))
    assert session.store.documents.ids() == ["1 (2)", "2"]
    again = preview(session, file("1,eins,\n2,two,\n3,three,\n"))
    assert (again.existing, again.conflict) == (2, "")
    assert [document.id for document in again.built.documents] == ["1 (2)", "2", "3"]
    counts = importing.store_documents(session, again).counts
    assert (counts["documents"], counts["repeated"]) == (1, 2)
    assert session.store.documents.ids() == ["1 (2)", "2", "3"]
    assert preview(session, file("1,uno,\n2,two,\n")).conflict.startswith("a document '1' ")
    assert preview(session, file("1,uno,\n2,due,\n")).conflict == "a document '1' with a different text, and 1 more"


def test_unchanged_text_keeps_its_id_if_rows_above_are_removed(session: ProjectSession) -> None:
    def rows(*texts: str, **changed: Any) -> ImportDraft:
        draft = importing.read_files([("a.csv", "\n".join(["text", *texts]).encode())])
        return replace(draft, mapping=ColumnMapping("text"), **changed)

    importing.store_documents(session, preview(session, rows("wrong", "same", "wrong", "last", "same")))
    session.store.reviews.record([Decision(id, status="Submitted") for id in "124"], actor="me")
    corrected = rows("right", "same", "last", "added", "same", "same", destination="replace")
    found = preview(session, corrected)
    assert [document.id for document in found.built.documents] == ["1", "2", "4", "7", "5", "6"]
    assert found.new_ids == 1, "only the corrected text has no reviews"
    importing.store_documents(session, found)
    assert session.store.documents.ids() == ["1 (2)", "2", "4", "7", "5", "6"]

    again = preview(session, replace(corrected, destination="add"))
    assert (again.conflict, again.existing) == ("", 6)
    assert importing.store_documents(session, again).counts["documents"] == 0
    earlier = preview(session, rows("wrong", "same", "wrong", "last", "same", destination="replace"))
    assert [document.id for document in earlier.built.documents] == ["1", "2", "3", "4", "5"]


def test_replaced_file_is_found_again_if_some_rows_have_their_old_ids(session: ProjectSession) -> None:
    for rows, ids in (("one\ntwo\nthree", ["1", "2", "3"]), ("three\nfour", ["3", "2"])):
        draft = importing.read_files([("a.csv", f"text\n{rows}".encode())])
        draft = replace(draft, mapping=ColumnMapping("text"), destination="replace")
        importing.store_documents(session, preview(session, draft))
        assert session.store.documents.ids() == ids
        assert preview(session, replace(draft, destination="add")).existing == len(ids)


def test_codebook_from_gold_columns_keeps_the_draft_without_labels(session: ProjectSession) -> None:
    session.store.codebooks.save_draft(Codebook(unit="soup review", guideline="Judge the soup."))
    draft = with_id(importing.read_files([("soup.csv", CSV)], CODEBOOK))
    importing.store_documents(session, preview(session, draft))
    saved = session.store.codebooks.history()[0].codebook
    assert (saved.name, saved.unit, saved.guideline) == ("soup", "soup review", "Judge the soup.")
    assert saved.names == ("Food", "Service")
    assert session.store.codebooks.draft() is None


def test_labels_added_to_the_draft_after_the_preview_are_kept(session: ProjectSession) -> None:
    made = preview(session, with_id(importing.read_files([("soup.csv", CSV)], CODEBOOK)))
    assert made.new_codebook
    typed = load_yaml("labels: [{name: food, description: Typed by hand.}, {name: Noise}]")
    session.store.codebooks.save_draft(typed)
    importing.store_documents(session, made)
    (version,) = session.store.codebooks.history()
    assert version.codebook.names == ("Food", "Service")
    kept = session.store.codebooks.draft()
    assert kept is not None
    assert [label.description for label in kept.labels] == ["Typed by hand.", ""]
    assert kept.labels[0].id == version.codebook.labels[0].id, "The gold is that of the label in the draft."


def test_import_without_usable_rows_is_an_error(session: ProjectSession) -> None:
    draft = importing.read_files([("a.csv", b"id,text\n,x\n")])
    with pytest.raises(InputError, match="no row can be used"):
        importing.store_documents(session, preview(session, with_id(draft)))


def test_sheet_with_the_text_column_is_read(tmp_path: Path) -> None:
    path = tmp_path / "soup.xlsx"
    rows = [["id", "body"], ["a", "the soup was good"]]
    path.write_bytes(make_xlsx({"Read me": [["Notes"], ["Ask Ann."]], "Empty": [], "Data": rows}))
    read = importing.preview_file(ImportOptions((path,), ColumnMapping("body")), CODEBOOK, None)
    assert [document.text for document in read.built.documents] == ["the soup was good"]
    assert "Sheet 'Data' was read; the file has 3: Read me, Empty, Data." in read.built.notes
    with pytest.raises(UsageError, match="no column 'text' for the text"):
        importing.preview_file(ImportOptions((path,), ColumnMapping("text")), CODEBOOK, None)


@pytest.mark.parametrize(
    ("rater", "gold"), [("@ann", {"gold": True, "ann": False}), ("", {"gold": False})], ids=["another rater", "same"]
)
def test_column_named_like_a_label_is_gold_beside_that_of_another_rater(
    tmp_path: Path, rater: str, gold: dict[str, bool]
) -> None:
    path = tmp_path / "soup.csv"
    path.write_text("text,Food,Food_ann\nSoup,1,0\n")
    options = ImportOptions((path,), ColumnMapping("text"), gold=(f"Food=Food_ann{rater}",), gold_same_names=True)
    (document,) = importing.preview_file(options, CODEBOOK, None).built.documents
    assert document.gold == {name: {FOOD: value} for name, value in gold.items()}


def test_limit_keeps_gold_of_later_rows_with_the_same_id(tmp_path: Path) -> None:
    path = tmp_path / "soup.csv"
    first, last = "d0,Soup 0,Food", "d0,Soup 0,Service"
    path.write_text("\n".join(["id,text,labels", first, *(f"d{n},Soup {n},Food" for n in range(1, 1200)), last]))
    options = ImportOptions((path,), ColumnMapping("text", id="id"), gold=("label=labels",), limit=2)
    read = importing.preview_file(options, CODEBOOK, None)
    gold = read.built.documents[0].gold["gold"]
    assert {name: gold[CODEBOOK.find(name).id] for name in ("Food", "Service")} == {"Food": True, "Service": True}


@pytest.mark.parametrize(
    ("columns", "gold"), [(ColumnMapping("text", context=("reply_to",)), ()), (ColumnMapping("text"), ("Food=Food",))]
)
def test_limit_reads_columns_that_only_later_rows_have(
    tmp_path: Path, columns: ColumnMapping, gold: tuple[str, ...]
) -> None:
    path = tmp_path / "posts.jsonl"
    late = '{"text": "Late soup", "reply_to": "What?", "Food": 1}'
    path.write_text("\n".join([*(f'{{"text": "Soup {number}"}}' for number in range(1200)), late]))
    options = ImportOptions((path,), columns, gold=gold, limit=2)
    assert importing.preview_file(options, CODEBOOK, None).built.documents[0].text == "Soup 0"
    with pytest.raises(UsageError, match="no column 'reply'"):
        importing.preview_file(replace(options, columns=ColumnMapping("reply")), CODEBOOK, None)


def test_limit_does_not_change_the_ids_of_several_files(tmp_path: Path) -> None:
    paths = (tmp_path / "a.csv", tmp_path / "b.csv")
    for path in paths:
        path.write_text("\n".join(["text", *(f"{path.stem} {number}" for number in range(1500))]))
    options = ImportOptions(paths, ColumnMapping("text"))
    all_rows, limited = (
        importing.preview_file(replace(options, limit=limit), CODEBOOK, None).built for limit in (None, 1)
    )
    assert [document.id for document in limited.documents] == [document.id for document in all_rows.documents]


def test_header_is_an_option_of_text_files(tmp_path: Path) -> None:
    path = tmp_path / "soup.csv"
    path.write_text("a,The soup was good.\nb,The soup was cold.\n", encoding="utf-8")
    options = ImportOptions((path,), ColumnMapping("column_2", id="column_1"), reading=ReadOptions(header="none"))
    read = importing.preview_file(options, CODEBOOK, None)
    assert [(document.id, document.text) for document in read.built.documents] == [
        ("a", "The soup was good."),
        ("b", "The soup was cold."),
    ]
    workbook = tmp_path / "soup.xlsx"
    workbook.write_bytes(make_xlsx({"Data": [["id", "body"], ["a", "the soup was good"]]}))
    for header in ("none", "first line"):
        with pytest.raises(UsageError, match="the header can be chosen only for csv, tsv and txt files"):
            read_as(workbook, "body", header=header)


def read_as(path: Path, text: str, **reading: Any) -> tuple[str, ...]:
    options = ImportOptions((path,), ColumnMapping(text), reading=ReadOptions(**reading))
    return tuple(document.text for document in importing.preview_file(options, CODEBOOK, None).built.documents)


def test_encoding_delimiter_and_sheet_are_options(tmp_path: Path) -> None:
    file, workbook = tmp_path / "soup.csv", tmp_path / "soup.xlsx"
    file.write_bytes("text,more;n\nZupa była zimna;1\n".encode("cp852"))
    assert read_as(file, "text,more", encoding="cp852", delimiter=";") == ("Zupa była zimna",)
    workbook.write_bytes(make_xlsx({name: [["id", "text"], ["a", f"Cold {name}"]] for name in ("soup", "tea")}))
    assert read_as(workbook, "text", sheet="tea") == ("Cold tea",)
    workbook.write_bytes(make_xlsx({"soup": [["id", "text"], ["a", "Cold"]], "tea": [["id", "n"], ["a", "1"]]}))
    with pytest.raises(UsageError, match="no column 'text' for the text"):
        read_as(workbook, "text", sheet="tea")
    for path, name in ((workbook, "delimiter"), (workbook, "encoding"), (file, "sheet")):
        with pytest.raises(UsageError, match=f"the {name} can be chosen only for"):
            read_as(path, "text", **{name: ";" if name == "delimiter" else "cp1250"})


def test_file_is_read_again_with_another_delimiter(session: ProjectSession) -> None:
    draft = importing.read_files([("b.csv", "text;n\nBär;1\n".encode("latin-1"))])
    assert (draft.table.delimiter, draft.table.row(0)["text"]) == (";", "Bär")
    reread = importing.read_again(draft, delimiter=",")
    assert reread.table.columns == ("text;n",)
    assert reread.mapping.text == "text;n"  # the earlier text column no longer exists
    back = importing.read_again(replace(reread, duplicates="first"), delimiter=None)
    assert back.table.columns == ("text", "n")
    assert back.duplicates == "first"
    with pytest.raises(UsageError):
        importing.read_again(draft, encoding="klingon")


def test_further_file_is_read_with_the_former_names_of_labels() -> None:
    book = parse_codebook({"labels": [{"name": "Meals"}, {"name": "Cost"}]})
    former = {"Food": "Meals", "Price": "Cost"}
    rows = "id,text,Food,Price\n1,the soup was good,1,0\n2,the bill was high,0,1\n"
    draft = importing.read_files([("a.csv", rows.encode())], book, former_names=former)
    assert [source.label for source in draft.mapping.gold] == ["Meals", "Cost"]
    more = rows.replace("\n1,", "\n3,").replace("\n2,", "\n4,").encode()
    assert importing.read_again(draft, book, [("b.csv", more)]).mapping.gold == draft.mapping.gold


def test_chosen_columns_stay_when_the_destination_changes(session: ProjectSession) -> None:
    session.store.codebooks.save(old := parse_codebook({"labels": [{"name": "Food"}, {"name": "Bed"}]}))
    session.store.codebooks.save(codebooks.change_label(old, old.labels[0].id, name="Meals"))
    rows = b"key,text,note,Food,Price\n1,the soup was good,first,1,0\n2,the bill was high,second,0,1\n"
    suggested = importing.read_files([("a.csv", rows)])
    assert [source.column for source in suggested.mapping.gold] == ["Food", "Price"]
    added = importing.change_destination(replace(suggested, destination="new"), "add", session)
    assert [source.label for source in added.mapping.gold] == ["Meals"], "Food is its former name"
    mapping = replace(suggested.mapping, text="note", id="key", context=("text",), gold=(), reasons=())
    chosen = replace(suggested, destination="add", mapping=mapping)
    assert importing.change_destination(chosen, "replace", session) == replace(chosen, destination="replace")
    new = importing.change_destination(chosen, "new", session).mapping
    assert (new.text, new.id, new.context) == ("note", "key", ("text",))
    assert [source.column for source in new.gold] == ["Food", "Price"]


def test_table_without_a_text_column_is_read_with_a_note() -> None:
    draft = importing.read_files([("n.csv", b"a,b\n1,2\n")])
    assert draft.mapping.text == "a"
    assert "is used for now" in draft.mapping.reasons[0]


def test_new_reading_keeps_no_mapping_to_a_missing_group(session: ProjectSession) -> None:
    draft = importing.read_files([("t.csv", b"text;thread\nsome words;1\nmore words;1\n")])
    draft = replace(draft, mapping=replace(draft.mapping, group="thread"))
    assert importing.read_again(draft, delimiter=";").mapping.group == "thread"
    assert importing.read_again(draft, delimiter="|").mapping.group is None


def test_ratings_of_several_raters_are_counted_per_rater() -> None:
    draft = importing.read_files([("r.csv", b"text,clear_A,clear_B\nx y,1,5\nz a,3,5\n")])
    book = load_yaml("{kind: rating, scale: {min: 1, max: 5}, labels: [{name: clear}]}")
    gold = (GoldSource("clear_A", "label", "clear", "A"), GoldSource("clear_B", "label", "clear", "B"))
    preview = importing.preview_import(replace(draft, mapping=replace(draft.mapping, gold=gold)), book, None)
    bars = overview.gold_distribution(preview.gold_counts, book)
    assert [(bar.rater, bar.value, bar.count) for bar in bars] == [
        ("A", "1", 1),
        ("A", "3", 1),
        ("A", "5", 0),
        ("B", "1", 0),
        ("B", "3", 0),
        ("B", "5", 2),
    ]
    assert overview.format_gold(preview.built.documents[0], book) == ["clear 3"]


def test_gold_of_a_deleted_label_is_shown_with_its_last_name(session: ProjectSession) -> None:
    importing.store_documents(session, soup(session))
    for name in ("Service", "Waiting"):
        codebooks.save(session, codebooks.change_label(CODEBOOK, SERVICE, name=name))
    less = codebooks.delete_label(CODEBOOK, SERVICE)
    assert [bar.label for bar in overview.load_overview(session, less).gold] == [
        "Food",
        "Waiting (not in the codebook)",
    ]
    deleted = codebooks.deleted_names(session, less)
    shown = (overview.format_gold(document, less, deleted) for document in overview.document_page(session))
    assert {name for names in shown for name in names} == {"Food", "Waiting"}


def test_gold_of_another_kind_is_offered_for_a_new_project() -> None:
    content = "text,clarity_A0,clarity_A1\n" + "".join(f"some text {n},{n % 3},{n % 2}\n" for n in range(20))
    draft = importing.read_files([("r.csv", content.encode())], CODEBOOK)
    assert draft.mapping.gold == ()
    assert draft.mapping.reasons[-1].startswith("In a new project: Ratings of 1 dimension by 2 raters")


def soup_draft(name: str = "a.csv") -> ImportDraft:
    return read_files([(name, b"id,text\n1,some soup\n2,some bread\n")])


def test_pending_import_is_kept_per_project_until_removed():
    pending, here = PendingImports(), Path("p.duckdb")
    first, second = pending.add(soup_draft("a.csv"), here), pending.add(soup_draft("b.csv"), here)
    other = pending.add(soup_draft("c.csv"), None)
    assert [item.draft.name for item in pending.of_project(here)] == ["b.csv", "a.csv"]
    assert pending.of_project(None) == (other,)
    first.draft = soup_draft("renamed.csv")
    assert [item.draft.name for item in pending.of_project(here)] == ["b.csv", "renamed.csv"]
    for _ in range(2):
        pending.remove(second.id)
        assert pending.get(second.id) is None


def test_oldest_pending_import_is_dropped_unless_it_is_importing():
    pending = PendingImports()
    importing, *rest = [pending.add(soup_draft(f"{number}.csv"), None) for number in range(MAX_PENDING)]
    importing.job = Job(lambda _report: Future(), "Importing")
    pending.add(soup_draft("last.csv"), None)
    assert pending.get(importing.id) is not None
    assert pending.get(rest[0].id) is None
    assert len(pending.of_project(None)) == MAX_PENDING


def test_new_pending_import_is_kept_beside_imports_that_run_or_have_ended():
    pending, running, ended = PendingImports(), Future(), Future()
    ended.set_result(None)
    held = [pending.add(soup_draft(f"{number}.csv"), None) for number in range(MAX_PENDING)]
    for item in held:
        item.job = Job(lambda _report: running, "Importing")
    held[1].job = Job(lambda _report: ended, "Importing")
    fifth = pending.add(soup_draft("fifth.csv"), None)
    assert [pending.get(item.id) for item in (*held, fifth)] == [held[0], None, held[2], held[3], fifth]
    fifth.job = held[0].job
    sixth = pending.add(soup_draft("sixth.csv"), None)
    assert pending.get(sixth.id) is sixth


def test_preview_is_cached_until_draft_or_codebook_changes():
    pending = PendingImports()
    one = pending.add(soup_draft(), None)
    first = one.preview(None, None)
    assert one.preview(None, None) is first
    assert one.preview(load_yaml("labels: [{name: Food}]"), None) is not first
    one.draft = soup_draft("b.csv")
    assert one.preview(None, None).draft.name == "b.csv"


def test_preview_counts_documents_that_replaced_others(session: ProjectSession) -> None:
    draft = with_id(read_files([("soup.csv", CSV)], CODEBOOK))
    pending = PendingImports().add(draft, session.path)
    documents = pending.preview(CODEBOOK, None).built.documents
    session.store.documents.add([replace(document, id=f"other {document.id}") for document in documents])
    assert pending.preview(CODEBOOK, session).existing == 0
    session.store.documents.replace_all(documents)
    assert session.store.documents.count() == len(documents)
    assert pending.preview(CODEBOOK, session).existing == len(documents)
