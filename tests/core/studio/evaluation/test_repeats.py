"""Iterations, comparisons, error analysis and drift on four documents, counted by hand."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from core.documents import Document
from core.errors import UsageError
from core.store.reviews import Change, Decision
from core.studio.evaluation import (
    advice,
    compare,
    drift,
    evaluate,
    mistakes,
    outcomes,
    people,
    printout,
    repeats,
    reports,
)
from core.studio.evaluation.counted import Counted
from core.studio.reviewing import review
from tests.core.store.helpers import hold_debate, make_settings
from tests.core.studio import rooms_world
from tests.core.studio.rooms_world import both

GOLD = {"d0": "a", "d1": "ab", "d2": "b", "d3": ""}
FIRST = {"d0": "a", "d1": "b", "d2": "ab", "d3": ""}  # wrong: d1 A missed, d2 A invented
SECOND = {"d0": "a", "d1": "ab", "d2": "ab", "d3": "b"}  # wrong: d2 A invented, d3 B invented


@pytest.fixture
def world(project):
    """Two iterations of one experiment."""
    texts = {"d0": "the room", "d1": "hidden fee one", "d2": "a bill", "d3": "short"}
    project.store.documents.add(
        Document(id, {"text": texts[id]}, gold={"gold": both(present)}) for id, present in GOLD.items()
    )
    runs = []
    for iteration, said in enumerate((FIRST, SECOND)):
        settings = make_settings(rooms_world.CODEBOOK, iteration=iteration)
        run = project.store.runs.create(settings, list(GOLD), experiment_id="e1").run_id

        async def debates(run=run, said=said):
            for id, present in said.items():
                lists = {"extractor": both("ab"), "critic": both(present), "judge": None}
                await hold_debate(project, run, id, lists, both(present))

        asyncio.run(debates())
        runs.append(run)
    desk = rooms_world.desk_on(project)
    desk.run_name = lambda id: f"Run {id}"
    desk.project = project
    return desk, runs


def test_iterations(world):
    desk, (first, _) = world
    told = repeats.repeats(desk, desk.store.runs.get(first))
    assert told is not None
    # Right cells: 6 of 8 in both. Documents: d0 right twice, d1 and d3 waver, d2 wrong twice.
    assert told.measures["accuracy"].mean == 0.75
    assert told.measures["accuracy"].sd == 0
    assert told.stability.counts == {"right": 1, "wavering": 2, "wrong": 1, "unread": 0}
    report = reports.full(desk, first)
    assert report["iterations"]["runs"] == list(told.runs)
    assert report["iterations"]["labels"]["Alpha"]["n"] == 2
    assert report["certainty"]["why_not"].startswith("Nobody said how certain")


def test_two_runs(world):
    desk, runs = world
    told = outcomes.told(desk, runs)
    assert (told["documents"], told["shared"], told["same"], told["n"]) == (4, 4, 2, 4)
    assert told["accuracy"]["difference"] == 0
    assert told["mcnemar"]["only_first"] == 1  # d3 was right
    assert told["mcnemar"]["only_second"] == 1  # d1 is now
    counts = {name: told["outcomes"][name] for name in ("fixed", "broken", "mixed", "right", "wrong")}
    assert counts == {"fixed": 1, "broken": 1, "mixed": 0, "right": 1, "wrong": 1}
    assert told["outcomes"]["documents"] == {"fixed": ["d1"], "broken": ["d3"], "mixed": []}
    assert (told["changes"]["mended"], told["changes"]["broken"]) == (1, 1)
    # Alpha: F1 1/2 to 2 TP, 1 FP: 4/5.
    assert told["labels"]["Alpha"]["difference"] == pytest.approx(0.3)
    assert told["labels"]["Alpha"]["sentence"].startswith(
        f"{runs[1]} and {runs[0]} may be equally good on Alpha: +30.0"
    )
    assert [column["run_id"] for column in told["columns"]] == runs
    assert told["tests"]["welch"] is not None  # iterations of one experiment against themselves


def test_iterations_are_paired_by_their_number(world, monkeypatch):
    """A score that is not defined leaves its own iteration out and moves no other."""
    desk, runs = world
    one, two = (desk.store.runs.get(id) for id in runs)
    scores = {"x0": 0.1, "x1": None, "x2": 0.3, "x3": 0.5, "y0": 0.2, "y1": 0.3, "y2": None, "y3": 0.4}
    rows = {
        run.run_id: [
            SimpleNamespace(run_id=f"{name}{number}", settings=SimpleNamespace(iteration=number)) for number in range(4)
        ]
        for run, name in ((one, "x"), (two, "y"))
    }
    monkeypatch.setattr(compare.repeats, "siblings", lambda _, run: rows[run.run_id])
    report = evaluate.report
    monkeypatch.setattr(
        evaluate,
        "report",
        lambda desk, id, truth: {"macro": {"f1": scores[id]}} if id in scores else report(desk, id, truth),
    )
    pair = compare.comparison(desk, runs).pairs[0]
    assert (pair.paired.n_first, pair.paired.excluded) == (2, 4)
    assert pair.paired.difference == pytest.approx(0)  # +10 and -10 points
    assert (pair.welch.n_first, pair.welch.n_second) == (3, 3)
    del rows[two.run_id][0]
    assert compare.comparison(desk, runs).pairs[0].paired is None


def test_fixed_and_broken_one_by_one(world):
    desk, (first, second) = world
    found = outcomes.outcomes(desk, first, second)
    rows, total = outcomes.page(desk, found, ["fixed", "broken"])
    assert total == 2
    assert [(row.document_id, row.outcome, row.mended, row.broken) for row in rows] == [
        ("d3", "broken", (), ("Beta",)),
        ("d1", "fixed", ("Alpha",), ()),
    ]
    assert outcomes.page(desk, found, ["fixed", "broken"], label="Alpha")[1] == 1


def test_identical_runs_say_so(world):
    desk, (first, _) = world
    settings = make_settings(rooms_world.CODEBOOK)
    twin = desk.store.runs.create(settings, list(GOLD)).run_id

    async def debates():
        for id, present in FIRST.items():
            await hold_debate(desk.project, twin, id, {"extractor": both("ab"), "judge": None}, both(present))

    asyncio.run(debates())
    told = outcomes.told(desk, [first, twin])
    assert "do the same" in told["sentence"]
    assert told["mcnemar"]["p"] == 1.0
    assert told["same"] == 4
    several = outcomes.told(desk, [first, twin, world[1][1]])
    assert [pair["runs"] for pair in several["pairs"]] == [[first, twin], [first, world[1][1]]]
    assert several["cochran"]["df"] == 2


def test_what_cannot_be_compared(world, project):
    desk, (first, _) = world
    with pytest.raises(UsageError, match="two or more different runs"):
        compare.comparison(desk, [first, first])
    project.store.documents.add([Document("x", {"text": "t"})])
    other = project.store.runs.create(make_settings(rooms_world.CODEBOOK), ["x"]).run_id
    with pytest.raises(UsageError, match="no document in common"):
        compare.comparison(desk, [first, other])
    stranger = project.store.runs.create(make_settings(), ["d0"]).run_id
    with pytest.raises(UsageError, match="do not label the same things"):
        compare.comparison(desk, [first, stranger])


def test_errors_of_a_label(world):
    desk, (first, _) = world
    run = desk.store.runs.get(first)
    desk.store.reviews.record([Decision("d2", (Change("a", True, False),), "Submitted")], actor="kim")
    told = mistakes.of_label(desk, run, "a")
    assert (told.judged, told.wrong, told.iterations) == (4, 2, 2)
    assert [(side.side, side.wrong, side.consistent) for side in told.sides] == [("missed", 1, 0), ("invented", 1, 1)]
    assert [(band.low, band.high, band.n, band.wrong) for band in told.by_labels] == [
        (0, 0, 1, 0), (1, 1, 2, 1), (2, 2, 1, 1),
    ]  # fmt: skip
    second = desk.store.runs.get(world[1][1])
    stale = second.model_copy(update={"turns": 0})  # the row as it was when the page was opened
    assert mistakes.of_label(desk, stale, "b") == mistakes.of_label(desk, second, "b")
    rows, total = mistakes.documents(desk, run, "a")
    assert [(row.document_id, row.side, row.times) for row in rows] == [("d2", "invented", 2), ("d1", "missed", 1)]
    assert total == 2
    assert [row.document_id for row in mistakes.documents(desk, run, "a", consistent=True)[0]] == ["d2"]
    assert [row.document_id for row in mistakes.documents(desk, run, "a", word="FEE")[0]] == ["d1"]
    assert mistakes.documents(desk, run, "a", tag="edge case") == ((), 0)
    with pytest.raises(UsageError, match="no label 'z'"):
        mistakes.of_label(desk, run, "z")


def test_who_suits_which_seat(world):
    desk, runs = world
    rows = [desk.store.runs.get(id) for id in runs]
    found = advice.profiles(desk, rows)
    critic = next(one for one in found if one.seat == "critic")
    # The critic's lists are the verdicts here, twice 8 cells; both runs together: 3 + 4 TP of 4 + 4.
    assert (critic.runs, critic.counts.n, critic.counts.tp, critic.counts.fn) == (2, 16, 7, 1)
    (said,) = advice.suggestions(found, ["critic"])
    assert said.spec == ""
    assert "Only one model has been tried as critic" in said.ground


def test_canaries(world):
    desk, (first, _) = world
    run = desk.store.runs.get(first)
    again = drift.again(desk, run, count=3)
    assert again.experiment_id == f"canary:{first}"
    assert again.settings.iteration == 2
    assert again.documents == 3
    ids = desk.store.runs.document_ids(again.run_id)
    assert desk.store.runs.document_ids(drift.again(desk, run).run_id) == ids  # the same ones at each time

    async def debates():
        for id in ids:
            await hold_debate(desk.project, again.run_id, id, {"judge": None}, both(SECOND[id]), served="m-2026-11")

    asyncio.run(debates())
    assert review.runs(desk)[0].run_id not in {row.run_id for row in drift.canary_runs(desk, run)}
    one = drift.drifts(desk, run)[0]
    assert one.documents == 3
    assert one.counted == Counted(3, {"undrawn": 1})
    assert set(one.changed) == {id for id in ids if FIRST[id] != SECOND[id]}
    assert one.chance == 0.5  # d1 and d3 differ between the iterations
    assert "canaries have another verdict; iterations at one time differ on 50%" in one.sentence
    assert one.models == ()  # the server did not say at first what it calls the model
    assert reports.full(desk, first)["drift"][0]["run_id"] == again.run_id
    third = drift.again(desk, desk.store.runs.get(again.run_id), count=1)

    async def once_more():
        (id,) = desk.store.runs.document_ids(third.run_id)
        await hold_debate(desk.project, third.run_id, id, {"judge": None}, both(SECOND[id]), served="m-2027-01")

    asyncio.run(once_more())
    later = drift.drifts(desk, desk.store.runs.get(again.run_id))[0]
    assert later.models == ("judge: m-2026-11 → m-2027-01",)
    assert "The server names another model: judge: m-2026-11 → m-2027-01." in later.sentence
    with pytest.raises(UsageError, match="no verdict to compare with"):
        drift.again(desk, desk.store.runs.create(run.settings, ["d0"]))


def test_people_who_labelled(world):
    desk, (first, _) = world
    test = people.may_replace(desk, desk.store.runs.get(first))
    assert test.winning_rate is None
    assert "here one person did" in test.sentence


def test_the_page_to_print_escapes_what_it_shows(world):
    desk, (first, _) = world
    page = printout.page(desk, first)
    assert page.startswith("<!doctype html>")
    assert "What did the debate change?" in page
    assert "2 iterations" in page
    hostile = rooms_world.CODEBOOK.model_copy(update={"name": "<script>alert(1)</script>"})
    run = desk.store.runs.create(make_settings(hostile), ["d0"]).run_id
    assert "<script>" not in printout.page(desk, run)
