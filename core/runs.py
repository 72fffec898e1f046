"""Runs: frozen settings, and where a run stands. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from core.codebook import Codebook
from core.documents import storable
from core.errors import UsageError

DEFAULT_MAX_TOKENS = 1024
MOST_TOKENS = 2**31 - 1
"""What servers can count."""
BUILTIN = "builtin"
"""The connection of the built-in models, which need no server."""

State: TypeAlias = Literal["queued", "running", "paused", "done", "stopped", "failed"]
Reason: TypeAlias = Literal["", "you", "held", "budget", "batch", "faults", "interrupted"]
"""Why a run stands before it is done: a person said so; it is held back with the run before it; its ceiling is reached;
its batch is not answered yet; something failed that a person has to look at; Moot was closed or died. Empty for a run
that does not stand."""
Purpose: TypeAlias = Literal["run", "lab"]
"""What a run is for: to label documents, or only to try something out; lists of runs leave the latter out."""
EngineName: TypeAlias = Literal["live", "batch", "ray"]
Effort: TypeAlias = Literal["minimal", "low", "medium", "high"]
SchemaUse: TypeAlias = Literal["off", "auto", "on"]
"""When a reply that must hold a decision is held to a JSON schema: never, in the second try after one that could not be
read, always."""
OnLong: TypeAlias = Literal["fail", "cut", "skip"]
"""What becomes of a document that does not fit into a model's context: it fails; it is cut to what fits, and says so;
it is left unresolved for a person."""


@dataclass(frozen=True, slots=True)
class StopReason:
    """Why a run ends before it is done: the reason for programs, the words for people."""

    reason: Reason
    words: str


UNHALTED = StopReason("", "")
"""Of a run that goes on, or is done."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Sampling(_Frozen):
    """How a seat samples. None leaves a parameter to the server; ``max_tokens`` always goes out."""

    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int = Field(default=DEFAULT_MAX_TOKENS, ge=1, le=MOST_TOKENS)
    seed: int | None = None
    reasoning_effort: Effort | None = None
    json_schema: SchemaUse = "off"


class Handling(_Frozen):
    """How a run takes what goes wrong. ``silence`` are the seconds that a server may say nothing, before its first word
    and in mid-stream; None is the default of the wire. Requests and tokens a minute bound each server of the run,
    besides what the person set for its connection."""

    on_long: OnLong = "fail"
    silence: float | None = Field(default=None, gt=0, le=86_400)
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)


class RoleModel(_Frozen):
    """Who sits on a role: a model at a connection, and how it samples. ``base_url`` is frozen in with the run, so that
    a connection renamed later does not change what a stored reply was an answer to (empty for the built-in)."""

    connection: str
    model: str
    base_url: str = ""
    sampling: Sampling = Sampling()

    @property
    def spec(self) -> str:
        """``connection/model``."""
        return f"{self.connection}/{self.model}"

    @classmethod
    def parse(cls, spec: str, *, sampling: Sampling | None = None) -> Self:
        """A seat from ``connection/model``; the model's name may hold slashes. UsageError when a part is missing."""
        connection, slash, model = spec.strip().partition("/")
        if storable(spec) != spec:  # bytes of a command line that are no characters
            raise UsageError(f"'{storable(spec)}' is not a model.", "Write its name in UTF-8.")
        if not slash or not connection or not model:
            raise UsageError(f"'{spec}' is not a model.", "Write connection/model, for example builtin/lexical.")
        return cls(connection=connection, model=model, sampling=sampling or Sampling())


class Engine(_Frozen):
    """How a run's asks reach the models: ``live`` as streamed calls, ``batch`` as files of requests, a stage of all
    debates at a time, ``ray`` over a Ray cluster. It decides nothing about what is asked, so replies are shared between
    them.

    ``batch_dir`` is a folder for files that are answered by hand, empty where the server has a Batch API. A batch run
    waits at most ``batch_wait`` seconds for a stage and then pauses (None: as long as it takes; by hand 0).
    ``ray_address`` is that of a cluster (empty: one on this machine), ``ray_workers`` how many processes debate there
    (None: one for each processor here); ``ray_dir`` is a folder that all its machines see (empty: beside the project).
    """

    name: EngineName = "live"
    batch_dir: str = ""
    batch_wait: float | None = Field(default=None, ge=0)
    ray_address: str = ""
    ray_workers: int | None = Field(default=None, ge=1)
    ray_dir: str = ""

    @property
    def patience(self) -> float:
        """Seconds that a stage is waited for; may be infinite."""
        if self.batch_wait is not None:
            return self.batch_wait
        return 0.0 if self.batch_dir else float("inf")


class Template(_Frozen):
    """A prompt template as a run used it: its shipped or saved name and its very text."""

    name: str
    text: str


def _clean_params(value: Any) -> Any:
    return dict(value) if value else {}


class RunSettings(_Frozen):
    """Everything that decides what a run asks. Frozen at the start; a resumed run uses these, not today's.

    ``templates`` maps a role to the template it speaks from, ``role_models`` a role to who sits on it. ``iteration``
    is the sibling index (0 for the first) within the experiment.
    """

    protocol: str
    codebook: Codebook
    codebook_version: int = 0
    role_models: dict[str, RoleModel]
    templates: dict[str, Template]
    params: Annotated[dict[str, Any], BeforeValidator(_clean_params)] = Field(default_factory=dict)
    seed: int = 0
    iteration: int = 0
    engine: Engine = Engine()
    concurrency: int = Field(default=8, ge=1, le=4096)
    budget_usd: float | None = Field(default=None, gt=0)
    handling: Handling = Handling()
    pace: float = Field(default=0.0, ge=0)
    """Words a second at which the built-in model speaks; 0 is instant."""


class RunRow(_Frozen):
    """A run as the store tells it. Counts are of documents; ``turns`` are stored replies of its debates.
    ``cached_tokens`` are those of ``prompt_tokens`` that servers took from their prefix caches."""

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
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = 0.0
    seconds: float = 0.0
    rejected: int = 0
    reason: Reason = ""
    message: str = ""
    purpose: Purpose = "run"
    budget_usd: float | None = None
    """The ceiling that holds now: the one in ``settings``, or the one it was raised to since."""
