"""Tests of the exclusion of texts by rules and of the masking of personal data."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.author_labelling.questions import ConversationMessage, Submission
from core.author_labelling.screening import EXCLUSIONS, exclusion, mask, passes_luhn, repetition_key, screened
from tests.each_row import each_row


@each_row(
    ("text", "rule"),
    [
        ("  ", "empty"),
        ("Hey there, good morning!", "greeting"),
        ("What's up?", "greeting"),
        ("a new laptop", "too short"),
        ("buy buy buy buy buy buy now now", "spam"),
        ("aaaaaaaaaaaaaaaa is what I say here", "spam"),
        ("My flat costs 1000000 euros and I hesitate.", ""),
        ("Minutes of today\n------\nThe report is late.", ""),
        ("I am soooooo tired, and it is due today......", ""),
        ("https://a.example http://b.example look", "spam"),
        ("!!! ??? ### $$$ %%% ok go", "spam"),
        ("I was diagnosed last week and need advice", "sensitive"),
        ("Which tent should I buy for two people in autumn?", ""),
        ("秋に二人で使うテントを買いたいです。", ""),
        ("我想买一个新帐篷", ""),
        ("新しいテント、！。。。。", "too short"),
        ("https://a.example/新しいテントを買いたい テント", "too short"),
        ("Хочу купить новую палатку для похода", ""),
        ("ကျွန်ုပ်တို့သည်ဤစာအုပ်ကိုကြိုက်နှစ်သက်ကြပါသည်", ""),
        ("बहुत अच्छा लगा", "too short"),
        ("ดีมาก ๆ ที่นี่", "too short"),
    ],
)
def test_text_is_excluded_by_the_expected_rule(text: str, rule: str) -> None:
    assert exclusion(text) == rule
    assert not rule or EXCLUSIONS[rule]


def test_text_that_differs_only_in_case_and_punctuation_is_repeated() -> None:
    assert exclusion("Which tent should I buy?", {repetition_key("which tent should I BUY")}) == "repeated"
    assert exclusion("Which tent should I buy?", {repetition_key("which boots should I buy")}) == ""
    assert exclusion("मैं उसकी बहन जैसी हूँ", {repetition_key("मैं उसका बहन जैसा हूँ")}) == "", "vowel signs are letters"


@each_row(("role", "rule"), [("author", "sensitive"), ("assistant", "")])
def test_sensitive_message_of_the_author_excludes_later_texts(role: Literal["author", "assistant"], rule: str) -> None:
    before = (ConversationMessage(role, "I was diagnosed last week"), ConversationMessage("assistant", "I am sorry."))
    assert exclusion("Should I tell my boss about it today?", (), before) == rule


def test_addresses_numbers_cards_and_names_are_masked() -> None:
    text = "Call Emma's office at (415) 555-2671 or +49 30 901820, mail e.m@site.co.uk, card 4111-1111 1111 1111."
    masked = mask(text)
    assert masked.text == "Call [name]'s office at [phone] or [phone], mail [email], card [card]."
    assert dict(masked.counts) == {"email": 1, "card": 1, "phone": 2, "name": 1}


def test_other_numbers_and_ordinary_words_are_not_masked() -> None:
    text = "In 2024 I paid 1,200.50 for 3 of 4111 1111 1111 1112, will mark the grace period and may hope."
    assert mask(text).text == text


@each_row(
    "number",
    ["030 1234567", "0171/1234567", "01 42 68 53 00", "020 7946 0958", "612 345 678", "02 509 61 11", "044 668 18 00"],
)
def test_national_phone_numbers_are_masked(number: str) -> None:
    assert mask(f"Call me on {number}.").text == "Call me on [phone]."


@each_row(
    "text",
    ["on 03.11.2026 at 14:30", "from 0.40/1.60 to 1.25", "2026-11-28 19:00", "20 000 in 2019, 30 000 in 2020", "0815"],
)
def test_dates_and_amounts_are_no_phone_numbers(text: str) -> None:
    assert mask(text).text == text


@each_row(
    "text",
    [
        "My ticket 4155552671 is still open",
        "Order 6123456789 never came",
        "commande n° 612345678 perdue",
        "invoice 2025550143, hotel booking 612345678",
        "recalled under 4155552671",
    ],
)
def test_numbers_of_tickets_and_orders_are_no_phone_numbers(text: str) -> None:
    assert mask(text).text == text


@each_row(
    "text",
    [
        "please call 4155552671 today",
        "My number is 4155552671",
        "Tel.: 612345678",
        "mi móvil 612345678",
        "4155552671 (cell)",
        "ticket open, +14155552671",
        "Ticket offen, 015112345678",
        "we waited, 415-555-2671",
        "we waited, 612 345 678",
    ],
)
def test_phone_numbers_are_masked_by_any_sign_of_one(text: str) -> None:
    assert "[phone]" in mask(text).text


def test_names_of_the_project_are_masked_in_any_case() -> None:
    assert mask("ask van der berg or Zork", ["Van der Berg", " zork ", ""]).text == "ask [name] or [name]"


@each_row(
    ("text", "masked"),
    [
        ("李明说他要买帐篷", "[name]说他要买帐篷"),
        ("어제 민수가 왔다", "어제 [name]가 왔다"),
        ("ask Sammy D. today, or Sammy D.", "ask [name] today, or [name]"),
        ("Jo said joking", "[name] said joking"),
        ("Яна ждёт янтарь", "[name] ждёт янтарь"),
        ("和Jo说", "和[name]说"),
        ("well-known. - ...", "well-known. - ..."),
    ],
)
def test_names_of_the_project_are_masked_in_every_script(text: str, masked: str) -> None:
    assert mask(text, ["李明", "민수", "Sammy D.", "Sammy", "Jo", "Яна", "Я", "-", "."]).text == masked


@each_row(
    ("text", "masked"),
    [
        ("They call her 'Anna'.", "They call her '[name]'."),
        ("James' book and James’s pen", "[name]' book and [name]’s pen"),
        ("Anna-Maria met Anna-Zork- today", "[name]-[name] met [name]-Zork- today"),
        ("问Anna吧", "问[name]吧"),
        ("Annabelle and McAnna stay", "Annabelle and McAnna stay"),
        ("ask PETER, not AN anna", "ask [name], not AN anna"),
        ("[Anna] wrote [a@b.cc] and [Anna Berg](x)", "[[name]] wrote [[email]] and [[name] Berg](x)"),
    ],
)
def test_given_names_are_masked_next_to_signs(text: str, masked: str) -> None:
    assert mask(text).text == masked


@given(st.text(max_size=60))
def test_masking_again_changes_nothing(text: str) -> None:
    once = mask(text)
    assert mask(once.text).text == once.text


def test_number_that_is_found_after_the_one_beside_it_is_masked() -> None:
    masked = mask("01705550100 4111 1111 1111 1111")
    assert (masked.text, masked.counts) == ("[phone] [card]", {"phone": 1, "card": 1})


def test_names_with_brackets_are_not_found_in_masks_again() -> None:
    masked = mask("[Zork] met Anna and 김 [Kim]", ["[Zork]", "name]", "[name", "김 [Kim"])
    assert (masked.text, masked.counts) == ("[[name]] met [name] and [name] [[name]]", {"name": 4})


def test_luhn_by_hand() -> None:
    # The Luhn sum of 79927398713, with every second digit from the right doubled, is 67 + 3 = 70.
    assert passes_luhn("79927398713")
    assert not passes_luhn("79927398710")
    assert not passes_luhn("7992 7398")


@pytest.mark.parametrize("text", ["a" * 1_000_000, "a." * 500_000, "@" * 500_000, "a@" * 300_000])
def test_long_words_are_screened_in_linear_time(text):
    assert mask(text).text == text


def test_many_addresses_are_masked():
    assert mask("to a@b.cc " * 50_000).counts == {"email": 50_000}


def test_excluded_text_keeps_none_of_its_words() -> None:
    before = (ConversationMessage("assistant", "Which doctor?"),)
    sent = Submission("d1", "ann", 0.0, "Which tent should I buy?", "c1", before, masked={"email": 1})
    assert screened(sent, ()) is sent
    repeated = screened(sent, {repetition_key(sent.text)})
    assert (repeated.excluded, repeated.text, repeated.before, repeated.masked) == ("repeated", "", (), {"email": 1})
