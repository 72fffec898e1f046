"""A decorator that runs a test for each row of a table, as one test."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def each_row(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call the test with each row and report all failures together.

    In contrast to ``pytest.mark.parametrize``, which takes milliseconds and some kilobytes for each row in each worker,
    fixtures are shared by all rows. Tests that measure time, or that have a fixture for each row, are parametrised.
    """
    parameters = [names] if isinstance(names, str) else list(names)
    table = list(rows)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run_rows(**fixtures: Any) -> None:
            failures = []
            for row in table:
                values = dict(zip(parameters, [row] if len(parameters) == 1 else row, strict=True))
                try:
                    test(**fixtures, **values)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"in the row {values}")
                    failures.append(error)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} rows failed", failures)

        signature = inspect.signature(test)
        left = [parameter for name, parameter in signature.parameters.items() if name not in parameters]
        run_rows.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return run_rows

    return decorate
