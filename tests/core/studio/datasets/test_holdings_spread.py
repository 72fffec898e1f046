from __future__ import annotations

import pytest

from core.studio.datasets import holdings
from tests.core.studio.rooms_world import CODEBOOK


def test_labels_that_go_together(desk, run_id):
    # Gold: A on d0 d1 d4 d6, B on d1 d2; both on d1.
    found = {(one.label, one.other): (one.count, one.share) for one in holdings.together(desk, CODEBOOK)}
    assert found == {
        ("Alpha", "Alpha"): (4, 1.0),
        ("Alpha", "Beta"): (1, 0.25),
        ("Beta", "Alpha"): (1, 0.5),
        ("Beta", "Beta"): (2, 1.0),
    }


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The room was clean and they were kind.", "English"),
        ("Das Zimmer war sehr klein und nicht sauber.", "German"),
        ("Nous avons très bien dormi dans une chambre calme.", "French"),
        ("Номер был чистый.", "Cyrillic script"),
        ("部屋はきれいでした。", "Japanese"),
        ("Lovely!", "not told"),
        ("123", "not told"),
    ],
)
def test_languages(text, language):
    assert holdings.language(text) == language
