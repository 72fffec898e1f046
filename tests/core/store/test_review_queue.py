"""Tests of the review queue in SQL, compared with counts in Python on random projects."""

from __future__ import annotations

import asyncio
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from core.codebook import Codebook, Label
from core.documents import Document
from core.store.project import Project
from core.store.review_queue import _WEIGHTS, REASONS, Filter, Viewpoint
from core.store.reviews import Decision, ReviewChange
from tests.core.store.helpers import (
    fill_randomly,
    majority,
    make_codebook,
    make_documents,
    make_reply,
    make_settings,
    make_turn,
    make_verdict,
    record_review,
    reference_of,
    run_values,
    set_gold,
    store_debate,
    values_of,
)

SEEDS = (1, 2, 3)


@pytest.fixture(scope="module", params=SEEDS)
def world(request, tmp_path_factory):
    """Yield (project, run id, codebook, records by id in run order) of a random project with random reviews."""
    with Project(tmp_path_factory.mktemp("world") / "p.duckdb") as project:
        run_id, codebook = fill_randomly(project, request.param)
        add_random_reviews(project, run_id, [label.id for label in codebook.labels], request.param)
        ids = project.store.runs.document_ids(run_id)
        project.store.review_reasons.refresh(run_id, [run_id])
        yield project, run_id, codebook, {d.document.id: d for d in project.store.document_records.load(run_id, ids)}


def add_random_reviews(project, run_id, items, seed):
    rng = random.Random(seed)
    for number in range(40):
        document_id = f"d{rng.randrange(40)}"
        status = rng.choice([None, "Draft", "Submitted", "Discarded"])
        changes = tuple(ReviewChange(item, None, rng.random() < 0.5) for item in items if rng.random() < 0.8)
        project.store.reviews.record([Decision(document_id, changes, status)], actor="me", run_id=run_id)
        if number % 7 == 0:
            project.store.reviews.undo("me")


@pytest.mark.parametrize("annotator", ["extractor", "critic", "verdict", "reviewed", "gold", "gold@ann"])
def test_values_agree_with_values_in_python(world, annotator):
    project, run_id, codebook, records = world
    grid = project.store.annotations.grid(run_id, codebook, annotator)
    source, _, rater = annotator.partition("@")
    for record, row in zip(records.values(), grid, strict=True):
        for item, value in zip(codebook.items, row.tolist(), strict=True):
            is_gold = source == "gold"
            known = (
                reference_of(record, item, source, rater or None) if is_gold else values_of(record, source).get(item)
            )
            assert {1.0: True, 0.0: False}.get(value) == known


def reasons_of(record):
    """Return the reasons to review a document, the most urgent first, computed in Python."""
    lists = [dict(values) for values in record.roles.values()]
    quotes = [quote for quotes_of_role in record.evidence.values() for quote in quotes_of_role]
    verdict = {item: value for item, value in record.values.items() if value is not None}
    result = set()
    if record.status in ("failed", "unresolved"):
        result.add(record.status)
    if any(majority(record.document.gold, item) not in (None, value) for item, value in verdict.items()):
        result.add("gold")
    if not all(quote.supported for quote in quotes):
        result.add("unsupported")
    if any(values != lists[0] for values in lists):
        result.add("disagree")
    if record.status == "verdict" and lists and lists[0] != verdict:
        result.add("flipped")
    return tuple(sorted(result, key=_WEIGHTS.__getitem__, reverse=True))


def test_reasons_agree_with_reasons_in_python(world):
    project, run_id, _, records = world
    page = project.store.review_queue.lines(Viewpoint(run_id), limit=1000)
    assert page.total == len(records)
    assert project.store.document_records.load(run_id, ids_of(page)) == list(records.values())
    for line in page.rows:
        record = records[line.document_id]
        quotes = [quote for quotes_of_role in record.evidence.values() for quote in quotes_of_role]
        assert line.reasons == reasons_of(record)
        assert (line.quotes, line.supported) == (len(quotes), sum(quote.supported for quote in quotes))


def select_ids(records, test):
    return [id for id, record in records.items() if test(record)]


def ids_of(page):
    return [line.document_id for line in page.rows]


def test_filters_agree_with_filters_in_python(world):
    project, run_id, codebook, records = world
    item = codebook.labels[0].id
    cases = [
        (Filter(reasons=("gold", "failed")), lambda d: {"gold", "failed"} & set(reasons_of(d))),
        (Filter(review_statuses=("Pending", "Draft")), lambda d: d.review_status in ("Pending", "Draft")),
        (Filter(verdict_value=(item, True)), lambda d: d.values.get(item) is True),
        (Filter(ids=()), lambda d: False),
        (Filter(ids=("d3", "d5", "d39", "none")), lambda d: d.document.id in ("d3", "d5")),
        (
            Filter(review_statuses=("Submitted",), verdict_value=(item, False), reasons=REASONS),
            lambda d: d.review_status == "Submitted" and d.values.get(item) is False and reasons_of(d),
        ),
    ]
    for filter, test in cases:
        expected = select_ids(records, test)
        page = project.store.review_queue.lines(Viewpoint(run_id), filter=filter, limit=1000)
        assert (ids_of(page), page.total) == (expected, len(expected))
    result = project.store.review_queue.lines(Viewpoint(run_id), search="NUMBER 1", limit=1000)
    assert ids_of(result) == select_ids(records, lambda d: "number 1" in d.document.text)


@pytest.mark.parametrize("actor", [None, "me"])
def test_lines_of_some_documents_are_the_same_as_among_all(project, actor):
    run_id, codebook = fill_randomly(project, 1)
    item = codebook.items[0]
    add_random_reviews(project, run_id, codebook.items, 1)
    project.store.review_reasons.refresh(run_id, [run_id])
    ids = project.store.runs.document_ids(run_id)
    project.store.reviews.record(
        [Decision("d3", [ReviewChange(item, None, True)], "Submitted")], actor="me", codebook_version=1
    )
    certainties = [(id, item, number / 40) for number, id in enumerate(ids)]
    project.store.classifiers.save_predictions(ids, certainties, [(id, "d3", 0.9) for id in ids if id != "d3"])
    view = Viewpoint(run_id, actor, ((item, 1),))
    every = {line.document_id: line for line in project.store.review_queue.lines(view, limit=99).rows}
    assert {reason for line in every.values() for reason in line.reasons} >= {"near", "classifier", "stale"}
    for id in ids:
        assert project.store.review_queue.lines(view, filter=Filter(ids=(id,))).rows == (every[id],)
    queue_filter = Filter(ids=tuple(reversed(ids)))
    assert ids_of(project.store.review_queue.lines(view, filter=queue_filter, sort="given", limit=99)) == list(
        queue_filter.ids
    )


def test_pages_are_slices_of_all_documents(world):
    project, run_id, _, records = world
    ids = list(records)
    for offset in (0, 10, 35):
        page = project.store.review_queue.lines(Viewpoint(run_id), offset=offset, limit=10)
        assert (ids_of(page), page.total) == (ids[offset : offset + 10], len(ids))
    past = project.store.review_queue.lines(Viewpoint(run_id), offset=1000)
    assert (past.rows, past.total) == ((), len(ids))


def test_orders_agree_with_sorting_in_python(world):
    project, run_id, _, records = world
    urgency = {id: sum(_WEIGHTS[reason] for reason in reasons_of(records[id])) for id in records}
    by_reasons = sorted(records, key=lambda id: -urgency[id])
    assert ids_of(project.store.review_queue.lines(Viewpoint(run_id), sort="reasons", limit=1000)) == by_reasons
    assert ids_of(project.store.review_queue.lines(Viewpoint(run_id), sort="words", limit=1000)) == list(records)
    touched = [event.document_id for event in project.store.events.all(kinds=["review_status"])]
    first = ids_of(project.store.review_queue.lines(Viewpoint(run_id), sort="reviewed", limit=1))[0]
    assert first in touched
    queue = ("d9", "d2", "nowhere", "d30")
    lines = project.store.review_queue.lines(Viewpoint(run_id), filter=Filter(ids=queue), sort="given")
    assert (ids_of(lines), lines.total) == (["d9", "d2", "d30"], 3)
    assert project.store.review_queue.lines(Viewpoint(run_id), sort="given").total == 0


def test_page_without_a_run_has_all_documents(world):
    project, _, _, records = world
    page = project.store.review_queue.lines(Viewpoint(None), limit=1000)
    assert page.total == 40
    assert all(line.reasons == () for line in page.rows)
    without_run = project.store.document_records.load(None, ids_of(page))
    assert all(record.status is None for record in without_run)
    reviews = {record.document.id: record.reviews for record in without_run}
    assert all(reviews[id] == record.reviews for id, record in records.items())


def test_streaming_returns_the_same_records_in_batches(world):
    project, run_id, _, records = world
    batches = list(project.store.document_records.stream(run_id, batch=7))
    assert [len(batch) for batch in batches] == [7, 7, 7, 7, 7, 2]
    assert [record for batch in batches for record in batch] == list(records.values())
    early = project.store.document_records.stream(run_id, batch=1)
    next(early)
    early.close()


def test_stream_over_several_queries_reads_one_snapshot(project, monkeypatch):
    monkeypatch.setattr("core.store.document_records.DOCUMENTS_PER_QUERY", 4)
    project.store.documents.add(make_documents(10))
    codebook = make_codebook(1)
    run = project.store.runs.create(make_settings(codebook), project.store.documents.ids())
    stream = project.store.document_records.stream(run.run_id, batch=3)
    batch = [record.document.id for record in next(stream)]
    record_review(project.store.reviews, "d9", codebook.items[0], None, True, actor="me")
    project.store.documents.replace_all([])
    rest = [record for batch in stream for record in batch]
    assert batch + [record.document.id for record in rest] == [f"d{number}" for number in range(10)]
    assert rest[-1].reviews == {}


def test_pages_are_read_while_debates_are_written(project):
    documents = make_documents(12)
    project.store.documents.add(documents)
    run = project.store.runs.create(make_settings(), [document.id for document in documents])

    async def debates():
        for document in documents:
            await store_debate(project, run.run_id, document.id, {"extractor": {"a": True}, "judge": None}, {"a": True})

    def read(_):
        seen = []
        while len(seen) < 2 or seen[-1] < 12:
            seen.append(project.store.runs.get(run.run_id).verdicts)
            assert project.store.review_queue.lines(Viewpoint(run.run_id), limit=5).total == 12
        return seen

    with ThreadPoolExecutor(3) as readers:
        reading = readers.map(read, range(2))
        asyncio.run(debates())
        assert all(seen == sorted(seen) for seen in reading)


def test_reviewed_value_takes_precedence_over_the_verdict(world):
    _, _, codebook, records = world
    for record in records.values():
        for label in codebook.labels:
            review = record.reviews.get(label.id)
            assert record.value(label.id) == (review.value if review else record.values.get(label.id))


def test_value_tables_contain_every_value_once(world):
    project, run_id, _, records = world
    rows = run_values(project, run_id)
    expected = {
        (id, item, annotator, str(value).lower())
        for id, record in records.items()
        for annotator in ("extractor", "critic", "verdict")
        for item, value in values_of(record, annotator).items()
    }
    assert len(rows) == len(expected)
    assert set(rows) == expected
    assert project.store.annotations.annotators(run_id) == ["extractor", "critic", "verdict"]
    reviewed = project.store.annotations.reviewed_items()
    every = project.store.document_records.load(
        None, ids_of(project.store.review_queue.lines(Viewpoint(None), limit=99))
    )
    assert len(reviewed) == sum(len(values_of(record, "reviewed")) for record in every)


@pytest.mark.parametrize("actor", [None, "me", "another"])
def test_records_without_their_debates_are_the_same_otherwise(world, actor):
    project, run_id, _, records = world
    load = project.store.document_records.load
    documents = load(run_id, list(records), actor=actor)
    assert any(record.roles for record in documents) or actor == "another"
    for record, part in zip(documents, load(run_id, list(records), actor=actor, debate=False), strict=True):
        document = replace(record.document, gold={})
        assert part == replace(record, document=document, gold={}, roles={}, evidence={})


def test_empty_project_has_empty_pages(project):
    page = project.store.review_queue.lines(Viewpoint(None))
    assert (page.rows, page.total) == ((), 0)
    assert project.store.annotations.grid("r0001", Codebook(), "gold").shape == (0, 0)
    assert len(run_values(project, "r0001")) == 0
    assert list(project.store.document_records.stream("r0001")) == []
    assert project.store.document_records.load(None, []) == []


def test_large_pages_and_queues_work(project):
    project.store.documents.add(make_documents(1500))
    ids = tuple(f"d{number}" for number in reversed(range(1500)))
    page = project.store.review_queue.lines(Viewpoint(None), filter=Filter(ids=ids), sort="given", limit=1200)
    assert ids_of(page) == list(ids[:1200])


def test_basis_of_scores_changes_only_if_scores_can_change(project):
    project.store.documents.add(make_documents(3, {"d0": {"ann": {"a": True}}}))
    run_id = project.store.runs.create(make_settings(), project.store.documents.ids()).run_id
    bases = {reference: [project.store.annotations.basis(reference)] for reference in ("gold", "reviewed")}

    def check_changed(*references):
        for reference, earlier in bases.items():
            current = project.store.annotations.basis(reference)
            assert current not in earlier if reference in references else current == earlier[-1]
            earlier.append(current)

    asyncio.run(store_debate(project, run_id, "d0", {"extractor": {"a": True}}, {"a": True}))
    check_changed("gold", "reviewed")
    record_review(project.store.reviews, "d0", "a", True, False, actor="me", run_id=run_id)
    check_changed("reviewed")
    project.store.reviews.undo("me")
    check_changed("reviewed")
    project.store.settings.set("any", 1)
    check_changed("reviewed")
    set_gold(project.store, {"d0": {"ann": {"a": False}}})
    check_changed("gold", "reviewed")
    set_gold(project.store, {"d1": {"ann": {"a": False}}})
    check_changed("gold", "reviewed")
    project.store.classifiers.add_codebook_example("d1", "a", "include", "words", 1, actor="me")
    check_changed("gold", "reviewed")
    asyncio.run(store_debate(project, run_id, "d1", {"extractor": {"a": True}}, {"a": True}))
    check_changed("gold", "reviewed")
    project.store.documents.replace_all([])
    check_changed("gold", "reviewed")


def test_gold_of_another_kind_is_not_compared(project):
    # Such gold was mapped before the kind of the codebook changed.
    project.store.documents.add(make_documents(2, {"d0": {"ann": {"helpful": True}}, "d1": {"ann": {"helpful": 2.0}}}))
    codebook = Codebook(kind="rating", labels=(Label(name="Helpful", id="helpful"),))
    run_id = project.store.runs.create(make_settings(codebook), ["d0", "d1"]).run_id
    for id in ("d0", "d1"):
        asyncio.run(store_debate(project, run_id, id, {"judge": None}, {"helpful": 4.5}))
    project.store.review_reasons.refresh(run_id, [run_id])
    rows = project.store.review_queue.lines(Viewpoint(run_id)).rows
    assert [row.document_id for row in rows if "gold" in row.reasons] == ["d1"]
    set_gold(project.store, {"d0": {"ann": {"helpful": 2.0}}, "d1": {"ann": {"helpful": True}}})
    project.store.review_reasons.refresh(run_id, [run_id])
    rows = project.store.review_queue.lines(Viewpoint(run_id)).rows
    assert [row.document_id for row in rows if "gold" in row.reasons] == ["d0"]  # the same gold values, exchanged


@pytest.mark.parametrize(("rating", "reasons"), [(2.3333, ()), (3, ("flipped", "disagree"))])
def test_ratings_differ_from_one_point_on(project, rating, reasons):
    codebook = Codebook(kind="rating", labels=(Label(name="Helpful", id="helpful"),))
    project.store.documents.add(make_documents(1))
    run_id = project.store.runs.create(make_settings(codebook), ["d0"]).run_id
    values = {"helpful": rating}
    asyncio.run(store_debate(project, run_id, "d0", {"extractor": {"helpful": 2}, "judge": values}, values))
    project.store.review_reasons.refresh(run_id, [run_id])
    (line,) = project.store.review_queue.lines(Viewpoint(run_id)).rows
    assert line.reasons == reasons


@pytest.mark.parametrize(("rating", "differs"), [(2.3333, False), (3, True)])
def test_runs_disagree_from_one_point_on(project, rating, differs):
    codebook = Codebook(kind="rating", labels=(Label(name="Helpful", id="helpful"),))
    project.store.documents.add(make_documents(1))
    runs = [project.store.runs.create(make_settings(codebook), ["d0"]).run_id for _ in range(2)]
    for run_id, value in zip(runs, (2, rating), strict=True):
        asyncio.run(store_debate(project, run_id, "d0", {"judge": None}, {"helpful": value}))
    project.store.review_reasons.refresh(runs[0], runs)
    (line,) = project.store.review_queue.lines(Viewpoint(runs[0])).rows
    assert ("samples" in line.reasons) == differs


def test_roles_that_decide_one_label_in_each_turn_are_compared_label_by_label(tmp_path):
    documents = {
        "agree": (True, False),
        "differ": (False, False),  # the judge's first label, which its last turn is not about
    }
    with Project(tmp_path / "p.duckdb") as project:
        store = project.store
        store.documents.add([Document(id, {"text": "words"}) for id in documents])
        codebook = Codebook(labels=(Label(name="One"), Label(name="Two")))
        first, second = codebook.items
        run_id = store.runs.create(make_settings(codebook), list(documents)).run_id
        for id, ruling in documents.items():
            turns = [("extractor", "", {first: True, second: False}, 0.9)]
            turns += [
                ("judge", item, {item: value}, 0.5 + value / 4)
                for item, value in zip(codebook.items, ruling, strict=True)
            ]
            for number, (role, item, values, certainty) in enumerate(turns):
                key = f"{id}/{number}"
                asyncio.run(project.replies.commit(make_reply(key, run_id=run_id)))
                turn = make_turn(run_id, id, number, role, key, values=values, quotes=("exact",))
                reading = replace(turn.reply.reading, certainty=dict.fromkeys(values, certainty))
                project.sink.turn(replace(turn, item=item, reply=replace(turn.reply, reading=reading)))
            verdict = make_verdict(run_id, id, dict(zip(codebook.items, ruling, strict=True)))
            asyncio.run(project.sink.verdict(verdict))
        store.review_reasons.refresh(run_id, [])

        lines = store.review_queue.lines(Viewpoint(run_id)).rows
        assert [line.reasons for line in lines] == [(), ("flipped", "disagree")]
        assert [line.quotes for line in lines] == [3, 3]
        (record,) = store.document_records.load(run_id, ["differ"])
        assert record.roles["judge"] == {first: False, second: False}
        assert len(record.evidence["judge"]) == 2
        assert not np.isnan(store.annotations.decision_certainty(run_id, "judge", codebook.items)).any()


def test_label_that_the_first_role_changes_is_changed_in_the_debate(tmp_path):
    codebook = Codebook(labels=(Label(name="One"),))
    (item,) = codebook.items
    with Project(tmp_path / "p.duckdb") as project:
        project.store.documents.add([Document("d", {"text": "words"})])
        run_id = project.store.runs.create(make_settings(codebook), ["d"]).run_id
        for number, (role, value) in enumerate([("a", True), ("b", False), ("a", False), ("b", False)]):
            project.sink.turn(make_turn(run_id, "d", number, role, f"{number}", values={item: value}))
        asyncio.run(project.sink.verdict(make_verdict(run_id, "d", {item: False})))
        project.store.review_reasons.refresh(run_id, [])
        assert project.store.review_queue.lines(Viewpoint(run_id)).rows[0].reasons == ("flipped",)
