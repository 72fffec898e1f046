"""Tests of the editor of one label."""

from __future__ import annotations

from unittest.mock import Mock

import pytest
import streamlit as st

from app.widgets.label_editor import Fields, keywords
from core.codebook import Codebook, Label


def test_change_of_a_field_that_an_interrupted_run_did_not_draw_is_ignored() -> None:
    edit = Mock()
    field = Fields(Mock(), "codebook").bind("book-name", "Hotel", edit)
    del st.session_state[field["key"]]
    field["on_change"](*field.get("args", ()))
    assert not edit.called


def test_suggested_keyword_that_an_interrupted_run_did_not_draw_is_not_added(monkeypatch: pytest.MonkeyPatch) -> None:
    pills = Mock()
    monkeypatch.setattr(st, "pills", pills)
    codebook, fields = Codebook(labels=(Label(name="Noise"),)), Mock()
    (label,) = codebook.labels
    keywords(fields, codebook, label)
    _, options = pills.call_args
    st.session_state[options["key"]] = "loud"
    options["on_change"]()
    (label_id, part, change), _ = fields.change.call_args
    assert (label_id, part, change(("noisy",))) == (label.id, "keywords", ("noisy", "loud"))
    st.session_state[options["key"]] = None
    options["on_change"]()
    del st.session_state[options["key"]]
    options["on_change"]()
    assert fields.change.call_count == 1
