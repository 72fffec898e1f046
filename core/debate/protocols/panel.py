"""A panel of personas (Chen et al., *Multi-Agent-as-Judge*, MAJ-Eval, section 3.2 and algorithm 1).

Each group debates by itself, all groups in parallel. Phase 1: every persona decides alone. Phase 2: a coordinator gives
the floor, unresolved disagreement first, for at most T turns; whoever has nothing to add says NO MORE COMMENTS with a
final decision and is out; those who still owe one after T turns are asked for it. Phase 3: code averages within groups
and then across groups, a model writes what the groups agree and differ on.

Asks: 1 + the sum over the groups of n + t + c + o, with n personas, t turns held (at most T), c of them given by a
coordinator who had more than one to choose from, and o decisions owed at the end; one more for each that cannot be
read.

Deviations: the turn limit and the order of the floor are ours, as the paper gives neither; code orders who may speak
and the coordinator chooses, and where its choice cannot be read the first in that order speaks. A group of one, and
T = 0, have no second phase: the first decision is final. A final decision that could not be read twice is left out of
its group's mean and noted. For choices and lists the mean is one of votes: shares within groups, averaged over groups.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core import prompts
from core.codebook import CHOICE_ITEM, Codebook
from core.debate.context import DebateContext, together
from core.debate.persona_extraction import DIMENSIONS, GROUPS
from core.debate.personas import Group, Member, PersonaSet, read
from core.debate.reading.label_names import Names
from core.debate.reading.markers import spoken
from core.debate.reading.normalise import fold
from core.debate.spec import Asks, Param, Params, Preset, ProtocolSpec, Treatment, exactly
from core.debate.turns import AttributedReply, Reply, Request, Role, Step, Verdict
from core.documents import Value

COORDINATOR, AGGREGATOR = "coordinator", "aggregator"
_DONE = re.compile(r"^[\W_]*no (?:more|further) comments?\b", re.IGNORECASE | re.MULTILINE)


@dataclass(slots=True)
class _Speaker:
    """A member during the debate: what it thinks now, how often it spoke, and its final decision once it has one."""

    member: Member
    now: Mapping[str, Value]
    spoken: int = 0
    done: bool = False
    final: Reply | None = None


def debate(case: DebateContext) -> Step[Verdict]:
    """The groups in parallel, then the mean and its synthesis."""
    cast = read(str(case.params["personas"]))
    groups = yield from together(*(_group(case, cast, group) for group in cast.groups))
    finals = {
        group.name: {speaker.member.persona.name: _values(speaker.final) for speaker in speakers}
        for group, speakers in zip(cast.groups, groups, strict=True)
    }
    averaged = average(case.codebook, finals)
    yield from case.ask_all((_synthesis(case, cast, groups, averaged),))  # its fault costs no more than the words
    return Verdict(values=averaged.values, reasons=averaged.reasons, notes=averaged.notes)


def _group(case: DebateContext, cast: PersonaSet, group: Group) -> Step[tuple[_Speaker, ...]]:
    members = cast.of(group)
    turns = int(case.params["turns"])
    first = yield from case.ask_all(_persona(case, cast, member, "persona", round=0) for member in members)
    speakers = tuple(
        _Speaker(member, _values(case.needed(reply))) for member, reply in zip(members, first, strict=True)
    )
    if len(speakers) == 1 or turns == 0:
        for speaker, reply in zip(speakers, first, strict=True):
            speaker.final = reply
        return speakers
    history = [_said(speaker, reply, 0) for speaker, reply in zip(speakers, first, strict=True)]
    for turn in range(1, turns + 1):
        waiting = _floor(case, speakers)
        if not waiting:
            break
        speaker = waiting[0]
        if len(waiting) > 1 and case.params["coordinator"] == "model":
            (choice,) = yield from case.ask_all((_coordinator(case, group, waiting, speakers, history, turn),))
            speaker = _chosen(choice, waiting)
        ask = _persona(case, cast, speaker.member, "turn", round=turn, history=history)
        (reply,) = yield from case.ask_all((ask,))
        _heard(speaker, case.needed(reply))
        history.append(_said(speaker, reply, turn))
    owing = [speaker for speaker in speakers if speaker.final is None]
    last = yield from case.ask_all(
        _persona(case, cast, speaker.member, "owed", round=turns + 1, history=history) for speaker in owing
    )
    for speaker, reply in zip(owing, last, strict=True):
        speaker.final = case.needed(reply)
    return speakers


def _heard(speaker: _Speaker, reply: Reply) -> None:
    """What a turn changes: the speaker's mind, and whether it is done. Done without a decision, it still owes one."""
    speaker.spoken += 1
    if reply.reading.readable and reply.reading.values:
        speaker.now = _values(reply)
    if _DONE.search(spoken(reply.text)):
        speaker.done = True
        speaker.final = reply if reply.reading.readable else None


def _floor(case: DebateContext, speakers: Sequence[_Speaker]) -> list[_Speaker]:
    """Who may still speak: first those in disagreement, of them who spoke least, then the farthest from the rest."""

    def place(speaker: _Speaker) -> tuple[bool, int, float]:
        others = [other.now for other in speakers if other is not speaker]
        distance = group_distance(case.codebook, speaker.now, others)
        return distance < apart(case.codebook), speaker.spoken, -distance

    return sorted((speaker for speaker in speakers if not speaker.done), key=place)


def _chosen(reply: Reply, waiting: Sequence[_Speaker]) -> _Speaker:
    """Whom the coordinator names last, by the whole name; the first in order where it names nobody who may speak."""
    by_role = {speaker.member.role: speaker for speaker in waiting}
    names = Names(tuple((role, speaker.member.persona.name, None) for role, speaker in by_role.items()))
    named = [by_role[mention.item] for mention in names.mentions(fold(spoken(reply.text)))]
    return named[-1] if named else waiting[0]


def _persona(
    case: DebateContext,
    cast: PersonaSet,
    member: Member,
    template: str,
    *,
    round: int,
    history: Sequence[AttributedReply] = (),
) -> Request:
    heard = {"history": tuple(history)} if history else {}
    return case.compose(
        member.role,
        template=template,
        form="text" if template == "turn" else case.form,
        round=round,
        replies_to=[said.role for said in history if said.role != member.role],
        extra={
            "persona": member.persona.model_dump(mode="json", exclude={"evidence"}),
            "group": member.group.name,
            "assignment": prompts.delimited(cast.task) if cast.task else "",
            "simple": case.params["style"] == "simple",
        },
        **heard,
    )


def _coordinator(
    case: DebateContext,
    group: Group,
    waiting: Sequence[_Speaker],
    speakers: Sequence[_Speaker],
    history: Sequence[AttributedReply],
    turn: int,
) -> Request:
    return case.compose(
        COORDINATOR,
        round=turn,
        replies_to=[speaker.member.role for speaker in speakers],
        extra={
            "group": group.name,
            "waiting": tuple(speaker.member.persona.name for speaker in waiting),
            "silent": tuple(speaker.member.persona.name for speaker in waiting if not speaker.spoken),
        },
        history=tuple(history),
    )


def _synthesis(
    case: DebateContext, cast: PersonaSet, groups: Sequence[Sequence[_Speaker]], averaged: Averaged
) -> Request:
    finals = tuple(
        _said(speaker, speaker.final) for speakers in groups for speaker in speakers if speaker.final is not None
    )
    return case.compose(
        AGGREGATOR,
        replies_to=[said.role for said in finals],
        extra={"averages": averaged.lines, "groups": tuple(group.name for group in cast.groups)},
        finals=finals,
    )


def _said(speaker: _Speaker, reply: Reply, round: int = 0) -> AttributedReply:
    member = speaker.member
    return AttributedReply(member.role, f"{member.persona.name} ({member.group.name})", reply, round)


def _values(reply: Reply | None) -> Mapping[str, Value]:
    return reply.reading.values if reply is not None and reply.reading.readable else {}


def _roles(params: Params) -> tuple[Role, ...]:
    cast = _cast(params)
    role_models = [
        Role(
            member.role,
            member.persona.name,
            f"{member.group.name}: {member.persona.dimension or 'decides'}"[:160],
            member.group.name,
        )
        for member in cast.members
    ]
    return (
        *role_models,
        Role(COORDINATOR, "Coordinator", "gives the floor, unresolved disagreement first"),
        Role(AGGREGATOR, "Aggregator", "writes what the groups agree and differ on"),
    )


def _asks(params: Params, _codebook: Codebook) -> Mapping[str, Asks]:
    """Turns are counted as if they went round; the sum is exact at both ends."""
    cast, turns = _cast(params), int(params["turns"])
    asks: dict[str, Asks] = {}
    chosen = Asks(0, 0)
    for group in cast.groups:
        members = cast.of(group)
        n = len(members)
        alone = n == 1 or turns == 0
        for place, member in enumerate(members):
            held = turns // n + (place < turns % n)
            asks[member.role] = exactly(1) if alone else Asks(2, 2 + held)
        if not alone and params["coordinator"] == "model":
            chosen += Asks(min(n - 1, turns), turns)
    return {**asks, COORDINATOR: chosen, AGGREGATOR: exactly(1)}


def _cast(params: Params) -> PersonaSet:
    return read(str(params.get("personas", "")))


def _check(params: Params, _codebook: Codebook) -> str:
    if params["sources"]:
        return "sources have to be made into personas first"
    return ""


_PARAMS = (
    Param("personas", "Personas", "", "Who sits on the panel, as YAML. On the command line a file; empty: two simple "
          "roles, general public and critic.", hidden=True),
    Param("sources", "Sources", "", "Files (txt, md, pdf) that personas are made from before the run, with commas "
          "between them.", hidden=True),
    Param("groups", "Groups", GROUPS, "At most so many, where personas are made from sources.", least=1, most=12,
          hidden=True),
    Param("dimensions", "Personas in a group", DIMENSIONS, "At most so many, where personas are made from sources.",
          least=1, most=12, hidden=True),
    Param("turns", "Turns of debate", 6, "At most so many in each group; 0 is no debate.", least=0, most=60),
    Param("coordinator", "Who gives the floor", "model", "A model chooses, or code takes the order of disagreement.",
          choices={"model": "a coordinator", "order": "the order of disagreement"}),
    Param("style", "Personas speak as", "full", "With all five attributes, or as a simple role for comparison.",
          choices={"full": "whole personas", "simple": "simple roles"}),
)  # fmt: skip

CARD = ProtocolSpec(
    name="panel",
    title="Panel of personas",
    summary="Personas from your documents decide, debate in their groups, and are averaged.",
    source="Chen et al., Multi-Agent-as-Judge (MAJ-Eval), section 3.2",
    form="panels",
    roles=_roles,
    asks=_asks,
    breakdown="in each group every member's first decision, the turns of debate, who gets the floor, and last "
    "decisions still owed; one more to sum up all groups",
    kinds={
        "multilabel": Treatment(
            "each label: a persona whose list differs from most others' disagrees",
            "shares within groups, averaged over groups: present above a half",
            "exactly a half: that label is unresolved",
        ),
        "choice": Treatment(
            "the chosen label", "shares within groups, averaged over groups: the largest", "unresolved"
        ),
        "rating": Treatment(
            "each dimension: a persona a point or more from the mean of the others disagrees",
            "none: the mean within groups, then across groups",
            "cannot arise",
        ),
    },
    debate=debate,
    params=_PARAMS,
    presets={
        "paper": Preset("As in the paper (Claude 3.7)", {"turns": 6}, {"": 1.0}),
        "paper-qwen": Preset("As in the paper (Qwen 3)", {"turns": 6}, {"": 0.6}),
        "simple": Preset("Simple roles (its ablation)", {"turns": 6, "style": "simple"}, {"": 1.0}),
        "alone": Preset("Without debate", {"turns": 0}),
    },
    check=_check,
)


DIGITS = 4
"""Digits of a mean that are kept, so that it is the same on every machine."""

Finals = Mapping[str, Mapping[str, Mapping[str, Value]]]
"""Group -> persona -> item -> value; a persona without a value for an item leaves it out."""


@dataclass(frozen=True, slots=True)
class Averaged:
    """The panel's decision. ``lines`` tell each group's mean and the whole's, for the synthesis."""

    values: Mapping[str, Value | None]
    reasons: Mapping[str, str]
    notes: tuple[str, ...]
    lines: tuple[str, ...]


def average(codebook: Codebook, finals: Finals) -> Averaged:
    """The decision on each item. One that no persona of any group could give a value for is unresolved, and so is a
    tie; a group in which nobody could is left out, and both are noted with whoever gave none."""
    values: dict[str, Value | None] = {}
    reasons: dict[str, str] = {}
    lines: list[str] = []
    for item in codebook.items:
        by_group = {
            group: [said[item] for said in personas.values() if item in said] for group, personas in finals.items()
        }
        given = {group: said for group, said in by_group.items() if said}
        if not given:
            values[item], reasons[item] = None, "no persona gave a value that can be read"
            continue
        values[item], words = _decided(codebook, given)
        if values[item] is None:
            reasons[item] = f"the panel is divided: {words}"
        lines.append(f"{_title(codebook, item)}: {words}")
    return Averaged(values, reasons, (*lines, *_silent(codebook, finals)), tuple(lines))


def group_distance(codebook: Codebook, own: Mapping[str, Value], others: Sequence[Mapping[str, Value]]) -> float:
    """How far one stands from the others: for ratings the most points that a dimension lies from their mean, else the
    largest share of them that say otherwise of an item. Whoever has no value for an item is as far as can be."""
    far = [0.0]
    for item in codebook.items:
        said = [other[item] for other in others if item in other]
        if item not in own:
            far.append(float("inf"))
        elif said and codebook.kind == "rating":
            far.append(abs(_number(own[item]) - sum(map(_number, said)) / len(said)))
        elif said:
            far.append(sum(value != own[item] for value in said) / len(said))
    return max(far)


def apart(codebook: Codebook) -> float:
    """From which distance on somebody is in disagreement: a point of the scale, or half of the others."""
    return 1.0 if codebook.kind == "rating" else 0.5


def _decided(codebook: Codebook, given: Mapping[str, Sequence[Value]]) -> tuple[Value | None, str]:
    match codebook.kind:
        case "rating":
            means = {group: _mean([_number(value) for value in said]) for group, said in given.items()}
            mean = round(_mean(list(means.values())), DIGITS)
            told = ", ".join(f"{group} {mean:.2f}" for group, mean in means.items())
            return int(mean) if mean == int(mean) else mean, f"{told}; the panel {mean:.2f}"
        case "multilabel":
            share = _share(given, True)
            told = ", ".join(f"{group} {_share({group: said}, True):.0%}" for group, said in given.items())
            told = f"{told}; present to {share:.0%} of the panel"
            return (None if abs(share - 0.5) < 1e-9 else share > 0.5), told
        case "choice":
            shares = {label.id: _share(given, label.id) for label in codebook.labels}
            named = sorted((label for label in codebook.labels if shares[label.id]), key=lambda one: -shares[one.id])
            told = ", ".join(f"{label.name} {shares[label.id]:.0%}" for label in named)
            tie = len(named) > 1 and abs(shares[named[0].id] - shares[named[1].id]) < 1e-9
            return (None if tie or not named else named[0].id), told


def _share(given: Mapping[str, Sequence[Value]], value: Value) -> float:
    return _mean([sum(said == value for said in each) / len(each) for each in given.values()])


def _silent(codebook: Codebook, finals: Finals) -> list[str]:
    """Who gave no value for what."""
    notes = []
    for group, personas in finals.items():
        for persona, said in personas.items():
            missing = [_title(codebook, item) for item in codebook.items if item not in said]
            if missing:
                notes.append(f"{persona} ({group}) gave no value for {', '.join(missing)} and is left out there")
    return notes


def _title(codebook: Codebook, item: str) -> str:
    return "Label" if item == CHOICE_ITEM else codebook.label(item).name


def _number(value: Value) -> float:
    return float(value) if not isinstance(value, str) else 0.0


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)
