"""Filling a template in, within limits. Stands alone (Jinja and the standard library): it is imported for the shipped
templates and run as a process of its own for all others.

The process reads one request a line and answers with one line, both JSON. It bounds its own memory, and the processor
time of each request; whoever started it bounds the time on the clock and ends it (``core.prompts.isolation``).
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

Parts: TypeAlias = list[tuple[str, str]]
"""(speaker, text) in order; a template without parts has one, whose speaker is empty."""

CPU_SECONDS = 1.0
"""Processor time that filling in one template may take. Ours take under a hundredth."""
MEMORY_BYTES = 512 * 1024 * 1024
LONGEST = 400_000
"""Characters that one prompt may have beyond those that it is given: a document may be long, a loop must not be."""

_PART = re.compile(r"^## (system|user)[ \t]*\n", re.MULTILINE)
_GLOBALS = ("range", "dict", "cycler", "joiner", "namespace")


class Trouble(Exception):
    """Why a template could not be filled in, and in which line (0 where no line is to blame)."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def fill(text: str, values: Mapping[str, Any], *, parts: bool) -> Parts:
    """The template's messages, or with ``parts`` False its whole text as one. Raises Trouble."""
    try:
        pieces = _compiled(text, parts)
        longest = LONGEST + _length(values)
        filled = [(speaker, _written(piece, values, longest)) for speaker, piece in pieces]
    except TemplateSyntaxError as error:
        raise Trouble(f"{error.message}", error.lineno) from error
    except RecursionError as error:
        raise Trouble("it is nested too deeply") from error
    except MemoryError as error:
        raise Trouble("it grew beyond the memory that a prompt may take") from error
    except Trouble:
        raise
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise Trouble(str(error) or type(error).__name__, _line_of(error)) from error
    return [(speaker, said) for speaker, said in filled if said or not parts]


def split(text: str) -> list[tuple[str, str]]:
    """The parts of a template as (speaker, body), each body on the lines that it has in the file: line numbers in what
    goes wrong are the file's."""
    found = list(_PART.finditer(text))
    ends = [match.start() for match in found[1:]] + [len(text)] * bool(found)
    return [
        (match[1], "\n" * text.count("\n", 0, match.end()) + text[match.end() : end])
        for match, end in zip(found, ends, strict=True)
    ]


@lru_cache(maxsize=1)
def environment() -> ImmutableSandboxedEnvironment:
    """Where templates are compiled: no attribute of Python's own, no change to a value, no unknown variable."""
    made = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False
    )
    made.globals = {name: made.globals[name] for name in _GLOBALS}
    return made


@lru_cache(maxsize=256)
def _compiled(text: str, parts: bool) -> list[tuple[str, Template]]:
    pieces = split(text) if parts else [("", text)]
    return [(speaker, environment().from_string(body)) for speaker, body in pieces]


def _length(value: Any) -> int:
    """The characters of all texts in a value, however deep in lists and mappings."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(_length, value.values()))
    return sum(map(_length, value)) if isinstance(value, list | tuple) else 0


def _written(template: Template, values: Mapping[str, Any], longest: int) -> str:
    pieces, length = [], 0
    for piece in template.generate(values):
        length += len(piece)
        if length > longest:
            raise Trouble(f"it grew past {longest:,} characters")
        pieces.append(piece)
    return "".join(pieces).strip()


def _line_of(error: BaseException) -> int:
    """The template's line in which an error came up: Jinja puts it into the traceback."""
    line, step = 0, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename in ("<template>", "<unknown>"):
            line = step.tb_lineno
        step = step.tb_next
    return line


# -- as a process of its own


def serve() -> None:
    """Answer requests until standard input ends."""
    _bound_memory()
    answers = sys.stdout.buffer
    sys.stdout = sys.stderr
    for line in sys.stdin.buffer:
        with _bound_time():
            answer = _answer(json.loads(line))
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"parts": fill(request["text"], request["values"], parts=request["parts"])}
    except Trouble as trouble:
        return {"trouble": trouble.message, "line": trouble.line}


def _bound_memory() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):  # not every system knows these bounds
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@contextlib.contextmanager
def _bound_time() -> Any:
    """The system ends the process when it has worked too long, whatever Python is busy with just then."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


if __name__ == "__main__":
    serve()
