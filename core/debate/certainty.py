"""Certainty of a decision: the probability that the model gave to the words that state it. Pure; never raises."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping

from core.codebook import CHOICE_ITEM, Codebook
from core.debate.reading.label_names import names_of
from core.debate.turns import Reading, Reply

_ANSWER = re.compile(
    r"[\s\"'*_`\]]*+(?:[:=|→—–-]|\bis\b)[\s\"'*_`]*+"
    r"(?P<answer>(?:not )?(?:present|mentioned)|yes|no|true|false|absent|[+\-−–]?\d+(?:\.\d+)?)\b",
    re.IGNORECASE,
)


def certainties(reply: Reply, reading: Reading, codebook: Codebook) -> Mapping[str, float]:
    """Return the certainty (0 to 1) of each decided item whose words have log probabilities.

    It is the product of the probabilities of the tokens that state the item: the yes, no or number after the label's
    name if there is one, otherwise the name. These are the first after the start of the decision. A label that is
    absent because it is not named has no certainty; without log probabilities no item has one.
    """
    if not reply.token_logprobs:
        return {}
    starts = [start for start, _ in reply.token_logprobs]
    name_spans: dict[str, tuple[int, int]] = {}
    for mention in names_of(codebook).mentions(reply.text[reading.start :]):
        name_spans.setdefault(mention.item, (reading.start + mention.start, reading.start + mention.end))
    probabilities = {}
    for item, value in reading.values.items():
        span = name_spans.get(str(value) if item == CHOICE_ITEM else item)
        if item == CHOICE_ITEM:
            span = span or _code(reply.text, reading.start, str(value), codebook)
        elif span and (answer := _ANSWER.match(reply.text, span[1])):
            span = answer.span("answer")
        elif value is not True:
            span = None  # a name alone only marks a present label
        if span is not None:
            first, last = bisect_right(starts, span[0]) - 1, bisect_left(starts, span[1])
            total = sum(logprob for _, logprob in reply.token_logprobs[max(first, 0) : last])
            probabilities[item] = float(f"{min(1.0, math.exp(total)):.4g}")
    return probabilities


def _code(text: str, start: int, item: str, codebook: Codebook) -> tuple[int, int] | None:
    """Return where the code of a chosen label is."""
    code = next((label.code for label in codebook.labels if label.id == item), None)
    match = re.compile(rf"(?<![\w.-]){code:g}(?!\w|\.\w)").search(text, start) if code is not None else None
    return match.span() if match else None
