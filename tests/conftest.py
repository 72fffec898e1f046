"""Shared by all tests: nothing may skip where everything is installed on purpose."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"  # before anything looks for a keyring
settings.register_profile("moot", deadline=None)  # the machine may be busy: time is measured in the benchmarks
settings.load_profile("moot")


BROWSER = "tests/browser/"
SLOW = (BROWSER, "tests/core/cli/", "tests/test_packaging.py", "tests/core/llm/", "tests/app/")
"""Files with slow tests. They run first, so that at the end no worker waits for the last one."""


def pytest_collection_modifyitems(items):
    """Order slow files first; the order within a file stays."""
    items.sort(key=lambda item: next((n for n, start in enumerate(SLOW) if item.nodeid.startswith(start)), len(SLOW)))


class OneBrowser(LoadFileScheduling):
    """Keep each file in one worker, and all browser tests in one, so that no two browsers share the machine."""

    def _split_scope(self, nodeid):
        return BROWSER if nodeid.startswith(BROWSER) else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config, log):
    """Schedule tests by file."""
    return OneBrowser(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """With MOOT_NOTHING_SKIPS a skip is a failure: the machine was set up to run all."""
    report = yield
    if report.skipped and os.environ.get("MOOT_NOTHING_SKIPS") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped although nothing may skip here: {report.longrepr}"
    return report


FOLDERS = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")


@pytest.fixture(scope="session", autouse=True)
def _no_own_folders(tmp_path_factory):
    """Keep fixtures that serve many tests off the settings and projects of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        for name in FOLDERS:
            patch.setenv(name, str(tmp_path_factory.getbasetemp() / "shared" / name.lower()))
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "XAI_API_KEY"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(autouse=True)
def _folders_per_test(_no_own_folders, monkeypatch, tmp_path_factory):
    """Give each test settings and projects of its own: what one test prefers, no other one sees."""
    home = tmp_path_factory.mktemp("home")
    for name in FOLDERS:
        monkeypatch.setenv(name, str(home / name.lower()))


@pytest.fixture(autouse=True)
def _no_lingering(monkeypatch):
    """Rows that can wait for company do not, where debates are written one by one."""
    monkeypatch.setattr("core.store.writer.LINGER_SECONDS", 0.0)
