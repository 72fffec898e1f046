"""What the Lab keeps in session_state, typed, as ``state`` does for all screens."""

from __future__ import annotations

import time
from typing import Any, TypeVar, cast

import streamlit as st

from app.widgets.common import bound
from core.errors import MootError
from core.services.lab.trials import DEFINITIONS

T = TypeVar("T")

SUBJECT = "lab_subject"
"""What is edited: a template's slot, or definitions."""
PROTOCOL = "lab_protocol"
"""Widget: the protocol whose prompts are edited."""
WANTED = "lab_wanted_protocol"
"""The protocol of a run whose prompts were opened."""
SIZE = "lab_size"
"""Widget: the number of documents that a change is tried on."""
SEED = "lab_seed"
"""Widget: the seed that the sample is drawn with."""
VIEW = "lab_view"
"""Widget: edit, diff or rendered."""
TRIAL = "lab_trial"
"""Subject -> number of the trial that is shown; the latest one without an entry."""
TRIED = "lab_tried"
"""What was tried last: the change and the size of the sample."""
PICKED = "lab_document"
"""The document whose two debates are shown."""
PREVIEWED = "lab_previewed"
"""Widget: position of the document that the prompt is rendered for, among those that may be looked at."""
ONE = "lab_one"
"""Widget: position of the document that is tried alone."""
NOTE = "lab_note"
"""Widget: the note of the version that is saved next."""
TYPING = "lab_as_i_type"
"""Widget: whether a change is tried as soon as typing rests."""
LABEL = "lab_label"
"""Widget: the label whose definition is edited."""
LIFE = "lab_life"
"""How often the editor's text was put there by the page; with the slot, the editor's life."""
DRAFTED = "lab_drafted_at"
"""When this tab last kept a draft."""
TROUBLE = "lab_trouble"
"""The MootError that says why something could not be tried."""
ERRORS = "lab_errors_of"
"""Widget: the run whose errors suggestions are mined from; None for the latest try or run."""
PROPOSED = "lab_proposed"
"""What a model proposed (``core.services.lab.rewrite.Proposal``), until it is taken or left."""


def _get(key: str, default: T) -> T:
    return cast(T, st.session_state.get(key, default))


def subject(default: str = DEFINITIONS) -> str:
    """What is edited."""
    return _get(SUBJECT, default)


def edit(subject: str) -> None:
    """Turn to another template, or to the definitions."""
    if subject != _get(SUBJECT, ""):
        forget(PICKED, NOTE, PROPOSED, TROUBLE)
    st.session_state[SUBJECT] = subject


def trial(subject: str) -> int | None:
    """The trial that is shown for a subject; None for its latest."""
    return cast("dict[str, int]", _get(TRIAL, {})).get(subject)


def show_trial(subject: str, number: int) -> None:
    """Show a trial; no document of it is picked yet."""
    shown = cast("dict[str, int]", st.session_state.setdefault(TRIAL, {}))
    if shown.get(subject) != number:
        shown[subject] = number
        forget(PICKED)


def picked() -> str | None:
    """The document whose debates are shown."""
    return _get(PICKED, cast("str | None", None))


def pick(document_id: str | None) -> None:
    """Show the debates on a document, or hide them when they are shown."""
    st.session_state[PICKED] = None if document_id == picked() else document_id


def size(default: int) -> int:
    """On how many documents a change is tried."""
    return _get(SIZE, default)


def is_news(mark: str) -> bool:
    """Whether this change was not tried by this tab just before; notes that it is now."""
    news = _get(TRIED, "") != mark
    st.session_state[TRIED] = mark
    return news


def life() -> int:
    """The life of the text in the editor."""
    return _get(LIFE, 0)


def renew() -> None:
    """Have the editor take the text that the page has."""
    st.session_state[LIFE] = life() + 1


def note_drafted() -> None:
    """Note that a draft was kept now."""
    st.session_state[DRAFTED] = time.time()


def drafted_at() -> float | None:
    """When this tab last kept a draft."""
    return _get(DRAFTED, cast("float | None", None))


def note_trouble(error: MootError) -> None:
    """Have the page say why something could not be tried, until something else is."""
    st.session_state[TROUBLE] = error


def trouble() -> MootError | None:
    """Why something could not be tried."""
    return _get(TROUBLE, cast("MootError | None", None))


def proposed() -> Any:
    """What a model proposed, or None."""
    return _get(PROPOSED, None)


def keep_proposed(proposal: Any) -> None:
    """Keep what a model proposed."""
    st.session_state[PROPOSED] = proposal


def forget(*keys: str) -> None:
    """Put widgets and what hangs on them back to how they began."""
    for key in keys:
        st.session_state.pop(key, None)


def shown(key: str, value: Any) -> str:
    """Have a widget begin with a value; what a person chose since stays."""
    if key not in st.session_state:
        return bound(key, value)
    return key
