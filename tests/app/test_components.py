"""Tests of the route that serves the components' JavaScript modules."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from app import components
from app.api import middleware
from app.api.access import Access
from tests.each_row import each_row

MODULES = sorted(path.name for path in components.FOLDER.glob("*.js"))


@pytest.fixture
def client() -> Iterator[TestClient]:
    access = Access()
    app = Starlette(routes=components.routes(), middleware=[Middleware(middleware.Guard, access=access)])
    with TestClient(app, base_url="http://127.0.0.1:8501") as client:
        client.cookies["moot_session_8501"] = access.cookie
        yield client


def test_serves_modules_as_cacheable_javascript(client: TestClient) -> None:
    answer = client.get(components.module_address("live_run"))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "immutable" in answer.headers["cache-control"]
    assert answer.text == (components.FOLDER / "live_run.js").read_text("utf-8")


@pytest.mark.parametrize("name", ["__init__.py", "live_run.css", "..%2F__init__.py", "missing.js"])
def test_serves_only_modules(client: TestClient, name: str) -> None:
    address = components.module_address("live_run").replace("live_run.js", name)
    assert client.get(address).status_code == 404


def test_refuses_modules_of_another_version(client: TestClient) -> None:
    assert client.get(f"{components.ADDRESS}/0000/live_run.js").status_code == 404


def test_refuses_foreign_hosts(client: TestClient) -> None:
    answer = client.get(components.module_address("live_run"), headers={"host": "evil.example"})
    assert answer.status_code == 421


@each_row("name", MODULES)
def test_modules_import_only_each_other(name: str) -> None:
    script = (components.FOLDER / name).read_text("utf-8")
    imported = re.findall(r'^(?:import|export) .*?from "(.*?)"', script, re.MULTILINE | re.DOTALL)
    assert {address.removeprefix("./") for address in imported} <= set(MODULES)


def test_grid_loader_names_its_module() -> None:
    assert f'"{components.module_address("review_grid")}"' in components.review_grid_loader()


@each_row("panel", ["guideline", "history"])
def test_panel_is_styled_in_review_and_in_the_document_drawer(panel: str) -> None:
    shared = (components.FOLDER / "common.css").read_text("utf-8")
    assert f"\n.{panel} {{" in shared


def test_a_report_of_a_component_that_the_page_dropped_is_none() -> None:
    """A component may report when the user opens another view, after the session has dropped its key."""

    def page() -> None:
        import streamlit as st

        from app.components import reported

        st.write(repr(reported("dropped", "settled")))

    assert AppTest.from_function(page).run().markdown[0].value == "None"
