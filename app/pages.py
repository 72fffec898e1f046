"""Pages of the studio by name, and functions to open or link them."""

from __future__ import annotations

from typing import Literal, NamedTuple, NoReturn, TypeAlias

import streamlit as st

PageName: TypeAlias = Literal[
    "home",
    "data",
    "codebook",
    "personas",
    "models",
    "run",
    "review",
    "runs",
    "evaluate",
    "compare",
    "lab",
    "authors",
    "manuscript",
    "export",
]


class Page(NamedTuple):
    """A page, implemented in ``app.screens.<name>``. ``icon`` is the name of a Material symbol."""

    name: PageName
    title: str
    icon: str

    @property
    def path(self) -> str:
        """The page script, relative to ``app``."""
        return f"screens/{self.name}/page.py"


SECTIONS: dict[str, tuple[Page, ...]] = {
    "": (Page("home", "Home", "home"),),
    "Prepare": (
        Page("data", "Data", "table_rows"),
        Page("codebook", "Codebook", "menu_book"),
        Page("personas", "Personas", "groups"),
        Page("models", "Models", "memory"),
    ),
    "Annotate": (
        Page("run", "Run", "forum"),
        Page("review", "Review", "rule"),
        Page("authors", "Authors", "edit_note"),
    ),
    "Results": (
        Page("runs", "Runs", "leaderboard"),
        Page("evaluate", "Evaluate", "bar_chart"),
        Page("compare", "Compare", "compare_arrows"),
        Page("lab", "Lab", "science"),
        Page("manuscript", "For your paper", "article"),
        Page("export", "Export", "ios_share"),
    ),
}
"""Pages of the navigation by section heading."""

PAGES: dict[PageName, Page] = {page.name: page for pages in SECTIONS.values() for page in pages}


def open_page(name: PageName) -> NoReturn:
    """Switch to a page. In callbacks, set ``state.next_page`` instead."""
    st.switch_page(PAGES[name].path)


def page_link(name: PageName, label: str = "") -> None:
    """Draw a link to a page, with its icon; the label defaults to its title."""
    page = PAGES[name]
    st.page_link(page.path, label=label or page.title, icon=f":material/{page.icon}:")
