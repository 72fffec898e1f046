"""Decisions as tests of reading need them: how they are read, and natural forms for property tests.

Each form must be read correctly or left unresolved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from core.codebook import Codebook, parse_codebook
from core.debate.reading.parse import read

Form: TypeAlias = Callable[[Sequence[str], Sequence[str]], str]
"""Return a reply from the names of present labels and the names of absent labels."""


def book(kind: str, unit: str, *names: str, codes: tuple[int, ...] = (), **more: object) -> Codebook:
    labels = [{"name": name, **({"code": codes[at]} if codes else {})} for at, name in enumerate(names)]
    return parse_codebook({"kind": kind, "unit": unit, "labels": labels, **more})


def decision(text: str, codebook: Codebook, finish_reason: str = "stop") -> str:
    """Return the names or ratings that were read, ``none`` for no label, ``refused`` if any label is unresolved."""
    result = read(text, codebook, finish_reason=finish_reason)
    if result.problem or result.undecided or result.values.keys() < set(codebook.items):
        return "refused"
    if codebook.kind == "choice":
        return codebook.label(str(result.values["label"])).name
    if codebook.kind == "rating":
        return ", ".join(f"{result.values[item]:g}" for item in codebook.items)
    return ", ".join(label.name for label in codebook.labels if result.values[label.id]) or "none"


def listed(names: Sequence[str], empty: str = "none") -> str:
    return ", ".join(names) or empty


def joined(names: Sequence[str], word: str = "and") -> str:
    if len(names) < 2:
        return listed(names)
    return f"{', '.join(names[:-1])} {word} {names[-1]}"


def per_label(line: str, yes: str, no: str, between: str = "\n", before: str = "", after: str = "") -> Form:
    def write(present: Sequence[str], absent: Sequence[str]) -> str:
        names = sorted([*present, *absent])
        lines = (line.format(name=name, answer=yes if name in present else no) for name in names)
        return before + between.join(lines) + after

    return write


def bullets(names: Sequence[str], line: str = "- {}", empty: str = "none") -> str:
    return "\n".join(line.format(name) for name in names) or empty


COMMON: dict[str, Form] = {
    "ecj list": lambda p, a: "The aspects present in this review are: " + listed([f"#{n}" for n in p]),
    "ecj final": lambda p, a: f"Final Decision: The present aspects are: {listed(p)}",
    "ecj brackets": lambda p, a: f"Final Decision: The present aspects are: {listed([f'[{n}]' for n in p])}",
    "ecj evidence": lambda p, a: (
        f"Opinion: The aspects present in this review are: {listed([f'#{n}' for n in p])}.\n\n"
        + "\n".join(f'- #{n}: "the words of the guest, not ours"' for n in p)
    ),
    "bold final": lambda p, a: f"**Final Decision:** {joined(p)}",
    "heading and bullets": lambda p, a: f"## Final Decision\n\n{bullets(p)}\n",
    "bullets with bold and reason": lambda p, a: "Final Decision:\n" + bullets(p, '- **{}**: "so they say"') + "\n",
    "bullets with brackets": lambda p, a: "Final Decision:\n" + bullets(p, "- {} (named twice)") + "\n",
    "numbered": lambda p, a: (
        "Final Decision:\n" + ("\n".join(f"{i}. {n}" for i, n in enumerate(p, 1)) or "none") + "\n"
    ),
    "present; absent": lambda p, a: f"Final Decision: Present: {listed(p)}; Absent: {listed(a)}",
    "present. absent.": lambda p, a: f"Final Decision: Present: {listed(p)}. Absent: {listed(a)}.",
    "present absent lines": lambda p, a: f"Final Decision:\nPresent: {listed(p)}\nAbsent: {listed(a)}",
    "present absent bold": lambda p, a: f"**Present:** {listed(p)}\n**Absent:** {listed(a)}",
    "present absent sections": lambda p, a: f"### Present\n{bullets(p)}\n\n### Absent\n{bullets(a)}",
    "final sections": lambda p, a: f"Final Decision:\n\n**Present**\n{bullets(p)}\n\n**Not present**\n{bullets(a)}\n",
    "included excluded": lambda p, a: f"Included: {listed(p)}\nExcluded: {listed(a)}",
    "final included": lambda p, a: f"Final Decision: Included: {listed(p)}; Excluded: {listed(a)}",
    "keep reject": lambda p, a: f"Final Decision: Keep: {listed(p)}. Reject: {listed(a)}.",
    "mentioned": lambda p, a: f"Mentioned: {listed(p)}\nNot mentioned: {listed(a)}",
    "yes no": per_label("{name}: {answer}", "yes", "no"),
    "final yes no": per_label("{name}: {answer}", "Yes", "No", before="Final Decision:\n"),
    "bullets yes no": per_label("- **{name}**: {answer}", "Yes", "No", before="Final Decision:\n\n"),
    "present absent": per_label("- {name}: {answer}", "present", "absent"),
    "is present": per_label("{name} is {answer}.", "present", "not present"),
    "dashes": per_label("{name} - {answer}", "Present", "Absent"),
    "reasons": per_label("{name}: {answer}", "yes, the guest names it", "no, it is never named"),
    "equals": per_label("{name}={answer}", "1", "0", between=", ", before="Final Decision: "),
    "inline": per_label("{name}: {answer}", "yes", "no", between=", "),
    "inline semicolons": per_label("{name}: {answer}", "present", "absent", between="; ", before="Final Decision: "),
    "arrows": per_label("{name} → {answer}", "yes", "no"),
    "check boxes": per_label("- [{answer}] {name}", "x", " "),
    "check marks": per_label("{answer} {name}", "✅", "❌"),
    "check marks after": per_label("{name} {answer}", "✓", "✗", before="Final Decision:\n"),
    "check marks inline": per_label("{answer} {name}", "✓", "✗", between=" "),
    "brackets": per_label("- {name} ({answer})", "present", "not mentioned", before="Final Decision:\n"),
    "table": per_label("| {name} | {answer} |", "yes", "no", before="| Aspect | Present |\n|---|---|\n"),
    "table with reason": per_label(
        "| {name} | {answer} | some words |",
        "✓",
        "✗",
        before="Final Decision:\n\n| Aspect | Decision | Why |\n|-|-|-|\n",
    ),
    "table of ticks": lambda p, a: (
        "| Aspect | Present | Absent |\n|---|---|---|\n"
        + "\n".join(f"| {n} | {'x' if n in p else ''} | {'x' if n in a else ''} |" for n in sorted([*p, *a]))
    ),
    "struck": lambda p, a: f"Final Decision: {listed([*p, *(f'~~{n}~~' for n in a)])}" if p else "Final Decision: none",
    "json": lambda p, a: '{"labels": [' + ", ".join(f'"{n}"' for n in p) + "]}",
    "json with quotes": lambda p, a: (
        '```json\n{"labels": [' + ", ".join(f'{{"label": "{n}", "quotes": ["x"]}}' for n in p) + "]}\n```"
    ),
    "json by name": per_label('"{name}": {answer}', "true", "false", between=", ", before="{", after="}"),
    "json sides": lambda p, a: f'{{"present": {list(p)}, "absent": {list(a)}}}'.replace("'", '"'),
    "python": per_label("'{name}': {answer}", "True", "False", between=", ", before="{", after="}"),
    "json answers": per_label(
        '{{"label": "{name}", "present": {answer}}}', "true", "false", between=", ", before='{"labels": [', after="]}"
    ),
    "boxed": lambda p, a: f"\\boxed{{{listed(p)}}}",
    "bare": lambda p, a: listed(p),
    "labels": lambda p, a: f"Labels: {listed(p)}",
    "answer": lambda p, a: f"**Answer:** {joined(p)}",
    "but not": lambda p, a: (
        f"Final Decision: {listed(p)}, but not {joined(a, 'or')}" if p and a else f"Final Decision: {listed(p)}"
    ),
    "excluding": lambda p, a: (
        f"Final Decision: {listed(p)}, excluding {listed(a)}" if p and a else f"Final Decision: {listed(p)}"
    ),
    "are absent": lambda p, a: (
        f"Final Decision: {listed(p)}. {joined(a)} are absent." if len(a) > 1 and p else f"Final Decision: {listed(p)}"
    ),
    "rest": lambda p, a: f"Final Decision: {listed(p)}. The rest is absent." if p else "Final Decision: none",
    "nothing else": lambda p, a: f"Final Decision: {joined(p)}, nothing else." if p else "Final Decision: none",
    "reject hash": lambda p, a: (
        f"Final Decision: Reject {listed([f'#{n}' for n in a])}; keep {listed([f'#{n}' for n in p])}"
        if p and a
        else f"Final Decision: {listed(p)}"
    ),
    "german": lambda p, a: f"Endgültige Entscheidung: {joined(p, 'und')}",
    "german sides": lambda p, a: f"Endgültige Entscheidung:\nVorhanden: {listed(p)}\nNicht vorhanden: {listed(a)}",
    "french": lambda p, a: f"Décision finale : {joined(p, 'et')}",
    "french yes no": per_label("{name} : {answer}", "oui", "non", before="Décision finale :\n"),
    "spanish": lambda p, a: f"Decisión final: {listed(p)}",
    "spanish yes no": per_label("{name}: {answer}", "sí", "no"),
    "italian": lambda p, a: f"Decisione finale: {listed(p)}",
    "portuguese": per_label("{name}: {answer}", "presente", "ausente", before="Decisão final:\n"),
    "chinese": lambda p, a: f"最终决定：{'、'.join(p) or '无'}",
    "japanese": per_label("{name}：{answer}", "はい", "いいえ"),
}
"""Forms that must be read."""

HARD: dict[str, Form] = {
    "all except": lambda p, a: f"Final Decision: all except {joined(a)}" if a else f"Final Decision: {listed(p)}",
    "everything but": lambda p, a: f"The aspects present are: everything but {listed(a)}",
    "and not": lambda p, a: f"Final Decision: {listed(p)}, and not {listed(a)}",
    "not": lambda p, a: f"Final Decision: {listed(p)}, not {joined(a)}",
    "are absent, first": lambda p, a: f"Final Decision: {joined(a)} are absent, {joined(p)} are present",
    "only": lambda p, a: f"Only {joined(p)}; {joined(a)} do not appear.",
    "discusses": lambda p, a: f"The review discusses {joined(p)} but says nothing about {joined(a)}.",
    "retracted": lambda p, a: f"Final Decision: {listed([*p, *a])}\nOn reflection, {joined(a)} should not be included.",
    "retracted sentence": lambda p, a: f"Final Decision: {listed([*p, *a])}. However, {joined(a)} is not mentioned.",
    "added": lambda p, a: f"Final Decision: {listed(p[:1])}\n{joined(p[1:])} is also present.",
    "diff": lambda p, a: "Final Decision:\n+ none\n" + "\n".join([*(f"+ {n}" for n in p), *(f"- {n}" for n in a)]),
    "remarks": per_label(
        "- {name}: {answer}", "the guest praises it", "the guest does not speak of it", before="Final Decision:\n"
    ),
    "remarks nothing": per_label("- {name}: {answer}", "much praise", "nothing on this", before="Final Decision:\n"),
    "numbers": per_label("{name}: {answer}", "0.9", "0.1", before="Final Decision:\n"),
    "finnish": lambda p, a: f"Final Decision:\nMukana: {listed(p)}\nPoissa: {listed(a)}",
    "absent first": lambda p, a: f"Final Decision: Absent: {listed(a)}. Present: {listed(p)}",
    "absent list": lambda p, a: f"Absent: {listed(a)}\nPresent: {listed(p)}",
    "absent column": per_label("| {name} | {answer} |", "no", "yes", before="| Aspect | Absent |\n|-|-|\n"),
    "two columns": lambda p, a: f"| Present | Absent |\n|-|-|\n| {listed(p)} | {listed(a)} |",
    "headings": per_label("### {name}\n{answer}", "Mentioned.", "Not mentioned."),
    "headings prose": per_label("**{name}**\n{answer}\n", "It is praised.", "No word of it."),
    "struck through bullets": per_label("{answer}", "x", "y")
    and (lambda p, a: "Final Decision:\n" + "\n".join([*(f"- {n}" for n in p), *(f"- ~~{n}~~" for n in a)])),
    "unclear": per_label("{name}: {answer}", "yes", "not really"),
    "weak": per_label("{name}: {answer}", "clearly", "hardly", before="Final Decision:\n"),
    "parenthetical denial": lambda p, a: f"Final Decision: {listed([*p, *(f'{n} (not really)' for n in a)])}",
    "question": lambda p, a: f"Final Decision: {listed([*p, *(f'{n}?' for n in a)])}",
    "dropped": lambda p, a: f"Final Decision: {listed([*p, *a])} (dropping {joined(a)})",
    "minus": lambda p, a: f"Final Decision: {listed([*p, *a])} minus {joined(a)}",
    "reject": lambda p, a: f"I reject {joined(a)} and keep {joined(p)}.",
    "draft and final": lambda p, a: f"Labels: {listed([*p, *a])}\n\nAfter review:\nLabels: {listed(p)}",
    "json twice": lambda p, a: f'{{"labels": {[*p, *a]}, "labels": {list(p)}}}'.replace("'", '"'),
    "json excluded": lambda p, a: f'{{"labels": {[*p, *a]}, "excluded": {list(a)}}}'.replace("'", '"'),
    "json inverse": per_label(
        '{{"label": "{name}", "absent": {answer}}}', "false", "true", between=", ", before='{"labels": [', after="]}"
    ),
    "ballot and comment": per_label("{name}: {answer}", "yes", "no, unlike the others"),
    "none are": lambda p, a: (
        f"Final Decision: {listed(p)}. {joined(a)} is missing."
        if len(a) == 1
        else f"Final Decision: {listed(p)}. None of {joined(a)} is present."
    ),
}
"""Forms that may stay unresolved but must not be misread."""

BEFORE = (
    "",
    "I read the review twice.\n\n",
    "Let's think step by step. The guest writes about Food and the Location, and Price is not a topic.\n\n",
    "**Analysis**\n\n- Food: the guest liked it\n- Price: never named\n\nSo:\n\n",
    "<think>Final Decision: Food, Price</think>\n",
    'The guest writes "Final Decision: none".\n\n',
)
