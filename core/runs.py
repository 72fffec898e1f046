"""Runs: frozen settings, and the stored state of a run. Values only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from core.codebook import Codebook
from core.documents import storable
from core.errors import UsageError

DEFAULT_MAX_TOKENS = 1024
LONG_MAX_TOKENS = 8192
"""Output limit of reasoning models and of roles that write long JSON."""
MAX_TOKENS = 2**31 - 1
"""Largest output limit that servers accept."""
CANARY = "canary:"
"""Prefix of the experiment id of a canary run; the id of the repeated run follows."""
FIRST_CANARY = 1_000_000
"""Iteration of the first canary run; other runs have smaller ones."""
BUILTIN = "builtin"
"""The connection of the built-in models, which need no server."""
LEXICAL_MODEL = "lexical"
"""The word-list model; ``lexical@SPEC`` uses the vectors of ``core.llm.embeddings.embedder``."""

State: TypeAlias = Literal["queued", "running", "paused", "done", "stopped", "failed"]
StopCode: TypeAlias = Literal["", "user", "on_hold", "budget", "batch", "errors", "interrupted"]
"""Reason why an unfinished run is not running.

``user``: a person paused or stopped it. ``on_hold``: it waits behind another run that was paused. ``budget``: its
budget is spent. ``batch``: its batch has no replies yet. ``errors``: something failed that a person has to look at.
``interrupted``: Moot was closed or crashed. Empty for a run that is active or done.
"""
Purpose: TypeAlias = Literal["run", "lab"]
"""Purpose of a run: label documents, or a trial in the Lab. Lists of runs leave trials out."""
EngineName: TypeAlias = Literal["live", "batch", "ray"]
Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""Reasoning effort, from ``none``, which switches reasoning off. No server accepts all of them."""
SchemaUse: TypeAlias = Literal["off", "auto", "on"]
"""When to request a JSON schema for a reply that must hold a decision: never, only after an unreadable reply,
always."""
OverlongPolicy: TypeAlias = Literal["fail", "cut", "skip"]
"""Action for a document that does not fit into a model's context: it fails, it is truncated with a note, or it is left
unresolved for a person."""


@dataclass(frozen=True, slots=True)
class StopReason:
    """Reason why an unfinished run is not running, as code and message (on hold: the id of the run that it follows)."""

    code: StopCode
    message: str


NOT_STOPPED = StopReason("", "")
"""Stop reason of a run that is active or done."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Sampling(_Frozen):
    """Sampling parameters of a role model. None leaves a parameter to the server, and ``max_tokens`` to the role.

    ``default_limit`` is the role's output limit, for ``max_tokens`` None. It is not part of the key of a reply: it may
    grow once a model is known to reason, and those replies of an earlier run that it did not cut are reused.
    """

    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1, le=MAX_TOKENS)
    default_limit: int = Field(default=DEFAULT_MAX_TOKENS, ge=1, le=MAX_TOKENS)
    seed: int | None = None
    reasoning_effort: Effort | None = None
    json_schema: SchemaUse = "auto"

    @property
    def output_limit(self) -> int:
        """The output limit in tokens; every request carries one."""
        return self.max_tokens or self.default_limit


SAMPLING_PARAMS = {
    "max_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "reasoning_effort": "reasoning_effort",
    "schema": "json_schema",
}
"""Command-line parameters that set a role model's sampling, with the name of the field they set."""


class ErrorHandling(_Frozen):
    """Error handling and extra rate limits of a run; the fields are names of ``--param``."""

    on_long: OverlongPolicy = "fail"
    silence: float | None = Field(default=None, gt=0, le=86_400)
    """Longest wait in seconds for the next byte of a reply, the first one included; None for the client's default."""
    deadline: float | None = Field(default=None, gt=0, le=86_400)
    """Longest time in seconds for a whole reply; None for a default that grows with the role's output limit."""
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    """The two rates bound each server of the run, in addition to the limits of its connection."""


class Prepass(_Frozen):
    """The run with votes whose ambiguous documents alone a run is on; the fields are names of ``--param``.

    Empty for a run on all documents, and for runs of older versions of Moot, which did not store it.
    """

    ambiguous: str = ""
    theta: float = Field(default=0.5, ge=0, le=1)
    """Threshold of ambiguity."""


def builtin_name(model: str) -> tuple[str, str]:
    """Return the name and the suffix of a built-in model: vectors, or the hash of a classifier; empty without one."""
    name, _, suffix = model.partition("@")
    return name, suffix


class RoleModel(_Frozen):
    """The model configured for a role: a model at a connection, and its sampling.

    ``base_url`` is frozen with the run, so that a connection that is changed later does not change what a stored reply
    was an answer to. It is empty for the built-in models.
    """

    connection: str
    model: str
    base_url: str = ""
    sampling: Sampling = Sampling()

    @property
    def spec(self) -> str:
        """``connection/model``."""
        return f"{self.connection}/{self.model}"

    @property
    def is_builtin(self) -> bool:
        """True for a built-in model."""
        return self.connection == BUILTIN

    @property
    def name(self) -> str:
        """The model on the screen: the name at its connection, or "word-list baseline" for the built-in model."""
        name, vectors = builtin_name(self.model)
        if not self.is_builtin or name != LEXICAL_MODEL:
            return self.model
        return f"word-list baseline with vectors of {vectors}" if vectors else "word-list baseline"

    @classmethod
    def parse(cls, spec: str, *, sampling: Sampling | None = None) -> Self:
        """Parse ``connection/model``; the model name may contain slashes. Raises UsageError when a part is missing."""
        connection, slash, model = spec.strip().partition("/")
        if storable(spec) != spec:  # undecodable bytes from the command line
            raise UsageError(f"'{storable(spec)}' is not a model.", "Write its name in UTF-8.")
        if not slash or not connection or not model:
            raise UsageError(f"'{spec}' is not a model.", "Write connection/model, for example builtin/lexical.")
        return cls(connection=connection, model=model, sampling=sampling or Sampling())


class EngineSettings(_Frozen):
    """Engine of a run and its options. It does not change the requests, so engines share stored replies."""

    name: EngineName = "live"
    """``live`` streams calls, ``batch`` writes files of requests of one stage, ``ray`` uses a Ray cluster."""
    batch_dir: str = ""
    """Folder for files that are answered outside Moot; empty where the server has a Batch API."""
    batch_wait: float | None = Field(default=None, ge=0)
    """Longest wait for a stage of a batch run in seconds; None for no limit with a Batch API, 0 with ``batch_dir``."""
    ray_address: str = ""
    """Address of a cluster; empty for ``RAY_ADDRESS``, or a new cluster on this machine."""
    ray_workers: int | None = Field(default=None, ge=1)
    """Number of worker processes; None for one per local processor."""
    ray_dir: str = ""
    """Folder that all machines of the cluster can access; empty for one beside the project."""

    @property
    def stage_timeout(self) -> float:
        """Longest wait for a batch stage in seconds; may be infinite."""
        if self.batch_wait is not None:
            return self.batch_wait
        return 0.0 if self.batch_dir else float("inf")

    @property
    def price_share(self) -> float:
        """Price of a request relative to the list price: half in a Batch API, not in files answered outside Moot."""
        return 0.5 if self.name == "batch" and not self.batch_dir else 1.0


ENGINE_PARAMS = tuple(name for name in EngineSettings.model_fields if name != "name")
"""Command-line parameters of engines, which are names of fields."""
GENERAL_PARAMS = (*SAMPLING_PARAMS, *ErrorHandling.model_fields, *Prepass.model_fields, *ENGINE_PARAMS)
"""Parameters that runs of every protocol have."""


class Template(_Frozen):
    """A prompt template as a run used it: its shipped or saved name, and its text."""

    name: str
    text: str


class RunSettings(_Frozen):
    """Everything that determines the requests and the documents of a run, frozen at its start.

    ``templates`` and ``role_models`` map a role to its template and its model. ``iteration`` is the index of the run
    within its experiment, from 0.
    """

    protocol: str
    codebook: Codebook
    codebook_version: int = 0
    role_models: dict[str, RoleModel]
    templates: dict[str, Template]
    params: dict[str, Any] = Field(default_factory=dict)
    seed: int = 0
    iteration: int = 0
    engine: EngineSettings = EngineSettings()
    concurrency: int = Field(default=8, ge=1, le=4096)
    budget_usd: float | None = Field(default=None, gt=0)
    handling: ErrorHandling = ErrorHandling()
    prepass: Prepass = Prepass()
    pace: float = Field(default=0.0, ge=0)
    """Words per second at which the built-in model streams its replies; 0 is instant."""

    @property
    def specs(self) -> dict[str, str]:
        """The model of each role as ``connection/model``."""
        return {role: role_model.spec for role, role_model in self.role_models.items()}

    @property
    def is_builtin(self) -> bool:
        """True if all roles use built-in models."""
        return all(role_model.is_builtin for role_model in self.role_models.values())


class RunDetails(_Frozen):
    """Name, tags and notes of a run. They can change at any time, because they change no request.

    An ``archived`` run is only offered in the list of runs. A ``deleted`` run is hidden until the deletion is undone.
    """

    name: str = Field(default="", max_length=120)
    tags: tuple[str, ...] = ()
    note: str = Field(default="", max_length=4000)
    pinned: bool = False
    status: Literal["", "archived", "deleted"] = ""

    def title(self, run_id: str) -> str:
        """Return the name under which the run is shown."""
        return self.name or f"Run {run_id}"


class RunRow(_Frozen):
    """A stored run. Counts are of documents; ``turns`` counts the stored replies of its debates.

    ``estimated_calls`` are paid calls whose server reported no tokens, so that their cost is estimated by length.
    ``cached_tokens`` are the part of ``prompt_tokens`` that servers took from their prefix caches. ``stop_code`` and
    ``message`` give the reason why the run is not running. ``budget_usd`` is the current budget: the one in
    ``settings``, or the one it was raised to.
    """

    run_id: str
    experiment_id: str
    settings: RunSettings
    state: State
    created_at: float
    finished_at: float | None = None
    documents: int
    verdicts: int = 0
    unresolved: int = 0
    failed: int = 0
    turns: int = 0
    calls: int = 0
    cached_calls: int = 0
    estimated_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = 0.0
    seconds: float = 0.0
    rejected: int = 0
    stop_code: StopCode = ""
    message: str = ""
    purpose: Purpose = "run"
    budget_usd: float | None = None
    details: RunDetails = RunDetails()

    @property
    def is_canary(self) -> bool:
        """True for a run that repeats canary documents of another run."""
        return self.experiment_id.startswith(CANARY)

    @property
    def title(self) -> str:
        """The name under which the run is shown."""
        return self.details.title(self.run_id)

    @property
    def ended(self) -> int:
        """Number of documents whose debate has ended in any way."""
        return self.verdicts + self.unresolved + self.failed


def total_cost(costs: Iterable[float | None]) -> float | None:
    """Return the sum of costs in dollars, None if one of them is unknown."""
    known = list(costs)
    return None if None in known else sum((cost for cost in known if cost is not None), 0.0)
