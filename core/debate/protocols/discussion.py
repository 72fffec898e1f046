"""Peer discussion of several annotators, who label independently first.

Source: Tseng et al. 2025, *Evaluating Large Language Models as Expert Annotators*, section 4.1, algorithm 1.

n annotators, each with its own model, first label independently with reasons. While they differ and fewer than R rounds
were held, each labels again and sees all earlier replies, its own included, under fixed letters. Without a consensus at
the end the majority counts. Votes may have weights: the log odds that an annotator is right, which is the best rule for
independent annotators (Nitzan and Paroush 1982, Int. Econ. Rev. 23).

Requests: n(1 + r), r from 0 (consensus at once) to R; one more for each unreadable reply. Temperature 0.
Kinds: a consensus is identical lists of labels (multilabel), the same label (choice), or ratings at most ``within``
points apart on every dimension (rating). Labels and choices are voted, ratings take their median; a tie is unresolved.
Deviations: if an annotator's reply in a round fails or is unreadable, its last readable reply counts. An annotator
without any readable reply has no vote and is not waited for. The others decide if they are more than half; otherwise
the document fails if a provider error is the reason, else it is unresolved. The debate ends at once if no annotator is
left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from string import ascii_lowercase

from core.codebook import Codebook, Kind
from core.debate.context import DebateContext, Transcript
from core.debate.protocol_spec import (
    EQUAL,
    FROM_REVIEWS,
    VOTE_RULES,
    WEIGHTS,
    Param,
    Params,
    Preset,
    ProtocolSpec,
    RequestCount,
)
from core.debate.turns import AttributedReply, Request, Role, Step, Verdict
from core.debate.votes import MajorityVote, in_consensus, is_majority, majority_verdict
from core.formatting import format_count


def debate(context: DebateContext) -> Step[Verdict]:
    """Label independently, then discuss until all agree or the rounds are over, then vote."""
    roles = _roles(context.params)
    transcript = Transcript()
    number, agreed = 0, False
    for number in range(context.params["rounds"] + 1):
        replies = yield from context.ask_all(_requests(context, roles, transcript.history, number))
        for role, reply in zip(roles, replies, strict=True):
            transcript.add(role.name, role.title, reply, number)
        votes = [reply.reading.values for reply in transcript.latest.values() if reply.readable]
        agreed = is_majority(len(votes), len(roles)) and in_consensus(votes, context.codebook, context.params["within"])
        if agreed or not votes:
            break
    rule = _vote(context.params, context.codebook.kind)
    verdict = majority_verdict(context, [transcript.latest[role.name] for role in roles], rule)
    if not is_majority(len(votes), len(roles)):  # without enough votes, there is neither a consensus nor a majority
        return verdict
    return replace(verdict, notes=(_outcome(context, number, agreed=agreed), *verdict.notes))


def _outcome(context: DebateContext, rounds: int, *, agreed: bool) -> str:
    """Return the result of a debate with so many rounds of discussion in words."""
    discussion = f"after {format_count(rounds, 'round')} of discussion"
    if agreed:
        return f"consensus {discussion}" if rounds else "consensus without discussion"
    majority = "majority" if context.params[WEIGHTS] == EQUAL else "weighted majority"
    decided_by = "median" if context.codebook.kind == "rating" else majority
    return f"no consensus {discussion}, the {decided_by} counts"


def _requests(
    context: DebateContext, roles: Sequence[Role], history: Sequence[AttributedReply], number: int
) -> list[Request]:
    """Return the requests of a round. In the first round all are the same, so that the letters have no effect."""
    if not history:
        return [
            replace(context.request(role.name, form=context.form), round=number, sample=index)
            for index, role in enumerate(roles)
        ]
    return [
        context.request(
            role.name,
            template="discuss",
            form=context.form,
            round=number,
            replies_to=[turn.role for turn in history],
            extra={"own": role.title, "is_first_round": number == 1},
            history=tuple(history),
        )
        for role in roles
    ]


def _vote(params: Params, kind: Kind) -> MajorityVote:
    # The median has no weights, whatever is stored.
    return MajorityVote(weights=None if kind == "rating" else _weights(str(params[WEIGHTS])))


def _weights(text: str) -> list[float] | None:
    """Return the weight of each annotator's vote, None for equal ones. ValueError for anything but numbers."""
    return None if text == EQUAL else [float(part) for part in text.removeprefix(f"{FROM_REVIEWS}:").split(",")]


def _check(params: Params, codebook: Codebook) -> str:
    """Return what is wrong with the weights, empty if nothing is. Ratings take the median and ignore them."""
    text = str(params[WEIGHTS])
    if text in (EQUAL, FROM_REVIEWS) or codebook.kind == "rating":
        return ""
    try:
        weights = _weights(text) or []
    except ValueError:
        weights = []
    if len(weights) != params["annotators"] or not all(0 < weight < 1000 for weight in weights):
        return f"weights are equal, reviewed, or {params['annotators']} numbers above 0 with commas between them"
    return ""


def _roles(params: Params) -> tuple[Role, ...]:
    return tuple(
        Role(f"annotator_{letter}", f"Annotator {letter.upper()}", "labels independently, then discusses")
        for letter in ascii_lowercase[: params["annotators"]]
    )


def _request_counts(params: Params, _codebook: Codebook) -> dict[str, RequestCount]:
    return {role.name: RequestCount(1, 1 + params["rounds"]) for role in _roles(params)}


SPEC = ProtocolSpec(
    name="discussion",
    title="Peer discussion",
    short_title="Discussion",
    summary="Annotators answer independently, then discuss until they agree; else the majority or median counts.",
    source="Tseng et al. 2025, Evaluating Large Language Models as Expert Annotators, section 4.1, algorithm 1",
    layout="round",
    roles=_roles,
    request_counts=_request_counts,
    kinds=VOTE_RULES,
    enforced=dict.fromkeys(
        VOTE_RULES, "Of an annotator without a readable reply in a round, the last readable one counted."
    ),
    params=(
        Param("annotators", "Annotators", 3, "Number of annotators, each with its own model.", minimum=2, maximum=9),
        Param("rounds", "Maximum rounds", 2, "Rounds of discussion after the first annotation.", minimum=0, maximum=10),
        Param(
            "within",
            "Ratings agree within",
            1.0,
            "Points of the scale by which ratings may differ in a consensus.",
            minimum=0,
            maximum=10,
            kinds=("rating",),
        ),
        Param(
            WEIGHTS,
            "Weights of votes",
            EQUAL,
            "equal, reviewed (from the accuracy of each model on reviewed documents), or a number for each annotator.",
            kinds=("multilabel", "choice"),
        ),
    ),
    check=_check,
    vote=_vote,
    presets={
        "paper": Preset(
            "Tseng et al.: 3 annotators, 2 rounds, T = 0", {"annotators": 3, "rounds": 2}, {"": 0.0}, "paper"
        ),
    },
    temperature=lambda _params: {"annotator": 0.0},
    output_limits={"annotator": 2048},
    debate=debate,
)
