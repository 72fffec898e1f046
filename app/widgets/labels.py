"""Labels and roles as HTML, and as data of the components.

All values in HTML are escaped, and a colour is always shown with its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from app.widgets.elements import choose, literal
from app.widgets.palette import role_token
from core.codebook import Codebook, Label, label_noun


def swatch_html(number: int) -> str:
    return f'<span class="moot-swatch moot-l{number}"></span>'


def tag_html(name: str, number: int) -> str:
    return f'<span class="moot-tag moot-l{number}"><i></i>{escape(name)}</span>'


MAX_TAGS = 40
"""Maximum number of tags in a row; further labels are counted."""


def tags(labels: Sequence[Label]) -> None:
    shown = "".join(tag_html(label.name, label.colour) for label in labels[:MAX_TAGS])
    more = f'<span class="moot-line q xs">and {len(labels) - MAX_TAGS:,} more</span>' if len(labels) > MAX_TAGS else ""
    st.html(f'<div class="moot-tags">{shown}{more}</div>')


def pick(codebook: Codebook, *, key: str, default: str | None) -> str:
    """Draw pills of all labels and return the id of the selected one: initially ``default``, or the first for None."""
    names = codebook.label_names
    titles = {id: literal(name) for id, name in names.items()}
    selected = default or next(iter(names))
    label_id: str = choose(st.pills, label_noun(codebook.kind), titles, default=selected, required=True, key=key)
    return label_id


def select_label(codebook: Codebook, *, key: str, **widget: Any) -> str:
    """Draw a select box of all labels and return the id of the selected label, initially the first.

    ``widget`` are further arguments of ``st.selectbox``.
    """
    names = codebook.label_names
    label_id: str = st.selectbox("Label", list(names), format_func=names.__getitem__, key=key, **widget)
    return label_id


def tile_html(role: str, title: str, *, small: bool = False) -> str:
    """Return the tile with the first letter of a role's title as HTML."""
    return (
        f'<span class="moot-tile moot-{role_token(role)}{" s" if small else ""}" '
        f'title="{escape(title, quote=True)}">{escape(title[:1].upper())}</span>'
    )


def role_html(role: str, title: str) -> str:
    return f'<div class="moot-role">{tile_html(role, title)}<span>{escape(title)}</span></div>'


def label_data(codebook: Codebook) -> list[dict[str, Any]]:
    """Return the id, name and colour of each label for the components."""
    return [{"id": label.id, "name": label.name, "colour": label.colour} for label in codebook.labels]


def role_data(roles: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the id, name and colour of each role for the components. ``roles`` are names by role, in order."""
    return [{"role": role, "name": name, "colour": role_token(role)} for role, name in roles.items()]
