"""Tests of the reply parser on choice questions: common forms are read and nothing is guessed."""

from __future__ import annotations

from core.codebook import parse_codebook
from core.debate.reading.parse import read
from core.debate.turns import Reading
from tests.each_row import each_row

STANCE = parse_codebook(
    {"kind": "choice", "unit": "sentence", "labels": [{"name": name} for name in ("Hawkish", "Dovish", "Neutral")]}
)
CODED = parse_codebook(
    {"kind": "choice", "labels": [{"name": "Governing Law", "code": 3}, {"name": "License Grant", "code": 17}]}
)
LABELS = ("Hawkish", "Dovish", "Neutral")

FORMS = [
    "{x}. I do not find it {y}.",
    "{x}",
    "{X}",
    "**{X}**",
    "*{x}*.",
    "`{x}`",
    '"{x}"',
    "({x})",
    "[{x}]",
    "{x}!",
    "{X}.",
    "{X}\nThis sentence gives a date and no more.",
    "{X}\n\nThis sentence states what the committee did, without any view on rates.",
    "**{X}**\n\n- It speaks of inflation.\n- It says that rates rose.",
    "{X}\nThis sentence is neither {y} nor {z}, but rather {x}.",
    "{X}\nThe sentence does not express a {y} or {z} stance.",
    "{X} - because rates may rise",
    "{X} – the sentence speaks of inflation, growth and jobs.",
    "{X} — it is about rates",
    "{X}: the sentence speaks of inflation.",
    "{X}. The sentence says that rates might rise.",
    "{X}, because rates could rise",
    "{X} because it speaks of inflation",
    "{X} (confidence: 0.8)",
    "Label: {x}",
    "Label: {x}, confidence 0.8",
    "Label: {X}\nConfidence: 0.8\nReason: it speaks of rates.",
    "Label: {x}; Confidence: high; Reason: rates rise",
    "Label: {x} | Confidence: 0.9",
    "**Label:** {x}",
    "Label: {x} (0.9)",
    "Answer: {x}",
    "**Answer**: {x}\n\nThe sentence speaks of rates.",
    "Classification: {X}",
    "Stance: {X}",
    "Sentiment: {x}",
    "Final answer: {x}",
    "Final Decision: {x}",
    "Predicted label: {x}",
    "Category: {x}",
    "Let me think. It speaks of rates.\n\nAnswer: {x}",
    "Let me think. A {y} reading is possible too.\n\n**{X}**",
    "The sentence speaks of rates, which may rise. So:\n\n{X}",
    "\\boxed{{{x}}}",
    "The answer is \\boxed{{\\text{{{x}}}}}.",
    "Rates rise. $\\boxed{{{X}}}$",
    "Therefore, the answer is {x}.",
    "Rates rise. Therefore, the answer is **{x}**.",
    "I choose {x}.",
    "I would choose {x}.",
    "I would classify this sentence as {x}.",
    "I'd go with {x}.",
    "The most appropriate label is {x}.",
    "The best label for this sentence is {x}.",
    "The correct answer is: {x}",
    "The label is {x}",
    "My answer is {x}.",
    "The sentence is {x}.",
    "This sentence is {x}.",
    "The sentence is {x} because it speaks of inflation.",
    "This sentence is best classified as {x}.",
    "The sentence can be classified as **{X}**.",
    "The answer is {x} rather than {y}.",
    "{X} rather than {y}",
    "{X}, not {y}.",
    "Not {y} but {x}.",
    "Neither {y} nor {z} but {x}.",
    "The label is not {y} but {x}.",
    "I choose {x} over {y}.",
    "The label is {x}, not {y} or {z}.",
    '{{"label": "{x}"}}',
    '{{"label": "{X}", "confidence": 0.8, "reason": "it is not {y}"}}',
    '```json\n{{"label": "{x}"}}\n```',
    "{{'label': '{x}', 'confidence': 0.8}}",
    '{{"classification": "{X}"}}',
    '{{"{x}": true, "{y}": false, "{z}": false}}',
    "{X}: yes\n{Y}: no\n{Z}: no",
    "- [x] {X}\n- [ ] {Y}\n- [ ] {Z}",
    "| Label | Decision |\n|-|-|\n| {X} | yes |\n| {Y} | no |\n| {Z} | no |",
    "<think>It is {y}.</think>\n{X}",
    "Antwort: {x}",
    "Réponse : {x}",
    "Respuesta: {x}",
    "答案：{x}",
    "Endgültige Entscheidung: {x}",
]

NEVER = [
    "{x} or {y}",
    "{x}, and I find it {y}",
    "{x}, ({y})",
    "The label is {x}. I would call it {y}.",
    "```\nThe label is {x}\n```\nis what the text tries to inject.",
    "{X} or {y}, hard to say.",
    "{X}/{Y}",
    "{X}, {Y}",
    "{x} and {y}",
    "either {x} or {y}",
    "{x}?",
    "Is the sentence {x}?",
    "Would {x} be right?",
    "It is not clear, but I lean to {x}.",
    "Not clear, but I lean to {x}",
    "Annotator A says {x}.",
    "Annotator A says the label is {x}.",
    "The critic's answer is {x}.",
    "According to the critic, the label is {x}.",
    'The other annotator wrote "the label is {x}".',
    '"Label: {x}" is what the critic would write.',
    "If rates rise, the label is {x}.",
    "The label is not {x}.",
    "The label is a not {y} but {x} person.",
    "Not {x}.",
    "Neither {x} nor {y}.",
    "I would not choose {x}.",
    "{X} - but I am not sure.",
    "{X}, though {y} fits better.",
    "{X}\nActually, it is {y}.",
    "{X}\nOn reflection, {y} is the better label.",
    "{X}\n{Y}",
    "Label: {x}\nLabel: {y}",
    "Maybe {x}.",
    "Perhaps {x}",
    "Probably {x}, I think",
    "The sentence may be {x}.",
    "The sentence could be {x} or {y}.",
    "It is {x}, I think.",
    "The options are {x}, {y} and {z}.",
    "Some would say {x}, others {y}.",
    "The label is {x} or {y}.",
    "The label is {x}? Hard to say.",
    "The sentence mentions {x} policy makers.",
    "{X}ish",
    "{x} leaning",
    "The label is somewhat {x}.",
    "Options:\n- {x}\n- {y}\n- {z}",
    '{{"label": "{x}", "label": "{y}"}}',
    '{{"label": ["{x}", "{y}"]}}',
    '{{"label": "{x} or {y}"}}',
    '{{"{x}": 0.6, "{y}": 0.4}}',
    "{X}: yes\n{Y}: yes\n{Z}: no",
    "{X}: no\n{Y}: no\n{Z}: no",
    "I'm unable to decide between {x} and {y}.",
    "It depends.",
]


def fill(form: str, x: str) -> str:
    y, z = (name for name in LABELS if name != x)
    lower = {"x": x.lower(), "y": y.lower(), "z": z.lower()}
    return form.format(**lower, X=x.upper(), Y=y.upper(), Z=z.upper())


def chosen(reading: Reading) -> str:
    assert reading.problem == ""
    return STANCE.label(str(reading.values["label"])).name


@each_row("form", FORMS)
def test_common_forms_are_read(form: str) -> None:
    for label in LABELS:
        text = fill(form, label)
        assert chosen(read(text, STANCE)) == label, text


@each_row("form", NEVER)
def test_reply_without_a_decision_is_never_a_label(form: str) -> None:
    for label in LABELS:
        reading = read(fill(form, label), STANCE)
        assert not reading.values
        assert reading.problem


@each_row(
    "text",
    [
        *("3", "3.", "Label: 3", "3 - it names a court", "Code: 3", "3: Governing Law", "Governing Law (3)", "[3]"),
        *("The label is '3: Governing Law'.", "The label is ‘3. Governing Law’", "The label is [3: Governing Law]."),
    ],
)
def test_label_codes_are_read(text: str) -> None:
    assert read(text, CODED).values == {"label": CODED.labels[0].id}


@each_row("text", ["17 (Governing Law)", "3 of the clauses are about courts.", "It is 3.", "3 or 17", "99", "3.5"])
def test_numbers_other_than_codes_are_not_read(text: str) -> None:
    assert not read(text, CODED).values


SUPPORT = parse_codebook(
    {"kind": "choice", "labels": [{"name": name} for name in ("Support", "Support with conditions", "Oppose")]}
)


@each_row(
    ("reply", "expected"),
    [
        ("The label is Support (with conditions)", None),
        ("Support, with some conditions", None),
        ("The label is Support with", None),
        ("The label is Support with conditions rather than Support", "Support with conditions"),
        ("The label is Support because the conditions are met", "Support"),
        ("Support, with thanks to the board", "Support"),
    ],
)
def test_words_of_a_longer_name_after_a_name_are_not_ignored(reply: str, expected: str | None) -> None:
    item = read(reply, SUPPORT).values.get("label")
    assert (item and SUPPORT.label(str(item)).name) == expected


@each_row(
    "reply",
    [
        # Further announcements are read.
        "It is best classified as Dovish.",
        "最终标签：Dovish",
        "这句话的标签是Dovish。",
        "Etichetta: Dovish",
        "Метка: Dovish",
        # Label after questions struck names and adverbs is read.
        "Hawkish? No.\nNeutral? No.\nDovish? Yes.",
        "The label is ~~Hawkish~~ Dovish",
        "The label is certainly Dovish.",
        "The label is indeed Dovish.",
    ],
)
def test_label_in_further_words_is_read(reply: str) -> None:
    item = read(reply, STANCE).values["label"]
    assert STANCE.label(str(item)).name == "Dovish"
