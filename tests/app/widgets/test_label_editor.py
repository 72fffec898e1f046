"""Tests of the editor of one label."""

from __future__ import annotations

from unittest.mock import Mock

import streamlit as st

from app.widgets.label_editor import Fields


def test_change_of_a_field_that_an_interrupted_run_did_not_draw_is_ignored() -> None:
    edit = Mock()
    field = Fields(Mock(), "codebook").bind("book-name", "Hotel", edit)
    del st.session_state[field["key"]]
    field["on_change"](*field.get("args", ()))
    assert not edit.called
