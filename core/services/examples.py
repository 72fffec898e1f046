"""Precedents of a run: which labelled documents it may show, and those most like a document.

The pool are the documents with gold or a submitted review that the run does not debate, so that nothing it is evaluated
on is ever shown, and that are not on the lab's held-out side. It is frozen when the run first moves.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

from core.annotations import Precedents
from core.classifier.similarity import Index, labelled
from core.debate import protocols
from core.documents import Document, Value
from core.engine.ports import Documents, Library, no_precedents
from core.llm import embeddings
from core.llm.models import ModelLibrary
from core.runs import RunRow, RunSettings
from core.store.lab import SPLIT
from core.store.store import Store

SIMILARITY_PARAM = "likeness"
"""The parameter that says how texts are compared."""
LOAD_BATCH = 512


def example_library(store: Store, models: ModelLibrary, documents: Documents, run: RunRow) -> Library:
    """What a run's driver finds precedents by; one that finds none when its protocol shows none. Blocks at first, while
    the pool is frozen. Raises UsageError when texts cannot be compared in the way that the run says."""
    shots = protocols.of(run.settings).shots(run.settings.params)
    if shots == 0:
        return no_precedents
    embed = embeddings.embedder(str(run.settings.params.get(SIMILARITY_PARAM, "")), models.connections)
    return _ExampleIndex(example_pool(store, run), documents, embed, shots).find


def example_pool(store: Store, run: RunRow) -> dict[str, dict[str, Value]]:
    """What is known of each document that the run may show; frozen now if it was not yet."""
    kept = store.precedents.frozen(run.run_id)
    if kept is None:
        kept = store.precedents.outside(run.run_id, run.settings.codebook.items)
        for held in _held_out_ids(store):
            kept.pop(held, None)
        store.precedents.freeze(run.run_id, kept)
    debated = set(store.runs.document_ids(run.run_id))  # a run may get further documents later
    return {document: labels for document, labels in kept.items() if document not in debated}


def example_warnings(store: Store, settings: RunSettings, document_ids: Sequence[str]) -> list[str]:
    """What to know before a run on these documents: that it wants precedents and will find none."""
    if protocols.of(settings).shots(settings.params) == 0:
        return []
    known = store.precedents.known(settings.codebook.items)
    if known.keys() - set(document_ids) - set(_held_out_ids(store)):
        return []
    return [
        "No labelled document lies outside this run, so it goes without precedents. A run on fewer documents leaves "
        "the others, where they have gold or a submitted review, to be shown."
    ]


def _held_out_ids(store: Store) -> Sequence[str]:
    split = store.settings.get(SPLIT)
    return () if split is None else store.lab.known(str(split["seed"]), float(split["share"]), held_out=True)


class _ExampleIndex:
    """The index over a run's pool, made when the first document asks for it. Its work is done in threads."""

    def __init__(
        self,
        known: dict[str, dict[str, Value]],
        documents: Documents,
        embed: embeddings.Embed | None,
        shots: int,
    ) -> None:
        self._known = known
        self._documents = documents
        self._embed = embed
        self._shots = shots
        self._index: Index | None = None
        self._making = asyncio.Lock()
        self._asking = threading.Lock()

    async def find(self, document: Document) -> Precedents:
        """The nearest precedents of each value of each item, never the document itself."""
        if not self._known:
            return {}
        async with self._making:
            if self._index is None:
                self._index = await self._made()
        return await asyncio.to_thread(self._shown, self._index, document)

    async def _made(self) -> Index:
        texts: dict[str, str] = {}
        ids = list(self._known)
        for start in range(0, len(ids), LOAD_BATCH):
            for one in await self._documents(ids[start : start + LOAD_BATCH]):
                texts[one.id] = one.whole
        return await asyncio.to_thread(Index, labelled(texts, self._known), self._embed)

    def _shown(self, index: Index, document: Document) -> Precedents:
        with self._asking:
            return index.shown(document.whole, self._shots, exclude={document.id})
