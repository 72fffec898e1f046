"""Tests of scores, with expected values counted by hand from ``sample_world``."""

from __future__ import annotations

import asyncio
import csv
import io
import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from markupsafe import escape

from core.codebook import Codebook, Label, Scale
from core.documents import Document
from core.errors import UsageError
from core.formatting import format_number
from core.runs import RunSettings
from core.services.evaluation import annotation_arrays, evaluation
from core.services.evaluation import report as html_report
from core.services.evaluation.debate_effect import debate_effect, summary
from core.services.evaluation.evaluation import efficient
from core.services.evaluation.reference import available_references, reference_names
from core.services.evaluation.report import full_report, label_table, to_table
from core.services.review import actions, queue
from core.stats import metrics
from core.stats.intervals import ends, format_interval, wilson
from core.stats.metrics import Counts
from core.store.project import Project
from tests import documented
from tests.core.services import sample_world
from tests.core.services.sample_world import both
from tests.core.services.sample_world import report as report_of
from tests.core.services.sessions import decide
from tests.core.stats.samples import weighted_flip_table
from tests.core.store.helpers import (
    ROLE_MODEL,
    count_cells,
    fill_randomly,
    make_settings,
    set_gold,
    store_debate,
    store_debates,
)


def test_report_is_the_headless_contract(session, run_id):
    # Scored: d0 to d3. Excluded although they have gold: d4 (unresolved), d6 (failed), d7 (not debated).
    # Alpha: d0 TP, d1 FN, d2 FP, d3 TN. Beta: d1 and d2 TP, d0 and d3 TN.
    report = report_of(session, run_id)
    assert {name: report[name] for name in ("run_id", "protocol", "roles", "n", "excluded")} == {
        "run_id": run_id,
        "protocol": "ecj",
        "roles": {"extractor": "builtin/lexical", "critic": "builtin/lexical", "judge": "builtin/lexical"},
        "n": 4,
        "excluded": 3,
    }
    assert report["basis"]["units"] == 4, "excluded documents are behind no interval"
    for average in ("macro", "micro"):
        assert {"precision": 0.75, "recall": 0.75, "f1": 0.75}.items() <= report[average].items()
    alpha = {"n": 4, "tp": 1, "fp": 1, "fn": 1, "tn": 1, "accuracy": 0.5, "precision": 0.5, "recall": 0.5, "f1": 0.5}
    beta = {"n": 4, "tp": 2, "fp": 0, "fn": 0, "tn": 2, "accuracy": 1.0, "precision": 1.0, "recall": 1.0, "f1": 1.0}
    assert report["labels"] == {"Alpha": alpha, "Beta": beta}


def test_report_has_further_measures(session, run_id):
    report = report_of(session, run_id)
    # d0 and d3 of four documents are right on both labels; 2 of 8 labels are wrong.
    assert (report["subset_accuracy"], report["hamming_loss"], report["accuracy"]) == (0.5, 0.25, 0.75)
    assert report["weighted"]["f1"] == 0.75
    beyond = report["measures"]
    assert [beyond["Alpha"][key] for key in ("mcc", "kappa", "kl")] == [0.0, 0.0, 0.0]
    assert [beyond["Beta"][key] for key in ("mcc", "kappa", "ac1")] == [1.0, 1.0, 1.0]
    assert beyond["Beta"]["alpha"] == pytest.approx(1.0)


def test_report_of_a_role(session, run_id):
    # The extractor on d0 to d3. Alpha: d0, d1 TP, d2 FP, d3 TN. Beta: d1 TP, d0 and d3 FP, d2 FN.
    labels = report_of(session, run_id, annotator="extractor")["labels"]
    assert [labels["Alpha"][name] for name in ("tp", "fp", "fn", "tn")] == [2, 1, 0, 1]
    assert [labels["Beta"][name] for name in ("tp", "fp", "fn", "tn")] == [1, 2, 1, 0]


def test_document_without_a_list_of_the_role_is_excluded(session, run_id):
    report = report_of(session, run_id, annotator="critic")
    assert (report["n"], report["excluded"]) == (3, 4)


def test_scores_of_a_reviewer_change_with_a_review(session, run_id):
    def accuracy():
        report = evaluation.evaluate(session, session.run(run_id), annotator="reviewed@ann")
        return report.n, report.scores["accuracy"].value

    assert accuracy() == (0, None)
    decide(session, run_id, {"d0": {}}, actions.Attribution("ann"))
    assert accuracy() == (1, 1.0)
    decide(session, run_id, {"d0": {"a": False}}, actions.Attribution("ann"))
    assert accuracy() == (1, 0.5)


def test_unknown_run_and_reference(session, run_id):
    with pytest.raises(UsageError, match="Run 'r9' does not exist"):
        report_of(session, "r9")
    with pytest.raises(UsageError, match="no reference 'silver'"):
        report_of(session, run_id, "silver")


def test_unknown_reviewer_is_refused_as_a_reference(session, run_id):
    with pytest.raises(UsageError, match="no review by 'ann'") as refusal:
        report_of(session, run_id, "reviewed@ann")
    assert refusal.value.remedy == "Reviewers: nobody."
    decide(session, run_id, {"d0": {}}, actions.Attribution("ann"))
    assert report_of(session, run_id, "reviewed@ann")["n"] == 1
    with pytest.raises(UsageError) as refusal:
        report_of(session, run_id, "reviewed@an")
    assert refusal.value.remedy == "Reviewers: ann."


def test_evaluation_report(session, run_id):
    report = evaluation.evaluate(session, session.run(run_id))
    assert report.n == 4
    assert report.scores.counts == {"Alpha": Counts(1, 1, 1, 1), "Beta": Counts(2, 0, 0, 2)}
    assert [report.scores[key].value for key in ("macro_f1", "micro_f1", "accuracy")] == [0.75, 0.75, 0.75]
    assert report.scores.cells == 8
    exact = report.scores["subset_accuracy"]  # d0 and d3
    assert (exact.value, exact.interval) == (0.5, wilson(2, 4))
    assert report.coverage.left_out == {"unresolved": 1, "failed": 1, "waiting": 1, "no_reference": 1}
    assert report.excluded == 3
    assert list(evaluation.role_scores(session, report.run)) == ["extractor", "critic"]


def test_coverage_and_strict_scores(session, run_id):
    report = report_of(session, run_id)
    assert report["coverage"] == 4 / 7
    # Six of eight labels are right; the three excluded documents add six wrong labels.
    assert report["strict"]["accuracy"] == pytest.approx(6 / 14)
    assert set(report["strict"]) == {"macro", "micro", "accuracy"}
    assert report["strict"]["macro"]["f1"] < report["macro"]["f1"]
    low, high = report["strict_intervals"]["macro"]["f1"]
    assert low < report["strict"]["macro"]["f1"] < high


def printed(session, run_id, heading, name):
    """Return the cells of a row of the HTML report by column heading, from all tables of a section."""
    page = html_report.html_report(session, session.run(run_id))
    cells = {}
    for table in page.split(f"<h2>{heading}</h2>")[1].split("<h2>")[0].split("<table")[1:]:
        heads = re.findall("<th>(.*?)</th>", table)
        rows = re.findall("<tr>(.*?)</tr>", table, re.DOTALL)
        row = next(row for row in rows if f"<td>{escape(name)}</td>" in row)
        cells |= zip(heads, re.findall("<td>(.*?)</td>", row, re.DOTALL), strict=True)
    return cells


def shown(metric, estimate):
    """Return a score formatted as on all pages."""
    return "\n".join(filter(None, (format_number(estimate.value), format_interval(estimate.interval))))


@pytest.mark.parametrize("kind", ["multilabel", "choice", "rating"])
def test_every_metric_is_the_same_in_json_csv_and_print(project, session, run_id, kind):
    make_run = {"multilabel": lambda _: run_id, "choice": choice_run, "rating": rating_run}
    run_id = make_run[kind](project)
    session.run_name = lambda id: f"Run {id}"
    run = session.run(run_id)
    result = evaluation.evaluate(session, run)
    report = full_report(session, run)
    lines = {line["name"]: line for line in csv.DictReader(io.StringIO(to_table(result).removeprefix("\ufeff")))}

    def check(metric, estimate, value, interval, line, column):
        assert value == estimate.value
        assert line[column] == ("" if value is None else str(value))
        if metric.interval is not None:
            assert interval == ends(estimate.interval)
            low_high = [line[f"{column}_{end}"] for end in ("low", "high")]
            assert low_high == (["", ""] if interval is None else [str(end) for end in interval])

    def at(part, path):
        return at(part[path[0]], path[1:]) if path else part

    for metric in metrics.metrics(kind):
        estimate, path = result.scores[metric.key], metric.path
        interval = at(report["intervals"], path) if metric.interval is not None else None
        check(metric, estimate, at(report, path), interval, lines[metric.average or "all"], path[-1])
        assert printed(session, run_id, "All scores", metric.name)["value"] == escape(shown(metric, estimate))
    for name, label in result.scores.labels.items():
        row = printed(session, run_id, f"Per {'dimension' if kind == 'rating' else 'label'}", name)
        for metric in metrics.metrics(kind, per_label=True):
            estimate = label[metric.key]
            value = (report["labels"][name] | report.get("measures", {}).get(name, {}))[metric.key]
            interval = report["intervals"]["labels"][name][metric.key] if metric.interval is not None else None
            check(metric, estimate, value, interval, lines[name], metric.key)
            assert row[escape(metric.name)] == escape(shown(metric, estimate))


def test_printed_report_is_readable_in_office_programs(session, run_id):
    """LibreOffice 7.4 shows black cells for rgb(42 53 80 / 0.45), and puts the words of a figure in one line."""
    session.run_name = lambda id: f"Run {id}"
    page = html_report.html_report(session, session.run(run_id))
    colours = dict(re.findall(r'background: ([^"]+)">([^<]+)<', page))
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours)
    assert colours["#ffffff"] == "0"
    assert "(100%)" in colours["#9fa4b0"]  # 45% of (42, 53, 80) over white
    assert "Documents <b>" in page


def test_documented_metric_is_in_every_report(session, run_id, monkeypatch):
    monkeypatch.setattr(metrics, "METRICS", (*documented.specificity(), *metrics.METRICS))
    session.run_name = lambda id: f"Run {id}"
    report, table = report_of(session, run_id), to_table(evaluation.evaluate(session, session.run(run_id)))
    # Alpha: 1 of 2 absent documents is right; Beta: 2 of 2
    assert {name: values["specificity"] for name, values in report["measures"].items()} == {"Alpha": 0.5, "Beta": 1.0}
    assert report["intervals"]["labels"]["Beta"]["specificity"] == ends(wilson(2, 2))
    assert [report[average]["specificity"] for average in ("macro", "micro", "weighted")] == [0.75] * 3
    low, high = report["intervals"]["macro"]["specificity"]
    assert low < 0.75 < high
    assert report["strict"]["macro"]["specificity"] < 0.75
    assert "specificity_low" in table.splitlines()[0]
    assert printed(session, run_id, "Per label", "Beta")["Specificity"].startswith("1.000")
    assert printed(session, run_id, "All scores", "Macro specificity")["value"].startswith("0.750")


@pytest.mark.parametrize("seed", range(4))
def test_scores_agree_with_counts_in_python(tmp_path, seed):
    # The random projects have roles without lists, unresolved values, failed debates and disagreeing raters.
    with Project(tmp_path / "random.duckdb") as project:
        run_id, codebook = fill_randomly(project, seed)
        ids = project.store.runs.document_ids(run_id)
        records = project.store.document_records.load(run_id, ids)
        session = sample_world.session_on(project)
        run = session.run(run_id)
        names = {label.id: label.name for label in run.settings.codebook.labels}
        for reference, annotator in product(("gold", "reviewed"), ("verdict", "extractor", "critic")):
            report = evaluation.evaluate(session, run, reference, annotator)
            n, excluded, exact, cells = count_cells(records, codebook.items, annotator, reference)
            assert (report.n, report.excluded) == (n, excluded)
            assert report.scores["subset_accuracy"].value == (exact / n if n else None)
            counted = {name: count for name, count in report.scores.counts.items() if count != Counts()}
            assert counted == {
                names[item]: Counts(
                    cells[item, True, True],
                    cells[item, False, True],
                    cells[item, True, False],
                    cells[item, False, False],
                )
                for item in {item for item, _, _ in cells}
            }


def test_flip_table(session, run_id):
    flip_table = debate_effect(session, session.run(run_id)).flip_table
    assert flip_table is not None
    # Correct labels of 8: extractor 4 (d0 A, d1 A B, d3 A), critic 5 (corrects d0 B and d2 B, introduces an error on
    # d1 A), judge 6 (corrects d3 B).
    assert flip_table.roles == ("extractor", "critic", "judge")
    assert [share.value for share in flip_table.shares] == [4 / 8, 5 / 8, 6 / 8]
    assert [(step.total.corrected, step.total.regressed) for step in flip_table.steps] == [(2, 1), (1, 0)]
    assert (flip_table.whole.total.corrected, flip_table.whole.total.regressed, flip_table.whole.total.net) == (3, 1, 2)
    assert flip_table.errors_by == {"extractor": 1, "critic": 1, "judge": 0}


def test_summary_emphasises_the_main_finding(session, run_id):
    parts = summary(debate_effect(session, session.run(run_id)))
    assert "".join(text for text, _ in parts).startswith(
        "The debate corrected 3 labels and introduced 1 error: 2 more correct than"
    )
    assert [text for text, strong in parts if strong] == ["2 more correct than the extractor alone"]
    assert "Each label gained cost $" in "".join(text for text, _ in parts)


@pytest.mark.parametrize(
    ("label", "cell", "expected"),
    [
        ("a", "tp", [("d0", None)]),
        ("a", "fn", [("d1", "critic")]),
        ("a", "fp", [("d2", "extractor")]),
        ("a", "tn", [("d3", None)]),
        ("b", "tp", [("d1", None), ("d2", None)]),
        ("b", "fp", []),
    ],
)
def test_cases_behind_a_cell(session, run_id, label, cell, expected):
    result = evaluation.cell_documents(session, session.run(run_id), label, cell)
    assert [(row.document_id, row.error_by) for row in result] == expected


def test_known_label_is_the_review_or_gold_where_there_is_none(session, run_id):
    run = session.run(run_id)
    gold, before = evaluation.evaluate(session, run), evaluation.evaluate(session, run, "reviewed+gold")
    assert (before.scores, before.strict) == (gold.scores, gold.strict)
    decide(session, run_id, {"d0": {"a": False, "b": True}}, actions.Attribution("ann"))
    after = evaluation.evaluate(session, run, "reviewed+gold")
    assert after.n == gold.n
    assert after.scores.counts == {"Alpha": Counts(0, 2, 1, 1), "Beta": Counts(2, 0, 1, 1)}
    assert after.basis.design == "documents", "gold and reviews together are not a sample"
    assert after.basis.warning == ""
    assert "reviewed+gold" not in available_references(session, run_id)


def test_reviews_beside_gold_bias_scores_until_every_document_has_a_label(project):
    gold = {"x": {"gold": both("ab")}, "y": {}, "z": {}}
    session, run = sample_world.annotated(project, sample_world.CODEBOOK, gold, dict.fromkeys(gold, both("ab")))
    decide(session, run.run_id, {"y": both("ab")}, actions.Attribution("ann"))
    described = evaluation.evaluate(session, run, "reviewed+gold").describe_basis()
    assert described.endswith("1 document without gold; the review queue prefers errors, so scores may be too low")
    decide(session, run.run_id, {"z": both("a")}, actions.Attribution("ann"))
    assert evaluation.evaluate(session, run, "reviewed+gold").basis.warning == ""


def test_reviewed_labels_are_a_separate_reference(session, run_id):
    assert available_references(session, run_id) == {"gold": 7, "reviewed": 0}
    actions.edit(session, run_id, ["d5"], "a", False, actions.Attribution("ann"))
    assert available_references(session, run_id)["reviewed"] == 0  # an unsubmitted draft does not count
    actions.submit(session, run_id, ["d5"], actions.Attribution("ann"))
    assert available_references(session, run_id) == {"gold": 7, "reviewed": 1}
    # The reviewer changed Alpha to absent and confirmed Beta; the verdict had both.
    result = evaluation.evaluate(session, session.run(run_id), "reviewed")
    assert result.scores.counts == {"Alpha": Counts(fp=1), "Beta": Counts(tp=1)}
    assert result.coverage.left_out["no_reference"] == 7
    report = report_of(session, run_id, "reviewed")
    assert report["labels"]["Alpha"]["f1"] is None  # no positives
    assert report["macro"]["f1"] == 1.0  # only Beta has a score
    actions.undo(session, actions.Attribution("ann"))
    assert available_references(session, run_id)["reviewed"] == 0


def test_scores_without_verdicts_are_none(project):
    session, run = sample_world.annotated(project, sample_world.CODEBOOK, {"x": {"gold": {"a": True}}}, {})
    report = report_of(session, run.run_id)
    assert (report["n"], report["excluded"]) == (0, 1)
    assert {"precision": None, "recall": None, "f1": None}.items() <= report["macro"].items()
    debate = debate_effect(session, run)
    assert debate.flip_table is None
    assert summary(debate) == ()
    assert report["subset_accuracy"] is None


def test_single_annotator_has_no_flip_table(project):
    gold, verdicts = {"x": {"gold": both("a")}}, {"x": both("ab")}
    session, run = sample_world.annotated(project, sample_world.CODEBOOK, gold, verdicts)
    assert debate_effect(session, run).flip_table is None
    assert evaluation.evaluate(session, run).scores.counts == {"Alpha": Counts(tp=1), "Beta": Counts(fp=1)}


def test_gold_of_several_raters_is_their_majority(project):
    raters = {"x": both("ab"), "y": both("a"), "z": {"a": False}}
    session, run = sample_world.annotated(project, sample_world.CODEBOOK, {"x": raters}, {"x": both("ab")})
    # Alpha has a majority of two to one; Beta is a tie and has no reference.
    report = evaluation.evaluate(session, run)
    assert "gold is the majority of x, y and z" in report.describe_basis()
    result = report.scores
    assert result.counts == {"Alpha": Counts(tp=1), "Beta": Counts()}
    assert (result["accuracy"].value, result["subset_accuracy"].value) == (1.0, 1.0)


def choice_run(project):
    """Store a choice run on three Sport documents (one corrected, one regressed) and one on Politics (unchanged)."""
    codebook = Codebook(kind="choice", labels=(Label(name="Sport", id="s"), Label(name="Politics", id="p")))
    labels = {"v": ("s", "p", "s"), "x": ("s", "s", "s"), "y": ("s", "s", "p"), "z": ("p", "p", "p")}
    project.store.documents.add(
        Document(id, {"text": "t"}, gold={"gold": {"label": gold}}) for id, (gold, _, _) in labels.items()
    )
    run = project.store.runs.create(make_settings(codebook), list(labels))

    def debate(id, extractor, judge):
        lists = {"extractor": {"label": extractor}, "critic": None, "judge": {"label": judge}}
        return store_debate(project, run.run_id, id, lists, {"label": judge})

    store_debates(debate(id, extractor, judge) for id, (_, extractor, judge) in labels.items())
    return run.run_id


def test_steps_that_undo_each_other_are_reported(project):
    # On y the critic introduces an error and the judge returns to the answer of the extractor.
    codebook = Codebook(labels=(Label(name="Alpha", id="a"), Label(name="Beta", id="b")))
    project.store.documents.add([Document("y", {"text": "t"}, gold={"gold": both("a")})])
    run = project.store.runs.create(make_settings(codebook), ["y"])
    lists = {role: both(labels) for role, labels in (("extractor", "a"), ("critic", "ab"), ("judge", "a"))}
    asyncio.run(store_debate(project, run.run_id, "y", lists, both("a")))
    text = "".join(part for part, _ in summary(debate_effect(sample_world.session_on(project), run)))
    assert text.startswith(
        "The debate changed no label from wrong to correct or back: exactly as many correct as the extractor alone."
    )
    assert text.endswith("A later step reversed what one step changed.")


def test_choice_flips_are_counted_by_true_label(project):
    session = sample_world.session_on(project)
    flip_table = debate_effect(session, session.run(choice_run(project))).flip_table
    assert flip_table is not None
    assert (flip_table.documents, flip_table.cells) == (4, 4)
    assert [share.value for share in flip_table.shares] == [0.75, 0.75]
    changed = {name: (tally.corrected, tally.regressed, tally.n) for name, tally in flip_table.whole.labels.items()}
    assert changed == {"Sport": (1, 1, 3), "Politics": (0, 0, 1)}
    assert flip_table.label_errors_by == {
        "Sport": {"extractor": 0, "judge": 1},
        "Politics": {"extractor": 0, "judge": 0},
    }


def test_scores_of_a_choice(project):
    codebook = Codebook(kind="choice", labels=(Label(name="Sport", id="s"), Label(name="Politics", id="p")))
    gold = {id: {"gold": {"label": label}} for id, label in {"x": "s", "y": "s", "z": "p"}.items()}
    verdicts = {id: {"label": label} for id, label in {"x": "s", "y": "p", "z": None}.items()}
    session, run = sample_world.annotated(project, codebook, gold, verdicts)
    report = report_of(session, run.run_id)
    assert (report["n"], report["excluded"], report["accuracy"]) == (2, 1, 0.5)
    assert report["confusion"] == {"Sport": {"Sport": 1, "Politics": 1}, "Politics": {"Sport": 0, "Politics": 0}}
    assert report["labels"]["Politics"]["f1"] is None


STORY = "a b c d"


def rating_run(project):
    """Store a rating run on four documents, with one rating a point too high and a dimension without gold."""
    codebook = Codebook(kind="rating", labels=(Label(name="Clarity", id="c"), Label(name="Overall", id="o")))
    project.store.documents.add(
        Document(f"r{n}", {"text": STORY[: 2 * n - 1]}, gold={"gold": {"c": n}}) for n in range(1, 5)
    )
    settings = RunSettings(protocol="single", codebook=codebook, role_models={"annotator": ROLE_MODEL}, templates={})
    run = project.store.runs.create(settings, [f"r{n}" for n in range(1, 5)])

    async def debates():
        for n in range(1, 5):
            values = {"c": n + 1 if n == 4 else n, "o": 3}
            await store_debate(project, run.run_id, f"r{n}", {"annotator": {"c": n}}, values)

    asyncio.run(debates())
    return run.run_id


def test_scores_of_a_rating(project):
    label = report_of(sample_world.session_on(project), rating_run(project))["labels"]["Clarity"]
    assert (label["n"], label["mae"], label["bias"], label["exact"]) == (4, 0.25, 0.25, 0.75)


def test_overlap_with_another_field_survives_replaced_documents(project):
    run_id = rating_run(project)
    kept = [
        Document(f"r{n}", {"text": STORY[: 2 * n - 1], "story": STORY}, gold={"gold": {"c": n}}) for n in range(2, 5)
    ]
    project.store.documents.replace_all(kept)
    result = report_of(sample_world.session_on(project), run_id)["overlap"]["story"]["labels"]["Clarity"]
    assert result["n"] == 3
    assert result["spearman"] == pytest.approx(1.0)


def test_confusion_matrix_has_the_points_of_the_dimensions_own_scale(project):
    labels = (Label(name="Clarity", id="c", scale=Scale(min=0, max=2)), Label(name="Overall", id="o"))
    codebook = Codebook(kind="rating", labels=labels)
    gold, verdicts = {"d": {"gold": {"c": 0, "o": 5}}}, {"d": {"c": 2, "o": 4}}
    session, run = sample_world.annotated(project, codebook, gold, verdicts)
    assert evaluation.rating_confusion(session, run, "c") == ((0, 0, 1), (0, 0, 0), (0, 0, 0))
    matrix = evaluation.rating_confusion(session, run, "o")
    assert (len(matrix), matrix[4][3]) == (5, 1)


def test_confusion_matrix_of_ratings_counts_the_scored_documents_and_rounds_halves_up(project):
    codebook = Codebook(kind="rating", labels=(Label(name="Clarity", id="c"), Label(name="Overall", id="o")))
    gold = {"ann": {"c": 2, "o": 4}, "ben": {"c": 3, "o": 5}}
    verdicts = {"d": {"c": 2.5, "o": 1}, "e": {"c": 1, "o": None}}
    session, run = sample_world.annotated(project, codebook, dict.fromkeys(verdicts, gold), verdicts)
    assert evaluation.evaluate(session, run).scores.labels["Clarity"].n == 1
    points = {item: np.argwhere(evaluation.rating_confusion(session, run, item)).tolist() for item in codebook.items}
    assert points == {"c": [[2, 2]], "o": [[4, 0]]}, "2.5 is 3, 4.5 is 5"


def test_ratings_are_scored_against_the_mean_of_several_raters(project):
    # The mean of the raters is the reference; the report also has each rater, their median and their agreement.
    codebook = Codebook(kind="rating", labels=(Label(name="Clarity", id="c"),))
    by_document = {"d0": (1, 2, 3), "d1": (5, 5, 2), "d2": (3, 4)}
    gold = {
        id: {rater: {"c": value} for rater, value in zip(("ann", "bob", "cy"), values, strict=False)}
        for id, values in by_document.items()
    }
    session, run = sample_world.annotated(project, codebook, gold, {"d0": {"c": 2}, "d1": {"c": 4}, "d2": {"c": 3}})
    report = report_of(session, run.run_id)
    # The means are 2, 4 and 3.5: an error of half a point on one of three documents.
    assert (report["n"], report["labels"]["Clarity"]["mae"]) == (3, pytest.approx(0.5 / 3))
    # The medians are 2, 5 and 3.5.
    assert report["median"]["labels"]["Clarity"]["mae"] == pytest.approx(0.5)
    assert {rater: scores["n"] for rater, scores in report["raters"].items()} == {"ann": 3, "bob": 3, "cy": 2}
    assert report["raters"]["ann"]["labels"]["Clarity"]["mae"] == pytest.approx((1 + 1 + 0) / 3)
    assert report["raters"]["ann"]["intervals"]["labels"]["Clarity"]["mae"] is None, "three documents are too few"
    assert -1 <= report["agreement"]["Clarity"] < 1
    assert available_references(session, run.run_id)["gold"] == 3, "differing ratings are averaged and not a tie"


def test_tied_raters_of_a_choice_give_no_reference(project):
    labels = (Label(name="Sport", id="s"), Label(name="Politics", id="p"))
    codebook = Codebook(kind="choice", labels=labels)
    gold = {"ann": {"label": "s"}, "bob": {"label": "p"}}
    session, run = sample_world.annotated(project, codebook, {"d0": gold}, {"d0": {"label": "s"}})
    report = report_of(session, run.run_id)
    assert (report["n"], report["accuracy"]) == (0, None), "a tie has no reference"
    assert {rater: scores["accuracy"] for rater, scores in report["raters"].items()} == {"ann": 1.0, "bob": 0.0}
    assert list(report["agreement"]) == ["label"]
    counted = evaluation.evaluate(session, run).describe_coverage()
    assert counted == "n = 0 documents; not counted: 1 without gold or with a tie"


def test_means_in_the_table_of_scores_differ_from_labels_in_name(project):
    codebook = Codebook(labels=(Label(name="all", id="a"), Label(name="macro", id="m")))
    values = {"a": True, "m": False}
    session, run = sample_world.annotated(project, codebook, {"d": {"gold": values}}, {"d": values})
    table = to_table(evaluation.evaluate(session, run)).removeprefix("\ufeff")
    names = [line["name"] for line in csv.DictReader(io.StringIO(table))]
    assert names[:2] == ["all", "macro"]
    assert {"all_2", "macro_2"} < {*names}
    assert len({*names}) == len(names)


def test_table_of_scores_has_a_row_per_label_and_average(session, run_id):
    lines = to_table(evaluation.evaluate(session, session.run(run_id))).removeprefix("\ufeff").splitlines()
    assert lines[0].startswith("name,n,tp,fp,fn,tn,accuracy,precision,recall,f1,")
    assert {"mcc", "kappa", "ac1", "alpha", "kl", "accuracy_low"} <= set(lines[0].split(","))
    assert [",".join(line.split(",")[:10]) for line in lines[1:]] == [
        "Alpha,4,1,1,1,1,0.5,0.5,0.5,0.5",
        "Beta,4,2,0,0,2,1.0,1.0,1.0,1.0",
        "macro,4,,,,,,0.75,0.75,0.75",
        "micro,4,,,,,,0.75,0.75,0.75",
        "weighted,4,,,,,,0.75,0.75,0.75",
        "all,4,,,,,0.75,,,",
    ]


def test_authors_are_a_reference_in_addition_to_gold(project):
    # On x the author disagrees with two readers; y was labelled by its author only.
    reader = {"a": False, "b": False}
    gold = {"x": {"author": both("a"), "ann": reader, "ben": reader}, "y": {"author": both("ab")}}
    session, run = sample_world.annotated(project, sample_world.CODEBOOK, gold, dict.fromkeys(gold, both("a")))
    references = available_references(session, run.run_id)
    assert references == {"gold": 2, "gold@ann": 1, "gold@author": 2, "gold@ben": 1, "reviewed": 0, "latent": 1}
    titles = [reference_names(name).title for name in ("gold@author", "author", "gold@ann")]
    assert titles == ["Authors", "Authors", "Rater ann"]
    result = report_of(session, run.run_id, "author")
    assert result["labels"] == report_of(session, run.run_id, "gold@author")["labels"]
    assert (result["n"], result["labels"]["Alpha"]["tp"], result["labels"]["Beta"]["fn"]) == (2, 2, 1)
    # The majority of the three raters has Alpha absent on x.
    assert report_of(session, run.run_id)["labels"]["Alpha"]["fp"] == 1


def test_authors_are_listed_if_only_they_labelled(project):
    session, run = sample_world.annotated(project, sample_world.CODEBOOK, {"x": {"author": both("a")}}, {})
    assert available_references(session, run.run_id) == {"gold": 1, "gold@author": 1, "reviewed": 0}


def test_author_reference_without_author_labels_is_an_error(session, run_id):
    with pytest.raises(UsageError, match="The authors did not label") as caught:
        report_of(session, run_id, "author")
    assert caught.value.remedy == "Raters of the gold labels: gold."


def test_printed_report_names_what_its_counts_of_weighted_documents_are(session, run_id, monkeypatch):
    run, note = session.run(run_id), "Counts are of reviewed documents."
    assert note not in html_report.html_report(session, run)
    weighted = replace(debate_effect(session, run), flip_table=weighted_flip_table())
    monkeypatch.setattr(html_report.debate_effect, "debate_effect", lambda *_: weighted)
    assert note in html_report.html_report(session, run)


def test_label_table_has_counts_and_scores_of_verdicts(session, run_id):
    headings, rows = label_table(session, session.run(run_id))
    assert headings == ["label", "given", "Precision", "Recall", "F1"]
    assert [row[0] for row in rows] == ["Alpha", "Beta"]
    assert rows[1][2:4] == ["1.000 (0.342 to 1.000)", "1.000 (0.342 to 1.000)"]


def test_html_report_has_the_share_of_each_label_in_the_verdicts(project, session, run_id):
    session.run_name = lambda id: f"Run {id}"
    for run in (run_id, choice_run(project)):
        values = annotation_arrays.verdict_arrays(session, session.run(run)).verdicts
        codebook = session.run(run).settings.codebook
        for number, name in enumerate(codebook.names):
            column = [value for value in values[:, 0 if codebook.kind == "choice" else number] if value == value]
            given = column.count(number if codebook.kind == "choice" else 1)
            assert column
            assert printed(session, run, "Labels in the verdicts", name) == {
                "label": name,
                "given": str(given),
                "documents with a verdict on it": str(len(column)),
                "share": f"{100 * given / len(column):.1f}%",
            }
    rated = html_report.html_report(session, session.run(rating_run(project)))
    assert "Labels in the verdicts" not in rated


def test_html_report_has_confusion_matrices_and_facts_on_the_data(session, run_id):
    session.run_name = lambda id: f"Run {id}"
    page = html_report.html_report(session, session.run(run_id))
    matrices = page.split("<h2>Confusion matrices</h2>")[1].split("<h2>")[0]
    # On d0 to d3, Alpha is right on one of two documents in both rows and Beta on all.
    assert re.findall(r'<td( class="same")? style="[^"]*">(.*?)</td>', matrices) == [
        (' class="same"', "1 (50%)"),
        ("", "1 (50%)"),
        ("", "1 (50%)"),
        (' class="same"', "1 (50%)"),
        (' class="same"', "2 (100%)"),
        ("", "0"),
        ("", "0"),
        (' class="same"', "2 (100%)"),
    ]
    assert printed(session, run_id, "Data", "Documents with gold")[""] == "7"
    assert printed(session, run_id, "Data", "Verdicts, unresolved, failed")[""] == "5, 1, 1"
    assert printed(session, run_id, "Data", "Alpha present in gold")[""] == "2 of 4"
    assert "43% excluded" in page
    assert "<div>Full cost per verdict <b>" in page


def test_html_report_of_reviewed_documents_shows_exact_scores_without_intervals(project, session, run_id):
    session.run_name = lambda id: id
    decide(session, run_id, {id: both("a") for id in ("d0", "d1", "d2", "d3", "d5")})
    set_gold(project.store, {"d0": {"gold": {"a": True}}, "d5": {"gold": {"a label of later": True}}})
    run = session.run(run_id)
    assert evaluation.evaluate(session, run, "reviewed").basis.complete
    key_numbers = html_report.html_report(session, run, "reviewed").split('<div class="key">')[1].split("<h2>")[0]
    assert "Exact match <b>0.200</b></div>" in key_numbers
    assert not re.search(r"(0\.\d+) to \1", key_numbers)
    assert printed(session, run_id, "Data", "Documents with gold")[""] == "1", "the codebook allows no gold of d5"


def test_cells_labelled_by_only_one_side_are_not_scored(project):
    codebook = Codebook(labels=(Label(name="x"), Label(name="y")))
    x, y = codebook.items
    raters = {
        "d0": {"ann": {x: True, y: False}, "bob": {x: True}},  # ann and bob agree on the one common label
        "d1": {"ann": {x: True, y: True}, "bob": {x: True, y: False}},
        "d2": {"ann": {x: True}, "bob": {y: True}},  # no common label
    }
    session, run = sample_world.annotated(project, codebook, raters, {})
    report = evaluation.evaluate(session, run, "gold@ann", "gold@bob")
    result = report.scores
    assert (result.n, result.excluded) == (2, 1)
    assert result.counts == {"x": Counts(tp=2), "y": Counts(fn=1)}
    assert report.coverage.left_out == {"incomplete": 1}, "the debate of the run is no reason"
    assert report.strict == {}, "what a person left to others is not wrong"


def test_efficient_front_excludes_dominated_runs() -> None:
    points = [(1.0, 0.5), (2.0, 0.8), (2.0, 0.7), (3.0, 0.8), (None, 0.9), (0.5, None), (1.0, 0.5)]
    assert efficient(points) == (True, True, False, False, False, False, True)
    assert efficient([]) == ()


def test_strict_score_of_a_sample_weights_documents_by_their_chance_to_be_drawn(project):
    label = Label(name="Alpha", id="a")
    documents = [f"d{n:03}" for n in range(200)]
    project.store.documents.add(Document(id, {"text": id}) for id in documents)
    run = project.store.runs.create(make_settings(Codebook(labels=(label,))), documents)

    def debate(number, id):
        """Return a debate whose roles differ on the wrong verdicts, every tenth, and one without a verdict."""
        verdict = None if number == 151 else number % 10 != 0 and number % 2 == 0
        return store_debate(
            project, run.run_id, id, {"extractor": {"a": number % 2 == 0}, "judge": None}, {"a": verdict}
        )

    store_debates(debate(number, id) for number, id in enumerate(documents))
    session, ada = sample_world.session_on(project), actions.Attribution("ada")
    finished = session.run(run.run_id).model_copy(
        update={"created_at": 1_763_000_000.0}
    )  # makes the draws reproducible
    listed = queue.list_queue(session, finished, queue.QueueFilter(sort="queue", size=80), actor="ada")
    assert "d151" in [line.document_id for line in listed.lines]
    for truth in (True, False):
        chosen = [id for id in listed.sampling if (documents.index(id) % 2 == 0) == truth]
        actions.edit(session, run.run_id, chosen, "a", truth, ada)
    actions.submit(session, run.run_id, list(listed.sampling), ada, sampling=listed.sampling)
    report = evaluation.evaluate(session, finished, "reviewed")
    assert (report.n, report.excluded) == (79, 1)
    # The true recall is .8, but the queue prefers errors: shares of the counts are not scores.
    counts, recall = report.scores.counts["Alpha"], report.scores.labels["Alpha"]["recall"]
    assert counts.tp / counts.positives < recall.value < 0.8 < recall.interval.high
    assert report.row_shares == "shares of the row of reviewed documents, unweighted"
    strict = report.strict["accuracy"]
    assert strict.value == pytest.approx(report.scores["accuracy"].value, abs=0.03)
    assert 1 - 21 / 200 in strict.interval
