"""Net effect of a change of a label's words on documents with known labels."""

from __future__ import annotations

from core.codebook import Codebook, Label
from core.services.codebooks import codebook as codebooks
from core.services.codebooks.net_effect import NetEffect, net_effect

BOOK = Codebook(labels=(Label(name="Service", keywords=("staff",)), Label(name="Food", keywords=("soup",))))
SERVICE = BOOK.labels[0].id
KNOWN = [
    ("The porter helped.", True),
    ("A porter smiled at the staff.", True),
    ("Porter and stout on tap.", False),
    ("The porters carried it all.", True),
    ("We slept.", False),
]


def test_counts_what_a_keyword_corrects_and_breaks() -> None:
    after = codebooks.change_label(BOOK, SERVICE, keywords=("staff", "porter"))
    effect = net_effect(BOOK, after, SERVICE, "porter", KNOWN)
    assert effect == NetEffect(corrected=2, regressed=1, documents=5)
    assert effect.net == 1
    assert str(effect) == "Word-list baseline: +2 right, -1 wrong on 5 labelled documents"


def test_removing_a_keyword_has_the_opposite_effect() -> None:
    before = codebooks.change_label(BOOK, SERVICE, keywords=("staff", "porter"))
    assert net_effect(before, BOOK, SERVICE, "porter", KNOWN) == NetEffect(1, 2, 5)


def test_a_choice_changes_if_another_label_wins() -> None:
    book = BOOK.model_copy(update={"kind": "choice"})
    after = codebooks.change_label(book, SERVICE, keywords=("staff", "porter", "tray"))
    effect = net_effect(book, after, SERVICE, "porter tray", [("A porter with a tray of soup", True)])
    assert effect == NetEffect(1, 0, 1)
