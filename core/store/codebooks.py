"""Versions of the codebook, and a draft."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.codebook import Codebook, parse_codebook
from core.store.conversion import dump
from core.store.saved_versions import Versions


@dataclass(frozen=True, slots=True)
class CodebookVersion:
    """One saved version, numbered from 1."""

    version: int
    codebook: Codebook
    note: str
    at: float
    actor: str


class Codebooks(Versions[CodebookVersion]):
    """Codebook versions of a project."""

    table, kind, draft_name = "codebook_versions", "codebook", "codebook draft"

    def save(self, codebook: Codebook, *, note: str = "", actor: str = "") -> int:
        """Save the codebook as a new version, delete the draft and return the version number.

        A codebook that equals the latest version is not saved again; the latest number is returned.
        """
        return self._save(dump(codebook.model_dump(mode="json")), codebook.hash, note, actor)

    def _version(self, version: int, data: Any, note: str, at: float, actor: str) -> CodebookVersion:
        return CodebookVersion(version, parse_codebook(data, where=f"codebook version {version}"), note, at, actor)
