"""Checks of a template before use: syntax, unknown variables, and missing variables. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from jinja2 import TemplateSyntaxError, nodes
from jinja2.compiler import Frame
from jinja2.meta import TrackingCodeGenerator

from core.prompts.rendering import PART, environment, split

Severity: TypeAlias = Literal["error", "warning"]
MAX_TEMPLATE_CHARACTERS = 100_000
MAX_PARTS = 50


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem in a line of a template (0: the whole template). With an ``error`` the template cannot be used."""

    line: int
    message: str
    severity: Severity = "error"


class _VariableFinder(TrackingCodeGenerator):
    """Finder of the variables of a template without computing its constants, such as ``9 ** 9 ** 9``."""

    def __init__(self) -> None:
        super().__init__(environment())
        self.optimizer = None

    def _output_child_to_const(self, *_child: object) -> str:
        raise nodes.Impossible

    def visit_EvalContextModifier(self, node: nodes.EvalContextModifier, frame: Frame) -> None:
        for keyword in node.options:
            self.visit(keyword.value, frame)


def _undeclared_variables(tree: nodes.Template) -> set[str]:
    finder = _VariableFinder()
    finder.visit(tree)
    return finder.undeclared_identifiers


@lru_cache(maxsize=256)
def used_variables(text: str, *, parts: bool = True) -> frozenset[str]:
    """Return the variables that a template uses; empty for an unreadable template."""
    try:
        bodies = [body for _, body in split(text)] if parts else [text]
        return frozenset().union(*(_undeclared_variables(environment().parse(body)) for body in bodies))
    except (TemplateSyntaxError, RecursionError):
        return frozenset()


def check(
    text: str,
    variables: Collection[str],
    *,
    wanted: Collection[str] = (),
    needed: Collection[str] = (),
    parts: bool = True,
) -> tuple[Problem, ...]:
    """Return the problems of a template in the order of its lines.

    ``variables`` are the existing ones. A missing variable of ``needed`` is an error, one of ``wanted`` a warning.
    Only the text is checked; problems that depend on values show when the template is rendered.
    """
    if len(text) > MAX_TEMPLATE_CHARACTERS:
        return (Problem(0, f"a template may have {MAX_TEMPLATE_CHARACTERS:,} characters, this one has {len(text):,}"),)
    problems: list[Problem] = []
    bodies = split(text) if parts else [("", text)]
    if len(bodies) > MAX_PARTS:
        return (Problem(0, f"a template may have {MAX_PARTS} parts, this one has {len(bodies):,}"),)
    if parts and not any(speaker == "user" and body.strip() for speaker, body in bodies):
        problems.append(Problem(0, "the '## user' part is missing or empty"))
    if parts and bodies and (before := PART.split(text, maxsplit=1)[0].strip()):
        problems.append(Problem(1, f"'{before[:40]}' stands before the first part and is not sent", "warning"))
    mentioned: set[str] = set()
    for _, body in bodies:
        used, found = _check_body(body, variables)
        mentioned |= used
        problems += found
    if not any(problem.severity == "error" for problem in problems):
        problems += [Problem(0, f"{{{{ {name} }}}} is missing") for name in needed if name not in mentioned]
        problems += [
            Problem(0, f"{{{{ {name} }}}} is left out", "warning")
            for name in wanted
            if name not in mentioned and name not in needed
        ]
    return tuple(sorted(problems, key=lambda problem: (problem.line == 0, problem.line)))


def _check_body(body: str, variables: Collection[str]) -> tuple[Set[str], list[Problem]]:
    """Return the variables that a part uses, and its problems; no variables of a part that cannot be read."""
    try:
        tree = environment().parse(body)
        used = _undeclared_variables(tree)
        return used, list(_unknown_variables(tree, used - set(variables)))
    except TemplateSyntaxError as error:
        return set(), [Problem(error.lineno, (error.message or "this cannot be read").removesuffix("."))]
    except RecursionError:
        return set(), [Problem(0, "it is nested too deeply")]
    except ValueError:
        return set(), [Problem(0, "a number is too long")]


def _unknown_variables(tree: nodes.Template, unknown: Collection[str]) -> Iterator[Problem]:
    seen: set[tuple[str, int]] = set()
    for name in tree.find_all(nodes.Name):
        if name.name in unknown and (name.name, name.lineno) not in seen:
            seen.add((name.name, name.lineno))
            yield Problem(name.lineno, f"the variable '{name.name}' does not exist")
