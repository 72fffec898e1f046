"""The column mapper: which column is the text, the id, the context and the gold, and what odd gold values mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st

from app.state import reset_widgets, with_value
from app.widgets.labels import swatch_html
from core.codebook import Codebook
from core.documents import GOLD_RATER
from core.services.data import importing
from core.services.data.importing import BuiltDocuments, Draft, GoldSource

KIND, RATERS, NEW_RATER = "gold_kind", "gold_raters", "gold_new_rater"
TITLES = {
    "none": "none",
    "label": "a column for each label",
    "list": "one column lists them",
    "choice": "one column holds it",
}
FEW = 3
"""As many meanings stand side by side; more are in a list."""
MOST_UNKNOWN = 24

Keep = Callable[[Draft], None]


def _mapped(draft: Draft, **changed: Any) -> Draft:
    """The draft with another mapping; why it was guessed as it was is of no interest any more."""
    return replace(draft, mapping=replace(draft.mapping, reasons=(), **changed))


def columns(draft: Draft, keep: Keep) -> None:
    """The text, the id and the context."""
    table, mapping = draft.table, draft.mapping

    def changed(part: str) -> Any:
        return st.session_state[f"map-{part}"]

    def take_text() -> None:
        text = changed("text")
        context = tuple(name for name in mapping.context if name != text)
        gold = tuple(source for source in mapping.gold if source.column != text)
        keep(_mapped(draft, text=text, context=context, gold=gold))

    def take_context() -> None:
        keep(_mapped(draft, context=tuple(changed("context"))))

    def take_id() -> None:
        keep(_mapped(draft, id=changed("id") or None))

    left, middle, right = st.columns((1, 1, 1.4))
    left.selectbox("Text", table.columns, key=with_value("map-text", mapping.text), on_change=take_text)
    middle.selectbox(
        "Id",
        ["", *table.columns],
        format_func=lambda name: name or "row numbers",
        key=with_value("map-id", mapping.id or ""),
        on_change=take_id,
    )
    right.multiselect(
        "Context",
        [name for name in table.columns if name != mapping.text],
        key=with_value("map-context", list(mapping.context)),
        on_change=take_context,
        placeholder="further text, if any",
        select_all=False,
    )
    _parts(draft, keep)


def _parts(draft: Draft, keep: Keep) -> None:
    """Which rows belong together, and in which order; folded away, as few files have that."""
    mapping = draft.mapping

    def taken(part: str) -> None:
        chosen = st.session_state[f"map-{part}"] or None
        keep(_mapped(draft, **({"group": chosen, "order": None} if part == "group" else {part: chosen})))

    with st.expander("Rows that belong together", expanded=mapping.group is not None):
        left, right = st.columns(2)
        for column, part, title, enabled in (
            (left, "group", "Group, such as a chat or an abstract", True),
            (right, "order", "Order within it, a number", mapping.group is not None),
        ):
            column.selectbox(
                title,
                ["", *draft.table.columns],
                format_func=lambda name: name or "none",
                key=with_value(f"map-{part}", getattr(mapping, part) or ""),
                on_change=taken,
                args=(part,),
                disabled=not enabled,
            )


def gold_kind(draft: Draft, codebook: Codebook | None, keep: Keep) -> str:
    """Which form the gold has; gives the one that is chosen."""
    kinds = ["none", *importing.gold_kinds(codebook)]
    if KIND not in st.session_state or st.session_state[KIND] not in kinds:
        st.session_state[KIND] = draft.mapping.gold[0].kind if draft.mapping.gold else "none"

    def turned() -> None:
        kind = st.session_state[KIND]
        gold = () if kind == "none" else importing.of_kind(draft, kind, codebook)
        keep(_mapped(draft, gold=gold, value_map={}))

    st.segmented_control(
        "Gold labels", kinds, format_func=TITLES.__getitem__, key=KIND, on_change=turned, required=True
    )
    return str(st.session_state[KIND])


def gold(draft: Draft, codebook: Codebook | None, keep: Keep) -> None:
    """The gold columns."""
    kind = gold_kind(draft, codebook, keep)
    if kind == "none":
        return
    if kind == "label" and codebook is not None and codebook.labels:
        _by_label(draft, codebook, keep)
    else:
        _by_column(draft, kind, keep)


def _by_column(draft: Draft, kind: str, keep: Keep) -> None:
    """Columns that hold or list labels (several: one a rater), or that are labels themselves."""
    key = f"map-gold-{kind}"

    def taken() -> None:
        names = st.session_state[key]
        several = kind != "label" and len(names) > 1
        sources = tuple(GoldSource(name, kind, rater=name if several else GOLD_RATER) for name in names)  # type: ignore[arg-type]
        keep(_mapped(draft, gold=sources))

    st.multiselect(
        "Columns that are labels" if kind == "label" else "Column (several: one for each rater)",
        [name for name in draft.table.columns if name != draft.mapping.text],
        key=with_value(key, [source.column for source in draft.mapping.gold]),
        on_change=taken,
        placeholder="Choose columns",
        select_all=False,
    )


def _by_label(draft: Draft, codebook: Codebook, keep: Keep) -> None:
    more: list[str] = st.session_state.get(RATERS, [])
    raters = list(dict.fromkeys((*(draft.mapping.raters or (GOLD_RATER,)), *more)))
    named = {(source.rater, normal(source, codebook)): source.column for source in draft.mapping.gold}
    options = ["", *(name for name in draft.table.columns if name != draft.mapping.text)]

    def taken(rater: str, label: str, key: str) -> None:
        column = st.session_state[key]
        others = [one for one in draft.mapping.gold if (one.rater, normal(one, codebook)) != (rater, label)]
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
                        format_func=lambda name: name or "no gold",
                        key=with_value(key, named.get((rater, label.name), "")),
                        on_change=taken,
                        args=(rater, label.name, key),
                        label_visibility="collapsed",
                    )

    def another() -> None:
        name = " ".join(st.session_state[NEW_RATER].split())
        st.session_state[NEW_RATER] = ""
        if name:
            st.session_state[RATERS] = [*more, name]

    st.text_input("Another rater", key=NEW_RATER, on_change=another, placeholder="a name, if several rated", width=260)


def normal(source: GoldSource, codebook: Codebook) -> str:
    """The codebook's spelling of the label that a column holds."""
    label = codebook.find(source.name)
    return label.name if label is not None else source.name


def unknown_values(draft: Draft, imported: BuiltDocuments, codebook: Codebook | None, keep: Keep) -> None:
    """Gold cells that nobody can understand, with how often they occur and, where that helps, what they mean."""
    known = {text.strip().casefold(): value for text, value in draft.mapping.value_map.items()}
    mapped = list(draft.mapping.value_map)
    rows: list[tuple[str, str]] = [
        (one.value, f"in {one.column}, {_times(one.count)}, first in row {one.line:,}")
        for one in imported.unknown_gold[:MOST_UNKNOWN]
        if one.value.strip().casefold() not in known
    ]
    rows += [(text, "as you said") for text in mapped]
    if not rows:
        return
    rating = codebook is not None and codebook.kind == "rating"
    by_label = any(source.kind == "label" for source in draft.mapping.gold)
    what = "no rating on the scale" if rating else "neither present nor absent" if by_label else "no label"
    st.html(
        f'<div class="moot-fieldname">Values that are {what} <small>{len(imported.unknown_gold):,} '
        "left; without a meaning they count as no gold</small></div>"
    )

    meanings = importing.meanings(draft, codebook)
    titles = ["no gold", *meanings]

    def meant(text: str, key: str) -> None:
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
            shown = next((title for title, meaning in meanings.items() if meaning == value), "no gold")
            options: dict[str, Any] = {
                "key": with_value(key, shown if text.strip().casefold() in known else "no gold"),
                "on_change": meant,
                "args": (text, key),
                "label_visibility": "collapsed",
            }
            name = f"Meaning of value {number + 1}"
            if len(titles) <= FEW:
                st.segmented_control(name, titles, required=True, **options)
            else:
                st.selectbox(name, titles, width=150, **options)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _short(text: str) -> str:
    return text if len(text) <= 44 else f"{text[:44]}…"


def reasons(told: Sequence[str]) -> None:
    """Why the mapping was guessed as it is."""
    if told:
        st.html(f'<div class="moot-why">{escape(" ".join(told))}</div>')


def begin_anew() -> None:
    """Forget what the mapper's widgets hold: another file was read."""
    reset_widgets(KIND, RATERS)
