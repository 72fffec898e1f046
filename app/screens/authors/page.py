"""Authors page: write a text, answer questions about it, and see what the answers change."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from html import escape
from typing import Any

import streamlit as st
from markupsafe import Markup

from app import context
from app.screens.authors import results
from app.state import AuthorsState, bound, state, with_default
from app.widgets.alerts import error_boxes, notice
from app.widgets.elements import button, job_progress, line, literal, running_job, saved, segments, table
from app.widgets.layout import empty, header, panel
from core.author_labelling.questions import AUTHOR, MAX_ASKED, ConversationMessage, Question, Submission
from core.author_labelling.screening import EXCLUSIONS
from core.errors import MootError, UsageError
from core.formatting import format_count, format_number, join_names
from core.services.author_labelling import files, labelling
from core.services.background_jobs import Job
from core.services.project_session import ProjectSession
from core.services.runs import planning

Field = Callable[[str], dict[str, Any]]
"""Returns the arguments that bind a widget to the setting of this name."""
KINDS = {"email": "e-mail address", "phone": "phone number", "card": "card number", "name": "name"}


def main() -> None:
    session = context.require_project()
    try:
        current = labelling.load_labelling(session)
    except UsageError:
        _no_codebook()
        return
    author = state.authors.author
    with header("Authors", f"writing as {author}" if author else "authors label their own texts"):
        if author and state.authors.view == "Write":
            button("Change author", "authors-change", AuthorsState.author.reset, type="tertiary")
        segments("View", AuthorsState.VIEWS, key=with_default(AuthorsState.view.key, AuthorsState.VIEWS[0]))
        draft = _draft(session, author)
        is_sending = labelling.sending_job(author) in session.jobs
        if state.authors.view != "Write" or not (draft.text or is_sending):  # unsent text is in memory only
            saved(state.saved_at.get("authors"))
    match state.authors.view:
        case "Answer for others":
            _annotate(session, current)
        case "Results" if not current.log:
            _no_answers()
        case "Results":
            results.draw(session)
        case "Settings":
            _settings(session)
        case _:
            if author and author in current.consenting:
                _write(session, current, author)
            else:
                _consent(session, current)


def _draft(session: ProjectSession, author: str) -> labelling.AuthorDraft:
    return context.workspace().shared(labelling.AuthorDrafts, session.path).of(author)


def _no_codebook() -> None:
    header("Authors", "authors label their own texts")
    opens_sample = empty(
        "No codebook yet",
        "Authors are asked about the labels of a codebook. Save one first, or open the sample: 40 short chats with "
        "their authors' answers, and a codebook with open labels.",
        {"Open Codebook": "codebook"},
        action="Open the sample chats",
        sign="lines",
        key="authors-none",
    )
    if opens_sample:
        _open_sample()


def _open_sample() -> None:
    with error_boxes(), st.spinner("Opening the sample chats"):
        state.select_project(files.ensure_sample_project(context.workspace()))
        st.rerun()


# -- consent


def _no_answers() -> None:
    words = "Under Write, authors write a text and answer questions about it. The sample shows what comes out."
    if empty("No answers yet", words, action="Open the sample chats", sign="bars", key="authors-no-answers"):
        _open_sample()


def _consent(session: ProjectSession, current: labelling.AuthorLabelling) -> None:
    with panel("Before you start", key="authors-consent"):
        st.text(labelling.CONSENT)
        line(labelling.model_notice(labelling.load_settings(session).model))
        left, right = st.columns([2, 1], vertical_alignment="bottom")
        name = left.text_input("Your name or a code", key="authors-name", placeholder="For example p1", max_chars=60)
        if right.button("I agree and start", key="authors-agree", type="primary", width="stretch"):
            with error_boxes():
                author = state.authors.author = labelling.give_consent(session, name)
                _draft(session, author).continue_latest(current, author)
                state.note_saved("authors")
                st.rerun()
    if not current.log:
        line("40 short chats with their authors' answers show what comes out. They open as a project of their own.")
        if st.button("Open the sample chats"):
            _open_sample()


# -- writing


def _write(session: ProjectSession, current: labelling.AuthorLabelling, author: str) -> None:
    """Draw what an author writes, and the questions about the text that was sent last."""
    draft = _draft(session, author)
    job = running_job(session, labelling.sending_job(author), lambda _: state.note_saved("authors"))
    left, right = st.columns((1, 1.15), gap="small")
    submission = next(
        (submission for submission in current.submissions(author) if submission.document_id == draft.document_id), None
    )
    with left:
        _composer(session, author, draft, job)
        _sent(draft, submission)
    with right:
        if submission is None:
            with panel("Questions", key="authors-start"):
                line("Write a text first. If it is about a label of the codebook, you are asked what you meant.")
        elif submission.excluded:
            with panel("No questions", key="authors-excluded"):
                notice("info", "No questions about this text", EXCLUSIONS[submission.excluded])
        else:
            _questions(session, current, submission)
            _suggestion(session, submission)
    results.comparison_panel(session)


def _composer(session: ProjectSession, author: str, draft: labelling.AuthorDraft, job: Job[None] | None) -> None:
    settings = labelling.load_settings(session)
    is_sending = job is not None
    with panel("Your text", settings.model, key="authors-compose") as head:
        with head, st.container(horizontal=True, vertical_alignment="center", gap="small"):
            chat = bound("authors-chat", draft.is_chat, partial(setattr, draft, "is_chat"))
            st.toggle("Chat", help="The model replies, and you can go on.", disabled=is_sending, **chat)
            help = "New text"
            button("New", "authors-new", draft.renew, icon="add", type="tertiary", help=help, disabled=is_sending)
        text = st.text_area(
            "Text",
            height=140,
            label_visibility="collapsed",
            placeholder="Write or paste a text, or the next message of the chat",
            **bound("authors-text", draft.text, partial(setattr, draft, "text")),
        )
        send = partial(draft.send, session, author)
        button("Send", "authors-send", state.once, "send", send, icon="send", type="primary", disabled=is_sending)
        if job is not None:
            job_progress(job, "authors-send")
            st.text(draft.sent_text)
        masked = labelling.mask_text(session, text)
        if masked.counts:  # below the button, which must not move while it is clicked
            kinds = join_names([format_count(count, KINDS[kind]) for kind, count in masked.counts.items()])
            notice("info", f"{kinds} will be masked", masked.text)
        if draft.is_chat:
            line(labelling.model_notice(settings.model))


def _sent(draft: labelling.AuthorDraft, submission: Submission | None) -> None:
    if draft.is_chat and draft.messages:
        with panel("Conversation", key="authors-conversation"):
            _messages(draft.messages)
    elif submission is not None and submission.text:
        with panel("Sent text", submission.document_id, key="authors-sent"):
            st.text(submission.text)


def _messages(messages: Iterable[ConversationMessage]) -> None:
    for message in messages:
        with st.chat_message("user" if message.role == "author" else "assistant"):
            st.text(message.text)


def _questions(session: ProjectSession, current: labelling.AuthorLabelling, submission: Submission) -> None:
    if not submission.questions:
        with panel("No questions", key="authors-unreadable"):
            notice("info", "No questions about this text", "The model's questions are unreadable.")
    question = current.next_question(submission)
    answered = [effect for question in submission.questions if (effect := current.learned.effects.get(question.id))]
    if question is not None:
        feature = current.feature(question.item)
        progress = f"{len(answered) + 1} of {len(submission.questions)}"
        with panel(feature.name if feature else "Question", progress, key="authors-question"):
            _ask(session, question, submission.author)
    if not answered:
        return
    rows = []
    for effect in answered:
        feature = current.feature(effect.question.item)
        answer = effect.answer.choice or effect.answer.abstention or "skipped"
        change = ", unchanged" if effect.loss is None else f" → {format_number(effect.after, 2)}"
        uncertainty = f"{format_number(effect.before, 2)}{change}"
        rows.append((feature.name if feature else "", answer, effect.question.predicted or "nothing", uncertainty))
    with panel("Labels", "your answers and their effect", key="authors-labels"):
        table(("Label", "Your answer", "Predicted", "Uncertainty"), rows, text=("Your answer", "Predicted"))
        if question is None:
            line("All questions about this text are answered. Write another text, or see Results.")


def _suggestion(session: ProjectSession, submission: Submission) -> None:
    """Draw the recommendation after a text, if there is one."""
    with error_boxes():
        recommendation = labelling.recommend(session, submission)
        if recommendation is None:
            return
        reactions = labelling.load_labelling(session).reactions(submission.document_id)
        with panel("Suggestion", "your reaction improves the choice of labels", key="authors-suggestion"):
            line(Markup("<b>{}</b>").format(recommendation.name))
            if all(reaction.helpful is not None for reaction in reactions):
                button("Show me", "authors-click", labelling.react, session, submission)
                return
            st.text(recommendation.text)
            if all(reaction.helpful is None for reaction in reactions):
                with st.container(horizontal=True, gap="small"):
                    for words, key, helpful in (("Helpful", "helpful", True), ("Not helpful", "unhelpful", False)):
                        button(words, f"authors-{key}", labelling.react, session, submission, helpful)


# -- answering for others


def _annotate(session: ProjectSession, current: labelling.AuthorLabelling) -> None:
    """Draw the next question that a second person has not answered, with what annotators may see."""
    left, right = st.columns(2)
    by = " ".join(left.text_input("Your name or a code", key="authors-annotator", max_chars=60).split())
    group = right.text_input("Group of annotators", key=with_default("authors-group", "people"), max_chars=30).strip()
    if not by or group in files.OWN_GROUPS:
        line("Enter your name and a group, such as people or experts. You guess what the author answered.")
        return
    asked = labelling.next_for_annotator(current, by, group)
    if asked is None:
        notice("ok", "No questions left", "You have answered all questions of other authors.")
        return
    with panel("Conversation", "the five latest messages", key="authors-context"):
        _messages(asked.source.shown)
    with panel("What did the author answer?", key="authors-annotation"):
        _ask(session, asked.question, by, group)


# -- one question


TICK = 0.5
"""Seconds between redraws while the reading time runs."""


def _ask(session: ProjectSession, question: Question, by: str, group: str = AUTHOR) -> None:
    """Draw a question. Its buttons are disabled until the reading time is over. The service checks the time, too."""
    shown_at = state.authors.note_shown(f"{question.id} {by}")
    reads_until = shown_at + labelling.load_settings(session).reading_seconds
    is_waiting = time.time() < reads_until

    given = False

    def give(**answer: Any) -> None:
        nonlocal given
        labelling.answer(session, question.id, by, seconds=time.time() - shown_at, group=group, **answer)
        state.note_saved("authors")
        given = True

    @st.fragment(run_every=TICK if is_waiting else None)  # also without redraws, or the field would lose the focus
    def draw() -> None:
        remaining = reads_until - time.time()
        if given or (is_waiting and remaining <= 0):
            st.rerun()
        _draw_question(question, give, remaining)

    draw()


def _draw_question(question: Question, give: Callable[..., None], remaining: float) -> None:
    """Draw the question with its buttons, which are disabled for the ``remaining`` seconds."""
    key = f"authors-{question.id}"
    st.text(question.text)
    waiting, shortcuts = remaining > 0, _shortcuts(question)

    def answer(position: int, label: str, **widget: Any) -> None:
        button(label, f"{key}-{position}", disabled=waiting, shortcut=shortcuts[position - 1], **widget)

    with st.container(key="authors-points" if not question.is_numbered else None):
        for number, option in enumerate(question.options, start=1):
            answer(number, literal(option), action=partial(give, choice=option), width="stretch")
    if not question.options:
        word_key = f"{key}-word"

        def give_word() -> None:
            give(choice=str(st.session_state.get(word_key, "")))

        # The button is never disabled: Enter in the field would not press it, even after the reading time.
        with st.form(f"{key}-form", border=False):
            st.text_input("Your answer in one word", key=word_key, max_chars=40)
            st.form_submit_button("Answer", key=f"{key}-answer", on_click=give_word, type="primary")
    with st.container(horizontal=True, gap="small"):
        for position, abstention in enumerate(question.abstentions, start=len(question.options) + 1):
            answer(position, abstention.capitalize(), action=partial(give, abstention=abstention))
        button("Skip", f"{key}-skip", partial(give, declined=True), type="tertiary")
    if waiting:
        line(f"Take your time to read. You can answer in {format_count(int(remaining) + 1, 'second')}.")
    elif question.options and (keys := [shortcut for shortcut in shortcuts if shortcut]):
        line(f"Keys {keys[0]} to {keys[-1]} answer.")


def _shortcuts(question: Question) -> list[str | None]:
    """Return the key of each option and abstention: its position up to 9, or the digit that an option is."""
    answers = [*question.options, *question.abstentions]
    if question.is_numbered:
        return [str(position) if position < 10 else None for position in range(1, len(answers) + 1)]
    return [answer if len(answer) == 1 and answer.isdecimal() and answer.isascii() else None for answer in answers]


# -- settings


def _settings(session: ProjectSession) -> None:
    settings = labelling.load_settings(session)

    def field(name: str) -> dict[str, Any]:
        return bound(f"authors-set-{name}", getattr(settings, name), partial(_save_setting, session, name))

    left, right = st.columns(2, gap="small")
    with left, panel("Model and questions", key="authors-settings"):
        _question_settings(session, settings, field)
    with right, panel("Privacy and suggestions", key="authors-privacy"):
        _suggestion_settings(session, settings, field)


def _question_settings(session: ProjectSession, settings: labelling.LabellingSettings, field: Field) -> None:
    plan = planning.load_plan(session)
    planned = (role_model.spec for role_model in (*plan.models, planning.DEFAULT_ROLE_MODEL))
    specs = list(dict.fromkeys((settings.model, *planned)))
    st.selectbox(
        "Model",
        specs,
        accept_new_options=True,
        **field("model"),
        help="connection/model. It filters, predicts, writes questions and chats.",
    )
    line(labelling.model_notice(settings.model))
    first, second = st.columns(2)
    first.number_input("Questions per text", 1, MAX_ASKED, **field("m"), help="The most uncertain labels are asked.")
    help = "A question can be answered after this time."
    second.number_input("Reading time (s)", 0.0, 60.0, step=1.0, **field("reading_seconds"), help=help)
    help = "The most relevant labels; only these are asked and used for suggestions."
    first.number_input("Selected labels (k)", 1, 100, **field("k"), help=help)
    help = "No questions about a text with fewer relevant labels."
    second.number_input("Relevant labels needed", 1, 100, **field("min_relevant"), help=help)
    st.toggle(
        "Select predictors before they run",
        **field("predictors_first"),
        help="Runs only k predictors per text: cheaper with many labels and a paid model.",
    )


def _suggestion_settings(session: ProjectSession, settings: labelling.LabellingSettings, field: Field) -> None:
    def save_names(text: str) -> None:
        _save_setting(session, "names", tuple(filter(None, map(str.strip, text.split("\n")))))

    st.text_area(
        "Names to mask",
        height=80,
        help="One on each line, in addition to frequent given names.",
        **bound("authors-set-names", "\n".join(settings.names), save_names),
    )
    st.number_input(
        "Answers before suggestions",
        0,
        100_000,
        **field("warm_up"),
        help="Warm-up: this many answers are collected before anything is suggested.",
    )
    rejected = state.authors.rejected_catalogue
    st.text_area(
        "Catalogue of suggestions (YAML)",
        height=220,
        **bound(
            "authors-set-catalogue",
            settings.catalogue if rejected is None else rejected[0],
            partial(_save_catalogue, session),
        ),
        placeholder='- name: Light tent\n  text: Under two kilos.\n  keywords: [tent]\n  labels: {Purchase: "Yes"}',
        help="Entries with name, text, keywords for the baseline, and values by name of a label.",
    )
    if rejected is not None:
        st.html(f'<div class="moot-wrong" role="alert">{escape(rejected[1])}</div>')


def _save_catalogue(session: ProjectSession, text: str) -> None:
    """Save the catalogue of suggestions. An invalid one stays in its field with the reason."""
    try:
        _save_setting(session, "catalogue", text)
        AuthorsState.rejected_catalogue.reset()
    except MootError as error:
        state.authors.rejected_catalogue = (text, str(error))


def _save_setting(session: ProjectSession, name: str, value: Any) -> None:
    labelling.save_settings(session, **{name: value})
    state.note_saved("authors")


main()
