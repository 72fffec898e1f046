"""What documents hold, in charts and tables: lengths, gold, the documents themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from app.widgets import palette
from app.widgets.charts import ROW, Spec, draw, finished, kept, table
from app.widgets.labels import colour
from core.codebook import Codebook
from core.documents import Document
from core.services.data.importing import Profile
from core.services.data.overview import GoldBar, gold_words

MANY = 14
"""Labels whose bars have room; those of more stand closer."""


def figures(rows: Sequence[tuple[str, str, str]]) -> None:
    """Numbers in a row: (number, what it counts, tone)."""
    cells = "".join(
        f'<span class="{tone}"><b>{escape(number)}</b>{escape(words)}</span>' for number, words, tone in rows
    )
    st.html(f'<div class="moot-account">{cells}</div>')


def gold_chart(bars: Sequence[GoldBar], *, key: str) -> None:
    """A bar for each label (or value) with its count and share; the colour is the label's. Of several raters each has a
    mark on the bar, which is as long as their shares' mean."""
    several = len({bar.rater for bar in bars}) > 1
    rows = [
        {
            "name": " ".join(part for part in (bar.label, bar.value) if part),
            **({"rater": bar.rater} if several else {}),
            "count": bar.count,
            "known": bar.known,
            "share": bar.share,
        }
        for bar in bars
    ]
    colours = {str(row["name"]): colour(bar.colour) if bar.colour else "" for row, bar in zip(rows, bars, strict=True)}
    draw((_gold_of_raters if several else _gold)(rows, colours), rows, key=key)


@kept
def _gold(rows: Sequence[Mapping[str, Any]], colours: Mapping[str, str]) -> Spec:
    import altair as alt

    most = max((row["count"] for row in rows), default=1) or 1
    across = alt.Scale(domain=[0, most * 1.42], nice=False)
    told = [{**row, "end": row["count"], "words": f"{row['count']:,}, {row['share']:.0%}"} for row in rows]
    tip = [
        alt.Tooltip("name:N", title="Label"),
        alt.Tooltip("count:Q", title="Documents", format=","),
        alt.Tooltip("known:Q", title="of those with gold", format=","),
        alt.Tooltip("share:Q", title="Share", format=".1%"),
    ]
    return finished(_named_bars(told, colours, across, tip), _row(colours) * max(1, len(colours)))


@kept
def _gold_of_raters(rows: Sequence[Mapping[str, Any]], colours: Mapping[str, str]) -> Spec:
    import altair as alt

    shade = palette.colours()
    most = max(row["share"] for row in rows) or 1
    across = alt.Scale(domain=[0, most * 1.6], nice=False)
    told = [mean_of(name, rows) for name in colours]
    tip = [alt.Tooltip("name:N", title="Label"), alt.Tooltip("mean:Q", title="Mean of the raters", format=".1%")]
    marks = (
        alt.Chart(table(rows))
        .mark_tick(thickness=2, size=17, color=shade["tx"])
        .encode(
            x=alt.X("share:Q", scale=across, axis=None),
            y=_down(colours),
            tooltip=[
                alt.Tooltip("name:N", title="Label"),
                alt.Tooltip("rater:N", title="Rater"),
                alt.Tooltip("count:Q", title="Documents", format=","),
                alt.Tooltip("known:Q", title="of those with gold", format=","),
                alt.Tooltip("share:Q", title="Share", format=".1%"),
            ],
        )
    )
    return finished(_named_bars(told, colours, across, tip) + marks, _row(colours) * len(colours))


def mean_of(name: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A label's mean share over its raters, and the least and most of them in words (``24%, 20% to 28%``)."""
    shares = [row["share"] for row in rows if row["name"] == name]
    mean = sum(shares) / len(shares)
    spread = f", {min(shares):.0%} to {max(shares):.0%}" if len(shares) > 1 else ""
    return {"name": name, "mean": mean, "end": mean, "most": max(shares), "words": f"{mean:.0%}{spread}"}


def _named_bars(rows: Sequence[Mapping[str, Any]], colours: Mapping[str, str], across: Any, tip: Sequence[Any]) -> Any:
    """Bars from 0 to ``end``, named at the left; ``words`` stand behind ``most`` where there is one, else the end."""
    import altair as alt

    shade = palette.colours()
    base = alt.Chart(table([{**row, "at": row.get("most", row["end"])} for row in rows]))
    own = alt.Scale(domain=list(colours), range=[colour or shade["tx3"] for colour in colours.values()])
    down = _down(colours)
    bars = base.mark_bar(size=min(15, _row(colours) - 4), cornerRadiusEnd=2).encode(
        x=alt.X("end:Q", scale=across, axis=None),
        y=down,
        color=alt.Color("name:N", scale=own, legend=None),
        tooltip=list(tip),
    )
    words = base.mark_text(align="left", dx=6, fontSize=12, color=shade["tx2"]).encode(
        x=alt.X("at:Q", scale=across, axis=None), y=down, text="words:N"
    )
    return bars + words


def _down(names: Mapping[str, str]) -> Any:
    import altair as alt

    axis = alt.Axis(title=None, ticks=False, domain=False, labelLimit=150, labelFontSize=12, labelPadding=8)
    return alt.Y("name:N", sort=list(names), axis=axis)


def _row(names: Mapping[str, str]) -> int:
    """Pixels of a row: less where there are many."""
    return ROW if len(names) <= MANY else 18


def length_chart(bins: Sequence[tuple[int, int, int]], *, key: str) -> None:
    """A histogram of words: (from, to, documents)."""
    rows = [{"from": start, "to": stop, "count": count} for start, stop, count in bins]
    draw(_lengths(rows), rows, key=key)


@kept
def _lengths(rows: Sequence[Mapping[str, Any]]) -> Spec:
    import altair as alt

    shade = palette.colours()
    low, high = min(row["from"] for row in rows), max(row["to"] for row in rows)
    chart = (
        alt.Chart(table(rows))
        .mark_rect(color=shade["bar"])
        .encode(
            x=alt.X(
                "from:Q",
                scale=alt.Scale(domain=[low, high], nice=False),
                axis=alt.Axis(title="words", grid=False, tickCount=6),
            ),
            x2="to:Q",
            y=alt.Y("count:Q", axis=alt.Axis(title=None, tickCount=4)),
            y2=alt.datum(0),
            tooltip=[
                alt.Tooltip("from:Q", title="Words from"),
                alt.Tooltip("to:Q", title="to below"),
                alt.Tooltip("count:Q", title="Documents", format=","),
            ],
        )
    )
    return finished(chart, 168)


def profile_bins(profile: Profile) -> list[tuple[int, int, int]]:
    """The length histogram of documents that are not in the project yet."""
    return [(each.start, max(each.stop, each.start + 1), each.count) for each in profile.words.bins]


def document_table(
    documents: Sequence[Document],
    codebook: Codebook | None,
    *,
    key: str,
    selectable: bool = False,
    height: int = 400,
) -> int | None:
    """Documents as a table, never as markup; gives the place of the row that is selected."""
    import pandas as pd

    gold = any(document.gold for document in documents)
    rows = []
    for document in documents:
        fields = list(document.fields.items())
        row: dict[str, Any] = {"id": document.id}
        if gold:
            row["gold"] = gold_words(document, codebook)
        row |= {"words": len(document.text.split()), "text": document.text}
        row |= {name: text for name, text in fields[1:] if name not in row}
        rows.append(row)
    config: dict[str, Any] = {
        "id": st.column_config.TextColumn("id", width=110),
        "words": st.column_config.NumberColumn("words", width=70, format="localized"),
        "text": st.column_config.TextColumn("text"),
        "gold": st.column_config.ListColumn("gold", width=190),
    }
    frame = pd.DataFrame(rows)
    height = min(height, 36 + 31 * len(rows))
    if not selectable:
        st.dataframe(frame, hide_index=True, column_config=config, key=key, height=height)
        return None
    event = st.dataframe(
        frame, hide_index=True, column_config=config, key=key, height=height, on_select="rerun",
        selection_mode="single-row",
    )  # fmt: skip
    chosen = event["selection"]["rows"]
    return int(chosen[0]) if chosen else None
