"""Author labelling by the built-in model: predictions from words and earlier answers, plain questions, no conversation.

Features with fixed values are predicted by the classifier, trained on the feature's own answers; it starts from the
words of the codebook. An open feature is predicted from the answers that its label names and that authors gave: the
one whose own words, or the texts that it was given for, share most character n-grams with the text, and whose learned
keywords occur in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import orjson

from core.authors.questions import Feature, Prediction, Question
from core.authors.requests import ANNOTATOR, ASSISTANT, FILTER, PREDICTOR, WRITER, EarlierAnswer
from core.authors.selection import Example, keywords
from core.baseline.evidence import example, find_evidence
from core.baseline.lexicon import lexicon_of
from core.classifier.classifier import Task, train
from core.classifier.text_similarity import TextSpace
from core.codebook import Codebook, normalise
from core.debate.turns import Request

MAX_EXAMPLES = 200
"""Latest answers that the built-in predictor learns from."""
NAMED_BONUS = 0.15
"""Score of an answer that the codebook names: it fits more texts than an answer that was made for one."""
OWN_WEIGHT = 0.5
"""Weight of the words of an answer itself against the texts that it was given for."""
KEYWORD_BONUS = 0.2
"""Score of an answer with a learned keyword in the text."""
_WORD = re.compile(r"[^\W\d_]+")
CHAT_NOTICE = (
    "This is Moot's built-in word-list model, not a language model: it cannot hold a conversation. {found}"
    "Write on, or choose a language model in the settings of this page."
)


def write_reply(request: Request, codebook: Codebook) -> str | None:
    """Return the reply to a request of author labelling; None for other requests."""
    inputs = request.inputs
    text, feature, question = str(inputs.get("text", "")), inputs.get("feature"), inputs.get("question")
    features, examples = inputs.get("features", ()), inputs.get("examples", ())
    if request.role == FILTER:
        numbers = [n for n, feature in enumerate(features, 1) if _is_relevant(feature, codebook, text)]
        reply: dict[str, object] = {"relevant": numbers}
    elif request.role == PREDICTOR and isinstance(feature, Feature):
        prediction = predict(feature, codebook, text, examples)
        reply = {"value": prediction.value, "certainty": round(100 * prediction.certainty, 4)}
    elif request.role == WRITER and isinstance(feature, Feature):
        options = [] if feature.values else [value for value, _ in _ranked(feature, text, examples)]
        reply = {"question": _question(feature), "options": options}
    elif request.role == ANNOTATOR and isinstance(question, Question) and request.document is not None:
        position = _choose(question, request.document.text, inputs.get("earlier", ()))
        return f"The label is {position + 1 if question.is_numbered else question.options[position]}"
    elif request.role == ASSISTANT:
        names = [feature.name for feature in features if feature.values and _is_relevant(feature, codebook, text)]
        return CHAT_NOTICE.format(found=f"It found words about {', '.join(names)}. " if names else "")
    else:
        return None
    return orjson.dumps(reply).decode()


def predict(feature: Feature, codebook: Codebook, text: str, examples: Sequence[Example]) -> Prediction:
    """Return the built-in prediction of a feature of ``codebook`` for a text."""
    examples = examples[-MAX_EXAMPLES:]
    if not feature.values:
        ranked = _ranked(feature, text, examples)
        return Prediction(ranked[0][0], ranked[0][1] / sum(score for _, score in ranked)) if ranked else Prediction()
    feature_codebook = codebook if codebook.kind == "choice" else codebook.only(feature.item)
    task = Task.of(feature_codebook)
    values = list(feature.values)
    instances = [instance for instance in examples if instance.value in values]
    # A multilabel feature lists Yes before No, a task absence before presence.
    ordered = reversed(values) if feature_codebook.kind == "multilabel" else values
    codes = {value: float(code) for value, code in zip(ordered, task.values(0), strict=True)}
    grid = np.array([[codes[instance.value]] for instance in instances]).reshape(len(instances), 1)
    predicted = train(task, [example(feature_codebook, instance.text) for instance in instances], grid).predict(
        [example(feature_codebook, text)]
    )
    value, certainty = float(predicted.values[0, 0]), float(predicted.certainty[0, 0])
    return Prediction(next(answer for answer, code in codes.items() if code == value), certainty)


def _is_relevant(feature: Feature, codebook: Codebook, text: str) -> bool:
    """Return True for an open feature and for one with several values, which every text has, else by the words."""
    if feature.open or codebook.kind != "multilabel":
        return True
    lexicon = lexicon_of(codebook.only(feature.item))
    return not lexicon.usable[0] or bool(find_evidence(lexicon, text).hits[0])


def _ranked(feature: Feature, text: str, examples: Sequence[Example]) -> list[tuple[str, float]]:
    """Return the known answers to an open feature with their scores (above 0), the best first."""
    answers: dict[str, str] = {normalise(suggestion): suggestion for suggestion in feature.suggestions}
    texts_by_answer: dict[str, list[str]] = {key: [] for key in answers}
    for instance in examples:
        answers.setdefault(normalise(instance.value), instance.value)
        texts_by_answer.setdefault(normalise(instance.value), []).append(instance.text)
    if not answers:
        return []
    suggested = set(map(normalise, feature.suggestions))
    texts = [*answers.values(), *(source for sources in texts_by_answer.values() for source in sources)]
    alike = dict(zip(texts, TextSpace(texts).similarities([text])[0].tolist(), strict=True))
    scores = {
        key: OWN_WEIGHT * alike[answer]
        + NAMED_BONUS * (key in suggested)
        + max((alike[source] for source in texts_by_answer[key]), default=0)
        for key, answer in answers.items()
    }
    words = f" {' '.join(_WORD.findall(text.casefold()))} "
    for value, learned in keywords(examples).items():
        scores[normalise(value)] += KEYWORD_BONUS * any(f" {word} " in words for word in learned)
    return [(answers[key], scores[key] + 1e-3) for key in sorted(answers, key=lambda key: -scores[key])]


def _question(feature: Feature) -> str:
    if feature.description.rstrip().endswith("?"):
        return feature.description
    first = feature.description.split(". ")[0].rstrip(".")
    detail = f" ({first})" if first else ""
    if feature.values and set(feature.values) == {"Yes", "No"}:
        return f"Does “{feature.name}” apply to what you wrote?{detail}"
    return f"What fits your text best: {feature.name}?{detail}"


def _choose(question: Question, text: str, earlier: Sequence[EarlierAnswer]) -> int:
    """Return the position of the option that shares most with the text and with the author's earlier answers."""
    options = list(question.options)
    scores = TextSpace(options).similarities([text])[0]
    scores = scores + np.array(find_evidence(lexicon_of(question.codebook), text).scores)
    if earlier:
        space = TextSpace([f"{previous.question} {previous.text}" for previous in earlier])
        similarity = space.similarities([f"{question.text} {text}"])[0]
        answers = TextSpace(options).similarities([previous.answer for previous in earlier])
        scores = scores + (answers * similarity[:, None]).sum(axis=0) * 2
    return int(np.argmax(scores))
