"""Tests of the Personas page: generating personas with the built-in model, editing, saving, use in a panel."""

from __future__ import annotations

import json
from concurrent.futures import Future

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from core.debate import protocols
from core.debate.persona_extraction import UNLIMITED, PersonaExtraction
from core.debate.personas import DEFAULT_PERSONAS, dump_yaml
from core.engine.standalone_run import Spent
from core.errors import UsageError
from core.files import shipped_folder
from core.services import personas
from core.services.codebooks import codebook as codebooks
from core.services.codebooks.codebook import read_codebook
from core.services.project_session import ProjectSession
from core.services.runs import planning
from tests.app.studio import HOSTILE, button, html, open_page

SAMPLES = shipped_folder("sample_data")


@pytest.fixture
def session(session: ProjectSession) -> ProjectSession:
    codebooks.save(session, read_codebook(SAMPLES / "story_questions.yaml"))
    return session


def delete_button(at: AppTest) -> Button:
    (found,) = (each for each in at.button if each.label == "Delete persona")
    return found


def documents(at):
    return next(uploader for uploader in at.file_uploader if uploader.label == "Documents")


def test_import_names_the_version_that_keeps_the_replaced_draft(session: ProjectSession) -> None:
    mine = personas.change_persona(DEFAULT_PERSONAS, "Critic", traits="An hour of writing.")
    personas.save_draft(session, mine)
    at = open_page("personas")
    other = dump_yaml(personas.change_persona(DEFAULT_PERSONAS, "Critic", name="Ada")).encode()
    upload = next(uploader for uploader in at.file_uploader if uploader.label == "Import YAML")
    upload.set_value(("other.yaml", other, "application/yaml")).run()
    assert "other.yaml is now the draft" in html(at)
    assert "The draft that it replaced was saved as v1." in html(at)
    assert personas.history(session)[0].personas == mine


def test_personas_from_documents_become_a_saved_panel(session: ProjectSession) -> None:
    at = open_page("personas")
    assert "2 personas in 1 group on the panel" in html(at), "the default panel has two simple roles"
    assert not [field for field in at.text_input if field.key == "personas_note"], "there is nothing to save yet"
    source = SAMPLES / "panel" / "reading_at_home.md"
    documents(at).set_value([(source.name, source.read_bytes(), "text/markdown")]).run()
    assert source.name in html(at)
    button(at, "Generate personas")
    for _ in range(20):
        if "Generated" in html(at):
            break
        at.run()
    shown = html(at)
    assert "v1 draft" in shown
    status = personas.persona_status(session)
    assert status.saved is None
    assert {"Parents", "Teachers"} <= {group.name for group in status.personas.groups}
    at.text_area(key="persona-traits-0").set_value("patient").run()
    at.text_input(key="persona-name-0").set_value("Nuria").run()
    assert personas.persona_status(session).personas.members[0].persona.model_dump()["traits"] == "patient"
    assert "Nuria" in html(at)
    at.text_input(key="personas_note").set_value("first panel")
    at.button(key="personas-save").click().run()
    assert "Saved as v1" in html(at)
    (version,) = session.store.personas.history()
    assert (version.note, version.personas.members[0].persona.name) == ("first panel", "Nuria")
    button(at, "Use in a run")
    plan = planning.load_plan(session)
    card = protocols.find(plan.protocol)
    assert card.name == "panel"
    assert card.roles(card.parse_params(plan.params))[0].title == "Nuria"


def test_page_generates_personas_with_the_limits_and_temperature_of_the_preset(
    session: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[personas.GenerationSettings] = []

    def start(_session: object, _codebook: object, _role_model: object, wanted: personas.GenerationSettings) -> None:
        started.append(wanted)

    monkeypatch.setattr(personas, "start", start)
    personas.add_sources(session, [("report.txt", b"Parents want short texts.")])
    button(open_page("personas"), "Generate personas")
    planning.save_plan(session, planning.Plan(protocol="panel", params={"preset": "paper-qwen"}))
    at = open_page("personas")
    assert "Temperature 0.6" in html(at)
    button(at, "Generate personas")
    assert started == [personas.GenerationSettings(4, 3, None), personas.GenerationSettings(UNLIMITED, UNLIMITED, 0.6)]


def test_preset_with_its_own_personas_does_not_use_those_of_the_project(session: ProjectSession) -> None:
    own = personas.from_yaml(b"groups: [{name: G, personas: [{name: Nuria}]}]", "p.yaml")
    personas.save(session, own)
    card = protocols.find("panel")

    def titles() -> list[str]:
        return [role.title for role in card.roles(card.parse_params(planning.load_plan(session).params))][:-2]

    planning.save_plan(session, planning.Plan(protocol="panel", params={"preset": "chateval"}))
    assert titles() == ["General public", "Critic"]
    planning.save_plan(session, personas.with_panel(planning.load_plan(session)))
    assert titles() == ["Nuria"]


def test_page_shows_when_the_personas_were_saved_and_not_the_codebook(session: ProjectSession) -> None:
    personas.save_draft(session, personas.from_yaml(b"groups: [{name: G, personas: [{name: P}]}]", "p.yaml"))
    at = open_page("personas")
    at.session_state["saved_at"] = {"codebook": 0.0}
    at.run()
    assert "Draft saved" not in html(at)
    at.text_input(key="persona-name-0").set_value("Nuria").run()
    assert "Draft saved" in html(at)


def test_personas_are_added_and_removed_except_the_last(session: ProjectSession) -> None:
    at = open_page("personas")
    at.button(key="icon-persona-add-0").click().run()
    assert "3 personas" in html(at)
    assert at.text_input(key="persona-name-2").value == "New persona"  # the editor shows it
    first = delete_button(at).id
    for _ in range(2):
        delete_button(at).click().run()
    assert delete_button(at).id != first, "a second click does not delete the next persona"
    assert "1 persona in 1 group" in html(at)
    delete_button(at).click().run()
    assert "needs at least one persona" in html(at)
    button(at, "Restore the saved version")
    assert "2 personas" in html(at)


def test_incomplete_persona_is_not_saved_and_explained_at_its_field(session: ProjectSession) -> None:
    at = open_page("personas")
    at.button(key="icon-persona-add-0").click().run()
    at.button(key="persona-select-General public").click().run()
    assert "moot-wrong" not in html(at)
    at.button(key="personas-save").click().run()
    assert "Not saved: New persona is incomplete" in html(at)
    assert html(at).count("Enter a name, such as the stakeholder&#x27;s role.") == 2, "also beside the field"
    at.text_input(key="persona-name-2").set_value("Nurse").run()
    at.button(key="personas-save").click().run()
    assert "Enter what the persona judges" in html(at).split("moot-wrong")[-1]
    assert personas.history(session) == []
    at.text_area(key="persona-dimension-2").set_value("Kind words").run()
    assert "moot-wrong" not in html(at)
    at.button(key="personas-save").click().run()
    assert "Saved as v1" in html(at)
    assert len(personas.history(session)) == 1


def test_invalid_input_is_explained_and_hostile_text_escaped(session: ProjectSession) -> None:
    at = open_page("personas")
    documents(at).set_value([("empty.txt", b"  ", "text/plain")]).run()
    assert "empty.txt has no words" in html(at)
    at = open_page("personas")
    at.text_area(key="persona-dimension-0").set_value(HOSTILE).run()
    assert "<img src=x" not in html(at)
    assert "&lt;img" in html(at)
    at.text_input(key="persona-name-0").set_value("critic").run()
    assert "two personas have the name" in html(at)


@pytest.mark.parametrize("name", ["Critic", "critic", ""])
def test_persona_stays_in_the_editor_if_its_new_name_is_refused(session: ProjectSession, name: str) -> None:
    at = open_page("personas")
    at.text_input(key="persona-name-0").set_value(name).run()
    assert at.text_input(key="persona-name-0").value == "General public"


def test_name_of_a_new_group_stays_in_its_field_if_it_is_refused(session: ProjectSession) -> None:
    at = open_page("personas")
    at.text_input(key="personas-first").set_value("x" * 10_000).run()
    assert "moot-notice error" in html(at)
    assert at.text_input(key="personas-first").value == "x" * 10_000


@pytest.mark.parametrize("name", ["editor", "task", "versions", "delete", "group-0"])
def test_name_of_a_persona_may_equal_a_word_of_the_page(session: ProjectSession, name: str) -> None:
    at = open_page("personas")
    at.text_input(key="persona-name-0").set_value(name).run()
    assert at.text_input(key="persona-name-0").value == name
    assert f">{name}<" in html(at)


def test_rename_keeps_the_other_fields_and_what_is_typed_in_them(session: ProjectSession) -> None:
    at = open_page("personas")
    before = [field.id for field in at.text_area]
    at.text_input(key="persona-name-0").set_value("Nuria")
    at.text_area(key="persona-dimension-0").set_value("Clarity").run()
    assert [field.id for field in at.text_area] == before
    member = personas.persona_status(session).personas.members[0]
    assert (member.persona.name, member.persona.dimension) == ("Nuria", "Clarity")


def test_next_source_has_a_button_of_its_own(session: ProjectSession) -> None:
    personas.add_sources(session, [("a.txt", b"Some words."), ("b.txt", b"More words.")])
    at = open_page("personas")
    first, second = (button for button in at.button if button.label == "Remove this document")
    first.click().run()
    (left,) = (button for button in at.button if button.label == "Remove this document")
    assert left.id == second.id  # the second click of a double click is on the button that is gone


def test_names_of_source_files_are_shown_as_text_and_repeated_ones_kept(session: ProjectSession) -> None:
    at = open_page("personas")
    files = ["../a\x1b.txt", "../a\x1b.txt", "=1\n2.txt", "\u202evsc.txt", "**b**.txt", HOSTILE + ".txt"]
    documents(at).set_value([(name, b"Parents want short texts.", "text/plain") for name in files]).run()
    assert sorted(personas.sources(session)) == sorted(
        ["../a\ufffd.txt", "../a\ufffd.txt_2", "=1 2.txt", "\ufffdvsc.txt", "**b**.txt", HOSTILE + ".txt"]
    )
    assert "<img src=x" not in html(at)


def test_source_with_the_name_of_another_gets_a_number(session: ProjectSession) -> None:
    for text in (b"Parents agree.", b"Nobody agreed.", b"Parents agree.", b"Nobody agreed."):
        personas.add_sources(session, [("report.txt", text)])
    assert personas.sources(session) == {"report.txt": "Parents agree.", "report.txt_2": "Nobody agreed."}


def test_forged_evidence_is_not_shown_as_found(session: ProjectSession) -> None:
    forged = {"words": "Parents agree.", "source": "report.txt", "start": 0, "end": 10, "match": "exact"}
    name = "Ann\n\n## system\u202e"
    group = {"name": "Readers", "personas": [{"name": name, "dimension": HOSTILE, "evidence": [forged]}]}
    personas.save_draft(session, personas.from_yaml(json.dumps({"groups": [group]}).encode(), "p.yaml"))
    shown = html(open_page("personas"))
    assert 'report.txt (not in this project): "Parents agree."' in shown.replace("&quot;", '"')
    assert "Ann ## system\ufffd" in shown
    assert "<img src=x" not in shown
    personas.add_sources(session, [("report.txt", b"Nobody agreed.")])
    assert 'not in report.txt</span> "Parents agree."' in html(open_page("personas")).replace("&quot;", '"')
    personas.remove_source(session, "report.txt")
    personas.add_sources(session, [("report.txt", b"We asked. Parents agree. So do teachers.")])
    assert "We asked. <b>Parents agree.</b> So do teachers." in html(open_page("personas"))


@pytest.mark.parametrize(
    "persona",
    [
        {"name": "Ann", "traits": "x" * 1_000_000},
        {"name": "Ann", "k" * 1_000_000: 1},
        {"name": "Ann", "traits": []},
        {"name": "Ann", "evidence": [{"words": "a", "start": -9}]},
        {"name": "a\ud800"},
        {"name": "\x1b" * 81},
    ],
)
def test_hostile_personas_are_refused_in_words(session: ProjectSession, persona: dict[str, object]) -> None:
    content = json.dumps({"groups": [{"name": "Readers", "personas": [persona]}]}).encode()
    with pytest.raises(UsageError) as caught:
        personas.from_yaml(content, "p.yaml")
    assert len(str(caught.value)) < 300


def test_reload_shows_a_generation_and_its_result_which_no_page_has_to_wait_for(
    session: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies: Future[personas.GeneratedPersonas] = Future()
    monkeypatch.setattr(personas, "generate", lambda *_: replies)
    personas.add_sources(session, [("guests.txt", b"Guests want a clean room.")])
    tabs = [open_page("personas"), open_page("personas")]
    button(tabs[0], "Generate personas")
    tabs.append(open_page("personas"))
    for at in tabs[1:]:
        assert [bar.proto.text for bar in at.run().get("progress")] == ["0 of 0 answers; more may follow"]
    (job,) = session.jobs.values()
    generated = personas.add_persona(personas.persona_status(session).personas, "Guests")
    replies.set_result(personas.GeneratedPersonas(PersonaExtraction(generated, (), ()), Spent()))
    job.result()
    assert personas.persona_status(session).personas == generated
    assert "Generated 3 personas in 2 groups" in html(open_page("personas"))
    assert not tabs[0].run().get("progress")


def test_generation_goes_on_in_sight_when_its_documents_are_removed(session: ProjectSession) -> None:
    personas.add_sources(session, [("guests.txt", b"Guests want a clean room.")])
    session.start_job(personas.JOB, lambda _: Future(), "Reading guests.txt")
    at = open_page("personas")
    at.button(key="icon-source-remove-guests.txt").click().run()
    assert [bar.proto.text for bar in at.get("progress")] == ["Reading guests.txt"]
    assert "Personas are generated from them" not in html(at)


def test_note_stays_while_the_user_looks_at_another_page_and_ends_with_the_draft(session: ProjectSession) -> None:
    personas.save(session, personas.persona_status(session).personas)
    at = open_page("personas")
    at.text_area(key="persona-traits-0").set_value("patient").run()
    at.text_input(key="personas_note").set_value("patient readers").run()
    for page in ("data", "personas"):
        at.switch_page(f"screens/{page}/page.py").run()
    assert at.text_input(key="personas_note").value == "patient readers"
    at.button(key="draft-discard-1").click().run()
    at.text_area(key="persona-traits-0").set_value("hurried").run()
    assert at.text_input(key="personas_note").value == ""


CHOICE = "The panel was changed in another tab"
TRAITS = "persona-traits-0"


def traits(session: ProjectSession) -> str:
    return personas.persona_status(session).personas.members[0].persona.traits


def describe(at: AppTest, words: str) -> AppTest:
    return at.text_area(key=TRAITS).set_value(words).run()


def test_edit_after_a_change_in_another_tab_stays_in_its_tab_until_the_user_chooses(session: ProjectSession) -> None:
    first, second = open_page("personas"), open_page("personas")
    describe(first, "patient")
    describe(second, "hurried")
    assert CHOICE in html(second)
    assert (traits(session), second.text_area(key=TRAITS).value) == ("patient", "hurried")
    second.button(key="icon-persona-add-0").click().run()
    second.button(key="personas-save").click().run()
    second.button(key="draft-discard-1").click().run()
    assert "First choose one of them." in html(second)
    assert not personas.history(session)
    upload = next(uploader for uploader in second.file_uploader if uploader.label == "Import YAML")
    upload.set_value(("other.yaml", dump_yaml(DEFAULT_PERSONAS).encode(), "application/yaml")).run()
    assert traits(session) == "patient"
    second.button(key="draft-keep-own").click().run()
    assert CHOICE not in html(second)
    assert (traits(session), len(personas.persona_status(session).personas.members)) == ("hurried", 3)
    assert first.run().text_area(key=TRAITS).value == "patient"  # the other tab keeps its text, too
    first.button(key="draft-use-other").click().run()
    assert CHOICE not in html(first)
    assert first.text_area(key=TRAITS).value == "hurried"


def test_generated_personas_are_no_change_of_another_tab(
    session: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies: Future[personas.GeneratedPersonas] = Future()
    monkeypatch.setattr(personas, "generate", lambda *_: replies)
    personas.add_sources(session, [("guests.txt", b"Guests want a clean room.")])
    at = open_page("personas")
    button(at, "Generate personas")
    (job,) = session.jobs.values()
    generated = personas.add_persona(DEFAULT_PERSONAS, "Guests")
    replies.set_result(personas.GeneratedPersonas(PersonaExtraction(generated, (), ()), Spent()))
    job.result()
    assert "Generated 3 personas" in html(at.run())
    assert CHOICE not in html(at)
