"""Tests of prompt versions of the project, trials, and the held-out split."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace

from core.store.lab import Split, Trial
from core.store.project import Project
from core.store.reviews import Decision, ReviewChange
from tests.core.store.helpers import (
    make_codebook,
    make_documents,
    make_settings,
    make_turn,
    make_verdict,
    store_debate,
)

SLOT = "ecj/judge"


def test_prompt_versions_are_numbered_and_immutable(project):
    prompts = project.store.prompts
    prompts.keep_draft(SLOT, "one", parent="ecj/judge.v1")
    first = prompts.save(SLOT, "one", parent="ecj/judge.v1", after=1, note="shorter")
    assert (first.name, first.number, first.parent, first.note) == ("own/ecj/judge.v2", 2, "ecj/judge.v1", "shorter")
    assert prompts.draft(SLOT) is None
    assert prompts.save(SLOT, "two", parent=first.name, after=1).number == 3
    assert prompts.save(SLOT, "one", parent="own/ecj/judge.v3", after=1) == first  # an existing text keeps its version
    assert prompts.save("ecj/critic", "one", parent="ecj/critic.v4", after=4).name == "own/ecj/critic.v5"
    assert [version.text for version in prompts.versions(SLOT)] == ["one", "two"]
    (event, *_) = reversed(project.store.events.all(kinds=["prompt"]))
    assert (event.item, event.before, event.after) == (SLOT, "ecj/judge.v1", first.name)


def test_drafts_survive_a_restart(path):
    with Project(path) as project:
        project.store.prompts.keep_draft(SLOT, "text \ud800", parent="p")
        project.store.prompts.keep_draft(SLOT, "text 2", parent="p")
    with Project(path) as project:
        assert project.store.prompts.draft(SLOT).text == "text 2"
        project.store.prompts.drop_draft(SLOT)
        assert project.store.prompts.draft(SLOT) is None


def test_promoting_one_slot_leaves_the_others(project):
    prompts = project.store.prompts
    judge = prompts.save(SLOT, "one", parent="ecj/judge.v1", after=1)
    critic = prompts.save("ecj/critic", "two", parent="ecj/critic.v1", after=1)
    assert prompts.promoted() == {}
    prompts.promote(SLOT, judge.name)
    prompts.promote("ecj/critic", critic.name)
    assert prompts.promoted() == {SLOT: judge, "ecj/critic": critic}
    prompts.promote(SLOT, None)
    assert prompts.promoted() == {"ecj/critic": critic}
    assert len(project.store.events.all(kinds=["setting"])) == 3


def test_lab_runs_are_not_listed_among_the_runs(project):
    project.store.documents.add(make_documents(2))
    run = project.store.runs.create(make_settings(), ["d0"])
    tried = project.store.runs.create(make_settings(), ["d0"], purpose="lab")
    assert [row.run_id for row in project.store.runs.all()] == [run.run_id]
    assert project.store.runs.latest_id() == run.run_id
    assert project.store.runs.get(tried.run_id).purpose == "lab"
    assert project.store.runs.work(tried.run_id).todo == ("d0",)


def test_trials_are_recorded_and_held_out_looks_counted(project):
    lab = project.store.lab
    first = lab.record(Trial(0, 1.0, SLOT, "ecj/judge.v1", "draft", "r0001", "r0002", "", "", {"size": 5}, False))
    lab.record(Trial(0, 2.0, "definitions", "v1", "v2", "r0003", "r0004", "", "", {}, True))
    latest = lab.record(replace(first, sample={"texts": "hash"}))
    assert (first.number, first.sample, first.held_out) == (1, {"size": 5}, False)
    assert lab.trials(SLOT) == [first, latest]
    assert lab.trials(texts="hash") == [latest]
    assert [lab.find_trial(SLOT, number) for number in (1, 2, None)] == [first, latest, latest]
    assert lab.find_trial("other", None) is None
    assert lab.earlier_runs(2) == {"r0001", "r0002"}
    assert lab.looks() == 1


def test_split_depends_only_on_seed_and_document_id(project):
    gold = {f"d{n}": {"gold": {"x": True}} for n in range(300)}
    project.store.documents.add(make_documents(300, gold))
    held_out = project.store.lab.labelled(Split("s", 0.25), held_out=True)
    development = project.store.lab.labelled(Split("s", 0.25), held_out=False)
    by_hand = [f"d{n}" for n in range(300) if hashlib.md5(f"sd{n}".encode()).hexdigest()[:8] < "40000000"]
    assert held_out == by_hand
    assert sorted(held_out + development) == sorted(f"d{n}" for n in range(300))
    assert not set(held_out) & set(project.store.lab.development(Split("s", 0.25), 300))
    assert project.store.lab.labelled(Split("s", 0.0), held_out=True) == []
    assert project.store.lab.labelled(Split("other", 0.25), held_out=True) != held_out


def test_outcomes_distinguish_right_wrong_and_disagreement(project):
    codebook = make_codebook(2)
    a, b = (label.id for label in codebook.labels)
    reference = {"gold": {a: True, b: False}}
    project.store.documents.add(make_documents(5, {"d0": reference, "d1": reference, "d2": reference, "d4": reference}))
    run = project.store.runs.create(make_settings(codebook), project.store.documents.ids())
    right, wrong = {a: True, b: False}, {a: False, b: False}

    async def debates():
        await store_debate(project, run.run_id, "d0", {"extractor": right, "critic": right}, right)
        await store_debate(project, run.run_id, "d1", {"extractor": right, "critic": wrong}, wrong)
        await store_debate(project, run.run_id, "d2", {"extractor": right}, {a: None, b: False})
        await store_debate(project, run.run_id, "d3", {"extractor": right}, right)

    asyncio.run(debates())
    outcomes = project.store.lab.outcomes(run.run_id, codebook)
    assert outcomes == {"d0": (True, False), "d1": (False, True), "d2": (False, True), "d3": (None, False)}
    decision = Decision("d1", (ReviewChange(a, True, False),), "Submitted")
    project.store.reviews.record([decision], actor="ann")
    assert project.store.lab.outcomes(run.run_id, codebook)["d1"] == (True, True)  # a review takes precedence over gold


def test_roles_that_decide_one_label_in_each_turn_disagree_on_labels_alone(project):
    codebook = make_codebook(2)
    both = dict.fromkeys(codebook.items, True)
    project.store.documents.add(make_documents(2))
    run_id = project.store.runs.create(make_settings(codebook), ["d0", "d1"]).run_id
    for id, ruling in {"d0": (True, True), "d1": (False, True)}.items():
        turns = [("", both), *((item, {item: value}) for item, value in zip(codebook.items, ruling, strict=True))]
        for number, (item, values) in enumerate(turns):
            turn = make_turn(run_id, id, number, "judge" if item else "magistrate", f"{id}/{number}", values=values)
            project.sink.turn(replace(turn, item=item))
        asyncio.run(project.sink.verdict(make_verdict(run_id, id, both)))
    assert project.store.lab.outcomes(run_id, codebook) == {"d0": (None, False), "d1": (None, True)}


def test_sweep_progress_survives_a_restart(path):
    with Project(path) as project:
        sweep = project.store.lab.begin_sweep({"cells": 3})
        project.store.lab.update_sweep(sweep.number, {"rung": 1}, "running")
    with Project(path) as project:
        (result,) = project.store.lab.sweeps()
        assert (result.spec, result.progress, result.state) == ({"cells": 3}, {"rung": 1}, "paused")
