"""Editor of one label.

Every valid change is saved as the draft immediately. An invalid input stays in its field with the reason.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from app.components import component
from app.pages import PageName
from app.state import CodebookState, bound, state
from app.widgets.alerts import error_notices
from app.widgets.codebook_versions import change_draft
from app.widgets.elements import adding_field, button, field_name, fold, icon_button, line, literal
from core.codebook import COLOURS, Codebook, Label, Scale
from core.errors import CodebookError
from core.formatting import format_count, format_rating
from core.services.codebooks import codebook as codebooks
from core.services.codebooks import label_keywords
from core.services.lab import accepted_changes
from core.services.project_session import ProjectSession

OFFERED_KEYWORDS = 10
_SWATCHES = component("swatches")
ANSWERS = {"": "Present or absent", "options": "Open: options made for each text", "word": "Open: one free word"}

Edit = Callable[[Codebook, Any], Codebook]


class Fields:
    """Widgets that show and edit the codebook draft on a page.

    Their keys contain the page. If two pages had a widget with the same key, it would be empty on the page that is
    opened second: Streamlit has its value under the key, but does not send it to the browser.
    """

    def __init__(self, session: ProjectSession, page: PageName) -> None:
        self.session = session
        self._page = page

    def apply(self, edit: Callable[[Codebook], Codebook]) -> None:
        """Edit the draft, or only the codebook of this tab while another tab's draft differs."""
        status = codebooks.codebook_status(self.session)
        own = state.codebook.draft.own(status.codebook)
        try:
            edited = edit(own or status.codebook)
        except KeyError:
            state.set_notice("warn", "Label not found", "It was deleted in another tab.")
            return
        if own is not None:
            state.codebook.draft.edit(edited)
            return
        codebooks.save_draft(self.session, edited)
        state.codebook.draft.note_stored(codebooks.codebook_status(self.session).codebook)
        state.note_saved("codebook")

    def save(self, note: str) -> bool:
        """Save the draft as a version.

        Returns False, with a notice, if the input of a field on the page is invalid, or if another tab has changed the
        draft.
        """
        status = codebooks.codebook_status(self.session)
        book = status.codebook
        if state.codebook.draft.own(book) is not None:
            return False  # the page shows the choice now
        if reason := self._rejected(book):
            state.set_notice("error", "Not saved: a field is invalid", reason)
            return False
        version = codebooks.save(self.session, book, note)
        state.set_notice("ok", f"Saved as v{version}", "New runs use it. Earlier runs keep their version.")
        return True

    def _rejected(self, book: Codebook) -> str:
        """Return why an input on the page is not part of the draft, empty if all are. Deleted labels do not count."""
        names = ("book-", *(label.id for label in book.labels))
        for key, (_, reason) in state.codebook.rejected.items():
            page, _, name = key.partition("-")
            if page == self._page and any(part in name for part in names):
                return reason
        return ""

    def discard(self) -> None:
        """Discard the draft and the invalid inputs of all pages."""
        if change_draft(self.session, partial(codebooks.discard, self.session)):
            state.codebook.forget_inputs()

    def change(self, label_id: str, part: str, change: Callable[[Any], Any]) -> None:
        """Change one attribute of a label by a function of its value."""

        def edit(book: Codebook) -> Codebook:
            return codebooks.change_label(book, label_id, **{part: change(getattr(book.label(label_id), part))})

        self.apply(edit)

    def bind(self, name: str, stored: Any, edit: Edit) -> dict[str, Any]:
        """Return the key and the callback of a widget that shows ``stored``, or the rejected input if there is one.

        The callback saves the value of the widget to the draft, or stores it with the reason why it is invalid.
        """
        key = f"{self._page}-{name}"
        refused = state.codebook.rejected.get(key)

        def save(typed: Any) -> None:
            try:
                self.apply(lambda book: edit(book, typed))
                state.codebook.accept(key)
            except CodebookError as error:
                state.codebook.reject(key, typed, str(error))

        return bound(key, stored if refused is None else refused[0], save)

    def show_rejection(self, name: str) -> None:
        """Draw the reason why the input of a field was rejected, if it was."""
        refused = state.codebook.rejected.get(f"{self._page}-{name}")
        if refused is not None:
            st.html(f'<div class="moot-wrong" role="alert">{escape(refused[1])}</div>')

    def draw(
        self,
        widget: Callable[..., Any],
        title: str,
        name: str,
        stored: Any,
        edit: Edit,
        note: str = "",
        end: str = "",
        **options: Any,
    ) -> None:
        """Draw a field: its title with a note, the widget, and the reason of a rejected input."""
        field_name(title, note, end)
        widget(title, **self.bind(name, stored, edit), label_visibility="collapsed", **options)
        self.show_rejection(name)


def label_fields(fields: Fields, codebook: Codebook, label: Label) -> None:
    """Draw the fields of a label: name, colour, description, code (single choice), examples and keywords."""
    id = label.id

    def changed(part: str) -> Edit:
        return lambda book, typed: codebooks.change_label(book, id, **{part: typed})

    left, right = st.columns(2, vertical_alignment="top")
    with left:
        fields.draw(st.text_input, "Name", f"label-name-{id}", label.name, changed("name"))
    with right:
        field_name("Colour")
        used = [(other.colour, other.name) for other in codebook.labels if other.id != id]
        swatches = _SWATCHES(
            key=f"label-colour-{id}",
            data={"selected": label.colour, "count": COLOURS, "used": used},
            on_colour_change=lambda: None,  # a component reports a trigger only if it has a callback
        )
        picked = swatches.get("colour")
        if picked and int(picked) != label.colour:
            with error_notices():
                fields.change(id, "colour", lambda _: int(picked))
            st.rerun()
    fields.draw(
        st.text_area,
        "Description",
        f"label-description-{id}",
        label.description,
        changed("description"),
        end=format_count(len(label.description.split()), "word"),
        height="content",
        placeholder="Define the label so that another annotator would decide in the same way.",
    )
    match codebook.kind:
        case "choice":
            note = "optional number of the label in files and replies"
            fields.draw(st.number_input, "Code", f"label-code-{id}", label.code, changed("code"), note, step=1)
        case "rating":
            scale_fields(fields, codebook, label)
        case "multilabel":
            note = "open labels are used on Authors only, not in runs"
            fields.draw(
                st.selectbox,
                "Answers",
                f"label-open-{id}",
                label.open,
                changed("open"),
                note,
                options=list(ANSWERS),
                format_func=ANSWERS.__getitem__,
            )
    left, right = st.columns(2)
    with left:
        field_name("Include", "examples")
        examples(fields, label, "include")
    with right:
        field_name("Exclude", "examples")
        examples(fields, label, "exclude")
    keywords(fields, codebook, label)


def scale_fields(fields: Fields, codebook: Codebook, label: Label) -> None:
    """Draw the scale of a dimension, and an offer of the scale that its gold ratings span."""
    scale, gold = codebook.scale_of(label.id), codebooks.gold_span(fields.session, label.id)

    def rescale(book: Codebook, **ends: int | None) -> Codebook:
        points = {end: point for end, point in ends.items() if point is not None}
        return codebooks.change_label(book, label.id, scale=book.scale_of(label.id).model_dump() | points)

    def change(end: str) -> Edit:
        return lambda book, typed: rescale(book, **{end: typed})

    span = " to ".join(map(format_rating, gold)) if gold else ""
    field_name("Scale", "of this dimension", f"gold ratings: {span}" if gold else "")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for end, title in (("min", "Lowest rating"), ("max", "Highest rating")):
            field = fields.bind(f"label-{end}-{label.id}", getattr(scale, end), change(end))
            st.number_input(title, **field, step=1, label_visibility="collapsed", width=130)
        if gold and _is_other_scale(gold, scale):
            low, high = gold
            use_gold = partial(rescale, min=low, max=high)
            button(f"Use {span}", "label-scale-gold", fields.apply, use_gold, type="tertiary")
    for end in ("min", "max"):
        fields.show_rejection(f"label-{end}-{label.id}")


def _is_other_scale(gold: tuple[int, int], scale: Scale) -> bool:
    """Return True if gold ratings leave the scale, or leave its upper half unused."""
    low, high = gold
    return low < scale.min or high > scale.max or (low == scale.min and high <= (scale.min + scale.max) / 2)


def examples(fields: Fields, label: Label, part: str) -> None:
    """Draw the examples of a label, which can be edited and removed, and a field to add an example.

    ``part`` is ``include`` or ``exclude``.
    """
    rows: tuple[str, ...] = getattr(label, part)

    def put(index: int) -> Edit:
        def edit(book: Codebook, typed: str) -> Codebook:
            texts = list(getattr(book.label(label.id), part))
            texts[index : index + 1] = [typed]
            return codebooks.change_label(book, label.id, **{part: tuple(texts)})

        return edit

    def remove(gone: str) -> None:
        fields.change(label.id, part, lambda texts: tuple(text for text in texts if text != gone))

    for number, text in enumerate(rows):
        with st.container(horizontal=True, key=f"example-{part}-{number}", gap="xxsmall"):
            key = f"label-{part}-{label.id}-{number}"
            st.text_area(
                f"{part} example {number + 1}",
                **fields.bind(key, text, put(number)),
                height="content",
                label_visibility="collapsed",
            )
            key = f"label-{part}-{label.id}-remove-{text}"  # by number, the next example would get it
            icon_button("close", "Remove this example", key, remove, text)

    def add(typed: str) -> None:
        fields.change(label.id, part, lambda texts: (*texts, typed))

    with st.container(key=f"example-{part}-new"):
        key = f"label-{part}-{label.id}-new"
        adding_field(f"Add {part} example", key, add, placeholder="Add an example", label_visibility="collapsed")


def keywords(fields: Fields, codebook: Codebook, label: Label) -> None:
    """Draw the keywords of a label and suggested keywords."""
    offered = codebooks.suggestions(codebook, label.id, OFFERED_KEYWORDS)
    with st.container(key="keywords"):
        fields.draw(
            st.multiselect,
            "Keywords",
            f"label-keywords-{label.id}",
            list(label.keywords),
            lambda book, typed: codebooks.change_label(book, label.id, keywords=_split_lists(typed, label.keywords)),
            "for the built-in model only",
            f"{len(label.keywords):,}" if label_keywords.has_full_list(label) else "",
            options=[*label.keywords, *offered],
            accept_new_options=True,
            select_all=False,
            placeholder="Type a word and press Enter",
        )
        if label_keywords.has_full_list(label):
            line(label_keywords.UNUSED_DESCRIPTION, "q xs")
        _restore_button(fields, label)
    if not offered:
        return

    def add(word: str | None) -> None:
        if word:  # the second click of a double click deselects
            fields.change(label.id, "keywords", lambda words: (*words, word))

    with st.container(key="offered"):
        st.pills(
            "Suggested keywords",
            offered,
            format_func=lambda word: literal(f"+ {word}"),
            label_visibility="collapsed",
            **bound(f"label-offered-{label.id}", None, add),
        )


def _split_lists(typed: Sequence[str], kept: Sequence[str]) -> tuple[str, ...]:
    """Return the keywords that are kept or were added: a comma, a semicolon or a line break separates added ones."""
    words = (word.strip() for text in typed for word in ([text] if text in kept else re.split(r"[,;\n]", text)))
    return tuple(dict.fromkeys(filter(None, words)))


def _restore_button(fields: Fields, label: Label) -> None:
    """Draw the button that undoes the last removal of keywords without a match, if it was of this label."""
    if state.codebook.unmatched is None or state.codebook.unmatched[0] != label.id:
        return
    _, before, removed = state.codebook.unmatched

    def restored(words: tuple[str, ...]) -> tuple[str, ...]:
        kept = {*words, *removed}
        return (*(word for word in before if word in kept), *(word for word in words if word not in before))

    def restore() -> None:
        fields.change(label.id, "keywords", restored)
        CodebookState.unmatched.reset()

    text = f"Put back {format_count(len(removed), 'keyword')}"
    button(text, "keywords-restore", restore, icon="undo", type="tertiary")


_reading = threading.Lock()
"""Held while texts are read, so that of many edits in a row only the first and the latest codebook are looked up."""


@st.fragment(parallel=True)
def in_texts(fields: Fields, label: Label) -> None:
    """Draw the keywords that the texts suggest for a label, and its matches. The rest of the page does not wait."""
    with st.spinner("Reading the texts …"), _reading:
        stored = codebooks.codebook_status(fields.session).codebook
        book = state.codebook.draft.own(stored) or stored
        if all(other.id != label.id for other in book.labels):
            return  # deleted while this waited
        proposals = label_keywords.propose(fields.session, book)
        offered = codebooks.suggestions(book, label.id, OFFERED_KEYWORDS)
        matches = label_keywords.count_matches(fields.session, book, label.id, offered)
    _proposed_keywords(fields, label, proposals)
    _matches(matches)
    if matches.unmatched:
        _remove_button(fields, label, matches)


def _proposed_keywords(fields: Fields, label: Label, proposals: label_keywords.KeywordProposals) -> None:
    """Draw the keywords proposed from the documents for a label, with buttons that add one or all."""
    label_proposals = [proposal for proposal in proposals.proposals if proposal.label_id == label.id]
    field_name("Proposed from your texts", f"from {format_count(proposals.documents, 'document')}")

    def add(added: Sequence[label_keywords.KeywordProposal]) -> None:
        with error_notices():
            before = codebooks.codebook_status(fields.session).codebook
            fields.apply(lambda book: label_keywords.with_keywords(book, added))
            accepted_changes.record(fields.session, before, codebooks.codebook_status(fields.session).codebook)
        st.rerun()  # the whole page, because this is a fragment

    def draw(proposal: label_keywords.KeywordProposal) -> None:
        with st.container(horizontal=True, vertical_alignment="center", key=f"proposal-{proposal.word}", gap="small"):
            st.html(_proposal_html(proposal))
            key, help = f"propose-{label.id}-{proposal.word}", f"Add {proposal.word} to the keywords"
            if st.button("Add", key=key, type="tertiary", help=help):
                add([proposal])

    fold(label_proposals, draw)
    if not label_proposals:
        words = "Your texts suggest no further keyword."
        if label.name in proposals.without:
            words = "This label has no keywords, and no word of your texts stands out for it. Type some of its words."
        line(words, "q")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if len(label_proposals) > 1 and st.button(f"Add these {len(label_proposals)}", key="propose-all"):
            add(label_proposals)
        count, words = len(proposals.proposals), ", ".join(proposal.word for proposal in proposals.proposals[:30])
        proposed = "proposal" if count == 1 else f"{count:,} proposals"
        add_all = f"Add the {proposed} for {'all' if label_proposals else 'other'} labels"
        if count > len(label_proposals) and st.button(add_all, key="propose-every", help=words):
            add(proposals.proposals)
    if proposals.proposals and proposals.net is not None:
        line(f"All of them together. {proposals.net}.", "q xs")


_PROPOSAL_SOURCES = {
    "definition": "in the description",
    "example": "in an include example",
    "compound": "compound with a keyword",
}


def _proposal_html(proposal: label_keywords.KeywordProposal) -> str:
    together = f"{proposal.together:,} with another keyword" if proposal.together else ""
    parts = (f"in {format_count(proposal.documents, 'document')}", together, _PROPOSAL_SOURCES.get(proposal.source, ""))
    details = escape(", ".join(filter(None, parts)))
    example = f"<q>{escape(proposal.example)}</q>" if proposal.example else ""
    return f'<div class="moot-line moot-proposal"><b>{escape(proposal.word)}</b> {details}{example}</div>'


def _matches(matches: label_keywords.KeywordMatches) -> None:
    sample = f"of {matches.documents:,} documents"
    if matches.documents < matches.total:
        sample += f", drawn from {matches.total:,}"
    rows = [("Keyword matches", f"{matches.hit:,}", sample)]
    if matches.with_gold:
        rows.append(("of those with the label in gold", f"{matches.present_hit:,}", f"of {matches.present:,}"))
        catches = ", ".join(f"“{word}” would find {count:,}" for word, count in matches.catches[:3])
        catches = catches or f"such as {', '.join(matches.missed_ids)}"
        if matches.missed:
            rows.append(("Gold labels without a keyword match", f"{matches.missed:,}", catches))
        rows.append(
            (
                "Keyword matches where gold is absent",
                f"{matches.absent_hit:,}",
                f"of {matches.with_gold - matches.present:,}",
            )
        )
    best = ", ".join(f"{word} {count:,}" for word, count in matches.by_word[:5] if count)
    if best:
        rows.append(("Most frequent", "", best))
    for name, words in (("Without a match", matches.unmatched), ("Too common, not looked for", matches.ignored)):
        if words:
            shown = ", ".join(words[:8]) + (f" and {len(words) - 8} more" if len(words) > 8 else "")
            rows.append((name, f"{len(words):,}", shown))
    body = "".join(f"<tr><td>{escape(a)}</td><td>{escape(b)}</td><td>{escape(c)}</td></tr>" for a, b, c in rows)
    field_name("Matches in your data", "by the built-in model, without held-out gold")
    st.html(f'<table class="moot-found">{body}</table>')


def _remove_button(fields: Fields, label: Label, matches: label_keywords.KeywordMatches) -> None:
    removed = matches.unmatched

    def without_removed(words: tuple[str, ...]) -> tuple[str, ...]:
        state.codebook.unmatched = (label.id, words, removed)
        return tuple(word for word in words if word not in removed)

    help = f"None of {format_count(matches.documents, 'document')} contains them. You can put them back."
    kept = label.model_copy(update={"keywords": tuple(word for word in label.keywords if word not in removed)})
    if label_keywords.has_full_list(label) and not label_keywords.has_full_list(kept):
        help += " So few keywords remain that words of the description select the label too."
    remove = f"Remove {format_count(len(removed), 'keyword')} without a match"
    if button(remove, "keywords-remove", icon="playlist_remove", type="tertiary", help=help):
        with error_notices():
            fields.change(label.id, "keywords", without_removed)
        st.rerun()  # the whole page, because this is a fragment
