"""What is said of one label: yes, no, or neither plainly."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

from core.debate.reading.normalise import fold

Answer: TypeAlias = Literal["yes", "no", "open"]

_SPOKEN = re.compile(
    r"""(?:[\s*_`"'“”‘’«»(]|\[(?![\ x]?\]))*+(?:
        (?P<yes>(?:yes|true|present|mentioned|discussed|applies|applicable|included|1|y(?=\W*$))\b|[✓✔✅☑]|\[x\])
        |(?P<no>(?:no|false|absent|0|not\ (?:present|mentioned|discussed|addressed|applicable|included)|n(?=\W*$)
            |does\ not\ apply)\b|[✗✘❌☐]|\[\ ?\])
        |(?P<open>(?:undecided|unclear|unsure|uncertain|unknown|null|n/?a|maybe|perhaps|possibly|partly|partially)\b|\?)
    )[\s*_`"'“”‘’«»)\]]*+(?P<rest>$|[,;(—\[].*+|(?<=\s)[–-]\s.*+|[.:!](?:\s.*+)?$|(?<=\s)(?:in|because|as|since)\b.*+)""",
    re.VERBOSE | re.DOTALL,
)
_TAKEN_BACK = re.compile(
    r"[\s.,;:(\[–—-]*+(?:but|though|although|however|yet|unless|if|or|maybe|perhaps|possibly|probably|likely|partly"
    r"|partially|arguably|weakly|only|yes|no|n|y|\?)(?:\W|$)"
    r"|.*\b(?:reject(?:ed)?|dismiss(?:ed)?|disagree|borderline|impl(?:ied|icit|icitly)|indirectly|not sure|unsure"
    r"|unclear)\b"
)
_KEYS = ("present", "answer", "value", "decision", "verdict", "status", "applies", "applicable", "mentioned")


def answer_in(words: str) -> Answer | None:
    """Return the answer of words, with an optional remark: "yes", "Present (twice)", "no. Never"."""
    match = _SPOKEN.match(fold(words[:300]).text.strip())
    if match is None:
        return None
    if match["open"] or _TAKEN_BACK.match(match["rest"]):
        return "open"
    return "yes" if match["yes"] else "no"


def answer_of(value: Any) -> Answer | None:
    """Return the answer of a JSON value; None if there is none.

    An answer is a boolean, 1 or 0, words such as yes, null for open, or an object that has one of these under
    ``present``, ``answer`` and the like.
    """
    if isinstance(value, dict):
        folded = {key.strip().casefold(): said for key, said in value.items()}
        told = [answer_of(folded[key]) for key in _KEYS if key in folded and not isinstance(folded[key], dict)]
        # Two keys that say different things say nothing; words under one that are no answer are a remark.
        said = {answer for answer in told if answer is not None}
        return said.pop() if len(said) == 1 else None
    if value is None:
        return "open"
    if isinstance(value, bool | int | float):
        return "yes" if value == 1 else "no" if value == 0 else None
    return answer_in(value) if isinstance(value, str) else None
