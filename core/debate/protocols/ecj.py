"""Extractor, Critic, Judge (Maada et al., *ECJ-LLM: From Extraction to Judgment*, section 3.4, equation 1).

    y_ext = f_ext(x);   y_crt = f_crt(x, y_ext);   y = f_judge(x, y_ext, y_crt)

Asks: 3, and one more for each of extractor and judge whose reply cannot be read.
Deviations: definitions, examples and a guideline are in the prompts (future work in the paper's section 5.4); the
extractor ends with its list instead of beginning with it; that the judge adds no label is enforced, not only asked.
"""

from __future__ import annotations

from core.debate.card import ProtocolCard, Role, Treatment, exactly
from core.debate.case import Case
from core.debate.turns import Step, Verdict


def debate(case: Case) -> Step[Verdict]:
    """The extractor claims, the critic objects or agrees, the judge rules among what they named."""
    extraction = yield from case.ask("extractor", expects=case.form)
    critique = yield from case.ask("critic", answers=("extractor",), extraction=extraction)
    ruling = yield from case.ask(
        "judge", expects=case.form, answers=("extractor", "critic"), extraction=extraction, critique=critique
    )
    return case.verdict(ruling, among=(extraction, critique))


_NO_VOTE = "none: the judge decides"

CARD = ProtocolCard(
    name="ecj",
    title="Extractor, Critic, Judge",
    summary="One claims with quotes, one objects, one decides among what they named.",
    source="Maada et al., ECJ-LLM, section 3.4",
    form="chain",
    roles=lambda _params: (
        Role("extractor", "Extractor", "names labels and quotes the words that speak for them"),
        Role("critic", "Critic", "argues against, or agrees where there is no ground"),
        Role("judge", "Judge", "weighs both and decides"),
    ),
    decides=lambda _params: "judge",
    asks=lambda _params, _codebook: dict.fromkeys(("extractor", "critic", "judge"), exactly(1)),
    formula="3",
    kinds={
        "multilabel": Treatment("the labels that either analysis names", _NO_VOTE, "cannot arise"),
        "choice": Treatment("the labels that the analyses choose", _NO_VOTE, "cannot arise"),
        "rating": Treatment("each dimension", _NO_VOTE, "cannot arise"),
    },
    debate=debate,
)
