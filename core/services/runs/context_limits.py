"""Whether the longest document fits into the context of each seat, as far as that is known before a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.documents import Document
from core.llm.models import ModelLibrary
from core.llm.reply import estimated
from core.runs import BUILTIN, RoleModel, RunRow, RunSettings
from core.services.runs.preview import first_messages

HEARD_TOKENS = 250
"""What a role is taken to say, in the prompts of those who hear it."""


@dataclass(frozen=True, slots=True)
class TooLong:
    """A seat whose context the longest document may exceed: ``tokens`` of prompt and reply, estimated, against
    ``context``."""

    role_model: RoleModel
    role: str
    document_id: str
    tokens: int
    context: int

    def sentence(self, settings: RunSettings) -> str:
        """What a person should know."""
        then = {
            "fail": "It would fail; a run can also cut or skip what is too long.",
            "cut": "What is too long will be cut, and say so.",
            "skip": "What is too long will be skipped, and left to you.",
        }[settings.handling.on_long]
        return (
            f"The longest document ({self.document_id}) takes about {self.tokens:,} tokens as the {self.role}'s prompt "
            f"and reply, the context of {self.role_model.spec} has {self.context:,}. {then}"
        )


def limit_words(run: RunRow, cut: int) -> str:
    """What a person should know of replies that were cut by their output limit; empty when none was."""
    if not cut:
        return ""
    limits = sorted(
        {
            role_model.sampling.max_tokens
            for role_model in run.settings.role_models.values()
            if role_model.connection != BUILTIN
        }
    )
    tokens = " or ".join(f"{limit:,}" for limit in limits)
    return (
        f"{cut:,} of {run.calls:,} replies were cut by their output limit of {tokens} tokens. What they had not "
        "decided by then is unresolved: raise max tokens, or lower the reasoning effort."
    )


def longest(documents: Sequence[Document]) -> Document | None:
    """The document with the most characters, None of none."""
    return max(documents, key=lambda one: sum(map(len, one.fields.values())), default=None)


def too_long(settings: RunSettings, models: ModelLibrary, longest: Callable[[], Document | None]) -> list[TooLong]:
    """Seats whose known context the longest document may exceed; the tightest role of each. It is looked for only when
    the context of a seat is known."""
    seen = (
        models.capabilities.seen(models.place(role_model.connection), role_model.model)
        for role_model in settings.role_models.values()
    )
    if not any(known is not None and known.context is not None for known in seen):
        return []
    document = longest()
    if document is None:
        return []
    found: dict[str, TooLong] = {}
    for heard, (role, messages) in enumerate(first_messages(settings, document).items()):
        role_model = settings.role_models[role]
        known = models.capabilities.seen(models.place(role_model.connection), role_model.model)
        if known is None or known.context is None:
            continue
        prompt = estimated(sum(len(message.content) for message in messages), 0).prompt_tokens
        tokens = prompt + heard * HEARD_TOKENS + role_model.sampling.max_tokens
        if tokens > known.context and tokens > getattr(found.get(role_model.spec), "tokens", 0):
            found[role_model.spec] = TooLong(role_model, role, document.id, tokens, known.context)
    return list(found.values())
