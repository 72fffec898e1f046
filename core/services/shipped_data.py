"""The sample data sets that ship with Moot: their files, columns and titles."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from core.ingest.mapping import ColumnMapping, ImportOptions
from core.services import preferences

SUFFIX = ".duckdb"


@dataclass(frozen=True, slots=True)
class SampleDataset:
    """A sample data set: its files and how to read them. ``unit`` names its documents in the plural.

    ``options`` say how to read ``data``, without its path. ``personas`` is a file of personas for its panel.
    """

    key: str
    title: str
    unit: str
    data: str
    codebook: str
    options: ImportOptions = ImportOptions((), ColumnMapping("text", id="id"), gold_same_names=True)
    personas: str = ""

    @property
    def path(self) -> Path:
        """The file of the project made from the sample."""
        return preferences.projects_folder() / f"{self.key}{SUFFIX}"


_DIMENSIONS = ("Grammar", "Answer relevance", "Story grounding", "Child fit")

SAMPLES = (
    SampleDataset("hotel-aspects", "Hotel aspects", "reviews", "hotel_reviews.csv", "hotel_aspects.yaml"),
    SampleDataset("central-bank", "Monetary policy stance", "sentences", "central_bank.csv", "central_bank.yaml"),
    SampleDataset(
        "sentence-pairs",
        "Does it follow?",
        "pairs of sentences",
        "sentence_pairs.csv",
        "sentence_pairs.yaml",
        ImportOptions((), ColumnMapping("hypothesis", ("premise",), "id", group="premise_no"), gold_same_names=True),
    ),
    SampleDataset(
        "story-questions",
        "Story questions",
        "questions and answers",
        "story_questions.csv",
        "story_questions.yaml",
        ImportOptions(
            (),
            ColumnMapping("answer", ("question", "story"), "id", group="story_id", order="number"),
            gold=tuple(f"{name}={name}_{rater}@{rater}" for name in _DIMENSIONS for rater in ("ann", "ben", "cara")),
        ),
        personas="panel/personas.yaml",
    ),
)
