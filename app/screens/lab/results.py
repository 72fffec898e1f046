"""Right side of the Lab: trial results, held-out split and promotion."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

import streamlit as st
from markupsafe import Markup

from app.components import component
from app.screens.lab import definitions, prompt
from app.state import LabState, run_slow, state
from app.widgets.alerts import error_box, notice
from app.widgets.document_drawer import document_drawer
from app.widgets.elements import button, line
from app.widgets.labels import label_data
from app.widgets.layout import empty, panel
from app.widgets.metric_tables import estimate_data
from core.codebook import Kind
from core.errors import MootError
from core.formatting import format_count, format_price
from core.services import document_samples, prompt_templates
from core.services.lab import trials
from core.services.lab.trials import EFFECT_ORDER, Trial, TrialResult, TrialStatus
from core.services.project_session import ProjectSession
from core.services.prompt_templates import Slot
from core.services.runs.cost_estimate import REPEATS
from core.services.runs.planning import Plan
from core.stats.comparison import rule
from core.stats.intervals import FEW_DOCUMENTS, format_estimate
from core.stats.metrics import main_metric

_TRIAL_RESULTS = component("trial_results")
RESULTS_KEY = "lab-outcome"


def outcome(session: ProjectSession, plan: Plan, slot: Slot | None, *, instant: bool) -> None:
    """Draw the shown trial and its actions, and the cost of the next test unless tests are ``instant``."""
    subject = trials.DEFINITIONS if slot is None else slot.name
    trial = trials.find_trial(session, subject, state.lab.trials.get(subject))
    price = None if instant else _forecast(session, plan, slot)
    help = _significance_help(session.run(trial.after_run).settings.codebook.kind) if trial is not None else ""
    with panel("Results", _summary(trial), help=help, key="lab-did") as head:
        if price:
            line(Markup("<b>Next test:</b> {}").format(price))
        if trial is None:
            empty(
                "No tests yet",
                "Edit the prompt or definition on the left and test it. The effect on each document is shown here.",
                sign="lines",
                key="lab-untried",
            )
        elif trials.is_trial_active(session, trial):
            _trial_progress(session, trial)
        else:
            status = trials.trial_status(session, trial)
            with head:
                line(_cost(status), "q xs", width="content")
            _trial_results(session, status, slot)
        _holdout(session, plan, slot)
    if trial is not None and not trial.held_out:  # a test of one document opens it at once
        runs = [session.run(trial.before_run), session.run(trial.after_run)]
        titles = {trial.before_run: f"Before: {trial.before}", trial.after_run: f"After: {trial.after}"}
        tested = list(trial.sample["strata"])
        document_drawer(
            session,
            runs,
            runs[-1].settings.codebook,
            titles=titles,
            document=tested[0] if len(tested) == 1 else None,
            request=str(trial.number),
            key="lab-drawer",
        )


def _forecast(session: ProjectSession, plan: Plan, slot: Slot | None) -> str:
    """Return the estimated calls and cost of the next test; empty without a new change that can be tested."""
    try:
        prompt.require_choice(session, slot)
        change = trials.draft_change(session, slot, plan)
        sample = document_samples.project_sample(session, state.lab.sample_size)
        if change.unchanged or trials.was_tried(session, change, sample):
            return ""
        forecast = trials.forecast_trial(session, change, sample)
    except MootError:
        return ""  # the editor shows the error
    cost = format_price(forecast.cost_usd)
    reused = format_count(forecast.reused, "reply", "replies")
    return f"at most {format_count(forecast.calls, 'call')}, {cost}; {reused} reused. {REPEATS}"


def _summary(trial: Trial | None) -> str:
    if trial is None:
        return ""
    sample = trial.sample
    documents = format_count(len(sample["strata"]), "document")
    basis = f"the held-out split ({documents})" if trial.held_out else documents
    seed = f", drawn with seed {sample['seed']}" if len(sample["strata"]) > 1 and not trial.held_out else ""
    return f"Test no. {trial.number}: {trial.after} against {trial.before} on {basis}{seed}"


def _significance_help(kind: Kind) -> str:
    main = "" if kind == "rating" else main_metric(kind).name  # the dimensions of ratings have the main measure
    return f"A change is green or red if {rule(kind, main=main)}"


def _cost(status: TrialStatus) -> str:
    reused = format_count(status.reused, "reply", "replies")
    return f"{format_count(status.calls, 'call')}, {format_price(status.cost_usd)}, {reused} reused"


@st.fragment(run_every=0.5)
def _trial_progress(session: ProjectSession, trial: Trial) -> None:
    """Draw the progress of a trial. Rerun the page when the trial ends."""
    if not trials.is_trial_active(session, trial):
        st.rerun()
    status = trials.trial_status(session, trial)
    total = status.after.documents + status.before.documents
    ended = status.after.ended + status.before.ended
    st.progress(ended / total if total else 0.0, text=f"{ended} of {total} debates, {_cost(status)} so far")
    button("Stop", "lab-stop", trials.stop_trial, session, trial)


def _trial_results(session: ProjectSession, status: TrialStatus, slot: Slot | None) -> None:
    if status.state != "done":
        _stop_notice(status)
    trial = status.trial
    result = trials.trial_result(session, trial)
    if not result.documents:
        return
    codebook = status.after.settings.codebook
    if slot is not None and status.after.settings.is_builtin:
        notice(
            "info",
            "The built-in model does not read prompts",
            "Only definitions affect its labels. Choose a language model on the Models page to test this prompt.",
        )
    pair, kind, main = result.comparison, codebook.kind, main_metric(codebook.kind)
    of_labels = "the share off by less than a point" if kind == "rating" else "F1, points"
    changes = [(label.name, label.colour, label.difference, label.verdict) for label in pair.labels]
    has_main = kind != "rating"  # labels have the same measure
    if has_main:
        changes.insert(0, (main.name, 0, pair.main.difference, pair.main.verdict))
    notes = []
    if result.is_unchanged:
        notes.append(trials.unused_edit(status.before.settings, status.after.settings))
    if result.before.value is not None:
        scores = f"{main.name} {format_estimate(result.before)} before, {format_estimate(result.after)} after"
        notes.append(f"{scores}; reference: reviewed labels, else gold.")
    _TRIAL_RESULTS(
        key=RESULTS_KEY,
        data={
            "counts": {effect: result.count(effect) for effect in EFFECT_ORDER},
            "rows": [asdict(document) for document in result.documents] if not trial.held_out else [],
            "sentence": result.sentence,
            "note": " ".join(filter(None, notes)),
            "warning": _score_limits(result),
            "metric": f"Change in {of_labels}",
            "kind": kind,
            "labels": label_data(trials.compared_labels(status.before.settings.codebook, codebook)),
            "score_changes": [
                {"name": name, "colour": colour, "clear": verdict in ("better", "worse"), **estimate_data(change)}
                for name, colour, change, verdict in changes
            ],
        },
    )


def _score_limits(result: TrialResult) -> str:
    """Return the limits of the score as text, empty for none."""
    scores = result.comparison.scores
    if not result.labelled:
        return "None of these documents has gold or reviewed labels. Read the changed documents; there is no score."
    undecided = ""
    if scores.excluded:
        documents = format_count(scores.excluded, "labelled document")
        undecided = f"{documents} without a complete verdict in both runs: neither corrected nor regressed, not scored."
    if scores.n >= FEW_DOCUMENTS:
        return undecided
    documents = format_count(scores.n, "scored document" if undecided else "labelled document")
    few = f"{documents}: too few for a reliable score. Read them, or test at least {FEW_DOCUMENTS}."
    return f"{undecided} {few}".lstrip()


def _stop_notice(status: TrialStatus) -> None:
    if isinstance(status.error, MootError):
        error_box(status.error)
        return
    message = f"{status.after.message or status.before.message}\nPaid replies are kept. Test again to continue."
    notice("warn", f"The test is {status.state} at {status.after.ended} of {status.after.documents}", message.strip())


# -- the held-out split and the default


def _holdout(session: ProjectSession, plan: Plan, slot: Slot | None) -> None:
    split = document_samples.holdout_split(session)
    count = split.held_out
    times = f"scored {format_count(split.looks, 'time')}" if split.looks else "not scored yet"
    labelled = format_count(split.development, "labelled document") if split.development else "no labelled documents"
    only = "only " if split.development else ""
    words = f"Held-out split of {count}: {times}" if count else f"No held-out split: {only}{labelled}"
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="lab-guard"):
        line(Markup("<b>{}</b>").format(words))
        with st.popover("Score held-out", disabled=not count):
            line(
                "Scores the draft, or the version in the editor, against the version before it, "
                "on documents not used for tuning. Every score is counted: repeated looks amount to tuning."
            )
            score = f"Score ({_ordinal(split.looks + 1)} time)"
            button(score, "lab-look", run_slow, _score_held_out, session, plan, slot, type="primary")
        _promote(session, slot)


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _score_held_out(session: ProjectSession, plan: Plan, slot: Slot | None) -> None:
    LabState.problem.reset()
    try:
        prompt.require_choice(session, slot)
        change = trials.held_out_change(session, slot, plan)
        trial = trials.start_trial(session, change, document_samples.held_out_sample(session))
        state.lab.show_trial(trial)
    except MootError as error:
        state.lab.problem = error


def _promote(session: ProjectSession, slot: Slot | None) -> None:
    if slot is None:
        definitions.save_button(session)
        return
    status = prompt_templates.template_status(session, slot)
    version = "draft" if status.changed else status.base.label
    is_default = not status.changed and status.base.name == status.default.name
    help = "This is already the project's default" if is_default else "Use it in new runs of this project"
    promote = partial(_promoted, session, slot)
    disabled = is_default or not status.usable
    button(f"Promote {version}", "lab-promote", promote, type="primary", disabled=disabled, help=help)


def _promoted(session: ProjectSession, slot: Slot) -> None:
    status = prompt_templates.template_status(session, slot)
    version = status.base
    if status.changed:
        version = slot.shipped if status.text == slot.shipped.text else prompt.save(session, slot)
    prompt.promote(session, slot, version)
