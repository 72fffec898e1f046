"""Tests of the selection of runs on several pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.services.runs import control
from tests.app.studio import html, open_page, studio
from tests.core.services.sessions import annotate, fill


def test_pages_with_output_of_the_baseline_say_so_although_the_run_has_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with studio(tmp_path, monkeypatch) as workspace:
        session = workspace.open(tmp_path / "hotel.duckdb")
        fill(session)
        runs = [annotate(session), annotate(session, "ecj")]
        changes = {run.run_id: run.details.model_copy(update={"name": f"Final {run.run_id}"}) for run in runs}
        control.change_details(session, changes)
        for page in ("review", "evaluate", "compare", "export"):
            shown = html(open_page(page))
            assert ("All runs: word-list baseline" if page == "compare" else "word-list baseline") in shown, page


def test_scores_against_another_run_are_shown_only_to_those_who_choose_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with studio(tmp_path, monkeypatch) as workspace:
        session = workspace.open(tmp_path / "hotel.duckdb")
        fill(session)
        annotate(session)
        annotate(session, "ecj")
        page = open_page("evaluate")
        assert "No reference to compare with" in html(page)
        references = page.button_group(key="evaluate-reference")
        assert [option.partition(" 4")[0] for option in references.options] == ["Gold 0", "Reviewed 0", "Run r0001"]
        references.set_value("run:r0001")
        page.run()
        assert "No reference to compare with" not in html(page)
