"""Tests of the file of preferences: entries that cannot be read, and files that are none."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.llm.connections import Connection, Limits
from core.llm.prices import Price
from core.runs import RoleModel
from core.services import preferences
from core.services.preferences import Preferences, RoleModels

SAVED = Preferences(
    recent={"/hotel.duckdb": 1.0, "/zoo.duckdb": 2.0},
    archived=("/old.duckdb",),
    connections=tuple(Connection(name=name, base_url=f"http://{name}") for name in ("near", "lost", "far")),
    limits={"near": Limits(at_once=2), "far": Limits(requests_per_minute=9)},
    prices={"near/*": Price(prompt=1, completion=2)},
    ceiling=3.0,
    presets={"cheap": RoleModels(default_model=RoleModel(connection="near", model="tiny"))},
    reviewer="ada",
)


def _path() -> Path:
    return preferences.folder() / preferences.FILE


def _kept() -> Path:
    return _path().with_name("preferences.json.unreadable")


def test_saved_preferences_are_read_back() -> None:
    assert preferences.load() == Preferences()
    preferences.update(lambda _: SAVED)
    preferences.update(lambda _: SAVED)
    assert preferences.load() == SAVED
    assert not _kept().exists()


def test_changes_at_the_same_time_are_all_saved() -> None:
    def add(number: int) -> None:
        def change(saved: Preferences) -> Preferences:
            time.sleep(0.01)
            return saved.with_recent(Path(f"/{number}.duckdb"))

        preferences.update(change)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(4)))
    assert sorted(preferences.load().recent) == [f"/{number}.duckdb" for number in range(4)]


def test_entries_that_cannot_be_read_are_left_out_and_all_others_stay(caplog: pytest.LogCaptureFixture) -> None:
    preferences.update(lambda _: SAVED)
    edited = json.loads(_path().read_bytes())
    edited["ceiling"] = "cheap"
    edited["archived"] = {"a": 1}
    edited["connections"][1]["dialect"] = "carrier pigeon"
    edited["connections"][1]["base_url"] = None
    edited["limits"]["near"]["at_once"] = 0
    edited["prices"]["far/*"] = {"prompt": -1, "completion": 1}
    edited["invented_later"] = 1
    _path().write_text(json.dumps(edited), encoding="utf-8")
    near, _, far = SAVED.connections
    readable = SAVED.model_copy(
        update={"ceiling": None, "archived": (), "connections": (near, far), "limits": {"far": SAVED.limits["far"]}}
    )
    assert preferences.load() == readable
    preferences.change(reviewer="bob")
    assert preferences.load() == readable.model_copy(update={"reviewer": "bob"})
    assert json.loads(_kept().read_bytes()) == edited
    assert "preferences.json.unreadable" in caplog.text


@pytest.mark.parametrize("content", ['{"reviewer": "ada", ', "[]", ""])
def test_file_without_any_readable_entry_is_kept_under_another_name(content: str) -> None:
    _path().parent.mkdir(parents=True, exist_ok=True)
    _path().write_text(content, encoding="utf-8")
    assert preferences.load() == Preferences()
    preferences.change(reviewer="ada")
    preferences.change(ceiling=1.0)
    assert preferences.load() == Preferences(reviewer="ada", ceiling=1.0)
    assert _kept().read_text(encoding="utf-8") == content


def test_preferences_that_cannot_be_written_leave_no_file() -> None:
    _path().mkdir(parents=True)
    preferences.write(preferences.FILE, b"{}")
    assert list(preferences.folder().iterdir()) == [_path()]
