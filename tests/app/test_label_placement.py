"""Placement of point labels: no overlap with labels or points and no clipping while there is room."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.widgets.label_placement import CHARACTER, LINE, RADIUS, Spot, beside, once

HEIGHT = 200.0
WIDTHS = (250.0, 720.0)


def boxes(points, words, spots, width):
    for (x, y), text, spot in zip(points, words, spots, strict=True):
        long = CHARACTER * len(text)
        left = x * width + spot.dx - {"left": 0.0, "right": long, "center": long / 2}[spot.align]
        middle = y * HEIGHT + spot.dy
        yield left, left + long, middle - LINE / 2, middle + LINE / 2


def overlap(one, other):
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def assert_clear(points, words, spots, width):
    placed = list(boxes(points, words, spots, width))
    assert not any(overlap(one, other) for one, other in combinations(placed, 2))
    for at, (x, y) in enumerate(points):
        dot = (x * width - RADIUS, x * width + RADIUS, y * HEIGHT - RADIUS, y * HEIGHT + RADIUS)
        assert not any(overlap(box, dot) for place, box in enumerate(placed) if place != at)
    assert all(left >= 0 and right <= width and top >= 0 and bottom <= HEIGHT for left, right, top, bottom in placed)


def test_label_of_a_single_point_is_on_its_right():
    assert beside([(0.3, 0.5)], ["r0001"], height=HEIGHT) == [Spot(10, 0, "left")]


def test_label_at_the_right_edge_is_on_the_left():
    assert beside([(0.99, 0.5)], ["r0001"], height=HEIGHT)[0].align == "right"


@pytest.mark.parametrize("width", WIDTHS)
def test_labels_of_six_equal_points_do_not_overlap(width):
    points, words = [(0.5, 0.5)] * 6, [f"r000{n}" for n in range(6)]
    spots = beside(points, words, height=HEIGHT, widths=WIDTHS)
    placed = list(boxes(points, words, spots, width))
    assert not any(overlap(one, other) for one, other in combinations(placed, 2))


def test_distant_label_is_connected_with_its_point():
    spots = beside([(0.5, 0.5)] * 8, ["a/long-model-name"] * 8, height=HEIGHT)
    assert [spot.stem for spot in spots[:2]] == [False, False]
    assert any(spot.stem for spot in spots)


@given(st.lists(st.tuples(st.floats(0.1, 0.9), st.floats(0.1, 0.9)), max_size=6, unique=True))
def test_labels_of_few_runs_never_overlap(points):
    words = [f"r000{n}" for n in range(len(points))]
    spots = beside(points, words, height=HEIGHT, widths=WIDTHS)
    for width in WIDTHS:
        placed = list(boxes(points, words, spots, width))
        assert not any(overlap(one, other) for one, other in combinations(placed, 2))


def test_long_model_names_keep_clear_of_each_other():
    """Two models in three roles each, near one another, as Evaluate shows them."""
    points = [(0.55, 0.40), (0.57, 0.41), (0.56, 0.38), (0.82, 0.20), (0.83, 0.22), (0.84, 0.21)]
    words = ["openai/gpt-4.1-mini"] * 3 + ["ollama/llama3.2"] * 3
    spots = beside(points, words, height=HEIGHT, widths=WIDTHS)
    for width in WIDTHS:
        assert_clear(points, words, spots, width)


def test_neighbouring_points_of_one_name_are_labelled_once():
    points = [(0.5, 0.5), (0.51, 0.5), (0.52, 0.5), (0.9, 0.1), (0.51, 0.51)]
    assert once(points, ["a", "a", "a", "a", "b"], height=HEIGHT) == [0, 3, 4]
    assert once([], [], height=HEIGHT) == []


def test_labels_avoid_unlabelled_points():
    [spot] = beside([(0.5, 0.5)], ["r0001"], height=HEIGHT, others=[(0.55, 0.5)])
    assert spot.align == "right"
