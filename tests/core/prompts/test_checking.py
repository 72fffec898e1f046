"""Tests of the problems found in a template, with their lines."""

from __future__ import annotations

import subprocess
import sys

from core.prompts.checking import MAX_TEMPLATE_CHARACTERS, check, used_variables
from tests.each_row import each_row

KNOWN = ("document", "unit", "extraction")
HEAD = "## system\nYou label a {{ unit }}.\n\n## user\n"


def problems_of(text: str) -> list[tuple[int, str, str]]:
    result = check(text, KNOWN, wanted=("extraction",), needed=("document",))
    return [(problem.line, problem.severity, problem.message) for problem in result]


@each_row(
    ("text", "problems"),
    [
        (HEAD + "{{ document }} {{ extraction }}", []),
        (HEAD + "{{ document }}", [(0, "warning", "{{ extraction }} is left out")]),
        (HEAD + "{{ extraction }}", [(0, "error", "{{ document }} is missing")]),
        (HEAD + "x\n{{ document }} {{ dokument }}", [(6, "error", "the variable 'dokument' does not exist")]),
        (HEAD + "{{ document }}\n{% if unit %}", [(6, "error", "Unexpected end of template")]),
        (HEAD + "{% set x = unit %}{{ x }}{{ document }}{{ extraction }}", []),
        ("## system\n{{ unit }}", [(0, "error", "the '## user' part is missing or empty")]),
        ("Hello\n" + HEAD + "{{ document }}{{ extraction }}", [(1, "warning", "'Hello' stands before the first part")]),
        ("### A title\n" + HEAD + "{{ document }}{{ extraction }}", [(1, "warning", "'### A title' stands before")]),
        ("x" * (MAX_TEMPLATE_CHARACTERS + 1), [(0, "error", "a template may have 100,000 characters")]),
    ],
)
def test_problems_are_reported_with_their_lines(text: str, problems: list[tuple[int, str, str]]) -> None:
    result = problems_of(text)
    assert [(line, weight) for line, weight, _ in result] == [(line, weight) for line, weight, _ in problems]
    assert all(message.startswith(start) for (_, _, message), (_, _, start) in zip(result, problems, strict=True))


def test_unknown_variable_is_reported_once_per_line() -> None:
    assert [line for line, _, _ in problems_of(HEAD + "{{ a }}{{ a }}\n{{ a }}\n{{ b }}")] == [5, 6, 7]


def test_used_variables_are_listed() -> None:
    assert used_variables(HEAD + "{% for x in labels %}{{ x }}{% endfor %}{{ document }}") == {
        "unit",
        "labels",
        "document",
    }
    assert used_variables("{{ broken") == frozenset()
    assert used_variables("{{ problem }}", parts=False) == {"problem"}


def test_constants_of_a_hostile_template_are_not_computed() -> None:
    endless = "9 ** (9 ** 9)"
    bodies = [
        f"{{{{ {endless} }}}}",
        f"{{{{ 'x' | center({endless}) }}}}",
        f"{{{{ 1 if {endless} else 2 }}}}",
        f"{{% autoescape {endless} %}}{{% endautoescape %}}",
    ]
    script = f"from core.prompts.checking import check; [check('## user' + chr(10) + body, []) for body in {bodies}]"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=20)


@each_row(
    ("text", "message"),
    [
        ("## user\n{{ " + "9" * 5000 + " }}", "a number is too long"),
        ("## user\nx\n" * 8000, "a template may have 50 parts, this one has 8,000"),
    ],
)
def test_template_that_takes_too_long_to_read_is_an_error(text: str, message: str) -> None:
    assert [problem.message for problem in check(text, [])] == [message]
