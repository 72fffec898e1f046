# ruff: noqa: E501
"""Tests of the reply parser with replies written to be misread: each is read correctly or left unresolved."""

from __future__ import annotations

from core.codebook import Codebook, parse_codebook
from core.debate.reading.parse import read
from tests.each_row import each_row

HOTEL = parse_codebook(
    {
        "kind": "multilabel",
        "unit": "hotel review",
        "labels": [{"name": name} for name in ("Cleanliness", "Service", "Price", "Location", "Food")],
    }
)
STANCE = parse_codebook(
    {
        "kind": "choice",
        "unit": "sentence",
        "labels": [{"name": name, "code": code} for code, name in enumerate(("Dovish", "Hawkish", "Neutral"))],
    }
)


def decided(text: str, codebook: Codebook) -> str | None:
    """Return the names that are read, sorted, or None if any part of the reply is unresolved."""
    if codebook.kind == "choice":
        item = read(text, codebook).values.get("label")
        return codebook.label(str(item)).name if item is not None else None
    result = read(text, codebook)
    if result.problem or result.undecided:
        return None
    return ", ".join(sorted(codebook.label(item).name for item in result.present)) or "none"


HOTEL_READ = [
    ("The extractor listed Food and Service. I agree with Food only.\n\nFinal Decision: Food", ("Food",)),
    ("Extractor: Food, Service\nCritic: Service is not there\nJudge: Final Decision: Food", ("Food",)),
    ('The critic wrote: "Final Decision: Service". I disagree.\nFinal Decision: Food', ("Food",)),
    ("Final Decision: Food\n\nOn second look:\n\nFinal Decision: Service, Price", ("Price, Service",)),
    ("Round 1: Food\nRound 2: Food, Price\nFinal Decision: Price", ("Price",)),
    (
        "| Aspect | Yes/No |\n|---|---|\n| Food | Yes |\n| Service | No |\n| Price | No |\n| Location | Yes |\n| Cleanliness | No |",
        ("Food, Location",),
    ),
    ("Food ✓, Service ✗, Price ✗, Location ✓, Cleanliness ✗", ("Food, Location",)),
    ("☑ Food ☐ Service ☐ Price ☑ Location ☐ Cleanliness", ("Food, Location",)),
    ("Final Decision: Food, ~~Service~~, Location", ("Food, Location",)),
    ("Labels: Food, ~~Service, Price~~, Location", ("Food, Location",)),
    (
        '{"Food": {"present": true, "confidence": 0.9}, "Service": {"present": false, "confidence": 0.7}, "Price": {"present": false}, "Location": {"present": false}, "Cleanliness": {"present": false}}',
        ("Food",),
    ),
    (
        'You asked: End with a line "Final Decision: Food, Service". Here is my answer.\nFinal Decision: Price',
        ("Price",),
    ),
    ("<think>hm</think>\n\nFinal Decision: Food", ("Food",)),
    ("Thinking: The guest speaks of Service.\nAnswer: Food", ("Food",)),
    ("Food: present\nService: absent\nPrice: absent\nLocation: absent\nCleanliness: absent", ("Food",)),
    ("After weighing the critic's points, I conclude:\nFinal Decision: Food", ("Food",)),
    ("Here is my answer in the requested format:\nFinal Decision: Food", ("Food",)),
    ("Food: TRUE\nService: FALSE\nPrice: FALSE\nLocation: FALSE\nCleanliness: FALSE", ("Food",)),
    ("Food: Y\nService: N\nPrice: N\nLocation: N\nCleanliness: N", ("Food",)),
    ("Food = yes; Service = no; Price = no; Location = no; Cleanliness = no", ("Food",)),
    (
        "**Food** — Present\n**Service** — Absent\n**Price** — Absent\n**Location** — Absent\n**Cleanliness** — Absent",
        ("Food",),
    ),
    ("Food present, Service absent, Price absent, Location absent, Cleanliness absent", ("Food",)),
    ("labels:\n  - Food\n  - Price", ("Food, Price",)),
    ("present:\n  - Food\nabsent:\n  - Price\n  - Service\n  - Location\n  - Cleanliness", ("Food",)),
    ("```yaml\nFood: true\nService: false\nPrice: false\nLocation: false\nCleanliness: false\n```", ("Food",)),
    ('{"labels": []}', ("none",)),
]
"""Replies on several labels that must be read."""

HOTEL_HARD = [
    ("Final Decision: Food and possibly Service", ("Food",)),
    ("Final Decision: Food, Service (arguably), Price", ()),
    ("The aspects present are Food and, to some extent, Location.", ()),
    ("Food: yes\nService: kind of\nPrice: no\nLocation: no\nCleanliness: no", ()),
    ("Final Decision: Food. I could also see Service being argued.", ()),
    ("As the extractor put it, the aspects present are Food and Price.", ()),
    ("> Final Decision: Food\n\nI do not agree with the quoted line.", ()),
    ("Draft: Food, Service\nFinal: Food", ("Food",)),
    (
        "| Aspect | Yes | No |\n|---|---|---|\n| Food | X | |\n| Service | | X |\n| Price | | X |\n| Location | X | |\n| Cleanliness | | X |",
        ("Food, Location",),
    ),
    (
        "| | Food | Service | Price | Location | Cleanliness |\n|-|-|-|-|-|-|\n| Present | yes | no | no | yes | no |",
        ("Food, Location",),
    ),
    ("Aspect\tPresent\nFood\tyes\nService\tno\nPrice\tno\nLocation\tyes\nCleanliness\tno", ("Food, Location",)),
    ("Aspect,Present\nFood,1\nService,0\nPrice,0\nLocation,1\nCleanliness,0", ("Food, Location",)),
    (
        "| Aspect | Extractor | Critic | Final |\n|-|-|-|-|\n| Food | yes | no | yes |\n| Service | yes | no | no |\n| Price | no | no | no |\n| Location | no | yes | no |\n| Cleanliness | no | no | no |",
        ("Food",),
    ),
    (
        "| Aspect | Sentiment |\n|-|-|\n| Food | positive |\n| Service | negative |\n| Price | none |\n| Location | none |\n| Cleanliness | none |",
        ("Food, Service",),
    ),
    ("✔️ Food\n✖️ Service\n✖️ Price\n✔️ Location\n✖️ Cleanliness", ("Food, Location",)),
    ("👍 Food, Location\n👎 Service, Price, Cleanliness", ("Food, Location",)),
    ("(x) Food\n( ) Service\n( ) Price\n(x) Location\n( ) Cleanliness", ("Food, Location",)),
    ("Final Decision: Food, <s>Service</s>, Location", ("Food, Location",)),
    ("Final Decision: Food, <del>Service</del>, Location", ("Food, Location",)),
    ("Entscheidung: Food und Location", ("Food, Location",)),
    ("Vorhanden sind Food und Location; Service fehlt.", ("Food, Location",)),
    ("Los aspectos presentes son: Food y Location, pero no Service", ("Food, Location",)),
    ("最终决定：Food、Location。Service 未提及。", ("Food, Location",)),
    ("Decisione finale: Food e Location, ma non Service", ("Food, Location",)),
    ("Decisión final: Food, Location, excepto Service", ("Food, Location",)),
    ("Décision finale : tous sauf Food", ("Cleanliness, Location, Price, Service",)),
    ("Endgültige Entscheidung: Food, nicht Service", ("Food",)),
    ("Endgültige Entscheidung: alle außer Food", ("Cleanliness, Location, Price, Service",)),
    (
        '{"Food": true, // praised\n "Service": false, "Price": false, "Location": false, "Cleanliness": false}',
        ("Food",),
    ),
    ('{\n  // my decision\n  "labels": ["Food"] /* only this */\n}', ("Food",)),
    ('{"labels": ["Food", /* "Service", */ "Price"]}', ("Food, Price",)),
    ('{"labels": ["Food", // "Service"\n "Price"]}', ("Food, Price",)),
    ('{"labels": ["Food"], "rejected_labels": ["Service"]}', ("Food",)),
    ('{"labels": ["Food", "Service"], "removed": ["Service"]}', ("Food",)),
    ('[{"aspect": "Food", "present": true}, {"aspect": "Service", "present": false}]', ("Food",)),
    ('{"labels": [{"label": "Food", "polarity": "absent"}]}', ()),
    (
        '{"decision": {"Food": "keep", "Service": "reject", "Price": "reject", "Location": "keep", "Cleanliness": "reject"}}',
        ("Food, Location",),
    ),
    ("Final Decision: <names of the present aspects, separated by commas, or none>", ()),
    ("Final Decision: [list of aspects]", ()),
    ("The allowed names are: Cleanliness, Service, Price, Location, Food", ()),
    ("Labels: Cleanliness, Service, Price, Location, Food\n\nText: The soup was cold.\n\nFinal Decision:", ()),
    ("Example: Final Decision: Food, Service", ()),
    ("Use this form:\nFinal Decision: Food, Service", ()),
    ("Possible labels: Food, Service, Price", ()),
    ("Available aspects: Food, Service, Price.", ()),
    ("<think>Final Decision: Food\nmaybe Service", ()),
    (
        "<|channel|>analysis<|message|>Final Decision: Food, Service?<|end|><|start|>assistant<|channel|>final<|message|>Final Decision: Food",
        ("Food",),
    ),
    ("<reasoning>Final Decision: Service</reasoning>\nFood", ("Food",)),
    ('{"Food": true}', ("Food",)),
    ("Food: present", ("Food",)),
    ("No aspects other than Food.", ("Food",)),
    ("Final Decision: none other than Food", ("Food",)),
    ("Final Decision: not only Food but also Service", ("Food, Service",)),
    ("Final Decision: neither Food nor Service", ("none",)),
    ("Final Decision: everything", ("Cleanliness, Food, Location, Price, Service",)),
    ("Final Decision: all five aspects", ("Cleanliness, Food, Location, Price, Service",)),
    ("Final Decision: Food (Service is merged into Food)", ("Food",)),
    ("Final Decision: Food > Service", ()),
    ("Final Decision: Food vs. Service", ()),
    ("Final Decision: Food → Service", ()),
    ("Final Decision: Food 90%, Service 10%", ()),
    ("Final Decision: Food=0.9; Service=0.1", ()),
    ("Final Decision: FoodService", ()),
    ("Final Decision: Food;Service;", ("Food, Service",)),
    ("Final Decision: Food\n\nReason for leaving out Service: not named.", ("Food",)),
    ("Remove Food, add Service.", ()),
    ("Changes: Food -> absent, Service -> present", ()),
    ("The critic says:\nFinal Decision: Service\n\nI will answer later.", ()),
    ("Final Decision: Food and Service, although Service is borderline", ()),
    ("Final Decision: Food (and Service in a way)", ()),
    ("Final Decision: Food / Service?", ()),
    ("Final Decision: Food, etc.", ()),
    ("Final Decision: Food, ...", ("Food",)),
    ("Final Decision: Food, Service, and others", ()),
    ("Final Decision: Food but less so Service", ()),
    ("Final Decision: mainly Food, partially Service", ()),
    ("Final Decision: Food over Service", ()),
    ("Final Decision: Food instead of Service", ("Food",)),
    ("Final Decision: Food (not Service)", ("Food",)),
    ("Final Decision: Food [Service was rejected by the critic]", ("Food",)),
    ("Final Decision: ~~Food, Service~~ none", ("none",)),
    ("Final Decision: -Food, +Service", ("Service",)),
    ("Final Decision: !Food, Service", ("Service",)),
    ("Final Decision: ¬Food, Service", ("Service",)),
    ("Final Decision: no Food, Service", ("Service",)),
    ("Final Decision: non-Food, Service", ("Service",)),
    ("Final Decision: Food-related Service", ()),
    ("Final Decision: Food: 0, Service: 1", ("Service",)),
    ("Final Decision: Food: weak, Service: strong", ()),
    ("Final Decision: Food: low confidence", ("Food",)),
    (
        "Is Food present? Yes.\nIs Service present? No.\nIs Price present? No.\nIs Location present? No.\nIs Cleanliness present? No.",
        ("Food",),
    ),
    ("Q: Is Food present?\nA: No\nQ: Is Service present?\nA: Yes", ()),
    ("Only Food.", ("Food",)),
    ("Food only", ("Food",)),
    ("Just Food; the others are absent.", ("Food",)),
    ("I would drop Food from the list Food, Service.", ()),
    ("The list Food, Service is wrong.", ()),
    ("Not Food", ("none",)),
    ("Neither.", ("none",)),
    ("All of them.", ("Cleanliness, Food, Location, Price, Service",)),
    ("All except Food.", ("Cleanliness, Location, Price, Service",)),
    ("Both Food and Service apply.", ("Food, Service",)),
    ("Neither Food nor Service apply.", ("none",)),
    ("Final Decision: Food\nConfidence: low\nAlternative: Service", ("Food",)),
    ("Final Decision: Food\n\nRunner-up: Service", ("Food",)),
    ("Final Decision: Food\nRejected: Service, Price", ("Food",)),
    ("Final Decision: Food\n+ Service", ("Food, Service",)),
    ("Final Decision: Food\nP.S. Service too.", ("Food, Service",)),
    ("Final Decision: Food\n\nEdit: Service, not Food", ("Service",)),
    ("Final Decision: Food\n\nUPDATE: Final Decision: Service", ("Service",)),
    ("Final Decision: Food. Scratch that. Service.", ("Service",)),
    ("Final Decision: Food... no, Service", ("Service",)),
    ("Final Decision: Food — sorry, Service", ("Service",)),
    ("Final Decision: Food, I mean Service", ("Service",)),
    (
        "Final Decision:\n| Present | Absent |\n|---|---|\n| Food | Service |\n| Price | Location |\n| | Cleanliness |",
        ("Food, Price",),
    ),
    ("| Food | Service | Price | Location | Cleanliness |\n|-|-|-|-|-|\n| 1 | 0 | 0 | 0 | 0 |", ("Food",)),
    ("Food,Service,Price,Location,Cleanliness\n1,0,0,0,0", ("Food",)),
    ("<answer>\n<Food>yes</Food>\n<Service>no</Service>\n</answer>", ("Food",)),
    ("<labels><label>Food</label><label>Price</label></labels>", ("Food, Price",)),
    ('{"labels": ["Food"]} // I am not sure about Service', ("Food",)),
    ('{"labels": ["Food"], "maybe": ["Service"]}', ("Food",)),
    ('{"labels": [{"label": "Food", "present": "false"}, {"label": "Service", "present": "true"}]}', ("Service",)),
    ('{"labels": ["not Food", "Service"]}', ("Service",)),
    ('{"labels": ["~~Food~~", "Service"]}', ("Service",)),
    ('{"labels": "all"}', ("Cleanliness, Food, Location, Price, Service",)),
    ('{"draft": {"labels": ["Service"]}, "final": {"labels": ["Food"]}}', ("Food",)),
    ('{"labels": [{"label": "Food", "score": 0}, {"label": "Service", "score": 1}]}', ("Service",)),
    ('{"labels": [{"label": "Food", "confidence": 0.01}]}', ("Food",)),
    ('{"labels": {"present": ["Food"], "absent": ["Service"]}}', ("Food",)),
    ('{"labels": null}', ()),
    ('{"labels": ["Food"], "error": "I cannot decide"}', ("Food",)),
]
"""Replies on several labels with the allowed readings; leaving the reply unresolved is allowed too."""

STANCE_READ = [
    ('{"label": "Hawkish", "alternatives": ["Neutral"]}', ("Hawkish",)),
    ('{"rejected": "Hawkish", "label": "Dovish"}', ("Dovish",)),
    ("Options: Dovish, Hawkish, Neutral\nAnswer: Neutral", ("Neutral",)),
    ("NEUTRAL\nThis sentence states a fact.", ("Neutral",)),
    ("DOVISH - rates fall.", ("Dovish",)),
    ("标签：Neutral", ("Neutral",)),
    ("Réponse : Neutral", ("Neutral",)),
    ('{"label": "NEUTRAL", "reason": "it is not Hawkish"}', ("Neutral",)),
    ("1", ("Hawkish",)),
    ("Answer: 1", ("Hawkish",)),
]
"""Replies for one label that must be read."""

STANCE_HARD = [
    ("It's a toss-up between Dovish and Neutral, so Dovish.", ()),
    ("Probably Hawkish.", ()),
    ("Hawkish, though one might say Neutral.", ()),
    ("Dovish? Hard to tell.", ()),
    ("Mostly neutral, slightly hawkish.", ()),
    ("Annotator B chose Hawkish. Annotator C chose Neutral.", ()),
    ("Annotator 1: Hawkish\nAnnotator 2: Neutral", ()),
    ("My colleague's label is Hawkish, mine is Neutral.", ()),
    ("The other annotator's answer is Hawkish. My answer is Dovish.", ("Dovish",)),
    ("Expert 1 said the label is Dovish.", ()),
    ("Label: Hawkish\n\nAfter reconsidering:\n\nLabel: Neutral", ("Neutral",)),
    ("First answer: Dovish. Final answer: Neutral.", ("Neutral",)),
    ("1. Dovish\n2. Hawkish\n3. Neutral", ()),
    ('{"not": "Hawkish"}', ()),
    ('{"labels": ["Hawkish"], "confidence": 0.2}', ("Hawkish",)),
    ("Choose one of: Dovish, Hawkish, Neutral", ()),
    ("Label: Dovish / Hawkish / Neutral", ()),
    ("<thought>Dovish at first</thought>Neutral", ("Neutral",)),
    ("◁think▷Dovish◁/think▷Neutral", ("Neutral",)),
    ("[THINK]Dovish[/THINK]Neutral", ("Neutral",)),
    ("Okay, so the sentence says rates fall. That is dovish. But wait, maybe neutral. Hmm.", ()),
    ("The sentence is neither dovish nor hawkish; it is neutral.", ("Neutral",)),
    ("Not dovish. Not hawkish. Neutral.", ("Neutral",)),
    ("This is not hawkish.", ()),
    ("Anything but Hawkish", ()),
    ("Label: not Hawkish", ()),
    ("Label = Neutral (confidence 0.7)", ("Neutral",)),
    ("Neutral (2)", ("Neutral",)),
    ("2: Neutral", ("Neutral",)),
    ("2 - Hawkish", ()),
    ("Final Answer: \\text{Neutral}", ("Neutral",)),
    ("$\\boxed{\\text{Neutral}}$", ("Neutral",)),
    ("**Label:** Hawkish\n**Why not Neutral:** it is firm", ("Hawkish",)),
    ("Hawkish. A neutral reading would be wrong.", ("Hawkish",)),
    ("Hawkish > Neutral > Dovish", ("Hawkish",)),
    ("Hawkish/Neutral", ()),
    ("Hawkish-Neutral", ()),
    ("Somewhere between Hawkish and Neutral", ()),
    ("Hawkish (70%), Neutral (30%)", ("Hawkish",)),
    ("Hawkish: 0.7\nNeutral: 0.2\nDovish: 0.1", ("Hawkish",)),
    ("The label isn't Hawkish but Neutral.", ("Neutral",)),
    ("The label is Hawkish. Just kidding, Neutral.", ("Neutral",)),
    ("Is the label Hawkish? Yes.", ("Hawkish",)),
    ("Is the label Hawkish? No.", ()),
    ("The label would be Hawkish if the sentence spoke of rates; it does not.", ()),
    ("Hawkish is wrong.", ()),
    ("Hawkish does not fit.", ()),
    ("Neutral\n\nOn second thought: Hawkish", ("Hawkish",)),
    ("Etikett: Neutral", ("Neutral",)),
    ("Respuesta: no Hawkish, Neutral", ("Neutral",)),
    ('{"label": "not Hawkish"}', ()),
    ('{"dovish": 0.1, "hawkish": 0.8, "neutral": 0.1}', ("Hawkish",)),
    ("Label 1", ("Hawkish",)),
    ("1 or 2", ()),
    ("Score: 1", ()),
    ("1.5", ()),
]
"""Replies for one label with the allowed readings; leaving the reply unresolved is allowed too."""


@each_row(("text", "expected"), HOTEL_READ)
def test_reads_labels(text: str, expected: tuple[str, ...]) -> None:
    assert decided(text, HOTEL) in expected


@each_row(("text", "allowed"), HOTEL_HARD)
def test_never_misreads_labels(text: str, allowed: tuple[str, ...]) -> None:
    assert decided(text, HOTEL) in (None, *allowed)


@each_row(("text", "expected"), STANCE_READ)
def test_reads_a_choice(text: str, expected: tuple[str, ...]) -> None:
    assert decided(text, STANCE) in expected


@each_row(("text", "allowed"), STANCE_HARD)
def test_never_misreads_a_choice(text: str, allowed: tuple[str, ...]) -> None:
    assert decided(text, STANCE) in (None, *allowed)


def test_two_answers_in_brackets_leave_the_reply_unresolved() -> None:
    text = "Final Decision:\n- Food (present)(present)- Location (not mentioned)"
    assert decided(text, HOTEL) is None
