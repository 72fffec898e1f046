"""Tests of the message boxes."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from tests.app.studio import html


def _draw() -> None:
    from app.widgets.alerts import probe_notice
    from core.engine.preflight import Probe
    from core.runs import RoleModel

    probe_notice(Probe(RoleModel(connection="a", model="m"), ("judge",), 0.5, beginning="I love <b>rain</b>."))


def test_reply_in_another_format_is_quoted() -> None:
    shown = html(AppTest.from_function(_draw).run())
    assert "a/m replies, but not in the expected format" in shown
    assert "The reply, &quot;I love &lt;b&gt;rain&lt;/b&gt;.&quot;, took 0.5 s. You can start a run" in shown
