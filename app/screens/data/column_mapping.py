"""The column mapping: text, id, context, group and gold columns, and the meaning of unknown gold values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st

from app.state import DataState, reset_widgets, with_value
from app.widgets.labels import swatch_html
from core.codebook import Codebook
from core.documents import GOLD_RATER
from core.services.data import importing
from core.services.data.importing import BuiltDocuments, GoldSource, ImportDraft

KIND, RATERS = DataState.GOLD_WIDGETS
NEW_RATER = "gold_new_rater"
TITLES = {
    "none": "None",
    "label": "One column per label",
    "list": "One column with a list",
    "choice": "One label column",
}
MAX_SEGMENTS = 3
"""More options than these are offered as a list instead of side by side."""
MAX_UNKNOWN = 24

Keep = Callable[[ImportDraft], None]


def _mapped(draft: ImportDraft, **changed: Any) -> ImportDraft:
    """Return the draft with another mapping, without the reasons of the suggestion."""
    return replace(draft, mapping=replace(draft.mapping, reasons=(), **changed))


def columns(draft: ImportDraft, keep: Keep) -> None:
    """Draw text, id, context and group columns."""
    table, mapping = draft.table, draft.mapping

    def changed(part: str) -> Any:
        return st.session_state[f"map-{part}"]

    def set_text() -> None:
        text = changed("text")
        context = tuple(name for name in mapping.context if name != text)
        gold = tuple(source for source in mapping.gold if source.column != text)
        keep(_mapped(draft, text=text, context=context, gold=gold))

    def set_context() -> None:
        keep(_mapped(draft, context=tuple(changed("context"))))

    def set_id() -> None:
        keep(_mapped(draft, id=changed("id") or None))

    left, middle, right = st.columns((1, 1, 1.4))
    left.selectbox("Text", table.columns, key=with_value("map-text", mapping.text), on_change=set_text)
    middle.selectbox(
        "Id",
        ["", *table.columns],
        format_func=lambda name: name or "Row numbers",
        key=with_value("map-id", mapping.id or ""),
        on_change=set_id,
    )
    right.multiselect(
        "Context",
        [name for name in table.columns if name != mapping.text],
        key=with_value("map-context", list(mapping.context)),
        on_change=set_context,
        placeholder="Optional further text",
        select_all=False,
    )
    _groups(draft, keep)


def _groups(draft: ImportDraft, keep: Keep) -> None:
    """Draw group and order columns, collapsed: few files have them."""
    mapping = draft.mapping

    def changed(part: str) -> None:
        chosen = st.session_state[f"map-{part}"] or None
        keep(_mapped(draft, **({"group": chosen, "order": None} if part == "group" else {part: chosen})))

    with st.expander("Grouped rows", expanded=mapping.group is not None):
        left, right = st.columns(2)
        for column, part, title, enabled in (
            (left, "group", "Group column, such as a chat or an abstract", True),
            (right, "order", "Order column within the group (numbers)", mapping.group is not None),
        ):
            column.selectbox(
                title,
                ["", *draft.table.columns],
                format_func=lambda name: name or "None",
                key=with_value(f"map-{part}", getattr(mapping, part) or ""),
                on_change=changed,
                args=(part,),
                disabled=not enabled,
            )


def gold_kind(draft: ImportDraft, codebook: Codebook | None, keep: Keep) -> str:
    """Draw the choice of the kind of gold columns and return the chosen kind."""
    kinds = ["none", *importing.gold_kinds(codebook)]
    if KIND not in st.session_state or st.session_state[KIND] not in kinds:
        st.session_state[KIND] = draft.mapping.gold[0].kind if draft.mapping.gold else "none"

    def changed() -> None:
        kind = st.session_state[KIND]
        gold = () if kind == "none" else importing.suggest_gold(draft, kind, codebook)
        keep(_mapped(draft, gold=gold, value_map={}))

    st.segmented_control(
        "Gold labels", kinds, format_func=TITLES.__getitem__, key=KIND, on_change=changed, required=True
    )
    return str(st.session_state[KIND])


def gold(draft: ImportDraft, codebook: Codebook | None, keep: Keep) -> None:
    """Draw the gold columns."""
    kind = gold_kind(draft, codebook, keep)
    if kind == "none":
        return
    if kind == "label" and codebook is not None and codebook.labels:
        _by_label(draft, codebook, keep)
    else:
        _by_column(draft, kind, keep)


def _by_column(draft: ImportDraft, kind: str, keep: Keep) -> None:
    """Draw columns that hold or list labels (several: one per rater), or that are labels themselves."""
    key = f"map-gold-{kind}"

    def changed() -> None:
        names = st.session_state[key]
        several = kind != "label" and len(names) > 1
        sources = tuple(GoldSource(name, kind, rater=name if several else GOLD_RATER) for name in names)  # type: ignore[arg-type]
        keep(_mapped(draft, gold=sources))

    st.multiselect(
        "Label columns" if kind == "label" else "Column (several: one per rater)",
        [name for name in draft.table.columns if name != draft.mapping.text],
        key=with_value(key, [source.column for source in draft.mapping.gold]),
        on_change=changed,
        placeholder="Choose columns",
        select_all=False,
    )


def _by_label(draft: ImportDraft, codebook: Codebook, keep: Keep) -> None:
    more: list[str] = st.session_state.get(RATERS, [])
    raters = list(dict.fromkeys((*(draft.mapping.raters or (GOLD_RATER,)), *more)))
    named = {(source.rater, label_name(source, codebook)): source.column for source in draft.mapping.gold}
    options = ["", *(name for name in draft.table.columns if name != draft.mapping.text)]

    def changed(rater: str, label: str, key: str) -> None:
        column = st.session_state[key]
        others = [one for one in draft.mapping.gold if (one.rater, label_name(one, codebook)) != (rater, label)]
        if column:
            others.append(GoldSource(column, "label", label, rater))
        keep(_mapped(draft, gold=tuple(others)))

    for number, rater in enumerate(raters):
        if len(raters) > 1 or rater != GOLD_RATER:
            st.html(f'<div class="moot-gold">Rater {escape(rater)}</div>')
        for start in range(0, len(codebook.labels), 4):
            row = codebook.labels[start : start + 4]
            for cell, label in zip(st.columns(4), row, strict=False):
                key = f"map-gold-{number}-{label.id}"
                with cell:
                    st.html(f'<div class="moot-fieldname">{swatch_html(label.colour)}{escape(label.name)}</div>')
                    st.selectbox(
                        f"Gold of label {start + 1}",
                        options,
                        format_func=lambda name: name or "No gold",
                        key=with_value(key, named.get((rater, label.name), "")),
                        on_change=changed,
                        args=(rater, label.name, key),
                        label_visibility="collapsed",
                    )

    def add_rater() -> None:
        name = " ".join(st.session_state[NEW_RATER].split())
        st.session_state[NEW_RATER] = ""
        if name:
            st.session_state[RATERS] = [*more, name]

    st.text_input("Add a rater", key=NEW_RATER, on_change=add_rater, placeholder="Name", width=260)


def label_name(source: GoldSource, codebook: Codebook) -> str:
    """Return the codebook's spelling of the label that a column holds."""
    label = codebook.find(source.name)
    return label.name if label is not None else source.name


def unknown_values(draft: ImportDraft, built: BuiltDocuments, codebook: Codebook | None, keep: Keep) -> None:
    """Draw gold cells that are not understood, with their count, and ask for their meaning."""
    known = {text.strip().casefold(): value for text, value in draft.mapping.value_map.items()}
    mapped = list(draft.mapping.value_map)
    rows: list[tuple[str, str]] = [
        (one.value, f"in {one.column}, {_times(one.count)}, first in row {one.line:,}")
        for one in built.unknown_gold[:MAX_UNKNOWN]
        if one.value.strip().casefold() not in known
    ]
    rows += [(text, "your choice") for text in mapped]
    if not rows:
        return
    rating = codebook is not None and codebook.kind == "rating"
    by_label = any(source.kind == "label" for source in draft.mapping.gold)
    what = "outside the rating scale" if rating else "neither present nor absent" if by_label else "not a label"
    st.html(
        f'<div class="moot-fieldname">Values that are {what} <small>{len(built.unknown_gold):,} '
        "left; without a meaning they are no gold</small></div>"
    )

    meanings = importing.gold_value_options(draft, codebook)
    titles = ["No gold", *meanings]

    def set_meaning(text: str, key: str) -> None:
        values = {one: value for one, value in draft.mapping.value_map.items() if one != text}
        choice = st.session_state[key]
        if choice in meanings:
            values[text] = meanings[choice]
        keep(_mapped(draft, value_map=values))

    for number, (text, words) in enumerate(rows):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.html(f'<div class="moot-cell"><b>{escape(_short(text))}</b> {escape(words)}</div>', width="stretch")
            if not meanings:
                continue
            key = f"map-value-{number}"
            value = known.get(text.strip().casefold())
            shown = next((title for title, meaning in meanings.items() if meaning == value), "No gold")
            options: dict[str, Any] = {
                "key": with_value(key, shown if text.strip().casefold() in known else "No gold"),
                "on_change": set_meaning,
                "args": (text, key),
                "label_visibility": "collapsed",
            }
            name = f"Meaning of value {number + 1}"
            if len(titles) <= MAX_SEGMENTS:
                st.segmented_control(name, titles, required=True, **options)
            else:
                st.selectbox(name, titles, width=150, **options)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _short(text: str) -> str:
    return text if len(text) <= 44 else f"{text[:44]}…"


def reasons(sentences: Sequence[str]) -> None:
    """Draw the reasons of the suggested mapping."""
    if sentences:
        st.html(f'<div class="moot-why">{escape(" ".join(sentences))}</div>')


def reset() -> None:
    """Reset the widgets: another file was read, or another codebook applies."""
    reset_widgets(KIND, RATERS)
