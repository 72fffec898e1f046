"""A debate only where it matters: what is said first decides when it is sure of itself and the text bears it out.

The rule looks at nothing but the first replies: every one can be read, leaves nothing open, names nothing outside the
codebook and offers no quotation that is not in the text; each label found present (or chosen) has words in the text to
speak for it; and with a second extractor both say the same. Where one extractor alone finds nothing present, there are
no words to check, so that is debated. A random share of what could be decided so is debated all the same: what is lost
shows there. Own design, no paper's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.codebook import CHOICE_ITEM, Codebook
from core.debate.card import Param, Params, Role
from core.debate.case import Case
from core.debate.turns import Course, Reply, Step, Verdict

SECOND = "extractor_b"

PARAMS = (
    Param("adaptive", "Adaptive", False,
          "Critic and judge are left out where the extractor is sure and its quotations are in the text."),
    Param("second", "Two extractors", False,
          "Two extractors, perhaps cheap ones, must say the same before a debate is left out.",
          matters=lambda params: bool(params["adaptive"])),
    Param("audit", "Audited share", 0.1,
          "The random share of those documents that is debated in full, so that the loss is measured.",
          least=0.0, most=1.0, matters=lambda params: bool(params["adaptive"])),
)  # fmt: skip


def roles(params: Params) -> tuple[Role, ...]:
    """The seat that the parameters add."""
    if not (params["adaptive"] and params["second"]):
        return ()
    return (Role(SECOND, "Second extractor", "says the same, or there is a debate"),)


def opening(case: Case) -> Step[tuple[Reply, ...]]:
    """What the extractor says, and beside it the second one if there is one; without the first there is no debate."""
    names = ["extractor", *(role.name for role in roles(case.params))]
    asks = [case.compose(name, template="extractor", expects=case.form) for name in names]
    first, *others = yield from case.ask_all(asks)
    return (case.needed(first), *others)


def course(case: Case, opened: Sequence[Reply]) -> Course:
    """How far this debate goes. The draw is made whatever was said, so that it depends on nothing but the document."""
    if not case.params["adaptive"]:
        return ""
    drawn = case.rng.random() < case.params["audit"]
    if doubt(opened, case.codebook):
        return "full"
    return "audited" if drawn else "short"


def took(verdict: Verdict, course: Course) -> Verdict:
    """The verdict with how far its debate went."""
    return replace(verdict, course=course) if course else verdict


def doubt(opened: Sequence[Reply], codebook: Codebook) -> str:
    """Why what was said first does not decide, in words; empty when it does."""
    for reply in opened:
        reading = reply.reading
        if reply.fault is not None or not reading.readable:
            return "a reply could not be read"
        if reading.undecided or any(item not in reading.values for item in codebook.items):
            return "something was left open"
        if reading.unknown:
            return "a name is not in the codebook"
        if any(not found.supported for found in reply.evidence):
            return "a quotation is not in the text"
    if any(dict(reply.reading.values) != dict(opened[0].reading.values) for reply in opened[1:]):
        return "the extractors differ"
    wanted = {CHOICE_ITEM} if codebook.kind == "choice" else set(opened[0].reading.present)
    if not wanted and len(opened) == 1:
        return "nothing was found, and nobody else looked"
    if wanted - {found.item for reply in opened for found in reply.evidence}:
        return "no words of the text speak for a label"
    return ""
