"""Tests of the debates of a bundle in a browser: one page of HTML without scripts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from core.services.bundle import debates_html

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

pytestmark = pytest.mark.browser


def test_debates_are_printed_open_and_within_the_page(profile: BrowserContext) -> None:
    reply = SimpleNamespace(spec="a/b", text="The decision")
    debate = {
        "document_id": "d1",
        "fields": {"text": "long" * 2000},
        "status": "verdict",
        "decided": ["Staff"],
        "corrected": [],
        "turns": [SimpleNamespace(role="judge", role_model=reply, reply=reply)],
    }
    page = profile.new_page()
    page.set_content(debates_html("r0001", [("index.html", "All runs")], [debate]).decode())
    text = page.locator(".text")
    expect(text).to_be_hidden()
    page.emulate_media(media="print")
    expect(text).to_be_visible()
    expect(page.get_by_text("The decision")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()
