"""Peer discussion (Tseng et al., *Evaluating LLMs as Expert Annotators*, section 4.1, algorithm 1).

n annotators, each with a model of its own, label alone with reasons. While they differ and fewer than R rounds were
held, each labels again, knowing everything that all of them said so far under fixed letters, itself included. Without
a consensus in the end the majority counts.

Asks: n(1 + r), r from 0 (consensus at once) to R; one more for each reply that cannot be read. Temperature 0.
Kinds: identical lists of labels (multilabel), the same label (choice), ratings at most ``within`` points apart on
every dimension (rating) are a consensus. Labels and choices are voted, ratings take their median; a tie is unresolved.
Deviations: an annotator whose reply in a round fails or cannot be read stands by what it said last; one that never
said anything that can be read has no vote and is not waited for. The rest decide as long as they are more than half;
otherwise the document is failed if a provider's fault is the reason, else unresolved. Nobody left at all ends it at
once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from string import ascii_lowercase

from core.codebook import Codebook
from core.debate.context import DebateContext
from core.debate.spec import PER_CHOICE, PER_DIMENSION, PER_LABEL, Asks, Param, Params, Preset, ProtocolSpec
from core.debate.turns import AttributedReply, Reply, Request, Role, Step, Verdict
from core.debate.votes import council, in_consensus, quorum


def debate(case: DebateContext) -> Step[Verdict]:
    """Label alone, then discuss until all agree or the rounds are over, then vote."""
    role_models = _roles(case.params)
    last: dict[str, Reply] = {}
    history: list[AttributedReply] = []
    number = 0
    while True:
        replies = yield from case.ask_all(
            _ask(case, role_models, place, history, number) for place in range(len(role_models))
        )
        for role_model, reply in zip(role_models, replies, strict=True):
            if _readable(reply) or role_model.name not in last or not _readable(last[role_model.name]):
                last[role_model.name] = reply
            if reply.error is None:
                history.append(AttributedReply(role_model.name, role_model.title, reply, number))
        ballots = [reply.reading.values for reply in last.values() if _readable(reply)]
        agreed = quorum(len(ballots), len(role_models)) and in_consensus(ballots, case.codebook, case.params["within"])
        if agreed or not ballots or number == case.params["rounds"]:
            break
        number += 1
    verdict = council(case, [last[role_model.name] for role_model in role_models])
    if verdict.status == "failed":
        return verdict
    how = f"consensus in round {number}" if agreed else f"no consensus in {number} rounds, the majority counts"
    return replace(verdict, notes=(how, *verdict.notes))


def _ask(
    case: DebateContext, role_models: Sequence[Role], place: int, history: Sequence[AttributedReply], number: int
) -> Request:
    """An annotator's ask in a round. In the first all get the same, so that letters make no difference to it."""
    role_model = role_models[place]
    if not history:
        return replace(case.compose(role_model.name, form=case.form), round=number, sample=place)
    return case.compose(
        role_model.name,
        template="discuss",
        form=case.form,
        round=number,
        replies_to=[said.role for said in history],
        extra={"own": role_model.title},
        history=tuple(history),
    )


def _readable(reply: Reply) -> bool:
    return reply.error is None and reply.reading.readable


def _roles(params: Params) -> tuple[Role, ...]:
    return tuple(
        Role(f"annotator_{letter}", f"Annotator {letter.upper()}", "labels alone, then in the light of the others")
        for letter in ascii_lowercase[: params["annotators"]]
    )


def _asks(params: Params, _codebook: Codebook) -> dict[str, Asks]:
    return {role.name: Asks(1, 1 + params["rounds"]) for role in _roles(params)}


CARD = ProtocolSpec(
    name="discussion",
    title="Peer discussion",
    summary="Several label alone, then hear each other and label again until they agree; else the majority counts.",
    source="Tseng et al., Evaluating LLMs as Expert Annotators, section 4.1, algorithm 1",
    form="round",
    roles=_roles,
    asks=_asks,
    breakdown="one for each annotator, and as many again for each round that they need to agree",
    kinds={"multilabel": PER_LABEL, "choice": PER_CHOICE, "rating": PER_DIMENSION},
    params=(
        Param("annotators", "Annotators", 3, "How many sit at the table, each with its own model.", least=2, most=9),
        Param("rounds", "Rounds at most", 2, "Rounds of discussion after the first annotation.", least=0, most=10),
        Param("within", "Ratings agree within", 1.0, "Points of the scale that ratings may lie apart in a consensus.",
              least=0, most=10),
    ),
    presets={
        "tseng": Preset("Tseng et al.: 3 annotators, 2 rounds, T = 0", {"annotators": 3, "rounds": 2}, {"": 0.0}),
        "chateval-pair": Preset(
            "A pair in the manner of ChatEval: 2 agents, 2 rounds", {"annotators": 2, "rounds": 2}, {"": 0.0}
        ),
    },
    temperature=lambda _params: {"annotator": 0.0},
    debate=debate,
)  # fmt: skip
