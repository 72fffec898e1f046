"""Tests of the layout: packages, one-way imports, no hosts in lock files."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
VALUES = {
    "codebook", "csv_text", "documents", "errors", "files", "formatting", "hashing", "runs", "yaml_text",
}  # fmt: skip
CLIENTS = {"requests", "httpx", "aiohttp", "openai", "ollama"}
TOP_LEVEL = {
    "pyproject.toml", "README.md", "app", "core", "prompts", "tests", "sample_data", "requirements.lock", "LICENSE",
    "CHANGELOG.md", "CITATION.cff", "docs",
}  # fmt: skip


def _may_import() -> dict[str, set[str]]:
    """Return the packages of core that each package may import, in addition to values and itself, as documented."""
    rule = (ROOT / "docs/architecture.md").read_text(encoding="utf-8").partition("## The import rule")[2]
    rows = re.findall(r"^\| (`.+) \| (.+) \|$", rule.partition("\n## ")[0], re.MULTILINE)
    allowed: dict[str, set[str]] = {}
    for packages, imported in rows:
        names = set(allowed) if imported == "all of these" else set(re.findall(r"`(\w+)`", imported))
        allowed.update(dict.fromkeys(re.findall(r"`(\w+)`", packages), names))
    return allowed


MAY_IMPORT = _may_import()


def _modules(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*.py") if "_data" not in path.parts)


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def _imports(path: Path) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(names)


def _package(path: Path) -> str:
    return path.relative_to(ROOT / "core").parts[0].removesuffix(".py")


def test_core_imports_go_one_way() -> None:
    wrong = [f"{path.relative_to(ROOT)} {problem}" for path in _modules("core") for problem in _wrong_imports(path)]
    assert not wrong, "\n".join(wrong)


def _wrong_imports(path: Path) -> Iterator[str]:
    package = _package(path)
    if package == "__init__":
        return
    if package not in MAY_IMPORT.keys() | VALUES:
        yield "is in a package without a row in the table of docs/architecture.md"
    allowed = MAY_IMPORT.get(package, set()) | VALUES | {package}
    for name in _imports(path):
        first, _, rest = name.partition(".")
        part = rest.partition(".")[0]
        is_app = first == "app" and path.parts[-2:] != ("cli", "studio.py")
        is_sql = first == "duckdb" and package != "store"
        is_client = first in CLIENTS and package in VALUES | {"stats", "classifier"}
        exists = (ROOT / "core" / part).exists() or (ROOT / "core" / f"{part}.py").exists()
        if first == "streamlit" or is_app or is_sql or is_client:
            yield f"imports {name}"
        elif first == "core" and rest and exists and part not in allowed:
            yield f"imports core.{part}, which core/{package} may not import"


def test_every_allowed_import_is_used() -> None:
    unused = {package: set(imports) for package, imports in MAY_IMPORT.items()}
    for path in _modules("core"):
        for name in _imports(path):
            unused.get(_package(path), set()).discard(name.split(".")[1] if name.startswith("core.") else "")
    unused["services"].clear()  # "all of these"
    wrong = {package: imports for package, imports in unused.items() if imports}
    assert not wrong, "remove them from the table of docs/architecture.md"


def test_app_imports_no_core_internals() -> None:
    forbidden = {"duckdb", "openai", "ollama", "sklearn", "aiohttp"}
    packages = {"store", "engine", "llm", "ingest", "export", "classifier", "baseline", "cli", "prompts"}
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in _modules("app")
        for name in _imports(path)
        for first, second, *_ in [[*name.split("."), ""]]
        if first in forbidden or (first == "core" and second in packages)
    ]
    assert not wrong, "\n".join(wrong)


def test_app_uses_services_and_never_the_store_of_a_session() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno} reaches into the store: offer a function in core/services"
        for path in _modules("app")
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Attribute) and node.attr == "store"
    ]
    assert not wrong, "\n".join(wrong)


def test_test_modules_are_not_imported() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {line}: move what both use to a module of helpers"
        for folder in ("tests/app", "tests/browser", "tests/core")
        for path in _modules(folder)
        for line in re.findall(r"(?m)^\s*(?:from|import) tests\..*\btest_.*", path.read_text(encoding="utf-8"))
    ]
    assert not wrong, "\n".join(wrong)


def test_no_protocol_is_tested_by_name() -> None:
    names = {path.stem for path in _modules("core/debate/protocols")} - {"__init__"}
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno} tests the name of a protocol: ask its ProtocolSpec"
        for path in (*_modules("core"), *_modules("app"))
        if "protocols" not in path.parts
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Compare) and "protocol" in ast.unparse(node.left)
        for side in node.comparators
        if isinstance(side, ast.Constant) and side.value in names
    ]
    assert not wrong, "\n".join(wrong)


def test_store_imports_only_the_interfaces_of_the_engine() -> None:
    engine = {
        (path.name, imported)
        for path in _modules("core/store")
        for name in _imports(path)
        if name.startswith("core.engine")
        and (imported := ".".join(name.split(".")[:3])) not in ("core.engine", "core.engine.interfaces")
    }
    assert not engine


def test_modules_of_values_are_documented() -> None:
    table = (ROOT / "docs/architecture.md").read_text(encoding="utf-8").partition("## The import rule")[0]
    assert set(re.findall(r"`core/(\w+)\.py`", table)) == VALUES


def test_modules_of_the_app_are_documented() -> None:
    table = (ROOT / "docs/architecture.md").read_text(encoding="utf-8").partition("## The import rule")[0]
    assert set(re.findall(r"`app/(\w+)\.py`", table)) == {path.stem for path in ROOT.glob("app/[!_]*.py")}


def test_allowed_imports_go_one_way() -> None:
    TopologicalSorter(MAY_IMPORT).prepare()


def test_modules_have_no_import_cycles() -> None:
    """Include imports inside functions and imports for type checking."""
    modules = {_dotted(path): path for folder in ("core", "app") for path in _modules(folder)}
    graph = {
        name: {module for module in _imports(path) & modules.keys() if module != name}
        - {module.rpartition(".")[0] for module in _imports(path) & modules.keys()}  # "from package import module"
        for name, path in modules.items()
    }
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the cycle


def test_packages_have_no_import_cycles() -> None:
    """Count each page, each service, and every other folder or module of app and core as a package."""
    graph: dict[str, set[str]] = {}
    names = {_dotted(path) for folder in ("core", "app") for path in _modules(folder)}
    for folder in ("core", "app"):
        for path in _modules(folder):
            package = _package_of(_dotted(path))
            packages = {_package_of(name) for name in _imports(path) & names}
            graph.setdefault(package, set()).update(packages - {package, *_parents(package)})
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the cycle


def _package_of(module: str) -> str:
    """Return the package of a module: ``core.llm``, ``core.services.runs``, ``app.screens.run``, ``app.widgets``."""
    parts = module.split(".")
    return ".".join(parts[: 3 if parts[1:2] in (["services"], ["screens"]) else 2])


def _parents(package: str) -> set[str]:
    """Return the parent packages of a package, which ``from package import module`` names too."""
    parts = package.split(".")
    return {".".join(parts[:size]) for size in range(1, len(parts))} | {"core.services", "app.screens"}


def _dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode or not listed.stdout:
        pytest.skip("not a git checkout")
    return listed.stdout.splitlines()


def test_top_level_has_only_agreed_entries() -> None:
    tops = {name.split("/")[0] for name in _tracked()}
    assert {top for top in tops if not top.startswith(".")} <= TOP_LEVEL


def test_no_file_is_a_link() -> None:
    """A link, as to a shared environment, replaces what another machine has in its place."""
    assert not [name for name in _tracked() if (ROOT / name).is_symlink()]


def test_no_lock_or_requirements_file_holds_a_url() -> None:
    names = [
        name
        for name in _tracked()
        if re.search(r"(\.lock|lock\.json|requirements|constraints|\.npmrc|pip\.conf)", name)
    ]
    assert "requirements.lock" in names
    for name in names:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert not re.search(r"https?://|@ ?file:|--index|--find-links", text), name


def test_imported_packages_are_declared() -> None:
    """A package that is installed only for another one may be gone with the next version of that one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [name for extra, names in project["optional-dependencies"].items() if extra != "test" for name in names]
    declared = {canonicalize_name(Requirement(name).name) for name in [*project["dependencies"], *extras]}
    distributions = packages_distributions()
    tops = {
        name.partition(".")[0] for folder in ("app", "core") for path in _modules(folder) for name in _imports(path)
    }
    installed = (tops - sys.stdlib_module_names - {"app", "core"}) & set(distributions)
    assert len(installed) > 20
    assert [name for name in installed if not declared & set(map(canonicalize_name, distributions[name]))] == []


def test_shipped_files_are_packed_into_the_wheel() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert build["force-include"] == {
        "prompts": "core/_data/prompts",
        "sample_data": "core/_data/sample_data",
        "core/cli/__main__.py": "moot.py",
    }
    assert set(build["packages"]) == {"app", "core"}
