"""Tests of persona sets: their stored text is read back unchanged."""

from __future__ import annotations

from core.debate import personas


def test_personas_with_control_characters_can_be_read_back() -> None:
    quote = personas.Quote(words="don\x92t\x7f \ufffe\n\t")
    persona = personas.Persona(name="Ann", traits="calm\x9f and\r\nkind", evidence=(quote,))
    persona_set = personas.PersonaSet(groups=(personas.Group(name="Parents", personas=(persona,)),))
    assert (
        personas.parse_persona_set(persona_set.text)
        == personas.load_yaml(personas.dump_yaml(persona_set))
        == persona_set
    )
    assert (persona.traits, quote.words) == ("calm and\nkind", "dont \ufffe")


def test_saved_text_with_control_characters_is_read() -> None:
    text = '{"groups": [{"name": "Parents", "personas": [{"name": "Ann", "traits": "don\x92t"}]}]}'
    assert personas.parse_persona_set(text).members[0].persona.traits == "dont"
    assert (
        personas.parse_persona_set("{groups: [{name: Parents, personas: [{name: Ann}]}]}").members[0].persona.name
        == "Ann"
    )
