from __future__ import annotations

import pytest

from core.services.data import overview
from tests.core.services.sample_world import CODEBOOK


def test_cooccurrence_counts_documents_with_both_labels(session, run_id):
    # In gold, Alpha is present on d0, d1, d4, d6 and Beta on d1, d2; only d1 has both.
    found = {(one.label, one.other): (one.count, one.share) for one in overview.cooccurrence(session, CODEBOOK)}
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
        ("Rude waiter! It took forever, to say nothing of the bill!", "English"),
        ("Het was niet ver van de zee.", "Dutch"),
        ("La camera era piccola, ma il letto molto comodo.", "Italian"),
        ("La comida es muy buena, pero el servicio es lento.", "Spanish"),
        ("A comida é muito boa e o quarto também.", "Portuguese"),
        ("Food is great, we loved it.", "unknown"),
        ("De la mejor comida en Madrid.", "unknown"),
        ("Lovely!", "unknown"),
        ("123", "unknown"),
    ],
)
def test_language_is_guessed(text, language):
    assert overview.guess_language(text) == language
