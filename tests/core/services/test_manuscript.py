"""Tests of the paper export: methods, tables with links, appendices, references, and the design file."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.codebook import Codebook, Label
from core.documents import Document
from core.formatting import format_number
from core.runs import RunRow
from core.services import manuscript
from core.services.evaluation.scores import evaluate
from core.services.project_session import ProjectSession
from core.services.review import actions, plan, queue
from core.services.review.plan import Plan
from core.services.review.queue import QueueFilter
from core.services.workspace import Workspace
from tests.core.services.sessions import annotate

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
    plan.save_plan(session, run, Plan("share", CLEAN, 0.2, 0.1, 40))
    listed = queue.list_queue(session, run, QueueFilter(sort="queue", size=40), actor="ada")
    for document, draw in listed.draws.items():
        actions.submit(session, run.run_id, [document], actions.Attribution("ada"), sampling=draw)
    actions.submit(
        session,
        run.run_id,
        [next(f"d{n:02}" for n in range(80) if f"d{n:02}" not in listed.draws)],
        actions.Attribution("ada"),
    )
    yield session, run
    workspace.close()


def test_methods_describe_run_reference_and_plan(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    found = manuscript.build(session, run, "reviewed")
    annotation, reference, claim = found.sections["Methods"]
    assert isinstance(annotation, str)
    assert "We annotated 80 documents with 2 labels" in annotation
    assert "ECJ" in annotation
    assert "80 received a verdict, 0 remained unresolved (a reply could not be read completely, or the debate did" in (
        annotation
    )
    assert "The model builtin/lexical is a word-list baseline, not a language model" in annotation
    assert "Parameters" not in annotation
    assert "by 1 person. 40 documents of 80 were drawn one after another with known, unequal probabilities" in str(
        reference
    )
    assert "share of Clean & tidy within 20 points; 40 reviews were planned" in str(claim)
    assert "of the 80 documents are about Clean & tidy (95% interval" in str(found.sections["Results"][-1])


def test_methods_name_the_raters_and_their_agreement(tmp_path: Path) -> None:
    book = Codebook(
        kind="choice", labels=(Label(name="Bath", keywords=("bath",)), Label(name="Staff", keywords=("staff",)))
    )
    ids = [label.id for label in book.labels]
    workspace = Workspace()
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
    reference = str(manuscript.build(session, run).sections["Methods"][1])
    agreement = evaluate(session, run).agreement["label"].value
    workspace.close()
    assert reference.startswith("The reference is gold, the majority of ann and ben (n = ")
    assert f"Krippendorff's alpha of the raters, with 95% intervals: {format_number(agreement)} (" in reference


def test_methods_name_changed_parameters(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    params = {**run.settings.params, "adaptive": True, "extra_rounds": 2}
    other = run.model_copy(update={"settings": run.settings.model_copy(update={"params": params})})
    annotation = str(manuscript.build(session, other, "reviewed").sections["Methods"][0])
    assert "Parameters that differ from the defaults: " in annotation
    assert "extra rounds 2" in annotation
    assert "adaptive yes" in annotation


def test_tables_link_to_their_view_and_text_is_escaped(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    found = manuscript.build(session, run, "reviewed")
    page = manuscript.write(found, "html", base="http://localhost:1/")
    assert f'<a href="http://localhost:1/evaluate?run={run.run_id}&amp;reference=reviewed">' in page
    assert "100% &lt;clean&gt;" in page
    assert "<clean>" not in page
    markdown = manuscript.write(found, "markdown")
    assert f"([view](evaluate?run={run.run_id}&reference=reviewed))" in markdown
    assert "| Macro F1 |" in markdown
    assert all(len(row.split(" | ")) == 2 for row in re.findall(r"^\| Macro .*$", markdown, re.M))
    latex = manuscript.write(found, "latex")
    assert r"Clean \& tidy" in latex
    assert r"100\% <clean>" in latex
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


def test_appendix_contains_prompts_and_models(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    found = manuscript.build(session, run)
    prompts = found.sections["Appendix: prompts"]
    assert len(prompts) == len(run.settings.templates)
    assert "builtin/lexical" in str(found.sections["Appendix: models"])


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


def hostile_manuscript() -> manuscript.Manuscript:
    table = manuscript.Table(("label", "definition"), (("[5cm]", "a | b"), ("*", EVIL)), EVIL, "view")
    listing = manuscript.Listing(EVIL, "a\n\\end{verbatim}\n\\input{/etc/passwd}\n```\nb")
    return manuscript.Manuscript(EVIL, {"Methods": (EVIL, table, listing)}, {"moot": "@x{}"})


def test_names_are_escaped_in_latex() -> None:
    text = manuscript.write(hostile_manuscript(), "latex")
    before, _, rest = text.partition("\\begin{verbatim}")
    listing, _, after = rest.partition("\\end{verbatim}")
    assert "\\input{/etc/passwd}" in listing, "a listing shows text verbatim"
    lines = re.split(r"[\r\n]+", before + after)
    assert not [line for line in lines if "\\input" in line and not line.startswith("%")]
    assert not re.search(r"\\\\\s*[\[*]", text), "no cell can become the optional argument of a preceding line break"


def test_names_are_escaped_in_markdown() -> None:
    text = manuscript.write(hostile_manuscript(), "markdown")
    shown = re.sub(r"^(`{3,})text\n.*?^\1$", "", text, flags=re.S | re.M)
    assert not re.search(r"(?<!\\)<script|(?<!\\)\]\(http", shown)
    assert r"!\[x\](http://evil/x.png) \<script\>" in shown
    assert r"| \[5cm\] | a \| b |" in shown
    assert "| --- | --- |" in shown
