"""Sampling frames (sizes of documents, in proportion to which they are drawn) and selections of reviewed documents."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, PositiveInt

from core.store.database import Cursor
from core.store.rows import add_row, dump, insert, load
from core.store.write_queue import Repository

_DECISIONS = """events WHERE kind = 'review_status' AND after IN ('"Submitted"', '"Discarded"')
    AND act NOT IN (SELECT act FROM undone_acts)"""
"""Events by which people submitted or discarded documents, the undone ones left out."""


@dataclass(frozen=True, slots=True)
class SamplingFrame:
    """A frame of a run (1 for the first) and what its sizes rest on, as plain data."""

    run_id: str
    frame: int
    basis: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SamplingRecord:
    """Selection of a document as the next one of the review queue.

    ``probability`` is the chance that this one of the ``remaining`` documents (itself included) was next, by the sizes
    of ``frame``.
    """

    probability: Annotated[float, Field(gt=0, le=1)]
    remaining: PositiveInt
    frame: PositiveInt
    how: Literal["drawn"] = "drawn"


@dataclass(frozen=True, slots=True)
class Selection:
    """Selection of a submitted or discarded document: ``how`` and, if it was drawn, the run and the frame."""

    document_id: str
    how: str
    run_id: str | None
    frame: int | None
    discarded: bool


class SamplingFrames(Repository):
    """Frames of all runs."""

    def latest(self, run_id: str) -> SamplingFrame | None:
        """Return the last frame of a run, None before the first."""
        row = self._connection.row(
            "SELECT run_id, frame, basis FROM sampling_frames WHERE run_id = ? ORDER BY frame DESC LIMIT 1", [run_id]
        )
        return SamplingFrame(row[0], row[1], load(row[2])) if row else None

    def add(
        self, run_id: str, after: SamplingFrame | None, basis: Mapping[str, Any], sizes: Sequence[tuple[str, float]]
    ) -> SamplingFrame:
        """Store (document, size) as the frame after ``after`` and return it; another thread's frame if it was first."""
        frame = after.frame + 1 if after else 1

        def write(cursor: Cursor) -> None:
            if not cursor.execute(
                "SELECT 1 FROM sampling_frames WHERE run_id = ? AND frame = ?", [run_id, frame]
            ).fetchall():
                row = {"unix_time": time.time(), "basis": dump(dict(basis))}
                add_row(cursor, "sampling_frames", run_id=run_id, frame=frame, **row)
                rows = [(run_id, frame, document_id, size) for document_id, size in sizes]
                insert(cursor, "sampling_sizes", ("run_id", "frame", "document_id", "size"), rows)

        self._writer.do(write)
        stored = self.latest(run_id)
        assert stored is not None
        return stored

    def sizes(self, run_id: str, frame_run: str, frame: int) -> npt.NDArray[np.float64]:
        """Return the sizes of a run's documents in a frame of any run, in the order of the run; NaN for none."""
        columns = self._connection.numbers(
            "SELECT coalesce(size, 'nan'::DOUBLE) AS size FROM run_documents LEFT JOIN (SELECT document_id, size FROM "
            "sampling_sizes WHERE run_id = $frame_run AND frame = $frame) AS sizes USING (document_id) "
            "WHERE run_documents.run_id = $run ORDER BY position",
            {"run": run_id, "frame_run": frame_run, "frame": frame},
        )
        return columns["size"]

    def decided_before(self, setting: str, run_id: str) -> int:
        """Return how many documents of a run were decided before a project setting was last changed."""
        return int(
            self._connection.value(
                f"SELECT count(DISTINCT document_id) FROM {_DECISIONS} "
                "AND document_id IN (SELECT document_id FROM run_documents SEMI JOIN documents ON id = document_id "
                "WHERE run_id = $run) "
                "AND seq < (SELECT max(seq) FROM events WHERE kind = 'setting' AND item = $setting)",
                {"setting": setting, "run": run_id},
            )
        )

    def drawn_for(self, run_id: str, focus: str) -> set[str]:
        """Return the submitted or discarded documents that were drawn from frames of a run with this focus."""
        query = "SELECT frame FROM sampling_frames WHERE run_id = ? AND basis ->> '$.focus' = ?"
        frames = {row[0] for row in self._connection.rows(query, [run_id, focus])}
        return {one.document_id for one in self.selections() if one.run_id == run_id and one.frame in frames}

    def selections(self, actor: str = "") -> list[Selection]:
        """Return how each document was selected for the first person (or the actor) who decided it, in this order."""
        statuses = "person_status WHERE actor = $actor" if actor else "current_status"
        rows = self._connection.rows(
            f"""SELECT document_id, coalesce(first.payload ->> '$.how', 'chosen'), first.run,
                (first.payload ->> '$.frame')::INTEGER, status = 'Discarded'
            FROM (
                SELECT document_id, arg_min({{'payload': payload, 'run': run_id}}, seq) AS first, min(seq) AS seq
                FROM (FROM {_DECISIONS} AND ($actor = '' OR actor = $actor)) GROUP BY document_id
            ) JOIN (SELECT document_id, status FROM {statuses}) USING (document_id)
            WHERE status IN ('Submitted', 'Discarded') ORDER BY seq""",
            {"actor": actor},
        )
        return [Selection(*row) for row in rows]
