"""Author labelling: an author writes a text, is asked about it, and sees what the answers change.

Every step appends to the log of the project, from which all state is computed. Personal data is masked before a text
reaches the store or a model, so nothing unmasked can be sent or exported later.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.author_labelling import recommendation, requests
from core.author_labelling.comparison import AskedQuestion, asked_questions
from core.author_labelling.questions import (
    AUTHOR,
    MAX_ASKED,
    MAX_WORD_CHARACTERS,
    READING_SECONDS,
    Abstention,
    Answer,
    Consent,
    ConversationMessage,
    Entry,
    Feature,
    Impression,
    Question,
    Reaction,
    Submission,
    features_of,
    format_conversation,
    value_of,
)
from core.author_labelling.screening import (
    Masked,
    mask,
    may_be_sent_again,
    repetition_key,
    screened,
    without_spam_authors,
)
from core.author_labelling.selection import AnswerEffect, Learned, replay
from core.codebook import Codebook, normalise
from core.debate.reading.decision_markers import without_reasoning
from core.debate.turns import Step
from core.documents import Document, Value, storable
from core.engine.standalone_run import run_standalone
from core.errors import ModelError, UsageError
from core.formatting import format_problem
from core.hashing import digest
from core.runs import BUILTIN, LONG_MAX_TOKENS, RoleModel, RunSettings
from core.services.background_jobs import OnStep, in_thread
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_until_commit
from core.services.runs.planning import DEFAULT_ROLE_MODEL, with_defaults

T = TypeVar("T")
SETTING = "authors"
FIELD, CONTEXT_FIELD = "text", "conversation"
CONSENT = (
    "You write a text, or hold a short chat with a model. Then you are asked a few questions about what you meant. "
    "Answering is voluntary: “Not sure” and “Skip” are always there, and you can stop at any time without any "
    "disadvantage.\n\n"
    "Your texts and answers are stored in this project file on this computer. If a language model is configured, your "
    "masked text is sent to it; the built-in model sends nothing. Give a code instead of your name if you like: "
    "nothing personal is needed. Phone numbers, e-mail addresses, card numbers and known names that begin with a "
    "capital letter are replaced before a text is stored, but not every personal detail can be recognised, so leave "
    "out what nobody should read. Whoever has the project file can use the texts and answers for research, evaluation "
    "and training."
)


class LabellingSettings(BaseModel):
    """Settings of author labelling, kept in the project."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    model: str = DEFAULT_ROLE_MODEL.spec
    """Model of all roles: filter, predictors, question writer and chat."""
    k: int = Field(default=6, ge=1, le=100)
    """Number of features that are passed on to the recommendation."""
    m: int = Field(default=3, ge=1, le=MAX_ASKED)
    """Number of questions about one text."""
    min_relevant: int = Field(default=1, ge=1, le=100)
    predictors_first: bool = False
    reading_seconds: float = Field(default=READING_SECONDS, ge=0, le=60)
    warm_up: int = Field(default=10, ge=0, le=100_000)
    """Answers with a value that are collected before anything is recommended."""
    names: tuple[str, ...] = ()
    """Names to mask, in addition to the shipped list."""
    catalogue: str = ""
    """Entries to recommend, as YAML; empty to recommend nothing."""


def load_settings(session: ProjectSession) -> LabellingSettings:
    """Return the project's settings; defaults for those that are missing or invalid."""
    try:
        return LabellingSettings.model_validate(session.store.settings.get(SETTING, {}))
    except ValidationError:
        return LabellingSettings()


def save_settings(session: ProjectSession, **changes: object) -> None:
    """Change settings. UsageError for an invalid value, an unknown connection and a catalogue that cannot be read."""
    try:
        settings = LabellingSettings.model_validate(load_settings(session).model_dump() | changes)
    except ValidationError as error:
        raise UsageError(f"{format_problem(error)}.", "Correct the setting.") from error
    role_model(session, settings.model)
    if settings.catalogue.strip():
        recommendation.load_catalogue(settings.catalogue)
    session.store.settings.set(SETTING, settings.model_dump(mode="json"))


@dataclass(frozen=True, slots=True)
class AuthorLabelling:
    """Everything that the page shows: codebook, features, log, and what was learned."""

    codebook: Codebook
    version: int
    features: tuple[Feature, ...]
    log: tuple[Entry, ...]
    questions: Mapping[str, AskedQuestion]
    """By the id of the question."""
    analysed: Mapping[str, AskedQuestion]
    """The questions that are analysed: without those of spam authors."""
    learned: Learned

    def feature(self, item: str) -> Feature | None:
        """Return a feature, None if the codebook does not have it any more."""
        return next((feature for feature in self.features if feature.item == item), None)

    def submissions(self, author: str) -> list[Submission]:
        """Return an author's texts, oldest first."""
        return [entry for entry in self.log if isinstance(entry, Submission) and entry.author == author]

    @property
    def consenting(self) -> set[str]:
        """The authors who agreed to the current text."""
        text = digest(CONSENT)
        return {entry.author for entry in self.log if isinstance(entry, Consent) and entry.text == text}

    def impression(self, document_id: str) -> Impression | None:
        """Return the recommendation shown after a text, None without one."""
        return next(
            (entry for entry in self.log if isinstance(entry, Impression) and entry.document_id == document_id), None
        )

    def reactions(self, document_id: str) -> list[Reaction]:
        """Return the reactions to the recommendation shown after a text."""
        return [entry for entry in self.log if isinstance(entry, Reaction) and entry.document_id == document_id]

    def next_question(self, submission: Submission) -> Question | None:
        """Return the first question about a text without an answer by its author; None once all have one."""
        return next((question for question in submission.questions if question.id not in self.learned.effects), None)


@cached_until_commit
def load_labelling(session: ProjectSession) -> AuthorLabelling:
    """Return the current state. Raises UsageError before a codebook is saved."""
    saved = session.store.codebooks.latest()
    if saved is None:
        raise UsageError("No codebook is saved yet.", "Save one on the Codebook page, or load the sample chats.")
    log = tuple(session.store.author_log.entries())
    features, questions = features_of(saved.codebook), asked_questions(log)
    analysed = asked_questions(without_spam_authors(log))
    learned = replay(log, _choices_now(session, saved.number, features))
    return AuthorLabelling(saved.codebook, saved.number, features, log, questions, analysed, learned)


def _choices_now(
    session: ProjectSession, version: int, features: tuple[Feature, ...]
) -> Callable[[Submission, Question, Answer], str | None]:
    """Return a function that names the option of an answer as in the current version of the codebook.

    It returns None for an option that this version does not have, and an answer to an open label as it is.
    """
    versions = {version: features}
    by_item = {feature.item: feature for feature in features}

    def choice_now(source: Submission, question: Question, entry: Answer) -> str | None:
        feature = by_item.get(question.item)
        if feature is None or not feature.values:
            return entry.choice
        if source.codebook_version not in versions:
            versions[source.codebook_version] = _features_at(session, source.codebook_version) or features
        value = _current_value(versions[source.codebook_version], feature, entry)
        return None if value is None else next(text for text, now in feature.values.items() if now == value)

    return choice_now


def _features_at(session: ProjectSession, version: int) -> tuple[Feature, ...]:
    """Return the features of a version of the codebook, none if it does not exist."""
    saved = session.store.codebooks.get(version)
    return features_of(saved.codebook) if saved else ()


def checked_author(name: str) -> str:
    """Return the name or code of an author with single spaces. Raises UsageError without one."""
    author = " ".join(name.split())
    if not author:
        raise UsageError("A name or code is missing.", "Any code will do, for example p1.")
    return author


def give_consent(session: ProjectSession, author: str) -> str:
    """Record that an author agrees to ``CONSENT``, and return the name or code. Raises UsageError without one."""
    author = checked_author(author)
    if author not in load_labelling(session).consenting:
        session.store.author_log.append([Consent(author, time.time(), digest(CONSENT))])
    return author


def mask_text(session: ProjectSession, text: str) -> Masked:
    """Return a text as it would be stored."""
    return mask(storable(text).strip(), load_settings(session).names)


def submit(
    session: ProjectSession,
    author: str,
    text: str,
    *,
    conversation: str = "",
    before: Sequence[ConversationMessage] = (),
) -> Submission:
    """Store a text with everything decided about it, and return the entry with its questions.

    Texts excluded by rule are logged with the rule and without any words, and become no document. Raises UsageError
    without the author's consent, and a ModelError if the model does not answer; nothing is stored then.
    """
    current = load_labelling(session)
    if author not in current.consenting:
        raise UsageError("The author has not agreed yet.", "Read the text on the Authors page and agree first.")
    if not text.strip():
        raise UsageError("The text is empty.", "Write or paste one.")
    settings = load_settings(session)
    masked = mask_text(session, text)
    earlier = current.submissions(author)
    at = time.time()
    id = f"author-{digest([author, at, masked.text], size=6)}"  # another author may submit while the model answers
    asked = {repetition_key(other.text) for other in earlier if not may_be_sent_again(other)}
    submission = Submission(
        document_id=id,
        author=author,
        at=at,
        text=masked.text,
        conversation=conversation or f"chat-{id}",
        before=tuple(before),
        masked=masked.counts,
        model=settings.model,
        codebook_version=current.version,
    )
    submission = screened(submission, asked)
    rule = submission.excluded
    if not rule:
        step = requests.prepare_questions(
            submission,
            current.features,
            current.learned,
            requests.load_templates(),
            seed=len(current.log),
            **settings.model_dump(include={"k", "m", "min_relevant", "predictors_first"}),
        )
        sent_before = sum(other.text == masked.text for other in earlier)
        work = run_step(session, step, current.codebook, settings.model, occurrence=sent_before)
        submission = session.engine.submit(work).result()
        if not submission.predictions:
            submission = replace(submission, excluded="nothing relevant")
    session.store.author_log.append([submission], documents=[] if rule else [document_of(submission, len(earlier))])
    return submission


def document_of(submission: Submission, order: int) -> Document:
    """Return the document of a text, with the conversation before it as context and grouped by conversation."""
    fields = {FIELD: submission.text}
    if submission.before:
        fields[CONTEXT_FIELD] = format_conversation(submission.shown[:-1])
    source = {"author": submission.author, "conversation": submission.conversation}
    return Document(submission.document_id, fields, source=source, group=submission.conversation, order=order)


def reply_in_chat(session: ProjectSession, submission: Submission) -> ConversationMessage:
    """Return the configured model's reply to a text. Raises ModelError."""
    current, settings = load_labelling(session), load_settings(session)
    step = requests.reply_in_chat(submission, current.features, requests.load_templates())
    reply = session.engine.submit(run_step(session, step, current.codebook, settings.model)).result()
    return ConversationMessage("assistant", mask(without_reasoning(reply.text).strip(), settings.names).text)


class AuthorDraft:
    """An author's unsent text and current conversation, which all tabs share.

    They are in memory only, because personal data is masked before a text is stored.
    """

    def __init__(self) -> None:
        self.text = ""
        """The text in the field."""
        self.sent_text = ""
        """The text of the job."""
        self.is_chat = False
        """True if the model replies to each text."""
        self.messages: tuple[ConversationMessage, ...] = ()
        """Messages of the current chat."""
        self.conversation = ""
        self.document_id = ""
        """The text that was sent last and is asked about."""

    def renew(self) -> None:
        """Start a new text or conversation."""
        self.messages, self.conversation, self.document_id = (), "", ""

    def continue_latest(self, current: AuthorLabelling, author: str) -> None:
        """Ask about the author's latest text with open questions, unless the text that was sent last has some."""
        has_questions = [text.document_id for text in current.submissions(author) if current.next_question(text)]
        if has_questions and self.document_id not in has_questions:
            self.document_id = has_questions[-1]

    def send(self, session: ProjectSession, author: str) -> None:
        """Start to store the text and to prepare its questions. In a chat, the model then replies.

        Ignored while an earlier text is being sent. A text that could not be stored becomes the unsent text again. The
        job raises the errors of ``submit`` and ``reply_in_chat``.
        """
        name = sending_job(author)
        if name not in session.jobs:
            self.text, self.sent_text = "", self.text
            work = partial(self._send, session, author, self.is_chat)
            session.start_job(
                name, lambda report: in_thread(partial(work, report), "moot-authors"), "Preparing questions"
            )

    def _send(self, session: ProjectSession, author: str, is_chat: bool, report: OnStep) -> None:
        before = self.messages if is_chat else ()
        conversation = self.conversation if before else ""
        try:
            submission = submit(session, author, self.sent_text, conversation=conversation, before=before)
        except Exception:
            self.text = "\n\n".join(filter(None, (self.sent_text, self.text)))  # the author may have gone on writing
            raise
        self.document_id, self.conversation = submission.document_id, submission.conversation
        if is_chat and submission.text:
            self.messages = (*before, ConversationMessage("author", submission.text))
            report(0.5, "Waiting for the model's reply")
            self.messages = (*self.messages, reply_in_chat(session, submission))


def sending_job(author: str) -> str:
    """Return the name of the job that prepares questions about a text of an author."""
    return f"a model prepares questions for {author}"


class AuthorDrafts(dict[str, AuthorDraft]):
    """The drafts of a project by author."""

    def of(self, author: str) -> AuthorDraft:
        """Return the draft of an author."""
        return self.setdefault(author, AuthorDraft())


def answer(
    session: ProjectSession,
    question_id: str,
    by: str,
    *,
    choice: str | None = None,
    abstention: Abstention | None = None,
    declined: bool = False,
    seconds: float,
    group: str = AUTHOR,
) -> AnswerEffect | None:
    """Record an answer, and return its effect on the uncertainty of the feature (None for other annotators).

    ``seconds`` is the time since the question was shown. An author's answer with a fixed value becomes the document's
    label by the rater ``author``. Raises UsageError for an unknown question, an answer before the reading time is
    over, an option that does not exist, a second answer, and an author who answers for somebody else.
    """
    current, settings = load_labelling(session), load_settings(session)
    asked_question = current.questions.get(question_id)
    if asked_question is None:
        raise UsageError(f"The question '{question_id}' does not exist.", "Reload the page.")
    question, submission = asked_question.question, asked_question.source
    if group == AUTHOR and by != submission.author:
        raise UsageError("Only the author of the text answers as its author.", "Answer as an annotator instead.")
    if not declined and seconds < settings.reading_seconds:
        raise UsageError("The reading time is not over.", f"Read for {settings.reading_seconds:g} seconds first.")
    if choice is not None:
        choice = checked_choice(question, choice, settings.names)
    if sum((choice is not None, abstention is not None, declined)) != 1:
        raise UsageError("No answer was given.", "Choose an option, abstain, or skip the question.")
    entry = Answer(question_id, by, time.time(), group, choice, abstention, declined, round(seconds, 3))
    value = None
    if group == AUTHOR:
        asked_features = _features_at(session, submission.codebook_version) or current.features
        value = _current_value(asked_features, current.feature(question.item), entry)
    gold = {} if value is None else {(submission.document_id, question.item): value}
    if not session.store.author_log.answer(entry, gold):
        raise UsageError("This question is already answered.", "Go on with the next one.")
    return load_labelling(session).learned.effects[question_id] if group == AUTHOR else None


def _current_value(asked_features: tuple[Feature, ...], now: Feature | None, entry: Answer) -> Value | None:
    """Return the value of an answer by the codebook of its question, whose labels may have been renamed since.

    None without a value, and for one that the current feature ``now`` does not have any more.
    """
    feature = next((feature for feature in asked_features if now and feature.item == now.item), None)
    value = value_of(feature, entry) if feature else None
    return value if now and value in now.values.values() else None


def checked_choice(question: Question, choice: str, names: Collection[str]) -> str:
    """Return the option of a question that an answer names, or its free word, masked with ``names``.

    Raises UsageError for anything else.
    """
    if question.options:
        position = question.position(choice)
        if position is None:
            raise UsageError(f"'{choice}' is not an option of this question.", "Choose one of its options.")
        return question.options[position]
    words = mask(choice.strip(), names).text.split()
    if len(words) != 1 or len(words[0]) > MAX_WORD_CHARACTERS or not normalise(words[0]):
        raise UsageError("The answer is not one word.", f"Write one word of at most {MAX_WORD_CHARACTERS} characters.")
    return words[0]


def next_for_annotator(current: AuthorLabelling, by: str, group: str) -> AskedQuestion | None:
    """Return the first question that an annotator has not answered about a text of somebody else; None if none is left.

    Only questions that the author answered with an option can be compared.
    """
    for candidate in current.analysed.values():
        is_open = by not in candidate.annotators.get(group, {}) and candidate.source.author != by
        if is_open and candidate.truth is not None:
            return candidate
    return None


def recommend(session: ProjectSession, submission: Submission) -> recommendation.CatalogueEntry | None:
    """Return what is recommended after a text, recording the impression once; None if nothing is.

    Nothing is recommended in the warm-up phase and without a catalogue. The questions do not depend on it.
    """
    current, settings = load_labelling(session), load_settings(session)
    catalogue = recommendation.load_catalogue(settings.catalogue) if settings.catalogue.strip() else ()
    impression = current.impression(submission.document_id)
    if impression is not None:
        return next((entry for entry in catalogue if entry.name == impression.entry), None)
    if not catalogue or submission.excluded or current.learned.answered < settings.warm_up:
        return None
    arm = recommendation.next_arm(current.log, catalogue)
    recommended = recommendation.recommend(catalogue, submission, current.features, current.learned.selector, arm=arm)
    if recommended is None:
        return None
    entry, matches = recommended
    shown = Impression(submission.document_id, submission.author, time.time(), entry.name, arm, matches)
    session.store.author_log.append([shown])
    return entry


def react(session: ProjectSession, submission: Submission, helpful: bool | None = None) -> None:
    """Record a click on the recommendation after a text, or with ``helpful`` the answer to "Was this helpful?"."""
    reaction = Reaction(submission.document_id, submission.author, time.time(), helpful)
    session.store.author_log.append([reaction])


# -- models


def role_model(session: ProjectSession, spec: str) -> RoleModel:
    """Return the resolved model of a spec ``connection/model``. Raises UsageError and NoSuchModel."""
    return with_defaults(session.models, RoleModel.parse(spec), None, LONG_MAX_TOKENS)


BUILT_IN = "built-in"
"""Group of the built-in model as an annotator."""


def model_group(spec: str) -> str:
    """Return the group of annotators that a model belongs to."""
    return BUILT_IN if spec.partition("/")[0] == BUILTIN else "models"


def model_notice(spec: str) -> str:
    """Return what a person should know about a model of author labelling; empty for a language model."""
    if model_group(spec) != BUILT_IN:
        return ""
    return (
        "The built-in model is a word list with a small classifier, not a language model. It predicts from the "
        "codebook's words and from earlier answers, asks plain questions, and cannot hold a conversation."
    )


STEP_SECONDS = 180.0
"""Longest wait for the requests about one text or question."""


async def run_step(
    session: ProjectSession,
    step: Step[T],
    codebook: Codebook,
    spec: str,
    *,
    seconds: float | None = None,
    errors_as_replies: tuple[type[ModelError], ...] = (),
    occurrence: int = 0,
) -> T:
    """Run a generator of requests with one model for all roles and return its result.

    Raises ModelError, TimedOut after ``seconds`` (STEP_SECONDS if None); errors of the classes ``errors_as_replies``
    are replies of the step. Replies that were paid for before are reused, except those to the first ``occurrence`` of
    equal requests.
    """
    settings = RunSettings(
        protocol=requests.TEMPLATES,
        codebook=codebook,
        role_models=dict.fromkeys(requests.ROLES, role_model(session, spec)),
        templates=requests.load_templates(),
    )
    result, _ = await run_standalone(
        step,
        settings,
        session.models,
        session.project.replies,
        seconds=seconds or STEP_SECONDS,
        errors_as_replies=errors_as_replies,
        occurrence=occurrence,
    )
    return result
