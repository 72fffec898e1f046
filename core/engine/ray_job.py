"""The Ray job of a run, which is its own process: ``python -m core.engine.ray_job FOLDER``.

It reads and writes Parquet over Ray Data with checkpoints. If a worker or node dies, only the unwritten rows of its
blocks are lost, and their replies are in the shared log.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import orjson

from core.errors import UsageError
from core.runs import LEXICAL_MODEL, RunSettings, builtin_name

ROWS = 25
"""Documents per block. After a worker dies, its block is debated again from the logged replies."""

CPUS = 0
"""Processors that a worker reserves: it mostly waits, and reading and writing must run beside it."""

LOCAL = "local"
"""Address of a new cluster on this machine."""

CONNECT_SECONDS = 5.0
"""Longest wait for the address of a cluster. Ray itself tries for minutes, without a message."""


def require_ray(settings: RunSettings) -> None:
    """Raise UsageError if Ray is not installed, or if a run has a budget or the project's classifier in a role."""
    if find_spec("ray") is None:
        raise UsageError("Ray is not installed.", "Install Moot with the extra 'ray'.")
    if settings.budget_usd is not None:
        raise UsageError(
            "A budget cannot be enforced on several machines.", "Omit the budget, or use the live or batch engine."
        )
    for role, role_model in settings.role_models.items():
        if role_model.is_builtin and builtin_name(role_model.model)[0] != LEXICAL_MODEL:
            raise UsageError(
                f"The classifier ({role}) is only in this project, not on the machines of a Ray cluster.",
                "Use the live or batch engine, or another model.",
            )


def cluster_address(address: str) -> str:
    """Return the address of the cluster: ``ray_address``, or else ``RAY_ADDRESS``, or else ``local``.

    Without an address, Ray would join the cluster that a file in ``/tmp`` names, which any user can write.
    """
    return address or os.environ.get("RAY_ADDRESS") or LOCAL


def require_cluster(address: str) -> None:
    """Raise UsageError if nothing listens at the address of the cluster, unless Ray finds or starts it itself."""
    address = cluster_address(address)
    if address in ("auto", LOCAL):
        return
    remedy = (
        "Start the cluster, or name another one with --param ray_address=HOST:PORT. A run keeps its address: "
        "moot rerun RUN --engine ray --param ray_address=HOST:PORT reuses its replies."
    )
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or not port:
        raise UsageError(f"'{address}' is not the address HOST:PORT or ray://HOST:PORT of a Ray cluster.", remedy)
    try:
        socket.create_connection((host, port), CONNECT_SECONDS).close()
    except OSError as error:
        raise UsageError(f"No Ray cluster can be reached at {address} ({error}).", remedy) from error


def main(folder: Path) -> None:
    """Debate every row of ``FOLDER/in`` and write the status of each debate to ``FOLDER/out``."""
    job = orjson.loads((folder / "job.json").read_bytes())
    address = cluster_address(job["address"])
    if address == LOCAL:  # Ray listens on all interfaces; it creates the token itself
        os.environ.setdefault("RAY_AUTH_MODE", "token")

    import ray
    from ray.data import ActorPoolStrategy, DataContext
    from ray.data.checkpoint import CheckpointConfig

    from core.engine.ray_worker import DebateWorker

    ray.init(address=address, log_to_driver=False, include_dashboard=False, logging_level=logging.WARNING)
    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.checkpoint_config = CheckpointConfig(
        id_column="id", checkpoint_path=str(folder / "checkpoint"), delete_checkpoint_on_success=False
    )
    (
        ray.data.read_parquet(str(folder / "in"))
        .repartition(target_num_rows_per_block=ROWS)
        .map_batches(
            DebateWorker,
            fn_constructor_args=(str(folder),),
            batch_size=ROWS,
            compute=ActorPoolStrategy(size=job["workers"]),
            num_cpus=CPUS,
            scheduling_strategy="SPREAD",
        )
        .write_parquet(str(folder / "out"))
    )
    ray.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
