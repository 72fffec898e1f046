"""Tests of warnings about a run before it starts."""

from __future__ import annotations

import pytest

from core.codebook import Codebook, Kind, Label
from core.llm.model_library import ModelLibrary
from core.runs import RoleModel, Sampling
from core.services.runs import planning, run_warnings


@pytest.mark.parametrize(("temperature", "warned"), [(0.0, True), (0.7, False)])
def test_discussion_of_one_model_at_temperature_zero_warns(temperature: float, warned: bool) -> None:
    role_model = RoleModel(connection="openai", model="gpt-4.1-mini", sampling=Sampling(temperature=temperature))
    codebook = Codebook(labels=(Label(name="Food"),))
    settings = planning.build_settings(
        planning.Plan(protocol="discussion", default_model=role_model), codebook, 1, ModelLibrary()
    )
    warnings = run_warnings.settings_warnings(settings, ModelLibrary())
    assert any("nearly identical" in warning for warning in warnings) == warned


@pytest.mark.parametrize("kind", ["choice", "multilabel"])
@pytest.mark.parametrize("model", ["lexical", "lexical@tfidf"])
def test_built_in_model_warns_of_labels_without_keywords(model: str, kind: Kind) -> None:
    codebook = Codebook(kind=kind, labels=(Label(name="Qxz"), Label(name="Wvk")))
    role_model = RoleModel(connection="builtin", model=model)
    settings = planning.build_settings(
        planning.Plan(protocol="ecj", default_model=role_model), codebook, 1, ModelLibrary()
    )
    warnings = run_warnings.settings_warnings(settings, ModelLibrary())
    assert any("Qxz and Wvk have no keywords" in warning for warning in warnings)


def test_warning_names_few_of_many_labels() -> None:
    codebook = Codebook(kind="multilabel", labels=tuple(Label(name=f"Qxz{number}") for number in range(40)))
    settings = planning.build_settings(planning.Plan(protocol="ecj"), codebook, 1, ModelLibrary())
    (warning,) = run_warnings.settings_warnings(settings, ModelLibrary())
    assert "Qxz9 and 30 more have no keywords" in warning


@pytest.mark.parametrize(
    ("model", "params", "named"),
    [
        ("builtin/lexical", {}, ""),
        ("builtin/lexical@ollama/nomic", {}, ""),
        ("builtin/lexical@openai/text-embedding-3-small", {}, "openai/text-embedding-3-small"),
        ("builtin/lexical", {"likeness": "openai/text-embedding-3-large"}, "openai/text-embedding-3-large"),
    ],
)
def test_vectors_that_are_not_estimated_are_named(model: str, params: dict[str, object], named: str) -> None:
    plan = planning.Plan(protocol="courtroom", default_model=RoleModel.parse(model), params=params)
    models = ModelLibrary()
    settings = planning.build_settings(plan, Codebook(labels=(Label(name="Food"),)), 1, models)
    warnings = [text for text in run_warnings.settings_warnings(settings, models) if "vectors of" in text]
    assert warnings == [f"The estimate leaves out the vectors of {named}."] * bool(named)


def test_label_without_any_word_has_one_warning() -> None:
    codebook = Codebook(labels=(Label(name="Qxz"), Label(name="Other")))
    role_model = RoleModel(connection="builtin", model="lexical")
    settings = planning.build_settings(
        planning.Plan(protocol="ecj", default_model=role_model), codebook, 1, ModelLibrary()
    )
    without_words, without_keywords = run_warnings.settings_warnings(settings, ModelLibrary())
    assert without_words.startswith("'Other' has no word")
    assert without_keywords.startswith("Qxz has no keywords")
    assert "propose words that stand out in your texts, if any do" in without_keywords
