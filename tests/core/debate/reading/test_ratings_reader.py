"""Tests of ratings that a reply states in sentences instead of one line for each dimension."""

from __future__ import annotations

from core.codebook import Codebook, Label, Scale
from core.debate.reading.parse import read
from tests.each_row import each_row
from tests.linear_time import check_linear_time


def book(*names: str) -> Codebook:
    labels = tuple(Label(name=name, id=name[:2].casefold()) for name in names)
    return Codebook(kind="rating", labels=labels, scale=Scale(min=1, max=5))


THREE = book("Clarity", "Tone", "Quality of facts")
ONE = book("Helpfulness")


@each_row(
    "text",
    [
        "Annotator 1 gave Clarity a 4, Tone a 5 and Quality of facts a 3.",
        "According to the extractor, Clarity is a 4, Tone is a 5, Quality of facts is a 3.",
        "I would not rate Clarity 4, Tone 5 and Quality of facts 3.",
        "If I had to guess, Clarity is a 4, Tone is a 5, Quality of facts is a 3.",
        "Should I give Clarity a 4, Tone a 5 and Quality of facts a 3?",
        "A 4 for Clarity? A 5 for Tone? A 3 for Quality of facts?",
        "Clarity is a 4 or a 5. Tone is a 5. Quality of facts is a 3.",
        "Clarity is not a 4. Tone is a 5. Quality of facts is a 3.",
        "Clarity is a 4. Tone is a 5. Quality of facts is a 3. On reflection, Clarity is a 2.",
        "Clarity is a 4. Tone is a 5. Quality of facts is a 3. Scratch that.",
        "Clarity is a 4. Tone is a 5. Quality of facts is a 3. Clarity should be lower.",
        "Clarity has 4 problems. Tone has 5. Quality of facts has 3.",
        "Clarity (4 examples)\nTone (5 examples)\nQuality of facts (3 examples)",
        "Clarity: 4 for the first text, 2 for the second. Tone: 5. Quality of facts: 3.",
        "I rate Clarity 4, Tone 5 and Quality of facts 3 for text A. For text B, Clarity 2.",
        "Use this form: I give Clarity a 4, Tone a 5, Quality of facts a 3.",
        'You asked: "I give Clarity a 4, Tone a 5, Quality of facts a 3."',
        "> Clarity is a 4. Tone is a 5. Quality of facts is a 3.\nThat is what the last model said.",
        "I give Clarity a 4. I give Tone a 5.",
        "Clarity: <4\nTone: 5\nQuality of facts: 3",
        "The critic scores 4 on Clarity, 5 on Tone and 3 on Quality of facts.",
        "I give Clarity a 4, Tone a 5 and Quality of facts a 3. On reflection, all should be 3.",
        "I give Clarity a 4, Tone a 5 and Quality of facts a 3. Actually, a 3 for each.",
        "I give Clarity a 4, Tone a 5 and Quality of facts a 3. Wait, that was the other text.",
        "The critic argues as follows. Clarity is 2, Tone is 1, Quality of facts is 1. I reject this.",
        "I agree with neither: Clarity 4, Tone 5, Quality of facts 3",
        "I give § a 4. Clarity § 5. § 3",
    ],
)
def test_sentences_that_do_not_rate_plainly_are_unreadable(text: str) -> None:
    assert read(text, THREE).values == {}


def test_contradicted_dimension_in_sentences_has_no_rating() -> None:
    reading = read("Clarity is a 4. Tone is a 5. Quality of facts is a 3. I give Clarity a 2.", THREE)
    assert reading.values == {"to": 5, "qu": 3}
    assert reading.undecided == {"cl": "rated 4 and 2"}


@each_row(
    ("text", "value"),
    [
        ("I would rate this answer a 4.", 4),
        ("Overall, I'd give it a 3.5 out of 5 because it is short.", 3.5),
        ("It is a solid 4.", 4),
        ("The answer gets 4/5.", 4),
        ("My rating is 4.", 4),
        ("The critic gives it a 4.", None),
        ("I would not give it a 4.", None),
        ("I'd give it a 4 or a 5.", None),
        ("There are 4 errors.", None),
        ("The price is 5.", None),
        ("The bill is 5 because he ordered more.", None),
        ("The other gets a 2.", None),
        ("I give it a 4. On second thought, a 3.", None),
        ("The rating is 3. I would raise it to 4.", None),
        ("My rating is 3. I hope this helps.", 3),
    ],
)
def test_only_dimension_needs_no_name_in_a_sentence(text: str, value: float | None) -> None:
    assert read(text, ONE).values.get("he") == value


def test_reading_a_long_sentence_takes_linear_time() -> None:
    def read_sentence(size: int) -> None:
        assert read("Clarity 4 and " * size, THREE).values == {}

    check_linear_time(read_sentence, 1_200)


@each_row("remark", ["(scale 1-{0})", "on a scale of 1 to {0}", ", on a scale from 1 to {0}", "[range: 1–{0}]"])
def test_rating_with_its_scale_counts_only_on_that_of_the_codebook(remark: str) -> None:
    text = f"Final Decision:\nClarity: 4 {remark}\nTone: 5\nQuality of facts: 3"
    assert read(text.format(5), THREE).values == {"cl": 4, "to": 5, "qu": 3}
    assert "cl" not in read(text.format(10), THREE).values


SIGNED = Codebook(
    kind="rating", labels=(Label(name="Mood", id="m"), Label(name="Energy", id="e")), scale=Scale(min=-3, max=3)
)
SIGNED_ONE = Codebook(kind="rating", labels=(Label(name="Mood", id="m"),), scale=Scale(min=-3, max=3))


@each_row(
    "text",
    [
        "Mood -2\nEnergy 1",
        "Mood -2, Energy 1",
        "Final Ratings: Mood -2; Energy 1",
        "- Mood -2\n- Energy 1",
        "Mood –2, Energy 1",
        "Mood: –2\nEnergy: 1",
        "| Mood | –2 |\n| Energy | 1 |",
        "Mood\n-2\n\nEnergy\n1",
        "### Mood\n–2\n### Energy\n1",
    ],
)
def test_sign_of_a_rating_is_read(text: str) -> None:
    assert read(text, SIGNED).values == {"m": -2, "e": 1}


@each_row(
    "text",
    [
        "-2",
        "–2",
        "**-2**",
        "- -2",
        "1. -2",
        "Final score: -2",
        "Final rating: -2",
        "Final Ratings:\n-2",
        "The rating is –2",
    ],
)
def test_sign_of_the_only_rating_is_read(text: str) -> None:
    assert read(text, SIGNED_ONE).values == {"m": -2}


def test_dash_before_a_rating_is_not_a_sign_on_a_scale_without_negative_points() -> None:
    assert read("Clarity -4\nTone -5\nQuality of facts -3", THREE).values == {"cl": 4, "to": 5, "qu": 3}


@each_row(
    "text",
    [
        # Ratings in sentences are read.
        "I rate Clarity 4, Tone 5 and Quality of facts 3.",
        "I'd give this text a 4 for Clarity, a 5 for Tone, and a 3 for Quality of facts.",
        "Clarity gets a 4, Tone a 5, Quality of facts a 3.",
        "My ratings are as follows: **Clarity** 4/5, **Tone** 5/5, **Quality of facts** 3/5.",
        "I give Clarity a 4 because it flows. Tone deserves a 5. Quality of facts earns a 3, as two names are wrong.",
        "Clarity: 4. Tone: 5. Quality of facts: 3.",
        "On Clarity, I'd say 4; on Tone, 5; on Quality of facts, 3.",
        "After discussion, I keep Clarity at 4, raise Tone from 2 to 5, and lower Quality of facts to 3.",
        "I agree with annotator 1: Clarity 4, Tone 5, Quality of facts 3.",
        "### Clarity (4)\nIt flows.\n### Tone (5)\nKind.\n### Quality of facts (3)\nTwo names are wrong.",
        "### Clarity\nScore: 4\nIt flows.\n\n### Tone\nScore: 5\n\n### Quality of facts\n\nScore: 3",
        "Clarity rating: 4\nTone rating: 5\nQuality of facts rating: 3",
        "Rating for Clarity: 4\nRating for Tone: 5\nRating for Quality of facts: 3",
        "Clarity: 4 points\nTone: 5 points\nQuality of facts: 3 points",
        "Clarity: <4>\nTone: <5>\nQuality of facts: <3>",
        "Clarity: 4 ✅\nTone: 5 ✅\nQuality of facts: 3 ⚠️",
        "Clarity: ★★★★☆\nTone: ★★★★★\nQuality of facts: ★★★☆☆",
        "Final Ratings: I give Clarity a 4, Tone a 5, and Quality of facts a 3.",
        "Final Decision: 4 for Clarity, 5 for Tone, 3 for Quality of facts",
        "Final Decision:\nClarity: Good (4)\nTone: Excellent (5)\nQuality of facts: Fair (3)",
        "Final Decision:\nClarity score: 4\nTone score: 5\nQuality of facts score: 3",
        'Final Decision: {"Clarity": {"score": 4}, "Tone": {"score": 5}, "Quality of facts": {"score": 3}}',
        "Scores: Clarity 4/5, Tone 5/5, Quality of facts 3/5.",
        "clarity=4 tone=5 quality of facts=3",
        "The text scores 4 on Clarity, 5 on Tone and 3 on Quality of facts.",
        "1. **Clarity (4/5):** It flows.\n2. **Tone (5/5):** Kind.\n3. **Quality of facts (3/5):** Two are wrong.",
        "**Clarity: 4/5** It flows.\n**Tone: 5/5** Kind.\n**Quality of facts: 3/5** Two are wrong.",
        "Annotator 2 gave Clarity a 1. I give Clarity a 4, Tone a 5 and Quality of facts a 3.",
        # Number below a title is its rating.
        "**Clarity**\n4\n\n**Tone**\n5\n\n**Quality of facts**\n3",
        "Clarity:\n4\nTone:\n5\nQuality of facts:\n3",
        # The reason stands between title and rating.
        "### Clarity\nIt flows. Short words.\n\n**Score: 4**\n\n### Tone\nKind.\n\n**Score: 5**\n\n"
        "### Quality of facts\nTwo names are wrong.\n\n**Score: 3/5**",
        "1. **Clarity:**\n   - It flows.\n   - Rating: 4\n2. **Tone:**\n   - Kind.\n   - Rating: 5\n"
        "3. **Quality of facts:**\n   - Two names are wrong.\n   - Rating: 3",
        "**Clarity.**\nUnlike its tone.\nScore: 4\n**Tone.**\nKind.\nScore: 5\n**Quality of facts.**\nOk.\nScore: 3",
    ],
)
def test_ratings_in_sentences_and_below_titles_are_read(text: str) -> None:
    assert read(text, THREE).values == {"cl": 4, "to": 5, "qu": 3}


@each_row(
    "section",
    [
        "### Overall\n\nScore: 3",
        "**Overall**\nGood.\nScore: 3",
        "The critic's view:\nScore: 3",
        "Critic's score: 2\nScore: 3",
        "Score: 3\nStill, it could be better.\nScore: 4",
        "3",
    ],
)
def test_rating_after_another_title_than_its_own_is_not_read(section: str) -> None:
    ratings = (
        "### Clarity\nIt flows.\nScore: 4\n### Tone\nKind.\nScore: 5\n### Quality of facts\nTwo names are wrong.\n"
    )
    reading = read(ratings + section, THREE)
    assert "qu" not in reading.values


def test_ratings_below_titles_of_another_role_are_not_read() -> None:
    ratings = "### Clarity\nScore: 4\n### Tone\nScore: 5\n### Quality of facts\nScore: 3"
    assert read(f"The extractor wrote:\n\n{ratings}", THREE).values == {}


def test_scale_in_square_brackets_and_unit_are_read() -> None:
    assert read("Clarity [1-5]: 4\nTone [1-5]: 5\nQuality of facts [1-5]: 3", THREE).values == {
        "cl": 4,
        "to": 5,
        "qu": 3,
    }
    assert read("Final score: 4 points", ONE).values == {"he": 4}


def test_footnote_mark_is_not_a_digit_of_a_rating() -> None:
    labels = (Label(name="Clarity", id="c"), Label(name="Tone", id="t"))
    codebook = Codebook(kind="rating", labels=labels, scale=Scale(min=0, max=100))
    reading = read("Final Ratings:\nClarity: 4¹\nTone: 50", codebook)
    assert reading.values == {"t": 50}
