"""The sample projects: each data set that Moot brings along, opened as a project of its own."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from core import resources
from core.codebook import Codebook
from core.errors import ProjectError, UsageError
from core.services import personas, preferences
from core.services.data import file_import
from core.services.data.sample_data import SAMPLES, Sample
from core.services.pipeline import read_codebook
from core.services.workspace import Workspace


@dataclass(frozen=True, slots=True)
class SampleCard:
    """A sample as Home shows it."""

    sample: Sample
    codebook: Codebook
    documents: int

    @property
    def words(self) -> str:
        """What it is in a line."""
        how = {"multilabel": "several of", "choice": "one of", "rating": "ratings on"}[self.codebook.kind]
        what = "dimensions" if self.codebook.kind == "rating" else "labels"
        return f"{how} {len(self.codebook.labels)} {what}, {self.documents} {self.sample.unit}"


def samples() -> tuple[SampleCard, ...]:
    """The samples that this installation has."""
    folder = resources.folder("sample_data")
    cards = []
    for sample in SAMPLES:
        data, codebook = folder / sample.data, folder / sample.codebook
        if data.is_file() and codebook.is_file():
            with data.open(encoding="utf-8-sig", newline="") as file:
                documents = sum(1 for _ in csv.reader(file)) - 1
            cards.append(SampleCard(sample, read_codebook(codebook), documents))
    return tuple(cards)


def ensure_sample(workspace: Workspace, key: str = "hotel-aspects") -> Path:
    """Open a sample project, made from the sample data when it is missing, and give its file.

    What is in it stays as it is: a codebook is put in only where there is none. Raises UsageError for a sample that
    there is not, and ProjectError.
    """
    sample = next((sample for sample in SAMPLES if sample.key == key), None)
    if sample is None:
        raise UsageError(f"There is no sample '{key}'.", f"There are: {', '.join(one.key for one in SAMPLES)}.")
    make_folder()
    session = workspace.open(sample.path)
    if session.store.codebooks.latest() is None:
        folder = resources.folder("sample_data")
        codebook = read_codebook(folder / sample.codebook)
        file_import.take_in(session, file_import.read_source(sample.source, codebook), sample.data)
        session.store.codebooks.save(codebook, note="the sample's codebook")
        if sample.personas:
            session.store.personas.save(personas.read_cast(folder / sample.personas), note="the sample's personas")
    return session.path


def make_folder() -> None:
    """Make the projects folder where it is missing. ProjectError."""
    folder = preferences.projects_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ProjectError(
            f"The folder {folder} cannot be made: {error.strerror}.", "Check its permissions."
        ) from error
