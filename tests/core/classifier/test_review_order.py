"""The order of the queue: every document once, audits at their share, chances that are true."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.classifier.review_order import interleave


def order(ranked, shuffled, share, *, seed="s", done=0):
    return list(interleave(ranked, shuffled, len(ranked), share=share, seed=seed, done=done))


@given(st.integers(0, 40), st.floats(0, 1), st.integers(0, 1000), st.randoms())
def test_every_document_comes_once_and_what_is_left_counts_down(count, share, seed, chance):
    ranked = [f"d{number}" for number in range(count)]
    shuffled = chance.sample(ranked, count)
    draws = order(ranked, shuffled, share, seed=str(seed))
    assert sorted(draw.document_id for draw in draws) == sorted(ranked)
    assert [draw.remaining for draw in draws] == list(range(count, 0, -1))
    assert all(0 <= draw.probability <= 1 for draw in draws)


def test_without_audits_it_is_the_order_of_urgency_and_with_nothing_else_that_of_chance():
    ranked, shuffled = ["a", "b", "c"], ["c", "a", "b"]
    urgent = order(ranked, shuffled, 0)
    assert [(draw.document_id, draw.how, draw.probability) for draw in urgent] == [
        ("a", "queue", 1.0), ("b", "queue", 1.0), ("c", "queue", 1.0),
    ]  # fmt: skip
    audits = order(ranked, shuffled, 1)
    assert [(draw.document_id, draw.how) for draw in audits] == [("c", "audit"), ("a", "audit"), ("b", "audit")]
    assert [draw.probability for draw in audits] == pytest.approx([1 / 3, 1 / 2, 1])


def test_probabilities_by_hand():
    """Of ten, with a fifth of audits: 0.2 / 10 for one drawn, 0.8 more for the most urgent."""
    ids = [f"d{number}" for number in range(10)]
    draws = [order(ids, ids[::-1], 0.2, seed=str(seed))[0] for seed in range(60)]
    assert {(draw.document_id, draw.how, round(draw.probability, 3)) for draw in draws} == {
        ("d0", "queue", 0.82), ("d9", "audit", 0.02),
    }  # fmt: skip


def test_looking_again_after_some_are_decided_goes_on_with_the_same_draws():
    ranked = [f"d{number}" for number in range(30)]
    shuffled = random.Random(4).sample(ranked, 30)
    whole = order(ranked, shuffled, 0.3)
    gone = {draw.document_id for draw in whole[:7]}
    rest = order([id for id in ranked if id not in gone], [id for id in shuffled if id not in gone], 0.3, done=7)
    assert rest == whole[7:]


def test_only_the_first_of_each_order_are_needed():
    ranked = [f"d{number}" for number in range(50)]
    shuffled = random.Random(5).sample(ranked, 50)
    some = list(interleave(ranked[:10], shuffled[:10], 50, share=0.2, seed="s", done=0))
    assert len(some) >= 10
    assert some[:10] == order(ranked, shuffled, 0.2)[:10]


def test_the_first_document_comes_as_often_as_its_probability_says():
    """4,000 queues of five documents: the shares differ from the chances by less than five standard errors."""
    ids = list("abcde")
    seen = Counter(
        order(ids, random.Random(seed).sample(ids, 5), 0.4, seed=str(seed))[0].document_id for seed in range(4000)
    )
    for id in ids:
        chance = 0.4 / 5 + 0.6 * (id == "a")
        assert abs(seen[id] / 4000 - chance) < 5 * (chance * (1 - chance) / 4000) ** 0.5
