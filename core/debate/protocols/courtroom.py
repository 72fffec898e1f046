"""The courtroom (*Courtroom-LLM: An Innovative Courtroom-Analogous Framework for Text Classification*, section 3).

Preliminary hearing (3.1): the magistrate gives the first and the second answer, A1 and A2; where there are only two
answers, A2 is the other one. Argument stage (3.2): the prosecutor argues for A1, the defender for A2, neither hearing
the other, within a length that is checked. Precedents (3.3.1): for each of the two answers the most similar labelled
documents are shown to the judges, each with a reason that a clerk wrote once. Deliberation (3.3.2): judges in
parallel, whose majority counts, or in sequence, each hearing those before it, the last of whom decides. A judge may
name any label.

Asks for one trial: h + 2 + q + J, with h = 1 for two answers and 2 for more, q precedents, J judges. One more for each
decision that cannot be read and each argument over length. One judge in sequence is one judge in parallel: the asks
are the same. Temperature 0.5.
Multilabel: the hearing gives two lists (h = 2), and each label in which they differ has a trial of its own on whether
it is present; the others stand as the first list has them. With ``trials=all`` there is one list (h = 1) and a trial
for every label. That makes h + c(2 + q + J) asks for c contested labels. Ratings are refused: a scale has no two
answers.
Deviations: three judges unless told otherwise (the paper's main tables have five). Similarity is that of ``likeness``
(the paper: spaCy's small English vectors). The second answer has an ask of its own, without the first among the labels.
The length is checked by sentences (and 60 words for each); an argument over it is asked for once more and then cut. A
label that an argument ends with is not counted as its speaker's opinion, as the position was given. A tie of parallel
judges is unresolved. Where the second answer cannot be read, the next label of the codebook is defended, and that is
noted. The clerk's ask is the same wherever the precedent is shown, so its reply is paid for once. A fault of hearing or
counsel fails the document; a reason that fails is left out; judges in parallel decide if more than half of them can be
read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from core import prompts
from core.annotations import Precedent
from core.codebook import CHOICE_ITEM, Codebook
from core.debate.context import DebateContext, conduct, together
from core.debate.few_shot import stated
from core.debate.spec import PER_CHOICE, Asks, Param, Params, Preset, ProtocolSpec, Treatment, exactly
from core.debate.turns import AttributedReply, Reply, Request, Role, Step, Verdict
from core.debate.votes import council
from core.documents import Document, Value
from core.prompts.messages import Message

SEQUENCE, PARALLEL = "sequence", "parallel"
DISPUTED, ALL = "disputed", "all"


@dataclass(frozen=True, slots=True)
class _Sides:
    """What a trial is about: one item, and the two answers to it."""

    item: str
    first: Value
    second: Value


def debate(case: DebateContext) -> Step[Verdict]:
    """The hearing, and a trial on what it leaves in doubt."""
    first = yield from case.ask("magistrate", form=case.form)
    if not first.reading.readable:
        return case.verdict(first)
    return (yield from (_choice(case, first) if case.codebook.kind == "choice" else _labels(case, first)))


def _choice(case: DebateContext, first: Reply) -> Step[Verdict]:
    labels = [label.id for label in case.codebook.labels]
    chosen = first.reading.values.get(CHOICE_ITEM)
    if chosen is None or len(labels) == 1:
        return case.verdict(first)
    others = [label for label in (*labels, *labels) if label != chosen]
    following = others[labels.index(str(chosen)) % len(others)]
    second: Value = following
    notes: tuple[str, ...] = ()
    if len(labels) > 2:
        answer = (yield from case.ask_all((_second(case, first, str(chosen)),)))[0]
        second = case.needed(answer).reading.values.get(CHOICE_ITEM) or following
        if CHOICE_ITEM not in answer.reading.values:
            notes = (f"the hearing gave no second answer: '{case.codebook.label(following).name}' was defended",)
    verdict = yield from _trial(case, _Sides(CHOICE_ITEM, str(chosen), second))
    return replace(verdict, notes=(*notes, *verdict.notes))


def _labels(case: DebateContext, first: Reply) -> Step[Verdict]:
    said = dict(first.reading.values)
    contested = list(case.codebook.items)
    if case.params["trials"] == DISPUTED:
        answer = case.needed((yield from case.ask_all((_second(case, first, ""),)))[0])
        other = answer.reading.values if answer.reading.readable else said
        contested = [item for item in case.codebook.items if item not in said or other.get(item) != said[item]]
    sides = [_Sides(item, said.get(item, True), not said.get(item, True)) for item in contested]
    verdicts = yield from together(*(conduct(partial(_trial, sides=side), case.about(side.item)) for side in sides))
    whole = case.verdict(first)
    tried = case.merged(dict(zip(contested, verdicts, strict=True)))
    if tried.error is not None:
        return case.failed(tried.error)
    names = ", ".join(f"'{case.codebook.label(item).name}'" for item in contested)
    return Verdict(
        values={**whole.values, **tried.values},
        reasons={item: why for item, why in whole.reasons.items() if item not in contested} | dict(tried.reasons),
        notes=(f"tried: {names or 'nothing, as the hearing left no doubt'}", *whole.notes, *tried.notes),
    )


def _trial(case: DebateContext, sides: _Sides) -> Step[Verdict]:
    """Both sides argue and the clerk writes reasons, all at once; then the judges."""
    shown = [
        precedent
        for answer in (sides.first, sides.second)
        for precedent in case.nearest(sides.item, answer, case.params["shots"])
    ]
    positions = _position(case.codebook, sides.item, sides.first), _position(case.codebook, sides.item, sides.second)
    counsel = [
        _argument(case, role, position) for role, position in zip(("prosecutor", "defender"), positions, strict=True)
    ]
    replies = yield from case.ask_all([*counsel, *(_reason(case, one) for one in shown)])
    arguments = yield from _within_length(case, counsel, [case.needed(reply) for reply in replies[:2]])
    bench = _Bench(case, positions, arguments, _rows(case, shown, replies[2:]))
    if case.params["bench"] == PARALLEL:
        rulings = yield from case.ask_all(bench.ask(number, ()) for number in range(case.params["judges"]))
        return council(case, rulings)
    return (yield from _in_sequence(case, bench))


@dataclass(frozen=True, slots=True)
class _Bench:
    """What every judge of a trial is shown."""

    case: DebateContext
    positions: tuple[str, str]
    arguments: Sequence[Reply]
    precedents: list[dict[str, str]]

    def ask(self, number: int, earlier: Sequence[AttributedReply]) -> Request:
        """The ask for one judge, who has heard those before."""
        prosecution, defence = self.arguments
        ask = self.case.compose(
            f"judge_{number + 1}",
            form=self.case.form,
            replies_to=("prosecutor", "defender", *(said.role for said in earlier)),
            extra={
                "position_prosecutor": self.positions[0],
                "position_defender": self.positions[1],
                "precedents": self.precedents,
            },
            prosecution=prosecution,
            defence=defence,
            earlier=tuple(earlier),
        )
        return replace(ask, sample=number)


def _in_sequence(case: DebateContext, bench: _Bench) -> Step[Verdict]:
    """The last judge decides; one before it who fails or cannot be read is not heard by those after."""
    earlier: list[AttributedReply] = []
    ruling = Reply()
    for number in range(case.params["judges"]):
        (ruling,) = yield from case.ask_all((bench.ask(number, earlier),))
        if ruling.error is None and ruling.reading.readable:
            earlier.append(AttributedReply(f"judge_{number + 1}", f"Judge {number + 1}", ruling))
    return case.verdict(case.needed(ruling))


def _second(case: DebateContext, first: Reply, chosen: str) -> Request:
    ask = case.without(chosen).compose("magistrate", template="magistrate_second", form=case.form, round=1, first=first)
    return replace(ask, assigned=True)


def _argument(case: DebateContext, role: str, position: str) -> Request:
    return replace(case.compose(role, extra={"position": position, "length": _length(case)}), assigned=True)


def _within_length(case: DebateContext, asks: Sequence[Request], replies: Sequence[Reply]) -> Step[list[Reply]]:
    """The arguments as the judges hear them: what is too long is asked for once more, then cut."""
    most = case.params["sentences"]
    heard = list(replies)
    long = [place for place, reply in enumerate(heard) if not fits(reply.text, most)]
    again = yield from case.ask_all(_shorter(case, asks[place], heard[place]) for place in long)
    for place, reply in zip(long, again, strict=True):
        text = case.needed(reply).text
        heard[place] = reply if fits(text, most) else replace(reply, text=cut(text, most))
    return heard


def _shorter(case: DebateContext, ask: Request, reply: Reply) -> Request:
    counted = {
        "sentences": len(sentences(reply.text)), "words": len(reply.text.split()), "length": _length(case)
    }  # fmt: skip
    request = prompts.render_text(case.settings.templates["shorter"], counted)
    more = (Message("assistant", reply.text), Message("user", request))
    return replace(ask, messages=(*ask.messages, *more), retry=ask.retry + 1)


def _reason(case: DebateContext, precedent: Precedent) -> Request:
    """Why a precedent is labelled as it is: an ask about that document and no other, the same in every debate."""
    ask = case.compose(
        "clerk",
        extra={
            "precedent": prompts.delimited(precedent.text, "precedent"),
            "answer": stated(case.codebook, precedent.values),
        },
    )
    return replace(ask, document=Document(precedent.document_id, {"text": precedent.text}))


def _rows(case: DebateContext, precedents: Sequence[Precedent], reasons: Sequence[Reply]) -> list[dict[str, str]]:
    return [
        {
            "label": stated(case.codebook, one.values),
            "text": prompts.delimited(one.text, "precedent"),
            "reason": "" if reason.error is not None else prompts.delimited(cut(reason.text, 2), "analysis"),
        }
        for one, reason in zip(precedents, reasons, strict=True)
    ]


def _position(codebook: Codebook, item: str, answer: Value) -> str:
    if isinstance(answer, bool):
        name = codebook.label(item).name
        return f"the aspect #{name} is {'present' if answer else 'not present'}"
    return f"the label is {codebook.label(str(answer)).name}"


def _length(case: DebateContext) -> str:
    most = case.params["sentences"]
    return "one sentence" if most == 1 else f"at most {most} sentences"


def _roles(params: Params) -> tuple[Role, ...]:
    judges = params["judges"]
    clerk = (Role("clerk", "Clerk", "writes once why a precedent is labelled as it is"),) if params["shots"] else ()
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


def _asks(params: Params, codebook: Codebook) -> Mapping[str, Asks]:
    """For each role; trials of a multilabel codebook lie between none and one a label."""
    multi = codebook.kind == "multilabel"
    every = params["trials"] == ALL
    hearing = exactly(1) if (multi and every) or (not multi and len(codebook.labels) <= 2) else exactly(2)
    most = len(codebook.labels) if multi else min(1, len(codebook.labels) - 1)
    trials = Asks(most if every or not multi else 0, most)
    asks = {"magistrate": hearing, "prosecutor": trials, "defender": trials}
    if params["shots"]:
        asks["clerk"] = Asks(0, 2 * params["shots"] * most)
    return asks | {f"judge_{number}": trials for number in range(1, params["judges"] + 1)}


CARD = ProtocolSpec(
    name="courtroom",
    title="Courtroom",
    summary="A hearing names two answers, one side argues for each, judges decide with precedents before them.",
    source="Courtroom-LLM, section 3",
    form="court",
    roles=_roles,
    decides=lambda params: "verdict" if params["bench"] == PARALLEL else f"judge_{params['judges']}",
    asks=_asks,
    breakdown="1 or 2 for the hearing, then for each label in doubt one each for prosecutor and defender, every "
    "precedent and every judge",
    kinds={
        "multilabel": Treatment("each contested label", "the majority of the judges, or the last judge",
                                "that label is unresolved"),
        "choice": replace(PER_CHOICE, vote="the majority of the judges, or the last judge"),
    },
    refuses={"rating": "a trial is between two answers, and a scale has more and no opposite"},
    params=(
        Param("judges", "Judges", 3, "How many judges sit on the bench.", least=1, most=5),
        Param("bench", "Judges deliberate", SEQUENCE, "In sequence each hears those before it and the last decides; in "
              "parallel the majority counts.", {SEQUENCE: "In sequence", PARALLEL: "In parallel"}),
        Param("shots", "Precedents an answer", 1, "Similar labelled documents that are shown for each answer.",
              least=0, most=3),
        Param("sentences", "Sentences an argument", 1, "How long prosecutor and defender may argue.", least=1, most=10),
        Param("trials", "Trials", DISPUTED, "Which labels of a multilabel codebook have a trial.",
              {DISPUTED: "Labels in doubt", ALL: "Every label"}),
        Param("likeness", "Precedents by", "tfidf", "How texts are compared: tfidf (character n-grams), minilm, or "
              "connection/model of an endpoint for embeddings.", matters=lambda params: params["shots"] > 0),
    ),
    presets={
        "sequential-5": Preset("Five judges in sequence, one precedent, T = 0.5",
                               {"judges": 5, "bench": SEQUENCE, "shots": 1}, {"": 0.5}),
        "parallel-5": Preset("Five judges in parallel, one precedent, T = 0.5",
                             {"judges": 5, "bench": PARALLEL, "shots": 1}, {"": 0.5}),
        "one-judge": Preset("One judge, one precedent, T = 0.5", {"judges": 1, "shots": 1}, {"": 0.5}),
    },
    temperature=lambda _params: {"": 0.5},
    shots=lambda params: params["shots"],
    debate=debate,
)  # fmt: skip


WORDS_A_SENTENCE = 60
"""Words that a sentence may have before it counts as another one: a limit of sentences must hold without full stops."""

_END = re.compile(r"(?<=[.!?…。！？])[\"'”’»)\]]*\s+|\n+")
_ABBREVIATED = re.compile(r"(?:\b(?i:e\.g|i\.e|etc|cf|vs|approx|mr|mrs|ms|dr|prof|st)\.|\b[A-Z]\.)$")


def sentences(text: str) -> list[str]:
    """The sentences of a text: they end at a full stop, a question or exclamation mark followed by white space, or at a
    line's end, not after a common abbreviation or initial. Empty text has none."""
    found: list[str] = []
    start = 0
    for end in _END.finditer(text):
        piece = text[start : end.start()]
        if "\n" not in end.group() and _ABBREVIATED.search(piece):
            continue
        found.append(text[start : end.end()].strip())
        start = end.end()
    found.append(text[start:].strip())
    return [sentence for sentence in found if any(character.isalnum() for character in sentence)]


def fits(text: str, most: int) -> bool:
    """Whether a text has at most ``most`` sentences, and no more words than so many sentences may have."""
    return len(sentences(text)) <= most and len(text.split()) <= most * WORDS_A_SENTENCE


def cut(text: str, most: int) -> str:
    """The first ``most`` sentences of a text, and of those no more words than they may have."""
    words = " ".join(sentences(text)[:most]).split()
    return " ".join(words[: most * WORDS_A_SENTENCE])
