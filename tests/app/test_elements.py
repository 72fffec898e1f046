"""Tests of the small elements of the pages: escaped labels, and the pages of a list."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from app.widgets.elements import literal
from tests.each_row import each_row


@each_row(
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


def _texts_with_numbers() -> None:
    from app.widgets.elements import table

    text = "We went again at 7 and waited for 20 minutes."
    table(["Id", "Text", "Score"], [["d1", text, "0.5 (0.4 to 0.6)"], ["d2", "2 pints", ""]])


def test_column_of_texts_is_aligned_left_even_if_they_have_numbers() -> None:
    (body,) = (element.proto.body for element in AppTest.from_function(_texts_with_numbers).run().get("html"))
    assert '<th class="text">Text</th>' in body
    assert "<th>Score</th>" in body


def _ids_and_models() -> None:
    from app.widgets.elements import table

    row = ["Food", "ECJ at 0.5", "local/gpt-4.1", "p = 0.01", "$0.50"]
    table(["Label", "Run", "Model", "Test", "Cost"], [row, ["Price", "Single 2", "builtin/lexical", "p < 0.1", "free"]])


def test_column_of_ids_or_models_is_aligned_left() -> None:
    (body,) = (element.proto.body for element in AppTest.from_function(_ids_and_models).run().get("html"))
    assert [head for head in ("Run", "Model", "Test", "Cost") if f'<th class="text">{head}' in body] == ["Run", "Model"]


def _facts() -> None:
    from app.widgets.elements import facts

    facts([("judge_1_NAME", "last decision of judge_1"), ("status", "verdict, failed or open"), ("note", "a note")])
    facts([("Documents", "14"), ("Protocol", "ECJ")])


def test_facts_are_aligned_right_if_half_have_a_number() -> None:
    texts, numbers = (element.proto.body for element in AppTest.from_function(_facts).run().get("html"))
    assert 'class="moot-facts text"' in texts
    assert 'class="moot-facts"' in numbers


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
