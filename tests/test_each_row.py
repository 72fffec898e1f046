"""Test of the decorator that runs a test for each row of a table."""

from __future__ import annotations

import pytest

from tests.each_row import each_row


def test_failures_of_all_rows_are_reported_with_their_row() -> None:
    @each_row("text", ["a", "1", "2"])
    def refused(text: str) -> None:
        with pytest.raises(ValueError, match="invalid literal"):
            int(text)

    with pytest.raises(BaseExceptionGroup, match="2 rows failed") as caught:
        refused()
    assert [error.__notes__ for error in caught.value.exceptions] == [
        ["in the row {'text': '1'}"],
        ["in the row {'text': '2'}"],
    ]
