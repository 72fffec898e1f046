"""Sweeps on the Lab page: setup, progress and ranking."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape
from typing import Any

import streamlit as st
from markupsafe import Markup

from app.state import LabState, run_slow, state
from app.widgets.alerts import STATE_TONES, badge_html, error_box, notice
from app.widgets.elements import button, choose, line, literal, table
from core.codebook import Kind
from core.debate import protocols
from core.errors import MootError, UsageError
from core.formatting import format_count, format_money, format_number, format_price
from core.runs import RoleModel
from core.services import prompt_templates
from core.services.codebooks import codebook as codebooks
from core.services.lab import history, sweeps
from core.services.lab.sweeps import RankedConfiguration, SweepRow, SweepSpec
from core.services.project_session import ProjectSession
from core.services.runs.planning import Plan
from core.stats.intervals import Estimate, format_interval


def draw(session: ProjectSession, plan: Plan) -> None:
    rows = sweeps.all_sweeps(session)
    # Another value would close or open it in the browser, also at the end of a sweep that the user watches.
    with st.expander("Sweep: compare many prompt versions, models or parameters", expanded=bool(rows)):
        left, right = st.columns([1, 1.6], gap="medium")
        with left:
            _setup(session, plan)
        with right:
            if rows:
                sweep = _choose([row.number for row in reversed(rows)])
                moving = sweeps.is_sweep_active(session, sweep)
                st.fragment(_shown, run_every=1.5 if moving else None)(session, sweep, moving)
            else:
                line(
                    "All configurations are tested on a few documents, the better half on twice as many, and so on. "
                    "Replies are reused, and a sweep can be resumed.",
                    "q",
                )


def _choose(numbers: Sequence[int]) -> int:
    """Return the number of the sweep to show: the first one unless the user chooses another."""
    if len(numbers) == 1:
        return numbers[0]
    titles = {number: f"Sweep {number}" for number in numbers}
    return int(choose(st.selectbox, "Sweep", titles, key=f"sweep-shown-{len(numbers)}", width=140))


def _setup(session: ProjectSession, plan: Plan) -> None:
    versions: dict[str, list[str]] = {}
    for slot in prompt_templates.slots(plan.protocol):  # a sweep has the default parameters and no preset
        slot_versions = prompt_templates.versions(session, slot)
        if len(slot_versions) > 1:
            labels = {version.name: version.label for version in slot_versions}
            selected = st.multiselect(
                f"{literal(slot.title)}, versions",
                list(labels),
                default=list(labels),
                format_func=labels.__getitem__,
                key=f"sweep-{slot.name}-{len(slot_versions)}",
            )
            if selected:
                versions[slot.name] = selected
    specs = list(dict.fromkeys(role_model.spec for role_model in plan.models))
    typed = st.multiselect(
        "Models for all roles",
        specs,
        default=specs[:1],
        accept_new_options=True,
        key="sweep-models",
        help="connection/model. Type to add others.",
    )
    params = _params(plan)
    size = st.select_slider("Final-round sample size", (8, 12, 20, 40, 80, 160), value=20, key="sweep-size")
    budget = st.number_input(
        "Budget ($)", min_value=0.01, value=None, format="%.2f", key="sweep-budget", placeholder="none"
    )
    if params is None:
        line("Correct the parameters.", "q")
        return
    try:
        role_models = [RoleModel.parse(name, sampling=plan.default_model.sampling) for name in typed]
        spec = SweepSpec(plan.protocol, versions, role_models or [plan.default_model], params, int(size), budget)
        count = len(sweeps.all_configurations(spec))
    except UsageError as error:
        line(str(error), "q")
        return
    max_debates, without_rounds = sweeps.count_debates(count, spec.size), count * spec.size
    debates = f"at most {max_debates:,} debates" + (
        f" instead of {without_rounds:,}" if max_debates < without_rounds else ""
    )
    line(f"{format_count(count, 'configuration')}, {debates}")
    start = partial(run_slow, sweeps.start_sweep, session, spec)
    button("Start sweep", "sweep-start", state.once, "sweep", start, icon="grid_view")


def _params(plan: Plan) -> dict[str, list[Any]] | None:
    """Draw the parameters to vary; return their values by parameter name, or None if a value is invalid."""
    spec = protocols.find(plan.protocol)
    params = [param for param in spec.params if not param.hidden]
    varied: dict[str, list[Any]] = {}
    if not params:
        return varied
    valid = True
    with st.popover("Parameters", icon=":material/tune:"):
        for param in params:
            field: dict[str, Any] = {"key": f"sweep-param-{spec.name}-{param.name}", "help": param.help}
            default = param.format(param.default)
            values: list[Any]
            if options := [False, True] if isinstance(param.default, bool) else list(param.choices):
                values = st.multiselect(param.title, options, format_func=param.format, placeholder=default, **field)
            else:
                typed = st.text_input(param.title, placeholder=f"{default}; several: a, b", **field)
                values = [word.strip() for word in typed.split(",") if word.strip()]
            try:
                if values:
                    varied[param.name] = list(dict.fromkeys(param.read(value, spec.name) for value in values))
            except UsageError:
                valid = False
                st.html(f'<div class="moot-wrong" role="alert">{escape(param.allowed_values)}</div>')
    return varied if valid else None


def _shown(session: ProjectSession, sweep: int, moved: bool) -> None:
    """Draw the status and the ranking of a sweep. If it has started or ended since, draw the page again."""
    moving = sweeps.is_sweep_active(session, sweep)
    if moved != moving:
        st.rerun()
    row = sweeps.find_sweep(session, sweep)
    try:
        ranking, progress = sweeps.rank_configurations(session, row), sweeps.read_progress(row)
    except MootError as error:
        error_box(error)
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        spec = sweeps.read_spec(row)
        badge = badge_html(row.state, STATE_TONES.get(row.state, ""))
        about = (format_count(len(ranking), "configuration"), f"up to {spec.size} documents", row.message)
        st.html(
            f'<div class="moot-panel"><h2>Sweep {row.number}</h2>{badge}'
            f"<span>{escape(', '.join(filter(None, about)))}</span></div>",
            width="stretch",
        )
        if moving:
            button("Pause", "sweep-pause", sweeps.pause_sweep, session, sweep)
        elif row.state in ("paused", "failed"):
            budget = sweeps.sweep_budget(spec, progress)
            if progress.spent and budget is not None:
                st.number_input(
                    "Budget of this sweep in dollars",
                    min_value=budget,
                    value=2 * budget,
                    format="%.4f",
                    label_visibility="collapsed",
                    key=f"sweep-raise-{row.number}",
                    width=130,
                    help="In total, including what is already spent",
                )
            button("Resume", "sweep-go", _resume, session, row)
    _ranking(ranking, codebooks.codebook_status(session).codebook.kind, spec.size)
    if row.state == "failed":
        notice("error", "The sweep failed", row.message)


def _resume(session: ProjectSession, row: SweepRow) -> None:
    """Resume a sweep, with the entered budget if the old one is spent."""
    budget = st.session_state.get(f"sweep-raise-{row.number}") if sweeps.read_progress(row).spent else None
    sweeps.resume_sweep(session, row, budget_usd=budget)
    LabState.problem.reset()
    if budget is not None:
        state.set_notice("info", f"The budget of sweep {row.number} is {format_money(budget)} now")


def _ranking(ranking: Sequence[RankedConfiguration], kind: Kind, size: int) -> None:
    values = [_values(ranked) for ranked in ranking]
    varied = [name for name in (values[0] if values else ()) if len({settings[name] for settings in values}) > 1]
    reports = [ranked.report for ranked in ranking]
    kind = next((report.scores.kind for report in reports if report is not None), kind)
    counted = "a correlation of 0" if kind == "rating" else "wrong"
    measure = Markup('<span title="Unresolved documents count as {}">{}</span>').format(
        counted, history.metric_names(reports, kind)
    )
    text = [*map(prompt_templates.title_of, varied), "Note"]
    heads = ["No.", *text[:-1], measure, "95% interval", "n", "Unresolved", "Cost", "Note"]
    rows = [
        _row(ranked, [settings[name] for name in varied], size)
        for ranked, settings in zip(ranking, values, strict=True)
    ]
    table(heads, rows, text=text)
    if any(reports):
        line("The best of many scores is too high on average. Confirm your choice on other documents.", "q")


def _values(ranked: RankedConfiguration) -> dict[str, str]:
    """Return the settings of a configuration by name: slots, the model and parameters."""
    configuration = ranked.configuration
    versions = {slot.rpartition("/")[2]: name.rpartition(".")[2] for slot, name in configuration.versions.items()}
    return {
        **versions,
        "model": configuration.role_model.spec,
        **{name: str(value) for name, value in configuration.params.items()},
    }


def _row(ranked: RankedConfiguration, values: Sequence[str], size: int) -> list[str]:
    """Return the row of a configuration of a sweep with ``size`` documents in the last round."""
    score, n, unresolved = Estimate(), 0, 0
    if (report := ranked.report) is not None:
        score, unresolved = report.rank_score, report.excluded
        n = report.n + unresolved
    is_stopped = not ranked.remaining and ranked.documents < size
    return [
        f"{ranked.configuration.number + 1}",
        *values,
        Markup("<b>{}</b>").format(format_number(score.value)),
        format_interval(score.interval),
        f"{n}",
        f"{unresolved}",
        format_price(ranked.cost_usd),
        ranked.problem or (f"stopped after {ranked.documents}" if is_stopped else ""),
    ]
