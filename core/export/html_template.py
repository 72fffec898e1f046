"""Templates of HTML pages that are written to files."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Template


@functools.cache
def html_template(path: Path) -> Template:
    """Return the compiled template of a page, which escapes values and raises an error for undefined names."""
    from jinja2 import Environment, StrictUndefined

    return Environment(autoescape=True, undefined=StrictUndefined).from_string(path.read_text(encoding="utf-8"))
