"""Waiting for what another thread does, while Ctrl+C is heard."""

from __future__ import annotations

from concurrent.futures import Future

from core.cli import console


class JustDone(Future[str]):
    """Ends in the moment between a wait that has run out and the look whether it is done."""

    def result(self, timeout: float | None = None) -> str:
        if not self.done():
            self.set_result("the answer")
            raise TimeoutError
        return super().result(timeout)


def test_what_ends_as_a_wait_runs_out_is_no_failure():
    assert console.wait(JustDone(), lambda _: None) == "the answer"
