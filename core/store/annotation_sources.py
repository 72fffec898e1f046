"""Sources of annotations that a comparison can use, as the reference or beside it, and their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from core.codebook import Codebook
from core.documents import VERDICT
from core.errors import UsageError
from core.hashing import digest
from core.store.database import Cursor, DatabaseConnection
from core.store.rows import dump, insert
from core.store.write_queue import Repository

if TYPE_CHECKING:
    import pyarrow as pa

GOLD: Final = "gold"
REVIEWED: Final = "reviewed"
RUN: Final = "run"
LATENT: Final = "latent"
REVIEWED_OR_GOLD: Final = "reviewed+gold"
SEPARATOR = "@"
AUTHOR: Final = "author"
"""Rater name of authors who label their own texts (Ma et al.), which is also the short name of that source."""


@dataclass(frozen=True, slots=True)
class AnnotationSource:
    """A source of annotations.

    ``source_of`` reads the name of a source:

    - ``gold``: the majority of several raters, the mean of ratings; ``gold@RATER``, and ``author`` for ``gold@author``
    - ``reviewed``: the reviewed labels; ``reviewed@PERSON``
    - ``reviewed+gold``: the reviewed label, or gold where there is none
    - ``latent``: the latent truth of all annotators
    - ``run:ID``: the verdicts of a run; ``run:ID/ROLE``
    """

    kind: Literal["gold", "reviewed", "run", "latent", "reviewed+gold"]
    who: str = ""
    """The rater or reviewer, empty for all of them together; for a run its id."""
    role: str = ""
    """For a run: a role, or ``verdict``."""

    @property
    def by_author(self) -> bool:
        """True for the authors' own labels."""
        return self.kind == GOLD and self.who.casefold() in (AUTHOR, "authors")

    def __str__(self) -> str:
        if self.kind == RUN:
            return f"{RUN}:{self.who}" if self.role == VERDICT else f"{RUN}:{self.who}/{self.role}"
        return f"{self.kind}{SEPARATOR}{self.who}" if self.who else self.kind


def of_run(run_id: str, role: str = VERDICT) -> AnnotationSource:
    """Return the source for a run's verdicts or for one of its roles."""
    return AnnotationSource(RUN, run_id, role)


def source_of(name: str) -> AnnotationSource:
    """Return the source with this name, unchecked if the rater or run exists. Raises UsageError for any other name."""
    if name == LATENT:
        return AnnotationSource(LATENT)
    if name == REVIEWED_OR_GOLD:
        return AnnotationSource(REVIEWED_OR_GOLD)
    if name == AUTHOR:
        return AnnotationSource(GOLD, AUTHOR)
    kind, at, who = name.partition(SEPARATOR)
    if kind == GOLD and bool(at) == bool(who):
        return AnnotationSource(GOLD, who)
    if kind == REVIEWED and bool(at) == bool(who):
        return AnnotationSource(REVIEWED, who)
    if name.startswith(f"{RUN}:"):
        run_id, _, role = name.removeprefix(f"{RUN}:").partition("/")
        if run_id:
            return AnnotationSource(RUN, run_id, role or VERDICT)
    raise UsageError(
        f"There is no reference '{name}'.",
        "Compare with gold, gold@RATER, author, reviewed, reviewed@PERSON, run:ID, latent or reviewed+gold.",
    )


SUBMITTED_VALUES = """
SELECT document_id, item, actor, value FROM person_reviews
SEMI JOIN (SELECT document_id, actor FROM person_status WHERE status = 'Submitted') USING (document_id, actor)
WHERE kind = 'review' AND value IS NOT NULL
"""
"""SQL of the values of each reviewer on the documents that the reviewer has submitted."""


@dataclass(frozen=True, slots=True)
class AllowedValues:
    """The values that a codebook allows, in SQL on the columns ``item`` and ``value`` (JSON text)."""

    codebook: Codebook | None
    """None allows all values."""

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of all SQL here."""
        codebook = self.codebook
        if codebook is None:
            return {}
        items = {"items": list(codebook.items)}
        if codebook.kind == "rating":
            scales = codebook.scales
            return items | {"lows": [scale.min for scale in scales], "highs": [scale.max for scale in scales]}
        values = ["false", "true"] if codebook.kind == "multilabel" else [dump(label.id) for label in codebook.labels]
        return items | {"values": values}

    @property
    def digest(self) -> str:
        """The digest of the values, whatever the order of the labels."""
        return digest({name: sorted(values) for name, values in self.params.items()})

    @property
    def code(self) -> str:
        """The number that codes the value in a grid, NULL for a value that is not allowed. Needs a codebook."""
        assert self.codebook is not None
        if self.codebook.kind != "rating":
            return "list_position($values, value) - 1"
        rating, column = "try_cast(value AS DOUBLE)", "list_position($items, item)"
        is_on_scale = f"{rating} BETWEEN list_extract($lows, {column}) AND list_extract($highs, {column})"
        return f"CASE WHEN {is_on_scale} THEN {rating} END"

    @property
    def test(self) -> str:
        """The condition that the value is allowed, as ``Codebook.allows``."""
        return "true" if self.codebook is None else f"list_contains($items, item) AND ({self.code}) IS NOT NULL"

    def gold(self, condition: str = "true") -> str:
        """Return the (document_id, item, value) rows of the gold under a condition on documents.

        Of several raters the majority counts, for ratings the mean. Values that are not allowed have no vote. The view
        ``gold_labels`` is the same without a codebook.
        """
        return f"""
        SELECT document_id, item, value FROM (
            SELECT document_id, item, gold_vote(value, votes) AS value
            FROM (SELECT document_id, item, value, count(*) AS votes FROM gold
                  WHERE {self.test} AND {condition} GROUP BY ALL)
            GROUP BY document_id, item
        ) WHERE value IS NOT NULL"""

    def gold_of(self, connection: DatabaseConnection) -> str:
        """Return ``gold`` in the quickest form: a single rater needs no vote."""
        if connection.value("SELECT count(DISTINCT rater) FROM gold") == 1:
            return f"SELECT document_id, item, value FROM gold WHERE {self.test}"
        return self.gold()

    @property
    def known(self) -> str:
        """The (document_id, item, value) rows of the known labels: the reviewed one of an item, else the gold."""
        reviewed = f"SELECT document_id, item, value FROM reviewed_labels WHERE {self.test}"
        return f"{reviewed} UNION ALL FROM ({self.gold()}) ANTI JOIN ({reviewed}) USING (document_id, item)"


def source_query(
    connection: DatabaseConnection, source: AnnotationSource, codebook: Codebook
) -> tuple[str, dict[str, Any]]:
    """Return SQL for the (document_id, item, value, turn) rows of a source, and its parameters.

    A role may have several values of an item: that of the highest turn counts. Only for gold and known labels, values
    that the codebook does not allow are left out.
    """
    allowed = AllowedValues(codebook)
    rows, who = "SELECT document_id, item, value, 0 AS turn FROM", {"who": source.who}
    match source.kind:
        case "gold" if source.who:
            return f"{rows} gold WHERE rater = $who", who
        case "gold":
            return f"{rows} ({allowed.gold_of(connection)})", allowed.params
        case "reviewed" if source.who:
            return f"{rows} ({SUBMITTED_VALUES}) WHERE actor = $who", who
        case "reviewed":
            return f"{rows} reviewed_labels", {}
        case "latent":
            return f"{rows} latent_labels WHERE allowed = $allowed", {"allowed": allowed.digest}
        case "reviewed+gold":
            return f"{rows} ({allowed.known})", allowed.params
        case "run":
            annotations = "SELECT document_id, item, value, turn FROM annotations"
            return f"{annotations} WHERE run_id = $who AND annotator = $annotator", who | {"annotator": source.role}


_ANSWERS = f"""
SELECT document_id, item, 'rater ' || rater AS annotator, value FROM gold
UNION ALL
SELECT document_id, item, 'reviewer ' || actor, value FROM ({SUBMITTED_VALUES})
UNION ALL
SELECT document_id, item, run_id, value FROM annotations
WHERE annotator = 'verdict' AND value IS NOT NULL AND list_contains($runs, run_id)
"""


def _allowed_answers(runs: Sequence[str], codebook: Codebook) -> tuple[str, dict[str, Any]]:
    """Return SQL for the answers that the codebook allows, and its parameters."""
    allowed = AllowedValues(codebook)
    query = f"FROM ({_ANSWERS}) SEMI JOIN documents ON id = document_id WHERE {allowed.test}"
    return query, {"runs": list(runs), **allowed.params}


class LatentLabels(Repository):
    """Answers and latent labels of a project."""

    def answers(self, runs: Sequence[str], codebook: Codebook) -> pa.Table:
        """Return (document_id, item, annotator, JSON value) of gold raters, reviewers and verdicts of these runs."""
        return self._connection.arrow(*_allowed_answers(runs, codebook))

    def annotators(self, runs: Sequence[str], codebook: Codebook) -> list[str]:
        """Return the names of the annotators of ``answers`` in alphabetical order."""
        query, params = _allowed_answers(runs, codebook)
        return self._connection.column(f"SELECT DISTINCT annotator FROM ({query}) ORDER BY annotator", params)

    def replace(self, codebook: Codebook, labels: Sequence[tuple[str, str, str]]) -> None:
        """Store (document_id, item, value) as the latent labels of the values that the codebook allows."""
        allowed = AllowedValues(codebook).digest

        def write(cursor: Cursor) -> None:
            cursor.execute("DELETE FROM latent_labels WHERE allowed = ?", [allowed])
            columns = ("allowed", "document_id", "item", "value")
            insert(cursor, "latent_labels", columns, [(allowed, *label) for label in labels])

        self._writer.do(write)
