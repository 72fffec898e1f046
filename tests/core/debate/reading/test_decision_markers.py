"""Tests of decision markers: searching line by line finds the same matches as searching the complete reply."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from core.codebook import Codebook, Label
from core.debate.reading import decision_markers
from core.debate.reading.marker_patterns import marker_patterns

UNIT = "hotel review"
PIECES = (
    "The aspects present in this hotel review are: #Food, #Pool", "Final Decision: The present aspects are: Food",
    "**Final decision**", "final ratings", "my ratings are:", "The label is Food", "Undecided: Food", "\\boxed{Food}",
    "I would go with Food", "This text is best labelled as Food", "Answer: Food", "the answer is = Food",
    "The present labels ", "are", "present:", "la respuesta es", "os aspectos são:", "words of 2 of 5 labels",
    '- #Food: "the label was torn" (food)', "“quoted", "”", "ſs", "ß", "İ", "\x0b", "\r", "\t", "> ", "- ", "1. ", " ",
    ":", ".",
)  # fmt: skip


@given(st.lists(st.one_of(st.sampled_from((*PIECES, "\n", "\n")), st.text(max_size=5)), max_size=14).map("".join))
def test_search_by_line_has_the_same_matches_as_a_search_in_the_reply(reply: str) -> None:
    marked = decision_markers.parse_markers(reply, Codebook(unit=UNIT, labels=(Label(name="Food"),)))
    expected = [
        (kind, match.end() - len(match.group().lstrip(" >#")), match.end())
        for kind, pattern, _ in marker_patterns(UNIT)
        for match in re.finditer(pattern, marked.lines)
    ]
    found, begin = [], 0
    for line in marked.lines.split("\n"):
        for weak in (True, False):
            in_line = decision_markers._markers_in_line(line, UNIT, weak)
            found += [(marker.kind, begin + marker.start, begin + marker.end) for marker in in_line]
        begin += len(line) + 1
    assert sorted(found) == sorted(expected)
