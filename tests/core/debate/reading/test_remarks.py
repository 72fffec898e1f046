"""Tests of remarks around a decision: ordinary ones leave it readable, and those that contradict it do not."""

from __future__ import annotations

from core.codebook import Codebook
from core.debate.reading.parse import read
from tests.core.debate.reading.decisions import book, decision
from tests.each_row import each_row
from tests.linear_time import check_linear_time

SUMMARY = book("rating", "summary", "Coherence", "Fluency", "Relevance", scale={"min": 1, "max": 5})
REVIEW = book("multilabel", "review", "Food", "Service", "Price", "Ambience")
SENTIMENT = book("choice", "review", "Positive", "Negative", "Neutral", "Mixed")
TICKET = book("choice", "ticket", "Low", "Medium", "High", codes=(1, 2, 3))


@each_row(
    ("remark", "expected"),
    [
        ("4 - omits Article 50.", 4),
        ("4 - omits World War 2.", 4),
        ("4 - should mention Article 5.", 4),
        ("4 - published in 2019", 4),
        ("4 (mentions 2019, 2020)", 4),
        ("4 (1: no date, 2: no name)", 4),
        ("4, errors: 2", 4),
        ("4 - covers all 3", 4),
        ("4 - no errors in all 5 sentences", 4),
        ("4 (average: 4.0)", 4),
        ("4 (now 4.0)", 4),
        ("4 - could use 2 more examples", 4),
        ("4 - would be 5 if it named the date", 4),
        ("4 (not 5)", 4),
        ("4 (lowered from 5)", 4),
        ("4 (now 3)", None),
        ("4, edit: 3", None),
        ("4 (3 after the debate)", None),
        ("4, jetzt 3", None),
        ("4, oder 3", None),
        ("4, minus 1 = 3", None),
        ("4, all in all 3", None),
        ("4 - too many jumps for a 5", 4),
        ("4 (errors: 2)", 4),
        ("4, down to 3 for the typos", None),
        ("4, lowered to 3 after the remark", None),
        ("4; after discussion: 3", None),
        ("4, no, 3", None),
        ("4, or rather 3", None),
        ("4, I would say 3", None),
        ("4 (could also be a 5)", None),
        ("4 (new: 3)", None),
        ("4 (updated to 3)", None),
        ("4, dropped to 3", None),
        ("4 (upgraded to 5)", None),
        ("4, then 3 after the debate", None),
        ("4 (consensus: 3)", None),
        ("4, judge: 3", None),
        ("4, on second thought, 3", None),
        ("4, no: 3", None),
        ("4 - only 2 of 3 claims in the end", 4),
        ("4 - refers to 2 of the facts", 4),
    ],
)
def test_number_that_stands_alone_in_a_remark_replaces_the_rating(remark: str, expected: int | None) -> None:
    values = read(f"Final Ratings:\nCoherence: 3\nFluency: 5\nRelevance: {remark}", SUMMARY).values
    assert [*values.values()] == [3, 5] + ([] if expected is None else [expected])


@each_row(
    ("text", "expected"),
    [
        ("Extracted aspects: Food, Price", "Food, Price"),
        ("Extracted aspects:\n- Food\n- Price", "Food, Price"),
        ("Detected aspects: Food, Price\n\nThe guest praises the pasta.", "Food, Price"),
        ("The guest praises the pasta.\n\nIdentified aspects: Food, Price", "Food, Price"),
        ("### Response:\nFood, Price", "Food, Price"),
        ("My list: Food, Price", "Food, Price"),
        ("Extracted aspects: Food, Price\n\nThe critic is right that Price is general praise.", "refused"),
        ("Extracted aspects: Food, Price\nThe critic objects to Price. I agree with the critic.", "refused"),
        ("Extracted aspects: Food, Price\n\nI agree with the critic.", "refused"),
        ("Please give me the review. The list: Food, Service, Price, Ambience", "refused"),
        ("List: Food, Service, Price, Ambience\nThe review praises the pasta.", "refused"),
    ],
)
def test_recap_is_a_decision_only_if_nothing_below_discusses_it(text: str, expected: str) -> None:
    assert decision(text, REVIEW) == expected


@each_row(
    ("text", "expected"),
    [
        ("Priority: High (from the ticket)\nLow", "Low"),
        ("Priority: High", "High"),
        ("Priority: High\n\nReason: medium impact, high urgency", "High"),
        ("The printer is down.\n\nSeverity level: Low", "Low"),
    ],
)
def test_label_of_a_recap_gives_way_to_one_below(text: str, expected: str) -> None:
    assert decision(text, TICKET) == expected


RATED = "Final Ratings:\nCoherence: 4\nFluency: 5\nRelevance: 3"


@each_row(
    ("remark", "expected"),
    [
        ("I subtracted one point for the jump in Coherence.", "4, 5, 3"),
        ("I deducted one point from Coherence because of the jump.", "4, 5, 3"),
        ("One point was deducted in Relevance.", "4, 5, 3"),
        ("Relevance was reduced by one.", "4, 5, 3"),
        ("Relevance is reduced by 2 irrelevant sentences.", "4, 5, 3"),
        ("Coherence is one point lower because the last sentence comes out of nowhere.", "4, 5, 3"),
        ("I raised Coherence by one point after the objection.", "4, 5, 3"),
        ("I revised Coherence after the critic's remark.", "4, 5, 3"),
        ("The revised rating for Coherence is 4.", "4, 5, 3"),
        ("I have reconsidered Relevance and keep 3.", "4, 5, 3"),
        ("I changed my rating of Coherence from 5 to 4.", "4, 5, 3"),
        ("Two more sentences would help Relevance.", "4, 5, 3"),
        ("Two more facts would raise Relevance.", "4, 5, 3"),
        ("It needs one more fact for Relevance.", "4, 5, 3"),
        ("A 5 for Relevance would need the date.", "4, 5, 3"),
        ("Only 1 for Relevance would be unfair.", "4, 5, 3"),
        ("The extractor's 5 for Coherence is too high.", "4, 5, 3"),
        ("The critic's 3 for Coherence ignores the order.", "4, 5, 3"),
        ("The critic says that Coherence should be lower, but the thread is clear.", "4, 5, 3"),
        ("Not a 5 for Coherence because of the jump.", "4, 5, 3"),
        ("Both Coherence and Fluency deserve praise.", "4, 5, 3"),
        ("Fluency deserves its 5.", "4, 5, 3"),
        ("Each score should be read with the definition.", "4, 5, 3"),
        ("Relevance should be understood as in the definition.", "4, 5, 3"),
        ("Coherence should be one point lower.", "refused"),
        ("A 2 for Coherence would be fairer.", "refused"),
        ("Coherence is one point lower.", "refused"),
        ("Coherence goes down by one.", "refused"),
        ("One point less for Coherence.", "refused"),
        ("Coherence needs revision.", "refused"),
        ("I reconsidered Coherence: it is weaker.", "refused"),
        ("The critic's point stands, so Coherence should be 3.", "refused"),
        ("Coherence is weaker than Fluency.", "4, 5, 3"),
        ("Coherence deserves a lower rating.", "refused"),
        ("Coherence must be revised.", "refused"),
        ("I lower Coherence by one.", "refused"),
        ("I’d lower Coherence.", "refused"),
        ("Let us lower Coherence by one.", "refused"),
        ("I am lowering Coherence by one point.", "refused"),
        ("Coherence should probably be one lower.", "refused"),
        ("I changed my mind on Coherence.", "refused"),
        ("I now rate Coherence lower.", "refused"),
        ("Deduct one point from Coherence.", "refused"),
        ("My 4 for Coherence is too high.", "refused"),
        ("I was too generous with Coherence.", "refused"),
        ("All should be 3.", "refused"),
        ("The critic is right: Coherence should be lower.", "refused"),
        ("I accept the critic's 3 for Coherence.", "refused"),
    ],
)
def test_remark_on_a_rating_explains_it_or_replaces_it(remark: str, expected: str) -> None:
    assert decision(f"{RATED}\n\n{remark}", SUMMARY) == expected


def test_only_rating_may_be_explained_by_its_change() -> None:
    essay = book("rating", "essay", "Clarity", scale={"min": 1, "max": 5})
    assert decision("Final Ratings:\nClarity: 4\n\nI raised it to 4 after the objection.", essay) == "4"
    assert decision("Final Ratings:\nClarity: 4\n\nI raised it to 5 after the objection.", essay) == "refused"


HOTEL = book("multilabel", "Bewertung", "Essen", "Service", "Preis", "Lage")
AVIS = book("multilabel", "avis", "Nourriture", "Service", "Prix")
COMMENT = book("choice", "评论", "正面", "负面", "中性")
GERMAN = "Endgültige Entscheidung: Essen, Service\n\n"
FRENCH = "Décision finale : Nourriture, Service\n\n"


@each_row(
    ("text", "codebook", "expected"),
    [
        (f"{GERMAN}Das Essen war gut, aber der Service war nicht freundlich.", HOTEL, "Essen, Service"),
        (f"{GERMAN}Der Gast fand das Essen nicht gut und auch den Service zu langsam.", HOTEL, "Essen, Service"),
        (f"{GERMAN}Das Essen schmeckte ihm eher nicht.", HOTEL, "Essen, Service"),
        (f"{GERMAN}Das Essen war nicht richtig warm.", HOTEL, "Essen, Service"),
        (f"{GERMAN}Das Essen überzeugte den Gast nicht.", HOTEL, "Essen, Service"),
        (f"{GERMAN}Der Preis wird nicht erwähnt.", HOTEL, "Essen, Service"),
        (f"{FRENCH}Le service n'était pas correct.", AVIS, "Nourriture, Service"),
        (f"{FRENCH}Le Service n'est pas bon, mais il est mentionné.", AVIS, "Nourriture, Service"),
        (f"{FRENCH}Le prix n'est pas mentionné.", AVIS, "Nourriture, Service"),
        ("标签是负面。\n\n评论者不满意服务,因此是负面。", COMMENT, "负面"),
        ("标签是负面。\n\n理由:服务员没有礼貌,属于负面。", COMMENT, "负面"),
        ("标签是负面。\n\n理由:服务员不在前台,属于负面。", COMMENT, "负面"),
        ("标签是负面。\n\n理由:酒店没提供毛巾,也没提前通知,属于负面。", COMMENT, "负面"),
        ("标签是负面。\n\n不是正面。", COMMENT, "负面"),
        (f"{GERMAN}Der Service wird nicht erwähnt.", HOTEL, "refused"),
        (f"{GERMAN}Service kommt nicht vor.", HOTEL, "refused"),
        (f"{GERMAN}Kein Service.", HOTEL, "refused"),
        (f"{GERMAN}Service eher nicht.", HOTEL, "refused"),
        (f"{GERMAN}Außerdem Preis.", HOTEL, "refused"),
        (f"{GERMAN}Der Service passt nicht.", HOTEL, "refused"),
        (f"{GERMAN}Der Service ist nicht belegt.", HOTEL, "refused"),
        (f"{GERMAN}Der Service liegt nicht vor.", HOTEL, "refused"),
        (f"{GERMAN}Der Service gehört nicht dazu.", HOTEL, "refused"),
        (f"{GERMAN}Der Service spielt keine Rolle.", HOTEL, "refused"),
        (f"{GERMAN}Der Service steht nicht im Text.", HOTEL, "refused"),
        (f"{GERMAN}Der Service wurde nicht berücksichtigt.", HOTEL, "refused"),
        (f"{GERMAN}Der Service ist nicht richtig.", HOTEL, "refused"),
        (f"{GERMAN}Für Service gibt es keinen Hinweis.", HOTEL, "refused"),
        (f"{GERMAN}Den Service würde ich nicht wählen.", HOTEL, "refused"),
        (f"{GERMAN}Service kann ich nicht bestätigen.", HOTEL, "refused"),
        (f"{FRENCH}Le service n'est pas dans le texte.", AVIS, "refused"),
        (f"{FRENCH}Le service n'est pas indiqué.", AVIS, "refused"),
        (f"{FRENCH}Le service ne convient pas.", AVIS, "refused"),
        (f"{FRENCH}Service n'est pas présent.", AVIS, "refused"),
        (f"{FRENCH}Pas de service.", AVIS, "refused"),
        (f"{FRENCH}Le service n'est pas pertinent.", AVIS, "refused"),
        (f"{FRENCH}Le service ne compte pas.", AVIS, "refused"),
        ("标签是负面。\n\n不是负面，而是中性。", COMMENT, "refused"),
        ("标签是负面。\n\n负面不正确。", COMMENT, "refused"),
        ("标签是负面。\n\n没有谈到负面。", COMMENT, "refused"),
        ("标签是负面。\n\n文中没有谈及负面。", COMMENT, "refused"),
        ("标签是负面。\n\n不选负面。", COMMENT, "refused"),
        ("标签是负面。\n\n负面不在文中。", COMMENT, "refused"),
        ("标签是负面。\n\n不包括负面。", COMMENT, "refused"),
    ],
)
def test_negation_in_another_language_denies_a_label_only_with_a_word_for_that(
    text: str, codebook: Codebook, expected: str
) -> None:
    assert decision(text, codebook) == expected


@each_row(
    ("remark", "expected"),
    [
        ("This label is a better fit than Positive.", "Negative"),
        ("This label is an exact match.", "Negative"),
        ("This decision is a direct result of the definition.", "Negative"),
        ("This decision was a close one.", "Negative"),
        ("That answer was too rude for the guest.", "Negative"),
        ("I cannot choose Mixed, because no praise is given.", "Negative"),
        ('The guest says "I cannot decide which dish was better".', "Negative"),
        ('The guest says "I waited long. I cannot decide."', "Negative"),
        ("My confidence is not low.", "Negative"),
        ("My confidence is fairly low only for the last sentence.", "Negative"),
        ("My confidence is low for the last sentence.", "Negative"),
        ("This label is a guess.", "refused"),
        ("This label is a stretch.", "refused"),
        ("This label is a poor fit.", "refused"),
        ("This label is a placeholder.", "refused"),
        ("My confidence is low for this label.", "refused"),
        ("I cannot decide because the text is short.", "refused"),
        ("I cannot decide from the text alone.", "refused"),
        ("I cannot decide with certainty.", "refused"),
        ("I cannot decide on the label.", "refused"),
        ("I am unable to decide here.", "refused"),
        ("This decision was a mistake.", "refused"),
        ("This label is too harsh.", "refused"),
        ("I cannot decide.", "refused"),
        ("I cannot choose between Negative and Mixed.", "refused"),
        ("I could not decide which label fits.", "refused"),
        ("My confidence is very low.", "refused"),
        ("There is one positive remark, but it is sarcastic.", "Negative"),
        ("There are a few neutral words.", "Negative"),
        ("This is a positive comment.", "refused"),
        ("A neutral reading fits better.", "refused"),
        ("I agree with the critic that a neutral reading is better.", "refused"),
        ("A neutral rating is more appropriate.", "refused"),
        ("The review deserves a neutral verdict.", "refused"),
        ("It is positive.", "refused"),
        ("The critic's Mixed is better.", "refused"),
        ("I prefer the critic's Mixed.", "refused"),
        ("The critic's Mixed is wrong.", "Negative"),
        ("It should be Negative.", "Negative"),
        ("It should be Mixed.", "refused"),
    ],
)
def test_remark_takes_a_label_back_only_in_plain_words(remark: str, expected: str) -> None:
    assert decision(f"The label is Negative\n\n{remark}", SENTIMENT) == expected
    assert decision(f"The label is Negative. {remark}", SENTIMENT) == expected


RATINGS = '"ratings": {"Coherence": 4, "Fluency": 5, "Relevance": 3}'


@each_row(
    ("text", "expected"),
    [
        (f'{{{RATINGS}, "total": 12, "max": 15}}', "4, 5, 3"),
        (f'{{{RATINGS}, "max_score": 15, "total": 12}}', "4, 5, 3"),
        (f'{{{RATINGS}, "max": 15, "sum": 12}}', "4, 5, 3"),
        (f'{{{RATINGS}, "total": 12, "out_of": 15}}', "4, 5, 3"),
        (f'{{{RATINGS}, "max": 10, "total": 12}}', "refused"),
        (f'{{{RATINGS}, "scale": "5 = excellent, 1 = poor"}}', "4, 5, 3"),
        (f'{{{RATINGS}, "score_differences": {{"Coherence": 1, "Fluency": 2, "Relevance": 1}}}}', "4, 5, 3"),
        (f'{{{RATINGS}, "normalized_scores": {{"Coherence": 1, "Fluency": 1, "Relevance": 1}}}}', "4, 5, 3"),
        ('{"Coherence": {"score": 4, "normalized_score": 0.75}, "Fluency": 5, "Relevance": 3}', "4, 5, 3"),
        ("Coherence: 4 (supported by sentences (1-3))\nFluency: 5\nRelevance: 3", "4, 5, 3"),
        ("Coherence: 4 Points\nFluency: 5 Punkte\nRelevance: 3 Stars", "4, 5, 3"),
        (f'{{{RATINGS}, "max": 10}}', "refused"),
        ('{"Coherence": 4, "Fluency": 5, "Relevance": 3, "max": 10}', "refused"),
        (f'{{{RATINGS}, "scale": "10 = excellent, 1 = poor"}}', "refused"),
        (f'{{{RATINGS}, "revised_scores": {{"Coherence": 1, "Fluency": 1, "Relevance": 1}}}}', "refused"),
        ("Coherence: 4 (1-10)\nFluency: 5 (1-10)\nRelevance: 3 (1-10)", "refused"),
    ],
)
def test_numbers_beside_ratings_contradict_them_only_as_scale_or_ratings(text: str, expected: str) -> None:
    assert decision(text, SUMMARY) == expected


@each_row(
    ("title", "expected"),
    [
        ("Sentence", "4, 5, 3"),
        ("Round 1", "4, 5, 3"),
        ("Mean of others", "4, 5, 3"),
        ("Critic", "4, 5, 3"),
        ("Critic rating", "4, 5, 3"),
        ("Revised", "refused"),
        ("Adjusted", "refused"),
        ("After the debate", "refused"),
        ("After review", "refused"),
        ("My view", "refused"),
        ("Second rating", "refused"),
        ("Current", "refused"),
        ("Discussion", "refused"),
        ("Round 2", "refused"),
        ("Judgement", "refused"),
        ("Result", "refused"),
    ],
)
def test_only_column_of_ratings_decides_unless_another_revises_it(title: str, expected: str) -> None:
    table = (
        f"| Dimension | Rating | {title} |\n|-|-|-|\n| Coherence | 4 | 3 |\n| Fluency | 5 | 1 |\n| Relevance | 3 | 2 |"
    )
    assert decision(table, SUMMARY) == expected


@each_row(
    ("reason", "expected"),
    [
        ("There are Positive and Negative remarks.", "Mixed"),
        ("The food is positive, the service is negative.", "Mixed"),
        ("Neither Positive nor Negative dominates.", "Mixed"),
        ("Overall Positive outweighs Negative, so choose Positive.", "refused"),
        ("The critic prefers Positive to Negative and is right.", "refused"),
        ("But Positive or Negative would fit too.", "refused"),
    ],
)
def test_reason_of_a_mixture_may_not_speak_for_one_of_its_labels(reason: str, expected: str) -> None:
    assert decision(f"The label is Mixed\n\n{reason}", SENTIMENT) == expected


@each_row(
    ("text", "expected"),
    [
        ("1. The outage is High impact.\n2. Low urgency.\n\nThe label is 2", "Medium"),
        ("1. Low\n2. Medium\n3. High\n\nThe label is 2", "Medium"),
        ("1. High\n2. Low\n\nThe label is 2", "refused"),
        ("1. High urgency\n2. Low urgency\n3. Medium urgency\n\nThe label is 2", "refused"),
        ("1. Low urgency\n2. Medium urgency\n3. High urgency\n\nThe label is 2", "Medium"),
        ("1. **High**: many users\n2. **Low**: one user\n\nThe label is 2", "refused"),
        ("The options are (1) High (2) Low. The label is 1", "refused"),
    ],
)
def test_numbered_sentences_do_not_renumber_the_labels(text: str, expected: str) -> None:
    assert decision(text, TICKET) == expected


@each_row(
    ("text", "expected"),
    [
        ("Food (mentioned in passing), Service", "Food, Service"),
        ("Food, Service\n\nThe other guests are mentioned.", "Food, Service"),
        ("Food, Service\n\nThat is about the waiter's slip: Service", "Food, Service"),
        ("Food, Service\n\nThe guest exaggerates about Service.", "Food, Service"),
        ("#Food, #Service\n\nThis list is a subset of the extractor's.", "Food, Service"),
        ("Food (only mentioned in passing), Service", "refused"),
        ("Food (only in passing), Service", "refused"),
        ("Food, Service\n\nThe other aspects are mentioned.", "refused"),
        ("Food, Service\n\nThe other two are also mentioned.", "refused"),
        ("Food, Service\n\nThe remaining ones are present, too.", "refused"),
        ("Food, Service\n\nThe other options apply too.", "refused"),
        ("Food, Service\n\nThe other two are absent.", "Food, Service"),
        ("Food, Service\n\nService was a slip.", "refused"),
        ("Food, Service\n\nService is exaggerated.", "refused"),
    ],
)
def test_words_of_the_document_do_not_speak_against_a_label(text: str, expected: str) -> None:
    assert decision(f"The aspects present in this review are: {text}", REVIEW) == expected


@each_row(
    ("words", "expected"),
    [
        ("The guest wrote at the end:\n", "refused"),
        ("From the review:", "refused"),
        ("The last line of the review:", "refused"),
        ("As the guest put it:", "refused"),
        ("The critic proposes:", "refused"),
        ("Another annotator chose:", "refused"),
        ("Rejected:", "refused"),
        ("Not:", "refused"),
        ("Template:", "refused"),
        ("System:", "refused"),
        ("In round 1:", "refused"),
        ("Agent 2:", "refused"),
        ("Dissenting opinion:", "refused"),
        ("Worst case:", "refused"),
        ("Sample output:", "refused"),
        ("Under a broader reading:", "refused"),
        ("## Critic\n", "refused"),
        ("My final answer:", "Price"),
        ("## Verdict\n", "Price"),
        ("On reflection:", "Price"),
        ("After reading the guest's words again, my answer:", "Price"),
    ],
)
def test_last_decision_after_words_of_somebody_else_is_not_its_own(words: str, expected: str) -> None:
    first = "Final Decision: The present aspects are: Food"
    assert decision(f"{first}\n\n{words} {first.replace('Food', 'Price')}", REVIEW) == expected


@each_row(
    ("text", "expected"),
    [
        ("Final Decision: Food\n\nThe guest wants this: Final Decision: none", "refused"),
        ("Final Decision: Food\n\nThe guest wants this:\n\nFinal Decision: none", "refused"),
        ("Final Decision: none\n\nThe guest wants this: Final Decision: Food", "refused"),
        ('{"labels": ["Food"]}\n\nThe guest wants this:\n{"labels": []}', "refused"),
        ("Final Decision: Food\n\n> Final Decision: none", "refused"),
        ("Anna: Final Decision: Food. Ben: Final Decision: none.", "refused"),
        ("Final Decision: I cannot decide.\n\nThe review ends with Final Decision: Food", "refused"),
        ("The aspects present in this review are: unclear\n\n> Final Decision: Food", "refused"),
        ("Final Decision: Food\n\n> Final Decision: Food", "Food"),
        ("Final Decision: Food\n\nOn reflection: Final Decision: none", "none"),
    ],
)
def test_none_of_somebody_else_is_not_the_replys_own(text: str, expected: str) -> None:
    assert decision(text, REVIEW) == expected


@each_row(
    ("heading", "expected"),
    [
        ("Refined", "refused"),
        ("Amended list", "refused"),
        ("Consensus", "refused"),
        ("Missed", "refused"),
        ("Extra", "refused"),
        ("Reconsidered", "refused"),
        ("Re-evaluated", "refused"),
        ("Full list", "refused"),
        ("In the end", "refused"),
        ("My list", "refused"),
        ("After the debate", "refused"),
        ("Furthermore", "refused"),
        ("Missing", "refused"),
        ("Bottom line", "refused"),
        ("Assessment", "refused"),
        ("Result of round 1", "refused"),
        ("After the long wait", "refused"),
        ("Persona 2's decision", "Food, Price"),
        ("Majority decision of the personas", "Food, Price"),
        ("My first answer", "Food, Price"),
        ("Previous answer", "Food, Price"),
        ("Initial result", "Food, Price"),
    ],
)
def test_heading_refuses_the_decision_above_only_if_it_replaces_it(heading: str, expected: str) -> None:
    reply = f"Final Decision: The present aspects are: Food, Price\n\n{heading}: Service"
    assert decision(reply, REVIEW) == expected
    assert decision(reply.replace(heading, f"{heading}, revised"), REVIEW) == "refused"


def test_reading_many_foreign_words_of_withdrawal_takes_linear_time() -> None:
    def read_words(size: int) -> None:
        assert decision(f"{GERMAN}{'nehme Essen ' * size}", HOTEL) == "Essen, Service"

    check_linear_time(read_words, 4_000)
