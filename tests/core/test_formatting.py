"""Tests of formatting: plurals, numbers, money, durations, dates and lists of names."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import BaseModel, ValidationError, model_validator

from core import formatting as f
from tests.each_row import each_row


@each_row(
    ("count", "words", "text"),
    [
        (0, ("document",), "0 documents"),
        (1, ("document",), "1 document"),
        (1204, ("document",), "1,204 documents"),
        (1, ("reply", "replies"), "1 reply"),
        (2, ("reply", "replies"), "2 replies"),
    ],
)
def test_count_agrees_with_its_noun(count: int, words: tuple[str, ...], text: str) -> None:
    assert f.format_count(count, *words) == text


@each_row(("text", "sentence"), [("no", "no."), ("no.", "no."), ("what?", "what?"), ("", ".")])
def test_sentence_ends_with_one_mark(text: str, sentence: str) -> None:
    assert f.as_sentence(text) == sentence


def test_verb_agrees_with_its_count() -> None:
    assert [f.plural(count, "differs", "differ") for count in (1, 2)] == ["differs", "differ"]


@each_row(
    ("names", "text"),
    [((), ""), (("a",), "a"), (("a", "b"), "a and b"), (("a", "b", "c"), "a, b and c")],
)
def test_names_are_joined_as_text(names: Sequence[str], text: str) -> None:
    assert f.join_names(names) == text
    assert f.join_names(names, 3) == text


def test_many_names_are_counted() -> None:
    assert f.join_names(["a", "b", "c", "d"], 2) == "a, b and 2 more"


@each_row(
    ("value", "digits", "number", "signed"),
    [
        (0.8642, 3, "0.864", "+0.864"),
        (-0.12, 2, "−0.12", "−0.12"),
        (-0.0001, 3, "0.000", "0.000"),
        (0.0, 1, "0.0", "0.0"),
        (1204.0, 0, "1,204", "+1,204"),
        (None, 3, "–", "–"),
    ],
)
def test_numbers_use_a_minus_sign_and_no_signed_zero(
    value: float | None, digits: int, number: str, signed: str
) -> None:
    assert f.format_number(value, digits) == number
    assert f.format_signed(value, digits) == signed


def test_effects_count_decisions_that_become_right_and_wrong() -> None:
    assert [f.format_effect(*counts) for counts in ((4, 1), (1_204, 0), (0, 2), (0, 0))] == [
        "corrects 4 errors, introduces 1",
        "corrects 1,204 errors, introduces none",
        "corrects none, introduces 2 errors",
        "changes no decision",
    ]


def test_percent_and_points() -> None:
    assert [f.format_percent(share) for share in (0.864, 1.0, None)] == ["86%", "100%", "–"]
    assert f.format_percent(0.8642, 1) == "86.4%"
    assert [f.format_points(share) for share in (0.06, -0.005, 0.0001, None)] == ["+6.0", "−0.5", "0.0", "–"]


def test_p_values() -> None:
    assert [f.format_p_value(p) for p in (0.0342, 0.0009, None)] == ["p = 0.034", "p < 0.001", "–"]


@each_row(
    ("dollars", "text"),
    [
        (None, "price unknown"),
        (0, "$0.00"),
        (0.00001, "under $0.0001"),
        (0.0004, "$0.0004"),
        (0.05, "$0.05"),
        (0.0375, "$0.0375"),
        (0.5, "$0.50"),
        (12.3, "$12.30"),
        (12_340.4, "$12,340"),
    ],
)
def test_money_keeps_significant_digits(dollars: float | None, text: str) -> None:
    assert f.format_money(dollars) == text


def test_estimated_cost_is_approximate() -> None:
    assert f.format_cost(1.2, 3) == "about $1.20"
    exact = [f.format_cost(1.2, 0), f.format_cost(0.0, 3), f.format_cost(None, 3), f.format_cost(1e-6, 3)]
    assert exact == ["$1.20", "$0.00", "price unknown", "under $0.0001"]


def test_prices() -> None:
    assert [f.format_price(dollars) for dollars in (None, 0, 0.2)] == ["price unknown", "free", "$0.20"]
    assert f.format_token_price((0.15, 0.6)) == "$0.15 in, $0.60 out per million tokens"
    assert f.format_token_price((0.0, 0.0)) == "free"
    assert f.format_token_price(None) == "price unknown"


def test_tokens_and_bytes() -> None:
    assert [f.format_tokens(count) for count in (9_800, 14_200, 999_600, 1_240_000)] == ["9,800", "14k", "1.0M", "1.2M"]
    assert [f.format_bytes(size) for size in (10, 12_300, 3_400_000, 1_200_000_000)] == [
        "1 kB",
        "12 kB",
        "3.4 MB",
        "1.2 GB",
    ]


@each_row(
    ("seconds", "text"),
    [(0.2, "1 s"), (89, "89 s"), (90, "2 min"), (5_300, "88 min"), (5_400, "1 h 30 min"), (7_200, "2 h")],
)
def test_durations(seconds: float, text: str) -> None:
    assert f.format_duration(seconds) == text


def test_remaining_time() -> None:
    assert [f.format_eta(seconds) for seconds in (720, None)] == ["12 min left", "estimating"]


def test_dates_are_relative_to_now() -> None:
    now = time.mktime((2026, 3, 12, 15, 0, 0, 0, 0, -1))
    at = {
        "14:05": (2026, 3, 12, 14, 5, 9),
        "Tue 09:30": (2026, 3, 10, 9, 30, 0),
        "3 Mar": (2026, 3, 3, 9, 30, 0),
        "3 Mar 2025": (2025, 3, 3, 9, 30, 0),
    }
    for text, parts in at.items():
        assert f.format_date(time.mktime((*parts, 0, 0, -1)), now=now) == text


def test_clock_and_timestamp() -> None:
    at = time.mktime((2025, 3, 3, 14, 5, 9, 0, 0, -1))
    assert f.format_clock(at) == "14:05:09"
    assert f.format_timestamp(at) == "3 Mar 2025, 14:05"


def test_formats_agree_with_those_of_the_browser() -> None:
    cases = json.loads((Path(__file__).parents[1] / "js" / "format_cases.json").read_text("utf-8"))
    functions: dict[str, Callable[[float | None], str]] = {
        "formatMoney": f.format_money,
        "formatDuration": lambda seconds: f.format_duration(seconds or 0.0),
        "formatPercent": f.format_percent,
        "formatScore": f.format_number,
        "formatPoints": f.format_points,
        "formatRating": lambda rating: f.format_rating(rating or 0.0),
        "formatRate": lambda rate: f.format_rate(rate or 0.0),
    }
    for name, rows in cases.items():
        assert [(value, functions[name](value)) for value, _ in rows] == [tuple(row) for row in rows]


class Row(BaseModel):
    """A model that refuses everything."""

    ages: dict[str, int]

    @model_validator(mode="after")
    def refuse(self) -> Row:
        raise ValueError("no row is good")


def _problem_of(data: object) -> str:
    """Return the formatted problem. ``pytest.raises`` would keep pydantic's error and its frames for ever."""
    try:
        Row.model_validate(data)
    except ValidationError as error:
        return f.format_problem(error)
    raise AssertionError("the data is valid")


def test_problem_names_its_place_on_one_line() -> None:
    assert _problem_of({"ages": {"Ann\n\x1bB": "x"}}).startswith("ages > Ann \ufffdB: expected a whole number")
    assert _problem_of({"ages": {}}) == "no row is good"
    assert _problem_of({}) == "ages: this field is required"
