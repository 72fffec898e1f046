"""The ``moot studio`` command: open the project, choose a port, serve, and open a browser or a window."""

from __future__ import annotations

import contextlib
import html
import importlib.util
import multiprocessing
import os
import platform
import re
import signal
import socket
import sys
import sysconfig
import threading
import time
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import platformdirs

from core.cli.console import print_message
from core.errors import MootError, ProjectGone, ProjectLocked, UsageError
from core.files import atomic_write

if TYPE_CHECKING:
    from app.api.access import Access

ADDRESS = "127.0.0.1"
FIRST_PORT, LAST_PORT = 8501, 8600
BACKLOG = 2048
ANSWER_SECONDS = 10.0
"""Seconds in which a browser that was opened asks for its page."""


Shown = Literal["browser", "window", "address"]
"""Where the studio appears: in the browser, in a window of its own, or only as an address on stderr."""


def launch(project: Path | None, port: int | None, shown: Shown) -> None:
    """Serve the studio until it is stopped, with this project, the one opened last, or the sample project.

    If another Moot process has the project open, show that one instead. Raises UsageError for a port in use, a missing
    pywebview, or a window that cannot be opened, and ProjectError for a file that cannot be opened.

    The browser is opened first. Its request waits at the port while libraries are imported and the project is opened.
    """
    from app.api.access import process_access

    if shown == "window" and not _has_webview():
        raise UsageError("--window needs pywebview.", "Install Moot with the extra 'window', or omit --window.")
    access = process_access()
    with _listen(port) as listener:
        url = f"http://{ADDRESS}:{listener.getsockname()[1]}"
        page = _handover_file(os.getpid())
        _write_private(page, access.handover(url))
        if shown == "window":  # closing it interrupts this process, also if a shell started it with SIGINT ignored
            signal.signal(signal.SIGINT, signal.default_int_handler)
        no_window = threading.Event()
        showing = threading.Thread(target=_show, args=(page, shown, no_window), daemon=True)
        if shown != "address":
            showing.start()
        try:
            with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C is the normal way to stop the studio
                _serve(project, listener, url, access.entrance)
        except MootError as error:
            if shown != "address":
                _answer(listener, access, _page_instead(error))
            if shown == "window":
                with contextlib.suppress(KeyboardInterrupt):
                    showing.join()
            if not isinstance(error, ProjectLocked) or error.url is None:
                raise
            print_message(f"this project is already open at {error.url}")
        finally:
            page.unlink(missing_ok=True)
        if no_window.is_set():
            raise UsageError("The window could not be opened, or it crashed.", "Omit --window to use the browser.")


def _handover_file(pid: int | None) -> Path:
    """Return the path of the page through which the user's browser gets access to the studio of a process.

    The browser opens this file, because other users can read the command line that starts a browser.
    """
    return platformdirs.user_state_path("moot", appauthor=False) / f"open-{pid}.html"


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its user can read. Raises UsageError if the disk is full or the folder is read-only."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with atomic_write(path, private=True) as file:
            file.write(text.encode())
    except OSError as error:
        problem = f"{path} could not be written: {error.strerror}."
        raise UsageError(problem, "Free some space, or correct the permissions of the folder.") from error


def _serve(project: Path | None, listener: socket.socket, url: str, entrance: str) -> None:
    """Open the project and serve the studio at this socket until a signal stops it."""
    from app import main
    from core.services import projects, workspace

    studio = workspace.start(url=url)
    try:
        if project is not None:
            studio.open(project)
        else:
            projects.open_last(studio)
        print_message(f"open {url}{entrance}")
        print_message("stop with Ctrl-C; active runs are saved and can be resumed")
        main.serve(listener)
    finally:
        try:
            workspace.stop()
        except ProjectGone as gone:
            print_message(gone)


def _listen(requested: int | None) -> socket.socket:
    """Return a socket that listens at a port of this machine, by default at the first free one."""
    for port in (requested,) if requested is not None else range(FIRST_PORT, LAST_PORT + 1):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if os.name == "posix":  # elsewhere it would let two servers have one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((ADDRESS, port))
            listener.listen(BACKLOG)
        except OSError:
            listener.close()
            continue
        return listener
    if requested is not None:
        raise UsageError(f"Port {requested} is in use.", "Omit --port to use the next free port.")
    raise UsageError(f"No port from {FIRST_PORT} to {LAST_PORT} is free.", "Choose another port with --port.")


def _show(page: Path, shown: Shown, no_window: threading.Event) -> None:
    """Open a page in the browser, or in a window, and then stop the server when the window is closed.

    Set ``no_window`` if the window could not be opened.
    """
    if shown == "browser":
        webbrowser.open(page.as_uri())
        return
    window = multiprocessing.get_context("spawn").Process(target=run_window, args=(page,), daemon=True)
    window.start()  # a process of its own, because a graphical toolkit needs the main thread and so does the server
    window.join()
    if window.exitcode:
        no_window.set()
    signal.raise_signal(signal.SIGINT)


def _page_instead(error: MootError) -> str:
    """Return the page that leads to the studio that has the project open, or that shows the error."""
    if isinstance(error, ProjectLocked) and error.url is not None:
        with contextlib.suppress(OSError):
            return _handover_file(error.pid).read_text(encoding="utf-8")
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Moot</title>'
        "<style>html { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; margin: 15vh 10vw }</style>"
        f"<h1>Moot did not start</h1><p>{html.escape(str(error))}</p></html>"
    )


def _answer(listener: socket.socket, access: Access, page: str) -> None:
    """Answer the waiting request of the browser with a page, because the studio could not be started.

    Return when the browser has the page, or after ``ANSWER_SECONDS`` without a request that has the token.
    """
    from http.server import BaseHTTPRequestHandler, HTTPServer
    from urllib.parse import parse_qs

    answered = False

    class Handler(BaseHTTPRequestHandler):
        timeout = ANSWER_SECONDS

        def do_POST(self) -> None:
            nonlocal answered
            body = self.rfile.read(min(int(self.headers.get("Content-Length", 0)), 1024)).decode(errors="replace")
            answered = access.is_token(parse_qs(body).get("token", [""])[0])
            self.send_response(200 if answered else 403)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            if answered:
                self.wfile.write(page.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    server = HTTPServer((ADDRESS, 0), Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    server.timeout = 0.2
    deadline = time.monotonic() + ANSWER_SECONDS
    with contextlib.suppress(KeyboardInterrupt):
        while not answered and time.monotonic() < deadline:
            server.handle_request()


def run_window(page: Path) -> None:
    """Show an HTML file in a window until the user closes it. Needs pywebview (the extra ``window``).

    Print an error of pywebview on stderr and exit with 1. A failure of Qt aborts the process with a message of its own.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C stops the server, which then ends this process
    try:
        import webview

        webview.settings["ALLOW_DOWNLOADS"] = True
        # as text: QtWebEngine forbids files to open the studio's address
        webview.create_window("Moot", html=page.read_text(encoding="utf-8"), width=1440, height=900)
        if sys.platform.startswith("linux"):
            from webview.platforms import qt

            qt.BrowserView.on_download_requested = _save_download
            webview.start(gui="qt")
        else:
            webview.start()
    except Exception as error:
        raise SystemExit(f"moot: {error}") from error


def _save_download(view: Any, download: Any) -> None:
    """Ask where to save a file that the page offers, and save it.

    Replaces the method of pywebview 6, which calls ``setPath``. Qt 6 does not have this method. Both arguments are
    objects of Qt: the window and the download.
    """
    from qtpy.QtWidgets import QFileDialog

    proposed = platformdirs.user_downloads_path() / download.suggestedFileName()
    name, _ = QFileDialog.getSaveFileName(view, "Save file", str(proposed))
    if name:
        download.setDownloadDirectory(str(Path(name).parent))
        download.setDownloadFileName(Path(name).name)
        download.accept()


def _has_webview() -> bool:
    return importlib.util.find_spec("webview") is not None


def write_desktop_entry() -> Path:
    """Add Moot to the application menu of a Linux desktop and return the entry's path.

    The entry follows the Desktop Entry Specification of freedesktop.org. It opens a window if pywebview is installed,
    otherwise the browser and a terminal in which Moot can be stopped. Raises UsageError on other systems, and for a
    path with control characters.
    """
    if platform.system() != "Linux":
        raise UsageError("A desktop entry needs Linux.", "Create a shortcut to the command moot.")
    import app

    command = str(Path(sysconfig.get_path("scripts")) / "moot")
    if not command.isprintable():
        raise UsageError(f"{command!r} cannot be named in a desktop entry.", "Install Moot in another folder.")
    # The specification quotes twice: the command, then the value, where % and the backslash have a meaning too.
    command = re.sub(r'["`$\\]', r"\\\g<0>", command).replace("\\", "\\\\").replace("%", "%%")
    window = _has_webview()
    entry = platformdirs.user_data_path() / "applications" / "moot.desktop"
    _write_private(
        entry,
        "[Desktop Entry]\nType=Application\nName=Moot\nComment=Annotate texts with debating language models\n"
        f'Exec="{command}" studio{" --window" if window else ""}\nTerminal={"false" if window else "true"}\n'
        f"Icon={Path(app.__path__[0]) / 'static' / 'logo-icon.svg'}\nCategories=Science;\n",
    )
    return entry
