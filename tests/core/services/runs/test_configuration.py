"""Tests of run configurations: descriptions, differences between runs, and names."""

from __future__ import annotations

import pytest

from core.files import read_text, shipped_folder
from core.runs import RoleModel, RunDetails, RunRow, Sampling, Template
from core.services.runs import planning
from core.services.runs.configuration import (
    configuration,
    describe_model,
    describe_sampling,
    differences,
    propose_name,
    role_titles,
)
from tests.core.services.sessions import queue_runs
from tests.core.store.helpers import make_settings

MINI = RoleModel(connection="openai", model="gpt-4.1-mini")
QWEN = RoleModel(connection="local", model="qwen3")
LLAMA = RoleModel(connection="ollama", model="llama3.2", sampling=Sampling(temperature=0.7))
SECOND_READING = read_text(shipped_folder("sample_data") / "protocols" / "second_reading.yaml")
SETTINGS = make_settings(codebook_version=2).model_copy(
    update={"role_models": dict.fromkeys(("extractor", "critic", "judge"), MINI)}
)
CRITIC = SETTINGS.model_copy(update={"templates": {"critic": Template(name="own/ecj/critic.v2", text="Object.")}})


def row(settings=SETTINGS, name="", documents=10) -> RunRow:
    return RunRow(
        run_id="r0001",
        experiment_id="r0001",
        settings=settings,
        state="done",
        created_at=0.0,
        documents=documents,
        details=RunDetails(name=name),
    )


def test_configuration_names_models_prompts_and_codebook():
    described = configuration(CRITIC, 1200)
    assert (described["Protocol"], described["Models"], described["Prompts"]) == ("ECJ", "gpt-4.1-mini", "critic v2")
    assert (described["Codebook"], described["Documents"], described["Iteration"]) == ("v2", "1,200", "1")
    assert (described["Judge model"], described["Critic prompt"]) == ("gpt-4.1-mini", "critic v2")
    assert described["Parameters"] == "default"
    assert configuration(SETTINGS.model_copy(update={"iteration": 1_000_000}), 30)["Iteration"] == "canary"


@pytest.mark.parametrize(
    ("name", "shown"),
    [("ecj/critic.v1", "critic (other Moot version)"), ("ecj/critic.draft", "critic changed")],
)
def test_text_that_is_not_shipped_is_named_by_its_origin(name, shown):
    settings = SETTINGS.model_copy(update={"templates": {"critic": Template(name=name, text="Object.")}})
    assert configuration(settings, 1)["Prompts"] == shown


def test_all_configured_sampling_parameters_are_named():
    sampling = Sampling(temperature=0, top_p=0.9, max_tokens=2048, seed=3, reasoning_effort="low", json_schema="off")
    description = "m at temperature 0, top p 0.9, at most 2,048 tokens, effort low, seed 3, text replies"
    assert describe_model(RoleModel(connection="local", model="m", sampling=sampling)) == description
    assert describe_sampling(sampling) == "temperature 0, " + description.partition(", ")[2]
    assert describe_sampling(Sampling()) == "default"


def test_changed_parameter_and_temperature_are_named():
    changed = SETTINGS.model_copy(
        update={"params": {**SETTINGS.params, "extra_rounds": 2, "adaptive": True}, "role_models": {"extractor": LLAMA}}
    )
    described = configuration(changed, 1)
    assert described["Parameters"] == "extra rounds 2, adaptive yes"
    assert described["Models"] == "llama3.2 at temperature 0.7"


def test_differences_are_listed_by_role_without_equal_settings():
    mixed = SETTINGS.model_copy(update={"role_models": {**SETTINGS.role_models, "judge": LLAMA}})
    assert differences([row(), row(mixed)]) == {"Judge model": ("gpt-4.1-mini", "llama3.2 at temperature 0.7")}
    assert differences([row(), row()]) == {}
    assert differences([row(), row(documents=5)]) == {"Documents": ("10", "5")}


def test_roles_of_another_protocol_are_not_a_difference():
    single = SETTINGS.model_copy(
        update={"protocol": "single", "role_models": {"annotator": MINI}, "templates": {}, "params": {}}
    )
    assert differences([row(), row(single)]) == {"Protocol": ("ECJ", "Single")}
    other = single.model_copy(update={"role_models": {"annotator": LLAMA}})
    assert differences([row(), row(other)]) == {
        "Protocol": ("ECJ", "Single"),
        "Models": ("gpt-4.1-mini", "llama3.2 at temperature 0.7"),
    }


@pytest.mark.parametrize(
    ("settings", "documents", "name"),
    [
        (SETTINGS, 10, "ECJ, gpt-4.1-mini (2)"),
        (SETTINGS, 1, "ECJ, gpt-4.1-mini, 1 document"),
        (CRITIC, 10, "ECJ, gpt-4.1-mini, critic v2"),
        (SETTINGS.model_copy(update={"codebook_version": 3}), 10, "ECJ, gpt-4.1-mini, codebook v3"),
        (SETTINGS.model_copy(update={"seed": 7, "iteration": 1}), 10, "ECJ, gpt-4.1-mini, seed 7, iteration 2"),
        (SETTINGS.model_copy(update={"iteration": 1_000_001}), 10, "ECJ, gpt-4.1-mini, canary"),
        (SETTINGS.model_copy(update={"protocol": "single"}), 10, "Single, gpt-4.1-mini"),
        (SETTINGS.model_copy(update={"protocol": "of a later Moot"}), 10, "of a later Moot, gpt-4.1-mini"),
        (
            SETTINGS.model_copy(update={"protocol": "custom", "params": {"script": SECOND_READING}}),
            10,
            "Second reading, gpt-4.1-mini",
        ),
        (
            SETTINGS.model_copy(update={"role_models": {"extractor": MINI, "judge": LLAMA}}),
            10,
            "ECJ, gpt-4.1-mini and llama3.2 at temperature 0.7",
        ),
        (
            SETTINGS.model_copy(update={"role_models": {"extractor": MINI, "critic": LLAMA, "judge": QWEN}}),
            10,
            "ECJ, gpt-4.1-mini, llama3.2 at temperature 0.7 and qwen3",
        ),
    ],
)
def test_run_name_states_the_difference_from_the_first_run(settings, documents, name):
    assert propose_name(settings, documents, [row(name="ECJ, gpt-4.1-mini")]) == name


def test_first_run_is_named_by_protocol_and_models():
    assert propose_name(SETTINGS, 10, []) == "ECJ, gpt-4.1-mini"
    assert propose_name(CRITIC, 10, []) == "ECJ, gpt-4.1-mini, critic v2"


def test_run_names_are_unique(session):
    plans = planning.Plan(), planning.Plan(params={"extra_rounds": 1})
    titles = [queue_runs(session, plan)[0].title for plan in plans]
    assert titles == ["ECJ, word-list baseline", "ECJ, word-list baseline, extra rounds 1"]


def test_run_whose_personas_cannot_be_read_has_titles():
    """As of a project file that another version of Moot has written."""
    unreadable = SETTINGS.model_copy(update={"protocol": "panel", "params": {"personas": "groups: [{name: a}]"}})
    assert role_titles(unreadable) == {role: role.capitalize() for role in SETTINGS.role_models}
    assert configuration(unreadable, 10)["Protocol"] == "panel"
