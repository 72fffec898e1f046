"""The built-in model in the roles of a debate: a word-list baseline that argues from the codebook's words.

It is not a language model. It never sees the prompt; its replies depend on the role, the request's inputs, the codebook
and the document's fields (on labels only the first), and on nothing else. Each role uses its own part of the evidence:
who proposes names the labels that words carry, without doubts; who challenges raises the doubts (exceptions, set
phrases, other places, negations); who decides weighs both. An objection is accepted unless an undoubted word
contradicts it.

A rating has a place between the ends of the scale, 0 to 1: 1 - (1 - w)(1 - o)(1 - c).

- w = 1 - 2^(-s) by the score s of the dimension's words in the first field, so that one keyword reaches the middle.
- o, for a document of several fields, is the share of the first field's words that the others have too.
- c, for a persona, is the share of the words of its focus that the document has.

No word at all is the lower end, as it means absent for multiple labels.

If vectors are available, they add to the evidence of words for multiple labels. A text in which nothing carries a label
gets the labels whose definitions are near by vectors, else the label for the rest. A choice is undecided if there is
neither a word nor a vector.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from core.baseline import author_labelling
from core.baseline.evidence import THRESHOLD, Evidence, Near, find_evidence, narrowed, with_fallback
from core.baseline.lexicon import FUNCTION_WORDS, PEOPLE, forms, lexicon_of, tokenise
from core.codebook import Codebook
from core.debate.personas import AUTHOR, FAMILY, MERGER, SCOUT, FoundDimension
from core.debate.reading import parse
from core.debate.turns import AttributedReply, Reply, Request, family
from core.documents import Document, Value
from core.formatting import format_count, join_names

VERSION = "21"
"""Part of the key of every stored reply: increase it whenever a reply changes."""

BASELINE_NAME = "Word-list baseline"
NO_MORE = "NO MORE COMMENTS"
MAX_WORDS = 3
MAX_QUOTES = 2
_AGREED = "I have no objection."

_PROPOSING = frozenset({"extractor", "annotator", "magistrate"})
_DECIDING = frozenset({"judge", "refiner"})
_CHALLENGING = frozenset({"critic", "reviewer"})


def write_reply(request: Request, codebook: Codebook, document: Document, near: Near | None = None) -> str:
    """Return the reply to a request, in the formats that the parser reads.

    Pure: the same arguments give the same text. ``codebook`` is the whole one of the run, ``near`` compares a text with
    its labels by vectors, None without vectors. The behaviour follows from the inputs (a position to argue for), else
    from the role's name (an annotator ignores other replies, a judge decides, a critic challenges). Otherwise it
    follows from the replies among the inputs: without any it proposes, it challenges a single one, and it decides
    between several. So every protocol runs, custom ones too.
    """
    for special_reply in (write_persona_reply, _coordinator_reply, _aggregator_reply):
        if (text := special_reply(request)) is not None:
            return text
    if (text := author_labelling.write_reply(request, codebook)) is not None:
        return text
    persona = request.inputs.get("persona")
    focus = str(persona.get("dimension", "")) if isinstance(persona, Mapping) else ""
    document = request.document or document
    evidence = with_fallback(find_evidence(lexicon_of(codebook), document.text), near)
    evidence = narrowed(evidence, request.narrow(codebook))
    roles = (_RatingRoles if codebook.kind == "rating" else _LabelRoles)(document, evidence, focus)
    role, replies = family(request.role), list(_replies(request.inputs))
    if role == FAMILY and isinstance(persona, Mapping):
        return _persona_reply(request, roles)
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


def _replies(inputs: Mapping[str, Any]) -> Iterator[Reply]:
    """Yield the replies among a request's inputs, of several rounds the last of each speaker; the extraction first."""
    for _, value in sorted(inputs.items(), key=lambda item: item[0] != "extraction"):
        if isinstance(value, Reply):
            yield value
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
            yield from {turn.role: turn.reply for turn in value if isinstance(turn, AttributedReply)}.values()
            yield from (reply for reply in value if isinstance(reply, Reply))


@dataclass(frozen=True, slots=True)
class _Roles:
    """The baseline's replies on one document. ``focus`` is that of a persona, else empty."""

    document: Document
    evidence: Evidence
    focus: str = ""

    @property
    def codebook(self) -> Codebook:
        return self.evidence.lexicon.codebook

    def name(self, number: int) -> str:
        return self.codebook.labels[number].name

    def support(self, number: int, most: int = 1) -> tuple[str, str]:
        """Return (quotes, words) of a label: the clauses of its strongest hits, quoted, and the words hit in them."""
        best_hits = self.evidence.best(number)
        hits = [hit for hit in best_hits if hit.term.carries and not hit.doubt] or best_hits[:1]
        quotes: dict[str, None] = {}
        words: dict[str, None] = {}
        for hit in hits:
            quote = f'"{self.evidence.quote(hit)}"'
            if quote in quotes or len(quotes) < most:
                quotes[quote] = words[self.evidence.word(hit)] = None
        more = f" and {len(words) - MAX_WORDS} more" if len(words) > MAX_WORDS else ""
        return " and ".join(quotes), ", ".join(list(words)[:MAX_WORDS]) + more

    def fallback(self, number: int) -> str:
        """Return why a label without a word in the text is present, as the end of a sentence."""
        if self.evidence.near and self.evidence.near[number]:
            return f"its definition is near by vectors, with probability {self.evidence.near[number]:.2f}"
        return "no word of another label carries it"

    def objection(self, number: int) -> tuple[str, str]:
        """Return the quote around a label's strongest doubted hit, and its doubt as the end of a sentence."""
        best_hits = self.evidence.best(number)
        hit = next((hit for hit in best_hits if hit.doubt), best_hits[0])
        return f'"{self.evidence.quote(hit)}"', f"{self.evidence.word(hit)} is {hit.doubt or 'weak support'}"

    def argue(self, position: str) -> str:
        """Return one sentence for the stated position."""
        mentioned = parse.mentions(position, self.codebook)
        number = next((n for n, label in enumerate(self.codebook.labels) if label.id in mentioned), None)
        if number is None:
            return "The word-list baseline has no words for that answer."
        name, denied = self.name(number), position.rstrip(" .").endswith((" not present", " absent", " not there"))
        if not self.evidence.hits[number]:
            if self.evidence.scores[number] and not denied:
                return f"{name} is supported, because {self.fallback(number)}."
            return f"No word of {name} is in the text{'' if denied else ', so the support for it is weak'}."
        quote, words = self.support(number)
        if denied:
            return f"The only support for {name} is {words}, and {self.objection(number)[1]}."
        return f"{quote} supports {name} ({words})."

    def reply(self, opening: str, lines: Iterable[str], decision: Iterable[str]) -> str:
        foreign = ["This text does not look English: only keywords and names were looked for."]
        start = [f"{BASELINE_NAME}: {opening}", *(foreign if self.evidence.foreign else ())]
        return "\n".join([*start, *lines, *decision])


class _LabelRoles(_Roles):
    """Replies for labels that are present or absent, and for a choice, of which one is present."""

    def propose(self, *, final: bool = False) -> str:
        """Decide independently; ``final`` if no other role weighs the reply, so that this one raises the doubts."""
        view = self if final else replace(self, evidence=self.evidence.undoubted)
        selected, ranked = view.evidence.selected, view.evidence.ranked
        hits, unit = self.evidence.hits, _unit(self.codebook)
        named = sum(bool(hits[number]) for number in (ranked if self.is_choice else selected))
        opening = f"words of {named} of {len(hits)} labels occur in this {unit}."
        if not named:
            opening = f"{'too little' if any(hits) else 'no word'} of the codebook occurs in this {unit}."
        lines = [view.line(number) for number in selected]
        if self.is_choice:
            next_best = (f"{self.name(n)} is next: {view.support(n)[1]}" for n in ranked[1:2])
            lines += [f"- {reason}." for reason in next_best]
        return self.conclude(opening, lines, selected, final=final)

    def challenge(self, reply: Reply) -> str:
        """Check the reply of another role."""
        selected, claimed = self.evidence.selected, self.claimed(reply)
        if claimed is None:
            opening = "the previous reply could not be read, so this one only counts words."
            return self.conclude(opening, map(self.line, selected), selected)
        supported = [n for n in claimed if (n in selected if self.is_choice else not self.is_doubtful(n))]
        missed = [n for n in selected if n not in claimed]
        lines = [
            self.ground(n, "is supported" if n in supported else "is doubtful", holds=n in supported) for n in claimed
        ]
        lines += [self.line(n, " was missed") for n in missed]
        objections = len(claimed) - len(supported)
        opening = f"I object to {objections} of {format_count(len(claimed), 'label')}." if objections else _AGREED
        return self.conclude(opening, lines, sorted(supported + missed))

    def decide(self, replies: Sequence[Reply]) -> str:
        """Keep the labels that all name, and those that some name if an undoubted word carries them. Add none.

        Of a choice, a label that all chose is kept, else the chosen one that words favour most. A deciding role raises
        no doubts: uncontested labels are kept, so a debate without its critic ends differently.
        """
        lists = [claimed for reply in replies if (claimed := self.claimed(reply)) is not None]
        if not lists:
            return self.propose(final=True)
        named = sorted(set[int]().union(*lists))
        uncontested = [n for n in named if all(n in claim for claim in lists)]
        disputed = [n for n in named if n not in uncontested]
        if self.is_choice:
            upheld = [] if uncontested else [n for n in self.evidence.ranked if n in disputed][:1]
        else:
            upheld = [n for n in disputed if self.evidence.scores[n] >= THRESHOLD]
        lines = []
        if uncontested:
            without_words = [self.name(n) for n in uncontested if not self.evidence.hits[n]]
            without = f", but the text has no word of {join_names(without_words)}" if without_words else ""
            both = {1: "Nobody contests", 2: "Both sides name"}.get(len(lists), "All name")
            lines.append(f"- {both} {join_names([self.name(n) for n in uncontested])}{without}.")
        lines += [self.ground(n, "is kept" if n in upheld else "is removed", holds=n in upheld) for n in disputed]
        opening = "weighing the sides." if named else "no reply names a label."
        return self.conclude(opening, lines, sorted(uncontested + upheld), final=True)

    @property
    def is_choice(self) -> bool:
        return self.codebook.kind == "choice"

    def line(self, number: int, remark: str = "") -> str:
        """Return a list item with a label, its quotes and the words hit in them."""
        if not self.evidence.hits[number]:
            return f"- #{self.name(number)}{remark}: {self.fallback(number)}."
        quotes, words = self.support(number, MAX_QUOTES)
        return f"- #{self.name(number)}{remark}: {quotes} ({words})"

    def ground(self, number: int, verdict: str, *, holds: bool) -> str:
        """Return a list item with the verdict on a label that another role named, and its ground."""
        if not self.evidence.hits[number]:
            ground = self.fallback(number) if holds else "none of its words is in the text"
        elif holds:
            ground = " contains ".join(self.support(number))
        else:
            ground = "in " + ", ".join(self.objection(number))
        return f"- #{self.name(number)} {verdict}: {ground}."

    def claimed(self, reply: Reply) -> list[int] | None:
        """Return the labels that a reply names, without those that have no words; None if it has no decision."""
        reading = reply.reading
        if not reading.readable or not (reading.values or reading.undecided):
            return None
        selected = reading.selected
        usable = enumerate(zip(self.codebook.labels, self.evidence.lexicon.usable, strict=True))
        return [number for number, (label, words) in usable if words and label.id in selected]

    def is_doubtful(self, number: int) -> bool:
        """Return True if half or more of the words that carry a label are doubted, or if none carries it."""
        hits = [hit for hit in self.evidence.hits[number] if hit.term.carries]
        doubted = sum(bool(hit.doubt) for hit in hits)
        return self.evidence.undoubted.scores[number] < THRESHOLD or (doubted > 0 and doubted * 2 >= len(hits))

    def conclude(self, opening: str, lines: Iterable[str], present: Sequence[int], *, final: bool = False) -> str:
        """Return the reply. A choice without a label stays undecided."""
        if self.is_choice and not present:
            without_keywords = [label.name for label in self.codebook.labels if not label.keywords]
            missing = [f"These labels have no keywords: {join_names(without_keywords)}."] if without_keywords else []
            return self.reply("no word of the codebook occurs in this text.", missing, decision(self.codebook, {}))
        undecided = [number for number, usable in enumerate(self.evidence.lexicon.usable) if not usable]
        return self.reply(opening, lines, decision(self.codebook, dict.fromkeys(present, True), undecided, final=final))


class _RatingRoles(_Roles):
    """Replies for ratings. The module's docstring has the formula."""

    def propose(self, *, final: bool = False) -> str:  # noqa: ARG002 - a rating is the same either way
        return self.conclude("these ratings only count words.", map(self.ground, self.rated()), self.rated())

    def challenge(self, reply: Reply) -> str:
        ratings, claimed = self.rated(), self.ratings_of(reply)
        lines = []
        for number, rating in ratings.items():
            other = claimed.get(number)
            if other is None:
                remark = "was left out"
            elif abs(other - rating) < 1:
                remark = f"no objection to {other:g}"
            else:
                remark = f"{other:g} seems too {'high' if other > rating else 'low'}"
            lines.append(self.ground(number, f"{remark}; "))
        differ = sum(abs(claimed.get(n, rating) - rating) >= 1 for n, rating in ratings.items())
        opening = f"I object to {differ} of {format_count(len(claimed), 'rating')}." if differ else _AGREED
        return self.conclude(opening if claimed else "no previous rating could be read.", lines, ratings)

    def decide(self, replies: Sequence[Reply]) -> str:
        """Return the median rating; between two ratings, the one nearer to the rating by words."""
        lists, ratings = list(map(self.ratings_of, replies)), self.rated()
        if not any(lists):
            return self.propose()
        ruled: dict[int, Value] = {}
        lines = []
        for number in range(len(self.codebook.labels)):
            if values := sorted(claimed[number] for claimed in lists if number in claimed):
                low, high = values[(len(values) - 1) // 2], values[len(values) // 2]
                words = ratings.get(number, low)
                ruled[number] = low if abs(low - words) <= abs(high - words) else high
                nearer = "" if low == high else f" of {low:g} and {high:g}, by the words"
                lines.append(f"- {self.name(number)}: {ruled[number]:g} is the median{nearer}.")
        return self.conclude("weighing the ratings.", lines, ruled)

    def shares(self) -> tuple[float | None, float | None]:
        """Return the shares of words in the other fields and of the persona's focus; None without any to compare."""
        first, *other_fields = self.document.fields.values()
        context = _content_words(" ".join(other_fields))
        shared = _share_of_words(_content_words(first), context) if other_fields else None
        return shared, _share_of_words(
            _content_words(self.focus), _content_words(first) | context
        ) if self.focus else None

    def rated(self) -> dict[int, int]:
        rated = {}
        for number, usable in enumerate(self.evidence.lexicon.usable):
            if usable and self.evidence.text.strip():
                scale = self.codebook.scale_of(self.codebook.labels[number].id)
                missing = float(2.0 ** -self.evidence.scores[number])
                for share in self.shares():
                    missing *= 1 - (share or 0.0)
                rated[number] = scale.min + math.floor((1 - missing) * (scale.max - scale.min) + 0.5)
        return rated

    def ratings_of(self, reply: Reply) -> dict[int, int | float]:
        values = reply.reading.values if reply.reading.readable else {}
        by_number = {number: values.get(label.id) for number, label in enumerate(self.codebook.labels)}
        return {
            n: value for n, value in by_number.items() if isinstance(value, int | float) and not isinstance(value, bool)
        }

    def ground(self, number: int, remark: str = "") -> str:
        words = " contains ".join(self.support(number)) if self.evidence.hits[number] else ""
        grounds = [words or "none of its words is in the text"]
        shared, concern = self.shares()
        if shared is not None:
            grounds.append(f"the other fields contain {shared:.0%} of the words")
        if concern is not None:
            grounds.append(f"{concern:.0%} of the words of my focus occur")
        return f"- {self.name(number)}: {remark}{'; '.join(grounds)}."

    def conclude(self, opening: str, lines: Iterable[str], rated: Mapping[int, Value]) -> str:
        missing = [number for number in range(len(self.codebook.labels)) if number not in rated]
        return self.reply(opening, lines, decision(self.codebook, rated, missing))


# -- Panels


def _persona_reply(request: Request, roles: _LabelRoles | _RatingRoles) -> str:
    """Return a persona's reply: first decision, turn in the debate, or final decision."""
    history = [turn for turn in request.inputs.get("history", ()) if isinstance(turn, AttributedReply)]
    if not history or request.form != "text":
        return roles.propose(final=True)
    own_reply = next((turn.reply for turn in history if turn.role == request.role), None)
    last = {turn.role: turn for turn in history if turn.role != request.role and turn.reply.reading.readable}
    differing = [turn for turn in last.values() if own_reply is not None and _differ(own_reply, turn.reply)]
    if differing and sum(turn.role == request.role for turn in history) <= 1:
        return f"I disagree with {differing[0].speaker}.\n{roles.challenge(differing[0].reply)}"
    return f"{NO_MORE}\n{roles.propose(final=True)}"


def _coordinator_reply(request: Request) -> str | None:
    """Return the first persona that may speak; None if the request is not to a coordinator."""
    waiting = request.inputs.get("waiting")
    if request.role != "coordinator" or not isinstance(waiting, Sequence) or not waiting:
        return None
    return f"Next: {waiting[0]}"


def _aggregator_reply(request: Request) -> str | None:
    """Return the figures and the personas that disagree; None if the request is not to an aggregator."""
    averages = request.inputs.get("averages")
    if request.role != "aggregator" or not isinstance(averages, Sequence):
        return None
    finals = [turn for turn in request.inputs.get("finals", ()) if isinstance(turn, AttributedReply)]
    dissenters = [turn.speaker for turn in finals if any(_differ(turn.reply, other.reply) for other in finals)]
    agreement = "all of them end with the same decision."
    if dissenters:
        agreement = f"these end with a decision that differs from another: {', '.join(dict.fromkeys(dissenters))}."
    lines = (f"- {line}" for line in averages)
    return "\n".join([f"{BASELINE_NAME}, which only lists the results: {agreement}", *lines])


def _differ(first: Reply, second: Reply) -> bool:
    second_values = second.reading.values
    return any(item in second_values and second_values[item] != value for item, value in first.reading.values.items())


def _unit(codebook: Codebook) -> str:
    """Return the unit of a document, on one line."""
    return " ".join(codebook.unit.split()) or "text"


def _content_words(text: str) -> frozenset[str]:
    return frozenset(word for word, _, _ in tokenise(text) if word not in FUNCTION_WORDS and len(word) > 1)


def _share_of_words(words: frozenset[str], among: frozenset[str]) -> float:
    """Return the share of the words that occur among the others in some form, 0 without words."""
    return sum(not among.isdisjoint(forms(word)) for word in words) / len(words) if words else 0.0


_SOUGHT = re.compile(
    r"\b(?:want|need|expect|prefer|look for|look at|value|ask for|asked for|worry|insist|like|care|check|require|"
    r"choose|hope|depend|demand|appreciate|dislike|do not like|lose interest|reject)\w*\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?]+(?:[.!?]+[\"”’]?|\Z)")
_HEADING = re.compile(r"^[^\S\n]*#.*$", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z]+")
_LEAST, _LONGEST = 25, 320


def write_persona_reply(request: Request) -> str | None:
    """Return the reply of a scout, a merger or an author; None for other requests."""
    source, findings, group = (request.inputs.get(name) for name in ("source", "found", "group"))
    if request.role == SCOUT and isinstance(source, str):
        reply: dict[str, Any] = {"stakeholders": list(_stakeholders(source))}
    elif request.role == MERGER and isinstance(findings, tuple):
        reply = {"groups": list(_groups(findings))}
    elif request.role == AUTHOR and isinstance(group, str):
        reply = _persona(group, str(request.inputs.get("dimension", "")), request.inputs.get("taken", ()))
    else:
        return None
    return orjson.dumps(reply).decode()


def _stakeholders(text: str) -> Iterator[dict[str, Any]]:
    """Yield the people who are said to want something, the most frequent first, with their sentences."""
    sought: dict[str, list[str]] = {}
    mention_counts: Counter[str] = Counter()
    paragraphs = re.split(r"\n\s*\n", _HEADING.sub("", text))
    parts = (" ".join(part.split()) for paragraph in paragraphs for part in _SENTENCE.findall(paragraph))
    for sentence in (part for part in parts if _LEAST <= len(part) <= _LONGEST):
        people = [word for word in map(str.lower, _WORD.findall(sentence)) if word in PEOPLE]
        mention_counts.update(set(people))
        if people and _SOUGHT.search(sentence):
            sought.setdefault(people[0], []).append(sentence)
    for who, sentences in sorted(sought.items(), key=lambda pair: -len(pair[1])):
        times = mention_counts[who]
        yield {
            "name": who.capitalize(),
            "characteristics": f"Named in {times} sentence{'' if times == 1 else 's'} of the document.",
            "dimensions": [{"dimension": sentence, "evidence": sentence} for sentence in sentences],
        }


def _groups(findings: Sequence[FoundDimension]) -> Iterator[dict[str, Any]]:
    """Yield groups of findings with the same name, without duplicate sentences."""
    groups: dict[str, dict[str, list[int]]] = {}
    for number, finding in enumerate(findings, 1):
        groups.setdefault(finding.stakeholder, {}).setdefault(finding.dimension.casefold(), []).append(number)
    for name, dimensions in groups.items():
        merged = [{"dimension": findings[numbers[0] - 1].dimension, "from": numbers} for numbers in dimensions.values()]
        yield {"name": name, "characteristics": "", "dimensions": merged}


def _persona(group: str, dimension: str, used_names: Sequence[str]) -> dict[str, str]:
    irregular = {"children": "Child", "families": "Family", "staff": "Member of staff"}
    folded = group.casefold()
    regular = group[:-1] if folded.endswith("s") and not folded.endswith("ss") else group
    name = irregular.get(folded, regular)
    number = sum(used.startswith(name) for used in used_names)
    return {
        "name": f"{name} {number + 1}" if number else name,
        "demographics": f"One of the {group.lower()}. The word-list baseline adds no personal details.",
        "dimension": dimension,
        **dict.fromkeys(("specialty", "traits", "relationships"), ""),
    }
