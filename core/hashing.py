"""Content hashes: one way to turn a value into a short, stable name."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import orjson


def canonical(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys and no spaces: equal values give equal bytes.

    NaN and infinities count as null. Raises TypeError for values that JSON has no form for.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # lone surrogates and integers beyond 64 bits, which orjson refuses; or no JSON at all
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return text.encode("utf-8", "surrogatepass")


def digest(value: Any, *, size: int = 16) -> str:
    """BLAKE2b of ``canonical(value)``, ``size`` bytes as ``2 * size`` hexadecimal digits."""
    return hashlib.blake2b(canonical(value), digest_size=size).hexdigest()
