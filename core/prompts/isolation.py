"""Templates that a person wrote or imported, filled in by a process that can be ended.

Jinja's sandbox keeps a template from Python's internals but bounds neither its time nor its memory. So such a template
goes to a worker: none of a person's environment variables, a bound on memory and on processor time, and a clock here
that ends it. A worker lives on and takes one request after another (a fraction of a millisecond each); one that was
ended is replaced, and the template that it was busy with is refused from then on without trying.
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
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from core.hashing import digest
from core.prompts import rendering
from core.prompts.rendering import Parts, Trouble

WALL_SECONDS = 10.0
"""Time on the clock after which a worker is ended, however little of the processor it got. The bound on processor time
(``rendering.CPU_SECONDS``) is the one that counts on a machine that is not overloaded."""
KEPT_STOPPED = 256
_NEEDED = ("SYSTEMROOT",)
"""Environment variables without which Python does not start on some systems (Windows)."""

_TOO_LONG = "it took longer than a prompt may take, or more memory; there may be a loop in it that does not end"


class Worker:
    """One process. Not to be used from two threads at once."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(Path(rendering.__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _NEEDED if name in os.environ},
            close_fds=True,
        )
        self.broken = False
        """Whether it left a request without an answer."""

    @property
    def alive(self) -> bool:
        """Whether it can take a request."""
        return self._process.poll() is None

    def ask(self, request: bytes, seconds: float = WALL_SECONDS) -> bytes:
        """The answer to one request, empty when the process ended or was ended over it."""
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
        """End it; whether it had ended itself over its bound on processor time."""
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
    """As many workers as are needed at once; each serves whoever comes next."""

    def __init__(self) -> None:
        self._idle: list[Worker] = []
        self._stopped: OrderedDict[str, str] = OrderedDict()
        self._guard = threading.Lock()

    def fill(self, text: str, values: Mapping[str, Any], *, parts: bool) -> Parts:
        """``rendering.fill`` in a worker. Raises Trouble, also for a template that had to be stopped."""
        name = digest(text)
        with self._guard:
            known = self._stopped.get(name)
        if known is not None:
            raise Trouble(known)
        request = json.dumps({"text": text, "values": dict(values), "parts": parts}, default=_plain).encode()
        answer, spent = self._ask(request)
        if not answer and not spent:
            answer, _ = self._ask(request)  # somebody else may have ended the worker
        if not answer:
            with self._guard:
                self._stopped[name] = _TOO_LONG
                while len(self._stopped) > KEPT_STOPPED:
                    self._stopped.popitem(last=False)
            raise Trouble(_TOO_LONG)
        told = json.loads(answer)
        if "trouble" in told:
            raise Trouble(told["trouble"], told["line"])
        return [(speaker, said) for speaker, said in told["parts"]]

    def _ask(self, request: bytes) -> tuple[bytes, bool]:
        worker = self._take()
        answer = worker.ask(request)
        if answer:
            with self._guard:
                self._idle.append(worker)
            return answer, False
        return b"", worker.close()

    def close(self) -> None:
        """End all workers that wait."""
        with self._guard:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.close()

    def _take(self) -> Worker:
        with self._guard:
            idle, self._idle = self._idle, []
            fit = [worker for worker in idle if worker.alive]
            self._idle = fit[1:]
        for worker in idle:
            if worker not in fit:
                worker.close()
        return fit[0] if fit else Worker()


def _plain(value: Any) -> Any:
    """What a template may see of a value: its data, none of its methods."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return str(value)


_workers = Workers()
atexit.register(_workers.close)


def fill(text: str, values: Mapping[str, Any], *, parts: bool) -> Parts:
    """``rendering.fill`` in a process that is ended when it takes too long or grows too large. Raises Trouble."""
    return _workers.fill(text, values, parts=parts)
