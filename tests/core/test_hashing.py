"""Tests of hashing: the same value has the same hash in every process, with any order of keys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.hashing import canonical, digest

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_any_json_value_has_a_hash(value: object) -> None:
    assert digest(value) == digest(value)
    assert len(digest(value, size=8)) == 16


def test_hash_ignores_key_order_and_depends_on_list_order() -> None:
    assert digest({"a": 1, "b": [1, 2]}) == digest({"b": [1, 2], "a": 1})
    assert digest([1, 2]) != digest([2, 1])


def test_known_hashes_do_not_change() -> None:
    # With other hashes no stored reply would be found.
    expected = "dbec1b254b251f23fed98d4e6a6e28f5"  # pragma: allowlist secret
    assert digest({"model": "m", "messages": [["user", "Grüße"]], "seed": None}) == expected


def test_values_that_orjson_refuses_are_hashed() -> None:
    assert canonical(["\ud800"]) == b'["\xed\xa0\x80"]'
    assert canonical([2**80]) == f"[{2**80}]".encode()
    with pytest.raises(TypeError):
        canonical([object()])
