"""Tests of stored documents: order, paging, search, gold, hostile text."""

from __future__ import annotations

import time

import pytest

from core.documents import Document, Rejected
from core.errors import InputError
from core.store import database
from core.store.project import Project
from tests.core.store.helpers import fill_randomly, make_documents, make_settings, record_review, set_status
from tests.each_row import each_row


def test_document_round_trip_keeps_every_field(project):
    document = Document(
        "r1",
        {"text": "Nice room", "title": "5 stars"},
        source={"id": "r1", "stars": 5, "text": "Nice room", "none": None, "when": 1.5},
        gold={"ann": {"a": True, "b": False}, "bob": {"a": 3}, "cy": {"label": "abcd"}},
    )
    project.store.documents.add([document])
    (row,) = project.store.documents.page()
    assert row == Document("r1", document.fields, 0, document.source, document.gold)
    assert project.store.documents.get("r1") == row
    assert list(row.fields) == ["text", "title"]
    assert project.store.documents.load(["r1"], gold=False)[0].gold == {}


def test_characters_that_cannot_be_stored_are_replaced(project):
    bad = "caf\ud800e\x00 \U0001f600"
    project.store.documents.add(
        [
            Document(
                f"i{bad}", {"text": bad, "more": bad}, source={f"k{bad}": bad, "big": 2**80}, gold={"gold": {"a": bad}}
            )
        ],
        file_name=bad,
        rejected=[Rejected(3, bad, bad)],
    )
    (row,) = project.store.documents.page()
    assert row.fields == {"text": "caf\ufffde \U0001f600", "more": "caf\ufffde \U0001f600"}
    assert row.id == "icaf\ufffde \U0001f600"
    assert row.gold == {"gold": {"a": "caf\ufffde \U0001f600"}}
    assert row.source["big"] == str(2**80)
    assert project.store.documents.rejected(1) == [Rejected(3, "caf\ufffde \U0001f600", "caf\ufffde \U0001f600")]


def test_documents_without_any_text_are_kept(project):
    project.store.documents.add([Document("empty", {"text": ""}), Document("none", {})])
    assert [document.text for document in project.store.documents.page()] == ["", ""]
    assert project.store.documents.lengths() == {0: 2}


def test_later_gold_is_added_and_never_overwrites_earlier_gold(project):
    project.store.documents.add(make_documents(2, {"d0": {"ann": {"a": True}}}))
    later = {"d0": {"ann": {"a": False, "b": True}, "bob": {"a": False}}, "d2": {"ann": {"a": False}}}
    added = project.store.documents.add(make_documents(3, later))
    assert added.counts == {"documents": 1, "repeated": 2, "gold_conflicts": 1, "rejected": 0}
    documents = project.store.documents.load(["d0", "d2"])
    assert [document.gold for document in documents] == [
        {"ann": {"a": True, "b": True}, "bob": {"a": False}},
        later["d2"],
    ]


def test_later_columns_and_groups_are_added_and_never_overwrite_earlier_ones(project):
    text = {"text": "the staff"}
    project.store.documents.add([Document("d0", text, source={"year": 1999}), Document("d1", text, group="x", order=1)])
    later = [
        Document("d0", text, source={"year": 2001, "star": 3}, group="y", order=2),
        Document("d1", text, source={"star": None}, group="x", order=2),
    ]
    assert project.store.documents.add(later).counts["column_conflicts"] == 2
    d0, d1 = project.store.documents.page()
    assert (d0.source, d0.group, d0.order) == ({"year": 1999, "star": 3}, "y", 2)
    assert (d1.source, d1.group, d1.order) == ({"star": None}, "x", 1)
    assert "column_conflicts" not in project.store.documents.add([d0, d1]).counts


@each_row(
    ("earlier", "later", "conflicts"),
    [
        (12, "12", 0),
        ("1.50", 1.5, 0),
        (True, "true", 0),
        (None, "", 0),
        (12, "13", 1),
        ("12", "12.0", 1),
        ("", 0, 1),
        ("a", "A", 1),
        ([1], "a", 1),
    ],
)
def test_cell_of_another_type_is_no_conflict(project, earlier, later, conflicts):
    id = f"{earlier!r} {later!r}"
    for cell in (earlier, later):
        added = project.store.documents.add([Document(id, {"text": "the staff"}, source={"stars": cell})])
    assert added.counts.get("column_conflicts", 0) == conflicts
    assert project.store.documents.get(id).source == {"stars": earlier}


def test_import_records_rejected_and_repeated_rows(project):
    first = project.store.documents.add(make_documents(3), file_name="a.csv", options={"text": "review"})
    assert first.counts == {"documents": 3, "repeated": 0, "gold_conflicts": 0, "rejected": 0}
    rejected = [Rejected(9, "2 fields, expected 3", "x,y"), Rejected(4, "empty", "")]
    again = project.store.documents.add(
        [*make_documents(4), Document("d3", {"text": "a second d3"}, gold={"gold": {"a": True}})],
        file_name="b.csv",
        rejected=rejected,
    )
    assert again.counts == {"documents": 1, "repeated": 4, "gold_conflicts": 0, "rejected": 2}
    assert project.store.documents.imports() == [first, again]
    assert project.store.documents.rejected(again.id) == rejected[::-1]
    assert project.store.documents.rejected(again.id, limit=1) == rejected[1:]
    assert project.store.documents.ids() == ["d0", "d1", "d2", "d3"]
    assert [document.position for document in project.store.documents.page()] == [0, 1, 2, 3]
    assert project.store.documents.get("d3").text == "text number 3"
    assert [project.store.documents.file_name(document) for document in ("d0", "d3", "none")] == ["a.csv", "b.csv", ""]


def test_conflicting_gold_of_a_repeated_id_is_ignored(project):
    project.store.documents.add([Document("a", {"text": "x"}, gold={"gold": {"i": True}})])
    project.store.documents.add([Document("a", {"text": "x"}, gold={"gold": {"i": False}})])
    assert project.store.documents.get("a").gold == {"gold": {"i": True}}


def test_gold_of_another_text_is_never_added_to_a_document(project):
    first = Document("1", {"text": "A great room", "title": "x", "by": "ann"}, gold={"ann": {"a": True}})
    project.store.documents.add([first])
    for fields in ({"text": "Bad food"}, {"body": "A great room"}, {"text": "A great room", "title": "y"}):
        with pytest.raises(InputError, match="has or had a document '1' with a different text"):
            project.store.documents.add(
                [Document("1", fields, gold={"bob": {"a": False}}), Document("2", {"text": ""})]
            )
    assert project.store.documents.ids() == ["1"]
    same = {"text": "A great\x00 room", "by": "ann", "title": "x"}  # in another order, and as it is stored
    project.store.documents.add([Document("1", same, gold={"bob": {"a": False}})])
    assert project.store.documents.get("1").gold == {"ann": {"a": True}, "bob": {"a": False}}


def test_documents_keep_their_order_and_progress_is_reported(project, monkeypatch):
    monkeypatch.setattr("core.store.documents.CHUNK", 7)
    seen = []
    project.store.documents.add((document for document in make_documents(20)), progress=seen.append)
    assert seen == [7, 14, 20]
    assert project.store.documents.ids() == [f"d{number}" for number in range(20)]


def test_failed_import_stores_nothing(project):
    def broken():
        yield from make_documents(3)
        raise ValueError("line 4")

    with pytest.raises(ValueError, match="line 4"):
        project.store.documents.add(broken())
    assert project.store.documents.count() == 0
    assert project.store.documents.imports() == []


def test_replacing_removes_the_earlier_documents(project):
    gold = {"d0": {"gold": {"a": True}}}
    project.store.documents.add(make_documents(5, gold))
    project.store.documents.replace_all([Document("d0", {"text": "new"}), Document("e", {"text": "e"})])
    assert [(document.id, document.text, dict(document.gold)) for document in project.store.documents.page()] == [
        ("d0", "new", {}),
        ("e", "e", {}),
    ]
    project.store.documents.replace_all([])
    assert project.store.documents.count() == 0
    assert len(project.store.documents.imports()) == 3


def test_state_changes_with_the_documents_after_the_clock_was_set_back(project, monkeypatch):
    project.store.documents.add(make_documents(2))
    before = project.store.documents.state()
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    project.store.documents.replace_all([Document("d0", {"text": "new"}), Document("d1", {"text": "newer"})])
    assert project.store.documents.state() != before


def test_reviews_never_apply_to_a_replacing_document_with_another_text(project):
    def replace(*texts):
        gold = {"gold": {"a": True}}
        rows = [Document(str(n), {"text": text}, gold=gold) for n, text in enumerate(texts, 1)]
        new_ids = project.store.documents.new_ids(rows)
        assert project.store.documents.replace_all(rows).counts["new_ids"] == len(new_ids)
        assert project.store.documents.with_gold() == len(rows)
        return {document.id: document.text for document in project.store.documents.page()}

    def examples():
        return [(example.document_id, example.text) for example in project.store.classifiers.training_examples()]

    first = replace("old", "same", "run only", "untouched")
    assert first == {"1": "old", "2": "same", "3": "run only", "4": "untouched"}
    project.store.runs.create(make_settings(), ["3"])
    for id in "12":
        record_review(project.store.reviews, id, "a", None, True, actor="me")
        set_status(project.store.reviews, id, "Submitted", actor="me")
    changed = replace("new", "same", "other", "other")
    assert changed == {"1 (2)": "new", "2": "same", "3 (2)": "other", "4": "other"}
    assert examples() == [("2", "same")]
    record_review(project.store.reviews, "1 (2)", "a", None, False, actor="me")
    assert replace("newest") == {"1 (3)": "newest"}
    assert replace("new") == {"1 (2)": "new"}, "A text gets the id of its reviews again."
    assert list(replace("old", "same")) == ["1", "2"]
    assert examples() == [("1", "old"), ("2", "same")]


def test_all_text_fields_of_a_replacing_document_count(project):
    def replace(**fields):
        project.store.documents.replace_all([Document("1", fields)])
        return project.store.documents.ids()

    replace(text="one", title="Uno\n\x00é")
    record_review(project.store.reviews, "1", "a", None, True, actor="me")
    assert replace(body="one", head="Uno\n\x00é") == ["1"], "The names of the fields do not count."
    assert replace(text="one", title="Eins") == ["1 (2)"]
    assert replace(text="one", title="Uno\n\x00é") == ["1"]
    assert replace(text="one") == ["1"], "Without context it is the same text."
    assert replace(text="one", title="Eins") == ["1 (2)"], "The reviews are about the earlier context."
    assert replace(text="one", title="Uno\n\x00é") == ["1"]
    assert replace(text="two", title="Uno\n\x00é") == ["1 (2)"]


def test_context_that_is_added_to_a_reviewed_text_keeps_its_id(project):
    for fields in ({"text": "one"}, {"text": "one", "title": "Uno"}):
        project.store.documents.replace_all([Document("1", fields)])
        record_review(project.store.reviews, "1", "a", None, True, actor="me")
        assert project.store.documents.ids() == ["1"]


def test_pages_and_search_return_the_expected_documents(project):
    documents = make_documents(57)
    project.store.documents.add(documents)
    store = project.store.documents
    for offset in (0, 10, 50, 57, 100):
        assert [d.id for d in store.page(offset, 10)] == [d.id for d in documents[offset : offset + 10]]
    for search in ("NUMBER 5", "d1", "%", "_", "nothing"):
        expected = [d.id for d in documents if search.lower() in d.text or search.lower() in d.id]
        assert [d.id for d in store.page(0, 100, search)] == expected
        assert store.count(search) == len(expected)
    assert store.count() == 57


@pytest.mark.parametrize("count", [3, 450])
def test_loading_by_id_keeps_the_requested_order(project, count):
    project.store.documents.add(make_documents(500))
    ids = [f"d{number}" for number in range(count)][::-1]
    assert [document.id for document in project.store.documents.load([*ids, "unknown"])] == ids
    assert project.store.documents.load([]) == []
    assert project.store.documents.get("unknown") is None


def test_gold_is_counted_by_rater_item_and_value(project):
    fill_randomly(project, 1)
    documents = project.store.documents.page(0, 1000)
    expected: dict[tuple, int] = {}
    for document in documents:
        for rater, values in document.gold.items():
            for item, value in values.items():
                expected[rater, item, value] = expected.get((rater, item, value), 0) + 1
    counted = project.store.documents.gold_counts()
    assert {(rater, item, value): count for rater, item, value, count in counted} == expected
    assert project.store.annotations.raters() == ["ann", "bob", "cy"]
    assert project.store.documents.with_gold() == sum(any(d.gold.values()) for d in documents)


def test_gold_can_be_replaced(project):
    project.store.documents.add(make_documents(2, {"d0": {"gold": {"a": True}}}))
    replace_gold = project.store.documents.replace_gold
    replace_gold({"d1": {"ann": {"b": 4}}}, raters=["ann"], documents=["d0", "d1"])
    gold = {"gold": {"a": True}}
    assert [dict(document.gold) for document in project.store.documents.page()] == [gold, {"ann": {"b": 4}}]
    replace_gold({}, raters=["ann"], documents=["d0"])
    assert [dict(document.gold) for document in project.store.documents.page()] == [gold, {"ann": {"b": 4}}]
    replace_gold({"none": {"ann": {"b": 4}}}, raters=["ann"], documents=["none"])
    assert project.store.documents.with_gold() == 2
    replace_gold({}, raters=["ann"], documents=["d1"], dropped=["gold"])
    assert project.store.documents.gold_counts() == []


def test_lengths_are_counted_in_words(project):
    project.store.documents.add(Document(str(n), {"text": "word " * n}) for n in (0, 1, 24, 25, 60))
    assert project.store.documents.lengths() == {0: 1, 1: 1, 24: 1, 25: 1, 60: 1}


def test_longest_document_has_the_longest_text_and_context(project):
    assert project.store.documents.longest() is None
    project.store.documents.add(
        [Document("a", {"text": "word " * 9}), Document("b", {"text": "b", "before": "c" * 99})]
    )
    assert project.store.documents.longest().id == "b"


def test_spread_by_length_is_ordered_from_shortest_to_longest(project):
    documents = [Document(f"d{length}", {"text": "x" * length}) for length in (5, 1, 4, 2, 3, 5)]
    project.store.documents.add([*documents[:5], Document("twin", {"text": "yyyyy"})], file_name="a.csv")
    spread = project.store.documents.spread_by_length
    assert [document.id for document in spread(3)] == ["d1", "d3", "twin"]
    assert [document.id for document in spread(99)] == ["d1", "d2", "d3", "d4", "d5", "twin"]
    assert [document.id for document in spread(2, ["d4", "d2", "d3"])] == ["d2", "d4"]
    assert spread(8, []) == []


def test_large_import_fits_into_little_memory(tmp_path, monkeypatch):
    monkeypatch.setitem(database.CONFIG, "memory_limit", "150MB")
    monkeypatch.setattr("core.store.documents.CHUNK", 50)
    documents = [Document(str(number), {"text": f"{number} " * 20_000}) for number in range(1000)]
    with Project(tmp_path / "p.duckdb") as project:
        assert project.store.documents.add(documents).counts["documents"] == 1000
