"""The column mapping: text, id, context, group and gold columns, and the meaning of unknown gold values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any, Literal

import streamlit as st

from app.state import DataState, bound
from app.widgets.alerts import notice
from app.widgets.elements import adding_field, button, field_name, literal
from app.widgets.labels import swatch_html
from core.codebook import Codebook
from core.documents import GOLD_RATER
from core.formatting import format_count, join_names
from core.services.data import gold_mapping
from core.services.data.importing import BuiltDocuments, GoldKind, GoldSource, ImportDraft, UnknownGold

KIND, RATERS = DataState.GOLD_WIDGETS
NEW_RATER = "gold_new_rater"
TITLES = {
    "none": "None",
    "label": "One column per label",
    "list": "One column with a list",
    "choice": "One label column",
}
NO_GOLD = "No gold"
MAX_SEGMENTS = 3
"""More options than these are offered as a list instead of side by side."""
MAX_UNKNOWN = 24
MAX_VALUE_CHARACTERS = 60

Change = Callable[[ImportDraft], ImportDraft]
Keep = Callable[[Change], None]


def _mapped(draft: ImportDraft, **changed: Any) -> ImportDraft:
    """Return the draft with another mapping, without the reasons of the suggestion."""
    return replace(draft, mapping=replace(draft.mapping, reasons=(), **changed))


def _map(keep: Keep, **changed: Any) -> None:
    keep(lambda draft: _mapped(draft, **changed))


def columns(draft: ImportDraft, keep: Keep) -> None:
    table, mapping = draft.table, draft.mapping

    def set_text(text: str) -> None:
        def change(draft: ImportDraft) -> ImportDraft:
            context = tuple(name for name in draft.mapping.context if name != text)
            gold = tuple(source for source in draft.mapping.gold if source.column != text)
            rater = draft.mapping.rater if draft.mapping.rater != text else None
            return _mapped(draft, text=text, context=context, gold=gold, rater=rater)

        keep(change)

    left, middle, right = st.columns((1, 1, 1.4))
    left.selectbox("Text", table.columns, **bound("map-text", mapping.text, set_text))
    middle.selectbox("Id", **_optional_column(draft, keep, "id", table.columns, none="Row numbers"))
    right.multiselect(
        "Context",
        _other_columns(draft),
        placeholder="Optional further text",
        select_all=False,
        **bound("map-context", list(mapping.context), lambda names: _map(keep, context=tuple(names))),
    )
    _groups(draft, keep)


def _optional_column(
    draft: ImportDraft, keep: Keep, part: str, columns: Sequence[str], *, none: str = "None", **changed: Any
) -> dict[str, Any]:
    """Return the arguments of a box for a column or none. ``changed`` are parts of the mapping that change with it."""
    widget = bound(
        f"map-{part}", getattr(draft.mapping, part) or "", lambda name: _map(keep, **{part: name or None}, **changed)
    )
    return {"options": ["", *columns], "format_func": lambda name: name or none, **widget}


def _other_columns(draft: ImportDraft) -> list[str]:
    return [name for name in draft.table.columns if name != draft.mapping.text]


def _groups(draft: ImportDraft, keep: Keep) -> None:
    """Draw group and order columns, collapsed: few files have them."""
    mapping, columns = draft.mapping, draft.table.columns
    with st.expander("Grouped rows", expanded=mapping.group is not None):
        left, right = st.columns(2)
        group = _optional_column(draft, keep, "group", columns, order=None)
        left.selectbox("Group column, such as a chat or an abstract", **group)
        order = _optional_column(draft, keep, "order", columns)
        right.selectbox("Order column within the group (numbers or dates)", disabled=mapping.group is None, **order)


def gold_kind(draft: ImportDraft, codebook: Codebook | None, keep: Keep) -> GoldKind | Literal["none"]:
    """Draw the choice of the kind of gold columns and return the chosen kind."""
    kinds = ["none", *gold_mapping.gold_kinds(codebook)]
    if st.session_state.get(KIND) not in kinds:
        st.session_state[KIND] = draft.mapping.gold[0].kind if draft.mapping.gold else "none"

    def changed() -> None:
        if KIND not in st.session_state:  # the page was left before its callback ran
            return
        kind = st.session_state[KIND]
        gold = () if kind == "none" else gold_mapping.suggest_gold(draft, kind, codebook)
        _map(keep, gold=gold, value_map={})

    st.segmented_control(
        "Gold labels", kinds, format_func=TITLES.__getitem__, key=KIND, on_change=changed, required=True
    )
    kind: GoldKind | Literal["none"] = st.session_state[KIND]
    return kind


def gold(draft: ImportDraft, codebook: Codebook | None, keep: Keep) -> None:
    kind = gold_kind(draft, codebook, keep)
    if kind == "none":
        return
    if kind == "label" and codebook is not None:
        _by_label(draft, codebook, keep)
    else:
        _by_column(draft, kind, codebook, keep)
    if draft.files:
        rater = _optional_column(draft, keep, "rater", _other_columns(draft))
        st.selectbox("Rater column, if each rater has rows of their own", **rater)
    if not draft.mapping.gold:
        notice("warn", "No gold column is chosen", "Without one, no gold labels are read.")


def _by_column(draft: ImportDraft, kind: GoldKind, codebook: Codebook | None, keep: Keep) -> None:
    """Draw columns that hold or list labels (several: one per rater), or that are labels themselves."""

    def change(names: list[str]) -> None:
        mapped = draft.mapping.gold if kind == "label" else ()
        known = (*gold_mapping.suggest_gold(draft, kind, codebook), *mapped)
        proposed = {source.column: source for source in known}
        sources = [proposed.get(name, GoldSource(name, kind)) for name in names]
        if kind != "label" and len(names) == 1:
            sources = [replace(source, rater=GOLD_RATER) for source in sources]
        elif kind != "label":
            sources = [
                replace(source, rater=source.column) if source.rater == GOLD_RATER else source for source in sources
            ]
        _map(keep, gold=tuple(sources))

    st.multiselect(
        "Label columns" if kind == "label" else "Column (or one for each rater)",
        _other_columns(draft),
        placeholder="Choose columns",
        select_all=False,
        **bound(f"map-gold-{kind}", [source.column for source in draft.mapping.gold], change),
    )
    if kind == "label" and (by_rater := gold_mapping.gold_by_rater(draft)):
        _raters_in_names(by_rater, keep, are_read=by_rater == draft.mapping.gold)


def _raters_in_names(by_rater: Sequence[GoldSource], keep: Keep, *, are_read: bool) -> None:
    """Draw the choice whether the names of label columns end with the names of raters."""
    plain = tuple(GoldSource(source.column) for source in by_rater)
    raters = join_names(list(dict.fromkeys(literal(source.rater) for source in by_rater)))
    st.toggle(
        f"{raters} are raters",
        help="The same labels by several raters, instead of a label for each column",
        **bound("map-raters", are_read, lambda on: _map(keep, gold=tuple(by_rater) if on else plain)),
    )


def ask_for_raters(draft: ImportDraft, keep: Keep) -> None:
    """Ask whether label columns are labels by several raters, if their names allow it and they are read as labels.

    The ends of ``food_anna`` and ``food_ben`` may be people, those of ``food_price`` and ``food_taste`` are not.
    """
    by_rater = gold_mapping.gold_by_rater(draft)
    if not by_rater or by_rater == draft.mapping.gold or any(source.kind != "label" for source in draft.mapping.gold):
        return
    raters = list(dict.fromkeys(source.rater for source in by_rater))
    by_raters = f"{format_count(len(by_rater) // len(raters), 'label')} by {len(raters):,} raters"
    with st.container(key="ask-for-raters", gap="xsmall"):
        words = f"Their {len(by_rater):,} columns are read as {len(by_rater):,} labels, not as {by_raters}."
        notice("warn", f"Are {join_names(raters)} raters?", words)
        button(f"Read as {by_raters}", "map-raters-yes", partial(_map, keep, gold=by_rater), icon="group")


def _by_label(draft: ImportDraft, codebook: Codebook, keep: Keep) -> None:
    more: list[str] = st.session_state.get(RATERS, [])
    raters = list(dict.fromkeys((*(draft.mapping.raters or (GOLD_RATER,)), *more)))
    columns = {(source.rater, label_name(source, codebook)): source.column for source in draft.mapping.gold}

    def change(rater: str, label: str, column: str) -> None:
        def map_label(draft: ImportDraft) -> ImportDraft:
            others = [
                source
                for source in draft.mapping.gold
                if (source.rater, label_name(source, codebook)) != (rater, label)
            ]
            added = [GoldSource(column, "label", label, rater)] if column else []
            return _mapped(draft, gold=(*others, *added))

        keep(map_label)

    for number, rater in enumerate(raters):
        if len(raters) > 1 or rater != GOLD_RATER:
            st.html(f'<div class="moot-gold">Rater {escape(rater)}</div>')
        for start in range(0, len(codebook.labels), 4):
            labels = enumerate(codebook.labels[start : start + 4], start + 1)
            for cell, (position, label) in zip(st.columns(4), labels, strict=False):
                cell.html(f'<div class="moot-fieldname">{swatch_html(label.colour)}{escape(label.name)}</div>')
                column = columns.get((rater, label.name), "")
                cell.selectbox(
                    f"Gold of label {position}, rater {number + 1}",
                    ["", *_other_columns(draft)],
                    label_visibility="collapsed",
                    format_func=lambda name: name or "No gold",
                    **bound(f"map-gold-{number}-{label.id}", column, partial(change, rater, label.name)),
                )

    def add_rater(name: str) -> None:
        st.session_state[RATERS] = [*more, " ".join(name.split())]

    adding_field("Add a rater", NEW_RATER, add_rater, placeholder="Name", width=260)


def label_name(source: GoldSource, codebook: Codebook) -> str:
    """Return the codebook's spelling of the label that a column holds."""
    label = codebook.find(source.name)
    return label.name if label is not None else source.name


def unknown_values(draft: ImportDraft, built: BuiltDocuments, codebook: Codebook | None, keep: Keep) -> None:
    """Draw gold cells that are not understood, with their count, and ask for their meaning."""
    value_map = {text.strip().casefold(): value for text, value in draft.mapping.value_map.items()}
    unmapped = [unknown for unknown in built.unknown_gold if unknown.value.strip().casefold() not in value_map]
    rows = [(unknown.value, _where(unknown, draft)) for unknown in unmapped[:MAX_UNKNOWN]]
    rows += [(text, "your choice") for text in draft.mapping.value_map]
    if not rows:
        return
    rating = codebook is not None and codebook.kind == "rating"
    by_label = any(source.kind == "label" for source in draft.mapping.gold)
    problem = "outside the rating scale" if rating else "neither present nor absent" if by_label else "not a label"
    note = f"{len(unmapped):,} left; without a meaning they are not used as gold"
    field_name(f"Values that are {problem}", note)

    meanings = {text: gold_mapping.gold_value_options(draft, codebook, text) for text, _ in rows}

    def set_meaning(text: str, choice: str) -> None:
        def change(draft: ImportDraft) -> ImportDraft:
            values = {cell: value for cell, value in draft.mapping.value_map.items() if cell != text}
            if choice in meanings[text]:
                values[text] = meanings[text][choice]
            return _mapped(draft, value_map=values)

        keep(change)

    for number, (text, words) in enumerate(rows):
        wide, right = st.columns((1.5, 1), vertical_alignment="center")
        wide.html(f'<div class="moot-cell"><span>{_value_html(text)} {escape(words)}</span></div>')
        meaning = value_map.get(text.strip().casefold())
        shown = next((title for title, value in meanings[text].items() if value == meaning), NO_GOLD)
        if meanings[text]:
            with right:
                _meaning(number, [NO_GOLD, *meanings[text]], shown, partial(set_meaning, text))


def _meaning(number: int, titles: Sequence[str], shown: str, set_meaning: Callable[[str], None]) -> None:
    options = {**bound(f"map-value-{number}", shown, set_meaning), "label_visibility": "collapsed"}
    name = f"Meaning of value {number + 1}"
    if len(titles) <= MAX_SEGMENTS:
        st.segmented_control(name, titles, format_func=literal, required=True, **options)
    else:
        st.selectbox(name, titles, **options)


def _where(unknown: UnknownGold, draft: ImportDraft) -> str:
    """Return where a value is: "in Service, once, first in row 4", without a file "first in document h004"."""
    several = len(unknown.columns) > 1
    columns = format_count(len(unknown.columns), "column") if several else unknown.columns[0]
    times = "once" if unknown.count == 1 else f"{unknown.count:,} times"
    row = f"row {unknown.line:,}"
    if not draft.files:
        row = f"document {draft.table.column(gold_mapping.ID_COLUMN)[unknown.line - 1]}"
    return f"in {columns}, {times}, first in {row}"


def _value_html(text: str) -> str:
    """Return a gold value as HTML: of a long one both ends, as long values often start the same."""
    if not text:
        return "<b>empty</b>"
    if len(text) <= MAX_VALUE_CHARACTERS:
        return f"<b>{escape(text)}</b>"
    start, end = text[:36].rpartition(" ")[0] or text[:36], text[-20:].partition(" ")[2] or text[-20:]
    return f'<b title="{escape(text)}">{escape(start)} … {escape(end)}</b>'
