"""Tests of codebook versions, the draft, settings and events."""

from __future__ import annotations

import time

import pytest

from core.author_labelling.questions import Answer
from core.codebook import Codebook, Label, parse_codebook
from core.store import events, saved_versions
from core.store.rows import insert
from tests.core.store.helpers import make_codebook


def test_saving_creates_a_version_only_if_the_codebook_changed(project):
    books = project.store.codebooks
    assert books.latest() is None
    first = make_codebook(2)
    assert books.save(first, note="start", actor="me") == 1
    assert books.save(first, note="again", actor="me") == 1
    second = make_codebook(3)
    assert books.save(second, actor="you") == 2
    assert books.save(first, note="back", actor="me") == 3
    assert [version.number for version in books.history()] == [3, 2, 1]
    assert books.latest().codebook == first
    assert (books.get(2).codebook, books.get(2).note) == (second, "")
    assert books.get(9) is None
    assert abs(books.latest().at - time.time()) < 60
    changes = project.store.events.all(kinds=["codebook"])
    assert [(event.before, event.after, event.actor) for event in changes] == [
        (2, 3, "me"),
        (1, 2, "you"),
        (None, 1, "me"),
    ]


def test_versions_are_parsed_once(project, monkeypatch):
    books, parsed = project.store.codebooks, []
    monkeypatch.setattr(
        saved_versions,
        "parse_codebook",
        lambda *args, **options: parsed.append(args) or parse_codebook(*args, **options),
    )
    for count in (2, 3):
        books.save(make_codebook(count))
    assert [version.codebook for version in books.history()] == [make_codebook(3), make_codebook(2)]
    books.save(make_codebook(4))  # a commit, such as a review
    assert [version.codebook for version in books.history()][1:] == [make_codebook(3), make_codebook(2)]
    assert len(parsed) == 3


def test_version_round_trip_keeps_every_field(project):
    codebook = Codebook(
        kind="rating",
        guideline="Only the hotel",
        labels=(Label(name="Clean", include=("stain",), exclude=("maid",), keywords=("dirt",), code=1.5),),
    )
    project.store.codebooks.save(codebook)
    assert project.store.codebooks.latest().codebook == codebook


def test_saving_a_version_removes_the_draft(project):
    books = project.store.codebooks
    assert books.draft() is None
    books.save_draft(make_codebook(2))
    books.save_draft(Codebook(name="unfinished"))
    assert books.draft() == Codebook(name="unfinished")
    books.drop_draft()
    books.drop_draft()
    assert books.draft() is None
    books.save_draft(Codebook(name="again"))
    books.save(make_codebook())
    assert books.draft() is None
    books.save_draft(books.latest().codebook)
    assert books.draft() is None
    assert project.store.events.all(kinds=["setting"]) == []


@pytest.mark.parametrize("value", [None, 0, "", [], {"a": [1, {"b": None}]}, 1.5, "\ud800"])
def test_settings_store_plain_data(project, value):
    project.store.settings.set("name", value)
    assert project.store.settings.get("name") == ("\ufffd" if value == "\ud800" else value)


def test_each_change_of_a_setting_is_an_event(project):
    settings = project.store.settings
    assert settings.get("pace") is None
    assert settings.get("pace", 2) == 2
    settings.set("pace", 1, actor="me")
    settings.set("pace", 1, actor="me")
    settings.set("pace", 5, actor="you")
    settings.set("role_models", {"judge": "x/y"}, actor="me")
    assert (settings.get("pace"), settings.get("role_models")) == (5, {"judge": "x/y"})
    events = project.store.events.all(kinds=["setting"])
    assert [(event.item, event.before, event.after, event.actor) for event in events] == [
        ("role_models", None, {"judge": "x/y"}, "me"),
        ("pace", 1, 5, "you"),
        ("pace", None, 1, "me"),
    ]
    assert [event.seq for event in project.store.events.all(limit=1)] == [max(event.seq for event in events)]


def test_answers_of_several_annotators_are_stored_with_one_statement(project, monkeypatch):
    inserts = []
    monkeypatch.setattr(events, "insert", lambda *args: inserts.append(insert(*args)))
    answers = [Answer("d1/purchase", by, 0.0, "readers", "Yes") for by in ("anna", "ben", "anna", "ben")]
    project.store.author_log.append(answers)
    assert len(inserts) == 1
    assert project.store.author_log.entries() == answers
    assert [event.actor for event in reversed(project.store.events.all())] == ["anna", "ben", "anna", "ben"]
