"""Tests of gold columns that are mapped again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.codebook import Codebook, Kind, Label, load_yaml
from core.documents import Document
from core.errors import InputError
from core.ingest.gold import GoldSource
from core.ingest.mapping import ColumnMapping
from core.services import projects
from core.services.codebooks import codebook as codebooks
from core.services.data import gold_mapping, importing, overview
from core.services.project_session import ProjectSession
from core.services.workspace import Workspace
from tests.core.services.data.soup import CODEBOOK, CSV, FOOD, SERVICE, preview, soup, with_id


@pytest.fixture
def session(workspace: Workspace) -> ProjectSession:
    return projects.create_project(workspace, "p")


def test_gold_of_stored_documents_can_be_remapped(session: ProjectSession) -> None:
    draft = importing.read_files([("soup.csv", CSV)])
    importing.store_documents(session, preview(session, with_id(replace(draft, mapping=ColumnMapping("text")))))
    assert overview.load_overview(session, None).with_gold == 0

    again = gold_mapping.draft_from_project(session, CODEBOOK)
    assert [source.column for source in again.mapping.gold] == [
        "Food"
    ]  # a quarter of the values of Service are not gold values
    both = (GoldSource("Food", "label", "Food"), GoldSource("Service", "label", "Service"))
    again = replace(again, mapping=replace(again.mapping, gold=both))
    assert gold_mapping.replace_gold(session, preview(session, again, CODEBOOK)) == 3
    result = session.store.documents.get("a")
    assert result is not None
    assert result.gold == {"gold": {FOOD: True, SERVICE: False}}
    assert result.text == "the soup was good"

    redrawn = replace(again, mapping=replace(again.mapping, gold=(GoldSource("Food", "label", "Food", "Ann"),)))
    assert gold_mapping.other_raters(session, redrawn) == ["gold"]
    gold_mapping.replace_gold(session, preview(session, redrawn, CODEBOOK))
    assert session.store.annotations.raters() == ["Ann", "gold"]
    gold_mapping.replace_gold(session, preview(session, redrawn, CODEBOOK), ["gold"])
    assert session.store.annotations.raters() == ["Ann"]


def test_remapping_is_refused_once_the_documents_were_replaced(session: ProjectSession) -> None:
    importing.store_documents(session, soup(session))
    again = preview(session, gold_mapping.draft_from_project(session, CODEBOOK), CODEBOOK)
    other = with_id(importing.read_files([("b.csv", b"id,text\na,another text\nz,a further text\n")]))
    importing.store_documents(session, preview(session, replace(other, destination="replace")))
    with pytest.raises(InputError, match="have changed since their columns were read"):
        gold_mapping.replace_gold(session, again)
    assert session.store.documents.with_gold() == 0


def test_remapping_proposes_no_further_rater_for_rows_by_rater(session: ProjectSession) -> None:
    rows = "".join(f"{n},words about {n},{coder},{n % 2}\n" for n in range(5) for coder in ("ann", "bo"))
    draft = importing.read_files([("rated.csv", f"id,text,coder,Food\n{rows}".encode())], CODEBOOK)
    importing.store_documents(session, preview(session, draft, CODEBOOK))
    assert session.store.annotations.raters() == ["ann", "bo"]
    again = gold_mapping.draft_from_project(session, CODEBOOK)  # the columns have only the first row of each document
    assert again.mapping.gold == ()
    assert "by other raters" in again.mapping.reasons[-1]


def test_remapping_keeps_gold_that_other_files_and_authors_gave(session: ProjectSession) -> None:
    importing.store_documents(session, soup(session))
    later = importing.read_files([("late.csv", b"id,text,Food_bob\na,the soup was good,0\nnew,the tea was cold,1\n")])
    gold = (GoldSource("Food_bob", "label", "Food", "bob"),)
    importing.store_documents(
        session, preview(session, replace(later, mapping=ColumnMapping("text", id="id", gold=gold)), CODEBOOK)
    )
    session.store.documents.add([Document("own", {"text": "mine"}, gold={"author": {FOOD: True}})])
    again = gold_mapping.draft_from_project(session, CODEBOOK)
    mapped = replace(again, mapping=replace(again.mapping, gold=(GoldSource("Food", "label", "Food"),)))
    assert gold_mapping.other_raters(session, mapped) == ["bob"]
    gold_mapping.replace_gold(session, preview(session, mapped, CODEBOOK))
    kept = {document.id: set(document.gold) for document in session.store.documents.load(["a", "new", "own"])}
    assert kept == {"a": {"gold", "bob"}, "new": {"bob"}, "own": {"author"}}


def test_remapping_proposes_columns_with_former_names_of_labels(session: ProjectSession) -> None:
    session.store.codebooks.save(CODEBOOK)
    importing.store_documents(session, preview(session, importing.read_files([("soup.csv", CSV)]), CODEBOOK))
    renamed = codebooks.change_label(CODEBOOK, FOOD, name="Dishes")
    session.store.codebooks.save(renamed)
    again = gold_mapping.draft_from_project(session, renamed)
    assert again.mapping.gold == (GoldSource("Food", "label", "Dishes"),)
    assert again.mapping.reasons[-1] == "Gold for 1 of 2 labels: columns with their names or former names."
    assert preview(session, again, renamed).built.with_gold == 4


@pytest.mark.parametrize("kind", ["choice", "multilabel"])
def test_remapping_reads_former_names_in_cells(session: ProjectSession, kind: Kind) -> None:
    book = codebooks.change(load_yaml("labels: [{name: Food}, {name: Service}, {name: Price}]"), kind=kind)
    session.store.codebooks.save(book)
    rows = b"".join(b"%d,words about the place %d,%s\n" % (n, n, (b"food", b"Price")[n % 2]) for n in range(8))
    draft = importing.read_files([("chosen.csv", b"id,text,label\n" + rows)], book)
    importing.store_documents(session, preview(session, draft, book))
    renamed = codebooks.change_label(book, book.labels[0].id, name="Dishes")
    again = gold_mapping.draft_from_project(session, renamed)
    assert [source.column for source in again.mapping.gold] == ["label"]
    assert again.mapping.value_map == {"food": "Dishes"}
    built = preview(session, again, renamed).built
    assert (built.with_gold, built.unknown_gold) == (8, ())


def test_remapping_gold_needs_documents(session: ProjectSession) -> None:
    with pytest.raises(InputError, match="no documents"):
        gold_mapping.draft_from_project(session, CODEBOOK)


def test_gold_kinds_depend_on_the_codebook() -> None:
    choice = Codebook(kind="choice", labels=(Label(name="a"), Label(name="b")))
    assert gold_mapping.gold_kinds(None) == ("label", "list", "choice")
    assert gold_mapping.gold_kinds(CODEBOOK) == ("label", "list")
    assert gold_mapping.gold_kinds(choice) == ("choice",)
    draft = importing.read_files([("c.csv", b"text,label\nfoo bar,a\nbar foo,b\n")], choice)
    assert [source.column for source in gold_mapping.suggest_gold(draft, "choice", choice)] == ["label"]
    preview = importing.preview_import(draft, choice, None)
    bars = overview.gold_distribution(preview.gold_counts, preview.codebook)
    assert [(bar.label, bar.count, bar.total) for bar in bars] == [("a", 1, 2), ("b", 1, 2)]


def test_gold_of_a_deleted_label_can_be_mapped_to_another(session: ProjectSession) -> None:
    draft = importing.read_files([("a.csv", b"text,labels\none,Staff\ntwo,staf; Food\nthree,Food; Staff\n")])
    importing.store_documents(session, preview(session, draft))
    book = codebooks.editor_codebook(session)
    assert book is not None
    ids = {label.name: label.id for label in book.labels}
    codebooks.save_draft(session, less := codebooks.delete_label(book, ids["staf"]))
    remapped = gold_mapping.draft_from_project(session, less)
    assert "staf" in {unknown.value for unknown in preview(session, remapped, less).built.unknown_gold}
    assert "Staff" in gold_mapping.gold_value_options(remapped, less, "staf")
    mapping = replace(remapped.mapping, value_map={"staf": "Staff"})
    gold_mapping.replace_gold(session, importing.preview_import(replace(remapped, mapping=mapping), less, None))
    assert [codebooks.count_gold_labels(session, ids[name]) for name in ("Staff", "staf", "Food")] == [3, 0, 2]


def test_gold_columns_of_the_last_import_are_proposed_again(session: ProjectSession) -> None:
    content = b"text,coder_anna,coder_Ben\none,Staff,Food; Staff\ntwo,?,Food\nthree,Food; Staff,Staff\n"
    draft = importing.read_files([("a.csv", content)])
    gold = tuple(GoldSource(name, "list", rater=name) for name in ("coder_anna", "coder_Ben"))
    draft = replace(draft, mapping=replace(draft.mapping, gold=gold, value_map={"?": None}))
    importing.store_documents(session, preview(session, draft))
    importing.store_documents(session, preview(session, importing.read_files([("b.csv", b"id,text\nx,four\n")])))
    again = gold_mapping.draft_from_project(session, book := codebooks.editor_codebook(session))
    assert (again.mapping.gold, again.mapping.value_map) == (gold, {"?": None})
    assert again.mapping.reasons[-1] == "These are the gold columns of the last import with gold."
    before = session.store.documents.gold_counts()
    gold_mapping.replace_gold(session, importing.preview_import(again, book, None))
    assert session.store.documents.gold_counts() == before
    stance = load_yaml("{kind: choice, labels: [{name: Favor}, {name: Against}]}")
    assert gold_mapping.draft_from_project(session, stance).mapping.gold == ()  # lists do not fit


def test_gold_columns_that_were_mapped_last_are_proposed_again(session: ProjectSession) -> None:
    content = b"id,text,labels,second\n1,one,Food; Staff,?\n2,two,Food,Staff\n3,three,Staff,Food\n"
    importing.store_documents(session, preview(session, importing.read_files([("a.csv", content)])))
    book = codebooks.editor_codebook(session)
    draft = gold_mapping.draft_from_project(session, book)
    assert [source.column for source in draft.mapping.gold] == ["labels"]
    gold = (GoldSource("labels", "list"), GoldSource("second", "list", rater="ben"))
    mapping = replace(draft.mapping, gold=gold, value_map={"?": "Food"})
    gold_mapping.replace_gold(session, importing.preview_import(replace(draft, mapping=mapping), book, None))
    again = gold_mapping.draft_from_project(session, book).mapping
    assert (again.gold, again.value_map) == (gold, {"?": "Food"})
    assert again.reasons[-1] == "These are the gold columns that were mapped last."
    more = importing.read_files([("b.csv", content.replace(b"\n3", b"\n4"))], book)
    importing.store_documents(session, preview(session, more, book))
    assert gold_mapping.draft_from_project(session, book).mapping.gold == gold[:1]
