"""Helpers that open pages with Streamlit's AppTest on a workspace in temporary folders."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from app import context
from app.state import callback_turn
from core.services import workspace as workspaces
from core.services.project_session import ProjectSession
from core.services.workspace import Workspace

NAVIGATION = str(Path(context.__file__).with_name("navigation.py"))
SCREENS = Path(context.__file__).with_name("screens")
HOSTILE = "<img src=x onerror=alert(1)> **bold** ![x](http://evil.example/x.png)"


@contextmanager
def studio(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """Install an empty workspace and yield it."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(folder / name))
    workspace = Workspace()
    workspaces.use(workspace)
    try:
        yield workspace
    finally:
        workspaces.use(None)
        workspace.close()


def open_page(name: str) -> AppTest:
    """Open a page in a new browser tab by its address, without a visit to Home before."""
    at = AppTest.from_file(NAVIGATION, default_timeout=30)
    if name != "home":
        at._page_hash = calc_hash(name)  # of the URL path; switch_page needs a first run to know it
    return at.run()


def draw_screen(session: ProjectSession, name: str, **values: Any) -> AppTest:
    """Draw the script of a page alone, with these values of the session state; "__" in a key stands for "-"."""
    at = AppTest.from_file(str(SCREENS / name / "page.py"), default_timeout=60)
    at.session_state["project"], at.session_state["page"] = session.path, name
    for key, value in values.items():
        at.session_state[key.replace("__", "-")] = value
    at.run()
    assert not at.exception, [error.value for error in at.exception]
    return at


def html(at: AppTest) -> str:
    """Return the HTML of the page without its CSS. AssertionError if the script failed."""
    assert not at.exception, at.exception[0].value
    bodies = (element.proto.body for element in at.get("html"))
    return "\n".join(body for body in bodies if not body.startswith("<style>"))


def component_data(at: AppTest, name: str) -> list[Any]:
    """Return the data of each drawn component with this name."""
    components = (element.proto for element in at.get("bidi_component"))
    return [json.loads(proto.json)[0] for proto in components if proto.component_name == f"moot_{name}"]


def button(at: AppTest, label: str) -> AppTest:
    """Click the button with this label."""
    return next(button for button in at.button if button.label == label).click().run()


def can_other_tabs_act() -> bool:
    """Return True if callbacks of other tabs can be called now, in a callback."""

    def take_turn() -> bool:
        is_free = callback_turn.acquire(blocking=False)
        if is_free:
            callback_turn.release()
        return is_free

    with ThreadPoolExecutor(1) as other_tab:
        return other_tab.submit(take_turn).result()


def until_shown(at: AppTest, words: str, seconds: float = 30.0) -> str:
    """Rerun the page, as its timer does in a browser, until it shows these words; return its HTML."""
    deadline = time.monotonic() + seconds
    while words not in (shown := html(at)):
        assert time.monotonic() < deadline, f"not shown: {words}"
        time.sleep(0.05)
        at.run()
    return shown
