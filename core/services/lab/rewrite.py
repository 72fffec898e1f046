"""Ask a model to rewrite a label's definition from the errors it led to; the user accepts or dismisses each change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core import prompts
from core.codebook import Codebook, Label, normalise
from core.debate.reading.json_blocks import find_json_blocks
from core.debate.turns import Reply, Request, Step
from core.engine.standalone import drive
from core.errors import MootError, UsageError
from core.runs import BUILTIN, RoleModel
from core.services.codebooks import codebook as codebooks
from core.services.codebooks.diff import FieldChange, compare
from core.services.lab import suggestions, trials
from core.services.runs import planning
from core.services.session import ProjectSession

DOCUMENTS_SHOWN = 4
"""Number of documents of each kind in the prompt."""
MAX_CHARACTERS = 1_200
"""Maximum characters of a document in the prompt."""
LISTS = ("include", "exclude", "keywords")
PARTS = ("description", *LISTS)
_NAMES: Mapping[str, str] = {"include": "counts", "exclude": "does not count"}


@dataclass(frozen=True, slots=True)
class Proposal:
    """Proposed definition of a label. ``changes`` are the fields that are not yet decided."""

    before: Label
    after: Label
    why: str
    spec: str
    cost_usd: float | None
    cached: bool

    @property
    def changes(self) -> dict[str, FieldChange]:
        """Proposed changes by field name."""
        found = compare(Codebook(labels=(self.before,)), Codebook(labels=(self.after,)))
        fields = {change.field: change for one in found for change in one.fields}
        return {part: fields[_NAMES.get(part, part)] for part in PARTS if _NAMES.get(part, part) in fields}


def rewrite_model(plan: planning.Plan) -> RoleModel | None:
    """Return the first language model of the plan, None if it uses only the built-in model."""
    return next((one for one in (*plan.role_models.values(), plan.default_model) if one.connection != BUILTIN), None)


def propose_rewrite(
    session: ProjectSession, plan: planning.Plan, label_id: str, *, run_id: str | None = None, seconds: float = 120.0
) -> Proposal:
    """Request a proposal and wait for it; a proposal on the same definition and errors is reused without cost.

    The errors are those of ``run_id``, or of ``suggestions.latest_scored_run`` if None. Raises UsageError without a
    language model, a ModelError if it does not answer, and MootError if the reply cannot be read.
    """
    role_model = rewrite_model(plan)
    if role_model is None:
        raise UsageError("The built-in model cannot write definitions.", "Choose a language model on the Models page.")
    role_model = session.models.resolve(role_model)
    book = codebooks.standing(session).codebook
    label = book.label(label_id)
    ask = Request(
        "editor",
        prompts.render(prompts.shipped_templates("lab")["definition"], _template_values(session, book, label, run_id)),
    )
    settings = trials.base_settings(session, planning.Plan(protocol=plan.protocol, default_model=role_model))
    settings = settings.model_copy(update={"role_models": {ask.role: role_model}})
    reply, spent = session.engine.submit(
        drive(_single(ask), settings, session.models, session.project.turn_store)
    ).result(timeout=seconds)
    after, why = parse_proposal(reply.text, label)
    return Proposal(label, after, why, role_model.spec, reply.cost_usd, spent.calls == 0)


def _single(request: Request) -> Step[Reply]:
    """Make one request and return its reply."""
    (reply,) = yield (request,)
    return reply


def parse_proposal(text: str, label: Label) -> tuple[Label, str]:
    """Return the proposed label and its reason. Raises MootError for a reply without a usable JSON object."""
    objects = [block.data for block in find_json_blocks(text)[0] if isinstance(block.data, dict)]
    known = [one for one in objects if any(key in one for key in ("description", *(f"add_{part}" for part in LISTS)))]
    if not known:
        raise MootError("The proposal could not be read.", f"The reply begins: {' '.join(text.split())[:300]}")
    fields_in = known[-1]
    fields: dict[str, Any] = {part: _edited_list(getattr(label, part), fields_in, part) for part in LISTS}
    description = fields_in.get("description")
    if isinstance(description, str) and description.strip():
        fields["description"] = " ".join(description.split())
    why = fields_in.get("why")
    return label.model_copy(update=fields), " ".join(why.split()) if isinstance(why, str) else ""


def accept_field(session: ProjectSession, proposal: Proposal, part: str) -> Proposal:
    """Apply one field of a proposal to the draft and return the remaining proposal.

    Raises CodebookError and KeyError.
    """
    value = getattr(proposal.after, part)
    book = codebooks.standing(session).codebook
    codebooks.keep(session, codebooks.change_label(book, proposal.before.id, **{part: value}))
    return dismiss_field(proposal, part, value)


def dismiss_field(proposal: Proposal, part: str, value: Any = None) -> Proposal:
    """Return the proposal with one field decided: as ``value``, or unchanged."""
    settled = getattr(proposal.before, part) if value is None else value
    before = proposal.before.model_copy(update={part: settled})
    after = proposal.after.model_copy(update={part: settled})
    return Proposal(before, after, proposal.why, proposal.spec, proposal.cost_usd, proposal.cached)


def _edited_list(now: tuple[str, ...], fields_in: Mapping[str, Any], part: str) -> tuple[str, ...]:
    gone = {normalise(word) for word in _strings(fields_in.get(f"remove_{part}"))}
    kept = [word for word in now if normalise(word) not in gone]
    known = {normalise(word) for word in kept}
    fresh = [
        word for word in _strings(fields_in.get(f"add_{part}")) if normalise(word) and normalise(word) not in known
    ]
    return (*kept, *dict.fromkeys(fresh))


def _strings(value: Any) -> list[str]:
    return [" ".join(each.split()) for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _template_values(session: ProjectSession, book: Codebook, label: Label, run_id: str | None) -> dict[str, Any]:
    sides = next((sides for each, sides in suggestions.label_errors(session, book, run_id) if each.id == label.id), {})

    def some(kind: str) -> list[str]:
        side = sides.get(kind)
        return (
            [prompts.delimit(text[:MAX_CHARACTERS]) for text in side.texts[:DOCUMENTS_SHOWN]]
            if side is not None
            else []
        )

    return {
        "unit": book.unit,
        "label": label,
        "others": [other.name for other in book.labels if other.id != label.id],
        "missed": some("fn"),
        "wrong": some("fp"),
        "right": some("tp")[:2],
    }
