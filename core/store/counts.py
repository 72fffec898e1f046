"""Counts against the truth, made in the file: how often each annotator said what, and on which documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from core.annotations import VERDICT
from core.documents import Value
from core.store.connection import Connection
from core.store.rows import dump, load

REVIEWED = "reviewed"
"""The annotator, and the truth, that people make: values of submitted documents."""

Truth: TypeAlias = Literal["gold", "reviewed"]


@dataclass(frozen=True, slots=True)
class Cell:
    """``count`` documents on which the truth of ``item`` is ``truth`` and the annotator said ``value``."""

    item: str
    truth: Value
    value: Value
    count: int


@dataclass(frozen=True, slots=True)
class ItemCounts:
    """A label against the truth: present and rightly so, wrongly, missed, rightly absent."""

    tp: int = 0
    fp: int = 0
    fn: int = 0
    tn: int = 0

    @property
    def n(self) -> int:
        """Documents counted for this label."""
        return self.tp + self.fp + self.fn + self.tn


@dataclass(frozen=True, slots=True)
class Counts:
    """``n`` documents of the run have truth for an item, a verdict and a list of this annotator; ``excluded`` have
    truth and lack one of the others. ``cells`` count only items that the truth has a value for."""

    annotator: str
    n: int
    excluded: int
    cells: tuple[Cell, ...]

    def multilabel(self) -> dict[str, ItemCounts]:
        """Present and absent by item, for items whose values are booleans."""
        found: dict[str, dict[str, int]] = {}
        for cell in self.cells:
            if isinstance(cell.truth, bool) and isinstance(cell.value, bool):
                name = ("tp" if cell.truth else "fp") if cell.value else ("fn" if cell.truth else "tn")
                found.setdefault(cell.item, {})[name] = cell.count
        return {item: ItemCounts(**counts) for item, counts in found.items()}


@dataclass(frozen=True, slots=True)
class CellDocument:
    """A document in a cell. ``first_wrong`` is the first annotator in the order of the debate whose value differs from
    the truth (``verdict`` when only that does), None when none does."""

    document_id: str
    text: str
    first_wrong: str | None


_COMMON = """
WITH truth AS MATERIALIZED (
    SELECT document_id, item, value FROM {truth} SEMI JOIN
    (SELECT document_id FROM run_documents WHERE run_id = $run) USING (document_id)
), said AS MATERIALIZED ({said}),
counted AS MATERIALIZED (
    SELECT DISTINCT document_id FROM truth SEMI JOIN said USING (document_id) {decided}
)
"""
_DECIDED = """
    SEMI JOIN (SELECT document_id FROM verdicts WHERE run_id = $run AND status = 'verdict') USING (document_id)
"""


class Evaluations:
    """Reads from any thread."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def annotators(self, run_id: str) -> list[str]:
        """Whose values a run has: its roles that gave lists, in the order they first spoke, then ``verdict``."""
        rows = self._connection.rows(
            "SELECT annotator FROM annotations WHERE run_id = ? GROUP BY annotator "
            "ORDER BY min(turn) NULLS LAST, annotator",
            [run_id],
        )
        return [name for (name,) in rows]

    def counts(
        self, run_id: str, annotator: str = VERDICT, *, truth: Truth = "gold", rater: str | None = None
    ) -> Counts:
        """The annotator (a role, ``verdict`` or ``reviewed``) against gold or against what people settled.

        Gold is ``rater``'s; with None the only one's, or the majority of them, where a tie is no truth. A document
        counts when the truth has a value for at least one of its items, the run's verdict on it has status ``verdict``
        (``reviewed`` needs none) and the annotator said something; the others with truth are ``excluded``.
        """
        common, params = self._common(run_id, annotator, truth, rater)
        n, known = self._connection.rows(
            f"{common} SELECT (SELECT count(*) FROM counted), (SELECT count(DISTINCT document_id) FROM truth)", params
        )[0]
        rows = self._connection.rows(
            f"{common} SELECT item, truth.value, said.value, count(*) FROM truth JOIN said USING (document_id, item) "
            "SEMI JOIN counted USING (document_id) GROUP BY ALL ORDER BY ALL",
            params,
        )
        cells = tuple(Cell(item, load(true), load(value), count) for item, true, value, count in rows)
        return Counts(annotator, n, known - n, cells)

    def cell(
        self,
        run_id: str,
        item: str,
        true: Value,
        value: Value,
        *,
        annotator: str = VERDICT,
        truth: Truth = "gold",
        rater: str | None = None,
        offset: int = 0,
        limit: int = 50,
    ) -> list[CellDocument]:
        """The documents behind one cell of ``counts``, in position order."""
        common, params = self._common(run_id, annotator, truth, rater)
        rows = self._connection.rows(
            f"""{common}, chosen AS MATERIALIZED (
                SELECT document_id, truth.value AS true_value FROM truth JOIN said USING (document_id, item)
                SEMI JOIN counted USING (document_id)
                WHERE item = $item AND truth.value = $true AND said.value = $value
            ), blamed AS (
                SELECT document_id, arg_min(annotator, coalesce(turn, 1000000)) AS first_wrong
                FROM annotations JOIN chosen USING (document_id)
                WHERE run_id = $run AND item = $item AND value <> true_value GROUP BY document_id
            )
            SELECT id, text, first_wrong FROM chosen JOIN documents ON id = document_id
            LEFT JOIN blamed USING (document_id) ORDER BY position LIMIT $limit OFFSET $offset""",
            {**params, "item": item, "true": dump(true), "value": dump(value), "limit": limit, "offset": offset},
        )
        return [CellDocument(*row) for row in rows]

    def values(self, run_id: str) -> pa.Table:
        """(document_id, item, annotator, value) of a run, one row a value that could be read; for statistics.

        ``value`` is JSON text (``true``, ``3``, ``"label id"``). Roles give their last list.
        """
        return self._connection.arrow(
            "SELECT document_id, item, annotator, value FROM run_values WHERE run_id = $run", {"run": run_id}
        )

    def gold_values(self) -> pa.Table:
        """(document_id, item, annotator, value) of all gold; the annotator is the rater."""
        return self._connection.arrow("SELECT document_id, item, rater AS annotator, value FROM gold")

    def reviewed_values(self) -> pa.Table:
        """(document_id, item, annotator, value) of submitted documents; the annotator is the person."""
        return self._connection.arrow("SELECT document_id, item, actor AS annotator, value FROM reviewed_labels")

    def _common(self, run_id: str, annotator: str, truth: Truth, rater: str | None) -> tuple[str, dict[str, Any]]:
        params: dict[str, Any] = {"run": run_id}
        if truth == "reviewed":
            source = "reviewed_labels"
        elif rater is not None:
            source, params["rater"] = "(SELECT * FROM gold WHERE rater = $rater)", rater
        else:
            raters = self._connection.rows("SELECT count(DISTINCT rater) FROM gold")[0][0]
            source = "gold" if raters == 1 else "gold_labels"
        if annotator == REVIEWED:
            said = "SELECT document_id, item, value FROM reviewed_labels"
        else:
            said = "SELECT document_id, item, value FROM run_values WHERE run_id = $run AND annotator = $annotator"
            params["annotator"] = annotator
        decided = "" if annotator == REVIEWED else _DECIDED
        return _COMMON.format(truth=source, said=said, decided=decided), params
