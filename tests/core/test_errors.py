"""Tests of the exceptions."""

from __future__ import annotations

import re

from core import errors


def test_every_exception_is_in_the_overview() -> None:
    names = {name for name, value in vars(errors).items() if isinstance(value, type)} - {"ClassVar"}
    assert names <= set(re.findall(r"\w+", errors.__doc__ or ""))
    assert "NoSuchRun" in names
