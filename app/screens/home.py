"""Home: the first minute, and what is next in the project that is open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import streamlit as st

from app import desks, first_look, prepare, state
from app.views import welcome
from app.views.data import mapper
from app.views.notice import error_box
from app.views.panel import panel
from app.views.rooms import heading
from core.errors import MootError
from core.studio import bundle, home
from core.studio.codebooks import codebook as codebooks
from core.studio.datasets import data, samples
from core.studio.desk import Desk
from core.studio.home import Step

TYPES = sorted({suffix.removeprefix(".") for suffix in (*data.SUFFIXES, bundle.SUFFIX)})


def open_sample(key: str) -> None:
    """Open a sample, made if need be, and look at it."""
    _open(lambda: samples.ensure_sample(desks.workspace(), key))


def open_recent(path: Path) -> None:
    """Open a project and look at it."""
    _open(lambda: home.open_project(desks.workspace(), path).path)


def make_new() -> None:
    """Make an empty project under the name that was typed, and go where its documents come in."""
    if _open(lambda: home.create_project(desks.workspace(), st.session_state[prepare.NEW_NAME]).path):
        prepare.head_for("data")


def _open(opening: Callable[[], Path]) -> bool:
    """Whether it could be opened; what went wrong is said."""
    try:
        state.look_at_project(opening())
    except MootError as error:
        state.say_next("error", error.message, error.remedy)
        return False
    return True


def start_with_file(desk: Desk | None) -> None:
    """The uploader; a file that can be read leads into Data."""
    with st.container(key="start", gap="small"):
        st.html(
            '<div class="moot-strong">Start with your file<small>csv, tsv, xlsx, jsonl, json or parquet, '
            "or a project's bundle. It stays on this machine, and nothing is imported before you have seen what is in "
            "it.</small></div>"
        )
        upload = st.file_uploader(
            "Your file", type=TYPES, key=prepare.uploader("home-file"), label_visibility="collapsed"
        )
        if upload is None:
            return
        if upload.name.lower().endswith(bundle.SUFFIX):
            _open(lambda: home.project_from_bundle(desks.workspace(), upload, upload.name).path)
            prepare.empty_uploader()
            st.rerun()
        fresh = desk is None or bool(desk.store.documents.count())  # a sample's documents are not to be mixed with it
        codebook = None if fresh or desk is None else codebooks.known(desk)
        bar = st.progress(0.0, "Reading")
        try:
            draft = data.read(upload.getvalue(), upload.name, codebook, progress=welcome.told(bar))
        except MootError as error:
            bar.empty()
            error_box(error)
            return
    mapper.begin_anew()
    prepare.bring(replace(draft, where="new" if fresh else "add"))
    prepare.empty_uploader()
    st.switch_page("screens/data.py")


def go(step: Step) -> None:
    """Remember where a step leads; a callback may not switch pages itself."""
    prepare.head_for(step.room)


def main() -> None:
    """Draw the screen."""
    welcome.styles()
    if (room := prepare.heading_for()) is not None:
        st.switch_page(f"screens/{room}.py")
    desk, workspace = desks.looked_at(), desks.workspace()
    with st.container(key="welcome"):
        left, right = st.columns((1.62, 1), gap="large")
        with left:
            welcome.headline()
            start_with_file(desk)
            cards = samples.samples()
            if cards:
                heading("Or open a sample")
                for at in range(0, len(cards), 2):
                    for cell, card in zip(st.columns(2), cards[at : at + 2], strict=False):
                        with cell:
                            welcome.sample_card(card, partial(open_sample, card.sample.key))
            with st.container(horizontal=True, vertical_alignment="center", key="projects-head"):
                heading("Recent projects")
                st.space("stretch")
                with st.popover("New project", icon=":material/add:"), st.form("new-project", border=False):
                    st.text_input("Its name", key=prepare.NEW_NAME, placeholder="clinic-letters")
                    st.form_submit_button("Create", type="primary", on_click=make_new)
            welcome.recent_table(home.recent(workspace), desk.path if desk else None, open_recent)
        with right:
            with panel("How a debate goes", note="a hotel review", key="example"):
                welcome.example()
            if desk is not None:
                overview = home.overview(desk)
                with panel(
                    f"{overview.name}, what is next", note=f"{overview.done} of {len(overview.steps)}", key="next"
                ):
                    welcome.steps(overview, go)
    if desk is not None:
        first_look.prepare(desk)


main()
