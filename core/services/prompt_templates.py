"""Versions of prompt templates: read-only shipped ones, the project's own, and drafts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType

from core import prompts
from core.codebook import Codebook, Label
from core.debate import protocols
from core.debate.protocol_spec import EQUAL, PRESET, WEIGHTS, Params, ProtocolSpec
from core.documents import Document
from core.errors import PromptError
from core.files import decode_text
from core.prompts import Message, checking
from core.prompts.checking import MAX_TEMPLATE_CHARACTERS, Problem
from core.runs import BUILTIN, LEXICAL_MODEL, RoleModel, RunRow, RunSettings, Template
from core.services.project_session import ProjectSession
from core.services.prompt_preview import RequestPreview, preview_requests, simulate_requests
from core.store.saved_versions import PromptVersion as PromptVersion

OTHER_MOOT = "(other Moot version)"
_NUMBER = re.compile(r"\.v(\d+)$")

TITLES = {"extractor_again": "Extractor, extra rounds", "magistrate_second": "Magistrate, second round"}
"""Display names of templates that are not named like their role."""
VARIABLE_DESCRIPTIONS: Mapping[str, str] = {
    "document": "the text, delimited",
    "definitions": "the labels with their definitions",
    "labels": "the labels one by one: name, description, include, exclude, keywords",
    "unit": "what one document is, such as a review",
    "domain": "the field of knowledge, may be empty",
    "guideline": "the guideline for all labels, may be empty",
    "kind": "multilabel, choice or rating",
    "thing": "the name for one label, such as aspect",
    "things": "the name for several labels",
    "scale": "min and max of a rating",
    "task": "the task, for this kind of label",
    "rules": "rules for every reply",
    "decision": "format of the final line, which is read",
    "final_decision": "format of the deciding role's final line",
    "problem": "why the last reply could not be read",
}
"""Short descriptions of template variables; replies of earlier roles are named by their role."""


def title_of(key: str) -> str:
    """Return the display name of a template, or of a role or family of roles without a title."""
    return TITLES.get(key, key.replace("_", " ").capitalize())


@dataclass(frozen=True, slots=True)
class Slot:
    """A template that can be edited."""

    name: str
    key: str
    """The name among a run's templates: the role, or the name of a shared part."""
    shared: bool
    parts: bool
    """True if the template has a system and a user part."""
    inputs: tuple[str, ...]
    """The variables that the template may use."""
    wanted: tuple[str, ...]
    """The informative ones of these that the shipped template uses."""
    needed: tuple[str, ...]
    """The mandatory ones."""
    shipped: PromptVersion
    protocol: str
    params: Params = field(compare=False)
    """Parameters of the protocol with which the template is used."""

    @property
    def title(self) -> str:
        """Display name of the slot."""
        return title_of(self.key)

    @property
    def of_preset(self) -> bool:
        """True for a template of a preset, which runs without the preset do not use."""
        return self.name.count("/") > 1

    def meaning(self, name: str) -> str:
        """Return a short description of a variable."""
        return VARIABLE_DESCRIPTIONS.get(name, f"earlier reply: {name.replace('_', ' ')}")


@dataclass(frozen=True, slots=True)
class TemplateStatus:
    """A slot as the editor shows it: the draft, or the version that a draft would start from.

    ``base`` is the version that the text was started from, ``default`` the version that new runs use.
    """

    slot: Slot
    base: PromptVersion
    default: PromptVersion
    text: str
    drafted_at: float | None
    problems: tuple[Problem, ...]

    @property
    def changed(self) -> bool:
        """True if the text differs from ``base``."""
        return self.text != self.base.text

    @property
    def usable(self) -> bool:
        """True if a run could use the text."""
        return not any(problem.severity == "error" for problem in self.problems)

    @property
    def template(self) -> Template:
        """Text as a run freezes it, named as a draft if it is changed."""
        if not self.changed:
            return self.base.template
        return Template(name=f"{self.slot.name}.{prompts.DRAFT}", text=self.text)


def slots(protocol: str, params: Params = MappingProxyType({})) -> tuple[Slot, ...]:
    """Return the editable templates of runs with these parameters; a preset may have its own.

    Roles come first, in speaking order, then other templates, then the shared ones. The prompts of a custom protocol
    are edited in its description. Raises UsageError for an unknown protocol or parameter.
    """
    spec = protocols.find(protocol, params)
    params = spec.parse_params(params)
    shipped = spec.load_templates(params)
    values = tuple(prompts.variables(Codebook(), Document("", {"text": ""}), shipped))
    speaking = list(dict.fromkeys(role.family for role in spec.roles(params)))
    unordered = [
        _make_slot(key, template, values, protocol, params)
        for key, template in shipped.items()
        if prompts.is_shipped(template)
    ]
    order = {family: position for position, family in enumerate(speaking)}
    return tuple(sorted(unordered, key=lambda slot: (slot.shared, order.get(slot.key, len(order)))))


def _make_slot(key: str, template: Template, values: Iterable[str], protocol: str, params: Params) -> Slot:
    name = prompts.slot_name(template.name)
    number = _NUMBER.search(template.name)
    shared = name.startswith(f"{prompts.SHARED}/")
    parts = "## user" in template.text
    used = checking.used_variables(template.text, parts=parts)
    variables = tuple(
        dict.fromkeys([*(value for value in values if parts or value not in prompts.BLOCKS), *sorted(used)])
    )
    silent = {"unit", "domain", "kind", "thing", "things", "scale", "guideline"}
    return Slot(
        name=name,
        key=key,
        shared=shared,
        parts=parts,
        inputs=variables if parts else tuple(variable for variable in variables if variable != "document"),
        wanted=tuple(variable for variable in variables if variable in used and variable not in silent),
        needed=("document",) if "document" in used else (),
        shipped=PromptVersion(template.name, name, int(number[1]) if number else 1, "", template.text, "as shipped"),
        protocol=protocol,
        params=params,
    )


def versions(session: ProjectSession, slot: Slot) -> tuple[PromptVersion, ...]:
    """Return all versions of a slot: the shipped one, then the project's own by number."""
    return (slot.shipped, *session.store.prompts.versions(slot.name))


def promoted_templates(session: ProjectSession) -> dict[str, Template]:
    """Return the project's own templates that new runs use, by slot; other slots use the shipped ones."""
    return {slot: saved.template for slot, saved in session.store.prompts.promoted().items()}


def have_changed(session: ProjectSession, settings: RunSettings) -> bool:
    """Return True if a new run of the same protocol would use other promoted templates than these settings."""
    promoted = promoted_templates(session)
    for used in settings.templates.values():
        current = promoted.get(prompts.slot_name(used.name))
        is_own = used.name.startswith(f"{prompts.OWN}/")
        if is_own if current is None else used.text != current.text:
            return True
    return False


def template_status(session: ProjectSession, slot: Slot) -> TemplateStatus:
    """Return the editor's state of a slot."""
    by_name = {version.name: version for version in versions(session, slot)}
    promoted = session.store.prompts.promoted().get(slot.name)
    default = by_name[promoted.name] if promoted else next(iter(by_name.values()))
    draft = session.store.prompts.draft(slot.name)
    base = by_name.get(draft.parent, default) if draft else default
    text = draft.text if draft else base.text
    return TemplateStatus(slot, base, default, text, draft.at if draft else None, check_template(slot, text))


@lru_cache(maxsize=256)
def check_template(slot: Slot, text: str) -> tuple[Problem, ...]:
    """Return the problems of a text for a slot, without rendering it."""
    return checking.check(text, slot.inputs, wanted=slot.wanted, needed=slot.needed, parts=slot.parts)


def save_draft(session: ProjectSession, slot: Slot, text: str, base: PromptVersion) -> None:
    """Store a text as the draft of a slot, started from ``base``; drop the draft if it equals the default version."""
    text = text.replace("\r\n", "\n")
    promoted = session.store.prompts.promoted().get(slot.name)
    is_default = base.name == promoted.name if promoted else base.shipped
    if text == base.text and is_default:
        session.store.prompts.drop_draft(slot.name)
    else:
        session.store.prompts.keep_draft(slot.name, text, parent=base.name)


def save_version(session: ProjectSession, slot: Slot, note: str = "") -> PromptVersion:
    """Save the draft as a version.

    Raises PromptError for a draft that cannot be used or does not differ from its base.
    """
    now = template_status(session, slot)
    require_usable(session, slot, now.template)
    if not now.changed:
        raise PromptError(f"{slot.title}: nothing has changed since {now.base.label}.", "Edit it first.")
    if now.text == slot.shipped.text:
        raise PromptError("This is the shipped template.", f"Promote {slot.shipped.label} instead.")
    saved = session.store.prompts.save(
        slot.name, now.text, parent=now.base.name, after=slot.shipped.number, note=note.strip()
    )
    save_draft(session, slot, saved.text, saved)
    return saved


def promote_version(session: ProjectSession, slot: Slot, version: PromptVersion) -> None:
    """Make a version the default for new runs; promoting the shipped one restores it.

    Raises PromptError for a version that cannot be used.
    """
    require_usable(session, slot, version.template)
    session.store.prompts.promote(version.slot, None if version.shipped else version.name)


def with_template(settings: RunSettings, key: str, template: Template) -> RunSettings:
    """Return the settings with one template replaced."""
    return settings.model_copy(update={"templates": {**settings.templates, key: template}})


def own_prompts(settings: RunSettings) -> dict[str, str]:
    """Return the prompts of a run that are not shipped ones: key among its templates to a label.

    The label is "judge v2" for a version of the project, "judge" with ``OTHER_MOOT`` for a text that has the name of a
    shipped template, and "judge changed" for any other text.
    """
    labels = {}
    for key, template in settings.templates.items():
        if template.name.startswith(f"{prompts.OWN}/"):
            slot, version = prompts.slot_name(template.name), template.name.rpartition(".")[2]
            labels[key] = f"{slot.rpartition('/')[2]} {version}".replace("_", " ")
        elif not prompts.is_shipped(template):
            origin = OTHER_MOOT if _NUMBER.search(template.name) else "changed"
            labels[key] = f"{key} {origin}".replace("_", " ")
    return labels


def load_run_prompts(session: ProjectSession, run: RunRow) -> int:
    """Load the prompts of a run into the editor and return the number of slots that changed.

    A text that equals a saved version starts from it; any other text becomes a draft. Raises UsageError if the run's
    protocol no longer exists.
    """
    changed = 0
    for slot in slots(run.settings.protocol, protocols.params_of(run.settings)):
        used = run.settings.templates.get(slot.key)
        now = template_status(session, slot)
        if used is None or used.text == now.text:
            continue
        same = next((version for version in versions(session, slot) if version.text == used.text), None)
        _replace_draft(session, slot, used.text, same or now.default, run.title)
        changed += 1
    return changed


def _replace_draft(session: ProjectSession, slot: Slot, text: str, base: PromptVersion, source: str) -> None:
    """Make a text from a ``source`` the draft. A draft of the user, which would be lost, is saved as a version."""
    now = template_status(session, slot)
    if now.changed and now.text != text:
        stored = {version.text for version in versions(session, slot)}
        of_runs = (run.settings.templates.get(slot.key) for run in session.all_runs())
        if now.text not in stored.union(template.text for template in of_runs if template is not None):
            note = f"draft that {source} replaced"
            session.store.prompts.save(slot.name, now.text, parent=now.base.name, after=slot.shipped.number, note=note)
    save_draft(session, slot, text, base)


def template_file_name(version: PromptVersion) -> str:
    """Return the file name for exporting a version."""
    return f"{version.slot.replace('/', '_')}.v{version.number}.md"


def import_template(session: ProjectSession, slot: Slot, content: bytes, name: str) -> None:
    """Import a file as the draft of a slot. A draft of the user, which would be lost, is saved as a version.

    Raises PromptError for a file that is not text or is too long. The editor shows other problems.
    """
    text = decode_text(content, name, PromptError)
    if len(text) > MAX_TEMPLATE_CHARACTERS:
        raise PromptError(f"{name} has {len(text):,} characters.", f"A template may have {MAX_TEMPLATE_CHARACTERS:,}.")
    _replace_draft(session, slot, text.replace("\r\n", "\n"), template_status(session, slot).base, name)


def require_usable(session: ProjectSession, slot: Slot, template: Template) -> None:
    """Raise PromptError for a template with an error in its text, or that cannot be rendered.

    It is rendered in debates on documents of the project with the parameters of the slot.
    """
    problem = next((problem for problem in check_template(slot, template.text) if problem.severity == "error"), None)
    if problem is not None:
        location = f"{template.name}, line {problem.line}" if problem.line else template.name
        raise PromptError(f"{location}: {problem.message}.", "Fix it in the Lab.", line=problem.line)
    spec = protocols.find(slot.protocol, slot.params)
    saved = session.store.codebooks.latest()
    codebook = saved.codebook if saved else Codebook()
    if not codebook.labels or codebook.kind not in spec.kinds:
        codebook = Codebook(kind=next(iter(spec.kinds)), labels=(Label(name="One"), Label(name="Two")))
    settings = default_settings(slot.protocol, codebook, promoted_templates(session), slot.params)
    check_templates(with_template(settings, slot.key, template), sample_documents(session))


def require_usable_codebook(session: ProjectSession, codebook: Codebook) -> None:
    """Raise PromptError for definitions with which a prompt of the project cannot be rendered.

    The prompts of each protocol, and of each preset with its own, are rendered in debates on documents of the project
    if one of them is a prompt of the project. Without any, those of the first protocol for this kind of codebook are.
    """
    able = protocols.supporting(codebook.kind)
    templates = promoted_templates(session)
    folders = {slot.rpartition("/")[0] for slot in templates}
    changed = [
        (name, params)
        for name in able
        for folder, params in _template_folders(protocols.find(name)).items()
        if folder in folders
    ]
    for protocol, params in changed or [(able[0], {})]:
        _render_requests(default_settings(protocol, codebook, templates, params), sample_documents(session))


def _template_folders(spec: ProtocolSpec) -> dict[str, dict[str, str]]:
    """Return the folders of a protocol's templates, each with parameters of runs that use them."""
    presets = {f"{spec.name}/{preset.templates}": {PRESET: name} for name, preset in spec.presets.items()}
    return {**presets, spec.name: {}}


def default_settings(
    protocol: str, codebook: Codebook, templates: Mapping[str, Template], params: Params = MappingProxyType({})
) -> RunSettings:
    """Return settings to render prompts: with the built-in model, a project's own templates, and default parameters.

    ``params`` replace defaults. Votes are equal, as weights are in no prompt. Raises UsageError for parameters that
    do not fit the codebook.
    """
    spec = protocols.find(protocol, params)
    used = spec.parse_params(params)
    spec.require_fitting(used, codebook)
    if WEIGHTS in used:
        used[WEIGHTS] = EQUAL
    return RunSettings(
        protocol=protocol,
        codebook=codebook,
        role_models={role.name: RoleModel(connection=BUILTIN, model=LEXICAL_MODEL) for role in spec.roles(used)},
        templates=prompts.replace_templates(spec.load_templates(used), templates),
        params=used,
    )


SAMPLED_DOCUMENTS = 8
"""Number of documents on which prompts are rendered before they are saved or used."""


def sample_documents(session: ProjectSession, ids: Sequence[str] | None = None) -> list[Document]:
    """Return documents of the project to render prompts on, from the shortest to the longest; of these ids if given."""
    return session.store.documents.spread_by_length(SAMPLED_DOCUMENTS, ids)


def check_templates(settings: RunSettings, documents: Sequence[Document]) -> None:
    """Render the prompts of a run on these documents if a template is not a shipped one.

    Without documents, a trial document is used. Raises PromptError, with template, line, reason and document, for a
    template that cannot be rendered.
    """
    if not all(map(prompts.is_shipped, settings.templates.values())):
        _render_requests(settings, documents)


def _render_requests(settings: RunSettings, documents: Sequence[Document]) -> None:
    """Render every request of a debate on each document. Raises PromptError."""
    for document in documents or (_TRIAL_DOCUMENT,):
        try:
            preview_requests(settings, document)
        except PromptError as error:
            location = f" Rendered on document {document.id}." if documents else ""
            raise PromptError(f"{error.message}{location}", error.remedy, line=error.line) from error


_TRIAL_DOCUMENT = Document("any", {"text": "A text."})
"""A template that fails here fails on every document."""

TEMPLATE_MARK = "\u2063"
"""Invisible character at the end of a template that marks the messages in which the template is used."""


def render_template(settings: RunSettings, slot: Slot, text: str, document: Document) -> tuple[RequestPreview, ...]:
    """Return every request on the document that uses this text in a slot, with placeholders for earlier replies.

    A shared text that no request uses is rendered alone. Raises PromptError, with the line, for a text that cannot
    be rendered or runs too long.
    """
    marked = Template(name=slot.name, text=text.rstrip() + TEMPLATE_MARK)
    asks = preview_requests(with_template(settings, slot.key, marked), document)
    previews = tuple(
        replace(ask, messages=tuple(_without_mark(message) for message in ask.messages))
        for ask in asks
        if any(TEMPLATE_MARK in message.content for message in ask.messages)
    )
    if previews or slot.parts:
        return previews
    values = prompts.variables(settings.codebook, document, settings.templates) | {"problem": "it names no label"}
    alone = Message("user", prompts.render_text(marked, values))
    return (RequestPreview("", slot.title, (_without_mark(alone),)),)


_REPEATING = (prompts.REASK, "shorten")
"""Templates of requests that repeat another one; a simulated debate sends none."""


def sent_templates(settings: RunSettings, document: Document) -> dict[str, Template]:
    """Return the templates of a run that a debate on the document may use, by key, from a simulation.

    Raises PromptError and UsageError.
    """
    marks = {key: f"{TEMPLATE_MARK}{number}{TEMPLATE_MARK}" for number, key in enumerate(settings.templates)}
    marked = {
        key: Template(name=template.name, text=template.text.rstrip() + marks[key])
        for key, template in settings.templates.items()
    }
    asks = simulate_requests(settings.model_copy(update={"templates": marked}), document)
    sent = "\n".join(message.content for ask in asks for message in ask.messages)
    return {key: used for key, used in settings.templates.items() if marks[key] in sent or key in _REPEATING}


def _without_mark(message: Message) -> Message:
    return Message(message.role, message.content.replace(TEMPLATE_MARK, ""))
