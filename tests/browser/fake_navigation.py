"""Navigation with two pages: the live run on simulated debates, and a page with all small widgets."""

from dataclasses import asdict
from typing import cast

import streamlit as st
from fake_run import CODEBOOK, ROLES, RUN, FakeSession

from app import context
from app.components import component
from app.widgets import sidebar
from app.widgets.alerts import notice
from app.widgets.labels import label_data, role_data, tags
from app.widgets.layout import empty, header
from core.services import guided_path


def run() -> None:
    session = context.workspace().sessions()[0]
    result = session.live_run(RUN)
    state = result.status.state if result and result.status else "queued"
    with header("Run 14", "ECJ on hotel-reviews.csv, codebook v6, iteration 1 of 3", badge=state, tone="run", dot=True):
        st.button("Settings", icon=":material/tune:", type="tertiary")
        st.button("Pause", icon=":material/pause:")
        st.button("Stop", icon=":material/stop:")
    component("live_run")(
        key="live-run",
        data={
            "run": context.live_name(session, RUN),
            "labels": label_data(CODEBOOK),
            "roles": role_data(dict.fromkeys(ROLES, "")),
            "kind": CODEBOOK.kind,
            "state": state,
            "budget": 3.0,
            "slots": 20,
            "explained": False,
            "layout": "chain",
        },
        on_state_change=lambda: None,
    )


def other() -> None:
    header("Other", "every small view once", badge="3 of 5")
    session = cast(FakeSession, context.workspace().sessions()[0])
    debate = session.by_id["0402"]
    replay = debate.stored()
    left, right = st.columns(2)
    with left:
        evidence = [asdict(row) for turn in replay.turns for row in turn.reply.evidence]
        fields, labels = dict(debate.text.fields), label_data(CODEBOOK)
        component("highlighted_text")(key="marked", data={"fields": fields, "labels": labels, "evidence": evidence})
        tags(CODEBOOK.labels)
        empty("No verdicts yet", "84 documents, 5 labels and 3 roles are ready.", ["Start with 10", "All"], key="a")
        with st.container(horizontal=True):
            empty("Nothing waits for you", "All 120 in the queue are decided.", sign="check", key="b")
            empty("No truth", "No gold column.", sign="bars", key="c")
    with right:
        notice(
            "error", "Critic: the key was refused", "openai answered 401. Set OPENAI_API_KEY or type a key on Models."
        )
        notice("warn", "Run 14 was interrupted at 412 of 1,000", "Every reply is kept, <b>none</b> is paid again.")
        notice("ok", "Extractor and judge are ready")


st.set_page_config(
    page_title="Moot", layout="wide", page_icon=str(sidebar.APP / "static" / "logo-icon.svg"), initial_sidebar_state=216
)
sidebar.styles()
pages = {
    "": [st.Page(run, title="Run", icon=":material/forum:", default=True)],
    "Prepare": [st.Page(other, title="Other", icon=":material/table_rows:", url_path="other")],
}
chosen = st.navigation(pages, position="hidden")
with st.sidebar:
    session = sidebar.project_switcher("")
    sidebar.navigation(pages, chosen)
    if session is not None:
        guided_path.overview = lambda session: guided_path.Overview(None, ())  # the project has a run, but no steps
        sidebar.project_status(session, "")
chosen.run()
