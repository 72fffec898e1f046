"""Selection of texts and questions, and what is learned from answers; all state is replayed from the log.

The selector maps the predicted values of the features to a relevance score s and an uncertainty sigma > 0 each
(Ma et al. 2025, section 3.2, equation 2). The k features with the highest s are passed on; of these, the m with the
highest sigma are asked. The paper does not publish its selector. Here both are linear in one number per feature:

- s = w0 + w1 * strength, with ``strength`` the certainty of a value with content, 0 for "No";
- sigma = 1 / (1 + exp(-(u0 + u1 * (1 - certainty)))), the expected loss of the prediction.

Both are trained online by gradient steps. An author's answer moves only u of the feature that was asked, towards its
loss (section 3.4.1). A reaction to a recommendation moves only w of the features that chose it; the gradient stops
there and reaches neither the predictors nor sigma (section 3.4.2). An abstention changes neither, and is counted.

A predictor learns from the answers to its own feature: as examples, and as keywords of each value. Section 3.4.1 leaves
the update of a predictor open; section 4 combines in-context learning, as here, with automated prompt engineering and
fine-tuning, which are not implemented.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from core.author_labelling.questions import (
    AUTHOR,
    MAX_ASKED,
    NO,
    Answer,
    Entry,
    FeaturePrediction,
    Impression,
    Question,
    Reaction,
    Submission,
    loss,
)
from core.author_labelling.screening import spam_authors
from core.codebook import normalise
from core.stats.error_analysis import MIN_Z, cues

LEARNING_RATE = 0.5
"""Step of the gradient. Constant, because predictors change while they learn."""
MAX_KEYWORDS = 6
"""Most keywords of an answer."""
MINED_EXAMPLES = 500
"""Latest answers to a feature that keywords are taken from."""
MIN_SIGMA = 0.01
"""Uncertainty is never zero, so every feature can be asked again."""
SELECTOR, KEYWORDS = "selector", "keywords"
"""The two arms of recommendations: by the selected features, and the baseline by keywords."""


def strength(prediction: FeaturePrediction) -> float:
    """Return the strength of a predicted value, 0 to 1: its certainty, and 0 for none and for "No"."""
    return prediction.certainty if prediction.value not in (None, NO) else 0.0


@dataclass(frozen=True, slots=True)
class Weights:
    """The selector's parameters for one feature: ``relevance`` (w0, w1) and ``uncertainty`` (u0, u1)."""

    relevance: tuple[float, float] = (0.0, 1.0)
    uncertainty: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Score:
    """Relevance score and uncertainty (above 0, up to 1) of one feature for one text."""

    item: str
    relevance: float
    uncertainty: float


@dataclass(frozen=True, slots=True)
class Selector:
    """The feature selector: parameters by feature, all equal at the start."""

    weights: Mapping[str, Weights] = field(default_factory=dict)

    def score(self, item: str, prediction: FeaturePrediction) -> Score:
        """Return the scores of a feature for its predicted value."""
        weights = self.weights.get(item, Weights())
        relevance = weights.relevance[0] + weights.relevance[1] * strength(prediction)
        doubt = weights.uncertainty[0] + weights.uncertainty[1] * (1 - prediction.certainty)
        return Score(item, relevance, max(MIN_SIGMA, _sigmoid(doubt)))

    def select(self, predictions: Mapping[str, FeaturePrediction], k: int) -> tuple[Score, ...]:
        """Return the scores of the k most relevant features, the most relevant first; ties in the given order."""
        scores = [self.score(item, prediction) for item, prediction in predictions.items()]
        return tuple(sorted(scores, key=lambda score: -score.relevance)[: max(0, k)])

    def learn_uncertainty(self, item: str, prediction: FeaturePrediction, loss: float) -> Selector:
        """Return the selector after an answer: one step of sigma of this feature towards the loss (0 to 1)."""
        weights = self.weights.get(item, Weights())
        step = LEARNING_RATE * (loss - self.score(item, prediction).uncertainty)
        u0, u1 = weights.uncertainty
        return self._with(item, replace(weights, uncertainty=(u0 + step, u1 + step * (1 - prediction.certainty))))

    def learn_relevance(
        self, predictions: Mapping[str, FeaturePrediction], matches: Sequence[str], success: bool
    ) -> Selector:
        """Return the selector after a reaction to an entry that was chosen by the features ``matches``.

        One step of logistic regression on the mean relevance of these features. Nothing else changes.
        """
        if not matches:
            return self
        scores = [self.score(item, predictions.get(item, FeaturePrediction())).relevance for item in matches]
        step = LEARNING_RATE * (success - _sigmoid(sum(scores) / len(scores))) / len(matches)
        selector = self
        for item in matches:
            weights = selector.weights.get(item, Weights())
            w0, w1 = weights.relevance
            gain = step * strength(predictions.get(item, FeaturePrediction()))
            selector = selector._with(item, replace(weights, relevance=(w0 + step, w1 + gain)))
        return selector

    def _with(self, item: str, weights: Weights) -> Selector:
        return Selector({**self.weights, item: weights})


def most_uncertain(scores: Sequence[Score], m: int = MAX_ASKED) -> tuple[str, ...]:
    """Return the items of the m most uncertain features, the most uncertain first; at most ``MAX_ASKED``."""
    ranked = sorted(scores, key=lambda score: -score.uncertainty)
    return tuple(score.item for score in ranked[: max(0, min(m, MAX_ASKED))])


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


# -- replay of the log


@dataclass(frozen=True, slots=True)
class AnsweredText:
    """An answered text, from which the predictor of its feature learns."""

    text: str
    value: str


def keywords(examples: Sequence[AnsweredText], limit: int = MAX_KEYWORDS) -> dict[str, tuple[str, ...]]:
    """Return the words that separate texts with an answer from those with other answers, by answer, strongest first.

    Answers without such words are left out; with one answer alone there are none.
    """
    texts: dict[str, list[str]] = {}
    spelling: dict[str, str] = {}
    for example in examples[-MINED_EXAMPLES:]:
        texts.setdefault(normalise(example.value), []).append(example.text)
        spelling.setdefault(normalise(example.value), example.value)
    words_by_value = {}
    for value, texts_of_value in texts.items() if len(texts) > 1 else ():
        other_texts = [text for other, group in texts.items() if other != value for text in group]
        if words := tuple(cue.word for cue in cues(texts_of_value, other_texts, limit, min_z=MIN_Z)):
            words_by_value[spelling[value]] = words
    return words_by_value


@dataclass(frozen=True, slots=True)
class AnswerEffect:
    """The effect of one answer on the uncertainty of its feature, for the same predicted value."""

    answer: Answer
    question: Question
    before: float
    after: float
    loss: float | None
    """None for an abstention, a skipped question and an answer of a spam author, which change nothing."""


@dataclass(frozen=True, slots=True)
class Learned:
    """Everything learned from a log: the selector, the examples of each predictor, and the effects of the answers."""

    selector: Selector
    examples: Mapping[str, Sequence[AnsweredText]]
    """By the item of the feature."""
    effects: Mapping[str, AnswerEffect]
    """By the id of the question."""

    @property
    def answered(self) -> int:
        """Number of answers by authors that name a value."""
        return sum(effect.loss is not None for effect in self.effects.values())


def replay(
    log: Sequence[Entry],
    choice_now: Callable[[Submission, Question, Answer], str | None] = lambda _source, _question, answer: answer.choice,
) -> Learned:
    """Return what a log teaches. Pure and deterministic: the same entries give the same result.

    ``choice_now`` returns the present name of the option that an answer chose, None for an answer that teaches its
    predictor nothing.

    Answers by annotators who did not write the text, and everything by spam authors, teach nothing. Only the first
    answer to a question counts. An impression of the selector's arm without a click counts as a failure when its author
    writes the next text.
    """
    spammers = spam_authors(log)
    submissions: dict[str, Submission] = {}
    questions: dict[str, Question] = {}
    pending: dict[str, Impression] = {}
    shown: dict[str, Impression] = {}
    selector = Selector()
    examples: dict[str, list[AnsweredText]] = {}
    effects: dict[str, AnswerEffect] = {}

    def react(impression: Impression, *, success: bool) -> None:
        nonlocal selector
        source = submissions.get(impression.document_id)
        if source is not None and impression.arm == SELECTOR:
            selector = selector.learn_relevance(source.predictions, impression.matches, success)

    for entry in log:
        match entry:
            case Submission():
                if (earlier := pending.pop(entry.author, None)) is not None:
                    react(earlier, success=False)
                submissions[entry.document_id] = entry
                questions.update((question.id, question) for question in entry.questions)
            case Answer(question_id=id) if entry.group == AUTHOR and id in questions and id not in effects:
                question = questions[id]
                source = submissions[question.document_id]
                is_spam = source.author in spammers
                answer_loss = None if is_spam else loss(question, entry)
                prediction = source.predictions.get(question.item, FeaturePrediction())
                selector, effects[id] = _learn_from(selector, entry, question, prediction, answer_loss)
                if not is_spam and (choice := choice_now(source, question, entry)) is not None:
                    examples.setdefault(question.item, []).append(AnsweredText(source.text, choice))
            case Impression() if entry.author not in spammers:
                pending[entry.author] = shown[entry.document_id] = entry
            case Reaction() if (impression := shown.get(entry.document_id)) is not None:
                if pending.get(entry.author) is impression:
                    del pending[entry.author]
                react(impression, success=entry.helpful is not False)
    return Learned(selector, examples, effects)


def _learn_from(
    selector: Selector, answer: Answer, question: Question, prediction: FeaturePrediction, loss: float | None
) -> tuple[Selector, AnswerEffect]:
    """Return the selector after an answer, and the effect of the answer on it: none without a loss."""
    before = after = selector.score(question.item, prediction).uncertainty
    if loss is not None:
        selector = selector.learn_uncertainty(question.item, prediction, loss)
        after = selector.score(question.item, prediction).uncertainty
    return selector, AnswerEffect(answer, question, before, after, loss)
