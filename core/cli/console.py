"""Shared parts of the commands: messages on stderr, JSON on stdout, options, exit codes, and opening a project."""

from __future__ import annotations

import atexit
import codecs
import io
import itertools
import json
import math
import os
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import click
import orjson

from core.documents import storable
from core.errors import ProjectGone, StorageFull, UsageError
from core.formatting import CONTROL, format_cost, format_eta, format_money, format_rate, printable

if TYPE_CHECKING:
    from core.debate.events import Event, RunStatus
    from core.runs import RunRow
    from core.services.data.importing import Header
    from core.services.project_session import ProjectSession

T = TypeVar("T")

OK, SOME_FAILED, BAD, INCOMPLETE = 0, 1, 2, 3
"""Exit codes.

0: every document has a verdict or is unresolved. 1: some failed. 2: bad usage, input or preflight. 3: paused, stopped
or budget spent.
"""

LINE_SECONDS = 1.0
"""Minimum seconds between progress lines that are not written to a terminal."""
INTERRUPT_SECONDS = 0.2
"""Seconds after which Ctrl-C is handled at the latest."""
HANGUP: signal.Signals | None = getattr(signal, "SIGHUP", None)
"""Signal of a terminal that is closed; None on Windows. ``nohup`` starts a command that ignores it."""

OPEN_FILES = 65_536
"""Limit on open files, to which connections count. Often it is 1,024 by default."""

BAR_WIDTH = 24
"""Characters of the progress bar."""


def print_line(text: object = "") -> None:
    """Print a line on stdout."""
    click.echo(printable(text))


def _print_stderr(text: str, *, newline: bool = True) -> None:
    """Print on stderr. A command goes on if nobody reads it any more, as its results are elsewhere."""
    with suppress(OSError):
        click.echo(text, err=True, nl=newline)


def print_message(text: object) -> None:
    """Print a message on stderr, after ``moot:``."""
    _print_stderr(f"moot: {printable(text)}")


def _style(text: str, **style: Any) -> str:
    """Return a text in a style of ``click.style``; unchanged if the user has set NO_COLOR (no-color.org)."""
    return text if os.environ.get("NO_COLOR") else click.style(text, **style)


def print_error(error: object) -> None:
    """Print an error on stderr; on a terminal in red."""
    _print_stderr(_style("moot: ", bold=True) + _style(printable(error), fg="red"))


def print_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the traceback of a defect on stderr. Its message may quote a foreign project file."""
    lines = "".join(traceback.format_exception(kind, error, trace)).splitlines()
    _print_stderr("\n".join(map(printable, lines)))


def print_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table on stdout; the first column is aligned to the left, the others to the right.

    On a terminal, columns that do not fit beside the earlier ones follow below, each time after the first column.
    """
    lines = [tuple(printable(cell) for cell in line) for line in (headings, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else math.inf
    columns = range(1, len(widths))
    while True:
        ends = list(itertools.accumulate((widths[column] + 2 for column in columns), initial=widths[0]))[1:]
        fitting = columns[: max(1, sum(end <= room for end in ends))]
        for number, line in enumerate(lines):
            if len(fitting) < len(widths) - 1 and not any(line[column] for column in fitting):
                continue  # its values are in other columns
            shown = [line[0].ljust(widths[0]), *(line[column].rjust(widths[column]) for column in fitting)]
            text = "  ".join(shown).rstrip()
            click.echo(text if number else _style(text, dim=True))
        columns = columns[len(fitting) :]
        if not columns:
            return
        click.echo()


def format_with_interval(
    form: Callable[[float | None], str], value: float | None, interval: Sequence[float] | None
) -> str:
    """Return a value of a report with the ends of its interval, if it has one: "0.864 (0.812 to 0.907)"."""
    return form(value) + (f" ({form(interval[0])} to {form(interval[1])})" if interval else "")


def help_examples(*commands: str) -> str:
    """Return the end of a help text with examples of the command, one per line."""
    return "\b\nExamples:\n" + "\n".join(f"  {command}" for command in commands)


def print_json(result: Any) -> None:
    """Print the result object as the last line of stdout, in ASCII unless stdout is UTF-8."""
    try:
        text = orjson.dumps(result, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # the name of a file that is not UTF-8
        text = orjson.dumps(json.loads(storable(json.dumps(result, ensure_ascii=False)))).decode()
    if codecs.lookup(sys.stdout.encoding).name != "utf-8":
        text = json.dumps(orjson.loads(text), separators=(",", ":"))
    click.echo(CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


class DollarAmount(click.FloatRange):
    """An amount of money above zero; ``nan`` and ``inf`` are refused because they would limit nothing."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a finite float."""
        amount = super().convert(value, param, ctx)
        if not math.isfinite(amount):
            self.fail(f"{value} is not an amount of money.", param, ctx)
        return amount


DOLLARS = DollarAmount(min=0, min_open=True)


class NonEmptyPath(click.Path):
    """A path that is not empty, as an unset variable of the shell is: it would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a path."""
        if not str(value):
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


PROJECT_PATH = NonEmptyPath(dir_okay=False, path_type=Path)


def project_option(required: bool, help: str = "Project file (.duckdb).") -> Callable[[Any], Any]:
    return click.option("--project", type=PROJECT_PATH, required=required, help=help)


def _header_choice(_ctx: click.Context, _param: click.Parameter, has_header: bool | None) -> Header | None:
    if has_header is None:
        return None
    return "first line" if has_header else "none"


def reading_options(command: T) -> T:
    """Add the options that ``ReadOptions`` holds."""
    for option in reversed(_READING_OPTIONS):
        command = option(command)
    return command


_READING_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--header/--no-header",
        default=None,
        callback=_header_choice,
        help="Say whether the first line of a csv, tsv or txt file names the columns. Default: detected. Without "
        "names, a single column is called text, several are called column_1, column_2, ...",
    ),
    click.option("--encoding", metavar="NAME", help="Encoding of a text file, e.g. cp1250. Default: detected."),
    click.option(
        "--delimiter", metavar="CHARACTER", help="Delimiter of a csv, tsv or txt file, or tab. Default: detected."
    ),
    click.option("--sheet", metavar="NAME", help="Sheet of a workbook. Default: the first one with the column --text."),
)


def pairs_option(flag: str, name: str, metavar: str, help: str) -> Callable[[Any], Any]:
    """Return a repeatable option ``KEY=VALUE`` that is passed as a mapping. Of two values of a key the last one counts.

    The option raises UsageError for a value without ``=`` or with an empty side.
    """

    def parse(_context: click.Context, _option: click.Parameter, pairs: Sequence[str]) -> dict[str, str]:
        parsed: dict[str, str] = {}
        for pair in pairs:
            key, equals, value = pair.partition("=")
            if not equals or not key.strip() or not value.strip():
                raise UsageError(f"{flag} '{pair}' is not KEY=VALUE.", f"Write for example {flag} name=value.")
            key, value = key.strip(), value.strip()
            if parsed.get(key, value) != value:
                print_message(f"{flag} has several values for {key}; the last one counts")
            parsed[key] = value
        return parsed

    return click.option(flag, name, multiple=True, metavar=metavar, callback=parse, help=f"{help} Repeatable.")


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object as the last line of stdout.")
connection_option = pairs_option("--connection", "connections", "NAME=URL", "Add a server by name.")
price_option = pairs_option("--price", "prices", "SPEC=IN/OUT", "Dollars per million prompt and reply tokens.")
reference_option = click.option(
    "--reference",
    default="gold",
    help="Reference labels: gold[@RATER], author, reviewed[@PERSON], run:ID[/ROLE], latent (the truth estimated from "
    "independent annotators), or reviewed+gold (the review, or gold where there is none).",
)
budget_option = click.option(
    "--budget", type=DOLLARS, metavar="USD", help="Pause before a run costs more than this, in dollars."
)


def open_standard_streams() -> None:
    """Open the streams that the caller closed on the null device, and let stdout print every character.

    Otherwise the project file would get the number of such a stream, to which libraries write. A file or pipe on
    Windows has an encoding with few characters; the others are printed as escapes, as on stderr.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


@atexit.register
def _discard_unwritten() -> None:
    """Discard output that cannot be written, on a full disk for example: Python would exit with code 120."""
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            if stream and not stream.closed:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def raise_file_limit() -> None:
    """Allow many open files, so that connections leave some for the project.

    Each call to a model is a connection. In the studio, another user of the machine can hold idle connections.
    """
    if sys.platform != "win32":
        import resource

        current, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        new_limit = OPEN_FILES if hard_limit == resource.RLIM_INFINITY else min(OPEN_FILES, hard_limit)
        if current != resource.RLIM_INFINITY and current < new_limit:
            with suppress(ValueError, OSError):  # macOS allows fewer than its hard limit
                resource.setrlimit(resource.RLIMIT_NOFILE, (new_limit, hard_limit))


class ProgressLines:
    """Progress of a run: one line that is updated on a terminal, else changed lines, at most one per second."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._last = 0.0
        self._printed = ""
        self._problem = ""
        self._retried_at = 0.0
        self._guard = threading.Lock()

    def __call__(self, event: Event) -> None:
        """Print an event's progress. Called from the engine's thread, some times for each reply."""
        from core.debate.events import RunStatus, TurnWaiting

        with self._guard:
            now = time.monotonic()
            if isinstance(event, TurnWaiting) and event.seconds >= LINE_SECONDS:
                self._problem, self._retried_at = event.reason, now + event.seconds
            if not isinstance(event, RunStatus):
                return
            ended = event.state != "running"
            if not ended and now - self._last < (0.1 if self._terminal else LINE_SECONDS):
                return
            self._last = now
            line = format_progress(event)
            if not ended and now < self._retried_at:
                line += f", {self._problem}, retrying"
            if self._terminal:
                room = shutil.get_terminal_size().columns - BAR_WIDTH - 2
                _print_stderr(f"\r\033[K{progress_bar(event)} {printable(line)[:room]}", newline=ended)
            elif line != self._printed:
                self._printed = line
                _print_stderr(printable(line))


def progress_bar(status: RunStatus) -> str:
    """Return a bar of ``BAR_WIDTH`` characters that shows the share of ended documents."""
    full = BAR_WIDTH * status.ended // max(1, status.documents)
    return _style("━" * full, fg="green") + _style("─" * (BAR_WIDTH - full), dim=True)


def format_progress(status: RunStatus) -> str:
    """Return the progress of a run in one line."""
    parts = [f"{status.run_id} {status.state}: {status.ended} of {status.documents}"]
    parts += [
        f"{count} {name}" for name, count in (("unresolved", status.unresolved), ("failed", status.failed)) if count
    ]
    if status.state == "running":
        parts.append(f"{format_rate(status.rate)} per minute")
        if status.eta_seconds is not None:
            parts.append(format_eta(status.eta_seconds))
    if status.cached_calls:
        parts.append(f"{status.cached_calls} of {status.calls + status.cached_calls} replies reused")
    parts.append(_cost(status))
    if status.message:
        parts.append(status.message)
    return ", ".join(parts)


def _cost(status: RunStatus) -> str:
    """Return the cost so far, and while the run is active the projected total."""
    if status.cost_usd is None:
        return format_money(None)
    paid_for = status.ended + status.in_flight / 2  # a debate in progress is half paid for on average
    projected = status.cost_usd / paid_for * status.documents if status.state == "running" and status.ended else 0.0
    return format_cost(status.cost_usd, status.estimated_calls) + (
        f" of about {format_money(projected)}" if projected > status.cost_usd else ""
    )


def wait_for(future: Future[T], on_interrupt: Callable[[int], None]) -> T:
    """Wait for a future and return its result.

    The first Ctrl-C (or SIGTERM) calls ``on_interrupt(1)``, the second ``on_interrupt(2)``, and so on. A terminal that
    is closed counts as the first, unless the command was started to outlive it. Waiting continues, because pausing and
    stopping take a moment.
    """
    interrupts = handled = 0

    def count(number: int, _frame: Any) -> None:
        nonlocal interrupts
        interrupts = max(interrupts, 1) if number == HANGUP else interrupts + 1  # the shell may repeat a hangup

    def handle_interrupts() -> None:
        nonlocal handled
        while handled < interrupts:
            handled += 1
            on_interrupt(handled)

    numbers = [signal.SIGINT, signal.SIGTERM]
    if HANGUP is not None and signal.getsignal(HANGUP) is not signal.SIG_IGN:
        numbers.append(HANGUP)
    before = {number: signal.signal(number, count) for number in numbers}
    try:
        while not future.done():
            wait((future,), INTERRUPT_SECONDS)
            # Not in the signal handler: it may run while this thread holds the future's lock, for which the loop waits.
            handle_interrupts()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    handle_interrupts()
    return future.result()


@contextmanager
def open_workspace(
    connections: Mapping[str, str] | None = None,
    prices: Mapping[str, str] | None = None,
    *,
    remember: bool = True,
) -> Iterator[Any]:
    """Open a workspace with these connections and prices of models, and close it at the end.

    Without ``remember``, its projects are not added to the recent ones.
    A full disk at the final checkpoint is only reported: committed changes are safe in the write-ahead log. So is a
    project file that is gone: a copy was saved.
    """
    from core.services.models import Price
    from core.services.workspace import Workspace

    workspace = Workspace(remember=remember)
    try:
        for name, url in (connections or {}).items():
            workspace.use_connection(name, url)
        for spec, price in (prices or {}).items():
            workspace.models.prices.user_prices[spec] = Price.parse(price)
        yield workspace
    finally:
        try:
            workspace.close()
        except (StorageFull, ProjectGone) as problem:
            print_message(problem)
            if isinstance(problem, ProjectGone) and sys.exc_info()[0] is None:
                raise SystemExit(INCOMPLETE) from None


@contextmanager
def open_session(project: Path) -> Iterator[Any]:
    """Open an existing project."""
    with open_workspace() as workspace:
        yield workspace.open(project, create=False)


def known_run(session: ProjectSession, run_id: str | None) -> RunRow:
    """Return a run by id, or the latest. UsageError if there is none."""
    latest = session.latest_run()
    if latest is None:
        raise UsageError(f"{session.path.name} has no runs yet.", "Start one with moot annotate or on the Run page.")
    return session.run(latest if run_id is None else run_id)
