"""A protocol of one's own: a chain or a round of roles from a file (``core.debate.described``), run by one generator.

Asks: as many as the order names, a repeated stage up to its number of times; one more for each decision that cannot be
read. What a role said in a reply that failed is not heard by others. The document is failed only when who decides alone
has a fault in its last reply, or a vote lacks more than half of its voters because of faults.
"""

from __future__ import annotations

from collections.abc import Sequence

from core import prompts
from core.annotations import VERDICT
from core.codebook import Codebook, Kind
from core.debate.card import (
    PER_CHOICE,
    PER_DIMENSION,
    PER_LABEL,
    Asks,
    Param,
    Params,
    ProtocolCard,
    Role,
    Treatment,
)
from core.debate.case import Case
from core.debate.described import Description, Rounds, read
from core.debate.turns import Reply, Said, Step, Verdict
from core.debate.votes import council, in_consensus
from core.runs import Template

NAME, SCRIPT = "custom", "script"


def debate(case: Case) -> Step[Verdict]:
    """Everybody speaks in the order that is described; then who is to decide has decided."""
    told = read(str(case.params[SCRIPT]))
    titles = {one.name: one.title for one in told.speakers}
    said: list[Said] = []
    last: dict[str, Reply] = {}
    times: dict[str, int] = {}
    for rounds in told.order:
        for _ in range(rounds.times):
            for stage in rounds.stages:
                asks = [
                    case.compose(
                        role,
                        expects=case.form if role in told.bound else "text",
                        round=times.get(role, 0),
                        answers=[one.role for one in _heard(told, role, said)],
                        heard=_heard(told, role, said),
                    )
                    for role in stage.roles
                ]
                replies = yield from case.ask_all(asks)
                for role, reply in zip(stage.roles, replies, strict=True):
                    number, times[role] = times.get(role, 0), times.get(role, 0) + 1
                    if _readable(reply) or role not in last or not _readable(last[role]):
                        last[role] = reply
                    if reply.fault is None:
                        said.append(Said(role, titles[role], reply, number))
            if rounds.until_agreed and _agreed(case, rounds, last):
                break
    if len(told.decides) == 1:
        return case.verdict(case.needed(last[told.decides[0]]))
    return council(case, [last[role] for role in told.decides])


def _heard(told: Description, role: str, said: Sequence[Said]) -> tuple[Said, ...]:
    wanted = told.hears[role]
    return tuple(one for one in said if wanted is None or one.role in wanted)


def _agreed(case: Case, rounds: Rounds, last: dict[str, Reply]) -> bool:
    readable = [last[role].reading.values for role in rounds.roles if _readable(last[role])]
    return len(readable) == len(rounds.roles) and in_consensus(readable, case.codebook)


def _readable(reply: Reply) -> bool:
    return reply.fault is None and reply.reading.readable


def card(script: str = "") -> ProtocolCard:
    """The card of the protocol that a description makes; of none without one. UsageError for one that is wrong."""
    told = read(script) if script.strip() else None
    voted = told is not None and len(told.decides) > 1
    treatments: dict[Kind, Treatment] = {"multilabel": PER_LABEL, "choice": PER_CHOICE, "rating": PER_DIMENSION}
    alone = Treatment("what it hears", "none, as one role decides", "none can arise")
    able = told.kinds if told else tuple(treatments)
    return ProtocolCard(
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
