from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.stats.error_analysis import MIN_Z, by_number, cues
from core.stats.metric_intervals import Design
from core.stats.sampling import WeightedSample
from tests.core.stats.samples import uniform_sample
from tests.each_row import each_row


def test_cue_words_separate_errors_from_hits() -> None:
    errors = ["The resort fee was a surprise", "A resort fee again", "They ask a fee for towels"]
    hits = ["The room was cheap", "Cheap and cheerful room", "A fair price for a room", "The bill was low"]
    result = cues(errors, hits)
    assert result[0].word == "fee"
    assert (result[0].errors, result[0].hits) == ((0, 1, 2), 0)
    assert "resort fee" in {cue.word for cue in result} or "resort" in {cue.word for cue in result}
    assert not {"room", "cheap"} & {cue.word for cue in result}


def test_pairs_of_cue_words_are_adjacent_in_the_text() -> None:
    apart = ["A stout was near.", "Stout, near the bar", "Stouts in near 5", "No stout. Near it we sang"]
    others = ["We sat near", "Near it", "Stout", "A stout", "stout of near"]
    assert {cue.word for cue in cues(apart, others)} <= {"stout", "near"}
    pairs = cues(["One resort fee", "resort-fee", "The resort  fee"], ["Resort", "the fee of a resort", "fee"])
    assert pairs[0].word == "resort fee"
    assert (pairs[0].errors, pairs[0].hits) == ((0, 1, 2), 0)


def test_equal_texts_have_no_cue_words() -> None:
    assert cues(["one"], ["two", "three"]) == ()
    assert cues(["", "1 2"], ["3", "4"]) == ()
    assert cues(["the the", "the"], ["the", "the"]) == ()


def test_error_rate_is_computed_by_band() -> None:
    result = by_number([1, 1, 2, 3, 3, 3, 9], [0, 1, 0, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1, 0])
    assert [(row.low, row.high, row.n, row.wrong) for row in result] == [(1, 1, 2, 1), (2, 2, 1, 0), (3, 3, 3, 3)]
    assert result[0].share.value == 0.5
    many = by_number(list(range(100)), [0] * 100, [1] * 100)
    assert [row.n for row in many] == [20] * 5
    assert by_number([], [], []) == ()


def test_documents_of_one_group_widen_the_intervals_of_bands() -> None:
    wrong = np.repeat([True, False, False, True, False, False], 4)
    (single,), (grouped,) = (
        by_number(np.ones(24), wrong, np.ones(24), Design(groups=groups)) for groups in (None, np.repeat(range(6), 4))
    )
    assert (single.share.value, grouped.share.value) == (1 / 3, 1 / 3)
    assert (
        grouped.share.interval.low
        < single.share.interval.low
        < single.share.interval.high
        < grouped.share.interval.high
    )


def test_shares_of_bands_are_weighted_by_the_selection_of_reviewed_documents() -> None:
    sizes = np.where(np.arange(100) < 10, 9.0, 1.0)  # the queue prefers the ten documents that are wrong
    order = np.array([0, 1, 50, 2, 3, 4, 70, 5])
    judged, design = np.isin(np.arange(100), order), Design(sample=uniform_sample([True] * 8, 100), order=order)
    (even,) = by_number(np.ones(100), np.arange(100) < 10, judged, design)
    drawn = replace(design, sample=WeightedSample.of_draws(order, [sizes] * 8, 100))
    (band,) = by_number(np.ones(100), np.arange(100) < 10, judged, drawn)
    assert (band.n, band.wrong) == (8, 6)
    weights = drawn.weights(100)
    assert band.share.value == weights[:10].sum() / weights.sum() < even.share.value
    assert band.share.interval is not None


MISSED = ["The lift was broken all week.", "A broken lift again!", "Broken lift, ninth floor.", "We left early."]
RIGHT = ["Nice pool.", "The week was fine.", "Quiet floor.", "Good food.", "We liked the pool.", "Fine."]


def test_words_of_the_same_errors_give_one_cue() -> None:
    result = cues(MISSED, RIGHT, min_z=MIN_Z)
    assert {cue.errors for cue in result} == {(0, 1, 2)}
    assert {cue.word for cue in result} in ({"broken lift"}, {"broken", "lift"})
    # In 3 of 4 errors and 0 of 6 hits: log(3.5 * 6.5 / (1.5 * 0.5)) / sqrt(1/3.5 + 1/1.5 + 1/0.5 + 1/6.5) = 1.94.
    assert cues(MISSED, RIGHT, min_z=1.93)
    assert cues(MISSED, RIGHT, min_z=1.95) == ()
    assert not {"broken", "lift", "broken lift"} & {cue.word for cue in cues(MISSED, RIGHT, ignore=["broken", "lift"])}


@each_row(("errors", "others"), [([], RIGHT), (["one error"], RIGHT), (["the of", "and a"], ["it is"])])
def test_too_few_documents_give_no_cues(errors: list[str], others: list[str]) -> None:
    assert cues(errors, others) == ()
