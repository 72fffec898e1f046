"""Trained classifiers, their certainties, nearest neighbours, and codebook examples from documents."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.codebook import Codebook
from core.documents import Value
from core.store.annotation_sources import AllowedValues
from core.store.database import Cursor
from core.store.rows import add_row, columns_of, dump, incoming, insert, load, scalar
from core.store.write_queue import Repository

CLASSIFIER = "classifier"
"""The annotator under which certainties are stored."""
_COLUMNS = ("hash", "body", "facts", "card", "unix_time", "origin")
"""Columns in the order of the fields of ``StoredClassifier``."""
_CERTAINTY = ("annotator", "document_id", "item", "certainty")
_NEIGHBOUR = ("document_id", "precedent_id", "similarity")


@dataclass(frozen=True, slots=True)
class StoredClassifier:
    """A trained classifier as stored. ``facts`` describes its training as plain data, ``card`` in Markdown."""

    hash: str
    body: bytes
    facts: Mapping[str, Any]
    card: str
    at: float
    origin: str = ""
    """Name of the file that the classifier was imported from; empty when it was trained in this project."""


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """The final value of an item of a reviewed document, with the document's text."""

    document_id: str
    text: str
    item: str
    value: Value
    actor: str
    group: str = ""


class ClassifierStore(Repository):
    """Classifiers and predictions of a project."""

    def training_examples(self) -> list[TrainingExample]:
        """Return all values of reviewed documents, in position order of the documents and then by item."""
        rows = self._connection.rows(
            "SELECT document_id, text, item, value, actor, coalesce(group_name, '') FROM reviewed_labels "
            "JOIN documents ON id = document_id ORDER BY position, item"
        )
        return [TrainingExample(id, text, item, load(value), *others) for id, text, item, value, *others in rows]

    def count_reviewed(self, codebook: Codebook) -> int:
        """Return the number of documents with a training example that the codebook allows."""
        allowed = AllowedValues(codebook)
        return int(
            self._connection.value(
                "SELECT count(DISTINCT document_id) FROM reviewed_labels JOIN documents ON id = document_id "
                f"WHERE {allowed.test}",
                allowed.params,
            )
        )

    def save(self, classifier: StoredClassifier) -> None:
        """Store a classifier; one trained here replaces earlier ones trained here that no run uses."""

        def write(cursor: Cursor) -> None:
            cursor.execute(
                "DELETE FROM classifiers WHERE hash = $hash OR ($origin = '' AND origin = '' AND NOT EXISTS "
                "(SELECT 1 FROM runs WHERE contains(settings, '@' || hash || $quote)))",
                {"hash": classifier.hash, "origin": classifier.origin, "quote": '"'},
            )
            facts, at = dump(classifier.facts), classifier.at
            last_event = scalar(cursor, "SELECT coalesce(max(seq), 0) FROM events")
            row = (classifier.hash, classifier.body, facts, classifier.card, at, classifier.origin, last_event)
            insert(cursor, "classifiers", (*_COLUMNS, "last_event"), [row])

        self._writer.do(write)

    def load(self, hash: str | None = None) -> StoredClassifier | None:
        """Return the classifier with this hash, or the latest trained here; None when there is none."""
        tail = "WHERE origin = '' ORDER BY rowid DESC LIMIT 1" if hash is None else "WHERE hash = ?"
        sql = f"SELECT {', '.join(_COLUMNS)} FROM classifiers {tail}"
        row = self._connection.row(sql, [] if hash is None else [hash])
        return StoredClassifier(row[0], bytes(row[1]), load(row[2]), *row[3:]) if row else None

    def training_documents(self, run_id: str) -> list[str]:
        """Return documents that were submitted before a classifier of this run was trained, once per commit.

        They may be training data. Empty for a run without a classifier, and for an imported one.
        """
        query = """
            SELECT DISTINCT document_id FROM events WHERE kind = 'review_status' AND after = '"Submitted"'
            AND seq <= (
                SELECT max(last_event) FROM classifiers WHERE origin = ''
                AND contains((SELECT settings FROM runs WHERE run_id = $run), '@' || hash || $quote))
            """
        params = {"run": run_id, "quote": '"'}
        return list(self._once_per_commit(run_id, lambda: self._connection.column(query, params)))

    def latest_facts(self) -> tuple[str, Mapping[str, Any]] | None:
        """Return hash and facts of the latest classifier trained here, without its body."""
        row = self._connection.row("SELECT hash, facts FROM classifiers WHERE origin = '' ORDER BY rowid DESC LIMIT 1")
        return (row[0], load(row[1])) if row else None

    def save_predictions(
        self,
        document_ids: Sequence[str],
        certainties: Sequence[tuple[str, str, float]],
        neighbours: Sequence[tuple[str, str, float]],
    ) -> None:
        """Replace the stored predictions for these documents.

        Rows are (document, item, certainty) of the classifier and (document, nearest reviewed document, similarity).
        Pass some hundreds at a time, because longer transactions delay other writers.
        """

        def write(cursor: Cursor) -> None:
            with incoming(cursor, columns_of(("id",), [(id,) for id in document_ids])):
                among = "document_id IN (SELECT id FROM incoming)"
                cursor.execute(f"DELETE FROM certainties WHERE annotator = ? AND {among}", [CLASSIFIER])
                cursor.execute(f"DELETE FROM neighbours WHERE {among}")
            insert(cursor, "certainties", _CERTAINTY, [(CLASSIFIER, *row) for row in certainties])
            insert(cursor, "neighbours", _NEIGHBOUR, list(neighbours))

        if document_ids:
            self._writer.do(write)

    def codebook_examples(self) -> list[tuple[str, str, str]]:
        """Return (document, label id, part) of all document texts that are used in the codebook."""
        return self._connection.rows(
            "SELECT document_id, label, part FROM codebook_examples ORDER BY unix_time, document_id"
        )

    def add_codebook_example(
        self, document_id: str, label: str, part: str, text: str, version: int, *, actor: str
    ) -> None:
        """Record that text of a document is used in the codebook from this version on."""
        row = {"document_id": document_id, "label": label, "part": part, "text": text, "codebook_version": version}
        row |= {"unix_time": time.time(), "actor": actor}
        self._writer.do(lambda cursor: add_row(cursor, "codebook_examples", **row))
