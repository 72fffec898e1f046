"""Panel runs of two groups of two that rate six documents."""

from __future__ import annotations

import asyncio

from core.codebook import Codebook, Label, Scale
from core.debate.personas import Group, Persona, PersonaSet
from core.runs import RunSettings
from tests.core.store.helpers import ROLE_MODEL, store_rounds

BOOK = Codebook(kind="rating", labels=(Label(name="Clarity", id="c"),), scale=Scale(min=1, max=5))
PERSONAS = PersonaSet(
    groups=(
        Group(name="Readers", personas=(Persona(name="Ann"), Persona(name="Ben"))),
        Group(name="Editors", personas=(Persona(name="Cid"), Persona(name="Dee"))),
    )
)
GOLD = {f"d{n}": n for n in range(1, 6)} | {"d6": None}
BACKWARDS, FORWARDS = [5, 4, 3, 2, 1, 3], [1, 2, 3, 4, 5, 3]


def panel(project, style, last, documents=tuple(GOLD), personas=PERSONAS, experiment_id=None, **changes):
    """Store a panel run with first ratings ``BACKWARDS``; Ann and Ben change theirs to ``last`` in rounds 1 and 2.

    ``changes`` are other fields of the settings.
    """
    roles = [member.role for member in personas.members]
    settings = RunSettings(
        protocol="panel",
        codebook=BOOK,
        role_models=dict.fromkeys(roles, ROLE_MODEL),
        templates={},
        params={"personas": personas.text, "style": style},
    ).model_copy(update=changes)
    run = project.store.runs.create(settings, list(documents), experiment_id=experiment_id).run_id

    async def debates():
        for place, id in enumerate(documents):
            first = [(role, 0, {"c": BACKWARDS[place % 6]}) for role in roles]
            changed = {"c": last[place % 6]}
            again = [(roles[0], 1, changed), (roles[1], 2, changed)]
            await store_rounds(project, run, id, first + again, changed)

    asyncio.run(debates())
    return run
