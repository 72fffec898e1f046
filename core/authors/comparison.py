"""Comparison of annotators with the authors on the same questions.

Sources: Ma et al. 2025, section 5.2 and tables 1 and 2 (accuracy, Cohen's kappa, KL divergence, strata by number of
agreeing annotators), 5.3 and table 3 (predictivity), 5.4 and table 4 (cost and time). Deviations: kappa is the mean
over pairs of annotators, by the position of the chosen option; the paper does not say how it joins more than two. KL
divergence is smoothed (``core.stats.correlation``) and reported for the meaning of options and for their positions.
An abstention of the author leaves the question out; one of an annotator is counted and is never a class. The questions
of one author depend on each other, so that authors are the units of intervals; with a single author, questions are.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import mean, median, stdev
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from core.authors.questions import AUTHOR, Answer, Entry, Question, Submission
from core.authors.requests import EarlierAnswer
from core.codebook import normalise
from core.stats.agreement import cohen_kappa, with_interval
from core.stats.arrays import Ratings
from core.stats.correlation import divergence
from core.stats.intervals import Estimate, ends
from core.stats.metric_intervals import Design, ratio

RANDOM = "random"
"""Source of labels drawn at random, the lower bound of the predictivity test."""
EARLIER = 5
"""Earlier answers that the predictor sees (section 5.3)."""
REPEATS = 3
SEED = 0


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question with its text, the author's first answer, and the answers of annotators by group and name."""

    question: Question
    source: Submission
    author: Answer | None = None
    annotators: Mapping[str, Mapping[str, Answer]] = field(default_factory=dict)

    @property
    def truth(self) -> int | None:
        """Position of the author's option; None for a free word, an abstention, or without an answer."""
        return self.question.position(self.author.choice) if self.author else None


def asked_questions(log: Iterable[Entry]) -> dict[str, AskedQuestion]:
    """Return all questions by id, in the order in which they were asked. Of an annotator's answers the last counts."""
    asked: dict[str, tuple[Question, Submission]] = {}
    authors: dict[str, Answer] = {}
    others: defaultdict[str, defaultdict[str, dict[str, Answer]]] = defaultdict(lambda: defaultdict(dict))
    for entry in log:
        if isinstance(entry, Submission):
            asked.update((question.id, (question, entry)) for question in entry.questions)
        elif isinstance(entry, Answer) and entry.group == AUTHOR:
            authors.setdefault(entry.question_id, entry)
        elif isinstance(entry, Answer):
            others[entry.question_id][entry.group][entry.by] = entry
    return {
        id: AskedQuestion(question, source, authors.get(id), {group: dict(by) for group, by in others[id].items()})
        for id, (question, source) in asked.items()
    }


@dataclass(frozen=True, slots=True)
class Collection:
    """Numbers of texts, authors and answers collected.

    ``completion`` is the share of questions answered, abstentions included; ``abstention`` the share of abstentions
    among the answers. Their intervals treat the questions of one author as dependent.
    """

    texts: int
    excluded: Mapping[str, int]
    authors: int
    asked: int
    answered: int
    abstained: int
    declined: int
    completion: Estimate
    abstention: Estimate
    seconds: float | None
    """Median seconds per answer, the minimum reading time included."""


def collection(log: Sequence[Entry]) -> Collection:
    """Return the counts and rates of a log."""
    submissions = [entry for entry in log if isinstance(entry, Submission)]
    questions = list(asked_questions(log).values())
    given = [one for one in questions if one.author and not one.author.declined]
    abstained = [one for one in given if one.author and one.author.abstention]
    times = [one.author.seconds for one in given if one.author and one.author.seconds is not None]
    return Collection(
        texts=len(submissions),
        excluded=dict(Counter(one.excluded for one in submissions if one.excluded)),
        authors=len({one.author for one in submissions}),
        asked=len(questions),
        answered=len(given) - len(abstained),
        abstained=len(abstained),
        declined=sum(one.author is not None and one.author.declined for one in questions),
        completion=_share(questions, given),
        abstention=_share(given, abstained),
        seconds=median(times) if times else None,
    )


@dataclass(frozen=True, slots=True)
class Stratum:
    """Questions on which ``agreeing`` annotators chose the same option, and how often it was the author's."""

    agreeing: int
    questions: int
    accuracy: Estimate


@dataclass(frozen=True, slots=True)
class GroupReport:
    """One group of annotators against the authors."""

    group: str
    annotators: int
    questions: int
    labels: int
    abstained: int
    unresolved: int
    accuracy: Estimate
    kappa: Estimate
    kl_meaning: float | None
    kl_position: float | None
    strata: tuple[Stratum, ...]
    seconds: float | None
    """Mean seconds per label."""
    cost_usd: float | None
    """Mean cost per label, None if one is unknown."""


def group_reports(questions: Iterable[AskedQuestion]) -> tuple[GroupReport, ...]:
    """Return a report of each group of annotators, on the questions that the author answered with an option."""
    usable = [one for one in questions if one.truth is not None]
    groups = dict.fromkeys(group for one in usable for group in one.annotators)
    return tuple(_group_report(group, [one for one in usable if group in one.annotators]) for group in groups)


def _group_report(group: str, questions: Sequence[AskedQuestion]) -> GroupReport:
    answers = [answer for one in questions for answer in one.annotators[group].values()]
    chosen = [(one, place) for one in questions for place in _positions(one, group) if place is not None]
    right = [(one, place) for one, place in chosen if place == one.truth]
    labelled = [answer for answer in answers if answer.choice is not None]
    times = [answer.seconds for answer in answers if answer.seconds is not None]
    costs = [answer.cost_usd for answer in answers]
    return GroupReport(
        group=group,
        annotators=len({answer.by for answer in answers}),
        questions=len(questions),
        labels=len(labelled),
        abstained=sum(answer.abstention is not None for answer in answers),
        unresolved=sum(answer.choice is None and answer.abstention is None for answer in answers),
        accuracy=_share([one for one, _ in chosen], [one for one, _ in right]),
        kappa=mean_kappa([_positions(one, group) for one in questions], _units(questions)),
        kl_meaning=_divergence(
            [normalise(one.question.options[one.truth or 0]) for one in questions],
            [normalise(one.question.options[place]) for one, place in chosen],
        ),
        kl_position=_divergence([one.truth for one in questions], [place for _, place in chosen]),
        strata=_strata(questions, group),
        seconds=mean(times) if times else None,
        cost_usd=None if None in costs or not costs else mean(cost for cost in costs if cost is not None),
    )


def _positions(one: AskedQuestion, group: str) -> list[int | None]:
    """Return the positions chosen by a group's annotators, in the order of their names."""
    return [one.question.position(answer.choice) for _, answer in sorted(one.annotators[group].items())]


def mean_kappa(positions: Sequence[Sequence[int | None]], units: Sequence[str]) -> Estimate:
    """Return the mean of Cohen's kappa over the pairs of annotators, ``[question][annotator]``.

    Annotators may differ by question: the first of each question is compared with the second of each, and so on. None
    if no pair has a defined kappa. ``units`` names the independent unit of each question.
    """
    most = max(map(len, positions), default=0)
    if most < 2:
        return Estimate(None, None)
    coded = np.full((len(positions), most), -1)
    for place, row in enumerate(positions):
        coded[place, : len(row)] = [-1 if option is None else option for option in row]

    def coefficient(answers: npt.NDArray[Any], weights: Ratings) -> float | None:
        found = [cohen_kappa(one, other, weights) for one, other in combinations(answers.T, 2)]
        known = [value for value in found if value is not None]
        return mean(known) if known else None

    return with_interval(coefficient, coded, np.unique(np.array(units), return_inverse=True)[1])


def _strata(questions: Sequence[AskedQuestion], group: str) -> tuple[Stratum, ...]:
    """Return accuracy by number of agreeing annotators; without a majority one of the options is drawn (table 2)."""
    rng = random.Random(SEED)
    found: defaultdict[int, list[AskedQuestion]] = defaultdict(list)
    right: defaultdict[int, list[AskedQuestion]] = defaultdict(list)
    for one in questions:
        given = Counter(place for place in _positions(one, group) if place is not None)
        if sum(given.values()) > 1:
            most = max(given.values())
            option = rng.choice(sorted(place for place, count in given.items() if count == most))
            found[most].append(one)
            right[most] += [one] if option == one.truth else []
    return tuple(Stratum(n, len(own), _share(own, right[n])) for n, own in sorted(found.items(), reverse=True))


def _divergence(reference: Sequence[object], given: Sequence[object]) -> float | None:
    categories = list(dict.fromkeys([*reference, *given]))
    first, second = Counter(reference), Counter(given)
    found = float(divergence([first[one] for one in categories], [second[one] for one in categories]))
    return None if math.isnan(found) else found


def _share(cells: Sequence[AskedQuestion], hits: Sequence[AskedQuestion]) -> Estimate:
    """Return the share of hits among cells; both may repeat a question."""
    names = dict(zip((one.question.id for one in cells), _units(cells), strict=True))
    return share_of_units([names[one.question.id] for one in cells], [names[one.question.id] for one in hits])


def _units(questions: Sequence[AskedQuestion]) -> list[str]:
    """Return the independent unit of each question: the author of its text, or itself if there is one author."""
    several = len({one.source.author for one in questions}) > 1
    return [one.source.author if several else one.question.id for one in questions]


def share_of_units(cells: Sequence[str], hits: Sequence[str]) -> Estimate:
    """Return the share of hits among cells, each given by the name of its independent unit."""
    size, gain = Counter(cells), Counter(hits)
    return ratio([gain[unit] for unit in size], list(size.values()), Design())


# -- predictivity


Labels: TypeAlias = Mapping[str, str]
"""Option given to each question, by its id."""


@dataclass(frozen=True, slots=True)
class PredictivityTask:
    """One prediction: a question of an author, with five earlier questions answered by a source of labels."""

    question: AskedQuestion
    source: str
    repeat: int
    earlier: tuple[EarlierAnswer, ...]

    @property
    def same(self) -> int:
        """Number of earlier answers from the same conversation."""
        return sum(one.same for one in self.earlier)


def predictivity_tasks(questions: Iterable[AskedQuestion]) -> tuple[PredictivityTask, ...]:
    """Return the predictions to make: for each question with ``EARLIER`` earlier ones, source of labels and repeat.

    Only the labels differ between sources: all see the latest five questions of the author that were asked before. Of
    a group of annotators, one that answered is drawn for each question and repeat. Sources without a label for one of
    the five are left out of that prediction. Source: Ma et al. 2025, section 5.3.
    """
    usable = [one for one in questions if one.truth is not None]
    groups = dict.fromkeys(group for one in usable for group in one.annotators)
    by_author: defaultdict[str, list[AskedQuestion]] = defaultdict(list)
    tasks = []
    for one in usable:
        before = by_author[one.source.author][-EARLIER:]
        by_author[one.source.author].append(one)
        if len(before) < EARLIER:
            continue
        for source in (AUTHOR, *groups, RANDOM):
            for repeat in range(REPEATS):
                rng = random.Random(f"{SEED} {repeat} {source} {one.question.id}")
                given = [_label(known, source, rng) for known in before]
                if None not in given:
                    earlier = tuple(
                        EarlierAnswer(
                            known.source.text, known.question.text, str(label),
                            known.source.conversation == one.source.conversation,
                        )
                        for known, label in zip(before, given, strict=True)
                    )  # fmt: skip
                    tasks.append(PredictivityTask(one, source, repeat, earlier))
    return tuple(tasks)


def _label(one: AskedQuestion, source: str, rng: random.Random) -> str | None:
    if source == AUTHOR:
        return one.author.choice if one.author else None
    if source == RANDOM:
        return rng.choice(one.question.options)
    given = [answer.choice for _, answer in sorted(one.annotators.get(source, {}).items()) if answer.choice]
    return rng.choice(given) if given else None


@dataclass(frozen=True, slots=True)
class Predictivity:
    """Accuracy of predicted answers with the labels of one source: mean and standard deviation over the repeats."""

    source: str
    predictions: int
    unresolved: int
    accuracy: float | None
    deviation: float | None
    """None with fewer than two repeats."""
    by_same: Mapping[int, float]
    """Accuracy by the number of earlier answers from the same conversation (figure 6)."""
    interval: list[float] | None = None
    """Ends of the 95% interval of the accuracy, None in results stored by an older version."""


def predictivity(tasks: Sequence[PredictivityTask], chosen: Sequence[str | None]) -> tuple[Predictivity, ...]:
    """Return how well the labels of each source predict, from the option predicted for each task (None unresolved).

    An unresolved prediction counts as wrong: no answer was predicted.
    """
    found: defaultdict[str, list[tuple[PredictivityTask, bool, bool]]] = defaultdict(list)
    for task, option in zip(tasks, chosen, strict=True):
        hit = option is not None and task.question.question.position(option) == task.question.truth
        found[task.source].append((task, hit, option is None))
    reports = []
    for source, results in found.items():
        repeats: defaultdict[int, list[bool]] = defaultdict(list)
        same: defaultdict[int, list[bool]] = defaultdict(list)
        for task, hit, _ in results:
            repeats[task.repeat].append(hit)
            same[task.same].append(hit)
        means = [mean(hits) for hits in repeats.values()]
        span = _share([task.question for task, *_ in results], [task.question for task, hit, _ in results if hit])
        reports.append(
            Predictivity(
                source, len(results), sum(lost for _, _, lost in results), mean(means),
                stdev(means) if len(means) > 1 else None, {n: mean(hits) for n, hits in sorted(same.items())},
                ends(span.interval),
            )
        )  # fmt: skip
    return tuple(reports)
