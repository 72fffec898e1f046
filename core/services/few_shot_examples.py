"""Find labelled documents to show as few-shot examples in a run.

The pool holds documents with gold or a submitted review that are neither debated in the run nor in the Lab's held-out
split. So no document that the run is evaluated on is shown, and none for a document with the same text, whose label it
would give away. The pool is frozen when the run first starts, and for several iterations when they are created.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from core.classifier.text_similarity import TextSpace, Vectors
from core.debate import protocols
from core.debate.protocol_spec import SIMILARITY_PARAM
from core.documents import Document, Precedent, Precedents, Value
from core.engine.interfaces import EmbedTexts, FindExamples, LoadDocuments, no_examples
from core.errors import ModelError, UsageError
from core.llm import embeddings
from core.llm.model_library import ModelLibrary
from core.runs import RoleModel, RunRow, RunSettings
from core.store.lab import SPLIT, Split
from core.store.project import Store

LOAD_BATCH = 512


def example_library(store: Store, models: ModelLibrary, documents: LoadDocuments, run: RunRow) -> FindExamples:
    """Return the function that finds examples for a run; it finds none if the protocol shows none.

    Blocks while the pool is frozen for the first time. Raises UsageError for an unknown way to compare texts.
    """
    shots = protocols.shots(run.settings)
    if shots == 0:
        return no_examples
    vectors = _vectors_model(run.settings, models)
    return _ExampleIndex(example_pool(store, run), documents, vectors, shots).find


def forecast_library(
    store: Store,
    models: ModelLibrary,
    documents: LoadDocuments,
    settings: RunSettings,
    document_ids: Collection[str],
    earlier: Iterable[str],
) -> Callable[[Document], Awaitable[Precedents]]:
    """Return the function that finds the examples of a run that has not been created.

    It would have the pool of the first of ``earlier`` runs with one. Finds none if texts are compared by a model,
    which may cost as much as the forecast saves.
    """
    shots = protocols.shots(settings)
    if shots == 0 or _vectors_model(settings, models) is not None:
        return no_examples
    frozen = (store.precedents.frozen(run_id) for run_id in earlier)
    pool = next((candidate for candidate in frozen if candidate is not None), None)
    if pool is None:
        pool = _unused(store, settings, document_ids)
    return _ExampleIndex(_of_codebook(pool, settings, document_ids), documents, None, shots).find


def _vectors_model(settings: RunSettings, models: ModelLibrary) -> RoleModel | Literal["minilm"] | None:
    """Return the model whose vectors are compared, None for none. Raises UsageError for an unknown one."""
    spec = str(settings.params.get(SIMILARITY_PARAM, ""))
    if embeddings.embedder(spec, models.connections) is None:
        return None
    return models.resolve(RoleModel.parse(spec)) if "/" in spec else "minilm"


def example_pool(store: Store, run: RunRow, without: Collection[str] = ()) -> dict[str, dict[str, Value]]:
    """Return the known labels of each document that the run may show, freezing the pool if necessary.

    A pool that is frozen now has no documents of ``without``.
    """
    debated = set(store.runs.document_ids(run.run_id))
    pool = store.precedents.frozen(run.run_id)
    if pool is None:
        pool = _unused(store, run.settings, {*debated, *without})
        store.precedents.freeze(run.run_id, pool)
    return _of_codebook(pool, run.settings, debated)  # a copied pool may have documents of the run


def _unused(store: Store, settings: RunSettings, used: Collection[str]) -> dict[str, dict[str, Value]]:
    """Return the known labels of documents that are neither used nor in the held-out split."""
    labels = store.precedents.labels(settings.codebook)
    return _of_codebook(labels, settings, {*_held_out_ids(store), *used})


def _of_codebook(
    pool: Mapping[str, Mapping[str, Value]], settings: RunSettings, without: Collection[str]
) -> dict[str, dict[str, Value]]:
    """Return a pool without some documents and only with values that the codebook allows.

    A copied pool, and labels from before the kind or a scale changed, may have others.
    """
    allows = settings.codebook.allows
    allowed = (
        (document, {item: value for item, value in labels.items() if allows(item, value)})
        for document, labels in pool.items()
        if document not in without
    )
    return {document: values for document, values in allowed if values}


def require_other_examples(store: Store, run_id: str, document_ids: Collection[str]) -> None:
    """Raise UsageError if the documents to add to a run are all examples of its frozen pool."""
    pool = store.precedents.frozen(run_id)
    if pool and pool.keys() <= set(document_ids):
        raise UsageError(
            f"All examples of {run_id} are among the new documents, so it would go on without an example.",
            "Start a new run on all documents, without --resume.",
        )


def copy_pool(store: Store, source: str, target: str) -> None:
    """Give a run that has not started the pool of another run, if that has started."""
    if (pool := store.precedents.frozen(source)) is not None:
        store.precedents.freeze(target, pool)


def example_warnings(store: Store, settings: RunSettings, document_ids: Sequence[str]) -> list[str]:
    """Return a warning if a run on these documents asks for examples and would find none."""
    if protocols.shots(settings) == 0 or _unused(store, settings, document_ids):
        return []
    return [
        "This run shows no examples, because all labelled documents are part of it. Run it on fewer documents to use "
        "the others as examples."
    ]


def _held_out_ids(store: Store) -> Sequence[str]:
    stored = store.settings.get(SPLIT)
    return () if stored is None else store.lab.labelled(Split(**stored), held_out=True)


class _ExampleIndex:
    """Index over a run's pool, built when the first document needs it. Its work runs in threads.

    Equally similar documents keep their order, so the same pool always gives the same examples.
    """

    def __init__(
        self,
        labels: dict[str, dict[str, Value]],
        documents: LoadDocuments,
        model: RoleModel | Literal["minilm"] | None,
        shots: int,
    ) -> None:
        self._labels = labels
        self._documents = documents
        self._model = model
        self._shots = shots
        self._index: tuple[list[Precedent], TextSpace | Vectors | None] | None = None
        self._pairs = dict.fromkeys(pair for values in labels.values() for pair in values.items())
        self._making = asyncio.Lock()
        self._error: ModelError | None = None
        """The error of the last attempt to make the index."""

    async def find(self, document: Document, embed: EmbedTexts | None = None) -> Precedents:
        """Return the most similar examples for each value of each item, never the document itself or its text.

        ``embed`` is needed if the texts are compared by a model of a server.
        """
        earlier = self._error
        async with self._making:
            if self._index is None:
                if self._error is not None and self._error is not earlier:
                    raise self._error  # the server failed while this document waited, so it is not asked again
                try:
                    self._index = await self._make_index(embed)
                except ModelError as error:
                    self._error = error
                    raise
        pool, space = self._index
        if space is None:
            return {}
        if isinstance(space, TextSpace):
            similarities = await asyncio.to_thread(space.similarities, [document.full_text])
        else:
            similarities = (await self._vectors([document.full_text], embed) @ space.T).astype(np.float64)
        return await asyncio.to_thread(self._nearest, pool, similarities[0], document)

    async def _vectors(self, texts: Sequence[str], embed: EmbedTexts | None) -> Vectors:
        if isinstance(self._model, RoleModel):
            assert embed is not None
            return await embed(self._model, texts)
        return await asyncio.to_thread(embeddings.embed_minilm, texts)

    async def _make_index(self, embed: EmbedTexts | None) -> tuple[list[Precedent], TextSpace | Vectors | None]:
        """Return the pool and its vector space.

        The pool is empty and has no space if the codebook allows none of the values, or the documents were removed.
        """
        ids = list(self._labels)
        pool = [
            Precedent(document.id, document.full_text, self._labels[document.id])
            for start in range(0, len(ids), LOAD_BATCH)
            for document in await self._documents(ids[start : start + LOAD_BATCH])
        ]
        texts = [precedent.text for precedent in pool]
        if not texts:
            return [], None
        if self._model is None:
            return pool, await asyncio.to_thread(TextSpace, texts)
        return pool, await self._vectors(texts, embed)

    def _nearest(
        self, pool: Sequence[Precedent], similarities: npt.NDArray[np.float64], document: Document
    ) -> Precedents:
        nearest: dict[tuple[str, Value], list[Precedent]] = {pair: [] for pair in self._pairs}
        missing = set(nearest)
        for index in np.argsort(-similarities, kind="stable"):
            precedent = pool[index]
            if precedent.document_id == document.id or precedent.text == document.full_text:
                continue
            for pair in precedent.values.items() & missing:
                nearest[pair].append(precedent)
                if len(nearest[pair]) == self._shots:
                    missing.remove(pair)
            if not missing:
                break
        return {pair: tuple(examples) for pair, examples in nearest.items() if examples}
