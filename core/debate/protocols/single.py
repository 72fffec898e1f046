"""One annotator: the baselines that a debate has to beat.

Tseng et al. 2025, *Evaluating Large Language Models as Expert Annotators*, section 3.1: vanilla, chain of thought
(zero-shot), self-consistency (5 samples at temperature 0.7, majority vote) and self-refine (generate, review, refine).
Maada et al. 2025, *ECJ-LLM*, section 5.1.1: the single agent. *Courtroom-LLM* (2024), section 4: the single model with
0 to 3 examples, and N votes without reasoning, with examples if ``shots`` is set, so that D_rate can be measured with
examples, too. Its presets ask as the magistrate of the courts does. Liu et al. 2023, *G-Eval*, section 2, the baseline
of MAJ-Eval: evaluation steps, a form to fill in, several samples, their mean.

Requests: 1 for ``vanilla``, ``cot`` and ``few_shot``; k for ``vote``, ``self_consistency`` and ``form``; 3 for
``self_refine``. One more for each unreadable reply.
Temperature: 0.7 for ``self_consistency``, 0.5 for ``vote`` (and so for the ambiguity pre-pass, as in Courtroom-LLM), 1
for ``form``, else the server's default. The 0 of Tseng et al. and the 0.5 of Courtroom-LLM are set by presets.
Deviations: k is 5 for every method (G-Eval has 20: its preset). A vote needs a decision from more than half of the k
samples; ties are unresolved. In self-refine an error in the draft or the review fails the debate; an unreadable draft
or review is refined all the same. The form's steps are written in the reply that fills in the form. (G-Eval has them
written once for a task; MAJ-Eval, appendix A.10.1, gives three fixed ones; both ask for the scores only.) Its ratings
are averaged over samples instead of being weighted by token probabilities, which few servers return.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from core.codebook import Kind
from core.debate.context import DebateContext
from core.debate.few_shot import select_examples, template_rows
from core.debate.protocol_spec import (
    VOTE_RULES,
    Param,
    Params,
    Preset,
    ProtocolSpec,
    RequestCount,
    exactly,
    similarity_param,
)
from core.debate.turns import Role, Step, Verdict
from core.debate.votes import MajorityVote, majority_verdict


class Method(NamedTuple):
    """A way to decide.

    ``temperature`` is that of the k samples, which have to differ, from the paper of the method; None for one answer.
    ``least_shots`` is the least number of examples per label; None for a method that shows none.
    """

    title: str
    template: str
    temperature: float | None = None
    least_shots: int | None = None

    @property
    def is_sampled(self) -> bool:
        """True for k samples."""
        return self.temperature is not None

    @property
    def answer_only(self) -> bool:
        """True for replies without reasons."""
        return self.template in ("annotator", "few_shot")


METHODS = {
    "vanilla": Method("Vanilla: the answer alone", "annotator"),
    "cot": Method("Chain of thought", "reasoner"),
    "few_shot": Method("Few-shot: with similar labelled documents", "few_shot", least_shots=1),
    "vote": Method("Vote of k without reasoning", "annotator", 0.5, least_shots=0),
    "self_consistency": Method("Self-consistency: vote of k chains of thought", "reasoner", 0.7),
    "self_refine": Method("Self-refine: draft, review, refine", "reasoner"),
    "form": Method("Form filling: steps, then a form, k times", "form", 1.0),
}


def debate(context: DebateContext) -> Step[Verdict]:
    """Decide by the chosen method."""
    method, extra = _method(context.params), {}
    if method is METHODS["self_refine"]:
        return (yield from _self_refine(context))
    template = method.template
    if shots := _shots(context.params):
        template = "few_shot"
        extra["precedents"] = template_rows(context.codebook, select_examples(context, shots))
    request = context.request(
        "annotator", template=template, form=context.form, answer_only=method.answer_only, extra=extra
    )
    samples = context.params["k"] if method.is_sampled else 1
    answers = yield from context.ask_all(replace(request, sample=number) for number in range(samples))
    if method.is_sampled:
        return majority_verdict(context, answers, _vote(context.params, context.codebook.kind))
    return context.verdict(context.require(answers[0]))


def _self_refine(context: DebateContext) -> Step[Verdict]:
    replies_to = ("annotator",)
    draft = yield from context.ask("annotator", template="reasoner", form=context.form)
    review = yield from context.ask("annotator", template="review", round=1, replies_to=replies_to, draft=draft)
    final = yield from context.ask(
        "annotator", template="refine", form=context.form, round=2, replies_to=replies_to, draft=draft, review=review
    )
    return context.verdict(final)


def _method(params: Params) -> Method:
    return METHODS[str(params["method"])]


def _request_counts(params: Params, _codebook: Any) -> dict[str, RequestCount]:
    single = 3 if params["method"] == "self_refine" else 1
    return {"annotator": exactly(params["k"] if _method(params).is_sampled else single)}


def _shots(params: Params) -> int:
    """Return the number of examples per label: at least one for few-shot, those that are set for a vote."""
    least = _method(params).least_shots
    return 0 if least is None else max(least, int(params["shots"]))


def _vote(params: Params, _kind: Kind) -> MajorityVote:
    return MajorityVote("mean" if params["method"] == "form" else "median")


def _temperature(params: Params) -> dict[str, float]:
    temperature = _method(params).temperature
    return {} if temperature is None else {"annotator": temperature}


SPEC = ProtocolSpec(
    name="single",
    title="Single annotator",
    short_title="Single",
    summary="One model alone: the baseline for every debate.",
    source="Tseng et al. 2025, Evaluating Large Language Models as Expert Annotators, section 3; Maada et al. 2025, "
    "ECJ-LLM, section 5.1.1",
    layout="chain",
    roles=lambda _params: (Role("annotator", "Annotator", "names the labels"),),
    deciding_role=lambda params: "verdict" if _method(params).is_sampled else "annotator",
    request_counts=_request_counts,
    kinds=VOTE_RULES,
    params=(
        Param(
            "method",
            "Method",
            "vanilla",
            "How the model decides.",
            {name: method.title for name, method in METHODS.items()},
        ),
        Param(
            "k",
            "Samples",
            5,
            "Number of samples. The majority counts (ratings: the median; `form`: the mean).",
            minimum=1,
            maximum=50,
            is_relevant=lambda params: _method(params).is_sampled,
        ),
        Param(
            "shots",
            "Examples per label",
            0,
            "Similar labelled documents shown for each label, in few-shot (at least one) and in a vote.",
            minimum=0,
            maximum=3,
            is_relevant=lambda params: _method(params).least_shots is not None,
        ),
        similarity_param(lambda params: _shots(params) > 0),
    ),
    presets={
        "paper": Preset("Vanilla (Tseng et al., T = 0)", {"method": "vanilla"}, {"": 0.0}, "paper"),
        "cot": Preset("Chain of thought (Tseng et al., T = 0)", {"method": "cot"}, {"": 0.0}, "paper"),
        "self-consistency": Preset(
            "Self-consistency (Tseng et al., T = 0.7)", {"method": "self_consistency", "k": 5}, {"": 0.7}, "paper"
        ),
        "self-refine": Preset("Self-refine (Tseng et al., T = 0)", {"method": "self_refine"}, {"": 0.0}, "paper"),
        "single-agent": Preset("Single agent (Maada et al.)", {"method": "vanilla"}, templates="ecj"),
        "vanilla": Preset("Vanilla, with the prompts of Moot (T = 0)", {"method": "vanilla"}, {"": 0.0}),
        "few-shot": Preset(
            "One example per label (Courtroom, T = 0.5)", {"method": "few_shot", "shots": 1}, {"": 0.5}, "courtroom"
        ),
        "parallel-5": Preset("Five votes (Courtroom, T = 0.5)", {"method": "vote", "k": 5}, {"": 0.5}, "courtroom"),
        "g-eval": Preset("Form filling (G-Eval, k = 20, T = 1)", {"method": "form", "k": 20}, {"": 1.0}),
    },
    temperature=_temperature,
    shots=_shots,
    vote=_vote,
    output_limits={"annotator": 2048},
    debate=debate,
)
