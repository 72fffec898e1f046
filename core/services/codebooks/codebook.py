"""Codebook editing as pure functions, the draft and saved versions, templates, and starter keywords.

Each edit takes a codebook and returns a changed copy. Label ids stay the same when a label is renamed. An edit with an
unusable result raises CodebookError and changes nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from core import baseline
from core.codebook import (
    CHOICE_ITEM,
    COLOURS,
    Codebook,
    Kind,
    Label,
    dump_yaml,
    id_from_name,
    is_reserved,
    load_yaml,
    name_problem,
    normalise,
)
from core.errors import CodebookError, ExportError
from core.export import replacing
from core.files import MAX_BYTES, decode_text, file_stem, read_bytes, shipped_folder
from core.formatting import capitalised, problem_message
from core.hashing import digest
from core.runs import RunSettings
from core.services.codebooks import refi_qda
from core.services.codebooks.diff import LabelChange, compare
from core.services.project_session import ProjectSession, check_output_path
from core.services.prompt_templates import require_usable_codebook
from core.services.shipped_data import SAMPLES
from core.store.saved_versions import CodebookVersion as CodebookVersion

EXPORT_FORMAT = "codebook"
"""Name of the codebook file among the formats of ``moot export``."""


@dataclass(frozen=True, slots=True)
class CodebookStatus:
    """Codebook in the editor: the draft if there is one, otherwise the latest saved version."""

    codebook: Codebook
    saved: CodebookVersion | None
    changes: tuple[LabelChange, ...]
    """Changes from the saved version to the draft; from an empty codebook if no version is saved."""

    @property
    def dirty(self) -> bool:
        """True if there are unsaved changes, or if no version is saved."""
        return self.saved is None or self.codebook != self.saved.codebook

    @property
    def count(self) -> int:
        """Number of changes: changed fields, added labels and removed labels."""
        return sum(len(change.fields) if change.kind == "changed" else 1 for change in self.changes)

    @property
    def next_version(self) -> int:
        """Version number of the next save."""
        return self.saved.number + 1 if self.saved else 1


# -- draft and versions


def current(session: ProjectSession) -> Codebook | None:
    """Return the latest saved codebook, with which runs are made; None before the first save."""
    latest = session.store.codebooks.latest()
    return latest.codebook if latest else None


def editor_codebook(session: ProjectSession) -> Codebook | None:
    """Return the codebook in the editor, to which gold is mapped; None without labels.

    The draft and the version saved from it have the same label ids.
    """
    shown = codebook_status(session).codebook
    return shown if shown.labels else None


def codebook_status(session: ProjectSession, own: Codebook | None = None) -> CodebookStatus:
    """Return the codebook in the editor. With ``own``, it is in the editor instead of the stored draft."""
    saved = session.store.codebooks.latest()
    base = saved.codebook if saved else Codebook()
    shown = own or session.store.codebooks.draft() or base
    return CodebookStatus(shown, saved, compare(base, shown))


def save_draft(session: ProjectSession, codebook: Codebook) -> None:
    """Save a codebook as the draft, or drop the draft if the codebook equals the saved version."""
    session.store.codebooks.save_draft(codebook)


def save(session: ProjectSession, codebook: Codebook, note: str = "") -> int:
    """Save a codebook as a version and return its number.

    Raises CodebookError without labels, and PromptError if a prompt cannot be rendered with these definitions.
    """
    require_usable_codebook(session, codebook.require_labels())
    version = session.store.codebooks.save(codebook, note=note.strip())
    session.trainer.schedule()
    return version


def discard(session: ProjectSession) -> None:
    """Delete the draft."""
    session.store.codebooks.drop_draft()


def history(session: ProjectSession) -> list[CodebookVersion]:
    """Return all versions, newest first."""
    return session.store.codebooks.history()


def former_names(session: ProjectSession, codebook: Codebook) -> dict[str, str]:
    """Return the names that labels of a codebook had in earlier versions, oldest first, with their present names."""
    present = codebook.label_names
    return {
        label.name: present[label.id]
        for version in reversed(history(session))
        for label in version.codebook.labels
        if label.id in present and codebook.find(label.name) is None
    }


def deleted_names(session: ProjectSession, codebook: Codebook | None) -> dict[str, str]:
    """Return the last names, by id, of labels that earlier versions had and a codebook does not have."""
    present = codebook.label_names if codebook is not None else {}
    return {
        label.id: label.name
        for version in reversed(history(session))
        for label in version.codebook.labels
        if label.id not in present
    }


def restore(session: ProjectSession, version: int) -> int:
    """Save an old version as the newest version and return the new number. The draft is dropped.

    Raises CodebookError if the version does not exist, and PromptError as ``save``.
    """
    old = session.store.codebooks.get(version)
    if old is None:
        raise CodebookError(f"Codebook version {version} does not exist.", "Choose another version.")
    return save(session, old.codebook, f"v{version} again")


def since(versions: Sequence[CodebookVersion], label_id: str) -> int | None:
    """Return the first version with the label, None if only the draft has it."""
    return min((version.number for version in versions if label_id in version.codebook.label_names), default=None)


def count_stale_reviews(session: ProjectSession, draft: Codebook, saved: CodebookVersion | None) -> int:
    """Count submitted documents with a decision on an item that the draft defines differently from the saved version.

    Decisions under an earlier version that defines the item as the draft does are not counted. 0 without a saved
    version.
    """
    if saved is None:
        return 0
    before, now = _definition_hashes(saved.codebook), _definition_hashes(draft)
    touched = {item for item, words in now.items() if before.get(item, words) != words}
    if not touched:
        return 0
    stale = set(_earlier_definitions(draft, session.store.codebooks.history()))
    decided = session.store.annotations.reviewed_items()
    return len({document for document, item, version in decided if item in touched and (item, version) in stale})


def count_reviews_of_other_kinds(session: ProjectSession, kind: Kind) -> int:
    """Count submitted documents that were decided under codebooks of other kinds only."""
    kinds = {version.number: version.codebook.kind for version in session.store.codebooks.history()}
    decided: dict[str, set[Kind]] = {}
    for document, _, version in session.store.annotations.reviewed_items():
        if version in kinds:
            decided.setdefault(document, set()).add(kinds[version])
    return sum(kind not in found for found in decided.values())


def count_gold_documents(session: ProjectSession) -> dict[str, int]:
    """Return the number of documents with each label in gold, by the majority of the raters.

    Ties do not count. Labels without gold are omitted.
    """
    counts: Counter[str] = Counter()
    for item, value, count in session.store.annotations.majority_counts(codebook_status(session).codebook):
        counts[item if isinstance(value, bool) else str(value)] += count if value is not False else 0
    return dict(counts)


def count_gold_labels(session: ProjectSession, label_id: str) -> int:
    """Return how many gold values of all raters name the label, or rate the dimension."""
    return sum(
        count
        for _, item, value, count in session.store.documents.gold_counts()
        if value == label_id or (item == label_id and value is not False)
    )


def gold_span(session: ProjectSession, label_id: str) -> tuple[int, int] | None:
    """Return the lowest and the highest gold rating of a dimension, in whole points; None without two different."""
    values = [
        float(value)
        for _, item, value, _ in session.store.documents.gold_counts()
        if item == label_id and not isinstance(value, str | bool)
    ]
    low, high = math.floor(min(values, default=0)), math.ceil(max(values, default=0))
    return (low, high) if low < high else None


# -- edits


def change(codebook: Codebook, **fields: Any) -> Codebook:
    """Return the codebook with changed ``name``, ``kind``, ``unit``, ``domain``, ``guideline`` or ``scale``.

    A new scale is that of all dimensions. Scales are removed if the kind is not rating.
    """
    data = codebook.model_dump() | fields
    if data["kind"] != "rating":
        data["scale"] = None
    if data["kind"] != "rating" or "scale" in fields:
        data["labels"] = [label | {"scale": None} for label in data["labels"]]
    return _checked(data)


def check_name(codebook: Codebook, name: str, label_id: str = "") -> str:
    """Return ``name`` on one line if a label may have it.

    CodebookError if the name is empty, reserved, new and too long, or used by a label other than ``label_id``.
    """
    name = " ".join(name.split())
    if not normalise(name):
        raise CodebookError("A label needs a name.", "The previous name is kept.")
    if name not in codebook.names and (problem := name_problem(name)):
        raise CodebookError(f"{capitalised(problem)}.", "Shorten it.")
    if is_reserved(name, codebook.kind):
        raise CodebookError(f"'{name}' is reserved for documents without labels.", "Choose another name.")
    other = codebook.find(name)
    if other is not None and other.id != label_id:
        remedy = "Choose another name."
        if label_id:
            remedy += " To merge the labels, delete this one. If it has gold, then map its name to the other one with "
            remedy += "Map gold columns on Data."
        raise CodebookError(f"A label '{other.name}' already exists.", remedy)
    return name


def add_label(codebook: Codebook, name: str = "") -> tuple[Codebook, str]:
    """Return the codebook with one more label, and the id of the new label.

    An empty name becomes "New label", "New label 2" and so on. The colour is unused as long as one is free.
    """
    if not name.strip():
        number = 1
        while codebook.find(name := "New label" if number == 1 else f"New label {number}"):
            number += 1
    name = check_name(codebook, name)
    used = {label.colour for label in codebook.labels}
    free = (number for number in range(1, COLOURS + 1) if number not in used)
    colour = next(free, len(codebook.labels) % COLOURS + 1)
    grown = _with_labels(codebook, [*codebook.labels, {"name": name, "colour": colour}])
    return grown, grown.labels[-1].id


def change_label(codebook: Codebook, label_id: str, **fields: Any) -> Codebook:
    """Return the codebook with one label changed. KeyError for an unknown id.

    The fields are ``name``, ``description``, ``include``, ``exclude``, ``keywords``, ``colour``, ``code``, ``open`` and
    ``scale``. Raises CodebookError for an invalid value, and for a code that another label has.
    """
    label = codebook.label(label_id)
    if "name" in fields:
        fields["name"] = check_name(codebook, fields["name"], label_id)
    if (code := fields.get("code")) is not None:
        for other in codebook.labels:
            if other.id != label_id and other.code == code:
                raise CodebookError(f"The label '{other.name}' already has the code {code}.", "Choose another code.")
    changed = label.model_dump() | fields
    return _with_labels(codebook, [changed if other.id == label_id else other for other in codebook.labels])


def extend_label(codebook: Codebook, label_id: str, part: str, *texts: str) -> Codebook:
    """Return the codebook with texts added to ``include``, ``exclude`` or ``keywords`` of a label. Raises KeyError."""
    return change_label(codebook, label_id, **{part: (*getattr(codebook.label(label_id), part), *texts)})


def delete_label(codebook: Codebook, label_id: str) -> Codebook:
    """Return the codebook without one label."""
    return _with_labels(codebook, [label for label in codebook.labels if label.id != label_id])


def reorder(codebook: Codebook, label_ids: Sequence[str]) -> Codebook:
    """Return the codebook with reordered labels; unknown ids are ignored, and labels that are not listed come last."""
    wanted = {label_id: position for position, label_id in enumerate(label_ids)}
    ordered = sorted(codebook.labels, key=lambda label: wanted.get(label.id, len(wanted)))
    return _with_labels(codebook, ordered)


def move_label(codebook: Codebook, label_id: str, by: int) -> Codebook:
    """Move a label ``by`` places down (up if negative); it stops at the ends."""
    ids = list(codebook.label_names)
    position = min(max(ids.index(label_id) + by, 0), len(ids) - 1)
    ids.remove(label_id)
    ids.insert(position, label_id)
    return reorder(codebook, ids)


def _with_labels(codebook: Codebook, labels: Sequence[Label | Mapping[str, Any]]) -> Codebook:
    return _checked(codebook.model_dump() | {"labels": labels})


def _checked(data: Mapping[str, Any]) -> Codebook:
    try:
        return Codebook.model_validate(data)
    except ValidationError as error:
        problem = problem_message(error.errors(include_url=False)[0])
        raise CodebookError(f"{capitalised(problem)}.", "Nothing was changed.") from error


# -- files and templates


def import_file(content: bytes | str, name: str, before: Codebook | None = None) -> Codebook:
    """Return the codebook in a file: REFI-QDA if its name ends in ``.qdc``, otherwise YAML or JSON.

    Labels with the same name in ``before`` keep their ids from there. Raises CodebookError.
    """
    content = content.encode() if isinstance(content, str) else content
    if name.lower().endswith(refi_qda.SUFFIX):
        read = refi_qda.parse_qdc(content, source=name)
    else:
        read = load_yaml(decode_text(content, name, CodebookError), source=name).require_labels()
    return adopt(read, before) if before is not None else read


def adopt(codebook: Codebook, before: Codebook) -> Codebook:
    """Return ``codebook`` with the ids of labels of the same name in ``before``.

    An id that another label of ``codebook`` has is not taken over, unless that label has the id only from its name. It
    then gets another one.
    """
    chosen = {label.id for label in codebook.labels if label.id != id_from_name(label.name)}
    labels = []
    for label in codebook.labels:
        earlier = before.find(label.name)
        id = label.id if label.id in chosen else ""
        if earlier is not None and earlier.id not in chosen:
            id = earlier.id
        labels.append(label.model_copy(update={"id": id}))
    return _with_labels(codebook, labels)


def write_yaml(codebook: Codebook, path: Path) -> None:
    """Write a codebook to a YAML file, which is replaced if it exists. Raises ExportError."""
    with replacing(path) as file:
        file.write(dump_yaml(codebook).encode())


def read_codebook(path: Path) -> Codebook:
    """Read a codebook file.

    Raises InputError if the file cannot be read, and CodebookError if it is not a usable codebook.
    """
    return import_file(read_bytes(path, max_bytes=MAX_BYTES), str(path))


def export_file(session: ProjectSession, path: Path) -> None:
    """Write the latest saved codebook as REFI-QDA or YAML, by the ending of the file.

    Raises CodebookError without a codebook, and ExportError for another ending or if the file cannot be written.
    """
    check_output_path(session.path, path)
    codebook = (current(session) or Codebook()).require_labels()
    match path.suffix.lower():
        case refi_qda.SUFFIX:
            content = refi_qda.dump_qdc(codebook)
        case ".yaml" | ".yml":
            content = dump_yaml(codebook).encode()
        case _:
            raise ExportError(f"{path} is neither .yaml nor {refi_qda.SUFFIX}.", "Choose one of these endings.")
    with replacing(path) as file:
        file.write(content)


def name_of_file(codebook: Codebook, suffix: str = ".yaml") -> str:
    """Return the file name for a download of the codebook."""
    return f"{file_stem(codebook.name) or 'codebook'}{suffix}"


@lru_cache(maxsize=1)
def templates() -> dict[str, Codebook]:
    """Return the codebooks that a project can start from, by the name of the file and in the order of their names."""
    folder = shipped_folder("sample_data")
    paths = [*(folder / sample.codebook for sample in SAMPLES), *(folder / "templates").glob("*.yaml")]
    loaded = {
        path.stem: load_yaml(path.read_text(encoding="utf-8"), source=path.name) for path in paths if path.is_file()
    }
    return dict(sorted(loaded.items(), key=lambda item: normalise(item[1].name)))


def prefill(codebook: Codebook) -> tuple[Codebook, str]:
    """Return a multilabel codebook with empty definitions filled in, and a sentence that names their source.

    If the best matching shipped template knows more than half of the label names, its definitions, unit, domain and
    guideline are used. Other common aspects get starter keywords. Names, ids and colours stay the same. The sentence is
    empty if nothing was filled in.
    """
    if codebook.kind != "multilabel":
        return codebook, ""

    def shared_names(template: Codebook) -> int:
        return sum(template.find(label.name) is not None for label in codebook.labels)

    best = max((template for template in templates().values() if template.kind == codebook.kind), key=shared_names)
    fits = 2 * shared_names(best) > len(codebook.labels)

    def filled(label: Label) -> Label:
        similar = best.find(label.name) if fits else None
        if similar is None:
            return label.model_copy(
                update={"keywords": label.keywords or baseline.starters(label.name, codebook.names)}
            )
        words = ("description", "include", "exclude", "keywords")
        return label.model_copy(update={name: getattr(label, name) or getattr(similar, name) for name in words})

    labels = tuple(map(filled, codebook.labels))
    if labels == codebook.labels:
        return codebook, ""
    fields = {name: getattr(best if fits else codebook, name) for name in ("unit", "domain", "guideline")}
    source = (
        f"Definitions come from the template '{best.name}'" if fits else "Keywords are suggestions for common aspects"
    )
    return codebook.model_copy(update={"labels": labels, **fields}), f"{source}; edit them as needed."


def suggestions(codebook: Codebook, label_id: str, limit: int = 12) -> tuple[str, ...]:
    """Return at most ``limit`` starter keywords for a label that no label of the codebook uses yet."""
    used = {normalise(word) for label in codebook.labels for word in label.keywords}
    words = baseline.starters(codebook.label(label_id).name, codebook.names)
    return tuple(word for word in words if normalise(word) not in used)[:limit]


def warnings(codebook: Codebook) -> list[str]:
    """Return warnings about the use of the built-in model with this codebook; none without labels."""
    return baseline.describe(codebook) if codebook.labels else []


def outdated(session: ProjectSession) -> tuple[tuple[str, int], ...]:
    """Return (item, version) for each earlier version that defines an item of the latest codebook differently.

    Versions without the item are left out. Empty with fewer than two versions.
    """
    versions = session.store.codebooks.history()
    return _earlier_definitions(versions[0].codebook, versions[1:]) if versions else ()


def _earlier_definitions(now: Codebook, versions: Iterable[CodebookVersion]) -> tuple[tuple[str, int], ...]:
    """Return (item, version) for each item of ``now`` that a version defines differently."""
    hashes = _definition_hashes(now)
    return tuple(
        (item, version.number)
        for version in versions
        for item, words in _definition_hashes(version.codebook).items()
        if hashes.get(item, words) != words
    )


def version_seen(session: ProjectSession, settings: RunSettings) -> int:
    """Return the version whose definitions a reviewer of this run sees.

    This is the latest version if it fits the run (``fits``), otherwise the version of the run; 0 if neither was saved.
    """
    latest = session.store.codebooks.latest()
    return latest.number if latest and fits(latest.codebook, settings.codebook) else settings.codebook_version


def shown(session: ProjectSession, codebook: Codebook) -> Codebook:
    """Return the codebook to show beside a run's verdicts: the latest if it fits the run, else the run's own."""
    latest = session.store.codebooks.latest()
    return latest.codebook if latest and fits(latest.codebook, codebook) else codebook


def fits(latest: Codebook, codebook: Codebook) -> bool:
    """Return True if ``latest`` has the kind, labels and scales of ``codebook`` and can be shown instead."""
    ids = codebook.label_names.keys()
    return (
        latest.kind == codebook.kind
        and ids <= latest.label_names.keys()
        and (codebook.kind != "rating" or all(latest.scale_of(id) == codebook.scale_of(id) for id in ids))
    )


def _definition_hashes(codebook: Codebook) -> Mapping[str, str]:
    """Return a hash of each item's definition; the single item of a choice covers all labels."""
    if codebook.kind == "choice":
        return {CHOICE_ITEM: digest(sorted(codebook.definition_hashes.items()))}
    return codebook.definition_hashes
