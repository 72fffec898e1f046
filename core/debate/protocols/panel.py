"""Panel of personas (Chen et al. 2025, *Multi-Agent-as-Judge*, MAJ-Eval, section 3.2 and algorithm 1).

Each group debates separately, all groups in parallel. Phase 1: every persona decides independently. Phase 2: a
coordinator chooses the next speaker, unresolved disagreement first, for at most T turns. A persona with nothing to add
replies NO MORE COMMENTS with a final decision and leaves the debate. Personas without a final decision after T turns
are asked for it. Phase 3: code averages within groups and then across groups; a model summarises on what the groups
agree and differ.

Requests: 1 + the sum over the groups of n + t + c + o, with n personas, t turns held (at most T), c turns for which
the coordinator had more than one persona to choose from, and o final decisions owed at the end; one more for each
unreadable reply.

The presets of the paper limit neither the groups nor the personas that are made from documents, and use their
temperature to make them, too. The Personas page starts with the settings of the run that is set up.

Deviations: the turn limit, the speaking order and the coordinator's prompt are ours. Section 3.2 and appendix A.11 give
none of them; the body of algorithm 1 was not available to us. One summary covers all groups (appendix A.9 shows one of
a single group), in prose and not JSON. Code orders the personas that may speak and the coordinator chooses; if its
choice is unreadable, the first in that order decides. A group of one, and T = 0, have no second phase: the first
decision is final. A final decision that was unreadable twice is left out of its group's mean, with a note. For choices
and lists the mean is one of votes: shares within groups, averaged over groups.

The preset ``chateval`` is a baseline of the paper: the two default personas, one turn each, in a fixed order, and the
mean of their ratings (Chan et al. 2023, *ChatEval*, one-by-one communication). There the first opinion of the critic
follows that of the general public; here the first decisions are independent, and a final decision is asked of a persona
that does not end with NO MORE COMMENTS.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from statistics import fmean

from core import prompts
from core.codebook import Codebook
from core.debate.context import DebateContext, run_parallel
from core.debate.persona_extraction import DEFAULT_DIMENSIONS, DEFAULT_GROUPS, UNLIMITED
from core.debate.personas import Group, Member, Persona, PersonaSet, parse_persona_set
from core.debate.protocol_spec import PERSONAS, DecisionRule, Param, Params, Preset, ProtocolSpec, RequestCount, exactly
from core.debate.reading.decision_markers import without_reasoning
from core.debate.reading.label_names import Names
from core.debate.turns import AttributedReply, Reply, Request, Role, Step, Verdict
from core.documents import Value, as_rating

COORDINATOR, AGGREGATOR = "coordinator", "aggregator"
_NEXT = re.compile(r"\bnext\b[^:\n]{0,20}:", re.IGNORECASE)
_DONE = re.compile(
    r"^(?:[^\w\n>]|_)*+no (?:more|further) comments?"
    r"(?: (?:from (?:me|my (?:side|end))|at (?:this (?:time|point|stage)|the moment)|for now"
    r"|(?:are )?(?:needed|necessary)|to (?:add|make|offer)))*+"
    r"(?:(?:[^\w\n?]|_)*$|[^\w\n?]+(?:(?:my |the )?(?:final|present|labels?|aspects?|ratings?)\b"
    r"(?: (?:decision|answer|verdict|labels?|aspects?|ratings?|present|in this \w+))*(?:[\s*_]*(?:$|[:(–—-])|"
    r" (?:is|are|stays?|remains?)\b(?! not\b))|i agree\b(?![^\n]*\b(?:but|however|except|though)\b)[^\n?,;]*$"
    r"|(?:thank(?:s| you)(?: (?:all|everyone|everybody|both|again))?|agreed"
    r"|i have nothing (?:\w+ )?to add|i stand by my \w+)[^\w\n?]*$))",
    re.IGNORECASE | re.MULTILINE,
)
"""A line with nothing more, a plain agreement or the words before a final decision; not a quoted line."""


@dataclass(slots=True)
class _Speaker:
    """A persona during the debate: its current values, its number of turns, and its final decision once it has one."""

    member: Member
    current: Mapping[str, Value]
    turns: int = 0
    done: bool = False
    final: Reply | None = None

    def take_turn(self, reply: Reply, *, is_decision: bool) -> None:
        """Update the speaker after its turn. A speaker that is done without a complete decision still owes one."""
        self.turns += 1
        if reply.reading.readable and reply.reading.values:
            self.current = {**self.current, **_values(reply)}  # a turn may speak of some ratings alone
        if _DONE.search(without_reasoning(reply.text)):
            self.done = True
            self.final = reply if is_decision else None


def debate(context: DebateContext) -> Step[Verdict]:
    """Debate in all groups in parallel, then average and summarise."""
    persona_set = persona_set_of(context.params)
    groups = yield from run_parallel(*(_group(context, persona_set, group) for group in persona_set.groups))
    speakers = [speaker for group in groups for speaker in group]
    verdict, means = _average(context.codebook, speakers)
    yield from context.ask_all((_summary_request(context, persona_set, speakers, means),))  # an error loses only this
    return verdict


def _group(context: DebateContext, persona_set: PersonaSet, group: Group) -> Step[tuple[_Speaker, ...]]:
    """Decide alone, debate for at most T turns, and collect the final decisions that are missing."""
    ask, turns = partial(_persona_request, context, persona_set), int(context.params["turns"])
    members = persona_set.group_members(group)
    first = yield from context.ask_all(ask(member, "persona") for member in members)
    speakers = tuple(
        _Speaker(member, _values(context.require(reply))) for member, reply in zip(members, first, strict=True)
    )
    if len(speakers) == 1 or turns == 0:
        return tuple(replace(speaker, final=reply) for speaker, reply in zip(speakers, first, strict=True))
    history = [_attribute(speaker, reply) for speaker, reply in zip(speakers, first, strict=True)]
    for turn in range(1, turns + 1):
        candidates = _speaking_order(context, speakers)
        if not candidates:
            break
        speaker = candidates[0]
        if len(candidates) > 1 and context.params["coordinator"] == "model":
            request = _coordinator_request(context, group, candidates, speakers, history, turn)
            (choice,) = yield from context.ask_all((request,))
            speaker = _chosen_speaker(choice, candidates)
        (reply,) = yield from context.ask_all((ask(speaker.member, "turn", round=turn, history=history),))
        is_decision = not context.decision_problem(context.require(reply))
        speaker.take_turn(reply, is_decision=is_decision)
        history.append(_attribute(speaker, reply, turn))
    owing = [speaker for speaker in speakers if speaker.final is None]
    last = yield from context.ask_all(
        ask(speaker.member, "final", round=turns + 1, history=history) for speaker in owing
    )
    for speaker, reply in zip(owing, last, strict=True):
        speaker.final = context.require(reply)
    return speakers


def _speaking_order(context: DebateContext, speakers: Sequence[_Speaker]) -> list[_Speaker]:
    """Return the speakers that are not done, in speaking order.

    Those in disagreement come first, then those with fewer turns, then those farthest from the others.
    """
    disagreement = 1.0 if context.codebook.kind == "rating" else 0.5  # a point of the scale, or half of the others

    def priority(speaker: _Speaker) -> tuple[bool, int, float]:
        other_values = [other.current for other in speakers if other is not speaker]
        distance = group_distance(context.codebook, speaker.current, other_values)
        return distance < disagreement, speaker.turns, -distance

    return sorted((speaker for speaker in speakers if not speaker.done), key=priority)


def _chosen_speaker(reply: Reply, candidates: Sequence[_Speaker]) -> _Speaker:
    """Return the speaker that the coordinator names by the whole name; the first in order if it names none.

    It is the first name after the last "Next:", or else the last name in the reply.
    """
    by_role = {speaker.member.role: speaker for speaker in candidates}
    names = Names(tuple((role, speaker.member.persona.name, None) for role, speaker in by_role.items()))
    text = without_reasoning(reply.text)
    start = max((match.end() for match in _NEXT.finditer(text)), default=len(text))
    mentions = names.mentions(text)
    named = [mention for mention in mentions if mention.start >= start][:1] or mentions[-1:]
    return by_role[named[0].item] if named else candidates[0]


def _persona_request(
    context: DebateContext,
    persona_set: PersonaSet,
    member: Member,
    template: str,
    *,
    round: int = 0,
    history: Sequence[AttributedReply] = (),
) -> Request:
    return context.request(
        member.role,
        template=template,
        form="text" if template == "turn" else context.form,
        round=round,
        replies_to=[turn.role for turn in history if turn.role != member.role],
        extra={
            "persona": member.persona.model_dump(mode="json", exclude={"evidence"}),
            "group": member.group.name,
            "assignment": prompts.delimit(persona_set.task, "task") if persona_set.task else "",
            "simple": context.params["style"] == "simple",
        },
        history=tuple(history),
    )


def _coordinator_request(
    context: DebateContext,
    group: Group,
    candidates: Sequence[_Speaker],
    speakers: Sequence[_Speaker],
    history: Sequence[AttributedReply],
    turn: int,
) -> Request:
    return context.request(
        COORDINATOR,
        round=turn,
        replies_to=[speaker.member.role for speaker in speakers],
        extra={
            "group": group.name,
            "waiting": tuple(speaker.member.persona.name for speaker in candidates),
            "silent": tuple(speaker.member.persona.name for speaker in candidates if not speaker.turns),
        },
        history=tuple(history),
    )


def _summary_request(
    context: DebateContext, persona_set: PersonaSet, speakers: Sequence[_Speaker], means: Sequence[str]
) -> Request:
    finals = tuple(_attribute(speaker, speaker.final) for speaker in speakers if speaker.final is not None)
    return context.request(
        AGGREGATOR,
        replies_to=[final.role for final in finals],
        extra={"averages": tuple(means), "groups": tuple(group.name for group in persona_set.groups)},
        finals=finals,
    )


def _attribute(speaker: _Speaker, reply: Reply, round: int = 0) -> AttributedReply:
    member = speaker.member
    return AttributedReply(member.role, f"{member.persona.name} ({member.group.name})", reply, round)


def _values(reply: Reply | None) -> Mapping[str, Value]:
    return reply.reading.values if reply is not None and reply.reading.readable else {}


def _roles(params: Params) -> tuple[Role, ...]:
    persona_set = persona_set_of(params)
    roles = [
        Role(
            member.role,
            member.persona.name,
            f"{member.group.name}: {member.persona.dimension or 'decides'}"[:160],
            member.group.name,
        )
        for member in persona_set.members
    ]
    return (
        *roles,
        Role(COORDINATOR, "Coordinator", "chooses the next speaker, unresolved disagreement first"),
        Role(AGGREGATOR, "Aggregator", "summarises on what the groups agree and differ"),
    )


def _request_counts(params: Params, _codebook: Codebook) -> Mapping[str, RequestCount]:
    """Return the counts by role as if turns rotated; the sum is exact at both ends."""
    persona_set, turns = persona_set_of(params), int(params["turns"])
    counts: dict[str, RequestCount] = {}
    choices = RequestCount(0, 0)
    for group in persona_set.groups:
        members = persona_set.group_members(group)
        n = len(members)
        no_debate = n == 1 or turns == 0
        for index, member in enumerate(members):
            share = turns // n + (index < turns % n)
            counts[member.role] = exactly(1) if no_debate else RequestCount(2, 2 + share)
        if not no_debate and params["coordinator"] == "model":
            choices += RequestCount(min(n - 1, turns), turns)
    return {**counts, COORDINATOR: choices, AGGREGATOR: exactly(1)}


def persona_set_of(params: Params) -> PersonaSet:
    """Return the personas of a panel. Simple roles have the name of their group, a number and its characteristics."""
    persona_set = parse_persona_set(str(params.get(PERSONAS, "")))
    if params.get("style") != "simple":
        return persona_set
    numbers = count(1)

    def simple(group: Group) -> Group:
        names = [f"{group.name[:76]} {next(numbers)}" for _ in group.personas]
        personas = tuple(Persona(name=name, demographics=group.characteristics) for name in names)
        return group.model_copy(update={"personas": personas})

    return persona_set.model_copy(update={"groups": tuple(map(simple, persona_set.groups))})


_NO_LIMITS = {"groups": UNLIMITED, "dimensions": UNLIMITED}
"""The paper limits neither the groups nor the personas in each."""
_PARAMS = (
    Param(
        PERSONAS,
        "Personas",
        "",
        "The personas as YAML. On the command line a file; empty: two simple roles, general public and critic.",
        hidden=True,
    ),
    Param(
        "sources",
        "Sources",
        "",
        "Files (txt, md, pdf), separated by commas, that personas are created from before the run.",
        hidden=True,
    ),
    Param(
        "groups",
        "Maximum groups",
        DEFAULT_GROUPS,
        "Limit for personas created from sources.",
        minimum=1,
        maximum=UNLIMITED,
        hidden=True,
    ),
    Param(
        "dimensions",
        "Maximum personas per group",
        DEFAULT_DIMENSIONS,
        "Limit for personas created from sources.",
        minimum=1,
        maximum=UNLIMITED,
        hidden=True,
    ),
    Param("turns", "Maximum turns", 6, "Limit for each group; 0 means no debate.", minimum=0, maximum=60),
    Param(
        "coordinator",
        "Next speaker",
        "model",
        "Chosen by a coordinator, or by code in the order of disagreement.",
        choices={"model": "Coordinator", "order": "Order of disagreement"},
        is_relevant=lambda params: int(params["turns"]) > 0,
    ),
    Param(
        "style",
        "Persona style",
        "full",
        "All five attributes, or the name and characteristics of the group alone.",
        choices={"full": "Full personas", "simple": "Simple roles"},
    ),
)

SPEC = ProtocolSpec(
    name="panel",
    title="Panel of personas",
    short_title="Panel",
    summary="Personas from your documents decide, debate in their groups, and are averaged.",
    source="Chen et al. 2025, Multi-Agent-as-Judge (MAJ-Eval), section 3.2",
    layout="panels",
    roles=_roles,
    request_counts=_request_counts,
    kinds={
        "multilabel": DecisionRule(
            "shares within groups, averaged over groups: present above a half",
            "exactly a half: that label is unresolved",
        ),
        "choice": DecisionRule("shares within groups, averaged over groups: the largest", "unresolved"),
        "rating": DecisionRule("the mean within groups, then across groups"),
    },
    enforced=dict.fromkeys(
        ("multilabel", "choice", "rating"), "A persona without a readable final decision was left out of the means."
    ),
    vote=lambda params, _kind: GroupMean(tuple(member.group.name for member in persona_set_of(params).members)),
    output_limits={"persona": 2048, "aggregator": 4096},
    debate=debate,
    params=_PARAMS,
    presets={
        "paper": Preset("Settings of the paper for Claude 3.7, T = 1", {"turns": 6, **_NO_LIMITS}, {"": 1.0}, "paper"),
        "paper-qwen": Preset(
            "Settings of the paper for Qwen 3, T = 0.6", {"turns": 6, **_NO_LIMITS}, {"": 0.6}, "paper"
        ),
        "simple": Preset(
            "Simple roles (ablation of the paper, T = 1)",
            {"turns": 6, "style": "simple", **_NO_LIMITS},
            {"": 1.0},
            "paper",
        ),
        "alone": Preset("Without debate", {"turns": 0}),
        "chateval": Preset(
            "General public and critic in turn (ChatEval, T = 0)",
            {PERSONAS: "", "turns": 2, "coordinator": "order"},
            {"": 0.0},
        ),
    },
    check=lambda params, _codebook: "personas must be created from the sources first" if params["sources"] else "",
)


DIGITS = 4
"""Digits of a mean that are kept, so that the mean is the same on every machine."""


def _average(codebook: Codebook, speakers: Sequence[_Speaker]) -> tuple[Verdict, list[str]]:
    """Return the panel's verdict, and for each item a line with the means of the groups and of the panel.

    An item without any value is unresolved, and so is a tie. A group without any value for an item is left out. Both
    are noted with the personas that gave none.
    """
    finals = [(speaker.member, _values(speaker.final)) for speaker in speakers]
    rule = GroupMean(tuple(member.group.name for member, _ in finals))
    values: dict[str, Value | None] = {}
    reasons: dict[str, str] = {}
    means: list[str] = []
    for item in codebook.items:
        values[item], words = rule.decide([final.get(item) for _, final in finals], codebook)
        if not any(item in final for _, final in finals):
            reasons[item] = words
            continue
        if values[item] is None:
            reasons[item] = f"the panel is divided: {words}"
        means.append(f"{codebook.item_title(item)}: {words}")
    notes = list(means)
    for member, final in finals:
        missing = ", ".join(codebook.item_title(item) for item in codebook.items if item not in final)
        if missing:
            notes.append(
                f"{member.persona.name} ({member.group.name}) gave no value for {missing} and is left out there"
            )
    return Verdict(values=values, reasons=reasons, notes=tuple(notes)), means


def group_distance(
    codebook: Codebook, persona_values: Mapping[str, Value], other_values: Sequence[Mapping[str, Value]]
) -> float:
    """Return the distance of one persona from the others.

    For ratings the distance is the largest difference, over dimensions, from the mean of the others; else the largest
    share of the others with a different value, over items. Without a value for an item the distance is infinite.
    """
    distances = [0.0]
    for item in codebook.items:
        values = [other[item] for other in other_values if item in other]
        if item not in persona_values:
            distances.append(float("inf"))
        elif values and codebook.kind == "rating":
            distances.append(abs(_number(persona_values[item]) - sum(map(_number, values)) / len(values)))
        elif values:
            distances.append(sum(value != persona_values[item] for value in values) / len(values))
    return max(distances)


@dataclass(frozen=True, slots=True)
class GroupMean:
    """The mean within groups, then across groups; of labels that of their shares. A tie has no value."""

    groups: Sequence[str]
    """The group of each voter."""

    def decide(self, values: Sequence[Value | None], codebook: Codebook) -> tuple[Value | None, str]:
        """Return the value of an item and the means in words, as ``VotingRule``."""
        values_by_group = self._by_group(values)
        if not values_by_group:
            return None, "no persona gave a value that can be read"
        return _decide_item(codebook, values_by_group)

    def share(self, values: Sequence[Value | None], value: Value) -> float:
        """Return the mean over groups of the share of the group's voters for a value, as ``VotingRule``."""
        return _mean_share(self._by_group(values), value)

    def _by_group(self, values: Sequence[Value | None]) -> dict[str, list[Value]]:
        values_by_group: dict[str, list[Value]] = {}
        for group, value in zip(self.groups, values, strict=True):
            if value is not None:
                values_by_group.setdefault(group, []).append(value)
        return values_by_group


def _decide_item(codebook: Codebook, values_by_group: Mapping[str, Sequence[Value]]) -> tuple[Value | None, str]:
    if codebook.kind == "choice":
        shares = {label.id: _mean_share(values_by_group, label.id) for label in codebook.labels}
        voted = sorted((label for label in codebook.labels if shares[label.id]), key=lambda label: -shares[label.id])
        is_tie = len(voted) > 1 and abs(shares[voted[0].id] - shares[voted[1].id]) < 1e-9
        shares_text = ", ".join(f"{label.name} {shares[label.id]:.0%}" for label in voted)
        return (None if is_tie else voted[0].id), shares_text
    means = {group: fmean(map(_number, values)) for group, values in values_by_group.items()}
    mean = fmean(means.values())
    if codebook.kind == "multilabel":
        shares_text = ", ".join(f"{group} {share:.0%}" for group, share in means.items())
        return (None if abs(mean - 0.5) < 1e-9 else mean > 0.5), f"{shares_text}; present to {mean:.0%} of the panel"
    mean = round(mean, DIGITS)
    means_text = ", ".join(f"{group} {group_mean:.2f}" for group, group_mean in means.items())
    return as_rating(mean), f"{means_text}; the panel {mean:.2f}"


def _mean_share(values_by_group: Mapping[str, Sequence[Value]], value: Value) -> float:
    return fmean(fmean(vote == value for vote in votes) for votes in values_by_group.values())


def _number(value: Value) -> float:
    return float(value) if not isinstance(value, str) else 0.0
