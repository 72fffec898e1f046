"""Test that long words are split into blocks. ``tests.benchmarks.long_words`` measures the drawing time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.studios import ROOT
from tests.core.cli.invoking import moot

if TYPE_CHECKING:
    from tests.browser.studios import OpenStudio

pytestmark = pytest.mark.browser

LONGEST = """() => {
  let longest = 0;
  const walk = (root) => {
    const nodes = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    while (nodes.nextNode()) {
      const node = nodes.currentNode;
      if (node.shadowRoot) walk(node.shadowRoot);
      if (node.nodeType === Node.TEXT_NODE && !node.parentElement?.closest('style, script'))
        longest = Math.max(longest, node.data.length);
    }
  };
  walk(document);
  return longest;
}"""
BLOCK = 16_001
"""Most characters of a text node: the largest block of a long text."""


def test_every_view_splits_a_long_word(open_studio: OpenStudio, tmp_path: Path) -> None:
    table, project = tmp_path / "words.csv", tmp_path / "words.duckdb"
    table.write_text(f"id,text\nlong,{'w' * 1_000_000}\nshort,clean\n")
    codebook = str(ROOT / "sample_data" / "hotel_aspects.yaml")
    options = ["--id", "id", "--text", "text", "--codebook", codebook, "--project", str(project)]
    moot("annotate", table, *options)
    running, page = open_studio("--project", project, path="/review?document=long")
    page.locator(".document .block").first.wait_for()
    assert page.locator(".document .block").count() > 60
    assert page.evaluate(LONGEST) <= BLOCK
    for path in ("/run", "/data"):
        page.goto(running.address + path)
        page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
        page.get_by_text("wwwww").first.wait_for()
        assert page.evaluate(LONGEST) <= BLOCK, path
    page.goto(f"{running.address}/review?view=Grid")
    cell = page.frame_locator("iframe").locator('.ag-row [col-id="_text"]', has_text="wwww")
    cell.first.wait_for()
    assert len(cell.first.inner_text()) <= 240
