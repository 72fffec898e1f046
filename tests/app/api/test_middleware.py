"""Tests of the access control of the studio against other users, pages and hosts."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import st_aggrid
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from app import main
from app.api import middleware
from app.api.access import Access, is_local

BASE = "http://127.0.0.1:8501"
FOREIGN = ["null", "", "http://evil.example", "http://127.0.0.1:8502", "http://localhost:8501", "https://127.0.0.1:8501",
           "http://127.0.0.1.evil.example:8501", "http://127.0.0.1:8501.evil.example", "https://share.streamlit.io",
           "http://user@127.0.0.1:8501"]  # fmt: skip


@pytest.fixture
def access() -> Access:
    return Access("secret")


@pytest.fixture
def outside(access: Access) -> Iterator[TestClient]:
    """Return a client without the cookie, for an app of one page and one WebSocket."""

    async def page(_request: Any) -> PlainTextResponse:
        return PlainTextResponse("page")

    async def echo(socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_text("inside")
        await socket.close()

    methods = ["GET", "POST", "PUT", "DELETE"]
    routes = [WebSocketRoute("/{path:path}", echo), Route("/{path:path}", page, methods=methods)]
    app = Starlette(routes=routes, middleware=[Middleware(middleware.Guard, access=access)])
    with TestClient(app, base_url=BASE) as client:
        yield client


@pytest.fixture
def inside(outside: TestClient, access: Access) -> TestClient:
    assert outside.get(access.entrance).text == "page"
    return outside


def connect(client: TestClient, **headers: str) -> str:
    # Without a host in the address, the test client uses its own host name for sockets.
    with client.websocket_connect("ws://127.0.0.1:8501/_stcore/stream", headers=headers) as socket:
        return socket.receive_text()


def test_exchanges_the_token_for_a_cookie_that_scripts_cannot_read(outside: TestClient, access: Access) -> None:
    answer = outside.get(access.entrance, follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    assert answer.headers["cache-control"] == "no-store"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"moot_session_8501={access.cookie};")
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert access.token not in cookie


def test_exchanges_a_posted_token(outside: TestClient, access: Access) -> None:
    answer = outside.post(
        middleware.ENTER, data={"token": access.token}, headers={"origin": "null"}, follow_redirects=False
    )
    assert answer.status_code == 303
    assert outside.get("/").text == "page"


@pytest.mark.parametrize("token", ["", "guess", "secre", "secret2", "SECRET", "%00", "é"])
def test_a_wrong_token_gives_no_cookie(outside: TestClient, token: str) -> None:
    for answer in (
        outside.get(f"{middleware.ENTER}?token={token}"),
        outside.post(middleware.ENTER, data={"token": token}),
        outside.post(middleware.ENTER, content=b"token=" + b"x" * 1_000_000),
    ):
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers


def test_an_interrupted_token_is_refused_without_an_error(access: Access) -> None:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "scheme": "http",
        "method": "POST",
        "path": middleware.ENTER,
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1:8501")],
    }
    asyncio.run(middleware.Guard(Starlette(), access)(scope, receive, send))
    assert sent[0]["status"] == 403


@pytest.mark.parametrize("path", ["/", "/review", "/_stcore/health", "/_stcore/host-config", "/static/x.js", "/moot/x"])
def test_every_path_is_refused_without_the_cookie(outside: TestClient, path: str) -> None:
    for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"):
        assert outside.request(method, path, headers={"origin": BASE}).status_code == 403
    answer = outside.get(path, headers={"cookie": "moot_session_8501=forged; moot_session_8502=secret"})
    assert answer.status_code == 403
    assert "Open the address that moot printed" in answer.text


def test_every_socket_is_refused_without_the_cookie(outside: TestClient) -> None:
    for headers in ({"origin": BASE}, {"origin": BASE, "cookie": "moot_session_8501=forged"}, {}):
        with pytest.raises(WebSocketDisconnect):
            connect(outside, **headers)


@pytest.mark.parametrize("origin", [None, *FOREIGN])
def test_a_socket_of_another_origin_is_refused_even_with_the_cookie(inside: TestClient, origin: str | None) -> None:
    headers = {} if origin is None else {"origin": origin}
    with pytest.raises(WebSocketDisconnect):
        connect(inside, **headers)


def test_a_socket_of_the_studio_is_accepted(inside: TestClient) -> None:
    assert connect(inside, origin=BASE) == "inside"


@pytest.mark.parametrize("origin", FOREIGN)
def test_requests_from_another_origin_are_refused(inside: TestClient, origin: str) -> None:
    for method in ("GET", "POST", "PUT", "DELETE"):
        assert inside.request(method, "/", headers={"origin": origin}).status_code == 403


def test_post_without_an_origin_is_refused(inside: TestClient) -> None:
    assert inside.get("/").status_code == 200
    assert inside.post("/").status_code == 403


@pytest.mark.parametrize(
    ("site", "dest", "status"),
    [
        ("same-origin", "empty", 200),
        ("none", "document", 200),
        ("cross-site", "document", 200),
        ("cross-site", "image", 403),
        ("same-site", "script", 403),
        ("same-site", "iframe", 403),
        ("cross-site", "empty", 403),
    ],
)
def test_other_pages_may_link_but_not_embed(inside: TestClient, site: str, dest: str, status: int) -> None:
    answer = inside.get("/", headers={"sec-fetch-site": site, "sec-fetch-dest": dest})
    assert answer.status_code == status


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8501", "127.0.0.1.evil.example", "", "0.0.0.0:8501"])
def test_another_host_is_refused_everywhere(inside: TestClient, access: Access, host: str) -> None:
    cookie = f"moot_session_8501={access.cookie}; moot_session={access.cookie}"
    assert inside.get("/", headers={"host": host, "cookie": cookie}).status_code == 421
    assert inside.get(access.entrance, headers={"host": host}).status_code == 421
    with pytest.raises(WebSocketDisconnect):
        connect(inside, origin=f"http://{host}", host=host, cookie=cookie)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:1", "localhost:8501", "LOCALHOST", "[::1]:8501"])
def test_local_hosts_are_recognised(host: str) -> None:
    assert is_local(host)


def test_pages_may_not_load_anything_from_other_hosts(inside: TestClient) -> None:
    headers = inside.get("/").headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "SAMEORIGIN"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"


def test_pages_name_the_address_of_the_server_in_a_script_that_the_policy_allows(inside: TestClient) -> None:
    from base64 import b64encode
    from hashlib import sha256

    app = Starlette(routes=middleware.page_routes(["home", "compare"]))
    page = TestClient(app).get("/compare").text
    assert TestClient(app, follow_redirects=False).get("/home").headers["location"] == "/"
    script = page.partition("<head><script>")[2].partition("</script>")[0]
    assert "BACKEND_BASE_URL: location.origin" in script
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in inside.get("/").headers["content-security-policy"]


def test_address_below_a_page_leads_to_the_page() -> None:
    client = TestClient(Starlette(routes=middleware.page_routes(["home", "compare"])), follow_redirects=False)
    for below in ("/compare/r0001", "/compare/r0001/x", "/compare/"):
        assert client.get(below).headers["location"] == "/compare"


def test_wrong_address_leads_to_home() -> None:
    client = TestClient(Starlette(routes=middleware.page_routes(["home", "compare"])), follow_redirects=False)
    for wrong in ("/reveiw", "/a/b", "/a/b/c/"):
        assert client.get(wrong).headers["location"] == "/"
    for of_streamlit in ("/static/x.js", "/favicon.png", "/_stcore/health", "/media/x", "/component/a.b/index.html"):
        assert client.get(of_streamlit).status_code == 404, "left to Streamlit"


def test_browser_keeps_the_files_of_the_grid_whose_names_contain_a_hash(inside: TestClient) -> None:
    folder = Path(st_aggrid.__file__).parent / "frontend" / "build"
    (script,) = (path.relative_to(folder) for path in folder.glob("static/js/main.*.js"))

    def kept(path: object) -> str | None:
        return inside.get(f"/component/st_aggrid.AgGrid.agGrid/{path}").headers.get("cache-control")

    assert "immutable" in (kept(script) or "")
    assert kept("index.html") is None
    assert kept("bootstrap.min.css") is None
    inside.cookies.clear()
    assert kept(script) == "no-store", "the answer is a refusal"


def test_requests_are_read_by_the_parser_that_limits_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {}

    class Configured(Exception):
        pass

    def configure(_asgi: Any, **given: Any) -> None:
        options.update(given)
        raise Configured

    monkeypatch.setattr(uvicorn, "Config", configure)
    monkeypatch.setattr(main.streamlit_patches, "ignore_foreign_files", lambda: None)
    monkeypatch.setattr(main.bootstrap, "load_config_options", lambda _options: None)
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(Configured):
        main.serve(listener)
    assert options["http"] == "h11"
