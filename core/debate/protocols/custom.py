"""A protocol of one's own: a chain or a round of roles from a file (``core.debate.protocols.custom``), run by one
generator.

Asks: as many as the order names, a repeated stage up to its number of times; one more for each decision that cannot be
read. What a role said in a reply that failed is not heard by others. The document is failed only when who decides alone
has a fault in its last reply, or a vote lacks more than half of its voters because of faults.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn, get_args

import yaml

from core import prompts, yamltext
from core.annotations import VERDICT
from core.codebook import Codebook, Kind
from core.debate.context import DebateContext
from core.debate.spec import PER_CHOICE, PER_DIMENSION, PER_LABEL, Asks, Param, Params, ProtocolSpec, Treatment
from core.debate.turns import AttributedReply, Reply, Role, Step, Verdict, family
from core.debate.votes import council, in_consensus
from core.errors import UsageError
from core.prompts.checking import check
from core.runs import Template

NAME, SCRIPT = "custom", "script"


def debate(case: DebateContext) -> Step[Verdict]:
    """Everybody speaks in the order that is described; then who is to decide has decided."""
    told = read(str(case.params[SCRIPT]))
    titles = {one.name: one.title for one in told.speakers}
    said: list[AttributedReply] = []
    last: dict[str, Reply] = {}
    times: dict[str, int] = {}
    for rounds in told.order:
        for _ in range(rounds.times):
            for stage in rounds.stages:
                asks = [
                    case.compose(
                        role,
                        form=case.form if role in told.bound else "text",
                        round=times.get(role, 0),
                        replies_to=[one.role for one in _heard(told, role, said)],
                        heard=_heard(told, role, said),
                    )
                    for role in stage.roles
                ]
                replies = yield from case.ask_all(asks)
                for role, reply in zip(stage.roles, replies, strict=True):
                    number, times[role] = times.get(role, 0), times.get(role, 0) + 1
                    if _readable(reply) or role not in last or not _readable(last[role]):
                        last[role] = reply
                    if reply.error is None:
                        said.append(AttributedReply(role, titles[role], reply, number))
            if rounds.until_agreed and _agreed(case, rounds, last):
                break
    if len(told.decides) == 1:
        return case.verdict(case.needed(last[told.decides[0]]))
    return council(case, [last[role] for role in told.decides])


def _heard(told: Description, role: str, said: Sequence[AttributedReply]) -> tuple[AttributedReply, ...]:
    wanted = told.hears[role]
    return tuple(one for one in said if wanted is None or one.role in wanted)


def _agreed(case: DebateContext, rounds: Rounds, last: dict[str, Reply]) -> bool:
    readable = [last[role].reading.values for role in rounds.roles if _readable(last[role])]
    return len(readable) == len(rounds.roles) and in_consensus(readable, case.codebook)


def _readable(reply: Reply) -> bool:
    return reply.error is None and reply.reading.readable


def card(script: str = "") -> ProtocolSpec:
    """The card of the protocol that a description makes; of none without one. UsageError for one that is wrong."""
    told = read(script) if script.strip() else None
    voted = told is not None and len(told.decides) > 1
    treatments: dict[Kind, Treatment] = {"multilabel": PER_LABEL, "choice": PER_CHOICE, "rating": PER_DIMENSION}
    alone = Treatment("what it hears", "none, as one role decides", "none can arise")
    able = told.kinds if told else tuple(treatments)
    return ProtocolSpec(
        name=NAME,
        title=told.name if told else "Your own, from a file",
        summary=(told.about or "A protocol of your own.") if told else "A chain or a round of roles from a YAML file.",
        source="a file",
        form="round" if told and any(rounds.times > 1 for rounds in told.order) else "chain",
        roles=lambda _params: tuple(Role(one.name, one.title, one.does) for one in told.speakers) if told else (),
        decides=lambda _params: VERDICT if voted or told is None else told.decides[0],
        asks=lambda _params, _codebook: _asks(told),
        breakdown="as the file says",
        kinds={kind: treatments[kind] if voted else alone for kind in able},
        refuses={kind: "the file leaves it out" for kind in treatments if kind not in able},
        params=(Param(SCRIPT, "Description", "", "The protocol as YAML.", hidden=True),),
        check=_check,
        templates=lambda: _templates(told),
        debate=debate,
    )


def _asks(told: Description | None) -> dict[str, Asks]:
    counts: dict[str, Asks] = {}
    for rounds in told.order if told else ():
        each = Asks(1 if rounds.until_agreed else rounds.times, rounds.times)
        for stage in rounds.stages:
            for role in stage.roles:
                counts[role] = counts.get(role, Asks(0, 0)) + each
    return counts


def _check(params: Params, _codebook: Codebook) -> str:
    return "" if str(params.get(SCRIPT, "")).strip() else "it needs a description: --protocol FILE.yaml, or a file here"


def _templates(told: Description | None) -> dict[str, Template]:
    own = {one.name: Template(name=f"{NAME}/{one.name}", text=one.prompt) for one in (told.speakers if told else ())}
    return own | prompts.shared()


MOST_ROLES, MOST_TIMES = 12, 10
DEEPEST = 6
LONGEST = 200_000
"""Characters that a description may have."""

VARIABLES = ("labels", "kind", "thing", "things", "unit", "domain", "guideline", "scale", "document", "heard")
_NAME = re.compile(r"^[a-z][a-z_]{0,30}$")
_TAKEN = frozenset({"reask", "verdict", *prompts.BLOCKS})
_KEYS = ("name", "about", "kinds", "roles", "order", "hears", "decides")


@dataclass(frozen=True, slots=True)
class Speaker:
    """A role and the template it speaks from."""

    name: str
    title: str
    does: str
    prompt: str


@dataclass(frozen=True, slots=True)
class Stage:
    """Roles that are asked in parallel."""

    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rounds:
    """Stages one after another, ``times`` times, or with ``until_agreed`` until all that speak in them agree."""

    stages: tuple[Stage, ...]
    times: int
    until_agreed: bool

    @property
    def roles(self) -> tuple[str, ...]:
        """All that speak in them, in order, each once."""
        return tuple(dict.fromkeys(role for stage in self.stages for role in stage.roles))


@dataclass(frozen=True, slots=True)
class Description:
    """A whole protocol. ``hears`` maps a role to those it hears, None to everybody. One of ``decides`` decides alone,
    several vote."""

    name: str
    about: str
    kinds: tuple[Kind, ...]
    speakers: tuple[Speaker, ...]
    order: tuple[Rounds, ...]
    hears: Mapping[str, tuple[str, ...] | None]
    decides: tuple[str, ...]

    @property
    def bound(self) -> frozenset[str]:
        """The roles that owe a decision: who decides or votes, and who goes on until all agree."""
        talking = (role for rounds in self.order if rounds.until_agreed for role in rounds.roles)
        return frozenset((*self.decides, *talking))


@lru_cache(maxsize=16)
def read(text: str, where: str = "the protocol file") -> Description:
    """The description that a YAML text holds. UsageError with the line of what is wrong."""
    if len(text) > LONGEST:
        raise UsageError(f"{where}: {len(text):,} characters.", f"A protocol has at most {LONGEST:,}.")
    data, root = yamltext.parse(text, where, UsageError)
    return _Reader(where, root).whole(data)


class _Reader:
    """Checks plain data and knows on which line of the file each part of it stands."""

    def __init__(self, where: str, root: yaml.Node | None) -> None:
        self._where = where
        self._lines: dict[tuple[str | int, ...], int] = {}
        if root is not None:
            self._note((), root)

    def whole(self, data: Any) -> Description:
        data = self._mapping(data, (), _KEYS)
        speakers = self._speakers(data.get("roles"))
        names = tuple(one.name for one in speakers)
        order = self._order(data.get("order"), names)
        spoken = {role for rounds in order for stage in rounds.stages for role in stage.roles}
        for name in names:
            if name not in spoken:
                self._wrong(("roles", name), f"'{name}' never speaks: it is not in the order")
        return Description(
            name=self._text(data.get("name"), ("name",), "a name"),
            about=self._text(data.get("about", ""), ("about",), "a line of text", empty=True),
            kinds=self._kinds(data.get("kinds")),
            speakers=speakers,
            order=order,
            hears=self._hears(data.get("hears"), names),
            decides=self._decides(data.get("decides"), names),
        )

    def _speakers(self, data: Any) -> tuple[Speaker, ...]:
        roles = self._mapping(data, ("roles",))
        if not 0 < len(roles) <= MOST_ROLES:
            self._wrong(("roles",), f"{len(roles)} roles; there must be 1 to {MOST_ROLES}")
        return tuple(self._speaker(name, one) for name, one in roles.items())

    def _speaker(self, name: Any, data: Any) -> Speaker:
        at = ("roles", str(name))
        if not isinstance(name, str) or not _NAME.match(name) or family(name) != name or name in _TAKEN:
            self._wrong(at, f"'{name}' cannot be a role: use small letters and underscores, and no name of Moot's own")
        one = self._mapping(data, at, ("title", "does", "prompt"))
        prompt = self._text(one.get("prompt"), (*at, "prompt"), "a prompt with '## system' and '## user'")
        for problem in check(prompt, (*VARIABLES, *prompts.BLOCKS), needed=("document",)):
            if problem.weight == "error":
                self._wrong((*at, "prompt"), problem.message, problem.line)
        title = self._text(one.get("title", name.replace("_", " ").capitalize()), (*at, "title"), "a title")
        return Speaker(name, title, self._text(one.get("does", ""), (*at, "does"), "a line", empty=True), prompt)

    def _order(self, data: Any, names: tuple[str, ...]) -> tuple[Rounds, ...]:
        if not isinstance(data, list) or not data:
            self._wrong(("order",), "expected a list of roles")
        return tuple(self._rounds(step, ("order", index), names) for index, step in enumerate(data))

    def _rounds(self, step: Any, at: tuple[str | int, ...], names: tuple[str, ...]) -> Rounds:
        if not isinstance(step, dict):
            return Rounds((self._stage(step, at, names),), 1, until_agreed=False)
        loop = self._mapping(step, at, ("repeat", "times", "until"))
        stages = loop.get("repeat")
        if not isinstance(stages, list) or not stages:
            self._wrong(at, "'repeat' takes a list of roles")
        times = loop.get("times", 2)
        if not isinstance(times, int) or isinstance(times, bool) or not 1 <= times <= MOST_TIMES:
            self._wrong((*at, "times"), f"'times' is a number from 1 to {MOST_TIMES}")
        until = loop.get("until", "")
        if until not in ("", "agreed"):
            self._wrong((*at, "until"), "'until' can only be: agreed")
        places = [(*at, "repeat", index) for index in range(len(stages))]
        each = tuple(self._stage(stage, place, names) for stage, place in zip(stages, places, strict=True))
        return Rounds(each, times, until_agreed=until == "agreed")

    def _stage(self, stage: Any, at: tuple[str | int, ...], names: tuple[str, ...]) -> Stage:
        roles = self._roles(stage if isinstance(stage, list) else [stage], at, names)
        if not roles or len(set(roles)) < len(roles):
            self._wrong(at, "a stage needs roles, each once")
        return Stage(roles)

    def _hears(self, data: Any, names: tuple[str, ...]) -> dict[str, tuple[str, ...] | None]:
        given = self._mapping(data or {}, ("hears",), names)
        found: dict[str, tuple[str, ...] | None] = dict.fromkeys(names)
        for name, heard in given.items():
            if heard != "all":
                found[name] = self._roles(heard, ("hears", name), names)
        return found

    def _decides(self, data: Any, names: tuple[str, ...]) -> tuple[str, ...]:
        if isinstance(data, dict):
            data = self._mapping(data, ("decides",), ("vote",)).get("vote")
            voters = self._roles(data, ("decides", "vote"), names)
            if len(set(voters)) < 2:
                self._wrong(("decides",), "a vote needs at least two different roles")
            return voters
        return self._roles([data], ("decides",), names)

    def _kinds(self, data: Any) -> tuple[Kind, ...]:
        every: tuple[Kind, ...] = get_args(Kind)
        if data is None:
            return every
        if not isinstance(data, list) or not data or any(kind not in every for kind in data):
            self._wrong(("kinds",), f"expected a list of: {', '.join(every)}")
        return tuple(kind for kind in every if kind in data)

    def _roles(self, data: Any, at: tuple[str | int, ...], names: tuple[str, ...]) -> tuple[str, ...]:
        if not isinstance(data, list):
            self._wrong(at, "expected a list of roles")
        for name in data:
            if name not in names:
                self._wrong(at, f"there is no role '{name}'; the roles are: {', '.join(names)}")
        return tuple(data)

    def _mapping(self, data: Any, at: tuple[str | int, ...], known: tuple[str, ...] = ()) -> dict[Any, Any]:
        if not isinstance(data, dict):
            expected = f"with {', '.join(known)}" if known else "from names to what they are"
            self._wrong(at, f"expected a mapping {expected}")
        for key in data:
            if known and key not in known:
                self._wrong((*at, str(key)), f"'{key}' is not known here; there are: {', '.join(known)}")
        return data

    def _text(self, data: Any, at: tuple[str | int, ...], what: str, *, empty: bool = False) -> str:
        if not isinstance(data, str) or not (empty or data.strip()):
            self._wrong(at, f"expected {what}")
        return data if "\n" in data else data.strip()

    def _wrong(self, at: tuple[str | int, ...], message: str, below: int = 0) -> NoReturn:
        while at and at not in self._lines:
            at = at[:-1]
        line = self._lines.get(at, 1) + below
        raise UsageError(f"{self._where}, line {line}: {message}.", "Mend the line and try again.")

    def _note(self, at: tuple[str | int, ...], node: yaml.Node) -> None:
        if at in self._lines or len(at) > DEEPEST:
            return
        self._lines[at] = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                self._note((*at, str(key.value)), value)
                self._lines[(*at, str(key.value))] = key.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                self._note((*at, index), value)
