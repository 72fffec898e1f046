"""Where the shipped prompts and sample data are: inside an installed wheel, or beside the packages in a checkout."""

from __future__ import annotations

from pathlib import Path

from core.errors import MootError

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """The shipped folder ``name`` (``prompts`` or ``sample_data``).

    Raises MootError when the installation is incomplete.
    """
    for candidate in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise MootError(f"The folder '{name}' is missing from this installation of Moot.", "Install Moot again.")
