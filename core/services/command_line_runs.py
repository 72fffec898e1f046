"""Command-line path from a file preview to runs, and the JSON reports on runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from core.codebook import Codebook
from core.debate.events import RunStatus
from core.documents import Document
from core.errors import UsageError
from core.formatting import format_count, plural
from core.runs import RunRow, RunSettings
from core.services import prompt_templates
from core.services.data.importing import ImportPreview, store_documents
from core.services.evaluation import ambiguity
from core.services.project_session import ProjectSession
from core.services.runs import cost_estimate, planning
from core.services.runs.cost_estimate import longest_document
from core.store.database import check_path as check_path


def default_project(path: Path) -> Path:
    """Return the project file beside an input: its name with ``.duckdb``."""
    return path.with_suffix(".duckdb")


def start_runs(
    session: ProjectSession,
    preview: ImportPreview,
    codebook: Codebook,
    plan: planning.Plan,
    report: Callable[[str], None] = lambda _note: None,
) -> list[RunRow]:
    """Store documents and codebook in the project and queue the plan's runs on the documents.

    ``report`` is called with notes on the import. Raises InputError, UsageError and, before anything is stored,
    PromptError for one of the project's templates that cannot be rendered.
    """
    own = prompt_templates.promoted_templates(session)
    check_templates_on(preview.built.documents, planning.build_settings(plan, codebook, 0, session.models, own))
    stored = store_documents(session, preview)
    if conflicts := stored.counts["gold_conflicts"]:
        report(
            f"{format_count(conflicts, 'gold value')} {plural(conflicts, 'differs', 'differ')} from the gold in "
            f"{session.path.name}, which stays. To compare with both, name a rater: --gold LABEL=COL@RATER."
        )
    session.store.codebooks.save(codebook, note=f"from {preview.draft.name}", keep_draft=True)
    settings = planning.project_settings(session, plan)
    chosen = ambiguity.select_documents(session, plan, _ids(preview))
    return planning.create_runs(
        session, settings, chosen, iterations=plan.iterations, rejected=len(preview.built.rejected)
    )


def check_templates_on(documents: Sequence[Document], settings: RunSettings) -> None:
    """Render a run's prompts on the first documents and the longest one, before they are stored. Raises PromptError."""
    longest = longest_document(documents)
    first = documents[: prompt_templates.SAMPLED_DOCUMENTS - 1]
    prompt_templates.check_templates(settings, first if longest is None else [*first, longest])


def extend_run(session: ProjectSession, run_id: str, preview: ImportPreview, limit: int | None) -> int:
    """Store further documents and add those to a run that it lacks; return how many were added."""
    store_documents(session, preview)
    return session.store.runs.extend(run_id, _ids(preview)[:limit])


def _ids(preview: ImportPreview) -> tuple[str, ...]:
    return tuple(document.id for document in preview.built.documents)


def result(session: ProjectSession, rows: Sequence[RunRow]) -> dict[str, Any]:
    """Return what ``moot annotate --json`` reports: the totals of a run.

    For several iterations: their sums under the first run's id, with each run under ``runs``. ``cost_usd`` is None if
    any price is unknown.
    """
    found = ((row.run_id, cost_estimate.adaptive_savings(session, row)) for row in rows)
    return totals(rows, {run_id: saved.to_json() for run_id, saved in found if saved is not None})


def totals(rows: Sequence[RunRow], savings: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``result`` from the rows, with the savings of adaptive runs by run id."""
    each = [
        ({"adaptive": savings[row.run_id]} if row.run_id in savings else {})
        | {
            "run_id": row.run_id,
            **row.model_dump(include={*_SUMMED, "rejected"}),
            "seconds": round(row.seconds, 3),
            "status": row.state,
        }
        for row in rows
    ]
    if len(each) == 1:
        return each[0]
    summed = {
        name: None if any(one[name] is None for one in each) else sum(one[name] for one in each) for name in _SUMMED
    }
    worst = next((row.state for row in rows if row.state != "done"), "done")
    return {"run_id": each[0]["run_id"], **summed, "rejected": rows[0].rejected, "status": worst, "runs": each}


_SUMMED = (
    "documents", "verdicts", "unresolved", "failed", "calls", "cached_calls", "prompt_tokens", "completion_tokens",
    "cached_tokens", "cost_usd", "seconds",
)  # fmt: skip


def with_status(row: RunRow, status: RunStatus) -> RunRow:
    """Return a run with the state and the totals that its engine reported."""
    return row.model_copy(update={"state": status.state, **{name: getattr(status, name) for name in _SUMMED}})


def listing(row: RunRow) -> dict[str, Any]:
    """Return what ``moot runs --json`` reports of a run."""
    counts = row.model_dump(include={"documents", "verdicts", "unresolved", "failed", "turns"})
    return {"run_id": row.run_id, "status": row.state, "protocol": row.settings.protocol, **counts}


def known_run(session: ProjectSession, run_id: str | None) -> RunRow:
    """Return a run by id, or the latest. UsageError if there is none."""
    latest = session.latest_run()
    if latest is None:
        raise UsageError(f"{session.path.name} has no runs yet.", "Start one with moot annotate or on the Run page.")
    return session.run(run_id or latest)
