"""The built-in model as counsel: in one sentence, the words that speak for the answer it was given."""

from __future__ import annotations

from core.debate import parsing
from core.debate.turns import Ask
from core.llm.builtin.view import View

_NEGATED = (" not present", " absent", " not there")


def answer(ask: Ask, view: View) -> str | None:
    """The argument for the ``position`` that an ask states; None when it states none."""
    position = ask.inputs.get("position")
    if not isinstance(position, str):
        return None
    named = parsing.mentions(position, view.lexicon.codebook)
    number = next((n for n, label in enumerate(view.labels) if label.id in named), None)
    if number is None:
        return "The word-list baseline knows no word for that answer."
    name, found = view.name(number), view.scan.hits[number]
    if position.rstrip(" .").endswith(_NEGATED):
        if not found:
            return f"No word of {name} is in the text."
        return f"For {name} there is nothing but {view.support(number)[1]}, and {view.objection(number)}."
    if not found:
        return f"No word of {name} is in the text, which leaves little to say for it."
    quote, words = view.support(number)
    return f"For {name} speaks {quote}, by the words {words}."
