"""Tests of the tabs of Evaluate, for each kind of codebook."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState

from app.screens.evaluate import confusion, debate_effect
from app.widgets.metric_tables import undefined_agreement
from core.codebook import Codebook, Label
from core.documents import Document
from core.formatting import format_number
from core.runs import RoleModel
from core.services.evaluation import debate_effect as debate_effects
from core.services.evaluation import report
from core.services.review import actions, queue
from core.stats.debate_rounds import rounds
from core.stats.metric_intervals import Design
from core.stats.scoring import score
from tests.app.screens.scored_runs import CHOICE, GOLD, RATING, debates, texts, two_runs
from tests.app.studio import component_data
from tests.app.studio import draw_screen as draw
from tests.core.services import sample_world
from tests.core.services.evaluation.rated_panel import FORWARDS, panel
from tests.core.services.sample_world import both
from tests.core.stats.samples import uniform_sample, weighted_flip_table
from tests.core.store.helpers import ROLES, make_settings


@pytest.mark.parametrize(
    ("view", "words"),
    [
        ("debate", ["Contribution by step", "Critic", "<th>Regressed</th>", "Upper bound"]),
        ("errors", ["Cue words", "By length", "By number of labels", "No error has a type yet"]),
        ("errors", ["bar: how much more typical of these errors", "number of words; line: 95% interval"]),
        ("stability", ["One iteration", "Calibration of the votes", "3 or more iterations"]),
        ("models", ["Model per role", "at least three people", "Drift"]),
    ],
)
def test_tabs_of_a_multilabel_run(session, project, view, words):
    two_runs(project)
    app = draw(session, "evaluate", evaluate_tab=view)
    shown = texts(app)
    for word in words:
        assert word in shown
    names = [control.label for control in app.segmented_control]
    assert "Analysis" in names
    assert all(name[0].isupper() for name in names)  # screen readers read them


def test_all_metrics_are_shown_without_a_download_of_formulas(session, project):
    codebook = Codebook(labels=(Label(name="=1+1", id="a"),))
    debates(project, codebook, {"d0": {"a": True}}, {"d0": ({"a": True}, {"a": True})})
    app = draw(session, "evaluate", evaluate_tab="scores")
    assert not app.dataframe
    assert "<td>=1+1</td><td>1</td>" in texts(app).partition("All metrics by label")[2]


def metric_strip(app):
    """Return the HTML of the metrics at the top of the page by name."""
    return dict(re.findall(r"<i>(.*?)</i>(.*?)(?=<i>|$)", texts(app).partition('class="moot-metrics"')[2]))


@pytest.mark.parametrize("view", ["scores", "debate", "errors", "stability", "models"])
@pytest.mark.parametrize("kind", ["choice", "rating"])
def test_tabs_of_choice_and_rating_runs(session, project, view, kind):
    if kind == "choice":
        gold = {"d0": {"label": "s"}, "d1": {"label": "p"}, "d2": {"label": "s"}}
        answers = {id: ({"label": "s"}, {"label": "s"}) for id in gold}
        debates(project, CHOICE, gold, answers)
    else:
        gold = {f"d{n}": {"c": n} for n in range(1, 5)}
        answers = {f"d{n}": ({"c": 3}, {"c": n}) for n in range(1, 5)}
        debates(project, RATING, gold, answers)
    shown = texts(draw(session, "evaluate", evaluate_tab=view))
    if view == "scores":
        assert "Confusion matrix" in shown


def test_mean_correlation_names_the_dimensions_that_it_leaves_out(session, project):
    codebook = Codebook(kind="rating", labels=(Label(name="Clarity", id="c"), Label(name="Depth", id="d")))
    gold = {f"d{n}": {"c": n, "d": n} for n in range(1, 5)}
    answers = {f"d{n}": ({"c": n, "d": 3}, {"c": n, "d": 3}) for n in range(1, 5)}
    debates(project, codebook, gold, answers)
    metrics = metric_strip(draw(session, "evaluate"))
    assert "over 1 of 2 dimensions; the other does not vary" in metrics["Mean Spearman"]
    assert "dimensions" not in metrics["Mean absolute error"]


def test_dimension_without_a_reference_is_named_as_such_and_not_selected(session, project):
    codebook = Codebook(kind="rating", labels=(Label(name="Depth", id="d"), Label(name="Clarity", id="c")))
    gold = {f"d{n}": {"c": n} for n in range(1, 5)}
    debates(project, codebook, gold, {f"d{n}": ({"c": n, "d": n}, {"c": n, "d": n}) for n in range(1, 5)})
    app = draw(session, "evaluate")
    assert "the other has no reference or does not vary" in metric_strip(app)["Mean Spearman"]
    assert app.get("button_group")[1].value == "c"


def test_correlation_without_any_varying_dimension_says_why_it_is_undefined(session, project):
    codebook = Codebook(kind="rating", labels=(Label(name="Clarity", id="c"),))
    gold = {f"d{n}": {"c": n} for n in range(1, 5)}
    debates(project, codebook, gold, {id: ({"c": 3}, {"c": 3}) for id in gold})
    metrics = metric_strip(draw(session, "evaluate"))
    assert "undefined: in each dimension, all verdicts" in metrics["Mean Spearman"]
    assert "undefined" not in metrics["Mean absolute error"]


def test_scores_explain_labels_without_precision_recall_or_f1(session, project):
    codebook = Codebook(labels=tuple(Label(name=name, id=name.lower()) for name in ("Food", "Pool", "Staff")))
    gold = {"d1": {"food": True, "pool": False, "staff": True}, "d2": {"food": False, "pool": False, "staff": False}}
    verdict = {"food": True, "pool": False, "staff": False}
    debates(project, codebook, gold, dict.fromkeys(gold, (verdict, verdict)))
    shown = texts(draw(session, "evaluate"))
    assert "Pool: never present in gold, so recall and F1 are undefined (–) and the macro means leave it out." in shown
    assert "Staff: never present in a verdict, so precision is 0 by convention." in shown
    assert "Pool: never present in a verdict, so precision is undefined (–)." in shown
    assert "Pool: undefined (–), because all verdicts and all of gold are the same." in shown


@pytest.mark.parametrize(("connection", "remedy"), [("builtin", "Add keywords on the Codebook"), ("openai", "Retry")])
def test_documents_without_a_verdict_have_a_remedy_that_suits_the_model(
    session, project, monkeypatch, connection, remedy
):
    gold = {f"d{n}": both("a") for n in range(4)}
    answers = {id: (both("a"), both("a")) for id in list(gold)[:2]} | {
        id: ({"a": None, "b": None}, {"a": None, "b": None}) for id in list(gold)[2:]
    }
    model = RoleModel(connection=connection, model="lexical")
    debates(project, sample_world.CODEBOOK, gold, answers, role_models=dict.fromkeys(ROLES, model))
    shown = texts(draw(session, "evaluate"))
    assert "Only 2 of 4 debated documents are scored" in shown
    assert f"may be harder. {remedy}" in shown


def test_labels_without_gold_are_not_called_absent(session, project):
    codebook = Codebook(labels=(Label(name="Food", id="food"), Label(name="Pool", id="pool")))
    gold = {"d1": {"food": True}, "d2": {"food": False}}
    debates(project, codebook, gold, dict.fromkeys(gold, ({"food": True, "pool": False},) * 2))
    shown = texts(draw(session, "evaluate"))
    assert "Pool: without gold, so the macro means leave it out." in shown
    assert "Pool: never present" not in shown


def test_agreement_that_few_sampled_documents_cannot_show_is_explained():
    reference, verdicts = np.full((60, 3), np.nan), np.zeros((60, 3))
    reference[:20, :2], reference[:3, 0], verdicts[1:4, 0] = 0, 1, 1
    design = Design(sample=uniform_sample([True] * 20, 60), order=np.arange(20))
    scores = score("multilabel", reference, verdicts, ["Food", "Pool", "Bar"], design=design)
    assert undefined_agreement(scores, "review") == [
        "Bar: undefined (–), without review.",
        "Pool: undefined (–), because all verdicts and all of review are the same.",
        "Food: not estimated (–), because fewer than 10 of the sampled documents have the label.",
    ]


def test_key_metrics_equal_those_of_the_report(session, project):
    run_id, _ = two_runs(project)
    report = sample_world.report(session, run_id)
    strip = metric_strip(draw(session, "evaluate", run_id=run_id))
    shown = {name: re.findall(r"<strong>(.*?)</strong>", figure)[0] for name, figure in strip.items()}
    assert shown["Macro F1"] == format_number(report["macro"]["f1"])
    assert shown["Micro F1"] == format_number(report["micro"]["f1"])
    assert shown["Label accuracy"] == format_number(report["accuracy"])
    assert shown["Exact match"] == format_number(report["subset_accuracy"])


def test_accuracy_of_one_label_counts_one_label(session, project):
    codebook = Codebook(labels=(Label(name="Sport", id="s"),))
    debates(project, codebook, {"d0": {"s": True}}, {"d0": ({"s": True}, {"s": True})})
    assert "1 label, " in metric_strip(draw(session, "evaluate"))["Label accuracy"]


def test_alternative_annotator_test_shows_shares_without_decimals_and_their_intervals(session, project):
    project.store.documents.add(
        Document(f"d{n}", {"text": "t"}, gold={rater: both("a" if n % 3 else "b") for rater in ("x", "y", "z")})
        for n in range(3)
    )
    gold = {f"d{n}": both("a") for n in range(3)}
    debates(project, sample_world.CODEBOOK, gold, {id: (both("a"), both("a")) for id in gold})
    shown = re.sub(r"<[^>]+>", " ", texts(draw(session, "evaluate", evaluate_tab="models")))
    assert shown.count("67%  (21% to 94%)") == 3  # Wilson's interval of 2 of 3


def test_small_p_values_of_the_alternative_annotator_test_are_not_zero(session, project):
    gold = {f"d{n}": both("a") for n in range(40)}
    rated = {"x": both("a"), "y": both("a"), "z": both("b")}
    project.store.documents.add(Document(id, {"text": "t"}, gold=rated) for id in gold)
    debates(project, sample_world.CODEBOOK, gold, {id: (both("a"), both("a")) for id in gold})
    shown = re.sub(r"<[^>]+>", " ", texts(draw(session, "evaluate", evaluate_tab="models")))
    assert "&lt; 0.001" in shown
    assert "0.000" not in shown


def test_error_rates_that_are_estimated_from_reviews_are_told_from_the_counts(session, project):
    documents = [f"d{n:02}" for n in range(40)]
    project.store.documents.add(Document(id, {"text": id}) for id in documents)
    answers = {id: (both("a"), both("b")) for id in documents}
    run = session.run(debates(project, sample_world.CODEBOOK, answers, answers))
    ada = actions.Attribution("ada")
    sampling = queue.list_queue(session, run, queue.QueueFilter(sort="queue", size=20), actor="ada").sampling
    actions.submit(session, run.run_id, list(sampling), ada, sampling=sampling)
    shown = texts(draw(session, "evaluate", evaluate_tab="errors", evaluate_reference="reviewed"))
    assert shown.count("estimated for 40 documents from 20 random draws") == 2
    assert shown.count("right: counts of reviewed documents, unweighted") == 2


def test_effect_of_the_debate_names_its_reference_and_the_units_of_its_interval(session, project):
    project.store.documents.add(
        Document(id, {"text": "t"}, gold={"gold": both(present)}, group=f"g{number % 2}")
        for number, (id, present) in enumerate(GOLD.items())
    )
    two_runs(project)
    basis = "n = 4 documents; intervals over 2 independent groups"
    heads = {
        "scores": "<h2>Effect of the debate</h2><span>8 labels against gold</span>",
        "debate": "<h2>Contribution by step</h2><span>8 labels against gold</span>",
    }
    for view, head in heads.items():
        (shown,) = (text for text in texts(draw(session, "evaluate", evaluate_tab=view)).split("\n") if head in text)
        assert basis in shown


def test_model_scores_count_the_documents_of_the_latest_run_only(session, project):
    two_runs(project)
    shown = texts(draw(session, "evaluate", evaluate_tab="models"))
    assert "n = 4 documents<" in shown
    assert "of 2 runs" not in shown


def shown_span(estimate, scale=1, digits=3):
    """Return an estimate of a report as the page shows it: "0.500 (0.250 to 0.750)"."""
    return [format_number(scale * value, digits) for value in (estimate["value"], *estimate["interval"])]


def test_debate_tab_shows_the_intervals_of_the_report(session, project):
    gold = {f"d{n}": both("ab"[n % 2]) for n in range(12)}
    claims = ["ab", "b", "a", "a", "ab", "", "a", "b", "a", "ab", "b", "a"]
    answers = {f"d{n}": (both(claim), both("ab"[n % 2] if n % 4 else claim)) for n, claim in enumerate(claims)}
    run = debates(project, sample_world.CODEBOOK, gold, answers)
    debate = json.loads(json.dumps(report.full_report(session, session.run(run))))["debate"]
    app = draw(session, "evaluate", evaluate_tab="debate")
    shown = re.sub(r"<[^>]+>", " ", texts(app))
    table, step = debate["flip_table"], debate["flip_table"]["steps"][0]
    for share in table["shares"]:
        value, low, high = shown_span(share, 100, 1)
        assert f"{value}%  ({low}% to {high}%)" in shown
    value, low, high = shown_span(step["gain"], 100, 1)
    assert f"+{value}  ({low} to {high})" in shown
    for name in ("at_first", "reached"):
        assert all(str(end)[:6] in shown for end in debate["upper_bound"][name]["interval"]), "data of the chart"


def test_bound_of_first_answers_is_their_own_and_not_a_gain_over_the_verdict(session, project):
    # The first answers are right on d0 to d5, the verdict on d0 to d3 and d6: with both, a fifth more would be right.
    gold = {f"d{n}": both("a") for n in range(10)}
    answers = {f"d{n}": (both("a" if n < 6 else "b"), both("a" if n in (0, 1, 2, 3, 6) else "b")) for n in range(10)}
    debates(project, sample_world.CODEBOOK, gold, answers)
    shown = texts(draw(session, "evaluate", evaluate_tab="debate"))
    assert "The best choice among the first answers would be correct on 10.0%" in shown


def test_first_round_has_no_counts_of_kept_and_changed_answers():
    steps = [("Round 1", {"a": [[1], [0]], "b": [[1], [0]]}), ("Round 2", {"a": [[1], [1]], "b": [[1], [0]]})]
    rows = debate_effect._agents(rounds([[1], [1]], steps, vote=lambda agents: agents["a"]), {"a": "Ada", "b": "Bo"})
    assert [[*row[:2], *row[3:]] for row in rows] == [
        ["Round 1", "Ada", "", "", ""],
        ["Round 1", "Bo", "", "", ""],
        ["Round 2", "Ada", "1", "1", "0"],
        ["Round 2", "Bo", "2", "0", "0"],
    ]


@pytest.mark.parametrize(("reference", "claimed"), [("gold", True), ("reviewed@ada", False)])
def test_groups_of_a_panel_claim_intervals_only_where_there_are_any(session, project, reference, claimed):
    ids = [f"d{n}" for n in range(1, 13)]  # fewer than 10 would give a correlation no interval
    project.store.documents.add(
        Document(id, {"text": "t"}, gold={"gold": {"c": 4 if id == "d5" else rating}})
        for id, rating in zip(ids, 2 * FORWARDS, strict=True)
    )
    run = panel(project, "full", FORWARDS, documents=ids)
    actions.submit(session, run, ids, actions.Attribution("ada"))
    actions.edit(session, run, ["d1"], "c", 2, actions.Attribution("bob"))  # two people, so each is a reference
    actions.submit(session, run, ["d1"], actions.Attribution("bob"))
    shown = texts(draw(session, "evaluate", evaluate_tab="debate", evaluate_reference=reference))
    assert "Hollow: before the debate. Filled: after it" in shown
    assert ("95% interval over documents or their groups" in shown) is claimed


@pytest.mark.parametrize(("claim", "shown"), [("ab", True), ("a", False)])
def test_cost_per_gain_is_left_out_if_no_step_gained_anything(session, project, claim, shown):
    gold = {f"d{n}": both("a") for n in range(3)}
    debates(project, sample_world.CODEBOOK, gold, {id: (both(claim), both("a")) for id in gold})
    assert ("Cost per label gained" in texts(draw(session, "evaluate", evaluate_tab="debate"))) is shown


@pytest.mark.parametrize(
    ("claim", "note"),
    [("ab", "only tokens per label gained are given"), ("a", "The debate as a whole gained no label")],
)
def test_note_on_unknown_prices_names_tokens_only_where_they_are_shown(session, project, monkeypatch, claim, note):
    known = debate_effects._price
    monkeypatch.setattr(debate_effects, "_price", lambda *args: replace(known(*args), cost_usd=None))
    gold = {f"d{n}": both("a") for n in range(3)}
    debates(project, sample_world.CODEBOOK, gold, {id: (both(claim), both("a")) for id in gold})
    shown = texts(draw(session, "evaluate", evaluate_tab="debate"))
    assert note in shown
    assert ("Tokens per label gained" in shown) is ("tokens" in note)


def test_note_on_weighted_gains_says_what_is_counted(session, project, monkeypatch):
    note = "Counts are of reviewed documents"
    gold = {f"d{n}": both("a") for n in range(3)}
    debates(project, sample_world.CODEBOOK, gold, {id: (both("ab"), both("a")) for id in gold})
    assert note not in texts(draw(session, "evaluate", evaluate_tab="debate"))
    effect = debate_effects.debate_effect(session, session.all_runs()[0])
    weighted = replace(effect, flip_table=weighted_flip_table())
    monkeypatch.setattr(debate_effect, "effect_of", lambda *_: weighted)
    assert note in texts(draw(session, "evaluate", evaluate_tab="debate"))


def test_ratings_are_shown_with_intervals_against_each_rater_and_the_median(session, project):
    rng = np.random.default_rng(3)
    ratings = rng.integers(1, 6, (30, 3))
    project.store.documents.add(
        Document(f"d{n}", {"text": "t"}, gold={name: {"c": int(x)} for name, x in zip("xyz", row, strict=True)})
        for n, row in enumerate(ratings)
    )
    answers = {f"d{n}": ({"c": int(row[0])}, {"c": int(np.median(row))}) for n, row in enumerate(ratings)}
    run = debates(project, RATING, {f"d{n}": {} for n in range(30)}, answers)
    result = json.loads(json.dumps(report.full_report(session, session.run(run))))
    shown = re.sub(r"<[^>]+>", " ", texts(draw(session, "evaluate")))
    for side in (*result["raters"].values(), result):
        column = {"value": side["labels"]["Clarity"]["spearman"]}
        column["interval"] = side["intervals"]["labels"]["Clarity"]["spearman"]
        value, low, high = shown_span(column)
        assert f"{value}  ({low} to {high})" in shown
    assert result["median"]["labels"]["Clarity"]["spearman"] == 1.0
    assert result["median"]["intervals"]["labels"]["Clarity"]["spearman"] is None, "no error shows how large one may be"
    value, low, high = shown_span(
        {"value": result["agreement"]["Clarity"], "interval": result["agreement_intervals"]["Clarity"]}
    )
    assert f"{value}  ({low} to {high})" in shown


def test_correlations_of_few_groups_state_why_they_have_no_interval(session, project):
    ratings = {f"d{n}": {"c": n % 5 + 1} for n in range(12)}
    project.store.documents.add(
        Document(id, {"text": "t"}, gold={"gold": rating}, group=f"chat {n % 3}")
        for n, (id, rating) in enumerate(ratings.items())
    )
    debates(project, RATING, {id: {} for id in ratings}, {id: (rating, rating) for id, rating in ratings.items()})
    shown = texts(draw(session, "evaluate"))
    assert "intervals over 3 independent groups" in shown
    assert "Correlations of fewer than 10 documents or groups have no interval." in shown


def test_run_of_a_classifier_without_other_documents_says_what_it_lacks(session, project, monkeypatch):
    sample_world.build(project)
    everything = session.store.documents.ids()
    monkeypatch.setattr(type(session.store.classifiers), "training_documents", lambda _, run: everything)
    shown = texts(draw(session, "evaluate"))
    assert "The classifier of this run was trained on the documents with gold. Review others" in shown


def test_run_whose_documents_were_all_replaced_says_so(session, project):
    sample_world.build(project)
    project.store.documents.replace_all([Document("new", {"text": "new"})])
    shown = texts(draw(session, "evaluate"))
    assert "The documents of this run were replaced. Start a run on the new ones." in shown


def test_run_without_verdicts_says_what_it_lacks(session, project):
    project.store.documents.add([Document("d0", {"text": "t"}, gold={"gold": both("a")})])
    project.store.runs.create(make_settings(sample_world.CODEBOOK), ["d0"])
    for view in ("scores", "debate", "errors", "stability", "models"):
        shown = texts(draw(session, "evaluate", evaluate_tab=view))
        assert "No verdict to score" in shown, view
        assert "Scores follow as debates end" in shown, view  # the run has not begun


def test_two_runs_of_one_model_offer_no_estimated_truth(session, project):
    two_runs(project)
    for run in session.all_runs():
        asyncio.run(project.sink.state(run.run_id, "done"))
    last = session.all_runs()[-1].run_id
    app = draw(session, "evaluate", page="evaluate", run_id=last)
    assert "Estimated truth" not in texts(app)
    actions.submit(session, last, ["d0", "d1"], actions.Attribution("ann"))
    for page in ("evaluate", "manuscript"):
        app = draw(session, page, page=page, run_id=last, evaluate_reference="latent")
        assert "The truth is estimated from r0002, rater gold and reviewer ann" in texts(app)


def test_downloads_of_charts_are_named_after_project_run_page_and_title(session, project, monkeypatch):
    from app.widgets import charts

    names = []
    monkeypatch.setattr(charts, "download", lambda label, content, name, *_, **__: names.append(name))
    _, run_id = two_runs(project)
    draw(session, "evaluate", page="evaluate", run_id=run_id)
    charts = (f"p-{run_id}-evaluate-{title}" for title in ("scores_per_label", "effect_of_the_debate"))
    assert set(names) == {f"{chart}.{end}" for chart in charts for end in ("svg", "csv")}
    draw(session, "compare", page="compare", run_id=run_id)
    assert "p-compare-quality_and_cost.csv" in names, "a chart of several runs is not named after one of them"


def chart_selection(app, key, select, **fields):
    """Return what the browser sends after a click on a point of a chart."""
    (chart,) = (element.proto for element in app.get("vega_lite_chart") if element.proto.id.endswith(key))
    return WidgetState(id=chart.id, string_value=json.dumps({"selection": {select: [fields]}}))


def send(app, *sent):
    """Run the page with these states of widgets, besides those that the page shows."""
    states = app._tree.get_widget_states()
    states.widgets.extend(sent)
    app._run(states)
    assert not app.exception, [error.value for error in app.exception]


def choice_run(project, *names):
    """Create a run of labels with these names, on documents that are all wrong, with two documents per cell."""
    labels = tuple(Label(name=name, id=name[0].lower()) for name in names)
    pairs = [(label.id, other.id) for label in labels for other in labels if label != other] * 2
    gold = {f"d{n}": {"label": true} for n, (true, _) in enumerate(pairs)}
    answers = {f"d{n}": both_steps({"label": predicted}) for n, (_, predicted) in enumerate(pairs)}
    return debates(project, Codebook(kind="choice", labels=labels), gold, answers)


def both_steps(values):
    return values, values


def list_title(app):
    (data,) = component_data(app, "document_list")
    return data["title"]


def test_clicked_cell_of_a_run_is_not_selected_in_a_run_with_other_labels(session, project):
    first, second = choice_run(project, "Sport", "Politics"), choice_run(project, "Sports", "Politics")
    app = draw(session, "evaluate", run_id=first)
    clicked = chart_selection(app, f"evaluate-matrix-{first}", "cell", row="Sport", column="Politics")
    send(app, clicked)
    assert list_title(app) == "Sport as Politics"
    app.selectbox(key="evaluate-run").set_value(second)
    send(app, clicked)
    assert list_title(app) == "Sports as Politics"
    send(app, chart_selection(app, f"evaluate-matrix-{second}", "cell", row="Sport", column="Politics"))
    assert list_title(app) == "Sports as Politics"


def test_another_cell_shows_its_first_documents(session, project, monkeypatch):
    monkeypatch.setattr(confusion, "DOCUMENTS_PER_PAGE", 1)
    run_id = choice_run(project, "Sport", "Politics")
    app = draw(session, "evaluate", run_id=run_id, evaluate_cell=("s", "p"))
    app.pagination[0].set_value(2).run()
    app.session_state["evaluate_cell"] = ("p", "s")
    app.run()
    assert app.pagination[0].value == 1


def test_last_page_of_a_cell_is_shown_when_it_has_fewer_documents_now(session, project, monkeypatch):
    monkeypatch.setattr(confusion, "DOCUMENTS_PER_PAGE", 1)
    app = draw(session, "evaluate", run_id=choice_run(project, "Sport", "Politics"), evaluate_cell=("s", "p"))
    app.pagination[0].set_value(2).run()
    monkeypatch.setattr(confusion, "DOCUMENTS_PER_PAGE", 50)
    app.run()
    assert not app.pagination
    assert list_title(app) == "Sport as Politics"
    assert len(component_data(app, "document_list")[0]["rows"]) == 2


def test_documents_are_filtered_by_cue_words_of_the_shown_label_only(session, project, monkeypatch):
    from app.widgets import charts

    names = []
    monkeypatch.setattr(charts, "download", lambda label, content, name, *_, **__: names.append(name))
    words = {"d0": "wet rain", "d1": "wet rain", "d2": "dry sand", "d3": "dry sand"}
    project.store.documents.add(
        Document(id, {"text": text}, gold={"gold": both("a" if id < "d2" else "b")}) for id, text in words.items()
    )
    run_id = debates(project, sample_world.CODEBOOK, words, {id: (both(""), both("")) for id in words})
    app = draw(session, "evaluate", run_id=run_id, evaluate_tab="errors", **{"errors-label": "a"})
    assert f"p-{run_id}-evaluate-cue_words_{run_id}_alpha_false_negative.csv" in names
    chart = f"errors-words-{run_id}-a-false_negative"
    clicked = chart_selection(app, chart, "name", name="rain")
    send(app, clicked)
    assert "containing “rain”" in texts(app)
    app.button_group(key="errors-label").set_value("b")
    send(app, clicked)
    assert list_title(app) == "Beta"
    assert "containing" not in texts(app)
    send(app, chart_selection(app, chart.replace("-a-", "-b-"), "name", name="rain"))
    assert "containing" not in texts(app)
