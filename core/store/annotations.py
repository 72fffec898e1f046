"""Values of annotators on the documents of a run, and other facts about these documents for statistics."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from core.codebook import Codebook
from core.documents import VERDICT, Value, as_rating
from core.store.annotation_sources import (
    GOLD,
    LATENT,
    REVIEWED,
    REVIEWED_OR_GOLD,
    RUN,
    SUBMITTED_VALUES,
    AllowedValues,
    AnnotationSource,
    of_run,
    source_of,
    source_query,
)
from core.store.documents import STATE
from core.store.rows import load, values_by_key
from core.store.runs import IS_LISTED
from core.store.write_queue import Repository

Grid: TypeAlias = npt.NDArray[np.float64]
"""``[document, item]`` or ``[..., document, item]``, NaN for no value.

The others are 1 and 0 in a multilabel codebook, a label's index in a choice, a rating.
"""

DECISION_CERTAINTY = """
SELECT document_id, (arg_max(reading, turn) -> '$.certainty')::MAP(VARCHAR, DOUBLE) AS certain
FROM turns WHERE run_id = $run AND role = $role AND values IS NOT NULL AND NOT superseded GROUP BY document_id, item
"""
# The lists of samples, numbered on each document from 0 in the order of their turns. A list that was requested again
# although it is readable (it lacked ratings or was cut) is replaced by the second one. Second requests follow all first
# ones, in the order of these.
_SAMPLES = """
WITH asked AS (
    SELECT document_id, turn, retry, values IS NOT NULL AS is_list, retry = 0 AND (
        reading ->> '$.problem' <> '' OR json_array_length(reading -> '$.missing') > 0 OR finish_reason = 'length'
    ) AS again
    FROM turns JOIN replies USING (key) WHERE turns.run_id = $run AND NOT superseded
), numbered AS (
    SELECT *, row_number() OVER (PARTITION BY document_id, retry, again ORDER BY turn) AS place FROM asked
)
SELECT document_id, turn, row_number() OVER (PARTITION BY document_id ORDER BY turn) - 1 AS step
FROM (FROM numbered WHERE is_list) AS own ANTI JOIN (FROM numbered WHERE is_list AND retry > 0) AS second
    ON own.again AND second.document_id = own.document_id AND second.place = own.place
"""
_LAST_IN_ROUND = """
SELECT document_id, list_position($rounds, round || '/' || role) - 1 AS step, max(turn) AS turn
FROM turns WHERE run_id = $run AND NOT superseded AND values IS NOT NULL GROUP BY document_id, step, item
"""
# Without documents that others have replaced: these keep their places in the run, but have no values.
_OWN = """(
    SELECT document_id, position FROM run_documents SEMI JOIN documents ON id = document_id WHERE run_id = $run
)"""
_PER_DOCUMENT = """
SELECT {} AS value FROM run_documents LEFT JOIN documents ON id = document_id
WHERE run_id = $run ORDER BY run_documents.position
"""


class Annotations(Repository):
    """Reader of the annotations of runs, reviewers and raters."""

    def annotators(self, run_id: str) -> list[str]:
        """Return the annotators of a run: roles with values in the order of their first turn, then ``verdict``."""
        return self._connection.column(
            "SELECT annotator FROM annotations WHERE run_id = ? GROUP BY annotator "
            "ORDER BY min(turn) NULLS LAST, annotator",
            [run_id],
        )

    def reviewed_items(self) -> list[tuple[str, str, int | None]]:
        """Return (document id, item, codebook version) of the values of submitted documents."""
        return self._connection.rows(
            "SELECT document_id, item, codebook_version FROM current_reviews "
            "SEMI JOIN (SELECT document_id FROM current_status WHERE status = 'Submitted') USING (document_id) "
            "SEMI JOIN documents ON id = document_id"
        )

    def basis(self, reference: str = GOLD, annotator: str = VERDICT) -> tuple[Any, ...]:
        """Return a value that changes whenever scores of an annotator against this reference may have changed.

        Imports, gold, verdicts, turns and codebook examples change the value. Events do too, unless the reference is
        gold and the annotator the run's own. For the latent truth a run that finishes changes it.
        """
        selections = [
            *STATE, "count(*) FROM verdicts", "sum(retry) FROM runs", "count(*) FROM superseded_verdicts",
            "count(*) FROM turns", "count(*) FROM codebook_examples",
        ]  # fmt: skip
        if reference != GOLD or not is_own(annotator):
            selections.append("max(seq) FROM events")
        if reference == LATENT:
            selections.append("count(*) FROM runs WHERE state = 'done'")
        return self._connection.integers(selections)

    def grid(self, run_id: str, codebook: Codebook, annotator: str) -> Grid:
        """Return an annotator's values on the run's documents, ``[document, item]`` in their order; NaN for no value.

        ``annotator`` is a role of the run, its ``verdict``, or the name of a source (``annotators``). A value is 1 or 0
        in a multilabel codebook, a label's index in a choice, and a rating. Values outside the codebook are left out,
        and those of documents that the project does not have any more.
        """
        source = of_run(run_id, annotator) if is_own(annotator) else source_of(annotator)
        rows, params = source_query(self._connection, source, codebook)
        allowed = AllowedValues(codebook)
        query = f"""
            SELECT 0 AS step, position::INTEGER AS row, (list_position($items, item) - 1)::INTEGER AS column,
                   coalesce(({allowed.code})::DOUBLE, 'nan') AS value
            FROM ({rows}) JOIN {_OWN} USING (document_id)
            WHERE list_contains($items, item) ORDER BY turn
            """
        return self._grids(query, run_id, codebook.items, {**allowed.params, **params}, 1).squeeze(axis=0)

    def decision_certainty(self, run_id: str, role: str, items: Sequence[str]) -> Grid:
        """Return the certainty (0 to 1) of the last decisions of a role, ``[document, item]``; NaN if unknown."""
        query = f"""
            SELECT 0 AS step, position::INTEGER AS row, (list_position($items, item) - 1)::INTEGER AS column,
                   certain[item]::DOUBLE AS value
            FROM ({DECISION_CERTAINTY}) JOIN {_OWN} USING (document_id), unnest($items) AS asked(item)
            WHERE certain[item] IS NOT NULL
            """
        return self._grids(query, run_id, items, {"role": role}, 1).squeeze(axis=0)

    def debate_rounds(self, run_id: str) -> list[tuple[str, int]]:
        """Return (role, round) of all turns with values, in the order of the debate."""
        return self._connection.rows(
            "SELECT role, round FROM turns WHERE run_id = ? AND NOT superseded GROUP BY role, round "
            "HAVING count(values) > 0 ORDER BY median(turn), role",
            [run_id],
        )

    def round_values(self, run_id: str, rounds: Sequence[tuple[str, int]], codebook: Codebook) -> Grid:
        """Return the last values of each (role, round), ``[round, document, item]``, coded as in ``grid``."""
        names = [f"{round}/{role}" for role, round in rounds]
        return self._turn_values(run_id, codebook, _LAST_IN_ROUND, {"rounds": names}, len(rounds))

    def sample_values(self, run_id: str, codebook: Codebook) -> Grid:
        """Return the samples of a run in their order, ``[sample, document, item]``, coded as in ``grid``."""
        return self._turn_values(run_id, codebook, _SAMPLES, {})

    def _turn_values(
        self, run_id: str, codebook: Codebook, steps: str, params: dict[str, Any], count: int | None = None
    ) -> Grid:
        """Return the values of the turns in (document_id, turn, step) rows, ``[step, document, item]``."""
        allowed = AllowedValues(codebook)
        query = f"""
            WITH steps AS MATERIALIZED (
                SELECT document_id, turn, step::INTEGER AS step, position::INTEGER AS row
                FROM ({steps}) JOIN {_OWN} USING (document_id) WHERE step IS NOT NULL
            )
            SELECT step, row, (list_position($items, item) - 1)::INTEGER AS column, ({allowed.code})::DOUBLE AS value
            FROM (
                SELECT document_id, turn, item, value FROM annotations
                WHERE run_id = $run AND annotator <> 'verdict' AND {allowed.test}
            ) JOIN steps USING (document_id, turn)
            """
        return self._grids(query, run_id, codebook.items, {**params, **allowed.params}, count)

    def _grids(self, query: str, run_id: str, items: Sequence[str], params: dict[str, Any], count: int | None) -> Grid:
        """Return the (step, row, column, value) rows of a query, ``[step, document, item]``. A later row counts.

        Without ``count`` the last step is the highest one that has a value.
        """
        columns = self._connection.numbers(query, {"run": run_id, "items": list(items), **params})
        if count is None:
            count = columns["step"].max(initial=-1) + 1
        size = "SELECT count(*) FROM run_documents WHERE run_id = ?"
        documents = self._once_per_commit((size, run_id), lambda: self._connection.value(size, [run_id]))
        grids = np.full((count, documents, len(items)), np.nan)
        grids[columns["step"], columns["row"], columns["column"]] = columns["value"]
        return grids

    def debate_statuses(self, run_id: str) -> npt.NDArray[np.str_]:
        """Return the status of the debate on each document of the run, in its order.

        The status is ``verdict``, ``unresolved`` or ``failed``, ``waiting`` before the debate has ended, or ``removed``
        if the project does not have the document any more.
        """
        columns = self._connection.numbers(
            "SELECT if(documents.id IS NULL, 'removed', coalesce(status, 'waiting')) AS status "
            "FROM (FROM run_documents WHERE run_id = $run) AS own "
            "LEFT JOIN (SELECT document_id, status FROM verdicts WHERE run_id = $run) USING (document_id) "
            "LEFT JOIN documents ON documents.id = own.document_id ORDER BY own.position",
            {"run": run_id},
        )
        return columns["status"]

    def words(self, run_id: str) -> npt.NDArray[np.int64]:
        """Return the word counts of the texts of the run's documents, in its order."""
        columns = self._connection.numbers(_PER_DOCUMENT.format("coalesce(words, 0)::BIGINT"), {"run": run_id})
        return columns["value"]

    def groups(self, run_id: str) -> list[str]:
        """Return the group of each of the run's documents, in its order; empty for none."""
        return self._connection.column(_PER_DOCUMENT.format("coalesce(group_name, '')"), {"run": run_id})

    def columns(self, run_id: str) -> list[str]:
        """Return the names of the imported columns of the run's documents, in order of their first appearance."""
        by_document = self._connection.column(
            "SELECT json_keys(source) AS names FROM run_documents JOIN documents ON id = document_id "
            "WHERE run_id = ? GROUP BY names ORDER BY min(run_documents.position)",
            [run_id],
        )
        return list(dict.fromkeys(chain.from_iterable(by_document)))

    def column(self, run_id: str, name: str) -> list[str | None]:
        """Return an imported column of each of the run's documents as text, in its order; None for no value."""
        value = "map_extract_value(source::JSON::MAP(VARCHAR, VARCHAR), $name)"
        return self._connection.column(_PER_DOCUMENT.format(value), {"run": run_id, "name": name})

    def tags(self, run_id: str) -> list[tuple[str, str]]:
        """Return (document id, error tag) pairs of the run's documents, from the latest tagging of each document."""
        return self._connection.rows(
            """
            SELECT document_id, unnest(from_json(value, '["VARCHAR"]')) AS tag FROM current_marks
            SEMI JOIN (SELECT document_id FROM run_documents WHERE run_id = $run) USING (document_id)
            WHERE item = 'tags' ORDER BY document_id, tag
            """,
            {"run": run_id},
        )

    def holding(self, document_ids: Sequence[str], words: str) -> list[str]:
        """Return those of the documents whose text contains ``words``, case-insensitive."""
        return self._connection.column(
            "SELECT id FROM documents SEMI JOIN (SELECT unnest($ids) AS id) USING (id) "
            "WHERE contains(lower(text), lower($words))",
            {"ids": list(document_ids), "words": words},
        )

    def gold(self, codebook: Codebook, document_ids: Sequence[str]) -> dict[str, dict[str, Value]]:
        """Return the gold of these documents by item, as in ``grid``; documents without any are left out."""
        allowed = AllowedValues(codebook)
        rows = self._connection.rows(
            f"FROM ({allowed.gold('document_id IN (SELECT unnest($ids))')})",
            {"ids": list(document_ids), **allowed.params},
        )
        return values_by_key(rows)

    def majority_counts(self, codebook: Codebook) -> list[tuple[str, Value, int]]:
        """Return (item, value, documents) for every gold value, sorted. With several raters the majority counts."""
        allowed = AllowedValues(codebook)
        rows = self._connection.rows(
            f"SELECT item, value, count(*) FROM ({allowed.gold_of(self._connection)}) "
            "GROUP BY ALL ORDER BY item, value",
            allowed.params,
        )
        return [(item, load(value), count) for item, value, count in rows]

    def together(self, codebook: Codebook) -> list[tuple[str, str, int]]:
        """Return (item, other item, documents with both in the gold), also of each item with itself."""
        allowed = AllowedValues(codebook)
        return self._connection.rows(
            f"""
            WITH present AS MATERIALIZED (
                SELECT document_id, item FROM ({allowed.gold_of(self._connection)}) WHERE value = 'true'
            )
            SELECT one.item, other.item, count(*) FROM present AS one JOIN present AS other USING (document_id)
            GROUP BY ALL
            """,
            allowed.params,
        )

    def example_documents(self, run_id: str) -> list[str]:
        """Return the run's documents that are used as examples in its codebook, read from the file once per commit."""
        query = (
            "SELECT document_id FROM example_documents "
            "SEMI JOIN (SELECT document_id FROM run_documents WHERE run_id = $run) USING (document_id) "
            "WHERE run_id = $run ORDER BY document_id"
        )
        return list(self._once_per_commit(run_id, lambda: self._connection.column(query, {"run": run_id})))

    def sources(self, run_id: str, codebook: Codebook, independent_runs: Sequence[str] = ()) -> dict[str, int]:
        """Return the sources that the run can be compared with: name -> number of the run's documents.

        Documents count with values that the codebook allows, and for gold if its raters are not tied. Raters and
        reviewers are listed if there are several. Authors who label their own texts are always listed. Other runs are
        listed if they have verdicts on documents of this run, without deleted runs and runs of the Lab. The latent
        truth is listed with three annotators or more, of runs only the independent ones, and counts documents with two.
        """
        allowed = AllowedValues(codebook)
        rows = self._connection.rows(
            f"""
            WITH own AS MATERIALIZED {_OWN},
            decided AS MATERIALIZED (
                SELECT document_id, run_id FROM verdicts SEMI JOIN own USING (document_id) JOIN runs USING (run_id)
                WHERE status = 'verdict' AND {IS_LISTED}
            ),
            golden AS MATERIALIZED (
                SELECT DISTINCT document_id, rater FROM gold SEMI JOIN own USING (document_id) WHERE {allowed.test}
            ), settled AS MATERIALIZED (
                SELECT DISTINCT document_id, actor FROM ({SUBMITTED_VALUES}) SEMI JOIN own USING (document_id)
                WHERE {allowed.test}
            ), answered AS MATERIALIZED (
                SELECT document_id, 'r' || rater AS annotator FROM golden UNION ALL
                SELECT document_id, 'p' || actor FROM settled UNION ALL
                SELECT DISTINCT document_id, 'v' || run_id
                FROM annotations SEMI JOIN decided USING (document_id, run_id)
                WHERE annotator = 'verdict' AND list_contains($runs::VARCHAR[], run_id) AND value IS NOT NULL
                      AND {allowed.test}
            )
            SELECT 'gold' AS kind, '' AS who, count(DISTINCT document_id) AS n
            FROM ({allowed.gold_of(self._connection)}) SEMI JOIN own USING (document_id)
            UNION ALL SELECT 'gold', rater, count(*) FROM golden GROUP BY rater
            UNION ALL SELECT 'reviewed', '', count(DISTINCT document_id) FROM reviewed_labels
                      SEMI JOIN own USING (document_id) WHERE {allowed.test}
            UNION ALL SELECT 'reviewed', actor, count(*) FROM settled GROUP BY actor
            UNION ALL SELECT 'run', run_id, count(*) FROM decided WHERE run_id <> $run GROUP BY run_id
            UNION ALL SELECT 'latent', '', count(*) FROM (
                SELECT 1 FROM answered GROUP BY document_id HAVING count(*) > 1
            ) HAVING count(*) > 0 AND (SELECT count(DISTINCT annotator) FROM answered) > 2
            ORDER BY kind = 'latent', kind, who
            """,
            {"run": run_id, "runs": list(independent_runs), **allowed.params},
        )
        many = {kind for kind in (GOLD, REVIEWED) if sum(bool(who) and name == kind for name, who, _ in rows) > 1}
        counts: dict[str, int] = {GOLD: 0, REVIEWED: 0}
        for kind, who, n in rows:
            source = of_run(who) if kind == RUN else AnnotationSource(kind, who)
            if kind == RUN or not who or kind in many or source.by_author:
                counts[str(source)] = n
        return counts

    def raters(self, run_ids: Sequence[str] | None = None) -> list[str]:
        """Return the names of the gold raters (of the documents of some runs) in alphabetical order."""
        return self._connection.column(
            "SELECT DISTINCT rater FROM gold WHERE $runs IS NULL OR document_id IN "
            "(SELECT document_id FROM run_documents WHERE list_contains($runs::VARCHAR[], run_id)) ORDER BY rater",
            {"runs": None if run_ids is None else list(run_ids)},
        )


def decode_value(codebook: Codebook, number: float) -> Value | None:
    """Return the value that a number in a grid codes, None for NaN."""
    if np.isnan(number):
        return None
    match codebook.kind:
        case "multilabel":
            return bool(number)
        case "choice":
            return codebook.labels[int(number)].id
        case "rating":
            return as_rating(float(number))


def is_own(annotator: str) -> bool:
    """Return True for a role or the verdict of the run itself, False for the name of a source."""
    return annotator.partition("@")[0] not in (GOLD, REVIEWED, LATENT, REVIEWED_OR_GOLD) and not annotator.startswith(
        "run:"
    )
