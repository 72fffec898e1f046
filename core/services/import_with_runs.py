"""Import a file together with the runs that annotate its documents."""

from __future__ import annotations

from collections.abc import Sequence

from core.codebook import Codebook
from core.runs import RunRow
from core.services import few_shot_examples
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


def extension_plan(run: RunRow, limit: int | None) -> planning.Plan:
    """Return the plan that selects the documents of a file to add to a run: the first ``limit``.

    If the run is limited to documents that a pre-pass found ambiguous, only such documents are selected.
    """
    prepass = run.settings.prepass
    return planning.Plan(ambiguous=prepass.ambiguous, theta=prepass.theta, limit=limit)


def new_documents(session: ProjectSession, run_id: str, preview: ImportPreview, plan: planning.Plan) -> list[str]:
    """Return the ids of the documents of a file that the plan selects and the run does not have.

    Raises UsageError if no document is ambiguous, and if all examples of the run are among the new documents.
    """
    existing = set(session.store.runs.document_ids(run_id))
    selected = ambiguity.select_documents(session, plan, [document.id for document in preview.built.documents])
    new = [document for document in selected if document not in existing]
    few_shot_examples.require_other_examples(session.store, run_id, new)
    return new


def extend_run(session: ProjectSession, run_id: str, preview: ImportPreview, document_ids: Sequence[str]) -> Import:
    """Store the documents of a file in the project, and add those with ``document_ids`` to a run."""
    stored = store_documents(session, preview)
    session.store.runs.extend(run_id, document_ids, rejected=len(preview.built.rejected))
    return stored
