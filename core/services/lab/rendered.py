"""What a role is sent with an edited template, on a chosen document, with the number of tokens."""

from __future__ import annotations

from dataclasses import dataclass

from core import prompts
from core.documents import Document
from core.llm.reply import estimated
from core.prompts.messages import Message
from core.runs import RunSettings, Template
from core.services.lab.templates import Slot, Version
from core.services.lab.trials import with_template
from core.services.runs import preview

MARK = "\u2063"
"""A character that nobody sees: put at the end of the template, it tells in which messages the template was used."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """Messages that a template has a part in. ``tokens`` are estimated by length."""

    title: str
    messages: tuple[Message, ...]

    @property
    def tokens(self) -> int:
        """Tokens of all messages."""
        return estimated(sum(len(message.content) for message in self.messages), 0).prompt_tokens


def rendered(settings: RunSettings, slot: Slot, text: str, document: Document) -> tuple[Rendered, ...]:
    """Every ask on the document in which this text for a slot is used, stand-ins for what nobody has said yet.

    A shared text that no ask needs stands alone. Raises PromptError, with the line, for a text that cannot be filled
    in or has to be stopped.
    """
    marked = Template(name=slot.slot, text=text.rstrip() + MARK)
    asks = preview.preview(with_template(settings, slot.key, marked), document)
    found = tuple(
        Rendered(ask.title, tuple(_clean(message) for message in ask.messages))
        for ask in asks
        if any(MARK in message.content for message in ask.messages)
    )
    if found:
        return found
    values = prompts.variables(settings.codebook, document, settings.templates) | {"problem": "it names no label"}
    if slot.parts:
        return ()
    return (Rendered(slot.title, (Message("user", prompts.render_text(marked, values).replace(MARK, "")),)),)


def tokens(settings: RunSettings, slot: Slot, version: Version, document: Document) -> int:
    """Tokens of the first ask that a version is used in."""
    found = rendered(settings, slot, version.text, document)
    return found[0].tokens if found else 0


def _clean(message: Message) -> Message:
    return Message(message.role, message.content.replace(MARK, ""))
