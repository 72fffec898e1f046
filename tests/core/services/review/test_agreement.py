"""Tests of the agreement of reviewers and of blind review, counted by hand."""

from __future__ import annotations

import asyncio

import pytest

from core.codebook import Codebook, Label
from core.documents import Document
from core.errors import UsageError
from core.services.codebooks import codebook as codebooks
from core.services.review import actions, agreement, queue
from core.services.review.queue import QueueFilter, ReviewSettings
from core.stats.intervals import wilson
from tests.core.services import sample_world
from tests.core.services.sample_world import both
from tests.core.services.sessions import decide
from tests.core.store.helpers import make_settings, store_debate


def submit_review(session, run, actor, document, **values):
    for item, value in values.items():
        actions.edit(session, run.run_id, [document], item, value, actions.Attribution(actor))
    actions.submit(session, run.run_id, [document], actions.Attribution(actor))


def test_agreement_of_two_reviewers_matches_hand_counts(session, run):
    # The labels of Alpha are TT, FF, TF, FF: observed agreement 3/4, chance agreement .5 x .25 + .5 x .75 = .5, so
    # kappa = (.75 - .5) / .5 = .5.
    for document, first, second in (
        ("d0", True, True),
        ("d1", False, False),
        ("d2", True, False),
        ("d3", False, False),
    ):
        submit_review(session, run, "ann", document, a=first, b=True)
        submit_review(session, run, "bob", document, a=second, b=True)
    submit_review(session, run, "ann", "d5", a=True, b=True)  # reviewed once only
    submit_review(session, run, "cyd", "d6", a=True, b=True)
    report = agreement.agreement_report(session, run)
    assert (report.reviewers, report.documents) == ({"ann": 5, "bob": 4, "cyd": 1}, 4)
    assert report.compared == {"ann": 4, "bob": 4}
    alpha, beta = report.items
    assert (alpha.n, alpha.observed.value, alpha.kappa.value) == (4, 0.75, pytest.approx(0.5))
    assert alpha.observed.interval == wilson(3, 4)
    assert (beta.observed.value, beta.kappa.value, beta.alpha.value) == (
        1.0,
        None,
        None,
    )  # undefined, as all values are equal
    (disagreement,) = report.disagreements
    assert (disagreement.document_id, disagreement.item, disagreement.values) == (
        "d2",
        "a",
        {"ann": True, "bob": False},
    )
    assert report.open == report.disagreements


def test_agreement_of_raters_matches_hand_counts(project):
    # Alpha of ann and ben as in the test above: kappa .5. Beta differs once: observed 3/4, chance 1/4 + 1/4, kappa .5.
    # cyd labelled d4 only, which nobody shares.
    ann, ben = ("ab", "", "ab", ""), ("ab", "", "b", "b")
    gold = {f"d{n}": {"ann": both(ann[n]), "ben": both(ben[n])} for n in range(4)} | {"d4": {"cyd": both("a")}}
    session, run = sample_world.annotated(project, sample_world.CODEBOOK, gold, dict.fromkeys(gold, both("a")))
    report = agreement.rater_agreement(session, run)
    assert (report.documents, report.compared) == (4, {"ann": 4, "ben": 4})
    assert report.reviewers == {"ann": 4, "ben": 4, "cyd": 1}
    alpha, beta = report.items
    assert (alpha.n, alpha.observed.value, alpha.kappa.value) == (4, 0.75, pytest.approx(0.5))
    assert (beta.n, beta.observed.value, beta.kappa.value) == (4, 0.75, pytest.approx(0.5))
    assert agreement.agreement_report(session, run).documents == 0, "raters are no reviewers"


def test_one_rater_has_no_agreement(session, run):
    assert agreement.rater_agreement(session, run).documents == 0


def test_documents_of_one_group_are_one_case_of_the_intervals(project):
    def reviewed(groups):
        ids = [f"{groups}-{n}" for n in range(24)]
        project.store.documents.add(
            Document(id, {"text": id}, group=f"{groups}/{n % groups}") for n, id in enumerate(ids)
        )
        run = project.store.runs.create(make_settings(sample_world.CODEBOOK, codebook_version=1), ids)
        session = sample_world.session_on(project)
        for actor, step in (("ann", 3), ("bob", 2)):
            decisions = {id: {"a": n % step > 0, "b": True} for n, id in enumerate(ids)}
            decide(session, run.run_id, decisions, actions.Attribution(actor))
        return agreement.agreement_report(session, run).items[0]

    single, shared = reviewed(24), reviewed(12)
    assert (single.observed.value, single.alpha.value) == (shared.observed.value, shared.alpha.value)
    # The documents n and n + 12 of a group agree alike, so that 12 groups tell as much as 12 documents.
    assert width(shared.observed) > 1.2 * width(single.observed)
    assert width(shared.alpha) > 1.2 * width(single.alpha)
    assert width(shared.kappa) > 1.2 * width(single.kappa)


def width(estimate):
    return estimate.interval.high - estimate.interval.low


def test_adjudication_counts_until_it_is_undone(session, run):
    submit_review(session, run, "ann", "d2", a=True, b=True)
    submit_review(session, run, "bob", "d2", a=False, b=True)
    assert queue.review_rows(session, run, ["d2"])[0].values["a"] is False  # the last submitted review counts
    agreement.adjudicate(session, run, "d2", "a", True, actor="cy")
    (disagreement,) = agreement.agreement_report(session, run).disagreements
    assert (disagreement.decided, disagreement.by) == (True, "cy")
    submit_review(session, run, "bob", "d2", a=False)
    assert queue.review_rows(session, run, ["d2"])[0].values["a"] is True
    actions.undo(session, actions.Attribution("cy"))
    assert agreement.agreement_report(session, run).open
    assert queue.review_rows(session, run, ["d2"])[0].values["a"] is False
    with pytest.raises(UsageError, match="cannot have the value 3"):
        agreement.adjudicate(session, run, "d2", "a", 3)
    with pytest.raises(UsageError, match="Nothing was decided"):
        agreement.adjudicate(session, run, "d2", "a", None)
    session.store.documents.replace_all([Document("d2 (2)", {"text": "another text"})])
    with pytest.raises(UsageError, match="no longer contains d2"):
        agreement.adjudicate(session, run, "d2", "a", True)


def test_adjudicated_value_that_no_reviewer_gives_can_be_reopened(session, run):
    submit_review(session, run, "ann", "d2", a=True, b=True)
    submit_review(session, run, "bob", "d2", a=False, b=True)
    agreement.adjudicate(session, run, "d2", "a", True, actor="ann")
    submit_review(session, run, "ann", "d2", a=False)
    (disagreement,) = agreement.agreement_report(session, run).open
    assert (disagreement.values, disagreement.decided) == ({"ann": False, "bob": False}, True)
    agreement.adjudicate(session, run, "d2", "a", None, actor="bob")
    assert queue.review_rows(session, run, ["d2"])[0].values["a"] is False
    assert agreement.agreement_report(session, run).disagreements == ()
    actions.undo(session, actions.Attribution("bob"))
    assert queue.review_rows(session, run, ["d2"])[0].values["a"] is True


def test_values_of_another_kind_are_no_disagreement(project):
    project.store.documents.add([Document("d", {"text": "d"})])
    book = sample_world.CODEBOOK
    session = sample_world.session_on(project)
    run = project.store.runs.create(make_settings(book, codebook_version=1), ["d"])
    for actor in ("ann", "bob"):
        submit_review(session, run, actor, "d", a=actor == "ann", b=True)
    rating = codebooks.change(book, kind="rating")
    again = project.store.runs.create(make_settings(rating, codebook_version=2), ["d"])
    assert agreement.agreement_report(session, again).disagreements == ()
    for actor in ("ann", "bob"):
        submit_review(session, again, actor, "d", a=2, b=3)
    assert agreement.agreement_report(session, again).disagreements == ()


@pytest.mark.parametrize(("rating", "agreed"), [(3, True), (5, False)])
def test_ratings_less_than_a_point_apart_are_no_disagreement(project, rating, agreed):
    # Ann accepts the verdict, a mean of 3.4.
    book = Codebook(kind="rating", labels=(Label(id="a", name="Alpha"),))
    project.store.documents.add([Document("d", {"text": "d"})])
    run = project.store.runs.create(make_settings(book, codebook_version=1), ["d"])
    asyncio.run(store_debate(project, run.run_id, "d", {"judge": {"a": 3}}, {"a": 3.4}))
    session = sample_world.session_on(project)
    actions.submit(session, run.run_id, ["d"], actions.Attribution("ann"))
    submit_review(session, run, "bob", "d", a=rating)
    report = agreement.agreement_report(session, run)
    assert (len(report.disagreements), report.items[0].observed.value) == (int(not agreed), float(agreed))


def test_unsubmitted_second_review_changes_nothing(session, run):
    submit_review(session, run, "ann", "d1", a=True)
    actions.edit(session, run.run_id, ["d1"], "a", False, actions.Attribution("bob"))
    assert queue.review_rows(session, run, ["d1"])[0].values["a"] is True
    assert queue.review_rows(session, run, ["d1"])[0].review_status == "Submitted"
    assert queue.review_rows(session, run, ["d1"], actor="bob")[0].values["a"] is False
    assert queue.review_rows(session, run, ["d1"], actor="bob")[0].review_status == "Draft"
    again = queue.review_page(session, run, QueueFilter(by_others=True), actor="bob").rows
    assert [row.document_id for row in again] == ["d1"]


def test_labels_changed_after_seeing_another_review_do_not_count(session, run):
    # On d0 Bob adopts Ann's label after submitting his own. d1 and d2 are independent; Alpha agrees on one of them.
    for document, first, second in (("d0", True, False), ("d1", True, True), ("d2", True, False)):
        submit_review(session, run, "ann", document, a=first, b=True)
        submit_review(session, run, "bob", document, a=second, b=True)
    report = agreement.agreement_report(session, run)
    assert (report.documents, report.dependent, report.items[0].n) == (3, 0, 3)
    submit_review(session, run, "bob", "d0", a=True)
    report = agreement.agreement_report(session, run)
    assert (report.documents, report.dependent) == (3, 1)
    assert (report.items[0].n, report.items[0].observed.value) == (2, 0.5)


def test_second_review_is_blind(session, run):
    submit_review(session, run, "ann", "d1", a=True, b=True)
    assert agreement.blind_report(session, run).blind.n == 0
    submit_review(session, run, "bob", "d1", a=False, b=True)
    assert agreement.blind_report(session, run).blind.n == 2


def test_blind_decisions_measure_anchoring(session, run):
    # The verdicts are A on d0, B on d1, A B on d2. On d0 the blind review is A B and then changes to the verdict; on d1
    # the blind review is B and stays. d2 is reviewed with the verdict shown and differs from it on B.
    queue.save_review_settings(session, ReviewSettings(blind=True))
    for document, values in (("d0", {"a": True, "b": True}), ("d1", {"a": False, "b": True})):
        for item, value in values.items():
            actions.edit(session, run.run_id, [document], item, value, actions.Attribution("ann"))
        actions.reveal(session, run.run_id, document, actions.Attribution("ann"))
    submit_review(session, run, "ann", "d0", b=False)
    actions.submit(session, run.run_id, ["d1"], actions.Attribution("ann"))
    queue.save_review_settings(session, ReviewSettings(blind=False))
    submit_review(session, run, "ann", "d2", b=False)
    report = agreement.blind_report(session, run)
    assert (report.changed.count, report.changed.n, report.towards) == (1, 4, 1)
    assert (report.blind.count, report.blind.n) == (3, 4)
    assert (report.shown.count, report.shown.n) == (1, 2)
    assert report.changed.share.value == 0.25
    assert report.changed.share.interval is not None
    assert report.shown.share.interval is None  # a single document has no interval


def test_blind_ratings_agree_with_a_verdict_that_no_reviewer_can_give(project):
    # The verdicts are means, 3.4 and 2.5. On d0 a blind 5 becomes 4, nearer to it; on d1 a blind 3 stays. d2 is shown.
    book = Codebook(kind="rating", labels=(Label(id="a", name="Alpha"),))
    project.store.codebooks.save(book)
    project.store.documents.add([Document(f"d{n}", {"text": f"text {n}"}) for n in range(3)])
    run = project.store.runs.create(make_settings(book, codebook_version=1), ["d0", "d1", "d2"])
    for document, mean in (("d0", 3.4), ("d1", 2.5), ("d2", 1.5)):
        asyncio.run(store_debate(project, run.run_id, document, {"judge": {"a": 3}}, {"a": mean}))
    session = sample_world.session_on(project)
    queue.save_review_settings(session, ReviewSettings(blind=True))
    for document, value in (("d0", 5), ("d1", 3)):
        actions.edit(session, run.run_id, [document], "a", value, actions.Attribution("ann"))
        actions.reveal(session, run.run_id, document, actions.Attribution("ann"))
    submit_review(session, run, "ann", "d0", a=4)
    actions.submit(session, run.run_id, ["d1"], actions.Attribution("ann"))
    queue.save_review_settings(session, ReviewSettings(blind=False))
    submit_review(session, run, "ann", "d2", a=2)
    report = agreement.blind_report(session, run)
    assert (report.blind.count, report.blind.n) == (1, 2)
    assert (report.shown.count, report.shown.n) == (1, 1)
    assert (report.changed.count, report.towards) == (1, 1)


def test_review_is_stale_after_definition_change_until_confirmed(session, run):
    book = sample_world.CODEBOOK
    session.store.codebooks.save(book)
    actions.submit(session, run.run_id, ["d0", "d1"], actions.Attribution("ann"))
    assert codebooks.outdated(session) == ()
    alpha = Label(name="Alpha", id="a", description="now with words")
    session.store.codebooks.save(Codebook(labels=(alpha, book.labels[1])))
    assert codebooks.outdated(session) == (("a", 1),)
    stale = queue.review_page(session, run, QueueFilter(reason="stale"), actor="ann")
    assert [row.document_id for row in stale.rows] == ["d0", "d1"]
    actions.submit(session, run.run_id, ["d0"], actions.Attribution("ann"))  # confirmed under the new definition
    stale = queue.review_page(session, run, QueueFilter(reason="stale"), actor="ann")
    assert [row.document_id for row in stale.rows] == ["d1"]


def test_queue_filters_by_disagreeing_runs_and_by_length(session, run, project):
    other = session.store.runs.create(run.settings, ["d0", "d1"])

    async def debates():
        await store_debate(project, other.run_id, "d0", {"extractor": {"a": True}}, {"a": True, "b": True})
        await store_debate(project, other.run_id, "d1", {"extractor": {"b": True}}, {"a": False, "b": True})

    asyncio.run(debates())
    rows = queue.review_page(session, run, QueueFilter(reason="samples")).rows
    assert [row.document_id for row in rows] == ["d0"]
    assert queue.review_page(session, run, QueueFilter(length="over 150 words")).total == 0
    assert queue.review_page(session, run, QueueFilter(length="up to 40 words")).total == 8


def test_annotators_are_compared_with_the_latent_truth(session, run):
    # d0 to d5 have a verdict: A, B, A B, none, unresolved on A, A B. The roles of the run are no annotators beside it.
    asyncio.run(session.project.sink.state(run.run_id, "done"))
    for name in ("ann", "bob"):
        decisions = {document: {"a": document in ("d0", "d1"), "b": True} for document in ("d0", "d1", "d2", "d3")}
        decide(session, run.run_id, decisions, actions.Attribution(name))
    by_name = {rater.name: rater for rater in agreement.rater_quality(session, run, "a")}
    assert list(by_name) == ["run r0001", "gold", "reviewed by ann", "reviewed by bob"]
    assert by_name["run r0001"].documents == 5
    assert by_name["reviewed by ann"].documents == 4
    assert set(by_name["reviewed by ann"].recalls) == {False, True}
    assert all(value is None or 0 <= value <= 1 for rater in by_name.values() for value in rater.recalls.values())
