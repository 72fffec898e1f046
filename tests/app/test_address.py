"""The run in the browser's address: F5 and a bookmark come back to it, and later steps are the tab's own."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def screen():
    from pathlib import Path

    import streamlit as st

    from app import state
    from app.views.runs import keep_in_address

    state.follow_address()
    st.text(f"looks at {state.run_id()}")
    if st.button("another"):
        state.look_at_run("r0009")
    if st.button("project"):
        state.look_at_project(Path("other.duckdb"))
    keep_in_address("r</script>1")


def begun(**address):
    app = AppTest.from_function(screen)
    for name, value in address.items():
        app.query_params[name] = value
    return app.run()


def test_a_new_tab_looks_at_the_run_that_the_address_names():
    assert begun(run="r0002").text[0].value == "looks at r0002"
    assert begun().text[0].value == "looks at None"


def test_the_address_of_a_tab_that_is_open_changes_nothing():
    """A rerun may carry the address of a moment ago."""
    app = begun(run="r0002")
    app.button[0].click().run()
    assert app.run().text[0].value == "looks at r0009"


def test_another_project_has_not_the_run_of_the_address():
    app = begun(run="r0002")
    app.button[1].click().run()
    assert app.run().text[0].value == "looks at None"


def test_a_runs_name_cannot_end_the_script_that_writes_it():
    body = begun().get("html")[0].proto.body
    assert body.count("</script>") == 1
    assert r"r\u003c/script>1" in body
