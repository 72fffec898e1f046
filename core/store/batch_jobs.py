"""Submitted batches: the engine's ``BatchJobs``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from core.engine.interfaces import BatchJob
from core.runs import RoleModel
from core.store.database import Cursor
from core.store.row_conversion import add_row, clean, insert
from core.store.write_queue import Repository


class BatchJobStore(Repository):
    """The engine's ``BatchJobs``. Safe to call from the engine's loop: no method blocks it."""

    async def open_jobs(self) -> Sequence[BatchJob]:
        """Return the jobs of all runs that have not been collected, oldest first."""
        rows = await asyncio.to_thread(
            self._connection.rows,
            "SELECT name, run_id, connection, model, base_url, remote_id, list(key) FROM batches "
            "JOIN batch_requests USING (name) WHERE outcome IS NULL GROUP BY ALL ORDER BY min(unix_time)",
        )
        return [
            BatchJob(name, run_id, RoleModel(connection=connection, model=model, base_url=url), tuple(keys), remote_id)
            for name, run_id, connection, model, url, remote_id, keys in rows
        ]

    async def count(self, run_id: str) -> int:
        """Return how many jobs a run has ever had."""
        rows = await asyncio.to_thread(self._connection.rows, "SELECT count(*) FROM batches WHERE run_id = ?", [run_id])
        return int(rows[0][0])

    async def begin(self, job: BatchJob) -> None:
        """Return once it is on disk that this job is about to be submitted."""

        def run(cursor: Cursor) -> None:
            model = job.role_model
            add_row(
                cursor, "batches", job.name, job.run_id, model.connection, model.model, model.base_url, "", time.time(),
                None,
            )  # fmt: skip
            insert(cursor, "batch_requests", ("name", "key"), [(job.name, key) for key in job.keys])

        await asyncio.wrap_future(self._writer.call(run))

    async def submitted(self, name: str, remote_id: str) -> None:
        """Return once the server's id of the job is on disk."""
        await self._set("UPDATE batches SET remote_id = ? WHERE name = ?", [clean(remote_id), name])

    async def close_job(self, name: str, outcome: str) -> None:
        """Return once it is on disk that no more replies are expected."""
        await self._set("UPDATE batches SET outcome = ? WHERE name = ?", [clean(outcome), name])

    async def _set(self, sql: str, params: list[str]) -> None:
        await asyncio.wrap_future(self._writer.call(lambda cursor: cursor.execute(sql, params)))
