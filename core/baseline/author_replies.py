"""Author labelling by the built-in model: predictions from words and earlier answers, plain questions, no conversation.

Features with fixed values are predicted by the classifier, trained on the feature's own answers; it starts from the
words of the codebook. An open feature is predicted from the answers that its label names and that authors gave: the
one whose own words, or the texts that it was given for, share most character n-grams with the text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson

from core.author_labelling.questions import Feature, FeaturePrediction, Question
from core.author_labelling.requests import ANNOTATOR, ASSISTANT, FILTER, PREDICTOR, WRITER, EarlierAnswer
from core.author_labelling.selection import AnsweredText
from core.baseline.evidence import example, find_evidence
from core.baseline.lexicon import lexicon_of
from core.classifier.classifier import Task, train
from core.classifier.text_similarity import TextSpace
from core.codebook import Codebook, normalise
from core.debate.turns import Request

MAX_EXAMPLES = 200
"""Latest answers that the built-in predictor learns from."""
NAMED_BONUS = 0.2
"""Added to the similarity of an answer that the codebook names, as it fits more texts."""
CHAT_NOTICE = (
    "This is Moot's built-in word-list model, not a language model: it cannot hold a conversation. {found}"
    "Write on, or choose a language model in the settings of this page."
)


def write_reply(request: Request, codebook: Codebook) -> str | None:
    """Return the reply to a request of author labelling; None for other requests."""
    inputs = request.inputs
    text, feature, question = str(inputs.get("text", "")), inputs.get("feature"), inputs.get("question")
    features, examples = inputs.get("features", ()), inputs.get("examples", ())
    relevant = [n for n, feature in enumerate(features, 1) if _is_relevant(feature, codebook, text)]
    if request.role == ANNOTATOR and isinstance(question, Question) and request.document is not None:
        position = _choose(question, request.document.text, inputs.get("earlier", ()))
        return f"The label is {position + 1 if question.is_numbered else question.options[position]}"
    if request.role == ASSISTANT:
        names = [features[n - 1].name for n in relevant if features[n - 1].values]
        return CHAT_NOTICE.format(found=f"It found words about {', '.join(names)}. " if names else "")
    if request.role == FILTER:
        reply: dict[str, Any] = {"relevant": relevant}
    elif request.role == PREDICTOR and isinstance(feature, Feature):
        prediction = predict(feature, codebook, text, examples)
        reply = {"value": prediction.value, "certainty": round(100 * prediction.certainty, 4)}
    elif request.role == WRITER and isinstance(feature, Feature):
        reply = {
            "question": _question(feature),
            "options": [] if feature.values else [*_scores(feature, text, examples)],
        }
    else:
        return None
    return orjson.dumps(reply).decode()


def predict(feature: Feature, codebook: Codebook, text: str, examples: Sequence[AnsweredText]) -> FeaturePrediction:
    """Return the built-in prediction of a feature of ``codebook`` for a text."""
    examples = examples[-MAX_EXAMPLES:]
    if not feature.values:
        scores = _scores(feature, text, examples)
        if not scores:
            return FeaturePrediction()
        return FeaturePrediction(next(iter(scores)), max(scores.values()) / sum(scores.values()))
    part = codebook if codebook.kind == "choice" else codebook.narrowed(feature.item)
    task, values = Task.from_codebook(part), list(feature.values)
    if part.kind == "multilabel":
        values.reverse()  # a feature lists Yes before No, a task absence before presence
    known = [instance for instance in examples if instance.value in values]
    grid = np.array([values.index(instance.value) for instance in known], float).reshape(-1, 1) + task.values(0)[0]
    trained = train(task, [example(part, instance.text) for instance in known], grid)
    predicted = trained.predict([example(part, text)])
    value = values[int(predicted.values[0, 0] - task.values(0)[0])]
    return FeaturePrediction(value, float(predicted.certainty[0, 0]))


def _is_relevant(feature: Feature, codebook: Codebook, text: str) -> bool:
    """Return True for an open feature and for one with several values, which every text has, else by the words."""
    if feature.open or codebook.kind != "multilabel":
        return True
    lexicon = lexicon_of(codebook.narrowed(feature.item))
    return 0 not in lexicon.usable or bool(find_evidence(lexicon, text).hits[0])


def _scores(feature: Feature, text: str, examples: Sequence[AnsweredText]) -> Mapping[str, float]:
    """Return the scores (above 0) of the known answers to an open feature, the best first."""
    answers = {normalise(answer): answer for answer in (*(example.value for example in examples), *feature.suggestions)}
    sources = [*answers.items(), *((normalise(example.value), example.text) for example in examples)]
    similarities = TextSpace([source for _, source in sources]).similarities([text])[0] if sources else ()
    best = dict.fromkeys(answers, 1e-3)
    for (key, _), similarity in zip(sources, similarities, strict=True):
        best[key] = max(best[key], float(similarity))
    scores = {answer: best[key] + NAMED_BONUS * (answer in feature.suggestions) for key, answer in answers.items()}
    return dict(sorted(scores.items(), key=lambda pair: -pair[1]))


def _question(feature: Feature) -> str:
    points = list(feature.values)
    scale = f" {points[0]} is the lowest, {points[-1]} the highest." if feature.is_scale else ""
    if feature.description.rstrip().endswith("?"):
        return f"{feature.description}{scale}"
    first = feature.description.split(". ")[0].rstrip(".")
    detail = f" ({first})" if first else ""
    if set(feature.values) == {"Yes", "No"}:
        return f"Does “{feature.name}” apply to what you wrote?{detail}"
    return f"What fits your text best: {feature.name}?{detail}{scale}"


def _choose(question: Question, text: str, earlier: Sequence[EarlierAnswer]) -> int:
    """Return the position of the option that shares most with the text and with the author's earlier answers."""
    space = TextSpace(list(question.options))
    scores = space.similarities([text])[0] + np.array(find_evidence(lexicon_of(question.codebook), text).scores)
    if earlier:
        earlier_questions = TextSpace([f"{previous.question} {previous.text}" for previous in earlier])
        similar = earlier_questions.similarities([f"{question.text} {text}"])[0]
        scores += 2 * similar @ space.similarities([previous.answer for previous in earlier])
    return int(np.argmax(scores))
