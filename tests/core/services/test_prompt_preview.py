"""Tests of simulated requests: placeholders stand for replies and examples."""

from __future__ import annotations

from core.documents import Document
from core.services.prompt_preview import expected_tokens, preview_requests, prompt_tokens, simulate_requests
from core.services.prompt_templates import default_settings
from tests.core.services.sessions import BOOK

DOCUMENT = Document("d", {"text": "The room was clean."})


def test_few_shot_prompt_shows_an_example_for_each_label() -> None:
    settings = default_settings("single", BOOK, {})
    params = {**settings.params, "method": "few_shot", "shots": 1}
    (request,) = preview_requests(settings.model_copy(update={"params": params}), DOCUMENT)
    text = request.messages[-1].content
    assert text.count("(text of a labelled document)") == 2
    assert "Cleanliness" in text


def test_placeholders_count_as_the_replies_and_examples_they_stand_for() -> None:
    extractor, critic, judge = simulate_requests(default_settings("ecj", BOOK, {}), DOCUMENT)
    for request, replies in ((extractor, 0), (critic, 1), (judge, 2)):
        tokens = expected_tokens(request.messages, reply=100, example=1_000)
        assert tokens == prompt_tokens(request.messages) + 100 * replies
