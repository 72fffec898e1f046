"""Tests of quotes in replies and their positions in the document."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.codebook import Codebook, parse_codebook
from core.debate import quote_location
from core.debate.quote_location import Haystack, locate_evidence
from core.debate.reading.normalise import fold
from core.debate.reading.parse import read
from core.debate.reading.quotation_marks import double_quoted, single_quoted
from tests.each_row import each_row
from tests.linear_time import check_linear_time

NAMES = ("Cleanliness", "Service", "Price", "Location", "Food", "Food and drinks")
HOTEL = parse_codebook({"unit": "hotel review", "labels": [{"name": name} for name in NAMES]})
CLAUSES = parse_codebook(
    {"kind": "choice", "labels": [{"name": "Governing Law", "code": 3}, {"name": "License Grant", "code": 17}]}
)


def test_accents_and_primes_as_quotation_marks_are_the_plain_ones() -> None:
    haystack = Haystack({"text": "I don´t like it. The screen is 5″ wide, 6´ away."})
    for quote in ("don't like", '5" wide', "6' away"):
        assert haystack.locate(quote)[3] == "fuzzy", quote


def quotes_by_label(text: str, codebook: Codebook = HOTEL) -> list[tuple[str, str]]:
    names = {label.id: label.name for label in codebook.labels}
    chosen = read(text, codebook).values.get("label")
    return [
        (names.get(evidence.item, evidence.item), evidence.quote)
        for evidence in locate_evidence(text, codebook, {}, chosen)
    ]


def test_decision_line_is_not_evidence() -> None:
    text = (
        'The aspects present in this review are: "Service", "Food".\n'
        '"lost"\n'
        '- #Service: "kind"\n'
        'Undecided: #Price "x"\n'
        '#Food: "eggs". Final Decision: The present aspects are: Food ("eggs, too")\n'
    )
    assert quotes_by_label(text) == [("Service", "kind"), ("Food", "eggs")]


@each_row(
    "text",
    [
        'Final Decision:\n- Service: "kind"\n- Food: "eggs", cold',
        '| Evidence | Aspect |\n|---|---|\n| "kind" | Service |\n| "eggs" | Food |',
        '| Aspect | Evidence |\n|---|---|\n| Service | "kind" |\n| Food | "eggs" |',
        "- #Service: 「kind」\n- #Food: 『eggs』",
    ],
)
def test_quotes_in_bullets_tables_and_corner_brackets_belong_to_their_label(text: str) -> None:
    assert quotes_by_label(text) == [("Service", "kind"), ("Food", "eggs")]


@each_row(
    ("text", "expected"),
    [
        # Thinking is not evidence, and a row without a label continues the one above.
        ('<think>#Food: "eggs"</think>#Food: "toast"', [("Food", "toast")]),
        (
            '| Service | "kind" |\n| | "quick" |\n| Food | "eggs" |',
            [("Service", "kind"), ("Service", "quick"), ("Food", "eggs")],
        ),
        # Quotations are assigned to labels.
        # The extractor's form in the ECJ paper and variants written by models.
        ('- #Service: "The staff was friendly."', [("Service", "The staff was friendly.")]),
        ("- **Service**: “friendly staff”, «gentil»", [("Service", "friendly staff"), ("Service", "gentil")]),
        ("1. Service - 'friendly staff', and they're quick", [("Service", "friendly staff")]),
        ('* Service (staff): "friendly," they say', [("Service", "friendly,")]),
        ('#Food: "eggs" and "cold toast ..."', [("Food", "eggs"), ("Food", "cold toast ...")]),
        ("#Food: „kaltes Essen“", [("Food", "kaltes Essen")]),
        ('"Service": "friendly staff"', [("Service", "friendly staff")]),
        # A marked label takes precedence over a word that is also the name of a label.
        ('- #Cleanliness: the food corner was "spotless"', [("Cleanliness", "spotless")]),
        ('- Unlike "Food", "Location" is "central"', [("Location", "central")]),
        ('- the service, "quick and kind", was praised', [("Service", "quick and kind")]),
        # A quote may stand before the label that it speaks for.
        ('"Good eggs" speak for #Food, "soft bed" for none', [("Food", "Good eggs")]),
        ('- "great soup" supports Food', [("Food", "great soup")]),
        (
            '- "great soup" supports Food\n- "friendly staff" supports Service\n\nThat is all.',
            [("Food", "great soup"), ("Service", "friendly staff")],
        ),
        ('"great soup" and "good eggs" clearly support #Food.', [("Food", "great soup"), ("Food", "good eggs")]),
        ('"great soup" (Food), "friendly staff" (Service)', [("Food", "great soup"), ("Service", "friendly staff")]),
        ('1. "near the beach" -> **Location**', [("Location", "near the beach")]),
        ('#Service: "quick" - "kind" (Price not mentioned)', [("Service", "quick"), ("Service", "kind")]),
        ('#Food: "eggs" - Service: "quick"', [("Food", "eggs"), ("Service", "quick")]),
        ('#Food: "eggs" does not support Service', [("Food", "eggs")]),
        ('- #Service: "quick and kind" (food)', [("Service", "quick and kind")]),
        ('"quick and kind" (service)', [("Service", "quick and kind")]),
        # Inner quotation marks and apostrophes belong to the quote.
        ("#Price: \"a 'junior suite' for $75\"", [("Price", "a 'junior suite' for $75")]),
        ('#Price: "a "junior suite" for $75"', [("Price", 'a "junior suite" for $75')]),
        ("#Price: “it isn’t cheap, don’t go”", [("Price", "it isn’t cheap, don’t go")]),
        (
            "#Price: 'it isn't cheap', 'the guests' rooms.'",
            [("Price", "it isn't cheap"), ("Price", "the guests' rooms.")],
        ),
        ("#Price: 'great value' and 'low rates'", [("Price", "great value"), ("Price", "low rates")]),
        ("#Service: the guests' luggage wasn't lost, it's fine", []),
        ("#Service: rock 'n' roll, '90s music, the guests' choice", []),
        ('#Food: the screen is 5" wide and "bright"', [("Food", "bright")]),
        # The label is named above the quote.
        ('#Service\n"kind"\n- "quick"', [("Service", "kind"), ("Service", "quick")]),
        ('- #Service is doubtful.\n  It rests on "kind".', [("Service", "kind")]),
        ('### Food\n\n- "eggs"\n\n- "toast"', [("Food", "eggs"), ("Food", "toast")]),
        ('**Food**\n\n"eggs"\n\n**Verdict**\n\n"toast"', [("Food", "eggs")]),
        ('#Food is there.\n\n"eggs"', []),
        ('"eggs" without any label', []),
        ('#Food: no quotes, and one " that never ends', []),
        ('#Food: "" and "..." and “ ”', []),
        # A quote may continue on the next line, but not in the next bullet or paragraph.
        ('#Food: "cold\neggs"', [("Food", "cold\neggs")]),
        ('- #Food: "cold\n- #Price: "cheap"', [("Price", "cheap")]),
        ("- #Food: “cold\n- #Price: “cheap”", [("Price", "cheap")]),
        ("", []),
        # Quotations in JSON are read.
        (
            '{"labels": [{"label": "food", "quotes": ["eggs", "toast"]}, {"name": "Price", "evidence": "cheap"}]}',
            [("Food", "eggs"), ("Food", "toast"), ("Price", "cheap")],
        ),
        ('```json\n{"aspects": [{"aspect": "Food", "quotes": [{"quote": "eggs"}, 3, null]}]}\n```', [("Food", "eggs")]),
        ('{"labels": {"Food": {"quotes": ["eggs"]}, "Price": true}}', [("Food", "eggs")]),
        ('{"labels": [{"label": "Food", "support": {"quote": "eggs"}}]}', [("Food", "eggs")]),
        ('{"labels": ["Food"], "support": {"quotes": {"Food": "eggs"}}}', [("Food", "eggs")]),
        ('{"labels": ["Food"], "details": {"evidence": {"Food": ["eggs"]}}}', [("Food", "eggs")]),
        ('{"labels": [{"label": "Food", "quote": "eggs"}]}', [("Food", "eggs")]),
        ('{"Food": {"present": true, "quote": "eggs"}, "Price": {"present": false}}', [("Food", "eggs")]),
        (
            '{"present": ["Food"], "evidence": {"Food": ["eggs"], "Price": "cheap"}}',
            [("Food", "eggs"), ("Price", "cheap")],
        ),
        ('{"Food": "yes", "Price": "no"}', []),
        ('{"labels": ["Food"], "note": "#Food: \\"eggs\\""}', []),
        ('{"labels": [{"label": "Pool", "quotes": ["deep"]}]}', []),
        (
            '#Price: "cheap"\n{"labels": [{"label": "Food", "quotes": ["eggs"]}]}',
            [("Price", "cheap"), ("Food", "eggs")],
        ),
        ('{"labels": [{"label": "Food", "quotes": ["eggs"', []),
    ],
)
def test_quotations_of_text_and_json_are_assigned_to_labels(text: str, expected: list[tuple[str, str]]) -> None:
    assert quotes_by_label(text) == expected


def test_evidence_of_a_choice_is_for_the_chosen_label() -> None:
    reply = '- #License Grant: "may copy"\n- #Governing Law: "laws of Ohio"\n'
    assert quotes_by_label(reply + "The label is 17", CLAUSES) == [("label", "may copy")]
    assert quotes_by_label(reply, CLAUSES) == [("label", "may copy"), ("label", "laws of Ohio")]
    assert quotes_by_label('{"label": 3, "quotes": ["laws of Ohio"]}', CLAUSES) == [("label", "laws of Ohio")]


def test_quotations_are_storable_and_bounded() -> None:
    assert quotes_by_label('#Food: "egg\ud800s"') == [("Food", "egg\ufffds")]
    assert len(quotes_by_label("#Food: " + "".join(f'"egg {number}", ' for number in range(1000)))) == 200
    assert len(quotes_by_label(f'#Food: "{"egg " * 3000}"')[0][1]) <= 4000


REVIEW = {
    "text": "The  staff—really—were “very”\nkind. It isn't cheap: $75. Breakfast (coffee, bagels) was served.",
    "title": "Clean room, unclean bath, cleanly spot\u00adless; served ﬁne. Ｆｕｌｌ width and Straße.",
}


@each_row(
    ("quote", "field", "found", "match"),
    [
        ("kind", "text", "kind", "exact"),
        ("served", "text", "served", "exact"),  # in both: the first field counts
        ("  kind ", "text", "kind", "exact"),
        ("clean", "title", "clean", "exact"),  # the very characters, though inside a word
        ("Clean", "title", "Clean", "exact"),
        ("CLEAN", "title", "Clean", "fuzzy"),
        ("unclean", "title", "unclean", "exact"),
        ('The staff-really-were "very" kind', "text", "The  staff—really—were “very”\nkind", "fuzzy"),
        ("It isn’t cheap", "text", "It isn't cheap", "fuzzy"),
        ("*kind*.", "text", "kind.", "fuzzy"),
        ("coffee, bagels,", "text", "coffee, bagels", "fuzzy"),
        ("... was served ...", "text", "was served", "fuzzy"),
        ("was served...", "text", "was served", "fuzzy"),
        ("spotless", "title", "spot\u00adless", "fuzzy"),
        ("fine", "title", "ﬁne", "fuzzy"),
        ("full width and STRASSE", "title", "Ｆｕｌｌ width and Straße", "fuzzy"),
        ("Breakfast … was served", "text", "Breakfast (coffee, bagels) was served", "fuzzy"),
        ("Breakfast [...] served", "text", "Breakfast (coffee, bagels) was served", "fuzzy"),
        ("It isn't... bagels", "text", "It isn't cheap: $75. Breakfast (coffee, bagels", "fuzzy"),
        ("Brekfast (coffee, bagels) was", "text", "Breakfast (coffee, bagels) was", "fuzzy"),
        ("it isnt cheap: $75", "text", "It isn't cheap: $75", "fuzzy"),
    ],
)
def test_quote_is_located_exactly_or_approximately(quote: str, field: str, found: str, match: str) -> None:
    name, start, end, how = Haystack(REVIEW).locate(quote)
    assert (name, REVIEW[name][start:end], how) == (field, found, match)


@each_row(
    "quote",
    [
        "",
        "   ",
        "…",
        "\u200b",
        "not there",
        "dirty bath",
        "bagels ... Breakfast",
        "kind ... and so on for ever",
        "stuff was kind",
        "The rooms were spotless and the view was good",
        "a" * 5000,
    ],
)
def test_absent_quote_is_missing(quote: str) -> None:
    assert Haystack(REVIEW).locate(quote) == ("", -1, -1, "missing")


def test_whole_words_are_preferred() -> None:
    assert Haystack({"text": "A party with art"}).locate("art") == ("text", 13, 16, "exact")
    assert Haystack({"text": "A party with art"}).locate("ART") == ("text", 13, 16, "fuzzy")


def test_ellipsis_spans_a_limited_distance() -> None:
    fields = {"text": "It began " + "x" * 300 + " and ended. " + "y" * 900 + " later"}
    assert Haystack(fields).locate("It began ... ended")[:3] == ("text", 0, 319)
    assert Haystack(fields).locate("It began ... later")[3] == "missing"
    # Only the second "It began" is followed closely enough by "ended".
    late = {"text": "It began. " + "x" * 900 + " It began and ended"}
    assert Haystack(late).locate("It began … ended")[1] == 911


def test_short_document_does_not_match_inside_a_long_quote() -> None:
    assert Haystack({"text": "the room"}).locate("the room was nice and the bed was good")[3] == "missing"
    assert Haystack({"text": "the room was nise"}).locate("the room was nice!!") == ("text", 0, 17, "fuzzy")


def test_quote_is_missing_without_fields() -> None:
    assert Haystack({}).locate("x") == ("", -1, -1, "missing")
    assert Haystack({"text": ""}).locate("x") == ("", -1, -1, "missing")


def test_evidence_of_a_reply_is_located() -> None:
    text = (
        '- #Service: "kind", “kind”, "KIND"\n- #Food: "kind"\n- #Price: "cheep", "Cheep", "it isn’t cheap"\n'
        "Final Decision: Service"
    )
    located = locate_evidence(text, HOTEL, REVIEW)
    service, food, price = (HOTEL.find(name) for name in ("Service", "Food", "Price"))
    assert service
    assert food
    assert price
    assert [(evidence.item, evidence.quote, evidence.match) for evidence in located] == [
        (service.id, "kind", "exact"),
        (food.id, "kind", "exact"),
        (price.id, "cheep", "missing"),
        (price.id, "it isn’t cheap", "fuzzy"),
    ]
    assert [evidence.supported for evidence in located] == [True, True, False, True]
    assert (located[2].field, located[2].start, located[2].end) == ("", -1, -1)
    assert locate_evidence("", HOTEL, REVIEW) == ()


@each_row(
    "text",
    [
        "- #Service: \"kind\", “ rude ”\n- #Food: 'stale bread'",
        '<think>"kind"</think>\n#Service: "kind"',
        'First, JSON: {"labels": [{"name": "Service", "quotes": ["kind", "kind porter"]}]}',
        'Emoji 😀 first. #Price: "cheep"',
    ],
)
def test_quotes_are_located_in_the_reply(text: str) -> None:
    located = locate_evidence(text, HOTEL, REVIEW)
    assert located
    for quote_found in located:
        assert text[quote_found.reply_start : quote_found.reply_end] == quote_found.quote
    assert [each.reply_start for each in located] == sorted(each.reply_start for each in located)


def test_quotes_with_escapes_have_no_position_in_the_reply() -> None:
    text = '{"labels": [{"name": "Service", "quotes": ["a \\"kind\\" porter", "rude"]}]}'
    escaped, rude = locate_evidence(text, HOTEL, REVIEW)
    assert (escaped.quote, escaped.reply_start, escaped.reply_end) == ('a "kind" porter', -1, -1)
    assert text[rude.reply_start : rude.reply_end] == "rude"


def check(quote: str, fields: dict[str, str]) -> tuple[str, int, int, str]:
    name, start, end, match = Haystack(fields).locate(quote)
    if match == "missing":
        assert (name, start, end) == ("", -1, -1)
    else:
        assert 0 <= start < end <= len(fields[name])
        if match == "exact":
            assert fields[name][start:end] == quote.strip()
    return name, start, end, match


TEXT = st.text(
    st.characters(exclude_categories=("Cs",)) | st.sampled_from(" \n.,'\"“”’…-–\u00ad\u200bﬁéße\u0301"), max_size=80
)


@settings(max_examples=300, deadline=None)
@given(TEXT, TEXT, TEXT)
def test_offsets_always_point_into_the_text(quote: str, first: str, second: str) -> None:
    check(quote, {"a": first, "b": second})


@settings(max_examples=300, deadline=None)
@given(TEXT.filter(str.strip), st.data())
def test_any_part_of_the_text_is_found_exactly(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    quote = text[start:end]
    _, _, _, match = check(quote, {"a": text})
    assert match == ("exact" if quote.strip() else "missing")


WORD = st.text(st.characters(categories=("Ll", "Lu", "Lo", "Nd")), min_size=2, max_size=8)


@settings(max_examples=300, deadline=None)
@given(st.lists(WORD, min_size=3, max_size=12), st.data())
def test_words_are_found_in_any_spacing_and_unicode_form(words: list[str], data: st.DataObject) -> None:
    text = " ".join(words)
    first = data.draw(st.integers(0, len(words) - 2))
    last = data.draw(st.integers(first + 1, len(words) - 1))
    gap = data.draw(st.sampled_from(["  ", "\n", "\u00a0", " \u200b", "\t\n "]))
    form = data.draw(st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
    quote = unicodedata.normalize(form, gap.join(words[first : last + 1]))
    _, start, end, match = check(
        data.draw(st.sampled_from(["{}", "{}.", "… {} …", "*{}*,"])).format(quote), {"a": text}
    )
    assert match != "missing"
    folded = fold(text[start:end]).text
    assert fold(quote, {"\u200b": ""}).text.strip() in folded or len(quote) >= 12


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200), st.text(max_size=100))
def test_any_reply_can_be_searched_for_evidence(text: str, field: str) -> None:
    for codebook in (HOTEL, CLAUSES):
        for evidence in locate_evidence(f'#Food "{text}" {text}', codebook, {"a": field}):
            assert evidence.item in codebook.items
            assert (evidence.start >= 0) == evidence.supported
            evidence.quote.encode()


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("\"“”„«»'’‘ab \n.-,:5")))
def test_spans_are_well_formed(text: str) -> None:
    doubles = double_quoted(text)
    for span in doubles:
        assert 0 <= span.start < span.end <= len(text)
        assert text[span.start] in '"“”„«»'
        assert text[span.end - 1] in '"“”„«»'
    for span in single_quoted(text, doubles):
        assert text[span.start] in "'‘"
        assert text[span.end - 1] in "'’"
        assert "\n" not in text[span.start : span.end]


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=40))
@example("non\u2011breaking and typographic\u2010hyphens")
def test_folding_agrees_with_nfkc_but_for_hyphens_and_maps_back(text: str) -> None:
    folded = fold(text)
    plain = text.replace("\ufe0e", "").replace("\ufe0f", "")
    normalised = " ".join(unicodedata.normalize("NFKC", plain).casefold().replace("\u2010", "-").split())
    assert " ".join(folded.text.split()) == normalised
    assert len(folded.text) == len(folded.starts) == len(folded.ends)
    assert all(0 <= start < end <= len(text) for start, end in zip(folded.starts, folded.ends, strict=True))
    assert list(folded.starts) == sorted(folded.starts)
    assert list(folded.ends) == sorted(folded.ends)


@pytest.mark.parametrize(
    "piece",
    [
        '"',
        "“",
        "'a ",
        'Food "x" ',
        '"good food" supports Food, ',
        '#Food: "abc def ghi jklm"\n',
        "“a Food” ",
        '{"labels": [',
        "… ",
    ],
)
def test_hostile_replies_take_linear_time(piece: str) -> None:
    def locate(size: int) -> None:
        fields = {"text": "the room was nice and tidy " * (size // 25)}
        locate_evidence(piece * (size // len(piece)), HOTEL, fields)
        Haystack(fields).locate(piece * 200)

    check_linear_time(locate, 24_000)


def test_alignments_of_long_quotes_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    work: list[int] = []

    def align(quote: str, text: str, **_: object) -> None:
        work.append(len(text) * len(quote) ** 2 // 64)

    monkeypatch.setattr(quote_location.fuzz, "partial_ratio_alignment", align)
    quotes = "\n".join(f'#Food: "{"ab" * 900 + "x" * number}"' for number in range(100))
    assert len(locate_evidence(quotes, HOTEL, {"text": ("ab" * 890 + "y") * 12})) == 100
    assert 0.9 < sum(work) / 10**10 <= 1  # ten seconds at worst; 100 alignments take two minutes
