"""Extractor, Critic, Judge (Maada et al., *ECJ-LLM: From Extraction to Judgment*, section 3.4, equation 1).

    y_ext = f_ext(x);   y_crt = f_crt(x, y_ext);   y = f_judge(x, y_ext, y_crt)

With e extra rounds extractor and critic speak e more times each, knowing all that was said. With ``scope=each`` every
label is debated alone, as in the paper's single-interest experiments (section 5.1), all of them in parallel.

Asks: 3 + 2e, times |A| labels with ``scope=each``; one more for each of extractor and judge whose reply cannot be
read.
Temperature: what the server does; the paper has the default of its framework, which it does not name, and 1 for
reasoning models (appendix A).
Deviations: definitions, examples and a guideline are in the prompts (future work in the paper's section 5.4). The
extractor ends with its list instead of beginning with it, and may name a doubtful aspect when words of the text speak
for it, as a critic follows. The critic is not told to disagree always, but to look for what is wrong, and knows that it
answers an extractor and no user. The judge may give reasons before its one line; that it adds no label is enforced, not
only asked (what was named in any round counts as named). In a choice the judge may only take a label that was chosen or
named by an analysis; ratings are the judge's own. A fault in any reply fails the document. ``adaptive`` is our own
(``core.debate.protocols.ecj``) and off unless it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.annotations import VERDICT
from core.codebook import CHOICE_ITEM, Codebook
from core.debate.context import DebateContext, conduct, together
from core.debate.spec import Asks, Param, Params, ProtocolSpec, Treatment, exactly
from core.debate.turns import AttributedReply, DecisionPath, Reply, Role, Step, Verdict

SECOND = "extractor_b"

PARAMS = (
    Param("adaptive", "Adaptive", False,
          "Critic and judge are left out where the extractor is sure and its quotations are in the text."),
    Param("second", "Two extractors", False,
          "Two extractors, perhaps cheap ones, must say the same before a debate is left out.",
          matters=lambda params: bool(params["adaptive"])),
    Param("audit", "Audited share", 0.1,
          "The random share of those documents that is debated in full, so that the loss is measured.",
          least=0.0, most=1.0, matters=lambda params: bool(params["adaptive"])),
)  # fmt: skip


def roles(params: Params) -> tuple[Role, ...]:
    """The seat that the parameters add."""
    if not (params["adaptive"] and params["second"]):
        return ()
    return (Role(SECOND, "Second extractor", "says the same, or there is a debate"),)


def opening(case: DebateContext) -> Step[tuple[Reply, ...]]:
    """What the extractor says, and beside it the second one if there is one; without the first there is no debate."""
    names = ["extractor", *(role.name for role in roles(case.params))]
    asks = [case.compose(name, template="extractor", form=case.form) for name in names]
    first, *others = yield from case.ask_all(asks)
    return (case.needed(first), *others)


def decision_path(case: DebateContext, opened: Sequence[Reply]) -> DecisionPath:
    """How far this debate goes. The draw is made whatever was said, so that it depends on nothing but the document."""
    if not case.params["adaptive"]:
        return ""
    drawn = case.rng.random() < case.params["audit"]
    if doubt(opened, case.codebook):
        return "full"
    return "audited" if drawn else "short"


def took(verdict: Verdict, path: DecisionPath) -> Verdict:
    """The verdict with how far its debate went."""
    return replace(verdict, path=path) if path else verdict


def doubt(opened: Sequence[Reply], codebook: Codebook) -> str:
    """Why what was said first does not decide, in words; empty when it does."""
    for reply in opened:
        reading = reply.reading
        if reply.error is not None or not reading.readable:
            return "a reply could not be read"
        if reading.undecided or any(item not in reading.values for item in codebook.items):
            return "something was left open"
        if reading.unknown:
            return "a name is not in the codebook"
        if any(not found.supported for found in reply.evidence):
            return "a quotation is not in the text"
    if any(dict(reply.reading.values) != dict(opened[0].reading.values) for reply in opened[1:]):
        return "the extractors differ"
    wanted = {CHOICE_ITEM} if codebook.kind == "choice" else set(opened[0].reading.present)
    if not wanted and len(opened) == 1:
        return "nothing was found, and nobody else looked"
    if wanted - {found.item for reply in opened for found in reply.evidence}:
        return "no words of the text speak for a label"
    return ""


EACH = "each"
_HEARD = ("extractor", "critic")


def debate(case: DebateContext) -> Step[Verdict]:
    """One debate on all labels at once, or one on each."""
    if case.params["scope"] != EACH:
        return (yield from _debate(case))
    items = case.codebook.items
    verdicts = yield from together(*(conduct(_debate, case.about(item)) for item in items))
    return case.merged(dict(zip(items, verdicts, strict=True)))


def _debate(case: DebateContext) -> Step[Verdict]:
    """The extractor claims, the critic objects or agrees, the judge rules among what they named."""
    opened = yield from opening(case)
    extraction = opened[0]
    path = decision_path(case, opened)
    if path == "short":
        return took(case.verdict(extraction), path)
    critique = yield from case.ask("critic", replies_to=("extractor",), extraction=extraction, earlier=())
    said: list[AttributedReply] = []
    for number in range(case.params["extra_rounds"]):
        said += _sayings(extraction, critique, number)
        extraction = yield from case.ask(
            "extractor",
            template="extractor_again",
            form=case.form,
            round=number + 1,
            replies_to=_HEARD,
            earlier=tuple(said),
        )
        critique = yield from case.ask(
            "critic", round=number + 1, replies_to=_HEARD, extraction=extraction, earlier=tuple(said)
        )
    ruling = yield from case.ask(
        "judge", form=case.form, replies_to=_HEARD, extraction=extraction, critique=critique, earlier=tuple(said)
    )
    verdict = case.verdict(ruling, among=(extraction, critique, *(one.reply for one in said)))
    return took(verdict, path)


def _sayings(extraction: Reply, critique: Reply, number: int) -> tuple[AttributedReply, AttributedReply]:
    return (
        AttributedReply("extractor", "The extractor", extraction, number),
        AttributedReply("critic", "The critic", critique, number),
    )


def _asks(params: Params, codebook: Codebook) -> dict[str, Asks]:
    debates = len(codebook.labels) if params["scope"] == EACH else 1
    rounds = debates * (1 + params["extra_rounds"])
    if not params["adaptive"]:
        return {"extractor": exactly(rounds), "critic": exactly(rounds), "judge": exactly(debates)}
    seconds = {role.name: exactly(1) for role in roles(params)}
    return {"extractor": Asks(1, rounds), **seconds, "critic": Asks(0, rounds), "judge": Asks(0, debates)}


def _check(params: Params, codebook: Codebook) -> str:
    if params["adaptive"] and params["scope"] == EACH:
        return "an adaptive debate is about all labels at once, so not with scope=each"
    if params["adaptive"] and codebook.kind == "rating":
        return "an adaptive debate needs labels, for which words of the text can speak; ratings have none"
    if params["scope"] == EACH and codebook.kind == "choice":
        return "scope=each is not defined for a choice: one label of several cannot be debated alone"
    return ""


_NO_VOTE = "none, as the judge decides"

CARD = ProtocolSpec(
    name="ecj",
    title="Extractor, Critic, Judge",
    summary="One claims with quotes, one objects, one decides among what they named.",
    source="Maada et al., ECJ-LLM, section 3.4",
    form="chain",
    roles=lambda params: (
        Role("extractor", "Extractor", "names labels and quotes the words that speak for them"),
        *roles(params),
        Role("critic", "Critic", "argues against, or agrees where there is no ground"),
        Role("judge", "Judge", "weighs both and decides"),
    ),
    decides=lambda params: VERDICT if params["adaptive"] else "judge",
    asks=_asks,
    breakdown="one each for extractor, critic and judge, two more for each extra round; all that for every label where "
    "each has its own debate; 1 or 2 where an adaptive debate ends early",
    kinds={
        "multilabel": Treatment("the labels that an analysis names", _NO_VOTE, "none can arise"),
        "choice": Treatment("the labels that an analysis chooses", _NO_VOTE, "none can arise"),
        "rating": Treatment("each dimension", _NO_VOTE, "none can arise"),
    },
    params=(
        Param("extra_rounds", "Extra rounds", 0, "Further rounds of extractor and critic before the judge.",
              least=0, most=5),
        Param("scope", "Scope", "all", "All labels in one debate, or a debate of its own for each.",
              {"all": "All labels at once", EACH: "One debate a label"}),
        *PARAMS,
    ),
    check=_check,
    debate=debate,
)  # fmt: skip
