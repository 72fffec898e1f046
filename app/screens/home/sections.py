"""Parts of the Home page: example debate, sample cards, next steps."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import streamlit as st

from app.widgets.labels import tag_html, tags, tile_html
from app.widgets.palette import role_token
from core.services.data.sample_projects import SampleCard
from core.services.guided_path import Overview, Step


def headline() -> None:
    """Draw the headline and the introduction."""
    st.html(
        '<h1 class="moot-h1">Let models debate the label,<br>then decide for yourself.</h1>'
        '<p class="moot-lead">Import texts and define the labels. An extractor proposes labels, a critic objects, '
        "and a judge decides, each with quotes from the text. You correct mistakes and measure accuracy.</p>"
    )


def example() -> None:
    """Draw a small debate of three turns with the marks used on all pages. All of it is fixed text."""

    def mark(words: str, number: int, *, disputed: bool = False, quote: bool = False) -> str:
        classes = f"moot-ev moot-l{number}{' dis' if disputed else ''}{' q' if quote else ''}"
        return f'<span class="{classes}">{words}{"" if quote else f"<sup>{number}</sup>"}</span>'

    def says(role: str, title: str, words: str) -> str:
        name = f'<span class="moot-rn moot-{role_token(role)}">{title}</span>'
        return f"{tile_html(role, title)}<div>{name} {words}</div>"

    fee = "forty euros for parking"
    st.html(
        f'<div class="moot-example"><div class="doc">{mark("The cleaner sang", 2)}, {mark("the toast was cold", 5)}, '
        f'and {mark(fee, 3, disputed=True)} nearly ruined it.</div><div class="mini">'
        + says("extractor", "Extractor", f"Price: {mark(fee, 3, disputed=True, quote=True)}. Also Service and Food.")
        + says("critic", "Critic", "Parking is a fee, not the room. Drop Price.")
        + says("judge", "Judge", f"Present are {tag_html('Service', 2)} {tag_html('Food', 5)}")
        + '</div><div class="foot">No key needed: the built-in model is a word-list baseline, not a '
        "language model. Labels without keywords stay unresolved.</div></div>"
    )


def sample_card(card: SampleCard, opened: Callable[[], None]) -> None:
    """Draw a sample with its labels and a button that opens it."""
    with st.container(border=True, key=f"sample-{card.sample.key}", gap="small", height="stretch"):
        st.html(
            f'<div class="moot-card-name">{escape(card.sample.title)}<small>{escape(card.description)}</small></div>'
        )
        tags(card.codebook.labels)
        st.space("stretch")
        st.button("Open", key=f"open-{card.sample.key}", on_click=opened)


def steps(overview: Overview, go: Callable[[Step], None]) -> None:
    """Draw the steps with their status and a button for those that are open."""
    for number, step in enumerate(overview.steps, 1):
        with st.container(horizontal=True, key=f"step-{step.name}", gap="small", vertical_alignment="center"):
            sign = "✓" if step.state == "done" else str(number)
            st.html(
                f'<div class="moot-step {step.state}"><i>{sign}</i><div><b>{escape(step.title)}</b>'
                f"{escape(step.words)}</div></div>",
                width="stretch",
            )
            if label := _action(step, overview):
                st.button(
                    label,
                    key=f"go-{step.name}",
                    on_click=go,
                    args=(step,),
                    type="primary" if step.state == "now" else "secondary",
                )


def _action(step: Step, overview: Overview) -> str:
    if step.state == "now":
        if step.name == "pilot" and overview.last_state in ("running", "queued"):
            return "Watch"
        return "Resume" if step.name == "pilot" and overview.last_state == "paused" else step.action
    return "Open" if step.state == "done" and step.page in ("run", "review") else ""
