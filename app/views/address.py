"""The browser's address: what it names, F5 and a bookmark come back to."""

from __future__ import annotations

import json

import streamlit as st


def keep(screen: str = "", **named: str | None) -> None:
    """Have the address name these things; None takes a name out of it. Draws nothing.

    What stands around every screen gives the ``screen``, so that it is written again on the next one: a page switch
    empties the address. Not by ``st.query_params``: it adds a step to the browser's history, which one could not go
    back over.
    """
    told = json.dumps([screen, named]).replace("<", "\\u003c")
    with st.container(key=f"unseen-{'-'.join(named)}"):
        st.html(
            f"<script>{{const [, named] = {told}, a = new URL(location.href), before = a.href; "
            "for (const [name, value] of Object.entries(named)) "
            "value === null ? a.searchParams.delete(name) : a.searchParams.set(name, value); "
            "if (a.href !== before) history.replaceState(history.state, '', a);}</script>",
            unsafe_allow_javascript=True,
        )
