"""Personas of a panel: read from a file or generated from documents, and saved as versions of the project."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any

from core import prompts
from core.codebook import Codebook, normalise
from core.debate import persona_extraction, personas, protocols
from core.debate.persona_extraction import PersonaExtraction, SourceDocument
from core.debate.personas import DEFAULT_PERSONAS, FAMILY, Persona, PersonaSet
from core.debate.protocol_spec import PERSONAS, PRESET
from core.debate.protocols.panel import AGGREGATOR
from core.debate.quote_location import Haystack, Passage
from core.debate.turns import Step, family
from core.engine.call_limits import BudgetSpent
from core.engine.standalone_run import Spent, run_until_usable
from core.errors import InputError, MootError, UsageError
from core.files import decode_text, read_text
from core.formatting import format_count, format_money, one_line
from core.ingest.read import read_text_file
from core.ingest.table import unique_names
from core.runs import LONG_MAX_TOKENS, RoleModel, RunRow, RunSettings, total_cost
from core.services.background_jobs import OnStep
from core.services.project_session import ProjectSession
from core.services.runs.planning import Plan, require_prices, uses_project_personas, with_defaults
from core.store.saved_versions import PersonaSetVersion

LIMITS = ("groups", "dimensions")
ROLE_MODELS = (persona_extraction.SCOUT, persona_extraction.MERGER, persona_extraction.PERSONA_WRITER)

OnProgress = Callable[[int, int], None]
"""Progress callback with (requests answered, requests made so far)."""


@dataclass(frozen=True, slots=True)
class GeneratedPersonas:
    """Personas generated from documents, with the usage."""

    extraction: PersonaExtraction
    spent: Spent

    @property
    def words(self) -> str:
        """The result in one sentence."""
        persona_set, spent = self.extraction.persona_set, self.spent
        return (
            f"Generated {format_count(len(persona_set.members), 'persona')} "
            f"in {format_count(len(persona_set.groups), 'group')} "
            f"from {format_count(len(self.extraction.findings), 'dimension')}: "
            f"{format_count(spent.requests, 'request')}, {spent.tokens:,} tokens, {format_money(spent.cost_usd)}"
        )


@dataclass(frozen=True, slots=True)
class GroupCost:
    """Usage of one group, or of a role outside the groups, in a run of a panel.

    ``per_document`` is the number of tokens per finished document.
    """

    name: str
    turns: int
    tokens: int
    cost_usd: float | None
    per_document: float


# -- input from the command line or a form


def resolve_files(plan: Plan) -> tuple[Plan, tuple[SourceDocument, ...]]:
    """Return a panel's plan with its persona file read in, and the source documents for generating personas.

    Any other plan is returned unchanged. InputError for a file that cannot be read, UsageError for a file without
    personas, and if both personas and sources are given.
    """
    params = dict(plan.params)
    if not protocols.find(plan.protocol).uses_personas:
        return plan, ()
    sources = tuple(Path(part.strip()) for part in str(params.pop("sources", "")).split(",") if part.strip())
    text = str(params.get(PERSONAS, "")).strip()
    if text and sources:
        raise UsageError(
            "Both personas and sources are given.", "Give a file of personas, or source files to generate them from."
        )
    if text and not text.startswith("{") and "\n" not in text:
        params[PERSONAS] = read_personas(Path(text)).text
    for path in sources:
        if not path.is_file():
            raise InputError(f"File {path} does not exist.", "Check the path in --param sources.")
    return replace(plan, params=params), tuple(_read_source(path.name, path) for path in sources)


def read_personas(path: Path) -> PersonaSet:
    """Read personas from a YAML file.

    InputError for a file that cannot be read, UsageError for invalid personas.
    """
    return personas.load_yaml(read_text(path), source=str(path))


def _read_source(file_name: str, content: bytes | Path) -> SourceDocument:
    """Return a file as a source document. InputError if it cannot be read."""
    name = one_line(file_name)
    return SourceDocument(name, read_text_file(content, name))


def _with_free_names(session: ProjectSession, documents: Iterable[SourceDocument]) -> Iterator[SourceDocument]:
    """Yield documents; a name that an earlier one has, or a source of the project with another text, gets a number."""
    stored, used = sources(session), set[str]()
    for document in documents:
        others = {name for name, text in stored.items() if text != document.text}
        (name,) = unique_names([document.name], used | others)
        used.add(name)
        yield replace(document, name=name)


def task_of(codebook: Codebook) -> str:
    """Return a description of the panel's task on this codebook, for prompts that generate personas."""
    task = {
        "multilabel": "decides which of these labels apply to one {unit}",
        "choice": "chooses one of these labels for one {unit}",
        "rating": "rates one {unit} on these dimensions",
    }[codebook.kind].format(unit=codebook.unit)
    domain = f" Domain: {codebook.domain}." if codebook.domain else ""
    described = [(label.name, label.description.rstrip(" .")) for label in codebook.labels]
    labels = "; ".join(f"{name}: {description}" if description else name for name, description in described)
    guideline = f" {codebook.guideline}" if codebook.guideline else ""
    return f"A panel {task}: {labels}.{domain}{guideline}"


# -- generation


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """Limits of the groups and of the personas in each, and the temperature if the model sets none."""

    groups: int = persona_extraction.DEFAULT_GROUPS
    dimensions: int = persona_extraction.DEFAULT_DIMENSIONS
    temperature: float | None = None


def generation_settings(plan: Plan) -> GenerationSettings:
    """Return the settings of a panel's plan, given or from its preset; the defaults for another protocol."""
    panel = protocols.find(plan.protocol)
    if not panel.uses_personas:
        return GenerationSettings()
    params = panel.parse_params({name: plan.params[name] for name in (*LIMITS, PRESET) if name in plan.params})
    return GenerationSettings(params["groups"], params["dimensions"], panel.temperatures(params).get(AGGREGATOR))


def generate(
    session: ProjectSession,
    sources: Sequence[SourceDocument],
    codebook: Codebook,
    role_model: RoleModel,
    wanted: GenerationSettings,
    on_progress: OnProgress = lambda _done, _of: None,
    budget_usd: float | None = None,
) -> Future[GeneratedPersonas]:
    """Generate personas from documents with a model, and store the documents in the project.

    UsageError without documents, and for a budget in dollars without a price. The future raises UsageError if no
    personas are found or the budget is spent, MootError if no answer can be read, and the ModelError that stopped it.
    A second attempt only pays for the missing replies.
    """
    if not sources:
        raise UsageError("No sources are given to generate personas from.", "Add at least one document.")
    session.store.personas.keep_sources({source.name: source.text for source in sources})
    role_model = with_defaults(session.models, role_model, wanted.temperature, LONG_MAX_TOKENS)
    settings = RunSettings(
        protocol=persona_extraction.TEMPLATES,
        codebook=codebook,
        role_models=dict.fromkeys(ROLE_MODELS, role_model),
        templates=prompts.shipped_templates(persona_extraction.TEMPLATES),
        budget_usd=budget_usd,
    )
    if budget_usd is not None:
        require_prices(settings, session.models)

    def extract() -> Step[PersonaExtraction | None]:
        return persona_extraction.extract_personas(
            sources, task_of(codebook), settings.templates, groups=wanted.groups, dimensions=wanted.dimensions
        )

    async def run() -> GeneratedPersonas:
        replies = session.project.replies
        try:
            extraction, spent = await run_until_usable(
                extract, lambda extraction: extraction is not None, settings, session.models, replies, on_progress
            )
            if budget_usd is not None and (spent.cost_usd or 0.0) >= budget_usd:
                raise BudgetSpent  # nothing is left for a run
        except BudgetSpent:
            require_prices(settings, session.models)  # a price may have been removed since
            raise UsageError(
                f"The budget of {format_money(budget_usd)} does not suffice to generate the personas.",
                "Raise it: replies so far are stored, and are not paid for again.",
            ) from None
        if extraction is None:
            raise MootError(
                f"No answer of {role_model.spec} on the sources can be read.", "Try again, or choose another model."
            )
        return GeneratedPersonas(extraction, spent)

    return session.engine.submit(run())


def with_personas(
    session: ProjectSession, plan: Plan, sources: Sequence[SourceDocument], codebook: Codebook
) -> tuple[Plan, list[str], Spent | None]:
    """Return the plan with personas generated from these documents, notes on them, and what they cost.

    The personas are saved as a version, and the plan's budget is what they leave of it. Without sources, given personas
    of a panel are saved, the plan is unchanged and nothing is paid (None). Blocks until the personas are generated.
    """
    if not sources:
        if protocols.find(plan.protocol).uses_personas and plan.params.get(PERSONAS):
            persona_set = personas.parse_persona_set(str(plan.params[PERSONAS]))
            session.store.personas.save(persona_set, note="from the command line", keep_draft=True)
        return plan, [], None
    texts = list(_with_free_names(session, sources))
    role_model, budget = plan.role_model(FAMILY), plan.budget_usd
    making = generate(session, texts, codebook, role_model, generation_settings(plan), budget_usd=budget).result()
    if budget is not None:
        budget -= making.spent.cost_usd or 0.0
    names = ", ".join(text.name for text in texts)
    version = session.store.personas.save(making.extraction.persona_set, note=f"made from {names}", keep_draft=True)
    remarks = [f"personas v{version}: {making.words}", *making.extraction.notes]
    params = {**plan.params, PERSONAS: making.extraction.persona_set.text}
    return replace(plan, params=params, budget_usd=budget), remarks, making.spent


JOB = "a model writes personas"
"""Name of the job in a project."""


def start(session: ProjectSession, codebook: Codebook, role_model: RoleModel, wanted: GenerationSettings) -> None:
    """Start generating personas from the project's sources, which become the draft. UsageError without sources."""
    sources = [SourceDocument(name, text) for name, text in session.store.personas.sources().items()]

    def words(done: int, total: int) -> str:
        return f"{done} of {total} answers; more may follow"

    def begin(report: OnStep) -> Future[GeneratedPersonas]:
        def on_progress(done: int, total: int) -> None:
            report(done / total if total else 0.0, words(done, total))

        generation = generate(session, sources, codebook, role_model, wanted, on_progress)

        async def finish() -> GeneratedPersonas:
            generated = await asyncio.wrap_future(generation)
            extraction = generated.extraction
            kept = await asyncio.to_thread(replace_draft, session, extraction.persona_set, "generated personas")
            if kept is None:
                return generated
            notes = (*extraction.notes, f"The draft that they replace was saved as v{kept}.")
            return replace(generated, extraction=replace(extraction, notes=notes))

        return session.engine.submit(finish())

    session.start_job(JOB, begin, words(0, 0))


def add_sources(session: ProjectSession, files: Sequence[tuple[str, bytes]]) -> None:
    """Store uploaded source documents. InputError if one cannot be read; then nothing is stored."""
    documents = [_read_source(*file) for file in files]
    session.store.personas.keep_sources({source.name: source.text for source in _with_free_names(session, documents)})


# -- versions


@dataclass(frozen=True, slots=True)
class PersonaStatus:
    """Personas in the editor: the draft, otherwise the saved version, otherwise the default pair."""

    personas: PersonaSet
    saved: PersonaSetVersion | None
    """Latest saved version, None before the first."""
    dirty: bool
    """True if there is an unsaved draft."""

    @property
    def next_version(self) -> int:
        """Version number of the next save."""
        return self.saved.number + 1 if self.saved else 1


def persona_status(session: ProjectSession, own: PersonaSet | None = None) -> PersonaStatus:
    """Return the personas in the editor. With ``own``, they are in the editor instead of the stored draft."""
    saved, draft = session.store.personas.latest(), own or session.store.personas.draft()
    shown = draft or (saved.personas if saved else DEFAULT_PERSONAS)
    return PersonaStatus(shown, saved, shown != saved.personas if saved else draft is not None)


def discard(session: ProjectSession) -> None:
    """Delete the draft."""
    session.store.personas.drop_draft()


def history(session: ProjectSession) -> list[PersonaSetVersion]:
    """Return all saved versions, newest first."""
    return session.store.personas.history()


def sources(session: ProjectSession) -> dict[str, str]:
    """Return the texts of the source documents by name."""
    return session.store.personas.sources()


def remove_source(session: ProjectSession, name: str) -> None:
    """Delete a source document; personas made from it keep their quotations."""
    session.store.personas.drop_source(name)


@lru_cache(maxsize=256)
def locate_quote(words: str, text: str) -> Passage:
    """Return the place of a quotation in the text of a source document; ``MISSING`` if it is not there."""
    return Haystack({"": text}).locate(words)


def save_draft(session: ProjectSession, persona_set: PersonaSet) -> None:
    """Save a persona set as the draft, or drop the draft if the set equals the saved version."""
    session.store.personas.save_draft(persona_set)


def replace_draft(session: ProjectSession, persona_set: PersonaSet, source: str) -> int | None:
    """Make personas from a ``source`` the draft, in place of what the user edits.

    An unsaved draft, which would be lost, is saved as a version. Returns the number of that version, None without one.
    """
    now, kept = persona_status(session), None
    if now.dirty and now.personas not in (persona_set, *(version.personas for version in history(session))):
        kept = save(session, now.personas, f"draft that {source} replaced")
    save_draft(session, persona_set)
    return kept


def save(session: ProjectSession, persona_set: PersonaSet, note: str = "") -> int:
    """Save a persona set as a version and return its number."""
    return session.store.personas.save(persona_set, note=note.strip())


def from_yaml(content: bytes, name: str) -> PersonaSet:
    """Return the persona set in an uploaded file. UsageError for invalid content."""
    return personas.load_yaml(decode_text(content, name, UsageError), source=name)


def with_panel(plan: Plan) -> Plan:
    """Return the plan with a panel of the project's personas as its protocol."""
    return plan if uses_project_personas(plan) else plan.with_protocol(protocols.panel.SPEC.name)


def last_panel(session: ProjectSession) -> RunRow | None:
    """Return the latest run of a panel that has turns, None without one."""
    return next((row for row in reversed(session.all_runs()) if PERSONAS in row.settings.params and row.turns), None)


def change(persona_set: PersonaSet, **fields: Any) -> PersonaSet:
    """Return the persona set with another ``task`` or other ``groups``. UsageError for invalid values."""
    return personas.parse(persona_set.model_dump() | fields)


def change_persona(persona_set: PersonaSet, who: str, /, **fields: Any) -> PersonaSet:
    """Return the persona set with changed attributes of the persona named ``who``.

    Without attributes the persona is deleted, and its group as well if it is empty then. UsageError for a name that is
    taken, and for deleting the last persona.
    """
    groups = []
    for group in persona_set.groups:
        members = [
            persona.model_dump() | fields if persona.name == who else persona.model_dump()
            for persona in group.personas
            if persona.name != who or fields
        ]
        if members:
            groups.append(group.model_dump() | {"personas": members})
    if not groups:
        raise UsageError("A panel needs at least one persona.", "Add another persona before you delete this one.")
    return change(persona_set, groups=groups)


NEW = "New persona"
"""Name of a new persona. Further ones have a number, too."""


def missing_part(persona: Persona) -> tuple[str, str] | None:
    """Return the attribute that a persona lacks and what to enter, None for a persona that can debate."""
    if re.fullmatch(rf"{NEW}( \d+)?", persona.name):
        return "name", "Enter a name, such as the stakeholder's role."
    if persona == Persona(name=persona.name, evidence=persona.evidence):
        return "dimension", "Enter what the persona judges, or another of its attributes."
    return None


def add_persona(persona_set: PersonaSet, group: str) -> PersonaSet:
    """Return the persona set with a new persona in a group; the group is created if it does not exist."""
    used_names = {normalise(member.persona.name) for member in persona_set.members}
    names = (NEW if n == 1 else f"{NEW} {n}" for n in count(1))
    name = next(name for name in names if normalise(name) not in used_names)
    groups = [other.model_dump() for other in persona_set.groups]
    existing = next((other for other in groups if other["name"] == group), None)
    if existing is None:
        groups.append({"name": group, "personas": [{"name": name}]})
    else:
        existing["personas"] = [*existing["personas"], {"name": name}]
    return change(persona_set, groups=groups)


def costs(session: ProjectSession, run: RunRow) -> tuple[GroupCost, ...]:
    """Return the usage of each group of a panel in a run, and of the coordinator and the aggregator separately.

    Empty for other protocols.
    """
    if PERSONAS not in run.settings.params:
        return ()
    persona_set = personas.parse_persona_set(str(run.settings.params[PERSONAS]))
    group_names = {member.role: member.group.name for member in persona_set.members}
    spent: dict[str, GroupCost] = {}
    for usage in session.store.costs.spent(run.run_id, superseded=True):
        name = group_names.get(usage.role) or family(usage.role).capitalize()
        before = spent.get(name, GroupCost(name, 0, 0, 0.0, 0.0))
        tokens = before.tokens + usage.prompt_tokens + usage.completion_tokens
        cost = total_cost((before.cost_usd, usage.cost_usd))
        spent[name] = GroupCost(name, before.turns + usage.turns, tokens, cost, tokens / max(1, run.ended))
    order = {group.name: position for position, group in enumerate(persona_set.groups)}
    return tuple(sorted(spent.values(), key=lambda group_cost: order.get(group_cost.name, len(order))))
