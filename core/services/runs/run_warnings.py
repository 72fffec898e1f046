"""Warnings about a run before it starts: its labels, models, examples and documents."""

from __future__ import annotations

from collections.abc import Sequence

from core import baseline
from core.codebook import Codebook
from core.debate.turns import family
from core.formatting import join_names, plural
from core.llm.embeddings import TFIDF
from core.llm.model_library import ModelLibrary
from core.runs import LEXICAL_MODEL, RunSettings, builtin_name
from core.services import few_shot_examples
from core.services.project_session import ProjectSession
from core.services.runs.cost_estimate import context_overflows

MAX_NAMED = 10
"""Maximum number of labels that a warning names."""


def settings_warnings(settings: RunSettings, models: ModelLibrary) -> list[str]:
    """Return warnings about the labels, the models and the vectors of a run."""
    return [*_label_warnings(settings), *_vector_warnings(settings, models)]


def _label_warnings(settings: RunSettings) -> list[str]:
    """Return warnings about labels that the built-in model cannot decide and annotators that cannot differ."""
    role_models = settings.role_models.values()
    if any(role_model.is_builtin for role_model in role_models):
        words_only = all(
            builtin_name(role_model.model) in ((LEXICAL_MODEL, ""), (LEXICAL_MODEL, TFIDF))
            for role_model in role_models
            if role_model.is_builtin
        )
        return [*baseline.describe(settings.codebook), *(_missing_keywords(settings.codebook) if words_only else ())]
    is_one_family = len(set(map(family, settings.role_models))) == 1 < len(role_models)
    if is_one_family and len({role_model.model_dump_json() for role_model in role_models}) == 1:
        (role_model, *_) = role_models
        if role_model.sampling.temperature == 0:
            number = len(role_models)
            who = "Both" if number == 2 else f"All {number}"
            return [
                f"{who} annotators use {role_model.spec} at temperature 0, so their first replies "
                "will be nearly identical. Use different models, or a higher temperature."
            ]
    return []


def _vector_warnings(settings: RunSettings, models: ModelLibrary) -> list[str]:
    """Return a warning that names the vectors of other machines that the run uses, which are not estimated."""
    vectors = set(models.billed_models(settings)).difference(settings.role_models.values())
    remote = sorted(model.spec for model in vectors if not models.connection(model.connection).local)
    return [f"The estimate leaves out the vectors of {join_names(remote)}."] if remote else []


def _missing_keywords(codebook: Codebook) -> list[str]:
    """Return a warning that names the labels without keywords but with other words; none for ratings."""
    without_words = baseline.labels_without_words(codebook)
    bare = [label.name for label in codebook.labels if not label.keywords and label not in without_words]
    if codebook.kind == "rating" or not bare:
        return []
    words = f"{join_names(bare, MAX_NAMED)} {plural(len(bare), 'has', 'have')} no keywords"
    hint = "add keywords (the Codebook page and moot keywords propose words that stand out in your texts, if any do)"
    if codebook.kind == "multilabel":
        return [f"{words}. The baseline finds a label without keywords in fewer texts: {hint}."]
    return [
        f"{words}. A text without any word of the codebook stays unresolved: {hint}, or let the built-in model compare "
        "texts with definitions by vectors (moot install-minilm, or a server's embeddings on the Models page)."
    ]


def _unsaved_codebook(session: ProjectSession) -> list[str]:
    """Return a warning if the codebook has a draft, which runs do not use."""
    latest = session.store.codebooks.latest()
    if latest is None or session.store.codebooks.draft() is None:
        return []
    return [
        f"The codebook has changes that are not saved. This run uses version {latest.number}. To use the changes, "
        "save them on the Codebook page."
    ]


def batch_warnings(session: ProjectSession, settings: RunSettings) -> list[str]:
    """Return a warning for each paused run whose open batches a live run, unlike a batch run, would pay for again."""
    if settings.engine.name == "batch":
        return []
    names = sorted({role_model.connection for role_model in settings.role_models.values()})
    paused = {run_id: name for name in names for run_id in session.project.jobs.count_paused(name)}
    return [
        f"{session.run_name(run_id)} ({run_id}) is paused with open batches at {name}. Resume it first: "
        "requests that both runs make would be paid for twice."
        for run_id, name in paused.items()
    ]


def all_warnings(session: ProjectSession, settings: RunSettings, document_ids: Sequence[str]) -> list[str]:
    """Return all warnings about a run before it starts."""
    documents = session.store.documents
    overflows = context_overflows(settings, session.models, documents.longest, documents.mean_length)
    return [
        *_unsaved_codebook(session),
        *settings_warnings(settings, session.models),
        *batch_warnings(session, settings),
        *few_shot_examples.example_warnings(session.store, settings, document_ids),
        *(overflow.sentence(settings) for overflow in overflows),
    ]
