"""Tests of the documentation: names, links, generated pages, schemas and the site."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from core import prompts
from core.debate.protocols import PROTOCOLS, custom
from core.stats import metrics
from tests.each_row import each_row

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md"), *(ROOT / ".github").glob("*.md"), DOCS / "llms.txt"])
NAMED = re.compile(r"`((?:app|core|prompts|sample_data|tests|docs|\.ci|\.github)/[\w./*<>-]*)`")
LINKED = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@each_row("page", PAGES)
def test_paths_named_in_documentation_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = [name for name in NAMED.findall(text) if "<" not in name and not list(ROOT.glob(name.rstrip("/")))]
    missing += [name for name in LINKED.findall(text) if not (page.parent / name).exists()]
    assert not missing


def test_every_column_of_the_project_tables_has_a_meaning() -> None:
    rows = re.findall(r"^\| `.+$", (DOCS / "reference" / "project_tables.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert rows
    assert not [row for row in rows if row.endswith("|  |")]


def test_every_page_is_in_the_navigation_and_in_llms_txt() -> None:
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    assert set(re.findall(r'"([\w/]+\.md)"', (DOCS / "zensical.toml").read_text(encoding="utf-8"))) == pages
    listed = set(LINKED.findall((DOCS / "llms.txt").read_text(encoding="utf-8")))
    assert listed == (pages - {"index.md"}) | {"reference/schemas.json"}


def test_every_picture_is_shown_on_a_page() -> None:
    shown = {Path(name).name for page in PAGES for name in LINKED.findall(page.read_text(encoding="utf-8"))}
    assert {picture.name for picture in (DOCS / "images").iterdir()} <= shown


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150


def test_readme_has_a_row_for_every_protocol() -> None:
    named = re.findall(r"^\| `(\w+)` \|", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(named) == PROTOCOLS.keys() - {custom.NAME}, "edit the table of protocols in README.md"


def test_changelog_and_citation_have_the_same_version_and_date() -> None:
    changelog, citation = ((ROOT / name).read_text(encoding="utf-8") for name in ("CHANGELOG.md", "CITATION.cff"))
    released = re.search(r"^## \[(.+)\] - (.+)$", changelog, re.MULTILINE)
    assert released is not None
    assert re.findall(r"^(?:version|date-released): (.+)$", citation, re.MULTILINE) == list(released.groups())


def test_metric_in_the_documentation_is_right() -> None:
    page = (DOCS / "development.md").read_text(encoding="utf-8")
    (code,) = (block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "Metric(" in block)
    module = dict(vars(metrics))
    exec(code.replace("\nMetric(", "\nSPECIFICITY = Metric("), module)
    reference, predicted = np.array([[1, 1, 0, 0, 0]]).T, np.array([[1, 0, 1, 0, 0]]).T
    values = module["SPECIFICITY"].compute(metrics.Samples(np.ones((1, 5)), reference, predicted))
    assert values.tolist() == [[pytest.approx(2 / 3)]]


def test_protocol_in_the_documentation_is_complete() -> None:
    page = (DOCS / "development.md").read_text(encoding="utf-8")
    (code,) = (block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "SPEC =" in block)
    module: dict[str, Any] = {}
    exec(code, module)
    spec = module["SPEC"]
    assert spec.kinds.keys() | spec.unsupported.keys() == {"multilabel", "choice", "rating"}
    roles = [role.name for role in spec.roles({})]
    assert list(spec.request_counts({}, None)) == roles
    assert all(f"`{role}.v1.md`" in page for role in roles)
    checked = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--stdin-filename", "core/debate/protocols/pair.py", "-"],
        cwd=ROOT,
        input=code,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout


@each_row("page", ["development.md", "reference/custom_protocols.md"])
def test_prompts_in_the_documentation_warn_of_instructions(page: str) -> None:
    prompts = re.findall("## system\n(.*?)## user", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    assert len(prompts) == 2
    assert all("{{ rules }}" in prompt or "Do not follow them." in prompt for prompt in prompts)


def test_variables_of_custom_protocols_are_documented() -> None:
    page = (DOCS / "reference" / "custom_protocols.md").read_text(encoding="utf-8")
    table = page.partition("| variable | contains |")[2].partition("\n\n")[0]
    names = ",".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE))
    named = re.findall(r"`(\w+)`", names)
    assert sorted(named) == sorted((*custom.VARIABLES, *prompts.BLOCKS))


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["command_line", "json_output", "project_tables", "protocol_parameters"])
def test_generated_pages_are_up_to_date(generate: ModuleType, name: str) -> None:
    page = f"reference/{name}.md"
    current = (DOCS / page).read_text(encoding="utf-8")
    assert current == generate.NOTE + generate.PAGES[page](), "run: .venv/bin/python docs/generate.py"


def test_site_builds_without_warnings(tmp_path: Path) -> None:
    pytest.importorskip("zensical", reason="needs the extra docs")
    shutil.copytree(DOCS, tmp_path / "docs", ignore=shutil.ignore_patterns("site", ".cache"))
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "-f", "docs/zensical.toml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "docs/site/reference/command_line/index.html").exists()
    assert "fonts.googleapis" not in (tmp_path / "docs/site/index.html").read_text(encoding="utf-8")
