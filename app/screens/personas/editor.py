"""Parts of the Personas page: the fields of a persona, its evidence, versions and costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import streamlit as st

from app.state import state, with_value
from app.widgets.codebook_versions import when
from core.debate.personas import Persona, PersonaSet, Quote
from core.errors import MootError
from core.formatting import format_price
from core.services import personas
from core.services.session import ProjectSession

FIELDS = (
    ("name", "Name", ""),
    ("dimension", "Evaluation dimension", "The one aspect that the persona judges."),
    ("demographics", "Demographics", "Age, profession and relevant background."),
    ("specialty", "Specialty", ""),
    ("traits", "Traits", "Psychological traits."),
    ("relationships", "Relationships", "Relationships with other stakeholders."),
)
AROUND = 160
"""Number of characters of the source shown on either side of a quotation."""


def keep(session: ProjectSession, edit: Callable[[PersonaSet], PersonaSet]) -> None:
    """Apply an edit to the persona set and save it as the draft. Errors are shown at the top of the page."""
    try:
        personas.keep(session, edit(personas.current(session)[0]))
    except MootError as error:
        state.set_notice("error", error.message, error.remedy)
    else:
        state.codebook.note_draft_saved()


def counted(cast: PersonaSet) -> str:
    """Return the number of personas and groups as text."""
    many = len(cast.members)
    groups = len(cast.groups)
    return f"{many} persona{'' if many == 1 else 's'} in {groups} group{'' if groups == 1 else 's'}"


def fields(session: ProjectSession, persona: Persona) -> None:
    """Draw a field for each attribute. Every change is saved immediately."""

    def changed(part: str, key: str) -> None:
        typed = " ".join(str(st.session_state[key]).split())
        keep(session, lambda now: personas.change_persona(now, persona.name, **{part: typed}))
        if part == "name" and typed:
            state.personas.persona = typed

    for part, title, help in FIELDS:
        key = f"persona-{part}-of-{persona.name}"
        options: dict[str, Any] = {
            "key": with_value(key, getattr(persona, part)),
            "on_change": changed,
            "args": (part, key),
            "placeholder": help,
        }
        if part == "name":
            st.text_input(title, **options)
        else:
            st.text_area(title, height=68 if part != "dimension" else 80, **options)


def evidence(persona: Persona, sources: dict[str, str]) -> None:
    """Draw the quotations behind a persona, each in its context in the source."""
    if not persona.evidence:
        st.html('<div class="moot-why">Nobody is quoted for it: it was written by hand.</div>')
        return
    st.html('<div class="moot-fieldname">Evidence <small>the words of the sources that it stands on</small></div>')
    for quote in persona.evidence:
        st.html(_quoted(quote, sources.get(quote.source, "")))


def _quoted(quote: Quote, text: str) -> str:
    """Return a quotation as escaped HTML. A quotation that is not in its source is marked."""
    where = escape(quote.source or "no source")
    if not quote.supported:
        return f'<div class="moot-line"><span class="bad">not in {where}</span> "{escape(quote.words)}"</div>'
    if not text:
        return f'<div class="moot-line">{where}: "{escape(quote.words)}"</div>'
    before = text[max(0, quote.start - AROUND) : quote.start]
    after = text[quote.end : quote.end + AROUND]
    return (
        f'<div class="moot-line q">{where}: … {escape(before)}<b>{escape(text[quote.start : quote.end])}</b>'
        f"{escape(after)} …</div>"
    )


def version_rows(versions: Sequence[personas.PersonaSetVersion], most: int = 6) -> None:
    """Draw the latest versions as a small table."""
    rows = "".join(
        f'<div class="moot-version"><b>v{each.version}</b><span>{escape(each.note or counted(each.cast))}</span>'
        f"<time>{escape(when(each.at))}</time></div>"
        for each in versions[:most]
    )
    more = len(versions) - most
    st.html(
        (rows or '<div class="moot-why">Not saved yet: these two stand in until then.</div>')
        + (f'<div class="moot-why">and {more:,} before</div>' if more > 0 else "")
    )


def cost_table(costs: Sequence[personas.GroupCost]) -> None:
    """Draw turns, tokens and cost of each group."""
    rows = "".join(
        f'<div class="moot-version"><b>{one.turns:,}</b><span>{escape(one.name)}, {one.per_document:,.0f} tokens a '
        f"document</span><time>{one.tokens:,} tokens, {escape(format_price(one.cost_usd))}</time></div>"
        for one in costs
    )
    st.html(rows)
