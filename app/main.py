"""The studio as an ASGI app. Only the launcher (``core.cli``) and ``streamlit run`` import this."""

import threading
from pathlib import Path
from socket import socket

import streamlit as st
from starlette.middleware import Middleware
from streamlit import config
from streamlit.web import bootstrap

from app import components, context, preload, streamlit_patches
from app.api import live_socket, middleware, review
from app.api.access import process_access
from app.pages import PAGES

PING_SECONDS = 30.0
"""Seconds between two pings of a WebSocket, and the longest wait for an answer. Streamlit's server uses the same."""

PAGE_THREAD, PAGE_SECONDS = "ScriptRunner.scriptThread", 5.0
"""Name of Streamlit's threads that draw a page (tested with 1.67), and the longest wait for the end of one.

DuckDB logs every cursor that a thread still holds when the process ends.
"""

streamlit_patches.correct_streamlit()


def show_error(error: Exception) -> bool:
    """Show the error that ended a page or fragment and return True, so that Streamlit shows nothing itself."""
    from app.widgets.sidebar import script_error

    script_error(error)
    return True


asgi = st.App(
    Path(__file__).with_name("navigation.py"),
    lifespan=context.lifespan,
    routes=[
        *live_socket.routes(context.find_run),
        *review.routes(context.find_run),
        *components.routes(),
        *middleware.page_routes(PAGES),
    ],
    middleware=[Middleware(middleware.Guard, access=process_access())],
    on_script_error=show_error,
)


def serve(listener: socket) -> None:
    """Serve the studio at a listening socket until a signal stops it.

    Streamlit's own server would open a port itself, and lose the requests that wait at this socket.
    """
    import uvicorn

    streamlit_patches.ignore_foreign_files()
    bootstrap.load_config_options({"server.port": listener.getsockname()[1]})
    settings = uvicorn.Config(
        asgi,
        http="h11",
        ws="websockets-sansio",
        ws_max_size=config.get_option("server.maxMessageSize") * 1_000_000,
        ws_per_message_deflate=False,
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PING_SECONDS,
        access_log=False,
        log_level="warning",
    )
    try:
        with preload.running():
            uvicorn.Server(settings).run(sockets=[listener])
    finally:
        for thread in threading.enumerate():
            if thread.name == PAGE_THREAD:
                thread.join(PAGE_SECONDS)
