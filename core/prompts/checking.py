"""What is wrong with a template before it is used: syntax, unknown variables, and what it no longer says. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from jinja2 import TemplateSyntaxError, nodes
from jinja2.meta import find_undeclared_variables

from core.prompts.rendering import environment, split

Weight: TypeAlias = Literal["error", "warning"]
LONGEST_TEMPLATE = 100_000


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in a line (0: in the whole). With an ``error`` the template cannot be used."""

    line: int
    message: str
    weight: Weight = "error"


def used(text: str, *, parts: bool = True) -> frozenset[str]:
    """The variables that a template takes from outside; empty for one that cannot be read."""
    try:
        bodies = [body for _, body in split(text)] if parts else [text]
        return frozenset().union(*(find_undeclared_variables(environment().parse(body)) for body in bodies))
    except (TemplateSyntaxError, RecursionError):
        return frozenset()


def check(
    text: str, known: Collection[str], *, wanted: Collection[str] = (), needed: Collection[str] = (), parts: bool = True
) -> tuple[Problem, ...]:
    """The problems of a template in the order of its lines.

    ``known`` are the variables there are; one of ``needed`` that is missing is an error, one of ``wanted`` a warning.
    Only its text is looked at: what comes up when it is filled in shows then.
    """
    if len(text) > LONGEST_TEMPLATE:
        return (Problem(0, f"a template may have {LONGEST_TEMPLATE:,} characters, this one has {len(text):,}"),)
    found: list[Problem] = []
    bodies = split(text) if parts else [("", text)]
    if parts and not any(speaker == "user" and body.strip() for speaker, body in bodies):
        found.append(Problem(0, "there is no '## user' part, or it is empty"))
    if parts and bodies and (before := text[: text.index("## ")].strip()):
        found.append(Problem(1, f"'{before[:40]}' stands before the first part and is not sent", "warning"))
    seen: set[str] = set()
    for _, body in bodies:
        try:
            tree = environment().parse(body)
            seen |= find_undeclared_variables(tree)
            found += _unknown(tree, find_undeclared_variables(tree) - set(known))
        except TemplateSyntaxError as error:
            found.append(Problem(error.lineno, error.message or "this cannot be read"))
        except RecursionError:
            found.append(Problem(0, "it is nested too deeply"))
    if not any(problem.weight == "error" for problem in found):
        found += [Problem(0, f"{{{{ {name} }}}} is missing") for name in needed if name not in seen]
        found += [
            Problem(0, f"{{{{ {name} }}}} is left out", "warning")
            for name in wanted
            if name not in seen and name not in needed
        ]
    return tuple(sorted(found, key=lambda problem: (problem.line == 0, problem.line)))


def _unknown(tree: nodes.Template, strangers: Collection[str]) -> Iterator[Problem]:
    told: set[tuple[str, int]] = set()
    for name in tree.find_all(nodes.Name):
        if name.name in strangers and (name.name, name.lineno) not in told:
            told.add((name.name, name.lineno))
            yield Problem(name.lineno, f"there is no variable '{name.name}'")
