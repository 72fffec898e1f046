"""Custom protocols: a chain or rounds of roles, described in a YAML file and run by one generator.

Requests: as many as the order names, a repeated stage up to its number of times; one more for each unreadable reply.
Failed replies are not shown to other roles. The document fails only if the one deciding role has an error in its last
reply, or if a vote lacks more than half of its voters because of errors.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple, TypeAlias, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from core import prompts, yaml_text
from core.codebook import Codebook, Kind
from core.debate.context import DebateContext, Transcript
from core.debate.protocol_spec import ONE_ROLE_RULES, VOTE_RULES, Param, Params, ProtocolSpec, RequestCount
from core.debate.turns import AttributedReply, Reply, Request, Role, Step, Verdict, family
from core.debate.votes import in_consensus, majority_verdict
from core.documents import VERDICT
from core.errors import UsageError
from core.prompts.checking import check
from core.runs import Template

NAME, SCRIPT = "custom", "script"


def debate(context: DebateContext) -> Step[Verdict]:
    """Ask the roles in the described order, then take the verdict of the deciding role or of a vote."""
    protocol = parse_definition(str(context.params[SCRIPT]))
    titles = {role.name: role.title for role in protocol.spec_roles}
    transcript = Transcript()
    last: dict[str, Reply] = {}
    times: Counter[str] = Counter()
    for loop in protocol.order:
        for _ in range(loop.times):
            for stage in loop.repeat:
                replies = yield from context.ask_all(
                    _request(context, protocol, role, times[role], transcript.history) for role in stage
                )
                for role, reply in zip(stage, replies, strict=True):
                    transcript.add(role, titles[role], reply, times[role])
                    last[role] = reply
                    times[role] += 1
            if loop.until and _agreed(context, loop, transcript.latest):
                break
    latest = transcript.latest
    if len(protocol.deciding_roles) == 1:
        (role,) = protocol.deciding_roles
        # Its last reply counts even if unreadable: an earlier one may say what the role has taken back.
        context.require(last[role])
        return context.verdict(last[role])
    return majority_verdict(context, [latest[role] for role in protocol.deciding_roles])


def _request(
    context: DebateContext, protocol: ProtocolDefinition, role: str, round: int, history: Sequence[AttributedReply]
) -> Request:
    sources = (protocol.inputs or {}).get(role)
    visible = tuple(turn for turn in history if sources is None or turn.role in sources)
    return context.request(
        role,
        form=context.form if role in protocol.must_decide else "text",
        round=round,
        replies_to=[turn.role for turn in visible],
        replies=visible,
    )


def _agreed(context: DebateContext, loop: Loop, latest: Mapping[str, Reply]) -> bool:
    readable = [latest[role].reading.values for role in loop.roles if latest[role].readable]
    return len(readable) == len(loop.roles) and in_consensus(readable, context.codebook)


def spec(script: str = "") -> ProtocolSpec:
    """Return the specification of a described protocol, or an empty one without a description.

    Raises UsageError for a description with mistakes.
    """
    protocol = parse_definition(script) if script.strip() else _UNDESCRIBED
    rules, deciding_role = VOTE_RULES, VERDICT
    if len(protocol.deciding_roles) == 1:
        rules, deciding_role = ONE_ROLE_RULES, protocol.deciding_roles[0]
    kinds, roles = protocol.supported_kinds, protocol.spec_roles
    return ProtocolSpec(
        name=NAME,
        title=protocol.name,
        short_title=protocol.name if script.strip() and len(protocol.name) <= MAX_SHORT_TITLE else "Custom",
        summary=protocol.about or "A custom protocol.",
        source="a file",
        layout="round" if any(loop.times > 1 for loop in protocol.order) else "chain",
        roles=lambda _params: roles,
        deciding_role=lambda _params: deciding_role,
        request_counts=lambda _params, _codebook: _request_counts(protocol),
        kinds={kind: rules[kind] for kind in kinds},
        unsupported={kind: "the file leaves it out" for kind in rules if kind not in kinds},
        params=(Param(SCRIPT, "Description", "", "The protocol as YAML.", hidden=True),),
        check=_check,
        templates=lambda: _templates(protocol),
        debate=debate,
    )


def _request_counts(protocol: ProtocolDefinition) -> dict[str, RequestCount]:
    counts: dict[str, RequestCount] = {}
    for loop in protocol.order:
        per_role = RequestCount(1 if loop.until else loop.times, loop.times)
        for stage in loop.repeat:
            for role in stage:
                counts[role] = counts.get(role, RequestCount(0, 0)) + per_role
    return counts


def _check(params: Params, _codebook: Codebook) -> str:
    return "" if str(params.get(SCRIPT, "")).strip() else "it needs a description: --protocol FILE.yaml, or a file here"


def _templates(protocol: ProtocolDefinition) -> dict[str, Template]:
    templates = {name: Template(name=f"{NAME}/{name}", text=role.prompt) for name, role in protocol.roles.items()}
    return templates | prompts.shared_templates()


MAX_ROLES, MAX_TIMES, MAX_SHORT_TITLE = 12, 10, 40
MAX_CHARACTERS = 200_000
"""Most characters of a description."""

VARIABLES = (
    "labels", "kind", "thing", "things", "unit", "domain", "guideline", "scale", "document", "replies", "expert",
)  # fmt: skip
_ROLE_NAME = re.compile(r"^[a-z][a-z_]{0,30}$")
_RESERVED_NAMES = frozenset({"reask", "verdict", "gold", "reviewed", "author", "latent", *prompts.BLOCKS})

_Line: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=True)]
_Title: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


_Stage: TypeAlias = Annotated[
    tuple[str, ...], Field(min_length=1), BeforeValidator(lambda data: [data] if isinstance(data, str) else data)
]
"""Roles that are asked in parallel."""

_Sources: TypeAlias = Annotated[tuple[str, ...] | None, BeforeValidator(lambda data: None if data == "all" else data)]


class _Definition(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RoleDefinition(_Definition):
    """A role and its template. An empty title becomes the role's name."""

    title: _Title | None = None
    description: _Line = ""
    prompt: str = Field(min_length=1)


class Loop(_Definition):
    """Stages in order, ``times`` times, or with ``until`` at most so often until all roles in them agree."""

    repeat: tuple[_Stage, ...] = Field(min_length=1)
    times: int = Field(default=2, ge=1, le=MAX_TIMES, strict=True)
    until: Literal["", "agreed"] = ""

    @property
    def roles(self) -> tuple[str, ...]:
        """All roles of the stages, in order, each once."""
        return tuple(dict.fromkeys(role for stage in self.repeat for role in stage))


_LoopOrStage: TypeAlias = Annotated[
    Loop, BeforeValidator(lambda data: data if isinstance(data, dict) else {"repeat": [data], "times": 1})
]


class Vote(_Definition):
    """A decision by vote of several roles."""

    vote: tuple[str, ...]


class ProtocolDefinition(_Definition):
    """A protocol as described in a file. ``inputs`` maps a role to the roles whose replies it sees; by default all."""

    name: _Title
    about: _Line = ""
    kinds: Annotated[tuple[Kind, ...], Field(min_length=1)] | None = None
    roles: dict[str, RoleDefinition] = Field(min_length=1, max_length=MAX_ROLES)
    order: tuple[_LoopOrStage, ...] = Field(min_length=1)
    inputs: dict[str, _Sources] | None = None
    decides: str | Vote

    @property
    def supported_kinds(self) -> tuple[Kind, ...]:
        """The supported kinds of codebook; all if the file names none."""
        return tuple(kind for kind in get_args(Kind) if self.kinds is None or kind in self.kinds)

    @property
    def deciding_roles(self) -> tuple[str, ...]:
        """The role that decides, or the roles that vote."""
        return (self.decides,) if isinstance(self.decides, str) else self.decides.vote

    @property
    def must_decide(self) -> frozenset[str]:
        """Roles whose reply must contain a decision: deciding roles, and those that repeat until they agree."""
        return frozenset((*self.deciding_roles, *(role for loop in self.order if loop.until for role in loop.roles)))

    @property
    def spec_roles(self) -> tuple[Role, ...]:
        """The roles with their titles and descriptions."""
        return tuple(
            Role(name, role.title or name.replace("_", " ").capitalize(), role.description)
            for name, role in self.roles.items()
        )


_UNDESCRIBED = ProtocolDefinition.model_construct(
    name="Custom, from a file",
    about="A chain or rounds of roles from a YAML file.",
    roles={},
    order=(),
    decides=VERDICT,
)
"""The protocol in a list of all protocols, before a file is chosen."""


@lru_cache(maxsize=16)
def parse_definition(text: str, source: str = "the protocol file") -> ProtocolDefinition:
    """Read a protocol definition from YAML. Raises UsageError with the line of the first mistake."""
    if len(text) > MAX_CHARACTERS:
        raise UsageError(f"{source}: {len(text):,} characters.", f"A protocol has at most {MAX_CHARACTERS:,}.")
    data, root = yaml_text.parse(text, source, UsageError)
    try:
        definition = ProtocolDefinition.model_validate(data)
        problem = next(_problems(definition), None)
    except ValidationError as error:
        problem = _first_problem(error)
    if problem is None:
        return definition
    location, lines = problem.location, yaml_text.line_numbers(root)
    while location and location not in lines:
        location = location[:-1]
    line = lines.get(location, 1) + problem.lines_below
    raise UsageError(f"{source}, line {line}: {problem.message}.", "Correct the line and try again.")


class _Problem(NamedTuple):
    location: yaml_text.Location
    message: str
    lines_below: int = 0


def _first_problem(error: ValidationError) -> _Problem:
    """Return the first error; unknown keys come first, as they explain missing ones."""
    errors = sorted(error.errors(include_url=False), key=lambda detail: detail["type"] != "extra_forbidden")
    location = errors[0]["loc"]
    if errors[0]["type"] == "extra_forbidden":
        return _Problem(location, f"'{location[-1]}' is not a known key here")
    name = next((str(step) for step in reversed(location) if isinstance(step, str)), "")
    message = errors[0]["msg"][:1].lower() + errors[0]["msg"][1:]
    return _Problem(
        location, f"{name}: {message}" if name else "expected a mapping with name, roles, order and decides"
    )


def _problems(definition: ProtocolDefinition) -> Iterator[_Problem]:
    """Yield each mistake that concerns several parts of a definition."""
    names = definition.roles

    def unknown(location: yaml_text.Location, roles: Sequence[str]) -> Iterator[_Problem]:
        for role in roles:
            if role not in names:
                yield _Problem(location, f"the role '{role}' does not exist; the roles are: {', '.join(names)}")

    for name, role in names.items():
        if not _ROLE_NAME.match(name) or family(name) != name or name in _RESERVED_NAMES:
            yield _Problem(
                ("roles", name),
                f"'{name}' cannot be a role: a name has at most 31 small letters and underscores, begins with a letter "
                "and does not end in an underscore and a single letter; 'verdict', 'gold' and some others are reserved",
            )
        for finding in check(role.prompt, (*VARIABLES, *prompts.BLOCKS), needed=("document",)):
            if finding.severity == "error":
                yield _Problem(("roles", name, "prompt"), finding.message, finding.line)
    for index, loop in enumerate(definition.order):
        yield from unknown(("order", index), loop.roles)
        if any(len(set(stage)) < len(stage) for stage in loop.repeat):
            yield _Problem(("order", index), "a stage has the same role twice")
    scheduled = {role for loop in definition.order for role in loop.roles}
    for name in names:
        if name not in scheduled:
            yield _Problem(("roles", name), f"'{name}' is never asked: it is not in the order")
    for name, sources in (definition.inputs or {}).items():
        yield from unknown(("inputs", name), (name, *(sources or ())))
    yield from unknown(("decides",), definition.deciding_roles)
    if isinstance(definition.decides, Vote) and len(set(definition.decides.vote)) < max(
        2, len(definition.decides.vote)
    ):
        yield _Problem(("decides",), "a vote needs at least two roles, each once")
