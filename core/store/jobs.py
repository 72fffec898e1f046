"""Files of requests that are out at a server: the engine's ``Jobs`` port."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from core.engine.jobs import Job
from core.runs import RoleModel
from core.store.connection import Connection, Cursor
from core.store.rows import clean, insert
from core.store.writer import Writer


class BatchJobs:
    """Safe to call from the engine's loop: nothing here blocks it."""

    def __init__(self, connection: Connection, writer: Writer) -> None:
        self._connection = connection
        self._writer = writer

    async def out(self) -> Sequence[Job]:
        """All that have not been collected, oldest first."""
        rows = await asyncio.to_thread(
            self._connection.rows,
            "SELECT mark, run_id, connection, model, base_url, remote, list(key) FROM batches "
            "JOIN batch_requests USING (mark) WHERE outcome IS NULL GROUP BY ALL ORDER BY min(unix_time)",
        )
        return [
            Job(mark, run_id, RoleModel(connection=place, model=model, base_url=url), tuple(keys), remote)
            for mark, run_id, place, model, url, remote, keys in rows
        ]

    async def count(self, run_id: str) -> int:
        """How many a run has ever had."""
        rows = await asyncio.to_thread(self._connection.rows, "SELECT count(*) FROM batches WHERE run_id = ?", [run_id])
        return int(rows[0][0])

    async def begin(self, job: Job) -> None:
        """Return once it is on disk that these requests are about to go out."""

        def run(cursor: Cursor) -> None:
            role_model = job.role_model
            cursor.execute(
                "INSERT INTO batches VALUES (?, ?, ?, ?, ?, '', ?, NULL)",
                [
                    job.mark,
                    job.run_id,
                    role_model.connection,
                    clean(role_model.model),
                    role_model.base_url,
                    time.time(),
                ],
            )
            insert(cursor, "batch_requests", ("mark", "key"), [(job.mark, key) for key in job.keys])

        await asyncio.wrap_future(self._writer.call(run))

    async def went(self, mark: str, remote: str) -> None:
        """Return once the server's name of the job is on disk."""
        await self._set("UPDATE batches SET remote = ? WHERE mark = ?", [clean(remote), mark])

    async def over(self, mark: str, outcome: str) -> None:
        """Return once it is on disk that nothing more is expected of it."""
        await self._set("UPDATE batches SET outcome = ? WHERE mark = ?", [clean(outcome), mark])

    async def _set(self, sql: str, params: list[str]) -> None:
        def run(cursor: Cursor) -> None:
            cursor.execute(sql, params)

        await asyncio.wrap_future(self._writer.call(run))
