"""Codebook page: label definitions, the resulting prompts, and keyword matches in the data."""

from __future__ import annotations

from functools import partial
from html import escape

import streamlit as st

from app import context
from app.components import component
from app.pages import open_page
from app.state import CodebookState, state, with_value
from app.widgets import codebook_versions, label_editor
from app.widgets.alerts import error_box, error_boxes, error_notices, notice
from app.widgets.elements import button, discard_popover, download, field_name, icon_button, icon_popover, line, saved
from app.widgets.file_import import begin_gold_mapping, draft_upload
from app.widgets.label_editor import Fields
from app.widgets.labels import label_data, swatch_html, tags
from app.widgets.layout import header, panel
from app.widgets.prompt_preview import role_previews
from core.codebook import Codebook, Label, dump_yaml, label_noun
from core.errors import MootError
from core.formatting import format_count, format_date, plural
from core.services import prompt_templates
from core.services.codebooks import codebook as codebooks
from core.services.codebooks import prompt_diff
from core.services.codebooks.codebook import CodebookStatus
from core.services.codebooks.refi_qda import dump_qdc
from core.services.data import overview
from core.services.project_session import ProjectSession
from core.services.runs import planning

_LABELS = component("label_list")
GETS = {"multilabel": "several labels", "choice": "one label", "rating": "ratings"}


def main() -> None:
    session = context.require_project()
    status = codebook_versions.tab_status(session)
    fields = Fields(session, "codebook")
    if status.saved is None and not status.codebook.labels:
        start(session, fields)
        return
    page_header(session, fields, status)
    codebook_versions.draft_choice(session)
    left, middle, right = st.columns((0.92, 1.75, 1.5), gap="small")
    with left:
        label = labels(session, fields, status)
        shared_settings(fields, status)
        history(session, status)
    with middle:
        if label is not None:
            editor(session, fields, status, label)
        else:
            with panel("No labels yet", key="editor"):
                line("Add the first label on the left.")
    with right:
        prompts(session, status)


def page_header(session: ProjectSession, fields: Fields, status: CodebookStatus) -> None:
    book = status.codebook
    number = status.next_version
    badge = f"v{status.saved.number}" if status.saved else ""
    if status.dirty:
        badge = f"v{number} draft, {format_count(status.count, 'change')}"
    with header("Codebook", book.name, badge=badge, tone="unres" if status.dirty else ""):
        if status.dirty:
            saved(state.saved_at.get("codebook"), "Draft saved")
        with st.popover("Files", icon=":material/description:", type="tertiary"):
            files(fields, book)
            if status.dirty:
                line("An import replaces the draft. Save or export the draft first to keep its changes.")
        if status.dirty:
            back = "Restore the saved version" if status.saved is not None else "Delete the draft"
            discard_popover({back: fields.discard})
        if status.saved is not None and st.button("Compare", icon=":material/difference:"):
            compare(session)
        kind = "primary" if status.dirty else "secondary"
        save_help = codebook_versions.SAVE_HELP
        if button(f"Save as v{number}", "codebook-save", type=kind, disabled=not status.dirty, help=save_help):
            with error_boxes():
                if fields.save(state.codebook.note):
                    CodebookState.note.reset()
                st.rerun()


@st.dialog("Changes", width="large")
def compare(session: ProjectSession) -> None:
    status = codebook_versions.tab_status(session)

    def restore(number: int) -> None:
        def restored() -> None:
            version = codebooks.restore(session, number)
            state.codebook.forget_inputs()
            state.set_notice("ok", f"v{number} is the newest again, as v{version}")

        with error_boxes():
            codebook_versions.change_draft(session, restored)
            st.rerun()

    codebook_versions.comparison(codebooks.history(session), status.codebook if status.dirty else None, restore)


def files(fields: Fields, book: Codebook) -> None:
    for title, content, suffix in (("Export YAML", dump_yaml, ".yaml"), ("Export REFI-QDA", dump_qdc, ".qdc")):
        download(
            title,
            partial(content, book),
            codebooks.name_of_file(book, suffix),
            disabled=not book.labels,
            help="Codes for ATLAS.ti, MAXQDA, NVivo and others" if suffix == ".qdc" else None,
        )
    import_form(fields, book)


def import_form(fields: Fields, book: Codebook | None) -> None:
    def save(content: bytes, name: str) -> None:
        fields.apply(lambda _: codebooks.import_file(content, name, book))
        state.codebook.forget_inputs()
        state.codebook.select_label(None)

    draft_upload("Import YAML or REFI-QDA", ["yaml", "yml", "json", "qdc"], "codebook-file", save)


# -- the left column


def labels(session: ProjectSession, fields: Fields, status: CodebookStatus) -> Label | None:
    by_id = {label.id: label for label in status.codebook.labels}
    picked = state.codebook.label
    if picked not in by_id:
        picked = next(iter(by_id), None)
    notes = {label_id: f"{count:,}" for label_id, count in codebooks.count_gold_documents(session).items()}
    if picked in notes:
        notes[picked] += " gold"
    with panel("Labels", str(len(by_id)), key="labels-panel") as head:
        with head:
            button("Label", "label-add", add_label, fields, icon="add")
        rows = [{**row, "note": notes.get(row["id"], "")} for row in label_data(status.codebook)]
        shown = _LABELS(
            key="label-list",
            data={"labels": rows, "selected": picked},
            on_pick_change=lambda: None,  # a component reports a trigger only if it has a callback
            on_order_change=lambda: None,
        )
        if by_id.keys() & notes and overview.has_several_raters(session):
            line("Gold: majority of the raters", "q xs")
    clicked, order = shown.get("pick"), shown.get("order")
    if clicked in by_id and clicked != state.codebook.label:
        state.codebook.select_label(clicked)
        st.rerun()
    if order and order != list(by_id):
        with error_notices():
            fields.apply(lambda draft: codebooks.reorder(draft, order))
        st.rerun()
    return by_id.get(picked) if picked else None


def add_label(fields: Fields) -> None:
    def edit(book: Codebook) -> Codebook:
        grown, label_id = codebooks.add_label(book)
        state.codebook.select_label(label_id)
        return grown

    fields.apply(edit)


def shared_settings(fields: Fields, status: CodebookStatus) -> None:
    book = status.codebook
    with panel("All labels", key="whole"):
        st.text_input("Codebook name", **fields.bind("book-name", book.name, part("name")))
        kind = fields.bind("book-kind", book.kind, part("kind"))
        st.selectbox(
            "Label type", list(codebook_versions.KINDS), format_func=codebook_versions.KINDS.__getitem__, **kind
        )
        with st.container():
            if status.saved is not None and status.saved.codebook.kind != book.kind:
                _warn_of_new_kind(codebooks.count_reviews_of_other_kinds(fields.session, book.kind))
        if book.mixes_scales:
            field_name("Scales", "one for each dimension")
            text = f"Use {book.scale} for all dimensions"
            button(text, "book-one-scale", fields.apply, lambda draft: codebooks.change(draft, scale=draft.scale))
        elif book.scale is not None:
            low, high = st.columns(2)
            low.number_input("Lowest", step=1, **fields.bind("book-min", book.scale.min, scale("min")))
            high.number_input("Highest", step=1, **fields.bind("book-max", book.scale.max, scale("max")))
            fields.show_rejection("book-min")
            fields.show_rejection("book-max")
        st.text_input("Document type", **fields.bind("book-unit", book.unit, part("unit")))
        st.text_input(
            "Domain", **fields.bind("book-domain", book.domain, part("domain")), placeholder="hospitality, medicine ..."
        )
        guideline = fields.bind("book-guideline", book.guideline, part("guideline"))
        with st.container(key="codebook-guideline"):
            st.text_area("Guideline for all labels", **guideline, height="content")


def _warn_of_new_kind(reviewed: int) -> None:
    """Say that documents reviewed with labels of another type stay submitted, if there are any."""
    if reviewed:
        head = f"{format_count(reviewed, 'document')} {plural(reviewed, 'was', 'were')} reviewed with another type"
        text = "They stay submitted, without values of the new type. In Review, find them by their status and review "
        notice("warn", head, f"{text}them again.")


def part(name: str) -> label_editor.Edit:
    """Return an edit of an attribute of the whole codebook."""
    return lambda book, typed: codebooks.change(book, **{name: typed})


def scale(end: str) -> label_editor.Edit:
    """Return an edit of one end of the rating scale, ``min`` or ``max``."""

    def edit(book: Codebook, typed: int | None) -> Codebook:
        ends = book.scale.model_dump() if book.scale is not None else {}
        return codebooks.change(book, scale=ends | {end: typed} if typed is not None else ends)

    return edit


def history(session: ProjectSession, status: CodebookStatus) -> None:
    with panel("Versions", key="versions"):
        rows = [("draft", format_count(status.count, "change"), "now")] if status.dirty else []
        for version in codebooks.history(session):
            note = version.note or format_count(len(version.codebook.labels), label_noun(version.codebook.kind))
            rows.append((f"v{version.number}", note, format_date(version.at)))
        codebook_versions.version_rows(rows)
        if status.dirty:
            codebook_versions.note_field(CodebookState.note, status.next_version, placeholder="Summary of the changes")


# -- the middle column


def editor(session: ProjectSession, fields: Fields, status: CodebookStatus, label: Label) -> None:
    book = status.codebook
    first = codebooks.since(codebooks.history(session), label.id)
    with st.container(border=True, key="editor", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center", key="editor-head", gap="xsmall"):
            since = f"since v{first}" if first else "in the draft only"
            st.html(
                f'<div class="moot-panel"><h2>{swatch_html(label.colour)} {escape(label.name)}</h2>'
                f"<span>id {escape(label.id)}, {since}</span></div>",
                width="stretch",
            )
            index = book.labels.index(label)

            def move(offset: int) -> None:
                fields.apply(lambda draft: codebooks.move_label(draft, label.id, offset))

            last = len(book.labels) - 1
            icon_button("arrow_upward", "Move up", "label-up", move, -1, disabled=index == 0)
            icon_button("arrow_downward", "Move down", "label-down", move, 1, disabled=index == last)
            # With a key that the next label has, too, a second click would delete that label.
            key = f"label-delete-open-{label.id}"
            with icon_popover("delete", "Delete the label", key), st.container(key="label-delete"):
                line("Existing runs and reviews keep the label.")
                delete = partial(delete_label, session, fields, label)
                button("Delete the label", f"label-delete-{label.id}", delete, type="primary")
        with st.container():  # always, so that the fields below keep their place when a warning goes
            for warning in codebooks.warnings(book):
                if f"'{label.name}'" in warning:
                    notice("warn", "The built-in model cannot find this label", warning)
        label_editor.label_fields(fields, book, label)
        codebook_versions.show_accepted_changes(session)
        with st.container():  # before the keywords of the texts, which may take the height of several screens
            has_kind = status.saved is not None and status.saved.codebook.kind == book.kind
            if has_kind and status.dirty and (stale := codebooks.count_stale_reviews(session, book, status.saved)):
                documents = format_count(stale, "reviewed document")
                outdated = f"{documents} {plural(stale, 'was', 'were')} decided under the earlier definition"
                notice("info", outdated, "They keep their labels. Review marks them after you save.")
        if overview.count_documents(session):
            label_editor.in_texts(fields, label)


def delete_label(session: ProjectSession, fields: Fields, label: Label) -> None:
    """Delete a label, and say how to give its gold to another one."""
    fields.apply(lambda draft: codebooks.delete_label(draft, label.id))
    if count := codebooks.count_gold_labels(session, label.id):
        left = f"{format_count(count, 'gold label')} of it {plural(count, 'is', 'are')} left."
        words = f"{left} To give {plural(count, 'it', 'them')} to another label, use Map gold columns on Data."
        state.set_notice("info", f"{label.name} is deleted", words)


# -- the right column


def prompts(session: ProjectSession, status: CodebookStatus) -> None:
    book = status.codebook
    total = overview.count_documents(session)
    since = status.saved if status.dirty else None
    marked = f" Lines changed since v{since.number} are marked." if since else ""
    with panel("Prompt preview", key="prompt-panel") as head:
        document = None
        if total:
            number = min(state.codebook.document, total)
            head.html('<span class="moot-line q xs">Document</span>', width="content")
            head.number_input(
                "Document",
                1,
                total,
                key=with_value(CodebookState.document.key, number),
                label_visibility="collapsed",
                width=120,
                help="Row number of the document in the file",
            )
            documents = overview.document_page(session, offset=number - 1, limit=1)
            document = documents[0] if documents else None
        if not book.labels:
            line("Add a label to see the prompt.")
            return
        try:
            plan = planning.load_plan(session).for_protocol()
            templates = prompt_templates.promoted_templates(session)
            against = since.codebook if since else None
            shown = prompt_diff.preview(book, document, plan.protocol, plan.params, against, templates)
        except MootError as error:
            error_box(error)
            return
        role_previews(shown, height=680)
        if document is not None:
            line(f"Document {document.id}. Tokens are estimated by length.{marked}", "q xs")


# -- a new codebook


def start(session: ProjectSession, fields: Fields) -> None:
    def heading(title: str, note: str) -> None:
        st.html(f'<div class="moot-strong">{title}<small>{note}</small></div>')

    header("Codebook", "define the labels")
    left, right = st.columns((2.2, 1), gap="large")
    with left:
        heading("Start from a template", "Everything can be changed later.")
        cells = st.columns(3)
        for number, (key, book) in enumerate(codebooks.templates().items()):
            with cells[number % 3], st.container(border=True, key=f"template-{key}", gap="small"):
                st.html(
                    f'<div class="moot-card-name">{escape(book.name)}<small>{GETS[book.kind]} for each '
                    f"{escape(book.unit)}</small></div>"
                )
                tags(book.labels)
                button("Use", f"use-{key}", use, fields, book)
    with right:
        heading("Start from scratch", "One label at a time.")
        button("Add the first label", "label-add", add_label, fields, type="primary")
        heading("Or from a file", "An exported codebook, or a YAML file that you wrote.")
        import_form(fields, None)
        if overview.count_documents(session):
            heading("Or from gold columns", "The Data page creates a codebook from gold columns of your file.")
            if st.button("Map gold columns", key="codebook-map-gold", icon=":material/rule:"):
                begin_gold_mapping(session)
                open_page("data")


def use(fields: Fields, book: Codebook) -> None:
    fields.apply(lambda _: book)
    state.set_notice("ok", f"{book.name} is now the draft", "Edit it, then save it as v1.")


main()
