"""Results of author labelling: collection, annotators against authors, predictivity, click rates."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from pydantic import TypeAdapter

from core.author_labelling import comparison, requests
from core.author_labelling.comparison import Collected, GroupReport, Predictivity
from core.author_labelling.questions import Answer, FeaturePrediction
from core.author_labelling.recommendation import ClickRate, click_rates
from core.author_labelling.selection import keywords
from core.debate.context import run_parallel
from core.errors import ContextTooLong, EmptyReply, LengthLimit, Refused, Runaway
from core.formatting import MISSING, format_count, format_money
from core.services.author_labelling.labelling import BUILT_IN, AuthorLabelling, load_labelling, model_group, run_step
from core.services.background_jobs import OnStep
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_until_commit
from core.stats.intervals import Estimate
from core.store.rows import validated

COPIES = 3
"""Annotations per question by one model. The paper has one each by three models (section 5.1)."""
PREDICTIVITY_SETTING = "authors predictivity"


@dataclass(frozen=True, slots=True)
class FeatureReport:
    """One feature: what was asked and answered, and how uncertain its predictor is now.

    ``accuracy`` is the share of questions whose predicted value the author confirmed, of those with options.
    """

    name: str
    asked: int
    answered: int
    abstained: int
    accuracy: Estimate
    uncertainty: float
    """Uncertainty of a prediction with a certainty of 0.5."""
    keywords: Mapping[str, tuple[str, ...]]
    """Words that the predictor learned, by answer."""


@dataclass(frozen=True, slots=True)
class PredictivityTest:
    """The latest predictivity test of a model."""

    model: str
    answers: int
    """Answers of authors and annotators at that time."""
    results: tuple[Predictivity, ...]


_TESTS = TypeAdapter(tuple[PredictivityTest, ...])


@dataclass(frozen=True, slots=True)
class AuthorReport:
    """Everything that the page and the command line report."""

    collection: Collected
    features: tuple[FeatureReport, ...]
    groups: tuple[GroupReport, ...]
    predictivity: tuple[PredictivityTest, ...]
    """One test of each model, the latest last."""
    answers: int
    """Answers of authors and annotators that a predictivity test can use now."""
    unit: str
    """Independent units of all intervals except those of clicks: "authors", or "questions of one author"."""
    clicks: tuple[ClickRate, ...]


@cached_until_commit
def author_report(session: ProjectSession) -> AuthorReport:
    """Return the results of a project. Raises UsageError before a codebook is saved."""
    current = load_labelling(session)
    return AuthorReport(
        comparison.collection(current.log),
        _feature_reports(current),
        comparison.group_reports(current.analysed.values()),
        tuple(test for test in _stored_tests(session) if test.results),
        comparison.count_labels(current.analysed.values()),
        "authors" if len({each.source.author for each in current.analysed.values()}) > 1 else "questions of one author",
        click_rates(current.log),
    )


def _feature_reports(current: AuthorLabelling) -> tuple[FeatureReport, ...]:
    reports = []
    for feature in current.features:
        asked = [id for id, each in current.analysed.items() if each.question.item == feature.item]
        effects = [effect for id in asked if (effect := current.learned.effects.get(id)) is not None]
        answered = [effect for effect in effects if effect.loss is not None]
        predicted = [effect for effect in answered if effect.question.options and effect.question.predicted is not None]
        posed = [current.analysed[effect.question.id] for effect in predicted]
        right = [current.analysed[effect.question.id] for effect in predicted if effect.loss == 0]
        doubt = current.learned.selector.score(feature.item, FeaturePrediction("", 0.5)).uncertainty
        reports.append(
            FeatureReport(
                feature.name,
                len(asked),
                len(answered),
                sum(bool(effect.answer.abstention) for effect in effects),
                comparison.hit_share(posed, right),
                doubt,
                keywords(current.learned.examples.get(feature.item, ())),
            )
        )
    return tuple(reports)


# -- annotations by models


UNANSWERABLE = (Refused, ContextTooLong, EmptyReply, LengthLimit, Runaway)
"""Errors that concern one question, and do not stop the others."""


ANNOTATION_JOB = "a model answers questions of authors"
"""Name of the job in a project."""


async def annotate(
    session: ProjectSession, spec: str, *, copies: int = COPIES, report: OnStep = lambda _share, _step: None
) -> int:
    """Let a model answer questions as their authors did with an option, and return the number of new labels.

    Annotators of one model are named ``spec #1`` and so on; questions that one has answered are left out. The built-in
    model answers once, because its copies would agree. A question that the model refuses or gives no complete reply to,
    or that is too long for it, is unresolved, and asked again the next time. Raises UsageError for an unknown model and
    the ModelError that stopped it; answers so far are stored.
    """
    group = model_group(spec)
    if group == BUILT_IN:
        copies = 1
    current = await asyncio.to_thread(load_labelling, session)
    names = [f"{spec} #{number}" for number in range(1, copies + 1)]
    given = Counter(
        entry.question_id
        for entry in current.log
        if isinstance(entry, Answer) and entry.group == group and entry.by.rpartition(" #")[0] == spec
    )
    questions = [asked_question for asked_question in current.analysed.values() if asked_question.truth is not None]
    templates, added = requests.load_templates(), 0
    for done_so_far, asked_question in enumerate(questions):
        report(done_so_far / len(questions), f"{done_so_far:,} of {format_count(len(questions), 'question')}")
        question, answers_so_far = asked_question.question, asked_question.annotators.get(group, {})
        open_names = [name for name in names if name not in answers_so_far or answers_so_far[name].is_unresolved]
        if not open_names:
            continue
        step = requests.annotate(asked_question.source, question, templates, copies=len(open_names))
        replies = await run_step(
            session,
            step,
            question.codebook,
            spec,
            errors_as_replies=UNANSWERABLE,
            occurrence=given[question.id],  # no annotator gets a reply that another or the same has given
        )
        answers = [
            Answer(
                question.id,
                name,
                time.time(),
                group,
                option,
                seconds=round(reply.seconds, 3),
                cost_usd=reply.cost_usd,
            )
            for name, (option, reply) in zip(open_names, replies, strict=True)
        ]
        await asyncio.to_thread(session.store.author_log.append, answers)
        added += sum(not answer.is_unresolved for answer in answers)
    return added


# -- predictivity


PREDICTIVITY_JOB = "a model predicts answers of authors"
"""Name of the job in a project."""


async def run_predictivity(session: ProjectSession, spec: str, *, report: OnStep = lambda _share, _step: None) -> int:
    """Predict answers with a model from earlier answers of each source, and store the result in place of its last one.

    Returns the number of predictions, zero without an author of more than five answered questions. Replies are paid for
    once. Raises as ``annotate``.
    """
    analysed = (await asyncio.to_thread(load_labelling, session)).analysed
    tasks = await asyncio.to_thread(comparison.predictivity_tasks, analysed.values())
    options: list[str | None] = []
    templates = requests.load_templates()
    # Tasks of a question follow each other. They are read with its options as the codebook.
    for _, group in groupby(tasks, key=lambda task: task.asked_question.question.id):
        tasks_of_question = list(group)
        asked_question = tasks_of_question[0].asked_question
        steps = [
            requests.annotate(asked_question.source, asked_question.question, templates, earlier=task.earlier)
            for task in tasks_of_question
        ]
        results = await run_step(
            session,
            run_parallel(*steps),
            asked_question.question.codebook,
            spec,
            seconds=3600,
            errors_as_replies=UNANSWERABLE,
        )
        options += [option for ((option, _),) in results]
        report(len(options) / len(tasks), f"{len(options):,} of {format_count(len(tasks), 'prediction')}")
    outcome = await asyncio.to_thread(comparison.predictivity, tasks, options)
    test = PredictivityTest(spec, comparison.count_labels(analysed.values()), outcome)
    others = [other for other in await asyncio.to_thread(_stored_tests, session) if other.model != spec]
    data = _TESTS.dump_python((*others, test), mode="json")
    await asyncio.to_thread(session.store.settings.set, PREDICTIVITY_SETTING, data)
    return len(tasks)


def _stored_tests(session: ProjectSession) -> tuple[PredictivityTest, ...]:
    return validated(_TESTS, session.store.settings.get(PREDICTIVITY_SETTING, []), "the predictivity")


# -- JSON


def to_json(report: AuthorReport) -> dict[str, Any]:
    """Return a report as ``moot authors --json`` prints it."""
    collection = report.collection
    tests = [
        {
            "model": test.model,
            "answers": test.answers,
            "sources": {result.source: _fields(result, "source") for result in test.results},
        }
        for test in report.predictivity
    ]
    return {
        "collection": {
            **_fields(collection, "seconds"),
            "completion": collection.completion.to_json(),
            "abstention": collection.abstention.to_json(),
            "seconds_per_answer": collection.seconds,
        },
        "labels": {
            feature.name: _fields(feature, "name", "accuracy") | feature.accuracy.named_json("accuracy")
            for feature in report.features
        },
        "annotators": {
            group.group: {
                **_fields(group, "group", "accuracy", "kappa", "strata"),
                "accuracy": group.accuracy.to_json(),
                **group.kappa.named_json("kappa"),
                "by_agreement": [
                    _fields(stratum, "accuracy") | stratum.accuracy.named_json("accuracy") for stratum in group.strata
                ],
            }
            for group in report.groups
        },
        "predictivity": {
            **(tests[-1] if tests else {"model": None, "answers": None, "sources": {}}),
            "answers_now": report.answers,
            "by_model": {test["model"]: test for test in tests},
        },
        "clicks": [{**asdict(click_rate), "rate": click_rate.rate} for click_rate in report.clicks],
    }


def format_basis(answers: int, now: int) -> str:
    """Return on how many answers a predictivity test is based, and how many there are ``now`` if that differs."""
    basis = f"on {format_count(answers, 'answer')}"
    return basis if answers == now else f"{basis} (now {now:,}: run it again)"


def format_answer_cost(cost_usd: float | None, seconds: float | None) -> str:
    """Return the cost per answer; a dash without a time, because such answers came from a file that states neither."""
    return MISSING if cost_usd is None and seconds is None else format_money(cost_usd)


def _fields(row: Any, *without: str) -> dict[str, Any]:
    return {key: value for key, value in asdict(row).items() if key not in without}
