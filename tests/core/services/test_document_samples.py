"""Tests of samples for trials: strata, reproducible by seed, never held-out documents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.documents import Document
from core.errors import UsageError
from core.services import document_samples
from core.services.evaluation import model_drift
from core.store.lab import Split
from tests.core.services.sessions import queue_runs, studio
from tests.core.store.helpers import set_gold

IDS = [f"d{n}" for n in range(100)]
STATUS = {f"d{n}": (n % 4 != 0, n % 10 == 3) for n in range(90)}


def test_stratified_sample_takes_a_quarter_per_stratum():
    sample = document_samples.draw_stratified(IDS, STATUS, 20, 0)
    assert [list(sample.values()).count(name) for name in document_samples.STRATA] == [5, 5, 5, 5]
    assert all(STATUS[id][0] is False for id, stratum in sample.items() if stratum == "wrong")
    assert all(STATUS[id][1] for id, stratum in sample.items() if stratum == "disagreement")


def test_short_stratum_is_filled_with_random_documents():
    sample = document_samples.draw_stratified(IDS, {"d1": (False, False)}, 20, 0)
    assert [list(sample.values()).count(name) for name in document_samples.STRATA] == [1, 0, 0, 19]


@given(st.integers(1, 120), st.integers(0, 5))
def test_sample_is_reproducible_and_without_repeats(size: int, seed: int):
    sample = document_samples.draw_stratified(IDS, STATUS, size, seed)
    assert len(sample) == min(size, 100)
    assert list(sample) == list(document_samples.draw_stratified(reversed(IDS), STATUS, size, seed))


@given(st.lists(st.integers()), st.integers(0, 20))
def test_fixed_sample_keeps_the_order_and_is_reproducible(values: list[int], most: int):
    places = list(enumerate(values))
    sample = document_samples.fixed_sample(places, most)
    assert len(sample) == min(most, len(values))
    assert sample == sorted(set(sample))
    assert set(sample) <= set(places)
    assert sample == document_samples.fixed_sample(places, most)
    assert set(sample) <= set(document_samples.fixed_sample(places, most + 3))


def test_sample_is_stable_and_excludes_held_out_documents(tmp_path):
    with studio(tmp_path, documents=0) as (_, session):
        label = session.store.codebooks.latest().codebook.labels[0].id
        documents = [Document(f"g{n}", {"text": "clean"}, gold={"gold": {label: True}}) for n in range(60)]
        session.store.documents.add([*documents, Document("free", {"text": "x"})])
        first = document_samples.project_sample(session, 10, seed=3)
        split, development, held_out = (
            document_samples.holdout_split(session),
            document_samples.labelled_ids(session, held_out=False),
            document_samples.labelled_ids(session, held_out=True),
        )
        assert (split.development, split.held_out) == (len(development), len(held_out))
        assert document_samples.held_out_among(session, [*development, *held_out]) == set(held_out)
        assert [
            document_samples.visible_document(session, 1).id,
            document_samples.visible_document(session, document_samples.count_visible(session)).id,
        ] == [
            development[0],
            development[-1],
        ]
        assert len(first.ids) == 10
        assert set(first.ids) <= set(development)
        assert 8 <= len(held_out) <= 28  # about three of ten, chosen by hash
        (run,) = queue_runs(session)
        session.start_or_resume(run.run_id).result()
        assert document_samples.project_sample(session, 10, seed=3) == first  # a later run does not change the sample
        assert document_samples.project_sample(session, 10, seed=4).run_id == run.run_id
        canary = model_drift.start_canary_run(session, session.run(run.run_id))
        session.start_or_resume(canary.run_id).result()
        assert document_samples.project_sample(session, 10, seed=5).run_id == run.run_id
        assert set(document_samples.held_out_sample(session).ids) == set(held_out)
        with pytest.raises(UsageError, match="held out"):
            document_samples.single_document(session, held_out[0])


def test_sample_without_a_label_is_drawn_again_once_there_are_labels(tmp_path):
    with studio(tmp_path, documents=60) as (_, session):
        label = session.store.codebooks.latest().codebook.labels[0].id
        first = document_samples.project_sample(session, 5)
        free = [id for id in session.store.documents.ids() if id not in first.ids]
        set_gold(session.store, {id: {"gold": {label: True}} for id in free})
        second = document_samples.project_sample(session, 5)
        assert set(second.ids) <= set(free)
        assert document_samples.project_sample(session, 5) == second


def test_sample_is_drawn_again_once_it_can_have_twice_as_many_documents(tmp_path):
    with studio(tmp_path, documents=60) as (_, session):
        label = session.store.codebooks.latest().codebook.labels[0].id
        development = session.store.lab.development(Split("moot", document_samples.HELD_OUT_SHARE), 60)

        def draw_with_labels(ids):
            set_gold(session.store, {id: {"gold": {label: True}} for id in ids})
            return document_samples.project_sample(session, 10).ids

        unlabelled = document_samples.project_sample(session, 10).ids
        assert draw_with_labels(unlabelled[:3]) == unlabelled, "a sample of three would be smaller"
        others = [id for id in development if id not in unlabelled]
        few = draw_with_labels(others[:3])
        assert set(few) == set(others[:3])
        assert draw_with_labels(others[:5]) == few, "versions are compared on the same documents"
        assert set(draw_with_labels(others[:6])) == set(others[:6])
        assert len(draw_with_labels(others)) == 10


def test_sample_is_random_without_reference_and_an_error_without_documents(tmp_path):
    with studio(tmp_path, documents=12) as (_, session):
        assert len(document_samples.project_sample(session, 5).ids) == 5
        with pytest.raises(UsageError, match="held-out"):
            document_samples.held_out_sample(session)
    (tmp_path / "empty").mkdir()
    with studio(tmp_path / "empty", documents=0) as (_, session), pytest.raises(UsageError, match="no documents"):
        document_samples.project_sample(session, 5)
