"""Tests of Review, Evaluate, Export and Manuscript on a small project, with simulated grid selections."""

from __future__ import annotations

import json
import re
from functools import partial

import pytest

from app.state import ReviewState
from app.widgets.elements import literal
from core.codebook import Codebook, Label
from core.documents import Document
from core.services import export
from core.services.evaluation.evaluation import evaluate
from core.services.evaluation.report import full_report, html_report
from core.services.evaluation.run_comparison import leaderboard
from core.services.review import actions, queue, review_plan
from core.services.review.codebook_examples import CodebookExample
from tests import documented
from tests.app.studio import component_data, draw_screen, html, open_page
from tests.core.services import sample_world
from tests.core.store.helpers import make_settings, set_gold


@pytest.fixture
def screen(session):
    return partial(draw_screen, session)


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("review", "Nothing to review yet"),
        ("evaluate", "Nothing to evaluate yet"),
        ("export", "Nothing to export yet"),
        ("manuscript", "Nothing to write about yet"),
    ],
)
def test_pages_without_a_run(screen, name, head):
    assert head in html(screen(name))


def test_the_paper_page_shows_methods_tables_and_prompts(screen, project, session):
    run_id = sample_world.build(project)
    app = screen("manuscript")
    shown = html(app)
    assert "We annotated 7 of 8 documents with 2 labels" in shown
    assert f'<a href="evaluate?run={run_id}&amp;reference=gold">' in shown
    assert [expander.label for expander in app.expander] == [
        f"{role} ({template.name})" for role, template in session.run(run_id).settings.templates.items()
    ]


def test_plan_is_created_and_ended_in_its_dialog(screen, project, session):
    run_id = sample_world.build(project)
    app = screen("review")
    app.button(key="review-plan-open").click().run()
    assert "reviews of the queue in its order. You may stop as soon as" in re.sub(r"<.*?>", "", html(app))
    new_plan = review_plan.ReviewPlan("correct", "", 0.1, 0.1, 25)
    review_plan.save_plan(session, session.run(run_id), new_plan)
    app = screen("review")
    assert "Plan: share of correct labels within 10 points. 0 reviewed, about 25 more." in html(app)
    app.button(key="review-plan-open").click().run()
    app.button(key="plan-end").click().run()
    assert review_plan.current_plan(session, session.run(run_id)) is None


def test_evaluate_without_a_reference(screen, project, session):
    run_id = sample_world.build(project)
    set_gold(project.store, {})
    app = screen("evaluate")
    assert "No reference to compare with" in html(app)
    assert [button.label for button in app.button] == ["Review 8", "Map a gold column"], "of 8 documents"
    mapped = open_page("evaluate").button(key="evaluate-no-reference-1").click().run()
    assert mapped.button(key="data-map-gold-submit").label
    actions.submit(session, run_id, ["d0"])
    assert "No reference to compare with" not in html(screen("evaluate"))


def test_evaluate_names_the_documents_that_are_counted_as_wrong(screen, session, monkeypatch):
    sample_world.build(session.project)
    monkeypatch.setattr(type(session.store.annotations), "example_documents", lambda _, run: ["d0", "d1", "d2"])
    assert "with these as wrong</div><div>not counted: 1 document without gold" in (shown := html(screen("evaluate")))
    assert "Only 1 of 3 debated documents is scored" in shown


def test_evaluate_shows_all_sections(screen, project):
    sample_world.build(project)
    app = screen("evaluate")
    shown = html(app)
    for head in ("Scores per label", "Effect of the debate", "Confusion matrix"):
        assert head in shown
    metrics = re.findall(r'"listitem"><i>(.*?)</i>', shown)
    assert metrics == ["Macro F1", "Micro F1", "Label accuracy", "Exact match", "No verdict"]
    assert "with these as wrong" in shown, "3 of 7 have no verdict"
    assert "Only 4 of 6 debated documents are scored" in shown
    alpha = component_data(app, "confusion_matrix")[0]["labels"][0]
    assert (alpha["tp"], alpha["fn"], alpha["fp"], alpha["tn"]) == (1, 1, 1, 1)
    rows = [re.findall(r">([^<]+)<", row) for row in re.findall(r"<tr>.*?</tr>", shown)]
    assert ["All labels", "2", "1", "1", "0", "+2"] in rows
    assert ["Extractor", "Critic", "3", "2", "1", "2", "1", "0.125"] in [row[:8] for row in rows]
    assert component_data(app, "document_list")[0]["rows"][0]["role"] in ("critic", "extractor")


def test_excluded_documents_are_the_same_number_everywhere(screen, project, session, monkeypatch):
    run_id = sample_world.build(project)
    monkeypatch.setattr(type(session.store.annotations), "example_documents", lambda _, run: ["d0"])
    report = evaluate(session, session.run(run_id))
    assert (report.n, report.excluded, report.scores.coverage) == (3, 3, 0.5)
    told = full_report(session, report.run)
    assert (told["n"], told["excluded"], told["coverage"]) == (3, 3, 0.5)
    assert told["left_out"] == {"unresolved": 1, "failed": 1, "waiting": 1, "no_reference": 1, "used_as_example": 1}
    strip = html(screen("evaluate"))
    assert "<i>No verdict</i><strong>3 (50%)</strong>" in strip
    assert "not counted: 1 document used as examples" in strip
    assert "50% excluded" in html_report(session, report.run)
    (row,) = leaderboard(session)
    assert row.report == report
    in_lab = evaluate(session, report.run, "reviewed+gold")  # nothing is reviewed
    assert (in_lab.scores, in_lab.strict) == (report.scores, report.strict)


def test_evaluate_lists_the_documents_of_a_cell_for_the_drawer(screen, project):
    run_id = sample_world.build(project)
    app = screen("evaluate", evaluate_cell=("a", "fp"))
    (listed,), (drawer,) = (component_data(app, name) for name in ("document_list", "document_drawer"))
    assert [row["id"] for row in listed["rows"]] == ["d2"]
    assert listed["note"] == "1 document: gold absent, verdict present"
    assert [run["id"] for run in drawer["runs"]] == [run_id]
    assert [action["text"] for action in drawer["actions"]] == ["Correct in Review", "Test in Lab"]


def test_export_previews_every_format(screen, project, monkeypatch):
    monkeypatch.setitem(export.FORMATS, "pairs", documented.pairs())
    sample_world.build(project)
    app = screen("export")
    assert "annotated_review" in " ".join(code.value for code in app.code)
    for name in (*export.FORMATS, "pairs", "csv"):
        app.radio(key="export-format").set_value(name).run()
        assert not app.exception
        if name == "pairs":
            assert app.code[0].value.startswith('[\n  "d0",\n  [\n    "Alpha"')
    assert '<span title="verdict">verdict</span>' in html(app)


def selected_rows(run_id, actor, *ids):
    """Return the session state of a grid with these rows selected."""
    return {"review_view": "Grid", f"review__grid__{run_id}__{actor}": {"selected": list(ids), "row": ids[0]}}


def test_undo_and_redo_buttons_change_the_last_edit(screen, project, session):
    run_id = sample_world.build(project)
    run = project.store.runs.get(run_id)
    actions.edit(session, run_id, ["d1"], "a", True)
    app = screen("review", review_view="Grid")
    app.button(key="review-undo").click().run()
    assert "✓ Undone: document d1<" in html(app)
    assert queue.review_rows(session, run, ["d1"])[0].values["a"] is False
    app.button(key="review-redo").click().run()
    assert queue.review_rows(session, run, ["d1"])[0].values["a"] is True


def test_words_typed_for_one_example_are_not_used_for_another(screen, project, session):
    sample_world.build(project)
    key = ReviewState.edited_example.key
    app = screen("review", review_view="Grid", **{key: CodebookExample("d1", "a", "include", "first words")})
    app.text_area[0].set_value("words typed for d1")
    app.session_state[key] = CodebookExample("d2", "b", "exclude", "other words")  # the dialog was dismissed
    app.run()
    assert app.text_area[0].value == "other words"
    assert app.text_area[0].key.startswith("new-example-"), "app.css styles example- as a row of the codebook editor"
    assert [box.value for box in app.selectbox if box.label in ("Label", "Add as")] == ["b", "exclude"]


def test_undo_buttons_leave_ctrl_z_to_the_text_fields(screen, project):
    sample_world.build(project)
    app = screen("review", review_view="Grid")
    assert [app.button(key=f"review-{name}").proto.shortcut for name in ("undo", "redo")] == ["", ""]


def test_bulk_edit_and_submit_apply_to_selected_rows(screen, project, session):
    run_id = sample_world.build(project)
    run = project.store.runs.get(run_id)
    app = screen("review", review_reviewer="ann", **selected_rows(run_id, "ann", "d0", "d3"))
    app.selectbox(key="review-bulk-item").set_value("b").run()
    app.button(key="review-bulk-set").click().run()
    assert [queue.review_rows(session, run, [id])[0].values["b"] for id in ("d0", "d3")] == [True, True]
    app.button(key="review-bulk-submit").click().run()
    assert [queue.review_rows(session, run, [id])[0].review_status for id in ("d0", "d3")] == ["Submitted", "Submitted"]
    app.session_state[f"review-grid-{run_id}-ann"] = {"selected": ["d1"], "row": "d1"}  # before the page is drawn again
    app.button(key="review-bulk-discard").click().run()
    statuses = [queue.review_rows(session, run, [id], actor="ann")[0].review_status for id in ("d0", "d1")]
    assert statuses == ["Submitted", "Discarded"]


def test_buttons_beside_the_grid_change_only_the_document_of_the_focused_row(screen, project, session):
    run_id = sample_world.build(project)
    run = project.store.runs.get(run_id)
    app = screen("review", review_reviewer="ann", **selected_rows(run_id, "ann", "d1"))
    app.session_state[f"review-grid-{run_id}-ann"] = {"selected": [], "row": "d2"}  # before the page is drawn again
    app.button(key="review-discard-d1").click().run()
    assert "Document d1 was not changed" in str(app.session_state["notice"])
    app.button(key="review-discard-d2").click().run()
    statuses = [queue.review_rows(session, run, [id], actor="ann")[0].review_status for id in ("d1", "d2")]
    assert statuses == ["Pending", "Discarded"]


def test_buttons_beside_the_grid_accept_a_click_on_the_row_that_is_shown_first(screen, project, session):
    run_id = sample_world.build(project)
    app = screen("review", review_reviewer="ann", review_view="Grid")
    (first,) = (button.key.removeprefix("review-discard-") for button in app.button if "review-discard-" in button.key)
    app.session_state[f"review-grid-{run_id}-ann"] = {"selected": [], "row": first}  # before the page is drawn again
    app.button(key=f"review-discard-{first}").click().run()
    (row,) = queue.review_rows(session, project.store.runs.get(run_id), [first], actor="ann")
    assert row.review_status == "Discarded"


@pytest.mark.parametrize("decision", ["submit", "discard"])
def test_document_that_became_the_next_of_the_queue_is_decided_as_drawn(decision, screen, project, session):
    run_id = sample_world.build(project)
    run, by = project.store.runs.get(run_id), actions.Attribution("ann")
    actions.set_status(session, run_id, ["d4", "d6", "d7"], "Discarded", by)  # they lack values
    rows = queue.review_page(session, run, queue.QueueFilter(sort="queue"), actor="ann").rows
    first, second = (row.document_id for row in rows[:2])
    app = screen("review", review_reviewer="ann", review__sort="queue", **selected_rows(run_id, "ann", second))
    actions.submit(session, run_id, [first], by, sampling={first: rows[0].sampling})  # by a key in the grid
    app.button(key=f"review-{decision}-{second}").click().run()
    selections = [(each.how, each.discarded) for each in session.store.sampling_frames.selections()]
    assert selections == [*[("chosen", True)] * 3, ("drawn", False), ("drawn", decision == "discard")]


def test_row_stays_among_the_pending_ones_while_it_is_edited(screen, project, session):
    run_id = sample_world.build(project)
    app = screen("review", review_reviewer="ann", review__status="Pending", **selected_rows(run_id, "ann", "d1"))
    assert "Rows 1 to 8 of 8" in html(app)
    for label in "ab":  # by keys in the grid
        actions.edit(session, run_id, ["d1"], label, True, actions.Attribution("ann"))
        assert "Rows 1 to 8 of 8" in html(app.run())
    app.session_state[f"review-grid-{run_id}-ann"] = {"selected": [], "row": "d2"}
    assert "Rows 1 to 7 of 7" in html(app.run())


def test_reviewer_stays_the_same_in_a_new_tab(screen, project):
    sample_world.build(project)
    name, login = literal("Bea <i>"), actions.default_reviewer()
    advice = f"{login} is your login name."

    def buttons(app):
        return [popover.proto.popover.label for popover in app.get("popover")]

    app = screen("review", review_view="Grid")
    assert literal(login) in buttons(app)
    assert advice in html(app)
    assert "your decision counts before gold" in html(app)
    app.text_input(key="review_reviewer").set_value("Bea <i>").run()
    assert name in buttons(app)
    assert advice not in html(app)
    again = screen("review", review_view="Grid")
    assert name in buttons(again)
    assert again.text_input(key="review_reviewer").value == "Bea <i>"
    again.text_input(key="review_reviewer").set_value("").run()
    assert literal(login) in buttons(screen("review", review_view="Grid"))


def test_no_help_of_the_reviewer_covers_the_filters_below(screen, project):
    sample_world.build(project)
    helps = {popover.proto.popover.label: popover.proto.popover.help for popover in screen("review").get("popover")}
    assert helps[literal(actions.default_reviewer())] == ""


def test_refused_submission_gives_a_reason(screen, project):
    run_id = sample_world.build(project)
    app = screen("review", review_reviewer="ann", **selected_rows(run_id, "ann", "d4"))
    app.button(key="review-bulk-submit").click().run()
    assert "d4 has no value yet for Alpha" in str(app.session_state["notice"])


def test_search_filters_the_review_rows(screen, project):
    sample_world.build(project)
    app = screen("review", review_view="Grid")
    app.text_input(key="review-search").set_value("number 3").run()
    assert "1 document found, 8 of all waiting, 1 debate not ended" in html(app)
    app.text_input(key="review-search").set_value("no such words").run()
    assert "No document matches" in html(app)
    app.button(key="review-nothing-0").click().run()
    assert "8 documents" in html(app)


def test_filters_stay_while_the_user_looks_at_another_page(project):
    sample_world.build(project)
    app = open_page("review")
    app.session_state["review_view"] = "Grid"
    app.run()
    app.text_input(key="review-search").set_value("number").run()
    app.selectbox(key="review-label").set_value("b").run()
    app.selectbox(key="review-status").set_value("Pending").run()
    app.checkbox(key="review-others").check().run()
    app.selectbox(key="review-size").set_value(100).run()
    for page in ("data", "review"):
        app.switch_page(f"screens/{page}/page.py").run()
    assert app.text_input(key="review-search").value == "number"
    assert [app.selectbox(key=f"review-{name}").value for name in ("label", "status", "size")] == ["b", "Pending", 100]
    assert app.checkbox(key="review-others").value
    app.session_state["review_requested_document"] = "d1"
    app.run()
    assert app.text_input(key="review-search").value == "d1"
    assert app.selectbox(key="review-label").value is None, "the grid lists the document that another page asked for"


def test_filter_for_a_label_ends_with_a_run_that_lacks_the_label(project):
    sample_world.build(project)
    app = open_page("review")
    app.selectbox(key="review-label").set_value("b").run()
    other = make_settings(Codebook(labels=(Label(name="Gamma", id="c"),)))
    app.switch_page("screens/data/page.py").run()
    app.session_state["run_id"] = project.store.runs.create(other, project.store.documents.ids()).run_id
    app.switch_page("screens/review/page.py").run()
    assert not app.exception
    assert app.selectbox(key="review-label").value is None


def test_grid_of_a_run_whose_documents_were_replaced_says_so(screen, project):
    sample_world.build(project)
    project.store.documents.replace_all([Document("new", {"text": "a new text"})])
    app = screen("review", review_view="Grid")
    assert "The documents of this run are not in the project" in html(app)
    assert "Show all" not in [button.label for button in app.button], "nothing is filtered"


def focus_document(app):
    """Return the document at which the drawn Focus view starts."""
    (shown,) = component_data(app, "review_focus")
    return shown["document"]


def test_document_beside_the_grid_opens_in_focus(screen, project):
    sample_world.build(project)
    app = screen("review", review_view="Grid")
    app.button(key="review-to-focus").click().run()
    assert focus_document(app) == "d0"


def test_document_requested_by_another_page_is_opened(screen, project):
    sample_world.build(project)
    for view in (None, "Focus", "Agreement"):
        app = screen("review", review_requested_document="d2", review_view=view)
        assert focus_document(app) == "d2"
    app = screen("review", review_requested_document="d2", review_view="Grid")
    assert app.text_input(key="review-search").value == "d2"
    assert "d2" in html(app)


@pytest.mark.parametrize("view", ["Focus", "Grid"])
@pytest.mark.parametrize("asked", ["review_start_document", "review_requested_document"])
def test_document_that_the_run_lacks_is_reported(screen, project, view, asked):
    sample_world.build(project)
    message = "Document d99 &lt;b&gt; is not in this run"
    assert message in html(app := screen("review", review_view=view, **{asked: "d99 <b>"}))
    assert view == "Grid" or focus_document(app) is None
    assert view == "Focus" or "8 documents" in html(app)
    assert message not in html(app.run())
    assert "is not in this run" not in html(screen("review", review_view=view, **{asked: "d2"}))


def test_grid_shows_no_document_that_the_run_lacks(screen, project, session):
    sample_world.build(project)
    other = project.store.runs.create(make_settings(sample_world.CODEBOOK, codebook_version=1), ["d1", "d2"])
    app = screen("review", run_id=other.run_id, review_view="Grid", review_document="d5")
    app.button(key="review-discard-d1").click().run()
    assert queue.review_rows(session, other, ["d1"])[0].review_status == "Discarded"
    assert app.session_state["review_document"] == "d1"


def test_review_settings_are_stored_in_the_project(screen, project, session):
    sample_world.build(project)
    app = screen("review")
    app.slider(key="review-even").set_value(35).run()
    assert queue.review_settings(session) == queue.ReviewSettings(0.35, False)
    app.toggle(key="review-blind").set_value(True).run()
    assert queue.review_settings(session) == queue.ReviewSettings(0.35, True)
    assert "No blind decisions" in " ".join(caption.value for caption in app.caption)


def test_review_settings_of_another_tab_are_kept(screen, project, session):
    sample_world.build(project)
    app = screen("review")
    queue.save_review_settings(session, queue.ReviewSettings(0.35, False))
    app.run()
    assert queue.review_settings(session) == queue.ReviewSettings(0.35, False)
    assert app.slider(key="review-even").value == 35
    queue.save_review_settings(session, queue.ReviewSettings(0.6, False))
    app.toggle(key="review-blind").set_value(True).run()
    assert queue.review_settings(session) == queue.ReviewSettings(0.6, True)


def test_agreement_without_reviewers_shows_that_of_the_raters(screen, project, session):
    gold = {f"d{n}": {"ann": sample_world.both("a"), "ben": sample_world.both("ab")} for n in range(2)}
    sample_world.annotated(project, sample_world.CODEBOOK, gold, dict.fromkeys(gold, sample_world.both("a")))
    shown = html(screen("review", review_view="Agreement"))
    assert "No document has two reviewers yet" in shown
    assert "2 documents with two or more raters: ann (2), ben (2)" in shown
    assert "Alpha: undefined (–), because all raters gave the same value everywhere." in shown
    assert "this project has rater ann and rater ben." in shown, "the run is not finished"
    app = screen("evaluate", evaluate_tab="models")
    app.button(key="models-raters").click().run()
    assert app.session_state["review_view"] == "Agreement"


def test_agreement_on_a_choice_is_that_on_all_labels(screen, project):
    codebook = Codebook(kind="choice", labels=(Label(name="Pro", id="p"), Label(name="Contra", id="c")))
    gold = {f"d{n}": {"ann": {"label": "p"}, "ben": {"label": "pc"[n]}} for n in range(2)}
    sample_world.annotated(project, codebook, gold, {id: {"label": "p"} for id in gold})
    assert "<td>All labels</td>" in html(screen("review", review_view="Agreement"))


def test_resolves_a_disagreement_of_two_reviewers(screen, project, session):
    run_id = sample_world.build(project)
    app = screen("review", review_view="Agreement")
    assert "No document has two reviewers yet" in html(app)
    for actor, value in (("ann", True), ("bob", False)):
        actions.edit(session, run_id, ["d0"], "a", True, actions.Attribution(actor))
        actions.edit(session, run_id, ["d0"], "b", value, actions.Attribution(actor))
        actions.submit(session, run_id, ["d0"], actions.Attribution(actor))
    for item in ("a", "b"):
        actions.edit(session, run_id, ["d1"], item, True, actions.Attribution("cyd"))
    actions.submit(session, run_id, ["d1"], actions.Attribution("cyd"))
    app = screen("review", review_view="Focus")
    app.button(key="review-resolve").click().run()
    assert "1 document with two or more reviewers: ann (1), bob (1)" in html(app)
    assert "Cohen&#39;s kappa" in html(app)
    assert "1 of 1 disagreements open" in html(app)
    assert "1 document: too few for a reliable value" in html(app)
    assert "The truth is inferred from all answers, as if annotators erred independently" in html(app)
    assert "<td>reviewed by bob</td><td>1</td>" in html(app)
    assert "<td>gold</td>" in html(app)
    assert "Alpha: undefined (–), because all reviewers gave the same value everywhere." in html(app)
    assert "Beta" in html(app)
    button = next(button for button in app.button if button.label == literal("absent (bob)"))
    button.click().run()
    assert "0 of 1 disagreements open" in html(app)
    assert "No open disagreements" in html(app)
    assert queue.review_rows(session, project.store.runs.get(run_id), ["d0"])[0].values["b"] is False


def test_text_with_several_disagreements_is_shown_once(screen, project, session):
    run_id = sample_world.build(project)
    for actor, value in (("ann", True), ("bob", False)):
        for item in ("a", "b"):
            actions.edit(session, run_id, ["d0"], item, value, actions.Attribution(actor))
        actions.submit(session, run_id, ["d0"], actions.Attribution(actor))
    app = screen("review", review_view="Agreement")
    shown = [literal(f"{value} ({who})") for value, who in (("present", "ann"), ("absent", "bob"))]
    assert [button.label for button in app.button if button.label in shown] == shown * 2
    assert len(component_data(app, "highlighted_text")) == 1


def test_label_names_are_not_executed_in_the_grid(screen, project):
    from app.screens.review.grid_options import without_code

    plain = without_code({"a": ["x ::JSCODE::alert(1)::JSCODE::", {"b": "::JS::JSCODE::CODE::evil"}]})
    assert "JSCODE" not in json.dumps(plain)
