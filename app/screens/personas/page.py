"""Personas page: generate the personas of a panel from documents, or edit them by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any

import streamlit as st
from markupsafe import Markup

from app import context
from app.pages import open_page
from app.state import PersonasState, bound, state, with_default
from app.widgets.alerts import error_boxes, notice
from app.widgets.codebook_versions import choice_of_drafts, note_field, text_difference, version_rows
from app.widgets.elements import (
    adding_field,
    button,
    discard_popover,
    download,
    field_name,
    icon_button,
    icon_popover,
    job_progress,
    line,
    literal,
    running_job,
    saved,
)
from app.widgets.file_import import draft_upload, names_and_contents
from app.widgets.layout import header, panel
from core.debate.persona_extraction import UNLIMITED
from core.debate.personas import Persona, PersonaSet, Quote, dump_yaml
from core.debate.quote_location import MISSING
from core.errors import UsageError
from core.formatting import format_count, format_date, format_price
from core.runs import RoleModel
from core.services import personas
from core.services.background_jobs import Job
from core.services.codebooks import codebook as codebooks
from core.services.project_session import ProjectSession
from core.services.runs import planning

NEW_GROUP, GROUPS, PER_GROUP = "personas-first", "persona-groups", "persona-each"
FIELDS = (
    ("name", "Name", ""),
    ("dimension", "Evaluation dimension", "The one aspect that the persona judges."),
    ("demographics", "Demographics", "Age, profession and relevant background."),
    ("specialty", "Specialty", ""),
    ("traits", "Traits", "Psychological traits."),
    ("relationships", "Relationships", "Relationships with other stakeholders."),
)
NO_SOURCES = (
    "Reports, interviews or papers in which stakeholders say what they expect of such texts (txt, md, pdf). Personas "
    "are generated from them."
)
CONTEXT_CHARACTERS = 160
"""Number of characters of the source shown on either side of a quotation."""


def main() -> None:
    session = context.require_project()
    job = running_job(session, personas.JOB, _finish)
    status = _tab_status(session)
    _top(session, status)
    _draft_choice(session)
    left, middle, right = st.columns((1.05, 1.1, 1.5), gap="small")
    with left:
        _sources(session, job)
        _task(session, status.personas)
    with middle:
        edited = _groups(session, status.personas)
    with right:
        _editor(session, status.personas, edited)
        _history(session, status)


def _tab_status(session: ProjectSession) -> personas.PersonaStatus:
    """Return the personas in the editor of this tab, and remember that the page shows them."""
    status = personas.persona_status(session)
    own = state.personas.draft.show(status.personas)
    return personas.persona_status(session, own) if own is not None else status


def _own(session: ProjectSession) -> PersonaSet | None:
    """Return the personas of this tab if another tab has changed the stored ones since, otherwise None."""
    return state.personas.draft.own(personas.persona_status(session).personas)


def _require_choice(session: ProjectSession) -> None:
    """Raise UsageError if the user has to choose between the personas of this tab and the draft of another tab."""
    if _own(session) is not None:
        raise UsageError("Two tabs have different personas.", "First choose one of them.")


def _draft_choice(session: ProjectSession) -> None:
    """Draw the choice between the personas of this tab and the draft that another tab has changed, if they differ."""
    own, stored = _own(session), personas.persona_status(session).personas

    def choose(chosen: PersonaSet | None) -> None:
        if chosen is not None:
            personas.save_draft(session, chosen)
            state.note_saved("personas")
        state.personas.draft.choose()
        state.data.clear_uploaders()  # a file that was refused before the choice

    differences = (
        partial(text_difference, dump_yaml(stored), dump_yaml(own), "personas-diff") if own is not None else None
    )
    choice_of_drafts("panel", differences, use_other=partial(choose, None), keep_own=partial(choose, own))


def _edit(session: ProjectSession, edit: Callable[[PersonaSet], PersonaSet], selected: str | None = None) -> None:
    """Edit the personas, save them as the draft, and show the persona ``selected`` in the editor.

    While another tab's draft differs, only the personas of this tab are edited.
    """
    own, stored = _own(session), personas.persona_status(session).personas
    if own is not None:
        state.personas.draft.edit(edit(own))
    else:
        personas.save_draft(session, edit(stored))
        state.personas.draft.note_stored(personas.persona_status(session).personas)
        state.note_saved("personas")
    if selected is not None:
        state.personas.persona = selected


def _top(session: ProjectSession, status: personas.PersonaStatus) -> None:
    number, size = status.next_version, _size(status.personas)
    badge = f"v{number} draft" if status.dirty else f"v{status.saved.number}" if status.saved else ""
    with header("Personas", f"{size} on the panel", badge=badge, tone="unres" if status.dirty else ""):
        if status.dirty:
            saved(state.saved_at.get("personas"), "Draft saved")
        with st.popover("Files", icon=":material/description:", type="tertiary"):
            download("Export YAML", dump_yaml(status.personas), "personas.yaml")

            def save_import(content: bytes, name: str) -> int | None:
                _require_choice(session)
                kept = personas.replace_draft(session, personas.from_yaml(content, name), name)
                state.personas.draft.expect_change()
                state.note_saved("personas")
                return kept

            draft_upload("Import YAML", ["yaml", "yml", "json"], "personas-file", save_import)
        if status.dirty:
            discard_popover({"Restore the saved version": partial(_discard, session)})
            if st.button(f"Save as v{number}", type="primary", key="personas-save") and _own(session) is None:
                _save(session, status.personas)
                st.rerun()
        elif status.saved is not None and st.button("Use in a run", icon=":material/forum:"):
            planning.save_plan(session, personas.with_panel(planning.load_plan(session)))
            state.run.show_setup(True)
            open_page("run")


def _save(session: ProjectSession, persona_set: PersonaSet) -> None:
    """Save the draft as a version, or show the first persona that is incomplete in the editor."""
    missing = ((member.persona.name, personas.missing_part(member.persona)) for member in persona_set.members)
    name, part = next(((name, part) for name, part in missing if part), ("", None))
    state.personas.shows_missing = part is not None
    if part:
        state.personas.persona = name
        state.set_notice("error", f"Not saved: {name} is incomplete", part[1])
        return
    version = personas.save(session, persona_set, state.personas.note)
    PersonasState.note.reset()
    state.set_notice("ok", f"Saved as v{version}", "New panel runs use it.")


def _discard(session: ProjectSession) -> None:
    _require_choice(session)
    personas.discard(session)
    state.personas.draft.expect_change()
    PersonasState.note.reset()


def _size(persona_set: PersonaSet) -> str:
    return f"{format_count(len(persona_set.members), 'persona')} in {format_count(len(persona_set.groups), 'group')}"


# -- sources and generation


def _sources(session: ProjectSession, job: Job[personas.GeneratedPersonas] | None) -> None:
    stored = personas.sources(session)
    with panel("Sources", "statements of your stakeholders", key="persona-sources"):
        uploads = st.file_uploader(
            "Documents",
            type=["txt", "md", "pdf"],
            accept_multiple_files=True,
            label_visibility="collapsed",
            key=state.data.uploader("persona-sources-files"),
        )
        if uploads:
            with error_boxes():
                personas.add_sources(session, names_and_contents(uploads))
                state.data.clear_uploaders()
                st.rerun()
        for name, text in stored.items():
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                words = format_count(len(text.split()), "word")
                st.html(f'<div class="moot-cell"><b>{escape(name)}</b> {words}</div>', width="stretch")
                key = f"source-remove-{name}"  # by number, the next document would get this button
                icon_button("close", "Remove this document", key, personas.remove_source, session, name)
        if job is not None:  # also if its documents were removed meanwhile
            job_progress(job, "persona-generation")
        elif not stored:
            st.html(f'<div class="moot-why">{NO_SOURCES}</div>')
        else:
            _generation(session)


def _generation(session: ProjectSession) -> None:
    codebook = codebooks.current(session)
    plan = planning.load_plan(session)
    wanted = personas.generation_settings(plan)
    left, right = st.columns(2, wrap=False, vertical_alignment="bottom")
    help = f"Maximum number of groups; {UNLIMITED} means unlimited."
    groups = left.number_input("Groups", 1, UNLIMITED, key=with_default(GROUPS, wanted.groups), help=help)
    help = f"Maximum number of personas in a group; {UNLIMITED} means unlimited."
    key = with_default(PER_GROUP, wanted.dimensions)
    per_group = right.number_input("Personas per group", 1, UNLIMITED, key=key, help=help)
    specs = list(dict.fromkeys(role_model.spec for role_model in (*plan.models, planning.DEFAULT_ROLE_MODEL)))
    spec = st.selectbox(
        "Model",
        specs,
        key="persona-maker",
        accept_new_options=True,
        help="connection/model. The built-in model copies sentences.",
    )
    if wanted.temperature is not None:
        line(f"Temperature {wanted.temperature:g}, from the panel's preset, for a model without its own.", "q xs")
    if codebook is None:
        notice("info", "No codebook yet", "Personas are generated for a codebook. Save one first.")
    elif st.button("Generate personas", type="primary", icon=":material/groups:", width="stretch"):
        with error_boxes():
            role_model = RoleModel.parse(str(spec), sampling=plan.default_model.sampling)
            chosen = replace(wanted, groups=int(groups), dimensions=int(per_group))
            personas.start(session, codebook, role_model, chosen)
            st.rerun()


def _finish(generated: personas.GeneratedPersonas) -> None:
    state.personas.draft.expect_change()
    state.note_saved("personas")
    state.set_notice("ok", generated.words, " ".join(generated.extraction.notes) or "Check the draft, then save it.")


def _task(session: ProjectSession, current: PersonaSet) -> None:
    codebook = codebooks.current(session)
    with panel("Task", "what the personas judge, and for whom", key="persona-task"):
        placeholder = personas.task_of(codebook)[:300] if codebook else "What the personas judge"
        options = bound(
            "persona-task-text",
            current.task,
            lambda task: _edit(session, lambda draft: personas.change(draft, task=task)),
        )
        st.text_area("Task", height=120, label_visibility="collapsed", placeholder=placeholder, **options)


# -- personas


def _groups(session: ProjectSession, current: PersonaSet) -> str:
    """Draw the groups with their personas and return the name of the edited persona."""
    names = [member.persona.name for member in current.members]
    edited = state.personas.persona if state.personas.persona in names else names[0]

    def add(group: str) -> None:
        _edit(session, lambda draft: personas.add_persona(draft, group))
        members = _tab_status(session).personas.members
        state.personas.persona = next((each.persona.name for each in members if each.persona.name not in names), None)

    for index, group in enumerate(current.groups):
        size = format_count(len(group.personas), "persona")
        with panel(group.name, size, key=f"persona-group-{index}") as head:
            with head:
                icon_button("add", "Add a persona", f"persona-add-{index}", add, group.name)
            line(group.characteristics, "q xs")
            for persona in group.personas:
                name = persona.name
                options = {"width": "stretch", "type": "secondary" if name == edited else "tertiary"}
                button(literal(name), f"persona-select-{name}", PersonasState.persona.set, name, **options)
                line(persona.dimension or "No evaluation dimension yet", "q xs")

    def add_group(name: str) -> None:
        add(" ".join(name.split()))

    adding_field("Add a group", NEW_GROUP, add_group, placeholder="Group name, such as Patients")
    return str(edited)


def _editor(session: ProjectSession, current: PersonaSet, name: str) -> None:
    position, member = next((at, member) for at, member in enumerate(current.members) if member.persona.name == name)
    with panel(member.persona.name, member.group.name, key="persona-editor") as head:
        key = f"persona-delete-open-{name}"  # closes it after a deletion
        with head, icon_popover("delete", "Delete the persona", key):
            line("Existing runs keep the persona.")
            button(
                "Delete persona",
                f"persona-delete-now-{name}",  # with one key for all, a second click would delete the next persona
                _edit,
                session,
                lambda draft: personas.change_persona(draft, name),
                type="primary",
            )
        missing = personas.missing_part(member.persona) if state.personas.shows_missing else None
        for part, title, help in FIELDS:
            stored = getattr(member.persona, part)
            # without the name in the key, text typed after a rename stays in its field
            options = bound(f"persona-{part}-{position}", stored, partial(_change, session, name, part))
            if part == "name":
                st.text_input(title, **options)
            else:
                st.text_area(title, height=80 if part == "dimension" else 68, placeholder=help, **options)
            if missing and missing[0] == part:
                st.html(f'<div class="moot-wrong" role="alert">{escape(missing[1])}</div>')
        _evidence(member.persona, personas.sources(session))


def _change(session: ProjectSession, name: str, part: str, value: Any) -> None:
    """Change one attribute of a persona, which may have been renamed since the page was drawn."""
    text = " ".join(str(value).split())
    renamed = text if part == "name" else None

    def change(draft: PersonaSet) -> PersonaSet:
        names = {member.persona.name for member in draft.members}
        current = name if name in names else state.personas.persona or name
        return personas.change_persona(draft, current, **{part: text})

    _edit(session, change, renamed)


def _evidence(persona: Persona, sources: dict[str, str]) -> None:
    """Draw the quotations behind a persona, each in its context in the source."""
    if not persona.evidence:
        line("No quotes: the persona was written by hand.", "q xs")
        return
    field_name("Evidence", "quotes from the sources")
    for quote in persona.evidence:
        st.html(_quote_html(quote, sources.get(quote.source, "")))


def _quote_html(quote: Quote, text: str) -> str:
    """Return a quotation as escaped HTML. A quotation that is not in its source is marked.

    The stored place is not used: the source may have been replaced, and a file of personas may state any place.
    """
    source = escape(quote.source or "no source")
    if not text and quote.supported:
        return f'<div class="moot-line">{source} (not in this project): "{escape(quote.words)}"</div>'
    place = personas.locate_quote(quote.words, text)
    if place == MISSING:
        return f'<div class="moot-line"><span class="bad">not in {source}</span> "{escape(quote.words)}"</div>'
    start, end = max(0, place.start - CONTEXT_CHARACTERS), place.end + CONTEXT_CHARACTERS
    before, after = text[start : place.start], text[place.end : end]
    return (
        f'<div class="moot-line q">{source}: {"… " if start else ""}{escape(before)}'
        f"<b>{escape(text[place.start : place.end])}</b>{escape(after)}{' …' if end < len(text) else ''}</div>"
    )


# -- versions and costs


def _history(session: ProjectSession, status: personas.PersonaStatus) -> None:
    with panel("Versions", key="persona-versions"):
        versions = personas.history(session)
        if versions:
            version_rows(
                [
                    (f"v{version.number}", version.note or _size(version.personas), format_date(version.at))
                    for version in versions
                ]
            )
        else:
            line("No version yet. Panel runs use the default personas.", "q xs")
        if status.dirty:
            note_field(PersonasState.note, status.next_version)
    run = personas.last_panel(session)
    if run is not None:
        with panel("Cost per group", run.title, key="persona-costs"):
            for group in personas.costs(session, run):
                turns, tokens = format_count(group.turns, "turn"), f"{group.tokens:,} tokens"
                text = f"{turns}, {tokens} ({group.per_document:,.0f} per document), {format_price(group.cost_usd)}"
                line(Markup('<b>{}</b> <span class="q">{}</span>').format(group.name, text))


main()
