"""Turns and values of a run's debates by role and round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from core.codebook import Codebook
from core.store.annotations import item_values
from core.store.connection import Reader


@dataclass(frozen=True, slots=True)
class Utterance:
    """A role in one round.

    ``place`` is the median turn number of the role in that round. ``lists`` is the number of its turns with values.
    """

    role: str
    round: int
    place: float
    lists: int


class Stages(Reader):
    """Reader of turns by role and round, for any thread."""

    def speeches(self, run_id: str) -> list[Utterance]:
        """Return the roles with turns, round by round, in the order of the debate."""
        rows = self._connection.rows(
            "SELECT role, round, median(turn) AS place, count(values) FROM turns WHERE run_id = ? AND NOT superseded "
            "GROUP BY role, round ORDER BY place, role",
            [run_id],
        )
        return [Utterance(*row) for row in rows]

    def values(self, run_id: str, speeches: Sequence[Utterance], codebook: Codebook) -> dict[str, npt.NDArray[Any]]:
        """Return the last values of each role in each round as arrays (speech, row, column, value).

        ``speech`` is the index in ``speeches``, ``row`` the document's position in the run, and ``column`` the index of
        the item. Values are coded as in ``Annotations.grid``.
        """
        values = item_values(codebook)
        value = "list_position($values, value) - 1" if values else "try_cast(value AS DOUBLE)"
        params = {
            "run": run_id,
            "items": list(codebook.items),
            "speeches": [f"{speech.round}/{speech.role}" for speech in speeches],
        }
        if values:
            params["values"] = values
        return self._connection.numbers(
            f"""
            WITH last AS (
                SELECT document_id, list_position($speeches, round || '/' || role) - 1 AS speech, max(turn) AS turn
                FROM turns WHERE run_id = $run AND NOT superseded AND values IS NOT NULL
                GROUP BY document_id, speech, item
            ), placed AS MATERIALIZED (
                SELECT document_id, turn, speech::INTEGER AS speech, position::INTEGER AS row
                FROM last JOIN (SELECT document_id, position FROM run_documents WHERE run_id = $run) USING (document_id)
                WHERE speech IS NOT NULL
            ), items AS (
                SELECT unnest($items) AS item, (generate_subscripts($items, 1) - 1)::INTEGER AS nth
            )
            SELECT speech, row, nth AS column, ({value})::DOUBLE AS value
            FROM (
                SELECT document_id, turn, item, value FROM annotations
                WHERE run_id = $run AND annotator <> 'verdict' AND {value} IS NOT NULL
            ) JOIN placed USING (document_id, turn) JOIN items USING (item)
            """,
            params,
        )

    def ended(self, run_id: str) -> npt.NDArray[Any]:
        """Return the status of the debate on each document of the run, in its order.

        The status is ``verdict``, ``unresolved`` or ``failed``, or ``waiting`` before the debate has ended.
        """
        found = self._connection.numbers(
            "SELECT coalesce(status, 'waiting') AS status FROM (FROM run_documents WHERE run_id = $run) AS own "
            "LEFT JOIN (SELECT document_id, status FROM verdicts WHERE run_id = $run) USING (document_id) "
            "ORDER BY own.position",
            {"run": run_id},
        )
        return found["status"]
