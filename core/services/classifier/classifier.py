"""The student on the screens: where it stands, what it can do for free, and its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.baseline.classifier_model import NAME
from core.codebook import Codebook
from core.errors import UsageError
from core.export import replacing
from core.runs import BUILTIN, RoleModel, RunRow
from core.services.runs import planning
from core.services.session import ProjectSession, check_output_path
from core.services.trainer import LEAST
from core.stats.intervals import Estimate, Interval

FORMAT = "student"
"""What the export is called on the command line."""
SUFFIX = ".skops"
PROTOCOL = "single"


@dataclass(frozen=True, slots=True)
class ClassifierStatus:
    """Where the student of a project stands.

    ``settled`` documents were submitted; ``missing`` more are needed before there is a student at all. ``documents`` is
    what it was taught, ``score`` its cross-validated ``measure`` with a 95% interval, on ``tested`` documents.
    """

    settled: int
    missing: int
    hash: str = ""
    documents: int = 0
    version: int = 0
    score: Estimate = Estimate(None, None)
    measure: str = ""
    tested: int = 0
    busy: bool = False
    trouble: str = ""

    @property
    def ready(self) -> bool:
        """Whether there is a student."""
        return bool(self.hash)


def standing(session: ProjectSession) -> ClassifierStatus:
    """Where it stands now. When decisions came that it has not been taught (after a crash, say), it is taught."""
    settled = session.store.learning.settled()
    known = session.store.learning.facts()
    if settled >= LEAST and (known is None or known[1]["documents"] != settled):
        session.trainer.notice()
    missing = max(0, LEAST - settled)
    if known is None:
        return ClassifierStatus(settled, missing, busy=session.trainer.busy, trouble=session.trainer.trouble)
    hash, facts = known
    score: Mapping[str, Any] = facts["scores"]
    interval = Interval(*score["interval"]) if score["interval"] else None
    return ClassifierStatus(
        settled=settled,
        missing=missing,
        hash=hash,
        documents=int(facts["documents"]),
        version=int(facts["codebook_version"]),
        score=Estimate(score["value"], interval),
        measure=str(score["measure"]),
        tested=int(score["n"]),
        busy=session.trainer.busy,
        trouble=session.trainer.trouble,
    )


def annotate(session: ProjectSession, document_ids: list[str] | None = None) -> RunRow:
    """Have the student annotate documents (all by default) as a run of its own, which costs nothing, and start it.

    UsageError while there is no student or no document.
    """
    codebook = _known(session)
    role_model = RoleModel(connection=BUILTIN, model=NAME)
    plan = planning.Plan(protocol=PROTOCOL, default_model=role_model)
    version = session.store.codebooks.latest()
    settings = planning.build_settings(plan, codebook, version.version if version else 0, session.models)
    (made,) = planning.create_runs(session, settings, document_ids or session.store.documents.ids())
    session.start_or_resume(made.run_id)
    return made


def save(session: ProjectSession, path: Path) -> tuple[Path, Path]:
    """Write the student to ``path`` (skops, no pickle) and beside it the card that says what it was taught on.

    UsageError while there is none, and for a name that its card has; ExportError when a file cannot be written.
    """
    kept = session.store.learning.student()
    if kept is None:
        raise _nothing()
    card = path.with_suffix(".md")
    if card == path:
        raise UsageError(f"{path.name} is what the student's card would be called.", f"End it in {SUFFIX}.")
    for place, data in ((path, kept.body), (card, kept.card.encode())):
        with replacing(check_output_path(session.path, place)) as file:
            file.write(data)
    return path, card


def body(session: ProjectSession) -> bytes:
    """The student's file, for a download."""
    kept = session.store.learning.student()
    if kept is None:
        raise _nothing()
    return kept.body


def card(session: ProjectSession) -> str:
    """What it was taught on and how well it does, in Markdown; empty while there is none."""
    kept = session.store.learning.student()
    return kept.card if kept else ""


def _known(session: ProjectSession) -> Codebook:
    """The codebook that the student was taught under."""
    known = session.store.learning.facts()
    if known is None:
        raise _nothing()
    return Codebook.model_validate(known[1]["codebook"])


def _nothing() -> UsageError:
    return UsageError("The student has learned nothing in this project yet.", f"Submit {LEAST} documents on Review.")
