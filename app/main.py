"""The studio as an ASGI app. Only the launcher (``core.cli``) and ``streamlit run`` import this."""

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from app import acts, components, live, wiring


def explain(error: Exception) -> bool:
    """What a person sees of a mistake in this program; the traceback goes to the terminal. True: it is shown."""
    from app.views.frame import mishap

    mishap(error)
    return True


asgi = st.App(
    Path(__file__).with_name("navigation.py"),
    lifespan=wiring.lifespan,
    routes=[
        *live.routes(wiring.source, wiring.access()),
        *acts.routes(wiring.find, wiring.access()),
        *components.routes(),
    ],
    middleware=[Middleware(live.Guard)],
    on_script_error=explain,
)
