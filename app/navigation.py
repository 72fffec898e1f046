"""The frame around every screen: project switcher, the rooms, and at the foot what runs now."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from app.state import SessionState, state
from app.widgets import frame
from core.errors import MootError

APP = Path(__file__).parent
SCREENS = APP / "screens"

ROOMS: dict[str, list[tuple[str, str, str]]] = {
    "": [("home", "Home", "home")],
    "Prepare": [
        ("data", "Data", "table_rows"),
        ("codebook", "Codebook", "menu_book"),
        ("personas", "Personas", "groups"),
        ("models", "Models", "memory"),
    ],
    "Debate": [("run", "Run", "forum")],
    "Decide": [("review", "Review", "rule")],
    "Learn": [
        ("evaluate", "Evaluate", "bar_chart"),
        ("compare", "Compare", "compare_arrows"),
        ("lab", "Lab", "science"),
    ],
    "Take away": [("export", "Export", "ios_share")],
}

st.set_page_config(
    page_title="Moot", page_icon=str(APP / "static" / "logo-icon.svg"), layout="wide", initial_sidebar_state=216
)
frame.chrome()

pages = {
    section: [
        st.Page(
            SCREENS / file / "page.py", title=title, icon=f":material/{icon}:", default=file == "home", url_path=file
        )
        for file, title, icon in rooms
        if (SCREENS / file / "page.py").exists()
    ]
    for section, rooms in ROOMS.items()
}
chosen = st.navigation(pages, position="hidden")

with st.sidebar:
    session = frame.project_switcher(chosen.url_path)
    state.enter_page(chosen.url_path)
    frame.rooms(pages, chosen)
    if session is not None:
        frame.foot(session)

try:
    frame.waiting_notice(SessionState.notice.pop())
    chosen.run()
except MootError as error:
    frame.trouble(error)
