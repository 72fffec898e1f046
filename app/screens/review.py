"""Review: many documents in a grid, and the one in focus below it with what was said of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from html import escape

import streamlit as st

from app import desks, review_pays, state
from app.views import empty, grid, header, marked_text, panel, transcript
from app.views.notice import notice
from app.views.runs import run_picker
from core.codebook import Codebook
from core.documents import Value
from core.errors import MootError
from core.runs import RunRow
from core.studio import queue, review
from core.studio.desk import Desk

HEIGHT = 474  # of the grid, in pixels: what leaves the document below it in sight on a small screen
SEARCH, LABEL, REASON, STATUS, SORT, SIZE, PAGE = (
    f"review-{name}" for name in ("search", "label", "reason", "status", "sort", "size", "page")
)
_LEGEND = (
    '<span><b style="background:var(--wrong-bg)"></b>differs from gold</span>'
    '<span><b style="background:var(--unres-bg)"></b>roles disagree</span>'
    '<span><b style="background:linear-gradient(225deg,var(--r-person) 32%,transparent 33%)"></b>edited by you</span>'
    '<span class="wide">Space or 1 to 9 turns a label, Enter submits, Backspace undoes</span>'
)


def main() -> None:
    """Draw the screen."""
    desk = desks.looked_at()
    runs = review.runs(desk) if desk is not None else []
    if desk is None or not runs:
        header.header("Review")
        if empty.empty(
            "Nothing to review yet",
            "Verdicts come here as soon as a run has some: you correct them, and what you decide counts as truth.",
            ["Open Run"],
            sign="check",
            key="review-none",
        ):
            st.switch_page("screens/run.py")
        return
    asked = state.document_id()
    if asked is not None:
        state.focus_on(asked)
        state.begin_at(asked)
        st.session_state[SEARCH] = asked
    _room(desk, runs)


@st.fragment
def _room(desk: Desk, runs: list[RunRow]) -> None:
    with header.header("Review", key="review-head"):
        saved = st.container(width="content")
        run = run_picker(runs, key="review-run")
        _button(desk, run, "Undo", lambda actor: review.undo(desk, actor=actor), icon="undo", shortcut="Ctrl+Z")
        _button(desk, run, "Redo", lambda actor: review.redo(desk, actor=actor), icon="redo", shortcut="Ctrl+Shift+Z")
    # What the grid tells is committed before it is drawn, and then it is drawn from the file.
    _guarded(lambda: _take_edits(desk, run))
    wanted, counters = _filters(run.settings.codebook)
    page = queue.page(desk, run, wanted)
    problem = state.review_problem()
    if problem is not None:
        notice("error", *problem)
    _grid(desk, run, page)
    _under(desk, run, page)
    with counters:
        found = f"{page.total:,} document{'' if page.total == 1 else 's'}"
        st.html(f'<div class="moot-legend"><span>{found}, {queue.open_count(desk, run):,} to review</span></div>')
    with saved:
        words = state.last_saved()
        st.html(f'<div class="moot-saved" role="status">{escape(words)}</div>' if words else "<div></div>")
    _detail(desk, run, page)
    first = page.rows[0].document_id if page.rows else None
    review_pays.pays(desk, run, state.focus() or first, _actor())


def _button(
    desk: Desk,
    run: RunRow,
    label: str,
    act: Callable[[str], review.Saved | None],
    *,
    key: str = "",
    icon: str = "",
    shortcut: str | None = None,
    primary: bool = False,
    quiet: bool = False,
    disabled: bool = False,
) -> None:
    """A button for an act of review. It is done before the screen is drawn, after what the grid told before it."""

    def clicked() -> None:
        def both() -> None:
            _take_edits(desk, run)
            _note(act(_actor()), f"Nothing to {label.lower()}")

        _guarded(both)

    st.button(
        label,
        key=key or f"review-{label.lower()}",
        icon=f":material/{icon}:" if icon else None,
        shortcut=shortcut,
        type="primary" if primary else "tertiary" if quiet else "secondary",
        disabled=disabled,
        on_click=clicked,
    )


def _guarded(act: Callable[[], None]) -> None:
    """Do it; what a person can mend about a failure is shown above the grid."""
    try:
        act()
    except MootError as error:
        state.note_problem(error.message, error.remedy)


def _actor() -> str:
    return state.actor(review.reviewer())


def _take_edits(desk: Desk, run: RunRow) -> None:
    """Commit what the grid has told since it was heard last."""
    told = grid.told(_grid_key(run))
    if not told.life:
        return
    state.tick(told.selected)
    if told.focus is not None and told.focus != state.focus():
        state.focus_on(told.focus)
    for edit in told.edits:
        if edit.number > state.heard(told.life):
            # Heard even when it is refused: the same edit is told again with the next one.
            state.hear(told.life, edit.number)
            _carry_out(desk, run, edit, _actor())


def _carry_out(desk: Desk, run: RunRow, edit: grid.GridEdit, actor: str) -> None:
    if edit.field == "_act":
        act = edit.value.split()[0]
        if act == "submit":
            _note(review.submit(desk, run.run_id, [edit.document_id], actor=actor))
        elif act == "undo":
            _note(review.undo(desk, actor=actor), "Nothing to undo")
        elif act == "redo":
            _note(review.redo(desk, actor=actor), "Nothing to redo")
        return
    item = edit.field.removeprefix("v_")
    value = grid.parse(edit.value, run.settings.codebook)
    _note(review.edit(desk, run.run_id, edit.document_id, item, value, actor=actor))


def _note(saved: review.Saved | None, otherwise: str = "") -> None:
    state.note_saved(f"✓ {saved.words}" if saved else otherwise)


def _grid_key(run: RunRow) -> str:
    return f"review-grid-{run.run_id}"


def _filters(codebook: Codebook) -> tuple[queue.Wanted, st.delta_generator.DeltaGenerator]:
    """The row of filters, and the place for counters at its end."""
    names = {label.id: label.name for label in codebook.labels}
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="review-filters"):
        search = st.text_input(
            "Search", placeholder="Search in text", icon=":material/search:", label_visibility="collapsed", key=SEARCH,
            width=200, on_change=_first_page,
        )  # fmt: skip
        label = st.selectbox(
            "Label", list(names), index=None, placeholder="All labels", format_func=lambda id: names.get(id, id),
            label_visibility="collapsed", key=LABEL, width=136, on_change=_first_page,
        )  # fmt: skip
        reason = st.selectbox(
            "Reason", list(queue.REASONS), index=None, placeholder="Any reason",
            format_func=queue.REASONS.__getitem__, label_visibility="collapsed", key=REASON, width=150,
            on_change=_first_page,
        )  # fmt: skip
        status = st.selectbox(
            "Status", review.STATUSES, index=None, placeholder="Any status", label_visibility="collapsed", key=STATUS,
            width=126, on_change=_first_page,
        )  # fmt: skip
        sort = st.selectbox(
            "Order", list(queue.SORTS), format_func=queue.SORTS.__getitem__, label_visibility="collapsed", key=SORT,
            width=126, on_change=_first_page,
        )  # fmt: skip
        counters = st.container(width="stretch")
    number, size = st.session_state.get(PAGE, 1), st.session_state.get(SIZE, 50)
    return queue.Wanted(search or "", label, reason, status, sort=sort, number=number, size=size), counters


def _grid(desk: Desk, run: RunRow, page: queue.Page) -> None:
    if page.rows:
        grid.grid(
            page.rows,
            run.settings.codebook,
            review.roles(run),
            acknowledged=state.acknowledged(),
            focus=state.opened(),
            height=HEIGHT,
            on_told=lambda: _guarded(lambda: _take_edits(desk, run)),
            key=_grid_key(run),
        )
        return
    if page.total == 0 and not run.verdicts + run.unresolved + run.failed:
        empty.empty("Nobody has spoken yet", "This run has no verdict so far.", key="review-quiet")
        return
    pressed = empty.empty(
        "Nothing waits for you here", "No document matches the search and the filters.", ["Show all"], sign="check",
        key="review-nothing",
    )  # fmt: skip
    if pressed:
        state.forget(SEARCH, LABEL, REASON, STATUS, PAGE)
        state.begin_at(None)
        st.rerun()


def _under(desk: Desk, run: RunRow, page: queue.Page) -> None:
    """Below the grid: what can be done with the ticked rows, which rows are shown, and the way to others."""
    here = {row.document_id for row in page.rows}
    _bulk(desk, run, [id for id in state.ticked() if id in here])
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="review-pager"):
        words = st.container(width="stretch")
        size = st.selectbox(
            "Rows a page", queue.PAGE_SIZES, index=1, format_func=lambda size: f"{size} a page",
            label_visibility="collapsed", key=SIZE, width=120, on_change=_first_page,
        )  # fmt: skip
        if st.session_state.get(PAGE, 1) > page.pages:
            st.session_state[PAGE] = page.pages
        if page.pages > 1:
            st.pagination(page.pages, key=PAGE, width=min(86 + 34 * page.pages, 330))
    first = (page.number - 1) * size + 1
    with words:
        shown = f"Rows {first:,} to {first + len(page.rows) - 1:,} of {page.total:,}" if page.rows else "No rows"
        st.html(f'<div class="moot-legend"><span>{shown}</span>{_LEGEND}</div>')


def _first_page() -> None:
    state.forget(PAGE)


def _bulk(desk: Desk, run: RunRow, chosen: Sequence[str]) -> None:
    """What can be done with the ticked rows."""
    if not chosen:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="review-bulk"):
        st.html(f'<div class="moot-legend"><span>{len(chosen)} selected</span></div>', width="content")
        item, value = _bulk_value(run.settings.codebook)
        count = f"{len(chosen)} document{'' if len(chosen) == 1 else 's'}"
        _button(
            desk,
            run,
            f"Set for {count}",
            lambda actor: review.edit_many(desk, run.run_id, chosen, item, value, actor=actor),
            key="review-bulk-set",
        )
        _button(
            desk,
            run,
            "Submit selected",
            lambda actor: review.submit(desk, run.run_id, chosen, actor=actor),
            key="review-bulk-submit",
            primary=True,
        )
        _button(
            desk,
            run,
            "Discard selected",
            lambda actor: review.set_status(desk, run.run_id, chosen, "Discarded", actor=actor),
            key="review-bulk-discard",
            quiet=True,
        )


def _bulk_value(codebook: Codebook) -> tuple[str, Value]:
    names = {label.id: label.name for label in codebook.labels}
    if codebook.kind == "choice":
        label = st.selectbox(
            "Label", list(names), format_func=names.__getitem__, label_visibility="collapsed", width=170,
            key="review-bulk-label",
        )  # fmt: skip
        return codebook.items[0], label
    item = st.selectbox(
        "Label", list(names), format_func=names.__getitem__, label_visibility="collapsed", width=170,
        key="review-bulk-item",
    )  # fmt: skip
    values: Sequence[Value] = (True, False)
    if codebook.kind == "rating" and codebook.scale is not None:
        values = range(codebook.scale.min, codebook.scale.max + 1)
    value = st.selectbox(
        "Value", values, format_func=lambda value: review.value_word(codebook, value), label_visibility="collapsed",
        width=110, key="review-bulk-value",
    )  # fmt: skip
    return item, value


def _detail(desk: Desk, run: RunRow, page: queue.Page) -> None:
    """The document in focus: its text with evidence, the debate, and what people did."""
    shown = state.focus() or (page.rows[0].document_id if page.rows else None)
    known = review.dossier(desk, run, shown) if shown else None
    if shown is None or known is None:
        return
    codebook = run.settings.codebook
    row = next((row for row in page.rows if row.document_id == shown), None) or queue.row(desk, run, shown)
    disputed = row.disputed if row is not None else frozenset()
    with panel.panel(shown, f"row {known.document.position + 1:,}, {known.review_status}", key="review-detail") as head:
        with head:
            _button(
                desk,
                run,
                "Submit",
                lambda actor: review.submit(desk, run.run_id, [shown], actor=actor),
                primary=True,
                disabled=known.review_status == "Submitted",
            )
            if known.review_status in review.SETTLED:
                _button(
                    desk,
                    run,
                    "Reopen",
                    lambda actor: review.set_status(desk, run.run_id, [shown], "Draft", actor=actor),
                )
            if known.review_status != "Discarded":
                _button(
                    desk,
                    run,
                    "Discard",
                    lambda actor: review.set_status(desk, run.run_id, [shown], "Discarded", actor=actor),
                    quiet=True,
                )
        text, said, done = st.columns([1.25, 1.1, 0.62], gap="medium")
        with text:
            evidence = [quote for quotes in known.evidence.values() for quote in quotes]
            marked_text.marked_text(
                known.document.fields, codebook, evidence, disputed=disputed, small=True, height=380, key="review-text"
            )
        with said:
            replay = desk.replay(run.run_id, shown)
            if replay is not None:
                transcript.transcript(
                    replay, codebook, review.roles(run), framed=False, height=380, key="review-transcript"
                )
            else:
                st.caption("No debate on this document yet.")
        with done:
            _history(desk, run, shown)


def _history(desk: Desk, run: RunRow, document_id: str) -> None:
    entries = review.history(desk, run, document_id)
    lines = []
    for entry in entries[:60]:
        when = time.strftime("%H:%M:%S", time.localtime(entry.at))
        day = time.strftime("%d %b %Y", time.localtime(entry.at))
        what = f"{entry.item} {entry.before} → {entry.after}" if entry.item else f"{entry.before} → {entry.after}"
        if entry.item and entry.before == entry.after:
            what = f"{entry.item} {entry.after}, confirmed"
        lines.append(
            f'<time title="{escape(day)}">{when}</time>'
            f'<span class="{"undone" if entry.undone else ""}"><b>{escape(entry.who)}</b> {escape(what)}</span>'
        )
    st.html('<div class="moot-panel"><h2>History</h2></div>')
    if lines:
        st.html(f'<div class="moot-history">{"".join(lines)}</div>')
    else:
        st.caption("Nobody has changed anything here.")
    st.text_input(
        "Reviewing as", key=state.REVIEWER, placeholder=review.reviewer(), help="The name in the history.",
        persist_state="session",
    )  # fmt: skip


main()
