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

A choice on a text without any word of the codebook is the label with the nearest prototype if vectors are available;
without vectors the text stays undecided.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.baseline import author_labelling, persona_extraction
from core.baseline.evidence import THRESHOLD, Evidence, Lexicon, find_evidence, lexicon_of
from core.baseline.prototypes import Similarities
from core.baseline.word_forms import FUNCTION_WORDS, forms, tokens
from core.codebook import Codebook, Label
from core.debate.personas import FAMILY
from core.debate.reading import parse
from core.debate.turns import AttributedReply, Reply, Request, family
from core.documents import Document

VERSION = "11"
"""Part of the key of every stored reply: increase it whenever a reply changes."""

BASELINE_NAME = "Word-list baseline"
NO_MORE = "NO MORE COMMENTS"
MAX_WORDS = 3
MAX_QUOTES = 2
CLOSE = 0.5
"""A lead over the second label of a choice below this is called close: half of a listed word."""

_PROPOSING = frozenset({"extractor", "annotator", "magistrate"})
_DECIDING = frozenset({"judge", "refiner"})
_CHALLENGING = frozenset({"critic", "reviewer"})
_SOURCES = {
    "keyword": "a keyword",
    "name": "the label's name",
    "common": "a common word of such a label",
    "description": "a word of the description",
    "include": "a word of the examples",
}


def write_reply(
    request: Request, codebook: Codebook, document: Document, similarities: Similarities | None = None
) -> str:
    """Return the reply to a request, in the formats that the parser reads.

    Pure: the same arguments give the same text. ``similarities`` compares a text with the labels by vectors, None
    without vectors. The behaviour follows from the inputs (a position to argue for), else
    from the role's name (an annotator ignores other replies, a judge decides, a critic challenges). Otherwise it
    follows from the replies among the inputs: without any it proposes, it challenges a single one, and it
    decides between several. So every protocol runs, custom ones too.
    """
    for special_reply in (persona_extraction.write_reply, _coordinator_reply, _aggregator_reply):
        if (text := special_reply(request)) is not None:
            return text
    if (text := author_labelling.write_reply(request, codebook)) is not None:
        return text
    persona = request.inputs.get("persona")
    focus = str(persona.get("dimension", "")) if isinstance(persona, Mapping) else ""
    codebook, document = request.narrow(codebook), request.document or document
    lexicon = lexicon_of(codebook)
    roles = _ROLES[codebook.kind](document, lexicon, find_evidence(lexicon, document.text), focus, similarities)
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


def _replies(inputs: Mapping[str, Any]) -> Iterator[Reply]:
    """Yield the replies among a request's inputs, of several rounds the last of each speaker; the extraction first."""
    for _, value in sorted(inputs.items(), key=lambda item: item[0] != "extraction"):
        if isinstance(value, Reply):
            yield value
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
            yield from {each.role: each.reply for each in value if isinstance(each, AttributedReply)}.values()
            yield from (each for each in value if isinstance(each, Reply))


@dataclass(frozen=True, slots=True)
class _Roles(ABC):
    """The baseline's replies on one document. ``focus`` is that of a persona, else empty.

    ``similarities`` are those of ``write_reply``.
    """

    document: Document
    lexicon: Lexicon
    evidence: Evidence
    focus: str = ""
    similarities: Similarities | None = None

    @abstractmethod
    def propose(self, *, final: bool = False) -> str:
        """Decide independently; ``final`` if no other role weighs the reply."""

    @abstractmethod
    def challenge(self, reply: Reply) -> str:
        """Check the reply of another role."""

    @abstractmethod
    def decide(self, replies: Sequence[Reply]) -> str:
        """Decide between the replies of other roles."""

    @property
    def labels(self) -> tuple[Label, ...]:
        return self.lexicon.codebook.labels

    @property
    def usable(self) -> list[int]:
        """Labels that have a word to look for."""
        return [number for number, usable in enumerate(self.lexicon.usable) if usable]

    def name(self, number: int) -> str:
        return self.labels[number].name

    def support(self, number: int, most: int = 1, *, doubts: bool = True) -> tuple[str, str]:
        """Return (quotes, words) of a label: the clauses of its strongest hits, quoted, and the words hit in them."""
        best = self.evidence.best(number)
        hits = [hit for hit in best if hit.carries and not (doubts and hit.doubt)] or best[:1]
        quoted: dict[str, None] = {}
        words: dict[str, None] = {}
        for hit in hits:
            quote = f'"{self.evidence.quote(hit)}"'
            if quote in quoted or len(quoted) < most:
                quoted[quote] = words[self.evidence.word(hit)] = None
        more = f" and {len(words) - MAX_WORDS} more" if len(words) > MAX_WORDS else ""
        return " and ".join(quoted), ", ".join(list(words)[:MAX_WORDS]) + more

    def line(self, number: int, remark: str = "", *, doubts: bool = True) -> str:
        """Return a list item with a label, its quotes and the words hit in them."""
        quotes, words = self.support(number, MAX_QUOTES, doubts=doubts)
        return f"- #{self.name(number)}{remark}: {quotes} ({words})"

    def objection(self, number: int) -> str:
        """Return the doubt about a label as the end of a sentence: that of its strongest doubted hit."""
        best = self.evidence.best(number)
        hit = next((hit for hit in best if hit.doubt), best[0])
        return f"{self.evidence.word(hit)} is {hit.doubt or f'only {_SOURCES[hit.term.source]}'}"

    def argue(self, position: str) -> str:
        """Return one sentence for the stated position."""
        named = parse.mentions(position, self.lexicon.codebook)
        number = next((n for n, label in enumerate(self.labels) if label.id in named), None)
        if number is None:
            return "The word-list baseline has no words for that answer."
        name, found = self.name(number), self.evidence.hits[number]
        if position.rstrip(" .").endswith((" not present", " absent", " not there")):
            if not found:
                return f"No word of {name} is in the text."
            return f"The only support for {name} is {self.support(number)[1]}, and {self.objection(number)}."
        if not found:
            return f"No word of {name} is in the text, so the support for it is weak."
        quote, words = self.support(number)
        return f"{quote} supports {name} ({words})."

    def reply(self, opening: str, lines: Iterable[str], *decision: str) -> str:
        foreign = ["This text does not look English: only keywords and names were looked for."]
        return "\n".join(
            [f"{BASELINE_NAME}: {opening}", *(foreign if self.evidence.foreign else ()), *lines, *decision]
        )


class _MultilabelRoles(_Roles):
    """Replies for a multilabel codebook: each label is present or absent."""

    def propose(self, *, final: bool = False) -> str:
        found = [n for n in self.usable if self.evidence.score(n, doubts=final) >= THRESHOLD]
        if not self.evidence.text.strip():
            opening = "the text is empty."
        elif not found:
            amount = "too little" if any(self.evidence.hits) else "no word"
            opening = f"{amount} of the codebook occurs in this {self.unit}."
        else:
            opening = f"words of {len(found)} of {len(self.labels)} labels occur in this {self.unit}."
        return self._list(opening, [self.line(n, doubts=final) for n in found], found, final=final)

    def challenge(self, reply: Reply) -> str:
        certain = [n for n in self.usable if self.evidence.score(n) >= THRESHOLD]
        if not _is_readable(reply):
            opening = "the previous list could not be read, so this list only counts words."
            return self._list(opening, [self.line(n) for n in certain], certain)
        claimed = [n for n in self._named(reply) if self.lexicon.usable[n]]
        kept = [n for n in claimed if not self._is_doubtful(n)]
        missed = [n for n in certain if n not in claimed]
        lines = []
        for number in claimed:
            name = self.name(number)
            if number in kept:
                quote, words = self.support(number)
                lines.append(f"- #{name} is supported: {quote} contains {words}.")
            elif self.evidence.hits[number]:
                lines.append(f"- #{name} is doubtful: in {self._doubted_quote(number)}, {self.objection(number)}.")
            else:
                lines.append(f"- #{name} is doubtful: no word of its definition is in the text.")
        lines += [self.line(number, " was missed") for number in missed]
        return self._list(_findings(len(claimed), len(kept), len(missed)), lines, sorted(kept + missed))

    def decide(self, replies: Sequence[Reply]) -> str:
        """Keep the labels that all name, and those that some name if an undoubted word carries them. Add none.

        A deciding role raises no doubts: uncontested labels are kept, so a debate without its critic ends differently.
        """
        lists = [set(self._named(reply)) for reply in replies if _is_readable(reply)]
        if not lists:
            return self.propose(final=True)
        named = [n for n in self.usable if any(n in own for own in lists)]
        kept = [n for n in named if all(n in own for own in lists)]
        lines = []
        if kept:
            both = {1: "Nobody contests", 2: "Both sides name"}.get(len(lists), "All name")
            lines.append(f"- {both} {_join([self.name(n) for n in kept])}{self._support_for_agreed(kept)}")
        for number in [n for n in named if n not in kept]:
            name = self.name(number)
            if not self.evidence.hits[number]:
                lines.append(f"- {name} is removed: none of its words is in the text.")
            elif self.evidence.score(number) >= THRESHOLD:
                kept.append(number)
                quote, words = self.support(number)
                lines.append(f"- {name} is kept: {quote} contains {words}, and no objection outweighs it.")
            else:
                lines.append(f"- {name} is removed: in {self._doubted_quote(number)}, {self.objection(number)}.")
        opening = "weighing the sides." if named else "no reply names a label."
        return self._list(opening, lines, sorted(kept), final=True)

    @property
    def unit(self) -> str:
        """The unit of a document, on one line."""
        return " ".join(self.lexicon.codebook.unit.split()) or "text"

    def _named(self, reply: Reply) -> list[int]:
        present = set(reply.reading.present)
        return [number for number, label in enumerate(self.labels) if label.id in present]

    def _is_doubtful(self, number: int) -> bool:
        """Return True if half or more of the words that carry a label are doubted, or if none carries it."""
        hits = [hit for hit in self.evidence.hits[number] if hit.carries]
        doubted = sum(bool(hit.doubt) for hit in hits)
        return self.evidence.score(number, doubts=False) < THRESHOLD or (doubted > 0 and doubted * 2 >= len(hits))

    def _doubted_quote(self, number: int) -> str:
        best = self.evidence.best(number)
        return f'"{self.evidence.quote(next((hit for hit in best if hit.doubt), best[0]))}"'

    def _support_for_agreed(self, agreed: Sequence[int]) -> str:
        hit = sum(bool(self.evidence.hits[number]) for number in agreed)
        if hit == len(agreed):
            return ", and words of the text support this."
        return ", although the words of the text support only some." if hit else ", although no word supports this."

    def _list(self, opening: str, lines: Iterable[str], present: Sequence[int], *, final: bool = False) -> str:
        names = [self.name(number) for number in present]
        if final:
            decision = f"Final Decision: The present aspects are: {', '.join(names) or 'none'}"
        else:
            listed = ", ".join(f"#{name}" for name in names) or "none"
            decision = f"The aspects present in this {self.unit} are: {listed}"
        undecided = [f"Undecided: #{self.name(n)}" for n, usable in enumerate(self.lexicon.usable) if not usable]
        return self.reply(opening, lines, *undecided, decision)


class _ChoiceRoles(_Roles):
    """Replies for a choice codebook: one label of several."""

    def propose(self, *, final: bool = False) -> str:
        ranked = self._ranked(doubts=final)
        if not ranked:
            return self._without_decision()
        lines = [self.line(ranked[0], doubts=final)]
        if len(ranked) > 1:
            lines.append(f"- {self._rival(ranked[0], ranked[1], doubts=final)}")
        opening = "no choice to weigh, so the words decide." if final else "counting the words of each label."
        return self._choose(opening, lines, ranked[0])

    def challenge(self, reply: Reply) -> str:
        ranked, chosen = self._ranked(), self._chosen(reply)
        if not ranked:
            return self._without_decision()
        best = ranked[0]
        if chosen is None:
            return self._choose("no previous choice could be read.", [self.line(best)], best)
        if chosen == best:
            lines = [self.line(best), *(f"- {self._rival(best, second)}" for second in ranked[1:2])]
            return self._choose(f"I have no objection to {self.name(best)}.", lines, best)
        against = f"- {self.name(chosen)}: none of its words is in the text."
        if chosen in ranked:
            doubted = any(hit.doubt for hit in self.evidence.hits[chosen])
            against = (
                f"{self.line(chosen)}, {f'but {self.objection(chosen)}' if doubted else 'which is weaker support'}."
            )
        return self._choose(f"{self.name(chosen)} is doubtful.", [against, self.line(best)], best)

    def decide(self, replies: Sequence[Reply]) -> str:
        """Return the label that all chose, else the chosen label that most words favour. No label is added."""
        chosen = [choice for choice in map(self._chosen, replies) if choice is not None]
        if not chosen:
            return self.propose(final=True)
        if len(set(chosen)) == 1:
            found = self.evidence.hits[chosen[0]]
            support = f", supported by {self.support(chosen[0])[0]}" if found else ""
            opening = "the sides agree." if len(chosen) > 1 else "one choice to weigh."
            return self._choose(opening, [f"- It is {self.name(chosen[0])}{support}."], chosen[0])
        ranked = [number for number in self._ranked() if number in chosen]
        if not ranked:
            return self._without_decision("The sides differ. ")
        others = _join([self.name(number) for number in sorted(set(chosen) - {ranked[0]})])
        lines = [self.line(ranked[0]), f"- The words support {others} less."]
        return self._choose("the sides differ, so the words decide.", lines, ranked[0])

    def _ranked(self, *, doubts: bool = True) -> list[int]:
        """Return the labels with a hit by weight of their words, number of words, and first position in the text."""
        hits = self.evidence.hits
        return sorted(
            (number for number in self.usable if hits[number]),
            key=lambda n: (-self.evidence.weight(n, doubts=doubts), -len(hits[n]), hits[n][0].start, n),
        )

    def _chosen(self, reply: Reply) -> int | None:
        value = reply.reading.values.get("label") if reply.reading.readable else None
        return next((number for number, label in enumerate(self.labels) if label.id == value), None)

    def _rival(self, best: int, second: int, *, doubts: bool = True) -> str:
        lead = self.evidence.weight(best, doubts=doubts) - self.evidence.weight(second, doubts=doubts)
        place = "close behind" if lead < CLOSE else "next, with weaker support"
        return f"{self.name(second)} is {place}: {self.support(second, doubts=doubts)[1]}."

    def _choose(self, opening: str, lines: Sequence[str], number: int) -> str:
        return self.reply(opening, lines, f"The label is {self.name(number)}")

    def _without_decision(self, opening: str = "") -> str:
        """Return the nearest label by vectors; else a reply without a choice, which names labels without keywords."""
        if self.similarities is not None and self.evidence.text.strip():
            near = self.similarities(self.lexicon.codebook, self.evidence.text)
            first, *others = sorted(range(len(near)), key=lambda number: (-near[number], number))
            second = f", before {self.name(others[0])} with {near[others[0]]:.2f}" if others else ""
            line = f"- The definition of #{self.name(first)} is nearest, by vectors: {near[first]:.2f}{second}."
            return self._choose(f"{opening}no word of the codebook occurs in this text.", [line], first)
        bare = [label.name for label in self.labels if not label.keywords]
        missing = f" These labels have no keywords: {_join(bare)}." if bare else ""
        return self.reply(f"{opening}No word of the codebook occurs in this text.{missing}", ())


class _RatingRoles(_Roles):
    """Replies for ratings. The module's docstring has the formula."""

    def propose(self, *, final: bool = False) -> str:  # noqa: ARG002 - a rating is the same either way
        if not self.evidence.text.strip():
            return self._rate("the text is empty, so there is nothing to rate.", [], {})
        rated = self._rated()
        return self._rate("these ratings only count words.", [self._because(n) for n in rated], rated)

    def challenge(self, reply: Reply) -> str:
        own, theirs = self._rated(), self._ratings_of(reply)
        if not theirs:
            opening = "no previous rating could be read, so these ratings only count words."
            return self._rate(opening, [self._because(n) for n in own], own)
        lines = []
        for number, rating in own.items():
            other, name = theirs.get(number), self.name(number)
            if other is None:
                lines.append(f"- {name} was left out. {self._because(number)[2:]}")
            elif abs(other - rating) < 1:
                lines.append(f"- {name}: I have no objection to {other:g}.")
            else:
                side = "high" if other > rating else "low"
                lines.append(f"- {name}: {other:g} seems too {side}. {self._because(number)[2:]}")
        differ = sum(abs(theirs.get(n, rating) - rating) >= 1 for n, rating in own.items())
        opening = f"I differ on {differ} of {len(own)} dimensions." if differ else "I agree with every rating."
        return self._rate(opening, lines, own)

    def decide(self, replies: Sequence[Reply]) -> str:
        """Return the median rating; between two ratings, the one nearer to the rating by words."""
        lists = [rated for reply in replies if (rated := self._ratings_of(reply))]
        if not lists:
            return self.propose()
        own = self._rated()
        ruled: dict[int, int | float] = {}
        lines = []
        for number in range(len(self.labels)):
            given = sorted(each[number] for each in lists if number in each)
            if not given:
                continue
            low, high = given[(len(given) - 1) // 2], given[len(given) // 2]
            words = own.get(number, low)
            ruled[number] = low if abs(low - words) <= abs(high - words) else high
            between = f"between {low:g} and {high:g}, the words are nearer to {ruled[number]:g}."
            lines.append(f"- {self.name(number)}: {between if low != high else f'{low:g} is the median.'}")
        return self._rate("weighing the ratings.", lines, ruled)

    def _shares(self) -> tuple[float | None, float | None]:
        """Return the shares of words in the other fields and of the persona's focus; None without any to compare."""
        first, *others = self.document.fields.values()
        context = _content_words(" ".join(others))
        shared = _share(_content_words(first), context) if others else None
        return shared, _share(_content_words(self.focus), _content_words(first) | context) if self.focus else None

    def _rated(self) -> dict[int, int]:
        codebook, shares = self.lexicon.codebook, self._shares()
        rated = {}
        for number in self.usable:
            scale = codebook.scale_of(codebook.labels[number].id)
            missing = float(2.0 ** -self.evidence.score(number))
            for share in shares:
                missing *= 1 - (share or 0.0)
            rated[number] = scale.min + math.floor((1 - missing) * (scale.max - scale.min) + 0.5)
        return rated

    def _ratings_of(self, reply: Reply) -> dict[int, int | float]:
        values = reply.reading.values if reply.reading.readable else {}
        given = {number: values.get(label.id) for number, label in enumerate(self.labels)}
        return {
            n: value for n, value in given.items() if isinstance(value, int | float) and not isinstance(value, bool)
        }

    def _because(self, number: int) -> str:
        quotes, words = self.support(number) if self.evidence.hits[number] else ("", "")
        grounds = [f"{quotes} contains {words}" if words else "none of its words is in the text"]
        shared, concern = self._shares()
        if shared is not None:
            grounds.append(f"the other fields contain {shared:.0%} of the words")
        if concern is not None:
            grounds.append(f"{concern:.0%} of the words of my focus occur")
        return f"- {self.name(number)}: {'; '.join(grounds)}."

    def _rate(self, opening: str, lines: Sequence[str], rated: Mapping[int, int | float]) -> str:
        missing = [f"Undecided: #{label.name}" for n, label in enumerate(self.labels) if n not in rated]
        ratings = ["Final ratings:", *(f"{self.name(n)}: {rating:g}" for n, rating in rated.items())] if rated else []
        return self.reply(opening, lines, *missing, *ratings)


_ROLES: Mapping[str, type[_Roles]] = {"multilabel": _MultilabelRoles, "choice": _ChoiceRoles, "rating": _RatingRoles}


# -- Panels


def _persona_reply(request: Request, roles: _Roles) -> str:
    """Return a persona's reply: first decision, turn in the debate, or final decision."""
    history = [each for each in request.inputs.get("history", ()) if isinstance(each, AttributedReply)]
    if not history or request.form != "text":
        return roles.propose(final=True)
    own = next((each.reply for each in history if each.role == request.role), None)
    last = {each.role: each for each in history if each.role != request.role and each.reply.reading.values
            and each.reply.reading.readable}  # fmt: skip
    against = [each for each in last.values() if own is not None and _differ(own, each.reply)]
    if against and sum(each.role == request.role for each in history) <= 1:
        return f"I disagree with {against[0].speaker}.\n{roles.challenge(against[0].reply)}"
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
    finals = [each for each in request.inputs.get("finals", ()) if isinstance(each, AttributedReply)]
    apart = [each.speaker for each in finals if any(_differ(each.reply, other.reply) for other in finals)]
    agreement = "all of them end with the same decision."
    if apart:
        agreement = f"these end with a decision that differs from another: {', '.join(dict.fromkeys(apart))}."
    lines = (f"- {line}" for line in averages)
    return "\n".join([f"{BASELINE_NAME}, which only lists the results: {agreement}", *lines])


def _differ(one: Reply, other: Reply) -> bool:
    theirs = other.reading.values
    return any(item in theirs and theirs[item] != value for item, value in one.reading.values.items())


# -- Wording


def _is_readable(reply: Reply) -> bool:
    """Return True if a reply has a readable decision."""
    return reply.reading.readable and bool(reply.reading.values or reply.reading.undecided)


def _findings(claimed: int, kept: int, missed: int) -> str:
    if not claimed:
        opening = "nothing was claimed"
    elif kept == claimed:
        opening = f"I have no objection to {'the claim' if claimed == 1 else f'the {claimed} claims'}"
    else:
        opening = f"I have no objection to {kept} of {claimed} claims" if kept else "I object to every claim"
    return f"{opening}, but {missed} {'is' if missed == 1 else 'are'} missing." if missed else f"{opening}."


def _join(names: Sequence[str]) -> str:
    """Join names as in a sentence: A; A and B; A, B and C."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _content_words(text: str) -> frozenset[str]:
    return frozenset(word for word, _, _ in tokens(text) if word not in FUNCTION_WORDS and len(word) > 1)


def _share(words: frozenset[str], among: frozenset[str]) -> float:
    """Return the share of the words that occur among the others in some form, 0 without words."""
    return sum(not among.isdisjoint(forms(word)) for word in words) / len(words) if words else 0.0
