"""Import a file together with the runs that annotate its documents."""

from __future__ import annotations

from core.codebook import Codebook
from core.runs import RunRow
from core.services.data.importing import ImportPreview, store_documents
from core.services.evaluation import ambiguity
from core.services.project_session import ProjectSession
from core.services.runs import planning
from core.store.documents import Import


def create_runs(
    session: ProjectSession, preview: ImportPreview, codebook: Codebook, plan: planning.Plan
) -> tuple[Import, list[RunRow]]:
    """Store documents and codebook in the project and create the queued runs of a plan on the documents.

    Raises InputError and UsageError.
    """
    stored = store_documents(session, preview)
    session.store.codebooks.save(codebook, note=f"from {preview.draft.name}", keep_draft=True)
    settings = planning.project_settings(session, plan)
    document_ids = ambiguity.select_documents(session, plan, [document.id for document in preview.built.documents])
    rejected = len(preview.built.rejected)
    return stored, planning.create_runs(session, settings, document_ids, iterations=plan.iterations, rejected=rejected)


def extend_run(session: ProjectSession, run_id: str, preview: ImportPreview, limit: int | None) -> tuple[Import, int]:
    """Store documents in the project, and add the first ``limit`` of them to a run.

    Return the import, and how many of these documents the run did not have.
    """
    stored = store_documents(session, preview)
    return stored, session.store.runs.extend(run_id, [document.id for document in preview.built.documents[:limit]])
