"""Tests of trials of a change: new and reused calls, forecasts, refused drafts, results."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from core.codebook import Codebook, Label
from core.documents import Document
from core.errors import CodebookError, NothingChanged, PromptError, StorageFull
from core.runs import EngineSettings, Prepass, RoleModel
from core.services import document_samples as draws
from core.services import models, prompt_templates
from core.services.codebooks import codebook as codebooks
from core.services.data import sample_projects
from core.services.evaluation import run_comparison
from core.services.evaluation.evaluation import evaluate
from core.services.few_shot_examples import example_pool
from core.services.lab import trials
from core.services.lab.trials import TrialResult, effect_of_change, forecast_trial
from core.services.runs import planning
from core.services.runs.cost_estimate import estimate_run
from core.stats.comparison import Side, rule
from tests.core.services.sessions import studio, until
from tests.core.store.helpers import set_gold
from tests.servers.scripted import Scripted, debating, role_of


def finish_trial(session, trial):
    until(lambda: not trials.is_trial_active(session, trial))
    return trials.trial_status(session, trial)


def edit_judge(session, new="Decide at once."):
    slot = next(slot for slot in prompt_templates.slots("ecj") if slot.key == "judge")
    now = prompt_templates.template_status(session, slot)
    prompt_templates.save_draft(session, slot, now.text.replace("\nDecide", f"\n{new}\n\nDecide"), now.base)
    return slot


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("MOOT_MOCK_API_KEY", "x")
    with Scripted(debating()) as server:
        yield server


def test_groups_are_the_independent_units_of_a_trial(tmp_path):
    with studio(tmp_path, documents=0) as (_, session):
        label = codebooks.current(session).labels[0]
        documents = []
        for n in range(40):
            gold = {"gold": {label.id: not n % 2}}
            text = f"A {('gondolier', 'tenor')[n % 2]}, {n}."
            documents.append(Document(f"d{n}", {"text": text}, gold=gold, group=f"chat {n // 10}"))
        session.store.documents.add(documents)
        book = codebooks.current(session)
        changed = codebooks.change_label(book, label.id, keywords=(*label.keywords, "gondolier"))
        codebooks.save_draft(session, changed)
        trial = trials.start_trial(session, trials.definition_change(session), draws.project_sample(session, 40))
        finish_trial(session, trial)
        row = trials.trial_result(session, trial).comparison.labels[0]
        assert (row.test.only_first, row.test.only_second > 12) == (0, True)
        assert row.adjusted >= 0.125, "at most 4 groups: 2 of 16 sign patterns, before Holm's correction"
        run = session.run(trial.after_run)
        assert (score := evaluate(session, run, "reviewed+gold").scores.main).value == 1.0
        assert score.interval.low < 0.6, "4 groups, not 40 documents"


def test_trial_of_a_judge_prompt_calls_only_the_judge(tmp_path, server):
    with studio(tmp_path, documents=0) as (workspace, session):
        session.store.documents.add([Document(f"d{n}", {"text": f"The room number {n}."}) for n in range(9)])
        workspace.use_connection("mock", server.url)
        plan = planning.Plan(default_model=RoleModel(connection="mock", model="m"))
        slot = edit_judge(session)
        sample = draws.project_sample(session, 5)
        forecast = forecast_trial(session, trials.prompt_change(session, slot, plan), sample)
        assert (forecast.calls, forecast.reused, forecast.cost_usd) == (20, 10, None)
        trial = finish_trial(session, trials.start_trial(session, trials.prompt_change(session, slot, plan), sample))
        assert (trial.state, trial.after.ended) == ("done", 5)
        first = [role_of(body) for body in server.requests]
        assert {role: first.count(role) for role in set(first)} == {"extractor": 5, "critic": 5, "judge": 10}
        assert (trial.calls, trial.reused) == (20, 10)

        server.requests.clear()
        edit_judge(session, "Weigh it.")
        forecast = forecast_trial(session, trials.prompt_change(session, slot, plan), sample)
        assert (forecast.calls, forecast.reused) == (5, 25)  # the judge on five documents; all other replies are stored
        again = finish_trial(session, trials.start_trial(session, trials.prompt_change(session, slot, plan), sample))
        assert [role_of(body) for body in server.requests] == ["judge"] * 5
        assert (again.after.calls, again.after.cached_calls) == (5, 10)
        assert again.trial.before_run == trial.trial.before_run  # the run before the change is reused
        assert "Weigh it." in server.requests[0]["messages"][-1]["content"]

        back = trials.prompt_change(session, slot, plan)
        back = replace(back, before=back.after, after=back.before)  # as if the edited prompt were saved and undone
        undone = finish_trial(session, trials.start_trial(session, back, sample))
        assert (undone.trial.before_run, undone.trial.after_run) == (again.trial.after_run, again.trial.before_run)
        assert (undone.calls, undone.reused, undone.cost_usd) == (0, 0, 0.0), "earlier trials had made both runs"

        server.requests.clear()
        same = trials.start_trial(session, trials.prompt_change(session, slot, plan), sample)
        assert (same, server.requests) == (again.trial, [])  # without a change no requests are sent

        edit_judge(session, "Promoted without a test.")
        promoted = trials.prompt_change(session, slot, plan).after
        edit_judge(session, "Edited after it.")
        change = replace(trials.prompt_change(session, slot, plan), before=promoted)
        forecast = forecast_trial(session, change, sample)
        assert (forecast.calls, forecast.reused) == (10, 20), "the judge on both sides"
        assert session.store.runs.all() == []  # runs of trials are not listed
        cut = "UPDATE replies SET finish_reason = 'length', output_limit = 9"
        session.project._writer.do(lambda cursor: cursor.execute(cut))
        forecast = forecast_trial(session, change, sample)
        assert (forecast.calls, forecast.reused) == (20, 10), "replies that a smaller limit cut are not reused"


def test_forecast_of_a_judge_prompt_costs_what_the_judge_costs(tmp_path, server):
    with studio(tmp_path, documents=0) as (workspace, session):
        session.store.documents.add([Document(f"d{n}", {"text": f"The room number {n}."}) for n in range(4)])
        workspace.use_connection("mock", server.url)
        for model, price in (("cheap", 0.1), ("dear", 100.0)):
            models.set_price(workspace, "mock", model, models.Price(prompt=price, completion=price))
        dear = RoleModel(connection="mock", model="dear")
        plan = planning.Plan(default_model=RoleModel(connection="mock", model="cheap"), role_models={"judge": dear})
        slot, sample = edit_judge(session), draws.project_sample(session, 4)
        finish_trial(session, trials.start_trial(session, trials.prompt_change(session, slot, plan), sample))
        edit_judge(session, "Weigh it.")
        change = trials.prompt_change(session, slot, plan)
        forecast = forecast_trial(session, change, sample)
        judge = estimate_run(session, change.after, len(sample.ids)).roles[-1]
        assert (judge.role, forecast.calls) == ("judge", judge.calls)
        assert forecast.cost_usd == pytest.approx(judge.cost_usd)


def test_forecast_counts_requests_after_a_changed_one_twice(tmp_path, server):
    with studio(tmp_path, documents=3) as (workspace, session):
        workspace.use_connection("mock", server.url)
        model = RoleModel(connection="mock", model="m")
        plan = planning.Plan(default_model=model, params={"extra_rounds": 1})
        slot = next(slot for slot in prompt_templates.slots("ecj") if slot.key == "critic")
        now = prompt_templates.template_status(session, slot)
        prompt_templates.save_draft(session, slot, now.text.replace("## user", "## user\nBe strict.", 1), now.base)
        forecast = forecast_trial(session, trials.prompt_change(session, slot, plan), draws.project_sample(session, 3))
        assert (forecast.calls, forecast.reused) == (2 * (5 + 4), 2), "only the first extraction is shared"


def test_invalid_or_unchanged_draft_is_refused_without_calls(tmp_path):
    with studio(tmp_path) as (_, session):
        slot = next(slot for slot in prompt_templates.slots("ecj") if slot.key == "judge")
        change = trials.prompt_change(session, slot)
        with pytest.raises(NothingChanged, match="Nothing has changed"):
            trials.start_trial(session, change, draws.project_sample(session, 2))
        assert change.request_hashes is change.request_hashes, "requests are hashed once"
        now = prompt_templates.template_status(session, slot)
        prompt_templates.save_draft(session, slot, now.text + "{{ nobody }}", now.base)
        with pytest.raises(PromptError, match="nobody"):
            trials.prompt_change(session, slot)


def test_hostile_template_is_refused_before_the_trial_starts(tmp_path):
    with studio(tmp_path) as (_, session):
        slot = next(slot for slot in prompt_templates.slots("ecj") if slot.key == "judge")
        now = prompt_templates.template_status(session, slot)
        loop = "{% for a in range(99999) %}{% for b in range(99997) %}{% endfor %}{% endfor %}"
        prompt_templates.save_draft(session, slot, now.text + loop, now.base)
        with pytest.raises(PromptError, match=r"exceeded the time or memory limit.* Rendered on document d"):
            trials.start_trial(session, trials.prompt_change(session, slot), draws.project_sample(session, 2))
        assert session.all_runs() == []
        assert trials.find_trial(session, slot.name) is None


@pytest.fixture
def session(workspace):
    return workspace.open(sample_projects.ensure_sample(workspace), create=False)


def test_trial_of_a_definition_compares_twenty_documents(session):
    sample = draws.project_sample(session, 20)
    book = codebooks.current(session)
    label = book.labels[0]
    codebooks.save_draft(session, codebooks.change_label(book, label.id, keywords=(*label.keywords, "hotel", "room")))
    trial = finish_trial(session, trials.start_trial(session, trials.definition_change(session), sample))
    result = trials.trial_result(session, trial.trial)
    assert len(result.documents) == 20
    assert result.count("regressed") > 0
    compared = next(row for row in result.comparison.labels if row.name == label.name)
    assert compared.test.only_first == result.count("regressed")
    assert result.after.value < result.before.value
    broken = result.documents[0]
    assert (broken.cells[0].before, broken.cells[0].after) == (False, True)

    version = codebooks.save(session, codebooks.codebook_status(session).codebook, "fewer words")
    plan = planning.Plan(ambiguous="r0001", engine=EngineSettings(name="batch"))
    settings = trials.base_settings(session, plan)
    assert settings.prepass == Prepass(), "the documents of a trial are chosen in another way"
    assert settings.engine.name == "live", "a trial is not sent to an API that may take a day"
    assert (settings.codebook_version, settings.codebook.hash) == (version, trial.after.settings.codebook.hash)


def test_trial_whose_second_run_could_not_start_is_stopped(tmp_path, monkeypatch):
    with studio(tmp_path) as (_, session):
        book = codebooks.current(session)
        codebooks.save_draft(session, codebooks.change_label(book, book.labels[0].id, keywords=("bath",)))
        sample, start = draws.project_sample(session, 4), session.start_or_resume

        def start_first(run_id, **options):
            if started:
                raise StorageFull("The disk is full.", "Free some space.")
            started.append(run_id)
            return start(run_id, **options)

        started = []
        monkeypatch.setattr(session, "start_or_resume", start_first)
        with pytest.raises(StorageFull):
            trials.start_trial(session, trials.definition_change(session), sample)
        trial = trials.find_trial(session, trials.DEFINITIONS)
        status = finish_trial(session, trial)
        assert (status.before.state, status.after.state, status.state) == ("done", "queued", "stopped")
        monkeypatch.undo()
        again = trials.start_trial(session, trials.definition_change(session), sample)
        assert again == trial
        assert finish_trial(session, again).state == "done"


def test_figures_of_a_trial_equal_those_of_compare(session):
    book = codebooks.current(session)
    label = book.labels[0]
    codebooks.save_draft(session, codebooks.change_label(book, label.id, keywords=(*label.keywords, "hotel", "room")))
    change = trials.definition_change(session)
    trial = finish_trial(session, trials.start_trial(session, change, draws.project_sample(session, 40))).trial
    result = trials.trial_result(session, trial)
    runs = trial.before_run, trial.after_run
    compared = run_comparison.comparison(session, runs)
    (pair,) = compared.pairs
    assert (result.before, result.after) == tuple(column.scores.main for column in compared.columns)
    assert (result.comparison.scores, result.comparison.main) == (pair.scores, pair.main)
    assert result.comparison.documents == pair.documents
    assert [(label.difference, label.test, label.adjusted, label.verdict) for label in result.comparison.labels] == [
        (label.difference, label.test, label.adjusted, label.verdict) for label in pair.labels
    ]
    outcomes = run_comparison.outcomes(compared, pair).counts
    assert result.count("regressed") == outcomes["regressed"] > 0
    assert result.count("mixed") == outcomes["mixed"]
    assert (result.count("corrected"), result.count("wrong")) == (outcomes["corrected"], outcomes["wrong"])
    names = zip((trial.before, trial.after), (column.run.title for column in compared.columns), strict=True)
    sentence = result.sentence
    for name, title in names:
        sentence = re.sub(rf"\b{name}\b", title, sentence)
    assert sentence == pair.sentence


def test_added_and_removed_labels_are_not_compared(session):
    book = codebooks.current(session)
    grown, _ = codebooks.add_label(codebooks.delete_label(book, book.labels[0].id), "Parking")
    codebooks.save_draft(session, grown)
    trial = finish_trial(
        session, trials.start_trial(session, trials.definition_change(session), draws.project_sample(session, 5))
    )
    result = trials.trial_result(session, trial.trial)
    assert [label.name for label in result.comparison.labels] == list(book.names[1:])


def test_source_of_an_example_in_either_codebook_has_no_reference(tmp_path):
    with studio(tmp_path, documents=0) as (_, session):
        clean, service = (label.id for label in codebooks.current(session).labels)
        gold = {"gold": {clean: False, service: True}}
        texts = [f"A gondolier bowed {n} times" for n in range(12)]
        session.store.documents.add([Document(f"d{n}", {"text": text}, gold=gold) for n, text in enumerate(texts)])
        sample = draws.project_sample(session, 5)
        book = codebooks.current(session)
        for side, (document, part) in enumerate(zip(sample.ids, ("include", "exclude"), strict=False)):
            book = codebooks.extend_label(book, service, part, texts[int(document[1:])])
            text = getattr(book.label(service), part)[-1]
            session.store.classifiers.add_codebook_example(document, service, part, text, 2 + side, actor="")
            if part == "include":
                codebooks.save(session, book)
                book = codebooks.change_label(book, service, include=())  # the draft lacks the first example
        codebooks.save_draft(session, book)
        change = trials.definition_change(session, planning.Plan(protocol="single"))
        trial = finish_trial(session, trials.start_trial(session, change, sample)).trial
        result = trials.trial_result(session, trial)
        assert (len(result.documents), result.labelled) == (5, 3)


def test_run_after_a_change_shows_the_examples_of_an_earlier_run_before_it(tmp_path):
    with studio(tmp_path, documents=6) as (_, session):
        book = codebooks.current(session)
        values = {label.id: True for label in book.labels}
        set_gold(session.store, {"d5": {"gold": values}})
        plan = planning.Plan(protocol="single", params={"method": "few_shot", "shots": 1})
        sample = draws.DocumentSample({"d0": "random"}, 0)
        for number in (1, 2):
            words = ("word", f"word {number}")
            codebooks.save_draft(session, codebooks.change_label(book, book.labels[0].id, keywords=words))
            change = trials.definition_change(session, plan)
            forecast = forecast_trial(session, change, sample)
            assert (forecast.calls, forecast.reused) == ((2, 0) if number == 1 else (1, 1))
            trial = trials.start_trial(session, change, sample)
            finish_trial(session, trial)
            pools = [example_pool(session.store, session.run(id)) for id in (trial.before_run, trial.after_run)]
            assert pools == [{"d5": values}] * 2
            set_gold(session.store, {id: {"gold": values} for id in ("d2", "d3")})


def test_trial_compares_runs_that_show_the_same_examples(tmp_path):
    with studio(tmp_path, documents=6) as (_, session):
        book = codebooks.current(session)
        values = {label.id: True for label in book.labels}
        settings = trials.base_settings(session, planning.Plan(protocol="single", params={"method": "few_shot"}))

        def pools_of_trial(*words):
            sides = [codebooks.change_label(book, book.labels[0].id, keywords=(word,)) for word in words]
            before, after = (settings.model_copy(update={"codebook": side}) for side in sides)
            change = trials.SettingsChange(trials.DEFINITIONS, before, after, *words)
            trial = trials.start_trial(session, change, draws.DocumentSample({"d0": "random"}, 0))
            finish_trial(session, trial)
            return [example_pool(session.store, session.run(id)) for id in (trial.before_run, trial.after_run)]

        set_gold(session.store, {"d5": {"gold": values}})
        assert pools_of_trial("first", "second") == [{"d5": values}] * 2
        set_gold(session.store, {"d2": {"gold": values}})
        assert pools_of_trial("third", "fourth") == [{"d2": values}] * 2
        assert pools_of_trial("first", "fourth") == [{"d5": values}] * 2
        assert pools_of_trial("third", "fourth") == [{"d2": values}] * 2


def test_change_is_tested_again_after_the_context_of_its_documents_changed(tmp_path):
    with studio(tmp_path, documents=2) as (_, session):
        book = codebooks.current(session)
        codebooks.save_draft(session, codebooks.change_label(book, book.labels[0].id, keywords=("other",)))
        change = trials.definition_change(session, planning.Plan(protocol="single"))
        sample = draws.DocumentSample({"d0": "random"}, 0)
        first = finish_trial(session, trials.start_trial(session, change, sample)).trial
        assert trials.start_trial(session, change, sample) == first
        assert trials.was_tried(session, change, sample)
        (document,) = session.store.documents.load(["d0"])
        changed = replace(document, fields={**document.fields, "title": "Another title"})
        session.store.documents.replace_all([changed])
        assert not trials.was_tried(session, change, sample)
        second = finish_trial(session, trials.start_trial(session, change, sample)).trial
        assert {second.before_run, second.after_run}.isdisjoint({first.before_run, first.after_run})


def test_new_label_of_a_choice_counts_as_a_wrong_decision(tmp_path):
    with studio(tmp_path, documents=0) as (_, session):
        book = codebooks.change(codebooks.current(session), kind="choice")
        clean, service = (label.id for label in book.labels)
        session.store.codebooks.save(book)
        texts = {clean: "A clean tower, {}.", service: "Staff of the tower sang, {}."}
        labels = [(clean, service)[n % 2] for n in range(30)]
        session.store.documents.add(
            Document(f"d{n}", {"text": texts[label].format(n)}, gold={"gold": {"label": label}})
            for n, label in enumerate(labels)
        )
        grown, tower = codebooks.add_label(codebooks.current(session), "Tower")
        grown = codebooks.change_label(grown, tower, keywords=("tower", "sang"))
        codebooks.save_draft(session, codebooks.delete_label(grown, clean))
        sample = draws.project_sample(session, 20)
        change = trials.definition_change(session, planning.Plan(protocol="single"))
        trial = finish_trial(session, trials.start_trial(session, change, sample)).trial
        result = trials.trial_result(session, trial)
        counts = [sum(int(id[1:]) % 2 == parity for id in sample.ids) for parity in (0, 1)]
        assert (result.count("regressed"), result.comparison.scores.n, result.labelled) == (
            counts[1],
            counts[1],
            counts[1],
        )
        assert (result.before.value, result.after.value, result.comparison.main.difference.value) == (1.0, 0.0, -1.0)
        broken = next(document for document in result.documents if document.effect == "regressed").cells[0]
        assert (broken.before, broken.after) == (service, tower)
        other = next(document for document in result.documents if int(document.document_id[1:]) % 2 == 0).cells[0]
        assert (other.before, other.effect) == (clean, "changed"), "the label was removed"


def test_trial_with_another_kind_of_label_is_refused(session):
    codebooks.save_draft(session, codebooks.change(codebooks.current(session), kind="choice"))
    with pytest.raises(CodebookError, match="kind"):
        trials.definition_change(session)


# Tests of trial results, with effects counted by hand.
#
# ====  =====  ======  =====  =======================
# doc   ref.   before  after  effect
# ====  =====  ======  =====  =======================
# d0    A      A       A B    broken on B
# d1    A B    A       A B    fixed on B
# d2    B      A       A      as wrong as before
# d3    (none) (none)  (none) same
# d4    -      A       B      changed, no reference
# d5    A      (open)  A      changed, undecided before
# d6    A B    B       A      fixed on A, broken on B
# ====  =====  ======  =====  =======================

BOOK = Codebook(labels=(Label(name="A", id="a"), Label(name="B", id="b")))
X = np.nan
REFERENCE = np.array([[1, 0], [1, 1], [0, 1], [0, 0], [X, X], [1, 0], [1, 1]], dtype=float)
BEFORE = np.array([[1, 0], [1, 0], [1, 0], [0, 0], [1, 0], [X, 0], [0, 1]], dtype=float)
AFTER = np.array([[1, 1], [1, 1], [1, 0], [0, 0], [0, 1], [1, 0], [1, 0]], dtype=float)


def result_of(reference, before, after, book=BOOK, groups=None) -> TrialResult:
    """Return the result of a trial on documents d0, d1 and so on."""
    documents = [f"d{n}" for n in range(len(reference))]
    return effect_of_change(documents, reference, Side("r1", "v1", before), Side("r2", "v2", after), book, groups)


def counts(result: TrialResult) -> list[tuple[str, int, int]]:
    """Return each label with its corrected and regressed documents."""
    return [(label.name, label.test.only_second, label.test.only_first) for label in result.comparison.labels]


def test_documents_are_sorted_by_effect_regressions_first():
    result = result_of(REFERENCE, BEFORE, AFTER)
    assert [(document.document_id, document.effect) for document in result.documents] == [
        ("d0", "regressed"),
        ("d6", "mixed"),
        ("d1", "corrected"),
        ("d4", "changed"),
        ("d5", "changed"),
        ("d2", "wrong"),
        ("d3", "same"),
    ]
    assert result.labelled == 6
    both = result.documents[1].cells
    assert [(cell.item, cell.before, cell.after, cell.effect) for cell in both] == [
        ("a", False, True, "corrected"),
        ("b", True, False, "regressed"),
    ]
    opened = next(document for document in result.documents if document.document_id == "d5").cells
    assert [(cell.item, cell.before, cell.after) for cell in opened] == [("a", None, True)]
    assert counts(result) == [("A", 1, 0), ("B", 1, 2)], "without the unresolved d5, as in the scores"
    assert (result.cells.corrected, result.cells.regressed) == (2, 2)


def test_scores_exclude_documents_without_a_verdict():
    result = result_of(REFERENCE, BEFORE, AFTER)
    # All scores use the five documents with a verdict in both runs, without d5.
    # F1 before: A has TP d0 d1, FP d2, FN d6, so 2/3; B has TP d6, FN d1 d2, so 1/2.
    assert result.before.value == pytest.approx((2 / 3 + 1 / 2) / 2)
    # F1 after: A has TP d0 d1 d6, FP d2, so 6/7; B has TP d1, FP d0, FN d2 d6, so 2/5.
    assert result.after.value == pytest.approx((6 / 7 + 2 / 5) / 2)
    pair = result.comparison
    assert pair.main.difference.value == pytest.approx(result.after.value - result.before.value)
    assert pair.labels[0].difference.value == pytest.approx(6 / 7 - 2 / 3)
    assert (pair.scores.n, pair.scores.excluded) == (5, 1)


def test_sentence_states_the_result_of_the_comparison():
    same = result_of(REFERENCE, BEFORE, BEFORE)
    assert same.sentence == "Nothing changed."
    changed = result_of(REFERENCE, BEFORE, AFTER)
    assert changed.sentence.startswith("No significant difference between v2 and v1 on 5 of 6 shared documents: +")
    unknown = result_of(REFERENCE * X, BEFORE, AFTER)
    assert unknown.sentence.endswith("cannot be compared: no shared document has a reference and a verdict in both.")
    assert unknown.after.value is None
    many = [np.tile(grid, (20, 1)) for grid in (REFERENCE[[0, 1]], BEFORE[[0, 1]] * 0, REFERENCE[[0, 1]])]
    clear = result_of(*many)
    assert clear.sentence.startswith("v2 is better on 40 shared documents: +")
    assert [label.verdict for label in clear.comparison.labels] == ["better", "better"]
    pairs = result_of(*many, groups=np.arange(40) // 2)
    assert pairs.comparison.main.verdict == "better"
    few = result_of(*many, groups=np.arange(40) // 10)
    assert few.comparison.main.verdict == "none", "4 groups are too few"
    assert [label.verdict for label in few.comparison.labels] == ["none", "none"]
    assert [label.adjusted for label in few.comparison.labels] == [0.25, 0.25]  # 2 labels x 2 of 16 sign patterns


def test_rare_label_has_no_verdict():
    reference = np.array([[n < 4, n % 2] for n in range(40)], dtype=float)
    before = np.hstack([np.ones((40, 1)), reference[:, 1:]])
    rare = result_of(reference, before, reference).comparison.labels[0]
    assert (rare.test.only_second, rare.adjusted < 0.001, rare.positives, rare.verdict) == (36, True, 4, "unknown")


def test_switch_of_a_choice_counts_for_both_labels():
    book = BOOK.model_copy(update={"kind": "choice"})
    reference, before, after = (
        np.array([[v] for v in column], dtype=float) for column in ([0, 1, 1], [1, 1, 0], [0, 0, 1])
    )
    result = result_of(reference, before, after, book)
    assert [document.effect for document in result.documents] == ["regressed", "corrected", "corrected"]
    # d0 misses A and takes B instead: in F1, both labels are worse.
    assert counts(result) == [("A", 2, 1), ("B", 2, 1)]
    assert (result.cells.corrected, result.cells.regressed) == (2, 1)


def test_wrong_value_that_becomes_another_wrong_one_is_a_change():
    book = Codebook(kind="choice", labels=(*BOOK.labels, Label(name="C", id="c")))
    result = result_of(*(np.array([[v], [1.0]]) for v in (0.0, 1.0, 2.0)), book)
    assert [(document.effect, [cell.effect for cell in document.cells]) for document in result.documents] == [
        ("changed", ["changed"]),
        ("same", []),
    ]
    rating = Codebook(kind="rating", labels=BOOK.labels[:1])
    near = result_of(*(np.array([[v]]) for v in (3.5, 3.0, 4.0)), rating)
    assert near.documents[0].effect == "changed", "both are less than a point away"


def test_rating_is_right_if_it_is_less_than_a_point_off():
    book = Codebook(kind="rating", labels=BOOK.labels)
    reference = np.array([[1, 5], [3, X]], dtype=float)
    result = result_of(reference, np.array([[1, 4], [X, 2]]), np.array([[1, 5], [3, 2]]), book)
    assert [document.effect for document in result.documents] == ["corrected", "changed"], "d1 was undecided before"
    mean = np.array([[3.5, 3.5]])  # mean of two raters: less than a point away counts as right
    assert result_of(mean, np.array([[4.0, 5.0]]), np.array([[4.0, 4.0]]), book).documents[0].effect == "corrected"


def test_main_score_of_ratings_is_the_mean_correlation():
    book = Codebook(kind="rating", labels=BOOK.labels)
    rng = np.random.default_rng(1)
    reference = rng.integers(1, 6, (60, 2)).astype(float)
    before = rng.integers(1, 6, (60, 2)).astype(float)
    result = result_of(reference, before, reference, book)
    assert (result.comparison.main.metric, result.after.value) == ("macro_spearman", 1.0)
    assert result.sentence.startswith("v2 is better on 60 shared documents: +")
    assert "mean Spearman correlation" in result.sentence
    same = [np.mean(np.abs(before[:, column] - reference[:, column]) < 1) for column in (0, 1)]
    differences = [label.difference.value for label in result.comparison.labels]
    assert differences == pytest.approx([1 - share for share in same])


def test_rule_names_the_test_of_the_main_score_where_it_is_shown():
    names = "McNemar's test after Holm's correction over the labels"
    assert f"for Macro F1 a permutation test, for a label {names}." in rule("multilabel", main="Macro F1")
    assert "permutation" not in rule("multilabel")
