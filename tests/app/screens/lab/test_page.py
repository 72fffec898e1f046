"""Tests of the Lab page: edits, tests, promotion, suggestions, sweeps and refusals."""

from __future__ import annotations

import re
from concurrent.futures import Future
from functools import partial
from string import ascii_lowercase
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from app import context
from app.screens.lab import prompt
from app.widgets.codebook_versions import SAVE_HELP
from core.baseline.lexicon import FULL_LIST
from core.codebook import Kind
from core.documents import Document
from core.errors import MootError, UsageError
from core.runs import RoleModel
from core.services import document_samples, prompt_templates
from core.services.codebooks import codebook as codebooks
from core.services.codebooks.label_keywords import UNUSED_DESCRIPTION
from core.services.lab import history, suggestions, sweeps, trials
from core.services.lab.sweeps import SPEC, SweepSpec
from core.services.project_session import ProjectSession
from core.services.runs import planning
from tests.app.studio import HOSTILE, button, component_data, html, open_page, until_shown
from tests.core.services.sessions import BOOK, queue_runs, until


@pytest.fixture
def filled(session: ProjectSession) -> ProjectSession:
    clean, service = (label.id for label in BOOK.labels)
    gold = {"gold": {clean: False, service: True}}
    codebooks.save(session, BOOK)
    session.store.documents.add([Document(f"d{n}", {"text": f"friendly {HOSTILE} {n}"}, gold=gold) for n in range(12)])
    return session


def lab(**values: Any) -> AppTest:
    """Open the Lab, and draw it again with these values of its state."""
    at = open_page("lab")
    for key, value in values.items():
        at.session_state[key.replace("__", "-")] = value
    return at.run()


def judge_slot() -> prompt_templates.Slot:
    return next(slot for slot in prompt_templates.slots("ecj") if slot.key == "judge")


def test_lab_names_missing_documents_and_codebook(session: ProjectSession) -> None:
    assert "No documents yet" in html(open_page("lab"))
    session.store.documents.add([Document("a", {"text": "x"})])
    assert "No codebook is saved yet" in html(open_page("lab"))


def test_page_states_that_tests_use_the_baseline(filled: ProjectSession) -> None:
    assert "Tests use the built-in word-list baseline" in html(open_page("lab"))
    mini = RoleModel(connection="openai", model="gpt-4.1-mini", base_url="https://api.openai.com/v1")
    (run,) = queue_runs(filled)
    settings = run.settings.model_copy(update={"role_models": dict.fromkeys(run.settings.role_models, mini)})
    other = filled.store.runs.create(settings, ["d0"])
    at = open_page("lab")
    assert f"Their results say nothing about the run “{other.title}”, which used gpt-4.1-mini." in html(at)
    at = button(at, f"Use the models of {other.title}")
    assert "instead of a language model" not in html(at)


def test_protocol_and_sample_stay_while_another_page_is_visited(filled: ProjectSession) -> None:
    at = open_page("lab")
    at.selectbox(key="lab-protocol").set_value("single")
    at.selectbox(key="lab-sample").set_value(40).run()
    for page in ("data", "lab"):
        at._page_hash = calc_hash(page)
        at.run()
    assert (at.selectbox(key="lab-protocol").value, at.selectbox(key="lab-sample").value) == ("single", 40)


def test_estimate_of_a_test_names_the_calls_that_it_does_not_count(filled: ProjectSession) -> None:
    mini = RoleModel(connection="openai", model="gpt-4.1-mini", base_url="https://api.openai.com/v1")
    planning.change_plan(filled, lambda plan: plan.with_same_model(mini))
    label = BOOK.labels[1]
    codebooks.save_draft(filled, codebooks.change_label(BOOK, label.id, description="How guests are treated."))
    forecast = "; 0 replies reused. Unreadable replies are asked for once more.</div>"
    assert re.search(rf"Next test:</b> at most \d+ calls, \$[\d.]+{forecast}", html(open_page("lab")))


def test_definition_is_edited_tested_and_saved(filled: ProjectSession) -> None:
    label = BOOK.labels[1]
    codebooks.save(filled, codebooks.change_label(BOOK, label.id, description="A friendly word does not count."))
    at = open_page("lab")
    assert "No tests yet" in html(at)
    at.session_state["lab-label"] = label.id
    at.run()
    at.multiselect(key=f"lab-label-keywords-{label.id}").set_value(["rude"]).run()
    (trial,) = filled.store.lab.trials()
    until(lambda: not trials.is_trial_active(filled, trial))
    result = trials.trial_result(filled, trial)
    assert result.count("regressed") == len(result.documents) > 0
    at.run()
    assert "0 replies reused" in html(at)
    at.text_input(key="lab_note").set_value("only rudeness").run()
    save = at.button(key="lab-save-definitions")
    assert (save.label, save.help) == ("Save as v3", SAVE_HELP)
    save.click().run()
    assert "Saved as v3" in html(at)
    assert codebooks.history(filled)[0].note == "only rudeness"
    save = at.button(key="lab-save-definitions")
    assert (save.label, save.disabled) == ("Save as v4", True)
    on_codebook = open_page("codebook").button(key="codebook-save")
    assert (on_codebook.label, on_codebook.help) == (save.label, save.help)


@pytest.mark.parametrize(("keywords", "is_explained"), [(FULL_LIST, True), (FULL_LIST - 1, False)])
def test_unused_description_is_explained(filled: ProjectSession, keywords: int, is_explained: bool) -> None:
    label = BOOK.labels[1]
    words = tuple(f"word{letter}" for letter in ascii_lowercase[:keywords])
    codebooks.save(filled, codebooks.change_label(BOOK, label.id, keywords=words))
    at = lab(lab__label=label.id)
    at.text_area(key=f"lab-label-description-{label.id}").set_value("Zebras.").run()
    (trial,) = filled.store.lab.trials()
    until(lambda: not trials.is_trial_active(filled, trial))
    at.run()
    (shown,) = component_data(at, "trial_results")
    assert shown["sentence"] == "Nothing changed."
    assert (UNUSED_DESCRIPTION in shown["note"]) == is_explained
    assert "; reference: reviewed labels, else gold." in shown["note"]


def test_edited_label_is_kept_while_another_view_is_shown(filled: ProjectSession) -> None:
    at = lab(lab__label=BOOK.labels[1].id)
    for view in ("suggestions", "edit"):
        at.session_state["lab_definitions_view"] = view
        at.run()
    assert at.multiselect(key=f"lab-label-keywords-{BOOK.labels[1].id}")


def test_opening_a_version_clears_a_rejected_input(filled: ProjectSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def draw_history(**options: Any) -> None:
        st.button("Open v1", on_click=options["on_open_change"])

    monkeypatch.setattr(prompt, "_VERSION_HISTORY", draw_history)
    monkeypatch.setattr(prompt, "reported", lambda key, trigger: "v1" if "versions" in key else None)
    field = f"lab-label-name-{BOOK.labels[0].id}"
    at = open_page("lab")
    at.text_input(key=field).set_value("").run()
    assert at.text_input(key=field).value == ""
    button(at, "Open v1")
    assert at.text_input(key=field).value == BOOK.labels[0].name
    assert "moot-wrong" not in html(at)


def test_editor_does_not_overwrite_the_draft_of_another_tab(
    filled: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    slot, sent = judge_slot(), {"life": f"{judge_slot().name}-0"}
    monkeypatch.setattr(
        prompt, "_TEMPLATE_EDITOR", lambda **options: st.button("Type", on_click=options["on_text_change"])
    )
    monkeypatch.setattr(prompt, "reported", lambda key, _trigger: sent if "lab-text" in key else None)

    def stored() -> prompt_templates.TemplateStatus:
        return prompt_templates.template_status(filled, slot)

    loaded = stored().text
    at = lab(lab_subject=slot.name)
    for text in (f"{loaded}\nOne.", f"{loaded}\nOne. Two."):
        sent.update(text=text)
        button(at, "Type")
        assert stored().text == text
    prompt_templates.save_draft(filled, slot, f"{loaded}\nOther tab.", stored().base)
    own = f"{loaded}\nOne. Two. Three."
    sent["text"] = own
    button(at, "Type")
    assert stored().text == f"{loaded}\nOther tab."
    assert "The prompt was changed in another tab" in html(at)
    at.button(key="lab-keep").click().run()
    assert "First choose one of them." in html(at)
    assert [version.number for version in prompt_templates.versions(filled, slot)] == [slot.shipped.number]
    for view in ("diff", "edit"):
        at.session_state["lab_prompt_view"] = view
        at.run()
    at.button(key="draft-keep-own").click().run()
    assert stored().text == own
    assert "The prompt was changed in another tab" not in html(at)
    at.button(key="lab-keep").click().run()
    assert prompt_templates.versions(filled, slot)[-1].text == own


def test_prompt_that_another_tab_wrote_is_not_saved_before_the_user_chooses(filled: ProjectSession) -> None:
    slot = judge_slot()
    shipped = prompt_templates.template_status(filled, slot).base
    prompt_templates.save_draft(filled, slot, f"{shipped.text}\nMine.", shipped)
    at = lab(lab_subject=slot.name)
    prompt_templates.save_draft(filled, slot, f"{shipped.text}\nOther tab.", shipped)
    at.button(key="lab-keep").click().run()
    assert len(prompt_templates.versions(filled, slot)) == 1
    at.button(key="draft-discard-1").click().run()
    assert prompt_templates.template_status(filled, slot).text == f"{shipped.text}\nOther tab."
    at.button(key="draft-use-other").click().run()
    at.button(key="lab-keep").click().run()
    assert prompt_templates.versions(filled, slot)[-1].text == f"{shipped.text}\nOther tab."


def test_emptied_prompt_of_a_tab_can_be_dropped_for_that_of_another_tab(filled: ProjectSession) -> None:
    slot = judge_slot()
    shipped = prompt_templates.template_status(filled, slot).base
    prompt_templates.save_draft(filled, slot, "", shipped)
    at = lab(lab_subject=slot.name)
    prompt_templates.save_draft(filled, slot, f"{shipped.text}\nOther tab.", shipped)
    at.run()
    at.button(key="draft-use-other").click().run()
    assert "The prompt was changed in another tab" not in html(at)


def test_score_of_a_version_keeps_its_name_when_the_draft_has_another_label_type(filled: ProjectSession) -> None:
    at = open_page("lab")
    at.text_area(key=f"lab-label-description-{BOOK.labels[0].id}").set_value("Dirt of any kind.").run()
    until(lambda: history.codebook_history(filled)[0].report is not None)
    draft = codebooks.codebook_status(filled).codebook
    codebooks.save_draft(filled, codebooks.change(draft, kind="rating"))
    at.run()
    (tree,) = component_data(at, "version_history")
    assert [row["score"] is not None for row in tree["rows"]] == [True, False]
    assert tree["metric"] == "Macro F1"


def test_protocol_without_the_edited_prompt_selects_the_definitions(filled: ProjectSession) -> None:
    at = lab(lab_subject=judge_slot().name)
    at.selectbox(key="lab-protocol").set_value("single").run()
    assert at.session_state["lab_subject"] == trials.DEFINITIONS
    assert at.segmented_control(key=f"lab-subject-{trials.DEFINITIONS}").value == trials.DEFINITIONS


def test_view_is_kept_on_other_pages(filled: ProjectSession) -> None:
    at = open_page("lab")
    at.session_state["lab_definitions_view"] = "suggestions"
    for page in ("lab", "home", "lab"):
        at.switch_page(f"screens/{page}/page.py").run()
    assert at.session_state["lab_definitions_view"] == "suggestions"


def test_reset_of_definitions_removes_their_error(filled: ProjectSession) -> None:
    at = lab(lab__label=BOOK.labels[1].id)
    at.multiselect(key=f"lab-label-keywords-{BOOK.labels[1].id}").set_value(["rude"]).run()
    at.session_state["lab_problem"] = UsageError("The draft does not fit.", "Change it.")
    at.run()
    assert "The draft does not fit." in html(at)
    at.button(key="draft-discard-1").click().run()
    assert "The draft does not fit." not in html(at)


def _with_an_invalid_name() -> tuple[AppTest, str]:
    """Return the Lab with a changed description and an invalid name, and the key of the name."""
    at, label = open_page("lab"), BOOK.labels[0]
    at.text_area(key=f"lab-label-description-{label.id}").set_value("What guests pay.").run()
    name = f"lab-label-name-{label.id}"
    at.text_input(key=name).set_value("none").run()
    assert "reserved" in html(at)
    return at, name


def test_invalid_input_in_the_lab_is_not_saved_there_and_does_not_block_the_codebook(filled: ProjectSession) -> None:
    versions = len(codebooks.history(filled))
    at, _ = _with_an_invalid_name()
    at.button(key="lab-save-definitions").click().run()
    assert "Not saved: a field is invalid" in html(at)
    assert len(codebooks.history(filled)) == versions
    at.switch_page("screens/codebook/page.py").run()
    at.button(key="codebook-save").click().run()
    assert "Not saved: a field is invalid" not in html(at)
    assert len(codebooks.history(filled)) == versions + 1


def test_discard_in_the_lab_removes_invalid_inputs(filled: ProjectSession) -> None:
    at, name = _with_an_invalid_name()
    at.button(key="draft-discard-1").click().run()
    assert at.text_input(key=name).value == BOOK.labels[0].name
    assert "moot-wrong" not in html(at)


def test_prompt_is_saved_promoted_and_reverted(filled: ProjectSession) -> None:
    slot = judge_slot()
    now = prompt_templates.template_status(filled, slot)
    prompt_templates.save_draft(filled, slot, now.text + "Be brief.\n", now.base)
    at = lab(lab_subject=slot.name)
    assert "v1 shipped against the draft, +1 −0 lines" in html(at)
    until_shown(at, "does not read prompts")  # the test runs with the built-in model in every role
    button(at, "Promote draft")
    assert prompt_templates.template_status(filled, slot).default.label == "v2"
    assert trials.base_settings(filled).templates["judge"].name == "own/ecj/judge.v2"
    shipped = prompt_templates.versions(filled, slot)[0]
    prompt_templates.save_draft(filled, slot, shipped.text, shipped)
    use_other_tab(at)
    button(at, "Promote v1 shipped")
    assert prompt_templates.promoted_templates(filled) == {}


def test_reset_of_a_prompt_asks_before_a_draft_is_lost(filled: ProjectSession) -> None:
    slot = judge_slot()
    shipped = prompt_templates.versions(filled, slot)[0]
    prompt_templates.save_draft(filled, slot, shipped.text + "Be brief.\n", shipped)
    saved = prompt_templates.save_version(filled, slot)
    at = lab(lab_subject=slot.name)
    assert [(button.label, button.key) for button in at.button if "Reset" in button.label] == [
        ("Reset to shipped", "lab-reset")
    ]
    prompt_templates.save_draft(filled, slot, saved.text + "Be kind.\n", saved)
    use_other_tab(at)
    assert [(button.label, button.key) for button in at.button if "Reset" in button.label] == [
        ("Reset to v2", "draft-discard-1"),
        ("Reset to shipped", "draft-discard-2"),
    ]
    at.button(key="draft-discard-1").click().run()
    assert prompt_templates.template_status(filled, slot).text == saved.text


def test_draft_with_an_error_shows_its_line_and_is_not_tested(filled: ProjectSession) -> None:
    slot = judge_slot()
    now = prompt_templates.template_status(filled, slot)
    prompt_templates.save_draft(filled, slot, now.text + "{{ nobody }}", now.base)
    at = lab(lab_subject=slot.name)
    line = now.text.count("\n") + 1
    assert f"Line {line}: the variable" in html(at)
    assert at.button(key="lab-keep").disabled
    at.button(key="lab-try").click().run()
    assert "Fix it first" in html(at)
    assert filled.store.lab.trials() == []


def test_draft_that_fails_on_one_document_names_it_and_is_neither_tested_nor_saved(filled: ProjectSession) -> None:
    slot = judge_slot()
    now = prompt_templates.template_status(filled, slot)
    filled.store.documents.add([Document("odd", {"text": "no word of it"})])
    prompt_templates.save_draft(
        filled, slot, f"{now.text}{{{{ ['friendly'] | select('in', document) | first }}}}", now.base
    )
    at = lab(lab_subject=slot.name)
    at.button(key="lab-keep").click().run()
    assert "Rendered on document odd." in html(at)
    assert len(prompt_templates.versions(filled, slot)) == 1


def test_says_that_few_labelled_documents_make_no_held_out_split(
    filled: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_samples, "HELD_OUT_SHARE", 0.0)
    labelled = document_samples.holdout_split(filled).development
    assert f"No held-out split: only {labelled} labelled documents" in html(open_page("lab"))


def test_held_out_score_is_counted_and_lists_no_documents(filled: ProjectSession) -> None:
    book = codebooks.codebook_status(filled).codebook
    codebooks.save_draft(filled, codebooks.change_label(book, book.labels[0].id, keywords=("dirty",)))
    at = open_page("lab")
    held = len(document_samples.held_out_sample(filled).ids)
    assert f"Held-out split of {held}: not scored yet" in html(at)
    at.button(key="lab-look").click().run()
    trial = filled.store.lab.trials()[-1]
    until(lambda: not trials.is_trial_active(filled, trial))
    at.run()
    assert "scored 1 time" in html(at)
    assert trial.held_out


def test_suggestions_are_accepted_one_by_one(filled: ProjectSession) -> None:
    label = BOOK.labels[1]
    made = [
        Document(f"s{n}", {"text": f"The gondolier sang, day {n}."}, gold={"gold": {label.id: True}}) for n in range(9)
    ]
    filled.store.documents.add(made)
    book = codebooks.codebook_status(filled).codebook
    codebooks.save_draft(filled, codebooks.change(book, guideline="Only the hotel."))
    at = open_page("lab")
    until(lambda: not trials.is_trial_active(filled, filled.store.lab.trials()[-1]))
    at.session_state["lab_definitions_view"] = "suggestions"
    at.run()
    assert "gondolier" in html(at)
    take = next(button for button in at.button if button.label == "Accept")
    take.click().run()
    changed = codebooks.codebook_status(filled).codebook.label(label.id)
    assert "gondolier" in " ".join((*changed.keywords, *changed.include))
    assert not any(button.key == take.key for button in at.button)
    assert "1 accepted change" in html(at)
    at.button(key="accepted-changes-undo").click().run()
    draft = codebooks.codebook_status(filled).codebook
    assert "gondolier" not in draft.label(label.id).model_dump_json().lower()
    assert draft.guideline == "Only the hotel.", "other edits stay"
    assert "1 change undone" in html(at)
    assert "Your other unsaved changes stay in the draft." in html(at)


def test_unchanged_test_is_explained_and_suggestions_use_the_opened_run(filled: ProjectSession) -> None:
    (run,) = queue_runs(filled)
    filled.start_or_resume(run.run_id).result(30)
    at = open_page("lab")
    at.button(key="lab-try").click().run()
    box = next(value for value in html(at).split("<div") if "Nothing has changed" in value)
    assert "moot-notice info" in box
    button(at, "Use this run")
    at.session_state["lab_definitions_view"] = "suggestions"
    at.run()
    assert at.selectbox(key="lab_errors_run").value == run.run_id


def test_sweep_with_spent_budget_resumes_with_a_larger_one(filled: ProjectSession) -> None:
    role_models = [RoleModel(connection="builtin", model="lexical"), RoleModel(connection="builtin", model="other")]
    spec = SweepSpec("ecj", {}, role_models, {}, size=8, budget_usd=0.5)
    row = filled.store.lab.begin_sweep(SPEC.dump_python(spec, mode="json"))
    filled.store.lab.update_sweep(row.number, {"spent": True}, "paused", "$0.5 of the budget of $0.5 is spent")
    at = open_page("lab")
    raised = at.number_input(key=f"sweep-raise-{row.number}")
    assert raised.value == 1.0
    raised.set_value(3.0).run()
    at.button(key="sweep-go").click().run()
    assert "The budget of sweep 1 is $3.00 now" in html(at)
    until(lambda: not sweeps.is_sweep_active(filled, row.number))
    assert sweeps.find_sweep(filled, row.number).progress["budget_usd"] == 3.0


def test_a_double_click_starts_one_sweep(filled: ProjectSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.state.DOUBLE_CLICK_SECONDS", 1e9)  # longer than the machine has run, however slow it is
    at = open_page("lab")
    at.text_input(key="sweep-param-ecj-extra_rounds").set_value("0, 1").run()
    for _ in range(2):
        at.button(key="sweep-start").click().run()
    (row,) = sweeps.all_sweeps(filled)
    until(lambda: not sweeps.is_sweep_active(filled, row.number))
    assert "The best of many scores is too high on average." in html(at.run())


def test_sweep_varies_choices_and_refuses_invalid_numbers(filled: ProjectSession) -> None:
    at = open_page("lab")
    scope = at.multiselect(key="sweep-param-ecj-scope")
    scope.set_value(["all", "each"]).run()
    assert "2 configurations" in html(at)
    at.text_input(key="sweep-param-ecj-extra_rounds").set_value("1, 01").run()
    assert "2 configurations" in html(at), "both are the number 1"
    at.text_input(key="sweep-param-ecj-extra_rounds").set_value("0, many").run()
    assert "From 0 to" in html(at)
    assert "Correct the parameters." in html(at)
    assert not [button for button in at.button if button.key == "sweep-start"]


def test_ranking_stays_open_when_its_sweep_ends(filled: ProjectSession) -> None:
    def is_open() -> bool:
        (section,) = (expander for expander in open_page("lab").expander if expander.label.startswith("Sweep"))
        return bool(section.proto.expanded)

    assert not is_open()
    row = filled.store.lab.begin_sweep(TWO_MODELS)
    assert is_open()
    filled.store.lab.update_sweep(row.number, {}, "done")
    assert is_open()


def test_older_sweep_is_chosen_while_it_runs(filled: ProjectSession, monkeypatch: pytest.MonkeyPatch) -> None:
    for message in ("first", "second"):
        filled.store.lab.update_sweep(filled.store.lab.begin_sweep(TWO_MODELS).number, {}, "paused", message)
    monkeypatch.setattr(sweeps, "is_sweep_active", lambda _session, sweep: sweep == 1)
    at = open_page("lab")
    assert "up to 8 documents, second" in html(at)
    assert "sweep-go" in {button.key for button in at.button}
    at.selectbox(key="sweep-shown-2").set_value(1).run()
    assert "up to 8 documents, first" in html(at)
    assert "sweep-pause" in {button.key for button in at.button}


def test_varied_settings_of_a_sweep_are_named_in_words(filled: ProjectSession) -> None:
    role_models = [RoleModel.parse("builtin/lexical"), RoleModel.parse("builtin/other")]
    spec = SweepSpec("ecj", {}, role_models, {"extra_rounds": [0, 1]}, size=8)
    filled.store.lab.begin_sweep(SPEC.dump_python(spec, mode="json"))
    shown = html(open_page("lab"))
    assert '<th class="text">Extra rounds</th>' in shown
    assert '<th class="text">Model</th>' in shown


TWO_MODELS = SPEC.dump_python(SweepSpec("ecj", {}, [RoleModel.parse("builtin/lexical")] * 2, {}, 8), mode="json")


@pytest.mark.parametrize(
    ("spec", "progress"),
    [
        ({}, {}),
        ([], []),
        ({**TWO_MODELS, "params": {"x": [1] * 100_000}}, {}),
        (TWO_MODELS, {"remaining": 5}),
        (TWO_MODELS, {"runs": [HOSTILE]}),
        ({**TWO_MODELS, "size": HOSTILE}, {}),
    ],
)
def test_forged_sweep_is_refused_in_words(filled: ProjectSession, spec: Any, progress: Any) -> None:
    row = filled.store.lab.begin_sweep(spec)
    filled.store.lab.update_sweep(row.number, progress, "done", HOSTILE)
    shown = html(open_page("lab"))
    assert "cannot be read" in shown or "more than 64 configurations" in shown
    assert "<img src=x" not in shown


@pytest.mark.parametrize(("kind", "measure"), [("rating", "Mean Spearman"), ("choice", "Macro F1")])
def test_ranking_of_a_sweep_names_its_score(filled: ProjectSession, kind: Kind, measure: str) -> None:
    codebooks.save(filled, codebooks.change(BOOK, kind=kind))
    filled.store.lab.update_sweep(filled.store.lab.begin_sweep(TWO_MODELS).number, {}, "done")
    assert f">{measure}</span></th>" in html(open_page("lab"))


def test_sweep_names_saved_debates_and_configurations_that_stopped_early(filled: ProjectSession) -> None:
    from app.screens.lab import sweep

    configuration = sweeps.all_configurations(SPEC.validate_python(TWO_MODELS))[0]
    rows = [sweep._row(sweeps.RankedConfiguration(configuration, 0, n, None, None, "", False), [], 8) for n in (4, 8)]
    assert ["stopped after" in row[-1] for row in rows] == [True, False]
    at = open_page("lab")
    rounds = at.text_input(key="sweep-param-ecj-extra_rounds")
    rounds.set_value("0, 1").run()
    assert "2 configurations, at most" in html(at)
    assert "instead of" not in html(at).partition("2 configurations, at most")[2][:40], "both have all documents"
    rounds.set_value("0, 1, 2, 3").run()
    assert " debates instead of " in html(at)


def test_hostile_models_and_values_of_a_sweep_are_refused_in_words(filled: ProjectSession) -> None:
    at = open_page("lab")
    at.text_input(key="sweep-param-ecj-extra_rounds").set_value("1e999, nan, " + "9" * 5000).run()
    assert "From 0 to" in html(at)
    at.text_input(key="sweep-param-ecj-extra_rounds").set_value("").run()
    for model in ("x" * 10_000, f"{HOSTILE}/m", "local/../../etc", "\u202e/x", "{{7*7}}/m"):
        with pytest.raises(MootError):
            sweeps.start_sweep(filled, SweepSpec("ecj", {}, [RoleModel.parse(model)] * 2, {}, 8))
    assert sweeps.all_sweeps(filled) == []


def test_reload_shows_a_rewrite_that_is_being_written_and_then_its_proposal(
    filled: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    planning.save_plan(filled, planning.Plan().with_same_model(RoleModel(connection="openai", model="gpt-4.1")))
    reply: Future[suggestions.Proposal] = Future()
    monkeypatch.setattr(suggestions, "propose_rewrite", lambda *_, **__: reply)

    suggested = partial(lab, lab_definitions_view="suggestions")
    at = suggested()
    at.button(key="lab-rewrite").click().run()
    reloaded = suggested()
    for tab in (at, reloaded):
        assert [bar.proto.text for bar in tab.get("progress")] == [r"openai\/gpt\-4\.1 is writing"]
        assert tab.button(key="lab-rewrite-stop")
    first = BOOK.labels[0]
    better = first.model_copy(update={"description": "Better words."})
    reply.set_result(suggestions.Proposal(first, better, "why", "openai/gpt-4.1", 0.1, cached=False))
    for tab in (reloaded, at, suggested()):
        assert "Better words." in re.sub(r"<[^>]+>", "", html(tab.run()))
    at.button(key="lab-leave-description").click().run()
    assert "All changes are decided." in html(reloaded.run())


def use_other_tab(at: AppTest) -> None:
    """Draw the page, which notices that another tab has changed the draft, and take that draft."""
    at.run().button(key="draft-use-other").click().run()


def test_definition_that_another_tab_wrote_is_not_saved_before_the_user_chooses(filled: ProjectSession) -> None:
    field = f"lab-label-description-{BOOK.labels[0].id}"
    at = open_page("lab")
    at.text_area(key=field).set_value("Dirt of any kind.").run()
    codebooks.save_draft(filled, codebooks.change_label(BOOK, BOOK.labels[0].id, description="Other tab."))
    at.button(key="lab-save-definitions").click().run()
    assert len(codebooks.history(filled)) == 1
    assert at.text_area(key=field).value == "Dirt of any kind."
    at.button(key="draft-keep-own").click().run()
    at.button(key="lab-save-definitions").click().run()
    assert codebooks.current(filled).label(BOOK.labels[0].id).description == "Dirt of any kind."


@pytest.mark.parametrize("subject", ["definitions", "prompt"])
def test_text_of_another_tab_is_not_tested_before_the_user_chooses(filled: ProjectSession, subject: str) -> None:
    slot, label = judge_slot(), BOOK.labels[0]
    shipped = prompt_templates.template_status(filled, slot).base
    if subject == "definitions":
        at = open_page("lab")
        codebooks.save_draft(filled, codebooks.change_label(BOOK, label.id, description="Other tab."))
    else:
        at = lab(lab_subject=slot.name)
        prompt_templates.save_draft(filled, slot, f"{shipped.text}\nOther tab.", shipped)
    at.button(key="lab-try").click().run()  # the choice was not on the page yet
    assert "First choose one of them." in html(at)
    test = at.button(key="lab-try")
    assert (test.disabled, test.help) == (True, "First choose between the texts of two tabs.")
    for key in ("lab-one", "lab-look"):
        at.button(key=key).click().run()
        assert "First choose one of them." in html(at)
    assert not filled.store.lab.trials()
    at.button(key="draft-use-other").click().run()
    assert not at.button(key="lab-try").disabled
    at.button(key="lab-try").click().run()
    assert filled.store.lab.trials()


def test_rewrite_is_not_offered_for_deleted_labels(filled: ProjectSession) -> None:
    planning.save_plan(filled, planning.Plan().with_same_model(RoleModel(connection="openai", model="gpt-4.1")))
    first, second = BOOK.labels
    better = first.model_copy(update={"description": "Better words."})
    at = open_page("lab")
    at.session_state["lab_definitions_view"] = "suggestions"
    rewrite = context.workspace().shared(suggestions.Rewrite, filled.path)
    rewrite.proposal = suggestions.Proposal(first, better, "why", "openai/gpt-4.1", 0.1, cached=False)
    assert "Better words." in re.sub(r"<[^>]+>", "", html(at.run()))
    assert not at.button(key="lab-take-description").disabled
    codebooks.save_draft(filled, codebooks.change_label(BOOK, first.id, description="My words."))
    at.run().button(key="lab-take-description").click().run()
    assert codebooks.codebook_status(filled).codebook.label(first.id).description == "My words."
    use_other_tab(at)
    assert at.button(key="lab-take-description").disabled, "it would replace the user's words"
    rest = codebooks.delete_label(BOOK, first.id)
    codebooks.save_draft(filled, rest)
    use_other_tab(at)
    assert "Better words." not in re.sub(r"<[^>]+>", "", html(at))
    codebooks.save_draft(filled, codebooks.delete_label(rest, second.id))
    use_other_tab(at)
    assert "No labels yet. Add one on the Codebook page." in html(at)
    assert "Propose a rewrite" not in [button.label for button in at.button]


def test_note_stays_while_the_user_looks_at_another_page_and_ends_with_the_draft(filled: ProjectSession) -> None:
    codebooks.save_draft(filled, codebooks.change(BOOK, domain="hotels"))
    at = open_page("lab")
    at.text_input(key="lab_note").set_value("hotels only").run()
    for page in ("models", "lab"):
        at.switch_page(f"screens/{page}/page.py").run()
    assert at.text_input(key="lab_note").value == "hotels only"
    at.button(key="draft-discard-1").click().run()
    codebooks.save_draft(filled, codebooks.change(BOOK, domain="ships"))
    use_other_tab(at)
    assert at.text_input(key="lab_note").value == ""
