"""Tests of the studio as a process: a second studio on the same project, Ctrl-C, its own window."""

from __future__ import annotations

import configparser
import contextlib
import importlib.util
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from core.cli import main
from core.cli.studio import _save_download
from tests.core.cli.invoking import moot
from tests.servers.running import free_port, wait_for

ROOT = Path(__file__).resolve().parents[3]


def test_options_of_the_studio_may_stand_before_it_but_not_before_others(monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[tuple[object, ...]] = []
    monkeypatch.setattr("core.cli.launch", lambda *options: launched.append(options))
    moot("--port", "9000", "--no-browser", "studio")
    moot("--port", "9000", "studio", "--port", "9001")
    moot("--project", "p.duckdb")
    moot("studio")
    project = Path("p.duckdb")
    assert launched == [
        (None, 9000, "address"),
        (None, 9001, "browser"),
        (project, None, "browser"),
        (None, None, "browser"),
    ]
    refused = moot("--project", "p.duckdb", "doctor", code=2)
    assert "Options before doctor are for the studio. Leave them out, or write them after it." in refused.stderr
    assert "Options before demo are for the studio." in moot("--window", "demo", code=2).stderr


def test_second_studio_shows_the_open_url_and_ctrl_c_exits_cleanly(tmp_path: Path) -> None:
    project, port = tmp_path / "p.duckdb", free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-c", "from core.cli import main; main()", "--no-browser", "--port", str(port)]
    folders = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    process = subprocess.Popen(
        [*command, "--project", str(project)],
        env=os.environ | folders,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        wait_for(f"{url}/_stcore/health", process.poll, 60)
        locked = moot("runs", "--project", project, "--json", code=2).stderr
        assert f"is open in Moot at {url} (pid {process.pid}). Stop Moot there, or open another project." in locked
        second = moot("studio", "--no-browser", "--project", project).stderr
        assert f"already open at {url}" in second
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=30)[1].decode()
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, output
    assert "interrupted" not in output
    assert "Traceback" not in output
    assert moot("runs", "--project", project, "--json").json == {"runs": []}


def start_studio(tmp_path: Path, *options: object, folder: Path = ROOT) -> tuple[subprocess.Popen[bytes], Path]:
    """Start a studio with a script as its browser that saves the content of the opened page to a file."""
    saved_page = tmp_path / "page.html"
    browser = tmp_path / "browser"
    browser.write_text(
        f'#!/bin/sh\ncp "${{1#file://}}" {saved_page}.part && mv {saved_page}.part {saved_page}\n', encoding="utf-8"
    )
    browser.chmod(0o700)
    folders = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    process = subprocess.Popen(
        [sys.executable, "-m", "core.cli", *map(str, options)],
        env=os.environ | folders | {"BROWSER": f"{browser} %s"},
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    while not saved_page.exists():
        assert process.poll() is None
        time.sleep(0.01)
    return process, saved_page


def submit(page: str, path: str = "/") -> str:
    """Send the form of the opened page and return the answer of the studio, or its content at another path."""
    address, token = re.search(r'action="([^"]+)".*value="([^"]+)"', page).groups()  # type: ignore[union-attr]
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with browser.open(address, f"token={token}".encode(), timeout=60) as answer:
        text = str(answer.read().decode())
    if path == "/":
        return text
    with browser.open(urllib.parse.urljoin(address, path), timeout=60) as answer:
        return str(answer.read().decode())


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Start a studio in a folder with settings of Streamlit. Yield the page that it opened, and the folder."""
    folder = tmp_path_factory.mktemp("studio")
    (folder / ".streamlit").mkdir()
    (folder / ".streamlit" / "config.toml").write_text('[server]\nbaseUrlPath = "elsewhere"\n')
    options = ("--port", free_port(), "--project", folder / "p.duckdb")
    process, saved_page = start_studio(folder, *options, folder=folder)
    try:
        yield saved_page.read_text(), folder
    finally:
        process.kill()
        process.communicate()


def test_the_browsers_request_waits_until_the_studio_is_started(opened: tuple[str, Path]) -> None:
    page, _ = opened
    assert "Opening Moot" in page
    assert '<div id="root">' in submit(page)


def test_streamlit_settings_of_the_current_folder_are_ignored(opened: tuple[str, Path]) -> None:
    page, _ = opened
    assert submit(page, "/_stcore/health") == "ok"


def test_a_second_studio_leads_the_browser_to_the_first(opened: tuple[str, Path]) -> None:
    page, folder = opened
    submit(page)
    (folder / "page.html").unlink()
    second, saved_page = start_studio(folder, "--port", free_port(), "--project", folder / "p.duckdb")
    assert submit(saved_page.read_text()) == page
    assert b"already open at" in second.communicate(timeout=60)[1]
    assert second.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on open files")
def test_idle_connections_of_another_user_do_not_block_the_studio(tmp_path: Path) -> None:
    import resource

    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    port = free_port()
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, most))
    try:
        process, saved_page = start_studio(tmp_path, "--port", port, "--project", tmp_path / "p.duckdb")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (now, most))
    with contextlib.ExitStack() as stack:
        stack.callback(process.communicate)
        stack.callback(process.kill)
        page = saved_page.read_text()
        submit(page)
        for _ in range(400):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        assert submit(page, "/_stcore/health") == "ok"


def test_only_a_browser_with_the_token_sees_why_the_studio_did_not_start(tmp_path: Path) -> None:
    (tmp_path / "p.duckdb").write_bytes(b"no database" * 1000)
    process, saved_page = start_studio(tmp_path, "--port", free_port(), "--project", tmp_path / "p.duckdb")
    page = saved_page.read_text()
    with pytest.raises(urllib.error.HTTPError, match="403") as refusal:
        submit(re.sub(r'value="[^"]+"', 'value="guess"', page))
    refusal.value.close()
    shown = submit(page)
    output = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 2
    assert "Moot did not start" in shown
    assert "p.duckdb is not a" in shown
    assert "p.duckdb is not a" in output


def test_slow_libraries_are_imported_after_the_browser_is_opened() -> None:
    slow = ("streamlit", "pydantic", "numpy", "duckdb", "aiohttp", "pandas", "asyncio")
    ask = f"import sys, core.cli, app.api.access; print([name for name in {slow} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_command_can_be_called() -> None:
    context = click.Context(main)
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        assert command.name == name
    assert main.get_command(context, "no-such-command") is None


WEBVIEW = """
import sys
settings = {}

def create_window(title, html, width, height):
    assert "token" in html

def start(gui=None):
    if sys.platform.startswith("linux"):
        from webview.platforms.qt import BrowserView
        assert callable(BrowserView.on_download_requested)
    print("window shown and closed", flush=True)
"""


def start_window(tmp_path: Path, webview: str) -> subprocess.CompletedProcess[str]:
    """Run ``moot --window`` until it ends, with this module in place of pywebview."""
    platforms = tmp_path / "webview" / "platforms"
    platforms.mkdir(parents=True)
    (tmp_path / "webview" / "__init__.py").write_text(webview, encoding="utf-8")
    (platforms / "qt.py").write_text("class BrowserView: pass\n", encoding="utf-8")
    folders = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "core.cli",
            "--window",
            "--port",
            str(free_port()),
            "--project",
            str(tmp_path / "p.duckdb"),
        ],
        env=os.environ | folders | {"PYTHONPATH": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_closing_the_window_stops_the_studio(tmp_path: Path) -> None:
    done = start_window(tmp_path, WEBVIEW)
    assert done.returncode == 0, done.stderr
    assert "window shown and closed" in done.stdout
    assert "Traceback" not in done.stderr


def test_window_that_cannot_be_opened_is_an_error_with_its_reason(tmp_path: Path) -> None:
    done = start_window(
        tmp_path, WEBVIEW.replace('print("window shown and closed", flush=True)', 'raise OSError("no display")')
    )
    assert done.returncode == 2, done.stderr
    assert "moot: no display" in done.stderr
    assert "The window could not be opened" in done.stderr
    assert "Traceback" not in done.stderr


class QtDownload:
    """A download as Qt 6 passes it: without ``setPath``."""

    def __init__(self) -> None:
        self.saved: list[str] = []

    def suggestedFileName(self) -> str:
        return "labels.csv"

    def setDownloadDirectory(self, folder: str) -> None:
        self.saved.append(folder)

    def setDownloadFileName(self, name: str) -> None:
        self.saved.append(name)

    def accept(self) -> None:
        self.saved.append("accepted")


@pytest.mark.parametrize("chosen", ["/tmp/mine.csv", ""])
def test_download_of_the_window_is_saved_where_the_user_chooses(monkeypatch: pytest.MonkeyPatch, chosen: str) -> None:
    proposed = []

    class QFileDialog:
        @staticmethod
        def getSaveFileName(parent: object, title: str, path: str) -> tuple[str, str]:
            proposed.append(Path(path).name)
            return chosen, ""

    widgets = SimpleNamespace(QFileDialog=QFileDialog)
    monkeypatch.setitem(sys.modules, "qtpy", SimpleNamespace(QtWidgets=widgets))
    monkeypatch.setitem(sys.modules, "qtpy.QtWidgets", widgets)
    download = QtDownload()
    _save_download(None, download)
    assert proposed == ["labels.csv"]
    assert download.saved == (["/tmp", "mine.csv", "accepted"] if chosen else [])


@pytest.mark.skipif(importlib.util.find_spec("webview") is not None, reason="pywebview is installed")
def test_window_without_pywebview_names_the_extra(tmp_path: Path) -> None:
    assert "extra 'window'" in moot("--window", "--project", tmp_path / "p.duckdb", code=2).stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="desktop entries need Linux")
def test_desktop_entry_starts_the_installed_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "webview", None)  # the extra may be installed
    moot("desktop-entry")
    entry = configparser.ConfigParser(interpolation=None)
    entry.read(tmp_path / "applications" / "moot.desktop", encoding="utf-8")
    assert Path(entry["Desktop Entry"]["Icon"]).exists()
    command = shlex.split(entry["Desktop Entry"]["Exec"])
    assert command[1:] == ["studio"]
    assert Path(command[0]) == Path(sysconfig.get_path("scripts")) / "moot"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="desktop entries need Linux")
def test_home_folder_that_cannot_be_written_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(file))
    monkeypatch.setenv("XDG_DATA_HOME", str(file))
    for command in (("studio", "--no-browser"), ("desktop-entry",)):
        assert "could not be written: Not a directory. Free some space" in moot(*command, code=2).stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="desktop entries need Linux")
def test_desktop_entry_quotes_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(sysconfig, "get_path", lambda _name: '/opt/a "b" `id` $HOME \\ 5%')
    moot("desktop-entry")
    text = (tmp_path / "applications" / "moot.desktop").read_text(encoding="utf-8")
    assert r'Exec="/opt/a \\"b\\" \\`id\\` \\$HOME \\\\ 5%%/moot" studio' in text
    monkeypatch.setattr(sysconfig, "get_path", lambda _name: "/opt/a\nExec=evil")
    assert "cannot be named" in moot("desktop-entry", code=2).stderr
