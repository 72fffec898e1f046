"""Data: what would be imported, what is, and what the project then holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.codebook import Codebook, Label, load_yaml
from core.errors import InputError, UsageError
from core.studio import home
from core.studio.codebooks import codebook as codebooks
from core.studio.datasets import data, holdings
from core.studio.datasets.data import GoldSource, Mapping
from core.studio.datasets.importing import Importing
from core.studio.desk import Desk
from core.studio.workspace import Workspace

CODEBOOK = load_yaml("labels: [{name: Food}, {name: Service}]")
FOOD, SERVICE = (label.id for label in CODEBOOK.labels)
CSV = b"""id,text,Food,Service,other
a,the soup was good,1,no,x
b,the waiter was rude,0,yes,y
c,nothing,0,maybe,z
c,again,1,1,z
d,,1,1,z
e,the soup was good,,,z
f,too,few
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    workspace = Workspace()
    yield home.create_project(workspace, "p")
    workspace.close()


def with_id(draft: data.Draft, column: str = "id") -> data.Draft:
    return replace(draft, mapping=replace(draft.mapping, id=column))


def test_nothing_is_kept_before_the_import_and_every_row_is_accounted_for(desk: Desk) -> None:
    draft = with_id(data.read(CSV, "soup.csv", CODEBOOK))
    found = data.trial(draft, CODEBOOK, desk)
    assert desk.store.documents.count() == 0
    imported = found.imported
    # seven rows: c again (id), d (no text), f (two fields) are out
    assert (imported.read, imported.kept, len(imported.rejected)) == (7, 4, 3)
    assert (imported.duplicate_texts, imported.empty_texts, imported.with_gold) == (1, 1, 3)
    assert [(one.value, one.count) for one in imported.unknown_gold] == [("maybe", 1)]

    first = data.trial(replace(draft, duplicates="first", empties="keep"), CODEBOOK, desk)
    assert [one.id for one in first.imported.documents] == ["a", "b", "c", "d"]


def test_import_and_what_is_there_then(desk: Desk) -> None:
    told: list[tuple[float, str]] = []
    draft = with_id(data.read(CSV, "soup.csv", CODEBOOK))
    made = data.take_in(desk, draft, CODEBOOK, lambda share, what: told.append((share, what)))
    assert made.counts == {"documents": 4, "repeated": 0, "otherwise": 0, "rejected": 3}
    assert [share for share, _ in told] == sorted(share for share, _ in told)
    assert told[-1] == (1.0, "Done")

    there = holdings.overview(desk, CODEBOOK)
    assert (there.documents, there.with_gold, there.raters) == (4, 3, ("gold",))
    # Food: a yes, b and c no; Service: a no, b yes, c's "maybe" is no gold
    assert [(bar.label, bar.count, bar.known) for bar in there.bars] == [("Food", 1, 3), ("Service", 1, 2)]
    assert sum(count for _, count in there.lengths) == 4
    (chapter,) = there.chapters
    assert (chapter.file_name, chapter.added, chapter.rejected) == ("soup.csv", 4, 3)
    assert chapter.reasons[-1] == "row 8: 3 fields, expected 5"
    assert holdings.rejected_of_import(desk, chapter.id).decode("utf-8-sig").count("\n") == 1 + 3

    total, page = holdings.page(desk, search="SOUP")
    assert (total, [one.id for one in page]) == (2, ["a", "e"])
    assert holdings.gold_words(page[0], CODEBOOK) == ["Food"]
    assert holdings.page(desk, offset=3, limit=2)[1][0].id == "e"


def test_what_odd_values_mean_can_be_said(desk: Desk) -> None:
    draft = with_id(data.read(CSV, "soup.csv", CODEBOOK))
    draft = replace(draft, mapping=replace(draft.mapping, value_map={"Maybe": True}))
    found = data.trial(draft, CODEBOOK, desk)
    assert found.imported.unknown_gold == ()
    assert found.imported.documents[2].gold == {"gold": {FOOD: False, SERVICE: True}}


def test_without_a_codebook_one_is_made_from_the_gold(desk: Desk) -> None:
    draft = data.read(b"text,good,bad\nx,1,0\ny,0,1\n", "two.csv")
    found = data.trial(draft, None, desk)
    assert found.made
    assert found.codebook is not None
    assert found.codebook.names == ("good", "bad")
    data.take_in(desk, draft)
    made = codebooks.current(desk)
    assert made == found.codebook
    assert [(bar.label, bar.count) for bar in holdings.overview(desk, made).bars] == [("good", 1), ("bad", 1)]


def test_gold_goes_to_the_labels_of_a_draft_and_the_draft_stays(desk: Desk) -> None:
    codebooks.keep(desk, CODEBOOK)
    known = codebooks.known(desk)
    data.take_in(desk, with_id(data.read(CSV, "soup.csv", known)), known)
    assert desk.store.codebooks.latest() is None
    assert codebooks.standing(desk).codebook == CODEBOOK
    assert desk.store.documents.with_gold() == 3


def test_an_import_runs_by_itself(desk: Desk) -> None:
    job = Importing(with_id(data.read(CSV, "soup.csv", CODEBOOK)), CODEBOOK, lambda: desk)
    assert job.wait(20)
    where, made = job.result()
    assert (where, made.counts["documents"], job.share) == (desk, 4, 1.0)
    again = Importing(data.read(b"id,text\na,other\n", "x.csv"), None, lambda: desk)
    again.wait(20)
    with pytest.raises(InputError):
        again.result()


def test_no_gold_makes_no_codebook(desk: Desk) -> None:
    draft = data.read(b"text\nx\ny\n", "plain.csv")
    found = data.trial(draft, None, desk)
    assert (found.codebook, found.made) == (None, False)
    data.take_in(desk, draft)
    assert codebooks.current(desk) is None


def test_more_documents_are_added_and_changed_ones_are_refused(desk: Desk) -> None:
    data.take_in(desk, data.read(b"id,text\n1,one\n2,two\n", "a.csv"))
    again = data.read(b"id,text\n2,two\n3,three\n", "b.csv")
    assert data.trial(again, None, desk).known == 1
    assert data.take_in(desk, again).counts == {"documents": 1, "repeated": 1, "otherwise": 0, "rejected": 0}

    other = data.read(b"id,text\n3,drei\n", "c.csv")
    assert data.trial(other, None, desk).changed == ("3",)
    with pytest.raises(InputError, match="already has a document '3' with another text"):
        data.take_in(desk, other)
    data.take_in(desk, replace(other, where="replace"))
    assert [one.text for one in holdings.page(desk)[1]] == ["drei"]


def test_nothing_to_import_is_an_error(desk: Desk) -> None:
    draft = data.read(b"id,text\n,x\n", "a.csv")
    with pytest.raises(InputError, match="no row can be used"):
        data.take_in(desk, with_id(draft))


def test_read_otherwise(desk: Desk) -> None:
    draft = data.read("text;n\nBär;1\n".encode("latin-1"), "b.csv")
    assert (draft.table.delimiter, draft.table.row(0)["text"]) == (";", "Bär")
    one = data.reread(draft, delimiter=",")
    assert one.table.columns == ("text;n",)
    assert one.mapping.text == "text;n"  # the column before is not there any more
    back = data.reread(replace(one, duplicates="first"), delimiter=None)
    assert back.table.columns == ("text", "n")
    assert back.duplicates == "first"
    with pytest.raises(UsageError):
        data.reread(draft, encoding="klingon")


def test_a_table_without_text_is_read_all_the_same() -> None:
    draft = data.read(b"a,b\n1,2\n", "n.csv")
    assert draft.mapping.text == "a"
    assert "is taken for now" in draft.mapping.reasons[0]


def test_gold_mapped_anew(desk: Desk) -> None:
    draft = data.read(CSV, "soup.csv")
    data.take_in(desk, with_id(replace(draft, mapping=Mapping("text"))))
    assert holdings.overview(desk, None).with_gold == 0

    again = data.gold_draft(desk, CODEBOOK)
    assert [source.column for source in again.mapping.gold] == ["Food"]  # a quarter of Service is no gold value
    both = (GoldSource("Food", "label", "Food"), GoldSource("Service", "label", "Service"))
    again = replace(again, mapping=replace(again.mapping, gold=both))
    assert data.remap_gold(desk, again, CODEBOOK) == 3
    found = desk.store.documents.get("a")
    assert found is not None
    assert found.gold == {"gold": {FOOD: True, SERVICE: False}}
    assert found.text == "the soup was good"

    one = replace(again, mapping=replace(again.mapping, gold=(GoldSource("Food", "label", "Food", "Ann"),)))
    data.remap_gold(desk, one, CODEBOOK)
    assert desk.store.documents.raters() == ["Ann"]


def test_gold_mapped_anew_without_documents(desk: Desk) -> None:
    with pytest.raises(InputError, match="no documents"):
        data.gold_draft(desk, CODEBOOK)


def test_kinds_of_gold() -> None:
    choice = Codebook(kind="choice", labels=(Label(name="a"), Label(name="b")))
    assert data.gold_kinds(None) == ("label", "list", "choice")
    assert data.gold_kinds(CODEBOOK) == ("label", "list")
    assert data.gold_kinds(choice) == ("choice",)
    draft = data.read(b"text,label\nfoo bar,a\nbar foo,b\n", "c.csv", choice)
    assert [source.column for source in data.of_kind(draft, "choice", choice)] == ["label"]
    found = data.trial(draft, choice)
    bars = holdings.gold_bars(found.profile, found.codebook)
    assert [(bar.label, bar.count, bar.known) for bar in bars] == [("a", 1, 2), ("b", 1, 2)]


def test_several_raters_and_ratings() -> None:
    draft = data.read(b"text,clear_A,clear_B\nx y,1,5\nz a,3,5\n", "r.csv")
    book = load_yaml("{kind: rating, scale: {min: 1, max: 5}, labels: [{name: clear}]}")
    gold = (GoldSource("clear_A", "label", "clear", "A"), GoldSource("clear_B", "label", "clear", "B"))
    found = data.trial(replace(draft, mapping=replace(draft.mapping, gold=gold)), book)
    bars = holdings.gold_bars(found.profile, book)
    assert [(bar.rater, bar.value, bar.count) for bar in bars] == [
        ("A", "1", 1), ("A", "3", 1), ("A", "5", 0), ("B", "1", 0), ("B", "3", 0), ("B", "5", 2),
    ]  # fmt: skip
    assert holdings.gold_words(found.imported.documents[0], book) == ["clear 1 (A)", "clear 5 (B)"]


def test_gold_of_a_label_that_is_gone_is_shown_as_such(desk: Desk) -> None:
    data.take_in(desk, with_id(data.read(CSV, "soup.csv", CODEBOOK)), CODEBOOK)
    less = codebooks.delete_label(CODEBOOK, SERVICE)
    assert [bar.label for bar in holdings.overview(desk, less).bars] == ["Food", f"{SERVICE} (not in the codebook)"]
