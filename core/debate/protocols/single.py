"""One annotator, one ask: the baseline that a debate has to beat.

The single agent of Maada et al., *ECJ-LLM* (section 5.1.1 and appendix B), and the vanilla method of Tseng et al.,
*Evaluating LLMs as Expert Annotators* (section 3). Asks: 1, and one more when the reply cannot be read.
"""

from __future__ import annotations

from core.debate.case import Case
from core.debate.turns import Step, Verdict


def debate(case: Case) -> Step[Verdict]:
    """The annotator names the labels."""
    answer = yield from case.ask("annotator", expects="labels")
    return case.verdict(answer)
