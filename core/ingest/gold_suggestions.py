"""Suggest the gold columns among columns, with a codebook or without, and the reason for them as a sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from core.codebook import CHOICE_ITEM, MAX_LABELS, Codebook, Kind, is_reserved, normalise
from core.documents import GOLD_RATER
from core.formatting import format_count, format_percent, join_names, plural
from core.ingest.gold import (
    PEOPLE,
    RATER,
    GoldKind,
    GoldSource,
    LabelIndex,
    binary_or_text,
    choice_name,
    guess_kind,
    has_only_crosses,
    has_only_own_name,
    is_blank,
    parse_binary,
    parse_rating,
    plain_number,
    split_list,
    split_lists,
    words_of,
)
from core.ingest.table import EXPORT_COLUMNS, NUMBER, REVIEW_DETAILS, as_text

_ID = re.compile(
    r"(?:^|[ _.-])(?:id|ids|uuid|guid|key|index|idx|nr|no|number|row|n°|nº|identifiant|ид|编号|番号)\.?$"
    r"|^#?id(?:$|[ _-])|^(?:doc(?:ument)?|text|row|item|case|unit|post|tweet|comment|review|pm|u)id$|^(?:doc|doi)$|^#$"
)
_ID_IN_CAPITALS = re.compile(r"[A-Za-z]Id$|[a-z]ID$")
"""The end of names such as ``ResponseId``; not of ``PAID``."""
_LISTS = re.compile(r"(?:^|[ _.-])(?:labels|tags|aspects|topics|categories|classes|themes|codes)$")
_CHOICES = re.compile(
    r"(?:^|[ _.-])(?:label|class|classname|category|aspect|sentiment|polarity|stance|topic|type|gold|annotation|intent|"
    r"emotion|tag|kategorie|klasse|thema|categor[ií]a|cat[eé]gorie|tema|th[eè]me|classe|etiqueta|[eé]tiquette|r[oó]tulo|"
    r"категория|класс|тема|метка|类别|分类|标签|分類|カテゴリ|ラベル|التصنيف)(?:[ _.-](?:text|name))?$|^code$"
)
_PREDICTED = re.compile(r"(?:^|[ _.-])(?:pred(?:ict\w*)?|model|llm|gpt\w*|suggestion)(?:$|[ _.-])")
"""Names of columns that may hold the labels of a model."""
_METADATA = re.compile(
    r"(?:^|[ _.-])(?:version|ver|v|revision|rev|release|schema|wave|round|batch|fold|split|part|group|session|year"
    r"|page|sentence|count|n|no|nr|number|weight|votes?|annotations)$"
)
"""Names of columns that may have the same number in every row."""
_NAMELESS = re.compile(r"column_\d+")
"""Columns of a file without a line of names (``clean_columns``)."""
_MAX_CHOICES = 30
_BY_RATER = re.compile(
    rf"(?P<label>.+?)[ _.@-](?P<rater>(?:(?:{PEOPLE}|[acr])[ _.-]?)?\d+|{PEOPLE}[ _.-]?[a-z])", re.IGNORECASE
)
_RATER_FIRST = re.compile(
    rf"(?P<rater>{PEOPLE}[ _.-]?(?:\d+|[a-z])|[acr]\d+(?=:? ))[ _.:@-]+(?P<label>.+)", re.IGNORECASE
)
_BY_SUFFIX = re.compile(r"(?P<label>.+)[ _.@-](?P<rater>[^ _.@-]+)")
_BY_PREFIX = re.compile(r"(?P<rater>[^ _.@-]+)[ _.@-](?P<label>.+)")
_NO_PERSON = re.compile(
    r"\w?\d+|id|text|name|code|num|int|str|score|raw|noisy|clean\w*|old|new|orig\w*|pre|post|before|after|true|gold|"
    r"(round|wave|level|version)\d*|initial|final|(un)?corrected|revised|fixed|consensus|majority|agreed|auto\w*|manual|"
    r"main|sub|primary|secondary|overall|fine|coarse|title|headline|body|train|test|"
    r"(distil|fin|m)?bert|deberta|vader|textblob|svm",
    re.IGNORECASE,
)
"""Parts of the names of label columns that state a version of the label, its form, a part of the text or a model."""
_LANGUAGE = re.compile(r"ar|cs|da|de|el|en|es|fi|fr|he|hi|hu|id|it|ja|ko|nl|no|pl|pt|ro|ru|sv|tr|uk|zh", re.IGNORECASE)
"""Codes of languages. Columns that all end in one have the same labels in several languages."""
_NAME_OF = re.compile(r"[ _.-](?:text|name)$", re.IGNORECASE)
"""End of the names of columns with the names of the numbers in another column: ``label_text`` beside ``label``."""
_PERSON_SUFFIX = re.compile(r"_r\d+$")
"""End of the names of columns by person that are made of lists of annotations (``table_of_objects``)."""
_OF_PERSON = re.compile(rf"(?:{PEOPLE}|gold)(?:[ _.-].+|\d+)", re.IGNORECASE)
"""Names of columns that are named like the person who labelled: ``coder_anna``, ``coder 2``, ``gold_anna``."""
_BY_NUMBER = re.compile(rf"{PEOPLE}[ _.-]?(?:\d+|[a-z])", re.IGNORECASE)
"""Names of columns that are named like a person with a number or a letter: ``coder1``, ``Rater B``."""
_PRODIGY_STYLE = "config.choice_style"
"""Column of Prodigy that states if one option or several can be chosen."""
_MIN_KAPPA = 0.4
"""Least agreement of two people who label the same texts: below it, two columns may answer different questions."""
_SHARED = 0.8
"""Least share of the names listed by a rater that all raters list."""
_MIN_FITTING = 0.8
"""Least share of values that suit the codebook: a few may be misspelt, or stand for 'unknown'."""
_MIN_NUMBERS = 0.5
"""Least share of numbers in a column of ratings, as cells such as "N/A" may be frequent."""
_MAX_LISTED = 200
"""Most names in lists of labels. Free keywords are more."""
_MAX_DISTINCT, _MIN_LISTED = 0.5, 20
"""Labels recur: most different names, as a share of all, from ``_MIN_LISTED`` names on. Fewer names may all differ, and
fewer lists of a single name may be lists of several labels."""


def is_predicted(name: str) -> bool:
    """Return True for the name of a column that may hold the labels of a model."""
    return _PREDICTED.search(name.casefold()) is not None


def _is_prediction_beside_gold(name: str, columns: Sequence[str]) -> bool:
    """Return True for a column such as ``Food_pred``, if ``Food`` or ``Food_gold`` is among the columns.

    A single ``Car model`` beside ``Car`` may be another label.
    """
    folded = name.casefold()
    if (predicted := _PREDICTED.search(folded)) is None or folded == predicted[0]:
        return False
    if "model" in predicted[0] and sum(predicted[0] in other.casefold() for other in columns) < 2:
        return False
    of_gold = re.compile(re.escape(_PREDICTED.sub("", folded)) + r"(?:[ _.-].*)?", re.DOTALL)
    return any(of_gold.fullmatch(other.casefold()) for other in columns if not is_predicted(other))


def is_named_like_id(name: str) -> bool:
    """Return True for a name such as ``doc_id``, ``ResponseId`` or ``nr``."""
    return _ID.search(name.casefold()) is not None or _ID_IN_CAPITALS.search(name) is not None


def suggest_gold(cells: dict[str, tuple[Any, ...]], codebook: Codebook) -> tuple[tuple[GoldSource, ...], str]:
    """Return the gold columns for a codebook, and the reason as a sentence."""
    if codebook.kind != "choice" and (sources := tuple(_label_columns(cells, codebook))):
        labels = len({source.label for source in sources})
        raters = len({source.rater for source in sources})
        by = f" by {raters} raters" if raters > 1 else ""
        return sources, f"Gold for {labels} of {len(codebook.labels)} labels{by}: columns with their names."
    index = LabelIndex(codebook)
    shares: dict[str, float] = {}
    ranks: dict[str, int] = {}
    for name, column in cells.items() if codebook.kind != "rating" else ():
        if (fit := _label_fit(column, codebook.kind, index)) is not None:
            ranks[name], shares[name] = fit
    names = sorted(ranks, key=ranks.__getitem__)
    if not names or ranks[names[0]] > 1:
        return (), "No column holds gold for this codebook."
    kind: GoldKind = "choice" if codebook.kind == "choice" else "list"
    sources = _first_by_rater(names, kind)
    of_people = [name for name in names if _OF_PERSON.fullmatch(name)]
    if len(sources) == 1 and names[0] not in of_people:
        of_people = _by_person({name: cells[name] for name in names}, names[0])
    if len(sources) == 1 and len(of_people) > 1:
        sources = tuple(GoldSource(name, kind, rater=name) for name in of_people)
    share = format_percent(min(shares[source.column] for source in sources))
    return sources, f"{_columns_are(sources)} gold: {share} of the values are labels."


def _label_fit(column: Sequence[Any], kind: Kind, index: LabelIndex) -> tuple[int, float] | None:
    """Return the rank of a column with labels and the share of its values that are labels; None for other columns.

    The rank is 0 for several labels, 1 for a single one, 2 for a single number, perhaps of a version, and 3 if all
    values are "none".
    """
    lists = (split_list(cell, index) if kind == "multilabel" else (choice_name(cell),) for cell in column)
    listed = [name for names in lists for name in names if not is_blank(name)]
    labels = [name for name in listed if not is_reserved(name, kind)]
    matching = sum(index.find(name) is not None for name in labels)
    if not listed or matching < _MIN_FITTING * len(labels):
        return None
    if not labels:
        return 3, 1.0
    return 0 if len(set(listed)) > 1 else 1 + _may_be_version(column), matching / len(labels)


ID_OF_EXPORT = "document_id"
_ABOUT_EXPORT = ("run_id", "protocol", "codebook_version", "status", "review_status", "reviewed", "unresolved")
"""Columns of a table that Moot exported, which hold no labels."""
_ABOUT_RUN = re.compile(rf"(?:{'|'.join((ID_OF_EXPORT, *_ABOUT_EXPORT, *REVIEW_DETAILS, 'labels', 'roles'))})(?:_\d+)?")
"""Names of the exported columns about a run and its review, with the suffix of a repeated name."""
_PRESENCE = frozenset(("1", "0", "true", "false", "True", "False"))
"""Text of the cells that Moot exports for a label that is present or absent."""


def gold_of_export(
    cells: dict[str, tuple[Any, ...]], codebook: Codebook | None, *, is_repeated: bool
) -> tuple[GoldSource, ...]:
    """Return the gold and the reviews in a table that Moot exported (``gold_Food``, ``reviewed_Food``).

    With a codebook, only those that suit it. If the table is the export of an imported export (``is_repeated``), the
    columns of the later run (``gold_Food_2``) replace those of the earlier one.
    """
    columns: dict[tuple[str, str], str] = {}
    for column, column_cells in cells.items():
        rater, _, label = column.partition("_")
        if rater in (GOLD_RATER, "reviewed") and f"pred_{label}" in cells and guess_kind(column_cells) != "empty":
            earlier = re.sub(r"_\d+$", "", label)
            columns[rater, earlier if is_repeated and f"pred_{earlier}" in cells else label] = column
    is_choice = any(guess_kind(cells[column]) in ("names", "list") for column in columns.values())
    is_single = {label for _, label in columns} == {CHOICE_ITEM}
    if is_single and (codebook is None or codebook.kind == "choice"):  # of labels such as yes and no, or 1 and 2
        verdicts = (as_text(cell) for cell in cells[f"pred_{CHOICE_ITEM}"] if not is_blank(cell))
        is_choice = is_choice or not _PRESENCE.issuperset(verdicts)
    if codebook is not None and is_choice != (codebook.kind == "choice"):
        return ()
    return tuple(
        GoldSource(column, "choice" if is_choice else "label", "" if is_choice else label, rater)
        for (rater, label), column in columns.items()
        if codebook is None or is_choice or codebook.find(label) is not None
    )


def results_of_export(columns: Sequence[str]) -> frozenset[str]:
    """Return the columns with the results of a run and the document id, in a table that Moot exported; else none.

    They follow the document id, or in a file for Hugging Face the status of the review. If others follow it too, the
    columns were moved, and results are known by their names, for Hugging Face by their place before the reviewers.
    """
    if not EXPORT_COLUMNS.issubset(columns):
        return frozenset()
    endings = tuple(name.removeprefix("pred") for name in columns if name.startswith("pred_"))
    named = {name for name in columns if _ABOUT_RUN.fullmatch(name) or name.endswith(endings)}
    ids = [index for index, name in enumerate(columns) if name.startswith(ID_OF_EXPORT)]
    following = columns[ids[-1] if ids else columns.index("review_status") :]
    if not endings and REVIEW_DETAILS[-1] in following:
        following = following[: following.index(REVIEW_DETAILS[-1]) + 1]
    return frozenset((*(following if named.issuperset(following) or not endings else named), *_ABOUT_EXPORT))


def _label_columns(cells: dict[str, tuple[Any, ...]], codebook: Codebook) -> list[GoldSource]:
    """Return columns named like a label, or like a label and a rater; each belongs to the longest label that fits."""
    fitting = [name for name, column in cells.items() if _has_values(name, column, codebook.kind)]
    index = LabelIndex(codebook)
    sources = {(source.label, source.rater): source for source in index.sources(fitting)}
    spellings: _Spellings = [(normalise, {normalise(name): name for name in codebook.names})]
    spellings.append((words_of, {words: label.name for words, label in index.by_words.items()}))
    for column in fitting:
        if index.find_name(column) is None and (found := _label_and_rater(column, spellings)):
            sources.setdefault(found, GoldSource(column, "label", *found))
    without_rater = [source for source in sources.values() if source.rater == GOLD_RATER]
    rated = Counter(source.rater for source in sources.values())
    # a suffix of only one label is not a rater
    least = max(2 if len(codebook.labels) > 1 else 1, max(rated.values(), default=0) / 2)
    return without_rater or [source for source in sources.values() if rated[source.rater] >= least]


def _has_values(name: str, column: Sequence[Any], kind: Kind) -> bool:
    """Return True for a column of marks, or of ratings or of present and absent, as the kind of the codebook needs."""
    filled = [cell for cell in column if not is_blank(cell)]
    if has_only_crosses(filled) or has_only_own_name(name, filled):
        return True
    parse = parse_rating if kind == "rating" else parse_binary
    return sum(parse(cell) is not None for cell in filled) >= max(_MIN_FITTING * len(filled), 1)


_Spellings: TypeAlias = list[tuple[Callable[[str], str], dict[str, str]]]
"""Functions that fold names for comparison, each with the names of labels by their folded form."""


def _label_and_rater(column: str, spellings: _Spellings) -> tuple[str, str] | None:
    """Return the label and the rater in the name of a column that is not a label itself; None for other names."""
    for fold, names in spellings:
        folded = fold(column)
        keys = [key for key in names if folded.startswith(key) and folded[len(key)] in "_-@. :"]
        if keys:
            key = max(keys, key=len)
            rater = column[len(column) - len(folded) + len(key) :].lstrip("_-@. :") or GOLD_RATER
            return None if is_predicted(rater) else (names[key], rater)
        first = _RATER_FIRST.fullmatch(column)
        if first is not None and (key := fold(first["label"])) in names:
            return names[key], first["rater"]
    return None


_Suggestion: TypeAlias = tuple[tuple[GoldSource, ...], str]
"""Gold columns, and the reason for them as a sentence."""


@dataclass(frozen=True, slots=True)
class _Candidates:
    """The columns that may hold gold, and what is known of them."""

    cells: Mapping[str, tuple[Any, ...]]
    kinds: Mapping[str, str]
    """By column, from ``guess_kind``."""
    binaries: Sequence[str]
    """Columns of 0 and 1, of yes and no, or of marks. None if each has one value only, such as a version number."""
    constant: Sequence[str]
    """Binary columns with 1 in every row, which are labels or version numbers."""
    labels: Sequence[str]
    """The other binary columns. None if there are too many: they are features of the texts."""

    def of_kind(self, *kinds: str) -> dict[str, tuple[Any, ...]]:
        """Return the cells of the columns of these kinds."""
        return {name: self.cells[name] for name, kind in self.kinds.items() if kind in kinds}


def suggest_gold_without_codebook(cells: Mapping[str, tuple[Any, ...]]) -> _Suggestion:
    """Return the gold columns of the first rule that fits, and the reason as a sentence."""
    columns = _inspect(cells)
    return next(filter(None, (rule(columns) for rule in _RULES)), ((), "No column looks like gold."))


def _inspect(cells: Mapping[str, tuple[Any, ...]]) -> _Candidates:
    """Return what is known of the columns, without the numbers of names in another column, and without predictions."""
    kinds = {
        name: "binary" if has_only_own_name(name, column) else guess_kind(column) for name, column in cells.items()
    }
    kinds |= {
        name: "list"  # "1,5" is two codes there, not half a point
        for name, kind in kinds.items()
        if kind == "rating" and _LISTS.search(name.casefold()) and any("," in as_text(cell) for cell in cells[name])
    }
    in_words = [name for name, kind in kinds.items() if kind == "names" and _NAME_OF.search(name)]
    pairs = [(_NAME_OF.sub(end, name), name) for name in in_words for end in ("", "_id")]
    numbers = {number for number, name in pairs if _have_names(cells.get(number, ()), cells[name])}
    kinds = {name: kind for name, kind in kinds.items() if name not in numbers}
    all_binaries = [name for name, kind in kinds.items() if kind == "binary"]
    of_classes = [name for name in all_binaries if _CHOICES.search(name.casefold()) and _has_class_2(cells[name])]
    if of_classes == all_binaries:
        kinds |= dict.fromkeys(of_classes, "rating")
        all_binaries = []
    binaries = [name for name in all_binaries if not _is_prediction_beside_gold(name, all_binaries)]
    values = {name: {*map(binary_or_text, cells[name])} for name in binaries}
    if all(len(values[name]) == 1 for name in binaries):
        binaries = []
    constant = [name for name in binaries if values[name] == {True} and _may_be_version(cells[name])]
    labels = [name for name in binaries if name not in constant] if len(binaries) <= MAX_LABELS else []
    return _Candidates({name: cells[name] for name in kinds}, kinds, binaries, constant, labels)


def _labels_by_rater(columns: _Candidates) -> _Suggestion | None:
    """Return binary columns by rater (``price_A1``), if all are named so."""
    rated = _by_rater(columns.binaries)
    others = set(columns.binaries) - {source.column for source in rated}
    if not rated or not others.issubset(columns.constant):
        return None
    return rated, f"Gold for {_grid_size(rated, 'label')}: columns named like a label and a rater."


def _ratings_by_rater(columns: _Candidates) -> _Suggestion | None:
    """Return ratings by rater (``Overall_r1``). A scale looks binary if a rater used only two of its points."""
    rated = _by_rater([name for name, column in columns.cells.items() if _mostly_numbers(column)])
    if all(columns.kinds[source.column] == "binary" for source in rated):
        return None
    return rated, f"Ratings of {_grid_size(rated, 'dimension')}: columns named like a dimension and a rater."


def _lists(columns: _Candidates) -> _Suggestion | None:
    """Return the first column that lists labels, and those of other raters. Lists of one label each are choices."""
    if len(columns.labels) > 1:  # they say more than a list: they also say what is absent
        return None
    lists = [
        name
        for name, column in columns.of_kind("list", "names").items()
        if (columns.kinds[name] == "list" or _LISTS.search(name.casefold()))
        and _may_list_labels(name, column)
        and _has_few_values(column, _MAX_LISTED)
    ]
    if not lists:
        return None
    if lists[0] == "accept" and {*columns.cells.get(_PRODIGY_STYLE, ())} == {"single"}:
        return (GoldSource("accept", "choice"),), "'accept' is gold: the one option that was chosen in Prodigy."
    sources = _first_by_rater(lists, "list")
    filled = [cell for source in sources for cell in columns.cells[source.column] if not is_blank(cell)]
    if len(filled) >= _MIN_LISTED and all(len(split_list(cell)) == 1 for cell in filled):
        sources = _first_by_rater(lists, "choice")
        return sources, f"{_columns_are(sources)} gold: lists of one label each."
    return sources, f"{_columns_are(sources)} gold: {plural(len(sources), 'it lists', 'they list')} labels."


def _choices_by_rater(columns: _Candidates) -> _Suggestion | None:
    """Return columns called like numbered raters (``coder1``) with the same labels, if all binary columns are so.

    None beside a column called like labels that has the same ones: those that the raters agreed on.
    """
    numbered = {name: cells for name, cells in columns.of_kind("names", "binary").items() if _BY_NUMBER.fullmatch(name)}
    called_final = {name: cells for name, cells in columns.of_kind("names").items() if _CHOICES.search(name.casefold())}
    has_final = any(_same_labels({**numbered, name: cells}, "choice") for name, cells in called_final.items())
    if has_final or not numbered.keys() >= set(columns.labels):
        return None
    return _same_labels(numbered, "choice")


def _labels(columns: _Candidates) -> _Suggestion | None:
    """Return the binary columns. One with 1 in every row is a label beside others, unless its name has another use."""
    if not columns.labels:
        return None
    constant = [
        name
        for name in columns.constant
        if not (_METADATA.search(name.casefold()) or RATER.fullmatch(name) or is_named_like_id(name))
    ]
    sources = tuple(map(GoldSource, (*columns.labels, *constant)))
    decides = any(parse_binary(cell) is not None for name in columns.labels for cell in columns.cells[name])
    form = "columns of 1 and 0, or yes and no" if decides else "columns of marks and empty cells"
    in_every_row = f" {_columns_are(sources[len(columns.labels) :])} 1 in every row." if constant else ""
    return sources, f"Gold for {format_count(len(sources), 'label')}: {form}.{in_every_row}"


def _choices(columns: _Candidates) -> _Suggestion | None:
    """Return the first column of few values called like labels, and those of other raters.

    Else columns with the same labels called like labels and a person, or a column without a name.
    """
    few = [
        name
        for name, column in columns.of_kind("names", "rating", "list").items()
        if (columns.kinds[name] != "list" or not _parts_recur(column)) and _has_few_values(column, _MAX_CHOICES)
    ]
    label_of = {source.column: source.label for source in _by_rater(few)}
    own_names = {name: _PERSON_SUFFIX.sub("", label_of.get(name, name)) for name in few}
    named = [name for name, own_name in own_names.items() if _CHOICES.search(own_name.casefold())]
    one_by_label = {match["label"]: match[0] for match in filter(None, map(_BY_SUFFIX.fullmatch, few))}
    others = {name: columns.cells[name] for name in few if name not in label_of}
    for first in named[:1] or one_by_label.values():
        by_person = {name: others[name] for name in _by_person(others, first)} if first in others else {}
        if suggestion := _same_labels(by_person, "choice"):
            return suggestion
    nameless = [name for name in few if _NAMELESS.fullmatch(name)]
    recurring = [name for name in nameless if len({*map(as_text, columns.cells[name])}) <= len(columns.cells[name]) / 2]
    if not (found := named or recurring):
        return None
    sources = _first_by_rater(found, "choice")
    return sources, f"{_columns_are(sources)} gold: one of few labels."


def _ratings(columns: _Candidates) -> _Suggestion | None:
    """Return the columns of ratings on a common scale, of at most 0 to 10; a single one may be a count or an age."""
    by_maximum: dict[float, list[str]] = {}
    for name, column in columns.of_kind("rating").items():
        ratings = {rating for cell in column if (rating := parse_rating(cell)) is not None}
        if len(ratings) > 2 and min(ratings) >= 0 and max(ratings) in range(3, 11):
            by_maximum.setdefault(max(ratings), []).append(name)
    dimensions = max(by_maximum.values(), key=len, default=[])
    if len(dimensions) < 2:
        return None
    names = format_count(len(dimensions), "dimension")
    return tuple(map(GoldSource, dimensions)), f"Ratings of {names}: columns of numbers on the same scale."


def _lists_by_rater(columns: _Candidates) -> _Suggestion | None:
    """Return lists of the same labels in columns called like raters (``coder_anna``)."""
    lists = {name: cells for name, cells in columns.of_kind("list").items() if _OF_PERSON.fullmatch(name)}
    return _same_labels({name: cells for name, cells in lists.items() if _parts_recur(cells)}, "list")


_RULES = (_labels_by_rater, _ratings_by_rater, _lists, _choices_by_rater, _labels, _choices, _ratings, _lists_by_rater)
"""Rules for gold without a codebook, in order of precedence. Each returns None for columns that it does not fit."""


def _same_labels(cells: Mapping[str, tuple[Any, ...]], kind: GoldKind) -> _Suggestion | None:
    """Return the columns, which are named like raters, if there are several and they have most names in common."""
    listed = {
        name: [normalise(label) for cell in column for label in split_list(cell)]
        for name, column in cells.items()
        if _has_few_values(column, _MAX_CHOICES)
    }
    if len(listed) < 2:
        return None
    common = set.intersection(*map(set, listed.values()))
    if any(sum(label in common for label in labels) < _SHARED * len(labels) for labels in listed.values()):
        return None
    sources = tuple(GoldSource(name, kind, rater=name) for name in listed)
    form = "lists of the same labels" if kind == "list" else "the same labels"
    return sources, f"{_columns_are(sources)} gold: {form} by {len(sources)} raters."


def _by_rater(columns: Sequence[str]) -> tuple[GoldSource, ...]:
    """Return the columns that are gold of several raters: those named like a label and a rater.

    Labels that most raters have in common are kept, and each has a column by every rater. A single label needs raters
    whose names are not mere numbers, as ``year_1`` and ``year_2`` may be two labels.
    """
    matches = [match for column in columns if (match := _BY_RATER.fullmatch(column) or _RATER_FIRST.fullmatch(column))]
    raters: dict[str, tuple[str, ...]] = {}
    for match in matches:
        raters[match["label"]] = (*raters.get(match["label"], ()), match["rater"])
    common = Counter(frozenset(columns) for columns in raters.values() if len(columns) > 1).most_common(1)
    if not common:
        return ()
    labels = {label for label, columns in raters.items() if frozenset(columns) == common[0][0]}
    if len(labels) < 2 and any(rater.isdigit() for rater in common[0][0]):
        return ()
    common_matches = [match for match in matches if match["label"] in labels]
    return tuple(GoldSource(match[0], "label", match["label"], match["rater"]) for match in common_matches)


def _by_person(cells: Mapping[str, Sequence[Any]], first: str) -> list[str]:
    """Return the columns that are named like the first, but for a person: ``stance_mueller`` and ``stance_schmidt``.

    Empty if the rest of the name is not that of a label, if a part of a name says that it is not a person, or if the
    columns do not agree: ``sentiment_food`` and ``sentiment_room`` are the labels of two questions.
    """
    for form in (_BY_SUFFIX, _BY_PREFIX):
        of_first = form.fullmatch(first)
        if of_first is None or not _CHOICES.search(of_first["label"].casefold()):
            continue
        names = filter(None, map(form.fullmatch, cells))
        alike = {match[0]: match["rater"] for match in names if match["label"] == of_first["label"]}
        if len(alike) < 2 or any(_NO_PERSON.fullmatch(rater) or is_predicted(rater) for rater in alike.values()):
            continue
        if all(map(_LANGUAGE.fullmatch, alike.values())):
            continue
        if all(_agree(cells[first], cells[column]) for column in alike):
            return list(alike)
    return []


def _agree(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Return True for the labels of two people: their Cohen's kappa is at least ``_MIN_KAPPA``."""
    filled = [pair for pair in zip(first, second, strict=True) if not any(map(is_blank, pair))]
    pairs = [(normalise(as_text(one)), normalise(as_text(other))) for one, other in filled]
    if not pairs:
        return False
    by_first, by_second = (Counter(labels) for labels in zip(*pairs, strict=True))
    observed = sum(one == other for one, other in pairs) / len(pairs)
    expected = sum(by_first[label] * by_second[label] for label in by_first) / len(pairs) ** 2
    return observed - expected >= _MIN_KAPPA * (1 - expected)


def columns_by_rater(columns: Sequence[str]) -> tuple[GoldSource, ...]:
    """Return label columns as gold of several raters, whatever their names, if each is named like a label and a rater.

    Empty unless there are several labels and each has a column by every rater.
    """
    if len(rated := _by_rater(columns)) == len(columns):
        return rated
    sources = tuple(
        GoldSource(match[0], "label", match["label"], match["rater"])
        for column in columns
        if (match := _BY_SUFFIX.fullmatch(column))
    )
    labels, raters = {source.label for source in sources}, {source.rater for source in sources}
    is_grid = len(sources) == len(columns) == len(labels) * len(raters)
    return sources if is_grid and min(len(labels), len(raters)) > 1 else ()


def _columns_are(gold: Sequence[GoldSource]) -> str:
    """Return the beginning of a sentence: "'a' is" or "'a_r1' and 'a_r2' are"."""
    names = join_names([f"'{source.column}'" for source in gold])
    return f"{names} {plural(len(gold), 'is', 'are')}"


def _first_by_rater(columns: Sequence[str], kind: GoldKind) -> tuple[GoldSource, ...]:
    """Return the gold in the first of some columns with labels, and in those with the same name and another rater."""
    sources = {source.column: source for source in _by_rater(columns)}
    if (first := sources.get(columns[0])) is None:
        return (GoldSource(columns[0], kind),)
    return tuple(replace(source, kind=kind, label="") for source in sources.values() if source.label == first.label)


def _may_be_version(column: Sequence[Any]) -> bool:
    """Return True for a column with the same number in every row, such as the version of a codebook."""
    numbers = {as_text(cell).strip() for cell in column}
    return len(numbers) == 1 and all(map(NUMBER.fullmatch, numbers))


def _have_names(numbers: Sequence[Any], names: Sequence[Any]) -> bool:
    """Return True if each number always stands beside the same name."""
    pairs = {*zip(map(as_text, numbers), map(as_text, names), strict=False)}
    return len(dict(pairs)) == len(pairs)


def _has_class_2(column: Sequence[Any]) -> bool:
    """Return True for a column with more than a rare mistyped 2."""
    return sum(plain_number(cell) == 2 for cell in column) > 0.01 * len(column)


def _mostly_numbers(column: Sequence[Any]) -> bool:
    filled = [cell for cell in column if not is_blank(cell)]
    numbers = sum(parse_rating(cell) is not None or parse_binary(cell) is not None for cell in filled)
    return bool(filled) and numbers >= _MIN_NUMBERS * len(filled)


def _grid_size(gold: Sequence[GoldSource], noun: str) -> str:
    """Return the size of the gold of several raters: "3 dimensions by 5 raters"."""
    labels, raters = ({getattr(source, part) for source in gold} for part in ("label", "rater"))
    return f"{format_count(len(labels), noun)} by {len(raters)} raters"


def _may_list_labels(name: str, column: Sequence[Any]) -> bool:
    """Return True for a column named like lists of labels, or with JSON lists of names; not for lists of objects.

    A column named like a single label may list them if its parts recur. Repeated names in a JSON list are the votes of
    several people.
    """
    names = {label for labels in split_lists(column) for label in labels}
    lists = [cell for cell in column if isinstance(cell, list) and all(isinstance(element, str) for element in cell)]
    if any(len(set(cell)) < len(cell) for cell in lists):
        return False
    if any(label.startswith(("{", "[")) for label in names):
        return False
    first = next((cell for cell in column if as_text(cell).strip()), "")
    is_json = isinstance(first, list) or as_text(first).strip().startswith("[")
    folded = name.casefold()
    if _LISTS.search(folded) or (_CHOICES.search(folded) and (is_json or _parts_recur(column))):
        return True
    return is_json and not all(map(NUMBER.fullmatch, names))


def _parts_recur(column: Sequence[Any]) -> bool:
    """Return True for lists, whose names are in several cells; False for label names with a comma or semicolon."""
    names = {label for labels in split_lists(column) for label in labels}
    return len(names) <= len({as_text(cell) for cell in column if not is_blank(cell)})


def _has_few_values(column: Sequence[Any], maximum: int) -> bool:
    listed = [name for names in split_lists([cell for cell in column if not is_blank(cell)]) for name in names]
    values = set(listed)
    return 1 < len(values) <= maximum and (len(values) < _MAX_DISTINCT * len(listed) or len(listed) < _MIN_LISTED)
