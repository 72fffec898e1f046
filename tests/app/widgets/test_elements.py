"""Tests of the small elements of the pages: escaped labels, and the pages of a list."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from app.widgets.elements import adding_field, literal
from tests.each_row import each_row


@each_row(
    ("text", "shown"),
    [
        ("a clean room", "a clean room"),
        ("![x](http://evil/x.png)", r"\!\[x\]\(http\:\/\/evil\/x\.png\)"),
        (":red[Yes] $x$ **No**", r"\:red\[Yes\] \$x\$ \*\*No\*\*"),
        ("1. <b>\nYes", r"1\. \<b\> Yes"),
        ("a -> b <-> c", "a \\-\u2060\\> b \\<\u2060\\-\\> c"),  # Streamlit replaces arrows that are escaped, too
        ("a->b >= <b", r"a\-\>b \>" + "\u2060" + r"\= \<b"),
        (":streamlit:", "\\:\u2060streamlit\\:"),
    ],
)
def test_markdown_is_escaped(text: str, shown: str) -> None:
    assert literal(text) == shown


def _list() -> None:
    import streamlit as st

    from app.widgets.elements import page_number, pagination

    pages = st.number_input("pages", value=3)
    st.text(f"page {page_number(pages, key='list')}")
    pagination(pages, key="list")


def test_page_that_no_longer_exists_becomes_the_last_one(caplog: pytest.LogCaptureFixture) -> None:
    app = AppTest.from_function(_list).run()
    app.session_state["list"] = 3
    app.run()
    caplog.clear()
    app.number_input[0].set_value(2).run()
    assert app.text[0].value == "page 2"
    assert app.session_state["list"] == 2
    assert not caplog.records, "a page beyond the last one is no second default"
    app.number_input[0].set_value(1).run()
    assert (app.text[0].value, "list" in app.session_state) == ("page 1", False)


def _folded(count: int) -> None:
    import streamlit as st

    from app.widgets.elements import fold

    fold(range(count), lambda item: st.text(str(item)))


def test_items_beyond_the_fifth_are_folded() -> None:
    app = AppTest.from_function(_folded, args=(7,)).run()
    assert [text.value for text in app.text] == [str(item) for item in range(7)]
    (folded,) = app.expander
    assert [text.value for text in folded.text] == ["5", "6"]


def test_folded_list_that_becomes_shorter_keeps_its_label() -> None:
    """The browser closes an expander whose label changes, so the next item could not be clicked at once."""
    (first,), (second,) = (AppTest.from_function(_folded, args=(count,)).run().expander for count in (7, 6))
    assert first.label == second.label


def _columns_of_text() -> None:
    from app.widgets.elements import table

    table(["Id", "Text", "Score"], [["d1", "2 <b>pints</b>", "0.5 (0.4 to 0.6)"]], text=["Text"])


def test_columns_of_text_are_marked_and_escaped() -> None:
    (body,) = (element.proto.body for element in AppTest.from_function(_columns_of_text).run().get("html"))
    assert '<th class="text">Text</th>' in body
    assert '<td class="text">2 &lt;b&gt;pints&lt;/b&gt;</td>' in body
    assert "<th>Score</th>" in body


def _tables() -> None:
    from app.widgets.elements import table
    from app.widgets.metric_tables import with_interval

    interval = with_interval("0.5", "0.1 to 0.9")
    for columns in (3, 4):
        table(["Label"] * (columns + 1), [["Food", *[interval] * columns]])
    for columns in (6, 7):
        table(["Label"] * (columns + 1), [["Food", interval, *["1"] * (columns - 1)]])


def test_intervals_are_below_their_values_in_a_table_with_many_intervals_or_columns() -> None:
    tables = [element.proto.body for element in AppTest.from_function(_tables).run().get("html")]
    assert ['class="moot-table wrap wide"' in body for body in tables] == [False, True, False, True]


def _field() -> None:
    import streamlit as st

    from app.widgets.elements import adding_field
    from core.errors import UsageError

    def add(text: str) -> None:
        if text == "refused":
            raise UsageError("Not added.", "Enter another name.")
        st.session_state["added"] = [*st.session_state.get("added", []), text]

    adding_field("Add", "new", add)


def test_field_is_empty_after_its_text_was_added() -> None:
    app = AppTest.from_function(_field).run()
    app.text_input(key="new").set_value(" one ").run()
    assert app.session_state["added"] == ["one"]
    assert app.text_input(key="new").value == ""
    app.text_input(key="new").set_value("refused").run()
    assert app.text_input(key="new").value == "refused"
    assert app.session_state["added"] == ["one"]


def test_change_of_a_field_that_was_not_drawn_adds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    callbacks: list[Callable[[], None]] = []
    monkeypatch.setattr("streamlit.text_input", lambda *_, on_change, **__: callbacks.append(on_change))
    added: list[str] = []
    adding_field("Add", "new", added.append)
    callbacks[0]()
    assert not added
