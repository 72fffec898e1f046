"""Find names of labels that are probably misspelt: rare ones that are like a frequent one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

MAX_MISSPELT = 5
"""Names that are shown."""
MISSPELLING_RATIO = 10
"""A name that may be misspelt is at least this many times rarer than the name that was meant."""
SIMILARITY = 0.8
"""Least similarity (difflib) of a misspelt name: 'Prcie' and 'Price' have it, 'Service' and 'Price' do not."""


def describe_misspelt(counts: Mapping[str, int]) -> str:
    """Return the rare names that are probably misspelt: "'staf' (1) for 'Staff' (38)"; empty for none."""
    pairs = [
        f"'{name}' ({count:,}) for '{meant}' ({counts[meant]:,})"
        for name, count in counts.items()
        if (
            meant := _probably_meant(
                name, [other for other in counts if counts[other] >= MISSPELLING_RATIO * max(count, 1)]
            )
        )
    ]
    more = [f"{len(pairs) - MAX_MISSPELT:,} more"] if len(pairs) > MAX_MISSPELT else []
    return ", ".join(pairs[:MAX_MISSPELT] + more)


def _probably_meant(name: str, names: Iterable[str]) -> str:
    """Return the name that a misspelt one probably stands for, empty if there is none.

    The first letter, the digits and words such as ``A`` and ``II`` are the same: 'stable' is not a misspelt 'unstable',
    nor 'Group 1' 'Group 2'. A part more at the end or inside makes another word, as in 'Asian' and 'interactive', but
    a doubled letter, e or s does not.
    """

    def marks(text: str) -> tuple[str, ...]:
        return tuple(_MARKS.findall(text.casefold()))

    folded = name.casefold()
    meant = {other.casefold(): other for other in names if marks(other) == marks(name)}
    similar = [other for other in meant if other[:1] == folded[:1] and not _has_a_part_more(folded, other)]
    near = difflib.get_close_matches(folded, similar, 1, SIMILARITY)
    return meant[near[0]] if near else ""


_MARKS = re.compile(r"\d|\b(?:\w|[ivx]+)\b")
"""Digits, words of one character, and Roman numerals."""


def _has_a_part_more(one: str, other: str) -> bool:
    """Return True if one name is the other plus an ending, or plus at least three letters inside.

    A doubled letter, e or s is not such an ending.
    """
    shorter, longer = sorted((one, other), key=len)
    if longer.startswith(shorter):
        return longer[len(shorter) :] not in (shorter[-1:], "e", "s")
    is_inside = any(longer.startswith(shorter[:at]) and longer.endswith(shorter[at:]) for at in range(1, len(shorter)))
    return is_inside and len(longer) - len(shorter) > 2
