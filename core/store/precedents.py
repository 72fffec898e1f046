"""The labelled documents that a run may show as precedents: found once, frozen with the run."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from core.documents import Value
from core.store.connection import Connection, Cursor
from core.store.rows import dump, insert, load, value_of
from core.store.writer import Writer

_COLUMNS = ("run_id", "document_id", "labels")


class PrecedentPools:
    """Reads from any thread; writes return once they are on disk."""

    def __init__(self, connection: Connection, writer: Writer) -> None:
        self._connection = connection
        self._writer = writer

    def known(self, items: Collection[str]) -> dict[str, dict[str, Value]]:
        """What is known of each document of the project, as ``outside`` has it."""
        return self._known("", {}, items)

    def outside(self, run_id: str, items: Collection[str]) -> dict[str, dict[str, Value]]:
        """What is known of the documents that the run does not debate, by document in the project's order: what a
        person settled, else the gold. Only these items; documents without any are left out."""
        return self._known(
            "ANTI JOIN (SELECT document_id FROM run_documents WHERE run_id = $run) USING (document_id)",
            {"run": run_id},
            items,
        )

    def frozen(self, run_id: str) -> dict[str, dict[str, Value]] | None:
        """The pool of a run, None before it was frozen."""
        rows = self._connection.rows("SELECT document_id, labels FROM run_precedents WHERE run_id = ?", [run_id])
        return {document: load(labels) for document, labels in rows if document} if rows else None

    def freeze(self, run_id: str, pool: Mapping[str, Mapping[str, Value]]) -> None:
        """Keep a run's pool for good; an empty one, too. A pool that is there is left as it is."""

        def run(cursor: Cursor) -> None:
            if cursor.execute("SELECT 1 FROM run_precedents WHERE run_id = ? LIMIT 1", [run_id]).fetchall():
                return
            rows = [(run_id, document, dump(dict(labels))) for document, labels in pool.items()]
            insert(cursor, "run_precedents", _COLUMNS, rows or [(run_id, "", "{}")])

        self._writer.do(run)

    def _known(self, narrowed: str, given: Mapping[str, object], items: Collection[str]) -> dict[str, dict[str, Value]]:
        rows = self._connection.rows(
            f"""SELECT document_id, item, value FROM (
                SELECT document_id, item, value FROM reviewed_labels
                UNION ALL
                SELECT document_id, item, value FROM gold_labels ANTI JOIN reviewed_labels USING (document_id, item)
            ) JOIN documents ON documents.id = document_id {narrowed} ORDER BY documents.position, item""",
            dict(given),
        )
        known: dict[str, dict[str, Value]] = {}
        for document, item, text in rows:
            value = value_of(text)
            if item in items and value is not None:
                known.setdefault(document, {})[item] = value
        return known
