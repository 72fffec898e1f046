"""One annotator: the baselines that a debate has to beat.

Tseng et al., *Evaluating LLMs as Expert Annotators*, section 3.1: vanilla, chain of thought (zero-shot),
self-consistency (5 samples at temperature 0.7, majority vote) and self-refine (generate, review, refine). Maada et
al., *ECJ-LLM*, section 5.1.1: the single agent. *Courtroom-LLM*, section 4: the single model with 0 to 3 examples, and
N of them that vote without reasoning. Liu et al., *G-Eval* (2023), section 2, as MAJ-Eval compares itself with:
evaluation steps, a form to fill in, several samples, their mean.

Asks: 1 for ``vanilla``, ``cot`` and ``few_shot``; k for ``vote``, ``self_consistency`` and ``form``; 3 for
``self_refine``. One more for each reply that cannot be read.
Temperature: 0.7 for ``self_consistency``, 0.5 for ``vote`` (and so for the ambiguity pre-pass that is made of it, as in
Courtroom-LLM), 1 for ``form``; else what the server does, which need not be the 0 of Tseng et al. or the 0.5 of
Courtroom-LLM: their presets set it.
Deviations: k is 5 for every method (G-Eval has 20: its preset). Self-refine drafts with reasons, so that there is
something to review. Few-shot takes its examples by similarity for each label, not one fixed set. A vote needs a
decision from more than half of the k; ties are unresolved. In self-refine a draft or a review that failed ends the
debate as failed; one that cannot be read is refined all the same. The form's steps are written by the same ask that
fills it in, and its ratings are averaged over samples instead of being weighted by token probabilities, which few
servers give.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from core.debate.context import DebateContext
from core.debate.few_shot import examples, rows
from core.debate.spec import (
    PER_CHOICE,
    PER_DIMENSION,
    PER_LABEL,
    Asks,
    Param,
    Params,
    Preset,
    ProtocolSpec,
    exactly,
)
from core.debate.turns import Role, Step, Verdict
from core.debate.votes import council

METHODS = {
    "vanilla": "Vanilla: the answer alone",
    "cot": "Chain of thought",
    "few_shot": "Few-shot: similar labelled documents are shown",
    "vote": "Vote of k without reasoning",
    "self_consistency": "Self-consistency: vote of k chains of thought",
    "self_refine": "Self-refine: draft, review, refine",
    "form": "Form filling: steps, then a form, k times",
}
SAMPLED = ("vote", "self_consistency", "form")
"""The methods that ask k times."""
TEMPERATURES = {"vote": 0.5, "self_consistency": 0.7, "form": 1.0}
"""Where samples have to differ: the temperature of the paper that each of these methods is from."""

_TEMPLATES = {"vanilla": "annotator", "vote": "annotator", "cot": "reasoner", "self_consistency": "reasoner",
              "self_refine": "reasoner", "form": "form", "few_shot": "shown"}  # fmt: skip


def debate(case: DebateContext) -> Step[Verdict]:
    """The annotator decides, by the method that was chosen."""
    method = case.params["method"]
    template = _TEMPLATES[method]
    if method in SAMPLED:
        ask = case.compose("annotator", template=template, form=case.form)
        answers = yield from case.ask_all(replace(ask, sample=number) for number in range(case.params["k"]))
        return council(case, answers, "mean" if method == "form" else "median")
    if method == "self_refine":
        return (yield from _refined(case))
    extra = {}
    if method == "few_shot":
        extra["precedents"] = rows(case.codebook, examples(case, case.params["shots"]))
    answer = yield from case.ask("annotator", template=template, form=case.form, extra=extra)
    return case.verdict(answer)


def _refined(case: DebateContext) -> Step[Verdict]:
    own = ("annotator",)
    draft = yield from case.ask("annotator", template="reasoner", form=case.form)
    review = yield from case.ask("annotator", template="review", round=1, replies_to=own, draft=draft)
    final = yield from case.ask(
        "annotator", template="refine", form=case.form, round=2, replies_to=own, draft=draft, review=review
    )
    return case.verdict(final)


def _asks(params: Params, _codebook: Any) -> dict[str, Asks]:
    method = params["method"]
    return {"annotator": exactly(params["k"] if method in SAMPLED else 3 if method == "self_refine" else 1)}


def _temperature(params: Params) -> dict[str, float]:
    own = TEMPERATURES.get(params["method"])
    return {} if own is None else {"annotator": own}


CARD = ProtocolSpec(
    name="single",
    title="Single annotator",
    summary="One model alone: the baseline that a debate has to beat.",
    source="Tseng et al., Evaluating LLMs as Expert Annotators, section 3; Maada et al., ECJ-LLM, section 5.1.1",
    form="chain",
    roles=lambda _params: (Role("annotator", "Annotator", "names the labels"),),
    decides=lambda params: "verdict" if params["method"] in SAMPLED else "annotator",
    asks=_asks,
    breakdown="one for each sample, three where it refines its own answer",
    kinds={"multilabel": PER_LABEL, "choice": PER_CHOICE, "rating": PER_DIMENSION},
    params=(
        Param("method", "Method", "vanilla", "How the one model comes to its answer.", METHODS),
        Param("k", "Samples", 5, "How often it is asked; the majority counts.", least=1, most=50,
              matters=lambda params: params["method"] in SAMPLED),
        Param("shots", "Examples a label", 1, "Similar labelled documents that are shown for each label.", least=0,
              most=3, matters=lambda params: params["method"] == "few_shot"),
        Param("likeness", "Precedents by", "tfidf", "How texts are compared: tfidf (character n-grams), minilm, or "
              "connection/model of an endpoint for embeddings.", matters=lambda params: params["method"] == "few_shot"),
    ),
    presets={
        "vanilla": Preset("Vanilla (Tseng et al., T = 0)", {"method": "vanilla"}, {"": 0.0}),
        "cot": Preset("Chain of thought (Tseng et al., T = 0)", {"method": "cot"}, {"": 0.0}),
        "self-consistency": Preset(
            "Self-consistency (Tseng et al., k = 5, T = 0.7)", {"method": "self_consistency", "k": 5}, {"": 0.7}
        ),
        "self-refine": Preset("Self-refine (Tseng et al., T = 0)", {"method": "self_refine"}, {"": 0.0}),
        "few-shot": Preset("One example a label (Courtroom, T = 0.5)", {"method": "few_shot", "shots": 1}, {"": 0.5}),
        "parallel-5": Preset("Five that vote (Courtroom, T = 0.5)", {"method": "vote", "k": 5}, {"": 0.5}),
        "g-eval": Preset("Form filling (G-Eval, k = 20, T = 1)", {"method": "form", "k": 20}, {"": 1.0}),
    },
    temperature=_temperature,
    shots=lambda params: params["shots"] if params["method"] == "few_shot" else 0,
    debate=debate,
)  # fmt: skip
