"""The documents of the project: table, gold, lengths, languages and imports; with charts that the preview shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from typing import Any

import altair as alt
import streamlit as st
from markupsafe import Markup

from app.state import reset_widgets
from app.widgets import charts, palette
from app.widgets.alerts import notice
from app.widgets.document_drawer import document_drawer, document_list, excerpt
from app.widgets.elements import download, line, page_number, pagination
from app.widgets.layout import panel
from app.widgets.run_picker import selected_run
from core.codebook import Codebook
from core.documents import Document
from core.formatting import format_count, format_percent, format_timestamp, plural
from core.services.codebooks import codebook as codebooks
from core.services.data import overview as service
from core.services.data.overview import GoldCount, Import, LengthSummary, first_rejected, format_gold
from core.services.evaluation import annotation_arrays
from core.services.project_session import ProjectSession

PAGE_SIZE = 50
PAGE_NUMBER = "data-page"
"""Widget: the page of the document table."""
COUNTS = {"count": ("Documents", ","), "known": ("of those with gold", ","), "share": ("Share", ".1%")}
"""Fields of a tooltip of gold labels."""
MAX_BARS = 40
"""Maximum number of labels in the chart of gold labels, which shows the most frequent ones."""
MAX_WIDE_BARS = 14
"""With more labels the bars are narrower."""


def show(session: ProjectSession, codebook: Codebook | None) -> None:
    overview = service.load_overview(session, codebook)
    rejected = sum(import_.counts["rejected"] for import_ in overview.imports)
    raters = f" by {len(overview.raters)} raters" if len(overview.raters) > 1 else ""
    figures = (
        (overview.documents, plural(overview.documents, "document"), ""),
        (overview.with_gold, f"with gold{raters}", ""),
        (rejected, f"rejected {plural(rejected, 'row')}", "bad" if rejected else ""),
        (len(overview.imports), plural(len(overview.imports), "import"), ""),
    )
    cells = "".join(f'<span class="{tone}"><b>{count:,}</b>{words}</span>' for count, words, tone in figures)
    st.html(f'<div class="moot-account">{cells}</div>')
    left, right = st.columns((1.9, 1), gap="medium")
    with left:
        with panel("Documents", key="documents") as head:
            search = head.text_input(
                "Search",
                key="data_search",
                placeholder="Search text and id",
                icon=":material/search:",
                label_visibility="collapsed",
                width=260,
                on_change=reset_widgets,
                args=(PAGE_NUMBER,),
            )
            _documents(session, codebook, search)
        _cooccurrence(session, codebook)
    with right:
        distribution_charts(overview.gold, overview.words, overview.with_gold)
        _languages(session)
        if not overview.gold:
            words = "Map gold columns to evaluate runs against them, or review documents by hand."
            notice("info", "No gold labels", words)
    _imports(session, overview.imports)
    runs = annotation_arrays.ranked_runs(session)
    run = selected_run(runs) if runs else None
    shown = run.settings.codebook if run else codebook or Codebook()
    document_drawer(session, [run] if run else [], shown, key="data-drawer")


def _documents(session: ProjectSession, codebook: Codebook | None, search: str) -> None:
    total = service.count_documents(session, search)
    if not total:
        line("No document matches the search.", "q")
        return
    pages = -(-total // PAGE_SIZE)
    first = PAGE_SIZE * (page_number(pages, key=PAGE_NUMBER) - 1)
    documents = service.document_page(session, search=search, offset=first, limit=PAGE_SIZE)
    deleted = codebooks.deleted_names(session, codebook)
    words = f"“{search}”" if search else "all documents"
    document_list(
        [
            {
                "id": document.id,
                "excerpt": excerpt(document.text),
                "note": ", ".join(format_gold(document, codebook, deleted)),
            }
            for document in documents
        ],
        title="Id",
        note="Text",
        heading="Gold" if any(document.gold for document in documents) else "",
        listing=words if total <= PAGE_SIZE else f"this page of {words}",
        key="data-table",
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        line(f"{first + 1:,} to {first + len(documents):,} of {total:,}", "q", width="content")
        st.space("stretch")
        pagination(pages, key=PAGE_NUMBER, width=320)


def _cooccurrence(session: ProjectSession, codebook: Codebook | None) -> None:
    """Draw how often two labels are gold for the same document."""
    if codebook is None:
        return
    pairs = service.cooccurrence(session, codebook)
    if not pairs:
        return
    names = list(dict.fromkeys(pair.label for pair in pairs))
    most = f"the {len(names)} most frequent labels; " if len(names) < len(codebook.labels) else ""
    by_majority = "; gold: majority of the raters" if service.has_several_raters(session) else ""
    note = f"{most}share of the row's documents that also have the column's label{by_majority}"
    with panel("Label co-occurrence", note, key="pairs"):
        rows = [
            {
                "row": pair.label,
                "column": pair.other,
                "count": pair.count,
                "share": pair.share,
                "words": format_percent(pair.share) if pair.label != pair.other else f"{pair.count:,}",
            }
            for pair in pairs
        ]
        charts.heat(rows, names, key="data-cooccurrence", title="Label co-occurrence")


def _languages(session: ProjectSession) -> None:
    """Draw the languages of the texts, if there are several."""
    counts = service.count_languages(session)
    if len(counts) < 2:
        return
    total = sum(counts.values())
    note = f"guessed from {format_count(total, 'text')}; short texts may stay {service.UNKNOWN}"
    with panel("Languages", note, key="languages"):
        bars = [
            {"name": name, "value": count / total, "words": f"{count:,}", "colour": "bar"}
            for name, count in counts.items()
        ]
        charts.bars(bars, key="data-languages", title="Languages", unit="share of texts")


def _imports(session: ProjectSession, imports: Sequence[Import]) -> None:
    with panel("Imports", key="imports"):
        for import_ in imports:
            with st.container(horizontal=True, vertical_alignment="center", key=f"import-{import_.id}"):
                added, repeated, rejected = (import_.counts[name] for name in ("documents", "repeated", "rejected"))
                counts = [format_count(added, "document")]
                counts += [f"{repeated:,} existed already"] if repeated else []
                counts += [f"{rejected:,} rejected"] if rejected else []
                reasons = Markup("<br>{}").format("; ".join(first_rejected(session, import_))) if rejected else ""
                line(
                    Markup("<b>{}</b> {}: {}<span class=q>{}</span>").format(
                        import_.file_name or "unnamed", format_timestamp(import_.at), ", ".join(counts), reasons
                    )
                )
                if rejected:
                    content = partial(service.rejected_rows_csv, session, import_.id)
                    key = f"data-rejected-{import_.id}"
                    download("Rejected rows", content, f"rejected-{import_.id}.csv", key=key)


# -- charts and tables that the preview of an import shares


def distribution_charts(gold: Sequence[GoldCount], words: LengthSummary, with_gold: int) -> None:
    """Draw the distribution of gold labels and of text lengths, each if there is any."""
    if gold:
        raters = "; bar: mean of the raters, line: each rater" if len({bar.rater for bar in gold}) > 1 else ""
        labels = len({(bar.label, bar.value) for bar in gold})
        most = f"; the {MAX_BARS} most frequent of {labels:,}" if labels > MAX_BARS else ""
        with panel("Gold labels", f"{format_count(with_gold, 'document')} with gold{raters}{most}", key="gold-panel"):
            gold_chart(gold)
    if words.bins:
        caption = f"{words.minimum:,} to {words.maximum:,} words, median {words.median:,.0f}"
        with panel("Text length", caption, key="length-panel"):
            rows = [{"from": start, "to": stop, "count": count} for start, stop, count in words.bins]
            charts.draw(_length_histogram(rows), rows, key="length-chart", title="Text length")


def gold_chart(bars: Sequence[GoldCount]) -> None:
    """Draw a bar in the label's colour for each label (or value), with its count and share.

    With several raters, the bar shows the mean of their shares and each rater has a tick on it. The CSV has all labels.
    """
    several = len({bar.rater for bar in bars}) > 1
    rows, counts, colours = [], Counter[str](), dict[str, str]()
    for bar in bars:
        name = " ".join(filter(None, (bar.label, bar.value)))
        rater = {"rater": bar.rater} if several else {}
        rows.append({"name": name, **rater, "count": bar.count, "known": bar.total, "share": bar.share})
        counts[name] += bar.count
        colours[name] = palette.colours()[f"l{bar.colour}" if bar.colour else "tx3"]
    frequent = {name for name, _ in counts.most_common(MAX_BARS)}
    colours = {name: colour for name, colour in colours.items() if name in frequent}
    shown = [row for row in rows if row["name"] in frequent]
    charts.draw(_gold_bars(shown, colours), rows, key="gold-chart", title="Gold labels")


@charts.cached
def _gold_bars(rows: Sequence[Mapping[str, Any]], colours: Mapping[str, str]) -> charts.Spec:
    """Return a bar with words for each label. With several raters it shows their mean, and each rater has a tick."""
    shades = palette.colours()
    several = "rater" in rows[0]
    tip = charts.tooltip(name="Label", **COUNTS)
    if several:
        bars = [rater_mean(name, rows) for name in colours]
        tip = charts.tooltip(name="Label", end=("Mean of the raters", ".1%"))
    else:
        bars = [
            {
                **row,
                "end": row["count"],
                "at": row["count"],
                "words": f"{row['count']:,}, {format_percent(row['share'])}",
            }
            for row in rows
        ]
    height = charts.ROW if len(colours) <= MAX_WIDE_BARS else 18
    x_scale = charts.scale_beside_text(charts.text_width(bars), (0, max(bar["at"] for bar in bars) or 1))
    y = charts.named_axis("name", colours, labelLimit=150, labelFontSize=12)
    fill = alt.Color("name:N", scale=alt.Scale(domain=list(colours), range=list(colours.values())), legend=None)
    base = alt.Chart(charts.inline_data(bars)).encode(y=y)
    layers = [
        base.mark_bar(size=min(15, height - 4), cornerRadiusEnd=2).encode(
            x=alt.X("end:Q", scale=x_scale, axis=None), color=fill, tooltip=tip
        ),
        base.mark_text(align="left", dx=6, fontSize=11.5, color=shades["tx2"]).encode(
            x=alt.X("at:Q", scale=x_scale, axis=None), text="words:N"
        ),
    ]
    if several:
        ticks = alt.Chart(charts.inline_data(rows)).mark_tick(thickness=2, size=17, color=shades["tx"])
        tip = charts.tooltip(name="Label", rater="Rater", **COUNTS)
        layers.append(ticks.encode(x=alt.X("share:Q", scale=x_scale, axis=None), y=y, tooltip=tip))
    return charts.styled(alt.layer(*layers), height * len(colours))


def rater_mean(name: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the bar of a label: its mean share over the raters. Words with the range follow the largest share."""
    shares = [row["share"] for row in rows if row["name"] == name]
    mean = sum(shares) / len(shares)
    ends = [format_percent(share) for share in (min(shares), max(shares))]
    spread = f", {' to '.join(ends)}" if ends[0] != ends[1] else ""
    return {"name": name, "end": mean, "at": max(shares), "words": f"{format_percent(mean)}{spread}"}


@charts.cached
def _length_histogram(rows: Sequence[Mapping[str, Any]]) -> charts.Spec:
    """Return a histogram of words per text. The last bin is as wide as the others, whatever its longest text."""
    shades = palette.colours()
    low, width, last = rows[0]["from"], max(1, rows[0]["to"] - rows[0]["from"]), rows[-1]
    high = last["from"] + width
    longest = f"; last bar: {last['from']:,} to {last['to']:,}" if len(rows) > 1 and last["to"] > high else ""
    base = alt.Chart(charts.inline_data([{**row, "end": row["from"] + width} for row in rows])).mark_rect(
        color=shades["bar"]
    )
    axis = alt.Axis(title=f"words{longest}", grid=False, tickCount=6, tickMinStep=1, format=",d")
    chart = base.encode(
        x=alt.X("from:Q", scale=alt.Scale(domain=[low, high], nice=False), axis=axis),
        x2="end:Q",
        y=alt.Y("count:Q", axis=alt.Axis(title=None, tickCount=4, tickMinStep=1, format=",d")),
        y2=alt.datum(0),
        tooltip=charts.tooltip(**{"from": ("Words from", ""), "to": ("to below", ""), "count": ("Documents", ",")}),
    )
    return charts.styled(chart, 168)


def document_table(documents: Sequence[Document], codebook: Codebook | None) -> None:
    """Draw the beginning of documents that are not imported yet as a table, with texts never read as markup."""
    fields = list(dict.fromkeys(name for document in documents for name in list(document.fields)[1:]))
    gold = any(document.gold for document in documents)
    heads = ["Id", "Text", *fields, *(["Gold"] if gold else [])]
    body = ""
    for document in documents:
        cells = [document.id, document.text, *(document.fields.get(name, "") for name in fields)]
        cells += [", ".join(format_gold(document, codebook))] if gold else []
        line = "".join(f'<td title="{escape(cell[:1000])}">{escape(cell[:300])}</td>' for cell in cells)
        body += f"<tr>{line}</tr>"
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    st.html(f'<div class="moot-documents"><table><tr>{head}</tr>{body}</table></div>')
