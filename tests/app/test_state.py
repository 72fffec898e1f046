"""Tests of the state in the browser's address, which a reload or a bookmark restores."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def screen():
    from pathlib import Path

    import streamlit as st

    from app.state import state
    from app.widgets import layout

    state.read_url("hotels")
    st.text(f"looks at {state.run_id}")
    st.text(f"{state.review.document} {','.join(state.compare.runs)} {state.evaluate.reference}")
    if st.button("another"):
        state.run_id = "r0009"
    if st.button("project"):
        state.select_project(Path("other.duckdb"))
    layout.write_url("review", run="r</script>1", document=None)


def open_screen(**address):
    app = AppTest.from_function(screen, default_timeout=60)
    for name, value in address.items():
        app.query_params[name] = value
    return app.run()


def test_new_tab_opens_the_run_in_the_address():
    assert open_screen(run="r0002").text[0].value == "looks at r0002"
    assert open_screen().text[0].value == "looks at None"


def test_setup_of_a_new_run_is_open_again_after_a_reload():
    from app.state import RunState

    reloaded = open_screen(run="new")
    assert reloaded.session_state[RunState.setup_open.key]
    assert reloaded.text[0].value == "looks at None"


def test_address_sets_document_compared_runs_and_reference():
    assert (
        open_screen(document="d7", runs="r0001,r0003", reference="reviewed").text[1].value == "d7 r0001,r0003 reviewed"
    )
    assert open_screen().text[1].value == "None  gold"


def test_prompt_in_the_address_is_edited_again_after_a_reload():
    from app.state import LabState

    assert open_screen(prompt="ecj/judge").session_state[LabState.subject.key] == "ecj/judge"


def test_existing_view_in_the_address_is_opened():
    from app.state import EvaluateState, ReviewState

    assert open_screen(tab="debate").session_state[EvaluateState.tab.key] == "debate"
    assert EvaluateState.tab.key not in open_screen(tab="nonsense").session_state
    assert open_screen(view="Grid").session_state[ReviewState.view.key] == "Grid"
    assert ReviewState.view.key not in open_screen(view="Nonsense").session_state


def test_address_of_another_project_is_ignored():
    assert open_screen(project="hotels", run="r0002").text[0].value == "looks at r0002"
    app = open_screen(project="banks", run="r0002", document="d7")
    assert [text.value for text in app.text] == ["looks at None", "None  gold"]


def test_address_is_ignored_after_the_first_run_of_a_tab():
    """A rerun may carry an outdated address."""
    app = open_screen(run="r0002")
    app.button[0].click().run()
    assert app.run().text[0].value == "looks at r0009"


def test_changing_the_project_clears_the_run_of_the_address():
    app = open_screen(run="r0002")
    app.button[1].click().run()
    assert app.run().text[0].value == "looks at None"


def test_run_name_is_not_in_markup():
    assert not open_screen().get("html")
