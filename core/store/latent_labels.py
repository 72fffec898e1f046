"""Answers of all annotators of a project, and the labels that they imply together."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from core.store.connection import Cursor
from core.store.conversion import incoming
from core.store.writer import Repository

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


class LatentLabels(Repository):
    """Answers and latent labels of a project. Reads work in any thread; writes return after the commit."""

    def answers(self, runs: Sequence[str]) -> pa.Table:
        """Return (document_id, item, annotator, value) of gold raters, reviewers and the verdicts of these runs.

        ``value`` is JSON text.
        """
        return self._connection.arrow(_ANSWERS, {"runs": list(runs)})

    def replace(self, labels: pa.Table) -> None:
        """Store (document_id, item, value) as the latent labels."""

        def run(cursor: Cursor) -> None:
            cursor.execute("DELETE FROM latent_labels")
            with incoming(cursor, labels):
                cursor.execute("INSERT INTO latent_labels SELECT document_id, item, value FROM incoming")

        self._writer.do(run)
