"""Rendering of a template within limits, in this process or as a worker process.

This module imports only Jinja and the standard library: it is imported for the shipped templates and run as a separate
process for all others. The process reads one request per line and answers with one line, both JSON. It limits its own
memory and the processor time of each request. Its parent (``core.prompts.sandbox``) enforces the timeout.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import sys
from collections.abc import Mapping
from functools import lru_cache
from operator import is_
from typing import Any, TypeAlias

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment

Parts: TypeAlias = list[tuple[str, str]]
"""(role, text) in order; a template without parts has one entry with an empty role."""

CPU_SECONDS = 1.0
"""Processor time for rendering one template. The shipped ones take under a hundredth."""
MEMORY_BYTES = 512 * 1024 * 1024
MAX_CHARACTERS = 400_000
"""Characters of a prompt beyond its variables: a document may be long, a loop may not."""

PART = re.compile(r"^## (system|user)[ \t]*\n", re.MULTILINE)
"""The heading of a part of a template."""
_GLOBALS = ("range", "dict", "cycler", "joiner", "namespace")
_ABSENT = object()


class RenderError(Exception):
    """A template cannot be rendered: the reason, and the line (0 if no line is the cause)."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def render_parts(text: str, values: Mapping[str, Any], *, parts: bool) -> Parts:
    """Return the template's messages, or with ``parts`` False its whole text as one. Raises RenderError."""
    try:
        filled = [(part.role, part.render(values)) for part in _compiled(text, parts)]
    except TemplateSyntaxError as error:
        raise RenderError(f"{error.message}", error.lineno) from error
    except RecursionError as error:
        raise RenderError("it is nested too deeply") from error
    except MemoryError as error:
        raise RenderError("it grew beyond the memory that a prompt may take") from error
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise RenderError(str(error) or type(error).__name__, _line_of(error)) from error
    return [(role, content) for role, content in filled if content or not parts]


def split(text: str) -> list[tuple[str, str]]:
    """Return the parts of a template as (role, body).

    Each body keeps the line numbers of the file, so that errors name the right line.
    """
    matches = list(PART.finditer(text))
    ends = [match.start() for match in matches[1:]] + [len(text)] * bool(matches)
    return [
        (match[1], "\n" * text.count("\n", 0, match.end()) + text[match.end() : end])
        for match, end in zip(matches, ends, strict=True)
    ]


@lru_cache(maxsize=1)
def environment() -> ImmutableSandboxedEnvironment:
    """Return the Jinja environment: no Python attributes, no changes to values, no unknown variables."""
    env = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False
    )
    env.globals = {name: env.globals[name] for name in _GLOBALS}
    return env


class _Part:
    """A compiled part of a template, with its last text: most parts are the same for all documents of a run."""

    def __init__(self, role: str, body: str) -> None:
        self.role = role
        tree = environment().parse(body)
        self._names = tuple(find_undeclared_variables(tree))
        self._template = environment().from_string(tree)
        self._template.globals = dict(self._template.globals)  # Jinja copies them every time, and a ChainMap slowly
        self._last: tuple[list[Any], str] = ([self], "")

    def render(self, values: Mapping[str, Any]) -> str:
        """Return the text for these values: the last one if it was for the same objects, which nobody changes."""
        used = [values.get(name, _ABSENT) for name in self._names]
        last, text = self._last
        if len(used) != len(last) or not all(map(is_, used, last)):
            variables = {name: value for name, value in zip(self._names, used, strict=True) if value is not _ABSENT}
            text = _render_within(self._template, variables)
            if not any(isinstance(value, list | dict) for value in used):
                self._last = used, text
        return text


@lru_cache(maxsize=256)
def _compiled(text: str, parts: bool) -> list[_Part]:
    return [_Part(role, body) for role, body in (split(text) if parts else [("", text)])]


def _length(value: Any) -> int:
    """Return the number of characters of all texts in a value, in nested lists and mappings too."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(_length, value.values()))
    return sum(map(_length, value)) if isinstance(value, list | tuple) else 0


def _render_within(template: Template, values: Mapping[str, Any]) -> str:
    pieces, length, longest = [], 0, 0
    for piece in template.generate(values):
        length += len(piece)
        if length > MAX_CHARACTERS:
            longest = longest or MAX_CHARACTERS + _length(values)
            if length > longest:
                raise RenderError(f"it grew past {longest:,} characters")
        pieces.append(piece)
    return "".join(pieces).strip()


def _line_of(error: BaseException) -> int:
    """Return the template's line in which an error was raised; Jinja puts it into the traceback."""
    line, step = 0, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename in ("<template>", "<unknown>"):
            line = step.tb_lineno
        step = step.tb_next
    return line


# -- as a process of its own


def serve() -> None:
    """Answer requests until standard input ends."""
    _limit_memory()
    answers = sys.stdout.buffer
    sys.stdout = sys.stderr
    for line in sys.stdin.buffer:
        with _limit_time():
            answer = _answer(json.loads(line))
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"parts": render_parts(request["text"], request["values"], parts=request["parts"])}
    except RenderError as error:
        return {"error": error.message, "line": error.line}


def _limit_memory() -> None:
    if sys.platform != "win32":
        import resource

        for kind, limit in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
            with contextlib.suppress(OSError, ValueError):  # macOS does not limit the address space
                resource.setrlimit(kind, (limit, limit))


@contextlib.contextmanager
def _limit_time() -> Any:
    """Let the system kill the process when it has used its processor time, whatever Python is doing."""
    if sys.platform == "win32":
        yield
    else:
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)


if __name__ == "__main__":
    serve()
