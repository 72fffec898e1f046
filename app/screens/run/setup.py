"""Run setup: settings and parameters, estimate, prompts, warnings, comparison and start."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any

import streamlit as st
from markupsafe import Markup

from app.pages import open_page, page_link
from app.state import bound, state
from app.widgets.alerts import error_box, error_boxes, notice, probe_notice
from app.widgets.elements import button, download, heading, icon_button, line, literal, table
from app.widgets.labels import tags, tile_html
from app.widgets.layout import empty
from app.widgets.prompt_preview import request_preview
from core.codebook import Codebook, label_noun
from core.debate import protocols
from core.debate.protocol_spec import PRESET, Param, Params, ProtocolSpec, RequestCount
from core.debate.turns import family
from core.errors import MootError
from core.files import decode_text, shipped_folder
from core.formatting import format_count, format_price, format_tokens, join_names, plural
from core.hashing import digest
from core.runs import EngineSettings, RunRow, RunSettings
from core.services import guided_path, prompt_preview, prompt_templates
from core.services.codebooks import codebook as codebooks
from core.services.data.overview import count_documents
from core.services.document_samples import fixed_sample
from core.services.evaluation import ambiguity
from core.services.models import Probe
from core.services.project_session import ProjectSession
from core.services.runs import control, cost_estimate, planned_comparison, planning, run_warnings
from core.services.runs.configuration import describe_model, describe_param, model_names
from core.services.runs.planning import PLAN, Plan

ENGINES = {"live": "Live, streamed", "batch": "Batch, up to 24 hours", "ray": "Ray cluster"}
ON_LONG = {"fail": "Fail", "cut": "Truncate", "skip": "Skip, label by hand"}

Save = Callable[[planning.Change], None]


def draw(session: ProjectSession, *, first: bool) -> None:
    """Draw the setup of a run. ``first`` is True if the project has no runs."""
    version = codebooks.codebook_status(session).saved
    if not count_documents(session):
        empty(
            "No documents yet",
            "A run needs documents: import a file with one text per row.",
            sign="lines",
            key="no-documents",
        )
        return
    if version is None or not version.codebook.labels:
        empty("No labels yet", "Add at least one label to the codebook.", key="no-labels")
        return
    plan = planning.load_plan(session)

    def save(change: planning.Change) -> None:
        planning.change_plan(session, change)
        state.note_saved("plan")

    left, right = st.columns((1.75, 1), gap="medium")
    with right, st.container(border=True, key="settings"):
        heading("Settings")
        with error_boxes():
            prepasses = dict.fromkeys([*ambiguity.prepasses(session), *filter(None, [plan.ambiguous])])
            names = {run_id: session.run_name(run_id) for run_id in prepasses}
            _settings(plan, version.codebook, count_documents(session), save, names)
        line(f"Codebook v{version.number}: {version.codebook.name}")
        tags(version.codebook.labels)
        page_link("models", "Models")
        page_link("codebook", "Codebook")
        if protocols.find(plan.protocol).uses_personas:
            page_link("personas", "Personas")
    with left:
        _planned_run(session, plan, first=first)


def _planned_run(session: ProjectSession, plan: Plan, *, first: bool) -> None:
    """Draw what the plan would run, with its costs and warnings, and the buttons that start it."""
    try:
        ids = ambiguity.select_documents(session, replace(plan, limit=None))
        settings = planning.project_settings(session, plan)
    except MootError as error:
        error_box(error)
        page_link("models", "Models")
        return
    few = min(plan.limit or planning.PILOT, len(ids))
    with st.container(border=True, key="ready"):
        _start_buttons(session, settings, plan, ids, few, first=first)
    if planned_comparison.load_plans(session):
        with st.container(border=True, key="comparison"):
            _comparison(session, ids, few)
    warnings_slot = st.container()  # filled last: the first check of the labels takes a second
    with st.container(border=True, key="estimate"):
        estimate = cost_estimate.estimate_run(session, settings, len(ids), iterations=plan.iterations)
        _estimate_table(estimate, plan.budget_usd)
        if plan.iterations == 1:
            line(cost_estimate.stored_requests(session, settings, ids), "q xs")
    with st.expander("Prompt of each role"):
        document, requests = prompt_preview.preview_first_document(session, settings)
        line(f"Document {document}. Brackets mark replies of other roles.", "q")
        request_preview(requests, key="run-prompts")
    with warnings_slot:
        if warnings := run_warnings.all_warnings(session, settings, fixed_sample(ids, plan.limit or len(ids))):
            notice("warn", format_count(len(warnings), "warning"), "\n".join(warnings))


# -- start


def _start_buttons(
    session: ProjectSession, settings: RunSettings, plan: Plan, ids: Sequence[str], few: int, *, first: bool
) -> None:
    """Draw the summary, the pilot's cost, the start buttons and the results of the last preflight."""
    pilot = cost_estimate.estimate_run(session, settings, few)
    item = label_noun(settings.codebook.kind)
    counts = ((len(ids), "document"), (len(settings.codebook.labels), item), (len(pilot.roles), "role"))
    contents = join_names([format_count(count, noun) for count, noun in counts])
    st.html(
        f'<div class="moot-empty"><i class="rings"></i><b>{"No verdicts yet" if first else "New run"}</b>'
        f"<p>Ready: {contents}. {escape(_pilot_cost(plan, pilot, few, len(ids)))}</p></div>"
    )
    due = guided_path.overview(session).next
    pilot_reviewed = due is not None and due.name == "whole"
    pressed = _size_buttons("start", "Start with {}", "Start all {}", few, len(ids), primary_all=pilot_reviewed)
    if pressed is not None:
        make = partial(planning.create_runs, session, settings, fixed_sample(ids, pressed), iterations=plan.iterations)
        _confirm_prices(session, [settings], make)
    _preflight(session, settings)
    options = {"type": "tertiary", "help": "Start several protocols or models on the same documents with one click"}
    button("Add to comparison", "compare-add", planned_comparison.add, session, plan, icon="playlist_add", **options)


def _preflight(session: ProjectSession, settings: RunSettings) -> None:
    """Draw the results of the last preflight for the models that the run or the comparison still has."""
    if not state.run.probes:
        return
    compared = (member.settings for member in planned_comparison.prepare(session, 1).members)
    planned = {model for each in (settings, *compared) if each is not None for model in each.role_models.values()}
    probes = [probe for probe in state.run.probes if probe.role_model in planned]
    roles = protocols.roles_of(settings)
    for probe in probes:
        probe_notice(probe, join_names([role.title for role in roles if role.name in probe.roles]))
    if any(probe.stops for probe in probes):
        page_link("models", "No cost incurred. Fix it on the Models page.")


def _size_buttons(
    key: str, pilot_text: str, all_text: str, few: int, count: int, *, primary_all: bool = False, disabled: bool = False
) -> int | None:
    """Draw the buttons for a pilot and for all documents. Returns the number of documents of the pressed button."""
    pressed = None
    sizes = [("few", pilot_text, few)] if few < count else []
    sizes.append(("all", all_text, count))
    primary = "all" if primary_all else sizes[0][0]
    with st.container(horizontal=True, gap="small"):
        for name, text, size in sizes:
            kind = "primary" if name == primary else "secondary"
            if button(text.format(f"{size:,}"), f"{key}-{name}", type=kind, disabled=disabled):
                pressed = size
    return pressed


def _confirm_prices(
    session: ProjectSession, settings: Sequence[RunSettings], make: Callable[[], Sequence[RunRow]]
) -> None:
    """Start runs. If the price of a model is unknown and no budget limits the cost, ask for confirmation first."""
    start = partial(state.once, "start", partial(_start, session, settings, make))
    unlimited = [run_settings for run_settings in settings if run_settings.budget_usd is None]
    unpriced = dict.fromkeys(
        spec for run_settings in unlimited for spec in planning.unpriced_models(session.models, run_settings)
    )
    if unpriced:
        _ask_about_prices(list(unpriced), start)
    else:
        start()


@st.dialog("Price unknown")
def _ask_about_prices(specs: Sequence[str], start: Callable[[], None]) -> None:
    line(f"The price of {', '.join(specs)} is unknown, so the cost cannot be estimated or limited.")
    line("You can enter a price on the Models page, under Your prices.", "q")
    with st.container(horizontal=True, gap="small"):
        if st.button("Start anyway", type="primary", key="start-unpriced"):
            start()
        if st.button("Enter a price", key="type-price"):
            open_page("models")
        if st.button("Cancel", key="cancel-unpriced", type="tertiary"):
            st.rerun()


def _start(session: ProjectSession, settings: Sequence[RunSettings], make: Callable[[], Sequence[RunRow]]) -> None:
    """Test each model. If no test stops the start, create the runs, queue them and show the first one."""
    probes: tuple[Probe, ...] = ()
    runs: Sequence[RunRow] = ()
    try:
        with st.spinner("Testing each model …"):
            results = [planning.probe_all(run_settings, session.models, session.engine) for run_settings in settings]
            probes = tuple(itertools.chain.from_iterable(results))
            runs = () if any(probe.stops for probe in probes) else make()
            control.start_runs(session, runs)
    finally:  # the end of the spinner raises an exception of Streamlit if the user has changed a setting meanwhile
        state.run.probes = probes
        if runs:
            state.run.show_setup(False)
            state.run_id = runs[0].run_id
            _report_probes(probes)
    st.rerun()


def _report_probes(probes: Sequence[Probe]) -> None:
    failed = [str(probe.error) for probe in probes if probe.error is not None]
    unexpected = [probe.role_model.spec for probe in probes if probe.error is None and not probe.in_format]
    if failed:
        state.set_notice("warn", "Started, although not every model answered", "\n".join(dict.fromkeys(failed)))
    elif unexpected:
        models = join_names(list(dict.fromkeys(unexpected)))
        state.set_notice("warn", f"{models} did not answer in the expected format", "The run was started anyway.")


def _pilot_cost(plan: Plan, pilot: cost_estimate.CostEstimate, few: int, count: int) -> str:
    if pilot.cost_usd is None:
        return f"Price unknown.{'' if pilot.is_measured else ' A pilot measures how many tokens the run needs.'}"
    if pilot.cost_usd > 0:
        cost = format_price(pilot.cost_usd)
        about = cost if cost.startswith("under") else f"about {cost}"
        gives = "" if pilot.is_measured else " and gives a better estimate for the rest"
        return f"A pilot of {format_count(few, 'document')} costs {about}{gives}."
    if plan.pace > 0 and any(role.role_model.is_builtin for role in pilot.roles):
        writer = "The built-in model" if planning.run_pace(plan.pace, count) else "In a pilot, the built-in model"
        return (
            f"Free. {writer} writes {plan.pace:g} words per second, so that you can follow. Set its pace "
            "on the Models page."
        )
    return "Free."


# -- comparison


def _comparison(session: ProjectSession, ids: Sequence[str], few: int) -> None:
    shown = planned_comparison.prepare(session, len(ids))
    heading(f"Comparison of {len(shown.members)}" if len(shown.members) > 1 else "Comparison")
    for member in shown.members:
        words, cost, remove_column = st.columns((5, 2, 0.8), vertical_alignment="center", wrap=False)
        words.html(_member_html(member))
        cost.html(f'<div class="moot-line num">{escape(_member_cost(member))}</div>')
        with remove_column:
            key = f"out-{digest(PLAN.dump_python(member.plan, mode='json'))}"  # by number, the next plan would get it
            remove = planned_comparison.remove
            icon_button("close", f"Remove {literal(member.title)}", key, remove, session, member.plan)
    if len(shown.members) < 2:
        line("Change the protocol, a parameter or a model and add that, too. A comparison needs two or more.", "q")
        return
    shared = f", not counting about {shown.shared:,} repeated ones that are free" if shown.shared else ""
    documents = format_count(shown.documents, "document")
    calls = f"at most {shown.calls:,} calls{shared}; {format_price(shown.cost_usd)}"
    line(f"{documents}: {calls}. {cost_estimate.REPEATS}", "q")
    pressed = _size_buttons(
        "compare", "Compare on {}", "Compare on all {}", few, shown.documents, disabled=not shown.ready
    )
    button("Clear", "compare-clear", planned_comparison.clear, session, type="tertiary")
    if pressed is not None:
        settings = [member.settings for member in shown.members if member.settings is not None]
        make = partial(planned_comparison.create_runs, session, shown, fixed_sample(ids, pressed))
        _confirm_prices(session, settings, make)


def _member_html(member: planned_comparison.ComparedPlan) -> str:
    plan = member.plan
    if member.settings is None:
        return f'<div class="moot-line bad">{escape(member.title)}: {escape(member.problem)}</div>'
    params = [describe_param(name, value) for name, value in plan.params.items() if name != protocols.custom.SCRIPT]
    models = model_names(member.settings.role_models.values())
    times = [f"{plan.iterations} times"] if plan.iterations > 1 else []
    details = ", ".join([*params, *times, join_names(models)])
    return f'<div class="moot-line"><b>{escape(member.title)}</b> <span class="q">{escape(details)}</span></div>'


def _member_cost(member: planned_comparison.ComparedPlan) -> str:
    if member.estimate is None or member.settings is None:
        return ""
    requests = protocols.for_settings(member.settings).total_requests(member.settings.params, member.settings.codebook)
    return f"{requests} per document, {format_price(member.estimate.cost_usd)}"


# -- settings


def _settings(plan: Plan, codebook: Codebook, documents: int, save: Save, prepasses: Mapping[str, str]) -> None:
    """Draw the form of the run settings. Each change calls ``save``.

    Changing the protocol drops the parameters that the user set. Raises UsageError, after drawing the form, if the
    parameters of the plan are invalid.
    """
    number = partial(_number, plan, save)
    _protocol(plan, codebook, save)
    left, right = st.columns(2, wrap=False)
    help = "Number of documents for a first small run. They are drawn at random, as files are often sorted."
    pilot, most = str(planning.PILOT), max(documents, 1)
    number(left, "Pilot", "limit", help, step=10, minimum=1, maximum=most, placeholder=pilot)
    help = "Repeat the run to measure how stable the verdicts are."
    number(right, "Iterations", "iterations", help, step=1, empty=1, minimum=1, maximum=1000)
    help = "The run pauses before it would exceed the budget. You can then raise it."
    form = "%.2f" if plan.budget_usd is None or plan.budget_usd == round(plan.budget_usd, 2) else "%g"
    number(st, "Budget per run ($)", "budget_usd", help, step=0.5, minimum=0.01, placeholder="none", format=form)
    if prepasses:
        _ambiguous(plan, prepasses, save)
    names, usual = ("concurrency", "seed", "engine", "handling"), Plan()
    # It stays open, because an edit of the only changed setting back to its default would close it.
    state.run.advanced_open |= any(getattr(plan, name) != getattr(usual, name) for name in names)
    with st.expander("Advanced settings", expanded=state.run.advanced_open, key="run-advanced"):
        left, right = st.columns(2, wrap=False)
        help = "Maximum number of calls in flight. About twice as many debates are open."
        number(left, "Calls at once", "concurrency", help, step=1, empty=8, minimum=1, maximum=4096)
        number(right, "Seed", "seed", "Seed of all random choices of the protocol.", step=1, empty=0, minimum=0)
        _engine(plan, save)
        _error_handling(plan, save)


def _protocol(plan: Plan, codebook: Codebook, save: Save) -> None:
    """Draw the choice of the protocol, its summary and its parameters."""
    st.selectbox(
        "Protocol",
        list(protocols.PROTOCOLS),
        format_func=lambda name: protocols.find(name).title,
        **bound("run-protocol", plan.protocol, lambda name: save(lambda plan: plan.with_protocol(name))),
    )
    spec = protocols.find(plan.protocol, plan.params)
    params = spec.parse_params(plan.for_protocol().params)
    summary = spec.summary
    if codebook.kind in spec.kinds:
        summary += f" {_calls(spec, params, codebook)}."
    line(summary, "q")
    _parameters(plan, spec, params, codebook, save)


def _calls(spec: ProtocolSpec, params: Params, codebook: Codebook) -> str:
    """Return the calls per document in words, and by family of roles: "3 calls per document: Judge 1, ..."."""
    titles = {role.name: role.title for role in spec.roles(params)}
    by_family: dict[str, RequestCount] = {}
    for role, count in spec.request_counts(params, codebook).items():
        if count.maximum:
            title = titles.get(family(role)) or prompt_templates.title_of(family(role))
            by_family[title] = by_family.get(title, RequestCount(0, 0)) + count
    total = spec.total_requests(params, codebook)
    parts = ": " + ", ".join(f"{title} {count}" for title, count in by_family.items()) if len(by_family) > 1 else ""
    return f"{total} {plural(total.maximum, 'call')} per document{parts}"


def _number(
    plan: Plan,
    save: Save,
    column: Any,
    title: str,
    name: str,
    help: str,
    *,
    empty: Any = None,
    minimum: float,
    maximum: float | None = None,
    **widget: Any,
) -> None:
    """Draw a number field for a setting of the plan; ``empty`` is stored for an empty field.

    Its limits include the stored value, which may come from elsewhere.
    """
    value = getattr(plan, name)
    stored = () if value is None else (value,)

    def keep(value: Any) -> None:
        save(lambda plan: replace(plan, **{name: empty if value is None else value}))

    column.number_input(
        title,
        value=None,
        help=help,
        min_value=min((minimum, *stored)),
        max_value=None if maximum is None else max((maximum, *stored)),
        **bound(f"run-{name}", value, keep),
        **widget,
    )


def _ambiguous(plan: Plan, prepasses: Mapping[str, str], save: Save) -> None:
    """Draw the choice between all documents and those that were ambiguous in a prepass run; names are by run id."""
    left, right = st.columns(2, wrap=False)
    left.selectbox(
        "Documents",
        ["", *prepasses],
        format_func=lambda run: f"Ambiguous in {prepasses[run]}" if run else "All",
        help="All documents, or only those on which one model disagreed with itself in an earlier vote.",
        **bound("run-ambiguous", plan.ambiguous, lambda run: save(lambda plan: replace(plan, ambiguous=run))),
    )
    help = "A document is ambiguous if the shares of its two most common answers differ by at most this much."
    _number(
        plan,
        save,
        right,
        "Ambiguity threshold",
        "theta",
        help,
        step=0.1,
        empty=Plan().theta,
        minimum=0.0,
        maximum=1.0,
        disabled=not plan.ambiguous,
    )


def _engine(plan: Plan, save: Save) -> None:
    """Draw the choice of the engine, and the folder for request files."""
    st.selectbox(
        "Engine",
        list(ENGINES),
        format_func=ENGINES.__getitem__,
        help="Batch sends each stage of all debates through the provider's Batch API, at OpenAI for half the list "
        "price. You can close the studio meanwhile.",
        **bound(
            "run-engine",
            plan.engine.name,
            lambda name: save(lambda plan: replace(plan, engine=EngineSettings(name=name))),
        ),
    )
    if plan.engine.name == "batch":

        def set_folder(folder: str) -> None:
            update = {"batch_dir": folder.strip()}
            save(lambda plan: replace(plan, engine=plan.engine.model_copy(update=update)))

        st.text_input(
            "Folder for request files",
            placeholder="none: the provider's Batch API",
            help="Write requests there as JSONL. Answer each file, for example with vllm run-batch, then resume.",
            **bound("run-batch-dir", plan.engine.batch_dir, set_folder),
        )


def _error_handling(plan: Plan, save: Save) -> None:
    """Draw the error handling, unless all roles use the built-in model.

    The built-in model accepts any length and never times out.
    """
    if all(role_model.is_builtin for role_model in plan.for_protocol().models):
        return

    def field(name: str) -> dict[str, Any]:
        def keep(value: Any) -> None:
            save(lambda plan: replace(plan, handling=plan.handling.model_copy(update={name: value})))

        return bound(f"handling-{name}", getattr(plan.handling, name), keep)

    st.selectbox(
        "Documents that are too long",
        list(ON_LONG),
        format_func=ON_LONG.__getitem__,
        help="For documents that exceed a model's context. A truncated document keeps its beginning, and its verdict "
        "is marked.",
        **field("on_long"),
    )
    left, right = st.columns(2, wrap=False)
    seconds: dict[str, Any] = {"min_value": 1.0, "max_value": 86_400.0, "value": None, "format": "%.0f"}
    help = (
        "Maximum seconds without data from the server, before and during a reply. Default: 180, or 600 for reasoning "
        "models."
    )
    left.number_input("Timeout (s)", step=30.0, placeholder="180", help=help, **seconds, **field("silence"))
    help = "Maximum seconds for a whole reply. The default grows with the timeout and the output limit of the role."
    right.number_input("Deadline (s)", step=60.0, placeholder="780", help=help, **seconds, **field("deadline"))


# -- parameters of the protocol


def _parameters(plan: Plan, spec: ProtocolSpec, params: Params, codebook: Codebook, save: Save) -> None:
    """Draw the presets and a widget for each relevant parameter.

    ``params`` are the parsed parameters. Selecting a preset replaces parameters that the user set.
    """
    if protocols.custom.SCRIPT in spec.param_names:
        _protocol_file(plan, save)
        return
    if not spec.params and not spec.presets:
        return

    def save_params(change: Callable[[Params], Params]) -> None:
        """Change the parameters, unless another protocol was selected since they were drawn."""
        save(lambda plan: replace(plan, params=change(plan.params)) if plan.protocol == spec.name else plan)

    with st.container(key="protocol-params", gap="small"):
        if spec.presets:
            st.selectbox(
                "Preset",
                ["", *spec.presets],
                format_func=lambda name: spec.presets[name].title if name else "None",
                help="Rounds, repetitions and temperatures as published. A role's own temperature takes precedence.",
                **bound(
                    f"param-{spec.name}-{PRESET}",
                    plan.params.get(PRESET, ""),
                    lambda name: save_params(lambda _: {PRESET: name} if name else {}),
                ),
            )
        shown = [param for param in spec.params if not param.hidden and param.has_effect(params, codebook.kind)]
        for start in range(0, len(shown), 2):
            row = shown[start : start + 2]
            for column, param in zip(st.columns(len(row), wrap=False), row, strict=True):
                _parameter(column, param, params[param.name], spec.name, save_params)
    if params and (vote := spec.describe_vote(params, codebook.kind)):
        line(vote, "q xs")
    if params and (temperatures := sorted(set(spec.temperatures(params).values()))):
        values = ", ".join(f"{temperature:g}" for temperature in temperatures)
        line(f"Temperature {values} for roles without their own.", "q xs")


def _parameter(
    column: Any, param: Param, value: Any, protocol: str, save: Callable[[Callable[[Params], Params]], None]
) -> None:
    def keep(value: Any) -> None:
        save(lambda params: {**params, param.name: param.default if value is None else value})

    options = {**bound(f"param-{protocol}-{param.name}", value, keep), "help": param.help}
    if isinstance(param.default, bool):
        column.toggle(param.title, **options)
    elif param.choices:
        column.selectbox(param.title, list(param.choices), format_func=param.choices.__getitem__, **options)
    elif isinstance(param.default, str):
        column.text_input(param.title, **options)
    else:
        number = type(param.default)
        column.number_input(
            param.title,
            value=None,
            step=number(1) if number is int else 0.05,
            min_value=None if param.minimum is None else number(param.minimum),
            max_value=None if param.maximum is None else number(param.maximum),
            **options,
        )


def _protocol_file(plan: Plan, save: Save) -> None:
    """Draw the upload of a custom protocol (YAML). The plan and the run store its text."""

    def load() -> None:
        file = st.session_state.get("protocol-file")  # None also after a run that was interrupted before the field
        if file is not None:
            text = decode_text(file.getvalue(), file.name)
            protocols.custom.parse_definition(text, file.name)
            save(lambda plan: replace(plan, params={protocols.custom.SCRIPT: text}))

    st.file_uploader("Protocol file", type=["yaml", "yml"], key="protocol-file", on_change=load)
    if not plan.params.get(protocols.custom.SCRIPT):
        line("Defines roles, prompts, speaking order, shared context and the deciding role.", "q")
    example = shipped_folder("sample_data") / "protocols" / "second_reading.yaml"
    download("Download an example", example.read_bytes(), example.name, type="tertiary")


# -- estimate


def _estimate_table(estimate: cost_estimate.CostEstimate, budget_usd: float | None) -> None:
    """Draw calls, tokens and cost of each role, the basis of the estimate, and how far the budget goes."""

    def numbers(calls: int, prompt: int, completion: int, cost: float | None) -> list[str]:
        return [f"{calls:,}", format_tokens(prompt), format_tokens(completion), format_price(cost)]

    rows = [
        [
            Markup('<span class="who">{}{}</span>').format(
                Markup(tile_html(role.role, role.title, small=True)), role.title
            ),
            describe_model(role.role_model),
            *numbers(role.calls, role.prompt_tokens, role.completion_tokens, role.cost_usd),
        ]
        for role in estimate.roles
    ]
    if len(rows) > 1:
        prompt = sum(role.prompt_tokens for role in estimate.roles)
        completion = sum(role.completion_tokens for role in estimate.roles)
        total = ["Total", "", *numbers(estimate.calls, prompt, completion, estimate.cost_usd)]
        rows.append([Markup("<b>{}</b>").format(cell) for cell in total])
    times = f", {estimate.iterations} times" if estimate.iterations > 1 else ""
    heading(f"Estimate for all {format_count(estimate.documents, 'document')}{times}")
    table(["Role", "Model", "Calls", "Tokens in", "Tokens out", "Cost"], rows, text=["Model"])
    line(f"{estimate.basis} {cost_estimate.REPEATS}", "q xs")
    cost = (estimate.cost_usd or 0.0) / estimate.iterations
    if budget_usd is not None and cost > budget_usd:
        covered = int(estimate.documents * budget_usd / cost)
        enough = f"about {covered:,} of {format_count(estimate.documents, 'document')}" if covered else "no document"
        notice("warn", "The budget is below the estimate", f"It covers {enough}. Then the run pauses.")
