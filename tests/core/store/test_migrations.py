"""Tests of migrations: old project files are migrated, newer and altered files are refused."""

from __future__ import annotations

import json
import shutil

import duckdb
import pytest

from core.codebook import Codebook, Label
from core.errors import ProjectError
from core.services.lab import accepted_changes
from core.store import migrations
from core.store.lab import ACCEPTED_CHANGES
from core.store.project import Project
from core.store.review_queue import Viewpoint
from tests.core.store.helpers import make_settings

pytestmark = pytest.mark.usefixtures("applied_schema")


@pytest.fixture(scope="module")
def created(tmp_path_factory):
    """Return a closed project without contents; copies of it take less time than new projects."""
    path = tmp_path_factory.mktemp("created") / "project.duckdb"
    Project(path).close()
    return path


@pytest.fixture
def closed(created, path):
    """Return a copy of a closed project."""
    return shutil.copyfile(created, path)


def _version(connection):
    return connection.execute("SELECT max(version) FROM moot_schema").fetchone()[0]


def test_migration_scripts_are_numbered_without_gaps():
    assert [number for number, _ in migrations.scripts()] == list(range(1, migrations.newest() + 1))


def test_oldest_file_is_migrated_and_keeps_its_data(path):
    with duckdb.connect(str(path)) as connection:
        migrations.migrate(connection, path="p", upto=1)
        connection.execute("INSERT INTO settings VALUES ('pace', '3', 0)")
        assert _version(connection) == 1
    with Project(path) as project:
        assert project.store.settings.get("pace") == 3
        assert project.store.review_queue.lines(Viewpoint(None)).total == 0
    with duckdb.connect(str(path)) as connection:
        assert _version(connection) == migrations.newest()


def test_run_of_an_older_file_has_no_prepass(path):
    settings = make_settings()
    stored = json.dumps(settings.model_dump(mode="json", exclude={"prepass"}))
    with duckdb.connect(str(path)) as connection:
        migrations.migrate(connection, path="p", upto=13)
        connection.execute(
            "INSERT INTO runs (number, run_id, experiment_id, settings, created_at, rejected, purpose, state, seconds, "
            "stop_code, message, retry) VALUES (1, 'r0001', 'r0001', ?, 0, 0, 'run', 'done', 0, '', '', 0)",
            [stored],
        )
    with Project(path) as project:
        assert project.store.runs.require("r0001").settings == settings


def test_accepted_changes_of_an_older_file_keep_their_trial(path):
    with duckdb.connect(str(path)) as connection:
        migrations.migrate(connection, path="p", upto=5)
        stored = '{"lessons": [{"part": "description", "added": "\\"lessons\\": none"}], "trial": 7, "reviewed": 12}'
        connection.execute("INSERT INTO settings VALUES ('accepted lessons', ?, 0)", [stored])
        trial = [7, 0, "lessons", "without", "with", "r1", "r2", "", "", '{"seed": 0}', False]
        connection.execute(f"INSERT INTO trials VALUES ({', '.join('?' * len(trial))})", trial)
    with Project(path) as project:
        stored = project.store.settings.get(accepted_changes.SETTING)
        assert stored == {
            "changes": [{"part": "description", "added": '"lessons": none'}],
            "trial": 7,
            "reviewed": 12,
        }
        assert project.store.settings.get("accepted lessons") is None
        assert [trial.number for trial in project.store.lab.trials(ACCEPTED_CHANGES)] == [7]


def test_newer_file_is_refused(path):
    with duckdb.connect(str(path)) as connection:
        migrations.migrate(connection, path="p")
        connection.execute("INSERT INTO moot_schema VALUES (9999, 0, '')")
    with pytest.raises(ProjectError, match="made by a newer Moot"):
        Project(path)


def test_file_made_by_different_migration_scripts_is_refused(path):
    with duckdb.connect(str(path)) as connection:
        migrations.migrate(connection, path="p")
        connection.execute("UPDATE moot_schema SET digest = 'other' WHERE version = 1")
    with pytest.raises(ProjectError, match="different development version"):
        Project(path)


def test_failed_migration_keeps_the_previous_version(path, monkeypatch):
    good = migrations.scripts()
    broken = (*good, (len(good) + 1, "CREATE TABLE half (a INTEGER); SELECT nonsense;"))
    with duckdb.connect(str(path)) as connection:
        migrations.migrate(connection, path="p")
        monkeypatch.setattr(migrations, "scripts", lambda: broken)
        with pytest.raises(duckdb.Error):
            migrations.migrate(connection, path="p")
        assert _version(connection) == len(good)
        assert connection.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'half'").fetchall() == [(0,)]


def test_file_whose_creation_was_interrupted_becomes_a_new_project(path):
    duckdb.connect(str(path)).close()
    with Project(path) as project:
        assert project.store.documents.count() == 0


ATTACKS = {
    "a view in place of a table": "DROP TABLE settings; CREATE VIEW settings AS SELECT 'a' AS key, '1' AS value",
    "an endless view": "CREATE VIEW endless AS WITH RECURSIVE t AS (SELECT 1 n UNION ALL SELECT n + 1 FROM t) FROM t",
    "an endless view in place of the versions": "DROP TABLE moot_schema; CREATE VIEW moot_schema AS "
    "WITH RECURSIVE t AS (SELECT 1 version UNION ALL SELECT version + 1 FROM t) FROM t",
    "versions without digests": "ALTER TABLE moot_schema DROP digest",
    "another query in a view of the schema": "CREATE OR REPLACE VIEW run_summary AS SELECT 1 AS run_id",
    "a macro over a function": "CREATE MACRO count(x) AS 7",
    "a macro over coalesce": "CREATE MACRO \"coalesce\"(a, b) AS b",
    "a table macro over the check": "CREATE MACRO duckdb_tables() AS TABLE SELECT 'moot_schema' AS table_name",
    "a macro over the check's own names": "CREATE MACRO duckdb_views() AS TABLE SELECT 1; CREATE MACRO max(x) AS 1",
    "an overload of a macro": "CREATE OR REPLACE MACRO aspect_json(pairs) AS (SELECT 'x')",
    "a default that runs a query": "ALTER TABLE settings ALTER COLUMN value SET DEFAULT (random()::VARCHAR)",
    "a generated column": "CREATE TABLE lure (a INT, b INT AS (a + 1))",
    "a column more": "ALTER TABLE settings ADD COLUMN more VARCHAR",
    "a table more": "CREATE TABLE more (a INT)",
    "a schema that is searched": "CREATE SCHEMA hidden; CREATE VIEW hidden.runs AS SELECT 1",
    "a type": "CREATE TYPE mood AS ENUM ('a')",
    "a sequence": "CREATE SEQUENCE another",
    "an index": "CREATE INDEX another ON settings (value)",
    "a table dropped": "DROP TABLE settings",
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_file_with_foreign_database_objects_is_refused(closed, attack):
    with duckdb.connect(str(closed)) as connection:
        connection.execute(attack)
    with pytest.raises(ProjectError, match=r"changed by another|development version|file of another program"):
        Project(closed)


def test_versions_that_are_computed_are_not_read(closed, monkeypatch):
    with duckdb.connect(str(closed)) as connection:
        connection.execute(
            "DROP TABLE moot_schema; CREATE TABLE moot_schema "
            "(version INTEGER, unix_time DOUBLE, digest VARCHAR AS (repeat('x', 3000000000)))"
        )
    monkeypatch.setattr(migrations, "_applied", lambda _: pytest.fail("foreign SQL ran"))
    with pytest.raises(ProjectError, match="file of another program"):
        Project(closed)


@pytest.mark.parametrize("name", ["../../elsewhere", "/etc/elsewhere", "r0001\n", ""])
def test_run_whose_name_leads_out_of_a_folder_is_refused(closed, name):
    with duckdb.connect(str(closed)) as connection:
        values = {
            "run_id": name,
            "number": 1,
            "experiment_id": "",
            "settings": "{}",
            "state": "paused",
            "created_at": 0,
        }
        others = connection.execute("SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'runs'")
        row = {column: values.get(column, "" if kind == "VARCHAR" else 0) for column, kind in others.fetchall()}
        connection.execute(f"INSERT INTO runs VALUES ({', '.join('?' * len(row))})", list(row.values()))
    with pytest.raises(ProjectError, match="name of a run"):
        Project(closed)


def test_used_project_can_be_reopened(path):
    for value in range(3):
        with Project(path) as project:
            project.store.settings.set("pace", value)
            project.store.codebooks.save(Codebook(labels=(Label(name="Weather"),)))
            assert project.store.settings.get("pace") == value
