"""Tests of bundles: they contain the whole project, and a restored project is equal and can continue."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import zipfile
from dataclasses import replace
from types import SimpleNamespace

import pytest
from pyarrow import parquet

from core.engine.interfaces import BatchJob
from core.errors import InputError, ProjectError, StorageFull
from core.runs import EngineSettings, RoleModel, Template
from core.services import bundle, export
from core.services.review import actions
from core.services.runs import planned_comparison, planning
from core.store.project import Project


@pytest.fixture
def packed(session, run_id, tmp_path):
    actions.edit(session, run_id, ["d0"], "b", True, actions.Attribution("ann"))
    actions.mark(session, run_id, "d0", "flag", True, actions.Attribution("bob"))
    session.store.codebooks.save(session.store.runs.get(run_id).settings.codebook)
    return bundle.write_bundle(session, tmp_path / "all.zip")


def test_restored_project_is_equal_and_can_continue(session, run_id, packed, tmp_path):
    from core.store.project import Project

    with packed.open("rb") as file:
        path = bundle.open_bundle(file, tmp_path / "again.duckdb")
    with Project(path) as project:
        store = project.store
        assert [row.run_id for row in store.runs.all()] == [row.run_id for row in session.store.runs.all()]
        assert store.codebooks.latest() == session.store.codebooks.latest()
        assert store.transcripts.of(run_id, ["d0"]) == session.store.transcripts.of(run_id, ["d0"])
        assert store.document_records.load(None, ["d0"])[0].reviews["b"].actor == "ann"
        before = store.events.all()
        assert before == session.store.events.all()
        assert store.reviews.undo("ann")[0].document_id == "d0"  # the next event gets a new number
        assert store.events.all()[0].seq > before[0].seq


def test_restored_project_names_no_folder_and_no_cluster_of_another_machine(session, run_id, tmp_path):
    settings = session.store.runs.get(run_id).settings
    planning.change_plan(
        session, lambda plan: replace(plan, engine=EngineSettings(name="batch", batch_dir="/shared/files"))
    )
    elsewhere = EngineSettings(name="ray", ray_address="elsewhere:6379", ray_dir="/shared/ray", ray_workers=3)
    other = session.store.runs.create(settings.model_copy(update={"engine": elsewhere}), ["d0"]).run_id
    planned_comparison.add(session, planning.load_plan(session))
    packed = bundle.write_bundle(session, tmp_path / "all.zip")
    with packed.open("rb") as file:
        path = bundle.open_bundle(file, tmp_path / "again.duckdb")
    with Project(path) as project:
        assert project.store.settings.get(planned_comparison.MEMBERS_SETTING)[0]["engine"]["batch_dir"] == ""
        assert project.store.runs.get(run_id).settings == settings
        assert project.store.runs.get(other).settings.engine == EngineSettings(name="ray", ray_workers=3)
        assert project.store.settings.get(planning.PLAN_SETTING)["engine"]["batch_dir"] == ""


def test_restored_project_has_no_open_batch_in_a_folder(session, run_id, tmp_path):
    settings = session.store.runs.get(run_id).settings
    jobs = session.project.jobs
    for folder in ("", str(tmp_path)):
        engine = EngineSettings(name="batch", batch_dir=folder)
        run = session.store.runs.create(settings.model_copy(update={"engine": engine}), ["d0"])
        job = BatchJob(f"{run.run_id}-1", run.run_id, RoleModel(connection="openai", model="m"), ("key",))
        asyncio.run(jobs.begin(job))
    with bundle.write_bundle(session, tmp_path / "all.zip").open("rb") as file:
        path = bundle.open_bundle(file, tmp_path / "again.duckdb")
    with Project(path) as project:
        assert [job.name for job in asyncio.run(project.jobs.open_jobs(""))] == [
            job.name for job in asyncio.run(jobs.open_jobs(""))
        ]


def test_bundle_is_readable_without_moot(session, run_id, packed):
    with zipfile.ZipFile(packed) as archive:
        names = set(archive.namelist())
        assert {"README.md", "codebook.yaml", "reviews.jsonl", f"settings/{run_id}.json"} <= names
        assert f"results/{run_id}.parquet" in names
        page = archive.read(f"debates/{run_id}-1.html").decode()
        events = [json.loads(line) for line in archive.read("reviews.jsonl").splitlines()]
    turn = session.store.transcripts.of(run_id, ["d0"])[0]
    assert turn.role in page
    assert "<script" not in page
    changes = [(event["actor"], event["kind"], event["document_id"], event["item"], event["after"]) for event in events]
    assert changes[0] == ("ann", "review", "d0", "b", True)
    assert ("bob", "mark", "d0") in [change[:3] for change in changes]


def test_prompt_of_a_role_with_a_foreign_name_stays_in_its_folder(session, run_id, tmp_path, monkeypatch):
    run = session.run(run_id)
    template = Template(name="t", text="{{ document }}")
    names = ("../../evil", "/etc/evil", "a\\b", "judge")
    settings = run.settings.model_copy(update={"templates": dict.fromkeys(names, template)})
    monkeypatch.setattr(session.store.runs, "all", lambda: [run.model_copy(update={"settings": settings})])
    with zipfile.ZipFile(bundle.write_bundle(session, tmp_path / "foreign.zip")) as archive:
        prompt_names = [name for name in archive.namelist() if name.startswith("prompts/")]
        assert archive.testzip() is None
        assert not any(".." in name or "evil" in name for name in archive.namelist() if not name.startswith("prompts/"))
    assert prompt_names == [f"prompts/{run_id}/{name}.md" for name in ("______evil", "_etc_evil", "a_b", "judge")]


def test_readme_counts_one_document(session, run_id):
    run = session.run(run_id).model_copy(update={"documents": 1, "verdicts": 1})
    assert bundle._readme(session, [run]).endswith(f"- {run_id}: ECJ, 1 document, 1 verdict\n")


def test_debate_pages_escape_documents_and_replies(run_id):

    from core.services.bundle import debates_html

    hostile = '</div><script>alert(1)</script><img src="https://example.org/x">'
    text = SimpleNamespace(spec=hostile, text=hostile)
    debate = {
        "document_id": hostile,
        "fields": {"text": hostile, hostile: "b"},
        "status": hostile,
        "decided": [hostile],
        "corrected": [hostile],
        "turns": [SimpleNamespace(role=hostile, role_model=text, reply=text)],
    }
    page = debates_html(hostile, [('"><script>', hostile)], [debate]).decode()
    assert "<script" not in page
    assert "<img" not in page
    assert "default-src 'none'" in page


def rewritten(packed, **changes):
    """Return the bundle with members replaced, or removed if their new content is None."""
    out = io.BytesIO()
    with zipfile.ZipFile(packed) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = changes.get(name, old.read(name))
            if data is not None:
                new.writestr(name, data)
    out.seek(0)
    return out


def manifest(packed, **changes):
    with zipfile.ZipFile(packed) as archive:
        return json.dumps(json.loads(archive.read("manifest.json")) | changes).encode()


def _runs(packed, *, names=(), run_id=None):
    """Return the table of runs with renamed columns or with another run id."""
    with zipfile.ZipFile(packed) as archive:
        table = parquet.read_table(io.BytesIO(archive.read("tables/runs.parquet")))
    if run_id is not None:
        table = table.set_column(table.column_names.index("run_id"), "run_id", [[run_id] * len(table)])
    out = io.BytesIO()
    parquet.write_table(table.rename_columns([dict(names).get(name, name) for name in table.column_names]), out)
    return out.getvalue()


def test_invalid_bundle_is_refused_and_leaves_no_file(packed, tmp_path):
    path = tmp_path / "new.duckdb"
    tables = json.loads(manifest(packed))["tables"]
    bad = [
        io.BytesIO(b"not a zip"),
        io.BytesIO(packed.read_bytes()[:2000]),
        rewritten(packed, **{"manifest.json": None}),
        rewritten(packed, **{"manifest.json": b"[]"}),
        rewritten(packed, **{"manifest.json": manifest(packed, layout="other")}),
        rewritten(packed, **{"manifest.json": manifest(packed, schema=0)}),
        rewritten(packed, **{"manifest.json": manifest(packed, schema=-1)}),
        rewritten(packed, **{"manifest.json": manifest(packed, tables=tables | {"secrets": 1})}),
        rewritten(packed, **{"tables/runs.parquet": b"PAR1 no"}),
        rewritten(packed, **{"tables/runs.parquet": zipfile.ZipFile(packed).read("tables/replies.parquet")}),
        rewritten(packed, **{"tables/runs.parquet": _runs(packed, names={"run_id": 'run_id") SELECT 1 --'})}),
        rewritten(packed, **{"tables/runs.parquet": _runs(packed, run_id="../../elsewhere")}),
    ]
    for file in bad:
        with pytest.raises(InputError):
            bundle.restore_bundle(file, path)
    newer = rewritten(packed, **{"manifest.json": manifest(packed, schema=999)})
    with pytest.raises(ProjectError, match="newer Moot"):
        bundle.restore_bundle(newer, path)
    assert [path.name for path in tmp_path.iterdir() if "new.duckdb" in path.name] == []


def _repeated(packed, times):
    """Return a table of documents repeated many times: tiny in Parquet, large as rows."""
    table = parquet.read_table(io.BytesIO(zipfile.ZipFile(packed).read("tables/documents.parquet"))).slice(0, 1)
    out = io.BytesIO()
    parquet.write_table(table.take([0] * times), out, compression="zstd")
    return out.getvalue()


def test_zip_bomb_is_refused_early(packed, tmp_path, monkeypatch):
    path = tmp_path / "new.duckdb"
    monkeypatch.setattr(bundle, "MIN_LIMIT", 1000)
    with packed.open("rb") as file:
        bundle.restore_bundle(file, tmp_path / "honest.duckdb")  # the limits do not affect a normal bundle
    bombs = [
        (rewritten(packed, **{"tables/runs.parquet": bytes(20 << 20)}), "too much for its size"),
        (rewritten(packed, **{"tables/documents.parquet": _repeated(packed, 100_000)}), "too much for its size"),
    ]
    monkeypatch.setattr(bundle, "ROWS_RATIO", 10)
    for bomb, message in bombs:
        assert len(bomb.getbuffer()) < 4 << 20
        with pytest.raises(InputError, match=message):
            bundle.restore_bundle(bomb, path)
    assert [path.name for path in tmp_path.iterdir() if "new.duckdb" in path.name] == []


def test_full_disk_is_reported(packed, tmp_path, monkeypatch):
    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(bundle.tempfile, "TemporaryFile", full)
    with packed.open("rb") as file, pytest.raises(StorageFull):
        bundle.restore_bundle(file, tmp_path / "new.duckdb")


def test_damaged_bundle_is_reported_as_damaged(packed, tmp_path):
    content = packed.read_bytes()
    with zipfile.ZipFile(packed) as archive:
        start = archive.getinfo("tables/runs.parquet").header_offset + 60
    with pytest.raises(InputError, match="damaged"):
        bundle.restore_bundle(io.BytesIO(content[:start] + bytes(40) + content[start + 40 :]), tmp_path / "new.duckdb")


def test_bundle_does_not_overwrite_a_project(packed, tmp_path):
    path = tmp_path / "mine.duckdb"
    path.write_bytes(b"mine")
    with packed.open("rb") as file, pytest.raises(ProjectError, match="exists already"):
        bundle.restore_bundle(file, path)
    assert path.read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("name", "problem"), [("no/a.duckdb", "folder .*no does not exist"), ("a?.duckdb", "question")]
)
def test_bundle_is_not_restored_to_an_impossible_path(packed, tmp_path, name, problem):
    with packed.open("rb") as file, pytest.raises(ProjectError, match=problem):
        bundle.restore_bundle(file, tmp_path / name)


def test_results_in_the_bundle_equal_the_export(session, run_id, packed, tmp_path):
    path = export.export(session, run_id, "parquet", tmp_path / "out.parquet")
    with zipfile.ZipFile(packed) as archive:
        assert archive.read(f"results/{run_id}.parquet") == path.read_bytes()


def test_child_process_restores_a_bundle(child_processes, run_id, packed, tmp_path):
    with packed.open("rb") as file:
        path = bundle.open_bundle(file, tmp_path / "again.duckdb")
    with Project(path) as project:
        assert [run.run_id for run in project.store.runs.all()] == [run_id]


def test_bundle_over_the_memory_limit_leaves_no_file(child_processes, packed, tmp_path, monkeypatch):
    monkeypatch.setenv("MOOT_READ_MEMORY_GB", "0.05")
    path = tmp_path / "new" / "again.duckdb"
    path.parent.mkdir()
    with pytest.raises(InputError, match="MOOT_READ_MEMORY_GB"):
        bundle.open_bundle(io.BytesIO(packed.read_bytes()), path)
    assert list(path.parent.iterdir()) == []


def test_stopped_import_leaves_no_file(packed, tmp_path, monkeypatch):
    path = tmp_path / "new" / "again.duckdb"
    path.parent.mkdir()

    def stopped(*_args, **_options):
        for suffix in ("", ".wal"):
            (path.parent / f".again.duckdb.0a1b2c3d.part{suffix}").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr(bundle.child_process, "run", stopped)
    with packed.open("rb") as file, pytest.raises(KeyboardInterrupt):
        bundle.open_bundle(file, path)
    assert list(path.parent.iterdir()) == []


def test_damage_in_a_later_block_of_the_project_is_reported(tmp_path):
    def batches():
        yield "first"
        raise OSError("Data Corruption Error: Corrupt database file: computed checksum 1 does not match stored 2")

    with Project(tmp_path / "p.duckdb") as project:
        reader = project.store.dump._translated(batches())
        assert next(reader) == "first"
        with pytest.raises(ProjectError, match="is damaged or cut short"):
            next(reader)
