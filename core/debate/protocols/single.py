"""One annotator, one ask: the baseline that a debate has to beat.

The single agent of Maada et al., *ECJ-LLM* (section 5.1.1 and appendix B), and the vanilla method of Tseng et al.,
*Evaluating LLMs as Expert Annotators* (section 3). Asks: 1, and one more when the reply cannot be read.
"""

from __future__ import annotations

from core.debate.card import PER_CHOICE, PER_DIMENSION, PER_LABEL, ProtocolCard, Role, exactly
from core.debate.case import Case
from core.debate.turns import Step, Verdict


def debate(case: Case) -> Step[Verdict]:
    """The annotator decides."""
    answer = yield from case.ask("annotator", expects=case.form)
    return case.verdict(answer)


CARD = ProtocolCard(
    name="single",
    title="Single annotator",
    summary="One model, one answer: the baseline that a debate has to beat.",
    source="Tseng et al., Evaluating LLMs as Expert Annotators, section 3; Maada et al., ECJ-LLM, section 5.1.1",
    form="chain",
    roles=lambda _params: (Role("annotator", "Annotator", "names the labels"),),
    decides=lambda _params: "annotator",
    asks=lambda _params, _codebook: {"annotator": exactly(1)},
    formula="1",
    kinds={"multilabel": PER_LABEL, "choice": PER_CHOICE, "rating": PER_DIMENSION},
    debate=debate,
)
