"""Tests of the sandbox for edited templates: hostile templates are stopped, others are rendered."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from core import prompts
from core.codebook import Codebook, Label
from core.documents import Document
from core.errors import PromptError
from core.prompts import sandbox
from core.runs import Template
from tests.each_row import each_row

BOOK = Codebook(unit="review", labels=(Label(name="Price", include=("cheap",)), Label(name="Food")))
VALUES = prompts.variables(BOOK, Document("1", {"text": "cheap soup, \ud800 and «more»"}))


def render(text: str) -> str:
    (message,) = prompts.render(Template(name="ecj/judge.v1", text=f"## user\n{text}"), VALUES)
    return message.content


@each_row(
    ("text", "message"),
    [
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ labels[0].model_copy() }}", "model_copy"),
        ("{{ cycler.__init__.__globals__ }}", "unsafe"),
        ("{{ lipsum(5) }}", "lipsum"),
        ("{{ labels.append(1) }}", "append"),
        ("{% include 'x' %}", "no loader"),
        ("{% for i in range(10**9) %}x{% endfor %}", "Range too big"),
        ("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "exceeded the time"),
        ("{{ 10 ** (10 ** 10) }}", "exceeded the time"),
        ("{% for i in range(99999) %}{{ document * 100 }}{% endfor %}", "grew past 400,"),
        ("{{ 'x' * 10**11 }}", "memory|exceeded the time"),
        ("{% set ns = namespace(x='x') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}", "memory"),
        ("{{ " + "(" * 5000 + ")" * 5000 + " }}", "nested too deeply|too many nested"),
    ],
)
def test_hostile_template_is_stopped_with_a_message(text: str, message: str) -> None:
    with pytest.raises(PromptError, match=message):
        render(text)
    assert render("{{ unit }}") == "review"  # the next template is rendered


def test_long_document_is_rendered() -> None:
    # Long documents are rendered in this process and in the worker; only the server of a model limits the length.
    values = prompts.variables(BOOK, Document("1", {"text": "soup " * 200_000}))
    template = Template(name="ecj/judge.v1", text="## user\n{{ document }}")
    assert len(prompts.render(template, values)[0].content) > 1_000_000
    assert len(prompts.rendering.render_parts(template.text, values, parts=True)[0][1]) > 1_000_000


def test_stopped_template_is_not_rendered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "{% for i in range(99999) %}{% for j in range(99998) %}{% endfor %}{% endfor %}"
    with pytest.raises(PromptError):
        render(text)
    monkeypatch.setattr(sandbox.Worker, "ask", lambda *_: pytest.fail("the template was sent to a worker again"))
    with pytest.raises(PromptError, match="exceeded the time"):
        render(text)


def test_edited_template_renders_like_the_shipped_one() -> None:
    templates = prompts.shipped_templates("ecj")
    judge, block = templates["judge"], templates["definitions"]
    other = {name: template.model_copy(update={"text": template.text + "\n"}) for name, template in templates.items()}
    values = VALUES | {"extraction": "e", "critique": "c", "task": "", "final_decision": "", "reminder": ""}
    in_process = prompts.render(judge, values | {"definitions": prompts.render_text(block, VALUES)})
    own_block = prompts.render_text(other["definitions"], VALUES)
    in_worker = prompts.render(other["judge"], values | {"definitions": own_block})
    assert in_worker == in_process


def test_worker_process_is_reused(monkeypatch: pytest.MonkeyPatch) -> None:
    render("{{ document }}")
    monkeypatch.setattr(sandbox, "Worker", lambda: pytest.fail("another worker process was started"))
    for number in range(20):
        render("{{ document }}" + " " * (number % 3))


def test_worker_process_has_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    worker = sandbox.Worker()
    try:
        environment = Path(f"/proc/{worker._process.pid}/environ").read_bytes()
    except FileNotFoundError:
        pytest.skip("needs /proc")
    finally:
        worker.close()
    assert b"sk-secret" not in environment


def test_limits_that_the_system_knows_hold_if_it_refuses_others(monkeypatch: pytest.MonkeyPatch) -> None:
    limited = set()

    def set_limit(kind: int, _limits: tuple[int, int]) -> None:
        if kind == resource.RLIMIT_AS:
            raise ValueError("current limit exceeds maximum limit")  # as on macOS
        limited.add(kind)

    monkeypatch.setattr(resource, "setrlimit", set_limit)
    prompts.rendering._limit_memory()
    assert limited == {resource.RLIMIT_FSIZE, resource.RLIMIT_CORE}
