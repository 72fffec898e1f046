"""Tests of the sample projects: all have gold, and every protocol runs on them with the built-in model."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.debate import protocols
from core.debate.personas import load_yaml
from core.debate.protocols import custom
from core.errors import CodebookError
from core.files import shipped_folder
from core.services.data import sample_projects
from core.services.runs import planning
from core.services.workspace import Workspace
from tests.core.services import sample_world
from tests.each_row import each_row

FOLDER = shipped_folder("sample_data")
CHAIN = (FOLDER / "protocols" / "second_reading.yaml").read_text(encoding="utf-8")
MIN_DOCUMENTS = {"hotel-aspects": 90, "central-bank": 60, "sentence-pairs": 30, "story-questions": 40}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("samples")
        for variable in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_DOCUMENTS_DIR"):
            patch.setenv(variable, str(home))
        patch.setattr("core.services.preferences.projects_folder", lambda: home / "projects")
        workspace = Workspace()
        yield workspace
        workspace.close()


@pytest.mark.parametrize("sample", sample_projects.SAMPLES, ids=lambda sample: sample.key)
def test_sample_has_gold_for_every_document(workspace: Workspace, sample: sample_projects.SampleDataset) -> None:
    session = workspace.open(sample_projects.ensure_sample(workspace, sample.key))
    assert session.store.documents.count() == session.store.documents.with_gold() >= MIN_DOCUMENTS[sample.key]
    assert len(session.store.annotations.raters()) == (3 if sample.key == "story-questions" else 1)
    columns = sample.options.columns
    if columns.context:
        fields = [columns.text, *columns.context]
        assert list(session.store.documents.page(0, 1)[0].fields) == fields
    if columns.group:
        groups = [document.group for document in session.store.documents.page(0, 100)]
        assert groups == sorted(groups, key=groups.index), "documents of a group are adjacent"


@pytest.mark.parametrize("sample", sample_projects.SAMPLES, ids=lambda sample: sample.key)
@each_row("protocol", sorted(protocols.PROTOCOLS))
def test_every_protocol_runs_on_every_sample(
    workspace: Workspace, sample: sample_projects.SampleDataset, protocol: str
) -> None:
    session = workspace.open(sample_projects.ensure_sample(workspace, sample.key))
    version = session.store.codebooks.latest()
    assert version is not None
    params = {custom.SCRIPT: CHAIN} if protocol == "custom" else {}
    plan = planning.Plan(protocol=protocol, params=params, limit=6)
    card, kind = protocols.find(protocol, params), version.codebook.kind
    if kind not in card.kinds:
        with pytest.raises(CodebookError) as refused:
            planning.build_settings(plan, version.codebook, version.number, session.models)
        assert card.unsupported[kind] in str(refused.value)
        return
    settings = planning.build_settings(plan, version.codebook, version.number, session.models)
    (row,) = planning.create_runs(session, settings, session.store.documents.ids()[: plan.limit])
    assert session.start_or_resume(row.run_id).result(60).state == "done"
    report = sample_world.report(session, row.run_id)
    finished = session.store.runs.get(row.run_id)
    assert finished is not None
    assert (finished.failed, finished.verdicts + finished.unresolved) == (0, 6)
    assert report["n"] + report["excluded"] == 6


def test_evidence_of_sample_personas_is_in_their_sources() -> None:
    personas = load_yaml((FOLDER / "panel" / "personas.yaml").read_text(encoding="utf-8"))
    quotes = [quote for member in personas.members for quote in member.persona.evidence]
    assert len(quotes) >= len(personas.members) == 4
    for quote in quotes:
        source = (FOLDER / "panel" / quote.source).read_text(encoding="utf-8")[quote.start : quote.end]
        assert " ".join(source.split()) == " ".join(quote.words.split())


def test_sample_raters_use_the_whole_scale_and_disagree(workspace: Workspace) -> None:
    session = workspace.open(sample_projects.ensure_sample(workspace, "story-questions"))
    counts = session.store.documents.gold_counts()
    assert {value for _, _, value, _ in counts} == {1, 2, 3, 4, 5}
    ratings = [
        tuple(tuple(sorted(values.items())) for values in document.gold.values())
        for document in session.store.documents.page(0, 100)
    ]
    assert sum(len(set(raters)) > 1 for raters in ratings) > len(ratings) / 2


def test_sample_readme_names_every_file() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    for path in FOLDER.glob("*"):
        assert path.name in readme or path.is_dir() or path.name == "README.md"
    assert Path(FOLDER / "panel").is_dir()
