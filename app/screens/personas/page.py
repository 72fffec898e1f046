"""Personas page: generate the personas of a panel from documents, or edit them by hand."""

from __future__ import annotations

import time
from html import escape

import streamlit as st

from app import context
from app.pages import open_page
from app.screens.personas import editor as views
from app.state import PersonasState, reset_widgets, state, with_value
from app.widgets.alerts import error_box, notice
from app.widgets.layout import header, panel
from core.debate.personas import PersonaSet
from core.errors import MootError
from core.runs import RoleModel
from core.services import personas
from core.services.codebooks import codebook as codebooks
from core.services.runs import planning
from core.services.session import ProjectSession

NOTE, FIRST = "personas-note", "personas-first"
NO_SOURCES = (
    "Reports, interviews or papers in which people say what they expect of such texts (txt, md, pdf). Whoever has a "
    "stake is found in them, with what they look for and the words that say so."
)
AT_ONCE = 0.4
"""Seconds that the page waits for personas that are nearly ready."""


def main() -> None:
    """Draw the page."""
    session = context.require_project()
    job = state.personas.job
    if job is not None and job.wait(AT_ONCE):
        ended(session, job)
    current, saved = personas.current(session)
    top(session, current, saved)
    left, middle, right = st.columns((1.05, 1.1, 1.5), gap="small")
    with left:
        sources(session, job)
        whole(session, current)
    with middle:
        chosen = groups(session, current)
    with right:
        editor(session, current, chosen)
        history(session, current, saved)


def top(session: ProjectSession, current: PersonaSet, saved: personas.PersonaSetVersion | None) -> None:
    """Draw the page header: draft status, save, discard, files, and the link to a run."""
    dirty = (saved is not None and saved.cast != current) or (
        saved is None and session.store.personas.draft() is not None
    )
    number = (saved.version if saved else 0) + 1
    badge, tone = (f"v{number} draft", "unres") if dirty else (f"v{saved.version}" if saved else "", "")
    with header("Personas", f"{views.counted(current)} on the panel", badge=badge, tone=tone):  # type: ignore[arg-type]
        if dirty and (at := state.codebook.draft_saved_at) is not None:
            st.html(f'<span class="moot-saved">✓ Draft saved {time.strftime("%H:%M:%S", time.localtime(at))}</span>')
        with st.popover("Files", icon=":material/description:", type="tertiary"):
            st.download_button(
                "Export YAML",
                personas.to_yaml(current),
                "personas.yaml",
                "application/yaml",
                on_click="ignore",
                icon=":material/download:",
            )
            bring(session)
        if dirty:
            st.button("Discard", on_click=session.store.personas.drop_draft, help="Restore the saved version")
        if dirty and st.button(f"Save as v{number}", type="primary", key="personas-save"):
            version = personas.save(session, current, st.session_state.get(NOTE, ""))
            reset_widgets(NOTE)
            state.set_notice("ok", f"Saved as v{version}", "New panel runs use it.")
            st.rerun()
        if not dirty and saved is not None and st.button("Use in a run", icon=":material/forum:"):
            planning.save_plan(session, personas.on_the_panel(planning.load_plan(session)))
            state.run.show_setup(True)
            open_page("run")


def bring(session: ProjectSession) -> None:
    """Import a YAML file into the draft."""
    upload = st.file_uploader("Import YAML", type=["yaml", "yml", "json"], key=state.data.uploader("personas-file"))
    if upload is None:
        return
    try:
        personas.keep(session, personas.from_yaml(upload.getvalue(), upload.name))
    except MootError as error:
        error_box(error)
        return
    state.codebook.note_draft_saved()
    state.data.clear_uploaders()
    state.set_notice("ok", f"{upload.name} is now the draft", "Check it, then save it as a version.")
    st.rerun()


# -- sources


def sources(session: ProjectSession, job: personas.Job | None) -> None:
    """Draw the source documents and the form that generates personas from them."""
    kept = session.store.personas.sources()
    with panel("Sources", "statements of your stakeholders", key="persona-sources"):
        uploads = st.file_uploader(
            "Documents", type=["txt", "md", "pdf"], accept_multiple_files=True, label_visibility="collapsed",
            key=state.data.uploader("persona-sources-files"),
        )  # fmt: skip
        if uploads:
            try:
                personas.add_sources(session, [(upload.name, upload.getvalue()) for upload in uploads])
            except MootError as error:
                error_box(error)
            else:
                state.data.clear_uploaders()
                st.rerun()
        for number, (name, text) in enumerate(kept.items()):
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.html(
                    f'<div class="moot-cell"><b>{escape(name)}</b> {len(text.split()):,} words</div>', width="stretch"
                )
                st.button(
                    "", icon=":material/close:", key=f"source-remove-{number}", type="tertiary",
                    help="Remove this document", on_click=session.store.personas.drop_source, args=(name,),
                )  # fmt: skip
        if not kept:
            st.html(f'<div class="moot-why">{NO_SOURCES}</div>')
            return
        if job is not None:
            follow(job)
            return
        making(session)


def making(session: ProjectSession) -> None:
    """Draw the form that generates personas: model, number of groups, and the button."""
    book = codebooks.current(session)
    plan = planning.load_plan(session)
    role_models = (plan.default_model, *plan.role_models.values(), planning.DEFAULT_ROLE_MODEL)
    specs = list(dict.fromkeys(role_model.spec for role_model in role_models))
    left, right = st.columns(2, wrap=False)
    left.number_input("Groups", 1, 12, key=with_value("persona-groups", st.session_state.get("persona-groups", 4)),
                      help="Maximum number of groups.")  # fmt: skip
    right.number_input(
        "Personas per group", 1, 12, key=with_value("persona-each", st.session_state.get("persona-each", 3)),
                       help="Maximum number of personas in a group.")  # fmt: skip
    spec = st.selectbox(
        "Model", specs, key="persona-maker", accept_new_options=True,
        help="connection/model. The built-in copies sentences.",
    )  # fmt: skip
    if book is None:
        notice("info", "No codebook yet", "Personas are generated for a codebook. Save one first.")
        return
    if st.button("Generate personas", type="primary", icon=":material/groups:", width="stretch"):
        try:
            job = personas.start(
                session,
                book,
                RoleModel.parse(str(spec), sampling=plan.default_model.sampling),
                groups=int(st.session_state["persona-groups"]),
                dimensions=int(st.session_state["persona-each"]),
            )
        except MootError as error:
            error_box(error)
            return
        state.personas.job = job
        st.rerun()


@st.fragment(run_every=0.7)
def follow(job: personas.Job) -> None:
    """Draw the progress of the generation. Leaving the page does not stop it."""
    if job.wait(0.0):
        st.rerun()
    st.progress(min(1.0, job.share), job.words)


def ended(session: ProjectSession, job: personas.Job) -> None:
    """Save the generated personas as the draft, or set an error notice, and rerun the page."""
    state.personas.job = None
    try:
        made = job.result()
    except MootError as error:
        state.set_notice("error", error.message, error.remedy)
        st.rerun()
    personas.keep(session, made.made.persona_set)
    state.codebook.note_draft_saved()
    state.set_notice("ok", made.words, " ".join(made.made.notes) or "Check the draft, then save it.")
    st.rerun()


def whole(session: ProjectSession, current: PersonaSet) -> None:
    """Draw the task, which all personas share."""
    with panel("Task", "what the personas judge, and for whom", key="persona-task"):
        book = codebooks.current(session)

        def taken() -> None:
            views.keep(session, lambda now: personas.change(now, task=st.session_state["persona-task-text"]))

        st.text_area(
            "Task", key=with_value("persona-task-text", current.task), on_change=taken, height=120,
            label_visibility="collapsed",
            placeholder=personas.task_of(book)[:300] if book else "What the personas judge",
        )  # fmt: skip


# -- personas


def groups(session: ProjectSession, current: PersonaSet) -> str:
    """Draw the groups with their personas and return the name of the edited persona."""
    names = [member.persona.name for member in current.members]
    chosen = state.personas.persona if state.personas.persona in names else names[0]
    for place, group in enumerate(current.groups):
        sub = f"{len(group.personas)} persona{'' if len(group.personas) == 1 else 's'}"
        with panel(group.name, sub, key=f"persona-group-{place}") as head:
            with head:
                st.button(
                    "", icon=":material/add:", key=f"persona-add-{place}", type="tertiary", help="Add a persona",
                    on_click=views.keep, args=(session, lambda now, name=group.name: personas.add_persona(now, name)),
                )  # fmt: skip
            if group.characteristics:
                st.html(f'<div class="moot-why">{escape(group.characteristics)}</div>')
            for persona in group.personas:
                st.button(
                    persona.name,
                    key=f"persona-{persona.name}",
                    type="primary" if persona.name == chosen else "secondary",
                    width="stretch",
                    on_click=PersonasState.persona.set,
                    args=(persona.name,),
                )
                st.html(f'<div class="moot-why">{escape(persona.dimension or "has nothing to look for yet")}</div>')

    def another() -> None:
        name = " ".join(str(st.session_state[FIRST]).split())
        st.session_state[FIRST] = ""
        if name:
            views.keep(session, lambda now: personas.add_persona(now, name))

    st.text_input("Add a group", key=FIRST, on_change=another, placeholder="Group name, such as Patients")
    return str(chosen)


def editor(session: ProjectSession, current: PersonaSet, name: str) -> None:
    """Draw the edited persona and its evidence."""
    member = next(member for member in current.members if member.persona.name == name)
    with panel(member.persona.name, member.group.name, key="persona-editor") as head:
        with head, st.popover("", icon=":material/delete:", type="tertiary", help="Delete the persona"):
            st.html('<div class="moot-line">Runs that were made with it keep it.</div>')
            st.button(
                "Delete persona", key="persona-delete", type="primary",
                on_click=views.keep, args=(session, lambda now: personas.change_persona(now, name)),
            )  # fmt: skip
        views.fields(session, member.persona)
        views.evidence(member.persona, session.store.personas.sources())


def history(session: ProjectSession, current: PersonaSet, saved: personas.PersonaSetVersion | None) -> None:
    """Draw the versions, a note for the next version, and the cost of the last panel run."""
    versions = session.store.personas.history()
    if versions or saved is None:
        with panel("Versions", key="persona-versions"):
            views.version_rows(versions)
            if saved is None or saved.cast != current:
                st.text_input(f"Note for v{(saved.version if saved else 0) + 1}", key=NOTE)
    run = personas.last_panel(session)
    if run is not None:
        with panel("Cost per group", run.run_id, key="persona-costs"):
            views.cost_table(personas.costs(session, run))


main()
