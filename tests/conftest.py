"""Fixtures and hooks of all tests: isolated folders, order, and skips as failures on request.

Three slow parts of Moot are replaced in most tests:
- A new project is a copy of an empty one. Its schema is neither applied nor checked, nor is that of a file that was
  closed and not changed since. Tests with the fixture ``applied_schema`` create and open projects as Moot does:
  ``tests/core/store/test_database.py`` and ``test_migrations.py``.
- Files are read in the process of the test. Tests with the fixture ``child_processes`` read them in child processes as
  Moot does: ``tests/core/ingest/test_child_process.py``, ``tests/core/ingest/test_read.py`` and
  ``tests/core/services/test_bundle.py``.
- Writes do not wait for more rows, and the classifier is not trained. Tests with the fixture ``training`` train it;
  ``tests/core/store/test_write_queue.py`` tests the wait.

Tests that start Moot as another process, such as those in ``tests/browser`` and ``tests/test_packaging.py``, replace
nothing.
"""

from __future__ import annotations

import gc
import importlib
import io
import itertools
import os
import shutil

import orjson
import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"  # before anything looks for a keyring
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy starts: waiting threads of two workers take CPU time
gc.set_threshold(50_000, 20, 20)  # the default takes a tenth of the CPU time
settings.register_profile(
    "moot",
    deadline=None,  # the machine may be busy: time is measured in the benchmarks
    derandomize="MOOT_NOTHING_SKIPS" in os.environ,  # what lands is not left to chance
)
settings.load_profile("moot")


BROWSER = "tests/browser/"
BROWSERS = 3
"""Workers that start with browser tests."""
SLOW = (BROWSER, "tests/core/cli/", "tests/test_", "tests/core/llm/", "tests/app/", "tests/core/services/")
"""Files with slow tests, which run first so that no worker waits for another at the end."""


def pytest_collection_modifyitems(items):
    """Run slow files first, in the original order within a file."""
    items.sort(key=lambda item: next((n for n, start in enumerate(SLOW) if item.nodeid.startswith(start)), len(SLOW)))


def pytest_collection_finish(session):
    """Exclude the collected tests and imported modules from later garbage collections."""
    gc.freeze()


class FewBrowsers(LoadFileScheduling):
    """Run each file in one worker, and start with browser tests in three workers, because they often wait.

    A worker continues with the same kind of tests until none are left, so that few browsers are started.
    """

    def _assign_work_unit(self, node):
        browses = node in self.nodes[:BROWSERS]
        scope = next((scope for scope in self.workqueue if scope.startswith(BROWSER) == browses), None)
        if scope is not None:
            self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)


def pytest_xdist_auto_num_workers(config):
    """Run two workers more than processors, because tests wait for servers, disks and browsers."""
    return (os.cpu_count() or 1) + 2


def pytest_xdist_make_scheduler(config, log):
    """Schedule tests by file."""
    return FewBrowsers(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Report skipped tests as failed if MOOT_NOTHING_SKIPS is set, as on machines with everything installed."""
    report = yield
    if report.skipped and os.environ.get("MOOT_NOTHING_SKIPS") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped although nothing may skip here: {report.longrepr}"
    return report


_homes = itertools.count()
FOLDERS = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")


@pytest.fixture(scope="session", autouse=True)
def _isolated_session(tmp_path_factory):
    """Keep session and module fixtures away from the user's settings and projects."""
    with pytest.MonkeyPatch.context() as patch:
        for name in FOLDERS:
            patch.setenv(name, str(tmp_path_factory.getbasetemp() / "shared" / name.lower()))
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "XAI_API_KEY"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(autouse=True)
def _folders_per_test(_isolated_session, monkeypatch, tmp_path_factory):
    """Give each test its own settings and projects."""
    home = tmp_path_factory.getbasetemp() / "homes" / str(next(_homes))  # mktemp lists all earlier folders each time
    for name in FOLDERS:
        monkeypatch.setenv(name, str(home / name.lower()))


@pytest.fixture(autouse=True)
def _no_delays(monkeypatch):
    """Write rows without the usual wait for more rows, and train classifiers only with the fixture ``training``."""
    monkeypatch.setattr("core.store.write_queue.LINGER_SECONDS", 0.0)
    monkeypatch.setattr("core.store.write_queue.REST_FACTOR", 0.0)
    monkeypatch.setattr("core.services.classifier_training.DEBOUNCE_SECONDS", 3600.0)


@pytest.fixture
def training(_no_delays, monkeypatch):
    """Train the classifier soon after each decision."""
    monkeypatch.setattr("core.services.classifier_training.DEBOUNCE_SECONDS", 0.05)


@pytest.fixture(scope="session", autouse=True)
def _copied_projects(tmp_path_factory, _isolated_session):
    """Create each new project as a copy of an empty one, and check no schema of a file that these tests closed.

    A file is known by its size and by the time of its last change, which ``shutil.copy2`` keeps. Other processes and
    tests with the fixture ``applied_schema`` create and open projects as Moot does.
    """
    from core.store import database, migrations

    template = tmp_path_factory.mktemp("template") / "empty.duckdb"
    database.open_file(template).close()
    connect, migrate, close = database._connect, migrations.migrate, database.DatabaseConnection.close
    closed, unchecked = set(), set()

    def identity(path):
        status = path.stat()
        return status.st_size, status.st_mtime_ns

    def connect_known(path):
        unchecked.discard(str(path))  # of an attempt that failed
        if not path.exists():
            shutil.copyfile(template, path)
            unchecked.add(str(path))
        elif identity(path) in closed and not path.with_name(path.name + ".wal").exists():
            unchecked.add(str(path))
        return connect(path)

    def migrate_others(cursor, *, path, upto=None):
        if path in unchecked:
            unchecked.remove(path)
        else:
            migrate(cursor, path=path, upto=upto)

    def close_and_remember(connection):
        was_open = connection.is_open
        close(connection)
        if was_open and connection.path.exists():
            closed.add(identity(connection.path))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "_connect", connect_known)
        patch.setattr(migrations, "migrate", migrate_others)
        patch.setattr(database.DatabaseConnection, "close", close_and_remember)
        yield connect


@pytest.fixture
def applied_schema(_copied_projects, monkeypatch):
    """Create projects as Moot does."""
    from core.store import database

    monkeypatch.setattr(database, "_connect", _copied_projects)


@pytest.fixture(scope="session", autouse=True)
def _reads_without_child_processes():
    """Read files in this process, because a child process per file takes most of the time of many tests."""
    from core.ingest import child_process

    def read(function, source, arguments, *, progress=None, writes=False):
        if not isinstance(source, bytes):
            source.seek(0)
            source = source.read()
        module, _, name = function.partition(":")
        reports = {} if progress is None else {"progress": progress}
        for value in getattr(importlib.import_module(module), name)(io.BytesIO(source), **arguments, **reports):
            yield orjson.loads(orjson.dumps(value))

    run = child_process.run
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(child_process, "run", read)
        yield run


@pytest.fixture
def child_processes(_reads_without_child_processes, monkeypatch):
    """Read files in child processes as Moot does."""
    from core.ingest import child_process

    monkeypatch.setattr(child_process, "run", _reads_without_child_processes)
