"""JSON in a reply: bare, fenced or between sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_START = re.compile(r"\{(?=\s{0,200}(?:[\"'}\w]|//))|\[(?=\s{0,200}\{\s{0,200}[\"'])")
_KEY = re.compile(r"""["']?\b(?:labels?|aspects?|ratings)["']?\s{0,20}:""", re.IGNORECASE)
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*+(?:"|(?P<unclosed>))|[{}\[\]]|\n[^\S\n]*\n|\n[^\S\n]*```')
_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*+")|(?:(?<=\s)|(?<=[,{}\[\]]))(?://([^\n]*)|/\*(.*?)\*/)', re.DOTALL)
_OPENING = re.compile(r"[{\[]")
_BRACKET = re.compile(r"[{}\[\]]")
_WORD = re.compile(r"\w+")
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)

# Bounds on the work for a reply full of braces. A reply that exceeds them has no JSON worth reading.
_FAILURES = 500
_REPAIRS = 5
_REPAIRED_CHARACTERS = 8_000
_REPAIRED_BRACKETS = 400
_REGION = 10_000
DEPTH = 3
"""Objects inside each other in which a decision is searched."""


@dataclass(frozen=True, slots=True)
class Block:
    """A JSON object, or an array of objects, from ``start`` to ``end``.

    ``error`` is the reason why ``data`` is unreadable; ``comments`` are those after ``//`` or in ``/* */``.
    """

    start: int
    end: int
    data: Any = None
    error: str = ""
    comments: str = ""


class _Ambiguous(ValueError):
    """An object with one key twice."""


def find_json_blocks(text: str) -> tuple[tuple[Block, ...], int]:
    """Return the outermost JSON values in order, and the start of JSON that the text's end cuts off (-1 if none).

    Broken JSON is repaired by ``json_repair`` if all brackets are closed and the repair keeps every word. An unreadable
    object with a decision's key is a block with an error, up to its closing brace or the next blank line, so that a
    part of it is never taken for the whole. Without such a key it is prose and skipped.
    """
    if "{" not in text and "[" not in text:
        return (), -1
    blocks: list[Block] = []
    keys = [match.start() for match in _KEY.finditer(text)]
    text_end = len(text.rstrip())
    position, failures, repairs, unclosed = 0, 0, 0, -1
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
            error, stop = "nested too deeply", _region(text, start)[0]
        except _Ambiguous as failure:
            error, stop = str(failure), start + 1
        except json.JSONDecodeError as failure:
            error, stop = f"{failure.msg} at its character {failure.pos - start + 1}", max(failure.pos, start + 1)
            if failure.msg.startswith("Unterminated") or failure.pos >= text_end:
                unclosed = start
        failures += 1
        end, closed = _region(text, start)
        repaired, comments = None, ""
        if closed and repairs < _REPAIRS and ":" in text[start:end]:
            comments = " ".join(
                (comment[2] or comment[3] or "").strip() for comment in _COMMENT.finditer(text, start, end)
            )
            repaired = _repair(_COMMENT.sub(r"\1", text[start:end]))
            repairs += 1
        if repaired is not None:
            blocks.append(Block(start, end, repaired, comments=comments))
            position = end
        elif any(start < key < end for key in keys):
            blocks.append(Block(start, max(end, stop), error=error))
            position = max(end, stop)
        else:
            position = stop
    return tuple(blocks), unclosed


def last_json(text: str, *keys: str) -> Any:
    """Return the last JSON value that can be read; with ``keys``, the last object with one of them. None without."""
    values = [block.data for block in find_json_blocks(text)[0] if not block.error]
    if keys:
        values = [value for value in values if isinstance(value, dict) and not value.keys().isdisjoint(keys)]
    return values[-1] if values else None


def _repair(source: str) -> Any:
    """Return the data of a broken object, None if the repair would add, drop or reorder any word."""
    import json_repair

    if len(source) > _REPAIRED_CHARACTERS or len(_OPENING.findall(source)) > _REPAIRED_BRACKETS:
        return None
    try:
        data: Any = json_repair.loads(source)
        repaired = json.dumps(data, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    return data if _words(repaired) == _words(source) else None


def _words(text: str) -> list[str]:
    constants = {"none": "null"}
    return [constants.get(word, word) for word in _WORD.findall(_ESCAPE.sub(" ", text).casefold())]


def _region(text: str, start: int) -> tuple[int, bool]:
    """Return the end of a broken object, and True if that is its closing bracket and not a blank line or a fence."""
    opened: list[str] = []
    limit = min(len(text), start + _REGION)
    for token in _tokens(text, start, limit):
        match token.group()[0]:
            case "{" | "[":
                opened.append(token.group())
            case "}" | "]":
                if opened.pop() != {"}": "{", "]": "["}[token.group()]:
                    return token.end(), False
                if not opened:
                    return token.end(), True
            case "\n":
                return token.start(), False
    return limit, False


def _tokens(text: str, start: int, limit: int) -> Iterator[re.Match[str]]:
    """Yield the tokens of a broken object. A string that its line does not close is only a quotation mark."""
    for token in _TOKEN.finditer(text, start, limit):
        if token.lastgroup == "unclosed":
            yield from _BRACKET.finditer(text, token.start(), token.end())
        else:
            yield token


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) < 16 else float(digits)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    for key, value in pairs:
        if data[key] != value:
            raise _Ambiguous(f'the key "{key[:80]}" occurs twice')
    return data


_DECODER = json.JSONDecoder(strict=False, parse_int=_integer, object_pairs_hook=_unique)


def entry_name(entry: Any) -> str | int | float | None:
    """Return the name in a list's entry: the entry itself or its ``label``, ``name``, ``aspect`` or ``dimension``."""
    if isinstance(entry, dict):
        entry = next((entry[key] for key in ("label", "name", "aspect", "dimension") if key in entry), None)
    return entry if isinstance(entry, str | int | float) and not isinstance(entry, bool) else None


def entries(value: Any) -> list[tuple[Any, Any]]:
    """Return (name, its value) for an object {name: ...}, for a list of names or objects, or for one name."""
    if isinstance(value, dict) and entry_name(value) is None:
        return list(value.items())
    elements = value if isinstance(value, list) else [] if value is None else [value]
    pairs = ((entry_name(entry), entry) for entry in elements)
    return [(entry if name is None else name, entry if isinstance(entry, dict) else True) for name, entry in pairs]


def lookup(data: Any, *keys: str) -> Any:
    """Return the value of the first of ``keys`` that an object has, or None; keys are compared without case.

    An array of objects counts as the value of ``labels``. In an object that only wraps another one, the inner object is
    searched.
    """
    if isinstance(data, list):
        return data if "labels" in keys else None
    for wrapped in nested(data):
        folded = {key.strip().casefold(): value for key, value in wrapped.items()}
        for key in keys:
            if folded.get(key) is not None:
                return folded[key]
        if any(key in folded for key in keys):
            return None
    return None


def nested(data: Any) -> Iterator[dict[str, Any]]:
    """Yield an object and the objects that it only wraps: {"result": {"labels": ["A"]}}."""
    for _ in range(DEPTH):
        if not isinstance(data, dict):
            return
        yield data
        inner = [value for value in data.values() if isinstance(value, dict)]
        data = inner[0] if len(inner) == 1 else None
