"""Calls, tokens and cost of a run, estimated and saved by reuse; prompts too long for a model and cut replies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any

from core.debate import protocols
from core.debate.turns import Usage
from core.documents import Document
from core.engine.pending_turns import Debate, PendingTurn, find_reply
from core.formatting import format_count
from core.llm.model_library import ModelLibrary
from core.llm.streaming import CHARACTERS_PER_TOKEN
from core.runs import RoleModel, RunRow, RunSettings, total_cost
from core.services.project_session import ProjectSession
from core.services.prompt_preview import expected_tokens, simulate_requests
from core.services.result_cache import cached_until_commit
from core.stats.intervals import Interval, ends, wilson
from core.store.runs import DecisionPaths
from core.store.runs import FromStore as FromStore
from core.store.transcripts import CutReplies

SAMPLE_SIZE = 20
"""Number of documents rendered for an estimate, drawn at random because files are often sorted."""
REPLY_TOKENS = 250
"""Assumed tokens of a reply before any were measured."""
REPEATS = "Unreadable replies are asked for once more."
"""Sentence on the calls that no estimate counts."""
MEASURED_TURNS = 3
"""Minimum number of turns of a role for a measured average."""


@dataclass(frozen=True, slots=True)
class RoleEstimate:
    """Estimate for one role over the whole run. ``cost_usd`` is None if the price is unknown."""

    role: str
    title: str
    role_model: RoleModel
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """Estimate for all roles and iterations of a run. ``basis`` describes the evidence for it."""

    documents: int
    iterations: int
    roles: tuple[RoleEstimate, ...]
    basis: str
    is_measured: bool = False
    """True if the tokens were measured on a run with the same prompts, so that a pilot would not improve it."""

    @property
    def calls(self) -> int:
        """Number of calls if no reply has to be asked for again."""
        return sum(role.calls for role in self.roles)

    @property
    def cost_usd(self) -> float | None:
        """Total cost in dollars, None if one price is unknown."""
        return total_cost(role.cost_usd for role in self.roles)


def estimate_run(
    session: ProjectSession, settings: RunSettings, documents: int, *, iterations: int = 1
) -> CostEstimate:
    """Estimate the calls and cost of a run.

    Tokens come from an earlier run with the same role models and prompts. Without one, prompts of sampled documents
    are rendered, and replies are those of an earlier run with the same role models, or of an assumed length. Prompt
    lengths are adjusted by the difference in mean length between the project's documents and those that were measured.
    """
    spec = protocols.for_settings(settings)
    asks = spec.request_counts(settings.params, settings.codebook)
    expected = _expected_turns(session, settings)
    extra_tokens = round((_mean_length(session) - expected.document_length) / CHARACTERS_PER_TOKEN)
    tokens, replies, source = expected.tokens, expected.replies, expected.source
    largest = max(tokens.values(), key=lambda usage: usage.prompt_tokens, default=Usage())
    roles = []
    for role in spec.roles(settings.params):
        role_model = settings.role_models[role.name]
        calls = documents * iterations * asks[role.name].maximum
        usage = tokens.get(role.name, largest)  # the prompts of some roles depend on earlier turns
        prompt = max(usage.prompt_tokens // 10, usage.prompt_tokens + extra_tokens)  # at least a tenth
        used = Usage(prompt * calls, replies.get(role.name, usage).completion_tokens * calls)
        connection = session.models.connection(role_model.connection, role_model.base_url)
        cost = session.models.prices.cost(connection, role_model.model, used)
        if cost is not None:
            cost *= settings.engine.price_share
        roles.append(
            RoleEstimate(role.name, role.title, role_model, calls, used.prompt_tokens, used.completion_tokens, cost)
        )
    if any(count.minimum < count.maximum for count in asks.values()):
        source += "; the number of calls is an upper bound, because a debate may end early"
    basis = _basis(session.models, roles, source)
    if settings.engine.price_share < 1 and any(role.cost_usd for role in roles):
        basis += " Batch prices are half of the list price."
    if _may_have_stored_replies(session, roles):
        basis += " Replies that are stored already are free; they are not subtracted."
    return CostEstimate(documents, iterations, tuple(roles), basis, expected.is_measured)


def stored_requests(session: ProjectSession, settings: RunSettings, document_ids: Sequence[str]) -> str:
    """Return in words how many first requests of debates have a stored reply, of documents spread over all of them.

    Later requests are unknown before their run. Empty without a stored reply, and for prompts with examples of the run.
    """
    every = -(-len(document_ids) // SAMPLE_SIZE)
    if not every or protocols.shots(settings):
        return ""
    requests: list[PendingTurn] = []
    for document in session.store.documents.load(document_ids[::every], gold=False):
        debate = Debate(document, settings, session.models)
        requests += [pending for pending in debate.pending if not pending.role_model.is_builtin]
        debate.close()

    async def find_replies() -> int:
        fetch = session.project.replies.fetch
        return sum([(await find_reply(fetch, pending, settings, {}))[1] is not None for pending in requests])

    stored = session.engine.submit(find_replies()).result()
    sample = f" (sample of 1 in {every:,} documents)" if every > 1 else ""
    total = format_count(len(requests), "first request")
    return f"Replies to {stored:,} of {total} are stored already{sample}." if stored else ""


@cached_until_commit
def _mean_length(session: ProjectSession, run_id: str | None = None) -> float:
    return session.store.documents.mean_length(run_id)


def _length(document: Document) -> int:
    return sum(map(len, document.fields.values()))


def _basis(models: ModelLibrary, roles: Sequence[RoleEstimate], source: str) -> str:
    unpriced = list(dict.fromkeys(role.role_model.spec for role in roles if role.cost_usd is None))
    if unpriced:
        return f"Price unknown for {', '.join(unpriced)}. Tokens: {source}."
    own_prices = [
        models.prices.user_price(models.connection(role.role_model.connection), role.role_model.model) for role in roles
    ]
    if any(own_prices):
        kind = "Your own prices" if all(own_prices) else "Your own prices and list prices"
        return f"{kind}; tokens: {source}."
    if all(role.role_model.is_builtin for role in roles):
        return "The built-in model costs nothing."
    if all(role.cost_usd == 0 for role in roles):
        return f"Models on this machine cost nothing. Tokens: {source}."
    return f"List prices; tokens: {source}."


def _may_have_stored_replies(session: ProjectSession, roles: Sequence[RoleEstimate]) -> bool:
    """Return True if an earlier run has replies of a model that may cost something."""
    billed = {role.role_model.spec for role in roles if role.cost_usd != 0}
    return any(row.turns and not billed.isdisjoint(row.settings.specs.values()) for row in session.all_runs())


def _reply_settings(settings: RunSettings) -> tuple[object, ...]:
    """Return the settings that the length of replies depends on most."""
    models = {role: (role_model.spec, role_model.sampling) for role, role_model in settings.role_models.items()}
    return settings.protocol, settings.params, models


def _prompt_settings(settings: RunSettings) -> tuple[object, ...]:
    """Return the settings that the length of prompts and replies depends on."""
    return *_reply_settings(settings), settings.codebook, settings.templates


@dataclass(frozen=True, slots=True)
class _ExpectedTurns:
    """Mean tokens of one turn of each role. ``replies`` has those of its replies if only the replies were measured."""

    tokens: Mapping[str, Usage]
    document_length: float
    """Mean length of the documents of these turns, in characters."""
    source: str
    replies: Mapping[str, Usage] = field(default_factory=dict)
    is_measured: bool = False


def _expected_turns(session: ProjectSession, settings: RunSettings) -> _ExpectedTurns:
    if (measured := _measured_usage(session, settings, _prompt_settings)) is not None:
        run_id, tokens = measured
        source = f"measured on {session.run_name(run_id)}"
        return _ExpectedTurns(tokens, _mean_length(session, run_id), source, is_measured=True)
    sample = session.store.documents.sample(SAMPLE_SIZE)
    length = sum(map(_length, sample)) / max(1, len(sample))
    source = f"prompts of {format_count(len(sample), 'document')}"
    if (measured := _measured_usage(session, settings, _reply_settings)) is not None:
        run_id, replies = measured
        reply = round(fmean(usage.completion_tokens - usage.reasoning_tokens for usage in replies.values()))
        source += f", replies measured on {session.run_name(run_id)}"
    else:
        replies, reply = {}, REPLY_TOKENS
        source += f", assuming {REPLY_TOKENS} tokens per reply"
    return _ExpectedTurns(_rendered_usage(settings, sample, _mean_length(session), reply), length, source, replies)


def _measured_usage(
    session: ProjectSession, settings: RunSettings, compared: Callable[[RunSettings], object]
) -> tuple[str, Mapping[str, Usage]] | None:
    """Return the latest run with the same ``compared`` settings, and the mean tokens of one turn for each role."""
    for row in reversed(session.all_runs()):
        if not row.turns or compared(row.settings) != compared(settings):
            continue
        turns = session.store.costs.usage(row.run_id)
        if all(turns.get(role, (0, Usage()))[0] >= MEASURED_TURNS for role in settings.role_models):
            return row.run_id, {role: usage for role, (_, usage) in turns.items()}
    return None


def _rendered_usage(settings: RunSettings, sample: Sequence[Document], length: float, reply: int) -> dict[str, Usage]:
    """Return the mean tokens of one turn of each role in simulated debates.

    Examples have ``length`` characters, earlier replies in prompts ``reply`` tokens.
    """
    tokens: dict[str, list[int]] = {}
    example = round(length / CHARACTERS_PER_TOKEN)
    for document in sample:
        for request in simulate_requests(settings, document):
            expected = expected_tokens(request.messages, reply=reply, example=example)
            tokens.setdefault(request.role, []).append(expected)
    return {
        role: Usage(round(fmean(prompts)), min(REPLY_TOKENS, settings.role_models[role].sampling.output_limit))
        for role, prompts in tokens.items()
    }


class AdaptiveSavings(DecisionPaths):
    """Savings of an adaptive run: early decisions times the mean full debate, less the second extractor."""

    @property
    def calls_saved(self) -> int | None:
        """Number of calls saved, None without a full debate."""
        return None if self.calls is None else round(self.short * self.calls) - self.second_calls

    @property
    def cost_saved_usd(self) -> float | None:
        """Dollars saved, None without a full debate and if a price is unknown."""
        if self.cost_usd is None or self.second_cost_usd is None:
            return None
        return self.short * self.cost_usd - self.second_cost_usd

    @property
    def ended(self) -> int:
        """Number of finished debates."""
        return self.short + self.audited + self.full

    @property
    def share(self) -> float:
        """Share of finished debates that were decided early."""
        return self.short / self.ended if self.ended else 0.0

    @property
    def interval(self) -> Interval | None:
        """95% Wilson interval of the share of audited verdicts that differ from the early decision."""
        return wilson(self.changed, self.audited)

    def to_json(self) -> dict[str, Any]:
        """Return the figures for ``--json``."""
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


@cached_until_commit
def reused_replies(session: ProjectSession, run_id: str) -> FromStore:
    """Return the replies of a run that were taken from the store."""
    return session.store.costs.from_store(run_id)


def adaptive_savings(session: ProjectSession, run: RunRow) -> AdaptiveSavings | None:
    """Return the savings of an adaptive run; None for a run that debates every document."""
    if not run.settings.params.get("adaptive"):
        return None
    return AdaptiveSavings(**asdict(session.store.costs.decision_paths(run.run_id)))


@dataclass(frozen=True, slots=True)
class ContextOverflow:
    """A role model whose ``context`` the longest document may exceed; ``tokens`` are those of prompt and reply."""

    role_model: RoleModel
    role: str
    document_id: str
    tokens: int
    context: int

    def sentence(self, settings: RunSettings) -> str:
        """Return the warning to show."""
        then = {
            "fail": "It would fail. You can choose to truncate or skip such documents.",
            "cut": "Such documents will be truncated and marked.",
            "skip": "Such documents will be skipped for you to label.",
        }[settings.handling.on_long]
        return (
            f"The longest document ({self.document_id}) needs about {self.tokens:,} tokens for the {self.role}'s "
            f"prompt and reply; the context of {self.role_model.spec} is {self.context:,} tokens. {then}"
        )


def describe_truncation(run: RunRow, cut: CutReplies) -> str:
    """Return a warning about replies that reached their output limit; empty if there are none."""
    if not cut.documents:
        return ""
    tokens = f" of {' or '.join(f'{limit:,}' for limit in cut.limits)} tokens" if cut.limits else ""
    return (
        f"For {cut.documents:,} of {format_count(run.documents, 'document')}, a reply reached the output "
        f"limit{tokens}. Labels that it had not decided are unresolved. Raise max tokens or lower the reasoning effort."
    )


def highest_call_cost(session: ProjectSession, settings: RunSettings) -> float:
    """Return the dollars that one call may cost at most, with twice the prompt and output limit; 0 if unknown."""
    models, document = session.models, session.store.documents.longest()
    if document is None or any(model.connection not in models.connections for model in settings.role_models.values()):
        return 0.0
    costs = []
    for request in simulate_requests(settings, document):
        role_model = settings.role_models[request.role]
        usage = Usage(2 * request.characters, 2 * request.output_limit(role_model))
        costs.append(models.cost(role_model, usage) or 0.0)
    return max(costs, default=0.0)


def longest_document(documents: Sequence[Document]) -> Document | None:
    """Return the document with the most characters, None if there are no documents."""
    return max(documents, key=_length, default=None)


def context_overflows(
    settings: RunSettings,
    models: ModelLibrary,
    longest: Callable[[], Document | None],
    mean_length: Callable[[], float],
) -> list[ContextOverflow]:
    """Return the models whose known context the longest document may exceed, each with its longest prompt.

    ``longest`` and ``mean_length`` (of examples, in characters) are called only if the context of a model is known.
    """
    limits: dict[str, tuple[int, int]] = {}  # by role, the context of its model and the longest reply
    for role, role_model in settings.role_models.items():
        capabilities = models.capabilities.seen(models.connection(role_model.connection), role_model.model)
        if capabilities is not None and capabilities.context is not None:
            limits[role] = capabilities.context, capabilities.limited(role_model.sampling.output_limit)
    document = longest() if limits else None
    if document is None:
        return []
    overflows: dict[str, ContextOverflow] = {}
    example = round(mean_length() / CHARACTERS_PER_TOKEN)
    for request in simulate_requests(settings, document):
        if (role := request.role) in limits:
            role_model, (context, reply) = settings.role_models[role], limits[role]
            tokens = expected_tokens(request.messages, reply=REPLY_TOKENS, example=example) + reply
            if tokens > max(context, getattr(overflows.get(role_model.spec), "tokens", 0)):
                overflows[role_model.spec] = ContextOverflow(role_model, role, document.id, tokens, context)
    return list(overflows.values())
