"""Start test servers as subprocesses and stop them afterwards."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
AIMOCK = "@copilotkit/aimock@1.43.0"


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(url: str, exit_code: Callable[[], int | None], seconds: float = 120.0) -> None:
    """Wait until the address answers, with any status; fail if the process has an exit code or the time is up."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if (code := exit_code()) is not None:
            raise RuntimeError(f"the server ended with {code}")
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except urllib.error.HTTPError as answer:
            with answer:
                if answer.code == 403:
                    return
        except OSError:
            pass
        time.sleep(0.05)
    raise RuntimeError(f"{url} did not answer within {seconds} s")


@contextlib.contextmanager
def running(command: list[str], health: str, **options: object) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server, wait until ``health`` answers, and stop the server afterwards."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)  # type: ignore[call-overload]
    try:
        wait_for(health, process.poll)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def mock_llm(**flags: object) -> Iterator[str]:
    """Start the mock of the OpenAI and Ollama APIs and yield its address without a path."""
    port = free_port()
    options = [str(part) for name, value in flags.items() for part in (f"--{name.replace('_', '-')}", value)]
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, str(HERE / "mockllm.py"), "--port", str(port), *options]
    with running(command, f"{url}/stats"):
        yield url


def stats(url: str) -> dict[str, Any]:
    """Return what a mock server has counted."""
    with urllib.request.urlopen(f"{url}/stats") as response:
        counted: dict[str, Any] = json.load(response)
        return counted


def configure(url: str, **settings: object) -> None:
    """Change settings of a mock server for later calls."""
    _post(f"{url}/config", settings)


def reset(url: str) -> None:
    """Let a batch server start again without files, batches and faults."""
    _post(f"{url}/reset", {})


def _post(url: str, data: dict[str, object]) -> None:
    urllib.request.urlopen(urllib.request.Request(url, json.dumps(data).encode(), method="POST")).close()


def hang_after_probe(url: str, slots: int) -> Callable[[], bool]:
    """Return a condition: the probe was answered, and this many calls wait for the server, which never answers them.

    Every call that the server got before it stopped to answer has ended.
    """
    answered, begun = stats(url)["ok"], -1

    def calls_in_flight() -> bool:
        nonlocal begun
        now = stats(url)
        if begun < 0:
            if now["ok"] > answered:
                configure(url, ttft=60)
                begun = stats(url)["calls"]
            return False
        return bool(now["active"] == slots and now["calls"] >= begun + slots)

    return calls_in_flight


@contextlib.contextmanager
def batch_server() -> Iterator[str]:
    """Start a server with OpenAI's Files and Batches and yield its address without a path."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with running([sys.executable, str(HERE / "batches.py"), "--port", str(port)], f"{url}/stats"):
        yield url


@contextlib.contextmanager
def llama_cpp(folder: Path, *options: str, quote: int = 4, layers: int = 1) -> Iterator[str]:
    """Start llama.cpp's server with a small random model and yield its base URL."""
    model = folder / "tiny.gguf"
    if not model.exists():
        make = [sys.executable, str(HERE / "make_tiny_gguf.py"), str(model)]
        options_of_model = ["--quote", str(quote), "--layers", str(layers)]
        subprocess.run([*make, *options_of_model], check=True, stdout=subprocess.DEVNULL)
    port = free_port()
    command = [sys.executable, str(HERE / "serve_llamacpp.py"), str(model), "--port", str(port), *options]
    with running(command, f"http://127.0.0.1:{port}/health"):
        yield f"http://127.0.0.1:{port}/v1"


def find_aimock() -> Path:
    """Return the path of aimock, which npm fetches once into its cache. RuntimeError if npx or aimock is missing."""
    if shutil.which("npx") is None:
        raise RuntimeError("npx, and with it node 20.15 or later, is not installed")
    command = ["npx", "-y", "-p", AIMOCK, "-c", "command -v llmock"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"npx cannot fetch {AIMOCK}: {done.stderr.strip()[-300:]}")
    return Path(done.stdout.strip().splitlines()[-1]).resolve()


@contextlib.contextmanager
def aimock(program: Path, folder: Path, fixtures: list[dict[str, Any]]) -> Iterator[str]:
    """Start aimock with these answers, of which the first match is used; yield its address without a path."""
    (folder / "fixtures.json").write_text(json.dumps({"fixtures": fixtures}), encoding="utf-8")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    # node is started directly, because stopping npx would leave its node process running
    command = ["node", str(program), "-p", str(port), "-f", str(folder / "fixtures.json"), "--log-level", "silent"]
    with running(command, f"{url}/health"):
        yield url
