"""Extractor, Critic, Judge (Maada et al., *ECJ-LLM: From Extraction to Judgment*, section 3.4, equation 1).

    y_ext = f_ext(x);   y_crt = f_crt(x, y_ext);   y = f_judge(x, y_ext, y_crt)

Asks: 3, and one more for each of extractor and judge whose reply cannot be read.
Deviations: definitions, examples and a guideline are in the prompts (future work in the paper's section 5.4); the
extractor ends with its list instead of beginning with it; that the judge adds no label is enforced, not only asked.
"""

from __future__ import annotations

from core.debate.case import Case
from core.debate.turns import Step, Verdict


def debate(case: Case) -> Step[Verdict]:
    """The extractor claims, the critic objects or agrees, the judge rules among what they named."""
    extraction = yield from case.ask("extractor", expects="labels")
    critique = yield from case.ask("critic", extraction=extraction)
    ruling = yield from case.ask("judge", expects="labels", extraction=extraction, critique=critique)
    return case.verdict(ruling, among=(extraction, critique))
