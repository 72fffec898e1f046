"""Warnings about the length of prompts and replies: models whose context is too small, and replies that were cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.documents import Document
from core.formatting import format_count
from core.llm.models import ModelLibrary
from core.runs import BUILTIN, RoleModel, RunRow, RunSettings
from core.services.prompt_templates import first_messages, prompt_tokens

CONTEXT_TOKENS_PER_ROLE = 250
"""Assumed tokens that each earlier role adds to a prompt."""


@dataclass(frozen=True, slots=True)
class ContextOverflow:
    """A role model whose context the longest document may exceed.

    ``tokens`` is the estimated sum of prompt and reply, ``context`` the size of the model's context.
    """

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


def describe_truncation(run: RunRow, cut: int) -> str:
    """Return a warning about replies that reached their output limit; empty if there are none."""
    if not cut:
        return ""
    limits = sorted(
        {
            role_model.sampling.output_limit
            for role_model in run.settings.role_models.values()
            if role_model.connection != BUILTIN
        }
    )
    tokens = " or ".join(f"{limit:,}" for limit in limits)
    return (
        f"{cut:,} of {format_count(run.calls, 'reply', 'replies')} reached the output limit of {tokens} tokens. Labels "
        "that they had not decided are unresolved. Raise max tokens or lower the reasoning effort."
    )


def longest_document(documents: Sequence[Document]) -> Document | None:
    """Return the document with the most characters, None if there are no documents."""
    return max(documents, key=lambda one: sum(map(len, one.fields.values())), default=None)


def context_overflows(
    settings: RunSettings, models: ModelLibrary, longest: Callable[[], Document | None]
) -> list[ContextOverflow]:
    """Return the models whose known context the longest document may exceed, each with its longest prompt.

    ``longest`` is called only if the context of a model is known.
    """
    seen = (
        models.capabilities.seen(models.place(role_model.connection), role_model.model)
        for role_model in settings.role_models.values()
    )
    if not any(known is not None and known.context is not None for known in seen):
        return []
    document = longest()
    if document is None:
        return []
    found: dict[str, ContextOverflow] = {}
    for position, (role, messages) in enumerate(first_messages(settings, document).items()):
        role_model = settings.role_models[role]
        known = models.capabilities.seen(models.place(role_model.connection), role_model.model)
        if known is None or known.context is None:
            continue
        reply = known.limited(role_model.sampling.output_limit)
        tokens = prompt_tokens(messages) + position * CONTEXT_TOKENS_PER_ROLE + reply
        if tokens > known.context and tokens > getattr(found.get(role_model.spec), "tokens", 0):
            found[role_model.spec] = ContextOverflow(role_model, role, document.id, tokens, known.context)
    return list(found.values())
