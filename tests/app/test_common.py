"""Tests of escaping Markdown in Streamlit labels."""

from __future__ import annotations

import pytest

from app.widgets.common import literal


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a clean room", "a clean room"),
        ("![x](http://evil/x.png)", r"\!\[x\]\(http\:\/\/evil\/x\.png\)"),
        (":red[Yes] $x$ **No**", r"\:red\[Yes\] \$x\$ \*\*No\*\*"),
        ("1. <b>\nYes", r"1\. \<b\> Yes"),
    ],
)
def test_markdown_is_escaped(text: str, shown: str) -> None:
    assert literal(text) == shown
