"""JSON for whatever a row holds."""

from __future__ import annotations

from typing import Any

import orjson

from core.ingest.table import clean_value

_OPTIONS = orjson.OPT_NON_STR_KEYS


def dumps(value: Any) -> bytes:
    """UTF-8 JSON on one line. What JSON has no form for (lone surrogates, huge integers, sets) is replaced or written
    as text; NaN becomes null."""
    try:
        return orjson.dumps(value, default=str, option=_OPTIONS)
    except (TypeError, orjson.JSONEncodeError):
        return orjson.dumps(clean_value(value), default=str, option=_OPTIONS)
