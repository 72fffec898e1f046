"""Content hashes: one way to turn a value into a short, stable name."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys and no spaces: equal values give equal bytes.

    Raises TypeError for values that JSON has no form for and ValueError for NaN and infinities.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


def digest(value: Any, *, size: int = 16) -> str:
    """BLAKE2b of ``canonical(value)``, ``size`` bytes as ``2 * size`` hexadecimal digits."""
    return hashlib.blake2b(canonical(value), digest_size=size).hexdigest()
