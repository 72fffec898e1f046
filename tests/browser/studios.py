"""The real studio in a separate process, for tests in a real browser."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.servers.running import free_port, wait_for

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).parents[2]


class Studio:
    """``moot`` under way; ``entrance`` is the address that it printed, ``address`` the one without the token."""

    def __init__(self, folder: Path, *options: str, browser: str = "") -> None:
        self._folder = folder
        self._options = options if browser else ("--no-browser", *options)
        self._browser = browser
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.entrance = ""
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        environment = {**os.environ, **own_settings(self._folder), "BROWSER": self._browser}
        said = self._folder / "said.txt"
        command = [sys.executable, "-c", "from core.cli import main; main()", "--port", str(self.port)]
        with said.open("wb") as file:
            self._process = subprocess.Popen(
                [*command, *self._options], cwd=ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT
            )
        wait_for(f"{self.address}/_stcore/health", self._process, 180)
        found = re.search(r"http\S+/moot/enter\S+", said.read_text())
        assert found is not None, said.read_text()
        self.entrance = found[0]

    def kill(self) -> None:
        """End it without a word, as a crash does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Ctrl-C, and wait."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + 20
        while self._process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        if self._process.poll() is None:
            self.kill()


def own_settings(folder: Path) -> dict[str, str]:
    """The environment of a studio that keeps its settings in this folder and no keys anywhere."""
    own = {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    return {**own, "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}


SIZE = """() => {
  const parts = (root) => [...root.querySelectorAll('*')].reduce((sum, node) =>
    sum + 1 + (node.shadowRoot ? parts(node.shadowRoot) : 0)
    + (node.tagName === 'IFRAME' && node.contentDocument ? parts(node.contentDocument) : 0), 0);
  const busy = document.querySelector('[data-test-script-state=running], [data-testid=stSkeleton], .stSpinner');
  const now = busy ? NaN : parts(document);
  const same = now === window.lastSize;
  window.quiet = same ? (window.quiet ?? 0) + 1 : 0;
  window.lastSize = now;
  return window.quiet >= 4;
}"""


def settle(page: Page) -> None:
    """Wait until the page is drawn: no script runs, and for 400 ms no element has been added or removed."""
    page.evaluate("window.quiet = 0")
    page.wait_for_function(SIZE, polling=100)


@contextmanager
def studio(folder: Path, *options: str) -> Iterator[Studio]:
    """A studio on the sample project (or what ``--project`` names), ended for certain."""
    made = Studio(folder, *options)
    made.start()
    try:
        yield made
    finally:
        made.stop()
