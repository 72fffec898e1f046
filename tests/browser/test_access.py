"""Tests of the access control of a running studio against other users of the machine and other web pages."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socketserver
import sqlite3
import stat
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import CHROMIUM, FLAGS
from tests.browser.studios import Studio

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.studios import OpenTab

pytestmark = pytest.mark.browser

PROBE = """async (address) => {
  const socket = (path) => new Promise((resolve) => {
    const opened = new WebSocket(address.replace('http', 'ws') + path);
    opened.onopen = () => resolve('open');
    opened.onerror = () => resolve('refused');
  });
  const read = (path, options) => fetch(address + path, options).then((r) => r.type + r.status, () => 'refused');
  const tag = (name, path) => new Promise((resolve) => {
    const element = document.createElement(name);
    element.src = address + path;
    element.onload = () => resolve('loaded');
    element.onerror = () => resolve('refused');
    document.body.append(element);
  });
  return {
    stream: await socket('/_stcore/stream'),
    live: await socket('/moot/live'),
    page: await read('/', {credentials: 'include'}),
    review: await read('/moot/review', {method: 'POST', body: '{}', credentials: 'include', mode: 'no-cors'}),
    health: await read('/_stcore/health', {credentials: 'include'}),
    script: await tag('script', '/app/static/logo.svg'),
    image: await tag('img', '/app/static/logo-icon.svg'),
  };
}"""


@pytest.fixture(scope="module")
def foreign_page() -> Iterator[int]:
    """Start another web server on this machine and yield its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<h1>Another page</h1>")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield int(server.server_address[1])
        server.shutdown()


@pytest.mark.usefixtures("open_tab")  # clears the cookies
def test_browser_without_the_cookie_is_refused(tab: Page, running: Studio) -> None:
    for path in ("/", "/review", "/models", "/_stcore/host-config", "/_stcore/health", "/app/static/logo-icon.svg"):
        answer = tab.goto(running.address + path)
        assert answer is not None
        assert answer.status == 403
    assert "no access" in tab.inner_text("h1")
    tab.get_by_label("Token").fill(running.entrance.partition("token=")[2])
    tab.get_by_role("button", name="Open").click()
    tab.get_by_test_id("stSidebar").wait_for()


def test_page_of_another_port_gets_no_access(open_tab: OpenTab, running: Studio, foreign_page: int) -> None:
    """Neither by requests, nor by the address in the session history, nor by a handle on the studio that it opens.

    Streamlit obeys messages of other pages (``client.allowedOrigins``), and a handle counts the frames of a page.
    """
    page = open_tab(running.entrance)
    page.get_by_test_id("stSidebar").wait_for()
    allowed = page.evaluate("fetch('/_stcore/host-config').then((answer) => answer.json())")["allowedOrigins"]
    assert allowed == []
    assert "token" not in page.url
    assert "moot" not in page.evaluate("document.referrer + document.cookie")
    history = page.context.new_cdp_session(page).send("Page.getNavigationHistory")["entries"]
    first, *entries = [entry["url"] for entry in history]
    assert first == "about:blank"
    assert entries
    assert not [url for url in entries if "token" in url or "/moot/" in url]
    for host in ("localhost", "127.0.0.1"):
        page.goto(f"http://{host}:{foreign_page}/")
        report = page.evaluate(PROBE, running.address)
        assert report.pop("review") in ("opaque0", "refused")  # the browser may send it; the server refuses it
        assert set(report.values()) == {"refused"}, report
    with page.context.expect_page() as opened:
        page.evaluate("address => { window.opened = window.open(address); }", running.address)
    opened.value.get_by_test_id("stSidebar").wait_for()
    assert page.evaluate("opened.closed")
    assert opened.value.evaluate("window.opener") is None


def test_token_is_in_neither_the_browsers_command_line_nor_its_history(tmp_path: Path) -> None:
    """moot opens chromium with a new profile through a script that records its arguments."""
    profile, seen = tmp_path / "profile", tmp_path / "arguments.txt"
    opener = tmp_path / "open-browser"
    flags = " ".join(FLAGS)
    opener.write_text(
        f'#!/bin/sh\necho "$@" >> {seen}\necho $$ > {tmp_path}/pid\nexec {CHROMIUM} {flags} --user-data-dir={profile} '
        f'--remote-debugging-port=0 "$@" 2>/dev/null\n'
    )
    opener.chmod(0o755)
    started = Studio(tmp_path, browser=f"{opener} %s &")
    started.start()
    token = started.entrance.partition("token=")[2]
    try:
        history = profile / "Default" / "History"
        deadline, addresses = time.monotonic() + 60, [""]
        while started.address + "/" not in addresses and time.monotonic() < deadline:
            lines = Path("/proc").glob("[0-9]*/cmdline")
            assert token not in "".join(_text(path) for path in lines)
            time.sleep(0.2)
            if history.exists():
                copy = shutil.copy(history, tmp_path / "history")
                with closing(sqlite3.connect(copy)) as database, suppress(sqlite3.DatabaseError):  # incomplete copy
                    addresses = [url for (url,) in database.execute("SELECT url FROM urls")]
        assert started.address + "/" in addresses
        assert token not in " ".join(addresses) + seen.read_text()
        (page,) = (tmp_path / "state" / "moot").glob("open-*.html")
        assert token in page.read_text()
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
    finally:
        started.stop()
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGTERM)
    assert not list((tmp_path / "state" / "moot").glob("open-*.html"))


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs root to act as another user")
def test_another_user_of_the_machine_is_refused(running: Studio) -> None:
    attack = f"""
import glob, json, sys, urllib.error, urllib.request
def status(path, **headers):
    try:
        return urllib.request.urlopen(urllib.request.Request({running.address!r} + path, headers=headers)).status
    except urllib.error.HTTPError as error:
        return error.code
def text(path):
    try:
        return open(path, errors="replace").read()
    except OSError:  # the process has ended
        return ""
paths = ["/", "/models", "/_stcore/health", "/_stcore/stream", "/_stcore/host-config", "/moot/live", "/moot/review",
         "/moot/enter", "/moot/enter?token=x", "/_stcore/metrics", "/media/x", "/component/x", "/_stcore/upload_file"]
answers = [status(path) for path in paths] + [status("/", Cookie="moot_session_{running.port}=x")]
lines = "".join(map(text, glob.glob("/proc/[0-9]*/cmdline")))
print(json.dumps([answers, lines]))
"""
    done = subprocess.run(
        ["/usr/bin/python3", "-c", attack], user="nobody", capture_output=True, text=True, check=True, cwd="/"
    )
    answers, lines = json.loads(done.stdout)
    assert set(answers) == {403}
    assert running.entrance.partition("token=")[2] not in lines
