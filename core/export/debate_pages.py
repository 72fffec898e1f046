"""Debates as static HTML pages: no scripts, no external resources, all text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

PER_PAGE = 200
"""Debates on one page: few enough for a browser to open it at once."""

_STYLE = """
:root { color-scheme: light dark; --ink: #14171f; --dim: #5c6370; --line: #d8dbe2; --paper: #fff; --tint: #f3f4f7; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaf0; --dim: #9aa1b0; --line: #333947; --paper: #14171f; --tint: #1d212c; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
       max-width: 60rem; padding: 0 1rem; }
a { color: inherit; } h1 { font-size: 1.4rem; } small, .dim { color: var(--dim); }
details { border: 1px solid var(--line); border-radius: 8px; margin: .5rem 0; padding: .5rem .8rem; }
summary { cursor: pointer; } .text { font-family: Georgia, serif; font-size: 1.05rem; white-space: pre-wrap; }
.turn { border-left: 3px solid var(--line); margin: .8rem 0; padding: 0 .8rem; }
.turn p { white-space: pre-wrap; overflow-wrap: anywhere; margin: .2rem 0; }
.tag { background: var(--tint); border-radius: 4px; padding: 0 .4rem; margin-right: .3rem; }
"""


@dataclass(frozen=True, slots=True)
class TurnText:
    """The role, model and text of one turn."""

    role: str
    model: str
    text: str


@dataclass(frozen=True, slots=True)
class Debate:
    """One debate: the text fields by name, the turns in order, and the labels as text.

    ``decided`` are the verdict's labels; ``corrected`` those of a reviewer, empty without a review.
    """

    document_id: str
    fields: Sequence[tuple[str, str]]
    turns: Sequence[TurnText]
    status: str
    decided: Sequence[str]
    corrected: Sequence[str] = ()


def page(title: str, debates: Iterable[Debate], *, links: Sequence[tuple[str, str]] = ()) -> bytes:
    """Return a page of debates with a title and links (address, text) to the other pages."""
    return _page(title, [_links(links), *map(_debate, debates)])


def index(title: str, lines: Sequence[str], links: Sequence[tuple[str, str]]) -> bytes:
    """Return the first page: a few lines of introduction and links to the pages of debates."""
    items = "".join(f'<li><a href="{escape(address, quote=True)}">{escape(words)}</a></li>' for address, words in links)
    return _page(title, [*(f"<p>{escape(line)}</p>" for line in lines), f"<ul>{items}</ul>"])


def _page(title: str, body: Iterable[str]) -> bytes:
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
    )
    return f"{head}<h1>{escape(title)}</h1>{''.join(body)}</body></html>\n".encode("utf-8", "replace")


def _links(links: Sequence[tuple[str, str]]) -> str:
    shown = " · ".join(f'<a href="{escape(address, quote=True)}">{escape(words)}</a>' for address, words in links)
    return f'<p class="dim">{shown}</p>' if links else ""


def _debate(debate: Debate) -> str:
    fields = "".join(
        (f"<small>{escape(name)}</small>" if len(debate.fields) > 1 else "") + f'<div class="text">{escape(text)}</div>'
        for name, text in debate.fields
    )
    turns = "".join(
        f'<div class="turn"><b>{escape(turn.role)}</b> <small>{escape(turn.model)}</small>'
        f"<p>{escape(turn.text)}</p></div>"
        for turn in debate.turns
    )
    corrected = f" <small>corrected to</small> {_tags(debate.corrected)}" if debate.corrected else ""
    return (
        f"<details><summary><b>{escape(debate.document_id)}</b> <small>{escape(debate.status)}</small> "
        f"{_tags(debate.decided)}{corrected}</summary>{fields}{turns}</details>"
    )


def _tags(names: Sequence[str]) -> str:
    return "".join(f'<span class="tag">{escape(name)}</span>' for name in names)
