"""Tests of version history with scores and runs, and of rendered messages of an edited template."""

from __future__ import annotations

import pytest

from core.codebook import Codebook, Label
from core.documents import Document
from core.errors import PromptError
from core.runs import Template
from core.services import document_samples, projects, prompt_templates
from core.services.codebooks import codebook as codebooks
from core.services.evaluation.evaluation import evaluate
from core.services.evaluation.run_comparison import leaderboard
from core.services.lab import history, trials
from core.services.runs import planning
from core.stats.intervals import Estimate
from tests.core.services.sample_world import session_on
from tests.core.services.sessions import until
from tests.core.store.helpers import make_settings, set_gold, store_debate, store_debates


@pytest.fixture
def session(workspace):
    return workspace.open(projects.ensure_sample(workspace), create=False)


def slot_of(key, protocol="ecj"):
    return next(slot for slot in prompt_templates.slots(protocol) if slot.key == key)


def finish(session, change, sample):
    trial = trials.start_trial(session, change, sample)
    until(lambda: not trials.is_trial_active(session, trial))
    return trial


def test_codebook_history_lists_versions_with_scores(session):
    book = codebooks.current(session)
    label = book.labels[0]
    codebooks.save_draft(session, codebooks.change_label(book, label.id, keywords=(*label.keywords, "hotel", "room")))
    finish(session, trials.definition_change(session), document_samples.project_sample(session, 20))
    held_out = finish(session, trials.definition_change(session), document_samples.held_out_sample(session))
    first, draft = history.codebook_history(session)
    assert (first.name, first.is_default, first.depth, draft.parent, draft.is_draft) == ("v1", True, 0, "v1", True)
    assert first.report.n == 20
    assert first.report.scores.main.value > draft.report.scores.main.value
    assert draft.held_out.n == len(held_out.sample["strata"])
    assert session.store.lab.looks() == 1
    assert history.metric_names([first.report, None, draft.held_out], "rating") == "Macro F1"  # of a later draft
    assert history.metric_names([None], "rating") == "Mean Spearman"
    version = codebooks.save(session, codebooks.codebook_status(session).codebook)
    saved = history.codebook_history(session)[-1]
    assert (saved.name, saved.report) == (f"v{version}", draft.report)  # saving does not change the score


def test_second_child_is_a_branch_and_runs_are_listed(session):
    slot = slot_of("judge")
    shipped = prompt_templates.versions(session, slot)[0]
    for text in ("One.", "Two."):
        prompt_templates.save_draft(session, slot, shipped.text, shipped)
        prompt_templates.save_draft(session, slot, f"{shipped.text}{text}\n", shipped)
        version = prompt_templates.save_version(session, slot)
    prompt_templates.promote_version(session, slot, version)
    (run,) = planning.create_runs(session, trials.base_settings(session), session.store.documents.ids()[:2])
    rows = history.template_history(session, slot)
    assert [(row.label, row.depth, row.runs, row.is_default) for row in rows] == [
        ("v1 shipped", 0, (), False),
        ("v2", 0, (), False),
        ("v3", 1, (run.run_id,), True),
    ]


def test_run_is_opened_with_its_own_prompt_versions(session):
    slot = slot_of("judge")
    shipped = prompt_templates.versions(session, slot)[0]
    prompt_templates.save_draft(session, slot, f"{shipped.text}One.\n", shipped)
    version = prompt_templates.save_version(session, slot)
    prompt_templates.promote_version(session, slot, version)
    (run,) = planning.create_runs(session, trials.base_settings(session), session.store.documents.ids()[:2])
    prompt_templates.promote_version(session, slot, shipped)
    prompt_templates.save_draft(session, slot, shipped.text, shipped)
    assert prompt_templates.load_run_prompts(session, run) == 1
    assert prompt_templates.template_status(session, slot).base == version
    assert prompt_templates.load_run_prompts(session, run) == 0


def test_draft_that_the_prompt_of_a_run_replaces_is_saved_as_a_version(session):
    slot = slot_of("judge")
    shipped = prompt_templates.versions(session, slot)[0]
    ids = session.store.documents.ids()[:2]
    settings = trials.base_settings(session)
    other = prompt_templates.with_template(settings, "judge", Template(name="judge (changed)", text=shipped.text + "."))
    (run,), (changed,) = (planning.create_runs(session, each, ids) for each in (settings, other))

    prompt_templates.save_draft(session, slot, f"{shipped.text}An hour of work.\n", shipped)
    assert prompt_templates.load_run_prompts(session, run) == 1
    assert prompt_templates.template_status(session, slot).text == shipped.text
    (kept,) = prompt_templates.versions(session, slot)[1:]
    assert (kept.text, kept.note) == (f"{shipped.text}An hour of work.\n", f"draft that {run.title} replaced")
    for used in (changed, run):  # the text of a run is not the user's own draft
        prompt_templates.load_run_prompts(session, used)
    assert prompt_templates.versions(session, slot)[1:] == (kept,)


def test_prompts_of_an_unedited_run_with_a_preset_are_not_loaded_as_drafts(session):
    settings = trials.base_settings(session, planning.Plan(params={"preset": "paper"}))
    (run,) = planning.create_runs(session, settings, session.store.documents.ids()[:2])
    assert prompt_templates.load_run_prompts(session, run) == 0
    assert session.store.prompts.draft("ecj/judge") is None


def test_preview_renders_messages_of_an_edited_template(session):
    settings = trials.base_settings(session)
    document = session.store.documents.page(0, 1)[0]
    slot = slot_of("judge")
    text = prompt_templates.versions(session, slot)[0].text
    (shown,) = prompt_templates.render_template(settings, slot, text + "Be brief.", document)
    assert [message.role for message in shown.messages] == ["system", "user"]
    assert shown.messages[1].content.endswith("Be brief.")
    assert prompt_templates.TEMPLATE_MARK not in "".join(message.content for message in shown.messages)
    assert shown.tokens > 100
    block = slot_of("definitions")
    with_same_model = prompt_templates.render_template(settings, block, "The labels are secret.", document)
    assert len(with_same_model) == 3  # extractor, critic and judge all get the definitions
    assert all("The labels are secret." in request.messages[0].content for request in with_same_model)
    (single,) = prompt_templates.render_template(settings, slot_of("reask"), "Again: {{ problem }}", document)
    assert single.messages[0].content.startswith("Again: ")
    with pytest.raises(PromptError) as raised:
        prompt_templates.render_template(settings, slot, "## user\n{{ document }}\n{{ 1 / 0 }}", document)
    assert raised.value.line == 3


def test_versions_are_scored_against_remapped_gold(session):
    book = codebooks.current(session)
    codebooks.save_draft(session, codebooks.change_label(book, book.labels[0].id, keywords=["nothing"]))
    finish(session, trials.definition_change(session), document_samples.project_sample(session, 20))
    before, _ = history.codebook_history(session)
    sizes = document_samples.holdout_split(session)
    assert before.report.scores.main.value > 0
    wrong = {label.id: False for label in book.labels}
    ids = session.store.documents.ids()
    set_gold(session.store, {id: {"ann": wrong} for id in ids[:30]})
    after, _ = history.codebook_history(session)
    assert after.report.n < before.report.n or after.report.scores.main.value == 0
    now = document_samples.holdout_split(session)
    assert (now.development + now.held_out, sizes.development + sizes.held_out) == (30, len(ids))


def test_definitions_are_tested_without_open_labels(session):
    book = codebooks.current(session)
    grown, feeling = codebooks.add_label(book, "Feeling")
    labels = [label.model_copy(update={"open": "word"}) if label.id == feeling else label for label in grown.labels]
    codebooks.save(session, grown.model_copy(update={"labels": tuple(labels)}))
    assert trials.definition_change(session).unchanged
    now = codebooks.current(session)
    codebooks.save_draft(session, codebooks.change_label(now, book.labels[0].id, keywords=["nothing"]))
    trial = finish(session, trials.definition_change(session), document_samples.project_sample(session, 5))
    assert session.run(trial.after_run).settings.codebook.names == book.names
    *_, saved, draft = history.codebook_history(session)
    assert (saved.report.n, draft.report.n) == (5, 5)


def test_score_of_ratings_is_the_mean_correlation(project):
    """The share of correct values would rank runs in another order than Runs and Compare do."""
    book = Codebook(kind="rating", labels=(Label(name="Fluency", id="f"),))
    documents = [f"d{n}" for n in range(6)]
    project.store.documents.add(
        Document(id, {"text": id}, gold={"gold": {"f": 1 + n % 5}}) for n, id in enumerate(documents)
    )
    run_id = project.store.runs.create(make_settings(book), documents).run_id
    values = [2, 3, 4, 5, 5, None]  # the first five are in the order of the gold ratings 1, 2, 3, 4, 5
    store_debates(
        store_debate(project, run_id, id, {"judge": None}, {"f": value})
        for id, value in zip(documents, values, strict=True)
    )
    session = session_on(project)
    report = evaluate(session, session.run(run_id), "reviewed+gold")
    # Spearman with a tie: ranks 1, 2, 3, 4.5, 4.5 against 1, 2, 3, 4, 5 are sqrt(.95).
    assert (report.scores.main.value, report.n, report.excluded) == (pytest.approx(0.95**0.5), 5, 1)
    # The unresolved document counts as one with a correlation of 0, so that a run of few verdicts does not lead.
    assert report.rank_score == Estimate(pytest.approx(0.95**0.5 * 5 / 6))
    (row,) = leaderboard(session)
    assert row.rank_score == report.rank_score
