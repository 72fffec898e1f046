"""Numbers counted by hand from ``sample_world``."""

from __future__ import annotations

import asyncio
import csv
import io
import re
from html import escape
from itertools import product

import pytest

from core.codebook import Codebook, Label, Scale
from core.documents import Document
from core.errors import UsageError
from core.formatting import format_interval
from core.runs import RunSettings
from core.services.evaluation import report as html_report
from core.services.evaluation import scores
from core.services.evaluation.arrays import get_run
from core.services.evaluation.debate_effect import debate_effect, summary
from core.services.evaluation.reference import available_references, reference_names
from core.services.evaluation.report import full_report, label_table, to_table
from core.services.review import review
from core.stats import metrics
from core.stats.counts import Counts
from core.stats.intervals import ends, wilson
from core.store.project import Project
from tests.core.services import sample_world
from tests.core.services.sample_world import report as report_of
from tests.core.store.helpers import ROLE_MODEL, hold_debate, make_settings, random_world


def test_report_is_the_headless_contract(session, run_id):
    # n: d0 to d3. Left out with gold: d4 unresolved, d6 failed, d7 not debated.
    # Alpha: d0 TP, d1 FN, d2 FP, d3 TN. Beta: d1 and d2 TP, d0 and d3 TN.
    report = report_of(session, run_id)
    assert {name: report[name] for name in ("run_id", "protocol", "roles", "n", "excluded", "macro", "micro")} == {
        "run_id": run_id,
        "protocol": "ecj",
        "roles": {"extractor": "builtin/lexical", "critic": "builtin/lexical", "judge": "builtin/lexical"},
        "n": 4,
        "excluded": 3,
        "macro": {"precision": 0.75, "recall": 0.75, "f1": 0.75},
        "micro": {"precision": 0.75, "recall": 0.75, "f1": 0.75},
    }
    alpha = {"n": 4, "tp": 1, "fp": 1, "fn": 1, "tn": 1, "accuracy": 0.5, "precision": 0.5, "recall": 0.5, "f1": 0.5}
    beta = {"n": 4, "tp": 2, "fp": 0, "fn": 0, "tn": 2, "accuracy": 1.0, "precision": 1.0, "recall": 1.0, "f1": 1.0}
    assert report["labels"] == {"Alpha": alpha, "Beta": beta}


def test_report_has_further_measures(session, run_id):
    report = report_of(session, run_id)
    # Right in both labels: d0 and d3 of four; 2 of 8 cells wrong.
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


def test_a_role_without_a_list_is_not_counted_as_absent(session, run_id):
    report = report_of(session, run_id, annotator="critic")
    assert (report["n"], report["excluded"]) == (3, 4)


def test_unknown_run_and_reference(session, run_id):
    with pytest.raises(UsageError, match="Run 'r9' does not exist"):
        report_of(session, "r9")
    with pytest.raises(UsageError, match="no reference 'silver'"):
        report_of(session, run_id, "silver")


def test_evaluation_report(session, run_id):
    found = scores.evaluate(session, get_run(session, run_id))
    assert found.n == 4
    assert found.scores.counts == {"Alpha": Counts(1, 1, 1, 1), "Beta": Counts(2, 0, 0, 2)}
    assert [found.scores[key].value for key in ("macro_f1", "micro_f1", "accuracy")] == [0.75, 0.75, 0.75]
    assert found.scores.cells == 8
    exact = found.scores["subset_accuracy"]  # d0 and d3
    assert (exact.value, exact.interval) == (0.5, wilson(2, 4))
    assert found.coverage.left_out == {"unresolved": 1, "failed": 1, "waiting": 1, "no_reference": 1}
    assert found.excluded == 3
    assert list(scores.role_scores(session, found.run)) == ["extractor", "critic"]


def test_coverage_and_strict_scores(session, run_id):
    report = report_of(session, run_id)
    assert report["coverage"] == 4 / 7
    # Six of eight cells are right; the three excluded documents add six wrong ones.
    assert report["strict"]["accuracy"] == pytest.approx(6 / 14)
    assert set(report["strict"]) == {"macro", "micro", "accuracy"}
    assert report["strict"]["macro"]["f1"] < report["macro"]["f1"]


def printed(session, run_id, heading, name):
    """Return the cells of a row of the printable report by the head of their column."""
    page = html_report.html_report(session, get_run(session, run_id))
    table = page.split(f"<h2>{heading}</h2>")[1].split("<table")[1].split("</table>")[0]
    heads = re.findall("<th>(.*?)</th>", table)
    rows = re.findall("<tr>(.*?)</tr>", table, re.DOTALL)
    row = next(row for row in rows if f"<td>{escape(name)}</td>" in row)
    return dict(zip(heads, re.findall("<td>(.*?)</td>", row, re.DOTALL), strict=True))


def shown(metric, estimate):
    """Return a score as every page shows it."""
    interval = estimate.interval
    return metric.format(estimate.value) + (f"\n{format_interval(interval.low, interval.high)}" if interval else "")


@pytest.mark.parametrize("kind", ["multilabel", "choice", "rating"])
def test_every_metric_is_the_same_in_json_csv_and_print(project, session, run_id, kind):
    made = {"multilabel": lambda _: run_id, "choice": chosen_run, "rating": rating_run}
    run_id = made[kind](project)
    session.run_name = lambda id: f"Run {id}"
    run = get_run(session, run_id)
    found = scores.evaluate(session, run)
    report = full_report(session, run)
    lines = {line["name"]: line for line in csv.DictReader(io.StringIO(to_table(found).removeprefix("\ufeff")))}

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
        estimate, path = found.scores[metric.key], metric.path
        interval = at(report["intervals"], path) if metric.interval is not None else None
        check(metric, estimate, at(report, path), interval, lines[metric.average or "all"], path[-1])
        assert printed(session, run_id, "All scores", metric.name)["value"] == escape(shown(metric, estimate))
    for name, label in found.scores.labels.items():
        row = printed(session, run_id, f"Per {'dimension' if kind == 'rating' else 'label'}", name)
        for metric in metrics.metrics(kind, per_label=True):
            estimate = label[metric.key]
            value = (report["labels"][name] | report.get("measures", {}).get(name, {}))[metric.key]
            interval = report["intervals"]["labels"][name][metric.key] if metric.interval is not None else None
            check(metric, estimate, value, interval, lines[name], metric.key)
            assert row[escape(metric.name)] == escape(shown(metric, estimate))


def test_new_metric_is_one_entry(session, run_id, monkeypatch):
    specificity = metrics.Metric(
        "specificity",
        "Specificity",
        ("multilabel",),
        lambda s: s.tn / (s.tn + s.fp),
        per_label=True,
        interval="share",
        cases=lambda s: s.tn + s.fp,
    )
    monkeypatch.setattr(metrics, "METRICS", (*metrics.METRICS, specificity))
    session.run_name = lambda id: f"Run {id}"
    run = get_run(session, run_id)
    assert report_of(session, run_id)["measures"]["Beta"]["specificity"] == 1.0
    assert report_of(session, run_id)["intervals"]["labels"]["Beta"]["specificity"] == ends(wilson(2, 2))
    assert "specificity_low" in to_table(scores.evaluate(session, run)).splitlines()[0]
    assert printed(session, run_id, "Per label", "Beta")["Specificity"].startswith("1.000")


@pytest.mark.parametrize("seed", range(4))
def test_scores_agree_with_counts_of_the_store(tmp_path, seed):
    """On random projects with silent roles, unread values, failed debates and disagreeing raters."""
    with Project.open(tmp_path / "random.duckdb") as project:
        run_id, _ = random_world(project, seed)
        session = sample_world.session_on(project)
        run = get_run(session, run_id)
        names = {label.id: label.name for label in run.settings.codebook.labels}
        for reference, annotator in product(("gold", "reviewed"), ("verdict", "extractor", "critic")):
            found = scores.evaluate(session, run, reference, annotator, intervals=False)
            own = project.store.evaluations.counts(run_id, annotator, reference=reference)
            assert (found.n, found.excluded) == (own.n, own.excluded)
            assert found.scores["subset_accuracy"].value == (own.exact / own.n if own.n else None)
            counted = {name: count for name, count in found.scores.counts.items() if count.n}
            assert counted == {
                names[item]: Counts(count.tp, count.fp, count.fn, count.tn) for item, count in own.multilabel().items()
            }


def test_flip_table(session, run_id):
    flip_table = debate_effect(session, get_run(session, run_id)).flip_table
    assert flip_table is not None
    # Right of 8: extractor 4 (d0 A, d1 A B, d3 A), critic 5 (mends d0 B and d2 B, breaks d1 A), judge 6 (mends d3 B).
    assert flip_table.roles == ("extractor", "critic", "judge")
    assert flip_table.shares == (4 / 8, 5 / 8, 6 / 8)
    assert [(step.total.corrected, step.total.regressed) for step in flip_table.steps] == [(2, 1), (1, 0)]
    assert (flip_table.whole.total.corrected, flip_table.whole.total.regressed, flip_table.whole.total.net) == (3, 1, 2)
    assert flip_table.errors_by == {"extractor": 1, "critic": 1, "judge": 0}


def test_summary_emphasises_the_main_finding(session, run_id):
    told = summary(debate_effect(session, get_run(session, run_id)))
    assert "".join(text for text, _ in told).startswith(
        "The debate corrected 3 labels and introduced 1 error: 2 more right than"
    )
    assert [text for text, strong in told if strong] == ["2 more right than the extractor alone"]
    assert "Each label gained cost $" in "".join(text for text, _ in told)


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
    found = scores.cell_documents(session, get_run(session, run_id), label, cell)
    assert [(one.document_id, one.error_by) for one in found] == expected


def test_reviewed_labels_are_a_separate_reference(session, run_id):
    assert available_references(session, run_id) == {"gold": 7, "reviewed": 0}
    review.edit(session, run_id, "d5", "a", False, actor="ann")
    assert available_references(session, run_id)["reviewed"] == 0  # a draft settles nothing
    review.submit(session, run_id, ["d5"], actor="ann")
    assert available_references(session, run_id) == {"gold": 7, "reviewed": 1, "latent": 5}
    # The person says: Alpha absent, Beta present (confirmed). The verdict said both.
    found = scores.evaluate(session, get_run(session, run_id), "reviewed")
    assert found.scores.counts == {"Alpha": Counts(fp=1), "Beta": Counts(tp=1)}
    assert found.coverage.count("no_reference") == 7
    report = report_of(session, run_id, "reviewed")
    assert report["labels"]["Alpha"]["f1"] is None  # no positives
    assert report["macro"]["f1"] == 1.0  # of Beta alone
    review.undo(session, actor="ann")
    assert available_references(session, run_id)["reviewed"] == 0


def test_scores_without_verdicts_are_none(project):
    sample_world.CODEBOOK.require_labels()
    project.store.documents.add([Document("x", {"text": "t"}, gold={"gold": {"a": True}})])
    settings = RunSettings(
        protocol="single", codebook=sample_world.CODEBOOK, role_models={"annotator": ROLE_MODEL}, templates={}
    )
    run = project.store.runs.create(settings, ["x"])
    session = sample_world.session_on(project)
    report = report_of(session, run.run_id)
    assert (report["n"], report["excluded"]) == (0, 1)
    assert report["macro"] == {"precision": None, "recall": None, "f1": None}
    debate = debate_effect(session, run)
    assert debate.flip_table is None
    assert summary(debate) == ()
    assert report["subset_accuracy"] is None


def test_single_annotator_has_no_flip_table(project):
    project.store.documents.add([Document("x", {"text": "t"}, gold={"gold": {"a": True, "b": False}})])
    settings = RunSettings(
        protocol="single", codebook=sample_world.CODEBOOK, role_models={"annotator": ROLE_MODEL}, templates={}
    )
    run = project.store.runs.create(settings, ["x"])
    said = {"a": True, "b": True}
    asyncio.run(hold_debate(project, run.run_id, "x", {"annotator": said}, said))
    session = sample_world.session_on(project)
    assert debate_effect(session, run).flip_table is None
    assert scores.evaluate(session, run).scores.counts == {"Alpha": Counts(tp=1), "Beta": Counts(fp=1)}


def test_gold_of_several_raters_is_their_majority(project):
    raters = {"x": {"a": True, "b": True}, "y": {"a": True, "b": False}, "z": {"a": False}}
    project.store.documents.add([Document("x", {"text": "t"}, gold=raters)])
    settings = RunSettings(
        protocol="single", codebook=sample_world.CODEBOOK, role_models={"annotator": ROLE_MODEL}, templates={}
    )
    run = project.store.runs.create(settings, ["x"])
    said = {"a": True, "b": True}
    asyncio.run(hold_debate(project, run.run_id, "x", {"annotator": said}, said))
    session = sample_world.session_on(project)
    # Alpha two to one, Beta a tie: no truth.
    found = scores.evaluate(session, run).scores
    assert found.counts == {"Alpha": Counts(tp=1), "Beta": Counts()}
    assert (found["accuracy"].value, found["subset_accuracy"].value) == (1.0, 1.0)


def chosen_run(project):
    """A choice: of three sports documents a debate mends one and breaks one, of one on politics nothing."""
    codebook = Codebook(kind="choice", labels=(Label(name="Sport", id="s"), Label(name="Politics", id="p")))
    said = {"v": ("s", "p", "s"), "x": ("s", "s", "s"), "y": ("s", "s", "p"), "z": ("p", "p", "p")}
    project.store.documents.add(
        Document(id, {"text": "t"}, gold={"gold": {"label": gold}}) for id, (gold, _, _) in said.items()
    )
    run = project.store.runs.create(make_settings(codebook), list(said))

    async def debates():
        for id, (_, extractor, judge) in said.items():
            lists = {"extractor": {"label": extractor}, "critic": None, "judge": {"label": judge}}
            await hold_debate(project, run.run_id, id, lists, {"label": judge})

    asyncio.run(debates())
    return run.run_id


def test_steps_that_undo_each_other_are_reported(project):
    """On y the critic errs and the judge goes back to what the extractor said."""
    codebook = Codebook(labels=(Label(name="Alpha", id="a"), Label(name="Beta", id="b")))
    project.store.documents.add([Document("y", {"text": "t"}, gold={"gold": sample_world.both("a")})])
    run = project.store.runs.create(make_settings(codebook), ["y"])
    lists = {role: sample_world.both(said) for role, said in (("extractor", "a"), ("critic", "ab"), ("judge", "a"))}
    asyncio.run(hold_debate(project, run.run_id, "y", lists, sample_world.both("a")))
    said = "".join(text for text, _ in summary(debate_effect(sample_world.session_on(project), run)))
    assert said.startswith(
        "The debate changed no label from wrong to right or back: exactly as many right as the extractor alone."
    )
    assert said.endswith("A later step reversed what one step changed.")


def test_choice_flips_are_counted_by_true_label(project):
    session = sample_world.session_on(project)
    flip_table = debate_effect(session, get_run(session, chosen_run(project))).flip_table
    assert flip_table is not None
    assert (flip_table.documents, flip_table.cells) == (4, 4)
    assert flip_table.shares == (0.75, 0.75)
    changed = {name: (tally.corrected, tally.regressed, tally.n) for name, tally in flip_table.whole.labels.items()}
    assert changed == {"Sport": (1, 1, 3), "Politics": (0, 0, 1)}
    assert flip_table.label_errors_by == {
        "Sport": {"extractor": 0, "judge": 1},
        "Politics": {"extractor": 0, "judge": 0},
    }


def test_scores_of_a_choice(project):
    codebook = Codebook(kind="choice", labels=(Label(name="Sport", id="s"), Label(name="Politics", id="p")))
    gold = {"x": "s", "y": "s", "z": "p"}
    project.store.documents.add(
        Document(id, {"text": "t"}, gold={"gold": {"label": label}}) for id, label in gold.items()
    )
    settings = RunSettings(protocol="single", codebook=codebook, role_models={"annotator": ROLE_MODEL}, templates={})
    run = project.store.runs.create(settings, list(gold))

    async def debates():
        await hold_debate(project, run.run_id, "x", {"annotator": {"label": "s"}}, {"label": "s"})
        await hold_debate(project, run.run_id, "y", {"annotator": {"label": "p"}}, {"label": "p"})
        await hold_debate(project, run.run_id, "z", {"annotator": None}, {"label": None})

    asyncio.run(debates())
    report = report_of(sample_world.session_on(project), run.run_id)
    assert (report["n"], report["excluded"], report["accuracy"]) == (2, 1, 0.5)
    assert report["confusion"] == {"Sport": {"Sport": 1, "Politics": 1}, "Politics": {"Sport": 0, "Politics": 0}}
    assert report["labels"]["Politics"]["f1"] is None


def rating_run(project):
    """Four ratings, one of them a point too high."""
    codebook = Codebook(kind="rating", labels=(Label(name="Clarity", id="c"),))
    project.store.documents.add(Document(f"r{n}", {"text": "t"}, gold={"gold": {"c": n}}) for n in range(1, 5))
    settings = RunSettings(protocol="single", codebook=codebook, role_models={"annotator": ROLE_MODEL}, templates={})
    run = project.store.runs.create(settings, [f"r{n}" for n in range(1, 5)])

    async def debates():
        for n in range(1, 5):
            await hold_debate(project, run.run_id, f"r{n}", {"annotator": {"c": n}}, {"c": n + 1 if n == 4 else n})

    asyncio.run(debates())
    return run.run_id


def test_scores_of_a_rating(project):
    label = report_of(sample_world.session_on(project), rating_run(project))["labels"]["Clarity"]
    assert (label["n"], label["mae"], label["bias"], label["exact"]) == (4, 0.25, 0.25, 0.75)


def test_confusion_matrix_has_the_points_of_the_dimensions_own_scale(project):
    labels = (Label(name="Clarity", id="c", scale=Scale(min=0, max=2)), Label(name="Overall", id="o"))
    codebook = Codebook(kind="rating", labels=labels)
    project.store.documents.add([Document("d", {"text": "t"}, gold={"gold": {"c": 0, "o": 5}})])
    settings = RunSettings(protocol="single", codebook=codebook, role_models={"annotator": ROLE_MODEL}, templates={})
    run = project.store.runs.create(settings, ["d"])
    values = {"c": 2, "o": 4}
    asyncio.run(hold_debate(project, run.run_id, "d", {"annotator": values}, values))
    session, done = sample_world.session_on(project), project.store.runs.get(run.run_id)
    assert scores.rating_confusion(session, done, "c") == ((0, 0, 1), (0, 0, 0), (0, 0, 0))
    matrix = scores.rating_confusion(session, done, "o")
    assert (len(matrix), matrix[4][3]) == (5, 1)


def test_several_raters_of_a_dimension(project):
    """Their mean is the truth; each of them, their median and their agreement stand beside it."""
    codebook = Codebook(kind="rating", labels=(Label(name="Clarity", id="c"),))
    gold = [{"ann": 1, "bob": 2, "cy": 3}, {"ann": 5, "bob": 5, "cy": 2}, {"ann": 3, "bob": 4}]
    project.store.documents.add(
        Document(f"d{n}", {"text": "t"}, gold={rater: {"c": value} for rater, value in said.items()})
        for n, said in enumerate(gold)
    )
    settings = RunSettings(protocol="single", codebook=codebook, role_models={"annotator": ROLE_MODEL}, templates={})
    run = project.store.runs.create(settings, ["d0", "d1", "d2"])

    async def debates():
        for n, rated in enumerate((2, 4, 3)):
            await hold_debate(project, run.run_id, f"d{n}", {"annotator": {"c": rated}}, {"c": rated})

    asyncio.run(debates())
    report = report_of(sample_world.session_on(project), run.run_id)
    # The means are 2, 4 and 3.5: an error of half a point on one of three.
    assert (report["n"], report["labels"]["Clarity"]["mae"]) == (3, pytest.approx(0.5 / 3))
    # The medians are 2, 5 and 3.5.
    assert report["median"]["labels"]["Clarity"]["mae"] == pytest.approx(0.5)
    assert {rater: scores["n"] for rater, scores in report["raters"].items()} == {"ann": 3, "bob": 3, "cy": 2}
    assert report["raters"]["ann"]["labels"]["Clarity"]["mae"] == pytest.approx((1 + 1 + 0) / 3)
    assert -1 <= report["agreement"]["Clarity"] < 1
    assert available_references(sample_world.session_on(project), run.run_id)["gold"] == 3, (
        "raters who differ are no tie"
    )


def test_several_raters_of_a_choice(project):
    labels = (Label(name="Sport", id="s"), Label(name="Politics", id="p"))
    codebook = Codebook(kind="choice", labels=labels)
    said = {"ann": {"label": "s"}, "bob": {"label": "p"}}
    project.store.documents.add([Document("d0", {"text": "t"}, gold=said)])
    settings = RunSettings(protocol="single", codebook=codebook, role_models={"annotator": ROLE_MODEL}, templates={})
    run = project.store.runs.create(settings, ["d0"])
    asyncio.run(hold_debate(project, run.run_id, "d0", {"annotator": {"label": "s"}}, {"label": "s"}))
    report = report_of(sample_world.session_on(project), run.run_id)
    assert (report["n"], report["accuracy"]) == (0, None), "a tie is no truth"
    assert {rater: scores["accuracy"] for rater, scores in report["raters"].items()} == {"ann": 1.0, "bob": 0.0}
    assert list(report["agreement"]) == ["label"]


def test_table_of_scores(session, run_id):
    lines = to_table(scores.evaluate(session, get_run(session, run_id))).removeprefix("\ufeff").splitlines()
    assert lines[0].startswith("name,n,tp,fp,fn,tn,accuracy,precision,recall,f1,mcc,kappa,ac1,alpha,kl,accuracy_low")
    assert [",".join(line.split(",")[:10]) for line in lines[1:]] == [
        "Alpha,4,1,1,1,1,0.5,0.5,0.5,0.5",
        "Beta,4,2,0,0,2,1.0,1.0,1.0,1.0",
        "macro,4,,,,,,0.75,0.75,0.75",
        "micro,4,,,,,,0.75,0.75,0.75",
        "weighted,4,,,,,,0.75,0.75,0.75",
        "all,4,,,,,0.75,,,",
    ]


def test_authors_are_a_reference_beside_the_gold_of_others(project):
    """On x the author stands alone against two readers; y was labelled by its author only."""
    reader = {"a": False, "b": False}
    gold = {"author": sample_world.both("a"), "ann": reader, "ben": reader}
    project.store.documents.add(
        [
            Document("x", {"text": "t"}, gold=gold),
            Document("y", {"text": "u"}, gold={"author": sample_world.both("ab")}),
        ]
    )
    settings = RunSettings(
        protocol="single", codebook=sample_world.CODEBOOK, role_models={"annotator": ROLE_MODEL}, templates={}
    )
    run = project.store.runs.create(settings, ["x", "y"])
    said = sample_world.both("a")
    for id in ("x", "y"):
        asyncio.run(hold_debate(project, run.run_id, id, {"annotator": said}, said))
    session = sample_world.session_on(project)
    known = available_references(session, run.run_id)
    assert known == {"gold": 2, "gold@ann": 1, "gold@author": 2, "gold@ben": 1, "reviewed": 0, "latent": 2}
    words = [reference_names(name).title for name in ("gold@author", "author", "gold@ann")]
    assert words == ["Authors", "Authors", "Rater ann"]
    found = report_of(session, run.run_id, "author")
    assert found["labels"] == report_of(session, run.run_id, "gold@author")["labels"]
    assert (found["n"], found["labels"]["Alpha"]["tp"], found["labels"]["Beta"]["fn"]) == (2, 2, 1)
    # The majority of three has x without Alpha.
    assert report_of(session, run.run_id)["labels"]["Alpha"]["fp"] == 1


def test_authors_are_listed_when_they_alone_labelled(project):
    project.store.documents.add([Document("x", {"text": "t"}, gold={"author": sample_world.both("a")})])
    settings = RunSettings(
        protocol="single", codebook=sample_world.CODEBOOK, role_models={"annotator": ROLE_MODEL}, templates={}
    )
    run = project.store.runs.create(settings, ["x"])
    assert available_references(sample_world.session_on(project), run.run_id) == {
        "gold": 1,
        "gold@author": 1,
        "reviewed": 0,
    }


def test_author_reference_without_author_labels_is_an_error(session, run_id):
    with pytest.raises(UsageError, match="The authors did not label") as caught:
        report_of(session, run_id, "author")
    assert caught.value.remedy == "Raters of the gold labels: gold."


def test_the_table_of_labels_counts_verdicts_and_scores_them(session, run_id):
    headings, rows = label_table(session, get_run(session, run_id))
    assert headings == ["label", "given", "Precision", "Recall", "F1"]
    assert [row[0] for row in rows] == ["Alpha", "Beta"]
    assert rows[1][2:] == ["1.000", "1.000", "1.000"]


def test_html_report_has_confusion_matrices_and_facts_on_the_data(session, run_id):
    session.run_name = lambda id: f"Run {id}"
    page = html_report.html_report(session, get_run(session, run_id))
    matrices = page.split("<h2>Confusion matrices</h2>")[1].split("<h2>")[0]
    # On d0 to d3: Alpha is right once of two in both rows, Beta always.
    assert re.findall(r'<td( class="same")? style="[^"]*">(.*?)</td>', matrices) == [
        (' class="same"', "1 (50%)"), ("", "1 (50%)"), ("", "1 (50%)"), (' class="same"', "1 (50%)"),
        (' class="same"', "2 (100%)"), ("", "0"), ("", "0"), (' class="same"', "2 (100%)"),
    ]  # fmt: skip
    assert printed(session, run_id, "Data", "Documents with gold")[""] == "7"
    assert printed(session, run_id, "Data", "Verdicts, unresolved, failed")[""] == "5, 1, 1"
    assert printed(session, run_id, "Data", "Alpha present in gold")[""] == "2 of 4"
    assert "43% left out" in page
