"""Test of the checks before a Ray job starts."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from types import ModuleType

import orjson
import pytest

from core.engine import ray_job
from core.engine.ray_job import main, require_cluster, require_ray
from core.errors import UsageError
from core.runs import BUILTIN, LEXICAL_MODEL, RoleModel
from tests.core.engine.fakes import settings


def test_run_that_workers_cannot_debate_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_job, "find_spec", lambda _name: None)
    with pytest.raises(UsageError, match="not installed"):
        require_ray(settings())
    monkeypatch.setattr(ray_job, "find_spec", lambda _name: True)
    require_ray(settings())
    with pytest.raises(UsageError, match="budget"):
        require_ray(settings(budget_usd=1.0))
    roles = settings().role_models
    require_ray(settings(role_models={**roles, "judge": RoleModel(connection=BUILTIN, model=LEXICAL_MODEL)}))
    for model in ("classifier", "classifier@1a2b"):
        with pytest.raises(UsageError, match=r"classifier \(judge\)"):
            require_ray(settings(role_models={**roles, "judge": RoleModel(connection=BUILTIN, model=model)}))


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


@pytest.mark.parametrize(
    ("address", "variable", "joined", "mode"),
    [
        ("", None, "local", "token"),
        ("", "", "local", "token"),
        ("", "host:6379", "host:6379", None),
        ("other:6379", "host:6379", "other:6379", None),
    ],
)
def test_job_joins_no_cluster_that_nobody_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    address: str,
    variable: str | None,
    joined: str,
    mode: str | None,
) -> None:
    monkeypatch.setattr(os, "environ", {} if variable is None else {"RAY_ADDRESS": variable})
    started: dict[str, object] = {}

    class Started(Exception):
        pass

    def init(**options: object) -> None:
        started.update(options)
        raise Started

    modules = {name: ModuleType(name) for name in ("ray", "ray.data", "ray.data.checkpoint")}
    modules["ray"].init = init  # type: ignore[attr-defined]
    for name in ("ActorPoolStrategy", "DataContext"):
        setattr(modules["ray.data"], name, None)
    modules["ray.data.checkpoint"].CheckpointConfig = None  # type: ignore[attr-defined]
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    (tmp_path / "job.json").write_bytes(orjson.dumps({"address": address}))
    with pytest.raises(Started):
        main(tmp_path)
    assert (started["address"], os.environ.get("RAY_AUTH_MODE")) == (joined, mode)
