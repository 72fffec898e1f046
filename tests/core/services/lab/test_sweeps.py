"""Tests of sweeps: grid, successive halving, a sweep with the built-in model, pausing and resuming."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.documents import Document
from core.errors import ProjectError, StorageFull, UsageError
from core.runs import RoleModel
from core.services import document_samples, models, projects, prompt_templates
from core.services.codebooks import codebook as codebooks
from core.services.few_shot_examples import example_pool
from core.services.lab import sweeps
from core.services.lab.sweeps import (
    MAX_CONFIGURATIONS,
    SPEC,
    SweepSpec,
    all_configurations,
    count_debates,
    rung_sizes,
    survivors,
)
from tests.core.services.sessions import studio, until
from tests.core.store.helpers import set_gold
from tests.servers.scripted import Scripted, debating

ROLE_MODEL = RoleModel(connection="builtin", model="lexical")


def spec(**fields):
    return SweepSpec(**({"protocol": "ecj", "versions": {}, "role_models": [ROLE_MODEL], "params": {}} | fields))


def test_sweep_has_a_configuration_for_every_combination():
    other = RoleModel(connection="x", model="y")
    result = all_configurations(
        spec(versions={"a": ["1", "2"]}, role_models=[ROLE_MODEL, other], params={"p": [1, 2, 3]})
    )
    assert len(result) == 12
    assert (result[0].versions, result[0].role_model, result[0].params) == ({"a": "1"}, ROLE_MODEL, {"p": 1})
    assert SPEC.validate_python(SPEC.dump_python(spec(role_models=[ROLE_MODEL, other]), mode="json")) == spec(
        role_models=[ROLE_MODEL, other]
    )
    for bad in (spec(), spec(params={"p": list(range(MAX_CONFIGURATIONS + 1))})):
        with pytest.raises(UsageError):
            all_configurations(bad)


@given(st.integers(2, MAX_CONFIGURATIONS), st.integers(5, 200))
def test_rungs_grow_to_the_whole_sample_for_the_last_two_configurations(count: int, size: int):
    sizes = rung_sizes(count, size)
    assert list(sizes) == sorted(sizes)
    assert sizes[-1] == size
    remaining = count
    for _ in sizes[:-1]:
        remaining = len(survivors(dict.fromkeys(range(remaining), 0.5)))
    assert 1 <= remaining <= 2
    assert count_debates(count, size) <= count * size


def test_better_half_of_configurations_is_kept_and_ties_favour_the_earlier_configuration():
    assert survivors({0: 0.1, 1: 0.9, 2: None, 3: 0.5, 4: 0.5}) == (1, 3, 4)
    assert survivors({0: 0.5, 1: 0.5}) == (0,)


@pytest.fixture
def session(workspace):
    return workspace.open(projects.ensure_sample(workspace), create=False)


def ended(session, row):
    """Wait for the end of a sweep and return it."""
    until(lambda: not sweeps.is_sweep_active(session, row.number))
    return sweeps.find_sweep(session, row.number)


def two_judges(session):
    slot = next(slot for slot in prompt_templates.slots("ecj") if slot.key == "judge")
    now = prompt_templates.template_status(session, slot)
    prompt_templates.save_draft(session, slot, now.text + "\nBe brief.\n", now.base)
    return slot.name, [now.base.name, prompt_templates.save_version(session, slot).name]


def test_sweep_ranks_configurations_and_stops_poor_ones_early(session):
    slot, names = two_judges(session)
    row = sweeps.start_sweep(session, spec(versions={slot: names}, size=8))
    done = ended(session, row)
    assert (done.state, done.message) == ("done", "")
    first, second = sweeps.rank_configurations(session, done)
    assert first.documents == second.documents == 8
    assert first.report.n == 8
    assert first.report.scores.main == second.report.scores.main  # the built-in model ignores prompts
    assert session.store.runs.all() == []


def test_resumed_sweep_keeps_its_documents(session):
    row = sweeps.start_sweep(session, spec(params={"extra_rounds": [0, 1, 2]}, size=8))
    progress = ended(session, row).progress
    ids = progress["documents"]
    first_rung = {key: run for key, run in progress["runs"].items() if key.startswith("0/")}
    assert len(first_rung) < len(progress["runs"])
    assert [session.store.runs.document_ids(run) for run in first_rung.values()] == [ids[:4]] * 3
    session.store.lab.update_sweep(row.number, {"documents": ids, "runs": first_rung}, "paused")
    documents = session.store.documents.load(session.store.documents.ids())
    session.store.documents.replace_all([document for document in documents if document.id != ids[-1]])
    sweeps.resume_sweep(session, sweeps.find_sweep(session, row.number))
    runs = ended(session, row).progress["runs"]
    assert [session.store.runs.document_ids(run) for key, run in runs.items() if key.startswith("1/")] == [ids] * 2


def test_ranking_counts_the_documents_that_were_scored(tmp_path):
    with studio(tmp_path, documents=0) as (_, session):
        book = codebooks.change(codebooks.current(session), kind="choice")
        session.store.codebooks.save(book)
        gold = {"gold": {"label": book.labels[0].id}}
        texts = ("The room was clean", "We slept")  # the word lists leave the second one unresolved
        session.store.documents.add(
            [Document(f"d{n}", {"text": f"{texts[n % 2]}, {n}."}, gold=gold) for n in range(12)]
        )
        row = sweeps.start_sweep(session, spec(params={"extra_rounds": [0, 1]}, size=20))
        ended(session, row)
        sample = document_samples.project_sample(session, 20).ids
        scored = sum(int(id[1:]) % 2 == 0 for id in sample)
        assert 0 < scored < len(sample) < 20
        for configuration in sweeps.rank_configurations(session, sweeps.find_sweep(session, row.number)):
            assert (configuration.documents, configuration.report.n, configuration.report.excluded) == (
                len(sample),
                scored,
                len(sample) - scored,
            )
            assert configuration.report.strict_main.value < configuration.report.scores.main.value == 1.0
            assert sweeps._sort_value(configuration.report) == configuration.report.strict_main.value


def test_all_runs_of_a_sweep_show_the_same_examples(tmp_path):
    with studio(tmp_path, documents=40) as (_, session):
        values = {label.id: True for label in codebooks.current(session).labels}
        ids = session.store.documents.ids()
        set_gold(session.store, {id: {"gold": values} for id in ids})
        row = sweeps.start_sweep(
            session, spec(protocol="single", params={"method": ["few_shot"], "shots": [1, 2, 3]}, size=16)
        )
        runs = [session.run(run_id) for run_id in ended(session, row).progress["runs"].values()]
        assert [run.documents for run in runs] == [8, 8, 8, 16, 16]
        pool = set(ids) - set(document_samples.project_sample(session, 16).ids)
        pool -= set(document_samples.labelled_ids(session, held_out=True))
        assert [set(example_pool(session.store, run)) for run in runs] == [pool] * 5


def test_codebook_saved_while_a_sweep_runs_changes_none_of_its_runs(session, monkeypatch):
    start, book = session.start_or_resume, codebooks.current(session)

    def start_after_edit(run_id, **options):
        latest = codebooks.current(session)
        codebooks.save(session, codebooks.change(latest, guideline=f"{latest.guideline} Read twice."))
        return start(run_id, **options)

    monkeypatch.setattr(session, "start_or_resume", start_after_edit)
    slot, names = two_judges(session)
    row = sweeps.start_sweep(session, spec(versions={slot: names}, params={"extra_rounds": [0, 1]}, size=8))
    done = ended(session, row)
    assert done.state == "done"
    runs = [session.run(run_id) for run_id in done.progress["runs"].values()]
    assert [run.documents for run in runs] == [4, 4, 4, 4, 8, 8]
    assert {run.settings.codebook for run in runs} == {book}
    assert codebooks.current(session) != book


def test_problem_of_a_configuration_is_removed_when_it_succeeds(session, monkeypatch):
    slot, names = two_judges(session)
    row = session.store.lab.begin_sweep(SPEC.dump_python(spec(versions={slot: names}, size=5), mode="json"))
    with monkeypatch.context() as patch:
        patch.setattr(session, "start_or_resume", Mock(side_effect=UsageError("The model is missing.")))
        sweeps.resume_sweep(session, row)
        failed = ended(session, row)
    assert [ranked.problem for ranked in sweeps.rank_configurations(session, failed)] == ["The model is missing."] * 2
    sweeps.resume_sweep(session, failed)
    ranking = sweeps.rank_configurations(session, ended(session, row))
    assert [(ranked.documents, ranked.problem) for ranked in ranking] == [(5, "")] * 2


def test_configuration_with_an_unknown_prompt_version_is_a_problem_of_its_own(session):
    slot, names = two_judges(session)
    stored = SPEC.dump_python(spec(versions={slot: [names[0], "judge.v99"]}, size=5), mode="json")
    row = session.store.lab.begin_sweep(stored)
    sweeps.resume_sweep(session, row)
    done = ended(session, row)
    assert (done.state, done.message) == ("done", "")
    found, missing = sweeps.rank_configurations(session, done)
    assert (found.documents, found.problem) == (5, "")
    assert missing.problem == "The prompt version 'judge.v99' does not exist. Start a new sweep."


def test_progress_stored_by_an_earlier_version_is_resumed(session):
    row = sweeps.start_sweep(session, spec(params={"extra_rounds": [0, 1, 2]}, size=8))
    done = ended(session, row).progress
    runs = {key: run for key, run in done["runs"].items() if key.startswith("0/")}
    earlier = {"documents": done["documents"], "runs": runs, "remaining": [1, 2], "now": runs["0/0"], "spent": True}
    session.store.lab.update_sweep(row.number, earlier, "paused")
    stored = sweeps.find_sweep(session, row.number)
    assert sweeps.read_progress(stored) == sweeps.SweepProgress(done["documents"], runs, {}, [1, 2], spent=True)
    assert [ranked.remaining for ranked in sweeps.rank_configurations(session, stored)].count(True) == 2
    sweeps.resume_sweep(session, stored)
    resumed = ended(session, row)
    assert (resumed.state, set(resumed.progress["runs"]) - set(runs)) == ("done", set(done["runs"]) - set(runs))


def test_sweep_over_an_unknown_parameter_does_not_start(session):
    with pytest.raises(UsageError, match="ecj has no parameter 'round'"):
        sweeps.start_sweep(session, spec(params={"round": [1, 2]}))
    assert sweeps.all_sweeps(session) == []


def test_paused_sweep_resumes_without_repeated_requests(workspace, session, monkeypatch):
    monkeypatch.setenv("MOOT_MOCK_API_KEY", "x")
    with Scripted(debating()) as server:
        workspace.use_connection("mock", server.url)
        slot, names = two_judges(session)
        mock = spec(versions={slot: names}, role_models=[RoleModel(connection="mock", model="m")], size=5)
        with pytest.raises(UsageError, match="price"):
            sweeps.start_sweep(session, replace(mock, budget_usd=1))
        row = sweeps.start_sweep(session, mock)
        sweeps.pause_sweep(session, row.number)
        paused = ended(session, row)
        assert paused.state == "paused"
        sweeps.resume_sweep(session, paused)
        assert ended(session, row).state == "done"
        prompts = [body["messages"][0]["content"] + body["messages"][-1]["content"] for body in server.requests]
        assert len(prompts) == len(set(prompts)) == 5 * (2 + 2)  # extractor and critic once, the judge per prompt


def test_sweep_that_could_not_start_can_be_started_again(session, monkeypatch):
    slot, names = two_judges(session)
    row = session.store.lab.begin_sweep(SPEC.dump_python(spec(versions={slot: names}, size=5), mode="json"))
    with pytest.raises(ProjectError, match="cannot be read"):
        sweeps.resume_sweep(session, replace(row, spec={"protocol": 3}))
    assert not sweeps.is_sweep_active(session, row.number)
    with monkeypatch.context() as patch:
        patch.setattr(session.store.lab, "update_sweep", Mock(side_effect=StorageFull("The disk is full.")))
        with pytest.raises(StorageFull):
            sweeps.resume_sweep(session, row)
    assert not sweeps.is_sweep_active(session, row.number)
    sweeps.resume_sweep(session, row)
    assert ended(session, row).state == "done"


@pytest.mark.parametrize("queued", [False, True])
def test_pause_just_before_a_configuration_starts_pauses_its_run(session, monkeypatch, queued):
    slot, names = two_judges(session)
    start, pause, paused = session.start_or_resume, session.pause, []
    if queued:  # behind another run of the Lab
        session.engine.submit(session._lab_lock.acquire()).result()

    def start_after_pause(run_id, **options):
        session.active_sweeps[row.number].set()
        return start(run_id, **options)

    def note_pause(run_id):
        paused.append(run_id)
        if queued:
            pause(run_id)

    monkeypatch.setattr(session, "start_or_resume", start_after_pause)
    monkeypatch.setattr(session, "pause", note_pause)
    row = session.store.lab.begin_sweep(SPEC.dump_python(spec(versions={slot: names}, size=5), mode="json"))
    sweeps.resume_sweep(session, row)
    row = ended(session, row)
    assert row.state == "paused"
    assert paused == [row.progress["runs"]["0/0"]]


def test_sweep_with_a_budget_pauses_if_the_cost_so_far_is_unknown(workspace, session, monkeypatch):
    monkeypatch.setenv("MOOT_MOCK_API_KEY", "x")
    price = models.Price(prompt=0, completion=1)

    async def forget_price(request, body):
        models.set_price(workspace, "mock", "m", None)
        return await debating()(request, body)

    with Scripted(forget_price) as server:
        workspace.use_connection("mock", server.url)
        models.set_price(workspace, "mock", "m", price)
        slot, names = two_judges(session)
        role_models = [RoleModel(connection="mock", model="m")]
        row = sweeps.start_sweep(session, spec(versions={slot: names}, role_models=role_models, size=5, budget_usd=1.0))
        ended(session, row)
        sent = len(server.requests)
        models.set_price(workspace, "mock", "m", price)
        sweeps.resume_sweep(session, sweeps.find_sweep(session, row.number))
        ended(session, row)
        assert len(server.requests) == sent < 15
        assert "the cost so far is unknown" in sweeps.find_sweep(session, row.number).message


def test_spent_budget_pauses_a_sweep_and_a_larger_one_resumes_it(workspace, session, monkeypatch):
    monkeypatch.setenv("MOOT_MOCK_API_KEY", "x")
    call, reserved = 7 * 1e-6, 2048 * 1e-6  # actual and maximum cost of a call in dollars, at $1 per million tokens
    with Scripted(debating()) as server:
        workspace.use_connection("mock", server.url)
        models.set_price(workspace, "mock", "m", models.Price(prompt=0, completion=1))
        slot, names = two_judges(session)
        budget = reserved + 16.5 * call  # the first configuration has 15 calls, the second five judge calls
        role_models = [RoleModel(connection="mock", model="m")]
        wanted = spec(versions={slot: names}, role_models=role_models, size=5, budget_usd=budget)
        row = sweeps.start_sweep(session, wanted)
        paused = ended(session, row)
        assert (paused.state, paused.progress["spent"]) == ("paused", True)
        assert paused.message.startswith("$0.0001 of the budget of $0.0022 is spent; the rest may not cover")
        assert len(server.requests) == 17
        complete, partial = sweeps.rank_configurations(session, paused)
        assert (complete.documents, partial.documents, partial.remaining) == (5, 0, True)
        assert (complete.cost_usd, partial.cost_usd) == (pytest.approx(15 * call), pytest.approx(2 * call))

        sweeps.resume_sweep(session, paused)  # with the same budget no further call may start
        assert ended(session, row).message == paused.message
        assert len(server.requests) == 17

        sweeps.resume_sweep(session, sweeps.find_sweep(session, row.number), budget_usd=2 * budget)
        done = ended(session, row)
        assert (done.state, done.message, done.progress["spent"]) == ("done", "", False)
        assert [ranked.documents for ranked in sweeps.rank_configurations(session, done)] == [5, 5]
        assert len(server.requests) == 20  # no request is repeated
