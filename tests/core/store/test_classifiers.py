"""Tests of stored classifiers: the latest one, and the documents that may be its training data."""

from __future__ import annotations

import time

import duckdb

from core.runs import RoleModel
from core.store import migrations
from core.store.classifiers import StoredClassifier
from core.store.project import Project
from tests.core.store.helpers import make_documents, make_settings, set_status


def classifier(hash, at):
    return StoredClassifier(hash, b"", {"name": hash}, "", at)


def run_with(project, hash):
    role_models = {"judge": RoleModel(connection="builtin", model=f"classifier@{hash}")}
    return project.store.runs.create(make_settings(role_models=role_models), ["d0", "d1"]).run_id


def test_clock_that_is_set_back_hides_no_training_document_and_no_classifier(path):
    with Project(path) as project:
        project.store.documents.add(make_documents(3))
        set_status(project.store.reviews, "d0", "Submitted", actor="me")
        project.store.classifiers.save(classifier("first", time.time() - 3600))
        set_status(project.store.reviews, "d1", "Submitted", actor="me")
        run_id = run_with(project, "first")
        assert project.store.classifiers.training_documents(run_id) == ["d0"]
        project.store.classifiers.save(classifier("second", time.time() - 7200))
    with Project(path) as project:
        assert project.store.classifiers.latest_facts() == ("second", {"name": "second"})
        assert project.store.classifiers.load().hash == "second"


def test_classifier_of_an_older_file_keeps_its_training_documents(path):
    with duckdb.connect(str(path)) as connection:
        migrations.migrate(connection, path="p", upto=11)
        for seq, (document, at) in enumerate((("d0", 10), ("d1", 30)), 1):
            connection.execute(
                "INSERT INTO events (seq, act, unix_time, actor, kind, document_id, after, payload) "
                "VALUES ($seq, $seq, $at, 'me', 'review_status', $document, $after, '{}')",
                {"seq": seq, "at": at, "document": document, "after": '"Submitted"'},
            )
        connection.execute("INSERT INTO classifiers VALUES ('old', '', '{}', '', 20, '')")
    with Project(path) as project:
        assert project.store.classifiers.training_documents(run_with(project, "old")) == ["d0"]
