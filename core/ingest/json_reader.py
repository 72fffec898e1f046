"""json and jsonl reader: objects become rows, the union of their keys the columns.

Nested values stay unchanged; the values of an inner object are columns as well (``review.text``).
The tasks of a Label Studio export become a row each, and so do the data rows of a Labelbox export.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, count, islice, zip_longest
from typing import Any, TypeAlias

import orjson

from core.errors import InputError
from core.formatting import join_names
from core.ingest.decode import Decoding, LineReader
from core.ingest.gold import NO_ANSWER, NOT_ACCEPTED, has_only_own_name, rater_key
from core.ingest.table import (
    MAX_COLUMNS,
    Format,
    RowLog,
    Table,
    TableSource,
    as_text,
    check_width,
    clean_columns,
    clean_value,
    clip,
    is_header,
)

ASSIGNMENT = re.compile(r"\A\s*[A-Za-z_][\w.]*\s*=\s*(?=[\[{])")
"""The beginning of the files in an archive of tweets: ``window.YTD.tweets.part0 = [``."""
_LONG_NUMBER = re.compile(r"[:\[,\s]\d{20}|-\d{19}")
"""A whole number that may be beyond 64 bits; orjson would round it."""
_LAYOUTS = 'Give an array of objects, {"data": [...]}, or one object a line.'
_NEXT_OBJECT = re.compile(r"[^\s,]")
_KINDS = {type(None): "null", bool: "true or false", int: "a number", float: "a number", str: "a text"}
Element: TypeAlias = tuple[int, Any, str, str]
"""Number of the line or element, its value, and when it could not be read the reason with what stood there."""


class NotJson(InputError):
    """The file as a whole is not JSON. It may still have one object per line."""


def parse_json(text: str) -> Any:
    """Parse a JSON text and clean its values for storage. Raises ValueError with the reason.

    orjson does nearly all. The slow parser gets what it refuses or would not keep: lone surrogates, NaN (None here),
    deep nesting, escaped NULs and whole numbers beyond 64 bits.
    """
    if "\\u0000" not in text and not _LONG_NUMBER.search(text):
        with suppress(orjson.JSONDecodeError, UnicodeEncodeError):
            return orjson.loads(text)
    try:
        return clean_value(json.loads(text))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        raise ValueError(f"{error.msg[:1].lower()}{error.msg[1:]} ({line}character {error.colno})") from None


def parse_objects(text: str) -> list[Any]:
    """Parse JSON objects that follow each other, with or without commas and line breaks; ValueError for other texts."""
    decoder, values = json.JSONDecoder(), []
    position = 0
    while match := _NEXT_OBJECT.search(text, position):
        position = match.start()
        if text[position] != "{":
            raise ValueError(f"no object at character {position + 1}")
        try:
            value, position = decoder.raw_decode(text, position)
            values.append(clean_value(value))  # from Python 3.12 on, only this may be nested too deeply
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
    return values


def read_jsonl(source: TableSource, decoding: Decoding) -> Table:
    """Read one object per line. Other lines are rejected with the reason; blank lines are skipped."""
    with LineReader(source, decoding, mark_end=False) as lines:
        objects = islice(_objects(lines), source.max_rows)
        return table_of_objects(
            objects, name=source.name, format="jsonl", encoding=decoding.encoding, notes=lambda: lines.notes
        )


def _objects(lines: LineReader) -> Iterator[Element]:
    for line in lines:
        if not line.strip():
            continue
        try:
            yield lines.number, parse_json(line.rstrip()), "", line
        except ValueError as error:
            yield lines.number, None, f"not JSON: {error}", line


def read_json(source: TableSource, decoding: Decoding, parse: Callable[[str], Any] = parse_json) -> Table:
    """Read an array of objects or texts, an object that contains one, or an object of columns or of rows (``_rows``).

    An element that is not an object is rejected. InputError if the text is not JSON or contains no rows.
    """
    source.stream.seek(0)
    text = source.stream.read().decode(decoding.encoding, decoding.errors).lstrip("\ufeff")
    text = ASSIGNMENT.sub("", text)
    source.progress(0.3)
    try:
        value = parse(text)
    except ValueError as error:
        raise NotJson(f"{source.name} is not JSON: {error}.", _LAYOUTS) from None
    source.progress(0.8)
    elements, note = _rows(value, source.name)
    notes = tuple(filter(None, (decoding.note, note)))
    numbered = ((number, element, "", "") for number, element in enumerate(elements[: source.max_rows], 1))
    return table_of_objects(numbered, name=source.name, format="json", encoding=decoding.encoding, notes=lambda: notes)


def _rows(value: Any, name: str) -> tuple[list[Any], str]:
    """Return the rows of a JSON text and a note on where they were.

    The rows are one of these:

    - an array of objects, of texts alone, or of arrays, the first with the names
    - the array under ``data``, or all arrays of objects in an object, if the first objects have the same keys; else
      those in the only object in it
    - the objects under ``row`` in those under ``rows`` (Hugging Face)
    - what pandas writes: columns as arrays or as objects by row, ``columns`` with ``data``, and rows by their id, which
      replaces an ``id`` in the row; an index other than 0, 1, 2, ... is the id of rows without one
    - an object without arrays and objects: a single row, if it has a text and another value, or ``text``

    A row with more cells than columns stays an array.
    """
    if isinstance(value, list):
        return _rows_of_array(value)
    if isinstance(value, dict):
        if rows_and_note := _named_rows(value) or _rows_of_columns(value):
            return rows_and_note
        kinds = set(map(type, value.values()))
        if str in kinds and kinds.isdisjoint((list, dict)) and (len(value) > 1 or "text" in value):
            return [value], "The object is the only row."
        if keys := _keys_of_rows(value):
            raise InputError(f"{name} has different objects under {_quoted(keys)}.", "Keep the array with the rows.")
    raise InputError(f"{name} holds no array of objects.", _LAYOUTS)


def _rows_of_array(elements: list[Any]) -> tuple[list[Any], str]:
    """Return the rows of an array, and a note on their form."""
    if (rows := _all(list, elements)) and len(names := _all(str, rows[0])) > 1:
        columns = zip(names, zip_longest(*(row for row in rows if row != names)), strict=False)
        is_data = any(name in cells and not has_only_own_name(name, cells) for name, cells in columns)
        if is_header(names) and not is_data:
            return _with_names(names, rows[1:]), "The first array holds the names of the columns."
        return _with_names([f"column_{number}" for number, _ in enumerate(names, 1)], rows), ""
    texts = [{"text": text} for text in _all(str, elements)]
    return (texts, "Each text of the array is a row.") if texts else (elements, "")


def _named_rows(value: dict[str, Any]) -> tuple[list[Any], str] | None:
    """Return the rows under a key of an object, and a note that names the key. None if there are none."""
    names = _all(str, value.get("columns")) or [*map(str, _all(int, value.get("columns")))]
    if names and (cells := _all(list, value.get("data"))):
        return _with_index(_with_names(names, cells), value.get("index")), "The rows are those under 'data'."
    if _are_columns(value):
        return None
    if isinstance(value.get("data"), list):
        return value["data"], "The rows are those under 'data'."
    if inner := _all(dict, [row.get("row") for row in _all(dict, value.get("rows"))]):
        return inner, "The rows are those under 'rows'."
    keys = _keys_of_rows(value)
    if len({frozenset(value[key][0]) for key in keys}) == 1:
        rows = [*chain.from_iterable(value[key] for key in keys)]
        return rows, f"The rows are those under {_quoted(keys)}."
    objects = [key for key, item in value.items() if isinstance(item, dict)]
    if not keys and len(objects) == 1 and (inner_rows := _named_rows(value[objects[0]])):
        rows, note = inner_rows
        return rows, note.replace("under '", f"under '{objects[0]}.")
    return None


def _rows_of_columns(value: dict[str, Any]) -> tuple[list[Any], str] | None:
    """Return the rows of an object whose keys are columns or the ids of rows, and a note. None if they are neither."""
    values = list(value.values())
    may_be_columns = _are_columns(value) or (len(values) > 1 and not _keys_of_rows(value))
    columns = _all(list, values) if may_be_columns else []
    if columns and len({len(column) for column in columns}) == 1:
        return [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)], "Each key is a column."
    if rows := _all(dict, values):
        if all(index.isdecimal() for index in rows[0]) and all(row.keys() == rows[0].keys() for row in rows):
            by_index = [{key: value[key][index] for key in value} for index in rows[0]]
            return _with_index(by_index, [*rows[0]]), "Each key is a column."
        return [{**row, "id": key} for key, row in value.items()], "Each key is the id of a row."
    return None


def _are_columns(value: dict[str, Any]) -> bool:
    """Return True for three or more lists of the same length, one of them without lists and objects.

    Objects under ``data`` are rows, and so are its lists beside ``columns`` (pandas).
    """
    if _all(dict, value.get("data")) or ("columns" in value and _all(list, value.get("data"))):
        return False
    columns = _all(list, list(value.values()))
    are_equal = len(columns) > 2 and len(set(map(len, columns))) == 1 and len(columns[0]) > 1
    return are_equal and any(not any(isinstance(cell, list | dict) for cell in column) for column in columns)


def _keys_of_rows(value: dict[str, Any]) -> list[str]:
    """Return the keys of an object with an array of objects."""
    return [key for key, item in value.items() if isinstance(item, list) and item and isinstance(item[0], dict)]


def _quoted(keys: Sequence[str]) -> str:
    return join_names([f"'{key}'" for key in keys], 5)


def _with_names(names: list[str], rows: list[list[Any]]) -> list[Any]:
    return [row if len(row) > len(names) else dict(zip(names, row, strict=False)) for row in rows]


def _with_index(rows: list[Any], index: Any) -> list[Any]:
    """Return rows with their keys in the index (pandas) as ``id``, unless they have one or the keys are 0, 1, 2, ..."""
    keys = [key for key in _all(object, index) if isinstance(key, str | int)]
    if len(keys) != len(rows) or [*map(str, keys)] == [*map(str, range(len(rows)))]:
        return rows
    return [{"id": key, **row} if isinstance(row, dict) else row for key, row in zip(keys, rows, strict=True)]


def _all(kind: type, value: Any) -> list[Any]:
    """Return a list that has only values of this kind; empty for everything else."""
    return value if isinstance(value, list) and all(isinstance(item, kind) for item in value) else []


MAX_COLUMNS_OF_PEOPLE, MAX_LABEL = 100, 60
"""Columns of people up to which there are any, and characters of a label in them."""
MAX_INNER, MAX_LEVELS = 20, 3
"""Values up to which, and levels of objects down to which, the values in a column of objects become columns."""


def _inner_columns(name: str, cells: tuple[Any, ...], levels: int = MAX_LEVELS) -> dict[str, tuple[Any, ...]]:
    """Return the texts, numbers and truth values in a column of objects as columns, such as ``review.text``.

    Lists of annotations become columns by person (``_columns_of_people``). Empty for a column with other cells, and if
    there would be more than ``MAX_INNER``. Values below ``levels`` of objects are left out.
    """
    first = next((cell for cell in cells if cell is not None), None)
    if isinstance(first, list):
        return _columns_of_people(name, cells)
    if levels == 0 or not isinstance(first, dict):
        return {}
    objects = [{} if cell is None else cell for cell in cells]
    if not all(isinstance(item, dict) for item in objects):
        return {}
    keys = dict.fromkeys(key for item in objects for key in item)
    columns: dict[str, tuple[Any, ...]] = {}
    for key in keys if len(keys) <= MAX_INNER else ():
        inner, inner_name = tuple(item.get(key) for item in objects), f"{name}.{key}"
        if all(cell is None or isinstance(cell, str | int | float) for cell in inner):
            columns[inner_name] = inner
        else:
            columns |= _inner_columns(inner_name, inner, levels - 1)
    return columns if len(columns) <= MAX_INNER else {}


def _columns_of_people(name: str, cells: tuple[Any, ...]) -> dict[str, tuple[Any, ...]]:
    """Return the values in lists of objects that each name a person as columns by person, such as ``votes.label_r2``.

    A ``value`` gets the name of the list. Values that look like no labels are left out: comments also name people.

    A person is numbered by its id if this is a number, else in the order of the file; of more than ``MAX_INNER`` people
    the numbers are the places in the lists. Of Argilla's responses, drafts and discarded ones are left out, and those
    to several questions have a column for each question. Other lists give no columns.
    """
    lists = [cell if isinstance(cell, list) else [] for cell in cells]
    first = next(chain.from_iterable(lists), None)
    person = rater_key(first) if isinstance(first, dict) else None
    if person is None:
        return {}
    entries = list(chain.from_iterable(lists))
    if not all(isinstance(entry, dict) and person in entry for entry in entries):
        return {}
    keys = [key for key in dict.fromkeys(chain.from_iterable(entries)) if key not in (person, "status")]
    people = dict.fromkeys(str(entry[person]) for entry in entries)
    are_numbered = all(map(str.isdecimal, people))
    order = {rater: rater if are_numbered else str(number) for number, rater in enumerate(people, 1)}
    given: dict[str, list[Any]] = {}
    """The values of all people by the name of their column."""
    by_person: dict[tuple[str, str], dict[int, list[Any]]] = {}
    """Those of one person by row."""
    for row, entries_of_row in enumerate(lists):
        for index, entry in enumerate(entries_of_row, 1):
            if entry.get("status") in ("draft", "discarded"):
                continue
            number = str(index) if len(people) > MAX_INNER else order[str(entry[person])]
            for key in keys if "question_name" not in entry else ("value",):
                own_name = entry.get("question_name") or name.rpartition(".")[2]
                column = own_name if key == "value" else f"{name}.{key}"
                given.setdefault(column, []).append(entry.get(key))
                by_person.setdefault((column, number), {}).setdefault(row, []).append(entry.get(key))
    labels = {column for column, values in given.items() if _may_be_labels(values)}
    columns: dict[str, dict[int, Any]] = {
        f"{column}_r{number}": rows for (column, number), rows in by_person.items() if column in labels
    }
    if len(columns) > MAX_COLUMNS_OF_PEOPLE:
        return {}
    if all(len(values) == 1 for rows in columns.values() for values in rows.values()):
        columns = {column: {row: value for row, (value,) in rows.items()} for column, rows in columns.items()}
    return {column: tuple(map(rows.get, range(len(cells)))) for column, rows in sorted(columns.items())}


def _named_responses(cell: Any) -> Any:
    """Return responses by question (Argilla) as one list in which each names its question; other cells unchanged."""
    if not isinstance(cell, dict) or not all(_all(dict, responses) == responses for responses in cell.values()):
        return cell
    return [{"question_name": name, **response} for name, responses in cell.items() for response in responses]


def _with_responses(columns: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """Return columns in which the responses to a question (Argilla) are objects that name their user and status.

    In data sets from the hub, they are in lists of the same length: ``q.responses``, with ``.users`` and ``.status``.
    """
    result = dict(columns)
    for name in columns:
        question, parts = name.removesuffix(".responses"), (name, f"{name}.users", f"{name}.status")
        if question == name or not columns.keys() >= {*parts}:
            continue
        rows = [tuple(cell or [] for cell in cells) for cells in zip(*map(columns.__getitem__, parts), strict=True)]
        if all(len({len(_all(object, cell)) for cell in cells}) == 1 for cells in rows):
            result[name] = tuple(
                [
                    {"user_id": user, "status": status, "question_name": question, "value": value}
                    for value, user, status in zip(*cells, strict=True)
                ]
                for cells in rows
            )
            for part in parts[1:]:
                del result[part]
    return result


def _may_be_labels(values: list[Any]) -> bool:
    """Return True for short values; if there are many, some must recur."""
    texts = [as_text(value) for value in values if value is not None]
    is_short = all(len(value) <= MAX_LABEL for value in values if isinstance(value, str))
    return is_short and len(set(texts)) <= max(MAX_INNER, len(texts) // 2)


_UNACCEPTED = (
    "Labels of rows whose answer is reject or ignore (Prodigy), and verdicts of a run, are in columns of their own."
)
_RATINGS = "The points of each dimension (Prodigy) are in a column of its name."
_POINT = re.compile(r"(.*[^:]):(-?\d{1,3})", re.DOTALL)
_BINARY = "Each label of the rows (Prodigy) has a column: 1 for the answer accept, 0 for reject."


def _prodigy_columns(data: Mapping[str, tuple[Any, ...]]) -> tuple[dict[str, tuple[Any, ...]], str]:
    """Return columns with the answers of Prodigy's tasks, and a note, both empty for other tasks.

    Tasks whose answers all accept need no such columns. Points of scales become columns of ratings. A question about a
    single label is answered by present or absent, and each label becomes a column. Other labels are split into columns
    without and with only what was rejected or ignored. A label that was not accepted is ``#`` in its own column:
    unlike an empty cell, it never means absent, as a reject may concern another label or only the place of a span.
    """
    answers = _prodigy_answers(data)
    if not answers:
        return {}, ""
    if ratings := _prodigy_ratings(data, answers):
        return ratings, _RATINGS
    if set(answers) <= {"accept"}:
        return {}, ""
    labels = data.get("label", ())
    names = dict.fromkeys(label for label in labels if isinstance(label, str))
    if len(names) in range(1, MAX_INNER + 1) and not data.keys() & {"accept", *names}:
        pairs = [(label, {"accept": 1, "reject": 0}.get(answer)) for label, answer in zip(labels, answers, strict=True)]
        return {name: tuple(value if label == name else None for label, value in pairs) for name in names}, _BINARY
    columns: dict[str, tuple[Any, ...]] = {}
    for name in ("label", "accept", "spans"):
        if name in data:
            cells = list(zip(data[name], answers, strict=True))
            columns[name] = tuple(cell if answer == "accept" else NO_ANSWER for cell, answer in cells)
            columns[f"{name}{NOT_ACCEPTED}"] = tuple(None if answer == "accept" else cell for cell, answer in cells)
    return columns, _UNACCEPTED if columns else ""


def _prodigy_answers(data: Mapping[str, tuple[Any, ...]]) -> tuple[str, ...]:
    """Return the answers of Prodigy's tasks; none for other tasks.

    Unanswered tasks that Moot exported count as ignored: they accept the verdict of a run.
    """
    answers = data.get("answer", ())
    if not answers or not all(answer in ("accept", "reject", "ignore") for answer in answers):
        return ()
    runs = (task.get("run") if isinstance(task, dict) else None for task in data.get("meta", answers))
    people = data.get("_annotator_id", answers)
    tasks = zip(answers, runs, people, strict=True)
    return tuple("ignore" if run is not None and run == person else answer for answer, run, person in tasks)


def _prodigy_ratings(data: Mapping[str, tuple[Any, ...]], answers: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """Return the accepted points by dimension if all options are points such as ``Fluency:4``; else no columns.

    A name that is a column of the tasks gets ``_annotated``, as in Label Studio's tasks.
    """
    options = {option.get("id") for cell in data.get("options", ()) for option in _all(dict, cell)}
    point_of = {option: _POINT.fullmatch(option) for option in options if isinstance(option, str)}
    names = Counter(point[1] for point in point_of.values() if point)
    if "accept" not in data or not names or min(names.values()) < 2 or names.total() < len(options):
        return {}
    ratings: dict[str, list[int | None]] = {name: [] for name in sorted(names)}
    for accept, answer in zip(data["accept"], answers, strict=True):
        points = [point for option in _all(str, accept) if (point := point_of.get(option))]
        for name, column in ratings.items():
            given = [int(point[2]) for point in points if point[1] == name]
            column.append(given[0] if len(given) == 1 and answer == "accept" else None)
    return {f"{name}_annotated" if name in data else name: tuple(column) for name, column in ratings.items()}


_NESTED_OF_MOOT = re.compile(r"(?:labels|roles)(?:_\d+)?")
"""Keys of objects in a run that Moot exported. Columns such as ``pred_Food`` beside them have the same values."""


def with_nested_columns(columns: dict[str, tuple[Any, ...]]) -> tuple[dict[str, tuple[Any, ...]], str]:
    """Return columns with those of the values in their objects and lists, and a note on answers of Prodigy, or empty.

    Answers of Prodigy become columns as well.
    """
    of_prodigy, note = _prodigy_columns(columns)
    data = _with_responses(columns | of_prodigy)
    if note == _RATINGS:
        del data["accept"]
    for key in filter(data.__contains__, columns):
        if "review_status" in data and _NESTED_OF_MOOT.fullmatch(key):
            continue
        if key == "suggestions" and "responses" in data:
            continue  # of a model, to the people whose responses are the labels (Argilla)
        cells = data[key] if key != "responses" else tuple(map(_named_responses, data[key]))
        inner = _inner_columns(key, cells)
        if len(data) + len(inner) <= MAX_COLUMNS:
            data |= {column: cells for column, cells in inner.items() if column not in data}
    return data, note


def table_of_objects(
    elements: Iterable[Element], *, name: str, format: Format, encoding: str, notes: Callable[[], tuple[str, ...]]
) -> Table:
    """Return a table with a column for each key of the objects; other elements are rejected.

    Tasks of Label Studio and data rows of Labelbox become rows with their annotations. ``notes`` is called after the
    last element. InputError if there is no object.
    """
    rows: RowLog[dict[str, Any]] = RowLog()
    keys: dict[str, None] = {}
    for line, value, reason, raw in elements:
        if not reason and not isinstance(value, dict):
            reason, raw = f"{_KINDS.get(type(value), 'an array')}, expected an object", raw or str(value)
        if reason:
            rows.reject(line, reason, raw)
            continue
        if not keys.keys() >= value.keys():
            keys.update(dict.fromkeys(value))
            check_width(len(keys), name)
        rows.keep(line, value)
    if not rows.kept:
        problem = f"no row with an object; {rows.rejected[0]}" if rows.rejected else "no rows"
        raise InputError(f"{name} has {problem}.", _LAYOUTS)
    task_notes: tuple[str, ...] = ()
    for is_annotated, rows_of in ((is_task, task_rows), (is_data_row, data_rows)):
        if annotated := [value for value in rows.kept if is_annotated(value)]:
            of_annotated, task_notes = rows_of(annotated)
            converted = iter(of_annotated)
            rows.kept = [next(converted) if is_annotated(value) else value for value in rows.kept]
            keys = dict.fromkeys(chain.from_iterable(rows.kept))
            check_width(len(keys), name)
    data, note = with_nested_columns({key: tuple(row.get(key) for row in rows.kept) for key in keys})
    columns, renamed = clean_columns(tuple(data))
    all_notes = tuple(filter(None, (*renamed, note, *notes(), *task_notes)))
    return rows.table(name, format, columns, tuple(data.values()), encoding=encoding, notes=all_notes)


_Control: TypeAlias = tuple[str, str]
"""Name and type of a control of Label Studio."""


@dataclass(frozen=True, slots=True)
class _Annotation:
    """The answers of one person to a task of Label Studio."""

    person: str
    answers: Mapping[_Control, list[Any]]
    undecided: Sequence[str]
    """Labels that have no value, unless they were chosen later."""


def is_task(value: Any) -> bool:
    """Return True if a JSON value looks like a task of Label Studio's JSON export."""
    return (
        isinstance(value, dict) and isinstance(value.get("data"), dict) and isinstance(value.get("annotations"), list)
    )


def task_rows(tasks: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Return the tasks as rows, and notes: their data and id, then one column per label, dimension or single choice.

    A control in which some annotation has several choices or undecided ones becomes one column of 1 and 0 per choice,
    also for choices that only predictions have, and for the labels in ``meta`` of Moot's tasks; any other control
    becomes one column with its choice. An annotation with answers to other controls only has no value for a control,
    which perhaps was not shown; one without answers has no choice in controls with several. A choice that occurs in
    several controls with a column per choice gets the name of the control in front (``food_good``). Numbers and stars
    become a column of numbers. If several people annotated, the names of the columns end in ``_r`` and the id of the
    person. A name that the data of some task uses gets ``_annotated``. Cancelled annotations, marked spans and answers
    about a span are left out. Labels that an annotation of Moot leaves undecided (``meta.undecided``) have no value,
    unless they were chosen later.
    """
    users = {_user(annotation) for task in tasks for annotation in task["annotations"]}
    free = (number for number in count(1) if str(number) not in users)
    reviewers: defaultdict[str, int] = defaultdict(lambda: next(free))
    left_out: Counter[str] = Counter()
    annotations = [[*_annotations(task, reviewers, left_out)] for task in tasks]
    predictions = [{"annotations": task["predictions"]} for task in tasks if isinstance(task.get("predictions"), list)]
    offered = [prediction for task in predictions for prediction in _annotations(task, reviewers, Counter())]
    metas = [task["meta"] for task in tasks if isinstance(task.get("meta"), dict)]
    labels = dict.fromkeys(label for meta in metas for label in _all(str, meta.get("labels")))  # Moot wrote them
    columns = _columns_of_choices([*chain.from_iterable(annotations)], offered, labels)
    people = [{annotation.person for annotation in of_task} for of_task in annotations]
    several_people = len(set().union(*people)) > 1
    data_names = {name for task in tasks for name in task["data"]}
    used_names = data_names | {"id"}
    rows = [task["data"] | ({"id": task["id"]} if "id" in task and "id" not in data_names else {}) for task in tasks]
    for row, of_task in zip(rows, annotations, strict=True):
        for annotation in of_task:
            for name, value in _gold_of(annotation, columns).items():
                column = f"{name}_r{annotation.person}" if several_people else name
                row[f"{column}_annotated" if column in used_names else column] = value
    repeated = sum(map(len, annotations)) - sum(map(len, people))
    types = ", ".join(f"{kind} ({number:,})" for kind, number in left_out.items())
    return rows, (
        "The rows are the tasks of Label Studio, with one column for each label.",
        f"Of several annotations of a task by the same person, the last counts ({repeated:,})." if repeated else "",
        f"Left out, because these types of answers are not read: {clip(types, 200)}." if types else "",
    )


def _columns_of_choices(
    annotations: Sequence[_Annotation], offered: Sequence[_Annotation], labels: dict[str, None]
) -> dict[_Control, dict[Any, Any]]:
    """Return the name of the column of each choice, for the controls that get a column per choice.

    ``offered`` are predictions, and ``labels`` those in ``meta`` of Moot's tasks.
    """
    has_undecided = any(annotation.undecided for annotation in annotations)
    choices_of: dict[_Control, list[Any]] = {}
    for control in dict.fromkeys(chain.from_iterable(annotation.answers for annotation in annotations)):
        if control[1] != "choices":
            continue
        chosen = [annotation.answers.get(control, []) for annotation in annotations]
        choices = dict.fromkeys(chain(*chosen, *(prediction.answers.get(control, []) for prediction in offered)))
        has_all_labels = bool(labels) and labels.keys() >= choices.keys()
        if has_undecided or has_all_labels or any(len(answer) > 1 for answer in chosen):
            choices_of[control] = [*(choices | labels if has_all_labels else choices)]
    times = Counter(chain.from_iterable(choices_of.values()))
    return {
        control: {choice: f"{control[0]}_{choice}" if times[choice] > 1 else choice for choice in choices}
        for control, choices in choices_of.items()
    }


def _gold_of(annotation: _Annotation, columns: Mapping[_Control, Mapping[Any, Any]]) -> dict[Any, Any]:
    """Return the values of an annotation by column; ``columns`` are those of choices."""
    gold: dict[Any, Any] = {}
    for control, names in columns.items():
        if annotation.answers and control not in annotation.answers:
            continue  # perhaps it was not shown
        chosen = annotation.answers.get(control, [])
        for choice, name in names.items():
            gold[name] = 1 if choice in chosen else None if choice in annotation.undecided else 0
    for control, chosen in annotation.answers.items():
        if control not in columns and chosen:
            gold[control[0]] = chosen[0]
    return gold


def _user(annotation: Any) -> str:
    """Return the id of the user who completed an annotation, empty if it is unknown."""
    user = annotation.get("completed_by") if isinstance(annotation, dict) else None
    user = user.get("id") if isinstance(user, dict) else user
    return "" if user is None else str(user)


def _annotations(
    task: Mapping[str, Any], reviewers: defaultdict[str, int], left_out: Counter[str]
) -> Iterator[_Annotation]:
    """Yield the annotations of a task.

    ``reviewers`` are numbers by name, and ``left_out`` counts the types of answers that are not read; this function
    extends both. Moot's own tasks name the reviewer in the ``meta`` of each result, because Label Studio sets
    ``completed_by`` when it imports them, and in ``meta.reviewers``.
    """
    annotations, names = task["annotations"], None
    undecided: dict[int, Sequence[str]] = {}
    match task:
        case {"meta": {"reviewers": list(reviewer_names)}} if len(reviewer_names) == len(annotations):
            names = reviewer_names
            undecided = dict(enumerate(_all(list, task["meta"].get("undecided")), 1))
    for number, annotation in enumerate(annotations, 1):
        if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
            continue
        results = annotation["result"] if isinstance(annotation.get("result"), list) else []
        person, name = _user(annotation), names[number - 1] if names else None
        for result in results:
            match result:
                case {"meta": {"reviewer": str(reviewer)}}:
                    person, name = "", reviewer
        person = person or str(number if name is None else reviewers[str(name)])
        yield _Annotation(person, _answers(results, left_out), undecided.get(number, ()))


def _answers(results: Iterable[Any], left_out: Counter[str]) -> dict[_Control, list[Any]]:
    """Return the answers in the results of an annotation. Extends ``left_out``, the types of answers not read."""
    answers: dict[_Control, list[Any]] = {}
    for result in results:
        match result:
            case {"value": {"start": _}}:
                continue
            case {"type": "choices" | "number" | "rating" as kind, "value": {**value}} if kind in value:
                items = value[kind]
                answers[str(result.get("from_name", kind)), kind] = [
                    item if isinstance(item, int | float) else str(item)
                    for item in (items if isinstance(items, list) else [items])
                ]
            case {"type": kind} if kind not in ("choices", "number", "rating"):
                left_out[str(kind)] += 1
    return answers


def is_data_row(value: Any) -> bool:
    """Return True if a JSON value looks like a data row of Labelbox's export."""
    match value:
        case {"data_row": {"row_data": _}, "projects": dict()}:
            return True
    return False


def data_rows(exported: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Return the data rows of Labelbox as rows, and a note: ``id``, ``text``, then a column for each classification.

    A radio classification has the name of its answer, a checklist the list of names, and a text its text. If several
    people labelled, the names of the columns end in ``_r`` and the number of the person. Objects, nested
    classifications and skipped labels are left out.
    """
    labels = [[*_labels(value["projects"])] for value in exported]
    people = {
        person: number for number, person in enumerate(dict.fromkeys(p for of_row in labels for p, _ in of_row), 1)
    }
    rows = []
    for value, of_row in zip(exported, labels, strict=True):
        data = value["data_row"]
        id = data.get("external_id") or data.get("global_key") or data.get("id")
        row = {"id": id, "text": data["row_data"]}
        for person, answers in of_row:
            for name, answer in answers.items():
                column = f"{name}_r{people[person]}" if len(people) > 1 else name
                row[f"{column}_annotated" if column in ("id", "text") else column] = answer
        rows.append(row)
    return rows, ("The rows are the data rows of Labelbox, with one column for each classification.",)


def _labels(projects: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the person and the answers by name of each label in the projects of a data row."""
    for project in projects.values():
        for label in _all(dict, project.get("labels")) if isinstance(project, dict) else ():
            match label:
                case {"performance_details": {"skipped": True}}:
                    continue
                case {"annotations": {"classifications": list(classifications)}}:
                    details = label.get("label_details")
                    person = details.get("created_by") if isinstance(details, dict) else None
                    yield str(person), dict(filter(None, map(_classified, classifications)))


def _classified(classification: Any) -> tuple[str, Any] | None:
    """Return the name of a classification and its answer, None for an unknown one."""
    match classification:
        case {"name": str(name), "radio_answer": {"name": str(answer)}}:
            return name, answer
        case {"name": str(name), "checklist_answers": list(answers)}:
            return name, [str(answer["name"]) for answer in _all(dict, answers) if "name" in answer]
        case {"name": str(name), "text_answer": {"content": str(answer)}}:
            return name, answer
    return None
