"""What the command line says, and where: one JSON object last on stdout, everything else on stderr."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
import orjson

from core.debate.events import Event, RunStatus
from core.errors import MootError, StorageFull

T = TypeVar("T")

OK, SOME_FAILED, BAD, INCOMPLETE = 0, 1, 2, 3
"""Exit codes: every document has a verdict or is unresolved; some failed; bad usage, input or preflight; paused,
stopped or budget spent."""

LINE_SECONDS = 1.0


def say(text: str) -> None:
    """A line for the person, on stderr."""
    click.echo(text, err=True)


def print_json(result: Any) -> None:
    """The one object on stdout, as its last line."""
    click.echo(orjson.dumps(result, option=orjson.OPT_NON_STR_KEYS).decode())


class Dollars(click.FloatRange):
    """An amount of money above zero, and no more than there is: ``nan`` and ``inf`` would bound nothing."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A float. Fails as click does."""
        amount = super().convert(value, param, ctx)
        if not math.isfinite(amount):
            self.fail(f"{value} is no amount of money.", param, ctx)
        return amount


DOLLARS = Dollars(min=0, min_open=True)


class Explaining(click.Group):
    """Commands of which each is run ``explained``."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was named."""
        with explained():
            return super().invoke(ctx)


@contextmanager
def explained() -> Iterator[None]:
    """Turns errors that a person can act on into a message on stderr and exit code 2, Ctrl-C outside a run into 3."""
    try:
        yield
    except KeyboardInterrupt:
        say("moot: interrupted")
        raise SystemExit(INCOMPLETE) from None
    except MootError as error:
        say(f"moot: {error}")
        raise SystemExit(BAD) from error


class ProgressLines:
    """Says where a run stands: on a terminal in one line that changes, elsewhere at most one line a second."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._last = 0.0
        self._guard = threading.Lock()

    def __call__(self, event: Event) -> None:
        """Hear an event; called from the engine's thread."""
        if not isinstance(event, RunStatus):
            return
        with self._guard:
            now = time.monotonic()
            ended = event.state != "running"
            if not ended and now - self._last < (0.1 if self._terminal else LINE_SECONDS):
                return
            self._last = now
            line = describe(event)
            if self._terminal:
                click.echo(f"\r\033[K{line}", err=True, nl=ended)
            else:
                say(line)


def describe(status: RunStatus) -> str:
    """One line on where a run stands."""
    decided = status.verdicts + status.unresolved + status.failed
    parts = [f"{status.run_id} {status.state}: {decided} of {status.documents}"]
    parts += [
        f"{count} {name}" for name, count in (("unresolved", status.unresolved), ("failed", status.failed)) if count
    ]
    if status.state == "running":
        parts.append(f"{status.rate:.0f} a minute")
        if status.eta_seconds is not None:
            parts.append(f"{_duration(status.eta_seconds)} left")
    if status.cached_calls:
        parts.append(f"{status.cached_calls} of {status.calls + status.cached_calls} calls from the store")
    parts.append(_cost(status, decided))
    if status.message:
        parts.append(status.message)
    return ", ".join(parts)


def _cost(status: RunStatus, decided: int) -> str:
    """What was spent, and while it runs what the whole should cost at the average so far."""
    if status.cost_usd is None:
        return "cost unknown"
    projected = status.cost_usd / decided * status.documents if status.state == "running" and decided else 0.0
    return f"${status.cost_usd:.4f}" + (f" of about ${projected:.4f}" if projected > status.cost_usd else "")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def wait(future: Future[T], on_interrupt: Callable[[int], None]) -> T:
    """Wait for a future. The first Ctrl-C (or SIGTERM) calls ``on_interrupt(1)``, the second ``on_interrupt(2)``, and
    so on; waiting goes on, as what was asked for takes its moment."""
    interrupts = 0

    def interrupted(_signal: int, _frame: Any) -> None:
        nonlocal interrupts
        interrupts += 1
        on_interrupt(interrupts)

    before = {number: signal.signal(number, interrupted) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        while True:
            try:
                return future.result(timeout=0.2)
            except TimeoutError:
                if future.done():  # it ended in this very moment, or with a TimeoutError of its own
                    return future.result()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def open_workspace(connections: tuple[str, ...] = ()) -> Iterator[Any]:
    """A workspace with these connections, closed at the end. A disk without room for the project's checkpoint is told,
    and changes nothing else: what was acknowledged is in its log."""
    from core.services.pipeline import parse_pairs
    from core.services.workspace import Workspace

    places = parse_pairs(connections, "--connection")
    workspace = Workspace()
    try:
        for name, url in places.items():
            workspace.use_connection(name, url)
        yield workspace
    finally:
        try:
            workspace.close()
        except StorageFull as full:
            say(f"moot: {full}")


@contextmanager
def open_session(project: Path) -> Iterator[Any]:
    """The desk of a project that is there already."""
    with open_workspace() as workspace:
        yield workspace.open(project, create=False)
