"""The Run room: from a plan to settings, a preflight, and runs on the desk."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from core import baseline, prompts
from core.codebook import Codebook
from core.debate import protocols
from core.debate.protocols import custom
from core.debate.protocols.custom import read
from core.debate.spec import PRESET
from core.debate.turns import Role
from core.engine.preflight import Probe, probe_role_models
from core.engine.thread import EngineThread
from core.errors import CodebookError, InputError, UsageError
from core.llm.models import ModelLibrary
from core.runs import BUILTIN, EngineSettings, Handling, RoleModel, RunRow, RunSettings, Sampling, Template
from core.services import capability_cache
from core.services.session import ProjectSession

Form = TypeVar("Form", bound=BaseModel)

DEFAULT_ROLE_MODEL = RoleModel(connection=BUILTIN, model="lexical")
SAMPLING_PARAMS = {
    "max_tokens": "max_tokens", "temperature": "temperature", "top_p": "top_p", "reasoning_effort": "reasoning_effort",
    "schema": "json_schema",
}  # fmt: skip
"""Parameters of the command line that are a seat's, and what they are called there."""
HANDLING_PARAMS = tuple(Handling.model_fields)
PANEL = "panel"
"""The protocol that is made of the project's personas."""
PLAN_SETTING = "plan"
"""The project setting that keeps the last plan."""
DEFAULT_STUDIO_PACE = 40.0
"""Words a second of the built-in model in the studio until a person says otherwise: slow enough to be watched."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a person chose for a run. ``role_models`` may leave roles out: they get ``everyone``.

    ``limit`` None takes all documents; ``ambiguous`` is a pre-pass whose ambiguous documents (at ``theta``) the run is
    limited to, empty for no such limit; ``pace`` is the built-in model's words a second, 0 instant.
    """

    protocol: str = "ecj"
    everyone: RoleModel = DEFAULT_ROLE_MODEL
    role_models: Mapping[str, RoleModel] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    concurrency: int = 8
    budget_usd: float | None = None
    handling: Handling = Handling()
    iterations: int = 1
    limit: int | None = None
    ambiguous: str = ""
    theta: float = 0.5
    pace: float = 0.0
    engine: EngineSettings = EngineSettings()

    def role_model(self, role: str) -> RoleModel:
        """Who sits on a role: who was put there, else on its family (``annotator`` of ``annotator_b``), else
        ``everyone``."""
        return self.role_models.get(role) or self.role_models.get(protocols.family(role)) or self.everyone

    def with_role_model(self, role: str, role_model: RoleModel) -> Plan:
        """This plan with somebody else on one role."""
        return replace(self, role_models={**self.role_models, role: role_model})

    def everywhere(self, role_model: RoleModel) -> Plan:
        """This plan with the same model on every role, of any protocol."""
        return replace(self, everyone=role_model, role_models={})

    def narrowed(self) -> Plan:
        """This plan without the seats and parameters of other protocols, which it keeps for when one comes back to
        them. UsageError for an unknown protocol."""
        card = protocols.find(self.protocol, self.params)
        own = {PRESET, *(param.name for param in card.params)} if card.presets else {p.name for p in card.params}
        params = {name: value for name, value in self.params.items() if name in own}
        known = _assignable_names(card.roles(card.settled(params)))
        return replace(
            self,
            params=params,
            role_models={role: role_model for role, role_model in self.role_models.items() if role in known},
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data for the project's settings."""
        return {
            "protocol": self.protocol,
            "everyone": self.everyone.model_dump(mode="json"),
            "role_models": {role: role_model.model_dump(mode="json") for role, role_model in self.role_models.items()},
            "params": dict(self.params),
            "seed": self.seed,
            "concurrency": self.concurrency,
            "budget_usd": self.budget_usd,
            "handling": self.handling.model_dump(mode="json"),
            "iterations": self.iterations,
            "limit": self.limit,
            "ambiguous": self.ambiguous,
            "theta": self.theta,
            "pace": self.pace,
            "engine": self.engine.model_dump(mode="json"),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        """The plan that ``to_json`` wrote."""
        role_models = {role: RoleModel.model_validate(role_model) for role, role_model in data["role_models"].items()}
        handling = Handling.model_validate(data.get("handling", {}))
        engine = EngineSettings.model_validate(data.get("engine", {}))
        frozen = {"everyone": RoleModel.model_validate(data["everyone"]), "handling": handling, "engine": engine}
        return cls(**{**data, **frozen, "role_models": role_models})


def split_params(params: Mapping[str, str], seed: int | None) -> tuple[Sampling, dict[str, str]]:
    """``KEY=VALUE`` parameters as sampling, and the rest for the protocol. UsageError for a value that does not fit."""
    chosen: dict[str, Any] = {SAMPLING_PARAMS[name]: value for name, value in params.items() if name in SAMPLING_PARAMS}
    if seed is not None:
        chosen["seed"] = seed
    rest = {name: value for name, value in params.items() if name not in SAMPLING_PARAMS}
    return _validated(Sampling, chosen), rest


def split_handling(params: Mapping[str, str]) -> tuple[Handling, dict[str, str]]:
    """``KEY=VALUE`` parameters that say how a run takes what goes wrong, and the rest. UsageError for a value that does
    not fit."""
    chosen = {name: value for name, value in params.items() if name in HANDLING_PARAMS}
    return _validated(Handling, chosen), {name: value for name, value in params.items() if name not in chosen}


def _validated(model: type[Form], chosen: Mapping[str, Any]) -> Form:
    try:
        return model.model_validate(dict(chosen))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise UsageError(f"--param {problem['loc'][0]}: {problem['msg']}.", "") from error


def build_settings(
    plan: Plan, codebook: Codebook, version: int, models: ModelLibrary, own: Mapping[str, Template] | None = None
) -> RunSettings:
    """The frozen settings of a plan. ``own`` are a project's templates that stand in for shipped ones, by slot
    (``core.services.templates.promoted_templates``).

    Raises UsageError for an unknown protocol, role, parameter or connection, for a seat without a model, and for a
    budget on a seat without a known price; CodebookError when there is nothing to label or the protocol does not do
    this kind.
    """
    card = protocols.find(plan.protocol, plan.params)
    codebook.require_labels()
    if codebook.kind not in card.kinds:
        able = [name for name, other in protocols.PROTOCOLS.items() if codebook.kind in other.kinds]
        why = card.refuses.get(codebook.kind, "")
        raise CodebookError(
            f"{card.title} does not do codebooks of kind {codebook.kind}{': ' + why if why else ''}.",
            f"These do: {', '.join(able)}." if able else "No protocol does yet.",
        )
    params = card.settled(plan.params)
    if trouble := card.check(params, codebook):
        raise UsageError(f"{card.name}: {trouble}.", "Change the parameter or the codebook.")
    roles = card.roles(params)
    strangers = [role for role in plan.role_models if role not in _assignable_names(roles)]
    if strangers:
        raise UsageError(
            f"{plan.protocol} has no role '{strangers[0]}'.", f"Its roles are: {', '.join(_role_names(roles))}."
        )
    warmth = card.temperatures(params)
    role_models = {
        role.name: _with_temperature(models.resolve(plan.role_model(role.name)), warmth.get(role.name))
        for role in roles
    }
    if vacant := [role for role in roles if not role_models[role.name].model]:
        raise UsageError(
            f"No model sits as {', '.join(role.title.lower() for role in vacant)}.",
            f"Choose one of '{role_models[vacant[0].name].connection}' on the Models page, or type its name.",
        )
    if plan.budget_usd is not None:
        require_prices(role_models, models)
    return RunSettings(
        protocol=plan.protocol,
        codebook=codebook,
        codebook_version=version,
        role_models=role_models,
        templates=prompts.replaced(card.texts(), own or {}),
        params=params,
        seed=plan.seed,
        concurrency=plan.concurrency,
        budget_usd=plan.budget_usd,
        handling=plan.handling,
        pace=plan.pace,
        engine=plan.engine,
    )


def require_prices(role_models: Mapping[str, RoleModel], models: ModelLibrary) -> None:
    """UsageError for a seat without a known price: a budget cannot be kept over it."""
    for role, role_model in role_models.items():
        if not models.priced(role_model):
            raise UsageError(
                f"The price of {role_model.spec} ({role}) is not known, so a budget cannot be kept.",
                "Run without a budget, or choose a model with a list price.",
            )


def _assignable_names(roles: Sequence[Role]) -> set[str]:
    """What a seat can be given to: a role, or a family of them."""
    return {role.name for role in roles} | {role.family for role in roles}


def _role_names(roles: Sequence[Role]) -> list[str]:
    return list(dict.fromkeys(name for role in roles for name in (role.family, role.name)))


def _with_temperature(role_model: RoleModel, temperature: float | None) -> RoleModel:
    """The seat with the protocol's temperature where it sets none of its own."""
    if temperature is None or role_model.sampling.temperature is not None:
        return role_model
    return role_model.model_copy(
        update={"sampling": role_model.sampling.model_copy(update={"temperature": temperature})}
    )


def preflight(settings: RunSettings, models: ModelLibrary, engine: EngineThread) -> tuple[Probe, ...]:
    """One tiny request to each distinct seat.

    Raises the first of Unreachable, Unauthorised and NoSuchModel: such a run must not start. Other findings are in the
    probes.
    """
    probes = probe_all(settings, models, engine)
    for probe in probes:
        if probe.stops and probe.error is not None:
            raise probe.error
    return probes


def probe_all(settings: RunSettings, models: ModelLibrary, engine: EngineThread) -> tuple[Probe, ...]:
    """One tiny request to each distinct seat; whatever each met is in its probe. Those that answered are then asked for
    what they tell for nothing: how much context they have. What was learned is kept."""

    async def probed() -> tuple[Probe, ...]:
        probes = await probe_role_models(settings, models)
        for probe in probes:
            if probe.error is None:
                models.note_format(probe.role_model, probe.in_format)
        await asyncio.gather(*(models.look_up(probe.role_model) for probe in probes if probe.error is None))
        return probes

    probes = engine.submit(probed()).result()
    capability_cache.keep(models)
    return probes


def create_runs(
    session: ProjectSession,
    settings: RunSettings,
    document_ids: Sequence[str],
    *,
    iterations: int = 1,
    rejected: int = 0,
) -> list[RunRow]:
    """The runs of an experiment, one for each iteration, queued but not started. UsageError without documents."""
    settings = session.trainer.resolve(settings)
    made: list[RunRow] = []
    for iteration in range(iterations):
        made.append(
            session.store.runs.create(
                settings.model_copy(update={"iteration": iteration}),
                document_ids,
                experiment_id=made[0].experiment_id if made else None,
                rejected=rejected,
            )
        )
    return made


def save_plan(session: ProjectSession, plan: Plan) -> None:
    """Keep the plan for the next visit."""
    session.store.settings.set(PLAN_SETTING, plan.to_json())


def load_plan(session: ProjectSession) -> Plan:
    """The plan that was kept last, or the studio's defaults; one from another version that no longer fits counts as
    none."""
    data = session.store.settings.get(PLAN_SETTING)
    try:
        plan = Plan.from_json(data) if data else Plan(pace=DEFAULT_STUDIO_PACE)
        protocols.find(plan.protocol, plan.params)
    except (TypeError, ValueError, KeyError, UsageError):
        return Plan(pace=DEFAULT_STUDIO_PACE)
    if plan.protocol == PANEL and (saved := session.store.personas.latest()) is not None:
        plan = replace(plan, params={**plan.params, "personas": saved.cast.text})
    return plan


def baseline_warnings(settings: RunSettings) -> list[str]:
    """What a person should know before the run starts: labels that the built-in model can say nothing on."""
    if not any(role_model.connection == BUILTIN for role_model in settings.role_models.values()):
        return []
    return baseline.describe(settings.codebook)


PROTOCOL_SUFFIXES = (".yaml", ".yml")


def load_protocol(protocol: str) -> tuple[str, dict[str, str]]:
    """A protocol by name, or the path of a file that describes one: its name, and the parameters that freeze the file
    into the run. InputError for a file that cannot be read, UsageError for one that describes no protocol."""
    if not protocol.lower().endswith(PROTOCOL_SUFFIXES):
        return protocol, {}
    try:
        text = Path(protocol).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{protocol} is not UTF-8 text.", "Save the protocol as UTF-8 YAML.") from error
    except OSError as error:
        raise InputError(f"{protocol} cannot be read: {error.strerror}.", "Check the path of --protocol.") from error
    return parse_protocol(text, protocol)


def parse_protocol(text: str, where: str) -> tuple[str, dict[str, str]]:
    """The name and parameters of the protocol that a text describes. UsageError with the line of what is wrong."""
    read(text, where)
    return custom.NAME, {custom.SCRIPT: text}
