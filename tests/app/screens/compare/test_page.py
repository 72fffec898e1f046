"""Tests of the Compare page."""

from __future__ import annotations

import re

from core.codebook import Label
from core.runs import RoleModel, RunDetails
from core.services.evaluation import latent_truth, run_comparison
from tests.app.screens.scored_runs import CHOICE, GOLD, RATING, debates, texts, two_runs
from tests.app.studio import component_data
from tests.app.studio import draw_screen as draw
from tests.core.services import sample_world
from tests.core.services.sample_world import both
from tests.core.store.helpers import ROLES, make_settings, store_debate, store_debates


def test_compare_needs_two_runs(session, project):
    assert "Nothing to compare yet" in texts(draw(session, "compare"))
    debates(project, CHOICE, {"d0": {"label": "s"}}, {"d0": ({"label": "s"}, {"label": "s"})})
    project.store.runs.create(make_settings(CHOICE), ["d0"])
    assert "1 of 2 runs has a verdict." in texts(draw(session, "compare"))


def test_compare_offers_other_runs_if_the_viewed_one_has_its_own_labels(session, project):
    runs = two_runs(project)
    labels = (*sample_world.CODEBOOK.labels, Label(name="Gamma", id="c"))
    renewed = sample_world.CODEBOOK.model_copy(update={"labels": labels})
    gold = {id: both(present) for id, present in GOLD.items()}
    alone = debates(project, renewed, gold, {id: (values, values) for id, values in gold.items()})
    for values in ({"run_id": alone}, {"compare_runs": [alone]}):
        app = draw(session, "compare", **values)
        assert f"No other run has the same labels as “{project.store.runs.get(alone).title}”." in texts(app)
        assert sorted(app.multiselect(key="compare-runs").value) == sorted(runs)
        assert "No other run has the same labels" not in texts(app.run())


def test_a_margin_tests_equivalence(session, project):
    app = draw(session, "compare", compare_runs=two_runs(project))
    assert "a margin of" not in texts(app)
    app.number_input(key="compare-margin").set_value(50.0).run()
    assert "a margin of 50.0 points" in texts(app)


def test_compare_names_runs_as_in_the_picker(session, project):
    runs = [*two_runs(project), *two_runs(project)][:3]
    names = ["Alpha", "Beta", "ECJ, twice"]
    project.store.runs.describe({run: RunDetails(name=name) for run, name in zip(runs, names, strict=True)})
    app = draw(session, "compare", compare_runs=runs)
    app.number_input(key="compare-margin").set_value(50.0).run()
    shown = texts(app)
    assert "Beta: " in shown
    assert "“ECJ, twice”: " in shown, "in each sentence of the page"
    assert not [run for run in runs if run in shown]


def test_compare_names_labels_without_f1(session, project):
    gold = dict.fromkeys(GOLD, both("a"))
    answers = [{id: (both(letters), both(letters)) for id in gold} for letters in "ab"]
    runs = [debates(project, sample_world.CODEBOOK, gold, answer) for answer in answers]
    shown = texts(draw(session, "compare", compare_runs=runs))
    assert "Not shown, as F1 is undefined in at least one run: Beta." in shown


def test_compare_calls_ratings_right_that_are_less_than_a_point_off(session, project):
    gold = {f"d{n}": {"c": n + 1} for n in range(4)}
    halves = {id: ({"c": values["c"] + 0.5},) * 2 for id, values in gold.items()}
    wrong = {id: ({"c": values["c"] + 1},) * 2 for id, values in gold.items()}
    runs = [debates(project, RATING, gold, answers) for answers in (halves, wrong)]
    shown = texts(draw(session, "compare", compare_runs=runs))
    assert re.search(r"Mean exact match</td><td[^>]*>0\.000", shown)
    assert "Exact matches of one run only" not in shown, "no rating of either run is an exact match"
    assert re.search(r"Right on all dimensions in one run only<.*?0 gained, 4 lost", shown, re.S)


def test_compare_lists_corrected_and_regressed_documents(session, project):
    first, second = two_runs(project)
    app = draw(session, "compare", compare_runs=(first, second))
    shown = texts(app)
    assert f"No significant difference between Run {second} and Run {first} on 4 shared documents" in shown
    for head in ("Scores", "Quality and cost", "Documents", "Significance"):
        assert head in shown
    (listed,) = component_data(app, "document_list")
    assert [(row["corrected"], row["regressed"]) for row in listed["rows"]] == [([], ["Beta"]), (["Alpha"], [])]
    assert [row["id"] for row in listed["rows"]] == ["d3", "d1"]


def test_quality_in_compare_names_the_shared_documents(session, project):
    first, _ = two_runs(project)
    answers = {id: (both("ab"), both(present)) for id, present in GOLD.items() if id != "d3"}
    part = debates(project, sample_world.CODEBOOK, {id: {} for id in answers}, answers)
    shown = texts(draw(session, "compare", compare_runs=(first, part)))
    assert "Full cost per verdict" in shown
    # The same documents in Quality and cost, in the differences per label, and in the list of documents.
    assert shown.count("n = 3 documents; excluded: 1 in one run only") == 3
    assert "n = 4 documents" not in shown


def test_compare_counts_the_documents_that_it_scores_while_a_run_is_active(session, project, monkeypatch):
    first, _ = two_runs(project)
    answers = {id: (both("ab"), both(present)) for id, present in GOLD.items()}
    last = answers.pop("d3")
    part = debates(project, sample_world.CODEBOOK, GOLD, answers)
    compare = run_comparison.compare_annotators

    def compare_while_a_debate_ends(*arguments):
        lists = dict.fromkeys(("extractor", "critic", "judge"), last[0])
        store_debates([store_debate(project, part, "d3", lists, last[1])])
        return compare(*arguments)

    monkeypatch.setattr(run_comparison, "compare_annotators", compare_while_a_debate_ends)
    shown = texts(draw(session, "compare", compare_runs=(first, part)))
    assert shown.count("n = 3 documents; excluded: 1 not debated yet") == 3
    assert "n = 4 documents" not in shown


def test_names_in_the_warning_of_a_latent_truth_are_not_read_as_markdown(session, project, monkeypatch):
    monkeypatch.setattr(latent_truth, "LATENT", "gold")
    monkeypatch.setattr(latent_truth, "warning", lambda *_: "The truth is estimated from **ann**.")
    app = draw(session, "compare", compare_runs=two_runs(project))
    assert "from **ann**" in "".join(element.proto.body for element in app.get("html"))


def test_the_drawer_of_compare_shows_both_runs(session, project):
    first, second = two_runs(project)
    app = draw(session, "compare", compare_runs=(first, second))
    (drawer,) = component_data(app, "document_drawer")
    assert [run["id"] for run in drawer["runs"]] == [first, second]


def test_differences_per_label_are_in_points_in_the_chart_and_beside_it(session, project, monkeypatch):
    from app.widgets import charts

    drawn = []
    monkeypatch.setattr(charts, "forest", lambda rows, **options: drawn.append((rows, options["unit"])) or "")
    draw(session, "compare", compare_runs=two_runs(project))
    ((rows, unit),) = drawn
    assert unit == "difference in F1, points"
    assert [row["words"] for row in rows] == [f"{row['value']:+.1f}".replace("-", "−") for row in rows]
    assert any(abs(row["value"]) > 1 for row in rows)


def test_baseline_is_named_beside_runs_whose_names_do_not_say_it(session, project):
    gold = {id: both(present) for id, present in GOLD.items()}
    answers = {id: (both("ab"), values) for id, values in gold.items()}
    other = dict.fromkeys(ROLES, RoleModel(connection="openai", model="m"))
    runs = [debates(project, sample_world.CODEBOOK, gold, answers, role_models=other), *two_runs(project)]
    project.store.runs.describe({runs[1]: RunDetails(name="Final"), runs[2]: RunDetails(name="word-list baseline, 2")})
    shown = texts(draw(session, "compare", compare_runs=runs))
    assert ">Final: word-list baseline<" in shown
