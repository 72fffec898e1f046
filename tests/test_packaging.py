"""Tests of the wheel: its files, licences, and the demo outside the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from core import __version__

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of this checkout offline and unpack it."""
    folder = tmp_path_factory.mktemp("wheel")
    build = (
        "import sys; from hatchling.builders.wheel import WheelBuilder;"
        "print(*WheelBuilder('.').build(directory=sys.argv[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", build, str(folder)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    wheel = Path(done.stdout.split()[-1])
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder / "site")
    return folder / "site"


def test_the_wheel_packs_prompts_samples_theme_and_fonts(unpacked: Path) -> None:
    for name in (
        "core/_data/prompts/ecj/judge.v1.md",
        "core/_data/sample_data/hotel_reviews.csv",
        "app/.streamlit/config.toml",
        "app/static/inter-latin-opsz-normal.woff2",
        "app/static/licenses",
        "app/components/live_run.js",
        "app/components/live_run.css",
        "core/store/schema/0001_tables.sql",
    ):
        assert (unpacked / name).exists(), name


def test_the_wheel_installs_only_the_packages_and_the_module_moot(unpacked: Path) -> None:
    metadata = f"moot-{__version__}.dist-info"
    assert sorted(entry.name for entry in unpacked.iterdir()) == sorted(["app", "core", metadata, "moot.py"])
    assert not [path for path in unpacked.rglob("*") if path.name.startswith(("test_", "conftest"))]


def test_the_wheel_contains_the_licences_and_declares_types_only_with_py_typed(unpacked: Path) -> None:
    metadata = next(unpacked.glob("*.dist-info"))
    licences = {path.name for path in (metadata / "licenses").rglob("*") if path.is_file()}
    shipped = {path.name for path in (ROOT / "app/static/licenses").iterdir()}
    assert licences == {"LICENSE"} | shipped
    typed = "Typing :: Typed" in (metadata / "METADATA").read_text(encoding="utf-8")
    assert typed == all((unpacked / name / "py.typed").exists() for name in ("app", "core"))


def test_the_demo_runs_from_the_wheel_alone(unpacked: Path, tmp_path: Path) -> None:
    demo = """
import core, runpy, sys
print(core.__file__)
sys.argv = ["moot", "demo", "--json"]
runpy.run_module("moot", run_name="__main__")
"""
    done = subprocess.run(
        [sys.executable, "-c", demo],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(unpacked)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(unpacked))
    assert json.loads(done.stdout.splitlines()[-1])["verdicts"] == 96


def test_the_citation_names_the_version_of_the_package() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == __version__
