"""A role's letter tile in its stable colour, as html with every value escaped."""

from __future__ import annotations

from html import escape

_KNOWN = ("extractor", "critic", "judge", "advocate")


def colour_name(role: str) -> str:
    """The token (``extractor`` of ``--r-extractor``) that colours a role everywhere."""
    name = role.lower()
    for known in _KNOWN:
        if name.startswith(known):
            return known
    if name.startswith(("prosecut", "defen", "proponent", "opponent")):
        return "advocate"
    return "person" if name.startswith(("person", "you", "author")) else "panel"


def tile_html(role: str, title: str, *, small: bool = False) -> str:
    """The tile with the first letter of the role's title."""
    token = colour_name(role)
    return (
        f'<span class="moot-tile{" s" if small else ""}" title="{escape(title, quote=True)}" '
        f'style="background:var(--r-{token}-bg);color:var(--r-{token})">{escape(title[:1].upper())}</span>'
    )


def role_html(role: str, title: str, does: str = "") -> str:
    """Tile, title and what the role is there for."""
    more = f"<small>{escape(does)}</small>" if does else ""
    return f'<div class="moot-role">{tile_html(role, title)}<span>{escape(title)}{more}</span></div>'
