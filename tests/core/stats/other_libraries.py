"""Data for reference figures of libraries that are too large to install for the tests (numba, torch).

``python -m tests.core.stats.other_libraries`` prints them in an environment with numpy, scipy, ppi-python and mapie.
The tests contain the figures of ppi-python 0.2.3 and mapie 1.6.0.
"""

from __future__ import annotations

import numpy as np

Numbers = np.ndarray
DOCUMENTS, REVIEWED = 4000, 300
CERTAINTY = np.repeat([0.95, 0.9, 0.8, 0.7, 0.6], 120)
WRONG = np.concatenate([np.arange(120) < errors for errors in (1, 3, 8, 13, 25)]).astype(float)
"""Number of wrong verdicts of 120 reviewed ones by certainty."""
THRESHOLDS = (0.95, 0.9, 0.8, 0.7, 0.6)
BOUND = 0.1


def documents() -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Return a predictor, human labels, model labels and the review order, as fractional parts of multiples."""
    from scipy.special import ndtri

    place = np.arange(1, DOCUMENTS + 1)
    first, second, third, fourth = (place * np.sqrt(prime) % 1 for prime in (2, 3, 5, 7))
    x = ndtri(first)
    human = (second < 1 / (1 + np.exp(0.5 - x))).astype(float)
    model = np.where(third < np.where(x > 0, 0.25, 0.08), 1 - human, human)
    return x, human, model, np.argsort(fourth, kind="stable")[:REVIEWED]


def random_weights() -> Numbers:
    """Return the weights of ``WeightedSample`` for equal probabilities: (N + n - 2 t + 1) / n for document t."""
    return (DOCUMENTS + REVIEWED - 2 * np.arange(1, REVIEWED + 1) + 1) / REVIEWED


def main() -> None:
    """Print all figures."""
    import ppi_py
    from mapie.risk_control.fwer_control import control_fwer
    from mapie.risk_control.methods import compute_hoeffding_bentkus_p_value
    from scipy.stats import binom

    x, human, model, order = documents()
    rest = np.setdiff1d(np.arange(DOCUMENTS), order)
    X = np.column_stack([np.ones(DOCUMENTS), x])
    labelled = (X[order], human[order], model[order])
    exact = {"ftol": 1e-16, "gtol": 1e-12}
    w = random_weights()
    for tuning in (1.0, 0.5):
        everything = (*labelled, X, model)
        print("mean", tuning, ppi_py.ppi_mean_pointestimate(human[order], model[order], model, lam=tuning, w=w))
        print(
            "logistic",
            tuning,
            ppi_py.ppi_logistic_pointestimate(*everything, lam=tuning, w=w, optimizer_options=exact),
        )
    split = (*labelled, X[rest], model[rest])
    print("mean interval", ppi_py.ppi_mean_ci(human[order], model[order], model[rest], alpha=0.05))
    print("linear interval", ppi_py.ppi_ols_ci(*split, alpha=0.05))
    print("logistic interval", ppi_py.ppi_logistic_ci(*split, alpha=0.05))
    among = [threshold <= CERTAINTY for threshold in THRESHOLDS]
    risks, counts = np.array([WRONG[one].mean() for one in among]), np.array([one.sum() for one in among])
    p = binom.cdf(np.rint(risks * counts), counts, BOUND)
    for name, values in (
        ("binomial", p),
        ("Hoeffding-Bentkus", compute_hoeffding_bentkus_p_value(risks, counts, BOUND, binary=True)[:, 0]),
    ):
        print(name, values, [THRESHOLDS[place] for place in control_fwer(values, 0.05, "fixed_sequence")])


if __name__ == "__main__":
    main()
