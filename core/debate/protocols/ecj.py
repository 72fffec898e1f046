"""Extractor, Critic, Judge (Maada et al. 2025, *ECJ-LLM: From Extraction to Judgment*, section 3.4, equation 1).

    y_ext = f_ext(x);   y_crt = f_crt(x, y_ext);   y = f_judge(x, y_ext, y_crt)

With e extra rounds, extractor and critic reply e more times each and see all replies so far. With ``scope=each`` every
label is debated alone, as in the paper's single-interest experiments (section 5.1), all labels in parallel.

Requests: 3 + 2e, times |A| labels with ``scope=each``; one more for each unreadable reply.
Temperature: the server's default. The paper uses the default of Spring AI, whose value it does not give, and 1 for
reasoning models (appendix A).
Deviations: definitions, examples and a guideline are in the prompts (future work in the paper's section 5.4). The
extractor ends with its list instead of beginning with it. It may name a doubtful aspect if words of the text support
it, because a critic follows. The critic is not asked to disagree always but to look for errors, and knows that it
replies to an extractor and not to a user. The judge may give reasons before its one line. That the judge adds no label
is enforced, not only requested: the judge may only take labels that an analysis chose or left open in any round, or
named in a reply without a decision. (In the paper it may take any that an analysis mentions, also a rejected one.)
Ratings are the judge's own. An error in any reply fails the document, except in that of a second extractor, which only
leads to a debate. ``adaptive``, with the second extractor, is our addition and off by default.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.codebook import CHOICE_ITEM, Codebook
from core.debate.context import DebateContext, run_parallel, run_protocol
from core.debate.protocol_spec import ONE_ROLE_RULES, Param, Params, Preset, ProtocolSpec, RequestCount, exactly
from core.debate.turns import AttributedReply, DecisionPath, Reply, Role, Step, Verdict
from core.documents import VERDICT

EACH = "each"
_ANALYSTS = ("extractor", "critic")


def _adaptive_roles(params: Params) -> tuple[Role, ...]:
    """Return the roles that the parameters add."""
    if not (params["adaptive"] and params["second"]):
        return ()
    return (
        Role("extractor_b", "Second extractor", "must agree with the extractor, or there is a debate", votes=False),
    )


def open_debate(context: DebateContext) -> Step[tuple[Reply, ...]]:
    """Return the first replies: of the extractor, and of the second extractor if there is one.

    The debate fails without the extractor's reply.
    """
    names = ["extractor", *(role.name for role in _adaptive_roles(context.params))]
    requests = [
        replace(context.request(name, template="extractor", form=context.form), sample=index)
        for index, name in enumerate(names)
    ]
    first, *others = yield from context.ask_all(requests)
    return (context.require(first), *others)


def decision_path(context: DebateContext, first_replies: Sequence[Reply]) -> DecisionPath:
    """Return the length of this debate.

    The random number is drawn before the replies are examined, and therefore depends on the document alone.
    """
    if not context.params["adaptive"]:
        return ""
    drawn = context.rng.random() < context.params["audit"]
    if not are_certain(first_replies, context.codebook):
        return "full"
    return "audited" if drawn else "short"


def are_certain(first_replies: Sequence[Reply], codebook: Codebook) -> bool:
    """Return True if the first replies decide without a debate.

    All are complete and alike, their quotes are in the text, and each label that they name has one. A single reply
    names at least one label.
    """
    first = first_replies[0].reading
    wanted = {CHOICE_ITEM} if codebook.kind == "choice" else set(first.present)
    quotes = [quote for reply in first_replies for quote in reply.evidence]
    return (
        all(reply.readable and not reply.reading.undecided for reply in first_replies)
        and all(dict(reply.reading.values) == dict(first.values) for reply in first_replies)
        and first.values.keys() >= set(codebook.items)
        and all(quote.supported for quote in quotes)
        and (bool(wanted) or len(first_replies) > 1)
        and wanted <= {quote.item for quote in quotes}
    )


def debate(context: DebateContext) -> Step[Verdict]:
    """Debate all labels at once, or each label alone."""
    if context.params["scope"] != EACH:
        return (yield from _debate(context))
    items = context.codebook.items
    verdicts = yield from run_parallel(*(run_protocol(_debate, context.narrowed(item)) for item in items))
    return context.merged(dict(zip(items, verdicts, strict=True)))


def _debate(context: DebateContext) -> Step[Verdict]:
    """Ask extractor, critic and judge; the judge decides among the labels that the analyses choose."""
    first_replies = yield from open_debate(context)
    extraction = first_replies[0]
    path = decision_path(context, first_replies)
    if path == "short":
        return replace(context.verdict(extraction), path=path)
    critique = yield from context.ask("critic", replies_to=("extractor",), extraction=extraction, earlier=())
    earlier: list[AttributedReply] = []
    for number in range(context.params["extra_rounds"]):
        earlier.append(AttributedReply("extractor", "The extractor", extraction, number))
        earlier.append(AttributedReply("critic", "The critic", critique, number))
        extraction = yield from context.ask(
            "extractor",
            template="extractor_again",
            form=context.form,
            round=number + 1,
            replies_to=_ANALYSTS,
            earlier=tuple(earlier),
        )
        critique = yield from context.ask(
            "critic", round=number + 1, replies_to=_ANALYSTS, extraction=extraction, earlier=tuple(earlier)
        )
    ruling = yield from context.ask(
        "judge",
        form=context.form,
        replies_to=_ANALYSTS,
        extraction=extraction,
        critique=critique,
        earlier=tuple(earlier),
    )
    verdict = context.verdict(ruling, among=(extraction, critique, *(turn.reply for turn in earlier)))
    return replace(verdict, path=path)


def _request_counts(params: Params, codebook: Codebook) -> dict[str, RequestCount]:
    debates = len(codebook.labels) if params["scope"] == EACH else 1
    rounds = debates * (1 + params["extra_rounds"])
    if not params["adaptive"]:
        return {"extractor": exactly(rounds), "critic": exactly(rounds), "judge": exactly(debates)}
    seconds = {role.name: exactly(1) for role in _adaptive_roles(params)}
    return {
        "extractor": RequestCount(1, rounds),
        **seconds,
        "critic": RequestCount(0, rounds),
        "judge": RequestCount(0, debates),
    }


def _check(params: Params, codebook: Codebook) -> str:
    if params["adaptive"] and params["scope"] == EACH:
        return "adaptive debates are about all labels at once and cannot be combined with scope=each"
    if params["adaptive"] and codebook.kind == "rating":
        return "adaptive debates need quotes for labels; ratings have none"
    if params["scope"] == EACH and codebook.kind == "choice":
        return "scope=each is not defined for a choice: one label of several cannot be debated alone"
    return ""


SPEC = ProtocolSpec(
    name="ecj",
    title="Extractor, Critic, Judge (ECJ)",
    short_title="ECJ",
    summary="One role answers with quotes, one objects, and one decides.",
    source="Maada et al. 2025, ECJ-LLM, section 3.4",
    layout="chain",
    roles=lambda params: (
        Role("extractor", "Extractor", "answers first and quotes the words that support the answer"),
        *_adaptive_roles(params),
        Role("critic", "Critic", "objects, or agrees if there is nothing to object to"),
        Role("judge", "Judge", "weighs both replies and decides"),
    ),
    deciding_role=lambda params: VERDICT if params["adaptive"] else "judge",
    request_counts=_request_counts,
    kinds=ONE_ROLE_RULES,
    enforced={
        "multilabel": "A label that the judge chose, but no analysis had chosen or left open, was left out.",
        "choice": "A label that the judge chose, but no analysis had chosen or left open, was not accepted.",
    },
    presets={
        "paper": Preset("ECJ-LLM, with its instructions", {"extra_rounds": 0, "scope": "all"}, templates="paper"),
    },
    params=(
        Param(
            "extra_rounds",
            "Extra rounds",
            0,
            "Additional rounds of extractor and critic before the judge.",
            minimum=0,
            maximum=5,
        ),
        Param(
            "scope",
            "Labels per debate",
            "all",
            "One debate about all labels, or one debate for each label.",
            {"all": "All at once", EACH: "One each"},
        ),
        Param(
            "adaptive",
            "Adaptive",
            False,
            "Skip critic and judge if the extractor is sure and its quotes are in the text.",
        ),
        Param(
            "second",
            "Two extractors",
            False,
            "Skip a debate only if two extractors, perhaps cheap ones, agree.",
            is_relevant=lambda params: bool(params["adaptive"]),
        ),
        Param(
            "audit",
            "Audited share",
            0.1,
            "Random share of the skipped documents that is debated in full, to measure what skipping loses.",
            minimum=0.0,
            maximum=1.0,
            is_relevant=lambda params: bool(params["adaptive"]),
        ),
    ),
    check=_check,
    output_limits={"extractor": 2048, "critic": 2048, "judge": 2048},
    debate=debate,
)
