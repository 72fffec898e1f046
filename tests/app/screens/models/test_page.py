"""Tests of the Models page, with Streamlit's AppTest."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.codebook import Codebook, Label
from core.documents import Document
from core.llm import connections
from core.llm.model_info import ModelCard
from core.runs import RoleModel
from core.services import models
from core.services.project_session import ProjectSession
from core.services.runs import planning
from core.services.workspace import Workspace
from tests.app.studio import button, html, open_page
from tests.core.services.sessions import annotate, pause_with_open_batch
from tests.core.store.helpers import set_gold
from tests.servers.running import batch_server, configure, llama_cpp, mock_llm, stats


def test_every_role_uses_the_builtin_model_at_first(session: ProjectSession) -> None:
    at = open_page("models")
    assert [at.selectbox(key=f"role-{role}-model").value for role in ("extractor", "critic", "judge")] == [
        "lexical"
    ] * 3
    shown = html(at)
    assert "is a word-list baseline, not a language model" in shown
    assert shown.count("nothing leaves this machine") == 1, "the note is the same for all roles"
    assert at.number_input(key="pace").value == 40


def test_role_model_is_saved_at_once(session: ProjectSession, monkeypatch: pytest.MonkeyPatch) -> None:
    offered = models.ModelListing((ModelCard("gpt-4.1"), ModelCard("gpt-4.1-mini")))
    monkeypatch.setattr(models, "listing", lambda *_args, **_options: offered)
    at = open_page("models")
    at.selectbox(key="role-critic-connection").select("openai").run()
    assert planning.load_plan(session).role_model("critic").spec == "openai/gpt-4.1"  # the first model of the list
    at.selectbox(key="role-critic-model").select("gpt-4.1-mini").run()
    at.number_input(key="role-critic-temperature").set_value(0.2).run()
    at.selectbox(key="role-critic-reasoning_effort").select("low").run()
    at.number_input(key="role-critic-max_tokens").set_value(300).run()
    role_model = planning.load_plan(session).role_model("critic")
    assert role_model.spec == "openai/gpt-4.1-mini"
    assert role_model.sampling.model_dump() == {
        "temperature": 0.2,
        "top_p": None,
        "max_tokens": 300,
        "default_limit": 1024,
        "seed": None,
        "reasoning_effort": "low",
        "json_schema": "auto",
    }
    shown = html(at)
    assert "Saved" in shown
    assert "$0.40 in, $1.60 out per million tokens" in shown
    again = open_page("models")  # another tab, or F5
    assert again.number_input(key="role-critic-temperature").value == 0.2


def test_settings_changed_before_the_page_is_drawn_again_are_all_saved(session: ProjectSession) -> None:
    planning.save_plan(session, planning.Plan().with_same_model(RoleModel(connection="openai", model="gpt-4.1")))
    at = open_page("models")
    at.number_input(key="role-critic-temperature").set_value(0.2)
    at.number_input(key="role-critic-max_tokens").set_value(300)
    at.number_input(key="role-judge-seed").set_value(7).run()
    plan = planning.load_plan(session)
    critic, judge = (plan.role_model(role).sampling for role in ("critic", "judge"))
    assert (critic.temperature, critic.max_tokens, judge.seed) == (0.2, 300, 7)


def test_same_model_for_all_roles_in_one_click(session: ProjectSession) -> None:
    planning.save_plan(
        session, planning.Plan().with_role_model("judge", RoleModel(connection="openai", model="gpt-4.1"))
    )
    at = open_page("models")
    at.button(key="role-judge-everywhere").click().run()
    plan = planning.load_plan(session)
    assert {plan.role_model(role).spec for role in ("extractor", "critic", "judge", "annotator")} == {"openai/gpt-4.1"}
    assert at.selectbox(key="role-extractor-model").value == "gpt-4.1"


def test_protocol_determines_the_roles(session: ProjectSession) -> None:
    at = open_page("models")
    at.get_by_key("models-protocol").set_value("single").run()
    assert planning.load_plan(session).protocol == "single"
    assert at.selectbox(key="role-annotator-model").value == "lexical"
    with pytest.raises(KeyError):
        at.selectbox(key="role-judge-model")


def test_pace_is_saved(session: ProjectSession) -> None:
    at = open_page("models")
    at.number_input(key="pace").set_value(0).run()
    assert planning.load_plan(session).pace == 0.0
    assert "Instant." in html(at)


def test_connection_is_added_tested_assigned_and_removed(workspace: Workspace, session: ProjectSession) -> None:
    with mock_llm() as url:
        at = open_page("models")
        at.text_input(key="add-name").set_value("local")
        at.text_input(key="add-url").set_value(f"{url}/v1")
        next(button for button in at.form_submit_button if button.label == "Add").click().run()
        assert "local was added" in html(at)
        next(button for button in at.form_submit_button if button.label == "Add").click().run()
        assert "is not a valid connection name" not in html(at), "a second press of the emptied form is ignored"
        at.button(key="test-local").click().run()
        assert "local/gpt-4o-mini" in html(at)
        assert "<td>gpt-4o-mini</td>" in html(at).partition("Models at local")[2]
        assert not at.dataframe, "its download contains formulas"
        at.selectbox(key="role-judge-connection").select("local").run()
        assert at.selectbox(key="role-judge-model").value in ("gpt-4o-mini", "mock")
        assert "Listed by local" in html(at)
        at.button(key="icon-remove-local").click().run()
        assert "Connection local does not exist" in html(at)


def test_removal_of_a_connection_offers_to_cancel_its_batches(workspace: Workspace, session: ProjectSession) -> None:
    with batch_server() as server:
        configure(server, hold=True)
        models.add(workspace, "mine", f"{server}/v1")
        run = pause_with_open_batch(session, server)
        at = open_page("models")
        assert f"Open at mine: 1 batch of {run.title} in hotel." in html(at)
        button(at, "Stop the runs, cancel their batches and remove")
        assert (session.state(run.run_id), stats(server)["statuses"]) == ("stopped", ["cancelled"])
    assert "mine" not in workspace.models.connections


def test_removal_says_if_batches_could_not_be_cancelled(workspace: Workspace, session: ProjectSession) -> None:
    with batch_server() as server:
        configure(server, hold=True)
        models.add(workspace, "mine", f"{server}/v1")
        pause_with_open_batch(session, server)
    at = open_page("models")
    button(at, "Stop the runs, cancel their batches and remove")
    assert "1 batch at mine could not be cancelled." in html(at)
    assert "mine" in workspace.models.connections


def test_invalid_address_is_refused_and_kept_in_the_form(session: ProjectSession) -> None:
    at = open_page("models")
    at.text_input(key="add-name").set_value("local")
    at.text_input(key="add-url").set_value("ftp://nowhere")
    next(button for button in at.form_submit_button if button.label == "Add").click().run()
    assert "is not an address" in html(at)
    assert at.text_input(key="add-url").value == "ftp://nowhere"


def test_names_of_a_connection_and_a_preset_may_equal_words_of_the_page(
    workspace: Workspace, session: ProjectSession
) -> None:
    workspace.models.embedder_spec = "ollama/nomic-embed-text"
    models.save_preset("name", planning.load_plan(session))
    try:
        with mock_llm() as url:
            models.add(workspace, "vectors", f"{url}/v1")
            at = open_page("models")
            at.button(key="test-vectors").click().run()
            assert "vectors/gpt-4o-mini" in html(at)
        at.button(key="preset-use-name").click().run()
        assert "Preset name is in use" in html(at)
    finally:
        models.delete_preset("name")


def test_recommendations_name_the_run(session: ProjectSession) -> None:
    version = session.store.codebooks.latest()
    assert version is not None
    set_gold(session.store, {"d0": {"gold": {version.codebook.items[0]: True}}})
    run = annotate(session)
    assert f'<td class="text">{session.run_name(run.run_id)}</td>' in html(open_page("models"))


def test_models_of_a_custom_protocol_without_a_file_name_the_next_step(session: ProjectSession) -> None:
    planning.save_plan(session, planning.Plan(protocol="custom"))
    assert "Choose a file under Settings on Run." in html(open_page("models"))


def test_unreachable_server_is_reported(session: ProjectSession) -> None:
    at = open_page("models")
    at.button(key="test-llamacpp").click().run()
    assert "cannot be reached" in html(at)


def test_refresh_removes_the_result_of_an_earlier_test(session: ProjectSession) -> None:
    at = open_page("models")
    at.selectbox(key="role-judge-connection").select("llamacpp").run()
    at.button(key="test-llamacpp").click().run()
    assert "Test model" in [button.label for button in at.button]
    next(button for button in at.button if button.label == "Refresh models").click().run()
    assert "Test model" not in [button.label for button in at.button]


def test_saved_key_removes_the_result_of_an_earlier_test(
    session: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "has_keyring", lambda: True)
    monkeypatch.setattr(models, "remember_key", lambda *_: None)
    at = open_page("models")
    at.button(key="test-llamacpp").click().run()
    assert "cannot be reached" in html(at)
    form = at.form("keyform-llamacpp")
    form.text_input[0].set_value("s3cret")
    form.form_submit_button[0].click().run()
    assert "The key for llamacpp is saved" in html(at)
    assert "cannot be reached" not in html(at), "it was the result without the key"


def test_variable_of_the_key_is_named_instead_of_a_field_without_a_keyring(session: ProjectSession) -> None:
    at = open_page("models")
    assert "Set OPENAI_API_KEY in the environment" in html(at)
    assert not [field for field in at.text_input if field.label.startswith("Key for")]


def test_key_is_never_shown_if_the_keyring_refuses_it(session: ProjectSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "has_keyring", lambda: True)
    at = open_page("models")
    field = next(box for box in at.text_input if box.label == "Key for openai")
    field.set_value("s3cret")
    form = at.form("keyform-openai")
    form.form_submit_button[0].click().run()
    shown = html(at)
    assert "Set OPENAI_API_KEY in the environment" in shown
    assert "s3cret" not in shown


@pytest.mark.parametrize(
    ("labels", "kind", "text", "offered", "because"),
    [
        ([Label(name="Joy"), Label(name="Grief")], "choice", "A train arrived.", True, "have no word of the codebook"),
        ([Label(name="Joy"), Label(name="Grief")], "choice", "Joy and grief.", False, "would change little"),
        ([Label(name="Rain", description="Wet weather.")], "multilabel", "Rain.", True, "fewer than 5 keywords"),
        (
            [Label(name="Rain", keywords=("wet", "drops", "umbrella", "pour", "drizzle"))],
            "multilabel",
            "It is wet.",
            False,
            "would change little",
        ),
        (
            [Label(name="Rain", keywords=("wet", "drops", "umbrella", "pour", "drizzle"))],
            "multilabel",
            "Sun.",
            True,
            "have no word of the codebook",
        ),
        ([Label(name="Regen")], "choice", "Das ist ein Haus und wir sind nicht da.", False, "multilingual"),
    ],
)
def test_minilm_is_offered_where_words_are_not_enough(
    session: ProjectSession,
    monkeypatch: pytest.MonkeyPatch,
    labels: list[Label],
    kind: str,
    text: str,
    offered: bool,
    because: str,
) -> None:
    monkeypatch.setattr(models, "minilm_installed", lambda: False)
    session.store.documents.replace_all([])
    session.store.documents.add([Document(f"n{number}", {"text": text}) for number in range(6)])
    session.store.codebooks.save(Codebook(kind=kind, labels=tuple(labels)))
    at = open_page("models")
    assert because in html(at)
    assert any("moot install-minilm" in code.value for code in at.code) == offered


def test_vectors_of_a_connection_are_chosen_tested_and_pinned_in_a_choice(
    workspace: Workspace, session: ProjectSession, tmp_path: Path
) -> None:
    pytest.importorskip("xllamacpp", reason="llama.cpp's server is not installed")
    choice = Codebook(kind="choice", labels=(Label(name="Joy"), Label(name="Grief")))

    def model() -> str:
        settings = planning.build_settings(planning.Plan(protocol="single"), choice, 1, workspace.models)
        (role_model,) = settings.role_models.values()
        return role_model.spec

    assert model() == "builtin/lexical"
    at = open_page("models")
    with llama_cpp(tmp_path, "--embeddings") as url:
        models.add(workspace, "near", url)
        at.text_input(key="text-vectors").set_value("near/tiny-random").run()
        assert workspace.models.embedder_spec == "near/tiny-random"
        assert model() == "builtin/lexical@near/tiny-random"
        at.button(key="vectors-test").click().run()
        assert "64 numbers" in html(at)
    at.text_input(key="text-vectors").set_value("").run()
    assert model() == "builtin/lexical"
    at.text_input(key="text-vectors").set_value("nowhere/x").run()
    assert workspace.models.embedder_spec == ""
    assert "cannot compare texts" in html(at)
