"""A file with gold, and its import."""

from __future__ import annotations

from dataclasses import replace

from core.codebook import Codebook, load_yaml
from core.services.data import importing
from core.services.project_session import ProjectSession

CODEBOOK = load_yaml("labels: [{name: Food}, {name: Service}]")
FOOD, SERVICE = (label.id for label in CODEBOOK.labels)
CSV = b"""id,text,Food,Service,other
a,the soup was good,1,no,x
b,the waiter was rude,0,yes,y
c,nothing,0,maybe,z
c,again,1,1,z
d,,1,1,z
e,the soup was good,,,z
f,too,few
"""


def with_id(draft: importing.ImportDraft, column: str = "id") -> importing.ImportDraft:
    return replace(draft, mapping=replace(draft.mapping, id=column))


def preview(
    session: ProjectSession, draft: importing.ImportDraft, codebook: Codebook | None = None
) -> importing.ImportPreview:
    return importing.preview_import(draft, codebook, session)


def soup(session: ProjectSession) -> importing.ImportPreview:
    return preview(session, with_id(importing.read_files([("soup.csv", CSV)], CODEBOOK)), CODEBOOK)
