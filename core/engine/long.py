"""Documents that do not fit into a model's context: cut to what fits, or left to a person. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from core.debate.turns import Verdict
from core.documents import Document

MOST_CUTS = 6
"""Tries to make a document fit, each shorter than the one before."""

MARGIN = 0.92
"""What is kept of the share that should fit: prompts hold more than the document, and later roles hear more."""

HALF = 0.5
"""The share that is kept when the server does not say how much would fit."""

_SHORTEST = 200
"""Characters below which there is nothing left to cut."""

_NUMBER = re.compile(r"\d{2,9}")
_CONTEXT = re.compile(
    r"(?:context|maximum|length|size|limit|allowed)\D{0,40}?(\d{2,9})|(\d{2,9})\s(?:tokens\s)?(?:maximum|max|limit)",
    re.IGNORECASE,
)


def share_that_fits(message: str) -> float:
    """The share of a prompt that would fit by a server's words: its context over what was asked for, with a margin. A
    half where the words do not hold two such numbers. Between 0.1 and ``MARGIN``."""
    words = message.partition(": ")[2] or message  # without the names of connection and model
    context = _CONTEXT.search(words)
    asked = max((int(number) for number in _NUMBER.findall(words)), default=0)
    most = int(context[1] or context[2]) if context is not None else 0
    return min(MARGIN, max(0.1, most / asked * MARGIN)) if 0 < most < asked else HALF


def shortened(document: Document, message: str) -> Document | None:
    """The document with the longest of its texts cut at its end to what the server's message leaves room for; None when
    there is nothing to cut. What is kept stands where it stood, so that evidence still points into the whole."""
    fields: Mapping[str, str] = document.fields
    name = max(fields, key=lambda one: len(fields[one]))
    text = fields[name]
    keep = int(len(text) * share_that_fits(message))
    if keep < _SHORTEST:
        return None
    return replace(document, fields={**fields, name: text[:keep]})


def note_of_cut(whole: Document, cut: Document) -> str:
    """What a reader should know of a verdict on a document that was cut."""
    before = sum(map(len, whole.fields.values()))
    after = sum(map(len, cut.fields.values()))
    return f"the text was cut to its first {after:,} of {before:,} characters, to fit the model's context"


def skipped(verdict: Verdict) -> Verdict:
    """The verdict on a document that is left to a person: nothing failed, and nothing was decided."""
    reason = "too long for the model's context: skipped, as this run was told to"
    return replace(verdict, fault=None, reasons=dict.fromkeys(verdict.values, reason))
