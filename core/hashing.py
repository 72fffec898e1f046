"""Content hashes: short, stable names for values."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import orjson


def canonical(value: Any) -> bytes:
    """Return UTF-8 JSON with sorted keys and no spaces, so that equal values give equal bytes."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # lone surrogates and integers beyond 64 bits, which orjson refuses; or no JSON at all
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return text.encode("utf-8", "surrogatepass")


def digest(value: Any, *, size: int = 16) -> str:
    """Return BLAKE2b of ``canonical(value)``, ``size`` bytes as ``2 * size`` hexadecimal digits."""
    return hashlib.blake2b(canonical(value), digest_size=size).hexdigest()
