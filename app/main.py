"""The studio as an ASGI app. Only the launcher (``core.cli``) and ``streamlit run`` import this."""

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from app import components, context
from app.api import live, review, security
from app.pages import PAGES


def show_error(error: Exception) -> bool:
    """Show an unexpected error and return True, so that Streamlit shows nothing itself.

    The traceback is logged to the terminal.
    """
    from app.widgets.frame import internal_error

    internal_error(error)
    return True


asgi = st.App(
    Path(__file__).with_name("navigation.py"),
    lifespan=context.lifespan,
    routes=[
        *live.routes(context.find_run),
        *review.routes(context.find_run),
        *components.routes(),
        *security.page_routes(PAGES),
    ],
    middleware=[Middleware(security.Guard, access=context.access())],
    on_script_error=show_error,
)
