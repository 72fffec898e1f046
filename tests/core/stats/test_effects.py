from __future__ import annotations

import pytest

from core.stats.effects import discordance, independent_d
from core.stats.significance import mcnemar


def test_discordance() -> None:
    effect = discordance(mcnemar(10, 30, 100))
    assert (effect.odds_ratio, effect.cohen_g, effect.difference) == (3.0, 0.25, 0.2)
    assert discordance(mcnemar(0, 5, 9)).odds_ratio is None
    nothing = discordance(mcnemar(0, 0, 0))
    assert (nothing.odds_ratio, nothing.cohen_g, nothing.difference) == (None, None, None)


def test_independent_d() -> None:
    # means 2 and 5, both variances 1, df 4: 3 * (1 - 3 / 15)
    assert independent_d([1, 2, 3], [4, 5, 6]) == pytest.approx(2.4)
    assert independent_d([1], [4, 5, 6]) is None
    assert independent_d([1, 1], [2, 2]) is None
