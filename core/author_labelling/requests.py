"""Requests of author labelling: relevance filter, predictors, question writer, annotator, chat.

Each is a generator without I/O, like a protocol. A configured language model and the built-in model answer the same
requests. Sources: Ma et al. 2025, sections 2.2 (relevance filter, questions made in the context of the text), 3.1
(predictors), appendix B.6 (annotator) and C.2 (annotator with earlier answers). The prompts are in our own words, and
options are numbered instead of lettered, so that the reader of single-choice replies reads them. Options that are
numbers themselves, such as the points of a scale, have no further numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from core import prompts
from core.author_labelling.questions import (
    Feature,
    FeaturePrediction,
    Question,
    Submission,
    format_conversation,
    make_question,
)
from core.author_labelling.selection import AnsweredText, Learned, keywords, most_uncertain
from core.codebook import CHOICE_ITEM, normalise
from core.debate.context import ask_with_retry
from core.debate.reading import parse
from core.debate.reading.decision_markers import without_reasoning
from core.debate.reading.json_blocks import last_json
from core.debate.turns import Reply, Request, Step
from core.documents import Document, as_rating
from core.runs import Template

TEMPLATES = "authors"
"""The folder of the prompts."""
FILTER, PREDICTOR, WRITER = "topic_filter", "predictor", "question_writer"
ANNOTATOR, ASSISTANT = "question_annotator", "assistant"
ROLES = (FILTER, PREDICTOR, WRITER, ANNOTATOR, ASSISTANT)
EXAMPLES_SHOWN = 8
"""Latest answers that a predictor's prompt shows."""
MAX_OPTION_CHARACTERS = 80

_PERCENT = re.compile(r"\s*(\d{1,9}(?:\.\d+)?)\s*+%?\s*")

Templates = Mapping[str, Template]
T = TypeVar("T")


def load_templates() -> dict[str, Template]:
    """Return the shipped prompts."""
    return prompts.shipped_templates(TEMPLATES)


def find_relevant(text: Submission, features: Sequence[Feature], templates: Templates) -> Step[tuple[Feature, ...]]:
    """Return the features that are relevant to a text; none if the reply is unreadable twice."""
    if not features:
        return ()
    values = {"features": [_shown(feature) for feature in features], "conversation": _conversation(text)}
    inputs = {"text": text.text, "features": tuple(features)}
    request = Request(FILTER, prompts.render(templates[FILTER], values), inputs)
    ((numbers, _),) = yield from _ask((request,), _relevant, templates)
    return tuple(feature for number, feature in enumerate(features, start=1) if number in (numbers or ()))


def predict(
    text: Submission, features: Sequence[Feature], examples: Mapping[str, Sequence[AnsweredText]], templates: Templates
) -> Step[dict[str, FeaturePrediction]]:
    """Return the prediction of each feature by its item, each from that feature's own examples alone."""
    requests = tuple(_predictor(text, feature, examples.get(feature.item, ()), templates) for feature in features)
    predicted = yield from _ask(requests, lambda _, reply: _json(reply, "value"), templates)
    return {
        feature.item: _prediction(feature, data or {}) for feature, (data, _) in zip(features, predicted, strict=True)
    }


def write_questions(
    text: Submission,
    features: Sequence[Feature],
    predictions: Mapping[str, FeaturePrediction],
    examples: Mapping[str, Sequence[AnsweredText]],
    templates: Templates,
    *,
    seed: int = 0,
) -> Step[tuple[Question, ...]]:
    """Return a question about each feature, in order; a feature whose question is unreadable twice is left out."""
    requests = []
    for feature in features:
        prediction = predictions.get(feature.item, FeaturePrediction())
        values = {"feature": _shown(feature), "predicted": prediction.value, "conversation": _conversation(text)}
        inputs = {
            "text": text.text,
            "feature": feature,
            "predicted": prediction.value,
            "examples": tuple(examples.get(feature.item, ())),
        }
        requests.append(Request(WRITER, prompts.render(templates[WRITER], values), inputs))
    written = yield from _ask(tuple(requests), _written, templates)
    questions = []
    for feature, (data, _) in zip(features, written, strict=True):
        if data is not None and isinstance(words := data["question"], str) and words.strip():
            listed = data.get("options")
            options = [str(option)[:MAX_OPTION_CHARACTERS] for option in (listed if isinstance(listed, list) else [])]
            prediction = predictions.get(feature.item, FeaturePrediction())
            questions.append(make_question(text.document_id, feature, words, options, prediction, seed=seed))
    return tuple(questions)


def prepare_questions(
    text: Submission,
    features: Sequence[Feature],
    learned: Learned,
    templates: Templates,
    *,
    k: int,
    m: int,
    min_relevant: int,
    predictors_first: bool,
    seed: int,
) -> Step[Submission]:
    """Return a text with its relevant features, predictions, and the questions to ask (possibly none).

    ``k`` features are selected and ``m`` asked. With fewer than ``min_relevant`` there are none. With
    ``predictors_first``, k predictors are selected before they run, and only these run: the variant for expensive
    predictors in footnote 3 of the paper. Source: Ma et al. 2025, figure 2 and sections 3.1 to 3.4.1.
    """
    relevant = yield from find_relevant(text, features, templates)
    items = tuple(feature.item for feature in relevant)
    if len(relevant) < min_relevant:
        return replace(text, relevant=items)
    if predictors_first:
        unknown = dict.fromkeys(items, FeaturePrediction("unknown", 0.5))
        chosen_items = {score.item for score in learned.selector.select(unknown, k)}
        relevant = tuple(feature for feature in relevant if feature.item in chosen_items)
    predictions = yield from predict(text, relevant, learned.examples, templates)
    scores = learned.selector.select(predictions, k)
    selected = tuple(score.item for score in scores)
    by_item = {feature.item: feature for feature in relevant}
    asked_features = [by_item[item] for item in most_uncertain(scores, m)]
    questions = yield from write_questions(text, asked_features, predictions, learned.examples, templates, seed=seed)
    return replace(text, relevant=items, predictions=predictions, selected=selected, questions=questions)


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    """An answer to another question of the same author; ``same`` if it is from the same conversation."""

    text: str
    question: str
    answer: str
    same: bool


def annotate(
    text: Submission,
    question: Question,
    templates: Templates,
    *,
    earlier: Sequence[EarlierAnswer] = (),
    copies: int = 1,
) -> Step[tuple[tuple[str | None, Reply], ...]]:
    """Return the option that each of ``copies`` annotators chooses, None if unreadable, with its reply.

    Source: Ma et al. 2025, appendices B.6 and C.2.
    """
    codebook = question.codebook
    shown = [asdict(answer) | {"text": prompts.delimit(answer.text, "precedent")} for answer in earlier]
    values = {
        "conversation": _conversation(text),
        "question": question.text,
        "options": question.options,
        "is_numbered": question.is_numbered,
        "examples": shown,
    }
    inputs = {"question": question, "earlier": tuple(earlier)}
    messages = prompts.render(templates[ANNOTATOR], values)
    document = Document(text.document_id, {"text": text.text})
    request = Request(ANNOTATOR, messages, inputs, form="choice", document=document, answer_only=True)

    def option(_request: Request, reply: Reply) -> str | None:
        reading = parse.read(reply.text, codebook, finish_reason=reply.finish_reason)
        label_id = reading.values.get(CHOICE_ITEM)
        return codebook.label(label_id).name if isinstance(label_id, str) else None

    return (yield from _ask((request,) * copies, option, templates))


def reply_in_chat(text: Submission, features: Sequence[Feature], templates: Templates) -> Step[Reply]:
    """Return the chat model's reply to the author's last message; one without text is asked for once more."""
    messages = prompts.render(templates[ASSISTANT], {"conversation": _conversation(text)})
    inputs = {"text": text.text, "features": tuple(features)}
    request = Request(ASSISTANT, messages, inputs)
    ((_, reply),) = yield from _ask(
        (request,), lambda _, reply: without_reasoning(reply.text).strip() or None, templates
    )
    return reply


def _conversation(text: Submission) -> str:
    """Return the conversation as prompts show it, delimited."""
    return prompts.delimit(format_conversation(text.shown))


def _predictor(text: Submission, feature: Feature, examples: Sequence[AnsweredText], templates: Templates) -> Request:
    shown = [
        {"text": prompts.delimit(example.text, "precedent"), "value": example.value}
        for example in examples[-EXAMPLES_SHOWN:]
    ]
    words = keywords(examples)
    values = {"feature": _shown(feature), "examples": shown, "keywords": words, "conversation": _conversation(text)}
    inputs = {"text": text.text, "feature": feature, "examples": tuple(examples)}
    return Request(PREDICTOR, prompts.render(templates[PREDICTOR], values), inputs, item=feature.item)


def _shown(feature: Feature) -> dict[str, Any]:
    return {
        "name": feature.name,
        "description": feature.description,
        "open": feature.open,
        "suggestions": feature.suggestions,
        "answers": tuple(feature.values),
        "is_scale": feature.is_scale,
    }


def _ask(
    requests: tuple[Request, ...], read: Callable[[Request, Reply], T | None], templates: Templates
) -> Step[tuple[tuple[T | None, Reply], ...]]:
    """Return what ``read`` finds in each reply, and the reply; one that cannot be read is asked for once more."""

    def problem(request: Request, reply: Reply) -> str:
        is_done = reply.error is not None or read(request, reply) is not None
        return "" if is_done else "it is not in the form that was asked for"

    replies = yield from ask_with_retry(requests, problem, templates[prompts.REASK])
    return tuple((read(*pair), pair[1]) for pair in zip(requests, replies, strict=True))


def _prediction(feature: Feature, data: Mapping[str, Any]) -> FeaturePrediction:
    """Return the prediction in the JSON of a reply. A value outside the fixed ones is never mapped to a near one."""
    value = data.get("value")
    certainty = data.get("certainty")
    if isinstance(value, float):
        value = as_rating(value)
    if isinstance(value, bool | int | float):
        value = str(value)
    if not isinstance(value, str) or not normalise(value):
        return FeaturePrediction()
    text = " ".join(value.split())[:MAX_OPTION_CHARACTERS]
    if not feature.open:
        fixed_value = next((option for option in feature.values if normalise(option) == normalise(text)), None)
        if fixed_value is None:
            return FeaturePrediction()
        text = fixed_value
    if isinstance(certainty, str) and (match := _PERCENT.fullmatch(certainty)):
        certainty = float(match[1]) if "." in match[1] else int(match[1])
    share = float(certainty) if isinstance(certainty, int | float) and not isinstance(certainty, bool) else 50.0
    share = share if isinstance(certainty, float) and share <= 1 else share / 100  # 0.8 is 80 percent
    return FeaturePrediction(text, min(1.0, max(0.0, share)))


def _relevant(_request: Request, reply: Reply) -> tuple[int, ...] | None:
    data = _json(reply, "relevant")
    numbers = data["relevant"] if data else None
    if isinstance(numbers, list) and all(isinstance(n, int) and not isinstance(n, bool) for n in numbers):
        return tuple(numbers)
    return None


def _written(request: Request, reply: Reply) -> dict[str, Any] | None:
    """Return the question in a reply; None without one, and if a new option is anything but text or a number."""
    data = _json(reply, "question")
    options = data.get("options") if data and request.inputs["feature"].open == "options" else None
    if isinstance(options, list) and not all(isinstance(option, str | int | float) for option in options):
        return None
    return data


def _json(reply: Reply, key: str) -> dict[str, Any] | None:
    """Return the last JSON object with ``key`` in a reply, None without one or in a reply that was cut."""
    return None if reply.finish_reason == "length" else last_json(without_reasoning(reply.text), key)
