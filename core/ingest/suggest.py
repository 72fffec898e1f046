"""A first guess at which column is what, with the reason for each, for a person to confirm."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from core.codebook import Codebook, normalise
from core.documents import GOLD_RATER
from core.errors import UsageError
from core.ingest.gold import LabelIndex, binary, looks_like, rating, split_list
from core.ingest.mapping import GoldSource, Mapping
from core.ingest.table import Table, as_text

SAMPLE = 2_000
"""Rows that are looked at, spread over the table."""

_TEXT = re.compile(
    r"(?:^|[ _-])(?:text|texts|review|reviews|comment|body|content|sentence|document|message|abstract|description|"
    r"tweet|post|answer|response|utterance|passage|statement|summary|feedback|texte|texto|kommentar)(?:$|[ _-])"
)
_ID = re.compile(
    r"(?:^|[ _-])(?:id|ids|uuid|guid|key|index|idx|nr|no|number|row)$|^id(?:$|[ _-])|^(?:docid|rowid)$|^#$"
)
_LISTS = re.compile(r"(?:^|[ _-])(?:labels|tags|aspects|topics|categories|classes|themes|codes)$")
_CHOICES = re.compile(
    r"(?:^|[ _-])(?:label|class|category|sentiment|polarity|stance|topic|type|gold|annotation|intent|emotion|tag)$"
)
_MAX_CHOICES = 30
_PEOPLE = r"(?:annotator|anno|ann|coder|expert|judge|rater|reader|reviewer|worker)"
_BY_RATER = re.compile(
    rf"(?P<label>.+?)[ _.@-](?P<rater>(?:(?:{_PEOPLE}|[acr])[ _.-]?)?\d+|{_PEOPLE}[ _.-]?[a-z])", re.IGNORECASE
)


def suggest_mapping(table: Table, codebook: Codebook | None = None) -> Mapping:
    """The likeliest mapping, with a sentence of reason for the text, the id and the gold.

    Text: the column whose texts are longest and most varied, with a bonus for a usual name. Id: a column that is called
    like one, is filled and unique; else row numbers. Gold: with a codebook the columns called like its labels (or like
    a label and a rater, ``Price_A1``), or one that holds or lists them; without, columns of 0/1 or yes/no (by raters
    where all are called so: ``price_A1``, ``price_coder2``), or a column called like labels with few values. Context is
    never guessed. UsageError when no column holds text.
    """
    # not every n-th row, as files have periods
    chosen = sorted(random.Random(0).sample(range(len(table)), min(SAMPLE, len(table))))
    cells = {
        name: tuple(map(column.__getitem__, chosen)) for name, column in zip(table.columns, table.data, strict=True)
    }
    text, why_text = _text(table, cells)
    id, why_id = _id(table, text)
    rest = {name: column for name, column in cells.items() if name not in (text, id)}
    gold, why_gold = _gold(rest, codebook) if codebook is not None and codebook.labels else _free_gold(rest)
    return Mapping(text=text, id=id, gold=gold, reasons=(why_text, why_id, why_gold))


def _text(table: Table, cells: dict[str, tuple[Any, ...]]) -> tuple[str, str]:
    best, best_score, reason = "", 0.0, ""
    for name, column in cells.items():
        texts = [cell for cell in column if isinstance(cell, str) and any(map(str.isalpha, cell))]
        if len(texts) < 0.3 * len(column) or not texts:
            continue
        length = sum(map(len, texts)) / len(texts)
        variety = len(set(texts)) / len(texts)
        named = _TEXT.search(name.casefold()) is not None
        score = length * (0.1 + variety) * (4 if named else 1)
        if score > best_score:
            best, best_score = name, score
            reason = f"'{name}' is the text: {length:,.0f} characters on average{', and called so' if named else ''}."
    if not best:
        raise UsageError(
            f"{table.name} has no text column.", f"It has: {', '.join(table.columns[:50])}. One must hold the texts."
        )
    return best, reason


def _id(table: Table, text: str) -> tuple[str | None, str]:
    repeated = ""
    for name, column in zip(table.columns, table.data, strict=True):
        if name == text or not _ID.search(name.casefold()):
            continue
        ids = [as_text(cell).strip() for cell in column]
        if ids and all(ids) and len(set(ids)) == len(ids):
            return name, f"'{name}' is the id: filled and unique in all {len(ids):,} rows."
        repeated = repeated or f"'{name}' is called like an id but is empty or repeated in places: row numbers are ids."
    return None, repeated or "No column is called like an id: row numbers are ids."


def _gold(cells: dict[str, tuple[Any, ...]], codebook: Codebook) -> tuple[tuple[GoldSource, ...], str]:
    index = LabelIndex(codebook)
    if codebook.kind != "choice":
        sources = tuple(_label_columns(cells, codebook))
        if sources:
            labels = len({source.label for source in sources})
            raters = len({source.rater for source in sources})
            by = f" by {raters} raters" if raters > 1 else ""
            return sources, f"Gold for {labels} of {len(codebook.labels)} labels{by}: columns called like them."
    if codebook.kind != "rating":
        kind = "choice" if codebook.kind == "choice" else "list"
        for name, column in cells.items():
            names = [each for cell in column for each in (split_list(cell, index) if kind == "list" else _one(cell))]
            known = sum(index.find(each) is not None for each in names)
            if names and known >= 0.8 * len(names):
                source = GoldSource(name, "choice" if kind == "choice" else "list")
                return (source,), f"'{name}' is gold: {known / len(names):.0%} of its values are labels."
    return (), "No column holds gold for this codebook."


def _one(cell: Any) -> tuple[str, ...]:
    text = as_text(cell).strip()
    return (text,) if text else ()


def _label_columns(cells: dict[str, tuple[Any, ...]], codebook: Codebook) -> list[GoldSource]:
    """Columns called like a label, or like a label and a rater; each belongs to the longest label that fits."""
    good = rating if codebook.kind == "rating" else binary
    sources: dict[tuple[str, str], GoldSource] = {}
    names = sorted(((normalise(name), name) for name in codebook.names), key=lambda pair: -len(pair[0]))
    for column, values in cells.items():
        filled = [cell for cell in values if as_text(cell).strip()]
        if not filled or sum(good(cell) is not None for cell in filled) < 0.8 * len(filled):
            continue
        folded = normalise(column)
        for key, label in names:
            rest = folded.removeprefix(key)
            if rest == folded or (rest and rest[0] not in "_-@. :"):
                continue
            rater = column[len(column) - len(rest) :].lstrip("_-@. :") or GOLD_RATER
            sources.setdefault((label, rater), GoldSource(column, "label", label, rater))
            break
    plain = [source for source in sources.values() if source.rater == GOLD_RATER]
    rated = Counter(source.rater for source in sources.values())
    # what follows one label only is no rater's name
    least = max(2 if len(codebook.labels) > 1 else 1, max(rated.values(), default=0) / 2)
    return plain or [source for source in sources.values() if rated[source.rater] >= least]


def _free_gold(cells: dict[str, tuple[Any, ...]]) -> tuple[tuple[GoldSource, ...], str]:
    kinds = {name: looks_like(column) for name, column in cells.items()}
    for name, column in cells.items():
        named = _LISTS.search(name.casefold()) is not None
        if kinds[name] == "list" and (named or _is_json_list(column)) and _few(column, 200):
            return (GoldSource(name, "list"),), f"'{name}' is gold: it lists labels."
    binaries = [name for name, kind in kinds.items() if kind == "binary"]
    if rated := _by_rater(binaries):
        of, by = len({source.label for source in rated}), len({source.rater for source in rated})
        return rated, f"Gold for {of} labels by {by} raters: columns called like a label and a rater."
    if binaries:
        labels = f"{len(binaries)} label{'' if len(binaries) == 1 else 's'}"
        return tuple(map(GoldSource, binaries)), f"Gold for {labels}: columns of 1 and 0, or yes and no."
    for name, column in cells.items():
        if _CHOICES.search(name.casefold()) and kinds[name] in ("names", "rating") and _few(column, _MAX_CHOICES):
            return (GoldSource(name, "choice"),), f"'{name}' is gold: it holds one of few labels."
    return (), "No column looks like gold."


def _by_rater(columns: Sequence[str]) -> tuple[GoldSource, ...]:
    """The columns as those of several raters; none unless each is called like a label and one of them, and every label
    has a column by each."""
    found = [match for column in columns if (match := _BY_RATER.fullmatch(column))]
    labels, raters = ({match[part] for match in found} for part in ("label", "rater"))
    if len(found) < len(columns) or min(len(labels), len(raters)) < 2 or len(found) < len(labels) * len(raters):
        return ()
    return tuple(GoldSource(match[0], "label", match["label"], match["rater"]) for match in found)


def _is_json_list(column: Sequence[Any]) -> bool:
    first = next((cell for cell in column if as_text(cell).strip()), "")
    return isinstance(first, list) or as_text(first).strip().startswith("[")


def _few(column: Sequence[Any], most: int) -> bool:
    values = {name for cell in column for name in split_list(cell)}
    filled = sum(bool(as_text(cell).strip()) for cell in column)
    return 1 < len(values) <= most and (len(values) < 0.5 * filled or filled < 20)
