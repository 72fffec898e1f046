"""Left side of the Lab for a prompt: editor, diff, rendered prompt, versions and saving."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from html import escape
from typing import Any

import streamlit as st
from markupsafe import Markup

from app.components import component, reported
from app.state import LabState, state, with_default
from app.widgets import codebook_versions
from app.widgets.alerts import error_boxes, notice
from app.widgets.elements import button, discard_popover, download, facts, line, saved, segments
from app.widgets.layout import panel
from app.widgets.prompt_preview import request_preview
from core.errors import PromptError
from core.formatting import capitalised
from core.services import document_samples, prompt_templates
from core.services.codebooks import codebook as codebooks
from core.services.codebooks import diff
from core.services.lab import history, trials
from core.services.project_session import ProjectSession
from core.services.prompt_templates import PromptVersion, Slot, TemplateStatus
from core.services.runs.planning import Plan

_TEMPLATE_EDITOR = component("template_editor")
VIEWS = {"edit": "Edit", "diff": "Diff", "rendered": "Rendered"}


def prompt(session: ProjectSession, plan: Plan, slot: Slot, *, run_test: Callable[[], None]) -> None:
    """Draw the prompt panel. ``run_test`` tests the draft and is called for Ctrl+Enter in the editor."""
    stored = prompt_templates.template_status(session, slot)
    status = _tab_status(stored)
    lines = diff.compare_lines(status.base.text, status.text)
    added, removed = diff.counts(lines)
    subtitle = (
        f"{status.base.label} against the draft, +{added} −{removed} lines" if status.changed else status.base.label
    )
    with panel(f"{slot.title} prompt" if slot.parts else slot.title, subtitle, key="lab-prompt") as head:
        with head:
            view = segments("View", VIEWS, key=with_default("lab_prompt_view", "edit"), persist_state="session")
        _draft_choice(session, stored)
        versions = prompt_templates.versions(session, slot)
        by_name = {version.name: version for version in versions}
        match view:
            case "diff":
                _draw_difference(by_name, status)
            case "rendered":
                _rendered(session, plan, status)
            case _:
                _editor(session, status, run_test)
        for problem in status.problems:
            words = f"Line {problem.line}: {problem.message}" if problem.line else problem.message
            notice("error" if problem.severity == "error" else "warn", f"{capitalised(words)}.")
        rows = history.template_history(session, slot)
        version_history(
            session,
            rows,
            opened=status.base.name,
            key=f"lab-versions-{slot.name}",
            on_open=lambda name: _reset(session, slot, by_name[name]),
            use="Promote",
            on_use=lambda name: promote(session, slot, by_name[name]),
            drops_draft=("open",),
        )
        _foot(session, status, versions)


def _tab_status(stored: TemplateStatus) -> TemplateStatus:
    """Return the state of the editor in this tab, and remember that the page shows it.

    Its text is the draft, except that the tab keeps its own text from a change in another tab until the user chooses.
    """
    slot, own = stored.slot, _own_text(stored)
    others = {name: text for name, text in state.lab.own_texts.items() if name != slot.name}
    if own is None:
        state.lab.own_texts = others
        state.lab.seen_text = (slot.name, stored.text)
        return stored
    state.lab.own_texts = {**others, slot.name: own}
    return replace(stored, text=own, problems=prompt_templates.check_template(slot, own))


def _own_text(stored: TemplateStatus) -> str | None:
    """Return the text of this tab if another tab has changed the stored one since, otherwise None."""
    slot, seen = state.lab.seen_text or ("", "")
    own = state.lab.own_texts.get(stored.slot.name, seen if slot == stored.slot.name else None)
    return None if own == stored.text else own


def is_choice_open(session: ProjectSession, slot: Slot | None) -> bool:
    """Return True if the user has to choose between the text of this tab and the draft of another tab."""
    if slot is None:
        return state.codebook.draft.own(codebooks.codebook_status(session).codebook) is not None
    return _own_text(prompt_templates.template_status(session, slot)) is not None


def require_choice(session: ProjectSession, slot: Slot | None) -> None:
    """Raise PromptError if the user has to choose between the text of this tab and the draft of another tab."""
    if is_choice_open(session, slot):
        what = "the codebook" if slot is None else "this prompt"
        raise PromptError(f"Two tabs have different texts of {what}.", "First choose one of them.")


def _draft_choice(session: ProjectSession, stored: TemplateStatus) -> None:
    """Draw the choice between the text of this tab and the draft that another tab has changed, if they differ."""
    own, slot = _own_text(stored), stored.slot

    def choose(text: str | None) -> None:
        if text is not None:
            prompt_templates.save_draft(session, slot, text, stored.base)
        state.lab.own_texts = {name: text for name, text in state.lab.own_texts.items() if name != slot.name}
        state.lab.replace_editor_text()

    show = codebook_versions.text_difference
    differences = partial(show, stored.text, own, "lab-draft-diff") if own is not None else None
    codebook_versions.choice_of_drafts(
        "prompt",
        differences,
        use_other=partial(choose, None),
        keep_own=partial(choose, own),
    )


def _editor(session: ProjectSession, status: TemplateStatus, run_test: Callable[[], None]) -> None:
    slot = status.slot
    key, life = f"lab-text-{slot.name}", f"{slot.name}-{state.lab.editor_version}"

    def typed() -> bool:
        """Save the text, sent when typing pauses, as the draft. Return False if another tab changed the draft."""
        sent = reported(key, "text") or {}
        if sent.get("life") != life:
            return True
        stored, text = prompt_templates.template_status(session, slot), str(sent["text"])
        if _own_text(stored) is not None:
            state.lab.own_texts = {**state.lab.own_texts, slot.name: text}
            return False
        prompt_templates.save_draft(session, slot, text, stored.base)
        state.lab.seen_text = (slot.name, prompt_templates.template_status(session, slot).text)
        LabState.problem.reset()
        return True

    def tried() -> None:
        if typed():
            run_test()

    problems = [asdict(problem) for problem in status.problems]
    # The editor takes over the text only if ``life`` has changed, so that no input is overwritten.
    _TEMPLATE_EDITOR(
        key=key,
        data={"text": status.text, "life": life, "name": f"{slot.title} prompt", "problems": problems},
        on_text_change=typed,
        on_go_change=tried,
    )
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        with st.popover("Variables", icon=":material/data_object:", type="tertiary"):
            code = Markup("<code>{{{{ {} }}}}</code>").format
            facts((code(name), slot.meaning(name)) for name in slot.inputs)
        with st.popover("Files", icon=":material/description:", type="tertiary"):
            _files(session, status)


def _draw_difference(by_name: Mapping[str, PromptVersion], status: TemplateStatus) -> None:
    names = list(by_name)
    against = st.selectbox(
        "Compare with",
        names,
        index=names.index(status.base.name),
        key=f"lab-since-{status.slot.name}-{status.base.name}",
        format_func=lambda name: f"{by_name[name].label}{f', {by_name[name].note}' if by_name[name].note else ''}",
    )
    codebook_versions.text_difference(by_name[against].text, status.text, "lab-diff")


def _rendered(session: ProjectSession, plan: Plan, status: TemplateStatus) -> None:
    count = document_samples.count_visible(session)
    if not count:
        line("All documents are held out.", "q")
        return
    number = st.number_input("Document", 1, count, key="lab_preview_position", width=140)
    document = document_samples.visible_document(session, int(number))
    with error_boxes():
        requests = prompt_templates.render_template(
            trials.base_settings(session, plan), status.slot, status.text, document
        )
        if not requests:
            line("No role receives this part for this document.", "q")
            return
        request_preview(requests, key="lab-rendered")
        st.html(f'<div class="moot-why">Document {escape(document.id)}. Tokens are estimated by length.</div>')


def _files(session: ProjectSession, status: TemplateStatus) -> None:
    download("Export", status.text, prompt_templates.template_file_name(status.base))
    upload = st.file_uploader("Import", type=["md", "txt", "j2"], key=f"lab-file-{state.lab.editor_version}")
    if upload is not None:
        with error_boxes():
            require_choice(session, status.slot)
            prompt_templates.import_template(session, status.slot, upload.getvalue(), upload.name)
            state.lab.replace_editor_text()
            st.rerun()


def _foot(session: ProjectSession, status: TemplateStatus, versions: Sequence[PromptVersion]) -> None:
    slot = status.slot
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="lab-foot"):
        with st.container(width="stretch"):
            saved(status.drafted_at if status.changed else None, "Draft saved")
        reset = partial(_reset, session, slot)
        targets = {"Reset to shipped": versions[0]} if status.text != versions[0].text else {}
        if status.changed:
            if not status.base.shipped:
                targets = {f"Reset to {status.base.label}": status.base, **targets}
            discard_popover({label: partial(reset, version) for label, version in targets.items()})
        elif targets:  # no draft would be lost
            button("Reset to shipped", "lab-reset", reset, versions[0], type="tertiary")
    if not status.changed:
        return
    number = max(version.number for version in versions) + 1
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="lab-save"):
        note_field(number)
        button(f"Save as v{number}", "lab-keep", _save, session, slot, disabled=not status.usable)


def _save(session: ProjectSession, slot: Slot) -> None:
    version = save(session, slot)
    state.set_notice("ok", f"Saved as {version.label}", "Promote it to use it in new runs.")


def note_field(number: int) -> None:
    placeholder = f"Note for v{number}: what changed, in a few words"
    codebook_versions.note_field(LabState.note, number, placeholder=placeholder, label_visibility="collapsed")


def save(session: ProjectSession, slot: Slot) -> PromptVersion:
    require_choice(session, slot)
    version = prompt_templates.save_version(session, slot, state.lab.note)
    LabState.note.reset()
    state.lab.replace_editor_text()
    return version


def _reset(session: ProjectSession, slot: Slot, version: PromptVersion) -> None:
    require_choice(session, slot)
    prompt_templates.save_draft(session, slot, version.text, version)
    state.lab.replace_editor_text()
    for value in (LabState.problem, LabState.note):
        value.reset()


def promote(session: ProjectSession, slot: Slot, version: PromptVersion) -> None:
    require_choice(session, slot)
    prompt_templates.promote_version(session, slot, version)
    state.lab.replace_editor_text()
    runs = "New runs with this preset" if slot.of_preset else "New runs"
    state.set_notice("ok", f"{slot.title} {version.label} is the project's default", f"{runs} use this version.")


_VERSION_HISTORY = component("version_history")


def version_history(
    session: ProjectSession,
    rows: Sequence[history.VersionRow],
    *,
    opened: str,
    key: str,
    on_open: Callable[[str], None],
    use: str,
    on_use: Callable[[str], None],
    drops_draft: Sequence[str],
) -> None:
    """Draw the versions; ``opened`` is the version in the editor.

    ``use`` is the command that makes a version the one of new runs. The callbacks get the name of the chosen version.
    ``drops_draft`` names the actions (open, use) that would replace a draft, and therefore need its end first.
    """

    kind = codebooks.codebook_status(session).codebook.kind

    def act(trigger: str, action: Callable[[str], None]) -> None:
        if name := reported(key, trigger):
            action(str(name))

    _VERSION_HISTORY(
        key=key,
        data={
            "rows": [_version(session, row, opened) for row in rows],
            "metric": history.metric_names((report for row in rows for report in (row.report, row.held_out)), kind),
            "use": use,
            "locked": list(drops_draft) if any(row.is_draft for row in rows) else [],
        },
        on_open_change=lambda: act("open", on_open),
        on_use_change=lambda: act("use", on_use),
    )


def _version(session: ProjectSession, row: history.VersionRow, opened: str) -> dict[str, Any]:
    report, more = row.report, len(row.runs) - 2
    names = ("name", "label", "parent", "depth", "note", "is_default", "is_draft")
    return {
        **{name: getattr(row, name) for name in names},
        "is_open": row.name == opened,
        "runs": "; ".join(map(session.run_name, row.runs[:2])) + (f" and {more} more" if more > 0 else ""),
        "score": report.scores.main.value if report else None,
        "n": report.n if report else None,
        "cost": report.run.cost_usd if report else None,
        "held_out": row.held_out.scores.main.value if row.held_out else None,
    }
