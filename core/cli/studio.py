"""The ``moot studio`` command: open the project, choose a port, serve, and open a browser or a window."""

from __future__ import annotations

import contextlib
import importlib.util
import multiprocessing
import os
import re
import signal
import socket
import sys
import sysconfig
import threading
import time
import webbrowser
from pathlib import Path
from typing import Literal

import platformdirs

from core.cli.console import print_message
from core.errors import ProjectGone, ProjectLocked, UsageError

ADDRESS = "127.0.0.1"
FIRST_PORT, LAST_PORT = 8501, 8600
START_SECONDS = 60.0


Shown = Literal["browser", "window", "address"]
"""Where the studio appears: in the browser, in a window of its own, or only as an address on stderr."""


def launch(project: Path | None, port: int | None, shown: Shown) -> None:
    """Serve the studio until it is stopped, with this project, the one opened last, or the sample project.

    If another Moot process has the project open, show that one instead. Raises UsageError for a port in use or a
    missing pywebview, and ProjectError for a file that cannot be opened.
    """
    from app import context
    from core.services import projects, workspace

    if shown == "window" and not _has_webview():
        raise UsageError("--window needs pywebview.", "Install Moot with the extra 'window', or omit --window.")

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
        if shown != "address" and page.exists():
            _show(page, shown)
        return
    except BaseException:
        workspace.stop()
        raise
    page = _handover_file(os.getpid())
    print_message(f"moot: open {url}{context.access().entrance}")
    print_message("moot: stop with Ctrl-C; active runs are saved and can be resumed")
    try:
        _write_private(page, context.access().handover(url))
        if shown != "address":
            threading.Thread(target=_show_when_ready, args=(port, page, shown), daemon=True).start()
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

    sys.argv[:] = [str(main.__file__)]  # Streamlit anchors its configuration and paths here
    with preload.running():
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


def _show_when_ready(port: int, page: Path, shown: Shown) -> None:
    """Open the browser or the window when the server answers; stop the server when the window is closed."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection((ADDRESS, port)):
            break
        time.sleep(0.1)
    else:
        return
    _show(page, shown)
    if shown == "window":
        signal.raise_signal(signal.SIGINT)


def _show(page: Path, shown: Shown) -> None:
    """Open a page in the browser, or in a window, and then wait until the window is closed."""
    if shown == "browser":
        webbrowser.open(page.as_uri())
        return
    window = multiprocessing.get_context("spawn").Process(target=run_window, args=(page,), daemon=True)
    window.start()  # a process of its own, because a graphical toolkit needs the main thread and so does the server
    window.join()


def run_window(page: Path) -> None:
    """Show an HTML file in a window until the user closes it. Needs pywebview (the extra ``window``).

    The file is passed as text, because QtWebEngine forbids files to open the studio's address.
    """
    import webview

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C stops the server, which then ends this process
    webview.settings["ALLOW_DOWNLOADS"] = True
    webview.create_window("Moot", html=page.read_text(encoding="utf-8"), width=1440, height=900)
    webview.start(gui="qt" if sys.platform.startswith("linux") else None)


def _has_webview() -> bool:
    return importlib.util.find_spec("webview") is not None


def write_desktop_entry() -> Path:
    """Add Moot to the application menu of a Linux desktop and return the entry's path.

    The entry follows the Desktop Entry Specification of freedesktop.org. It opens a window if pywebview is installed,
    otherwise the browser and a terminal in which Moot can be stopped. Raises UsageError on other systems, and for a
    path with control characters.
    """
    if not sys.platform.startswith("linux"):
        raise UsageError("A desktop entry needs Linux.", "Create a shortcut to the command moot.")
    import app

    command = str(Path(sysconfig.get_path("scripts")) / "moot")
    if not command.isprintable():
        raise UsageError(f"{command!r} cannot be named in a desktop entry.", "Install Moot in another folder.")
    # The specification quotes twice: the command, then the value, where % and the backslash have a meaning too.
    command = re.sub(r'["`$\\]', r"\\\g<0>", command).replace("\\", "\\\\").replace("%", "%%")
    window = _has_webview()
    entry = platformdirs.user_data_path() / "applications" / "moot.desktop"
    entry.parent.mkdir(parents=True, exist_ok=True)
    entry.write_text(
        "[Desktop Entry]\nType=Application\nName=Moot\nComment=Annotate texts with debating language models\n"
        f'Exec="{command}" studio{" --window" if window else ""}\nTerminal={"false" if window else "true"}\n'
        f"Icon={Path(app.__path__[0]) / 'static' / 'logo-icon.svg'}\nCategories=Science;\n",
        encoding="utf-8",
    )
    return entry
