"""The Ray job of a run, a process of its own: ``python -m core.engine.ray_job FOLDER``.

Parquet in, Parquet out, over Ray Data with checkpoints: a worker or a node that dies takes nothing with it but what
its blocks had not written, and of that the replies are in the journal.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import orjson

ROWS = 25
"""Documents of one block: what a dead worker's successor does again, from the journal."""

CPUS = 0
"""Processors that a worker reserves: it mostly waits for replies, and reading and writing must find room beside it even
on a machine with one."""


def main(folder: Path) -> None:
    """Debate every row of ``FOLDER/in`` and write how each ended to ``FOLDER/out``."""
    import ray
    from ray.data import ActorPoolStrategy, DataContext
    from ray.data.checkpoint import CheckpointConfig

    from core.engine.ray_worker import DebateWorker

    told = orjson.loads((folder / "job.json").read_bytes())
    ray.init(
        address=told["address"] or None, log_to_driver=False, include_dashboard=False, logging_level=logging.WARNING
    )
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
            compute=ActorPoolStrategy(size=told["workers"]),
            num_cpus=CPUS,
            scheduling_strategy="SPREAD",
        )
        .write_parquet(str(folder / "out"))
    )
    ray.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
