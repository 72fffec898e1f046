"""Tests of the reader of json and jsonl files."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.ingest.read import parse_table
from core.ingest.table import Table, TableSource
from tests.each_row import each_row


def read(data: str | bytes, name: str = "data.jsonl", **options: Any) -> Table:
    return parse_table(TableSource(io.BytesIO(data.encode() if isinstance(data, str) else data), name, **options))


def test_jsonl_keeps_types_and_nested_values() -> None:
    table = read('{"id": 1, "text": "a", "ok": true}\n\n{"text": "b", "tags": ["x", {"y": 1.5}], "none": null}\n')
    assert table.columns == ("id", "text", "ok", "tags", "none")
    assert table.row(0) == {"id": 1, "text": "a", "ok": True, "tags": None, "none": None}
    assert table.row(1) == {"id": None, "text": "b", "ok": None, "tags": ["x", {"y": 1.5}], "none": None}
    assert table.line_numbers == (1, 3)
    assert table.format == "jsonl"


def test_labels_that_prodigy_did_not_accept_are_set_apart() -> None:
    rows = [("Food", "accept"), ("Price", "reject"), ("Room", "ignore")]
    lines = [f'{{"text": "a", "accept": ["{label}"], "answer": "{answer}"}}' for label, answer in rows]
    table = read("\n".join(lines))
    assert table.column("accept") == (["Food"], "#", "#")  # an empty cell might mean that all labels are absent
    assert table.column("accept_not_accepted") == (None, ["Price"], ["Room"])
    assert "reject" in table.notes[0]

    plain = read(lines[0])
    assert (plain.columns, plain.notes) == (("text", "accept", "answer"), ())
    survey = read(lines[1].replace("reject", "no"))
    assert survey.column("accept") == (["Price"],)


def test_verdicts_in_tasks_that_moot_exported_for_prodigy_are_not_accepted_answers() -> None:
    rows = [
        {"text": "a", "accept": ["Food:2"], "answer": "accept", "meta": {"run": "r1"}, "_annotator_id": person}
        for person in ("r1", "ann")
    ]
    table = read("\n".join(map(json.dumps, rows)))
    assert table.column("accept") == ("#", ["Food:2"])
    assert table.column("accept_not_accepted") == (["Food:2"], None)
    points = [{"id": f"Food:{point}"} for point in (1, 2)]
    assert read("\n".join(json.dumps({**row, "options": points}) for row in rows)).column("Food") == (None, 2)
    task = json.dumps({"text": "a", "options": points, "accept": ["Food:2"], "meta": {"run": "r1"}})
    assert read(task).column("accept") == (["Food:2"],), "nobody was asked"


def test_points_that_prodigy_accepted_are_ratings() -> None:
    options = [{"id": f"{name}:{point}"} for name in ("Fluency", "A: b") for point in (-1, 2, 4)]
    rows = [
        {"text": "a", "options": options, "accept": ["Fluency:4", "A: b:-1"], "answer": "accept"},
        {"text": "b", "options": options, "accept": ["Fluency:2"], "answer": "reject"},
        {"text": "c", "options": options, "accept": ["Fluency:2", "Fluency:4", "A: b:2"], "answer": "accept"},
    ]
    table = read("\n".join(map(json.dumps, rows)))
    assert (table.column("Fluency"), table.column("A: b")) == ((4, None, None), (-1, None, 2))
    assert (table.columns, table.notes) == (
        ("text", "options", "answer", "A: b", "Fluency"),
        ("The points of each dimension (Prodigy) are in a column of its name.",),
    )
    times = [{"id": "Time: 9:30"}, {"id": "Noon"}]
    tasks = json.dumps({"text": "a", "options": times, "accept": ["Time: 9:30"], "answer": "accept"})
    assert read(tasks).columns == ("text", "options", "accept", "answer")
    ignored = json.dumps({"text": "a", "options": options, "answer": "ignore"})
    assert read(ignored).columns == ("text", "options", "answer")
    table = read(json.dumps({**rows[0], "Fluency": "good"}))
    assert (table.column("Fluency"), table.column("Fluency_annotated")) == (("good",), (4,))


def test_answers_to_a_single_label_of_prodigy_are_present_or_absent() -> None:
    rows = [("Food", "accept"), ("Food", "reject"), ("Food", "ignore"), ("Price", "reject")]
    tasks = [f'{{"text": "a", "label": "{label}", "answer": "{answer}"}}' for label, answer in rows]
    table = read("\n".join(tasks))
    assert table.columns == ("text", "label", "answer", "Food", "Price")
    assert (table.column("Food"), table.column("Price")) == ((1, 0, None, None), (None, None, None, 0))
    highlighted = read("\n".join(task.replace('"answer"', '"spans": [], "answer"') for task in tasks))
    assert highlighted.column("Food") == (1, 0, None, None)  # textcat.teach highlights the pattern that matched


def test_annotations_of_several_people_become_columns() -> None:
    def post(*labels: str, first: int = 1) -> dict[str, Any]:
        people = [{"label": label, "annotator_id": person} for person, label in enumerate(labels, first)]
        return {"text": "a", "votes": people}

    table = read("\n".join(json.dumps(row) for row in (post("hate", "normal"), post("normal"))))
    assert table.columns == ("text", "votes", "votes.label_r1", "votes.label_r2")
    assert (table.column("votes.label_r1"), table.column("votes.label_r2")) == (("hate", "normal"), ("normal", None))
    crowd = [post("hate", "normal", first=2 * number) for number in range(30)]
    assert read("\n".join(map(json.dumps, crowd))).columns[2:] == ("votes.label_r1", "votes.label_r2")

    argilla = [
        {"value": ["Food"], "user_id": "6f-1", "status": "submitted"},
        {"value": ["Room"], "user_id": "6f-2", "status": "draft"},
    ]
    table = read(json.dumps({"fields": {"text": "a"}, "responses": {"topics": argilla}}))
    assert table.row(0)["topics_r1"] == ["Food"]
    assert "topics_r2" not in table.columns

    dimensions = {f"No. {n}": [{"value": n, "user_id": "ab"[n % 2]}] for n in range(30)}
    comments = {"why": [{"value": f"I like {n} {'very ' * 20}", "user_id": "a"} for n in range(2)], "empty": []}
    table = read(json.dumps({"text": "a", "responses": dimensions | comments}) + '\n{"text": "b", "responses": {}}')
    assert set(table.columns[2:]) == {f"No. {n}_r{n % 2 + 1}" for n in range(30)}, "a is r1, b is r2"

    posts = [{"text": "a", "comments": [{"user": f"u{n}", "text": f"I like {n}", "likes": n}]} for n in range(50)]
    assert read("\n".join(map(json.dumps, posts))).columns == ("text", "comments")

    questions = [{"question_name": name, "value": 3, "user_id": "6f-1"} for name in ("joy", "fear")]
    table = read(json.dumps({"text": "a", "responses": questions}))
    assert table.columns[2:] == ("fear_r1", "joy_r1")

    doccano = [{"label": 2, "user": 1}, {"label": 3, "user": 1}]
    table = read(json.dumps({"text": "a", "annotations": doccano}))
    assert table.row(0)["annotations.label_r1"] == [2, 3]


def test_arrays_without_names_are_rows() -> None:
    table = read('[["The soup was cold, sadly.", "Food"], ["Late", "Time"]]', "data.json")
    assert (table.columns, table.column("column_2")) == (("column_1", "column_2"), ("Food", "Time"))
    assert read('[["text", "label"], ["Late", "Time"]]', "data.json").column("text") == ("Late",)


def test_archive_of_tweets_is_read_as_json() -> None:
    data = 'window.YTD.tweets.part0 = [ {"tweet": {"id": "12", "full_text": "Hello"}} ]'
    table = read(data, "tweets.js")
    assert (table.format, table.column("tweet.full_text")) == ("json", ("Hello",))


def test_bad_lines_are_rejected_with_line_and_reason() -> None:
    table = read('{"text": "a"}\n{"text": "b"\n[1]\n"x"\n3\nnull\ntrue\n{"text": "c"}\n')
    assert table.column("text") == ("a", "c")
    assert [str(row) for row in table.rejected] == [
        "row 2: not JSON: expecting ',' delimiter (character 13)",
        "row 3: an array, expected an object",
        "row 4: a text, expected an object",
        "row 5: a number, expected an object",
        "row 6: null, expected an object",
        "row 7: true or false, expected an object",
    ]
    assert table.rejected[0].raw == '{"text": "b"'
    assert (table.read, table.row_numbers) == (8, (1, 8))


def test_surrogates_nuls_nan_and_huge_numbers_are_made_storable() -> None:
    table = read(
        '{"text": "a\\ud800b\\u0000c \\ud83d\\ude00", "x": NaN, "y": -Infinity}\n'
        '{"text": "b", "x": 123456789012345678901234567890, "y": [{"\\udfff": 9223372036854775808}]}\n'
    )
    assert table.row(0) == {"text": "a\ufffdbc \U0001f600", "x": None, "y": None}
    assert table.row(1) == {
        "text": "b",
        "x": "123456789012345678901234567890",
        "y": [{"\ufffd": "9223372036854775808"}],
    }
    assert read('{"text": "a", "x": 1e30, "y": 18446744073709551615}').row(0) == {
        "text": "a",
        "x": 1e30,
        "y": "18446744073709551615",
    }


def test_deep_nesting_is_rejected() -> None:
    table = read('{"text": "a"}\n' + '{"a":' * 5_000 + "1" + "}" * 5_000)
    assert len(table) == 1
    assert "nested too deeply" in table.rejected[0].reason


@each_row(
    ("data", "note"),
    [
        ('[{"text": "a"}, {"text": "b"}]', ()),
        ('{"data": [{"text": "a"}, {"text": "b"}], "version": 1}', ("The rows are those under 'data'.",)),
        ('{"meta": [1], "items": [{"text": "a"}, {"text": "b"}]}', ("The rows are those under 'items'.",)),
        (
            '{"results": {"n": 2, "items": [{"text": "a"}, {"text": "b"}]}}',
            ("The rows are those under 'results.items'.",),
        ),
        ('[["n", "text"], [1, "a"], [2, "b"]]', ("The first array holds the names of the columns.",)),
        ('{\n"text": "a"}\n{\n"text": "b"\n}', ()),
        ('["a", "b"]', ("Each text of the array is a row.",)),
        ('{"rows": [{"row": {"text": "a"}}, {"row": {"text": "b"}}]}', ("The rows are those under 'rows'.",)),
        ('{"columns": ["n", "text"], "data": [[1, "a"], [2, "b"]]}', ("The rows are those under 'data'.",)),
        ('{"n": [1, 2], "text": ["a", "b"]}', ("Each key is a column.",)),
        ('{"n": {"0": 1, "1": 2}, "text": {"0": "a", "1": "b"}}', ("Each key is a column.",)),
        ('{"d1": {"text": "a"}, "d2": {"text": "b"}}', ("Each key is the id of a row.",)),
    ],
)
def test_json_layouts_are_read(data: str, note: tuple[str, ...]) -> None:
    table = read(data, "data.json")
    assert (table.column("text"), table.format, table.notes) == (("a", "b"), "json", note)
    assert table.line_numbers == (1, 2)


def test_objects_on_one_line_are_rows() -> None:
    assert read('{"text": "a }{"}{"text": "b"}\n{"text": "c"},\n').column("text") == ("a }{", "b", "c")
    mixed = read('{"text": "a"}{"text": "b"}\n{"text": "c"}\n{"text": "d"}\n')
    assert (mixed.column("text"), [str(row) for row in mixed.rejected]) == (
        ("c", "d"),
        ["row 1: not JSON: extra data (character 14)"],
    )


def test_values_of_inner_objects_are_columns() -> None:
    table = read('{"review": {"text": "a", "by": {"age": 3}, "tags": ["x"]}, "n": 1}\n{"review": null}\n')
    assert table.columns == ("review", "n", "review.text", "review.by.age")
    assert (table.column("review.text"), table.column("review.by.age")) == (("a", None), (3, None))
    keys = ",".join(f'"k{n}": 1' for n in range(21))
    assert read(f'{{"user": {{{keys}}}, "text": "a"}}\n').columns == ("user", "text")


def test_many_or_deep_values_of_inner_objects_are_not_columns() -> None:
    half = json.dumps({f"k{n}": n for n in range(11)})
    assert read(f'{{"text": "a", "user": {{"x": {half}, "y": {half}}}}}\n').columns == ("text", "user")
    deep = '{"a": {"b": {"c": {"d": 1}}, "e": 2}}'
    assert read(f'{{"text": "a", "user": {deep}}}\n').columns == ("text", "user", "user.a.e")


def test_key_of_a_row_replaces_its_own_id() -> None:
    table = read('{"d1": {"id": 7, "text": "a"}, "d2": {"text": "b"}}', "data.json")
    assert (table.column("id"), table.notes) == (("d1", "d2"), ("Each key is the id of a row.",))


def test_row_with_more_cells_than_columns_is_rejected() -> None:
    table = read('{"columns": ["n", "text"], "data": [[1, "a"], [2, "b", "c"], [3]]}', "data.json")
    assert (table.column("n"), table.column("text")) == ((1, 3), ("a", None))
    assert [str(row) for row in table.rejected] == ["row 2: an array, expected an object"]


def test_column_of_objects_beside_others_is_a_column() -> None:
    table = read('{"text": ["a", "b"], "label": [{"x": 1}, {"x": 2}], "data": [[1], [2]]}', "data.json")
    assert (table.column("text"), table.column("label.x"), table.column("data")) == (("a", "b"), (1, 2), ([1], [2]))
    assert table.notes == ("Each key is a column.",)


def test_rows_under_data_beside_lists_of_the_same_length_are_rows() -> None:
    split = '{"columns": [0, 1], "index": [0, 1], "data": [["a long text", 1], ["other text", 0]]}'
    table = read(split, "data.json")
    assert (table.columns, table.column("0")) == (("0", "1"), ("a long text", "other text"))
    answer = '{"data": [{"text": "a"}, {"text": "b"}], "ids": [1, 2], "errors": ["", ""]}'
    assert read(answer, "data.json").columns == ("text",)


def test_single_object_in_a_json_file_is_a_row() -> None:
    table = read('{"id": 7, "text": "a", "gold": null}', "data.json")
    assert (table.column("id"), table.column("text"), table.column("gold")) == ((7,), ("a",), (None,))
    assert table.notes == ("The object is the only row.",)
    assert read('{"text": "a"}', "data.json").column("text") == ("a",)


def test_json_elements_other_than_objects_are_rejected() -> None:
    table = read('[{"text": "a"}, 3, {"text": "b"}]', "data.json")
    assert table.column("text") == ("a", "b")
    assert [(row.line, row.reason, row.raw) for row in table.rejected] == [(2, "a number, expected an object", "3")]


def test_format_follows_content_and_not_the_suffix() -> None:
    lines, array = '{"text": "a"}\n{"text": "b"}\n', '[\n{"text": "a"},\n{"text": "b"}\n]'
    assert read(lines, "data.json").format == "jsonl"
    assert read(array, "data.jsonl").format == "json"
    assert read(lines, "data").format == "jsonl"
    assert read(array, "data").format == "json"


def test_arrays_of_objects_with_the_same_keys_are_joined() -> None:
    splits = {"train": [{"text": "a"}, {"text": "b", "n": 1}], "dev": [], "test": [{"text": "c"}]}
    table = read(json.dumps(splits), "data.json")
    assert (table.column("text"), table.notes) == (("a", "b", "c"), ("The rows are those under 'train' and 'test'.",))


def test_first_array_is_data_if_one_of_its_values_recurs() -> None:
    rows = [["pos", "great food"], ["neg", "bad food"], ["pos", "good price"]]
    table = read(json.dumps(rows), "data.json")
    assert (table.columns, table.column("column_1")) == (("column_1", "column_2"), ("pos", "neg", "pos"))
    assert read(json.dumps([["label", "text"], *rows, ["label", "text"]]), "data.json").columns == ("label", "text")
    marks = [["text", "Food"], ["great food", "Food"], ["rude staff", ""], ["slow"]]
    assert read(json.dumps(marks), "data.json").columns == ("text", "Food"), "an option of a survey"


def test_index_of_pandas_is_the_id_of_rows_without_one() -> None:
    def read_json(value: Any) -> Table:
        return read(json.dumps(value), "data.json")

    texts, labels = {"7": "a", "9": "b"}, {"7": "x", "9": "y"}
    assert read_json({"text": texts, "label": labels}).row(1) == {"id": "9", "text": "b", "label": "y"}
    split = {"columns": ["text"], "index": [7, 9], "data": [["a"], ["b"]]}
    assert read_json(split).row(1) == {"id": 9, "text": "b"}
    assert read_json(split | {"index": [0, 1]}).columns == ("text",)
    assert read_json({"text": texts, "id": labels}).column("id") == ("x", "y")
    assert read_json({"text": {"0": "a", "1": "b"}, "n": {"0": 1, "1": 2}}).columns == ("text", "n")


@each_row(
    ("data", "name", "problem"),
    [
        ('{"a": 1}', "x.json", "holds no array of objects"),
        ('{"error": "not found"}', "x.json", "holds no array of objects"),
        ('{"version": "1", "items": []}', "x.json", "holds no array of objects"),
        ("3", "x.json", "holds no array"),
        ('{"a": [{"text": "b"}], "labels": [{"name": "c"}]}', "x.json", "different objects under 'a' and 'labels'"),
        ('{"a": [1, 2', "x.json", "is not JSON"),
        ("[]", "x.json", "has no rows"),
        ("[]", "x.jsonl", "has no rows"),
        ('["a", 1]', "x.json", "no row with an object; row 1: a text, expected an object"),
        ('{"n": [1, 2], "text": ["a"]}', "x.json", "holds no array of objects"),
        ("id,text\n1,a", "x.jsonl", "no row with an object; row 1: not JSON"),
        ("  \n", "x.jsonl", "is empty"),
        ("[" + ",".join(f'{{"k{n}": 1}}' for n in range(5000)) + "]", "x.json", "4,097 columns"),
    ],
)
def test_files_without_objects_are_rejected(data: str, name: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(data, name)


def test_keys_become_usable_names() -> None:
    table = read('{" text ": "a", "": 1, "text": "b"}')
    assert table.columns == ("text", "column_2", "text_2")
    assert table.row(0) == {"text": "a", "column_2": 1, "text_2": "b"}


def test_other_encodings_are_read() -> None:
    text = '{"text": "schön"}\n'
    for encoding in ("utf-8-sig", "utf-16", "latin-1"):
        assert read(text.encode(encoding)).column("text") == ("schön",)
        assert read(f"[{text}]".encode(encoding), "data.json").column("text") == ("schön",)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.fixed_dictionaries({"text": st.text("ab é"), "x": values}), min_size=1, max_size=5), st.booleans())
def test_json_written_by_python_is_read_back(rows: list[dict[str, Any]], ascii: bool) -> None:
    table = read(json.dumps(rows, ensure_ascii=ascii), "data.json")
    lines = read("\n".join(json.dumps(row, ensure_ascii=ascii) for row in rows))
    assert [{key: table.row(n)[key] for key in rows[n]} for n in range(len(table))] == rows
    assert [{key: lines.row(n)[key] for key in rows[n]} for n in range(len(lines))] == rows


def labelbox_row(number: int, *labels: dict[str, Any]) -> dict[str, Any]:
    data = {"id": f"cl{number}", "external_id": f"d{number}", "row_data": f"Text {number}.", "details": {}}
    return {"data_row": data, "metadata_fields": [], "projects": {"p1": {"name": "Hotels", "labels": [*labels]}}}


def labelbox_label(person: str, mood: str, *aspects: str, **performance: Any) -> dict[str, Any]:
    answers = [{"name": name, "value": name.lower(), "classifications": []} for name in aspects]
    classifications = [
        {"name": "Mood", "value": "mood", "radio_answer": {"name": mood, "value": mood.lower()}},
        {"name": "Aspects", "value": "aspects", "checklist_answers": answers},
        {"name": "Note", "value": "note", "text_answer": {"content": "Short."}},
        {"name": "Odd", "value": "odd"},
    ]
    details = {"created_by": person, "created_at": "2026-01-01"}
    annotations = {"objects": [{"name": "Span"}], "classifications": classifications}
    return {"label_details": details, "performance_details": performance, "annotations": annotations}


def test_data_rows_of_labelbox_become_rows_with_a_column_for_each_classification() -> None:
    one = labelbox_row(1, labelbox_label("a@x.org", "Good", "Food", "Room"))
    table = read("\n".join(map(json.dumps, [one, labelbox_row(2)])), "export.ndjson")
    assert table.columns == ("id", "text", "Mood", "Aspects", "Note")
    assert table.row(0) == {
        "id": "d1",
        "text": "Text 1.",
        "Mood": "Good",
        "Aspects": ["Food", "Room"],
        "Note": "Short.",
    }
    assert table.row(1)["Mood"] is None
    assert table.notes == ("The rows are the data rows of Labelbox, with one column for each classification.",)


def test_each_person_who_labelled_in_labelbox_has_columns_and_skipped_labels_none() -> None:
    first, second = labelbox_label("a@x.org", "Good", "Food"), labelbox_label("b@x.org", "Bad")
    skipped = labelbox_label("c@x.org", "Bad", skipped=True)
    table = read(json.dumps([labelbox_row(1, first, second, skipped), labelbox_row(2, second)]), "export.json")
    assert [name for name in table.columns if "Mood" in name] == ["Mood_r1", "Mood_r2"]
    assert table.column("Mood_r1") == ("Good", None)
    assert table.column("Aspects_r2") == ([], [])


@each_row("projects", [{}, {"p": None}, {"p": {"labels": None}}, {"p": {"labels": [1]}}, {"p": {"labels": [{}]}}])
def test_data_rows_of_labelbox_without_labels_are_read(projects: dict[str, Any]) -> None:
    table = read(json.dumps({**labelbox_row(1), "projects": projects}))
    assert (table.columns, table.row(0)["text"]) == (("id", "text"), "Text 1.")
