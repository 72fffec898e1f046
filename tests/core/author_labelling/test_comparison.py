"""Tests of the comparison of annotators with authors, against hand-computed figures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.author_labelling.comparison import (
    asked_questions,
    collection,
    group_reports,
    mean_kappa,
    predictivity,
    predictivity_tasks,
)
from core.author_labelling.questions import Answer, Entry, FeaturePrediction, Impression, Question, Reaction, Submission
from core.author_labelling.recommendation import click_rates, load_catalogue, next_arm, recommend
from core.author_labelling.screening import spam_authors, without_spam_authors
from core.author_labelling.selection import KEYWORDS, SELECTOR, Selector, replay
from core.errors import UsageError
from core.stats.agreement import cohen_kappa, with_interval
from core.stats.intervals import Estimate, wilson
from tests.each_row import each_row

OPTIONS = ("calm", "angry", "sad")


def entries(n: int, truth: str | None, *others: str | None, author: str = "ada", group: str = "people") -> list[Entry]:
    question = Question(f"d{n}/f", f"d{n}", "f", f"Question {n}?", OPTIONS, "calm")
    answers = [
        Answer(question.id, f"{group}{m}", 1.0, group, choice, seconds=2.0 * m, cost_usd=0.1)
        for m, choice in enumerate(others)
    ]
    answer = Answer(question.id, author, 1.0, choice=truth, abstention=None if truth else "not sure", seconds=6)
    return [Submission(f"d{n}", author, float(n), f"Text {n}.", "c", questions=(question,)), answer, *answers]


def test_accuracy_strata_kappa_and_divergence_match_hand_counts() -> None:
    log = [
        *entries(1, "calm", "calm", "calm"),  # both right
        *entries(2, "angry", "calm", "calm", author="bo"),  # both wrong
        *entries(3, "sad", "sad", "angry"),  # one right
        *entries(4, None, "calm", "calm"),  # left out, as the author abstained
    ]
    (report,) = group_reports(asked_questions(log).values())
    assert (report.questions, report.labels) == (3, 6)
    assert report.accuracy.value == pytest.approx(3 / 6)
    assert [(stratum.agreeing, stratum.questions) for stratum in report.strata] == [(2, 2), (1, 1)]
    assert report.strata[0].accuracy.value == pytest.approx(0.5)
    assert report.strata[1].accuracy.interval == wilson(round(report.strata[1].accuracy.value or 0), 1)
    # The annotators answer calm calm sad and calm calm angry: p_o = 2/3, p_e = 4/9, kappa = (2/9) / (5/9).
    assert report.kappa.value == pytest.approx(0.4)
    assert report.kappa.interval is None, "kappa is undefined without the third question"
    # Counts are 2 2 2 of authors and 4 1 1 of annotators, plus one half: (log(1/3 / 0.6) + 2 log(1/3 / 0.2)) / 3.
    assert report.kl_position == pytest.approx(0.144622, abs=1e-6)
    assert report.kl_meaning == pytest.approx(report.kl_position)
    assert (report.seconds, report.cost_usd) == (1.0, pytest.approx(0.1))


def test_annotators_who_are_always_right_do_not_diverge() -> None:
    log = [*entries(1, "calm", "calm", "calm", "calm"), *entries(2, "angry", "angry"), *entries(3, "sad", None)]
    (report,) = group_reports(asked_questions(log).values())
    assert (report.accuracy.value, report.kl_meaning, report.kl_position) == (1, 0, 0)


def test_questions_of_one_of_several_authors_are_one_case() -> None:
    asked = [entries(n, "calm", "calm", ("calm", "sad")[n % 2]) for n in range(1, 6)]
    other = entries(6, "calm", author="bo")
    (report,) = group_reports(asked_questions([entry for some in asked for entry in some]).values())
    assert report.accuracy.interval is not None, "with a single author, questions are independent"
    (report,) = group_reports(asked_questions([entry for some in [*asked, other] for entry in some]).values())
    assert report.accuracy == Estimate(7 / 10, None), "both annotators read texts of the same author"
    assert [stratum.accuracy.interval for stratum in report.strata] == [None, None]


def test_completion_counts_abstentions_as_answers() -> None:
    log = [*entries(1, "calm"), *entries(2, None), *entries(3, "sad")[:1]]
    result = collection(log)
    assert (result.asked, result.answered, result.abstained, result.declined) == (3, 1, 1, 0)
    assert result.completion.value == pytest.approx(2 / 3)
    assert result.abstention.value == pytest.approx(1 / 2)
    assert result.seconds == 6


def test_empty_log_has_no_figures() -> None:
    result = collection([])
    assert (result.asked, result.completion.value, result.seconds) == (0, None, None)
    assert group_reports(()) == ()
    assert mean_kappa([[0, None], [1]], ["a", "b"], ["f", "f"]) == Estimate()


def test_kappa_of_two_annotators_has_the_interval_of_their_agreement() -> None:
    pairs = [[1, 1], [1, 1], [0, 0], [0, 0], [1, 0]] * 4
    theirs = with_interval(lambda given, times: cohen_kappa(given[:, 0], given[:, 1], times), np.array(pairs))
    result = mean_kappa(pairs, list("abcdefghijklmnopqrst"), "f" * 20)
    assert result.value == pytest.approx(theirs.value)
    assert result.interval is not None
    assert theirs.interval is not None
    assert result.interval.low == pytest.approx(theirs.interval.low)
    assert mean_kappa(pairs, list("aabcdefghijklmnopqrs"), "f" * 20).interval != result.interval


def test_random_answers_to_different_questions_have_no_kappa() -> None:
    frequencies = {"low": (5, 4, 1, 0), "high": (0, 1, 4, 5), "yes or no": (1, 1, 0, 0)}
    rng = np.random.default_rng(0)
    features = [name for name in frequencies for _ in range(1000)]
    pairs = [rng.choice(4, 2, p=np.array(frequencies[name]) / sum(frequencies[name])).tolist() for name in features]
    result = mean_kappa(pairs, [str(n) for n in range(3000)], features)
    assert result.value == pytest.approx(0, abs=0.05)
    assert result.interval is not None
    assert result.interval.low < 0 < result.interval.high
    assert (mean_kappa(pairs, features, "f" * 3000).value or 0) > 0.2, "answers differ by question"


def test_predictivity_uses_the_same_questions_for_all_sources() -> None:
    log = [entry for n in range(7) for entry in entries(n, "calm" if n % 2 else "sad", "angry")]
    tasks = predictivity_tasks(asked_questions(log).values())
    assert {task.asked_question.question.id for task in tasks} == {"d5/f", "d6/f"}, (
        "a prediction needs five earlier answers"
    )
    assert {task.source for task in tasks} == {"author", "people", "random"}
    by_source = {task.source: task for task in tasks if task.asked_question.question.id == "d5/f"}
    assert [earlier.answer for earlier in by_source["author"].earlier] == ["sad", "calm", "sad", "calm", "sad"]
    assert [earlier.answer for earlier in by_source["people"].earlier] == ["angry"] * 5
    assert by_source["author"].same == 5
    times = {f"d{n}/f": 9.0 - n for n in range(7)}  # of a file with the newest first
    backwards = [replace(entry, at=times[entry.question_id]) if isinstance(entry, Answer) else entry for entry in log]
    latest = [task for task in predictivity_tasks(asked_questions(backwards).values()) if task.source == "author"]
    assert {task.asked_question.question.id for task in latest} == {"d1/f", "d0/f"}
    assert [earlier.text for earlier in latest[0].earlier] == [f"Text {n}." for n in (6, 5, 4, 3, 2)]
    results = predictivity(tasks, ["calm" if task.source == "author" else None for task in tasks])
    author, people, _ = results
    assert (author.accuracy, author.deviation, author.by_same[5]) == (0.5, 0.0, 0.5)
    # Two questions, one predicted in all repeats and one in none: repeats do not count as further questions.
    assert author.interval == pytest.approx((0.0, 1.0), abs=0.06)
    assert (people.accuracy, people.unresolved) == (0, 6)


def impression(n: int, at: float, arm: str = SELECTOR, author: str = "ada") -> Impression:
    return Impression(f"d{n}", author, at, "Tent", arm)


def test_impressions_in_quick_succession_are_merged_and_every_click_counts() -> None:
    day = 86_400.0
    log: list[Entry] = [
        impression(1, day),
        Reaction("d1", "ada", day + 1),
        Reaction("d1", "ada", day + 2),
        Reaction("d1", "ada", day + 3, helpful=True),
        impression(2, day + 5),
        impression(3, day + 60, KEYWORDS),
        impression(4, 2 * day),
        impression(4, 2 * day + 100),
    ]
    rates = {(rate.day, rate.arm): (rate.impressions, rate.clicks) for rate in click_rates(log)}
    assert rates["", SELECTOR] == (2, 2)
    assert rates["1970-01-02", SELECTOR] == (1, 2)
    assert rates["1970-01-02", KEYWORDS] == (1, 0)
    catalogue = load_catalogue("- {name: Tent, text: Light., keywords: [walk], labels: {Feeling: calm}}")
    assert click_rates(log[::-1]) == click_rates(log), "a file may have the newest first"
    assert next_arm([], catalogue) == SELECTOR
    assert next_arm(log, catalogue) == KEYWORDS


def test_quick_impressions_of_both_arms_count_once_each() -> None:
    log = [impression(1, 0.0), impression(2, 5.0, KEYWORDS), Reaction("d2", "ada", 6.0), Reaction("d1", "ada", 7.0)]
    rates = {rate.arm: (rate.impressions, rate.clicks) for rate in click_rates(log) if not rate.day}
    assert rates == {SELECTOR: (1, 1), KEYWORDS: (1, 1)}


def test_spamming_authors_are_left_out() -> None:
    texts = [Submission(f"s{n}", "bot", float(n), "", excluded="spam" if n % 2 else "") for n in range(6)]
    assert spam_authors(texts) == {"bot"}
    assert not any(rate.impressions for rate in click_rates([*texts, impression(1, 9.0, author="bot")]))
    assert spam_authors(texts[:4]) == frozenset()


def test_spamming_authors_are_left_out_of_the_analysis_and_counted() -> None:
    good = [entry for n in range(2) for entry in entries(n, "calm", "calm", "calm")]
    bot = [entry for n in range(2, 5) for entry in entries(n, "sad", "calm", "calm", author="bot")]
    spam = [Submission(f"s{n}", "bot", 9.0, "", excluded="spam") for n in range(6)]
    log = [*good, *bot, *spam]
    assert list(asked_questions(without_spam_authors(log))) == ["d0/f", "d1/f"]
    counts = collection(log)
    assert (counts.texts, counts.authors, counts.spam_authors, counts.asked, counts.answered) == (11, 1, 1, 2, 2)
    assert counts.excluded == {"by spam authors": 3, "spam": 6}
    learned, without = replay(log), replay(good)
    assert (learned.selector, learned.examples, learned.answered) == (without.selector, without.examples, 2)
    assert len(learned.effects) == 5, "a spam author can still answer"


def test_recommendations_match_values_or_keywords() -> None:
    from core.author_labelling.questions import Feature

    catalogue = load_catalogue(
        "- {name: Tent, text: Light., keywords: [walk], labels: {Feeling: [calm]}}\n"
        "- {name: Rope, text: Long., keywords: [climb, 'e-mail', ' '], labels: {Feeling: angry}}"
    )
    source = Submission("d", "ada", 1.0, "I climb.", predictions={"f": FeaturePrediction("Calm", 0.8)}, selected=("f",))
    features = (Feature("f", "feeling", open="options"),)
    tent, rope = catalogue
    assert recommend(catalogue, source, features, Selector(), arm=SELECTOR) == (tent, ("f",))
    assert recommend(catalogue, source, features, Selector(), arm=KEYWORDS) == (rope, ())
    hyphened = Submission("d", "a", 1.0, "An E-Mail!")
    assert recommend(catalogue, hyphened, features, Selector(), arm=KEYWORDS) == (rope, ())
    assert recommend(catalogue, Submission("d", "a", 1.0, "Nothing."), features, Selector(), arm=KEYWORDS) is None
    assert recommend((), source, features, Selector(), arm=SELECTOR) is None
    (chinese,) = load_catalogue("- {name: Tent, text: Light., keywords: [帐篷]}")
    for text, is_match in (("我想买一个新帐篷。", True), ("我想买一个新帐。篷", False)):
        shown = recommend([chinese], Submission("d", "a", 1.0, text), features, Selector(), arm=KEYWORDS)
        assert (shown is not None) == is_match


def test_arm_that_a_catalogue_has_nothing_for_gets_no_turn() -> None:
    labels, keywords = (
        load_catalogue(f"- {{name: Tent, text: Light., {words}}}")
        for words in ("labels: {Feeling: calm}", "keywords: [walk]")
    )
    shown = [impression(1, 1.0)]
    assert [next_arm(log, labels) for log in ([], shown)] == [SELECTOR, SELECTOR]
    assert [next_arm(log, keywords) for log in ([], shown)] == [KEYWORDS, KEYWORDS]


def test_words_of_a_catalogue_are_text_as_written() -> None:
    (entry,) = load_catalogue("[{name: 007, text: x, keywords: [no, 5], labels: {Urgent: Yes, Mark: [1, 2]}}]")
    assert (entry.name, entry.keywords) == ("007", ("no", "5"))
    assert entry.labels == {"Urgent": ("Yes",), "Mark": ("1", "2")}


@each_row("text", ["{}", "- name: A", "- {name: A, text: x}\n- {name: A, text: y}", "- [1"])
def test_invalid_catalogue_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        load_catalogue(text)


def test_interval_of_a_share_stays_between_0_and_1() -> None:
    log = [entry for n in range(6) for entry in entries(n, "calm" if n else None, author=f"author {n % 3}")]
    interval = collection(log).abstention.interval
    assert interval is not None
    assert interval.low > 0
    assert interval.high <= 1
