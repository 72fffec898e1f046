"""What was tried in the lab: pairs of runs on the same documents, looks at the held-out split, sweeps."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from core.codebook import Codebook
from core.store.connection import Connection, Cursor
from core.store.rows import clean, dump, load
from core.store.writer import Writer

SPLIT = "held-out split"
"""The project setting that keeps how the split was drawn: once, by the first use of the lab."""

SweepState: TypeAlias = Literal["running", "paused", "done", "stopped", "failed"]

_TRIAL = "trial, unix_time, subject, before, after, before_run, after_run, before_asks, after_asks, sample, held_out"
_SWEEP = "sweep, unix_time, spec, progress, state, message"


@dataclass(frozen=True, slots=True)
class Trial:
    """Two runs on the same documents, one with what stood ``before`` and one with what came ``after``.

    ``subject`` is what was changed (a template's slot, or 'definitions'), ``sample`` says how the documents were drawn,
    the ``asks`` are equal for runs that ask the same.
    """

    trial: int
    at: float
    subject: str
    before: str
    after: str
    before_run: str
    after_run: str
    before_asks: str
    after_asks: str
    sample: Mapping[str, Any]
    held_out: bool


@dataclass(frozen=True, slots=True)
class SweepRow:
    """A sweep: what it was asked to compare, and how far it has come, as plain data."""

    sweep: int
    at: float
    spec: Mapping[str, Any]
    progress: Mapping[str, Any]
    state: SweepState
    message: str


class Lab:
    """Reads from any thread; writes return once they are on disk."""

    def __init__(self, connection: Connection, writer: Writer) -> None:
        self._connection = connection
        self._writer = writer

    def record(
        self,
        subject: str,
        before: str,
        after: str,
        before_run: str,
        after_run: str,
        sample: Mapping[str, Any],
        *,
        before_asks: str = "",
        after_asks: str = "",
        held_out: bool = False,
    ) -> Trial:
        """Keep that two runs belong together; each such pair on the held-out split is a look at it."""

        def run(cursor: Cursor) -> int:
            number = _next(cursor, "trials", "trial")
            cursor.execute(
                "INSERT INTO trials VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [number, time.time(), clean(subject), clean(before), clean(after), before_run, after_run,
                 before_asks, after_asks, dump(sample), held_out],
            )  # fmt: skip
            return number

        number = self._writer.do(run)
        return _trial(self._connection.rows(f"SELECT {_TRIAL} FROM trials WHERE trial = ?", [number])[0])

    def trials(self, subject: str | None = None) -> list[Trial]:
        """Trials (of one subject), oldest first."""
        rows = self._connection.rows(
            f"SELECT {_TRIAL} FROM trials WHERE $subject IS NULL OR subject = $subject ORDER BY trial",
            {"subject": subject},
        )
        return [_trial(row) for row in rows]

    def looks(self) -> int:
        """How often the held-out split was looked at."""
        return int(self._connection.rows("SELECT count(*) FROM trials WHERE held_out")[0][0])

    def looked_at(self, run_id: str) -> Trial | None:
        """The trial that a run of the lab belongs to, None when there is none."""
        rows = self._connection.rows(
            f"SELECT {_TRIAL} FROM trials WHERE after_run = $run OR before_run = $run ORDER BY trial DESC LIMIT 1",
            {"run": run_id},
        )
        return next(map(_trial, rows), None)

    def uses(self, text: str) -> list[tuple[str, str, str]]:
        """(run, what it is for, what it used) of all runs, newest first. ``text`` names a template of the runs'
        settings, and what they used is its text's hash (``text_mark``); empty, it is the hash of their codebook."""
        path = f'$.templates."{text}".text' if text else "$.codebook"
        return self._connection.rows(
            "SELECT run_id, purpose, md5(json_extract_string(settings, $path)) FROM runs "
            "WHERE json_exists(settings, $path) ORDER BY number DESC",
            {"path": path},
        )

    # -- whom to draw from

    def sizes(self, seed: str, share: float) -> tuple[int, int]:
        """How many documents with gold or review are on the development side, and how many are held out."""
        rows = self._connection.rows(
            f"WITH sides AS (SELECT {_HELD_OUT} AS held FROM {_KNOWN}) "
            "SELECT count(*) FILTER (NOT held), count(*) FILTER (held) FROM sides",
            {"seed": seed, "limit": _limit(share)},
        )
        return rows[0][0], rows[0][1]

    def known(self, seed: str, share: float, *, held_out: bool, offset: int = 0, most: int | None = None) -> list[str]:
        """Documents in position order that have gold or were reviewed, of one side of the split: ``most`` of them after
        the first ``offset``.

        A document is held out when the hash of seed and id falls into the first ``share`` of all hashes: documents that
        come later fall on either side in the same way.
        """
        rows = self._connection.rows(
            f"SELECT id FROM {_KNOWN} WHERE {_HELD_OUT} = $held ORDER BY position LIMIT $most OFFSET $offset",
            {"seed": seed, "limit": _limit(share), "held": held_out, "most": most, "offset": offset},
        )
        return [id for (id,) in rows]

    def unknown(self, seed: str, share: float, most: int) -> list[str]:
        """Documents of the development split in an order drawn by the seed, with truth or without, ``most`` of them."""
        rows = self._connection.rows(
            f"SELECT id FROM documents WHERE NOT {_HELD_OUT} ORDER BY md5(id || $seed), id LIMIT $most",
            {"seed": seed, "limit": _limit(share), "most": most},
        )
        return [id for (id,) in rows]

    def ended(self, run_id: str) -> set[str]:
        """Documents of a run whose debate has ended otherwise than by a provider's fault."""
        rows = self._connection.rows(
            "SELECT document_id FROM verdicts WHERE run_id = ? AND status <> 'failed'", [run_id]
        )
        return {id for (id,) in rows}

    def standing(self, run_id: str) -> dict[str, tuple[bool | None, bool]]:
        """Of each document that has ended in a run: whether its verdict is right (None without truth; what a person
        settled counts before gold), and whether it was contested: roles differed, or it is unresolved."""
        rows = self._connection.rows(
            """WITH truth AS (
                SELECT document_id, item, value FROM gold_labels
                ANTI JOIN reviewed_labels USING (document_id, item)
                UNION ALL SELECT document_id, item, value FROM reviewed_labels
            ), judged AS (
                SELECT document_id, bool_and(coalesce(
                    CASE WHEN try_cast(truth.value AS DOUBLE) IS NULL THEN said.value = truth.value
                         ELSE abs(try_cast(said.value AS DOUBLE) - truth.value::DOUBLE) < 1 END, false)) AS correct
                FROM truth JOIN (SELECT * FROM annotations WHERE run_id = $run AND annotator = 'verdict') AS said
                USING (document_id, item) GROUP BY document_id
            ), heard AS (
                SELECT document_id, count(DISTINCT says) > 1 AS differ FROM last_words WHERE run_id = $run
                GROUP BY document_id
            )
            SELECT verdicts.document_id, correct, coalesce(differ, false) OR status = 'unresolved'
            FROM verdicts LEFT JOIN judged USING (document_id) LEFT JOIN heard USING (document_id)
            WHERE run_id = $run AND status <> 'failed'""",
            {"run": run_id},
        )
        return {id: (right, contested) for id, right, contested in rows}

    # -- sweeps

    def begin_sweep(self, spec: Mapping[str, Any]) -> SweepRow:
        """Keep a sweep that is about to start."""

        def run(cursor: Cursor) -> int:
            number = _next(cursor, "sweeps", "sweep")
            values = [number, time.time(), dump(spec), dump({}), "paused", ""]
            cursor.execute("INSERT INTO sweeps VALUES (?, ?, ?, ?, ?, ?)", values)
            return number

        number = self._writer.do(run)
        return next(each for each in self.sweeps() if each.sweep == number)

    def move_sweep(self, sweep: int, progress: Mapping[str, Any], state: SweepState, message: str = "") -> None:
        """Keep how far a sweep has come."""
        values = [dump(progress), state, clean(message), sweep]
        self._writer.do(
            lambda cursor: (
                cursor.execute("UPDATE sweeps SET progress = ?, state = ?, message = ? WHERE sweep = ?", values)
                and None
            )
        )

    def sweeps(self) -> list[SweepRow]:
        """All sweeps, oldest first."""
        rows = self._connection.rows(f"SELECT {_SWEEP} FROM sweeps ORDER BY sweep")
        return [SweepRow(number, at, load(spec), load(way), state, why) for number, at, spec, way, state, why in rows]


_KNOWN = """(SELECT id, position FROM documents
    SEMI JOIN (SELECT document_id AS id FROM gold UNION ALL SELECT document_id FROM reviewed_labels) USING (id))"""
_HELD_OUT = "(substr(md5($seed || id), 1, 8) < $limit)"


def _trial(row: Sequence[Any]) -> Trial:
    trial, at, subject, before, after, before_run, after_run, before_asks, after_asks, sample, held_out = row
    return Trial(
        trial, at, subject, before, after, before_run, after_run, before_asks, after_asks, load(sample), held_out
    )


def text_mark(text: str) -> str:
    """What ``uses`` tells of a text."""
    return hashlib.md5(clean(text).encode()).hexdigest()


def codebook_mark(codebook: Codebook) -> str:
    """What ``uses`` tells of a codebook."""
    return text_mark(dump(codebook.model_dump(mode="json")))


def _limit(share: float) -> str:
    """The first eight digits of a hash under which a ``share`` (0 to 1) of all hashes lies."""
    return f"{min(0xFFFFFFFF, round(share * 0x100000000)):08x}"


def _next(cursor: Cursor, table: str, column: str) -> int:
    return int(cursor.execute(f"SELECT coalesce(max({column}), 0) + 1 FROM {table}").fetchall()[0][0])
