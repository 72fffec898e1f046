"""The ``moot studio`` command: open the project, choose a port, serve, and open the browser."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
import webbrowser
from pathlib import Path

import platformdirs

from core.cli.console import print_message
from core.errors import ProjectGone, ProjectLocked, UsageError

ADDRESS = "127.0.0.1"
FIRST_PORT, LAST_PORT = 8501, 8600
START_SECONDS = 60.0


def launch(project: Path | None, port: int | None, *, browser: bool) -> None:
    """Serve the studio until it is stopped, with this project, the one opened last, or the sample project.

    If another Moot process has the project open, show that one instead. Raises UsageError for a port in use and
    ProjectError for a file that cannot be opened.
    """
    from app import context
    from core.services import projects, workspace

    port = _choose_port(port)
    url = f"http://{ADDRESS}:{port}"
    studio = workspace.start(url=url)
    try:
        if project is not None:
            studio.open(project)
        else:
            projects.open_last(studio)
    except ProjectLocked as locked:
        workspace.stop()
        if locked.url is None:
            raise
        print_message(f"moot: this project is already open at {locked.url}")
        page = _handover_file(locked.pid)
        if browser and page.exists():
            webbrowser.open(page.as_uri())
        return
    except BaseException:
        workspace.stop()
        raise
    page = _handover_file(os.getpid())
    print_message(f"moot: open {url}{context.access().entrance}")
    print_message("moot: stop with Ctrl-C; active runs are saved and can be resumed")
    try:
        _write_private(page, context.access().handover(url))
        if browser:
            threading.Thread(target=_open_browser, args=(port, page), daemon=True).start()
        with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C is the normal way to stop the studio
            _serve(port)
    finally:
        page.unlink(missing_ok=True)
        try:
            workspace.stop()
        except ProjectGone as gone:
            print_message(f"moot: {gone}")


def _handover_file(pid: int | None) -> Path:
    """Return the path of the page through which the user's browser gets access to the studio of a process.

    The browser opens this file, because other users can read the command line that starts a browser.
    """
    return platformdirs.user_state_path("moot", appauthor=False) / f"open-{pid}.html"


def _write_private(path: Path, text: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def _serve(port: int) -> None:
    from app import main, preload

    preload.load()
    sys.argv[:] = [str(main.__file__)]  # Streamlit anchors its configuration and paths here
    main.asgi.run(config={"server.address": ADDRESS, "server.port": port, "server.headless": True})


def _choose_port(wanted: int | None) -> int:
    if wanted is not None:
        if not _is_free(wanted):
            raise UsageError(f"Port {wanted} is in use.", "Omit --port to use the next free port.")
        return wanted
    for port in range(FIRST_PORT, LAST_PORT + 1):
        if _is_free(port):
            return port
    raise UsageError(f"No port from {FIRST_PORT} to {LAST_PORT} is free.", "Choose another port with --port.")


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if os.name == "posix":  # elsewhere it would let two servers have one port
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ADDRESS, port))
        except OSError:
            return False
    return True


def _open_browser(port: int, page: Path) -> None:
    """Open the browser when the server answers."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection((ADDRESS, port)):
            webbrowser.open(page.as_uri())
            return
        time.sleep(0.1)
