"""Tests of keyword mining: words that errors have in common, and the sentences that contain them."""

from __future__ import annotations

import math

import pytest

from core.classifier.error_keywords import LONGEST_SENTENCE, cues, sentence_with

MISSED = ["The lift was broken all week.", "A broken lift again!", "Broken lift, ninth floor.", "We left early."]
RIGHT = ["Nice pool.", "The week was fine.", "Quiet floor.", "Good food.", "We liked the pool.", "Fine."]


def test_shared_phrase_of_errors_replaces_its_words():
    found = cues(MISSED, RIGHT)
    assert found[0].words in ("broken lift", "broken", "lift")
    top = next(cue for cue in found if "lift" in cue.words or "broken" in cue.words)
    assert top.documents == (0, 1, 2)
    # In 3 of 4 errors and 0 of 6 others: log(3.5 * 6.5 / (1.5 * 0.5)) / sqrt(1/3.5 + 1/1.5 + 1/0.5 + 1/6.5).
    assert top.z == pytest.approx(math.log(3.5 * 6.5 / (1.5 * 0.5)) / math.sqrt(1 / 3.5 + 1 / 1.5 + 2 + 1 / 6.5))
    assert not any(cue.words in ("week", "floor") for cue in found)


@pytest.mark.parametrize(("errors", "others"), [([], RIGHT), (["one error"], RIGHT), (["the of", "and a"], ["it is"])])
def test_too_few_documents_give_no_cues(errors, others):
    assert cues(errors, others) == ()


def test_sentence_with_a_cue_is_found_and_shortened():
    assert sentence_with("Nice. The Lift\nwas broken! Bye.", "lift") == "The Lift"
    assert sentence_with("Nice. A broken lift. Bye.", "broken lift") == "A broken lift."
    assert sentence_with("Nothing.", "lift") == ""
    cut = sentence_with("word " * 60 + "lift " + "more " * 60, "lift")
    assert "lift" in cut
    assert len(cut) <= LONGEST_SENTENCE
