"""The built-in model in the roles of a debate: a word-list baseline that argues from the codebook's words.

It is not a language model. It never sees the prompt; its replies depend on the role, the request's inputs, the codebook
and the document's fields (on labels only the first), and on nothing else. Each role uses its own part of the evidence.
A role that proposes ignores doubts and names the labels that words carry. A role that challenges raises the doubts
(exceptions, set phrases, questions, negations). A role that decides weighs both: an objection is accepted unless an
undoubted word contradicts it.

A rating has a place between the ends of the scale, 0 to 1: 1 - (1 - w)(1 - o)(1 - c).

- w = 1 - 2^(-s) by the score s of the dimension's words in the first field, so that one keyword reaches the middle.
- o, for a document of several fields, is the share of the first field's words that the others have too.
- c, for a persona, is the share of the words of its focus that the document has.

No word at all is the lower end, as it means absent for multiple labels.

If vectors are available, they add to the evidence of words for multiple labels. A text in which nothing carries a label
gets the labels that are probable by vectors, else the label for the rest. A choice is undecided if there is
neither a word nor a vector.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median_high, median_low

from core.baseline import author_replies, persona_replies
from core.baseline.evidence import LabelProbabilities, TextEvidence, find_evidence
from core.baseline.lexicon import BASELINE_NAME, content_words, forms, lexicon_of
from core.codebook import Codebook
from core.debate.personas import FAMILY
from core.debate.reading import parse
from core.debate.turns import AttributedReply, Reply, Request, family
from core.documents import Document, Value
from core.formatting import format_count, join_names

VERSION = "27"
"""Part of the key of every stored reply: increase it whenever a reply changes."""

NO_MORE = "NO MORE COMMENTS"
MAX_QUOTES = 2

_PROPOSING = frozenset({"extractor", "annotator", "magistrate"})
_DECIDING = frozenset({"judge", "refiner"})
_CHALLENGING = frozenset({"critic", "reviewer"})


def write_reply(
    request: Request, codebook: Codebook, document: Document, label_probabilities: LabelProbabilities | None = None
) -> str:
    """Return the reply to a request, in the formats that the parser reads.

    Pure: the same arguments give the same text. ``codebook`` is the whole one of the run. ``label_probabilities``
    compares a text with its labels by vectors, None without vectors. The behaviour follows from the inputs (a
    position to argue for), else from the role's name (an annotator ignores other replies, a judge decides, a critic
    challenges). Otherwise it follows from the replies among the inputs: without any it proposes, it challenges a
    single one, and it decides between several. So every protocol runs, custom ones too.
    """
    special = persona_replies.write_reply(request) or author_replies.write_reply(request, codebook)
    if special is not None:
        return special
    persona = request.inputs.get("persona")
    focus = str(persona.get("dimension", "")) if isinstance(persona, Mapping) else ""
    document, part = request.document or document, request.narrow(codebook).label_numbers
    numbers = [number for id, number in codebook.label_numbers.items() if id in part]
    evidence = find_evidence(lexicon_of(codebook), document.text, label_probabilities)
    roles = _Roles(evidence, numbers, _shares(document, focus) if codebook.kind == "rating" else {})
    role, replies = family(request.role), list(_replies(request))
    if role == FAMILY and isinstance(persona, Mapping):
        return _persona_turn(request, roles)
    if isinstance(position := request.inputs.get("position"), str):
        return roles.argue(position)
    if not replies or role in _PROPOSING:
        return roles.propose(final=role in _DECIDING)
    if role in _CHALLENGING or (len(replies) == 1 and role not in _DECIDING):
        return roles.challenge(replies[-1])
    return roles.decide(replies)


def decision(
    codebook: Codebook, values: Mapping[int, Value], undecided: Iterable[int] = (), *, final: bool = False
) -> list[str]:
    """Return the last lines of a reply, in the forms that the parser reads.

    ``values`` has a value by the number of each decided label: True for one that is present or chosen, or a rating.
    ``undecided`` are the numbers of labels that stay open. ``final`` is for a role that decides between others.
    """
    names = codebook.names
    present = [names[number] for number, value in values.items() if value is True]
    lines = [f"Undecided: #{names[number]}" for number in undecided]
    if codebook.kind == "choice":
        return [f"The label is {name}" for name in present[:1]] or ["Undecided: the label"]
    if codebook.kind == "rating":
        ratings = [f"{names[number]}: {value:g}" for number, value in values.items()]
        return [*lines, "Final ratings:", *ratings] if ratings else lines
    if final:
        return [*lines, f"Final Decision: The present aspects are: {', '.join(present) or 'none'}"]
    name_list = ", ".join(f"#{name}" for name in present) or "none"
    return [*lines, f"The aspects present in this {_unit(codebook)} are: {name_list}"]


def _replies(request: Request) -> Iterator[Reply]:
    """Yield the replies among a request's inputs, of several rounds the last of each speaker, the latest at the end.

    A challenging role gets none of its own. Earlier replies beside an extraction are withdrawn or repeated there.
    """
    own = request.role if family(request.role) in _CHALLENGING else ""
    superseded = {"earlier"} if "extraction" in request.inputs else set()
    for name, value in request.inputs.items():
        if isinstance(value, Reply):
            yield value
        elif name not in superseded and isinstance(value, Sequence) and not isinstance(value, str | bytes):
            last: dict[str, Reply] = {}
            for turn in value:
                if isinstance(turn, AttributedReply) and turn.role != own:
                    last.pop(turn.role, None)
                    last[turn.role] = turn.reply
            yield from last.values()
            yield from (reply for reply in value if isinstance(reply, Reply))


@dataclass(frozen=True)
class _Roles:
    """The baseline's replies on one document, for the labels with these numbers.

    A value is True for a label that is present or chosen, or a rating. ``shares`` of words raise a rating.
    """

    evidence: TextEvidence
    numbers: Sequence[int]
    shares: Mapping[str, float]

    @cached_property
    def codebook(self) -> Codebook:
        """The whole codebook."""
        return self.evidence.lexicon.codebook

    @cached_property
    def values(self) -> dict[int, bool | float]:
        """The values by words, of the labels that have words."""
        scores = self.evidence.scores
        usable = [number for number in self.numbers if number in self.evidence.lexicon.usable]
        if self.codebook.kind != "rating":
            present = self.evidence.present(usable)
            return {number: number in present for number in usable}
        scales, missing = self.codebook.scales, math.prod(1 - share for share in self.shares.values())
        places = {number: 1 - missing * 2.0 ** -scores[number] for number in usable if self.evidence.text.strip()}
        return {n: math.floor(scales[n].min + p * (scales[n].max - scales[n].min) + 0.5) for n, p in places.items()}

    def claims(self, reply: Reply) -> dict[int, bool | float]:
        """Return the values that a reply states; empty if it has no decision."""
        reading, labels = reply.reading, self.codebook.labels
        if not reading.readable or not (reading.values or reading.undecided):
            return {}
        if self.codebook.kind != "rating":
            return {number: labels[number].id in reading.selected for number in self.values}
        stated = {number: reading.values.get(labels[number].id) for number in self.numbers}
        return {number: value for number, value in stated.items() if isinstance(value, int | float)}

    def is_doubtful(self, number: int) -> bool:
        """Return True if half or more of the words that carry one of several labels are in doubt."""
        doubts = [bool(hit.doubt) for hit in self.evidence.hits[number] if hit.term.carries]
        return self.codebook.kind == "multilabel" and 2 * sum(doubts) >= len(doubts) > 0

    def propose(self, *, final: bool = False) -> str:
        """Decide independently; ``final`` if no other role weighs the reply, so that this one raises the doubts."""
        is_doubting = final or self.codebook.kind == "rating"
        view = self if is_doubting else replace(self, evidence=self.evidence.undoubted)
        with_words = sum(bool(self.evidence.hits[number]) for number in self.numbers)
        words = (
            f"words of {with_words} of {len(self.numbers)} labels occur"
            if with_words
            else "no word of the codebook occurs"
        )
        lines = [view.line(number, value) for number, value in view.values.items() if value is not False]
        return self.reply(f"{words} in this {_unit(self.codebook)}.", lines, view.values, final=final)

    def challenge(self, reply: Reply) -> str:
        """Check the reply of another role."""
        claims, lines, objections = self.claims(reply), [], 0
        values = {number: False if self.is_doubtful(number) else value for number, value in self.values.items()}
        for number, value in values.items():
            claim = claims.get(number, False)
            if value is not False or claim is not False:
                agrees = abs(value - claim) < 1
                objections += not agrees
                remark = "was missed" if claim is False else "is supported" if agrees else "is doubtful"
                stated = value if isinstance(value, bool) or claim is False else claim
                lines.append(self.line(number, stated, remark))
        count = format_count(len(lines), "value")
        opening = f"I object to {objections} of {count}." if objections else "I have no objection."
        return self.reply(opening if claims else "the previous reply could not be read.", lines, values)

    def decide(self, replies: Sequence[Reply]) -> str:
        """Keep what all name, of ratings the median; where they differ, what words favour. Add no label.

        A deciding role raises no doubts: uncontested labels are kept, so a debate without its critic ends differently.
        """
        lists = [claims for reply in replies if (claims := self.claims(reply))]
        if not lists:
            return self.propose(final=True)
        named = [number for number in self.numbers if any(claims.get(number, False) is not False for claims in lists)]
        words, lines = replace(self, numbers=named).values, []
        values: dict[int, bool | float] = {number: False for number in self.values if number not in named}
        for number in named:
            votes = sorted(claims[number] for claims in lists if number in claims)
            low, high = votes[0], votes[-1]
            if self.codebook.kind == "rating":
                low, high = median_low(votes), median_high(votes)
            word = words.get(number, low)
            values[number] = value = low if abs(low - word) <= abs(high - word) else high
            remark = "is removed" if value is False else "is kept"
            lines.append(self.line(number, value, remark, is_open=low != high))
        return self.reply("weighing the sides." if named else "no reply names a label.", lines, values, final=True)

    def argue(self, position: str) -> str:
        """Return one sentence for the stated position."""
        mentioned = parse.mentions(position, self.codebook)
        number = next((n for n in self.numbers if self.codebook.labels[n].id in mentioned), None)
        if number is None:
            return "The word-list baseline has no words for that answer."
        denied = position.rstrip(" .").endswith((" not present", " absent", " not there"))
        holds = not denied and self.evidence.undoubted.scores[number] > 0
        verdict = "holds" if holds else "is weak"
        return f"The case for {self.codebook.names[number]} {verdict}: {self.ground(number, holds=holds)}."

    def line(self, number: int, value: float, remark: str = "", *, is_open: bool = True) -> str:
        """Return a list item with a remark on a value, and its ground if somebody contests it."""
        name = self.codebook.names[number]
        subject = f"#{name}" if isinstance(value, bool) else f"{name} {value:g}"
        ground = f": {self.ground(number, holds=value is not False)}" if is_open else ", uncontested"
        return f"- {subject}{remark and ' '}{remark}{ground}."

    def ground(self, number: int, *, holds: bool) -> str:
        """Return why a value holds, or why not, as the end of a sentence: quotes, and the words in them."""
        evidence = self.evidence
        probability = evidence.probabilities[number] if evidence.probabilities else 0
        hits = sorted(evidence.hits[number], key=lambda hit: (-hit.strength, hit.start))
        if not hits and not (holds and evidence.scores[number]):
            ground = "none of its words is in the text"
        elif not hits:
            ground = "no word of another label carries it"
            if probability:
                ground = f"by vectors, it has a probability of {probability:.2f}"
        elif not holds:
            hit = next((hit for hit in hits if hit.doubt), hits[0])
            ground = f'in "{evidence.quote(hit)}", {evidence.word(hit)} is {hit.doubt or "weak support"}'
        else:
            words: dict[str, list[str]] = defaultdict(list)
            for hit in [hit for hit in hits if hit.carries] or hits[:1]:
                words[evidence.quote(hit)].append(evidence.word(hit))
            quotes = list(words)[:MAX_QUOTES]
            ground = " and ".join(f'"{quote}" ({", ".join(dict.fromkeys(words[quote]))})' for quote in quotes)
        return "; ".join([ground, *(text.format(share) for text, share in self.shares.items())])

    def reply(self, opening: str, lines: Iterable[str], values: Mapping[int, Value], *, final: bool = False) -> str:
        """Return the whole reply. A choice without a label stays undecided."""
        start = [f"{BASELINE_NAME}: {opening}"]
        if self.evidence.english is False:
            start.append("This text does not look English: only keywords and names were looked for.")
        missing = [label.name for label in self.codebook.labels if not label.keywords]
        if self.codebook.kind == "choice" and missing and not any(values.values()):
            start.append(f"These labels have no keywords: {join_names(missing)}.")
        undecided = [number for number in self.numbers if number not in values]
        values = dict(sorted(values.items()))
        return "\n".join([*start, *lines, *decision(self.codebook, values, undecided, final=final)])


def _shares(document: Document, focus: str) -> dict[str, float]:
    """Return the shares of words in the other fields and of the persona's focus, by the text about them."""
    first, *other_fields = document.fields.values()
    words, context = {*content_words(first)}, {*content_words(" ".join(other_fields))}
    shares = {}
    if other_fields:
        shares["the other fields contain {:.0%} of the words"] = _share_of_words(words, context)
    if focus:
        shares["{:.0%} of the words of my focus occur"] = _share_of_words({*content_words(focus)}, words | context)
    return shares


def _share_of_words(words: Set[str], among: Set[str]) -> float:
    """Return the share of the words that occur among the others in some form, 0 without words."""
    return sum(not among.isdisjoint(forms(word)) for word in words) / len(words) if words else 0.0


def _persona_turn(request: Request, roles: _Roles) -> str:
    """Return a persona's reply: first decision, turn in the debate, or final decision."""
    history = [turn for turn in request.inputs.get("history", ()) if isinstance(turn, AttributedReply)]
    if not history or request.form != "text":
        return roles.propose(final=True)
    own_replies = [turn.reply for turn in history if turn.role == request.role]
    last = {turn.role: turn for turn in history if turn.role != request.role and turn.reply.reading.readable}
    differing = [turn for turn in last.values() if own_replies and persona_replies.differ(own_replies[0], turn.reply)]
    if differing and len(own_replies) <= 1:
        return f"I disagree with {differing[0].speaker}.\n{roles.challenge(differing[0].reply)}"
    return f"{NO_MORE}\n{roles.propose(final=True)}"


def _unit(codebook: Codebook) -> str:
    """Return the unit of a document, on one line."""
    return " ".join(codebook.unit.split()) or "text"
