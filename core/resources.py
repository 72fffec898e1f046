"""Location of the shipped prompts and sample data, in an installed wheel or in a checkout."""

from __future__ import annotations

from pathlib import Path

from core.errors import MootError

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """Return the shipped folder ``name`` (``prompts`` or ``sample_data``).

    Raises MootError if the installation is incomplete.
    """
    for candidate in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise MootError(f"The folder '{name}' is missing from this installation of Moot.", "Install Moot again.")
