"""Storage of the Lab: trials (pairs of runs on the same documents), looks at the held-out split, and sweeps."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any, Literal, TypeAlias

from core.codebook import Codebook
from core.documents import storable
from core.store.annotation_sources import AllowedValues
from core.store.database import Cursor
from core.store.reviews import IS_SUBMISSION
from core.store.rows import add_row, dump, insert, load, scalar
from core.store.write_queue import Repository

SPLIT = "held-out split"
"""Project setting that stores seed and share of the held-out split, set once by the first use of the Lab."""

ACCEPTED_CHANGES = "accepted changes"
"""Subject of a trial of changes that Moot suggested and a person accepted."""

SweepState: TypeAlias = Literal["running", "paused", "done", "stopped", "failed"]

_TRIAL = (
    "trial", "unix_time", "subject", "before", "after", "before_run", "after_run", "before_asks", "after_asks",
    "sample", "held_out",
)  # fmt: skip
"""Columns in the order of the fields of ``Trial``."""
_SWEEP = "sweep, spec, progress, state, message"


@dataclass(frozen=True, slots=True)
class Trial:
    """Two runs on the same documents, one before and one after a change."""

    number: int
    """0 before the trial is stored."""
    at: float
    subject: str
    """The changed part: a template's slot, or ``definitions``."""
    before: str
    after: str
    before_run: str
    after_run: str
    before_asks: str
    """The hash of the requests of the run before the change."""
    after_asks: str
    """The same of the run after it. Runs with the same requests have equal hashes."""
    sample: Mapping[str, Any]
    """How the documents were drawn."""
    held_out: bool


@dataclass(frozen=True, slots=True)
class SweepRow:
    """A stored sweep: its definition and its progress, as plain data."""

    number: int
    spec: Mapping[str, Any]
    progress: Mapping[str, Any]
    state: SweepState
    message: str


@dataclass(frozen=True, slots=True)
class Split:
    """A split of the documents into a development and a held-out side.

    A document is held out if the hash of seed and id is among the first ``share`` (0 to 1) of all hashes. Documents
    that are added later are split by the same rule, without anybody's choice.
    """

    seed: str
    share: float

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of SQL on the split. ``limit``: the first eight hex digits from which on none is held out."""
        return {"seed": self.seed, "limit": f"{min(0xFFFFFFFF, round(self.share * 0x100000000)):08x}"}


class Lab(Repository):
    """Trials and sweeps of a project."""

    def record(self, trial: Trial) -> Trial:
        """Store a trial and return it with its number; each trial on the held-out split counts as a look at it."""
        sample = dump(trial.sample)

        def write(cursor: Cursor) -> Trial:
            number = scalar(cursor, "SELECT coalesce(max(trial), 0) + 1 FROM trials")
            _, *fields, _, held_out = astuple(trial)
            insert(cursor, "trials", _TRIAL, [(number, *fields, sample, held_out)])
            return replace(trial, number=number, sample=load(sample))

        return self._writer.do(write)

    def trials(self, subject: str | None = None, *, texts: str | None = None) -> list[Trial]:
        """Return trials (of one subject, on documents with this hash of their texts), oldest first."""
        return self._trials(
            "WHERE ($subject IS NULL OR subject = $subject) "
            "AND ($texts IS NULL OR json_extract_string(sample, '$.texts') = $texts) ORDER BY trial",
            {"subject": subject, "texts": texts},
        )

    def find_trial(self, subject: str, number: int | None) -> Trial | None:
        """Return the trial of a subject with this number, else its latest trial; None before the first."""
        condition = "WHERE subject = $subject ORDER BY trial = $number DESC, trial DESC LIMIT 1"
        return next(iter(self._trials(condition, {"subject": subject, "number": number})), None)

    def _trials(self, condition: str, params: dict[str, Any]) -> list[Trial]:
        rows = self._connection.rows(f"SELECT {', '.join(_TRIAL)} FROM trials {condition}", params)
        return [Trial(*(*row[:9], load(row[9]), row[10])) for row in rows]

    def earlier_runs(self, trial: int) -> set[str]:
        """Return the runs of all trials before the one with this number."""
        query = "SELECT unnest([before_run, after_run]) FROM trials WHERE trial < ?"
        return set(self._connection.column(query, [trial]))

    def looks(self) -> int:
        """Return the number of looks at the held-out split."""
        return int(self._connection.value("SELECT count(*) FROM trials WHERE held_out"))

    def uses(self, template: str) -> list[tuple[str, str, str]]:
        """Return (run, purpose, text) for all runs, newest first: of this template, or the codebook's JSON for ""."""
        path = f'$.templates."{template}".text' if template else "$.codebook"
        return self._connection.rows(
            "SELECT run_id, purpose, json_extract_string(settings, $path) FROM runs "
            "WHERE json_exists(settings, $path) ORDER BY number DESC",
            {"path": path},
        )

    # -- selection of documents

    def sizes(self, split: Split) -> tuple[int, int]:
        """Return the number of labelled documents in the development split and in the held-out split."""
        rows = self._connection.rows(
            f"WITH sides AS (SELECT {_HELD_OUT} AS held FROM {_LABELLED_DOCUMENTS}) "
            "SELECT count(*) FILTER (NOT held), count(*) FILTER (held) FROM sides",
            split.params,
        )
        return rows[0][0], rows[0][1]

    def labelled(self, split: Split, *, held_out: bool, offset: int = 0, max_documents: int | None = None) -> list[str]:
        """Return labelled documents of one side by position: ``max_documents`` after the first ``offset``."""
        return self._connection.column(
            f"SELECT id FROM {_LABELLED_DOCUMENTS} WHERE {_HELD_OUT} = $held "
            "ORDER BY position LIMIT $max_documents OFFSET $offset",
            {**split.params, "held": held_out, "max_documents": max_documents, "offset": offset},
        )

    def development(self, split: Split, max_documents: int) -> list[str]:
        """Return at most ``max_documents`` of the development side, labelled or not, in an order set by the seed."""
        return self._connection.column(
            f"SELECT id FROM documents WHERE NOT {_HELD_OUT} ORDER BY md5(id || $seed), id LIMIT $max_documents",
            {**split.params, "max_documents": max_documents},
        )

    def held_out_among(self, split: Split, document_ids: Sequence[str]) -> set[str]:
        """Return the documents of these, labelled or not, that are on the held-out side."""
        held_out = f"SELECT id FROM (SELECT unnest($ids) AS id) WHERE {_HELD_OUT}"
        return set(self._connection.column(held_out, {**split.params, "ids": list(document_ids)}))

    def labelled_before(self, time: float) -> set[str]:
        """Return the documents with a review that was submitted before a time, or with gold, which has no time."""
        reviewed = f"SELECT document_id FROM events WHERE {IS_SUBMISSION} AND unix_time < ?"
        return set(self._connection.column(f"SELECT document_id FROM gold UNION {reviewed}", [time]))

    def ended_before(self, run_ids: Sequence[str], time: float) -> set[str]:
        """Return the documents with a verdict of one of these runs before a time, also one that was replaced since."""
        condition = "WHERE list_contains($runs, run_id) AND unix_time < $time"
        tables = ("verdicts", "superseded_verdicts")
        query = " UNION ".join(f"SELECT document_id FROM {table} {condition}" for table in tables)
        return set(self._connection.column(query, {"runs": list(run_ids), "time": time}))

    def ended(self, run_id: str) -> set[str]:
        """Return documents of a run whose debate has ended without a provider error."""
        ended = "SELECT document_id FROM verdicts WHERE run_id = ? AND status <> 'failed'"
        return set(self._connection.column(ended, [run_id]))

    def outcomes(self, run_id: str, codebook: Codebook) -> dict[str, tuple[bool | None, bool]]:
        """Return (correct, disagreement) for each finished document of a run; ``correct`` is None without a reference.

        ``disagreement`` is True if roles differ or the verdict is unresolved.
        """
        allowed = AllowedValues(codebook)
        rows = self._connection.rows(
            f"""WITH reference AS ({allowed.known}), judged AS (
                SELECT document_id, bool_and(coalesce(NOT differs(verdict.value, reference.value), false)) AS correct
                FROM reference JOIN (SELECT * FROM annotations WHERE run_id = $run AND annotator = 'verdict') AS verdict
                USING (document_id, item) GROUP BY document_id
            ), last AS (
                SELECT document_id, item, annotator, arg_max(coalesce(value, ''), turn) AS value FROM annotations
                WHERE run_id = $run AND annotator <> 'verdict' GROUP BY document_id, item, annotator
            ), disputed AS (
                SELECT DISTINCT document_id, true AS differ FROM last
                GROUP BY document_id, item HAVING any_differ(value)
            )
            SELECT verdicts.document_id, correct, coalesce(differ, false) OR status = 'unresolved'
            FROM verdicts LEFT JOIN judged USING (document_id) LEFT JOIN disputed USING (document_id)
            WHERE run_id = $run AND status <> 'failed'""",
            {"run": run_id, **allowed.params},
        )
        return {id: (correct, disagreement) for id, correct, disagreement in rows}

    # -- sweeps

    def begin_sweep(self, spec: Mapping[str, Any]) -> SweepRow:
        """Store a sweep before it starts."""

        def write(cursor: Cursor) -> SweepRow:
            number = scalar(cursor, "SELECT coalesce(max(sweep), 0) + 1 FROM sweeps")
            row = {"spec": dump(spec), "progress": dump({}), "state": "paused", "message": ""}
            add_row(cursor, "sweeps", sweep=number, unix_time=time.time(), **row)
            return SweepRow(number, load(row["spec"]), {}, "paused", "")

        return self._writer.do(write)

    def update_sweep(self, sweep: int, progress: Mapping[str, Any], state: SweepState, message: str = "") -> None:
        """Store the progress of a sweep."""
        values = [dump(progress), state, storable(message), sweep]
        self._writer.execute("UPDATE sweeps SET progress = ?, state = ?, message = ? WHERE sweep = ?", values)

    def sweeps(self, number: int | None = None) -> list[SweepRow]:
        """Return all sweeps, or the one with this number, oldest first."""
        rows = self._connection.rows(
            f"SELECT {_SWEEP} FROM sweeps WHERE $number IS NULL OR sweep = $number ORDER BY sweep", {"number": number}
        )
        return [SweepRow(number, load(spec), load(done), state, message) for number, spec, done, state, message in rows]


_LABELLED_DOCUMENTS = """(SELECT id, position FROM documents
    SEMI JOIN (SELECT document_id AS id FROM gold UNION ALL SELECT document_id FROM reviewed_labels) USING (id))"""
_HELD_OUT = "(substr(md5($seed || id), 1, 8) < $limit)"
