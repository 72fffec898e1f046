"""Old files become today's; newer ones are refused."""

from __future__ import annotations

import duckdb
import pytest

from core.errors import ProjectError
from core.store import migrations
from core.store.project import Project
from core.store.review_pages import Viewpoint


def test_the_scripts_are_numbered_without_a_gap():
    assert [number for number, _ in migrations.scripts()] == list(range(1, migrations.newest() + 1))


def test_the_oldest_file_is_brought_up_and_keeps_what_it_holds(path):
    with duckdb.connect(str(path)) as connection:
        migrations.migrate(connection, path="p", upto=1)
        connection.execute("INSERT INTO settings VALUES ('pace', '3', 0)")
        assert migrations.version_of(connection) == 1
    with Project.open(path) as project:
        assert project.store.settings.get("pace") == 3
        assert project.store.review_pages.review(Viewpoint(None)).total == 0
    with duckdb.connect(str(path)) as connection:
        assert migrations.version_of(connection) == migrations.newest()


def test_a_newer_file_is_refused(path):
    with duckdb.connect(str(path)) as connection:
        migrations.migrate(connection, path="p")
        connection.execute("INSERT INTO moot_schema VALUES (9999, 0, '')")
    with pytest.raises(ProjectError, match="made by a newer Moot"):
        Project.open(path)


@pytest.mark.parametrize(
    "spoil", ["UPDATE moot_schema SET digest = 'other' WHERE version = 1", "ALTER TABLE moot_schema DROP digest"]
)
def test_a_file_that_other_scripts_made_is_refused(path, spoil):
    with duckdb.connect(str(path)) as connection:
        migrations.migrate(connection, path="p")
        connection.execute(spoil)
    with pytest.raises(ProjectError, match="another state of Moot's development"):
        Project.open(path)


def test_a_migration_that_fails_leaves_the_version_before(path, monkeypatch):
    good = migrations.scripts()
    broken = (*good, (len(good) + 1, "CREATE TABLE half (a INTEGER); SELECT nonsense;"))
    with duckdb.connect(str(path)) as connection:
        migrations.migrate(connection, path="p")
        monkeypatch.setattr(migrations, "scripts", lambda: broken)
        with pytest.raises(duckdb.Error):
            migrations.migrate(connection, path="p")
        assert migrations.version_of(connection) == len(good)
        assert connection.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'half'").fetchall() == [(0,)]


def test_a_file_whose_creation_was_cut_short_starts_anew(path):
    duckdb.connect(str(path)).close()
    with Project.open(path) as project:
        assert project.store.documents.count() == 0
