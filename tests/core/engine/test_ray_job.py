"""Test of the checks before a Ray job starts."""

from __future__ import annotations

import socket

import pytest

from core.engine.ray_job import require_cluster
from core.errors import UsageError


def test_cluster_is_looked_for_only_at_a_host_and_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    for address in ("", "auto", "local"):
        require_cluster(address)
    with socket.create_server(("127.0.0.1", 0)) as server:
        where = f"127.0.0.1:{server.getsockname()[1]}"
        for address in (where, f"ray://{where}"):
            require_cluster(address)
    monkeypatch.setenv("RAY_ADDRESS", where)
    with pytest.raises(UsageError, match=where):
        require_cluster("")


@pytest.mark.parametrize("address", ["host", "ray://host", "host:port", "host:99999", ":6379"])
def test_address_without_host_or_port_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT"):
        require_cluster(address)
