"""The studio as an ASGI app. Only the launcher (``core.cli``) and ``streamlit run`` import this."""

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from app import components, context
from app.api import live, review


def explain(error: Exception) -> bool:
    """What a person sees of a mistake in this program; the traceback goes to the terminal. True: it is shown."""
    from app.widgets.frame import mishap

    mishap(error)
    return True


asgi = st.App(
    Path(__file__).with_name("navigation.py"),
    lifespan=context.lifespan,
    routes=[
        *live.routes(context.source, context.access()),
        *review.routes(context.find, context.access()),
        *components.routes(),
    ],
    middleware=[Middleware(live.Guard)],
    on_script_error=explain,
)
