"""The context of a debate: one document and one codebook, and how a protocol asks roles about them.

A protocol is a function ``DebateContext -> Step[Verdict]`` that reads like the algorithm in its paper. Requests, second
attempts after unreadable replies, and ending a debate after a provider error are implemented here for all protocols.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

from core import prompts
from core.codebook import CHOICE_ITEM, Codebook, Kind
from core.debate import quote_location
from core.debate.certainty import certainties
from core.debate.reading import parse
from core.debate.reading.decision_markers import without_reasoning
from core.debate.turns import AttributedReply, Reading, Reply, ReplyError, ReplyForm, Request, Step, T, Verdict, family
from core.documents import Document, Precedent, Precedents, Value
from core.hashing import digest
from core.runs import RunSettings, Template

Protocol: TypeAlias = "Callable[[DebateContext], Step[Verdict]]"
Replies: TypeAlias = Reply | Sequence[AttributedReply]
"""Replies of other roles as a variable of a template: one reply, or several with their roles and rounds."""

DECISION_FORMS: Mapping[Kind, ReplyForm] = {"multilabel": "labels", "choice": "choice", "rating": "ratings"}
"""The form of a decision for each kind of codebook."""


class _DebateFailed(Exception):
    """An error in a reply that the protocol cannot do without. Never leaves ``run_protocol``."""

    def __init__(self, error: ReplyError) -> None:
        self.error = error


@dataclass(frozen=True)
class DebateContext:
    """One document in one run, as a protocol sees it.

    ``item`` narrows the context to one label or dimension. ``excluded_label`` is a label that the codebook leaves out.
    """

    document: Document
    settings: RunSettings
    precedents: Precedents = field(default_factory=dict)
    item: str = ""
    excluded_label: str = ""

    @cached_property
    def codebook(self) -> Codebook:
        """The codebook of the run, or the part of it that this context is narrowed to."""
        return self.settings.codebook.part(self.item, self.excluded_label)

    @property
    def form(self) -> ReplyForm:
        """The form of a reply that decides on the codebook."""
        return DECISION_FORMS[self.settings.codebook.kind]

    @cached_property
    def _variables(self) -> dict[str, Any]:
        """The variables that every template may use."""
        return prompts.variables(self.codebook, self.document, self.settings.templates)

    @property
    def params(self) -> Mapping[str, Any]:
        """The parsed parameters of the protocol: a value for each declared parameter."""
        return self.settings.params

    @cached_property
    def rng(self) -> random.Random:
        """Random numbers that are the same every time this document of this run is debated."""
        return random.Random(digest([self.settings.seed, self.settings.iteration, self.document.id]))

    def narrowed(self, item: str) -> DebateContext:
        """Return this context narrowed to one label or dimension."""
        return replace(self, item=item)

    def nearest(self, item: str, value: Value, count: int) -> tuple[Precedent, ...]:
        """Return at most ``count`` precedents in which the item has this value, the most similar first.

        Empty if there are none. The document itself is never among them.
        """
        same_value = self.precedents.get((item, value), ())
        precedents = [precedent for precedent in same_value if precedent.document_id != self.document.id]
        return tuple(precedents[: max(0, count)])

    def ask(self, role: str, **arguments: Any) -> Step[Reply]:
        """Ask one role and return its reply; the arguments are those of ``request``.

        A reply without a required decision is asked for once more. ``reading.problem`` of the returned reply says
        whether it is readable. A provider error ends the debate.
        """
        (reply,) = yield from self.ask_all((self.request(role, **arguments),))
        return self.require(reply)

    def ask_all(self, requests: Iterable[Request]) -> Step[tuple[Reply, ...]]:
        """Send requests in parallel and return their replies in the same order.

        Unreadable replies, and replies without some of the ratings, are asked for once more, again in parallel. A
        reply that needs no decision is unreadable if it has nothing but reasoning. Errors are returned as replies.
        """
        return (yield from ask_with_retry(requests, self._problem, self.settings.templates[prompts.REASK]))

    def _problem(self, request: Request, reply: Reply) -> str:
        if reply.error is not None or request.reask:
            return ""
        if request.form == "text":
            return "" if without_reasoning(reply.text).strip() else reply.reading.problem
        return self.decision_problem(reply)

    def decision_problem(self, reply: Reply) -> str:
        """Return why a reply has no decision, or lacks ratings that the role does not leave open; empty if fine."""
        missing = [
            f"{self.settings.codebook.label(item).name}: {reply.reading.undecided[item]}"
            for item in reply.reading.missing
        ]
        return reply.reading.problem or "; ".join(missing)

    def require(self, reply: Reply) -> Reply:
        """Return a reply that the debate cannot do without; an error in it ends the debate as ``failed``."""
        if reply.error is not None:
            raise _DebateFailed(reply.error)
        return reply

    def request(
        self,
        role: str,
        *,
        template: str = "",
        form: ReplyForm = "text",
        round: int = 0,
        replies_to: Sequence[str] = (),
        answer_only: bool = False,
        extra: Mapping[str, Any] | None = None,
        **replies: Replies,
    ) -> Request:
        """Return a request to a role, rendered from the run's frozen templates.

        ``template`` defaults to the template of the role's family. ``replies`` are replies of other roles by the name
        of their template variable. ``extra`` are further variables; foreign text in them must be delimited already.
        """
        values = self._variables | {name: _render_replies(role_replies) for name, role_replies in replies.items()}
        values |= extra or {}
        return Request(
            role=role,
            messages=prompts.render(self.settings.templates[template or family(role)], values),
            inputs={**replies, **(extra or {})},
            form=form,
            round=round,
            replies_to=tuple(dict.fromkeys(replies_to)),
            item=self.item,
            excluded_label=self.excluded_label,
            answer_only=answer_only,
        )

    def verdict(self, ruling: Reply, *, among: tuple[Reply, ...] = ()) -> Verdict:
        """Return the verdict in ``ruling``.

        With ``among``, labels that none of these replies chooses cannot be decided for: a label becomes absent, with a
        note, and a choice unresolved. Ratings stay as they are. A reply without a decision chooses all labels that it
        names. The rule does not apply if the first of these replies is unreadable, because its choice is then unknown.
        """
        reading = ruling.reading
        if not reading.readable:
            return self.unresolved(reading.problem)
        values: dict[str, Value | None] = {item: reading.values.get(item) for item in self.codebook.items}
        reasons = {
            item: reading.undecided.get(item, "the decision does not mention it")
            for item, value in values.items()
            if value is None
        }
        notes = [f"'{name}' is not a label that was asked about" for name in reading.unknown]
        if among and among[0].reading.readable:
            chosen_labels = frozenset().union(*(self._chosen_labels(reply) for reply in among))
            for item, value in list(values.items()):
                label_id = item if value is True else value
                if not isinstance(label_id, str) or label_id in chosen_labels:
                    continue
                words = f"'{self.codebook.label(label_id).name}' was chosen by no earlier reply"
                if value is True:
                    values[item] = False
                    notes.append(f"{words}, left out")
                else:
                    values[item], reasons[item] = None, words
        return Verdict(values=values, reasons=reasons, notes=tuple(notes))

    def merged(self, parts: Mapping[str, Verdict]) -> Verdict:
        """Merge verdicts on single labels, given by item; an error in one of them fails the merged verdict."""
        values: dict[str, Value | None] = {item: part.values.get(item) for item, part in parts.items()}
        reasons = {item: part.reasons[item] for item, part in parts.items() if item in part.reasons}
        notes = dict.fromkeys(note for part in parts.values() for note in part.notes)
        error = next((part.error for part in parts.values() if part.error is not None), None)
        if error is not None:
            return self.failed(error)
        return Verdict(values=values, reasons=reasons, notes=tuple(notes))

    def unresolved(self, reason: str) -> Verdict:
        """Return a verdict in which no item could be read."""
        items = self.codebook.items
        return Verdict(values=dict.fromkeys(items), reasons=dict.fromkeys(items, reason))

    def failed(self, error: ReplyError) -> Verdict:
        """Return a verdict after a provider error."""
        return replace(self.unresolved(error.message), error=error)

    def _chosen_labels(self, reply: Reply) -> Iterable[str]:
        """Return the labels that a reply selects or leaves open, or all that it mentions if it has no decision."""
        reading = reply.reading
        if not reading.readable or CHOICE_ITEM in reading.undecided:
            return parse.mentions(reply.text, self.codebook)
        return (*reading.selected, *reading.undecided)


@dataclass(slots=True)
class Transcript:
    """The replies of roles that are asked more than once.

    ``history`` has all replies without an error, as other roles see them. ``latest`` has the last readable reply of
    each role, the last one of any kind while none was readable.
    """

    history: list[AttributedReply] = field(default_factory=list)
    latest: dict[str, Reply] = field(default_factory=dict)

    def add(self, role: str, speaker: str, reply: Reply, round: int) -> None:
        """Add the reply of a role in a round."""
        if reply.readable or role not in self.latest or not self.latest[role].readable:
            self.latest[role] = reply
        if reply.error is None:
            self.history.append(AttributedReply(role, speaker, reply, round))


def _render_replies(replies: Replies) -> str:
    """Return replies of other roles as a prompt shows them: delimited, without their reasoning.

    An empty reply is marked as empty.
    """
    if isinstance(replies, Reply):
        text = without_reasoning(replies.text)
        return prompts.delimit(text if text.strip() else "(This reply is empty.)", "analysis")
    rounds = max((turn.round for turn in replies), default=0)
    lines: list[str] = []
    heading = -1
    for turn in replies:
        if rounds and turn.round > heading:  # a role that is asked for the first time later is not in round 1
            heading = turn.round
            lines.append(f"Round {heading + 1}:")
        lines.append(f"{turn.speaker}:\n{_render_replies(turn.reply)}")
    return "\n\n".join(lines)


def ask_with_retry(
    requests: Iterable[Request], problem_of: Callable[[Request, Reply], str], template: Template
) -> Step[tuple[Reply, ...]]:
    """Send requests in parallel and return their replies in the same order.

    Each reply with a problem is asked for once more, in parallel, with the problem rendered by ``template``. A reply
    that was cut by its output limit is asked for once more in the same words, with twice the limit. A second reply that
    is worse is not used. Ratings of the first reply that the second does not repeat are kept.
    """
    sent = tuple(requests)
    if not sent:
        return ()
    replies = list((yield sent))
    problems = {index: problem_of(sent[index], reply) for index, reply in enumerate(replies)}
    retried = [index for index, problem in problems.items() if problem or _is_cut(sent[index], replies[index])]
    if retried:
        second_replies = yield tuple(_reask(sent[i], replies[i], problems[i], template) for i in retried)
        for index, reply in zip(retried, second_replies, strict=True):
            first = replies[index]
            is_usable = not problems[index] and bool(without_reasoning(first.text).strip())
            if problems[index] and first.reading.values:
                replies[index] = _merge(first, reply) if reply.readable else first
            elif not is_usable or (reply.error is None and not problem_of(sent[index], reply)):
                replies[index] = reply
    return tuple(replies)


def _merge(first: Reply, second: Reply) -> Reply:
    """Return the second reply, after the text of the first if ratings of the first are kept."""
    reading = second.reading
    missing = tuple(item for item in reading.missing if item not in reading.values)
    if missing == reading.missing:
        return second
    text = f"{without_reasoning(first.text)}\n\n{without_reasoning(second.text)}"
    return replace(second, text=text, reading=replace(reading, missing=missing))


def _keep(reading: Reading, ratings: Mapping[str, Value]) -> Reading:
    """Return the reading of a second reply, with the ratings of the first that it neither repeats nor leaves open."""
    left_open = reading.undecided.keys() - set(reading.missing)
    values = {**{item: value for item, value in ratings.items() if item not in left_open}, **reading.values}
    undecided = {item: reason for item, reason in reading.undecided.items() if item not in values}
    return replace(reading, values=values, undecided=undecided)


def _is_cut(request: Request, reply: Reply) -> bool:
    return reply.finish_reason == "length" and not request.reask


def _reask(request: Request, reply: Reply, problem: str, template: Template) -> Request:
    kept = reply.reading.values if problem else {}
    if _is_cut(request, reply):
        return replace(request, limit_factor=2 * request.limit_factor, reask=request.reask + 1, kept=kept)
    text = without_reasoning(reply.text)
    before = (prompts.Message("assistant", text),) if text.strip() else ()
    messages = (
        *request.messages,
        *before,
        prompts.Message("user", prompts.render_text(template, {"problem": problem})),
    )
    return replace(request, messages=messages, reask=request.reask + 1, kept=kept)


def run_protocol(protocol: Protocol, context: DebateContext) -> Step[Verdict]:
    """Run a protocol to its verdict; the verdict is ``failed`` after an error in a required reply."""
    try:
        return (yield from protocol(context))
    except _DebateFailed as failure:
        return context.failed(failure.error)


def run_parallel(*steps: Step[T]) -> Step[tuple[T, ...]]:
    """Run child protocols in parallel, stage by stage, and return their results in the order of the steps.

    The pending requests of all unfinished children are yielded together.
    """
    results: dict[int, T] = {}
    waiting: dict[int, tuple[Request, ...]] = {}

    def advance(index: int, replies: tuple[Reply, ...] | None) -> None:
        waiting.pop(index, None)
        try:
            waiting[index] = next(steps[index]) if replies is None else steps[index].send(replies)
        except StopIteration as end:
            results[index] = end.value

    for index in range(len(steps)):
        advance(index, None)
    while waiting:
        stage = dict(waiting)
        replies = iter((yield tuple(request for requests in stage.values() for request in requests)))
        for index, requests in stage.items():
            advance(index, tuple(next(replies) for _ in requests))
    return tuple(results[index] for index in range(len(steps)))


def parse_reply(request: Request, reply: Reply, codebook: Codebook, document: Document) -> Reply:
    """Return the reply with its reading and evidence. Engines call this on every reply before they pass it on.

    A reply about a part of the codebook is read as if there were no other labels. Evidence is located in the debated
    document alone, so a reply about a precedent has none.
    """
    if reply.error is not None:
        return reply
    whole, codebook = codebook, request.narrow(codebook)
    reading = parse.read(reply.text, codebook, finish_reason=reply.finish_reason)
    if reading.problem and all(map(whole.find, reading.unknown)):
        not_asked = "labels that were not asked about"
        reading = replace(reading, problem=reading.problem.replace(parse.NOT_IN_CODEBOOK, not_asked))
    if reply.output_limit and reading.problem == parse.CUT:
        how_to_raise = "a new run with --param max_tokens=N raises it, up to half of the context"
        reading = replace(reading, problem=f"{parse.CUT} ({reply.output_limit:,} tokens; {how_to_raise})")
    if certainty := certainties(reply, reading, codebook):
        reading = replace(reading, certainty=certainty)
    if request.kept and reading.readable:
        reading = _keep(reading, request.kept)
    if request.document is not None:
        return replace(reply, reading=reading)
    evidence = quote_location.locate_evidence(reply.text, codebook, document.fields, reading.values.get(CHOICE_ITEM))
    return replace(reply, reading=reading, evidence=evidence)
