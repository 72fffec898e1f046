"""Readings of ratings: announced, on lines ``Dimension: number``, in sentences, and JSON."""

from __future__ import annotations

from typing import Any

from core.debate.reading.base_reader import CUT, ReplyReader, other_entries
from core.debate.reading.contradictions import check_following, check_rating_lines
from core.debate.reading.decision_markers import Marker
from core.debate.reading.json_blocks import Block, lookup, nested
from core.debate.reading.labels_grammar import NOT_IN_CODEBOOK, Unreadable, quoted_names
from core.debate.reading.ratings_grammar import (
    RATING_KEYS,
    check_json_scale,
    check_scale,
    ratings_in,
    ratings_in_sentences,
    ratings_of,
    unmarked_ratings,
)
from core.debate.reading.tokens import LEFT_OPEN
from core.debate.turns import Reading


class RatingsReader(ReplyReader):
    """A reading of a decision on a codebook of ratings. Dimensions without a rating are undecided."""

    marker_kinds = ("final", "ratings")
    keys = ("final_ratings", "ratings", "scores")

    def _read_marker(self, marker: Marker) -> Reading | None:
        if (block := self._block_at(self.marked.past_marker(marker.end, marker.limit))) is not None:
            return self._read_block(block)
        ratings, end, complete = ratings_of(self.marked, marker, self.open)
        if self.cut and not complete:
            raise Unreadable(CUT)
        self._check_ratings(ratings, marker.start, end)
        return self._ratings_reading(ratings)

    def _read_value(self, block: Block, value: Any) -> Reading:
        ratings = ratings_in(block.data if value is None else value, self.codebook)
        self._check_other_ratings(block, ratings, value)
        self._check_ratings(ratings, block.end, block.end)
        return self._ratings_reading(ratings)

    def _read_answers_by_name(self, block: Block) -> Reading | None:
        stated = self._stated_by_name(block)
        if not stated and len(self.items) == 1:
            stated = {self.codebook.labels[0].name: lookup(block.data, "rating", "score")}
        numbers = block.data if isinstance(block.data, list) else stated
        ratings = ratings_in(numbers, self.codebook)
        self._check_other_ratings(block, ratings, numbers)
        self.start = block.start
        return self._reading_if_all_rated(ratings, block.end)

    def _check_other_ratings(self, block: Block, ratings: Reading, decision: Any) -> None:
        """Raise ``Unreadable`` if other keys of an object state another scale or other ratings."""
        for data in nested(block.data):
            check_json_scale(data, self._tops, self.names)
        for key, value in other_entries(block, decision):
            if isinstance(value, dict | list) and RATING_KEYS.search(key.casefold()):
                others = ratings_in(value, self.codebook).values
                if any(ratings.values.get(item, number) != number for item, number in others.items()):
                    raise Unreadable(f"another key contradicts its ratings: {quoted_names([key])}")

    @property
    def _tops(self) -> set[int]:
        """The highest points of the scales."""
        return {self.codebook.scale_of(item).max for item in self.items}

    def _read_unmarked(self) -> Reading | None:
        for find in (unmarked_ratings, ratings_in_sentences):
            ratings, end = find(self.marked)
            if (
                end >= 0
                and not (self.cut and end >= len(self.marked.text))
                and (reading := self._reading_if_all_rated(ratings, end))
            ):
                return reading
        return None

    def _reading_if_all_rated(self, ratings: Reading, end: int) -> Reading | None:
        if not ratings.values or self._missing({**ratings.values, **ratings.undecided}):
            return None
        self.start = ratings.start or self.start
        self._check_ratings(ratings, self.start, end)
        return self._ratings_reading(ratings)

    def _check_ratings(self, ratings: Reading, start: int, end: int) -> None:
        lines, heading = self.marked.lines, start
        while (heading := lines.rfind("\n", 0, len(lines[:heading].rstrip())) + 1) and lines.startswith("|", heading):
            pass  # a table, up to the line above its titles
        check_scale(lines[heading:end], self._tops)
        check_rating_lines(self.marked.lines[start:end], ratings.values, self.names)
        check_following(self.marked.lines[end:], ratings.values, "rating", self.names)

    def _ratings_reading(self, ratings: Reading) -> Reading:
        unknown = ratings.unknown
        values = {item: ratings.values[item] for item in self.items if item in ratings.values and item not in self.open}
        if not values and self.open.keys() < set(self.items):
            reasons = [f"{self.names.written(item)}: {reason}" for item, reason in ratings.undecided.items()]
            outside = f"it names only {NOT_IN_CODEBOOK}: {quoted_names(unknown)}" if unknown else ""
            raise Unreadable(
                f"no dimension has a rating ({'; '.join(reasons[:5]) or outside or 'none is named'})", unknown
            )
        reasons_by_item = {**dict.fromkeys(self.items, "no rating given"), **ratings.undecided, **self.open}
        undecided = {item: reasons_by_item[item] for item in self.items if item not in values}
        missing = tuple(item for item, why in undecided.items() if item not in self.open and why != LEFT_OPEN)
        return Reading(values, undecided, unknown, missing=missing)
