"""The one import path of the Data page and the command line: decode -> table -> mapping -> documents -> store.

``read_files`` (page) and ``read_with_options`` (command line) give an ``ImportDraft``: the table and how to import it.
``preview_import`` builds the documents for a project, with an account of every row. ``store_documents`` writes exactly
these documents to the project. ``PendingImports`` holds the files that were read and are not imported yet.
"""

from __future__ import annotations

import difflib
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias
from uuid import uuid4

from core.codebook import Codebook, normalise
from core.documents import Value
from core.errors import InputError, UsageError
from core.formatting import format_count, one_line, plural
from core.ingest.codebook_from_gold import codebook_from_gold
from core.ingest.document_builder import NEIGHBOURS, build_documents
from core.ingest.document_builder import BuiltDocuments as BuiltDocuments
from core.ingest.document_builder import UnknownGold as UnknownGold
from core.ingest.gold import GoldKind as GoldKind
from core.ingest.gold import GoldSource as GoldSource
from core.ingest.gold import split_list
from core.ingest.gold_options import parse_gold_option, parse_value_option, same_name_gold
from core.ingest.mapping import ColumnMapping as ColumnMapping
from core.ingest.mapping import ImportOptions as ImportOptions
from core.ingest.mapping_suggestions import suggest_mapping
from core.ingest.read import read_table
from core.ingest.table import DETECTED, Table, join_tables, unique_names
from core.ingest.table import Header as Header
from core.ingest.table import ReadOptions as ReadOptions
from core.ingest.table import rejected_csv as rejected_csv
from core.services.background_jobs import Job, OnStep, in_thread
from core.services.codebooks import codebook as codebooks
from core.services.data.overview import LengthSummary, count_gold, summarise_lengths
from core.services.project_session import ProjectSession
from core.store.documents import Import

Duplicates: TypeAlias = Literal["keep", "first"]
Empties: TypeAlias = Literal["keep", "drop"]
Destination: TypeAlias = Literal["add", "replace", "new"]
SourceFile: TypeAlias = "tuple[str, bytes | Path]"
"""The name of a file, and its content or its path."""

MIN_ROWS = 1_000
"""Rows that are read even if fewer documents are needed."""
NO_NAMES: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class ImportDraft:
    """One or several files that were read, and how to import them. The project does not contain any of it yet."""

    name: str
    files: tuple[SourceFile, ...] = field(repr=False)
    table: Table = field(repr=False, compare=False)
    mapping: ColumnMapping
    options: ReadOptions = DETECTED
    duplicates: Duplicates = "keep"
    empties: Empties = "drop"
    destination: Destination = "add"
    """Add to the documents of the project, replace them, or create a new project."""
    documents_state: tuple[Any, ...] = ()
    """State of the stored documents when ``draft_from_project`` read them."""
    former_names: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Those of ``propose_mapping``."""

    @property
    def stem(self) -> str:
        """Name of the first file without its suffix, for a project or codebook made from the files."""
        return Path(one_line(self.files[0][0]) if self.files else self.name).stem


@dataclass(frozen=True)
class ImportPreview:
    """The documents of a draft and what importing them would do. Nothing is stored.

    ``codebook`` is the one whose label ids key the gold: the project's, or a new one made from the gold columns
    (``new_codebook``).
    """

    draft: ImportDraft = field(repr=False)
    built: BuiltDocuments = field(repr=False)
    codebook: Codebook | None
    new_codebook: bool = False
    existing: int = 0
    """Documents that the project already has, by id. They stay as they are and gain the gold that they lack, unless
    all documents are replaced."""
    conflict: str = ""
    """As in ``Overlap``."""
    new_ids: int = 0
    """Documents that get a new id when they replace all documents: their id has runs or reviews of another text."""
    keyword_note: str = ""
    """The origin of the keywords of a new codebook."""
    other_ids: int = 0
    """New documents whose text the project has under another id, and would then have twice."""

    @cached_property
    def gold_counts(self) -> Mapping[tuple[str, str], Mapping[Value, int]]:
        """As of ``count_gold``."""
        return count_gold(self.built.documents)

    @cached_property
    def words(self) -> LengthSummary:
        """The words of the first field; text without spaces counts as one word."""
        return summarise_lengths(Counter(len(document.text.split()) for document in self.built.documents))

    @cached_property
    def misspelt(self) -> str:
        """Rare labels of a new codebook that are probably misspelt: "'staf' (1) for 'Staff' (38)"; empty for none."""
        gold = self.draft.mapping.gold
        if not self.new_codebook or self.codebook is None or any(source.kind == "label" for source in gold):
            return ""
        counts: Counter[str] = Counter()
        for (item, _), values in self.gold_counts.items():
            for value, count in values.items():
                counts[item if value is True else str(value)] += count
        return describe_misspelt({label.name: counts[label.id] for label in self.codebook.labels})

    def require_documents(self) -> None:
        """Raise InputError, with the first reason, if no row can be used."""
        if not self.built.documents:
            first = f" The first: {self.built.rejected[0]}." if self.built.rejected else ""
            raise InputError(f"{self.draft.name}: no row can be used.{first}", "Check the columns and the file.")


# -- read


def read_files(
    files: Sequence[SourceFile],
    codebook: Codebook | None = None,
    *,
    former_names: Mapping[str, str] = NO_NAMES,
    options: ReadOptions = DETECTED,
    progress: OnStep | None = None,
) -> ImportDraft:
    """Read uploads or files as one table and suggest what its columns are. Raises InputError and UsageError.

    A table without a column that looks like text is read as well: the user chooses one. ``former_names`` are those of
    ``propose_mapping``.
    """

    def report(number: int) -> Callable[[float], None] | None:
        return (lambda share: progress((number + share) / len(files), "Reading")) if progress is not None else None

    table = join_tables(
        [
            read_table(source, name=name, options=options, progress=report(number))
            for number, (name, source) in enumerate(files)
        ]
    )
    mapping = propose_mapping(table, codebook, former_names)
    return ImportDraft(table.name, tuple(files), table, mapping, options, former_names=former_names)


def read_again(
    draft: ImportDraft,
    codebook: Codebook | None = None,
    more_files: Sequence[SourceFile] = (),
    /,
    **changed: Any,
) -> ImportDraft:
    """Read the files again with another ``encoding``, ``delimiter``, ``header`` or ``sheet``, or with further files.

    The mapping is kept if all of its columns still exist.
    """
    files, options = [*draft.files, *more_files], replace(draft.options, **changed)
    fresh = read_files(files, codebook, former_names=draft.former_names, options=options)
    earlier = draft.mapping
    used = {earlier.text, *earlier.context, *(source.column for source in earlier.gold)}
    used.update(filter(None, (earlier.id, earlier.rater, earlier.group, earlier.order)))
    mapping = earlier if used <= set(fresh.table.columns) and not more_files else fresh.mapping
    return replace(
        fresh, mapping=mapping, duplicates=draft.duplicates, empties=draft.empties, destination=draft.destination
    )


def target_codebook(
    session: ProjectSession | None, destination: Destination
) -> tuple[Codebook | None, Mapping[str, str]]:
    """Return the codebook that gold is imported for, None for a new project's, and the former names of its labels."""
    codebook = codebooks.editor_codebook(session) if session is not None and destination != "new" else None
    if session is None or codebook is None:
        return None, NO_NAMES
    return codebook, codebooks.former_names(session, codebook)


def change_destination(draft: ImportDraft, destination: Destination, session: ProjectSession | None) -> ImportDraft:
    """Return the draft with another destination.

    Columns that the user chose stay. If gold is for another codebook then, its columns and values are suggested again.
    """
    changed = replace(draft, destination=destination)
    if (destination == "new") == (draft.destination == "new"):
        return changed
    codebook, former_names = target_codebook(session, destination)
    mapping, chosen = propose_mapping(draft.table, codebook, former_names), draft.mapping
    if not chosen.reasons:  # it is not the suggested mapping any more
        gold = tuple(source for source in mapping.gold if source.column != chosen.text)
        rater = mapping.rater if mapping.rater != chosen.text else None
        mapping = replace(chosen, gold=gold, rater=rater, value_map=mapping.value_map)
    return replace(changed, mapping=mapping, former_names=former_names)


def read_with_options(options: ImportOptions, codebook: Codebook, max_rows: int | None = None) -> ImportDraft:
    """Read at most ``max_rows`` rows of files whose columns are named by command-line options.

    Raises InputError and UsageError.
    """
    reading, text = options.reading, options.columns.text
    table = join_tables([_read_for_column(path, text, reading, max_rows) for path in options.paths])
    gold = parse_gold_option(options.gold, table, codebook)
    if options.gold_same_names:
        named = {(source.name, source.rater) for source in gold}
        gold += tuple(one for one in same_name_gold(table, codebook) if (one.name, one.rater) not in named)
    mapping = replace(options.columns, gold=gold, value_map=parse_value_option(options.gold_values, codebook))
    return ImportDraft(table.name, tuple((path.name, path) for path in options.paths), table, mapping, reading)


def _read_for_column(path: Path, column: str, reading: ReadOptions, max_rows: int | None) -> Table:
    """Read a file; of a workbook the first sheet that has the column, if one has it.

    UsageError for a choice that files of this format do not have.
    """
    table = read_table(path, name=path.name, max_rows=max_rows, options=reading)
    is_csv = table.format in ("csv", "tsv")
    for name, has_choice, formats, options in (
        ("header", is_csv, "csv, tsv and txt files", "--header or --no-header"),
        ("delimiter", is_csv, "csv, tsv and txt files", "--delimiter"),
        ("encoding", table.encoding != "", "text files", "--encoding"),
        ("sheet", table.sheets != (), "workbooks", "--sheet"),
    ):
        if getattr(reading, name) is not None and not has_choice:
            raise UsageError(f"{path.name}: the {name} can be chosen only for {formats}.", f"Leave out {options}.")
    if column not in table.columns and len(table.sheets) > 1 and reading.sheet is None:
        for sheet in table.sheets:
            with suppress(InputError):  # an empty sheet
                other = read_table(path, name=path.name, max_rows=max_rows, options=replace(reading, sheet=sheet))
                if column in other.columns:
                    return other
    return table


def preview_file(options: ImportOptions, codebook: Codebook, session: ProjectSession | None) -> ImportPreview:
    """Read files as command-line options say, and preview their import. InputError also if no row can be used.

    With a limit, only the first rows are read, unless later rows can change the first documents: their gold, their
    neighbours, or their ids.
    """
    columns, has_gold = options.columns, bool(options.gold) or options.gold_same_names
    needs_all_rows = (
        options.limit is None
        or (columns.rater, columns.group, columns.order) != (None, None, None)
        or len(options.paths) > 1
        or (columns.id is not None and has_gold)
    )
    limit = options.limit or 0
    for max_rows in (None,) if needs_all_rows else (max(MIN_ROWS, 2 * limit), None):
        try:
            preview = preview_import(read_with_options(options, codebook, max_rows), codebook, session)
        except UsageError:  # perhaps only later rows have a column
            if max_rows is None:
                raise
        else:
            if len(preview.built.documents) >= limit or preview.draft.table.read < (max_rows or 0):
                break
    preview.require_documents()
    return preview


# -- map columns


def propose_mapping(
    table: Table, codebook: Codebook | None, former_names: Mapping[str, str] = NO_NAMES
) -> ColumnMapping:
    """Return the most likely mapping, with the first column as the text if no column looks like text.

    Gold may use ``former_names`` of labels, given with the present names.
    """
    try:
        mapping = suggest_mapping(table, codebook)
        if codebook is not None and not mapping.gold and (other := suggest_mapping(table)).gold:
            mapping = replace(mapping, reasons=(*mapping.reasons, f"In a new project: {other.reasons[-1]}"))
        if codebook is not None and former_names:
            mapping = _with_former_names(table, codebook, mapping, former_names)
        return mapping
    except UsageError as error:
        first = table.columns[0] if table.columns else ""
        return ColumnMapping(text=first, reasons=(f"{error.message} '{first}' is used for now.",))


def _with_former_names(
    table: Table, codebook: Codebook, mapping: ColumnMapping, former_names: Mapping[str, str]
) -> ColumnMapping:
    """Add gold columns and gold values that have former names of labels."""
    mapped = {codebook.find(source.name) for source in mapping.gold if source.kind == "label"}
    renamed = {
        label.id: former
        for former, name in former_names.items()  # the newest name replaces older ones
        if (label := codebook.find(name)) is not None and label not in mapped
    }
    labels = [label.model_copy(update={"name": renamed.get(label.id, label.name)}) for label in codebook.labels]
    earlier = codebook.model_copy(update={"labels": tuple(labels)})
    suggested = suggest_mapping(table, earlier).gold
    if any(source.kind == "label" for source in suggested):
        added = [
            replace(source, label=codebook.label_names[label.id])
            for source in suggested
            if (label := earlier.find(source.name)) is not None and label.id in renamed
        ]
        if not added:
            return mapping
        gold = (*mapping.gold, *added)
        count = len({source.name for source in gold})
        reason = f"Gold for {count} of {len(labels)} labels: columns with their names or former names."
        return replace(mapping, gold=gold, reasons=(*mapping.reasons[:-1], reason))
    return _with_former_values(table, replace(mapping, gold=mapping.gold or suggested), former_names) or mapping


def _with_former_values(table: Table, mapping: ColumnMapping, former_names: Mapping[str, str]) -> ColumnMapping | None:
    """Add gold values that are former names of labels to a mapping; None if its gold columns have none."""
    cells = {cell for source in mapping.gold for cell in table.column(source.column) if isinstance(cell, str)}
    present = {normalise(former): name for former, name in former_names.items()}
    parts = {part for cell in cells for part in (*split_list(cell), cell.strip())}
    value_map = {part: present[normalise(part)] for part in sorted(parts) if normalise(part) in present}
    if not value_map:
        return None
    reason = "Former names of labels in gold columns are read as the present names."
    return replace(mapping, value_map=value_map, reasons=(*mapping.reasons, reason))


# -- build and preview


def preview_import(draft: ImportDraft, codebook: Codebook | None, session: ProjectSession | None) -> ImportPreview:
    """Build the documents of a draft and compare them with those of the project, None for a new project.

    Without a codebook, one is made from the gold columns. Raises UsageError for a mapping that does not fit and
    CodebookError for gold columns that do not make a codebook.
    """
    new_codebook, note = codebook is None and bool(draft.mapping.gold), ""
    if new_codebook:
        codebook, note = codebooks.prefill(codebook_from_gold(draft.table, draft.mapping, name=draft.stem))
    built = build_documents(draft.table, draft.mapping, codebook, duplicates=draft.duplicates, empties=draft.empties)
    preview = ImportPreview(draft, built, codebook, new_codebook, keyword_note=note)
    if session is not None and draft.destination == "add":
        return _compare_with_stored(session, preview)
    if session is not None and draft.destination == "replace":
        if draft.mapping.id is None:
            built = _with_ids(built, session.store.documents.ids_of_texts(built.documents))
        return replace(preview, built=built, new_ids=len(session.store.documents.new_ids(built.documents)))
    return preview


def _compare_with_stored(session: ProjectSession, preview: ImportPreview) -> ImportPreview:
    """Return a preview with what the project has of its documents.

    Documents have the new ids that the project gave to them when they replaced other texts. Row numbers give way to the
    ids of the same texts in the project, if they conflict with these or match only some of them.
    """
    built = _with_stored_neighbours(session, preview)
    found = session.store.documents.compare(built.documents)
    have_moved = found.conflict or (found.existing and found.other_ids)
    if have_moved and preview.draft.mapping.id is None:
        built = _with_ids(built, session.store.documents.ids_of_texts(built.documents))
        found = session.store.documents.compare(built.documents)
    built = _with_ids(built, found.stored_ids)
    return replace(preview, built=built, existing=found.existing, conflict=found.conflict, other_ids=found.other_ids)


def _with_stored_neighbours(session: ProjectSession, preview: ImportPreview) -> BuiltDocuments:
    """Return the documents with the neighbours that the project has of them, on which its runs and reviews rest.

    A new message would otherwise change the fields of the documents beside it.
    """
    mapping, built = preview.draft.mapping, preview.built
    if not mapping.neighbours:
        return built
    (name,) = unique_names([NEIGHBOURS], (mapping.text, *mapping.context))
    loaded = session.store.documents.load([document.id for document in built.documents], gold=False)
    stored = {document.id: document.fields for document in loaded}
    if not any(name in fields for fields in stored.values()):
        return built  # they were imported without neighbours
    documents, count = [], 0
    for document in built.documents:
        fields = stored.get(document.id, document.fields)
        changed = {field for field, _ in fields.items() ^ document.fields.items()}
        if changed == {name}:
            document, count = replace(document, fields=fields), count + 1
        documents.append(document)
    if not count:
        return built
    note = f"{format_count(count, 'document')} {plural(count, 'keeps', 'keep')} the neighbours in the project."
    return replace(built, documents=tuple(documents), notes=(*built.notes, note))


def _with_ids(built: BuiltDocuments, ids: Mapping[str, str]) -> BuiltDocuments:
    """Return the documents with these other ids."""
    return replace(built, documents=tuple(replace(each, id=ids.get(each.id, each.id)) for each in built.documents))


def describe_other_ids(count: int) -> str:
    """Return the sentence on this many texts that the project has under other ids."""
    return f"{format_count(count, 'text')} {plural(count, 'is', 'are')} already in the project under other ids"


# -- store


def store_documents(session: ProjectSession, preview: ImportPreview, progress: OnStep | None = None) -> Import:
    """Write the documents of a preview for this project to it, with the rejected rows; return what was stored.

    A codebook that was made from the gold columns is saved as a version. Raises InputError if no row can be used, and
    if the project has or had one of the documents with a different text. If all documents are replaced, those with runs
    or reviews of a different text get new ids instead, which they keep when they are added again.
    """
    report = progress or (lambda _share, _step: None)
    preview.require_documents()
    draft = preview.draft
    documents = preview.built.documents

    def prepared(count: int) -> None:
        share = count / len(documents)
        report(0.1 + 0.8 * share, f"Preparing {count:,} of {len(documents):,}" if share < 1 else "Writing")

    store = session.store.documents.replace_all if draft.destination == "replace" else session.store.documents.add
    stored = store(
        documents,
        file_name=draft.name,
        options=options_record(draft),
        rejected=preview.built.rejected,
        progress=prepared,
    )
    save_new_codebook(session, preview, f"from the gold columns of {draft.name}")
    report(1.0, "Done")
    return stored


def save_new_codebook(session: ProjectSession, preview: ImportPreview, note: str) -> None:
    """Save a codebook that was made from the gold columns, with the fields that are set in a draft without labels.

    A draft to which labels were added since the preview stays, and its labels get the ids of those with the same names.
    """
    if not preview.new_codebook or preview.codebook is None:
        return
    draft, unset = session.store.codebooks.draft(), Codebook()
    if draft is not None and draft.labels:
        session.store.codebooks.save(preview.codebook, note=note, keep_draft=True)
        codebooks.save_draft(session, codebooks.adopt(draft, preview.codebook))
        return
    kept = {}
    if draft is not None:
        fields = {name: getattr(draft, name) for name in ("name", "unit", "domain", "guideline")}
        kept = {name: value for name, value in fields.items() if value != getattr(unset, name)}
    session.store.codebooks.save(codebooks.change(preview.codebook, **kept), note=note)


def start_import(preview: ImportPreview, target: Callable[[], ProjectSession]) -> Job[tuple[ProjectSession, Import]]:
    """Start to store the documents of a preview in the project that ``target`` returns, and may create."""

    def work(report: OnStep) -> tuple[ProjectSession, Import]:
        session = target()
        return session, store_documents(session, preview, report)

    return Job(lambda report: in_thread(lambda: work(report), "moot-import"), "Importing")


def options_record(draft: ImportDraft) -> dict[str, Any]:
    """Return how a draft maps columns and reads its files, as an import keeps it."""
    return {
        **asdict(replace(draft.mapping, reasons=())),
        "encoding": draft.table.encoding,
        "delimiter": draft.table.delimiter,
        "header": draft.table.header,
        "sheet": draft.options.sheet,
        "duplicates": draft.duplicates,
        "empties": draft.empties,
    }


MAX_MISSPELT = 5
"""Most misspelt names in a message."""
MISSPELLING_RATIO = 10
"""A name that may be misspelt is at least this many times rarer than the name that was meant."""
SIMILARITY = 0.8
"""Least similarity (difflib) of a misspelt name: 'Prcie' and 'Price' have it, 'Service' and 'Price' do not."""
_KEPT = re.compile(r"\A.|\d|\b(?:\w|[ivx]+)\b")
"""Parts that a misspelt name has, too: the first letter, digits, words of one character, and Roman numerals."""


def describe_misspelt(counts: Mapping[str, int]) -> str:
    """Return the rare names that are probably misspelt: "'staf' (1) for 'Staff' (38)"; empty for none."""
    names = {name.casefold(): name for name in counts}
    pairs = []
    for folded, name in names.items():
        frequent = [other for other in names if counts[names[other]] >= MISSPELLING_RATIO * max(counts[name], 1)]
        similar = [other for other in frequent if _KEPT.findall(other) == _KEPT.findall(folded)]
        near = [names[other] for other in difflib.get_close_matches(folded, similar, 1, SIMILARITY)]
        pairs += [f"'{name}' ({counts[name]:,}) for '{meant}' ({counts[meant]:,})" for meant in near]
    more = [f"{len(pairs) - MAX_MISSPELT:,} more"] if len(pairs) > MAX_MISSPELT else []
    return ", ".join(pairs[:MAX_MISSPELT] + more)


MAX_PENDING = 4
"""Files held at once: each is in memory with its rows."""


class PendingImport:
    """A file that was read, as it is currently mapped, and its import job once started.

    ``project`` was open when the file was read; None without a project. ``new_project`` is the entered name of the
    project to create, empty for none.
    """

    def __init__(self, draft: ImportDraft, project: Path | None) -> None:
        self.id = uuid4().hex[:12]
        self.draft = draft
        self.project = project
        self.new_project = ""
        self.read_at = time.time()
        self.job: Job[tuple[ProjectSession, Import]] | None = None
        self._built: tuple[ImportDraft, Hashable, ImportPreview] | None = None

    @property
    def activity(self) -> str:
        """Name of the job in a project."""
        return f"{self.draft.name} is being imported"

    def preview(self, codebook: Codebook | None, session: ProjectSession | None) -> ImportPreview:
        """Return the preview, built once until draft, codebook, project, or its documents or gold change.

        ``session`` is the project to add to, None for a new project. Raises the MootError that prevents the import.
        """
        stored = (session.path, session.store.documents.state()) if session is not None else None
        basis = (codebook.hash if codebook is not None else "", stored)
        built = self._built
        if built is None or built[0] is not self.draft or built[1] != basis:
            self._built = built = self.draft, basis, preview_import(self.draft, codebook, session)
        return built[2]


class PendingImports:
    """The pending imports of all tabs. Safe to use from several threads."""

    def __init__(self) -> None:
        self._pending: dict[str, PendingImport] = {}
        self._lock = threading.Lock()

    def add(self, draft: ImportDraft, project: Path | None) -> PendingImport:
        """Hold a file. Beyond ``MAX_PENDING`` an earlier one is dropped, unless all are being imported.

        The oldest file whose import has ended is dropped first, then the oldest one that is not imported.
        """
        added = PendingImport(draft, project)
        with self._lock:
            idle = [id for id, pending in self._pending.items() if pending.job is None]
            ended = [id for id, pending in self._pending.items() if (job := pending.job) and job.wait(0)]
            self._pending[added.id] = added
            for id in [*ended, *idle][: max(0, len(self._pending) - MAX_PENDING)]:
                del self._pending[id]
        return added

    def get(self, id: str) -> PendingImport | None:
        """Return a pending import; None once it was imported or dropped."""
        with self._lock:
            return self._pending.get(id)

    def of_project(self, project: Path | None) -> tuple[PendingImport, ...]:
        """Return the pending imports that were read in a project, the latest first."""
        with self._lock:
            return tuple(pending for pending in reversed(self._pending.values()) if pending.project == project)

    def move(self, project: Path, target: Path) -> None:
        """Keep the pending imports of a project whose file is now ``target``."""
        for pending in self.of_project(project):
            pending.project = target

    def remove(self, id: str) -> None:
        """Remove a pending import. Does nothing once it is gone."""
        with self._lock:
            self._pending.pop(id, None)
