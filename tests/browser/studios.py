"""Start the studio in a separate process for browser tests.

The process is forked from one that has imported the libraries, which saves four seconds of processor time per studio.
With environment variables of its own it starts Python anew, because libraries have read theirs when they were imported.
``tests/core/cli/test_studio.py`` starts the real command.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from app import context, preload
from core.cli import main
from tests.servers.running import wait_for

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess

    from playwright.sync_api import Page

    OpenTab = Callable[..., Page]
    OpenStudio = Callable[..., tuple["Studio", Page]]

ROOT = Path(__file__).parents[2]
_CORE = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in (ROOT / "core").rglob("[!_]*.py")]
_FORKED = multiprocessing.get_context("forkserver")
_FORKED.set_forkserver_preload(
    [*_CORE, "streamlit.web.bootstrap", "uvicorn", "skops.io", *preload.BEFORE_PAGES, *preload.LIBRARIES]
)

_ports: list[int] = []
"""Ports of stopped studios. The next studio takes one, so that the browser finds Streamlit's files in its cache."""
_holders: list[socket.socket] = []


def live_name(path: Path) -> str:
    """Return the name of the first run of a project in requests of the browser."""
    return context.live_name(SimpleNamespace(path=path), "r0001")  # type: ignore[arg-type]


def _reserve_port() -> int:
    """Return a port that the system gives to no other program: a socket holds it, but does not listen."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the studio does, which may then listen
    holder.bind(("127.0.0.1", 0))
    _holders.append(holder)
    return int(holder.getsockname()[1])


class Studio:
    """A process of ``moot``. ``entrance`` is the printed address with the token, ``address`` the one without."""

    def __init__(
        self, folder: Path, *options: str, browser: str = "", environment: Mapping[str, str] | None = None
    ) -> None:
        self._log = folder / "output.txt"
        self._options = options if browser else ("--no-browser", *options)
        self._starts_python = bool(environment)
        self._environment = {**os.environ, **own_settings(folder), "BROWSER": browser, **(environment or {})}
        self.port = _ports.pop() if _ports else _reserve_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.entrance = ""
        self._process: ForkServerProcess | None = None

    def start(self) -> None:
        """Start the process and wait until the studio answers."""
        options = ("--port", str(self.port), *self._options)
        before = self._log.stat().st_size if self._log.exists() else 0
        self._process = process = _FORKED.Process(
            target=_run, args=(options, self._environment, self._log, self._starts_python), daemon=True
        )
        process.start()
        wait_for(f"{self.address}/_stcore/health", lambda: process.exitcode, 180)
        match = re.search(rb"http\S+/moot/enter\S+", self._log.read_bytes()[before:])
        assert match is not None, self.log
        self.entrance = match[0].decode()

    @property
    def log(self) -> str:
        """Output of the process, including earlier starts."""
        return self._log.read_text()

    @property
    def pid(self) -> int:
        """Process id."""
        assert self._process is not None
        assert self._process.pid is not None
        return self._process.pid

    def kill(self) -> None:
        """Kill the process, as in a crash."""
        assert self._process is not None
        self._process.kill()
        self._process.join()

    def stop(self) -> None:
        """Interrupt the process as Ctrl-C does, and wait for its end."""
        if self._process is None or not self._process.is_alive():
            return
        os.kill(self.pid, signal.SIGINT)
        self._process.join(20)
        if self._process.is_alive():
            self.kill()


def _run(options: tuple[str, ...], environment: dict[str, str], log: Path, starts_python: bool) -> None:
    """Run ``moot`` with these options and this environment, and append its output to a file."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(ROOT)
    with log.open("ab") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    if starts_python:
        os.execve(sys.executable, [sys.executable, "-m", "core.cli", *options], environment)
    main(options)


def own_settings(folder: Path) -> dict[str, str]:
    """Return environment variables that keep a studio's settings in this folder and disable the keyring."""
    folders = {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    return {**folders, "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}


STABLE = """() => {
  const parts = (root) => [...root.querySelectorAll('*')].reduce((sum, node) =>
    sum + 1 + (node.shadowRoot ? parts(node.shadowRoot) : 0)
    + (node.tagName === 'IFRAME' && node.contentDocument ? parts(node.contentDocument) : 0), 0);
  const busy = document.querySelector('[data-test-script-state=running], [data-testid=stSkeleton], .stSpinner');
  const now = busy ? NaN : parts(document);
  const same = now === window.lastSize;
  window.quiet = same ? (window.quiet ?? 0) + 1 : 0;
  window.lastSize = now;
  return window.quiet >= 2;
}"""


LONGEST = """() => {
  let longest = 0;
  const walk = (root) => {
    const nodes = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    while (nodes.nextNode()) {
      const node = nodes.currentNode;
      if (node.shadowRoot) walk(node.shadowRoot);
      if (node.nodeType === Node.TEXT_NODE && !node.parentElement?.closest('style, script'))
        longest = Math.max(longest, node.data.length);
    }
  };
  walk(document);
  return longest;
}"""
BLOCK = 16_001
"""Most characters of a text node: the largest block of a long text."""


def expect_long_word_in_blocks(page: Page) -> None:
    """Check that the shown document, which has a long word, is split into blocks, which the browser draws fast.

    ``tests.benchmarks.long_words`` measures the drawing time.
    """
    page.locator(".document .block").nth(1).wait_for()
    assert page.evaluate(LONGEST) <= BLOCK


def settle(page: Page) -> None:
    """Wait until the page is complete: no script runs, and no element was added or removed for 400 ms."""
    page.evaluate("window.quiet = 0")
    page.wait_for_function(STABLE, polling=200)


def visit(page: Page, title: str) -> None:
    """Open another page by its link in the sidebar."""
    page.get_by_test_id("stSidebar").get_by_role("link", name=title, exact=True).click()


def press(page: Page, name: str) -> None:
    """Press the button with exactly this name."""
    page.get_by_role("button", name=name, exact=True).click()


@contextmanager
def studio(folder: Path, *options: str) -> Iterator[Studio]:
    """Start a studio on the sample project, or on that of ``--project``, and stop it afterwards."""
    studio = Studio(folder, *options)
    studio.start()
    try:
        yield studio
    finally:
        studio.stop()
        _ports.append(studio.port)


def run_in_thread(function: Callable[..., object], *arguments: object) -> None:
    """Call a function in another thread, because playwright keeps an event loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(function, *arguments).result()
