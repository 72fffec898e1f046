"""Tests of gold from several imports and from raters with missing values: stored values and scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.ingest.mapping import ColumnMapping
from core.services.codebooks.codebook import read_codebook
from core.services.data import importing
from tests.core.cli.invoking import CommandResult, annotate, moot, write

TEXTS = ("The staff were friendly.", "The breakfast was good.", "Near the station.", "Nothing to say.")


def with_gold(folder: Path, column: str, *cells: Any) -> None:
    """Add a column to the texts; None is an empty cell."""
    rows = [json.loads(line) for line in (folder / "texts.jsonl").read_text(encoding="utf-8").splitlines()]
    for row, cell in zip(rows, cells, strict=True):
        row[column] = cell
    (folder / "texts.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def evaluate(folder: Path, *more: object) -> dict[str, Any]:
    report: dict[str, Any] = moot("evaluate", "--project", folder / "p.duckdb", "--json", *more).json["runs"][0]
    return report


def annotate_single(folder: Path, *more: object) -> CommandResult:
    return annotate(folder, "--protocol", "single", *more)


def test_later_gold_is_added_to_existing_documents(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS)
    with_gold(tmp_path, "s", 1, 0, 0, 0)
    with_gold(tmp_path, "f", 0, 1, 0, None)
    annotate_single(tmp_path)
    assert evaluate(tmp_path)["n"] == 0
    annotate_single(tmp_path, "--gold", "Service=s")
    report = evaluate(tmp_path)  # the first run
    assert (report["n"], report["labels"]["Service"]["tp"], report["labels"]["Food"]["n"]) == (4, 1, 0)
    assert "differ" not in annotate_single(tmp_path, "--gold", "Service=s", "--gold", "Food=f").stderr
    assert [evaluate(tmp_path)["labels"][name]["n"] for name in ("Service", "Food")] == [4, 3]
    with_gold(tmp_path, "s", 1, 1, 0, 0)
    output = annotate_single(tmp_path, "--gold", "Service=s").stderr
    assert "1 gold value differs from the gold in p.duckdb, which stays" in output
    assert evaluate(tmp_path)["labels"]["Service"]["fn"] == 0


def test_rater_with_missing_values_is_scored_on_shared_cells(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS)
    # Service: ann 1 1 0 -, bob 1 0 - 1. Food: ann 0 - - -, bob 0 1 1 -.
    for column, cells in (
        ("s1", (1, 1, 0, None)),
        ("s2", (1, 0, None, 1)),
        ("f1", (0, None, None, None)),
        ("f2", (0, 1, 1, None)),
    ):
        with_gold(tmp_path, column, *cells)
    gold = ("Service=s1@ann", "Service=s2@bob", "Food=f1@ann", "Food=f2@bob")
    annotate_single(tmp_path, *(word for one in gold for word in ("--gold", one)))
    report = evaluate(tmp_path, "--reference", "gold@ann", "--annotator", "gold@bob")
    # Both labelled Service on d0 and d1, and Food on d0. They labelled different labels of d2, and ann none of d3.
    assert (report["n"], report["excluded"]) == (2, 1)
    assert [report["labels"][name]["n"] for name in ("Service", "Food")] == [2, 1]
    assert (report["accuracy"], report["subset_accuracy"]) == (pytest.approx(2 / 3), 0.5)
    assert report["intervals"]["accuracy"] is not None, "resampled from the scored documents"
    assert report["intervals"]["labels"]["Service"]["recall"] == pytest.approx([0.0945, 0.9055], abs=1e-4)  # 1 of 2
    raters = evaluate(tmp_path)["raters"]
    against_ann = evaluate(tmp_path, "--reference", "gold@ann")
    assert {name: against_ann[name] for name in ("n", "excluded", "labels", "macro")} == {
        name: raters["ann"][name] for name in ("n", "excluded", "labels", "macro")
    }


def test_rows_by_several_raters_are_one_document_on_page_and_command_line(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS)
    rows = [
        {
            "doc_id": f"d{number}",
            "text": text,
            "annotator": rater,
            "Service": int(number == 0),
            "Food": int(rater == "bo"),
        }
        for number, text in enumerate(TEXTS)
        for rater in ("ann", "bo")
    ]
    file = tmp_path / "rated.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    command = (
        "annotate",
        file,
        "--text",
        "text",
        "--id",
        "doc_id",
        "--gold-same-names",
        "--protocol",
        "single",
        "--codebook",
        tmp_path / "codebook.yaml",
        "--limit",
        3,
        "--json",
        "--project",
    )
    assert moot(*command, tmp_path / "p.duckdb", "--rater", "annotator").json["documents"] == 3
    assert "Add --rater annotator" in moot(*command, tmp_path / "first_rows.duckdb").stderr
    report = evaluate(tmp_path, "--reference", "gold@ann", "--annotator", "gold@bo")
    assert report["n"] == 3
    assert (report["labels"]["Service"]["tp"], report["labels"]["Food"]["fp"]) == (1, 3)

    codebook = read_codebook(tmp_path / "codebook.yaml")
    on_the_page = importing.preview_import(importing.read_files([(file.name, file)], codebook), codebook, None)
    columns = ColumnMapping("text", id="doc_id", rater="annotator")
    options = importing.ImportOptions((file,), columns, gold_same_names=True)
    assert on_the_page.built.documents == importing.preview_file(options, codebook, None).built.documents
    assert on_the_page.built.merged == 4


def test_authors_are_an_annotator_under_their_short_name(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS)
    with_gold(tmp_path, "s1", 1, 0, 0, 1)
    with_gold(tmp_path, "s2", 1, 0, 1, 1)
    annotate_single(tmp_path, "--gold", "Service=s1@author", "--gold", "Service=s2@ann")
    short, full = (
        evaluate(tmp_path, "--reference", "gold@ann", "--annotator", f"{one}author") for one in ("", "gold@")
    )
    assert short == full
    assert (short["n"], short["labels"]["Service"]["fn"]) == (4, 1)


def test_several_files_are_annotated_in_one_run(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS[:2])
    (tmp_path / "more.csv").write_text("id,text\nz1,The soup was cold.\n", encoding="utf-8")
    result = annotate(tmp_path, tmp_path / "more.csv", "--protocol", "single")
    assert result.json["documents"] == 3
    exported = tmp_path / "out.jsonl"
    moot("export", "--project", tmp_path / "p.duckdb", "--format", "jsonl", "--output", exported)
    files = [json.loads(line)["file"] for line in exported.read_text(encoding="utf-8").splitlines()]
    assert files == ["texts.jsonl", "texts.jsonl", "more.csv"]


def test_merged_rows_are_counted(tmp_path: Path) -> None:
    write(tmp_path)
    file = tmp_path / "rated.csv"
    rows = "id,who,text,Service\n1,ann,Kind staff,1\n1,ben,Kind staff,1\n2,ann,Cold soup,0\n"
    command = ("annotate", file, "--text", "text", "--id", "id", "--rater", "who", "--gold-same-names")
    for extra, counts in (("", "read 3, kept 2, merged 1\n"), ("2,ben,,1\n", "read 4, kept 2, merged 1, rejected 1 (")):
        file.write_text(rows + extra, encoding="utf-8")
        shown = moot(*command, "--codebook", tmp_path / "codebook.yaml", "--project", tmp_path / "p.duckdb").stderr
        assert counts in shown


def test_printed_scores_of_a_choice_name_their_reference_and_have_kappa(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS)
    for column, cells in (("ann", "SFSS"), ("ben", "SFFS")):
        with_gold(tmp_path, column, *cells)
    labels = "labels: [{name: S, keywords: [staff]}, {name: F, keywords: [breakfast, station, say]}]"
    (tmp_path / "choice.yaml").write_text(f"kind: choice\n{labels}\n", encoding="utf-8")
    command = ("annotate", tmp_path / "texts.jsonl", "--text", "text", "--codebook", tmp_path / "choice.yaml")
    project = ("--project", tmp_path / "p.duckdb")
    moot(*command, *project, "--protocol", "single", "--gold", "label=ann@ann", "--gold", "label=ben@ben")
    report, shown = evaluate(tmp_path), moot("evaluate", *project).stdout
    low, high = report["intervals"]["kappa"]
    reference = "gold is the value that ann and ben share, or the only one"
    basis = f"n = 3 documents; not counted: 1 without gold or with a tie; {reference}"
    assert f"  verdict against gold: {basis}\n" in shown
    assert f"  kappa {report['kappa']:.3f} ({low:.3f} to {high:.3f}), ac1 ".replace("-", "−") in shown
    assert f"  Krippendorff's alpha of the raters: label {report['agreement']['label']:.3f}" in shown
    pair = moot("evaluate", *project, "--reference", "gold@ann", "--annotator", "gold@ben").stdout
    assert "  gold@ben against gold@ann: n = 4 documents\n" in pair


def test_printed_scores_of_several_labels_have_kappa_and_alpha_by_label(tmp_path: Path) -> None:
    # Answers 11, 10, 00, 00: kappa = (3/4 - 1/2) / (1/2) = .5; alpha = 1 - (1/4) / (2 x 3 x 5 / 56) = .533.
    write(tmp_path, *TEXTS)
    for column, cells in (("s1", (1, 1, 0, 0)), ("s2", (1, 0, 0, 0))):
        with_gold(tmp_path, column, *cells)
    annotate_single(tmp_path, "--gold", "Service=s1@ann", "--gold", "Service=s2@ben")
    project = ("--project", tmp_path / "p.duckdb")
    pair = moot("evaluate", *project, "--reference", "gold@ann", "--annotator", "gold@ben").stdout
    head, row = (next(line for line in pair.splitlines() if line.startswith(name)) for name in ("95%", "Service"))
    assert head.endswith("Cohen's kappa  Krippendorff's alpha")
    assert row.split()[-2:] == ["0.500", "0.533"]


def test_report_of_a_rater_has_no_analysis_of_the_verdicts(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS)
    for column, cells in (("s1", (1, 1, 0, 0)), ("s2", (1, 0, 0, 0))):
        with_gold(tmp_path, column, *cells)
    annotate(tmp_path, "--gold", "Service=s1@ann", "--gold", "Service=s2@ben")
    of_verdicts = ("debate", "calibration", "alternative_test")
    project, rater = ("--project", tmp_path / "p.duckdb"), ("--reference", "gold@ann", "--annotator", "gold@ben")
    report = evaluate(tmp_path)
    assert all(report[key] for key in of_verdicts)
    assert "The debate " in moot("evaluate", *project).stdout
    assert "The debate " not in moot("evaluate", *project, *rater).stdout
    report = evaluate(tmp_path, *rater)
    assert [report[key] for key in of_verdicts] == [None] * len(of_verdicts)


def test_printed_scores_of_grouped_documents_name_the_groups(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS)
    with_gold(tmp_path, "s", 1, 0, 0, 0)
    with_gold(tmp_path, "hotel", *"aabb")
    annotate_single(tmp_path, "--gold", "Service=s", "--group", "hotel")
    shown = moot("evaluate", "--project", tmp_path / "p.duckdb").stdout
    assert "  verdict against gold: n = 4 documents; n by label: 0 to 4; intervals over 2 independent groups\n" in shown


def test_printed_scores_with_unresolved_documents_as_wrong_have_the_accuracy(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS)
    with_gold(tmp_path, "label", *"SFSS")
    labels = "labels: [{name: S, keywords: [staff]}, {name: F, keywords: [breakfast]}]"
    (tmp_path / "codebook.yaml").write_text(f"kind: choice\n{labels}\n", encoding="utf-8")
    annotate_single(tmp_path, "--gold", "label=label")
    shown = moot("evaluate", "--project", tmp_path / "p.duckdb").stdout
    [row] = [line.split() for line in shown.splitlines() if line.startswith("unresolved as wrong")]
    assert evaluate(tmp_path)["strict"]["accuracy"] == 0.5
    assert row[3] == "0.500"


def test_scores_without_any_gold_are_printed_as_dashes(tmp_path: Path) -> None:
    write(tmp_path, *TEXTS)
    annotate_single(tmp_path)
    assert (
        "verdict against gold: n = 0 documents; not counted: 4 without gold\n"
        in moot("evaluate", "--project", tmp_path / "p.duckdb").stdout
    )
