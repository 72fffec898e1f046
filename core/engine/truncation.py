"""Documents that exceed a model's context: truncate them, or give them a verdict with that reason."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from core.debate.turns import ReplyError, Verdict
from core.documents import Document
from core.errors import ContextTooLong
from core.formatting import join_names

MAX_CUTS = 6
"""Attempts to make a document fit, each shorter than the one before."""

MARGIN = 0.92
"""Part of the fitting share that is kept: tokens are estimated from characters, and later prompts are longer."""

DEFAULT_SHARE = 0.5
"""Share of a text that is kept if the server does not report how much fits."""

_MIN_SHARE = 0.1
"""Smallest share of a text that is kept at once, because some texts have more tokens per character than the rest."""

_MIN_CHARACTERS = 200
"""Shortest text in characters; a shorter one is not cut."""

_NUMBER = re.compile(r"\d{2,9}")
_UNCOUNTED = re.compile(r"\bat least \d", re.IGNORECASE)
"""The requested tokens in the message of a server that counts no further than its context, as vLLM does."""
_CONTEXT = re.compile(
    r"(?:context|maximum|length|size|limit|allowed)\D{0,40}?(\d{2,9})|(\d{2,9})\s(?:tokens\s)?(?:maximum|max|limit)",
    re.IGNORECASE,
)


def share_that_fits(message: str) -> float | None:
    """Return the share of a prompt that fits: context over requested tokens, with a margin; None if not stated."""
    words = message.partition(": ")[2] or message  # without the names of connection and model
    if _UNCOUNTED.search(words):
        return None
    context = _CONTEXT.search(words)
    requested = max((int(number) for number in _NUMBER.findall(words)), default=0)
    limit = int(context[1] or context[2]) if context is not None else 0
    return limit / requested * MARGIN if 0 < limit < requested else None


def truncate(document: Document, message: str, prompt_characters: int) -> Document | None:
    """Return the document with its longest text cut at the end to fit, None if the text is too short to cut.

    ``prompt_characters`` is the length of the prompt that did not fit. Its other parts are not cut. The rest of the
    text keeps its offsets, so that evidence still points into the whole document.
    """
    fields: Mapping[str, str] = document.fields
    name = max(fields, key=lambda field: len(fields[field]))
    text = fields[name]
    share = share_that_fits(message)
    excess = len(text) * (1 - DEFAULT_SHARE) if share is None else prompt_characters * (1 - share)
    keep = int(max(len(text) - excess, len(text) * _MIN_SHARE))
    if keep < _MIN_CHARACTERS:
        return None
    return replace(document, fields={**fields, name: text[:keep]})


def describe_cut(document: Document, shorter: Document) -> str:
    """Return the note for a verdict on a truncated document, which names the fields that were cut if it has several."""
    names = {name: f"'{name}'" if len(document.fields) > 1 else "the text" for name in document.fields}
    cuts = [
        f"{names[name]} was cut to its first {len(shorter.fields[name]):,} of {len(text):,} characters"
        for name, text in document.fields.items()
        if len(shorter.fields[name]) < len(text)
    ]
    return f"{join_names(cuts)}, to fit the model's context"


def too_long_verdict(verdict: Verdict, error: ReplyError) -> Verdict:
    """Return the failed verdict on a document that does not fit even if it is cut, with the remedy for this case."""
    remedy = "Cutting the text is not enough. Shorten the codebook, or choose a model with more context."
    message = error.message.replace(ContextTooLong.advice, remedy)
    return replace(verdict, error=replace(error, message=message), reasons=dict.fromkeys(verdict.reasons, message))


def skipped_verdict(verdict: Verdict) -> Verdict:
    """Return an unresolved verdict for a document that is left to a person."""
    reason = "too long for the model's context: skipped, as set for this run"
    return replace(verdict, error=None, reasons=dict.fromkeys(verdict.values, reason))
