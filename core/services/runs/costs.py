"""What a run will ask and cost, said with its basis before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.debate import protocols
from core.debate.turns import Usage
from core.documents import Document
from core.llm.batches import SHARE as BATCH_SHARE
from core.llm.models import ModelLibrary
from core.llm.reply import CHARACTERS_PER_TOKEN, estimated
from core.runs import BUILTIN, EngineSettings, RoleModel, RunRow, RunSettings
from core.services.cache import remembered
from core.services.runs.preview import first_messages
from core.services.session import ProjectSession
from core.stats.intervals import Interval, ends, wilson
from core.store.savings import FromStore as FromStore

SAMPLE_SIZE = 20
"""Documents whose prompts are rendered for an estimate: from anywhere in the file, as many are ordered by something."""
REPLY_TOKENS = 250
"""Tokens that a reply is taken to have before any was measured."""
MEASURED_TURNS = 3
"""Turns of a role from which its average counts as measured."""


@dataclass(frozen=True, slots=True)
class RoleEstimate:
    """One role over the whole run. ``cost_usd`` None: no price is known."""

    role: str
    title: str
    role_model: RoleModel
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """All roles of a run, its iterations included. ``basis`` says in words what it stands on."""

    documents: int
    iterations: int
    roles: tuple[RoleEstimate, ...]
    basis: str

    @property
    def calls(self) -> int:
        """Calls when every reply can be read at once."""
        return sum(role.calls for role in self.roles)

    @property
    def cost_usd(self) -> float | None:
        """Dollars for the whole, None when one price is unknown."""
        costs = [role.cost_usd for role in self.roles]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def free(self) -> bool:
        """Whether nothing is paid to anybody."""
        return self.cost_usd == 0.0


def estimate_run(session: ProjectSession, settings: RunSettings, documents: int, *, iterations: int = 1) -> Estimate:
    """The calls and dollars of a run: from the tokens that its roles took in an earlier run with the same seats, or
    else from the rendered prompts of some documents and an assumed length of reply; list prices in both cases. Prompts
    are taken to be as much longer or shorter as the project's documents are than those that were looked at."""
    card = protocols.of(settings)
    asks = card.asks(settings.params, settings.codebook)
    measured = _measured_usage(session, settings)
    if measured is not None:
        run_id, tokens = measured
        looked_at = _mean_length(session, run_id)
        source = f"measured on run {run_id}"
    else:
        sample = session.store.documents.sample(SAMPLE_SIZE)
        looked_at = sum(map(_length, sample)) / max(1, len(sample))
        tokens = _rendered_usage(settings, sample)
        source = f"the prompts of {len(sample)} documents, {REPLY_TOKENS} tokens a reply assumed"
    longer = (_mean_length(session) - looked_at) / CHARACTERS_PER_TOKEN
    roles = tuple(
        _estimate_role(
            session.models,
            role.name,
            role.title,
            settings.role_models[role.name],
            documents * iterations * asks[role.name].most,
            _adjust_prompt(tokens.get(role.name) or _largest_usage(tokens), longer),
            settings.engine,
        )
        for role in card.roles(settings.params)
    )
    if any(count.least < count.most for count in asks.values()):
        source += "; at most so many calls, as a debate may end early"
    basis = _basis(session.models, roles, source)
    if settings.engine.name == "batch" and any(role.cost_usd for role in roles):
        basis += " In batches, at half of that."
    return Estimate(documents, iterations, roles, basis)


def _largest_usage(tokens: Mapping[str, Usage]) -> Usage:
    """The dearest of the turns that are known, for a role whose prompts show only once others have spoken."""
    return max(tokens.values(), key=lambda usage: usage.prompt_tokens, default=Usage())


def _mean_length(session: ProjectSession, run_id: str | None = None) -> float:
    return remembered(session, lambda: session.store.documents.mean_length(run_id), "mean length", run_id)


def _length(document: Document) -> int:
    return sum(map(len, document.fields.values()))


def _adjust_prompt(each: Usage, tokens: float) -> Usage:
    """A turn with so many prompt tokens more, or less: it keeps a tenth at least."""
    return replace(each, prompt_tokens=max(each.prompt_tokens // 10, each.prompt_tokens + round(tokens)))


def _estimate_role(
    models: ModelLibrary, role: str, title: str, role_model: RoleModel, calls: int, each: Usage, engine: EngineSettings
) -> RoleEstimate:
    whole = Usage(each.prompt_tokens * calls, each.completion_tokens * calls)
    cost = models.prices.cost(models.place(role_model.connection), role_model.model, whole)
    if cost is not None and engine.name == "batch":
        cost *= BATCH_SHARE
    return RoleEstimate(role, title, role_model, calls, whole.prompt_tokens, whole.completion_tokens, cost)


def _basis(models: ModelLibrary, roles: Sequence[RoleEstimate], source: str) -> str:
    strangers = list(dict.fromkeys(role.role_model.spec for role in roles if role.cost_usd is None))
    if strangers:
        return f"No list price is known for {', '.join(strangers)}. Tokens: {source}."
    own = [models.prices.own_price(models.place(role.role_model.connection), role.role_model.model) for role in roles]
    if any(own):
        kind = "Your own prices" if all(own) else "Your own prices and list prices"
        return f"{kind}; tokens: {source}."
    if all(role.role_model.connection == BUILTIN for role in roles):
        return "The built-in baseline costs nothing."
    if all(role.cost_usd == 0 for role in roles):
        return f"Models on this machine cost nothing. Tokens: {source}."
    return f"List prices; tokens: {source}."


def _measured_usage(session: ProjectSession, settings: RunSettings) -> tuple[str, Mapping[str, Usage]] | None:
    """The latest run in which the same models sat on the same roles, and the tokens of one turn of each."""
    for row in reversed(session.store.runs.all()):
        if not row.turns or not _same_role_models(row, settings):
            continue
        turns = session.store.ended.usage(row.run_id)
        if all(turns.get(role, (0, Usage()))[0] >= MEASURED_TURNS for role in settings.role_models):
            return row.run_id, {role: usage for role, (_, usage) in turns.items()}
    return None


def _same_role_models(row: RunRow, settings: RunSettings) -> bool:
    then = row.settings
    alike = then.protocol == settings.protocol and then.params == settings.params
    return alike and {role: role_model.spec for role, role_model in then.role_models.items()} == {
        role: role_model.spec for role, role_model in settings.role_models.items()
    }


def _rendered_usage(settings: RunSettings, sample: Sequence[Document]) -> dict[str, Usage]:
    """Tokens of one turn of each role: its prompt on these documents, and in it what it will have heard."""
    totals: dict[str, int] = {}
    for document in sample:
        for heard, (role, messages) in enumerate(first_messages(settings, document).items()):
            characters = sum(len(message.content) for message in messages)
            tokens = estimated(characters, 0).prompt_tokens + heard * REPLY_TOKENS
            totals[role] = totals.get(role, 0) + tokens
    return {
        role: Usage(round(tokens / len(sample)), min(REPLY_TOKENS, settings.role_models[role].sampling.max_tokens))
        for role, tokens in totals.items()
    }


@dataclass(frozen=True, slots=True)
class AdaptiveSavings:
    """What an adaptive run left out. ``calls_saved`` and ``cost_saved_usd`` are the debates left out times what one
    took where it was held. ``changed`` of ``audited`` verdicts were other than the short way would have made them, with
    a 95% interval (Wilson) for that share."""

    short: int
    audited: int
    full: int
    changed: int
    calls_saved: int | None
    cost_saved_usd: float | None
    interval: Interval | None

    @property
    def share(self) -> float:
        """Of the ended debates, those that were decided early."""
        ended = self.short + self.audited + self.full
        return self.short / ended if ended else 0.0

    def to_json(self) -> dict[str, Any]:
        """The figures for ``--json``."""
        return {
            "short": self.short,
            "audited": self.audited,
            "full": self.full,
            "share": round(self.share, 4),
            "calls_saved": self.calls_saved,
            "cost_saved_usd": self.cost_saved_usd,
            "audit_changed": self.changed,
            "audit_interval": ends(self.interval),
        }


def reused_replies(session: ProjectSession, run_id: str) -> FromStore:
    """The replies that were taken from the store."""
    return session.store.savings.from_store(run_id)


def adaptive_savings(session: ProjectSession, run: RunRow) -> AdaptiveSavings | None:
    """What an adaptive run left out; None for a run that debates everything."""
    if not run.settings.params.get("adaptive"):
        return None
    found = session.store.savings.courses(run.run_id)
    return AdaptiveSavings(
        short=found.short,
        audited=found.audited,
        full=found.full,
        changed=found.changed,
        calls_saved=None if found.calls is None else round(found.short * found.calls),
        cost_saved_usd=None if found.cost_usd is None else found.short * found.cost_usd,
        interval=wilson(found.changed, found.audited),
    )
