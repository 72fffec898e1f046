"""Tests of the probes before a run: only a model that cannot reply stops the run."""

from __future__ import annotations

import asyncio

import pytest

from core.engine import preflight
from core.engine.preflight import probe_role_models
from core.errors import NoSuchModel, RateLimited
from tests.core.engine.fakes import World, settings


def test_preflight_timeout_does_not_stop_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(preflight, "PROBE_SECONDS", 0.05)
    world = World(delay=30.0)
    (probe,) = asyncio.run(probe_role_models(settings("single"), world))
    assert probe.error is not None
    assert probe.error.kind == "timed out"
    assert not probe.stops
    assert probe.seconds < 5
    assert world.cancelled == 1


def test_preflight_does_not_call_a_long_rate_limit_a_timeout() -> None:
    world = World(script=lambda *_: RateLimited("Slow down.", retry_after=300.0))
    (probe,) = asyncio.run(probe_role_models(settings("single"), world))
    assert isinstance(probe.error, RateLimited)
    assert probe.seconds < 5
    assert len(world.requested) == 1


def test_unknown_model_stops_the_run_after_one_request() -> None:
    world = World(script=lambda _ask, _document, _times: NoSuchModel("fake does not know m.", "Choose another."))
    (probe,) = asyncio.run(probe_role_models(settings("ecj"), world))
    assert probe.roles == ("extractor", "critic", "judge")
    assert probe.stops
    assert len(world.requested) == 1


def test_probe_keeps_the_beginning_of_the_reply_on_one_line() -> None:
    world = World(script=lambda *_: "I love\nrain. " * 30)
    (probe,) = asyncio.run(probe_role_models(settings("single"), world))
    assert not probe.in_format
    assert probe.beginning.startswith("I love rain. I love")
    assert (len(probe.beginning), probe.beginning[-1]) == (preflight.SHOWN_CHARACTERS, "…")
