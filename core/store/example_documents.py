"""Pool of labelled documents that a run may show as examples, found once and frozen with the run."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from core.documents import Value
from core.store.connection import Cursor
from core.store.conversion import dump, insert, load, value_of
from core.store.writer import Repository

_COLUMNS = ("run_id", "document_id", "labels")


class PrecedentPools(Repository):
    """Example pools of a project's runs. Reads work in any thread; writes return after the commit."""

    def known(self, items: Collection[str], *, outside: str | None = None) -> dict[str, dict[str, Value]]:
        """Return the known labels of each document of the project, or of those that are not in the run ``outside``.

        Reviewed labels take precedence over gold. Only these items count; documents without any are left out. Documents
        are in the project's order.
        """
        rows = self._connection.rows(
            """SELECT document_id, item, value FROM (
                SELECT document_id, item, value FROM reviewed_labels
                UNION ALL
                SELECT document_id, item, value FROM gold_labels ANTI JOIN reviewed_labels USING (document_id, item)
            ) JOIN documents ON documents.id = document_id
            ANTI JOIN (SELECT document_id FROM run_documents WHERE run_id = $run) USING (document_id)
            ORDER BY documents.position, item""",
            {"run": outside},
        )
        known: dict[str, dict[str, Value]] = {}
        for document, item, text in rows:
            value = value_of(text)
            if item in items and value is not None:
                known.setdefault(document, {})[item] = value
        return known

    def frozen(self, run_id: str) -> dict[str, dict[str, Value]] | None:
        """Return the pool of a run, None before it was frozen."""
        rows = self._connection.rows("SELECT document_id, labels FROM run_precedents WHERE run_id = ?", [run_id])
        return {document: load(labels) for document, labels in rows if document} if rows else None

    def freeze(self, run_id: str, pool: Mapping[str, Mapping[str, Value]]) -> None:
        """Store a run's pool, even an empty one. An existing pool is not changed."""

        def run(cursor: Cursor) -> None:
            if cursor.execute("SELECT 1 FROM run_precedents WHERE run_id = ? LIMIT 1", [run_id]).fetchall():
                return
            rows = [(run_id, document, dump(dict(labels))) for document, labels in pool.items()]
            insert(cursor, "run_precedents", _COLUMNS, rows or [(run_id, "", "{}")])

        self._writer.do(run)
