"""Courtroom (*Courtroom-LLM: An Innovative Courtroom-Analogous Framework for Text Classification*, 2024, section 3).

Preliminary hearing (3.1): the magistrate gives a first and a second answer, A1 and A2; with only two possible answers
A2 is the other one. Argument stage (3.2): the prosecutor argues for A1 and the defender for A2, independently and
within a length limit. Precedents (3.3.1): for each of the two answers, or for every label as in the paper's example
on inference (``precedents_for=labels``), the judges see the most similar labelled documents, each with a reason that a
clerk wrote once. Deliberation (3.3.2): judges decide in parallel by majority, or in sequence, where each sees the
rulings before and the last judge decides. A judge may name any label.

Requests for one trial: h + 2 + q + J, with h = 1 for two answers and 2 for more, q precedents, J judges. One more for
each unreadable reply and each argument over the length limit. One judge in sequence is one judge in parallel: the
requests are the same. Temperature 0.5.
Multilabel: the hearing gives two lists (h = 2). Each label in which the lists differ has its own trial on whether the
label is present; the other labels are as in the first list. With ``trials=all`` there is one list (h = 1) and a trial
for every label. That makes h + c(2 + q + J) requests for c contested labels. Ratings are not supported, because a
scale has more than two answers.
Deviations: three judges by default (five in the paper's main tables). Similarity is set by ``likeness`` (the paper:
spaCy's small English vectors). The second answer has its own request, without the first answer among the labels. The
length is checked by sentences (and 60 words for each); an argument over the limit is requested once more and then cut.
A label at the end of an argument does not count as its role's opinion, because the position was assigned. A tie of
parallel judges is unresolved. If the second answer is unreadable, the next label of the codebook is defended, with a
note. The paper does not say who writes the reasons of precedents. The clerk's request is the same wherever the
precedent is shown, in a multilabel codebook for the same label, so its reply is paid for once. An error of the hearing
or of an argument fails the document; a reason that fails is left out; parallel judges decide if more than half of the
rulings are readable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from core import prompts
from core.codebook import CHOICE_ITEM, Codebook
from core.debate.context import DebateContext, run_parallel, run_protocol
from core.debate.few_shot import format_labels, template_rows
from core.debate.protocol_spec import (
    VOTE_RULES,
    DecisionRule,
    Param,
    Params,
    Preset,
    ProtocolSpec,
    RequestCount,
    exactly,
    similarity_param,
)
from core.debate.reading.decision_markers import without_reasoning
from core.debate.reading.normalise import UNSPACED
from core.debate.turns import AttributedReply, Reply, Request, Role, Step, Verdict
from core.debate.votes import majority_verdict
from core.documents import Document, Precedent, Value

SEQUENCE, PARALLEL = "sequence", "parallel"
DISPUTED, ALL = "disputed", "all"
ANSWERS, LABELS = "answers", "labels"
WORDS_A_SENTENCE = 60
"""Words after which a sentence counts as another one, so that a limit holds for text without full stops."""


@dataclass(frozen=True, slots=True)
class _Dispute:
    """The two answers on one item that a trial decides between."""

    item: str
    first: Value
    second: Value


def debate(context: DebateContext) -> Step[Verdict]:
    """Hold the hearing, then a trial on each disputed answer, all trials in parallel."""
    first = yield from context.ask("magistrate", form=context.form, answer_only=True)
    if not first.reading.readable:
        return context.verdict(first)
    disputes, note = yield from _disputes(context, first)
    trials = (
        run_protocol(
            partial(_trial, dispute=dispute), context if dispute.item == CHOICE_ITEM else context.narrowed(dispute.item)
        )
        for dispute in disputes
    )
    verdicts = yield from run_parallel(*trials)
    return _concluded(
        context, first, {dispute.item: verdict for dispute, verdict in zip(disputes, verdicts, strict=True)}, note
    )


def _disputes(context: DebateContext, first: Reply) -> Step[tuple[list[_Dispute], tuple[str, ...]]]:
    """Return the answers to try, with a note, from the first answer and a second one."""
    codebook, values = context.codebook, first.reading.values
    if codebook.kind == "choice":
        labels = list(codebook.label_names)
        label_id = values.get(CHOICE_ITEM)
        if not isinstance(label_id, str) or len(labels) == 1:
            return [], ()
        other = labels[(labels.index(label_id) + 1) % len(labels)]
        if len(labels) == 2:
            return [_Dispute(CHOICE_ITEM, label_id, other)], ()
        second = (yield from _second_answer(context, first, label_id)).reading.values.get(CHOICE_ITEM)
        none = f"the hearing gave no second answer: '{codebook.label(other).name}' was defended"
        return [_Dispute(CHOICE_ITEM, label_id, second or other)], () if second else (none,)
    contested, reason = list(codebook.items), ""
    if context.params["trials"] == DISPUTED:
        reading = (yield from _second_answer(context, first, "")).reading
        second_values = reading.values if reading.readable else values
        contested = [item for item in codebook.items if item not in values or second_values.get(item) != values[item]]
        if not reading.readable:
            reason = ", as the hearing gave no second answer"
        elif not contested:
            reason = ", as the hearing left no doubt"
    names = ", ".join(f"'{codebook.label(item).name}'" for item in contested)
    disputes = [_Dispute(item, values.get(item, True), not values.get(item, True)) for item in contested]
    return disputes, (f"tried: {names or 'nothing'}{reason}",)


def _trial(context: DebateContext, dispute: _Dispute) -> Step[Verdict]:
    """Collect both arguments and the reasons of precedents in parallel, then the rulings."""
    answers = (dispute.first, dispute.second)
    positions = tuple(_position(context.codebook, dispute.item, answer) for answer in answers)
    precedents = _select_precedents(context, dispute)
    argue = [
        replace(context.request(role, extra={"position": position, "length": _length(context)}), assigned=True)
        for role, position in zip(("prosecutor", "defender"), positions, strict=True)
    ]
    replies = yield from context.ask_all([*argue, *(_reason(context, precedent) for precedent in precedents)])
    prosecution, defence = yield from _within_length(context, argue, [context.require(reply) for reply in replies[:2]])
    rows = _template_rows(context, precedents, replies[2:])
    extra = {"position_prosecutor": positions[0], "position_defender": positions[1], "precedents": rows}

    def ask_judge(number: int, earlier: Sequence[AttributedReply] = ()) -> Request:
        request = context.request(
            f"judge_{number + 1}",
            form=context.form,
            replies_to=("prosecutor", "defender", *(ruling.role for ruling in earlier)),
            extra=extra,
            prosecution=prosecution,
            defence=defence,
            earlier=tuple(earlier),
        )
        return replace(request, sample=number)

    judges = range(context.params["judges"])
    if context.params["bench"] == PARALLEL:
        return majority_verdict(context, (yield from context.ask_all(map(ask_judge, judges))))
    earlier: list[AttributedReply] = []  # rulings that failed or are unreadable are not shown to the judges after them
    ruling = Reply()
    for number in judges:
        (ruling,) = yield from context.ask_all((ask_judge(number, earlier),))
        if ruling.readable:
            earlier.append(AttributedReply(f"judge_{number + 1}", f"Judge {number + 1}", ruling))
    return context.verdict(context.require(ruling))


def _concluded(
    context: DebateContext, first: Reply, verdicts: Mapping[str, Verdict], notes: tuple[str, ...]
) -> Verdict:
    """Return the verdicts of the trials, and the first answer where there was none."""
    if CHOICE_ITEM in verdicts:
        return replace(verdicts[CHOICE_ITEM], notes=(*notes, *verdicts[CHOICE_ITEM].notes))
    hearing, tried = context.verdict(first), context.merged(verdicts)
    if tried.error is not None:
        return context.failed(tried.error)
    untried = {item: why for item, why in hearing.reasons.items() if item not in verdicts}
    return Verdict(
        values={**hearing.values, **tried.values},
        reasons={**untried, **tried.reasons},
        notes=(*notes, *hearing.notes, *tried.notes),
    )


def _second_answer(context: DebateContext, first: Reply, excluded: str) -> Step[Reply]:
    request = replace(context, excluded_label=excluded).request(
        "magistrate", template="magistrate_second", form=context.form, round=1, answer_only=True, first=first
    )
    (answer,) = yield from context.ask_all((replace(request, assigned=True),))
    return context.require(answer)


def _select_precedents(context: DebateContext, dispute: _Dispute) -> list[Precedent]:
    """Return precedents for the two answers in dispute, or for every label of a choice."""
    answers = [dispute.first, dispute.second]
    if context.params["precedents_for"] == LABELS and dispute.item == CHOICE_ITEM:
        answers = list(context.codebook.label_names)
    return [
        precedent for answer in answers for precedent in context.nearest(dispute.item, answer, context.params["shots"])
    ]


def _within_length(context: DebateContext, requests: Sequence[Request], replies: Sequence[Reply]) -> Step[list[Reply]]:
    """Return the arguments for the judges; one over the limit is requested once more, then cut."""
    maximum = context.params["sentences"]
    arguments = [replace(reply, text=without_reasoning(reply.text)) for reply in replies]
    long = [index for index, reply in enumerate(arguments) if not fits(reply.text, maximum)]
    shortened = yield from context.ask_all(_shorten(context, requests[index], arguments[index]) for index in long)
    for index, reply in zip(long, shortened, strict=True):
        text = without_reasoning(context.require(reply).text)
        if not text.strip():
            text = arguments[index].text
        arguments[index] = replace(reply, text=text if fits(text, maximum) else cut(text, maximum))
    return arguments


def _shorten(context: DebateContext, request: Request, reply: Reply) -> Request:
    text = reply.text
    values = {"sentences": len(sentences(text)), "words": len(_WORD.findall(text)), "length": _length(context)}
    text = prompts.render_text(context.settings.templates["shorten"], values)
    messages = (*request.messages, prompts.Message("assistant", reply.text), prompts.Message("user", text))
    return replace(request, messages=messages, reask=request.reask + 1)


def _reason(context: DebateContext, precedent: Precedent) -> Request:
    """Return the request for the reason of a precedent's labels, which is the same in every trial on the same item."""
    request = context.request(
        "clerk",
        extra={
            "precedent": prompts.delimit(precedent.text, "precedent"),
            "answer": format_labels(context.codebook, precedent.values),
        },
    )
    return replace(request, document=Document(precedent.document_id, {"text": precedent.text}))


def _template_rows(
    context: DebateContext, precedents: Sequence[Precedent], reasons: Sequence[Reply]
) -> list[dict[str, str]]:
    shown = ["" if reason.error is not None else cut(without_reasoning(reason.text), 2) for reason in reasons]
    return [
        {**row, "reason": text and prompts.delimit(text, "analysis")}
        for row, text in zip(template_rows(context.codebook, precedents), shown, strict=True)
    ]


def _position(codebook: Codebook, item: str, answer: Value) -> str:
    if isinstance(answer, bool):
        name = codebook.label(item).name
        return f"the aspect #{name} is {'present' if answer else 'not present'}"
    return f"the label is {codebook.label(str(answer)).name}"


def _length(context: DebateContext) -> str:
    maximum = context.params["sentences"]
    words = f"{maximum * WORDS_A_SENTENCE} words"
    return f"one sentence of at most {words}" if maximum == 1 else f"at most {maximum} sentences and {words}"


def _roles(params: Params) -> tuple[Role, ...]:
    judges = params["judges"]
    clerk = (Role("clerk", "Clerk", "writes the reason for a precedent's labels, once"),) if params["shots"] else ()
    return (
        Role("magistrate", "Magistrate", "gives the first and the second answer"),
        Role("prosecutor", "Prosecutor", "argues for the first answer"),
        Role("defender", "Defender", "argues for the second answer"),
        *clerk,
        *(
            Role(f"judge_{number}", "Judge" if judges == 1 else f"Judge {number}", "decides, and may name any label")
            for number in range(1, judges + 1)
        ),
    )


def _request_counts(params: Params, codebook: Codebook) -> Mapping[str, RequestCount]:
    """Return the counts by role. A multilabel codebook has between no trial and one trial per label."""
    multi = codebook.kind == "multilabel"
    tries_all = params["trials"] == ALL
    hearing = exactly(1) if (multi and tries_all) or (not multi and len(codebook.labels) <= 2) else exactly(2)
    max_trials = len(codebook.labels) if multi else min(1, len(codebook.labels) - 1)
    trials = RequestCount(max_trials if tries_all or not multi else 0, max_trials)
    counts = {"magistrate": hearing, "prosecutor": trials, "defender": trials}
    if params["shots"]:
        answers = len(codebook.labels) if params["precedents_for"] == LABELS and not multi else 2
        counts["clerk"] = RequestCount(0, answers * params["shots"] * max_trials)
    return counts | {f"judge_{number}": trials for number in range(1, params["judges"] + 1)}


SPEC = ProtocolSpec(
    name="courtroom",
    title="Courtroom",
    short_title="Courtroom",
    summary="A hearing names two answers, one side argues for each, judges decide with precedents.",
    source="Courtroom-LLM 2024, section 3",
    layout="court",
    roles=_roles,
    deciding_role=lambda params: "verdict" if params["bench"] == PARALLEL else f"judge_{params['judges']}",
    request_counts=_request_counts,
    kinds={
        "multilabel": DecisionRule("the majority of the judges", "that label is unresolved"),
        "choice": replace(VOTE_RULES["choice"], vote="the majority of the judges"),
    },
    enforced=dict.fromkeys(
        ("multilabel", "choice"),
        f"An argument with too many sentences, or more than {WORDS_A_SENTENCE} words for each, was requested once "
        "more, and cut if it was still too long.",
    ),
    unsupported={"rating": "a trial decides between two answers, and a scale has more"},
    params=(
        Param("judges", "Judges", 3, "Number of judges.", minimum=1, maximum=5),
        Param(
            "bench",
            "Judges deliberate",
            SEQUENCE,
            "In sequence each judge sees the rulings before and the last decides; in parallel the majority counts.",
            {SEQUENCE: "In sequence", PARALLEL: "In parallel"},
        ),
        Param("shots", "Precedents per answer", 1, "Similar labelled documents for each answer.", minimum=0, maximum=3),
        Param(
            "precedents_for",
            "Precedents for",
            ANSWERS,
            "Answers whose precedents a judge sees, with one label per document.",
            {ANSWERS: "The two answers in dispute", LABELS: "Every label"},
            kinds=("choice",),
            is_relevant=lambda params: params["shots"] > 0,
        ),
        Param(
            "sentences", "Sentences per argument", 1, "Length limit for prosecutor and defender.", minimum=1, maximum=10
        ),
        Param(
            "trials",
            "Trials",
            DISPUTED,
            "Labels of a multilabel codebook that have a trial.",
            {DISPUTED: "Disputed labels", ALL: "Every label"},
            kinds=("multilabel",),
        ),
        similarity_param(lambda params: params["shots"] > 0),
    ),
    presets={
        "paper": Preset(
            "Five judges in sequence, one precedent, T = 0.5",
            {"judges": 5, "bench": SEQUENCE, "shots": 1, "precedents_for": LABELS},
            {"": 0.5},
            "paper",
        ),
        "parallel-5": Preset(
            "Five judges in parallel, one precedent, T = 0.5",
            {"judges": 5, "bench": PARALLEL, "shots": 1, "precedents_for": LABELS},
            {"": 0.5},
            "paper",
        ),
        "one-judge": Preset(
            "One judge, one precedent, T = 0.5", {"judges": 1, "shots": 1, "precedents_for": LABELS}, {"": 0.5}, "paper"
        ),
    },
    temperature=lambda _params: {"": 0.5},
    shots=lambda params: params["shots"],
    debate=debate,
)


_END = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。！？])[\"'”’»)\]」』]*\s*|\n+")
_ABBREVIATED = re.compile(
    r"\b(?:(?i:etc|cf|vs|approx|mr|mrs|ms|dr|prof|st|bzw|ca|nr|vgl|ggf|evtl|sog|ex|bijv|mme)|[^\W\d_])\.$"
)
"""A frequent abbreviation, an initial, or the letter at the end of one such as "e.g." or "d.h."."""
_OPENING = re.compile(r"#{1,6}\s.*|\W*\d{1,3}[.)]+|.*[:：]", re.DOTALL)
"""Text that is not a sentence: a heading, the number of a list's item, or the announcement of what follows."""
_WORD = re.compile(rf"[{UNSPACED}]{{1,3}}[^\w\s]*|[^\s{UNSPACED}]+")
"""A word; in scripts without spaces, three characters count as one."""


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, with the white space after them; empty text has none.

    A sentence ends at a line's end, or at a full stop, question or exclamation mark followed by white space (in Chinese
    and Japanese by anything), except after a common abbreviation or initial. Headings and ordinals belong to the
    sentence after them.
    """
    pieces: list[str] = []
    start = part = 0
    for end in _END.finditer(text):
        words, part = text[part : end.start()], end.end()
        is_abbreviated = "\n" not in end.group() and _ABBREVIATED.search(words)
        if not is_abbreviated and not _OPENING.fullmatch(words.strip(" \t*_\"'")):
            pieces.append(text[start:part])
            start = part
    pieces.append(text[start:])
    return [sentence for sentence in pieces if any(character.isalnum() for character in sentence)]


def fits(text: str, maximum: int) -> bool:
    """Return True if a text has at most ``maximum`` sentences and not more words than those may have."""
    return len(sentences(text)) <= maximum and len(_WORD.findall(text)) <= maximum * WORDS_A_SENTENCE


def cut(text: str, maximum: int) -> str:
    """Return the first ``maximum`` sentences of a text, without words over the limit."""
    kept = " ".join("".join(sentences(text)[:maximum]).split())
    words = list(_WORD.finditer(kept))[: maximum * WORDS_A_SENTENCE]
    return kept[: words[-1].end()] if words else ""
