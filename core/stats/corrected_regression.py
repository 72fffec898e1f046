"""Regression on labels of a model, corrected by the reviewed documents.

Verdicts are known for all documents, human labels for the reviewed ones. The coefficients solve

    lambda * sum over all of m(model) + sum over reviewed of w * (m(human) - lambda * m(model)) = 0

where m is the score of a document (x times the residual), and w the number of documents that a reviewed one stands for
(``core.stats.sampling.WeightedSample``). Errors of the model therefore do not bias the coefficients, whether its labels
are the outcome or predictors. Lambda, 0 to 1, weighs the verdicts and is chosen for the narrowest intervals. Sources:
Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023, *Prediction-powered inference*, Science 382; Angelopoulos, Duchi
and Zrnic 2023, *PPI++*, section 6, for lambda; Egami, Hinck, Stewart and Wei 2023, *Using imperfect surrogates for
downstream inference: design-based supervised learning*, NeurIPS, for known selection probabilities. Deviations: one
system of equations also for linear models, all documents in the first sum (the papers leave out the reviewed ones), and
lambda minimises the sum of variances relative to those of the reviewed documents alone.

Intervals are for the process behind the documents, as is usual for regressions. Their variance has two parts: that of
the selection (from the random draws, with half an error more than was observed, as in ``sampling``), and that of the
documents themselves, in which documents of one group may depend on each other. It does not assume that the model holds
or that residuals have equal variance (sandwich estimator: White 1980, Econometrica 48; Liang and Zeger 1986, Biometrika
73).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from core.stats.arrays import TINY, Codes, Numbers
from core.stats.intervals import Estimate, Interval, t_quantile
from core.stats.sampling import MIN_DRAWS, WeightedSample

Family: TypeAlias = Literal["linear", "logistic"]
_ROUNDS = 100
_HALVINGS = 20
_TOLERANCE = 1e-9
_TINY = 1e-300
_MAX_PREDICTOR = 30.0
"""Largest linear predictor of a logistic regression; beyond it a coefficient has no finite value."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The values of documents: ``outcome`` is ``[document]``, ``predictors`` ``[document, coefficient]``.

    The intercept is a column of ones. A row of zeros is left out.
    """

    outcome: Numbers
    predictors: Numbers

    def take(self, rows: Codes) -> Rows:
        """Return these documents."""
        return Rows(self.outcome[rows], self.predictors[rows])


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient: the corrected estimate with its standard error, and the one from the verdicts alone."""

    estimate: Estimate
    error: float
    p: float | None
    """Two-sided, of the hypothesis that the coefficient is 0. None without a spread, as in a perfect fit."""
    naive: Estimate


@dataclass(frozen=True, slots=True)
class Regression:
    """Coefficients in the order of the predictors.

    ``tuning`` is lambda. Of the ``documents`` used, ``reviewed`` were reviewed and ``drawn`` drawn at random.
    """

    coefficients: tuple[Coefficient, ...]
    tuning: float
    documents: int
    reviewed: int
    drawn: int


def regression(
    family: Family,
    all_rows: Rows,
    human: Rows,
    wrong: Rows,
    reviewed: Codes,
    sample: WeightedSample,
    *,
    groups: Codes | None = None,
    tuning: float | None = None,
) -> Regression:
    """Return the corrected coefficients of a linear or logistic regression.

    ``all_rows`` holds the values of all documents with the labels of the model, ``wrong`` the same with every label
    changed (it says how much an error that was not observed may matter). ``human`` holds the ``reviewed`` rows with the
    labels of people, in the order of ``sample``. ``groups`` is ``[document]``: equal codes mark dependent documents.
    ``tuning`` is lambda, None to choose it. ValueError with too few random draws, collinear predictors, or an outcome
    that the predictors separate.
    """
    count, columns = all_rows.predictors.shape
    if np.linalg.matrix_rank(all_rows.predictors) < columns:
        raise ValueError("the predictors are collinear")
    if not sample.complete and sample.drawn < columns + MIN_DRAWS:
        raise ValueError(f"{columns + MIN_DRAWS} random draws are needed")
    data = _Equations(family, all_rows, human, reviewed, sample, groups)
    if tuning is None:
        tuning = 0.0 if sample.complete else data.tuning(data.solve(1.0))
    # The verdicts alone are the case in which all documents are reviewed and the labels of people are the model's.
    alone = _Equations(family, all_rows, all_rows, np.arange(count), WeightedSample(np.zeros(count), count), groups)
    units = len(np.unique(groups)) if groups is not None else count
    corrected = data.estimates(tuning, wrong, units if sample.complete else min(units, sample.drawn))
    naive = alone.estimates(0.0, wrong, units)
    return Regression(
        tuple(Coefficient(*values, uncorrected) for values, (uncorrected, *_) in zip(corrected, naive, strict=True)),
        tuning,
        int(np.any(all_rows.predictors != 0, axis=1).sum()),
        int(np.any(human.predictors != 0, axis=1).sum()),
        sample.drawn,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Equations:
    """The equations of the coefficients: documents with their values by the model, and by people if reviewed."""

    family: Family
    all_rows: Rows
    human: Rows
    reviewed: Codes
    sample: WeightedSample
    groups: Codes | None

    @property
    def model(self) -> Rows:
        """The values of the reviewed documents with the labels of the model."""
        return self.all_rows.take(self.reviewed)

    def fitted(self, rows: Rows, beta: Numbers) -> tuple[Numbers, Numbers]:
        """Return the expected outcomes and their derivatives."""
        linear = rows.predictors @ beta
        if self.family == "linear":
            return linear, np.ones_like(linear)
        share: Numbers = 1 / (1 + np.exp(-np.clip(linear, -_MAX_PREDICTOR, _MAX_PREDICTOR)))
        return share, share * (1 - share)

    def scores(self, rows: Rows, beta: Numbers) -> Numbers:
        """Return the score of each document, ``[document, coefficient]``."""
        return np.asarray(rows.predictors * (rows.outcome - self.fitted(rows, beta)[0])[:, None])

    def parts(self, tuning: float) -> list[tuple[Rows, Numbers]]:
        """Return the rows whose weighted scores sum to 0, with their weights."""
        weights = self.sample.weights
        every = np.full(len(self.all_rows.outcome), tuning)
        return [(self.all_rows, every), (self.human, weights), (self.model, -tuning * weights)]

    def curvature(self, beta: Numbers, tuning: float) -> Numbers:
        """Return the mean of the derivatives of the weighted scores, with the sign changed."""
        terms = [
            rows.predictors.T * (weights * self.fitted(rows, beta)[1]) @ rows.predictors
            for rows, weights in self.parts(tuning)
        ]
        return np.asarray(np.sum(terms, axis=0) / len(self.all_rows.outcome))

    def solve(self, tuning: float) -> Numbers:
        """Return the coefficients for this lambda, by Newton's method with shorter steps where needed."""
        beta = np.zeros(self.all_rows.predictors.shape[1])

        def score(coefficients: Numbers) -> Numbers:
            terms = [weights @ self.scores(rows, coefficients) for rows, weights in self.parts(tuning)]
            return np.asarray(np.sum(terms, axis=0) / len(self.all_rows.outcome))

        now = score(beta)
        for _ in range(_ROUNDS):
            if np.abs(now).max() < _TOLERANCE:
                return beta
            step = np.linalg.lstsq(self.curvature(beta, tuning), now, rcond=None)[0]
            for _ in range(_HALVINGS):
                if np.linalg.norm(score(beta + step)) < np.linalg.norm(now):
                    break
                step = step / 2
            beta = beta + step
            now = score(beta)
            if self.family == "logistic" and np.abs(self.all_rows.predictors @ beta).max() >= _MAX_PREDICTOR:
                break
        raise ValueError("the regression has no finite solution")

    def tuning(self, beta: Numbers) -> float:
        """Return lambda with the smallest sum of relative variances, from 0 to 1."""
        inverse = np.linalg.pinv(self.curvature(beta, 1.0))
        y, f = (self.sample.estimates(self.scores(rows, beta) @ inverse) for rows in (self.human, self.model))
        y, f = y - y.mean(axis=0), f - f.mean(axis=0)
        alone = np.maximum((y**2).sum(axis=0), _TINY)
        against = float(((f**2).sum(axis=0) / alone).sum())
        return float(np.clip(((y * f).sum(axis=0) / alone).sum() / against, 0.0, 1.0)) if against > 0 else 0.0

    def covariance(self, beta: Numbers, tuning: float, wrong: Rows) -> Numbers:
        """Return the covariance of the coefficients: that of the documents and that of the selection."""
        inverse = np.linalg.pinv(self.curvature(beta, tuning))
        human, model = self.scores(self.human, beta) @ inverse, self.scores(self.model, beta) @ inverse
        every, weights = self.scores(self.all_rows, beta) @ inverse, self.sample.weights
        corrected = tuning * every
        corrected[self.reviewed] += weights[:, None] * (human - tuning * model)
        covariance = human.T * weights @ human
        if self.groups is not None:  # products of different documents of a group
            _, codes = np.unique(self.groups, return_inverse=True)
            sums = np.zeros((int(codes.max()) + 1, len(beta)))
            np.add.at(sums, codes, corrected)
            covariance = covariance + sums.T @ sums - corrected.T @ corrected
        covariance = covariance / len(every) ** 2
        if not self.sample.complete:
            deviations = self.sample.estimates(human - tuning * model)
            deviations = deviations - deviations.mean(axis=0)
            error = self.scores(wrong, beta) @ inverse - every
            unseen = 0.5 * self.sample.share_per_draw**2 * (error.T @ error) / len(error)
            covariance = covariance + (deviations.T @ deviations + unseen) / (len(deviations) * (len(deviations) - 1))
        return np.asarray(covariance)

    def estimates(self, tuning: float, wrong: Rows, units: int) -> list[tuple[Estimate, float, float | None]]:
        """Return each coefficient with its interval, standard error and p.

        Without a spread the standard error is 0, and there is neither an interval nor a p.
        """
        from scipy.special import stdtr

        beta = self.solve(tuning)
        freedom = max(1, units - len(beta))
        quantile = t_quantile(freedom)
        errors = np.sqrt(np.maximum(np.diagonal(self.covariance(beta, tuning, wrong)), 0.0))
        estimates: list[tuple[Estimate, float, float | None]] = []
        for value, error in zip(beta.tolist(), errors.tolist(), strict=True):
            if error <= TINY * max(1.0, np.abs(beta).max()):  # a spread of rounding errors only
                estimates.append((Estimate(value), 0.0, None))
                continue
            interval = Interval(value - quantile * error, value + quantile * error)
            estimates.append((Estimate(value, interval), error, 2 * float(stdtr(freedom, -abs(value) / error))))
        return estimates
