"""The studio as a process: a second one on the same project, and the end on Ctrl-C."""

from __future__ import annotations

import configparser
import importlib.util
import os
import shlex
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.core.cli.invoking import moot
from tests.servers.running import free_port, wait_for

ROOT = Path(__file__).resolve().parents[3]


def test_second_studio_shows_the_open_url_and_ctrl_c_exits_cleanly(tmp_path: Path) -> None:
    project, port = tmp_path / "p.duckdb", free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-c", "from core.cli import main; main()", "--no-browser", "--port", str(port)]
    own = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    process = subprocess.Popen(
        [*command, "--project", str(project)], env=os.environ | own, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        wait_for(f"{url}/_stcore/health", process, 60)
        locked = moot("runs", "--project", project, "--json", code=2).stderr
        assert f"is open in Moot at {url} (pid {process.pid}): close it there, or use another --project." in locked
        second = moot("studio", "--no-browser", "--project", project).stderr
        assert f"already open at {url}" in second
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=30)[1].decode()
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, said
    assert "interrupted" not in said
    assert "Traceback" not in said
    assert moot("runs", "--project", project, "--json").json == {"runs": []}


WEBVIEW = """
settings = {}

def create_window(title, html, width, height):
    assert "token" in html

def start(gui):
    print("window shown and closed", flush=True)
"""


def test_closing_the_window_stops_the_studio(tmp_path: Path) -> None:
    (tmp_path / "webview.py").write_text(WEBVIEW, encoding="utf-8")
    own = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    done = subprocess.run(
        [
            sys.executable, "-m", "core.cli", "--window", "--port", str(free_port()),
            "--project", str(tmp_path / "p.duckdb"),
        ],
        env=os.environ | own | {"PYTHONPATH": str(tmp_path)}, cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "window shown and closed" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(importlib.util.find_spec("webview") is not None, reason="pywebview is installed")
def test_window_without_pywebview_names_the_extra(tmp_path: Path) -> None:
    assert "extra 'window'" in moot("--window", "--project", tmp_path / "p.duckdb", code=2).stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="desktop entries need Linux")
def test_desktop_entry_starts_the_installed_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    moot("desktop-entry")
    entry = configparser.ConfigParser(interpolation=None)
    entry.read(tmp_path / "applications" / "moot.desktop", encoding="utf-8")
    assert Path(entry["Desktop Entry"]["Icon"]).exists()
    command = shlex.split(entry["Desktop Entry"]["Exec"])
    assert command[1:] == ["studio"]
    assert Path(command[0]) == Path(sysconfig.get_path("scripts")) / "moot"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="desktop entries need Linux")
def test_desktop_entry_quotes_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(sysconfig, "get_path", lambda _name: '/opt/a "b" `id` $HOME \\ 5%')
    moot("desktop-entry")
    text = (tmp_path / "applications" / "moot.desktop").read_text(encoding="utf-8")
    assert r'Exec="/opt/a \\"b\\" \\`id\\` \\$HOME \\\\ 5%%/moot" studio' in text
    monkeypatch.setattr(sysconfig, "get_path", lambda _name: "/opt/a\nExec=evil")
    assert "cannot be named" in moot("desktop-entry", code=2).stderr
