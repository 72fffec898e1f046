"""Tests of the keys of results in JSON."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
from dataclasses import fields, is_dataclass
from pathlib import Path

import core.services.evaluation
import core.stats
from core.services.evaluation.json_data import JSON_KEYS, json_data
from core.stats.intervals import Estimate, Interval


def test_every_key_is_a_field_or_property_of_its_class() -> None:
    modules = [
        importlib.import_module(module.name)
        for package in (core.stats, core.services.evaluation)
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    ]
    classes = {name: value for module in modules for name, value in inspect.getmembers(module, is_dataclass)}
    for name, keys in JSON_KEYS.items():
        properties = {key for key, value in inspect.getmembers(classes[name]) if isinstance(value, property)}
        assert set(keys.split()) <= {part.name for part in fields(classes[name])} | properties, name


def test_results_have_only_the_listed_keys() -> None:
    interval = Interval(0.1, 0.9, 0.95)
    assert json_data({"macro": (Estimate(0.5, interval),)}) == {
        "macro": [{"value": 0.5, "interval": [0.1, 0.9], "clear": True}]
    }


def test_basis_of_a_score_has_its_documented_keys() -> None:
    schemas = Path(__file__).resolve().parents[4] / "docs" / "reference" / "schemas.json"
    documented = json.loads(schemas.read_text("utf-8"))["$defs"]["evaluation"]["properties"]["basis"]["description"]
    assert re.findall(r"`(\w+)`", documented) == JSON_KEYS["Basis"].split()
