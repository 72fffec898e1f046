"""Prompt templates: find the shipped ones, render them, refuse what a template may not do.

A template is one Markdown file ``prompts/<protocol>/<role>.v<n>.md`` with a ``## system`` and a ``## user`` part;
``prompts/shared/`` holds what all of them use. A released file is never edited: the next version stands beside it. The
unchanging part (role, labels, guideline) comes first and is byte-identical across documents, so that servers' prefix
caches hit; the document comes last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

from core import resources
from core.codebook import Codebook
from core.documents import Document
from core.errors import PromptError
from core.hashing import digest
from core.prompts import isolation, rendering
from core.prompts.messages import Message, Speaker
from core.prompts.rendering import Parts, Trouble
from core.runs import Template as FrozenTemplate

SHARED = "shared"
OWN = "own"
"""Begins the names of versions that were saved in a project; no shipped template's name begins so."""
DRAFT = "draft"
"""What the name of a template ends in that was tried before it was saved."""
DEFINITIONS, REASK = "definitions", "reask"
BLOCKS = ("definitions", "task", "rules", "decision", "final_decision")
"""Shared texts that every template may use as a variable; each says for each kind of label what it says."""

_THINGS = {"multilabel": ("aspect", "aspects"), "choice": ("label", "labels"), "rating": ("dimension", "dimensions")}

_FILE = re.compile(r"^(?P<role>[a-z_]+)\.v(?P<number>\d+)\.md$")
_VERSION = re.compile(rf"\.(?:v\d+|{DRAFT})$")
_TAG_LIKE = re.compile(r"<(?=\s*/?\s*(?:document|analysis|precedent)\b)", re.IGNORECASE)


def shipped(protocol: str) -> dict[str, FrozenTemplate]:
    """The newest shipped template of each role of a protocol, and of the shared texts, by role or shared name.

    Raises PromptError when there are none.
    """
    own = _newest(protocol)
    if not own:
        raise PromptError(f"There are no prompts for the protocol '{protocol}'.", "Install Moot again.")
    return own | shared()


def shared() -> dict[str, FrozenTemplate]:
    """The newest of the texts that all protocols use, by name."""
    return _newest(SHARED)


def slot(name: str) -> str:
    """What a template's name in a run is a version of: 'ecj/judge' of 'ecj/judge.v1', 'own/ecj/judge.v2' and
    'ecj/judge.draft'."""
    return _VERSION.sub("", name.removeprefix(f"{OWN}/"))


def replaced(templates: Mapping[str, FrozenTemplate], own: Mapping[str, FrozenTemplate]) -> dict[str, FrozenTemplate]:
    """The templates with those of ``own`` (by slot) in the place of what they are versions of."""
    return {key: own.get(slot(template.name), template) for key, template in templates.items()}


def delimited(text: str, tag: str = "document") -> str:
    """``text`` between tags that it cannot close: the tag carries a hash of the text, and anything in the text that
    looks like one of our tags loses its angle bracket. Deterministic, so that the same document gives the same ask."""
    mark = digest(text, size=4)
    return f"<{tag} {mark}>\n{_TAG_LIKE.sub('‹', text)}\n</{tag} {mark}>"


def variables(
    codebook: Codebook, document: Document, templates: Mapping[str, FrozenTemplate] | None = None
) -> dict[str, Any]:
    """What every template may use: ``labels`` (name, description, include, exclude, keywords, code), ``kind``,
    ``thing`` and ``things`` (what a label of this kind is called), ``unit``, ``domain``, ``guideline``, ``scale`` (min,
    max; of a rating), and ``document``, delimited, with the names of its fields when there are several.

    With the run's ``templates`` also the shared ``BLOCKS``, which are the same for every document of a run.
    """
    return _of_codebook(codebook) | _blocks(codebook, templates or {}) | {"document": shown(document)}


def shown(document: Document) -> str:
    """The document as a prompt shows it: each field delimited, under its name when there are several."""
    fields = document.fields
    if len(fields) == 1:
        return delimited(document.text)
    return "\n".join(f"{name}:\n{delimited(text)}" for name, text in fields.items())


def definitions(template: FrozenTemplate, codebook: Codebook) -> str:
    """The block that explains the labels, the same for every document of a run."""
    return _block(template, codebook)


def render_text(template: FrozenTemplate, values: Mapping[str, Any]) -> str:
    """The text that a template without parts gives for these variables. Raises PromptError."""
    return "".join(text for _, text in _filled(template, values, parts=False))


def render(template: FrozenTemplate, values: Mapping[str, Any]) -> tuple[Message, ...]:
    """The messages that a template with parts gives for these variables.

    Raises PromptError for bad syntax, unknown variables, forbidden access, a template without a user message, and one
    that takes too long or grows too large.
    """
    messages = tuple(Message(cast(Speaker, who), text) for who, text in _filled(template, values, parts=True))
    if not any(message.role == "user" for message in messages):
        raise PromptError(f"{template.name}: there is no '## user' part, or it is empty.", "A model needs one.")
    return messages


def _filled(template: FrozenTemplate, values: Mapping[str, Any], *, parts: bool) -> Parts:
    """A shipped template is filled in here; whatever else it is called, any other text goes to a process that can be
    ended."""
    fill = rendering.fill if template.text in _shipped_texts() else isolation.fill
    try:
        return fill(template.text, values, parts=parts)
    except Trouble as trouble:
        where = f"{template.name}, line {trouble.line}" if trouble.line else template.name
        raise PromptError(
            f"{where}: {trouble.message}.", "Mend it in the Lab, or go back to the shipped one.", line=trouble.line
        ) from trouble


def _newest(folder: str) -> dict[str, FrozenTemplate]:
    newest: dict[str, tuple[int, FrozenTemplate]] = {}
    for path in (resources.folder("prompts") / folder).glob("*.md"):
        match = _FILE.match(path.name)
        if match is None:
            continue
        role, number = match["role"], int(match["number"])
        if role not in newest or number > newest[role][0]:
            template = FrozenTemplate(name=f"{folder}/{path.stem}", text=path.read_text(encoding="utf-8"))
            newest[role] = (number, template)
    return {role: template for role, (_, template) in newest.items()}


@lru_cache(maxsize=1)
def _shipped_texts() -> frozenset[str]:
    return frozenset(path.read_text(encoding="utf-8") for path in resources.folder("prompts").rglob("*.md"))


def _of_codebook(codebook: Codebook) -> dict[str, Any]:
    thing, things = _THINGS[codebook.kind]
    return {
        "labels": codebook.labels,
        "kind": codebook.kind,
        "thing": thing,
        "things": things,
        "unit": codebook.unit,
        "domain": codebook.domain,
        "guideline": codebook.guideline,
        "scale": codebook.scale,
    }


def _blocks(codebook: Codebook, templates: Mapping[str, FrozenTemplate]) -> dict[str, str]:
    return {name: _block(templates[name], codebook) for name in BLOCKS if name in templates}


@lru_cache(maxsize=1024)
def _block(template: FrozenTemplate, codebook: Codebook) -> str:
    return render_text(template, _of_codebook(codebook))
