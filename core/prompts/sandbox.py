"""A sandbox for templates that a user wrote or imported: they are rendered in a process that can be killed.

Jinja's sandbox keeps a template from Python's internals but limits neither its time nor its memory. So such a template
is rendered by a worker process without the user's environment variables, with limits on memory and processor time, and
with a wall-clock timeout. A worker takes one request after another (a fraction of a millisecond each). A killed worker
is replaced, and its template is rejected from then on without another attempt.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from core.hashing import digest
from core.prompts import rendering
from core.prompts.rendering import Parts, RenderError

WALL_SECONDS = 10.0
"""Wall-clock time after which a worker is killed, however little processor time it got.

The limit on processor time (``rendering.CPU_SECONDS``) is the effective one on a machine that is not overloaded.
"""
_NEEDED_VARIABLES = ("SYSTEMROOT",)
"""Environment variables without which Python does not start on some systems (Windows)."""

_TOO_LONG = "it exceeded the time or memory limit for prompts; it may contain an endless loop"


class Worker:
    """A worker process. Must not be used from two threads at once."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(Path(rendering.__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _NEEDED_VARIABLES if name in os.environ},
            close_fds=True,
        )
        self.broken = False
        """True if the worker left a request without an answer."""

    @property
    def alive(self) -> bool:
        """True if the worker can take a request."""
        return self._process.poll() is None

    def ask(self, request: bytes, seconds: float = WALL_SECONDS) -> bytes:
        """Return the answer to one request, empty if the process ended or was killed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        clock = threading.Timer(seconds, self._process.kill)
        clock.daemon = True
        clock.start()
        try:
            self._process.stdin.write(request + b"\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except OSError:
            answer = b""
        finally:
            clock.cancel()
        self.broken = not answer.endswith(b"\n")
        return b"" if self.broken else answer

    def close(self) -> bool:
        """Stop the worker. Return True if it had exceeded its limit on processor time."""
        with contextlib.suppress(subprocess.TimeoutExpired):  # one whose pipe is closed is about to be gone
            self._process.wait(0.5 if self.broken else 0)
        self._process.kill()
        ended = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        return hasattr(signal, "SIGPROF") and ended == -signal.SIGPROF


class Workers:
    """Pool of workers that grows to the number needed at once."""

    def __init__(self) -> None:
        self._idle: list[Worker] = []
        self._rejected: set[str] = set()
        """Hashes of the templates that had to be stopped. Each operation on these two is atomic."""

    def render_parts(self, text: str, values: Mapping[str, Any], *, parts: bool) -> Parts:
        """Render in a worker. Raises RenderError, also for a template that had to be stopped."""
        name = digest(text)
        if name in self._rejected:
            raise RenderError(_TOO_LONG)
        request = json.dumps({"text": text, "values": dict(values), "parts": parts}, default=_plain).encode()
        answer, spent = self._ask(request)
        if not answer and not spent:
            answer, _ = self._ask(request)  # another process may have killed the worker
        if not answer:
            self._rejected.add(name)
            raise RenderError(_TOO_LONG)
        result = json.loads(answer)
        if "error" in result:
            raise RenderError(result["error"], result["line"])
        return [(role, content) for role, content in result["parts"]]

    def _ask(self, request: bytes) -> tuple[bytes, bool]:
        worker = self._take()
        answer = worker.ask(request)
        if not answer:
            return b"", worker.close()
        self._idle.append(worker)
        return answer, False

    def close(self) -> None:
        """Stop all idle workers."""
        idle, self._idle = self._idle, []
        for worker in idle:
            worker.close()

    def _take(self) -> Worker:
        with contextlib.suppress(IndexError):  # no worker is idle
            while not (worker := self._idle.pop()).alive:
                worker.close()
            return worker
        return Worker()


def _plain(value: Any) -> Any:
    """Return what a template may see of a value: its data without its methods."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return str(value)


_workers = Workers()
atexit.register(_workers.close)
render_parts = _workers.render_parts
