"""Create a run from another one with some settings changed; replies to unchanged requests are reused without cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from core.baseline.classifier_replies import NAME as CLASSIFIER
from core.debate import protocols
from core.debate.protocol_spec import FROM_REVIEWS, WEIGHTS, Params
from core.engine.ray_job import require_ray
from core.llm.model_library import ModelLibrary
from core.runs import BUILTIN, EngineSettings, RoleModel, RunDetails, RunRow, RunSettings
from core.services import few_shot_examples, prompt_templates
from core.services.project_session import ProjectSession
from core.services.runs import planning
from core.services.runs.configuration import propose_name


def changed_settings(
    session: ProjectSession,
    run: RunRow,
    *,
    role_models: Mapping[str, RoleModel],
    prompts: Mapping[str, str],
    concurrency: int | None,
    budget_usd: float | None,
    engine: EngineSettings,
) -> RunSettings:
    """Return the settings of a run with some of them replaced.

    ``role_models`` are by role or family of roles, ``prompts`` are template texts by role or shared name; others stay.
    None keeps a setting. The budget kept is the current one, which may have changed since the start. Weights of votes
    that came from reviews are computed again for other models.

    Raises UsageError for a role or template that the run does not have, if no weight can be computed, and as
    ``require_ray`` does; PromptError for a template that cannot be rendered on some documents of the run; NoSuchModel
    for a classifier that is not trained yet.
    """
    before, models = run.settings, session.models
    roles = protocols.roles_of(before)
    planning.require_roles(before.protocol, roles, role_models)
    given = {role: role_models.get(role.name) or role_models.get(role.family) for role in roles}
    chosen = {role: role_model for role, role_model in given.items() if role_model is not None}
    spec, params = protocols.for_settings(before), protocols.params_of(before)
    changed = planning.complete_role_models(spec, params, before.codebook, models, chosen)
    settings = before.model_copy(
        update={
            "role_models": {**before.role_models, **changed},
            "templates": planning.replace_prompts(before.templates, prompts, before.protocol),
            "concurrency": concurrency or before.concurrency,
            "budget_usd": budget_usd or run.budget_usd,
            "engine": engine,
            "params": _planned_params(before.params) if chosen else before.params,
        }
    )
    settings = planning.pin_settings(session, settings)
    if engine.name == "ray":
        require_ray(settings)
    documents = prompt_templates.sample_documents(session, session.store.runs.document_ids(run.run_id))
    prompt_templates.check_templates(settings, documents)
    return settings


def _planned_params(params: Params) -> dict[str, Any]:
    """Return parameters as they were planned: weights of votes that came from reviews are not numbers yet."""
    if str(params.get(WEIGHTS)).startswith(f"{FROM_REVIEWS}:"):
        return {**params, WEIGHTS: FROM_REVIEWS}
    return dict(params)


def _with_pinned_classifier(specs: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str]:
    """Return specs in which the classifier without a hash is the one that the role has in ``before``."""
    classifier = f"{BUILTIN}/{CLASSIFIER}"
    return {
        role: earlier if spec == classifier and (earlier := before.get(role, "")).startswith(f"{classifier}@") else spec
        for role, spec in specs.items()
    }


@dataclass(frozen=True, slots=True)
class KeptAddress:
    """The address of a connection that a run keeps for these roles, although the connection has another one now."""

    connection: str
    address: str
    current_address: str
    roles: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The reason in words."""
        return (
            f"This run keeps the address {self.address} of '{self.connection}', because its paid replies belong "
            f"to this address. {self.current_address} is not used."
        )


def kept_addresses(settings: RunSettings, models: ModelLibrary) -> tuple[KeptAddress, ...]:
    """Return the addresses of a run whose connections have other ones now."""
    roles: dict[tuple[str, str], list[str]] = {}
    for role, role_model in settings.role_models.items():
        roles.setdefault((role_model.connection, role_model.base_url), []).append(role)
    return tuple(
        KeptAddress(name, address, connection.base_url, tuple(role_names))
        for (name, address), role_names in roles.items()
        if (connection := models.connections.get(name)) is not None and connection.base_url != address
    )


def create_rerun(session: ProjectSession, before: RunRow, settings: RunSettings, limit: int | None = None) -> RunRow:
    """Create a queued run with these settings on the documents of another run, or on the first ``limit`` of them.

    It shows examples of the same labelled documents. Documents that others have replaced are left out. Raises
    UsageError if none is left.
    """
    settings = planning.with_learned_limits(settings, session.models)
    ids = session.store.runs.present_ids(before.run_id)
    details = RunDetails(name=propose_name(settings, len(ids[:limit]), session.all_runs()))
    run = session.store.runs.create(settings, ids[:limit], rejected=before.rejected, details=details)
    few_shot_examples.copy_pool(session.store, before.run_id, run.run_id)
    return run


def plan_from_run(run: RunRow) -> planning.Plan:
    """Return a plan for the setup form with the settings of a run, except for its documents and prompts."""
    settings = run.settings
    return planning.Plan(
        protocol=settings.protocol,
        default_model=next(iter(settings.role_models.values())),
        role_models=dict(settings.role_models),
        params=_planned_params(settings.params),
        seed=settings.seed,
        concurrency=settings.concurrency,
        budget_usd=run.budget_usd,
        handling=settings.handling,
        pace=settings.pace,
        engine=settings.engine,
    )


def use_run(session: ProjectSession, run: RunRow) -> int:
    """Use models, parameters and prompts of a run for tests in the Lab and for the next run.

    The size of the next run stays as it is. Return the number of prompts that changed in the editor. Raises UsageError
    if the run's protocol no longer exists.
    """
    planning.save_plan(session, replace(plan_from_run(run), limit=planning.load_plan(session).limit))
    return prompt_templates.load_run_prompts(session, run)


def base_run(session: ProjectSession, plan: planning.Plan) -> RunRow | None:
    """Return the latest run with protocol, models and parameters of a plan, None without one."""
    wanted = plan.for_protocol()
    params = _planned_params(protocols.find(wanted.protocol, wanted.params).parse_params(wanted.params))

    def alike(settings: RunSettings) -> bool:
        pin = session.models.pin_vectors
        specs = {role: pin(wanted.role_model(role), settings.codebook).spec for role in settings.role_models}
        return (
            settings.protocol == wanted.protocol
            and settings.specs == _with_pinned_classifier(specs, settings.specs)
            and _planned_params({**params, **settings.params}) == params
        )

    return next((run for run in reversed(session.all_runs()) if alike(run.settings)), None)
