"""Child processes that Ctrl-C does not reach, because their parent ends them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from typing import Any


async def start(*command: str, **options: Any) -> asyncio.subprocess.Process:
    """Start a program in a process group of its own. The options are those of ``create_subprocess_exec``."""
    if sys.platform == "win32":
        options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP
    else:
        options["start_new_session"] = True
    return await asyncio.create_subprocess_exec(*command, **options)


def terminate(process: asyncio.subprocess.Process) -> None:
    """Ask a process and its children to end. On Windows, end the process."""
    if sys.platform == "win32":
        process.terminate()
    else:
        os.killpg(process.pid, signal.SIGTERM)
