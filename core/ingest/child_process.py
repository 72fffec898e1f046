"""Read untrusted files in a child process with limits on memory and time.

A file can make its reader take all memory, run without end or crash. Here only the child process suffers: the studio
and its running debates go on. The child gets the open file as standard input and no environment variables with keys.
It answers with lines of JSON, because a pickle could run code.

This module imports little, because every child imports it. ``MOOT_READ_MEMORY_GB`` and ``MOOT_READ_SECONDS`` change
the limits.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, BinaryIO

import orjson

from core import errors
from core.errors import InputError, MootError

MEMORY_GB, SECONDS = 4.0, 600.0
_START = "import sys; sys.path.insert(0, sys.argv[1]); from core.ingest.child_process import serve; serve()"
_ROOT = str(Path(__file__).parents[2])
_KEPT = ("SYSTEMROOT", "TMPDIR", "TEMP", "TMP", "LANG", "HOME", "MOOT_READ_MEMORY_GB")
_FRUGAL_ENVIRONMENT = {
    "MALLOC_ARENA_MAX": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""Settings that keep libraries from reserving memory that they do not use."""
_CHUNK = 1 << 20
_STUCK_SECONDS = 5
"""Seconds without an answer at the memory limit after which a child is taken for stuck."""
_ALLOCATION_BYTES = 2 << 20  # bytes: Python and malloc ask the system for 1 MB at a time


def memory_limit() -> int:
    """Return the memory limit of a child in bytes."""
    return int(_setting("MOOT_READ_MEMORY_GB", MEMORY_GB) * (1 << 30))


def run(
    function: str,
    source: BinaryIO | bytes,
    arguments: Mapping[str, Any],
    *,
    progress: Callable[[float], None] | None = None,
    writes: bool = False,
) -> Iterator[Any]:
    """Call a generator function in a child process and yield its values, which are plain data.

    ``function`` is ``module:function``. It gets the source (an open file or bytes) as a stream, the ``arguments``, and
    ``progress``, if given, to call with a share. The argument ``name`` is the file name for messages. The child can
    write files only if ``writes`` is set. Raises the child's own MootError, and InputError if it meets a limit.
    """
    name = arguments["name"]
    seconds = _setting("MOOT_READ_SECONDS", SECONDS)
    memory = memory_limit()
    request = {
        "function": function,
        "arguments": dict(arguments),
        "progress": progress is not None,
        "memory": memory,
        "seconds": seconds,
        "writes": writes,
    }
    with _as_file(source, name, memory) as file, _start_child(request, file) as process:
        watch = _Watchdog(process, seconds, memory)
        watch.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                watch.received += len(line)
                if watch.received > memory:
                    raise _memory_error(f"{name} needs more than", memory)
                try:
                    kind, value = line[:1], orjson.loads(line[1:])
                except orjson.JSONDecodeError:  # a child that crashes leaves half a line
                    break
                if kind == b"v":
                    yield value
                elif kind == b"e":
                    raise getattr(errors, value[0])(*value[1:])
                elif kind == b"p" and progress is not None:
                    progress(value)
                elif kind == b"z":
                    return
            if watch.is_late:
                raise InputError(
                    f"{name} could not be read within {seconds:g} seconds.",
                    "Save it as csv or parquet, or set MOOT_READ_SECONDS to a longer time and try again.",
                )
            raise _memory_error(f"{name} made its reader crash, perhaps because it needs more than", memory)
        finally:
            watch.ended.set()
            process.kill()


def _start_child(request: Mapping[str, Any], source: IO[bytes]) -> subprocess.Popen[bytes]:
    environment = {variable: os.environ[variable] for variable in _KEPT if variable in os.environ}
    return subprocess.Popen(
        [sys.executable, "-I", "-c", _START, _ROOT],
        stdin=source,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**environment, **_FRUGAL_ENVIRONMENT, "MOOT_READ": json.dumps(request)},
    )


class _Watchdog(threading.Thread):
    """Watchdog that kills a child process at its time limit, and if it is stuck at its memory limit.

    Python 3.11 and 3.12 can get stuck there: without memory for the number of an instruction, the interpreter enters
    the handler of an exception again and again.
    """

    def __init__(self, process: subprocess.Popen[bytes], seconds: float, memory: int) -> None:
        super().__init__(daemon=True)
        self._process, self._deadline, self._memory = process, time.monotonic() + seconds, memory
        self.received = 0
        """Bytes of the answers so far."""
        self.ended = threading.Event()
        self.is_late = False
        """True if the child met its time limit."""

    def run(self) -> None:
        """Check the child each second until ``ended`` is set or it is killed."""
        stuck, received = 0, -1
        while (remaining := self._deadline - time.monotonic()) > 0 and stuck < _STUCK_SECONDS:
            if self.ended.wait(min(1.0, remaining)):
                return
            is_full = _address_space(self._process.pid) > self._memory - _ALLOCATION_BYTES
            stuck = stuck + 1 if is_full and received == self.received else 0
            received = self.received
        self.is_late = remaining <= 0
        self._process.kill()


def _address_space(pid: int) -> int:
    """Return the bytes of a process that its limit counts, 0 on systems without ``/proc``."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError, ValueError, IndexError):
            return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _memory_error(problem: str, memory: int) -> InputError:
    return InputError(
        f"{problem} {memory / (1 << 30):g} GB of memory to read.",
        "Delete cells far from the table or very long cells, save it as csv or parquet, or set MOOT_READ_MEMORY_GB to "
        "a higher limit and try again.",
    )


def _setting(variable: str, default: float) -> float:
    with contextlib.suppress(ValueError):
        return max(0.01, float(os.environ.get(variable, default)))
    return default


def _as_file(source: BinaryIO | bytes, name: str, memory: int) -> contextlib.AbstractContextManager[IO[bytes]]:
    """Return the source as an open file, which is a copy of an upload in memory or of a pipe."""
    if isinstance(source, bytes):
        source = io.BytesIO(source)
    with contextlib.suppress(OSError):  # of a source without a number of a file
        source.fileno()
        if source.seekable():
            return contextlib.nullcontext(source)
    return _temporary_copy(source, name, memory)


def _temporary_copy(source: BinaryIO, name: str, memory: int) -> IO[bytes]:
    """Return an open temporary file with the content of the source, which may be a pipe without an end.

    Raises InputError if the disk is full, and if the content is larger than the memory that a child may use to read it.
    """
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    try:
        while chunk := source.read(_CHUNK):
            if file.tell() + len(chunk) > memory:
                file.close()
                raise InputError(
                    f"{name} sends more than {memory / (1 << 30):g} GB.",
                    "Save a part of it as a file, or set MOOT_READ_MEMORY_GB to a higher limit and try again.",
                )
            file.write(chunk)
        file.flush()
    except OSError as error:
        with contextlib.suppress(OSError):  # it writes what is left
            file.close()
        raise InputError(
            f"The file could not be copied to {tempfile.gettempdir()}: {error.strerror}.",
            "Free some space there, or set TMPDIR to another folder and start Moot again.",
        ) from error
    return file


# -- in the child


def serve() -> None:
    """Call the function that the environment names, and write its values as lines for ``run``."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # libraries print as well, such as DuckDB its progress bar

    def send(kind: bytes, value: Any) -> None:
        answers.write(kind + orjson.dumps(value) + b"\n")
        answers.flush()

    try:
        request = json.loads(os.environ.pop("MOOT_READ"))
        _limit(request["memory"], request["seconds"], writes=request["writes"])
        module, _, function = request["function"].partition(":")
        call = getattr(importlib.import_module(module), function)
        stream = io.BufferedReader(io.FileIO(0, closefd=False))
        stream.seek(0)
        arguments = request["arguments"]
        if request["progress"]:
            arguments["progress"] = lambda share: send(b"p", share)
        for value in call(stream, **arguments):
            send(b"v", value)
        send(b"z", None)
    except MootError as error:
        error_type = next(kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
        send(b"e", [error_type.__name__, error.message, error.remedy])


def _limit(memory: int, seconds: float, *, writes: bool) -> None:
    if sys.platform != "win32":
        import resource

        limits = {resource.RLIMIT_AS: memory, resource.RLIMIT_CPU: int(seconds) + 1, resource.RLIMIT_CORE: 0}
        if not writes:
            limits[resource.RLIMIT_FSIZE] = 1 << 20  # compiled modules
        for kind, limit in limits.items():
            with contextlib.suppress(OSError, ValueError):  # not every system knows all of them
                resource.setrlimit(kind, (limit, limit))
