from __future__ import annotations

import asyncio
import csv
import io
import json
import zipfile

import pyarrow.parquet as pq
import pytest

from core.codebook import Codebook, Label, Scale
from core.debate.protocols import find
from core.documents import Document, differs
from core.errors import ExportError, UsageError
from core.runs import RunDetails
from core.services import bundle, export
from core.services.codebooks import codebook as codebooks
from core.services.evaluation import evaluation
from core.services.review import actions, agreement, browser_data, queue
from core.store.annotations import decode_value
from core.store.project import Project
from tests import documented
from tests.core.services import sample_world
from tests.core.services.sessions import BOOK, annotate, decide, studio
from tests.core.store.helpers import ROLE_MODEL, make_settings, store_debate, store_rounds

ANNOTATORS = ("gold", "pred", "reviewed", "extractor", "critic")


def table(session, run_id):
    text = export.export_bytes(session, run_id, "csv").decode("utf-8-sig")
    return {row["document_id"]: row for row in csv.DictReader(io.StringIO(text, newline=""))}


def test_reviewed_value_takes_precedence_in_the_export(session, run_id):
    actions.edit(session, run_id, ["d0"], "b", True, actions.Attribution("ann"))
    actions.edit(session, run_id, ["d4"], "a", True, actions.Attribution("ann"))
    result = table(session, run_id)
    assert list(result) == [f"d{n}" for n in range(8)]
    d0 = result["d0"]
    assert [d0[f"{name}_Alpha"] for name in ANNOTATORS] == ["1", "1", "", "1", "1"]
    assert [d0[f"{name}_Beta"] for name in ANNOTATORS] == ["0", "0", "1", "1", "0"]
    assert (d0["status"], d0["run_id"], d0["protocol"], d0["codebook_version"]) == ("verdict", run_id, "ecj", "1")
    assert (result["d4"]["pred_Alpha"], result["d4"]["reviewed_Alpha"]) == ("", "1")


def test_unresolved_value_is_exported_as_empty(session, run_id):
    result = table(session, run_id)
    assert (result["d4"]["pred_Alpha"], result["d4"]["pred_Beta"], result["d4"]["status"]) == ("", "0", "unresolved")
    assert (result["d6"]["pred_Alpha"], result["d6"]["status"]) == ("", "failed")
    assert (result["d7"]["pred_Alpha"], result["d7"]["reviewed_Alpha"], result["d7"]["status"]) == ("", "", "open")


CHOICE = Codebook(kind="choice", labels=(Label(name="Sport", id="s"), Label(name="Politics", id="p")))
RATING = Codebook(
    kind="rating", labels=(Label(name="Clarity", id="c"), Label(name="Depth", id="d", scale=Scale(min=0, max=10)))
)
MULTI = Codebook(labels=(Label(name="Room", id="r"), Label(name="Price", id="x")))


@pytest.mark.parametrize(
    ("codebook", "gold", "expected"),
    [
        pytest.param(CHOICE, [{"label": "old"}, {"label": "old"}, {"label": "s"}], {"label": "s"}, id="deleted label"),
        pytest.param(CHOICE, [{"label": "s"}, {"label": "p"}, {"label": "old"}], {}, id="tie"),
        pytest.param(CHOICE, [{"label": "s"}, {"label": "p"}, {"label": "p"}], {"label": "p"}, id="majority"),
        pytest.param(CHOICE, [{"label": "old"}], {}, id="one rater with a deleted label"),
        pytest.param(RATING, [{"c": 9, "d": 9}, {"c": 1, "d": 1}, {"c": 2}], {"c": 1.5, "d": 5}, id="off the scale"),
        pytest.param(RATING, [{"c": 1}, {"c": 2}, {"c": 2}], {"c": 5 / 3}, id="mean"),
        pytest.param(RATING, [{"c": 0.1}, {"c": 1.1}, {"c": 3}], {"c": (1.1 + 3) / 2}, id="fractions"),
        pytest.param(RATING, [{"c": True}, {"c": 4}], {"c": 4}, id="another kind"),
        pytest.param(MULTI, [{"r": True, "z": True}, {"r": True, "x": False}, {"r": False, "x": True}], {"r": True}),
        pytest.param(MULTI, [{"r": 3}, {"r": 3}, {"r": False}], {"r": False}, id="ratings before"),
    ],
)
def test_gold_is_the_same_everywhere(tmp_path, codebook, gold, expected):
    verdict = dict.fromkeys(codebook.items, {"choice": "s", "rating": 2, "multilabel": True}[codebook.kind])
    with Project(tmp_path / "p.duckdb") as project:
        store, session = project.store, sample_world.session_on(project)
        by_rater = {f"rater {number}": values for number, values in enumerate(gold)}
        store.documents.add([Document("g", {"text": "Clean."}, gold=by_rater)])
        run_id = store.runs.create(make_settings(codebook), ["g"]).run_id
        asyncio.run(store_debate(project, run_id, "g", {"judge": verdict}, verdict))
        run = session.run(run_id)
        in_grid = [decode_value(codebook, value) for value in store.annotations.grid(run_id, codebook, "gold")[0]]
        exported = table(session, run_id)["g"]
        shown = browser_data.document(session, run, "g", actor="me")
        outcome, _ = store.lab.outcomes(run_id, codebook)["g"]
        report = evaluation.evaluate(session, run)
        in_view = store.runs._connection.column("SELECT true_aspect FROM evaluation_review")

    assert in_grid == [expected.get(item) for item in codebook.items]
    assert report.n == bool(expected)
    assert shown["gold"] == expected
    names = {True: "1", False: "0"} | codebook.label_names
    texts = {item: str(names.get(value, value)) for item, value in expected.items()}
    assert [exported[f"gold_{name}"] for name in codebook.item_names] == [
        texts.get(item, "") for item in codebook.items
    ]
    aspects = {label.id: label.id == expected.get("label") for label in codebook.labels}
    aspects = aspects if codebook.kind == "choice" and expected else expected
    assert [json.loads(view) for view in in_view] == (
        [{codebook.label_names[label]: value for label, value in aspects.items()}] if expected else []
    )
    is_wrong = any(differs(verdict[item], value) for item, value in expected.items())
    assert ("gold" in [badge["reason"] for badge in shown["reasons"]]) == is_wrong
    assert outcome == (not is_wrong if expected else None)


def test_column_of_a_role_whose_samples_vote_has_their_vote(project):
    settings = make_settings(sample_world.CODEBOOK).model_copy(
        update={
            "protocol": "single",
            "params": find("single").parse_params({"method": "vote", "k": 3}),
            "role_models": {"annotator": ROLE_MODEL},
        }
    )
    project.store.documents.add([Document("d", {"text": "d"})])
    run_id = project.store.runs.create(settings, ["d"]).run_id
    turns = [("annotator", 0, sample_world.both(present)) for present in ("a", "a", "b")]
    asyncio.run(store_rounds(project, run_id, "d", turns, sample_world.both("a")))
    row = table(sample_world.session_on(project), run_id)["d"]
    assert [row[f"annotator_{name}"] for name in ("Alpha", "Beta")] == ["1", "0"]
    (record,) = project.store.document_records.load(run_id, ["d"])
    assert record.roles == {"annotator": sample_world.both("a")}


def test_undone_decision_is_not_exported(session, run_id):
    actions.edit(session, run_id, ["d0"], "b", True)
    actions.undo(session)
    assert table(session, run_id)["d0"]["reviewed_Beta"] == ""


def test_values_of_another_kind_are_not_exported(tmp_path):
    first, second = BOOK.items
    with studio(tmp_path, documents=1) as (_, session):
        rating = codebooks.change(BOOK, kind="rating")
        codebooks.save(session, rating)
        decide(session, annotate(session).run_id, {"d0": {first: 4, second: 2.5}})
        session.store.documents.add([Document("d1", {"text": "Clean."}, gold={"gold": {first: 4}})], file_name="g.csv")
        codebooks.save(session, codebooks.change(rating, kind="multilabel"))
        run = annotate(session)
        written = io.BytesIO(export.export_bytes(session, run.run_id, "parquet"))
        rows = {row["document_id"]: row for row in pq.read_table(written).to_pylist()}
        assert (rows["d0"]["pred_Cleanliness"], rows["d0"]["reviewed_Cleanliness"]) == (True, None)
        assert rows["d1"]["gold_Cleanliness"] is None
        assert bundle.bundle_bytes(session)


def test_each_reviewer_is_exported_with_their_own_labels_and_status(session, run_id, tmp_path):
    ann, bob = actions.Attribution("ann"), actions.Attribution("bob")
    for document in ("d0", "d2"):
        actions.edit(session, run_id, [document], "b", True, ann)
        actions.submit(session, run_id, [document], ann)
        actions.edit(session, run_id, [document], "a", False, bob)
    actions.edit(session, run_id, ["d2"], "b", False, bob)
    actions.submit(session, run_id, ["d2"], bob)
    agreement.adjudicate(session, session.run(run_id), "d2", "b", True, actor="cyd")
    content = lambda form: export.export(session, run_id, form, tmp_path / form).read_text("utf-8")  # noqa: E731
    tasks = json.loads(content("label-studio"))
    records = [json.loads(line) for line in content("argilla").splitlines()]
    for task, record, expected in (
        (tasks[0], records[0], [("ann", {"Alpha", "Beta"}, True)]),
        (tasks[2], records[2], [("ann", {"Alpha", "Beta"}, True), ("bob", set(), True), ("cyd", {"Beta"}, True)]),
    ):
        names = task["meta"]["reviewers"]
        labels = [
            {choice for choices in annotation["result"] for choice in choices["value"].get("choices", ())}
            for annotation in task["annotations"]
        ]
        assert (
            list(zip(names, labels, [annotation["ground_truth"] for annotation in task["annotations"]], strict=True))
            == expected
        )
        assert [
            ({*response["value"]} - {"none"}, response["status"] == "submitted") for response in record["responses"]
        ] == [(values, submitted) for _, values, submitted in expected]
    prodigy = json.loads(content("prodigy").splitlines()[0])
    assert (prodigy["accept"], prodigy["answer"], prodigy["_annotator_id"]) == (["Alpha", "Beta"], "accept", "ann")


def test_exports_contain_notes_flags_error_types_and_reviewers(session, run_id, tmp_path):
    ann, bob = actions.Attribution("ann"), actions.Attribution("bob")
    actions.submit(session, run_id, ["d0"], ann)
    actions.edit(session, run_id, ["d0"], "b", True, bob)
    for name, value in (("note", "=irony?"), ("tags", ["edge case", "model error"]), ("flag", True)):
        actions.mark(session, run_id, "d0", name, value, ann)
        actions.mark(session, run_id, "d1", name, value, ann)
    actions.mark(session, run_id, "d0", "note", "I agree\n", bob)
    actions.mark(session, run_id, "d0", "tags", ["model error"], bob)
    actions.mark(session, run_id, "d1", "flag", None, bob)
    result = table(session, run_id)
    names = ("review_note", "review_flag", "review_error_types", "reviewers")
    assert list(result["d0"])[-4:] == list(names)
    assert [result["d0"][name] for name in names] == [
        "ann: =irony?\nbob: I agree",
        "1",
        "edge case, model error",
        "ann, bob",
    ]
    assert [result["d1"][name] for name in names] == ["'=irony?", "0", "edge case, model error", ""]
    assert [result["d2"][name] for name in names] == ["", "0", "", ""]
    rows = pq.read_table(export.export(session, run_id, "parquet", tmp_path / "out.parquet")).to_pylist()
    assert [rows[1][name] for name in names] == ["=irony?", False, "edge case, model error", None]
    line = json.loads(export.export_bytes(session, run_id, "jsonl").splitlines()[0])
    tasks = [json.loads(export.export(session, run_id, "label-studio", tmp_path / "tasks.json").read_text("utf-8"))[0]]
    tasks += [
        json.loads(export.export(session, run_id, format, tmp_path / format).read_text("utf-8").splitlines()[0])
        for format in ("argilla", "prodigy")
    ]
    folder = export.export(session, run_id, "huggingface", tmp_path / "set")
    shared = pq.read_table(folder / "data" / "train.parquet").to_pylist()[0]
    assert tasks[0]["meta"]["reviewers"] == ["ann"], "the draft of bob is not an annotation"
    tasks[0]["meta"]["reviewers"].append("bob")
    for remarks in (line, shared, *(task.get("meta") or task["metadata"] for task in tasks)):
        assert [remarks[name] for name in names] == [
            "ann: =irony?\nbob: I agree",
            True,
            ["edge case", "model error"],
            ["ann", "bob"],
        ]


def test_reviewer_who_resolves_a_disagreement_is_exported_with_their_own_labels(session, run_id, tmp_path):
    for name, value in (("ann", True), ("bob", False)):
        for item in ("a", "b"):
            actions.edit(session, run_id, ["d2"], item, value, actions.Attribution(name))
        actions.submit(session, run_id, ["d2"], actions.Attribution(name))
    agreement.adjudicate(session, session.run(run_id), "d2", "b", True, actor="bob")
    lines = export.export(session, run_id, "argilla", tmp_path / "argilla").read_text("utf-8").splitlines()
    responses = json.loads(lines[2])["responses"]
    assert ["Beta" in response["value"] for response in responses] == [True, False]
    assert table(session, run_id)["d2"]["reviewed_Beta"] == "1"


def test_table_has_the_decisions_of_drafts_and_says_so(session, run_id):
    actions.edit(session, run_id, ["d1"], "b", True, actions.Attribution("ann"))
    row = table(session, run_id)["d1"]
    assert (row["reviewed_Beta"], row["reviewed_Alpha"], row["review_status"]) == ("1", "", "Draft")
    meaning = dict(export.column_meanings(session, run_id))["reviewed_NAME"]
    assert meaning == "decision of a person, also while the review_status is Draft; empty without one"


def test_document_that_was_only_discarded_is_marked_in_every_format(session, run_id):
    actions.set_status(session, run_id, ["d0"], "Discarded", actions.Attribution("ann"))
    actions.edit(session, run_id, ["d1"], "b", True, actions.Attribution("ann"))
    statuses = {
        form: json.loads(export.export_bytes(session, run_id, form).splitlines()[0]) for form in ("prodigy", "jsonl")
    }
    assert (statuses["prodigy"]["answer"], statuses["prodigy"]["_annotator_id"]) == ("reject", "ann")
    assert statuses["jsonl"]["review_status"] == "Discarded"
    assert statuses["jsonl"]["labels"]["Alpha"]["source"] == "verdict", "nobody decided a label"
    rows = table(session, run_id)
    assert [rows[id]["review_status"] for id in ("d0", "d1", "d2")] == ["Discarded", "Draft", "Pending"]
    with zipfile.ZipFile(io.BytesIO(export.export_bytes(session, run_id, "argilla"))) as files:
        (name,) = (name for name in files.namelist() if name.endswith(".jsonl"))
        assert {response["status"] for response in json.loads(files.read(name).splitlines()[0])["responses"]} == {
            "discarded"
        }
    with zipfile.ZipFile(io.BytesIO(export.export_bytes(session, run_id, "label-studio"))) as files:
        (name,) = (name for name in files.namelist() if name.endswith(".json"))
        task, other = json.loads(files.read(name))[:2]
    assert task["meta"]["reviewers"] == ["ann"]
    assert [annotation["was_cancelled"] for annotation in task["annotations"]] == [True]
    assert other["annotations"] == []


def test_draft_is_no_answer_for_annotation_tools(session, run_id, tmp_path):
    for item, value in (("a", True), ("b", True)):
        actions.edit(session, run_id, ["d0"], item, value, actions.Attribution("ann"))
    actions.edit(session, run_id, ["d2"], "b", True, actions.Attribution("ann"))
    content = lambda form: export.export(session, run_id, form, tmp_path / form).read_text("utf-8")  # noqa: E731
    tasks = json.loads(content("label-studio"))
    records, prodigy = ([*map(json.loads, content(form).splitlines())] for form in ("argilla", "prodigy"))
    for index, labels in ((0, ["Alpha", "Beta"]), (2, ["Beta"])):
        assert tasks[index]["annotations"] == []
        responses = records[index]["responses"]
        assert [(response["value"], response["status"]) for response in responses] == [(labels, "draft")]
        assert prodigy[index]["answer"] == "ignore"
    drafts = [task["predictions"][-1] for task in (tasks[0], tasks[2])]
    assert {draft["model_version"] for draft in drafts} == {f"{run_id}/ann"}
    chosen = [[part["value"]["choices"] for part in draft["result"]] for draft in drafts]
    assert chosen == [[["Alpha", "Beta"]], []], "a label that the draft leaves open would be taken as absent"


def test_discarded_document_without_values_is_marked_for_annotation_tools(session, run_id, tmp_path):
    actions.set_status(session, run_id, ["d6"], "Discarded", actions.Attribution("ann"))
    lines = lambda form: export.export(session, run_id, form, tmp_path / form).read_text("utf-8")  # noqa: E731
    argilla, prodigy = (json.loads(lines(form).splitlines()[6]) for form in ("argilla", "prodigy"))
    assert argilla["responses"] == [], "a response of Argilla has a value"
    tasks = [argilla["metadata"], prodigy["meta"], json.loads(lines("label-studio"))[6]["meta"]]
    assert [task["review_status"] for task in tasks] == ["Discarded"] * 3
    assert [task["reviewers"] for task in tasks] == [["ann"]] * 3


def test_jsonl_and_parquet_contain_the_same_values(session, run_id, tmp_path):
    actions.edit(session, run_id, ["d1"], "a", True)
    path = export.export(session, run_id, "jsonl", tmp_path / "out.jsonl")
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert lines[1]["labels"]["Alpha"]["value"] is True
    assert lines[1]["labels"]["Alpha"]["source"] == "review"
    assert lines[4]["labels"]["Alpha"]["reason"] == "could not be read"
    assert lines[0]["roles"]["judge"] == "builtin/lexical"
    written = pq.read_table(export.export(session, run_id, "parquet", tmp_path / "out.parquet"))
    names = [
        f"{annotator}_{label}" for label in ("Alpha", "Beta") for annotator in ("gold", "pred", "reviewed", "judge")
    ]
    assert [{name: line[name] for name in names} for line in lines] == written.select(names).to_pylist()
    assert written.column("pred_Alpha").to_pylist() == [True, False, True, False, None, True, None, None]
    assert written.column("reviewed_Alpha").to_pylist() == [None, True, *[None] * 6]
    assert written.column("gold_Alpha").to_pylist() == [True, True, False, False, True, None, True, False]
    assert written.column("stars").to_pylist() == list(range(8))


def test_transcript_has_one_line_per_turn(session, run_id):
    lines = [json.loads(line) for line in export.export_bytes(session, run_id, "transcript").splitlines()]
    assert len(lines) == 18 == session.run(run_id).turns  # six debates of three turns
    first = lines[0]
    assert (first["document"], first["turn"], first["role"], first["model"]) == (
        "d0",
        0,
        "extractor",
        "builtin/lexical",
    )
    assert first["messages"][1] == {"role": "user", "content": "read d0"}
    assert first["text"] == "extractor on d0"
    assert first["tokens"] == {"prompt": 10, "completion": 5}
    assert first["reading"]["values"] == {"Alpha": True, "Beta": True}


def test_preview_is_the_beginning_of_the_file(session, run_id):
    shown = export.preview(session, run_id, "csv", rows=2)
    assert list(shown.columns[:2]) == ["id", "stars"]
    assert list(shown["id"]) == ["d0", "d1"]
    assert export.preview(session, run_id, "parquet", rows=2)["id"][0] == "d0"
    assert '"document_id": "d0"' in export.preview(session, run_id, "jsonl")
    assert '"extractor on d0"' in export.preview(session, run_id, "transcript")


def test_preview_leaves_out_what_a_blind_review_hides(session, run_id):
    queue.save_review_settings(session, queue.ReviewSettings(blind=True))
    assert export.hidden_verdicts(session, run_id, "ann") == {f"d{number}" for number in range(7)}
    decide(session, run_id, {"d2": {"a": True, "b": False}}, actions.Attribution("ann"))
    shown = export.preview(session, run_id, "csv", rows=2, actor="ann")
    assert list(shown["id"]) == ["d2", "d7"], "d7 has no verdict that could be hidden"
    transcript = export.preview(session, run_id, "transcript", actor="ann")
    assert '"extractor on d2"' in transcript
    assert '"extractor on d0"' not in transcript
    assert list(export.preview(session, run_id, "csv", rows=2)["id"]) == ["d0", "d1"]
    assert len(export.export_bytes(session, run_id, "jsonl").splitlines()) == 8


def test_documented_format_is_written_and_previewed(session, run_id, tmp_path, monkeypatch):
    monkeypatch.setitem(export.FORMATS, "pairs", documented.pairs())
    assert export.file_name(session, run_id, "pairs") == f"small-{run_id}-pairs.jsonl"
    path = export.export(session, run_id, "pairs", tmp_path / "pairs.jsonl")
    assert path.read_text(encoding="utf-8").splitlines()[:2] == ['["d0",["Alpha"]]', '["d1",["Beta"]]']
    shown = export.preview(session, run_id, "pairs")
    assert shown.count("[") == 4
    assert '"d1"' in shown


def test_format_that_is_not_json_is_previewed_as_it_is(session, run_id, monkeypatch):
    def write_ids(rows, _codebook, _columns, file):
        file.write("\n".join(f"[{row.document.id}]" for row in rows).encode())

    for media_type, shown in (("text/plain", "[d0]\n[d1]"), ("application/pdf", "")):
        ids = export.ExportFormat(f"ids {media_type}", "Ids", "", write_ids, ".txt", media_type)
        monkeypatch.setitem(export.FORMATS, ids.name, ids)
        assert export.preview(session, run_id, ids.name, rows=2) == shown


def test_export_contents_are_counted(session, run_id):
    actions.edit(session, run_id, ["d1"], "a", True)
    run = session.run(run_id)
    assert (run.documents, run.verdicts, run.unresolved, run.failed, run.ended) == (8, 5, 1, 1, 7)
    actions.edit(session, run_id, ["d2", "d3"], "a", True)
    actions.submit(session, run_id, ["d2"])
    assert [export.count_reviews(session, run, status) for status in ("Submitted", "Draft", "Discarded")] == [1, 2, 0]


def test_default_file_names_and_errors_for_unknown_formats_and_runs(session, run_id, tmp_path):
    assert export.file_name(session, run_id, "transcript") == f"small-{run_id}-transcript.jsonl"
    with pytest.raises(UsageError, match="Export format 'xml' does not exist"):
        export.export(session, run_id, "xml", tmp_path / "x")
    with pytest.raises(UsageError, match="Run 'r9' does not exist"):
        export.export(session, "r9", "csv", tmp_path / "x")
    with pytest.raises(ExportError, match=r"Folder .* does not exist"):
        export.export(session, run_id, "csv", tmp_path / "missing" / "x.csv")


def test_duckdb_example_names_the_views(session):
    recipe = export.duckdb_example(session)
    assert "annotated_review" in recipe
    assert "evaluation_review" in recipe
    assert "/projects/small.duckdb" in recipe


def test_several_runs_are_exported_as_one_table(session, run_id, tmp_path):
    settings = session.store.runs.settings(run_id)
    other = session.store.runs.create(settings, ["d0", "d1"], details=RunDetails(name="Two only")).run_id
    path = export.export(session, run_id, "csv", tmp_path / "out.csv", other_runs=[other])
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    assert [row["run_id"] for row in rows] == [run_id] * 8 + [other] * 2
    assert [row["document_id"] for row in rows[8:]] == ["d0", "d1"]
    readme = (tmp_path / "out.README.md").read_bytes()
    assert readme == export.readme(session, run_id, "csv", other_runs=[other])
    gold = {name: {"a": True} for name in ("ann", "ben")}
    session.store.documents.add([Document("later", {"text": "t"}, gold=gold)])
    for name, meaning in export.column_meanings(session, run_id, other_runs=[other]):
        assert f"| {name} | {meaning} |" in export.readme(session, run_id, "csv").decode(), "raters of exported rows"
    shown = export.preview(session, run_id, "csv", rows=4, other_runs=[other])
    assert list(shown["run_id"]) == [run_id, run_id, other, other]
    assert export.zipped_files(session, run_id, "csv") == []
    assert export.zipped_files(session, run_id, "argilla") == ["small-r0001.jsonl", "small-r0001.settings.json"]
    assert export.zipped_files(session, run_id, "huggingface") == ["data/train.parquet", "README.md"]
    assert f"- Run {other}: Two only, ecj (".encode() in readme
    folder = export.export(session, run_id, "huggingface", tmp_path / "out", other_runs=[other])
    assert "One row is one text in one run." in (folder / "README.md").read_text("utf-8")


def test_run_over_imports_with_different_columns_is_exported_and_bundled(session, run_id, tmp_path):
    one = Document("a1", {"text": "Clean."}, source={"id": "a1", "text": "Clean.", "date": "May"})
    two = Document("b1", {"review": "Loud.", "comment": "!"}, source={"id": "b1", "review": "Loud.", "comment": "!"})
    bare = Document("c1", {"text": "Far.", "note": "?"})
    for document in (one, two, bare):
        session.store.documents.add([document])
    mixed = session.store.runs.create(session.store.runs.settings(run_id), ["a1", "b1", "c1"]).run_id
    rows = list(csv.DictReader(io.StringIO(export.export_bytes(session, mixed, "csv").decode("utf-8-sig"))))
    assert list(rows[0])[:7] == ["id", "text", "date", "review", "comment", "note", "document_id"]
    assert [(row["date"], row["comment"], row["note"]) for row in rows] == [
        ("May", "", ""),
        ("", "!", ""),
        ("", "", "?"),
    ]
    assert len(export.preview(session, mixed, "parquet")) == 3
    assert len(export.preview(session, run_id, "csv", other_runs=[mixed])) == 6
    folder = export.export(session, mixed, "huggingface", tmp_path / "out")
    assert pq.read_table(folder / "data" / "train.parquet").column("comment").to_pylist() == ["", "!", ""]
    tasks = json.loads(export.export(session, mixed, "label-studio", tmp_path / "tasks.json").read_bytes())
    assert [task["data"]["comment"] for task in tasks] == ["", "!", ""]
    assert 'name="comment"' in (tmp_path / "tasks.xml").read_text()
    export.export(session, mixed, "argilla", tmp_path / "records.jsonl")
    described = json.loads((tmp_path / "records.settings.json").read_bytes())
    assert [field["name"] for field in described["fields"]] == ["text", "comment", "note"]
    bundle.bundle_bytes(session)


@pytest.mark.parametrize("format", ["label-studio", "argilla", "prodigy"])
def test_annotation_tools_take_one_run(session, run_id, format, tmp_path):
    # Argilla and Prodigy keep one record for each document: the second run would replace the first
    other = session.store.runs.create(session.store.runs.settings(run_id), ["d0"]).run_id
    with pytest.raises(UsageError, match="takes one run"):
        export.export(session, run_id, format, tmp_path / "out", other_runs=[other])


def test_runs_with_other_labels_are_not_mixed(session, run_id, tmp_path):
    settings = session.store.runs.settings(run_id)
    codebook = settings.codebook.model_copy(update={"labels": settings.codebook.labels[:1]})
    other = session.store.runs.create(settings.model_copy(update={"codebook": codebook}), ["d0"]).run_id
    with pytest.raises(UsageError, match="r0001 have different labels"):
        export.export(session, run_id, "csv", tmp_path / "out.csv", other_runs=[other])


def test_dataset_card_mentions_people_only_after_a_review(session, run_id, tmp_path):
    card = lambda: (export.export(session, run_id, "huggingface", tmp_path / "out") / "README.md").read_text()  # noqa: E731
    assert "All labels of 8 documents are model output" in card()
    actions.set_status(session, run_id, ["d1"], "Discarded", actions.Attribution("bo"))
    assert "All labels of 8 documents are model output" in card()
    actions.edit(session, run_id, ["d0"], "b", True, actions.Attribution("ann"))
    assert "1 of 8 documents have labels decided by 1 person" in card()
