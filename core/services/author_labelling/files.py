"""Files of author labelling: import of chats with answers, export of labels with their provenance."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from string import ascii_uppercase
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.author_labelling.comparison import RANDOM
from core.author_labelling.questions import (
    ABSTENTIONS,
    AUTHOR,
    Abstention,
    Answer,
    ConversationMessage,
    Entry,
    Feature,
    FeaturePrediction,
    Impression,
    Question,
    Reaction,
    Submission,
    value_of,
)
from core.author_labelling.screening import mask, may_be_sent_again, repetition_key, screened
from core.author_labelling.selection import KEYWORDS, SELECTOR
from core.codebook import normalise
from core.csv_text import to_csv
from core.documents import Document, Value
from core.errors import ExportError, InputError, UsageError
from core.export import check_target, replacing
from core.files import read_text, shipped_folder
from core.formatting import format_problem
from core.hashing import digest
from core.services.author_labelling.labelling import (
    BUILT_IN,
    AuthorLabelling,
    checked_author,
    checked_choice,
    document_of,
    load_labelling,
    load_settings,
    save_settings,
)
from core.services.codebooks.codebook import read_codebook
from core.services.data import sample_projects
from core.services.project_session import ProjectSession, check_output_path
from core.services.shipped_data import SampleDataset
from core.services.workspace import Workspace

SAMPLE = SampleDataset(
    "author-chats",
    "What authors mean",
    "short chats with their authors' answers",
    "author_chats.jsonl",
    "author_chats.yaml",
)
SAMPLE_CATALOGUE = "author_catalogue.yaml"
COLUMNS = (
    "question_id", "document_id", "conversation", "author", "text", "label", "question", "options", "predicted",
    "annotator", "group", "answer", "position", "abstention", "declined", "seconds", "cost_usd", "unix_time", "model",
    "codebook_version", "masked",
)  # fmt: skip


MAX_CHAT_BYTES = 100_000_000
LAST_SECOND = 253402300799.0
"""End of the year 9999 in Unix time, the last that a date can have."""
OWN_GROUPS = ("", AUTHOR, BUILT_IN, "models", RANDOM)
"""Names of sources of answers that Moot itself writes; a file or a person cannot answer in their name."""


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _QuestionRow(_Row):
    label: str
    question: str
    options: tuple[str, ...] = Field(default=(), max_length=len(ascii_uppercase))
    predicted: str | None = None
    certainty: float = Field(default=0.5, ge=0, le=1)
    answer: str = ""
    seconds: float | None = Field(default=None, ge=0)
    annotators: dict[str, Annotated[str, Field(max_length=1000)]] = Field(default_factory=dict, max_length=100)


class _ChatRow(_Row):
    author: str
    conversation: str
    at: float = Field(ge=0, le=LAST_SECOND)
    messages: tuple[ConversationMessage, ...] = Field(min_length=1)
    questions: tuple[_QuestionRow, ...] = ()
    recommended: str = ""
    arm: str = SELECTOR
    clicks: int = Field(default=0, ge=0)


def import_chats(session: ProjectSession, path: Path) -> tuple[int, int]:
    """Import chats with questions and answers from a JSON Lines file. Return the numbers of new texts and answers.

    A line has:

    - ``author``, ``conversation`` and ``at`` (Unix time)
    - ``messages``, each with its role (``author`` or ``assistant``) and text. The last one is the text asked about.
    - ``questions``, each with label, question, options, predicted, certainty and seconds. The answer is an option, a
      word, an abstention, or empty if it was skipped. ``annotators`` has for each group a letter for each annotator,
      ``-`` for an abstention.
    - ``recommended``, ``arm`` and ``clicks``, if something was recommended

    A text that was imported before gets the answers of further annotators. Texts are screened and masked like those
    written in Moot. Raises InputError with the line for anything else, and nothing is stored then.
    """
    current, names = load_labelling(session), load_settings(session).names
    known = _KnownTexts(current.log)
    entries: list[Entry] = []
    documents: list[Document] = []
    for number, line in enumerate(read_text(path, max_bytes=MAX_CHAT_BYTES).split("\n"), start=1):
        if not line.strip():
            continue
        with _errors_at(f"{path.name}, line {number}"):
            row = _ChatRow.model_validate_json(line)
            row = row.model_copy(update={"author": checked_author(row.author)})
            submission, rest = _entries(current, row, names, known.by_repetition_key[row.author])
            if submission.document_id in known.submissions:
                new = known.added_answers(submission, rest)
            else:
                new = [submission, *rest]
                if not submission.excluded:
                    documents.append(document_of(submission, known.texts[row.author]))
        for entry in new:
            known.add(entry)
        entries += new
    session.store.author_log.append(entries, documents=documents, gold=_gold(current, entries))
    return (
        sum(isinstance(entry, Submission) for entry in entries),
        sum(isinstance(entry, Answer) for entry in entries),
    )


@contextmanager
def _errors_at(place: str) -> Iterator[None]:
    """Raise InputError with the place in a file for what a line has wrong."""
    try:
        yield
    except UsageError as error:
        raise InputError(f"{place}: {error.message}", error.remedy) from error
    except ValueError as error:
        problem = format_problem(error) if isinstance(error, ValidationError) else error
        raise InputError(f"{place}: {problem}.", "Correct the line.") from error


class _KnownTexts:
    """The texts of the log and of earlier lines, with what a further line is compared with."""

    def __init__(self, log: Iterable[Entry]) -> None:
        self.submissions: dict[str, Submission] = {}
        self.texts: Counter[str] = Counter()
        """Number of texts by author."""
        self.by_repetition_key: defaultdict[str, dict[str, str]] = defaultdict(dict)
        """Documents that an author must not repeat, by author and ``repetition_key``."""
        self._other_entries: defaultdict[str, set[Entry]] = defaultdict(set)
        for entry in log:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        match entry:
            case Submission():
                self.submissions[entry.document_id] = entry
                self.texts[entry.author] += 1
                if not may_be_sent_again(entry):
                    self.by_repetition_key[entry.author].setdefault(repetition_key(entry.text), entry.document_id)
            case Answer():
                self._other_entries[entry.question_id.rpartition("/")[0]].add(entry)
            case Impression() | Reaction():
                self._other_entries[entry.document_id].add(entry)

    def added_answers(self, submission: Submission, rest: Iterable[Entry]) -> list[Entry]:
        """Return the answers of annotators that a known text did not have before.

        An excluded text has none. Raises ValueError if anything else differs.
        """
        before = self.submissions[submission.document_id]
        if before.excluded or submission.excluded:
            return []
        others_before = self._other_entries[submission.document_id]
        given = {_annotator(entry) for entry in others_before if isinstance(entry, Answer)}
        differing = [entry for entry in rest if entry not in others_before]
        added = [entry for entry in differing if isinstance(entry, Answer) and _annotator(entry) not in given]
        if submission.questions != before.questions or len(added) < len(differing):
            raise ValueError("the text was imported before, and only answers of further annotators can be added to it")
        return list[Entry](added)


def _annotator(answer: Answer) -> tuple[str, str, str]:
    return answer.question_id, answer.group, answer.by


def _entries(
    current: AuthorLabelling, row: _ChatRow, names: tuple[str, ...], earlier: Mapping[str, str]
) -> tuple[Submission, list[Entry]]:
    """Return the submission of one line and its other entries. An excluded text has neither words nor other entries.

    ``earlier`` maps the ``repetition_key`` of texts that its author must not repeat to their documents. Raises
    ValueError for unknown labels, answers and annotators, for a second question about a label, and for options
    that are empty, or repeated once they are masked.
    """
    masked = [mask(message.text, names) for message in row.messages]
    *before, last = (ConversationMessage(one.role, safe.text) for one, safe in zip(row.messages, masked, strict=True))
    if last.role != "author":
        raise ValueError("the last message is not the author's")
    id = f"chat-{digest([row.author, row.conversation, [message.text for message in row.messages]], size=6)}"
    is_known = earlier.get(repetition_key(last.text)) == id  # a text does not repeat itself
    submission = Submission(
        document_id=id,
        author=row.author,
        at=row.at,
        text=last.text,
        conversation=row.conversation,
        before=tuple(before),
        masked=masked[-1].counts,
        codebook_version=current.version,
    )
    submission = screened(submission, () if is_known else earlier)
    if submission.excluded:
        return submission, []
    features = {normalise(feature.name): feature for feature in current.features}
    questions: list[Question] = []
    predictions: dict[str, FeaturePrediction] = {}
    answers: list[Entry] = []
    for question_row in row.questions:
        feature = features.get(normalise(question_row.label))
        if feature is None:
            raise ValueError(f"the codebook has no label '{question_row.label}'")
        if feature.item in predictions:
            raise ValueError(f"the label '{question_row.label}' has two questions")
        question_row = _masked(question_row, feature, names)
        question = _question(question_row, feature, id)
        questions.append(question)
        predictions[feature.item] = FeaturePrediction(question_row.predicted, question_row.certainty)
        answers.append(_author_answer(question, question_row, row, names))
        answers += _annotator_answers(question, question_row, row.at)
    submission = replace(
        submission,
        relevant=tuple(predictions),
        predictions=predictions,
        selected=tuple(predictions),
        questions=tuple(questions),
    )
    return submission, [*answers, *_recommendation(row, submission)]


def _question(row: _QuestionRow, feature: Feature, document_id: str) -> Question:
    """Return the question of a masked row. Raises ValueError for wrong options."""
    names_of_options = [normalise(option) for option in row.options]
    if "" in names_of_options or len({*names_of_options}) < len(names_of_options):
        raise ValueError(f"'{row.question}' has an empty or repeated option")
    if feature.values and {*names_of_options} != {*map(normalise, feature.values)}:
        raise ValueError(f"the options of '{row.question}' are not those of the label '{feature.name}'")
    id = f"{document_id}/{feature.item}"
    return Question(id, document_id, feature.item, row.question, row.options, row.predicted)


def _recommendation(row: _ChatRow, submission: Submission) -> list[Entry]:
    """Return what was recommended after a text, and the clicks on it. Raises ValueError for an unknown arm."""
    if not row.recommended:
        return []
    if row.arm not in (SELECTOR, KEYWORDS):
        raise ValueError(f"the arm '{row.arm}' does not exist")
    id, matches = submission.document_id, submission.relevant if row.arm == SELECTOR else ()
    clicks = (Reaction(id, row.author, row.at + 1 + click) for click in range(row.clicks))
    return [Impression(id, row.author, row.at, row.recommended, row.arm, matches), *clicks]


def _masked(row: _QuestionRow, feature: Feature, names: tuple[str, ...]) -> _QuestionRow:
    """Return a question without personal data; the fixed options of the codebook stay as they are."""
    fixed = {normalise(option) for option in feature.values}

    def masked(text: str) -> str:
        return text if normalise(text) in fixed else mask(text, names).text

    return row.model_copy(
        update={
            "question": masked(row.question),
            "options": tuple(map(masked, row.options)),
            "predicted": row.predicted and masked(row.predicted),
            "answer": masked(row.answer),
        }
    )


def _author_answer(question: Question, row: _QuestionRow, chat: _ChatRow, names: tuple[str, ...]) -> Answer:
    is_option = question.position(row.answer) is not None
    abstention: Abstention | None = next(
        (value for value in ABSTENTIONS if value == normalise(row.answer) and not is_option), None
    )
    choice = None if abstention or not row.answer else checked_choice(question, row.answer, names)
    return Answer(
        question.id,
        chat.author,
        chat.at,
        choice=choice,
        abstention=abstention,
        declined=not row.answer,
        seconds=row.seconds,
    )


def _annotator_answers(question: Question, row: _QuestionRow, at: float) -> Iterator[Answer]:
    letters = ascii_uppercase[: len(question.options)]
    for group, choices in row.annotators.items():
        if group.strip() in OWN_GROUPS:
            raise ValueError(f"'{group}' cannot be a group of annotators")
        for number, letter in enumerate(choices, start=1):
            if letter != "-" and letter not in letters:
                raise ValueError(f"'{letter}' is not an option of '{question.text}'")
            yield Answer(
                question.id,
                f"{group} {number}",
                at,
                group,
                choice=None if letter == "-" else question.options[letters.index(letter)],
                abstention="not sure" if letter == "-" else None,
            )


def _gold(current: AuthorLabelling, entries: list[Entry]) -> Mapping[tuple[str, str], Value]:
    gold: dict[tuple[str, str], Value] = {}
    for answer in (entry for entry in entries if isinstance(entry, Answer) and entry.group == AUTHOR):
        document, _, item = answer.question_id.rpartition("/")
        feature = current.feature(item)
        if feature is not None and (value := value_of(feature, answer)) is not None:
            gold[document, item] = value
    return gold


@cache
def sample_card() -> sample_projects.SampleCard:
    """Return the sample chats as shown on Home."""
    folder = shipped_folder("sample_data")
    chats = (folder / SAMPLE.data).read_text(encoding="utf-8").splitlines()
    with_questions = sum(bool(json.loads(chat)["questions"]) for chat in chats)  # the others show what is excluded
    return sample_projects.SampleCard(SAMPLE, read_codebook(folder / SAMPLE.codebook), with_questions)


def ensure_sample_project(workspace: Workspace) -> Path:
    """Open the project of the sample chats, created if it is missing, and return its file. Raises ProjectError."""
    sample_projects.make_folder()
    session = workspace.open(SAMPLE.path)
    if not session.store.author_log.entries():
        load_sample(session)
    return session.path


def load_sample(session: ProjectSession) -> int:
    """Import the sample chats with their catalogue, and their codebook if the project has none; return the texts."""
    folder = shipped_folder("sample_data")
    if session.store.codebooks.latest() is None:
        session.store.codebooks.save(read_codebook(folder / SAMPLE.codebook), note="the sample's codebook")
    texts, _ = import_chats(session, folder / SAMPLE.data)  # first, because another codebook may refuse them
    if not load_settings(session).catalogue.strip():
        save_settings(session, catalogue=(folder / SAMPLE_CATALOGUE).read_text(encoding="utf-8"))
    return texts


# -- export


def label_rows(session: ProjectSession) -> list[dict[str, Any]]:
    """Return every answer of authors and annotators with its provenance, by question. Texts are masked."""
    current = load_labelling(session)
    rows = []
    for asked_question in current.questions.values():
        question, submission = asked_question.question, asked_question.source
        feature = current.feature(question.item)
        answers = [asked_question.author_answer] if asked_question.author_answer else []
        answers += [answer for group in asked_question.annotators.values() for answer in group.values()]
        rows += [
            {
                "question_id": question.id,
                "document_id": submission.document_id,
                "conversation": submission.conversation,
                "author": submission.author,
                "text": submission.text,
                "label": feature.name if feature else question.item,
                "question": question.text,
                "options": list(question.options),
                "predicted": question.predicted,
                "annotator": answer.by,
                "group": answer.group,
                "answer": answer.choice,
                "position": question.position(answer.choice),
                "abstention": answer.abstention,
                "declined": answer.declined,
                "seconds": answer.seconds,
                "cost_usd": answer.cost_usd,
                "unix_time": answer.at,
                "model": submission.model,
                "codebook_version": submission.codebook_version,
                "masked": dict(submission.masked),
            }
            for answer in answers
        ]
    return rows


def export_labels(session: ProjectSession, suffix: str) -> bytes:
    """Return the answers with their provenance as ``.csv`` (with BOM, formulas escaped) or ``.jsonl``."""
    rows = label_rows(session)
    if suffix == ".csv":
        flat = [{**row, "options": " | ".join(row["options"]), "masked": json.dumps(row["masked"])} for row in rows]
        return to_csv(flat, COLUMNS).encode()
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def check_output(project: Path, path: Path) -> None:
    """Raise ExportError if ``save_labels`` cannot write the answers of a project to this file."""
    if path.suffix not in (".csv", ".jsonl"):
        raise ExportError(f"{path} is neither .csv nor .jsonl.", "Choose one of these endings.")
    check_target(check_output_path(project, path))


def save_labels(session: ProjectSession, path: Path) -> Path:
    """Write ``export_labels`` to a file, csv or jsonl by its ending. Raises ExportError if it cannot be written."""
    check_output(session.path, path)
    with replacing(path) as file:
        file.write(export_labels(session, path.suffix))
    return path
