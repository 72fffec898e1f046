"""Tests of the paper export: methods, tables with links, appendices, references, and the design file."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from core.codebook import CHOICE_ITEM, Codebook, Label, Scale
from core.debate.protocols import ecj
from core.documents import Document
from core.files import shipped_folder
from core.formatting import format_number
from core.runs import ErrorHandling, Prepass, RoleModel, RunRow, Sampling, Template
from core.services import manuscript
from core.services.document_samples import fixed_sample
from core.services.evaluation.evaluation import evaluate
from core.services.manuscript_formats import Listing, Manuscript, ManuscriptTable, write
from core.services.project_session import ProjectSession
from core.services.review import actions, agreement, queue, review_plan
from core.services.review.queue import QueueFilter
from core.services.review.review_plan import ReviewPlan
from core.services.runs import planning
from core.services.workspace import Workspace
from tests.core.services.sessions import annotate, queue_runs, studio
from tests.servers.scripted import Scripted, debating, reply_with

BOOK = Codebook(
    labels=(
        Label(name="Clean & tidy", keywords=("clean",), description="100% <clean>"),
        Label(name="Staff", keywords=("staff",)),
    )
)
CLEAN = BOOK.labels[0].id


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ProjectSession, RunRow]]:
    """Return a run on 80 documents; 40 are reviewed in queue order for a planned claim, and one is chosen by hand."""
    workspace = Workspace()
    session = workspace.open(tmp_path_factory.mktemp("paper") / "p.duckdb")
    texts = ["a clean bath", "the staff sang", "clean rooms and staff", "a clean record, we hear"]
    session.store.documents.add([Document(f"d{n:02}", {"text": f"{texts[n % 4]} {n}"}) for n in range(80)])
    session.store.codebooks.save(BOOK)
    run = annotate(session, "ecj")
    review_plan.save_plan(session, run, ReviewPlan("share", CLEAN, 0.2, 0.1, 40))
    listed = queue.list_queue(session, run, QueueFilter(sort="queue", size=40), actor="ada")
    actions.submit(session, run.run_id, list(listed.sampling), actions.Attribution("ada"), sampling=listed.sampling)
    actions.submit(
        session,
        run.run_id,
        [next(f"d{n:02}" for n in range(80) if f"d{n:02}" not in listed.sampling)],
        actions.Attribution("ada"),
    )
    yield session, run
    workspace.close()


def test_methods_describe_run_reference_and_plan(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    built = manuscript.build(session, run, "reviewed")
    assert built.title.endswith(f": {run.title}, reference: review")
    annotation, reference, claim = built.sections["Methods"]
    assert isinstance(annotation, str)
    assert "We annotated 80 documents with 2 labels" in annotation
    assert "ECJ" in annotation
    assert "80 received a verdict, 0 remained unresolved (a reply could not be read completely, or the debate did" in (
        annotation
    )
    assert "The word-list baseline (builtin/lexical) is not a language model" in annotation
    assert "Parameters: extra rounds = 0; labels per debate = All at once; adaptive = no." in annotation
    assert "iteration" not in annotation
    review = str(reference)
    assert "by 1 person. 0 values were decided before the reviewer saw the verdict, 82 with it in view." in review
    assert "40 documents of 80 were drawn one after another with known, unequal probabilities, which favour" in review
    assert "1 reviewed document was chosen by hand, and counts only for itself." in review
    assert str(claim).startswith("Before the review, the claim was fixed: share of Clean & tidy within 20 points; 40")
    assert "of the 80 documents are about Clean & tidy (95% interval" in str(built.sections["Results"][-1])


def test_methods_name_the_raters_and_their_agreement(workspace: Workspace, tmp_path: Path) -> None:
    book = Codebook(
        kind="choice", labels=(Label(name="Bath", keywords=("bath",)), Label(name="Staff", keywords=("staff",)))
    )
    ids = [label.id for label in book.labels]
    session = workspace.open(tmp_path / "p.duckdb")
    session.store.documents.add(
        [
            Document(
                f"d{n}",
                {"text": ("the bath", "the staff")[n % 2] + f" {n}"},
                gold={"ann": {"label": ids[n % 2]}, "ben": {"label": ids[n % 3 == 0]}},
            )
            for n in range(12)
        ]
    )
    session.store.codebooks.save(book)
    run = annotate(session)
    session.store.documents.add([Document("later", {"text": "the bath"}, gold={"cy": {"label": ids[0]}})])
    paper = manuscript.build(session, run)
    reference, table = str(paper.sections["Methods"][1]), paper.sections["Results"][1]
    assert isinstance(table, ManuscriptTable)
    assert table.caption.endswith("n: documents with the reference and a verdict")
    agreement = evaluate(session, run).agreement["label"].value
    assert reference.startswith(
        "The reference is gold, the value that ann and ben share, or the only one (n = 6 documents; not "
    )
    assert "(Wilson, 1927). Where the raters differ (6 values), there is no gold. Krippendorff's" in reference
    assert f"Krippendorff's nominal alpha of the raters, with 95% intervals: {format_number(agreement)} (" in reference


def test_paper_on_ratings_states_the_scales_and_the_level_of_alpha(workspace: Workspace, tmp_path: Path) -> None:
    effect = Label(name="Effect", description="Its direction.", scale=Scale(min=-1, max=1), keywords=("works",))
    book = Codebook(kind="rating", labels=(effect, Label(name="Strength", scale=Scale(min=0, max=3))))
    session = workspace.open(tmp_path / "p.duckdb")
    first, second = book.items
    session.store.documents.add(
        Document(
            f"d{n}", {"text": f"It works {n}."}, gold={name: {first: n % 2, second: n % 3} for name in ("ann", "ben")}
        )
        for n in range(12)
    )
    session.store.codebooks.save(book)
    paper = manuscript.build(session, annotate(session))
    assert "Krippendorff's ordinal alpha of the raters: Effect 1.000" in str(paper.sections["Methods"][1])
    scores, _ = paper.sections["Results"]
    assert isinstance(scores, ManuscriptTable)
    assert scores.caption.endswith("; Krippendorff's alpha is ordinal")
    definitions = paper.sections["Appendix: codebook"][1]
    assert isinstance(definitions, ManuscriptTable)
    assert definitions.head == ("Dimension", "Definition", "Scale")
    assert definitions.rows == (("Effect", "Its direction.", "−1 to 1"), ("Strength", "", "0 to 3"))


def test_methods_count_ties_and_explain_n_by_label(workspace: Workspace, tmp_path: Path) -> None:
    answers: dict[str, list[dict[str, Any]]] = {
        "d0": [{"a": True, "b": True}, {"a": True, "b": True}, {"a": False, "b": True}],
        "d1": [{"a": False, "b": False}, {"a": False, "b": True}],
        "d2": [{"a": True, "b": False}],
    }
    book = Codebook(labels=(Label(name="Bath", keywords=("bath",), id="a"), Label(name="Staff", id="b")))
    documents = [
        Document(name, {"text": f"the bath {name}"}, gold=dict(zip(("ann", "ben", "cy"), values, strict=False)))
        for name, values in answers.items()
    ]
    session = workspace.open(tmp_path / "p.duckdb")
    session.store.documents.add(documents)
    session.store.codebooks.save(book)
    paper = manuscript.build(session, annotate(session))
    reference, table = str(paper.sections["Methods"][1]), paper.sections["Results"][1]
    assert "gold, the majority of ann, ben and cy (n = 3 documents)." in reference
    assert "Where the raters tie (1 value), there is no gold." in reference
    assert "Where only one rater answered (2 values), this answer is gold." in reference
    assert "Krippendorff's nominal alpha of the raters: Bath " in reference, "too few documents for intervals"
    assert isinstance(table, ManuscriptTable)
    assert [row[:2] for row in table.rows] == [("Bath", "3"), ("Staff", "2")]
    assert table.caption.endswith("because some of the 3 documents lack one of them on some labels")


def test_main_score_is_repeated_with_documents_without_a_verdict_as_wrong(workspace: Workspace, tmp_path: Path) -> None:
    labels = (Label(name="Bath", keywords=("bath",), id="a"), Label(name="Staff", keywords=("staff",), id="b"))
    session = workspace.open(tmp_path / "p.duckdb")
    session.store.documents.add(
        Document(text, {"text": text}, gold={"gold": {CHOICE_ITEM: label}})
        for text, label in (("bath", "a"), ("staff", "b"), ("soup", "b"))
    )
    session.store.codebooks.save(Codebook(kind="choice", labels=labels))
    table = manuscript.build(session, annotate(session)).sections["Results"][0]
    assert isinstance(table, ManuscriptTable)
    scores = {name: str(value).split()[0] for name, value in table.rows}
    assert scores["Macro F1"] == "1.000"
    # Bath: 1 of 1. Staff: found once, missed once, F1 2/3. The mean is 5/6.
    assert scores["Macro F1, documents without a verdict as wrong"] == "0.833"


def test_labels_by_the_authors_are_named_with_their_source(workspace: Workspace, tmp_path: Path) -> None:
    session = workspace.open(tmp_path / "p.duckdb")
    session.store.documents.add([Document("a", {"text": "the clean bath"}, gold={"author": {CLEAN: True}})])
    session.store.codebooks.save(BOOK)
    run = annotate(session)
    gold, authors = manuscript.build(session, run), manuscript.build(session, run, "author")
    assert "ma_authors" not in gold.bibliography
    assert "ma_authors" in authors.bibliography
    assert "the labels of the authors of the texts (Ma et al., 2025)" in str(authors.sections["Methods"][1])


def methods(session: ProjectSession, run: RunRow, **changed: Any) -> str:
    """Return the paragraph on the annotation for a run with other settings."""
    settings = run.settings.model_copy(update=changed)
    paper = manuscript.build(session, run.model_copy(update={"settings": settings}), "reviewed")
    return str(paper.sections["Methods"][0])


@pytest.mark.parametrize(
    ("protocol", "params", "sentences"),
    [
        (
            "ecj",
            {"adaptive": True, "extra_rounds": 2},
            [
                "extra rounds = 2",
                "adaptive = yes",
                "audited share = 0.1",
                "A label that the judge chose, but no analysis had chosen or left open, was left out.",
            ],
        ),
        (
            "discussion",
            {},
            [
                "(Tseng et al. 2025, Evaluating Large Language Models as Expert Annotators, section 4.1, algorithm 1)",
                "Parameters: annotators = 3; maximum rounds = 2; weights of votes = equal.",
                "Vote: the majority, label by label. Tie: that label is unresolved.",
                "Of an annotator without a readable reply in a round, the last readable one counted.",
            ],
        ),
        (
            "courtroom",
            {"preset": "parallel-5", "judges": 5, "bench": "parallel", "precedents_for": "labels"},
            [
                "started from the preset parallel-5 (Five judges in parallel, one precedent, T = 0.5).",
                "judges = 5; judges deliberate = In parallel",
                "Vote: the majority of the judges. Tie: that label is unresolved.",
                "An argument with too many sentences, or more than 60 words for each, was requested once more, and cut",
                "Prompts had no examples, because no document outside the run was labelled.",
            ],
        ),
        ("panel", {}, ["next speaker = Coordinator", "2 personas in 1 group: Readers.", "Vote: shares within groups"]),
        ("panel", {"turns": 0}, ["maximum turns = 0; persona style"]),
        ("panel", {"preset": "chateval", "turns": 2}, ["(Chan et al. 2023, ChatEval)", "maximum turns = 2"]),
        ("single", {"method": "few_shot"}, ["examples per label = 1"]),
        (
            "single",
            {"method": "cot"},
            ["Evaluating Large Language Models as Expert Annotators, section 3.1)", "method = Chain of thought"],
        ),
        ("single", {"method": "form", "k": 20}, ["(Liu et al. 2023, G-Eval, section 2)", "samples = 20"]),
        (
            "single",
            {"method": "vote", "shots": 2},
            ["(Courtroom-LLM 2024, section 4)", "examples per label = 2"],
        ),
        ("single", {"preset": "single-agent"}, ["(Maada et al. 2025, ECJ-LLM, section 5.1.1)"]),
    ],
)
def test_methods_state_every_parameter_of_a_protocol(
    world: tuple[ProjectSession, RunRow], protocol: str, params: dict[str, Any], sentences: list[str]
) -> None:
    text = methods(*world, protocol=protocol, params=params)
    assert [sentence for sentence in sentences if sentence not in text] == []


def test_methods_state_where_the_instructions_come_from(world: tuple[ProjectSession, RunRow]) -> None:
    def instructions(preset: str, text: str = "", name: str = "judge (changed)") -> str:
        params = {"preset": preset} if preset else {}
        templates = ecj.SPEC.load_templates(params)
        if text:
            templates["judge"] = Template(name=name, text=text)
        models = dict.fromkeys(("extractor", "critic", "judge"), RoleModel(connection="local", model="m"))
        written = methods(*world, protocol="ecj", params=params, templates=templates, role_models=models)
        return next(sentence for sentence in written.split(". ") if sentence.startswith("The instructions"))

    assert instructions("") == "The instructions to the models are Moot's own"
    assert instructions("paper") == (
        "The instructions to the models follow those of the paper in other words, where it gives any"
    )
    assert instructions("paper", "## user\n{{ document }}") == (
        "The instructions to the models follow those of the paper in other words, where it gives any, and some were "
        "changed for this run"
    )
    older = instructions("", "## user\n{{ document }}", "ecj/judge.v1")
    assert older == "The instructions to the models are Moot's own", "an earlier Moot, not the user, wrote it"
    assert "instructions" not in methods(*world), "the built-in model is not given any"


def test_roles_have_the_titles_of_the_screen(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    model = RoleModel(connection="local", model="m")
    roles = dict.fromkeys(("annotator_a", "annotator_b", "annotator_c"), model)
    settings = run.settings.model_copy(update={"protocol": "discussion", "params": {}, "role_models": roles})
    sections = manuscript.build(session, run.model_copy(update={"settings": settings})).sections
    assert "Models: m (Annotator A, Annotator B and Annotator C)." in str(sections["Methods"][0])
    assert "Annotator A" in str(sections["Appendix: models"])


def test_role_without_anything_to_do_is_left_out(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    model = RoleModel(connection="local", model="m")
    roles = dict.fromkeys(("persona_1", "persona_2", "coordinator", "aggregator"), model)
    for params, asked in (({}, True), ({"turns": 0}, False), ({"coordinator": "order"}, False)):
        settings = run.settings.model_copy(update={"protocol": "panel", "params": params, "role_models": roles})
        sections = manuscript.build(session, run.model_copy(update={"settings": settings})).sections
        assert ("Coordinator and Aggregator" in str(sections["Methods"][0])) == asked
        assert ("Coordinator" in str(sections["Appendix: models"])) == asked


def test_source_of_a_method_is_in_the_references(world: tuple[ProjectSession, RunRow]) -> None:
    def sources(protocol: str, **params: Any) -> list[str]:
        session, run = world
        settings = run.settings.model_copy(update={"protocol": protocol, "params": params})
        return list(manuscript.build(session, run.model_copy(update={"settings": settings})).bibliography)[:2]

    assert sources("single", method="form") == ["moot", "liu_geval"]
    assert sources("single", method="vote") == ["moot", "courtroom"]
    assert sources("single") == ["moot", "tseng_experts"]
    assert sources("single", preset="single-agent", method="vanilla") == ["moot", "maada_ecj"]
    assert sources("single", preset="single-agent", method="form") == ["moot", "liu_geval"], "not the preset's method"
    assert sources("single", preset="vanilla", method="few_shot") == ["moot", "courtroom"]
    assert sources("panel") == ["moot", "chen_majeval"]
    assert sources("panel", preset="chateval") == ["moot", "chan_chateval"]


def test_appendix_contains_the_personas_or_the_protocol(world: tuple[ProjectSession, RunRow]) -> None:
    def appendix(protocol: str, params: dict[str, Any], title: str) -> str:
        session, run = world
        settings = run.settings.model_copy(update={"protocol": protocol, "params": params})
        return str(manuscript.build(session, run.model_copy(update={"settings": settings})).sections[title])

    assert "Somebody from the general public" in appendix("panel", {}, "Appendix: personas")
    script = (shipped_folder("sample_data") / "protocols" / "second_reading.yaml").read_text(encoding="utf-8")
    assert "order:" in appendix("custom", {"script": script}, "Appendix: protocol")


def test_methods_state_what_is_unusual_about_a_run(tmp_path: Path) -> None:
    with studio(tmp_path) as (_, session):
        session.store.documents.add([Document("c1", {"text": "Staff of the year.", "question": "How was it?"})])
        first, second = queue_runs(session, planning.Plan(protocol="single", iterations=2))
        for made in (first, second):
            session.start_or_resume(made.run_id).result(60)
        run = session.run(second.run_id)
        text = methods(session, run, handling=ErrorHandling(on_long="cut"), seed=7)
        assert "We annotated 5 documents" in text
        assert "This is iteration 2 of 2 with the same settings." in text
        assert "Documents that did not fit into the context of a model were truncated." in text
        assert "Seed of Moot's own random choices: 7." in text
        assert "as context" not in text
        assert "counted from the seed of the model" not in text
        seeded = RoleModel(connection="local", model="m", sampling=Sampling(seed=3))
        text = methods(session, run, role_models={"annotator": seeded})
        assert "Models: m, seed 3 (Annotator)." in text
        assert "Each iteration and each sample has a seed of its own, counted from the seed of the model." in text
        (alone,) = planning.create_runs(session, run.settings, ["c1"])
        session.start_or_resume(alone.run_id).result(60)
        assert "Prompts show the text (text) with question as context." in methods(session, session.run(alone.run_id))
        stopped = run.model_copy(update={"verdicts": 2, "unresolved": 0})
        assert "We annotated 2 of 5 documents" in str(manuscript.build(session, stopped).sections["Methods"][0])


def test_methods_state_that_only_ambiguous_documents_were_used(tmp_path: Path) -> None:
    with studio(tmp_path) as (_, session):
        (votes,) = queue_runs(session, planning.Plan(protocol="single", params={"method": "vote", "k": 3}))
        session.start_or_resume(votes.run_id).result(60)
        run = annotate(session)
        text = methods(session, run, prepass=Prepass(ambiguous=votes.run_id, theta=0.4))
        assert "ambiguous" not in methods(session, run)
    assert (
        "Only ambiguous documents were used: those for which the shares of the two most common of 3 answers of "
        "word-list baseline differ by at most 0.4 on at least one label (Courtroom-LLM 2024, section 4.2). Models:"
    ) in text


def test_methods_state_how_some_documents_of_the_project_were_selected(tmp_path: Path) -> None:
    with studio(tmp_path, documents=9) as (_, session):
        ids = session.store.documents.ids()
        settings = planning.project_settings(session, planning.Plan(protocol="single"))

        def text(documents: list[str]) -> str:
            (run,) = planning.create_runs(session, settings, documents)
            session.start_or_resume(run.run_id).result(60)
            return methods(session, session.run(run.run_id))

        assert "The documents are the first of the 9 of the project." in text(ids[:4])
        assert "The documents were drawn at random from the 9 of the project." in text(fixed_sample(ids, 4))
        assert "of the project" not in text(ids[5:])
        assert "of the project" not in text(ids)


def test_methods_state_settings_that_the_server_refused(tmp_path: Path) -> None:
    async def behave(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if "temperature" in body:
            error = {"message": "Unsupported value: 'temperature' does not support 0 with this model."}
            return web.json_response({"error": error}, status=400)
        return await debating()(request, body)

    with Scripted(behave) as server, studio(tmp_path, documents=1) as (space, session):
        space.use_connection("mock", server.url)
        models = {
            role: RoleModel(connection="mock", model="m", sampling=Sampling(temperature=temperature))
            for role, temperature in (("critic", 0.0), ("judge", None))
        }
        (run,) = queue_runs(session, planning.Plan(protocol="ecj", role_models=models))
        session.start_or_resume(run.run_id).result(60)
        paper = manuscript.build(session, session.run(run.run_id))
    assert "The server refused the setting temperature of Critic, which was then left out." in str(
        paper.sections["Methods"][0]
    )
    (table,) = paper.sections["Appendix: models"]
    assert isinstance(table, ManuscriptTable)
    assert table.head[-1] == "Refused settings"
    assert {row[0]: row[-1] for row in table.rows} == {"Extractor": "none", "Critic": "temperature", "Judge": "none"}


def test_methods_state_how_votes_are_weighted(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    for weights, cited in (("equal", False), ("1, 2, 3", False), ("reviewed: 2.2, 0.85, 1.39", True)):
        settings = run.settings.model_copy(update={"protocol": "discussion", "params": {"weights": weights}})
        paper = manuscript.build(session, run.model_copy(update={"settings": settings}))
        assert ("weighted by the log odds" in str(paper.sections["Methods"][0])) == cited
        assert ("nitzan1982" in paper.bibliography) == cited


def test_methods_name_the_documents_that_support_the_personas(world: tuple[ProjectSession, RunRow]) -> None:
    file = shipped_folder("sample_data") / "panel" / "personas.yaml"
    params = {"personas": file.read_text(encoding="utf-8")}
    quoted = "Quotations from librarians_notes.txt and reading_at_home.md support what the personas look for."
    assert quoted in methods(*world, protocol="panel", params=params)
    assert "Quotations" not in methods(*world, protocol="panel", params={**params, "style": "simple"})


def test_source_of_intervals_is_cited_where_there_are_intervals_of_shares(workspace: Workspace, tmp_path: Path) -> None:
    session = workspace.open(tmp_path / "p.duckdb")
    documents = [Document(f"d{n}", {"text": "bath"}, gold={"gold": {CLEAN: True}}, group=f"{n % 3}") for n in range(9)]
    session.store.documents.add([replace(document, group="") for document in documents])
    session.store.codebooks.save(BOOK)
    run = annotate(session)
    paper = manuscript.build(session, run)
    assert "over documents; those of shares are Wilson intervals (Wilson, 1927)." in str(paper.sections["Methods"])
    assert "wilson1927" in paper.bibliography
    assert "korn1998" not in paper.bibliography
    assert "wilson1927" not in manuscript.build(session, run, "reviewed").bibliography, "there is no review"
    session.store.documents.add(documents)  # adds the groups
    paper = manuscript.build(session, run)
    assert "over 3 groups; those of shares are Wilson intervals (Wilson, 1927) with the effective number" in str(
        paper.sections["Methods"]
    )
    assert "korn1998" in paper.bibliography


def test_results_have_mean_and_deviation_of_several_iterations(tmp_path: Path) -> None:
    answers = iter(["Bath", "Staff", "Bath", "Bath"])

    async def behave(request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        return await reply_with(f"The label is {next(answers)}")(request, {})

    with Scripted(behave) as server, studio(tmp_path, documents=0) as (space, session):
        space.use_connection("mock", server.url)
        book = Codebook(kind="choice", labels=(Label(name="Bath", id="a"), Label(name="Staff", id="b")))
        session.store.codebooks.save(book)
        session.store.documents.add(
            Document(name, {"text": name}, gold={"gold": {CHOICE_ITEM: name}}) for name in ("a", "b")
        )
        model = RoleModel(connection="mock", model="m")
        plan = planning.Plan(protocol="single", default_model=model, iterations=2, concurrency=1)
        first, second = queue_runs(session, plan)
        session.start_or_resume(first.run_id).result(60)
        assert len(manuscript.build(session, session.run(first.run_id)).sections["Results"]) == 2
        session.start_or_resume(second.run_id).result(60)
        *_, table = manuscript.build(session, session.run(first.run_id)).sections["Results"]
    assert isinstance(table, ManuscriptTable)
    assert table.caption.startswith("Scores over 2 iterations against gold, on the documents that all of them debated")
    assert ("Accuracy", "0.750", "0.354", "0.500", "1.000") in table.rows


def test_methods_state_how_reviewed_documents_were_selected(tmp_path: Path) -> None:
    with studio(tmp_path, documents=60) as (_, session):
        run = annotate(session)
        queue.save_review_settings(session, queue.ReviewSettings(even=1.0))

        def review(size: int) -> Manuscript:
            listed = queue.list_queue(session, run, QueueFilter(sort="queue", size=size), actor="ada")
            actions.submit(
                session, run.run_id, list(listed.sampling), actions.Attribution("ada"), sampling=listed.sampling
            )
            return manuscript.build(session, run, "reviewed")

        paper = review(30)
        assert "30 documents of 60 were drawn one after another with equal probabilities." in str(
            paper.sections["Methods"]
        )
        assert "desraj1956" not in paper.bibliography
        paper = review(60)
        assert "The reference is the review of all 60 documents with a complete verdict by 1 person." in str(
            paper.sections["Methods"]
        )
        assert "korn1998" not in paper.bibliography
        assert "interval" not in str(paper.sections["Results"][0])


def test_methods_count_one_person_and_their_values_if_they_are_the_reference(tmp_path: Path) -> None:
    with studio(tmp_path, documents=60) as (_, session):
        run = annotate(session)
        for who, size in (("ada", 40), ("bo", 9)):
            drawn = queue.list_queue(session, run, QueueFilter(sort="queue", size=size), actor=who).sampling
            by = actions.Attribution(who)
            for item in run.settings.codebook.items:
                actions.edit(session, run.run_id, list(drawn), item, True, by)
            actions.submit(session, run.run_id, list(drawn), by, sampling=drawn)
        of_all, of_ada, of_bo = (agreement.blind_report(session, run, who).shown.n for who in ("", "ada", "bo"))
        assert of_all == of_ada + of_bo > of_ada > of_bo > 0
        by_all, by_ada, by_bo = (
            str(manuscript.build(session, run, reference).sections["Methods"])
            for reference in ("reviewed", "reviewed@ada", "reviewed@bo")
        )
        assert "the review of documents by 2 people" in by_all
        assert f" {of_all} with it in view." in by_all
        assert "the review of documents by 1 person" in by_ada
        assert f" {of_ada} with it in view." in by_ada
        assert f" {of_bo} with it in view." in by_bo


def test_methods_count_one_blind_value_in_the_singular(world: tuple[ProjectSession, RunRow], monkeypatch) -> None:
    report = agreement.blind_report(*world)
    one = replace(report, blind=replace(report.blind, n=1))
    monkeypatch.setattr(manuscript, "blind_report", lambda *_: one)
    reference = str(manuscript.build(*world, "reviewed").sections["Methods"][1])
    assert " 1 value was decided before the reviewer saw the verdict, 82 with it in view." in reference


def test_methods_state_that_documents_were_drawn_for_a_smaller_run(tmp_path: Path) -> None:
    with studio(tmp_path, documents=20) as (_, session):
        pilot = annotate(session)
        listed = queue.list_queue(session, pilot, QueueFilter(sort="queue", size=8), actor="ada")
        actions.submit(
            session, pilot.run_id, list(listed.sampling), actions.Attribution("ada"), sampling=listed.sampling
        )
        session.store.documents.add([Document(f"new{n}", {"text": f"The room was clean {n}."}) for n in range(20)])
        run = annotate(session)

        before = str(manuscript.build(session, run, "reviewed").sections["Methods"][1])
        actions.submit(session, run.run_id, ["new0"], actions.Attribution("ada"))
        paper = manuscript.build(session, run, "reviewed")
    reference = str(paper.sections["Methods"][1])
    captions = [block.caption for block in paper.sections["Results"] if isinstance(block, ManuscriptTable)]
    assert "No value was decided in the review of this run; values come from the reviews of other runs." in before
    assert "not a random sample of the run: 8 documents drawn in the review of a part of the documents." in before
    assert "2 with it in view" in reference
    assert "documents and 1 document chosen by hand. The scores describe these documents alone" in reference
    assert not [caption for caption in captions if "interval" in caption]


def test_methods_state_when_a_comparison_of_runs_could_stop(tmp_path: Path) -> None:
    with studio(tmp_path, documents=20) as (_, session):
        run, other = annotate(session), annotate(session, "single")
        review_plan.save_plan(session, run, ReviewPlan("better", "", 0.1, 0, 12, other=other.run_id))
        (claim,) = (str(block) for block in manuscript.build(session, run).sections["Methods"] if "claim" in str(block))
    assert "12 reviews were planned, and 0 were used." in claim
    assert claim.endswith("could stop as soon as one run was better, or neither could be by 10 points.")


def test_methods_state_that_a_claim_was_fixed_after_reviews(tmp_path: Path) -> None:
    with studio(tmp_path, documents=20) as (_, session):
        run = annotate(session)
        actions.submit(session, run.run_id, ["d0"], actions.Attribution("ada"))
        actions.set_status(session, run.run_id, ["d1"], "Discarded", actions.Attribution("ada"))
        review_plan.save_plan(session, run, ReviewPlan("correct", "", 0.1, 0.1, 12))
        actions.submit(session, run.run_id, ["d2"], actions.Attribution("ada"))
        (claim,) = (str(block) for block in manuscript.build(session, run).sections["Methods"] if "claim" in str(block))
    assert claim.startswith("After the review of 2 documents, the claim was fixed: ")


def test_tables_link_to_their_view_and_text_is_escaped(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    built = manuscript.build(session, run, "reviewed")
    page = write(built, "html", base="http://localhost:1/")
    assert f'<a href="http://localhost:1/evaluate?run={run.run_id}&amp;reference=reviewed">' in page
    assert "100% &lt;clean&gt;" in page
    assert "<clean>" not in page
    assert "pre { white-space: pre-wrap; }" in page, "print would cut the long lines of prompts"
    markdown = write(built, "markdown")
    assert f"([view](evaluate?run={run.run_id}&reference=reviewed))" in markdown
    assert "| Macro F1 |" in markdown
    assert "(Deville and Särndal, 1992)" in markdown
    assert all(len(row.split(" | ")) == 2 for row in re.findall(r"^\| Macro .*$", markdown, re.M))
    latex = write(built, "latex")
    table = ManuscriptTable(("Score", "Value"), (("Kappa", "−0.1 (−0.2 to 0.0)"),), "Scores")
    negative = write(Manuscript("m", {"Results": (table,)}, {}), "latex")
    assert "Kappa & $-$0.1 ($-$0.2 to 0.0)" in negative, "pdfLaTeX leaves out the sign of −0.1"
    assert r"Clean \& tidy" in latex
    assert r"100\% \textless{}clean\textgreater{}" in latex
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 4
    assert r"\nocite{moot,maada_ecj,wilson1927,desraj1956,farquhar2021,deville1992,korn1998,waudbysmith2024}" in latex


def test_bibliography_contains_the_methods_used(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    gold = manuscript.build(session, run, "gold")
    assert "desraj1956" not in gold.bibtex
    assert "No document has both a verdict and a reference label" in str(gold.sections["Results"][0])
    assert len(gold.sections["Methods"]) == 2, "the run and the plan without a reference"
    entries = re.findall(r"^@\w+\{(\w+),$", manuscript.build(session, run, "reviewed").bibtex, re.M)
    assert entries == [*dict.fromkeys(entries)]
    assert "desraj1956" in entries


def test_appendix_contains_examples_and_keywords_of_each_label(tmp_path: Path) -> None:
    staff = Label(name="Staff", include=("sang", "helped us"), exclude=("own *staff*",), keywords=("staff", "crew"))
    with studio(tmp_path) as (_, session):
        run = annotate(session)
        book = Codebook(labels=(Label(name="Bath", description="The bath"), staff))
        run = run.model_copy(update={"settings": run.settings.model_copy(update={"codebook": book})})
        paper = manuscript.build(session, run)
    _, table, *examples = paper.sections["Appendix: codebook"]
    assert isinstance(table, ManuscriptTable)
    assert table.rows == (("Bath", "The bath"), ("Staff", ""))
    assert examples == [
        'Staff. Include: "sang"; "helped us". Exclude: "own *staff*". Keywords of the built-in model: staff, crew.'
    ]
    assert r"\*staff\*" in write(paper, "markdown")


def test_appendix_leaves_out_keywords_that_no_model_saw(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    model = RoleModel(connection="openai", model="gpt-4.1-mini")
    models = dict.fromkeys(run.settings.role_models, model)
    other = run.model_copy(update={"settings": run.settings.model_copy(update={"role_models": models})})
    shown, hidden = (str(manuscript.build(session, each).sections["Appendix: codebook"]) for each in (run, other))
    assert "Keywords of the built-in model" in shown
    assert "Keywords" not in hidden


def test_appendix_contains_prompts_and_models(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    built = manuscript.build(session, run)
    prompts = [
        block.title.split(" (")[0] for block in built.sections["Appendix: prompts"] if isinstance(block, Listing)
    ]
    assert {*run.settings.templates} - {*prompts} == {"extractor_again"}, "there were no extra rounds"
    assert "reask" in prompts
    (models,) = built.sections["Appendix: models"]
    assert isinstance(models, ManuscriptTable)
    assert models.rows[0] == ("Extractor", "builtin/lexical", "not reported", "none"), "the baseline has no temperature"


def test_appendix_names_unit_and_domain_of_the_codebook(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world

    def first(codebook: Codebook) -> str:
        settings = run.settings.model_copy(update={"codebook": codebook})
        changed = run.model_copy(update={"settings": settings})
        return str(manuscript.build(session, changed).sections["Appendix: codebook"][0])

    assert first(BOOK) == 'Prompts call a document "text".'
    of_finance = BOOK.model_copy(update={"unit": "sentence", "domain": "monetary policy"})
    assert first(of_finance) == 'Prompts call a document "sentence" and the domain "monetary policy".'


def test_appendix_has_all_prompts_of_a_run_that_cannot_be_simulated(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    older = {key: template for key, template in run.settings.templates.items() if key != "critic"}
    settings = run.settings.model_copy(update={"templates": older})
    paper = manuscript.build(session, run.model_copy(update={"settings": settings}))
    assert len(paper.sections["Appendix: prompts"]) == len(older)


def test_design_file_has_weights_of_reviewed_documents(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    rows = list(csv.DictReader(io.StringIO(manuscript.design_file(session, run).removeprefix("\ufeff"))))
    assert len(rows) == 80
    reviewed = [row for row in rows if row["order"]]
    drawn = [row for row in reviewed if row["selected"] == "drawn"]
    assert (len(reviewed), len(drawn)) == (41, 40)
    assert {row["selected"] for row in reviewed} == {"drawn", "chosen"}
    assert all(0 < float(row["probability"]) < 1 for row in drawn)
    assert sum(float(row["weight"]) for row in reviewed) == pytest.approx(80)
    weighted = sum(float(row["weight"]) for row in reviewed if row["model_Clean & tidy"] == "1")
    assert weighted == pytest.approx(60), "weights are calibrated to the verdicts"
    assert all((row["human_Staff"] in "01") and row["human_Staff"] for row in reviewed)
    assert all(not row["human_Staff"] and not row["weight"] for row in rows if not row["order"])


EVIL = "x\r\\input{/etc/passwd}\n![x](http://evil/x.png) <script>alert(1)</script>"


def hostile_manuscript() -> Manuscript:
    table = ManuscriptTable(("label", "definition"), (("[5cm]", "a | b"), ("*", EVIL)), EVIL, "view")
    listing = manuscript.Listing(EVIL, "a\n\\end{verbatim}\n\\input{/etc/passwd}\n```\nb")
    return Manuscript(EVIL, {"Methods": (EVIL, table, listing)}, {"moot": "@x{}"})


def test_names_are_escaped_in_latex() -> None:
    text = write(hostile_manuscript(), "latex")
    before, _, rest = text.partition("\\begin{verbatim}")
    listing, _, after = rest.partition("\\end{verbatim}")
    assert "\\input{/etc/passwd}" in listing, "a listing shows text verbatim"
    lines = re.split(r"[\r\n]+", before + after)
    assert not [line for line in lines if "\\input" in line and not line.startswith("%")]
    assert r"a \textbar{} b" in text
    assert not re.search(r"\\\\\s*[\[*]", text), "no cell can become the optional argument of a preceding line break"


@pytest.mark.parametrize("skipped", ["\x00", "\x7f", "\ufeff"])
def test_listing_cannot_end_with_a_character_that_tex_skips(skipped: str) -> None:
    listing = manuscript.Listing("Judge", f"a\n\\end{skipped}{{verbatim}}\\input{{/etc/passwd}}")
    text = write(Manuscript("m", {"Methods": (listing,)}, {}), "latex")
    assert skipped not in text
    assert text.index("\\input") < text.index("\\end{verbatim}")


def test_names_are_escaped_in_markdown() -> None:
    text = write(hostile_manuscript(), "markdown")
    shown = re.sub(r"^(`{3,})text\n.*?^\1$", "", text, flags=re.S | re.M)
    assert not re.search(r"(?<!\\)<script|(?<!\\)\]\(http", shown)
    assert r"!\[x\](http://evil/x.png) \<script\>" in shown
    assert r"| \[5cm\] | a \| b |" in shown
    assert "| --- | --- |" in shown
