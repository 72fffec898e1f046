"""Waiting for a future while Ctrl+C is handled."""

from __future__ import annotations

from concurrent.futures import Future

from core.cli import console


class JustDone(Future[str]):
    """Completes between a timed-out wait and the check whether it is done."""

    def result(self, timeout: float | None = None) -> str:
        if not self.done():
            self.set_result("the answer")
            raise TimeoutError
        return super().result(timeout)


def test_future_that_ends_as_its_timeout_expires_is_returned():
    assert console.wait_for(JustDone(), lambda _: None) == "the answer"
