"""Suggest a column mapping from the names and the cells of the columns: text, id, rater, and gold."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from core.codebook import Codebook
from core.errors import UsageError
from core.ingest.gold import NOT_ACCEPTED, RATER, USER, GoldSource, guess_kind, has_vectors, split_list
from core.ingest.gold_suggestions import (
    ID_OF_EXPORT,
    gold_of_export,
    is_named_like_id,
    is_predicted,
    results_of_export,
    suggest_gold,
    suggest_gold_without_codebook,
)
from core.ingest.mapping import ColumnMapping
from core.ingest.table import REVIEW_DETAILS, Table, as_text, chat_messages, clip, field_text, has_text

SAMPLE = 2_000
"""Number of rows that are inspected, spread over the table."""
_TEXT = re.compile(
    r"(?:^|[ _.-])(?:text|texts|review|reviews|comment|body|content|sentence|document|messages?|conversations?|"
    r"dialog(?:ue)?|abstract|description|tweet|post|answer|response|utterance|passage|statement|summary|feedback|"
    r"texte|texto|kommentar)(?:$|[ _.-])"
)
_MIN_TOKENS = 5
"""Entries of a list from which on it looks like the tokens of a text."""
_NOT_TEXT = re.compile(r"\d{4}[-/]\d\d?[-/]\d|\d{1,2}[./]\d{1,2}[./]\d|[\[{]\s*[\"'{]|\((?:ROOT)?\s")
"""The start of a date, of JSON or of a parse tree."""
_PERSON_OR_CASE = re.compile(
    r"(?:respondent|participant|proband|subject|case|patient|informant|interviewee|interview|student|person|record)"
    r"(?:[ _.-]?(?:id|code))?|response[ _.-]?(?:id|code)",
    re.IGNORECASE,
)
"""Names of columns that hold ids if their cells are short codes: ``subject`` may also be that of an email."""
_CODE = re.compile(r"\S{1,40}|[\w .#-]{1,39}\d")
"""An id such as ``R001`` or ``Person 12``."""
_NOT_GOLD = (NOT_ACCEPTED, *(f".{name}" for name in REVIEW_DETAILS))
"""Ends of the names of columns in exports of Prodigy and of Moot for it, which hold no gold."""
_MAX_DOCUMENT_SHARE = 0.8
"""Most documents, as a share of the rows, of a file with a row for each rater."""
_MIN_UNIQUE_SHARE = 0.95
"""Least share of its ids that have one text, and of its rows that have an id and a rater of their own."""
_MIN_FILLED = 0.3
"""Least share of cells with text in a text column: texts may be missing, but a column of rare notes has fewer."""
_VARIETY_FLOOR = 0.1
"""Added to the share of different texts, so that a long text that is the same in every row still beats a short one."""
_NAME_WEIGHT = 4
"""How often longer the texts of another column must be to beat one that is named like a text."""


def suggest_mapping(table: Table, codebook: Codebook | None = None) -> ColumnMapping:
    """Return the likeliest mapping, with a reason for the text, the id and the gold.

    - Text: the column whose texts are longest and most varied, with a bonus for a usual name.
    - Id: a filled and unique column that is named like an id, or like a person or case; else row numbers.
    - Rater: a column that is named like one, if several rows have the same id and text (without an id, the same text),
      each by another rater.
    - Gold with a codebook: the columns called like its labels, or like a label and a rater (``Price_A1``), or a column
      that holds or lists labels.
    - Gold without a codebook: the columns of the first rule of gold_suggestions.py that fits.

    Context is never guessed. UsageError when no column holds text.
    """
    # not every n-th row, as files have periods
    rows = sorted(random.Random(0).sample(range(len(table)), min(SAMPLE, len(table))))
    cells = {name: tuple(map(column.__getitem__, rows)) for name, column in zip(table.columns, table.data, strict=True)}
    results = results_of_export(table.columns)
    kept = [name for name in table.columns if name not in results or name.startswith(ID_OF_EXPORT)]
    inputs = replace(table, columns=tuple(kept), data=tuple(map(table.column, kept)))
    text, why_text = _suggest_text(table, {name: column for name, column in cells.items() if name not in results})
    id, why_id = _suggest_id(inputs, text)
    rater = None
    if by_raters := _suggest_rater(inputs, text):
        id, rater = by_raters
        same = "text" if id is None else f"'{id}'"
        why_id = f"Rows with the same {same} are one document, labelled by each '{rater}'."
    not_gold = {text, id, rater} | {name for name in cells if name.endswith(_NOT_GOLD)}
    if "answer" in cells and {"accept", "options"} & cells.keys():
        not_gold.add("spans")  # of Prodigy: the quotes beside the options that were accepted
    predicted_last = sorted(cells, key=is_predicted)
    candidates = {name: cells[name] for name in predicted_last if name not in not_gold}
    is_repeated = sum(name.startswith(ID_OF_EXPORT) for name in table.columns) > 1
    exported = gold_of_export(candidates, codebook, is_repeated=is_repeated) if results else ()
    vectors = [name for name, column in candidates.items() if has_vectors(column) and guess_kind(column) != "binary"]
    candidates = {name: column for name, column in candidates.items() if name not in (*results, *vectors)}
    if exported:
        gold, why_gold = exported, "Gold and reviews of the exported run are gold; its verdicts are not."
        repeated = (name for name, _ in _ids_of_several_rows(inputs, text) if name is not None)
        if id is None and (id := next(repeated, None)) is not None:
            why_id = f"'{id}' is the id: rows of further runs with the same '{id}' are not imported again."
    elif codebook is not None:
        gold, why_gold = suggest_gold(candidates, codebook)
    else:
        gold, why_gold = suggest_gold_without_codebook(candidates)
    if not gold and vectors:
        why_gold += f" '{vectors[0]}' is read as lists of 0 and 1, which do not name labels."
    may_list = codebook is None or codebook.kind == "multilabel"
    if rater is None and may_list and (united := _suggest_united(table, text, gold)) is not None:
        id, gold = united, (replace(gold[0], kind="list"),)
        why_id = f"Rows with the same '{id}' are one document, with the labels of all rows."
    return ColumnMapping(text=text, id=id, gold=gold, rater=rater, reasons=(why_text, why_id, why_gold))


def _suggest_text(table: Table, cells: dict[str, tuple[Any, ...]]) -> tuple[str, str]:
    best, best_score, reason = "", 0.0, ""
    for name, column in cells.items():
        if name == table.file_column:
            continue
        if table.file_column:  # other files may have only the labels of the texts
            column = tuple(cell for cell in column if cell is not None)
        texts = [
            text
            for cell in column
            if (isinstance(cell, str) or chat_messages(cell) or (isinstance(cell, list) and len(cell) >= _MIN_TOKENS))
            and any(map(str.isalpha, text := field_text(cell)))
            and not _NOT_TEXT.match(text)
        ]
        if len(texts) < _MIN_FILLED * len(column) or not texts:
            continue
        length = sum(map(len, texts)) / len(texts)
        variety = len(set(texts)) / len(texts)
        named = _TEXT.search(name.casefold()) is not None and not is_named_like_id(name)
        score = length * (_VARIETY_FLOOR + variety) * (_NAME_WEIGHT if named else 1)
        if score > best_score:
            best, best_score = name, score
            reason = (
                f"'{name}' is the text: {length:,.0f} characters on average{', and its name fits' if named else ''}."
            )
    if not best:
        raise UsageError(
            f"{table.name} has no text column.", f"It has: {', '.join(table.columns[:50])}. One must hold the texts."
        )
    return best, reason


def _suggest_id(table: Table, text: str) -> tuple[str | None, str]:
    problem = ""
    rows = [index for index, cell in enumerate(table.column(text)) if has_text(cell)]
    of_rows = table.column(table.file_column) if table.file_column else ("",) * len(table)
    files = [of_rows[index] for index in rows]
    # Label Studio writes the ids of annotations beside those of the tasks
    columns = sorted(zip(table.columns, table.data, strict=True), key=lambda pair: pair[0] == "annotation_id")
    named = [pair for pair in columns if is_named_like_id(pair[0])]
    named += [pair for pair in columns if not is_named_like_id(pair[0]) and _holds_codes(*pair)]
    for name, column in named:
        if name == text or any(isinstance(cell, list | dict) for cell in column):
            continue
        ids = [as_text(column[index]).strip() for index in rows]
        unusable = _empty_or_repeated(files, ids)
        if ids and unusable is None:
            scope = "each file" if len(set(ids)) < len(ids) else f"all {len(ids):,} rows"
            return name, f"'{name}' is the id: filled and unique in {scope}."
        if unusable is not None and not problem:
            cell = f"repeats '{clip(ids[unusable], 80)}'" if ids[unusable] else "is empty"
            where = f"row {table.line_numbers[rows[unusable]]}" + (f" of {files[unusable]}" if files[unusable] else "")
            problem = f"'{name}' is named like an id, but its cell in {where} {cell}: row numbers are the ids."
    return None, problem or "No column is named like an id: row numbers are the ids."


def _holds_codes(name: str, column: Sequence[Any]) -> bool:
    """Return True for a column of short codes that is named like a person or a case."""
    return _PERSON_OR_CASE.fullmatch(name) is not None and all(
        _CODE.fullmatch(as_text(cell).strip()) for cell in column
    )


def _empty_or_repeated(files: Sequence[str], ids: Sequence[str]) -> int | None:
    """Return the position of the first id that is empty or repeated in its file, None if there is none."""
    earlier: set[tuple[str, str]] = set()
    for position, key in enumerate(zip(files, ids, strict=True)):
        if not key[1] or key in earlier:
            return position
        earlier.add(key)
    return None


def _suggest_rater(table: Table, text: str) -> tuple[str | None, str] | None:
    """Return the id column (None for the text) and the rater column of a file with a row for each rater, else None."""
    columns = dict(zip(table.columns, table.data, strict=True))
    raters = [name for name in columns if name != text and RATER.fullmatch(name)]
    if table.file_column:
        return _suggest_rater_of_labels(table, text, raters)
    for id, keys in _ids_of_several_rows(table, text):
        if id in raters:
            continue
        for rater in raters:
            if id is None and re.match(USER, rater, re.IGNORECASE):
                continue
            if len(set(zip(keys, map(as_text, columns[rater]), strict=True))) >= _MIN_UNIQUE_SHARE * len(keys):
                return id, rater
    return None


def _suggest_rater_of_labels(table: Table, text: str, raters: Sequence[str]) -> tuple[str, str] | None:
    """Return the same for files of which one has the texts, and others their labels, with a row for each rater."""
    texts = table.column(text)
    for id in (name for name in table.columns if name not in (text, *raters) and is_named_like_id(name)):
        keys = [as_text(cell).strip() for cell in table.column(id)]
        with_text = {key for key, cell in zip(keys, texts, strict=True) if has_text(cell)}
        for rater in raters:
            rows = zip(keys, map(as_text, table.column(rater)), texts, strict=True)
            labelled = [(key, person) for key, person, cell in rows if cell is None and key in with_text]
            if len(dict(labelled)) < len(labelled) and len({*labelled}) >= _MIN_UNIQUE_SHARE * texts.count(None):
                return id, rater
    return None


def _ids_of_several_rows(table: Table, text: str) -> Iterator[tuple[str | None, list[str]]]:
    """Yield each id column whose ids have a text, many of them in several rows, with its cells; last None, the text."""
    texts = [as_text(cell) for cell in table.column(text)]
    for id in (*(name for name in table.columns if name != text and is_named_like_id(name)), None):
        keys = texts if id is None else [as_text(cell).strip() for cell in table.column(id)]
        documents = len(set(zip(keys, texts, strict=True)))
        if (
            all(keys)
            and documents <= _MAX_DOCUMENT_SHARE * len(keys)
            and len(set(keys)) >= _MIN_UNIQUE_SHARE * documents
        ):
            yield id, keys


def _suggest_united(table: Table, text: str, gold: Sequence[GoldSource]) -> str | None:
    """Return the id column of a file with a row for each label of a document, else None."""
    if len(gold) != 1 or gold[0].kind == "label" or table.file_column:
        return None
    labels = table.column(gold[0].column)
    if any(len(split_list(cell)) > 1 for cell in labels):
        return None
    for id, keys in _ids_of_several_rows(table, text):
        if id is not None and len(set(zip(keys, map(as_text, labels), strict=True))) >= _MIN_UNIQUE_SHARE * len(keys):
            return id
    return None
