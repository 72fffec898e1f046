"""The data sets that Moot brings along: where each is, how it is read, what it is called."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from core import resources
from core.services import preferences
from core.services.data import file_import

SUFFIX = ".duckdb"


@dataclass(frozen=True, slots=True)
class Sample:
    """A data set that Moot brings along: where it is and how to read it. ``unit`` names its documents in the plural.

    ``gold`` is as on the command line; without any it comes from the columns called like the labels. ``personas`` is a
    file of personas for its panel, and ``protocol`` the one that its project begins with.
    """

    key: str
    title: str
    unit: str
    data: str
    codebook: str
    text: str = "text"
    id_column: str = "id"
    contexts: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    group: str | None = None
    order: str | None = None
    personas: str = ""

    @property
    def source(self) -> file_import.SourceFile:
        """How its file is read."""
        return file_import.SourceFile(
            resources.folder("sample_data") / self.data,
            text=self.text,
            id_column=self.id_column,
            contexts=self.contexts,
            gold=self.gold,
            gold_same_names=not self.gold,
            group=self.group,
            order=self.order,
        )

    @property
    def path(self) -> Path:
        """The project that is made from it."""
        return preferences.projects_folder() / f"{self.key}{SUFFIX}"


_DIMENSIONS = ("Grammar", "Answer relevance", "Story grounding", "Child fit")

SAMPLES = (
    Sample("hotel-aspects", "Hotel aspects", "reviews", "hotel_reviews.csv", "hotel_aspects.yaml"),
    Sample("central-bank", "Monetary policy stance", "sentences", "central_bank.csv", "central_bank.yaml"),
    Sample(
        "sentence-pairs", "Does it follow?", "pairs of sentences", "sentence_pairs.csv", "sentence_pairs.yaml",
        text="hypothesis", contexts=("premise",), group="premise_no",
    ),
    Sample(
        "story-questions", "Story questions", "questions and answers", "story_questions.csv", "story_questions.yaml",
        text="answer", contexts=("question", "story"), group="story_id", order="number",
        gold=tuple(f"{name}={name}_{rater}@{rater}" for name in _DIMENSIONS for rater in ("ann", "ben", "cara")),
        personas="panel/personas.yaml",
    ),
)  # fmt: skip
