"""The engine of a run, and its options on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from core.engine.batch import BatchEngine
from core.engine.engine import Engine
from core.engine.interfaces import Dependencies, LoadDocuments, Publish, Work
from core.engine.live import LiveEngine
from core.errors import UsageError
from core.llm.batches import BatchLibrary
from core.llm.models import ModelLibrary
from core.runs import EngineSettings
from core.services import few_shot_examples
from core.store.project import Project

PARAMS = tuple(name for name in EngineSettings.model_fields if name != "name")
"""The ``--param`` names that belong to an engine."""


def parse_engine(name: str, params: Mapping[str, str]) -> tuple[EngineSettings, dict[str, str]]:
    """Return the engine's settings and the parameters that are not for an engine.

    Raises UsageError for an invalid value.
    """
    own = {key: value for key, value in params.items() if key in PARAMS}
    try:
        chosen = EngineSettings.model_validate({"name": name, **own})
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise UsageError(f"--param {problem['loc'][0]}: {problem['msg']}.", "") from error
    other = next((key for key in own if not key.startswith(name)), None)
    if other is not None:
        raise UsageError(f"--param {other} is not a parameter of the engine {name}.", "Choose it with --engine.")
    return chosen, {key: value for key, value in params.items() if key not in PARAMS}


def make_engine(
    project: Project, models: ModelLibrary, documents: LoadDocuments, publish: Publish, work: Work
) -> Engine:
    """Return the engine that a run's settings name, on the project's store."""
    find_examples = few_shot_examples.example_library(project.store, models, documents, work.run)
    dependencies = Dependencies(documents, models, project.turn_store, project.sink, publish, find_examples)
    match work.run.settings.engine.name:
        case "live":
            return LiveEngine(work, dependencies)
        case "batch":
            return BatchEngine(work, dependencies, BatchLibrary(models), project.jobs)
        case "ray":
            from core.engine.ray_run import RayEngine  # with Parquet, which nothing else in a run needs

            place = work.run.settings.engine.ray_dir or project.path.with_suffix(".ray")
            folder = Path(place).expanduser() / work.run.run_id
            return RayEngine(work, dependencies, list(models.connections.values()), folder.resolve())
