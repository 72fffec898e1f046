"""Documents, their gold labels, and their imports."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from core.codebook import Codebook
from core.documents import Document, Rejected, Value, storable
from core.errors import InputError
from core.store.annotation_sources import AllowedValues
from core.store.database import Cursor
from core.store.rows import (
    Columns,
    add_row,
    columns_of,
    dump,
    incoming,
    insert,
    load,
    load_dict,
    scalar,
    value_text,
    values_by_key,
)
from core.store.write_queue import Repository

CHUNK = 10_000
"""Documents inserted at once, and read between two reports of the progress."""

_DOCUMENT_COLUMNS = (
    "id", "position", "import_id", "field", "text", "context", "words", "source", "group_name", "group_order",
)  # fmt: skip
_READ_COLUMNS = "id, position, field, text, context, source, group_name, group_order"
_GOLD_COLUMNS = ("document_id", "rater", "item", "value")
_MATCHES_SEARCH = "($search IS NULL OR contains(lower(text), $search) OR contains(lower(id), $search))"


GOLD_CHECKSUM = "bit_xor(hash(concat_ws(chr(31), document_id, rater, item, value)))"
"""SQL of a checksum of all gold.

One hash covers the whole line, because DuckDB combines the hashes of several columns by exclusive or. Two documents
that exchange their gold would then go unnoticed.
"""
STATE = ("max(id) FROM imports", "count(*) FROM documents", f"{GOLD_CHECKSUM} FROM gold")
"""Selections of integers that differ whenever the documents or their gold may."""
_DIGEST = """sha256(text) || CASE WHEN json_array_length(json_keys(context)) > 0
    THEN ':' || sha256(array_to_string(json_extract_string(context, '$.*'), chr(31))) ELSE '' END"""
"""SQL of the digest of all text fields: that of the text, and a colon and that of its context if it has one."""
_TEXT_DIGESTS = f"""
SELECT document_id, CASE WHEN starts_with(digest, current || ':') THEN digest ELSE coalesce(current, digest, '') END
    AS digest
FROM (SELECT document_id FROM events WHERE document_id IS NOT NULL
      UNION SELECT document_id FROM run_documents UNION SELECT document_id FROM run_precedents)
LEFT JOIN (SELECT id AS document_id, {_DIGEST} AS current FROM documents) USING (document_id)
LEFT JOIN replaced_texts USING (document_id)"""
"""SQL of the ids with runs or reviews, with the digest of the text fields that they are about.

If a document lost its context later, the digest still covers the earlier context.
"""


_TEXT_COLUMNS = ("id", "field", "text", "context")
_CONTEXT = "list_sort(list_zip(json_keys({0}.context::VARCHAR), json_extract_string({0}.context::VARCHAR, '$.*')))"
_SAME_TEXT = (
    "incoming.field = stored.field AND incoming.text = stored.text "
    f"AND {_CONTEXT.format('incoming')} = {_CONTEXT.format('stored')}"
)
"""SQL that compares the text fields of two documents by name."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """Stored counterparts of documents that may be added to a project."""

    stored_ids: Mapping[str, str]
    """Other ids of documents that the project has: it gave them new ids when they replaced other texts."""
    existing: int
    """Documents that the project has, by these ids."""
    conflict: str
    """The conflict in words (see ``_conflict``), empty if there is none."""
    other_ids: int
    """New documents whose text the project has under another id."""


@dataclass(frozen=True, slots=True)
class Import:
    """One imported file. ``counts`` are those of ``Documents``, ``options`` how the file was read."""

    id: int
    file_name: str
    at: float
    counts: Mapping[str, Any]
    options: Mapping[str, Any]


class Documents(Repository):
    """Documents of a project."""

    def add(
        self,
        documents: Iterable[Document],
        *,
        file_name: str = "",
        options: Mapping[str, Any] | None = None,
        rejected: Sequence[Rejected] = (),
        progress: Callable[[int], None] | None = None,
    ) -> Import:
        """Add documents with their gold in one transaction; positions continue after the last document.

        A document that already exists stays as it is; gold, source columns, group and order that it lacks are added.
        ``counts`` of the returned import has ``documents``, ``repeated``, ``rejected``, ``gold_conflicts`` (ignored
        values that differ from the stored ones) and, if there are any, ``column_conflicts`` (documents with another
        group, order or source column). ``progress`` is called with the number of documents read so far. Raises
        InputError if the project has or had one of the documents with a different text.
        """
        rows, gold = _tables(documents, progress)

        def write(cursor: Cursor) -> Import:
            with incoming(cursor, rows):
                conflict = _conflict(cursor, _reused_ids(cursor))
            if conflict:
                raise InputError(
                    f"{self._connection.path.name} has or had {conflict}.",
                    "Restore the text in the file, replace all documents, or use another id column or project.",
                )
            return _add_import(cursor, file_name, options, rows, gold, rejected, {})

        return self._writer.do(write)

    def replace_all(
        self,
        documents: Iterable[Document],
        *,
        file_name: str = "",
        options: Mapping[str, Any] | None = None,
        rejected: Sequence[Rejected] = (),
        progress: Callable[[int], None] | None = None,
    ) -> Import:
        """Delete all documents and gold, and add others like ``add``, in one transaction.

        Runs and reviews stay, but never apply to another text: documents whose id has some of another text get one of
        ``new_ids``. ``counts`` of the returned import also has ``replaced`` and ``new_ids``.
        """
        rows, gold = _tables(documents, progress)

        def write(cursor: Cursor) -> Import:
            with incoming(cursor, rows):
                new_ids = _new_ids(cursor)
            cursor.execute(f"INSERT OR REPLACE INTO replaced_texts {_TEXT_DIGESTS}")
            cursor.execute("DELETE FROM gold")
            cursor.execute("DELETE FROM documents")
            tables = _with_new_ids(rows, "id", new_ids), _with_new_ids(gold, "document_id", new_ids)
            counts = {"replaced": True, "new_ids": len(new_ids)}
            return _add_import(cursor, file_name, options, *tables, rejected, counts)

        return self._writer.do(write)

    def replace_gold(
        self,
        gold: Mapping[str, Mapping[str, Mapping[str, Value]]],
        *,
        raters: Iterable[str],
        documents: Sequence[str],
        dropped: Iterable[str] = (),
    ) -> None:
        """Replace the gold of ``raters`` on ``documents`` by ``document id -> rater -> item -> value``.

        The gold of the ``dropped`` raters is deleted on all documents, all other gold stays. Gold of ids that no
        document has is ignored.
        """

        def write(cursor: Cursor) -> None:
            cursor.execute(
                "DELETE FROM gold WHERE list_contains($dropped::VARCHAR[], rater)"
                " OR (list_contains($raters::VARCHAR[], rater)"
                " AND document_id IN (SELECT unnest($documents::VARCHAR[])))",
                {"dropped": list(dropped), "raters": list(raters), "documents": list(documents)},
            )
            found = cursor.execute("SELECT id FROM documents WHERE id IN (SELECT unnest(?))", [list(gold)]).fetchall()
            insert(cursor, "gold", _GOLD_COLUMNS, [row for (id,) in found for row in _gold_rows(id, gold[id])])

        self._writer.do(write)

    def state(self) -> tuple[Any, ...]:
        """Return a value that changes whenever documents or gold may have changed."""
        return self._connection.integers(STATE)

    def count(self, search: str | None = None) -> int:
        """Return the number of documents, or of those with ``search`` in text or id (case-insensitive)."""
        sql = f"SELECT count(*) FROM documents WHERE {_MATCHES_SEARCH}"
        return int(self._connection.value(sql, {"search": _search_text(search)}))

    def count_imported(self, at: float) -> int:
        """Return the number of documents that had been imported at a time, in Unix seconds."""
        late = "SELECT id FROM imports WHERE unix_time > ?"
        sql = f"SELECT count(*) FROM documents WHERE import_id IS NULL OR import_id NOT IN ({late})"
        return int(self._connection.value(sql, [at]))

    def page(self, offset: int = 0, limit: int = 100, search: str | None = None) -> list[Document]:
        """Return documents in position order, ``limit`` of them after the first ``offset``; empty past the end."""
        return self._select(
            f"WHERE {_MATCHES_SEARCH} ORDER BY position LIMIT $limit OFFSET $offset",
            {"search": _search_text(search), "limit": limit, "offset": offset},
            gold=True,
        )

    def sample(self, limit: int) -> list[Document]:
        """Return at most ``limit`` documents, ordered by the hash of their ids and thus stable."""
        return self._select("ORDER BY hash(id), id LIMIT ?", [limit])

    def mean_length(self, run_id: str | None = None) -> float:
        """Return the mean characters of a document (that a run debated) over all its fields; 0 without documents."""
        debated = "WHERE id IN (SELECT document_id FROM turns WHERE run_id = $run)" if run_id else ""
        mean = self._connection.value(
            f"SELECT avg(length(text) + length(context) - 2) FROM documents {debated}",
            {"run": run_id} if run_id else {},
        )
        return float(mean or 0.0)

    def longest(self) -> Document | None:
        """Return the document with the most characters over all its fields, None without documents."""
        return next(iter(self._select("ORDER BY length(text) + length(context) DESC, position LIMIT 1")), None)

    def spread_by_length(self, limit: int, ids: Sequence[str] | None = None) -> list[Document]:
        """Return at most ``limit`` (2 or more) documents, from the shortest to the longest in even steps."""
        return self._select(
            "JOIN (SELECT id, row_number() OVER (ORDER BY length(text), position) - 1 AS place, "
            "count(*) OVER () - 1 AS last FROM documents WHERE $ids IS NULL OR id IN (SELECT unnest($ids))) USING (id) "
            "WHERE place IN (SELECT step * last // ($limit - 1) FROM range($limit) AS steps(step)) ORDER BY place",
            {"limit": limit, "ids": None if ids is None else list(ids)},
        )

    def load(self, ids: Sequence[str], *, gold: bool = True) -> list[Document]:
        """Return the documents with these ids in the given order; unknown ids are left out."""
        if not ids:
            return []
        marks = ", ".join("?" * len(ids)) if len(ids) <= 200 else "SELECT unnest(?)"
        params = list(ids) if len(ids) <= 200 else [list(ids)]
        by_id = {document.id: document for document in self._select(f"WHERE id IN ({marks})", params, gold=gold)}
        return [by_id[id] for id in ids if id in by_id]

    def texts(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the text of each of these documents, in the given order; unknown ids are left out."""
        text_by_id = dict(
            self._connection.rows("SELECT id, text FROM documents WHERE id IN (SELECT unnest(?))", [list(ids)])
        )
        return {id: text_by_id[id] for id in ids if id in text_by_id}

    def digest(self, ids: Sequence[str]) -> str:
        """Return a digest of the texts and the context of these documents; empty without any."""
        fields = "string_agg(concat_ws(chr(31), id, field, text, context), chr(30) ORDER BY id)"
        sql = f"SELECT coalesce(sha256({fields}), '') FROM documents WHERE id IN (SELECT unnest(?))"
        return str(self._connection.value(sql, [list(ids)]))

    def missing(self, ids: Sequence[str]) -> list[str]:
        """Return those of these ids that no document has, in the given order."""
        known = set(self._connection.column("SELECT id FROM documents WHERE id IN (SELECT unnest(?))", [list(ids)]))
        return [id for id in ids if id not in known]

    def compare(self, documents: Iterable[Document]) -> Overlap:
        """Compare documents with those of the project, before they are added."""
        table = _text_columns(documents)
        with self._connection.reading() as cursor:
            with incoming(cursor, table):
                reused = _reused_ids(cursor)
                stored_ids = _stored_ids(cursor, reused) if reused else {}
            with incoming(cursor, _with_new_ids(table, "id", stored_ids)):
                ((existing, other_ids),) = cursor.execute(
                    "SELECT count(stored.id), count(*) FILTER (stored.id IS NULL AND incoming.text IN "
                    "(SELECT text FROM documents)) FROM incoming LEFT JOIN documents stored USING (id)"
                ).fetchall()
                conflict = _conflict(cursor, reused.keys() - stored_ids.keys())
        return Overlap(stored_ids, existing, conflict, other_ids)

    def new_ids(self, documents: Iterable[Document]) -> dict[str, str]:
        """Return a new id for each of these documents whose id has runs or reviews of another text.

        It is the first of ``id (2)``, ``id (3)`` and so on that does not belong to another text.
        """
        with self._connection.reading() as cursor, incoming(cursor, _text_columns(documents)):
            return _new_ids(cursor)

    def ids_of_texts(self, documents: Sequence[Document]) -> dict[str, str]:
        """Return other ids for those of these documents whose text has another id in the project.

        A text that the project has several times keeps its own id if it is one of these, else it gets the first that is
        left. A text that the project does not have gets a free number if its id is then that of another text.
        """
        with self._connection.reading() as cursor:
            rows = cursor.execute(f"SELECT {_DIGEST}, id FROM documents ORDER BY position").fetchall()
            rows += [(digest, id) for id, digest in cursor.execute(_TEXT_DIGESTS).fetchall()]
            with incoming(cursor, _text_columns(documents)):
                digests = dict(cursor.execute(f"SELECT id, {_DIGEST} FROM incoming").fetchall())
        return _other_ids([document.id for document in documents], digests, rows)

    def get(self, document_id: str) -> Document | None:
        """Return one document with its gold, or None."""
        return next(iter(self.load([document_id])), None)

    def ids(self) -> list[str]:
        """Return all ids in position order."""
        return self._connection.column("SELECT id FROM documents ORDER BY position")

    def file_name(self, document_id: str) -> str:
        """Return the name of the file that a document was imported from; empty if it has none or does not exist."""
        query = "SELECT file_name FROM documents JOIN imports ON imports.id = import_id WHERE documents.id = ?"
        return self._connection.value(query, [document_id]) or ""

    def gold_counts(self) -> list[tuple[str, str, Value, int]]:
        """Return (rater, item, value, documents) for every gold value, sorted."""
        rows = self._connection.rows(
            "SELECT rater, item, value, count(*) FROM gold GROUP BY ALL ORDER BY rater, item, value"
        )
        return [(rater, item, load(value), count) for rater, item, value, count in rows]

    def with_gold(self, codebook: Codebook | None = None) -> int:
        """Return the number of documents with gold for at least one item, of values that the codebook allows if any."""
        allowed = AllowedValues(codebook)
        query = f"SELECT count(DISTINCT document_id) FROM gold WHERE {allowed.test}"
        return int(self._connection.value(query, allowed.params))

    def lengths(self) -> dict[int, int]:
        """Return the number of documents by the word count of their first field."""
        return dict(self._connection.rows("SELECT words, count(*) FROM documents GROUP BY words ORDER BY words"))

    def imports(self) -> list[Import]:
        """Return all imports, oldest first."""
        rows = self._connection.rows("SELECT id, file_name, unix_time, counts, options FROM imports ORDER BY id")
        return [Import(id, name, at, load_dict(counts), load_dict(options)) for id, name, at, counts, options in rows]

    def rejected(self, import_id: int, limit: int | None = None) -> list[Rejected]:
        """Return the rejected rows of an import in file order, at most ``limit``."""
        rows = self._connection.rows(
            "SELECT line, reason, raw FROM rejected_rows WHERE import_id = $id ORDER BY line LIMIT $limit",
            {"id": import_id, "limit": limit},
        )
        return [Rejected(*row) for row in rows]

    def column_names(self, run_ids: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the source columns of the documents of these runs, and their text fields after the first one.

        Both are in order of appearance. The source columns of a document that was not read from a table are its fields.
        """
        rows = self._connection.rows(
            "SELECT json_keys(source), field, json_keys(context) FROM documents WHERE id IN "
            "(SELECT document_id FROM run_documents WHERE list_contains($runs::VARCHAR[], run_id)) "
            "GROUP BY ALL ORDER BY min(position)",
            {"runs": list(run_ids)},
        )
        source = dict.fromkeys(
            name for columns, field, context in rows for name in columns or ((field, *context) if field else ())
        )
        return tuple(source), tuple(dict.fromkeys(name for _, _, context in rows for name in context))

    def _select(
        self, tail: str, params: list[Any] | dict[str, Any] | None = None, *, gold: bool = False
    ) -> list[Document]:
        rows = self._connection.rows(f"SELECT {_READ_COLUMNS} FROM documents {tail}", params or ())
        gold_by_id: defaultdict[str, list[list[Any]]] = defaultdict(list)
        if gold:
            for document_id, *values in self._connection.rows(
                "SELECT document_id, rater, item, value FROM gold WHERE document_id IN (SELECT unnest(?)) "
                "ORDER BY rater, item",
                [[row[0] for row in rows]],
            ):
                gold_by_id[document_id].append(values)
        return [document_of(row, values_by_key(gold_by_id[row[0]])) for row in rows]


def document_of(row: Sequence[Any], gold: Mapping[str, Mapping[str, Value]]) -> Document:
    """Return the document in a row of ``_READ_COLUMNS``."""
    id, position, field, text, context, source, group, order = row
    fields = {field: text, **load_dict(context)} if field else {}
    return Document(id, fields, position, load_dict(source), gold, group, order)


def insert_documents(cursor: Cursor, documents: Sequence[Document]) -> None:
    """Add documents inside a transaction of the writer, without an import."""
    if documents:
        _add_documents(cursor, None, *_tables(documents))


def _add_import(
    cursor: Cursor,
    file_name: str,
    options: Mapping[str, Any] | None,
    documents: Columns,
    gold: Columns,
    rejected: Sequence[Rejected],
    more_counts: Mapping[str, Any],
) -> Import:
    number = scalar(cursor, "SELECT coalesce(max(id), 0) + 1 FROM imports")
    column_conflicts = _complete_documents(cursor, documents)
    added, gold_conflicts = _add_documents(cursor, number, documents, gold)
    counts = {
        "documents": added,
        "repeated": len(documents["id"]) - added,
        "gold_conflicts": gold_conflicts,
        "rejected": len(rejected),
        **({"column_conflicts": column_conflicts} if column_conflicts else {}),
        **more_counts,
    }
    new = Import(number, storable(file_name), time.time(), counts, options or {})
    row = {"file_name": new.file_name, "unix_time": new.at, "options": dump(new.options), "counts": dump(counts)}
    add_row(cursor, "imports", id=number, **row)
    rows = [(number, row.line, row.reason, row.raw) for row in rejected]
    insert(cursor, "rejected_rows", ("import_id", "line", "reason", "raw"), rows)
    return new


def _reused_ids(cursor: Cursor) -> dict[str, str]:
    """Return the digests of incoming documents whose id has runs or reviews of another text, by id."""
    rows = cursor.execute(
        f"SELECT id, {_DIGEST} AS wanted, digest "
        f"FROM (FROM incoming ANTI JOIN documents stored ON incoming.id = stored.id AND {_SAME_TEXT}) "
        f"JOIN ({_TEXT_DIGESTS}) ON document_id = id WHERE wanted <> digest"
    ).fetchall()
    return {id: wanted for id, wanted, digest in rows if not _is_same(wanted, digest)}


def _new_ids(cursor: Cursor) -> dict[str, str]:
    """Return a new id for each incoming document whose id has runs or reviews of another text."""
    new_ids: dict[str, str] = {}
    if reused := _reused_ids(cursor):
        known = dict(cursor.execute(_TEXT_DIGESTS).fetchall())
        taken = {id for (id,) in cursor.execute("SELECT id FROM incoming").fetchall()}
        for id, digest in reused.items():
            candidates = (f"{id} ({number})" for number in count(2))
            new_ids[id] = next(
                new for new in candidates if new not in taken and (new not in known or _is_same(known[new], digest))
            )
            taken.add(new_ids[id])
    return new_ids


def _stored_ids(cursor: Cursor, ids: Iterable[str]) -> dict[str, str]:
    """Return the ids like ``id (2)`` under which the project has the incoming documents with these ids."""
    rows = cursor.execute(
        r"SELECT incoming.id, min(stored.id) FROM incoming JOIN documents stored "
        rf"ON incoming.id = regexp_replace(stored.id, ' \(\d+\)$', '') AND {_SAME_TEXT} "
        "WHERE incoming.id IN (SELECT unnest(?)) AND stored.id NOT IN (SELECT id FROM incoming) GROUP BY incoming.id",
        [list(ids)],
    ).fetchall()
    return dict(rows)


def _conflict(cursor: Cursor, reused: Collection[str]) -> str:
    """Name a document that the project has, or had in ``reused``, with a different text; empty without one."""
    ((id, count),) = cursor.execute(
        "SELECT min(id), count(*) FROM incoming LEFT JOIN documents stored USING (id) WHERE CASE WHEN stored.id "
        f"IS NULL THEN id IN (SELECT unnest(?::VARCHAR[])) ELSE NOT ({_SAME_TEXT}) END",
        [list(reused)],
    ).fetchall()
    others = f", and {count - 1:,} more" if count > 1 else ""
    return f"a document '{id}' with a different text{others}" if count else ""


def _is_same(first: str, second: str) -> bool:
    """Return True for digests of the same text with the same context; context may be added or left out."""
    (text, _, context), (other_text, _, other_context) = first.partition(":"), second.partition(":")
    return text == other_text and (context == other_context or "" in (context, other_context))


def _with_new_ids(table: Columns, column: str, new_ids: Mapping[str, str]) -> Columns:
    ids = np.array([new_ids.get(id, id) for id in table[column]], dtype=np.object_)
    return {**table, column: ids}


def _search_text(search: str | None) -> str | None:
    return storable(search).lower() if search else None


def _fields(document: Document) -> tuple[str, str, str]:
    """Return the name of the first text field, its text, and the further fields as JSON."""
    fields = iter(document.fields.items())
    return *next(fields, ("", "")), dump(dict(fields))


def _text_columns(documents: Iterable[Document]) -> Columns:
    return columns_of(_TEXT_COLUMNS, [(document.id, *_fields(document)) for document in documents])


def _tables(documents: Iterable[Document], progress: Callable[[int], None] | None = None) -> tuple[Columns, Columns]:
    rows: list[tuple[Any, ...]] = []
    gold: list[tuple[Any, ...]] = []
    for document in documents:
        name, text, context = _fields(document)
        words, source = len(text.split()), dump(document.source)
        rows.append((document.id, len(rows), 0, name, text, context, words, source, document.group, document.order))
        gold += _gold_rows(document.id, document.gold)
        if progress is not None and len(rows) % CHUNK == 0:
            progress(len(rows))
    if progress is not None and len(rows) % CHUNK:
        progress(len(rows))
    return columns_of(_DOCUMENT_COLUMNS, rows), columns_of(_GOLD_COLUMNS, gold)


def _gold_rows(document_id: str, gold: Mapping[str, Mapping[str, Value]]) -> Iterator[tuple[Any, ...]]:
    for rater, values in gold.items():
        for item, value in values.items():
            yield document_id, rater, item, value_text(value)


def _other_ids(ids: Sequence[str], digests: Mapping[str, str], stored: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the result of ``ids_of_texts`` from ids, digests by id, and the (digest, id) rows of the project."""
    known: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for digest, id in stored:
        known[digest][id] = None
    given = {id for id, digest in digests.items() if id in known.get(digest, ())}
    moved = [id for id in ids if id not in given]
    left = {digest: (id for id in same if id not in given) for digest, same in known.items()}
    other_ids: dict[str, str] = {}
    for id in moved:
        if (found := next(left.get(digests[id], iter(())), None)) is not None:
            other_ids[id] = found
            given.add(found)
    taken = digests.keys() | {id for _, id in stored}
    numbers = (number for number in map(str, count(1)) if number not in taken)
    return other_ids | {id: next(numbers) for id in moved if id not in other_ids and id in given}


def _complete_documents(cursor: Cursor, documents: Columns) -> int:
    """Add group, order and source columns to stored documents that lack them; count those with other ones."""
    completed, conflicts = [], 0
    with incoming(cursor, documents):
        rows = cursor.execute(
            "SELECT id, stored.group_name, stored.group_order, stored.source, incoming.group_name, "
            "incoming.group_order, incoming.source FROM incoming JOIN documents stored USING (id) "
            "WHERE incoming.group_name NOT IN ('', stored.group_name) OR incoming.source <> stored.source "
            "OR incoming.group_order IS DISTINCT FROM stored.group_order"
        ).fetchall()
    for id, group, order, source, new_group, new_order, new_source in rows:
        columns, new_columns = load_dict(source), load_dict(new_source)
        all_columns = columns | {name: cell for name, cell in new_columns.items() if name not in columns}
        fits = not new_group or group in ("", new_group)
        later_order = new_order if order is None and fits else order
        differs = any(not _are_equal_cells(all_columns[name], cell) for name, cell in new_columns.items())
        conflicts += not fits or new_order not in (None, later_order) or differs
        if (group or new_group, later_order) != (group, order) or len(all_columns) > len(columns):
            completed.append((id, group or new_group, later_order, dump(all_columns)))
    if completed:
        with incoming(cursor, columns_of(("id", "group_name", "group_order", "source"), completed)):
            cursor.execute(
                "UPDATE documents SET group_name = incoming.group_name, group_order = incoming.group_order, "
                "source = incoming.source FROM incoming WHERE documents.id = incoming.id"
            )
    return conflicts


def _are_equal_cells(cell: Any, other: Any) -> bool:
    """Return True for equal cells, and for cells of files of different formats, such as "12" and 12."""
    if isinstance(cell, str) == isinstance(other, str):
        return bool(cell == other)
    text, value = (cell, other) if isinstance(cell, str) else (other, cell)
    try:
        return bool(float(text) == value)
    except ValueError:
        return bool(text.casefold() == ("" if value is None else str(value).casefold()))


def _add_documents(cursor: Cursor, import_id: int | None, documents: Columns, gold: Columns) -> tuple[int, int]:
    """Add new documents and gold; return the numbers of documents added and of different existing gold values."""
    added = 0
    insertion = (
        f"INSERT INTO documents ({', '.join(_DOCUMENT_COLUMNS)}) "
        "SELECT id, (SELECT coalesce(max(position), -1) FROM documents) + row_number() OVER (ORDER BY position), "
        "?, field, text, context, words, source, group_name, group_order "
        "FROM (FROM incoming ANTI JOIN documents USING (id) "
        "QUALIFY row_number() OVER (PARTITION BY id ORDER BY position) = 1) ORDER BY position"
    )
    for start in range(0, len(documents["id"]), CHUNK):  # a statement holds all of its texts in memory
        with incoming(cursor, {name: cells[start : start + CHUNK] for name, cells in documents.items()}):
            added += scalar(cursor, insertion, [import_id])
    with incoming(cursor, gold):
        cursor.execute(
            f"INSERT INTO gold SELECT DISTINCT ON (document_id, rater, item) {', '.join(_GOLD_COLUMNS)} FROM incoming "
            "ANTI JOIN gold USING (document_id, rater, item)"
        )
        differing = "FROM incoming JOIN gold USING (document_id, rater, item) WHERE incoming.value <> gold.value"
        return added, scalar(cursor, f"SELECT count(*) {differing}")
