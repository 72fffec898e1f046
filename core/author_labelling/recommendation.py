"""Recommendation from a small catalogue: the downstream task that trains the relevance of features.

One arm chooses the entry that matches the selected features, the other the entry with most keywords in the text. They
take turns, impression by impression. Sources: Ma et al. 2025, sections 3.3 and 4 (downstream task, baseline by keywords
at the same time), appendix A.1 (what counts as an impression and as a click).
Deviations: the paper rewrites an advertisement for the conversation, here the entry's own text is shown. Its baseline
ran for eight of 27 days beside the selector, here both arms alternate throughout.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from core import yaml_text
from core.author_labelling.questions import Entry, Feature, Impression, Reaction, Submission
from core.author_labelling.screening import without_spam_authors
from core.author_labelling.selection import KEYWORDS, SELECTOR, Selector
from core.codebook import normalise
from core.debate.reading.normalise import UNSPACED
from core.errors import UsageError
from core.formatting import format_problem
from core.stats.intervals import ends
from core.stats.metric_intervals import Design, ratio

MERGE_SECONDS = 10.0
"""Impressions of one author that follow each other faster are one impression (appendix A.1 names no time)."""

_WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")


class CatalogueEntry(BaseModel):
    """One entry to recommend: keywords for the baseline, and values by the name of their feature for the selector."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    name: str
    text: str
    keywords: tuple[str, ...] = ()
    labels: dict[str, tuple[str, ...]] = {}

    @field_validator("labels", mode="before")
    @classmethod
    def _lists(cls, labels: Any) -> Any:
        if not isinstance(labels, Mapping):
            return labels
        return {name: value if isinstance(value, list | tuple) else (str(value),) for name, value in labels.items()}


def load_catalogue(text: str) -> tuple[CatalogueEntry, ...]:
    """Return the entries of a catalogue in YAML or JSON: a list of name, text, keywords and labels.

    Raises UsageError naming the first wrong field, and for two entries with one name.
    """
    source = "the catalogue"
    data, _ = yaml_text.parse(text, source, UsageError, CatalogueEntry.model_fields)
    if not isinstance(data, list):
        raise UsageError(f"{source}: expected a list of entries.", "Each has a name, a text, keywords and labels.")
    try:
        entries = tuple(CatalogueEntry.model_validate(entry) for entry in data)
    except ValidationError as error:
        raise UsageError(f"{source}: {format_problem(error)}.", "Correct it and try again.") from error
    repeated = [name for name, count in Counter(entry.name for entry in entries).items() if count > 1]
    if repeated:
        raise UsageError(f"{source}: two entries are named '{repeated[0]}'.", "Rename one.")
    return entries


def _spaced_words(text: str) -> str:
    """Return the words of a text in lower case, each between two spaces, and each letter of scripts without spaces."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def recommend(
    catalogue: Sequence[CatalogueEntry],
    submission: Submission,
    features: Sequence[Feature],
    selector: Selector,
    *,
    arm: str,
) -> tuple[CatalogueEntry, tuple[str, ...]] | None:
    """Return the entry that an arm chooses for a text, and the features that it matched (none for keywords).

    None if nothing matches. Of equal entries the first wins.
    """
    if arm == KEYWORDS:
        entry_with_keywords = _entry_by_keywords(catalogue, submission.text)
        return None if entry_with_keywords is None else (entry_with_keywords, ())
    names = {feature.item: feature.name for feature in features}
    best_weight = -1.0
    choice: tuple[CatalogueEntry, tuple[str, ...]] | None = None
    for entry in catalogue:
        entry_labels = {normalise(name): set(map(normalise, values)) for name, values in entry.labels.items()}
        matches = tuple(
            item
            for item in submission.selected
            if (prediction := submission.predictions.get(item)) is not None and prediction.value is not None
            if normalise(prediction.value) in entry_labels.get(normalise(names.get(item, "")), ())
        )
        weight = sum(max(0.0, selector.score(item, submission.predictions[item]).relevance) for item in matches)
        if matches and weight > best_weight:
            best_weight, choice = weight, (entry, matches)
    return choice


def _entry_by_keywords(catalogue: Sequence[CatalogueEntry], text: str) -> CatalogueEntry | None:
    """Return the entry with the most keywords in a text, None if no entry has any."""
    words = _spaced_words(text)
    best, most = None, 0
    for entry in catalogue:
        hits = sum(keyword in words for keyword in map(_spaced_words, entry.keywords) if keyword.strip())
        if hits > most:
            best, most = entry, hits
    return best


def next_arm(log: Iterable[Entry], catalogue: Sequence[CatalogueEntry]) -> str:
    """Return the arm whose turn it is: the one with fewer impressions so far, the selector first.

    An arm waits for a text that it matches. In a catalogue without keywords, it is always the selector's turn. In one
    without labels, it is always the turn of the keywords.
    """
    if not any(entry.keywords for entry in catalogue):
        return SELECTOR
    counts = Counter(entry.arm for entry in log if isinstance(entry, Impression))
    has_labels = any(entry.labels for entry in catalogue)
    return SELECTOR if has_labels and counts[SELECTOR] <= counts[KEYWORDS] else KEYWORDS


@dataclass(frozen=True, slots=True)
class ClickRate:
    """Impressions and clicks of one arm on one day (UTC), or over all days (``day`` empty)."""

    day: str
    arm: str
    impressions: int
    clicks: int
    interval: list[float] | None = None
    """Ends of the 95% interval of the rate over authors; None for fewer than two, and for a rate above 1."""

    @property
    def rate(self) -> float | None:
        """Clicks per impression, which may exceed 1; None without an impression."""
        return self.clicks / self.impressions if self.impressions else None


def click_rates(log: Sequence[Entry]) -> tuple[ClickRate, ...]:
    """Return the click rates of both arms over all days, then by day.

    Each recommendation shown is one impression, however often the page is drawn again; several clicks on it count
    separately. Impressions of one author and arm within ``MERGE_SECONDS`` of the one before are merged with it, and so
    are their clicks. Authors whose texts are mostly spam are left out. Source: Ma et al. 2025, appendices A.1 and B.2.
    """
    impressions: Counter[tuple[str, str, str]] = Counter()
    """By day, arm and author."""
    clicks: Counter[tuple[str, str, str]] = Counter()
    last: dict[tuple[str, str], tuple[float, tuple[str, str, str]]] = {}
    """Time and key of the last impression by arm and author."""
    keys: dict[str, tuple[str, str, str]] = {}
    for entry in sorted(without_spam_authors(log), key=lambda entry: entry.at):  # a file may have the newest first
        if isinstance(entry, Impression) and entry.document_id not in keys:
            day = datetime.fromtimestamp(entry.at, UTC).date().isoformat()
            who = entry.arm, entry.author
            before, key = last.get(who, (float("-inf"), (day, *who)))
            if entry.at - before > MERGE_SECONDS:
                key = (day, *who)
                impressions[key] += 1
            keys[entry.document_id] = key
            last[who] = entry.at, key
        elif isinstance(entry, Reaction) and entry.helpful is None and entry.document_id in keys:
            clicks[keys[entry.document_id]] += 1
    days = sorted({day for day, *_ in impressions})
    rows = []
    for day in ("", *days):
        for arm in (SELECTOR, KEYWORDS):
            shown: Counter[str] = Counter()
            clicked: Counter[str] = Counter()
            for key, count in impressions.items():
                if key[1] == arm and day in ("", key[0]):
                    shown[key[2]] += count
                    clicked[key[2]] += clicks[key]
            rows.append(ClickRate(day, arm, shown.total(), clicked.total(), _rate_interval(shown, clicked)))
    return tuple(rows)


def _rate_interval(shown: Counter[str], clicked: Counter[str]) -> list[float] | None:
    """Return the ends of the interval of clicks per impression, from the counts of each author."""
    if len(shown) < 2 or shown.total() < clicked.total():
        return None
    return ends(ratio([clicked[author] for author in shown], list(shown.values()), Design()).interval)
