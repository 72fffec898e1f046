"""Scenarios of the soak test: faults at given shares of a run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.servers.disks import empty, fill, make_read_only, small_disk
from tests.servers.running import mock_llm
from tests.servers.tls import FAULTS, TlsFront
from tests.soak.soak import CONCURRENCY, Report, Soak

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Step = tuple[float, Callable[[Soak], object]]
FAULTY = {"p_429": 0.01, "p_500": 0.01, "p_drop": 0.01, "p_malformed": 0.005, "p_stall": 0.0001}
"""Shares of calls that are rejected, cut off, malformed or stalled."""
SPEED = {"slots": CONCURRENCY, "ttft": 0.03, "tpt": 0.002, "tokens": 10, "retry_after": 0.5, "stall_s": 60}
SLOW = {**SPEED, "ttft": 0.6}
"""Speed at which a few hundred debates do not end before a fault."""


def work(folder: Path, browser: Browser, debates: int) -> Report:
    """Kill and suspend the studio, change its clock and stop the model server; then visit other pages repeatedly."""
    looks: list[Step] = [(share / 100, Soak.look_around) for share in range(45, 100, 10)]
    with mock_llm(**(SLOW if debates < 1000 else SPEED), **FAULTY) as server:
        return Soak(folder, browser, debates=debates, url=f"{server}/v1", server=server).run(
            (0.04, Soak.kill),
            (0.08, Soak.stop_and_continue),
            (0.12, Soak.kill),
            (0.16, partial(Soak.set_clock, hours=3)),
            (0.20, partial(Soak.set_clock, hours=-5)),
            (0.24, Soak.kill),
            (0.28, partial(Soak.set_clock, hours=0)),
            (0.32, Soak.stop_server),
            (0.36, Soak.stop_and_continue),
            *looks,
        )


def certificates(folder: Path, browser: Browser, debates: int) -> Report:
    """Use a server whose certificate expires, names another host, and has an unknown signer."""

    def break_certificate(soak: Soak, fault: str) -> None:
        soak.check_runs()
        front.present(fault)
        soak.until_paused("shows a certificate that is not trusted")
        front.present("valid")
        soak.resume()

    with mock_llm(**SLOW, **FAULTY) as server, TlsFront(folder, urlsplit(server).port or 0) as front:
        url, trust = f"https://127.0.0.1:{front.port}/v1", {"SSL_CERT_FILE": str(front.signer)}
        steps = [((n + 1) / 5, partial(break_certificate, fault=fault)) for n, fault in enumerate(FAULTS)]
        return Soak(folder, browser, debates=debates, url=url, server=server, environment=trust).run(*steps)


def full(folder: Path, browser: Browser, debates: int) -> Report:
    """Fill the disk twice, and empty it each time."""

    def fill_disk(soak: Soak) -> None:
        soak.check_runs()
        soak.may_lose_calls()
        fill(disk)
        soak.until_paused("The disk is full")
        empty(disk)
        soak.resume()

    with small_disk(folder, 256) as disk, mock_llm(**SLOW, **FAULTY) as server:
        soak = Soak(folder, browser, debates=debates, url=f"{server}/v1", server=server, place=disk)
        return soak.run((0.3, fill_disk), (0.6, fill_disk))


def read_only(folder: Path, browser: Browser, debates: int) -> Report:
    """Make the disk read-only, and continue with the copy that the studio offers."""

    def break_disk(soak: Soak) -> None:
        soak.check_runs()
        soak.may_lose_calls()
        make_read_only(disk)
        soak.continue_with_copy("became read-only")

    with small_disk(folder, 256) as disk, mock_llm(**SLOW, **FAULTY) as server:
        soak = Soak(folder, browser, debates=debates, url=f"{server}/v1", server=server, place=disk)
        return soak.run((0.5, break_disk))


SCENARIOS: dict[str, Callable[[Path, Browser, int], Report]] = {
    "work": work,
    "certificates": certificates,
    "full": full,
    "read-only": read_only,
}
