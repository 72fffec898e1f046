"""The studio as a process: what others are told while it has a project, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.core.cli.invoking import moot
from tests.servers.running import free_port, wait_for


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
