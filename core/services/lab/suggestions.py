"""Suggest changes of definitions: from errors, and by a model that rewrites a label from the errors it led to.

Errors give cue words as keywords and contrasting documents as examples. Suggestions use only the development split.
The user accepts or dismisses each change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal, TypeAlias

import numpy as np

from core import prompts
from core.baseline.evidence import clauses_of, find_keywords, quote_around
from core.classifier.text_similarity import TextSpace
from core.codebook import Codebook, Label, normalise
from core.debate.context import ask_with_retry
from core.debate.reading.json_blocks import last_json
from core.debate.turns import Reply, Request, Step
from core.engine.standalone_run import run_until_usable
from core.errors import CodebookError, MootError, UsageError
from core.formatting import format_count
from core.hashing import digest
from core.runs import RoleModel, Template
from core.services import document_samples
from core.services.codebooks import codebook as codebooks
from core.services.codebooks.diff import FieldChange, compare
from core.services.codebooks.net_effect import NetEffect, net_effect
from core.services.evaluation.annotation_arrays import given_labels, load_arrays
from core.services.lab import accepted_changes, trials
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_until_commit
from core.services.runs import planning
from core.stats.error_analysis import MIN_Z, cues
from core.store.annotation_sources import REVIEWED_OR_GOLD
from core.store.lab import ACCEPTED_CHANGES

Part: TypeAlias = Literal["keywords", "include", "exclude", "less"]
"""Field that a suggestion changes: a list of the label, or (``less``) a keyword to remove."""
DISMISSED_SETTING = "lab dismissed"
"""Project setting that stores dismissed suggestions."""
MAX_DOCUMENTS = 2_000
"""Maximum number of documents to analyse."""
MIN_CHARACTERS = 12
"""Characters that a sentence without a cue word must exceed to become an example."""
PER_PART = 2
MAX_SUGGESTIONS = 12


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One change to a label's definition.

    ``why`` gives the evidence. ``document_id`` is the source of an example, empty for a keyword. ``documents`` are the
    errors behind it. ``net`` is the number of right decisions that it gains.
    """

    label_id: str
    part: Part
    text: str
    why: str
    document_id: str
    documents: tuple[str, ...]
    net: int = 0

    @property
    def name(self) -> str:
        """Key that is equal for equal changes."""
        return digest([self.label_id, self.part, normalise(self.text)], size=6)


Texts: TypeAlias = Mapping[str, str]
"""Texts of documents with the same outcome for a label, by id."""
Nearest: TypeAlias = Callable[[str, Iterable[str]], str]
"""Finds the document, of some, whose text is most similar to that of another; empty if none shares a word with it."""


@cached_until_commit
def suggest_changes(session: ProjectSession, run_id: str | None = None) -> tuple[Suggestion, ...]:
    """Return changes that the errors of a run suggest for the codebook draft, in the order of their net effect.

    The run defaults to ``latest_scored_run``.

    Each states its net effect on the built-in model's decisions on the same documents. Changes that lose more than they
    gain are left out. Of changes with the same effect, those with most errors behind them are first. Empty without
    errors, for ratings, and where everything was accepted or dismissed already.
    """
    now = codebooks.codebook_status(session).codebook
    dismissed = set(session.store.settings.get(DISMISSED_SETTING, []))
    common = tuple(f"{now.unit} {now.domain}".lower().split())  # these words occur in every kind of document
    errors = list(label_errors(session, now, run_id))
    known_labels = _known_labels(errors)
    if not known_labels:
        return ()
    nearest = _nearest_of({id: text for id, (text, _) in known_labels.items()})
    suggestions = [
        with_effect
        for label, sides in errors
        for suggestion in _label_suggestions(label, sides, common, nearest)
        if suggestion.name not in dismissed and not _already_applied(now, suggestion)
        if (with_effect := _with_net_effect(now, suggestion, known_labels)) is not None
    ]
    # Of equal changes, such as the same sentence of two documents, the best supported one is kept.
    suggestions.sort(key=lambda suggestion: len(suggestion.documents))
    unique = {suggestion.name: suggestion for suggestion in suggestions}
    best_first = sorted(unique.values(), key=lambda suggestion: (-suggestion.net, -len(suggestion.documents)))
    return tuple(best_first[:MAX_SUGGESTIONS])


def accept(session: ProjectSession, suggestion: Suggestion) -> None:
    """Apply a suggestion to the draft.

    A document whose text becomes an example no longer counts in evaluations of runs with that codebook. Raises
    CodebookError, or KeyError if the label cannot take the suggestion any more.
    """
    before = codebooks.codebook_status(session).codebook
    changed = _apply(before, suggestion)
    codebooks.save_draft(session, changed)
    if suggestion.document_id:
        version = codebooks.codebook_status(session).next_version
        text = getattr(changed.label(suggestion.label_id), suggestion.part)[-1]
        session.store.classifiers.add_codebook_example(
            suggestion.document_id, suggestion.label_id, suggestion.part, text, version, actor=""
        )
    accepted_changes.record(session, before, changed)


def _apply(book: Codebook, suggestion: Suggestion) -> Codebook:
    label = book.label(suggestion.label_id)
    if suggestion.part == "less":
        words = tuple(word for word in label.keywords if normalise(word) != normalise(suggestion.text))
        return codebooks.change_label(book, label.id, keywords=words)
    return codebooks.extend_label(book, label.id, suggestion.part, suggestion.text)


def _known_labels(errors: Sequence[tuple[Label, Mapping[str, Texts]]]) -> dict[str, tuple[str, dict[str, bool]]]:
    """Return the text and the known labels of each document of ``label_errors``."""
    known_labels: dict[str, tuple[str, dict[str, bool]]] = {}
    for label, sides in errors:
        for kind, texts in sides.items():
            for id, text in texts.items():
                known_labels.setdefault(id, (text, {}))[1][label.id] = kind in ("fn", "tp")
    return known_labels


def _with_net_effect(
    now: Codebook, suggestion: Suggestion, known_labels: Mapping[str, tuple[str, Mapping[str, bool]]]
) -> Suggestion | None:
    """Return the suggestion with its net effect in ``why``; None if it should not be offered."""
    try:
        after = _apply(now, suggestion)
    except CodebookError:  # for instance a keyword that is too long
        return None
    effect = net_effect(now, after, [document for id, document in known_labels.items() if id != suggestion.document_id])
    return replace(suggestion, why=f"{suggestion.why}. {effect}", net=effect.net) if effect.pays else None


def dismiss(session: ProjectSession, suggestion: Suggestion) -> None:
    """Do not offer a suggestion again."""
    dismissed = session.store.settings.get(DISMISSED_SETTING, [])
    session.store.settings.set(DISMISSED_SETTING, [*dismissed, suggestion.name])


def _already_applied(book: Codebook, suggestion: Suggestion) -> bool:
    label = book.label(suggestion.label_id)
    existing = {
        normalise(word) for word in getattr(label, "keywords" if suggestion.part == "less" else suggestion.part)
    }
    return (normalise(suggestion.text) in existing) != (suggestion.part == "less")


def label_errors(
    session: ProjectSession, now: Codebook, run_id: str | None = None
) -> Iterator[tuple[Label, dict[str, Texts]]]:
    """Yield each label with the documents of a run, or of ``latest_scored_run``, by outcome: fn, fp, tp, tn."""
    run_id = run_id or latest_scored_run(session)
    if run_id is None or now.kind == "rating":
        return
    loaded = load_arrays(session.store, run_id, now, REVIEWED_OR_GOLD)
    held_out = document_samples.held_out_among(session, loaded.documents)
    rows = [row for row, id in enumerate(loaded.documents) if id not in held_out][:MAX_DOCUMENTS]
    texts = session.store.documents.texts([loaded.documents[row] for row in rows])
    rows = [row for row in rows if loaded.documents[row] in texts]  # others were replaced after the run
    documents = list(texts.items())
    right, predicted = (given_labels(now, values[rows]) for values in (loaded.reference, loaded.verdicts))
    has_both = ~np.isnan(loaded.reference[rows] + loaded.verdicts[rows])
    kinds = {"fn": right & ~predicted, "fp": ~right & predicted, "tp": right & predicted, "tn": ~right & ~predicted}
    for column, label in enumerate(now.labels):
        outcomes = {name: np.flatnonzero((mask & has_both)[:, column]) for name, mask in kinds.items()}
        yield (label, {name: dict(documents[row] for row in indices) for name, indices in outcomes.items()})


def latest_scored_run(session: ProjectSession) -> str | None:
    """Return the latest run with verdicts, in the Lab (with several documents) or not; None if there is none."""
    trial_runs = [
        trial.after_run
        for trial in session.store.lab.trials()
        if len(trial.sample["strata"]) > 1 and not trial.held_out and trial.subject != ACCEPTED_CHANGES
    ]
    runs = [row.run_id for row in session.all_runs() if row.verdicts]
    latest_first = sorted([*trial_runs, *runs], key=lambda run_id: (len(run_id), run_id), reverse=True)  # r9999, r10000
    return next((run_id for run_id in latest_first if run_id in runs or session.run(run_id).verdicts), None)


def _label_suggestions(
    label: Label, sides: Mapping[str, Texts], common: Sequence[str], nearest: Nearest
) -> Iterator[Suggestion]:
    texts = {name: list(by_id.values()) for name, by_id in sides.items()}
    missed, wrong = list(sides["fn"]), list(sides["fp"])
    keywords = {normalise(word) for word in label.keywords}
    offered = 0
    for cue in cues(texts["fn"], texts["tn"], min_z=MIN_Z, ignore=common):
        if offered < PER_PART and not any(word in keywords for word in (cue.word, *cue.word.split())):
            offered += 1
            error_ids = tuple(missed[row] for row in cue.errors)
            correct = format_count(cue.hits, "true negative")
            why = f"occurs in {len(error_ids)} of {len(missed)} false negatives and in {correct}"
            yield Suggestion(label.id, "keywords", cue.word, why, "", error_ids)
    for cue in cues(texts["fp"], texts["tp"], min_z=MIN_Z, ignore=common):
        error_ids = tuple(wrong[row] for row in cue.errors)
        why = f"occurs in {len(error_ids)} of {len(wrong)} false positives"
        keyword = next((word for word in label.keywords if normalise(word) == cue.word), None)
        if keyword is not None:
            correct = format_count(cue.hits, "true positive")
            yield Suggestion(label.id, "less", keyword, f"{why} and in {correct}", "", error_ids)
    yield from _contrasts(label, sides["fn"], sides["tn"], "include", nearest)
    yield from _contrasts(label, sides["fp"], sides["tp"], "exclude", nearest)


def _contrasts(label: Label, erring: Texts, correct: Texts, part: Part, nearest: Nearest) -> Iterator[Suggestion]:
    """Yield sentences of misclassified documents, each with the most similar correctly labelled document."""
    documents = list(erring.items())
    shared = cues(list(erring.values()), list(correct.values()), 1, min_z=MIN_Z) if erring and correct else ()
    order = [*(shared[0].errors if shared else ()), *range(len(documents))]
    for row in list(dict.fromkeys(order))[:PER_PART]:
        id, text = documents[row]
        words = (shared[0].word,) if shared and row in shared[0].errors else ()
        quotes = (quote_around(text, start, end) for _, start, end in find_keywords(words, text))
        clauses = (text[start:end] for start, end in clauses_of(text) if end - start > MIN_CHARACTERS)
        sentence = " ".join(next(chain(quotes, clauses), "").split())
        if sentence:
            error = "is a false negative" if part == "include" else "is a false positive"
            contrast = nearest(id, correct)
            similar = f"; {contrast} is similar, labelled correctly" if contrast else ""
            yield Suggestion(label.id, part, sentence, f"{id} {error}{similar}", id, (id,))


def _nearest_of(texts: Texts) -> Nearest:
    """Return the function that finds, among some of these texts, the id of the most similar one; empty without any."""
    space = TextSpace(list(texts.values()), "word")

    def nearest(id: str, among: Iterable[str]) -> str:
        similarities = dict(zip(texts, space.similarities([texts[id]])[0], strict=True))
        best = max(among, key=similarities.__getitem__, default="")
        return best if best and similarities[best] > 0 else ""

    return nearest


DOCUMENTS_SHOWN = 4
"""Number of documents of each kind in the prompt."""
MAX_CHARACTERS = 1_200
"""Maximum characters of a document in the prompt."""
LISTS = ("include", "exclude", "keywords")
REWRITE_TIMEOUT = 120.0
"""Maximum seconds to wait for a proposal."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Proposed definition of a label. ``changes`` are the fields that are not yet decided."""

    before: Label
    after: Label
    why: str
    spec: str
    cost_usd: float | None
    cached: bool

    @property
    def changes(self) -> dict[str, FieldChange]:
        """Proposed changes by field name."""
        label_changes = compare(Codebook(labels=(self.before,)), Codebook(labels=(self.after,)))
        fields = {change.field: change for label_change in label_changes for change in label_change.fields}
        return {part: fields[part] for part in accepted_changes.PARTS if part in fields}


def rewrite_model(plan: planning.Plan) -> RoleModel | None:
    """Return the first language model of the plan, None if it uses only the built-in model."""
    role_models = (*plan.role_models.values(), plan.default_model)
    return next((role_model for role_model in role_models if not role_model.is_builtin), None)


REWRITE_JOB = "a model rewrites a label"
"""Name of the job in a project."""


@dataclass(slots=True)
class Rewrite:
    """The rewrite that all tabs of a project show, in memory only."""

    proposal: Proposal | None = None
    """Proposal of a model, until the next request."""


def propose_rewrite(
    session: ProjectSession, plan: planning.Plan, label_id: str, *, run_id: str | None = None
) -> Future[Proposal]:
    """Request a proposal; a proposal on the same definition and errors is reused without cost.

    The errors are those of ``run_id``, or of ``latest_scored_run`` if None. Raises UsageError without a language model.
    The future raises a ModelError if the model does not answer, and MootError if the reply cannot be read.
    """
    role_model = rewrite_model(plan)
    if role_model is None:
        raise UsageError("The built-in model cannot write definitions.", "Choose a language model on the Models page.")
    role_model = planning.with_defaults(session.models, role_model, None, None)
    book = codebooks.codebook_status(session).codebook
    label = book.label(label_id)
    templates = prompts.shipped_templates("lab")
    ask = Request("editor", prompts.render(templates["definition"], _template_values(session, book, label, run_id)))
    settings = trials.base_settings(session, planning.Plan(protocol=plan.protocol, default_model=role_model))
    settings = settings.model_copy(update={"role_models": {ask.role: role_model}})

    async def run() -> Proposal:
        replies = session.project.replies
        reply, spent = await run_until_usable(
            lambda: _request_proposal(ask, templates[prompts.REASK]),
            lambda reply: _proposed_fields(reply.text) is not None,
            settings,
            session.models,
            replies,
            seconds=REWRITE_TIMEOUT,
        )
        after, why = parse_proposal(reply.text, label)
        return Proposal(label, after, why, role_model.spec, reply.cost_usd, spent.calls == 0)

    return session.engine.submit(run())


def _request_proposal(request: Request, reask: Template) -> Step[Reply]:
    """Return the reply to a request; one without a proposal is asked for once more."""

    def problem(_request: Request, reply: Reply) -> str:
        return "there is no JSON of that shape in it" if _proposed_fields(reply.text) is None else ""

    (reply,) = yield from ask_with_retry((request,), problem, reask)
    return reply


def _proposed_fields(text: str) -> dict[str, Any] | None:
    fields: dict[str, Any] | None = last_json(text, "description", *(f"add_{part}" for part in LISTS))
    return fields


def parse_proposal(text: str, label: Label) -> tuple[Label, str]:
    """Return the proposed label and its reason. Raises MootError for a reply without a usable JSON object."""
    fields_in = _proposed_fields(text)
    if fields_in is None:
        raise MootError("The proposal could not be read.", f"The reply begins: {' '.join(text.split())[:300]}")
    fields: dict[str, Any] = {part: _edited_list(getattr(label, part), fields_in, part) for part in LISTS}
    description = fields_in.get("description")
    if isinstance(description, str) and description.strip():
        fields["description"] = " ".join(description.split())
    why = fields_in.get("why")
    return label.model_copy(update=fields), " ".join(why.split()) if isinstance(why, str) else ""


def accept_field(session: ProjectSession, proposal: Proposal, part: str) -> Proposal:
    """Apply a field of a proposal to the draft and return the other ones. Raises CodebookError and KeyError."""
    value = getattr(proposal.after, part)
    book = codebooks.codebook_status(session).codebook
    changed = codebooks.change_label(book, proposal.before.id, **{part: value})
    codebooks.save_draft(session, changed)
    accepted_changes.record(session, book, changed)
    return dismiss_field(proposal, part, value)


def field_effect(session: ProjectSession, proposal: Proposal, part: str, run_id: str | None = None) -> NetEffect | None:
    """Return the net effect of one field of a proposal on the documents of a run, None if none has known labels."""
    book = codebooks.codebook_status(session).codebook
    known_labels = _known_labels(list(label_errors(session, book, run_id)))
    after = codebooks.change_label(book, proposal.before.id, **{part: getattr(proposal.after, part)})
    return net_effect(book, after, list(known_labels.values())) if known_labels else None


def dismiss_field(proposal: Proposal, part: str, value: Any = None) -> Proposal:
    """Return the proposal with one field decided: as ``value``, or unchanged."""
    settled = {part: getattr(proposal.before, part) if value is None else value}
    before, after = (label.model_copy(update=settled) for label in (proposal.before, proposal.after))
    return replace(proposal, before=before, after=after)


def _edited_list(now: tuple[str, ...], fields_in: Mapping[str, Any], part: str) -> tuple[str, ...]:
    removed = {normalise(word) for word in _strings(fields_in.get(f"remove_{part}"))}
    remaining = [word for word in now if normalise(word) not in removed]
    existing = {normalise(word) for word in remaining}
    added = [
        word for word in _strings(fields_in.get(f"add_{part}")) if normalise(word) and normalise(word) not in existing
    ]
    return (*remaining, *dict.fromkeys(added))


def _strings(value: Any) -> list[str]:
    return [" ".join(text.split()) for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _template_values(session: ProjectSession, book: Codebook, label: Label, run_id: str | None) -> dict[str, Any]:
    sides = next((sides for candidate, sides in label_errors(session, book, run_id) if candidate.id == label.id), {})

    def some(kind: str) -> list[str]:
        shown = list(sides.get(kind, {}).values())[:DOCUMENTS_SHOWN]
        return [prompts.delimit(text[:MAX_CHARACTERS]) for text in shown]

    return {
        "unit": book.unit,
        "label": label,
        "others": [other.name for other in book.labels if other.id != label.id],
        "missed": some("fn"),
        "wrong": some("fp"),
        "right": some("tp")[:2],
    }
