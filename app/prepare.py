"""What Home, Data and Codebook keep in session_state, typed, as ``state`` does for all screens."""

from __future__ import annotations

import time
from typing import Any, TypeVar, cast

import streamlit as st

from app import context, state
from core.services.data.import_job import Importing
from core.services.data.importing import Draft
from core.services.data.pending_imports import PendingImport

T = TypeVar("T")

INTAKE = "intake"
"""Id of the file that this tab looks at and that is not imported yet (``core.services.data.pending_imports``)."""
TRIAL = "intake_trial"
"""(what it was made for, ``core.services.data.importing.ImportPreview`` or the error that it met)."""
UPLOADER = "uploader_life"
"""Number of times that an uploader was emptied; part of its key."""
NEW_NAME = "new_project_name"
"""Widget: the name of the project that is to be made."""
SEARCH = "data_search"
"""Widget: what is looked for in the documents."""
REMAP = "data_remap"
"""The documents whose gold is being mapped anew (``core.services.data.importing.Draft``)."""
LABEL = "codebook_label"
"""Id of the label that the Codebook screen edits."""
REFUSED = "codebook_refused"
"""Widget key -> (what was typed, why it was refused): shown at the field until it is mended."""
DRAFTED = "codebook_saved_at"
"""When this tab last saved the draft of the codebook."""
PREVIEWED = "codebook_document"
"""Widget: position of the document that the prompts are shown for."""
CASTING = "personas_job"
"""The making of personas that runs (``core.services.personas.Job``)."""
PERSONA = "persona_edited"
"""Name of the persona that the Personas screen edits."""
HEADING = "heading_for"
"""The room that a button on Home leads to."""


def _get(key: str, default: T) -> T:
    return cast(T, st.session_state.get(key, default))


def intake() -> PendingImport | None:
    """The file that this tab looks at and that is not imported yet, after F5 the one that the address names."""
    id = _get(INTAKE, st.query_params.get("intake", ""))
    found = context.workspace().waiting.get(id) if id else None
    return found if found is not None and found.project == state.project() else None


def take_up(intake: PendingImport | None) -> None:
    """Look at a file that waits to be imported; None looks at none."""
    st.session_state.pop(TRIAL, None)
    st.session_state[INTAKE] = "" if intake is None else intake.id


def bring(draft: Draft) -> None:
    """Look at a file that was just read."""
    take_up(context.workspace().waiting.add(draft, state.project()))


def keep_intake(draft: Draft | None) -> None:
    """Keep the file that is looked at as it is mapped now; None forgets it."""
    waiting, known = context.workspace().waiting, intake()
    if known is not None and draft is not None:
        waiting.change(known.id, draft)
    elif known is not None:
        waiting.drop(known.id)
        take_up(None)


def keep_job(job: Importing | None) -> None:
    """Remember the import of the file that runs; None when it ended badly."""
    known = intake()
    if known is not None:
        context.workspace().waiting.work(known.id, job)


def trial(made_for: Any) -> Any:
    """What ``keep_trial`` was given for just this, else None."""
    known = _get(TRIAL, cast("tuple[Any, Any] | None", None))
    return known[1] if known is not None and known[0] == made_for else None


def keep_trial(made_for: Any, found: Any) -> None:
    """Remember what a trial found, until it is made for something else."""
    st.session_state[TRIAL] = (made_for, found)


def uploader(name: str) -> str:
    """The key of an uploader, a new one after ``empty_uploader``."""
    return f"{name}-{_get(UPLOADER, 0)}"


def empty_uploader() -> None:
    """Have the uploaders begin empty."""
    st.session_state[UPLOADER] = _get(UPLOADER, 0) + 1


def remap() -> Any:
    """The documents whose gold is being mapped anew, or None."""
    return _get(REMAP, None)


def keep_remap(draft: Any) -> None:
    """Map the gold anew as this draft says; None ends it."""
    st.session_state[REMAP] = draft


def label() -> str | None:
    """The label that the Codebook screen edits."""
    return _get(LABEL, cast("str | None", None))


def edit_label(label_id: str | None) -> None:
    """Turn the Codebook screen to another label; what was refused at the fields of the last one is forgotten."""
    if label_id != label():
        st.session_state.pop(REFUSED, None)
    st.session_state[LABEL] = label_id


def refused(key: str) -> tuple[Any, str] | None:
    """What was typed into a field and why it was refused, None when nothing was."""
    return cast("dict[str, tuple[Any, str]]", _get(REFUSED, {})).get(key)


def refuse(key: str, typed: Any, why: str) -> None:
    """Keep what was typed into a field with the reason why it cannot be."""
    st.session_state.setdefault(REFUSED, {})[key] = (typed, why)


def accept(key: str) -> None:
    """A field was mended."""
    st.session_state.get(REFUSED, {}).pop(key, None)


def drafted_at() -> float | None:
    """When this tab last saved the draft of the codebook (unix seconds)."""
    return _get(DRAFTED, cast("float | None", None))


def note_drafted() -> None:
    """Note that the draft of the codebook was saved now."""
    st.session_state[DRAFTED] = time.time()


def head_for(room: str) -> None:
    """Go to a room when Home is next drawn."""
    st.session_state[HEADING] = room


def heading_for() -> str | None:
    """The room to go to. Asking forgets it."""
    return cast("str | None", st.session_state.pop(HEADING, None))


def casting() -> Any:
    """The making of personas that runs (``core.services.personas.Job``), or None."""
    return _get(CASTING, None)


def keep_casting(job: Any) -> None:
    """Remember the making of personas that runs; None when its end was told."""
    st.session_state[CASTING] = job


def persona() -> str | None:
    """The name of the persona that the Personas screen edits."""
    return _get(PERSONA, cast("str | None", None))


def edit_persona(name: str | None) -> None:
    """Turn the Personas screen to another persona."""
    st.session_state[PERSONA] = name
