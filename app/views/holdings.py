"""What documents hold, in charts and tables: lengths, gold, the documents themselves."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import streamlit as st

from app.views import palette
from app.views.labels import colour
from core.codebook import Codebook
from core.documents import Document
from core.studio.data import Profile
from core.studio.holdings import GoldBar, gold_words

ROW = 26
PADDING = {"left": 2, "right": 2, "top": 2, "bottom": 2}


def figures(rows: Sequence[tuple[str, str, str]]) -> None:
    """Numbers in a row: (number, what it counts, tone)."""
    cells = "".join(
        f'<span class="{tone}"><b>{escape(number)}</b>{escape(words)}</span>' for number, words, tone in rows
    )
    st.html(f'<div class="moot-account">{cells}</div>')


def gold_chart(bars: Sequence[GoldBar], *, key: str) -> None:
    """A bar for each label (or value) with its count and share; the colour is the label's."""
    import altair as alt
    import pandas as pd

    shade = palette.colours()
    raters = len({bar.rater for bar in bars}) > 1
    rows: list[dict[str, Any]] = []
    for bar in bars:
        name = " ".join(part for part in (bar.label, bar.value, f"({bar.rater})" if raters else "") if part)
        rows.append(
            {
                "name": name,
                "count": bar.count,
                "known": bar.known,
                "share": bar.share,
                "words": f"{bar.count:,}  {bar.share:.0%}",
                "colour": colour(bar.colour) if bar.colour else shade["tx3"],
            }
        )
    names = list(dict.fromkeys(row["name"] for row in rows))
    colours = {row["name"]: row["colour"] for row in rows}
    most = max((row["count"] for row in rows), default=1) or 1
    across = alt.X("count:Q", scale=alt.Scale(domain=[0, most * 1.42], nice=False), axis=None)
    down = alt.Y(
        "name:N",
        sort=names,
        axis=alt.Axis(title=None, ticks=False, domain=False, labelLimit=150, labelFontSize=12, labelPadding=8),
    )
    base = alt.Chart(pd.DataFrame(rows))
    bars_ = base.mark_bar(size=15, cornerRadiusEnd=2).encode(
        x=across,
        y=down,
        color=alt.Color("name:N", scale=alt.Scale(domain=names, range=[colours[name] for name in names]), legend=None),
        tooltip=[
            alt.Tooltip("name:N", title="Label"),
            alt.Tooltip("count:Q", title="Documents", format=","),
            alt.Tooltip("known:Q", title="of those with gold", format=","),
            alt.Tooltip("share:Q", title="Share", format=".1%"),
        ],
    )
    words = base.mark_text(align="left", dx=6, fontSize=12, color=shade["tx2"]).encode(x=across, y=down, text="words:N")
    _draw(bars_ + words, ROW * max(1, len(names)), shade, key)


def length_chart(bins: Sequence[tuple[int, int, int]], *, key: str) -> None:
    """A histogram of words: (from, to, documents)."""
    import altair as alt
    import pandas as pd

    shade = palette.colours()
    frame = pd.DataFrame([{"from": a, "to": b, "count": n} for a, b, n in bins])
    low, high = min(a for a, _, _ in bins), max(b for _, b, _ in bins)
    chart = (
        alt.Chart(frame)
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
    _draw(chart, 168, shade, key)


def _draw(chart: Any, height: int, shade: Any, key: str) -> None:
    axis = {
        "labelColor": shade["tx2"], "titleColor": shade["tx3"], "gridColor": shade["line"],
        "domainColor": shade["line2"], "tickColor": shade["line2"], "labelFontSize": 11, "titleFontSize": 11,
        "titleFontWeight": 400,
    }  # fmt: skip
    chart = chart.properties(height=height, background="transparent", padding=PADDING).configure(
        font="Inter", view={"stroke": None}, axis=axis
    )
    st.altair_chart(chart, width="stretch", theme=None, key=key)


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
        "gold": st.column_config.ListColumn("gold", width=170),
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
