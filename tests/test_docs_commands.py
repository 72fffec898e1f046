"""Run the commands of the documentation, and validate the JSON that commands print.

Each fenced block after ``<!-- run -->`` is run; all blocks of a page run in order in one folder.
``<!-- run with: NAME -->`` points the connection of this name to a server of ``tests/servers``. ``<!-- run: FILE -->``
first writes the page's YAML block to a file. ``<!-- run: project -->`` runs SQL or Python on the sample project.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb
import jsonschema
import pytest

from core.author_labelling import comparison
from core.stats.metrics import METRICS
from tests.core.cli.invoking import annotate, moot, write
from tests.servers.running import batch_server, mock_llm

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
FENCED = re.compile(
    r"^(?:<!-- run(?P<how>[^>]*) -->\n)?```(?P<language>\w+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "ollama": "http://127.0.0.1:11434",
    "vllm": "http://127.0.0.1:8000/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
}
CODEBOOK = "name: Aspects\nunit: hotel review\nlabels:\n  - name: Service\n  - name: Food\n  - name: Location\n"
TEXTS = ["The staff were friendly.", "Breakfast was cold.", "By the station, and the staff knew it.", "Fine."] * 3


class Block(NamedTuple):
    how: str | None
    language: str
    code: str


def blocks(page: Path) -> list[Block]:
    return [Block(*match.group("how", "language", "code")) for match in FENCED.finditer(page.read_text("utf-8"))]


RUN = [page for page in sorted(DOCS.rglob("*.md")) if any(block.how is not None for block in blocks(page))]


@contextlib.contextmanager
def server(name: str) -> Iterator[str]:
    """Start the server of a connection and yield its address without a path; without a name, start no server."""
    if not name:
        yield ""
        return
    with batch_server() if name == "batch" else mock_llm(slots=8, ttft=0.001, tpt=0.0001) as url:
        yield url


def prepare(folder: Path) -> None:
    """Write the files that the commands name."""
    shutil.copytree(ROOT / "sample_data", folder / "sample_data")
    (folder / "aspects.yaml").write_text(CODEBOOK, encoding="utf-8")
    gold = [(int("staff" in text), int("Breakfast" in text), int("station" in text)) for text in TEXTS]
    lines = [
        f'"{text} ({index})",{",".join(map(str, row))}'
        for index, (text, row) in enumerate(zip(TEXTS, gold, strict=True))
    ]
    (folder / "reviews.csv").write_text("\n".join(["text,Service,Food,Location", *lines]), encoding="utf-8")


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_commands_of_a_page_succeed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-page")
    result = blocks(page)
    name = next((block.how.removeprefix(" with: ") for block in result if (block.how or "").startswith(" with:")), "")
    with server(name) as url:
        prepare(tmp_path)
        for block in result:
            if block.how is None:
                continue
            if block.how == ": project":
                query(tmp_path, block)
            else:
                if block.how.startswith(": "):
                    (tmp_path / block.how.removeprefix(": ")).write_text(first_yaml(result), encoding="utf-8")
                for arguments in commands(tmp_path, with_address(block.code, name, url)):
                    moot(*arguments, *(connection(name, url) if arguments[0] in ("annotate", "rerun") else ()))


def first_yaml(blocks: list[Block]) -> str:
    return next(block.code for block in blocks if block.language == "yaml")


def with_address(code: str, name: str, url: str) -> str:
    """Replace the default address of a connection by the address of the test server."""
    if name not in ADDRESSES:
        return code
    return code.replace(ADDRESSES[name], url if name == "ollama" else f"{url}/v1")


def connection(name: str, url: str) -> tuple[str, ...]:
    """Return the options that answer a connection from its server."""
    if not name:
        return ()
    return "--connection", f"{'openai' if name == 'batch' else name}={url if name == 'ollama' else f'{url}/v1'}"


def commands(folder: Path, code: str) -> list[list[str]]:
    """Return the arguments of each command ``moot`` in a block, as the shell passes them. Other commands are run."""
    noted = folder / "commands"
    note = f"moot() {{ printf '%s\\0' \"$@\" >> {noted}; printf '\\n' >> {noted}; }}\n"
    shell(folder, note + code)
    lines = noted.read_text(encoding="utf-8").removesuffix("\0\n").split("\0\n")
    noted.unlink()
    return [line.split("\0") for line in lines]


def shell(folder: Path, code: str) -> None:
    command = ["bash", "-euo", "pipefail", "-c", code]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"


def query(folder: Path, block: Block) -> None:
    project = folder / "hotel.duckdb"
    if not project.exists():
        sample = ROOT / "sample_data"
        moot(
            "annotate",
            sample / "hotel_reviews.csv",
            "--text",
            "text",
            "--id",
            "id",
            "--project",
            project,
            "--codebook",
            sample / "hotel_aspects.yaml",
            "--gold-same-names",
        )
    if block.language == "python":
        shell(folder, f"{sys.executable} - <<'END'\n{block.code}END")
        return
    with duckdb.connect(str(project), read_only=True) as connection:
        assert connection.execute(block.code).fetchall()


def test_json_output_matches_the_schemas(tmp_path: Path) -> None:
    schemas = json.loads((DOCS / "reference" / "schemas.json").read_text(encoding="utf-8"))
    write(tmp_path)
    rows = [
        {"id": f"d{index}", "text": text, "Service": "staff" in text, "Food": "Break" in text, "Location": "by" in text}
        for index, text in enumerate(TEXTS)
    ]
    (tmp_path / "texts.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    rating = "name: Ratings\nkind: rating\nscale: {min: 1, max: 5}\nlabels: [{name: Warmth, keywords: [staff]}]\n"
    (tmp_path / "ratings.yaml").write_text(rating, encoding="utf-8")
    (tmp_path / "ratings.csv").write_text("text,Warmth\nKind staff.,5\nCold.,1\n", encoding="utf-8")
    texts = (tmp_path / "texts.jsonl", "--text", "text", "--codebook", tmp_path / "codebook.yaml")
    ratings = ("--project", tmp_path / "ratings.duckdb")
    moot(
        "annotate",
        tmp_path / "ratings.csv",
        "--text",
        "text",
        "--codebook",
        tmp_path / "ratings.yaml",
        *ratings,
        "--gold-same-names",
        "--protocol",
        "single",
    )
    project = ("--project", tmp_path / "p.duckdb", "--json")
    printed = {
        "annotate": annotate(tmp_path, "--gold-same-names", "--protocol", "single").json,
        "repeated": annotate(tmp_path, "--gold-same-names", "--iterations", "2").json,
        "demo": moot("demo", "--json").json,
        "runs": moot("runs", *project).json,
        "evaluate": moot("evaluate", *project, "--errors").json,
        "evaluate ratings": moot("evaluate", *ratings, "--json").json,
        "compare": moot("compare", *project, "r0001", "r0002").json,
        "compare three": moot("compare", *project, "r0001", "r0002", "r0003").json,
        "keywords": moot("keywords", *texts, "--json").json,
        "models": moot("models", "--json").json,
        "authors": moot("authors", "--project", tmp_path / "chats.duckdb", "--sample", "--json").json,
        "doctor": moot("doctor", "--json", code=None).json,
    }
    scores = {metric.key for metric in METRICS}
    for name, result in printed.items():
        schema = name.partition(" ")[0].replace("repeated", "annotate")
        jsonschema.validate(result, {"$ref": f"#/$defs/{schema}", **schemas}, jsonschema.Draft202012Validator)
        undocumented = f"{name}: add it to the definition '{schema}' or 'evaluation' in docs/reference/schemas.json"
        assert set(result) - scores <= set(schemas["$defs"][schema]["properties"]), undocumented
        reports = result["runs"] if schema == "evaluate" else result.get("reports", [])
        for report in reports:
            documented = schemas["$defs"]["evaluation"]["properties"]
            assert set(report) <= set(documented), undocumented
            measures = next(iter(report.get("measures", {}).values()), {})
            assert set(measures) <= set(re.findall(r"`(\w+)`", documented["measures"]["description"])), undocumented
            for average in {"macro", "micro", "weighted"} & set(report):
                assert set(report[average]) <= set(documented[average]["properties"]), undocumented


NOT_RUN = re.compile("moot$|moot (demo|studio|regress)|--reference reviewed")
"""Examples that open the studio, that other tests run, or that need reviews."""


def test_examples_of_the_help_succeed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-help")
    tasks = comparison.predictivity_tasks  # more than 400 of the sample project, which take half of the test's time
    monkeypatch.setattr(comparison, "predictivity_tasks", lambda questions: tasks(questions)[:27])
    prepare(tmp_path)
    page = (DOCS / "reference" / "command_line.md").read_text(encoding="utf-8")
    lines = dict.fromkeys(re.findall(r"^    (moot\b.*)$", page.replace(" --budget 2", ""), re.MULTILINE))
    examples = [line for line in lines if not NOT_RUN.search(line)]
    assert len(examples) > 15
    with server("mock") as url:
        for line in sorted(examples, key=lambda line: ("moot annotate" not in line, "moot import" in line)):
            name = next((name for name in ("openai", "ollama") if f"{name}/" in line), "")
            arguments = shlex.split(line.replace("http://127.0.0.1:8081", url))[1:]
            moot(*arguments, *connection(name, url), code=None if arguments[0] == "doctor" else 0)
