"""JSON in a reply: bare, fenced or between sentences."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Any

_START = re.compile(r"\{(?=\s{0,200}[\"'}])|\[(?=\s{0,200}\{\s{0,200}[\"'])")
_KEY = re.compile(r"""["'](?:labels?|aspects?|ratings)["']\s{0,20}:""", re.IGNORECASE)
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*+"|[{}]|\n[^\S\n]*\n|\n[^\S\n]*```')
_BRACKETS = re.compile(r"[{\[]")
_LOOSE = re.compile(
    r"""("(?:[^"\\]|\\.)*+")                                           # JSON's own strings stay as they are
    |'((?:[^'\\]|\\.|'(?!\s*[:,}\]]))*+)'(?=\s*[:,}\]])                # in single quotes, apostrophes inside
    |\b(True|False|None)\b
    |,(?=\s*[}\]])                                                    # a comma after the last entry""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r"\\.|\"", re.DOTALL)
_REQUOTED = {'"': '\\"', "\\'": "'"}
_CONSTANTS = {"True": "true", "False": "false", "None": "null"}

# Bounds on what a reply full of braces can cost. A reply that exceeds them has no JSON worth the name.
_FAILURES = 500
_REGION = 20_000
_SHORT = 2_000
_DEPTH_SKIPPED = 500
_WRAPPERS = 3


@dataclass(frozen=True, slots=True)
class Block:
    """A JSON object, or an array of objects, from ``start`` to ``end``. ``error`` says why ``data`` is unreadable."""

    start: int
    end: int
    data: Any = None
    error: str = ""


def find_json_blocks(text: str) -> tuple[tuple[Block, ...], int]:
    """Return the outermost JSON values in order, and the start of JSON that the text's end cuts off (-1 if none).

    An object may be written as in Python or JavaScript: with single quotes, a comma after the last entry, True for
    true. An unreadable object with a decision's key is a block with an error, up to its closing brace or the next blank
    line, so that a part of it is never taken for the whole. Without such a key it is prose and skipped.
    """
    blocks: list[Block] = []
    keys = [match.start() for match in _KEY.finditer(text)]
    written = len(text.rstrip())
    position, failures, unclosed = 0, 0, -1
    while match := _START.search(text, position):
        start = match.start()
        if failures > _FAILURES:
            if keys and keys[-1] > start:
                blocks.append(Block(start, len(text), error="too many braces"))
            break
        try:
            data, position = _DECODER.raw_decode(text, start)
            blocks.append(Block(start, position, data))
            continue
        except RecursionError:
            error, stop = "nested too deeply", _skip_brackets(text, start)
        except json.JSONDecodeError as failure:
            error, stop = f"{failure.msg} at its character {failure.pos - start + 1}", max(failure.pos, start + 1)
            if failure.msg.startswith("Unterminated") or failure.pos >= written:
                unclosed = start
        failures += 1
        end = _region_end(text, start) if keys and keys[-1] > start else start
        if bisect_right(keys, start) < bisect_left(keys, end):
            loose = _parse_loose(text[start:end])
            position = end if loose is not None else max(end, stop)
            blocks.append(Block(start, position, loose, error="" if loose is not None else error))
        else:
            loose = _parse_loose(text[start : _region_end(text, start, _SHORT)])
            position = stop
            if loose is not None:
                position = _region_end(text, start, _SHORT)
                blocks.append(Block(start, position, loose))
    return tuple(blocks), unclosed


def _parse_loose(written: str) -> dict[str, Any] | None:
    """Return the object for the unambiguous forms beside JSON; None for anything else."""
    try:
        data = _DECODER.decode(_LOOSE.sub(_as_json, written))
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _as_json(token: re.Match[str]) -> str:
    string, single, constant = token.groups()
    if single is not None:
        inside = _ESCAPED.sub(lambda part: _REQUOTED.get(part[0], part[0]), single)
        return f'"{inside}"'
    return string or _CONSTANTS.get(constant, "")


def _region_end(text: str, start: int, longest: int = _REGION) -> int:
    """Return the end of a broken object: the balancing brace, or a blank line or fence before it."""
    depth, limit = 0, min(len(text), start + longest)
    for token in _TOKEN.finditer(text, start, limit):
        match token.group()[0]:
            case "{":
                depth += 1
            case "}":
                depth -= 1
                if depth == 0:
                    return token.end()
            case "\n":
                return token.start()
    return limit


def _skip_brackets(text: str, start: int) -> int:
    """Return a position past as many brackets as any stack is deep, so that deeper nesting is skipped in steps."""
    end = start + 1
    for _, bracket in zip(range(_DEPTH_SKIPPED), _BRACKETS.finditer(text, start), strict=False):
        end = bracket.end()
    return end


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) < 16 else float(digits)


_DECODER = json.JSONDecoder(strict=False, parse_int=_integer)


def entry_name(entry: Any) -> str | int | float | None:
    """Return the name in a list's entry: the entry itself or its ``label``, ``name``, ``aspect`` or ``dimension``."""
    if isinstance(entry, dict):
        entry = next((entry[key] for key in ("label", "name", "aspect", "dimension") if key in entry), None)
    return entry if isinstance(entry, str | int | float) and not isinstance(entry, bool) else None


def lookup(data: Any, *keys: str) -> Any:
    """Return the value of the first of ``keys`` that an object has, or None; keys are compared without case.

    An array of objects counts as the value of ``labels``. In an object that only wraps another one, the inner object is
    searched.
    """
    for _ in range(_WRAPPERS):
        if isinstance(data, list):
            return data if "labels" in keys and any(isinstance(entry, dict) for entry in data) else None
        if not isinstance(data, dict):
            return None
        folded = {key.strip().casefold(): value for key, value in data.items()}
        for key in keys:
            if folded.get(key) is not None:
                return folded[key]
        inner = [value for value in folded.values() if isinstance(value, dict)]
        if len(inner) != 1 or any(key in folded for key in keys):
            return None
        data = inner[0]
    return None
