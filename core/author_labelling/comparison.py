"""Comparison of annotators with the authors on the same questions.

Sources: Ma et al. 2025, section 5.2 and tables 1 and 2 (accuracy, Cohen's kappa, KL divergence, strata by number of
agreeing annotators), 5.3 and table 3 (predictivity), 5.4 and table 4 (cost and time). Deviations: kappa is the mean
over pairs of annotators, by the position of the chosen option, with the agreement expected by chance among questions on
one feature with as many options; the paper does not say how it joins more than two annotators or questions. KL
divergence is smoothed (``core.stats.agreement``) and reported for the meaning of options and for their positions. The
author's answer counts once for each label that it is compared with.
An abstention of the author leaves the question out; one of an annotator is counted and is never a class. The questions
of one author depend on each other, so that authors are the units of intervals; in the log of a single author, questions
are.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from statistics import mean, median, stdev
from typing import Any

import numpy as np
import numpy.typing as npt

from core.author_labelling.questions import AUTHOR, Answer, Entry, Question, Submission
from core.author_labelling.requests import EarlierAnswer
from core.author_labelling.screening import spam_authors, without_spam_authors
from core.codebook import normalise
from core.runs import total_cost
from core.stats.agreement import divergence, stratified_kappa, with_interval
from core.stats.arrays import Numbers
from core.stats.intervals import Estimate, ends
from core.stats.metric_intervals import Design, ratio

RANDOM = "random"
"""Source of labels drawn at random, the lower bound of the predictivity test."""
EARLIER_ANSWERS = 5
"""Earlier answers that the predictor sees (section 5.3)."""
REPEATS = 3
SEED = 0


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question with its text, the author's first answer, and the answers of annotators by group and name.

    ``unit`` names its independent unit: the author of the text, or the question itself if the log has one author.
    """

    question: Question
    source: Submission
    unit: str
    author_answer: Answer | None = None
    annotators: Mapping[str, Mapping[str, Answer]] = field(default_factory=dict)

    @property
    def truth(self) -> int | None:
        """Position of the author's option; None for a free word, an abstention, or without an answer."""
        return self.question.position(self.author_answer.choice) if self.author_answer else None


def asked_questions(log: Iterable[Entry]) -> dict[str, AskedQuestion]:
    """Return all questions by id, in the order in which they were asked. Of an annotator's answers the last counts."""
    questions: dict[str, tuple[Question, Submission]] = {}
    authors: dict[str, Answer] = {}
    annotations: defaultdict[str, defaultdict[str, dict[str, Answer]]] = defaultdict(lambda: defaultdict(dict))
    for entry in log:
        if isinstance(entry, Submission):
            questions.update((question.id, (question, entry)) for question in entry.questions)
        elif isinstance(entry, Answer) and entry.group == AUTHOR:
            authors.setdefault(entry.question_id, entry)
        elif isinstance(entry, Answer):
            annotations[entry.question_id][entry.group][entry.by] = entry
    several_authors = len({source.author for _, source in questions.values()}) > 1
    return {
        id: AskedQuestion(
            question,
            source,
            source.author if several_authors else id,
            authors.get(id),
            {group: dict(by) for group, by in annotations[id].items()},
        )
        for id, (question, source) in questions.items()
    }


@dataclass(frozen=True, slots=True)
class Collected:
    """Numbers of texts, authors and answers collected, without those of spam authors except in ``texts``.

    ``completion`` is the share of questions answered, abstentions included; ``abstention`` the share of abstentions
    among the answers. Their intervals treat the questions of one author as dependent.
    """

    texts: int
    excluded: Mapping[str, int]
    """Texts by the rule that excluded them; "by spam authors" for their other texts."""
    authors: int
    spam_authors: int
    asked: int
    answered: int
    abstained: int
    declined: int
    completion: Estimate
    abstention: Estimate
    seconds: float | None
    """Median seconds per answer, the minimum reading time included."""


def collection(log: Sequence[Entry]) -> Collected:
    """Return the counts and rates of a log."""
    submissions = [entry for entry in log if isinstance(entry, Submission)]
    spammers = spam_authors(log)
    rules = [
        submission.excluded or ("by spam authors" if submission.author in spammers else "")
        for submission in submissions
    ]
    questions = list(asked_questions(without_spam_authors(log)).values())
    answers = [(question, question.author_answer) for question in questions if question.author_answer is not None]
    answered = [question for question, answer in answers if not answer.declined]
    abstained = [question for question, answer in answers if answer.abstention and not answer.declined]
    times = [answer.seconds for _, answer in answers if answer.seconds is not None and not answer.declined]
    return Collected(
        texts=len(submissions),
        excluded=dict(Counter(filter(None, rules))),
        authors=len({submission.author for submission in submissions} - spammers),
        spam_authors=len(spammers),
        asked=len(questions),
        answered=len(answered) - len(abstained),
        abstained=len(abstained),
        declined=len(answers) - len(answered),
        completion=hit_share(questions, answered),
        abstention=hit_share(answered, abstained),
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
    """Mean seconds per answer, abstentions and unresolved replies included."""
    cost_usd: float | None
    """Mean cost per answer, None if one is unknown."""


def group_reports(questions: Iterable[AskedQuestion]) -> tuple[GroupReport, ...]:
    """Return a report of each group of annotators, on the questions that the author answered with an option."""
    usable = [asked_question for asked_question in questions if asked_question.truth is not None]
    groups = dict.fromkeys(group for asked_question in usable for group in asked_question.annotators)
    return tuple(
        _group_report(group, [asked_question for asked_question in usable if group in asked_question.annotators])
        for group in groups
    )


def _group_report(group: str, questions: Sequence[AskedQuestion]) -> GroupReport:
    answers = [answer for each in questions for answer in each.annotators[group].values()]
    positions = [_positions(each, group) for each in questions]
    choices = [
        (each, option)
        for each, chosen in zip(questions, positions, strict=True)
        for option in chosen
        if option is not None
    ]
    truths = [(each, each.truth or 0) for each, _ in choices]
    correct = [each for each, option in choices if option == each.truth]
    times = [answer.seconds for answer in answers if answer.seconds is not None]
    cost = total_cost(answer.cost_usd for answer in answers)
    return GroupReport(
        group=group,
        annotators=len({answer.by for answer in answers}),
        questions=len(questions),
        labels=sum(answer.choice is not None for answer in answers),
        abstained=sum(answer.abstention is not None for answer in answers),
        unresolved=sum(answer.is_unresolved for answer in answers),
        accuracy=hit_share([each for each, _ in choices], correct),
        kappa=mean_kappa(
            positions,
            [each.unit for each in questions],
            [(each.question.item, len(each.question.options)) for each in questions],
        ),
        kl_meaning=_divergence(_meanings(truths), _meanings(choices)),
        kl_position=_divergence([option for _, option in truths], [option for _, option in choices]),
        strata=_strata(questions, positions),
        seconds=mean(times) if times else None,
        cost_usd=None if cost is None else cost / len(answers),
    )


def _positions(asked_question: AskedQuestion, group: str) -> list[int | None]:
    """Return the positions chosen by a group's annotators, in the order of their names."""
    return [
        asked_question.question.position(answer.choice)
        for _, answer in sorted(asked_question.annotators[group].items())
    ]


def _meanings(choices: Iterable[tuple[AskedQuestion, int]]) -> list[str]:
    return [normalise(each.question.options[option]) for each, option in choices]


def mean_kappa(positions: Sequence[Sequence[int | None]], units: Sequence[str], strata: Sequence[Hashable]) -> Estimate:
    """Return the mean of Cohen's kappa over the pairs of annotators, ``[question][annotator]``.

    Annotators may differ by question: the first of each question is compared with the second of each, and so on. None
    if no pair has a defined kappa. ``units`` names the independent unit of each question, ``strata`` the questions that
    share a distribution of answers (``stratified_kappa``).
    """
    max_values = max(map(len, positions), default=0)
    if max_values < 2:
        return Estimate()
    coded = np.full((len(positions), max_values), -1)
    options = 1 + max((option for row in positions for option in row if option is not None), default=0)
    numbers: dict[Hashable, int] = {}
    for index, (row, stratum) in enumerate(zip(positions, strata, strict=True)):
        first_code = numbers.setdefault(stratum, len(numbers)) * options
        coded[index, : len(row)] = [-1 if option is None else first_code + option for option in row]

    def coefficient(answers: npt.NDArray[Any], weights: Numbers) -> float | None:
        stratum = answers.max(axis=1) // options
        chosen = np.where(answers < 0, -1, answers % options)
        kappas = [stratified_kappa(chosen[:, pair], stratum, weights) for pair in combinations(range(max_values), 2)]
        defined = [kappa for kappa in kappas if kappa is not None]
        return mean(defined) if defined else None

    return with_interval(coefficient, coded, np.unique(np.array(units), return_inverse=True)[1])


def _strata(questions: Sequence[AskedQuestion], positions: Sequence[list[int | None]]) -> tuple[Stratum, ...]:
    """Return accuracy by number of agreeing annotators; without a majority one of the options is drawn (table 2)."""
    rng = random.Random(SEED)
    strata: defaultdict[int, list[AskedQuestion]] = defaultdict(list)
    correct: defaultdict[int, list[AskedQuestion]] = defaultdict(list)
    for asked_question, chosen in zip(questions, positions, strict=True):
        votes = Counter(position for position in chosen if position is not None)
        if votes.total() > 1:
            agreeing = max(votes.values())
            option = rng.choice(sorted(position for position, count in votes.items() if count == agreeing))
            strata[agreeing].append(asked_question)
            if option == asked_question.truth:
                correct[agreeing].append(asked_question)
    return tuple(
        Stratum(agreeing, len(stratum), hit_share(stratum, correct[agreeing]))
        for agreeing, stratum in sorted(strata.items(), reverse=True)
    )


def _divergence(reference: Sequence[object], observed: Sequence[object]) -> float | None:
    categories = list(dict.fromkeys([*reference, *observed]))
    counts = [[side[category] for category in categories] for side in (Counter(reference), Counter(observed))]
    nats = float(divergence(*counts))
    return None if math.isnan(nats) else nats


def hit_share(cells: Sequence[AskedQuestion], hits: Sequence[AskedQuestion]) -> Estimate:
    """Return the share of hits among cells; both may repeat a question, and those of one unit depend on each other."""
    cell_counts, hit_counts = (Counter(asked_question.unit for asked_question in some) for some in (cells, hits))
    return ratio([hit_counts[unit] for unit in cell_counts], list(cell_counts.values()), Design())


# -- predictivity


@dataclass(frozen=True, slots=True)
class PredictivityTask:
    """One prediction: a question of an author, with five earlier questions answered by a source of labels."""

    asked_question: AskedQuestion
    source: str
    repeat: int
    earlier: tuple[EarlierAnswer, ...]

    @property
    def same(self) -> int:
        """Number of earlier answers from the same conversation."""
        return sum(answer.same for answer in self.earlier)


def predictivity_tasks(questions: Iterable[AskedQuestion]) -> tuple[PredictivityTask, ...]:
    """Return the predictions to make: for each question with ``EARLIER_ANSWERS`` earlier ones, source and repeat.

    Only the labels differ between sources: all see the latest five questions that the author answered with an option
    before. Of a group of annotators, one that answered is drawn for each question and repeat. Sources without a label
    for one of the five are left out of that prediction. Source: Ma et al. 2025, section 5.3.
    """
    usable = [asked_question for asked_question in questions if asked_question.truth is not None]
    usable.sort(key=lambda each: each.author_answer.at if each.author_answer else 0.0)  # not so in an imported file
    groups = dict.fromkeys(group for asked_question in usable for group in asked_question.annotators)
    by_author: defaultdict[str, list[AskedQuestion]] = defaultdict(list)
    sources = (AUTHOR, *groups, RANDOM)
    tasks = []
    for asked_question in usable:
        before = by_author[asked_question.source.author][-EARLIER_ANSWERS:]
        by_author[asked_question.source.author].append(asked_question)
        if len(before) < EARLIER_ANSWERS:
            continue
        for source, repeat in product(sources, range(REPEATS)):
            rng = random.Random(f"{SEED} {repeat} {source} {asked_question.question.id}")
            labels = [_label(earlier, source, rng) for earlier in before]
            if None in labels:
                continue
            answers = tuple(
                EarlierAnswer(
                    text=earlier.source.text,
                    question=earlier.question.text,
                    answer=str(label),
                    same=earlier.source.conversation == asked_question.source.conversation,
                )
                for earlier, label in zip(before, labels, strict=True)
            )
            tasks.append(PredictivityTask(asked_question, source, repeat, answers))
    return tuple(tasks)


def _label(asked_question: AskedQuestion, source: str, rng: random.Random) -> str | None:
    if source == AUTHOR:
        return asked_question.author_answer.choice if asked_question.author_answer else None
    if source == RANDOM:
        return rng.choice(asked_question.question.options)
    labels = [answer.choice for _, answer in sorted(asked_question.annotators.get(source, {}).items()) if answer.choice]
    return rng.choice(labels) if labels else None


def count_labels(questions: Iterable[AskedQuestion]) -> int:
    """Return the number of options that authors and annotators chose, on the questions with one by the author."""
    return sum(
        1 + sum(answer.choice is not None for group in each.annotators.values() for answer in group.values())
        for each in questions
        if each.truth is not None
    )


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
    interval: list[float] | None
    """Ends of the 95% interval of the accuracy, None if it cannot be computed."""


def predictivity(tasks: Sequence[PredictivityTask], predicted: Sequence[str | None]) -> tuple[Predictivity, ...]:
    """Return how well the labels of each source predict, from the option predicted for each task (None unresolved).

    An unresolved prediction counts as wrong: no answer was predicted.
    """
    by_source: defaultdict[str, list[tuple[PredictivityTask, str | None]]] = defaultdict(list)
    for task, option in zip(tasks, predicted, strict=True):
        by_source[task.source].append((task, option))
    return tuple(_predictivity(source, predictions) for source, predictions in by_source.items())


def _predictivity(source: str, predictions: Sequence[tuple[PredictivityTask, str | None]]) -> Predictivity:
    by_repeat: defaultdict[int, list[bool]] = defaultdict(list)
    by_same: defaultdict[int, list[bool]] = defaultdict(list)
    hits: list[AskedQuestion] = []
    for task, option in predictions:
        asked_question = task.asked_question
        is_hit = option is not None and asked_question.question.position(option) == asked_question.truth
        by_repeat[task.repeat].append(is_hit)
        by_same[task.same].append(is_hit)
        if is_hit:
            hits.append(asked_question)
    means = [mean(results) for results in by_repeat.values()]
    return Predictivity(
        source=source,
        predictions=len(predictions),
        unresolved=sum(option is None for _, option in predictions),
        accuracy=mean(means),
        deviation=stdev(means) if len(means) > 1 else None,
        by_same={same: mean(results) for same, results in sorted(by_same.items())},
        interval=ends(hit_share([task.asked_question for task, _ in predictions], hits).interval),
    )
