"""Waiting for a future while Ctrl+C is handled, tables and the progress bar."""

from __future__ import annotations

from concurrent.futures import Future

import click
import pytest

from core.cli import console
from core.debate.events import RunStatus


class JustDone(Future[str]):
    """Completes between a timed-out wait and the check whether it is done."""

    def result(self, timeout: float | None = None) -> str:
        if not self.done():
            self.set_result("the answer")
            raise TimeoutError
        return super().result(timeout)


def test_future_that_ends_as_its_timeout_expires_is_returned():
    assert console.wait_for(JustDone(), lambda _: None) == "the answer"


def test_a_table_aligns_names_to_the_left_and_numbers_to_the_right(capsys):
    console.print_table(["label", "F1"], [["Price", "0.9"], ["Cleanliness", "0.55"]])
    assert click.unstyle(capsys.readouterr().out).splitlines() == [
        "label          F1",
        "Price         0.9",
        "Cleanliness  0.55",
    ]


@pytest.mark.parametrize(("ended", "full"), [(0, 0), (50, 12), (100, 24)])
def test_the_bar_is_as_long_as_the_share_of_ended_documents(ended, full):
    status = RunStatus("r0001", "running", 100, ended, 0, 0, 0, 0, 0, 0, 0, None, 0.0, 0.0, None)
    bar = console.progress_bar(status)
    assert click.unstyle(bar) == "━" * console.BAR_WIDTH
    assert bar.startswith(click.style("━" * full, fg="green"))
