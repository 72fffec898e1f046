"""Tests of the documentation: the files that it names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / ".github").glob("*.md")])
NAMED = re.compile(r"`((?:app|core|prompts|sample_data|tests|docs|\.ci|\.github)/[\w./*<>-]*)`")
LINKED = re.compile(r"\]\(([^)#:]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_named_in_documentation_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = [name for name in NAMED.findall(text) if "<" not in name and not list(ROOT.glob(name.rstrip("/")))]
    missing += [name for name in LINKED.findall(text) if not (page.parent / name).exists()]
    assert not missing
