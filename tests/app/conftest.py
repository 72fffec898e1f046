"""Fixtures of the tests of the pages."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest
from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import app_test, local_script_runner

from app import streamlit_patches


@pytest.fixture(scope="session", autouse=True)
def _one_component_scan() -> Iterator[None]:
    """Scan the installed packages for components once instead of for each AppTest."""
    with pytest.MonkeyPatch.context() as patch:
        scan = functools.cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", scan)
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_script_cache() -> Iterator[None]:
    """Compile the scripts of the pages once, as the studio does, instead of for each run of an AppTest."""
    cache = ScriptCache()
    with pytest.MonkeyPatch.context() as patch:
        for module in (app_test, local_script_runner):
            patch.setattr(module, "ScriptCache", lambda: cache)
        yield


@pytest.fixture(scope="session", autouse=True)
def _settings_of_the_studio() -> None:
    """Show errors of callbacks, collect no usage statistics, and let widgets have a default and a stored value."""
    streamlit_patches.correct_streamlit()
    config.set_option("browser.gatherUsageStats", False)
    config.set_option("global.disableWidgetStateDuplicationWarning", True)


def _wait_for_script(runner: local_script_runner.LocalScriptRunner, timeout: float = 3) -> None:
    thread = runner._script_thread
    assert thread is not None
    thread.join(timeout)
    if thread.is_alive():
        runner.request_stop()
        runner.join()
        raise RuntimeError(f"the script took longer than {timeout} seconds")


@pytest.fixture(scope="session", autouse=True)
def _no_polling() -> Iterator[None]:
    """Wait for a script's thread with a join, because AppTest's polling takes a quarter of its CPU time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "require_widgets_deltas", _wait_for_script)
        yield
