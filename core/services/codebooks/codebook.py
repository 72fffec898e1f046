"""The Codebook room: edits as pure functions, the draft and the versions, and what a label finds in the data.

Every edit takes a codebook and gives another; label ids stay what they are whatever a label is called. An edit that
would make a codebook nobody can use raises CodebookError and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from core import baseline, resources
from core.codebook import (
    COLOURS,
    RESERVED_NAMES,
    Codebook,
    Kind,
    Label,
    Scale,
    dump_yaml,
    load_yaml,
    normalise,
    parse_codebook,
)
from core.errors import CodebookError, InputError
from core.services.codebooks.diff import LabelChange, compare
from core.services.samples import SAMPLES
from core.services.session import ProjectSession
from core.store.codebooks import CodebookVersion

__all__ = [
    "CodebookStatus",
    "CodebookVersion",
    "Kind",
    "LabelChange",
    "Scale",
    "Template",
    "add_label",
    "adopt",
    "change",
    "change_label",
    "check_name",
    "current",
    "delete_label",
    "discard",
    "gold_counts",
    "history",
    "import_yaml",
    "keep",
    "known",
    "move_label",
    "name_of_file",
    "read_codebook",
    "reorder",
    "restore",
    "save",
    "since",
    "standing",
    "starters",
    "suggestions",
    "templates",
    "to_yaml",
    "warnings",
    "would_be_stale",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class CodebookStatus:
    """The codebook that the editor shows: the draft if there is one, else the version saved last."""

    codebook: Codebook
    saved: CodebookVersion | None
    changes: tuple[LabelChange, ...]
    """What the draft changes about the saved version; about an empty codebook when there is none."""

    @property
    def dirty(self) -> bool:
        """Whether there is something to save."""
        return self.saved is None or self.codebook != self.saved.codebook

    @property
    def count(self) -> int:
        """How many things were changed: fields, labels added, labels removed."""
        return sum(len(one.fields) if one.what == "changed" else 1 for one in self.changes)

    @property
    def next_version(self) -> int:
        """The number that saving gives."""
        return self.saved.version + 1 if self.saved else 1


@dataclass(frozen=True, slots=True)
class Template:
    """A codebook to start from."""

    key: str
    codebook: Codebook


# -- the draft and the versions


def current(session: ProjectSession) -> Codebook | None:
    """The codebook that was saved last, None before the first: what runs are made with."""
    latest = session.store.codebooks.latest()
    return latest.codebook if latest else None


def known(session: ProjectSession) -> Codebook | None:
    """The codebook that gold is mapped to: what the editor shows, None while it has no label. Ids are the same in the
    draft and in the version that is made of it."""
    shown = standing(session).codebook
    return shown if shown.labels else None


def standing(session: ProjectSession) -> CodebookStatus:
    """What the editor shows. A draft that cannot be read (from another version of Moot) counts as none."""
    saved = session.store.codebooks.latest()
    edited: Codebook | None = None
    data = session.store.codebooks.draft()
    if isinstance(data, dict):
        try:
            edited = parse_codebook(data, where="the draft")
        except CodebookError:
            edited = None
    base = saved.codebook if saved else Codebook()
    shown = edited or base
    return CodebookStatus(shown, saved, compare(base, shown))


def keep(session: ProjectSession, codebook: Codebook) -> None:
    """Keep a codebook as the draft; one equal to the saved version needs none."""
    saved = session.store.codebooks.latest()
    if saved is not None and saved.codebook == codebook:
        session.store.codebooks.drop_draft()
    else:
        session.store.codebooks.save_draft(codebook.model_dump(mode="json"))


def save(session: ProjectSession, codebook: Codebook, note: str = "") -> int:
    """Keep a codebook as a version and give its number. CodebookError for one without labels."""
    return session.store.codebooks.save(codebook.require_labels(), note=note.strip())


def discard(session: ProjectSession) -> None:
    """Forget the draft."""
    session.store.codebooks.drop_draft()


def history(session: ProjectSession) -> list[CodebookVersion]:
    """All versions, the newest first."""
    return session.store.codebooks.history()


def restore(session: ProjectSession, version: int) -> int:
    """Make an old version the newest again, as a version of its own; gives its number. The draft is dropped.

    CodebookError when there is no such version.
    """
    old = session.store.codebooks.get(version)
    if old is None:
        raise CodebookError(f"Codebook version {version} does not exist.", "Choose another version.")
    return session.store.codebooks.save(old.codebook, note=f"v{version} again")


def since(versions: Sequence[CodebookVersion], label_id: str) -> int | None:
    """The first version that has the label, None when only the draft does."""
    having = [each.version for each in versions if any(label.id == label_id for label in each.codebook.labels)]
    return min(having, default=None)


def would_be_stale(session: ProjectSession, draft: Codebook, saved: CodebookVersion | None) -> int:
    """Documents on which a person decided about a label that the draft defines otherwise than the saved version."""
    if saved is None:
        return 0
    before = {label.id: label.definition_hash for label in saved.codebook.labels}
    now = {label.id: label.definition_hash for label in draft.labels}
    touched = {label_id for label_id, words in before.items() if now.get(label_id) != words}
    if not touched:
        return 0
    values = session.store.evaluations.reviewed_values()
    rows = zip(values.column("document_id").to_pylist(), values.column("item").to_pylist(), strict=True)
    return len({document for document, item in rows if item in touched})


def gold_counts(session: ProjectSession) -> dict[str, int]:
    """Label id -> documents whose gold has it, on average over the raters; labels without gold are left out."""
    counts: dict[str, int] = {}
    raters: dict[str, set[str]] = {}
    for rater, item, value, count in session.store.documents.gold_counts():
        label_id = item if isinstance(value, bool) else str(value)
        raters.setdefault(label_id, set()).add(rater)
        counts[label_id] = counts.get(label_id, 0) + (count if value is not False else 0)
    return {label_id: round(count / len(raters[label_id])) for label_id, count in counts.items()}


# -- edits


def change(codebook: Codebook, **fields: Any) -> Codebook:
    """The codebook with other ``name``, ``kind``, ``unit``, ``domain``, ``guideline`` or ``scale``.

    A kind other than rating has no scale.
    """
    if fields.get("kind", codebook.kind) != "rating":
        fields["scale"] = None
    return _checked(codebook.model_dump() | fields)


def check_name(codebook: Codebook, name: str, label_id: str = "") -> str:
    """``name`` on one line if a label (other than ``label_id``) may have it; CodebookError says why not."""
    name = " ".join(name.split())
    if not normalise(name):
        raise CodebookError("A label needs a name.", "The previous name is kept.")
    if normalise(name) in RESERVED_NAMES:
        raise CodebookError(f"'{name}' is reserved for documents without labels.", "Choose another name.")
    other = codebook.find(name)
    if other is not None and other.id != label_id:
        raise CodebookError(f"A label '{other.name}' already exists.", "Choose another name.")
    return name


def add_label(codebook: Codebook, name: str = "") -> tuple[Codebook, str]:
    """The codebook with one more label, and that label's id. Without a name it is called New label, New label 2 ...

    It gets a colour that no other label has, as long as there is one.
    """
    if not name.strip():
        number = 1
        while codebook.find(name := "New label" if number == 1 else f"New label {number}"):
            number += 1
    name = check_name(codebook, name)
    used = {label.colour for label in codebook.labels}
    free = (number for number in range(1, COLOURS + 1) if number not in used)
    colour = next(free, len(codebook.labels) % COLOURS + 1)
    grown = _checked(_with_labels(codebook, [*codebook.labels, {"name": name, "colour": colour}]))
    return grown, grown.labels[-1].id


def change_label(codebook: Codebook, label_id: str, **fields: Any) -> Codebook:
    """The codebook with other ``name``, ``description``, ``include``, ``exclude``, ``keywords``, ``colour`` or ``code``
    of one label. KeyError for an unknown id."""
    label = codebook.label(label_id)
    if "name" in fields:
        fields["name"] = check_name(codebook, fields["name"], label_id)
    changed = label.model_dump() | fields
    return _checked(_with_labels(codebook, [changed if each.id == label_id else each for each in codebook.labels]))


def delete_label(codebook: Codebook, label_id: str) -> Codebook:
    """The codebook without a label."""
    return _checked(_with_labels(codebook, [each for each in codebook.labels if each.id != label_id]))


def reorder(codebook: Codebook, label_ids: Sequence[str]) -> Codebook:
    """The labels in another order; unknown ids are passed over, labels that are not named come last."""
    wanted = {label_id: place for place, label_id in enumerate(label_ids)}
    ordered = sorted(codebook.labels, key=lambda label: wanted.get(label.id, len(wanted)))
    return _checked(_with_labels(codebook, ordered))


def move_label(codebook: Codebook, label_id: str, by: int) -> Codebook:
    """A label some places further down (or up); it stops at the ends."""
    ids = [label.id for label in codebook.labels]
    place = ids.index(label_id)
    ids.insert(max(0, min(len(ids) - 1, place + by)), ids.pop(place))
    return reorder(codebook, ids)


def _with_labels(codebook: Codebook, labels: Sequence[Label | Mapping[str, Any]]) -> dict[str, Any]:
    plain = [label.model_dump() if isinstance(label, Label) else dict(label) for label in labels]
    return codebook.model_dump() | {"labels": plain}


def _checked(data: Mapping[str, Any]) -> Codebook:
    try:
        return Codebook.model_validate(data)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise CodebookError(f"{problem[:1].upper()}{problem[1:]}.", "Nothing was changed.") from error


# -- files and templates


def import_yaml(text: bytes | str, name: str, before: Codebook | None = None) -> Codebook:
    """A codebook from a YAML file; labels that ``before`` has under the same name keep their ids there.

    Raises CodebookError.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise CodebookError(f"{name} is not UTF-8 text.", "Save the codebook as UTF-8 YAML.") from error
    read = load_yaml(text, where=name).require_labels()
    return adopt(read, before) if before is not None else read


def adopt(codebook: Codebook, before: Codebook) -> Codebook:
    """``codebook`` with the ids of ``before`` on labels of the same name, as far as it does not use those otherwise."""
    used = {label.id for label in codebook.labels}
    labels = []
    for label in codebook.labels:
        known = before.find(label.name)
        free = known is not None and known.id not in used
        labels.append(label.model_copy(update={"id": known.id}) if known is not None and free else label)
    return _checked(_with_labels(codebook, labels))


def to_yaml(codebook: Codebook) -> str:
    """The codebook as a YAML file that can be imported again."""
    return dump_yaml(codebook)


def read_codebook(path: Path) -> Codebook:
    """Read a codebook file. Raises InputError if it cannot be read, CodebookError if it is
    not a usable codebook."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text.", "Save the codebook as UTF-8 YAML.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", "Check the path of --codebook.") from error
    return load_yaml(text, where=str(path)).require_labels()


def name_of_file(codebook: Codebook) -> str:
    """What to call that file."""
    stem = "_".join("".join(each if each.isalnum() else " " for each in codebook.name.lower()).split())
    return f"{stem or 'codebook'}.yaml"


@lru_cache(maxsize=1)
def templates() -> tuple[Template, ...]:
    """The codebooks to start from, by name."""
    folder = resources.folder("sample_data")
    paths = [*(folder / sample.codebook for sample in SAMPLES), *(folder / "templates").glob("*.yaml")]
    found = [
        Template(path.stem, load_yaml(path.read_text(encoding="utf-8"), where=path.name))
        for path in paths
        if path.is_file()
    ]
    return tuple(sorted(found, key=lambda template: normalise(template.codebook.name)))


@lru_cache(maxsize=1)
def _starter_lists() -> Mapping[str, tuple[str, ...]]:
    """Every name and other name of a common aspect -> its starter keywords."""
    data = yaml.safe_load((resources.folder("sample_data") / "starter_keywords.yaml").read_text(encoding="utf-8"))
    lists: dict[str, tuple[str, ...]] = {}
    for name, entry in data.items():
        words = tuple(str(word) for word in entry["keywords"])
        for each in (name, *entry.get("aliases", ())):
            lists.setdefault(normalise(str(each)), words)
    return lists


def starters(name: str) -> tuple[str, ...]:
    """Starter keywords for a label of this name, by the name or another name of a common aspect; for a name of several
    words also by each of them ("food and drinks"). Empty when the name tells nothing."""
    lists = _starter_lists()

    def find(wanted: str) -> tuple[str, ...]:
        return lists.get(wanted) or lists.get(wanted.removesuffix("s")) or lists.get(f"{wanted}s") or ()

    whole = normalise(name)
    if found := find(whole):
        return found
    words = [word for word in "".join(each if each.isalnum() else " " for each in whole).split() if len(word) > 2]
    return tuple(dict.fromkeys(keyword for word in words for keyword in find(word)))


def prefilled(codebook: Codebook) -> tuple[Codebook, str]:
    """A codebook whose labels are nothing but names, with words for those that are known: the shipped template that
    knows most of the names lends its definitions, other common aspects get their starter keywords.

    Gives it with a sentence that says where the words are from, empty when none was known. Names, ids and colours stay.
    """
    if codebook.kind != "multilabel":
        return codebook, ""

    def known(template: Template) -> int:
        return sum(template.codebook.find(label.name) is not None for label in codebook.labels)

    best = max((one for one in templates() if one.codebook.kind == codebook.kind), key=known)
    lends = 2 * known(best) > len(codebook.labels)

    def filled(label: Label) -> Label:
        lent = best.codebook.find(label.name) if lends else None
        if lent is None:
            return label.model_copy(update={"keywords": label.keywords or starters(label.name)})
        words = ("description", "include", "exclude", "keywords")
        return label.model_copy(update={name: getattr(label, name) or getattr(lent, name) for name in words})

    labels = tuple(map(filled, codebook.labels))
    if labels == codebook.labels:
        return codebook, ""
    if not lends:
        return codebook.model_copy(
            update={"labels": labels}
        ), "Keywords are suggestions for common aspects; edit them as needed."
    whole = {name: getattr(best.codebook, name) for name in ("unit", "domain", "guideline")}
    told = f"Definitions come from the template '{best.codebook.name}'; edit them as needed."
    return codebook.model_copy(update={"labels": labels, **whole}), told


def suggestions(codebook: Codebook, label_id: str, most: int = 12) -> tuple[str, ...]:
    """Starter keywords that neither this label nor another has yet."""
    taken = {normalise(word) for label in codebook.labels for word in label.keywords}
    label = codebook.label(label_id)
    return tuple(word for word in starters(label.name) if normalise(word) not in taken)[:most]


def warnings(codebook: Codebook) -> list[str]:
    """What a person should know before the built-in model works with this codebook."""
    return baseline.describe(codebook) if codebook.labels else []
