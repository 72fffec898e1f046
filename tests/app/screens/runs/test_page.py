"""Tests of the Runs page: its table, actions on selected runs, and undo."""

from __future__ import annotations

import json
from unittest.mock import Mock

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.scriptrunner import StopException
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from app import context
from app.screens.runs import table
from app.widgets.run_picker import selected_run
from core.codebook import Codebook, Label
from core.documents import Document
from core.errors import StorageFull
from core.runs import RoleModel, RunDetails
from core.services.evaluation import annotation_arrays, model_drift
from core.services.evaluation.evaluation import cost_of_run
from core.services.evaluation.run_comparison import LeaderboardRow, leaderboard
from core.services.runs import control, planning
from core.services.runs.configuration import PROTOCOL
from core.services.runs.control import change_details
from tests.app.studio import NAVIGATION, button, can_other_tabs_act, html, open_page, studio
from tests.core.services.sessions import fill, pause_with_open_batch, queue_runs
from tests.core.store.helpers import ROLES, make_settings, set_gold, store_debate, store_debates
from tests.servers.running import batch_server, configure


@pytest.fixture
def session(session):
    fill(session)
    return session


def finished(session, **plan):
    (run,) = queue_runs(session, planning.Plan(**plan))
    session.start_or_resume(run.run_id).result(60)
    return session.run(run.run_id)


def open_runs(*selected: str):
    at = open_page("runs")
    at.session_state["runs_selected"] = selected
    return at.run()


def leaderboard_proto(at: AppTest):
    (element,) = (one for one in at.get("bidi_component") if one.proto.component_name == "moot_leaderboard")
    return element.proto


def leaderboard_data(at: AppTest) -> dict:
    """Return what the page sends to its table."""
    return json.loads(leaderboard_proto(at).json)[0]


def rows_of(session) -> tuple[LeaderboardRow, ...]:
    return leaderboard(session, "gold")


def test_runs_page_without_runs_names_the_next_step(session):
    assert "No runs yet" in html(open_page("runs"))


def test_table_lists_runs_and_marks_differences(session):
    finished(session)
    finished(session, params={"extra_rounds": 1})
    finished(session, protocol="single")
    rows = rows_of(session)
    shown = table.headings(rows, all_of_them=False)
    assert shown == ["Protocol", "Parameters", "Models"]  # no run differs in its models
    data = table.table_data(rows, shown, ["cost", "tokens"])
    assert [column["title"] for column in data["columns"]] == [
        "Macro F1",
        "95% interval",
        "Full cost",
        "Tokens",
        "Protocol",
        "Parameters",
        "Models",
    ]
    marked = {run["name"]: run["cells"][PROTOCOL]["parts"] for run in data["runs"]}
    assert marked["ECJ, word-list baseline"] == [["ECJ", False]]
    assert marked["Single, word-list baseline"] == [["Single", True]]
    assert {run["cells"]["cost"]["parts"][0][0] for run in data["runs"]} == {"free"}
    assert {run["cells"]["main"]["parts"][0][0] for run in data["runs"]} == {"no reference"}


def test_head_of_the_scores_names_the_score_of_each_kind_of_codebook(session):
    finished(session)
    rated = Codebook(kind="rating", labels=(Label(name="Clarity", id="c"),))
    session.store.runs.create(make_settings(rated), session.store.documents.ids()[:1])
    data = table.table_data(rows_of(session), [], [])
    assert data["columns"][0]["title"] == "Mean Spearman or macro F1"


def test_table_shows_how_many_documents_each_score_is_based_on(session):
    ids = session.store.documents.ids()
    item = session.store.codebooks.latest().codebook.items[0]
    set_gold(session.store, {id: {"gold": {item: True}} for id in ids})
    finished(session, limit=1)
    finished(session)
    data = leaderboard_data(open_page("runs"))
    assert "Scored" in [column["title"] for column in data["columns"]]
    assert sorted(run["cells"]["n"]["value"] for run in data["runs"]) == [1, len(ids)]


def test_table_has_the_score_by_which_ratings_are_ranked(session):
    book = Codebook(kind="rating", labels=(Label(name="Fluency", id="f"),))
    store, documents = session.store, [f"r{n}" for n in range(6)]
    store.documents.add(Document(id, {"text": id}, gold={"gold": {"f": 1 + n % 5}}) for n, id in enumerate(documents))
    run_id = store.runs.create(make_settings(book), documents).run_id
    values = [2, 3, 4, 5, 5, None]
    store_debates(
        store_debate(session.project, run_id, id, {"judge": None}, {"f": value})
        for id, value in zip(documents, values, strict=True)
    )
    (row,) = (row for row in rows_of(session) if row.run.run_id == run_id)
    score = row.rank_score.value
    assert row.main is not None
    assert row.main.value is not None
    assert score is not None
    assert score < row.main.value
    assert table._figures(row)["strict"]["value"] == score


def test_one_selected_run_shows_its_configuration(session):
    run = finished(session)
    at = open_runs(run.run_id)
    assert "<td>Models</td><td>word-list baseline</td>" in html(at)
    assert "Critic model" not in html(at), "equal models are shown in one row"
    assert "1 selected" in html(at)


def test_two_selected_runs_show_their_differences(session):
    first, second = finished(session), finished(session, params={"extra_rounds": 1})
    shown = html(open_runs(first.run_id, second.run_id))
    assert "default → extra rounds 1" in shown
    assert f"{second.title} against {first.title}" in shown
    third = finished(session, protocol="single")
    shown = html(open_runs(first.run_id, second.run_id, third.run_id))
    assert f"<h2>2 runs against {first.title}</h2>" in shown


def test_undo_restores_a_deleted_run(session):
    run = finished(session)
    at = button(open_runs(run.run_id), "Delete")
    assert "No runs yet" in html(at)
    assert session.all_runs() == []
    at = button(at, "Undo")
    assert [run.run_id for run in session.all_runs()] == [run.run_id]
    assert "1 run, 1 experiment" in html(at)


def test_deletions_can_be_undone_in_a_later_session(session):
    first, second, third = (finished(session, protocol="single") for _ in range(3))
    for runs in ((first,), (second, third)):
        change_details(session, {run.run_id: run.details.model_copy(update={"status": "deleted"}) for run in runs})
    at = open_page("runs")
    assert f"{second.title} and {third.title} deleted." in html(at)
    at = button(at, "Undo")
    assert f"{first.title} deleted." in html(at)
    at = button(at, "Undo")
    assert len(session.all_runs()) == 3
    assert "Undo" not in [button.label for button in at.button]


def test_other_tabs_act_while_batches_of_deleted_runs_are_cancelled(session, monkeypatch):
    run, others_act = finished(session), []

    def delete(*_) -> int:
        others_act.append(can_other_tabs_act())
        return 1

    monkeypatch.setattr(control, "change_details", delete)
    button(open_runs(run.run_id), "Delete")
    assert others_act == [True]


def test_deletion_says_which_batches_could_not_be_cancelled(session):
    with batch_server() as server:
        configure(server, hold=True)
        context.workspace().use_connection("mine", f"{server}/v1")
        run = pause_with_open_batch(session, server)
    at = button(open_runs(run.run_id), "Delete")
    assert "1 batch at mine could not be cancelled." in html(at)
    assert session.all_runs() == []


def test_deletion_of_deleted_runs_can_be_undone(session):
    run = finished(session)
    at = open_runs(run.run_id)
    change_details(session, {run.run_id: run.details.model_copy(update={"status": "deleted"})})  # by the first click
    at = button(at, "Delete")
    assert session.all_runs() == []
    button(at, "Undo")
    assert [row.run_id for row in session.all_runs()] == [run.run_id]


def test_double_click_undoes_a_deletion_once(session, monkeypatch):
    monkeypatch.setattr("app.state.DOUBLE_CLICK_SECONDS", 1e9)  # longer than the machine has run, however slow it is
    at = button(open_runs(finished(session).run_id), "Delete")
    undo = Mock()
    monkeypatch.setattr(control, "undo_details", undo)
    button(button(at, "Undo"), "Undo")
    undo.assert_called_once()


def test_deletion_can_be_undone_after_another_run_was_changed(session):
    run, other = finished(session), finished(session, protocol="single")
    at = button(open_runs(run.run_id), "Delete")
    at.session_state["runs_selected"] = (other.run_id,)
    at.run().text_area(key=f"runs-note-{other.run_id}").set_value("the baseline").run()
    button(at, "Undo")
    assert {row.run_id for row in session.all_runs()} == {run.run_id, other.run_id}
    assert session.run(other.run_id).details.note == "the baseline"


def test_undo_that_fails_can_be_repeated(session, monkeypatch):
    run = finished(session)
    at = button(open_runs(run.run_id), "Delete")
    full = StorageFull("The disk is full.", "Free some space.")
    with monkeypatch.context() as patched:
        patched.setattr(session.store.runs, "undo_details", Mock(side_effect=full))
        at = button(at, "Undo")
    assert session.all_runs() == []
    button(at, "Undo")
    assert [run.run_id for run in session.all_runs()] == [run.run_id]


def test_reload_on_a_deleted_run_says_that_another_run_is_shown(session):
    run, other = finished(session), finished(session, protocol="single")
    change_details(session, {run.run_id: run.details.model_copy(update={"status": "deleted"})})
    at = AppTest.from_file(NAVIGATION, default_timeout=30)
    at.query_params["run"] = run.run_id
    at.run()
    assert f"Run {run.run_id} does not exist in this project" in html(at)
    at = AppTest.from_file(NAVIGATION, default_timeout=30)
    at.query_params["run"] = other.run_id
    assert "does not exist in this project" not in html(at.run())


def test_archived_run_is_hidden_on_other_pages(session):
    run, other = finished(session), finished(session, protocol="single")
    at = button(open_runs(run.run_id), "Archive")
    assert "1 run archived." in html(at)
    assert "1 run, 1 experiment, 1 archived" in html(open_page("runs"))
    assert run.title not in html(open_page("evaluate"))
    assert other.title in html(open_page("evaluate"))


def test_quality_and_cost_are_drawn_in_the_unit_of_all_runs(session, monkeypatch):
    set_gold(session.store, {"d0": {"gold": {session.store.codebooks.latest().codebook.items[0]: True}}})
    priced, hidden = finished(session), finished(session, protocol="single")
    change_details(session, {hidden.run_id: hidden.details.model_copy(update={"status": "archived"})})
    dollars = {priced.run_id: 0.1, hidden.run_id: None}
    monkeypatch.setattr(
        "core.services.evaluation.run_comparison.cost_of_run",
        lambda session, run: cost_of_run(session, run) | {"usd_per_verdict": dollars[run.run_id]},
    )
    drawn = []
    monkeypatch.setattr("app.widgets.charts.frontier", lambda points, **options: drawn.append((points, options)))
    assert not open_page("runs").exception
    ((points, options),) = drawn
    assert (len(points), options["unit"]) == (1, "tokens")


def test_lab_opens_with_models_and_parameters_of_a_run(session):
    run = finished(session, params={"extra_rounds": 1})
    session.store.settings.set(planning.PLAN_SETTING, None)
    button(open_runs(run.run_id), "Open in Lab")
    plan = planning.load_plan(session)
    assert (plan.protocol, plan.params["extra_rounds"]) == ("ecj", 1)


TWELVE = 12


def fill_twelve(session) -> None:
    """Create twelve runs on twelve documents; run n has the model m<n> and is wrong on n documents."""
    book = Codebook(labels=(Label(name="Food", id="food"),))
    gold = {"gold": {"food": True}}
    documents = [f"d{n}" for n in range(TWELVE)]
    session.store.documents.add(Document(id, {"text": f"Text of {id}."}, gold=gold) for id in documents)
    session.store.codebooks.save(book)
    for n in range(TWELVE):
        models = dict.fromkeys(ROLES, RoleModel(connection="ollama", model=f"m{n}"))
        settings = make_settings(book, codebook_version=1).model_copy(update={"role_models": models})
        run = session.store.runs.create(settings, documents, details=RunDetails(name=f"Model {n}"))
        values = {id: {"food": position >= n} for position, id in enumerate(documents)}
        store_debates(
            store_debate(session.project, run.run_id, id, dict.fromkeys(ROLES, known), known)
            for id, known in values.items()
        )


def test_leaderboard_of_twelve_runs_shows_order_differences_and_cost(tmp_path, monkeypatch):
    with studio(tmp_path, monkeypatch) as workspace:
        fill_twelve(workspace.open(tmp_path / "twelve.duckdb"))
        at = open_page("runs")
        runs = leaderboard_data(at)["runs"]
        assert [run["name"] for run in runs] == [f"Model {n}" for n in range(TWELVE)]  # best first
        for n, run in enumerate(runs):
            assert f"m{n}" in [part for part, _ in run["cells"]["Models"]["parts"]]  # the difference between the runs
            assert run["cells"]["cost"]["parts"][0][0] == "$18.00"  # twelve documents, three replies of half a dollar
        for n in (3, 11):
            at.session_state["runs_selected"] = (runs[n]["id"],)
            at = button(at.run(), "Open in Lab")
            assert "<h1>Lab</h1>" in html(at)
            (base,) = [one.proto.popover for one in at.get("popover") if one.proto.popover.label == f"Base: Model {n}"]
            assert base.help.startswith(f"Model {n}: "), "the label is cut in a narrow window"
            assert f"m{n}" in html(at)
            at._page_hash = calc_hash("runs")
            assert leaderboard_data(at.run())["selected"] == [runs[n]["id"]], "kept while another page is open"


def test_tags_and_note_of_a_run_are_stored_and_those_of_another_tab_are_kept(session):
    tagged, run_id = finished(session), finished(session).run_id
    change_details(session, {tagged.run_id: tagged.details.model_copy(update={"tags": ("best",)})})
    at, other = open_runs(run_id), open_runs(run_id)
    at.text_area(key=f"runs-note-{run_id}").set_value("first").run()
    other.run()
    assert other.text_area(key=f"runs-note-{run_id}").value == "first"
    at.text_area(key=f"runs-note-{run_id}").set_value("second").run()
    other.multiselect(key=f"runs-tags-{run_id}").set_value(["best"]).run()
    details = session.run(run_id).details
    assert (details.note, details.tags) == ("second", ("best",))
    assert other.text_area(key=f"runs-note-{run_id}").value == "second"


def test_archived_run_is_not_offered_on_run_data_and_lab(session):
    kept, archived = finished(session, protocol="single"), finished(session)
    change_details(session, {archived.run_id: archived.details.model_copy(update={"status": "archived"})})
    picker = open_page("run").selectbox(key="run-picker")
    assert (picker.value, len(picker.options)) == (kept.run_id, 1)
    assert selected_run(annotation_arrays.ranked_runs(session)) == session.run(kept.run_id)
    lab = open_page("lab")
    assert len(lab.selectbox(key="lab-run").options) == 1


def test_canary_run_is_not_counted_on_runs_and_is_named_on_evaluate(session):
    run = finished(session)
    canary = model_drift.start_canary_run(session, run)
    session.start_or_resume(canary.run_id).result(60)
    assert "1 run, 1 experiment" in html(open_runs())
    at = open_page("evaluate")
    at.session_state["run_id"], at.session_state["evaluate_tab"] = run.run_id, "models"
    at.session_state["evaluate_reference"] = f"run:{canary.run_id}"
    assert "<td>Canary 1</td>" in html(at.run())


def test_run_picker_names_the_size_of_a_run_once(session):
    finished(session)
    finished(session, limit=1)
    options = open_page("run").selectbox(key="run-picker").options
    assert options[0].count("1 document") == 1
    assert options[1].endswith(" documents")


def test_new_table_has_the_current_selection_after_an_interrupted_run_without_a_table(session, monkeypatch):
    run = finished(session)
    at = open_page("runs")
    at.session_state["runs_selected"] = (run.run_id,)
    at.run()

    def interrupt(_: str) -> None:
        raise StopException

    with monkeypatch.context() as patch:  # as the next request does, which then finds the table's old state
        patch.setattr("app.widgets.elements.line", interrupt)
        at.text_input(key="runs_filter").set_value("no such run").run()
    at.text_input(key="runs_filter").set_value("").run()
    assert leaderboard_data(at)["selected"] == [run.run_id]


def test_changes_of_a_project_are_not_applied_to_the_runs_of_another(session):
    other = context.workspace().open(session.path.with_name("letters.duckdb"))
    fill(other)
    run_id = finished(session).run_id
    assert finished(other).run_id == run_id
    at = open_page("runs")
    at.selectbox(key="project_switcher").set_value(session.path).run()
    changes = [{"number": 1, "id": run_id, "name": "Best"}]
    sent = WidgetState(id=leaderboard_proto(at).id, json_value=json.dumps({"changes": changes}))
    for shown in (session, other):  # the browser sends the state of the table again with each request
        at.selectbox(key="project_switcher").set_value(shown.path).run()
        states = at._tree.get_widget_states()
        states.widgets.append(sent)
        at._run(states)
    assert [project.run(run_id).details.name == "Best" for project in (session, other)] == [True, False]


def test_filter_and_columns_stay_while_the_user_looks_at_another_page(session):
    change_details(session, {finished(session).run_id: RunDetails(status="archived")})
    finished(session)
    at = open_page("runs")
    at.text_input(key="runs_filter").set_value("ecj")
    at.button_group(key="runs_extent").set_value("all")
    at.button_group(key="runs_figures").set_value(["kappa"])
    at.toggle(key="runs_show_archived").set_value(True)
    at.run()
    for page in ("data", "runs"):
        at.switch_page(f"screens/{page}/page.py").run()
    assert at.text_input(key="runs_filter").value == "ecj"
    assert at.button_group(key="runs_extent").value == "all"
    assert at.button_group(key="runs_figures").value == ["kappa"]
    assert at.toggle(key="runs_show_archived").value
