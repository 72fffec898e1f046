"""Values of several reviewers, and of one reviewer before and after the reveal, on the same documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from core.documents import Value
from core.store.database import Reader
from core.store.reviews import IS_SUBMISSION
from core.store.row_conversion import load

Numbers: TypeAlias = npt.NDArray[np.float64]

_OWN = """
WITH own AS (
    SELECT document_id, actor FROM person_status
    WHERE status = 'Submitted' AND document_id IN (SELECT document_id FROM run_documents WHERE run_id = $run)
), several AS (SELECT document_id FROM own GROUP BY document_id HAVING count(*) > 1)
"""
# Reviewers see each other's labels once both have submitted. A label changed after that is not independent.
_DEPENDENT = f"""
first AS (
    SELECT document_id, actor, min(seq) AS seq FROM events WHERE {IS_SUBMISSION} GROUP BY document_id, actor
), visible AS (
    SELECT own.document_id, own.actor, greatest(own.seq, min(other.seq)) AS seq
    FROM first AS own JOIN first AS other ON other.document_id = own.document_id AND other.actor <> own.actor
    GROUP BY own.document_id, own.actor, own.seq
), dependent AS (
    SELECT DISTINCT document_id, actor FROM events JOIN visible USING (document_id, actor)
    WHERE kind = 'review' AND after IS DISTINCT FROM before AND events.seq > visible.seq
)
"""
_BLIND = """
WITH before AS (
    SELECT document_id, actor, arg_min(after, seq) AS given FROM events
    WHERE kind = 'mark' AND item = 'blind' AND after IS NOT NULL AND run_id = $run GROUP BY document_id, actor
), current AS (
    SELECT document_id, actor, item, value FROM person_reviews
    SEMI JOIN (SELECT document_id, actor FROM person_status WHERE status = 'Submitted') USING (document_id, actor)
    WHERE kind = 'review' AND value IS NOT NULL AND run_id = $run
), beside AS (
    SELECT CASE coalesce(group_name, '') WHEN '' THEN 'd' || current.document_id ELSE 'g' || group_name END AS unit,
           current.value AS now, verdict.value AS verdict,
           -- A JSON pointer: an id from somebody's own codebook may hold quotes and dots.
           json_extract(before.given, '/' || replace(replace(current.item, '~', '~0'), '/', '~1'))::VARCHAR AS blind
    FROM current JOIN (SELECT document_id, item, value FROM annotations
                    WHERE run_id = $run AND annotator = 'verdict' AND value IS NOT NULL) AS verdict
        ON verdict.document_id = current.document_id AND verdict.item = current.item
    LEFT JOIN documents ON documents.id = current.document_id
    LEFT JOIN before ON before.document_id = current.document_id AND before.actor = current.actor
)
SELECT count(*) FILTER (blind IS NOT NULL), count(*) FILTER (blind = verdict), count(*) FILTER (now <> blind),
       count(*) FILTER (now <> blind AND now = verdict),
       count(*) FILTER (blind IS NULL), count(*) FILTER (blind IS NULL AND now = verdict)
FROM beside GROUP BY unit ORDER BY unit
"""


@dataclass(frozen=True, slots=True)
class ReviewerValues:
    """The value of a reviewer who submitted a document, for one of its items.

    It is not ``independent`` if the reviewer changed the document while the labels of another one were visible.
    """

    document_id: str
    item: str
    actor: str
    value: Value
    independent: bool


@dataclass(frozen=True, slots=True, eq=False)
class Anchoring:
    """Counts of submitted values on items with a verdict, each by document or group of documents, ``[unit]``.

    ``blind`` values were given before the reveal. ``blind_agreed`` of them equal the verdict, ``changed`` were changed
    afterwards, ``towards`` were changed to the verdict. ``shown`` values were given with the verdict visible, and
    ``shown_agreed`` of them equal the verdict.
    """

    blind: Numbers
    blind_agreed: Numbers
    changed: Numbers
    towards: Numbers
    shown: Numbers
    shown_agreed: Numbers


class ReviewerAgreement(Reader):
    """Reader of the values of several reviewers, for any thread."""

    def submitted(self, run_id: str) -> dict[str, int]:
        """Return the number of submitted documents of the run by reviewer."""
        rows = self._connection.rows(f"{_OWN} SELECT actor, count(*) FROM own GROUP BY actor ORDER BY actor",
                                     {"run": run_id})  # fmt: skip
        return dict(rows)

    def double(self, run_id: str, items: Sequence[str]) -> list[ReviewerValues]:
        """Return each reviewer's values on documents that at least two have submitted, in the order of the run."""
        rows = self._connection.rows(
            f"""{_OWN}, {_DEPENDENT} SELECT document_id, item, actor, value,
                (document_id, actor) NOT IN (SELECT (document_id, actor) FROM dependent) FROM person_reviews
            SEMI JOIN own USING (document_id, actor) SEMI JOIN several USING (document_id)
            JOIN (SELECT document_id, position FROM run_documents WHERE run_id = $run) USING (document_id)
            WHERE kind = 'review' AND value IS NOT NULL AND list_contains($items, item)
            ORDER BY position, item, actor""",
            {"run": run_id, "items": list(items)},
        )
        return [
            ReviewerValues(document, item, actor, load(value), independent)
            for document, item, actor, value, independent in rows
        ]

    def adjudicated(self) -> dict[tuple[str, str], tuple[Value, str]]:
        """Return the adjudicated value and its author by (document, item)."""
        rows = self._connection.rows(
            "SELECT document_id, item, arg_max(value, seq), arg_max(actor, seq) FROM person_reviews "
            "WHERE kind = 'adjudication' AND value IS NOT NULL GROUP BY document_id, item"
        )
        return {(document, item): (load(value), actor) for document, item, value, actor in rows}

    def anchoring(self, run_id: str) -> Anchoring:
        """Return how far decisions follow the verdict, blind and with the verdict visible."""
        rows = self._connection.rows(_BLIND, {"run": run_id})
        return Anchoring(*np.array(rows, dtype=np.float64).reshape(len(rows), len(fields(Anchoring))).T)
