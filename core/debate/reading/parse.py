"""Parsing of a reply's text into a reading: the decision, or why it is unreadable. Pure; never raises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from core.codebook import CHOICE_ITEM, Codebook
from core.debate.reading.blocks import listing_of
from core.debate.reading.json_blocks import Block, entry_name, lookup
from core.debate.reading.label_answers import (
    bare_list,
    find_answers,
    find_numbers,
    is_corrected,
    json_answers,
    json_names,
    json_numbers,
    listing_of_answers,
)
from core.debate.reading.label_names import names_of
from core.debate.reading.lists import Listing, read_list
from core.debate.reading.markers import Kind, MarkedReply, Marker, is_reported, parse_markers, without_reasoning
from core.debate.reading.normalise import fold
from core.debate.reading.ratings import LEFT_OPEN, ratings_in, ratings_of
from core.debate.reading.yes_no import Answer, answer_in, answer_of
from core.debate.turns import Reading, ReplyForm
from core.documents import storable

EMPTY = "the reply is empty"
NO_DECISION = "no decision line"
CUT = "cut by the output limit before the decision was complete"

_FORMS: Mapping[str, ReplyForm] = {"multilabel": "labels", "choice": "choice", "rating": "ratings"}
_KINDS: Mapping[ReplyForm, frozenset[Kind]] = {
    "labels": frozenset({"aspects", "label", "final"}),
    "choice": frozenset({"aspects", "label", "final"}),
    "ratings": frozenset({"final", "ratings"}),
}
_KEYS: Mapping[ReplyForm, tuple[str, ...]] = {
    "labels": ("labels", "aspects"),
    "choice": ("label", "aspect", "labels", "aspects"),
    "ratings": ("ratings",),
}

Candidate: TypeAlias = Marker | Block


def read(text: str, form: ReplyForm, codebook: Codebook, *, finish: str = "stop") -> Reading:
    """Read the decision of a reply, in any form that this project asks for.

    The last decision wins; quoted, denied, supposed and reported decisions do not count. With ``finish`` equal to
    ``length`` a decision counts only if its line is ended or its JSON closed, and no earlier decision counts instead.
    If a decision is required and none is marked, a reply counts that consists of names, or that answers for every
    label (``core.debate.reading.label_answers``). A reading that does not count has a ``problem`` and no values. For
    ``text`` only marked decisions of the codebook's own kind are searched, and the problem may be ignored. Empty text,
    and text that is only reasoning, has a problem like any other.
    """
    decision_form = _FORMS[codebook.kind] if form == "text" else form
    page = parse_markers(text, codebook)
    if not page.text.strip():
        return Reading(problem=CUT if text.strip() and finish == "length" else EMPTY)
    return _Reader(page, decision_form, codebook, cut=finish == "length", asked=form != "text").read()


def mentions(text: str, codebook: Codebook) -> frozenset[str]:
    """Return the ids of the labels whose name occurs in ``text`` as whole words, in any context.

    A name inside a longer one does not count. Reasoning at the start of the text is left out.
    """
    return frozenset(mention.item for mention in names_of(codebook).mentions(fold(without_reasoning(text))))


class _Reader:
    """One reading of one reply."""

    def __init__(self, page: MarkedReply, form: ReplyForm, codebook: Codebook, *, cut: bool, asked: bool) -> None:
        self.page, self.form, self.codebook, self.cut, self.asked = page, form, codebook, cut, asked
        self.names = names_of(codebook)
        self.items = tuple(label.id for label in codebook.labels)
        self.open, self.open_complete = self._left_open()

    def read(self) -> Reading:
        candidates = self._candidates()
        last = candidates[-1].start if candidates else -1
        if self.cut and (self.page.torn > last or not self.open_complete):
            return self._problem(CUT)
        for candidate in reversed(candidates):
            reading = self._block(candidate) if isinstance(candidate, Block) else self._marker(candidate)
            if reading is not None:
                return reading
        items = (CHOICE_ITEM,) if self.form == "choice" else self.items
        if self.asked and (bare := self._unannounced()) is not None:
            return bare
        undecided = not self.open.empty and not self.open.none
        if undecided and (self.form == "choice" or all(item in self.open.listed for item in items)):
            return Reading(undecided=dict.fromkeys(items, LEFT_OPEN), unknown=_storable(self.open.unknown))
        return self._problem(CUT if self.cut else NO_DECISION)

    def _candidates(self) -> list[Candidate]:
        kinds, keys = _KINDS[self.form], _KEYS[self.form]
        found: list[Candidate] = [marker for marker in self.page.markers if marker.kind in kinds]
        found += [block for block in self.page.blocks if block.error or lookup(block.data, *keys) is not None]
        return sorted(found, key=lambda candidate: candidate.start)

    def _problem(self, problem: str, listing: Listing | None = None) -> Reading:
        unknown = {} if problem == CUT else self.open.unknown | (listing.unknown if listing else {})
        return Reading(unknown=_storable(unknown), problem=problem)

    def _left_open(self) -> tuple[Listing, bool]:
        """Return the listing of the last ``Undecided:`` lines, and True if it is complete."""
        listing, complete = Listing(), True
        below: Marker | None = None
        for marker in reversed(self.page.undecided):
            if below is not None and self.page.lines[self.page.line_end(marker.end) : below.start].strip(" \n>#-+•*_"):
                break
            part, whole = listing_of(self.page, marker, self.names)
            complete = complete and (whole or below is not None)
            listing.add(_whatever(part))
            below = marker
        return listing, complete

    def _marker(self, marker: Marker) -> Reading | None:
        """Return the reading of a marker's list, or None if the sentence is not a decision."""
        if self.form == "ratings":
            ratings, complete = ratings_of(self.page, marker, self.codebook, self.names, self.open.listed)
            return self._problem(CUT) if self.cut and not complete else self._rated(ratings)
        listing, complete = self._announced(marker)
        if self.cut and not complete:
            return self._problem(CUT)
        firm = not marker.plain or (self.form == "choice" and marker.kind == "label")
        hashed = self.page.text[marker.end : marker.limit].lstrip(" *`_").startswith("#")
        named = bool(listing.unknown) and all(name[0].isupper() for name in listing.unknown)
        if not (firm or hashed or named or listing.listed or listing.none):
            # "The aspects present in this review are well supported" is prose, "... are Pool and Spa" is a decision.
            return None
        return self._settled(listing)

    def _announced(self, marker: Marker) -> tuple[Listing, bool]:
        """Return the list that a marker announces, or the answers in the table below it; and True if it is complete."""
        listing, complete = listing_of(self.page, marker, self.names, codes=self.form == "choice")
        below = self.page.lines[marker.end :].lstrip(" \n_>#")
        if not below.startswith("|"):
            return listing, complete
        answered = find_answers(self.page, self.names, marker.limit)
        if not answered:
            return listing, complete
        ballot = listing_of_answers((said.name, said.item, answer_in(said.words)) for said in answered)
        return ballot, answered[-1].end < len(self.page.text)

    def _unannounced(self) -> Reading | None:
        """Return the reading of an unmarked decision, or None if there is none."""
        page, names = self.page, self.names
        blocks = [block for block in reversed(page.blocks) if not is_reported(page, block.start)]
        if self.form == "ratings":
            for block in blocks:
                if numbers := json_numbers(block, names):
                    return self._all_rated(ratings_in(numbers, self.codebook, names), block.end)
            rated = find_numbers(page, names)
            entries = [{"name": said.name, "rating": said.words} for said in rated if said.item is not None]
            if not rated or (self.cut and rated[-1].end >= len(page.text)):
                return None
            return self._all_rated(ratings_in(entries, self.codebook, names), rated[-1].end)
        choosing = self.form == "choice"
        for block in blocks:
            if ballot := json_answers(block, names):
                return self._balloted(ballot, block.end)
            if (named := json_names(block, names, codes=choosing)) is not None:
                return None if is_corrected(page, names, block.end) else self._settled(named)
        answered = find_answers(page, names)
        if len(answered) >= min(2, len(self.items)):
            if self.cut and answered[-1].end >= len(page.text):
                return None
            told = [(said.name, said.item, answer_in(said.words)) for said in answered]
            return self._balloted(told, answered[-1].end)
        listing = None if self.cut else bare_list(page, names, codes=choosing)
        return None if listing is None else self._settled(listing)

    def _balloted(self, entries: Iterable[tuple[str, str | None, Answer | None]], end: int) -> Reading | None:
        if is_corrected(self.page, self.names, end):
            return None
        listing = listing_of_answers(entries)
        if listing.unknown:
            return self._problem(f"it answers for what is not in the codebook: {_quoted(listing.unknown)}", listing)
        if self.form == "choice":
            listing.none = False
            return self._settled(listing)
        told = listing.listed.keys() | listing.excluded | listing.doubted.keys() | self.open.listed.keys()
        if missing := [self.names.written(item) for item in self.items if item not in told]:
            return self._problem(f"it answers label by label, but not for {_quoted(missing)}", listing)
        return self._settled(listing)

    def _all_rated(self, rated: Reading, end: int) -> Reading | None:
        if is_corrected(self.page, self.names, end):
            return None
        told = rated.values.keys() | rated.undecided.keys() | self.open.listed.keys()
        return self._rated(rated) if rated.values and all(item in told for item in self.items) else None

    def _block(self, block: Block) -> Reading:
        if block.error:
            return self._problem(CUT if self.cut else f"the JSON cannot be read ({block.error})")
        undecided = lookup(block.data, "undecided")
        if undecided is not None:
            self.open = Listing()
            for entry, reason in _reasons(undecided):
                part = _whatever(self._entry(entry))
                self.open.add(part)
                self.open.doubted |= dict.fromkeys(part.listed, reason if isinstance(reason, str) else "")
        value = lookup(block.data, *_KEYS[self.form])
        if self.form == "ratings":
            return self._rated(ratings_in(value, self.codebook, self.names))
        listing = Listing()
        for entry, said in _pairs(value):
            part = self._entry(entry)
            if said == "open":
                self.open.add(_whatever(part))
                continue
            if said == "no":
                part.excluded |= part.listed.keys()
            elif said is None:
                part.doubted |= dict.fromkeys(part.listed, "listed with what is neither a yes nor a no")
            if said != "yes":
                part.listed = {}
            listing.add(part)
        if not isinstance(value, str) and not (listing.listed or listing.doubted or listing.unknown):
            listing.none = True  # an empty list is an answer
        return self._settled(listing)

    def _entry(self, entry: Any) -> Listing:
        name = entry_name(entry)
        if isinstance(name, str):
            exact = self.names.find(name)
            if exact is not None:
                return Listing(listed={exact: None})
            return read_list(self.names, name, codes=self.form == "choice")
        code = self.names.find_code(name) if name is not None and self.form == "choice" else None
        return Listing(listed={code: None}) if code is not None else Listing(unknown={str(name or entry)[:200]: None})

    def _settled(self, listing: Listing) -> Reading:
        listing.unknown = self.open.unknown | listing.unknown
        settle: Callable[[Listing], Reading] = self._chosen if self.form == "choice" else self._labelled
        return settle(listing)

    def _labelled(self, listing: Listing) -> Reading:
        listed, unknown = listing.listed, [name for name in listing.unknown if name not in self.open.unknown]
        if listing.none and (listed or unknown):
            beside = [self.names.written(item) for item in listed] or unknown
            return self._problem(f"the decision says none and also names {_quoted(beside)}", listing)
        if not listed and not listing.none:
            doubted = [self.names.written(item) for item in listing.doubted]
            if unknown:
                return self._problem(
                    f"the decision names only what is not in the codebook: {_quoted(unknown)}", listing
                )
            if doubted:
                return self._problem(f"the decision does not say plainly whether it means {_quoted(doubted)}", listing)
            return self._problem("the decision names no label and does not say none", listing)
        reasons = {item: reason for item, reason in listing.doubted.items() if item not in listed}
        reasons |= dict.fromkeys(listing.excluded & listed.keys(), "both listed and ruled out in the decision")
        reasons |= self._open_reasons()
        return Reading(
            values={item: item in listed for item in self.items if item not in reasons},
            undecided={item: reasons[item] for item in self.items if item in reasons},
            unknown=_storable(listing.unknown),
        )

    def _chosen(self, listing: Listing) -> Reading:
        named = list(dict.fromkeys((*listing.listed, *listing.doubted)))
        for item, comment in listing.comments:
            beside = read_list(self.names, comment, codes=True).listed
            named += [other for other in beside if item not in beside and other not in named]
        if len(named) > 1:
            written = [self.names.written(item) for item in named]
            return self._problem(f"the decision names more than one label: {_quoted(written)}", listing)
        if not listing.listed or listing.none or listing.excluded & listing.listed.keys():
            if listing.unknown:
                names = _quoted(listing.unknown)
                return self._problem(f"the decision names only what is not in the codebook: {names}", listing)
            return self._problem("the decision does not choose one label", listing)
        if named[0] in self.open.listed:
            return Reading(undecided={CHOICE_ITEM: LEFT_OPEN}, unknown=_storable(listing.unknown))
        return Reading(values={CHOICE_ITEM: named[0]}, unknown=_storable(listing.unknown))

    def _rated(self, rated: Reading) -> Reading:
        reasons = {**rated.undecided, **self._open_reasons()}
        values = {
            item: rated.values[item] for item in self.items if item in rated.values and item not in self.open.listed
        }
        missing = {item: "no rating given" for item in self.items if item not in values and item not in reasons}
        unknown = _storable((*self.open.unknown, *rated.unknown))
        if not values and any(item not in self.open.listed for item in self.items):
            said = "; ".join(
                f"{self.names.written(item)}: {reason}" for item, reason in list(rated.undecided.items())[:5]
            )
            outside = f"it names only what is not in the codebook: {_quoted(rated.unknown)}" if rated.unknown else ""
            return Reading(unknown=unknown, problem=f"no dimension has a rating ({said or outside or 'none is named'})")
        reasons |= missing
        return Reading(values, {item: reasons[item] for item in self.items if item in reasons}, unknown)

    def _open_reasons(self) -> dict[str, str]:
        """Return the items that the reply leaves open, with its reason if JSON gives one."""
        return {item: self.open.doubted.get(item) or LEFT_OPEN for item in self.open.listed}


def _whatever(part: Listing) -> Listing:
    """Return all names of a list of open items, whatever their comments ("Food (unclear)")."""
    named = (*part.listed, *part.doubted, *sorted(part.excluded))
    return Listing(listed=dict.fromkeys(named), unknown=part.unknown, none=part.none)


def _pairs(value: Any) -> Iterable[tuple[Any, Answer | None]]:
    """Return (entry, answer) for a JSON list, an object {name: answer} or a bare name; None if there is no answer.

    An entry of a list without further words is present; in an object, words about a name are a yes.
    """
    if isinstance(value, dict) and entry_name(value) is None:
        return [(name, _beside(said)) for name, said in value.items()]
    entries = value if isinstance(value, list) else [value]
    return [(entry, _told(entry) if isinstance(entry, dict) else "yes") for entry in entries]


def _told(entry: dict[str, Any]) -> Answer | None:
    """Return the answer of an object in a list; present by default."""
    said = answer_of({key: value for key, value in entry.items() if key not in ("label", "name", "aspect")})
    return said or (None if "present" in entry else "yes")


def _beside(said: Any) -> Answer | None:
    """Return the answer for a name that is a key: an answer, or evidence, which is a yes unless empty."""
    answer = answer_of(said)
    if answer is None and isinstance(said, str | list | dict) and said:
        return "yes"
    return answer


def _reasons(value: Any) -> Iterable[tuple[Any, Any]]:
    """Return the open entries, each with its reason if JSON gives one."""
    if isinstance(value, dict) and entry_name(value) is None:
        return list(value.items())
    entries = value if isinstance(value, list) else [value]
    return [(entry, entry.get("reason") if isinstance(entry, dict) else None) for entry in entries]


def _quoted(names: Iterable[str]) -> str:
    shown = [f'"{storable(" ".join(name.split())[:80])}"' for name in names]
    return ", ".join(shown[:5]) + (f" and {len(shown) - 5} more" if len(shown) > 5 else "")


def _storable(names: Iterable[str]) -> tuple[str, ...]:
    """Return names without lone surrogates, which JSON can contain and the store refuses."""
    return tuple(dict.fromkeys(storable(name) for name in names))
