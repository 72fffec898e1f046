"""Answers of all annotators of a project, and the labels that they imply together."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from core.store.connection import Connection, Cursor
from core.store.writer import Writer

_ANSWERS = """
SELECT document_id, item, 'rater ' || rater AS annotator, value FROM gold
UNION ALL
SELECT document_id, item, 'reviewer ' || actor, value FROM person_reviews
SEMI JOIN (SELECT document_id, actor FROM person_status WHERE status = 'Submitted') USING (document_id, actor)
WHERE kind = 'review' AND value IS NOT NULL
UNION ALL
SELECT document_id, item, run_id, value FROM annotations
WHERE annotator = 'verdict' AND value IS NOT NULL AND list_contains($runs, run_id)
"""


class LatentLabels:
    """Answers and latent labels of a project. Reads work in any thread; writes return after the commit."""

    def __init__(self, connection: Connection, writer: Writer) -> None:
        self._connection = connection
        self._writer = writer

    def answers(self, runs: Sequence[str]) -> pa.Table:
        """Return (document_id, item, annotator, value) of gold raters, reviewers and the verdicts of these runs.

        ``value`` is JSON text.
        """
        return self._connection.arrow(_ANSWERS, {"runs": list(runs)})

    def replace(self, labels: pa.Table) -> None:
        """Store (document_id, item, value) as the latent labels."""

        def run(cursor: Cursor) -> None:
            cursor.execute("DELETE FROM latent_labels")
            cursor.register("new_latent_labels", labels)
            try:
                cursor.execute("INSERT INTO latent_labels SELECT document_id, item, value FROM new_latent_labels")
            finally:
                cursor.unregister("new_latent_labels")

        self._writer.do(run)
