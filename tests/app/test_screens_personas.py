"""Tests of the Personas page: generating personas with the built-in model, editing, saving, use in a panel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core import resources
from core.debate import protocols
from core.services import personas, projects
from core.services.codebooks import codebook as codebooks
from core.services.codebooks.codebook import read_codebook
from core.services.runs import planning
from core.services.session import ProjectSession
from tests.app.studio import HOSTILE, button, html, open_page, studio

SAMPLES = resources.folder("sample_data")


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProjectSession]:
    with studio(tmp_path, monkeypatch) as made:
        opened = projects.create_project(made, "p")
        codebooks.save(opened, read_codebook(SAMPLES / "story_questions.yaml"))
        yield opened


def documents(at):
    return next(each for each in at.file_uploader if each.label == "Documents")


def test_personas_from_documents_become_a_saved_panel(session: ProjectSession) -> None:
    at = open_page("personas")
    assert "2 personas in 1 group on the panel" in html(at), "the default panel has two simple roles"
    source = SAMPLES / "panel" / "reading_at_home.md"
    documents(at).set_value([(source.name, source.read_bytes(), "text/markdown")]).run()
    assert source.name in html(at)
    button(at, "Generate personas")
    for _ in range(20):
        if "from 9 dimensions" in html(at) or "dimensions found" in html(at):
            break
        at.run()
    shown = html(at)
    assert "v1 draft" in shown
    status = personas.persona_status(session)
    assert status.saved is None
    assert {"Parents", "Teachers"} <= {group.name for group in status.personas.groups}
    first = status.personas.members[0].persona
    at.text_area(key=f"persona-traits-of-{first.name}").set_value("patient").run()
    at.text_input(key=f"persona-name-of-{first.name}").set_value("Nuria").run()
    assert personas.persona_status(session).personas.members[0].persona.model_dump()["traits"] == "patient"
    assert "Nuria" in html(at)
    at.text_input(key="personas-note").set_value("first panel")
    at.button(key="personas-save").click().run()
    assert "Saved as v1" in html(at)
    (version,) = session.store.personas.history()
    assert (version.note, version.personas.members[0].persona.name) == ("first panel", "Nuria")
    button(at, "Use in a run")
    plan = planning.load_plan(session)
    card = protocols.find(plan.protocol)
    assert card.name == "panel"
    assert card.roles(card.parse_params(plan.params))[0].title == "Nuria"


def test_personas_are_added_and_removed_except_the_last(session: ProjectSession) -> None:
    at = open_page("personas")
    at.button(key="persona-add-0").click().run()
    assert "3 personas" in html(at)
    for _ in range(2):
        at.button(key="persona-delete").click().run()
    assert "1 persona in 1 group" in html(at)
    at.button(key="persona-delete").click().run()
    assert "needs at least one persona" in html(at)
    button(at, "Discard")
    assert "2 personas" in html(at)


def test_invalid_input_is_explained_and_hostile_text_escaped(session: ProjectSession) -> None:
    at = open_page("personas")
    documents(at).set_value([("empty.txt", b"  ", "text/plain")]).run()
    assert "empty.txt has no words" in html(at)
    at = open_page("personas")
    at.text_area(key="persona-dimension-of-Critic" if "Critic" in html(at) else "persona-dimension-of-General public")
    at.text_area(key="persona-dimension-of-General public").set_value(HOSTILE).run()
    assert "<img src=x" not in html(at)
    assert "&lt;img" in html(at)
    at.text_input(key="persona-name-of-General public").set_value("critic").run()
    assert "two personas have the name" in html(at)
