"""The sample projects: each sample data set, opened as its own project."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from core.codebook import Codebook, label_noun
from core.errors import ProjectError, UsageError
from core.files import shipped_folder
from core.formatting import format_count
from core.services import personas, preferences
from core.services.codebooks.codebook import read_codebook
from core.services.data.importing import preview_file, store_documents
from core.services.shipped_data import SAMPLES, SampleDataset
from core.services.workspace import Workspace


@dataclass(frozen=True, slots=True)
class SampleCard:
    """A sample as shown on Home."""

    sample: SampleDataset
    codebook: Codebook
    documents: int

    @property
    def description(self) -> str:
        """A one-line description."""
        noun = label_noun(self.codebook.kind)
        kind = {"multilabel": ", several per text", "choice": ", one per text", "rating": ""}[self.codebook.kind]
        return f"{self.documents} {self.sample.unit}, {format_count(len(self.codebook.labels), noun)}{kind}"


@cache
def sample_cards() -> tuple[SampleCard, ...]:
    """Return the samples that are installed."""
    folder = shipped_folder("sample_data")
    cards = []
    for sample in SAMPLES:
        data, codebook = folder / sample.data, folder / sample.codebook
        if data.is_file() and codebook.is_file():
            with data.open(encoding="utf-8-sig", newline="") as file:
                documents = sum(1 for _ in csv.reader(file)) - 1
            cards.append(SampleCard(sample, read_codebook(codebook), documents))
    return tuple(cards)


def ensure_sample(workspace: Workspace, key: str = "hotel-aspects") -> Path:
    """Open a sample project, created from the sample data if it is missing, and return its file.

    An existing project stays as it is: data is only added if it has no codebook. Raises UsageError for an unknown
    sample, and ProjectError.
    """
    sample = next((sample for sample in SAMPLES if sample.key == key), None)
    if sample is None:
        raise UsageError(f"Sample '{key}' does not exist.", f"Samples: {', '.join(sample.key for sample in SAMPLES)}.")
    make_folder()
    session = workspace.open(sample.path)
    if session.store.codebooks.latest() is None:
        folder = shipped_folder("sample_data")
        codebook = read_codebook(folder / sample.codebook)
        options = replace(sample.options, paths=(folder / sample.data,))
        store_documents(session, preview_file(options, codebook, session))
        session.store.codebooks.save(codebook, note="the sample's codebook")
        if sample.personas:
            session.store.personas.save(personas.read_personas(folder / sample.personas), note="the sample's personas")
    return session.path


def make_folder() -> None:
    """Create the projects folder if it is missing. Raises ProjectError."""
    folder = preferences.projects_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ProjectError(
            f"The folder {folder} cannot be created: {error.strerror}.", "Check its permissions."
        ) from error
