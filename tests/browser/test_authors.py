"""Test of the Authors page in a browser: reading time, abstention, labels and comparison."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.codebook import Codebook, Label
from core.store.project import Project

if TYPE_CHECKING:
    from tests.browser.studios import OpenStudio

pytestmark = pytest.mark.browser

BOOK = Codebook(
    name="Notes",
    unit="message",
    labels=(
        Label(name="Urgent", keywords=("today", "tomorrow")),
        Label(name="Feeling", description="How do you feel?", open="options", include=("calm", "worried", "proud")),
    ),
)


def test_author_writes_waits_abstains_and_sees_label_effect_and_comparison(
    open_studio: OpenStudio, tmp_path: Path
) -> None:
    from playwright.sync_api import expect

    path = tmp_path / "notes.duckdb"
    with Project(path) as project:
        project.store.codebooks.save(BOOK)
    running, page = open_studio("--project", path, path="/authors")
    expect(page.get_by_text("Answering is voluntary")).to_be_visible()
    page.get_by_label("Your name or a code").fill("p1")
    page.get_by_role("button", name="I agree and start").click()
    page.get_by_label("Text", exact=True).fill("Emma wants the report tomorrow and it is not done.")
    page.get_by_role("button", name="Send").click()

    # The buttons are disabled during the reading time.
    expect(page.get_by_text("You can answer in")).to_be_visible()
    expect(page.get_by_role("button", name="Not sure")).to_be_disabled()
    expect(page.get_by_text("[name] wants the report")).to_be_visible()
    assert page.get_by_text("Emma").count() == 0, "the sent text is masked"
    expect(page.get_by_role("button", name="Not sure")).to_be_enabled()

    # Feeling is the most uncertain label and comes first; the author abstains.
    labels = page.locator(".st-key-authors-labels table tbody tr")
    page.get_by_role("button", name="Not sure").click()
    expect(labels).to_have_count(1)
    expect(labels.first).to_contain_text("not sure")
    expect(labels.first).to_contain_text("unchanged")

    # Urgent is answered by keyboard; its uncertainty decreases.
    yes = page.get_by_role("button", name="Yes")
    expect(yes).to_be_enabled()
    yes.focus()
    page.keyboard.press("Enter")
    expect(labels).to_have_count(2)
    urgent = labels.filter(has_text="Urgent")
    expect(urgent).to_contain_text("Yes")
    before, after = (float(part) for part in urgent.locator("td").last.inner_text().split("→"))
    assert after < before, "the uncertainty decreases after a correct prediction"

    # A model answers the same question; the comparison excludes the abstention.
    page.get_by_role("button", name="Let a model answer").click()
    compared = page.locator(".st-key-authors-comparison table").first.locator("tbody tr")
    expect(compared).to_have_count(1)
    assert compared.locator("td").all_inner_texts()[:2] == ["built-in", "1"]
    running.stop()
    with Project(path) as project:
        (document,) = project.store.documents.page()
        assert document.gold == {"author": {BOOK.labels[0].id: True}}


def test_word_typed_during_the_reading_time_stays_and_enter_answers(open_studio: OpenStudio, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    path = tmp_path / "motives.duckdb"
    with Project(path) as project:
        project.store.codebooks.save(Codebook(labels=(Label(name="Motive", open="word"),)))
    _, page = open_studio("--project", path, path="/authors")
    page.get_by_label("Your name or a code").fill("p1")
    page.get_by_role("button", name="I agree and start").click()
    page.get_by_label("Text", exact=True).fill("Please call me back before noon.")
    page.get_by_role("button", name="Send").click()
    word = page.get_by_label("Your answer in one word")
    word.click()
    page.keyboard.type("hurry")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The reading time is not over.")).to_be_visible()
    expect(page.get_by_role("button", name="Not sure")).to_be_enabled()
    expect(word).to_be_focused()
    expect(word).to_have_value("hurry")
    page.keyboard.press("Enter")
    expect(page.locator(".st-key-authors-labels table tbody tr")).to_contain_text("hurry")
