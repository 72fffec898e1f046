"""An evaluation on one page to print: plain HTML that needs nothing beside itself. All words are escaped."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from core.codebook import Codebook
from core.export import replacing
from core.services.evaluation import debate_effect, evaluate, references, reports
from core.services.evaluation.grids import Reference
from core.services.session import ProjectSession, check_output_path

_STYLE = """
@page { size: A4; margin: 14mm; }
body { font: 12px/1.45 Inter, system-ui, sans-serif; color: #1a1f28; max-width: 190mm; margin: 24px auto; }
h1 { font-size: 20px; margin: 0; } h2 { font-size: 13px; margin: 18px 0 4px; }
p { margin: 4px 0; } .q { color: #4a5361; }
table { border-collapse: collapse; width: 100%; font-size: 11px; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 2px 6px; white-space: pre; border-bottom: 1px solid #e1e4e9; }
th { color: #4a5361; font-weight: 500; }
th:first-child, td:first-child { text-align: left; white-space: normal; }
.key { display: flex; gap: 26px; margin: 10px 0 2px; } .key b { display: block; font-size: 22px; }
svg { display: block; margin-top: 4px; } svg text { font: 10.5px Inter, system-ui, sans-serif; fill: #1a1f28; }
.page { break-inside: avoid; }
"""
# The label colours of the light theme, in the order of their numbers.
_COLOURS = ("#1C806C", "#CF559F", "#955800", "#1B4E86", "#7C9A10", "#A50F1A", "#8468D6", "#B08775")


def save(session: ProjectSession, run_id: str, path: Path, reference: Reference = "gold") -> Path:
    """Write the page to a file. UsageError as of ``page``, ExportError when the file cannot be written."""
    text = page(session, run_id, reference)
    with replacing(check_output_path(session.path, path)) as file:
        file.write(text.encode())
    return path


def page(session: ProjectSession, run_id: str, reference: Reference = "gold") -> str:
    """The page. UsageError for an unknown run or truth."""
    run = evaluate.known(session, run_id)
    told = reports.full(session, run_id, reference)
    codebook = run.settings.codebook
    parts = [
        f"<h1>{escape(codebook.name)}: {escape(session.run_name(run_id))}</h1>",
        f'<p class="q">{escape(_about(told))}. Codebook version {run.settings.codebook_version}, '
        f"printed {time.strftime('%d %b %Y %H:%M')}.</p>",
        _key(told),
        _left_out(told),
        f"<h2>Per {'dimension' if codebook.kind == 'rating' else 'label'}</h2>",
        _bars(told, codebook),
        _labels(told),
        *_debate(told, debate_effect.noun(run)),
        *_iterations(told),
        "<h2>May the model replace the people?</h2>",
        f"<p>{escape(told['replace_people']['sentence'])}</p>",
        '<p class="q">Intervals are 95%: of shares of documents (precision, recall and F1 of a label, all labels '
        "right, the accuracy of a choice) by Wilson, of the others by bootstrap over documents. A dash is a score that "
        "is not defined: a label without positives has no recall and no F1 and is left out of the macro mean.</p>",
    ]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(codebook.name)} {escape(run_id)}</title>'
        f"<style>{_STYLE}</style><body>{''.join(parts)}</body></html>"
    )


def _about(told: Mapping[str, Any]) -> str:
    role_models = ", ".join(f"{role} {spec}" for role, spec in told["roles"].items())
    return f"Protocol {told['protocol']} ({role_models}) against {references.of(told['reference']).noun}"


def _key(told: Mapping[str, Any]) -> str:
    names = {"macro": "Macro F1", "micro": "Micro F1", "accuracy": "Accuracy", "subset_accuracy": "All labels right"}
    spans = told.get("intervals", {})
    cells = []
    for key, name in names.items():
        if key not in told:
            continue
        value = told[key].get("f1", told[key].get("spearman")) if isinstance(told[key], Mapping) else told[key]
        span = spans.get(key)
        span = span["f1"] if isinstance(span, Mapping) else span
        name = "Mean Spearman" if isinstance(told[key], Mapping) and "spearman" in told[key] else name
        words = f'<span class="q">{_span(span)}</span>' if span else ""
        cells.append(f"<div>{escape(name)}<b>{_figure(value)}</b>{words}</div>")
    cells.append(f"<div>Documents<b>{told['n']:,}</b></div>")
    cost = told["spent"]["usd_per_verdict"]
    if cost is not None:
        cells.append(f"<div>A verdict<b>${cost:.4f}</b></div>")
    return f'<div class="key">{"".join(cells)}</div>'


def _left_out(told: Mapping[str, Any]) -> str:
    words = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in told["left_out"].items() if count)
    return f'<p class="q">Left out: {escape(words) if words else "no document"}.</p>'


def _bars(told: Mapping[str, Any], codebook: Codebook) -> str:
    """F1 of each label as a bar with its interval, drawn without a library so that the page stands alone."""
    if "intervals" not in told:
        return ""
    width, row, left = 420, 20, 150
    shapes = []
    for place, label in enumerate(codebook.labels):
        score, span = told["labels"][label.name]["f1"], told["intervals"]["labels"][label.name]["f1"]
        top = place * row
        colour = _COLOURS[(label.colour - 1) % len(_COLOURS)]
        shapes.append(f'<text x="0" y="{top + 13}">{escape(label.name[:26])}</text>')
        shapes.append(f'<rect x="{left}" y="{top + 4}" width="{width}" height="11" fill="#f5f6f8"/>')
        if score is not None:
            shapes.append(f'<rect x="{left}" y="{top + 4}" width="{width * score:.1f}" height="11" fill="{colour}"/>')
        if span:
            low, high = (left + width * end for end in span)
            shapes.append(f'<path d="M{low:.1f} {top + 9.5}H{high:.1f}" stroke="#1a1f28" stroke-width="1.6"/>')
        shapes.append(f'<text x="{left + width + 8}" y="{top + 13}">{_figure(score)}</text>')
    height = row * len(codebook.labels)
    return f'<svg class="page" width="{left + width + 60}" height="{height}" role="img">{"".join(shapes)}</svg>'


def _labels(told: Mapping[str, Any]) -> str:
    measures = told.get("measures", {})
    each = {name: {**scores, **measures.get(name, {})} for name, scores in told["labels"].items()}
    spans = told.get("intervals", {}).get("labels", {})
    columns = list(dict.fromkeys(key for scores in each.values() for key in scores))

    def cell(name: str, key: str) -> str:
        span = spans.get(name, {}).get(key)
        return _cell(each[name].get(key)) + (f"\n{span[0]:.3f}–{span[1]:.3f}" if span else "")

    rows = [[name, *(cell(name, key) for key in columns)] for name in each]
    return _table(["", *columns], rows)


def _debate(told: Mapping[str, Any], noun: str) -> Iterable[str]:
    flip_table = told["debate"]["ledger"]
    if not flip_table:
        return ()
    rows = [
        [
            flip_table["titles"][step["step"]],
            f"{step['mended']:,}",
            f"{step['broken']:,}",
            f"{step['net']:+,}",
            _money(step),
        ]
        for step in flip_table["changes"]
    ]
    return (
        "<h2>What did the debate change?</h2>",
        f"<p>{escape(flip_table['sentence'])}</p>",
        _table(["step", "mended", "broken", "net", f"per {noun} gained"], rows),
    )


def _iterations(told: Mapping[str, Any]) -> Iterable[str]:
    again = told["iterations"]
    if not again:
        return ()
    rows = [
        [name.replace("_", " "), str(one["n"]), _figure(one["mean"]), _figure(one["sd"]),
         f"{one['interval'][0]:.3f} to {one['interval'][1]:.3f}" if one["interval"] else "–"]
        for name, one in again["measures"].items()
    ]  # fmt: skip
    standing = ", ".join(f"{count:,} {name}" for name, count in again["documents"].items())
    return (
        f"<h2>{len(again['runs'])} iterations</h2>",
        _table(["measure", "n", "mean", "sd", "95% interval"], rows),
        f"<p>Documents over iterations: {escape(standing)}.</p>",
    )


def _money(step: Mapping[str, Any]) -> str:
    dollars, tokens = step["usd_per_label_gained"], step["tokens_per_label_gained"]
    if dollars:
        return f"${dollars:.4f}"
    return f"{tokens:,.0f} tokens" if tokens else "–"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<table class="page"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'


def _span(span: Sequence[float]) -> str:
    return f"{span[0]:.3f} to {span[1]:.3f}"


def _cell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else _figure(value)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
