"""Tests of untrusted YAML: the expanded size is bounded, and errors name the line."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from core import codebook, yaml_text
from core.debate import personas
from core.debate.protocols import custom
from core.errors import CodebookError, UsageError
from core.yaml_text import parse
from tests.each_row import each_row

BOMB = "name: &a [x, x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"k{number}: &{letter} [{', '.join([f'*{before}'] * 10)}]"
    for number, (before, letter) in enumerate(zip("abcdefgh", "bcdefghi", strict=True))
)


@each_row("text", [BOMB, "a: &a [*a]"])
@each_row(
    ("read", "fault"),
    [(codebook.load_yaml, CodebookError), (personas.load_yaml, UsageError), (custom.parse_definition, UsageError)],
)
def test_too_many_values_are_refused(read, fault, text):
    with pytest.raises(fault, match="has more than 200,000 values"):
        read(text)


def test_small_alias_is_expanded():
    data, node = parse("a: &one [1, 2]\nb: *one\n", "it", UsageError)
    assert data == {"a": [1, 2], "b": [1, 2]}
    assert node.value[1][0].start_mark.line == 1
    assert parse("", "it", UsageError) == (None, None)


@each_row(
    "text", ["a: [", "!!int ''", "!!bool x", "!!timestamp x", "? {a: 1}\n: 1", "\0", "a: 1\n---\nb: 1", "[" * 5000]
)
def test_invalid_yaml_is_reported(text):
    with pytest.raises(UsageError, match="not YAML"):
        parse(text, "it", UsageError)


@each_row("number", ["1" + ":1" * 100_000, "1" + ":1" * 100_000 + ".5", "0x" + "f" * 9000])
@each_row("text", ["a: 1\nb: {}", "a: 1\n{}: b"])
def test_long_number_is_refused_before_it_is_computed(text: str, number: str) -> None:
    with pytest.raises(UsageError, match="it, line 2: this is not YAML"):
        parse(text.format(number), "it", UsageError)


def test_long_text_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(CodebookError, match="characters"):
        parse("- {name: L}\n" * 400_000, "a.yaml", CodebookError)


def test_yaml_is_parsed_by_libyaml() -> None:
    assert yaml_text._LOADER is yaml.CSafeLoader, "the loader of Python takes six times as long"


@given(text=st.text(st.characters(exclude_categories=["Cs"])) | st.text("a \n\x85:#'"))
def test_text_survives_the_round_trip(text):
    assert parse(yaml_text.dump({"guideline": text}), "it", UsageError)[0] == {"guideline": text}
