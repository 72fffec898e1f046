"""Lab page: change a prompt or a definition and test the effect."""

from __future__ import annotations

from functools import partial

import streamlit as st

from app import context
from app.screens.lab import definitions, prompt, results, sweep
from app.state import LabState, bound, run_slow, state, with_default
from app.widgets.alerts import error_box, error_boxes, notice
from app.widgets.document_drawer import excerpt
from app.widgets.elements import button, choose, facts, line, literal
from app.widgets.layout import empty_page, header, write_url
from app.widgets.run_picker import run_words
from core.debate import protocols
from core.errors import MootError, PromptError
from core.formatting import format_count
from core.runs import RunRow
from core.services import document_samples, prompt_templates
from core.services.codebooks import codebook as codebooks
from core.services.codebooks import prompt_diff
from core.services.data.overview import count_documents
from core.services.evaluation import annotation_arrays
from core.services.lab import trials
from core.services.project_session import ProjectSession
from core.services.prompt_templates import Slot
from core.services.runs import configuration, planning, rerun
from core.services.runs.planning import Plan

SIZES = {size: f"Sample: {size}, stratified" for size in document_samples.SIZES}


def main() -> None:
    session = context.require_project()
    if not can_test(session):
        return
    plan = lab_plan(session)
    slots = prompt_templates.slots(plan.protocol, plan.for_protocol().params)
    slot = next((slot for slot in slots if slot.name == state.lab.subject), None)
    if slot is None:  # also after a change of the protocol, which may have other prompts
        state.lab.select_subject(trials.DEFINITIONS)
    write_url(prompt=slot.name if slot is not None else None)
    with st.container():  # also without a notice, so that open popovers stay open when it goes
        if (document_id := LabState.requested_document.pop()) is not None:
            choose_document(session, document_id)
    page_header(session, plan, slot)
    warn_of_baseline(session, plan)
    subject_picker(slots)
    above = st.container()
    left, right = st.columns([1, 1.06], gap="small")
    with left:
        if slot is None:
            definitions.definitions(session, plan)
        else:
            prompt.prompt(session, plan, slot, run_test=partial(run_slow, run_test, session, plan, slot))
    if is_instant(plan) and has_testable_change(session, slot):
        run_test(session, plan, slot, quietly=True)
    if problem := state.lab.problem:
        with above:
            error_box(problem)
    with right:
        results.outcome(session, plan, slot, instant=is_instant(plan))
    sweep.draw(session, plan)


def can_test(session: ProjectSession) -> bool:
    """Return True if changes can be tested. Otherwise draw the missing step."""
    if not count_documents(session):
        words = "A change is tested on documents, preferably with gold or reviewed labels."
        empty_page("Lab", "No documents yet", words, sign="lines")
        return False
    if codebooks.current(session) is None:
        words = "Prompts contain its definitions. Save it first."
        empty_page("Lab", "No codebook is saved yet", words, sign="lines")
        return False
    return True


def lab_plan(session: ProjectSession) -> Plan:
    plan = planning.load_plan(session)
    book = codebooks.current(session)
    protocol = state.lab.protocol or plan.protocol
    name = prompt_diff.protocol_for(book, protocol) if book is not None else plan.protocol
    return plan if name == plan.protocol else plan.with_protocol(name)


def is_instant(plan: Plan) -> bool:
    """Return True if a test is free and immediate, because all roles use the built-in model."""
    return all(role_model.is_builtin for role_model in plan.models)


def has_testable_change(session: ProjectSession, slot: Slot | None) -> bool:
    if prompt.is_choice_open(session, slot):
        return False  # a test has the stored text, which the page does not show
    if slot is None:
        return codebooks.codebook_status(session).dirty
    status = prompt_templates.template_status(session, slot)
    return status.changed and status.usable


def run_test(session: ProjectSession, plan: Plan, slot: Slot | None, *, quietly: bool = False) -> None:
    """Test the change on the sample. ``quietly`` shows only errors of prompts that cannot be rendered."""
    try:
        prompt.require_choice(session, slot)
        change = trials.draft_change(session, slot, plan)
        size = state.lab.sample_size
        sample = document_samples.project_sample(session, size)
        is_new = state.lab.is_new_trial(f"{change.request_hashes} {size}")
        if quietly and (change.unchanged or not is_new):
            return  # keep the current view (one document, the held-out score, or an error)
        LabState.problem.reset()
        trial = trials.start_trial(session, change, sample)
        state.lab.show_trial(trial)
        if is_instant(plan):
            trials.wait_for_trial(session, trial, seconds=1.5)
    except MootError as error:
        if not quietly or isinstance(error, PromptError):
            state.lab.problem = error


def page_header(session: ProjectSession, plan: Plan, slot: Slot | None) -> None:
    book = codebooks.current(session)
    names = protocols.supporting(book.kind) if book is not None else []
    subject = "definitions" if slot is None else slot.title.lower()
    with header("Lab", f"{protocols.find(plan.protocol).title}: {subject}", key="lab-head"):
        if len(names) > 1:
            titles = {name: protocols.find(name).title for name in names}
            binding = bound("lab-protocol", plan.protocol, LabState.protocol.set)
            choose(st.selectbox, "Protocol", titles, width=220, **binding)
        choose(
            st.selectbox,
            "Sample",
            SIZES,
            width=190,
            **bound("lab-sample", state.lab.sample_size, LabState.sample_size.set),
            help="A quarter each: wrong before, right before, disagreement, random. The same documents for each test.",
        )
        base = rerun.base_run(session, plan)
        models = configuration.model_names(plan.models)
        base_name = literal(base.title if base is not None else ", ".join(models))
        help = f"{base_name}: models, parameters and prompts that changes are tested with"  # the label may be cut
        with st.popover(f"Base: {base_name}", help=help):
            choose_base(session, base)
        with st.popover("Test one document"):
            single_document_test(session, plan, slot)
        tried = trials.find_trial(session, trials.DEFINITIONS if slot is None else slot.name)
        title = "Test again" if tried else "Test"
        is_choice_open = prompt.is_choice_open(session, slot)
        help = "First choose between the texts of two tabs." if is_choice_open else ""
        options = {"type": "primary", "icon": "play_arrow", "shortcut": "Ctrl+Enter"}
        button(title, "lab-try", run_slow, run_test, session, plan, slot, disabled=is_choice_open, help=help, **options)


def single_document_test(session: ProjectSession, plan: Plan, slot: Slot | None) -> None:
    line("Watch one document live, beside its result before the change.")
    count = document_samples.count_visible(session)
    if not count:
        line("All documents are held out.")
        return
    number = st.number_input("Document", 1, count, key=with_default(LabState.single_position.key, 1))
    document = document_samples.visible_document(session, int(number))
    line(f"{document.id}: {excerpt(document.text)[:120]}", "q")
    if st.button("Test this document", type="primary", key="lab-one"):
        LabState.problem.reset()
        with error_boxes():
            prompt.require_choice(session, slot)
            change = trials.draft_change(session, slot, plan)
            sample = document_samples.single_document(session, document.id)
            trial = trials.start_trial(session, change, sample, pace=plan.pace)
            state.lab.show_trial(trial)
            st.rerun()


def choose_document(session: ProjectSession, document_id: str) -> None:
    """Choose a document under "Test one document", and say so."""
    number = document_samples.visible_number(session, document_id)
    if number is None:
        notice("warn", f"{document_id} is held out", "Tests use other documents, so that the final score stays fair.")
        return
    state.lab.single_position = number
    head = f"{document_id} is chosen under “Test one document”"
    notice("info", head, "Edit a prompt or a definition, then test it on this document.")


def choose_base(session: ProjectSession, base: RunRow | None) -> None:
    runs = {row.run_id: row for row in annotation_arrays.ranked_runs(session)}
    if not runs:
        line("No runs yet. Tests use the models that are chosen on Models.", "q")
        return
    run_id = st.selectbox(
        "Run",
        list(runs),
        format_func=lambda id: run_words(runs[id]),
        key="lab-run",
        index=list(runs).index(base.run_id) if base is not None and base.run_id in runs else 0,
    )
    run = runs[run_id]
    facts(
        [
            (heading, value)
            for heading, value in configuration.configuration(run.settings, run.documents).items()
            if heading in (configuration.MODELS, configuration.PROMPTS, "Parameters", "Seed")
        ],
        text=True,
    )
    button("Use this run", "lab-open-run", use_run, session, run, type="primary")


def use_run(session: ProjectSession, run: RunRow) -> None:
    """Test with models, parameters and prompts of a run from now on."""
    changed = rerun.use_run(session, run)
    state.lab.open_run(run)
    changes = f"{format_count(changed, 'prompt')} changed in the editor."
    state.set_notice("ok", f"Tests use the models, parameters and prompts of {run.title}", changes)


def warn_of_baseline(session: ProjectSession, plan: Plan) -> None:
    """Say that tests use the word-list baseline, if a run used another model."""
    if not is_instant(plan):
        return
    latest = next((run for run in annotation_arrays.ranked_runs(session) if not run.settings.is_builtin), None)
    if latest is None:
        line("Tests use the built-in word-list baseline: free and immediate, but not a language model.")
        return
    used = latest.settings.role_models.values()
    models = ", ".join(configuration.model_names(model for model in used if not model.is_builtin))
    words = f"Their results say nothing about the run “{latest.title}”, which used {models}."
    use = f"Use the models of {literal(latest.title)}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="lab-baseline"):
        notice("warn", "Tests use the word-list baseline instead of a language model", words)
        button(use, "lab-use-models", use_run, session, latest)


def subject_picker(slots: tuple[Slot, ...]) -> None:
    unshared = {slot.name: slot.title for slot in slots if not slot.shared}
    shared = {slot.name: slot.title for slot in slots if slot.shared}
    names = {trials.DEFINITIONS: "Definitions", **unshared}
    current = state.lab.subject
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="lab-subjects"):
        subject = choose(
            st.segmented_control,
            "Edit",
            names,
            default=current if current in names else None,
            key=f"lab-subject-{current}",
            required=current in names,
        )
        other = choose(
            st.selectbox,
            "Shared prompt parts",
            shared,
            index=list(shared).index(current) if current in shared else None,
            placeholder="Shared prompt parts",
            key=f"lab-shared-{current}",
            width=250,
        )
    for wanted in (subject, other):
        if wanted is not None and wanted != current:
            state.lab.select_subject(wanted)
            st.rerun()


main()
