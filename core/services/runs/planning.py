"""Plan a run: choose models, parameters and weights of votes, build its settings, test its models and create it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from math import log
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel, TypeAdapter, ValidationError

from core import prompts
from core.codebook import Codebook
from core.debate import protocols
from core.debate.protocol_spec import FROM_REVIEWS, PERSONAS, PRESET, WEIGHTS, Params, ProtocolSpec
from core.debate.turns import Role, Usage, family
from core.documents import VERDICT
from core.engine.event_loop import EngineThread
from core.engine.preflight import Probe, probe_role_models
from core.engine.ray_job import require_cluster, require_ray
from core.errors import CodebookError, UsageError
from core.formatting import format_problem
from core.llm.model_library import ModelLibrary
from core.llm.prices import ANY_MODEL
from core.runs import (
    BUILTIN,
    DEFAULT_MAX_TOKENS,
    ENGINE_PARAMS,
    LEXICAL_MODEL,
    LONG_MAX_TOKENS,
    SAMPLING_PARAMS,
    EngineName,
    EngineSettings,
    ErrorHandling,
    Prepass,
    RoleModel,
    RunDetails,
    RunRow,
    RunSettings,
    Sampling,
    Template,
)
from core.services import few_shot_examples, preferences, prompt_templates
from core.services.project_session import ProjectSession
from core.services.runs.configuration import propose_name
from core.store.annotation_sources import REVIEWED
from core.store.annotations import Grid
from core.store.saved_versions import CodebookVersion

Form = TypeVar("Form", bound=BaseModel)

DEFAULT_ROLE_MODEL = RoleModel(connection=BUILTIN, model=LEXICAL_MODEL)
PLAN_SETTING = "plan"
"""Project setting that stores the last plan."""
PILOT = 10
"""Default number of documents of a pilot."""
FIRST_PACE = 40.0
"""Speed of the built-in model until the user has watched a run, in words per second: slow enough to follow."""
MAX_FOLLOWED = 200
"""Maximum number of documents of a run at this speed. Thousands of documents would take hours."""


@dataclass(frozen=True, slots=True)
class Plan:
    """User's choices for a run."""

    protocol: str = "ecj"
    default_model: RoleModel = DEFAULT_ROLE_MODEL
    role_models: Mapping[str, RoleModel] = field(default_factory=dict)
    """Models of roles. Others use the default model."""
    params: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    concurrency: int = 8
    budget_usd: float | None = None
    handling: ErrorHandling = ErrorHandling()
    iterations: int = 1
    limit: int | None = None
    """Number of documents, None for all."""
    ambiguous: str = ""
    """A prepass run whose ambiguous documents alone are used; empty for all documents."""
    theta: float = 0.5
    """Threshold of ambiguity."""
    pace: float = 0.0
    """Speed of the built-in model in words per second, 0 without a limit."""
    engine: EngineSettings = EngineSettings()
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Texts of templates that replace those of the run, by role or shared name."""

    @property
    def models(self) -> tuple[RoleModel, ...]:
        """The default model, then the models of single roles."""
        return (self.default_model, *self.role_models.values())

    def role_model(self, role: str) -> RoleModel:
        """Return the model of a role: its own, else that of its family, else the default."""
        return self.role_models.get(role) or self.role_models.get(family(role)) or self.default_model

    def with_protocol(self, name: str) -> Plan:
        """Return this plan with another protocol, with its default parameters."""
        return replace(self, protocol=name, params={})

    def with_role_model(self, role: str, role_model: RoleModel) -> Plan:
        """Return this plan with another model for one role."""
        return replace(self, role_models={**self.role_models, role: role_model})

    def with_same_model(self, role_model: RoleModel) -> Plan:
        """Return this plan with one model for all roles of any protocol."""
        return replace(self, default_model=role_model, role_models={})

    def for_protocol(self) -> Plan:
        """Return this plan without role models and parameters that its protocol does not have.

        The stored plan keeps the choices of other protocols for when the user switches back. Raises UsageError for an
        unknown protocol.
        """
        spec = protocols.find(self.protocol, self.params)
        params = {name: value for name, value in self.params.items() if name in spec.param_names}
        role_names = _assignable_names(spec.roles(spec.parse_params(params)))
        return replace(
            self,
            params=params,
            role_models={role: role_model for role, role_model in self.role_models.items() if role in role_names},
        )


PLAN = TypeAdapter(Plan)
"""Conversion of a plan from and to plain data."""
Change = Callable[[Plan], Plan]


@dataclass(frozen=True, slots=True)
class ParamValues:
    """Values of ``--param KEY=VALUE``, by what they configure; the protocol checks its own."""

    engine: EngineSettings
    handling: ErrorHandling
    sampling: Sampling
    prepass: Prepass
    protocol: Mapping[str, str]


def parse_params(params: Mapping[str, str], *, engine: EngineName, seed: int | None) -> ParamValues:
    """Return the values of ``KEY=VALUE`` parameters for a run with this engine and seed.

    Raises UsageError for an invalid value, and for a parameter of another engine.
    """
    rest = dict(params)

    def read(model: type[Form], fields: Mapping[str, str] | None = None, **fixed: Any) -> Form:
        """Take the parameters of a model out of the rest; ``fields`` maps those that are not named as their field."""
        fields = fields or {name: name for name in model.model_fields if name not in fixed}
        values = {field: rest.pop(name) for name, field in fields.items() if name in rest}
        try:
            return model.model_validate({**fixed, **values})
        except ValidationError as error:
            names = {field: name for name, field in fields.items()}
            field, colon, message = format_problem(error).partition(":")
            raise UsageError(f"--param {names.get(field, field)}{colon}{message}.", "") from error

    other = next((name for name in params if name in ENGINE_PARAMS and not name.startswith(engine)), None)
    if other is not None:
        raise UsageError(f"--param {other} is not a parameter of the engine {engine}.", "Choose it with --engine.")
    return ParamValues(
        engine=read(EngineSettings, name=engine),
        handling=read(ErrorHandling),
        sampling=read(Sampling, SAMPLING_PARAMS, **({} if seed is None else {"seed": seed})),
        prepass=read(Prepass),
        protocol=rest,
    )


def build_settings(
    plan: Plan, codebook: Codebook, version: int, models: ModelLibrary, templates: Mapping[str, Template] | None = None
) -> RunSettings:
    """Return the frozen settings of a plan.

    ``templates`` are the project's templates that replace shipped ones, by slot
    (``core.services.prompt_templates.promoted_templates``).

    Raises UsageError for an unknown protocol, role, parameter or connection, for a role without a model, and as
    ``require_ray`` does for a run on Ray. Raises CodebookError for a codebook without labels or of a kind that the
    protocol does not support.
    """
    spec = protocols.find(plan.protocol, plan.params)
    codebook = _debatable_codebook(codebook, spec)
    params = spec.parse_params(plan.params)
    spec.require_fitting(params, codebook)
    roles = spec.roles(params)
    require_roles(plan.protocol, roles, plan.role_models)
    chosen = {role: plan.role_model(role.name) for role in roles}
    role_models = complete_role_models(spec, params, codebook, models, chosen)
    if missing := [role for role in roles if not role_models[role.name].model]:
        raise UsageError(
            f"No model is assigned to {', '.join(role.title.lower() for role in missing)}.",
            f"Choose a model of '{role_models[missing[0].name].connection}' on the Models page.",
        )
    settings = RunSettings(
        protocol=plan.protocol,
        codebook=codebook,
        codebook_version=version,
        role_models=role_models,
        templates=replace_prompts(
            prompts.replace_templates(spec.load_templates(params), templates or {}), plan.prompts, plan.protocol
        ),
        params=params,
        seed=plan.seed,
        concurrency=plan.concurrency,
        budget_usd=plan.budget_usd,
        handling=plan.handling,
        prepass=Prepass(ambiguous=plan.ambiguous, theta=plan.theta) if plan.ambiguous else Prepass(),
        pace=plan.pace,
        engine=plan.engine,
    )
    if plan.engine.name == "ray":
        require_ray(settings)
    return settings


def _debatable_codebook(codebook: Codebook, spec: ProtocolSpec) -> Codebook:
    """Return the codebook without open labels. Raises CodebookError if the protocol cannot debate it."""
    if not codebook.require_labels().closed.labels:
        raise CodebookError(
            f"The codebook '{codebook.name}' has only open labels, which only authors answer.",
            "Add a label with fixed values, or ask the authors on the Authors page.",
        )
    if codebook.kind not in spec.kinds:
        able = [protocols.find(name).title for name in protocols.supporting(codebook.kind)]
        reason = spec.unsupported.get(codebook.kind, "")
        raise CodebookError(
            f"{spec.title} does not support codebooks of kind {codebook.kind}{': ' + reason if reason else ''}.",
            f"Choose one of: {'; '.join(able)}." if able else "No protocol supports this kind.",
        )
    return codebook.closed


def complete_role_models(
    spec: ProtocolSpec, params: Params, codebook: Codebook, models: ModelLibrary, chosen: Mapping[Role, RoleModel]
) -> dict[str, RoleModel]:
    """Return the chosen models of roles by name, each resolved, with its vectors and the protocol's defaults."""
    temperatures = spec.temperatures(params)
    return {
        role.name: with_defaults(
            models,
            models.pin_vectors(role_model, codebook),
            temperatures.get(role.name),
            spec.output_limits.get(role.family),
        )
        for role, role_model in chosen.items()
    }


def replace_prompts(templates: Mapping[str, Template], texts: Mapping[str, str], protocol: str) -> dict[str, Template]:
    """Return templates with new texts for some of them. Raises UsageError for a name that is not among them."""
    for name in texts:
        if name not in templates:
            raise UsageError(f"{protocol} has no prompt '{name}'.", f"Its prompts are: {', '.join(templates)}.")
    return {**templates, **{name: Template(name=f"{name} (changed)", text=text) for name, text in texts.items()}}


def unpriced_models(models: ModelLibrary, settings: RunSettings) -> tuple[str, ...]:
    """Return the models of a run that have no known price but may cost something, which the user has to confirm."""
    unpriced = (role_model for role_model in models.billed_models(settings) if not models.priced(role_model))
    servers = ((role_model, models.connection_of(role_model)) for role_model in unpriced)
    return tuple(
        dict.fromkeys(model.spec for model, server in servers if not server.local or server.dialect == "ollama")
    )


def project_settings(session: ProjectSession, plan: Plan) -> RunSettings:
    """Return the settings of a new run with the latest saved codebook and the project's own prompts.

    Role models and parameters that the protocol does not have are ignored. Raises CodebookError before a codebook is
    saved, and the errors of ``build_settings`` and ``pin_settings``.
    """
    saved, templates = saved_codebook(session), prompt_templates.promoted_templates(session)
    settings = build_settings(plan.for_protocol(), saved.codebook, saved.number, session.models, templates)
    return pin_settings(session, settings)


def pin_settings(session: ProjectSession | None, settings: RunSettings) -> RunSettings:
    """Return settings with the hash of the classifier, and weights of votes from reviewed documents as numbers.

    Without a project there are no reviewed documents. Raises NoSuchModel for a classifier that is not trained yet, and
    UsageError if no weight can be computed.
    """
    if session is not None:
        settings = session.trainer.pin_classifier(settings)
    if settings.params.get(WEIGHTS) != FROM_REVIEWS or settings.codebook.kind == "rating":
        return settings
    weights = f"{FROM_REVIEWS}: {reviewed_vote_weights(session, settings)}"
    return settings.model_copy(update={"params": {**settings.params, WEIGHTS: weights}})


def saved_codebook(session: ProjectSession) -> CodebookVersion:
    """Return the latest saved codebook. Raises CodebookError before the first save."""
    saved = session.store.codebooks.latest()
    if saved is None:
        raise CodebookError("No codebook is saved yet.", "Save one on the Codebook page first.")
    return saved


def require_prices(settings: RunSettings, models: ModelLibrary, budget: str = "a budget") -> None:
    """Raise UsageError if a model of a run has no known price: the budget, named in words, could not be enforced.

    A server that states the cost of its replies does so with the reply to a test. Those of a batch are not read.
    """
    is_batch = settings.engine.name == "batch"
    highest_cost = models.cost if is_batch else models.highest_cost
    advice = "" if is_batch else " If the server states its costs, test the model on the Models page first."
    roles = [*(f" ({role})" for role in settings.role_models), ""]
    for role, role_model in zip(roles, models.billed_models(settings), strict=False):
        if highest_cost(role_model, Usage()) is None:
            raise UsageError(
                f"The price of {role_model.spec}{role} is unknown, so {budget} cannot be enforced.",
                f"Set a price (--price {role_model.spec}=IN/OUT, or the Models page), or start a run without a budget "
                f"or with a model that has a list price.{advice}",
            )


def check_prices(settings: RunSettings, models: ModelLibrary) -> None:
    """Raise UsageError as ``require_prices`` does if a run has a budget; after its models were tested."""
    if settings.budget_usd is not None:
        require_prices(settings, models)


def unused_prices(settings: RunSettings, models: ModelLibrary, specs: Iterable[str]) -> list[str]:
    """Return the specs of prices, such as ``openai/gpt-4.1`` or ``openai/*``, that apply to no model of a run."""
    billed = models.billed_models(settings)
    used = {spec for model in billed for spec in (model.spec, f"{model.connection}/{ANY_MODEL}")}
    return [spec for spec in specs if spec not in used]


def require_roles(protocol: str, roles: Sequence[Role], names: Iterable[str]) -> None:
    """Raise UsageError for a name that is neither a role nor a family of roles of a protocol."""
    assignable = _assignable_names(roles)
    for name in names:
        if name not in assignable:
            raise UsageError(f"{protocol} has no role '{name}'.", f"Its roles are: {', '.join(assignable)}.")


def _assignable_names(roles: Sequence[Role]) -> list[str]:
    """Return the names that a model can be assigned to: families of roles and roles."""
    return list(dict.fromkeys(name for role in roles for name in (role.family, role.name)))


def with_defaults(
    models: ModelLibrary, role_model: RoleModel, temperature: float | None, max_tokens: int | None
) -> RoleModel:
    """Return the resolved role model with the protocol's temperature and output limit, unless it sets its own.

    The default output limit of a reasoning model is at least ``LONG_MAX_TOKENS``.
    """
    resolved = models.resolve(role_model)
    sampling = resolved.sampling
    update = {
        "temperature": temperature if sampling.temperature is None else sampling.temperature,
        "default_limit": max_tokens or DEFAULT_MAX_TOKENS,
    }
    return _with_reasoning(models, resolved.model_copy(update={"sampling": sampling.model_copy(update=update)}))


def _with_reasoning(models: ModelLibrary, role_model: RoleModel) -> RoleModel:
    """Return the role model with a default output limit of at least ``LONG_MAX_TOKENS`` if it reasons."""
    sampling = role_model.sampling
    if sampling.reasoning_effort in (None, "none") and not models.reasons(role_model):
        return role_model
    limit = max(sampling.default_limit, LONG_MAX_TOKENS)
    return role_model.model_copy(update={"sampling": sampling.model_copy(update={"default_limit": limit})})


def with_learned_limits(settings: RunSettings, models: ModelLibrary) -> RunSettings:
    """Return the settings with the output limits of models that are known to reason by now, after the preflight."""
    role_models = {role: _with_reasoning(models, role_model) for role, role_model in settings.role_models.items()}
    return settings.model_copy(update={"role_models": role_models})


def preflight(settings: RunSettings, models: ModelLibrary, engine: EngineThread) -> tuple[Probe, ...]:
    """Return the probes of ``probe_all``; raise the first Unreachable, Unauthorised or NoSuchModel error in them."""
    probes = probe_all(settings, models, engine)
    for probe in probes:
        if probe.stops and probe.error is not None:
            raise probe.error
    return probes


def probe_all(settings: RunSettings, models: ModelLibrary, engine: EngineThread) -> tuple[Probe, ...]:
    """Send one short request to each distinct model setting and return all probes, including failed ones.

    Also looks up the context size of the models that answered, and stores what was learned. Raises UsageError before
    the first request if the run's Ray cluster cannot be reached.
    """
    if settings.engine.name == "ray":
        require_cluster(settings.engine.ray_address)

    async def probed() -> tuple[Probe, ...]:
        probes = await probe_role_models(settings, models)
        for probe in probes:
            if probe.error is None:
                models.note_format(probe.role_model, probe.in_format)
        await asyncio.gather(*(models.fetch_capabilities(probe.role_model) for probe in probes if probe.error is None))
        return probes

    probes = engine.submit(probed()).result()
    preferences.keep_capabilities(models)
    return probes


def create_runs(
    session: ProjectSession,
    settings: RunSettings,
    document_ids: Sequence[str],
    *,
    iterations: int = 1,
    rejected: int = 0,
) -> list[RunRow]:
    """Create the queued runs of an experiment, one per iteration, without starting them.

    Iterations show examples of the same labelled documents, although labels may change before the last one starts.
    Raises UsageError without documents and for a budget with an unpriced model, PromptError for a template that cannot
    be rendered on some of them, and NoSuchModel for a classifier that is not trained yet.
    """
    check_prices(settings, session.models)
    prompt_templates.check_templates(settings, prompt_templates.sample_documents(session, document_ids))
    settings = session.trainer.pin_classifier(with_learned_limits(settings, session.models))
    settings = settings.model_copy(update={"pace": run_pace(settings.pace, len(document_ids))})
    earlier = session.all_runs()
    runs: list[RunRow] = []
    for iteration in range(iterations):
        iteration_settings = settings.model_copy(update={"iteration": iteration})
        runs.append(
            session.store.runs.create(
                iteration_settings,
                document_ids,
                experiment_id=runs[0].experiment_id if runs else None,
                rejected=rejected,
                details=RunDetails(name=propose_name(iteration_settings, len(document_ids), [*earlier, *runs])),
            )
        )
    if iterations > 1 and protocols.shots(settings):
        few_shot_examples.example_pool(session.store, runs[0])
        for run in runs[1:]:
            few_shot_examples.copy_pool(session.store, runs[0].run_id, run.run_id)
    return runs


def save_plan(session: ProjectSession, plan: Plan) -> None:
    """Store the plan for the next visit."""
    session.store.settings.set(PLAN_SETTING, PLAN.dump_python(plan, mode="json"))


def load_plan(session: ProjectSession) -> Plan:
    """Return the plan stored last, or the default plan if this version cannot read it."""
    pace = preferences.load().pace
    default = Plan(pace=FIRST_PACE if pace is None else pace)
    data = session.store.settings.get(PLAN_SETTING)
    try:
        plan = PLAN.validate_python(data) if data else default
        protocols.find(plan.protocol, plan.params)
    except (TypeError, ValueError, KeyError, UsageError):
        return default
    if uses_project_personas(plan) and (saved := session.store.personas.latest()) is not None:
        plan = replace(plan, params={**plan.params, PERSONAS: saved.personas.text})
    return plan


def uses_project_personas(plan: Plan) -> bool:
    """Return True for a panel, unless its preset has personas of its own."""
    spec = protocols.find(plan.protocol)
    preset = spec.presets.get(str(plan.params.get(PRESET, "")))
    return spec.uses_personas and (preset is None or PERSONAS not in preset.params)


def change_plan(session: ProjectSession, change: Change) -> None:
    """Change the stored plan, which may be newer than the plan that a page shows."""
    save_plan(session, change(load_plan(session)))


def set_pace(session: ProjectSession, pace: float) -> None:
    """Set the speed of the built-in model in words per second for the project's next run and for new projects."""
    preferences.change(pace=pace)
    change_plan(session, lambda plan: replace(plan, pace=pace))


def run_pace(pace: float, documents: int) -> float:
    """Return the pace of a run on so many documents: none if they are too many to follow, unless the user chose it."""
    return 0.0 if documents > MAX_FOLLOWED and preferences.load().pace is None else pace


def note_run_watched(session: ProjectSession, run: RunRow) -> None:
    """Make the built-in model instant after the user has watched a run, unless the user has chosen a pace."""
    if run.settings.pace > 0 and preferences.load().pace is None:
        set_pace(session, 0.0)


MIN_WEIGHT = 0.05
"""Smallest weight, of a model that is right no more often than by chance."""


def reviewed_vote_weights(session: ProjectSession | None, settings: RunSettings) -> str:
    """Return the weights of the annotators of planned settings as text, such as "2.2, 0.85, 1.39".

    The weight is log(p (k - 1) / (1 - p)) for the share p of correct labels of the annotator's model on reviewed
    documents, in any run with the same labels and any role. A choice has k labels and equally likely errors; other
    labels are present or absent (k = 2), with the weights of Nitzan and Paroush (1982). One right label and k - 1 wrong
    ones are added, so that a model without evidence has the weight 0. A model without reviewed documents has the mean
    weight of the others. UsageError if none of the models has any.
    """
    right, n = ({}, {}) if session is None else _count_correct(session, settings)
    errors = max(1, len(settings.codebook.labels) - 1) if settings.codebook.kind == "choice" else 1
    by_model = {spec: log((right[spec] + 1) * errors / (n[spec] - right[spec] + errors)) for spec in n if n[spec]}
    raw_weights = [by_model.get(model.spec) for model in settings.role_models.values()]
    weights = [max(MIN_WEIGHT, weight) for weight in raw_weights if weight is not None]
    if not weights:
        raise UsageError(
            "None of these models has labelled a reviewed document.",
            "Review documents of a run with these models, or set the weights of votes to equal.",
        )
    mean = sum(weights) / len(weights)
    return ", ".join(f"{mean if weight is None else max(MIN_WEIGHT, weight):.3g}" for weight in raw_weights)


def _count_correct(session: ProjectSession, settings: RunSettings) -> tuple[dict[str, int], dict[str, int]]:
    """Return the correct and all compared labels of each model on reviewed documents.

    A label of a document counts once per model: as the latest run with a value has it, of its first role with that
    model.
    """
    store = session.store
    rows = {document: row for row, document in enumerate(store.documents.ids())}
    correct: dict[str, Grid] = {}
    wanted = settings.codebook
    for run in store.runs.all():
        codebook = run.settings.codebook
        if codebook.kind != wanted.kind or codebook.items != wanted.items:
            continue
        if codebook.label_names.keys() != wanted.label_names.keys():  # the items of a choice do not name them
            continue
        documents = store.runs.document_ids(run.run_id)
        learned_from = list(store.learned_from(run.run_id))
        ended = store.annotations.debate_statuses(run.run_id) == "verdict"
        counted = ended & ~np.isin(documents, learned_from)
        row_indices = [rows[document] for document in compress(documents, counted)]
        reviewed = store.annotations.grid(run.run_id, codebook, REVIEWED)[counted]
        roles = [role for role in store.annotations.annotators(run.run_id) if role in run.settings.role_models]
        for role in reversed(roles):  # values of the first role replace those of the others
            spec = run.settings.role_models[role].spec
            annotator = VERDICT if protocols.samples_vote(run.settings) else role
            values = store.annotations.grid(run.run_id, codebook, annotator)[counted]
            comparable = ~np.isnan(values) & ~np.isnan(reviewed)
            is_correct = correct.setdefault(spec, np.full((len(rows), len(codebook.items)), np.nan))
            is_correct[row_indices] = np.where(comparable, values == reviewed, is_correct[row_indices])
    right = {spec: int(np.nansum(is_correct)) for spec, is_correct in correct.items()}
    return right, {spec: int((~np.isnan(is_correct)).sum()) for spec, is_correct in correct.items()}
