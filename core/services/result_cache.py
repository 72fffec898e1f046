"""In-memory cache of computed results, invalidated when the project changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, fields, is_dataclass
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np

from core.documents import VERDICT, Reference
from core.runs import RunRow
from core.services.project_session import ProjectSession
from core.store.project import Store

P = ParamSpec("P")
T = TypeVar("T")
_OfSession: TypeAlias = Callable[Concatenate[ProjectSession, P], T]
MAX_ENTRIES, MAX_BYTES = 5_000, 500_000_000
"""Results, and bytes of their arrays, that are kept for each project. Scores have several results for each run."""


@dataclass(eq=False, slots=True)
class _Entry:
    """A result, the basis on which it is valid, and the bytes of its arrays."""

    basis: Hashable
    result: Future[Any] = field(default_factory=Future)
    bytes: int = 0


_Entries: TypeAlias = OrderedDict[Hashable, _Entry]
_guard = threading.Lock()
_projects: WeakKeyDictionary[Store, _Entries] = WeakKeyDictionary()
"""The results of each project in use by key. A result may be computed from others; never the reverse."""


def cached(session: ProjectSession, make: Callable[[], T], *key: Hashable, basis: Hashable = None) -> T:
    """Return the cached result of ``make`` while ``basis`` is equal, and compute it again once ``basis`` changes.

    ``key`` names the result completely: function and arguments. Thread-safe: of two calls at once, one computes, and
    both return its result or raise its error. An error is not cached.
    """
    with _guard:
        entries = _projects.setdefault(session.store, OrderedDict())
        entry = entries.get(key)
        first = entry is None or entry.basis != basis
        if entry is None or first:
            entry = entries[key] = _Entry(basis)
        entries.move_to_end(key)
    if first:
        try:
            made = make()
            entry.bytes = _array_bytes(made)
            entry.result.set_result(made)
        except BaseException as error:
            with _guard:
                if entries.get(key) is entry:
                    del entries[key]
            entry.result.set_exception(error)
        with _guard:
            kept = sum(other.bytes for other in entries.values())
            while len(entries) > MAX_ENTRIES or kept > MAX_BYTES:
                kept -= entries.popitem(last=False)[1].bytes
    return cast(T, entry.result.result())


def _array_bytes(value: Any) -> int:
    """Return the bytes of the arrays in a result, which take most of its memory."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, Mapping):
        return sum(map(_array_bytes, value.values()))
    if isinstance(value, tuple | list):
        return sum(map(_array_bytes, value))
    if is_dataclass(value) and not isinstance(value, type):
        return sum(_array_bytes(getattr(value, part.name)) for part in fields(value))
    return 0


def cached_while(basis: Callable[..., Hashable]) -> Callable[[_OfSession[P, T]], _OfSession[P, T]]:
    """Cache a function while ``basis``, called with the session and the other arguments by name, returns the same.

    Arguments must be hashable; a run counts by its id.
    """

    def decorate(function: _OfSession[P, T]) -> _OfSession[P, T]:
        parameters = signature(function)

        @wraps(function)
        def look_up(session: ProjectSession, /, *args: P.args, **options: P.kwargs) -> T:
            bound = parameters.bind(session, *args, **options)
            bound.apply_defaults()
            _, *arguments = bound.arguments.items()
            key = (function.__module__, function.__qualname__, *(_identity(value) for _, value in arguments))
            now = basis(session, **dict(arguments))
            return cached(session, lambda: function(session, *args, **options), *key, basis=now)

        return look_up

    return decorate


def _identity(value: Any) -> Hashable:
    """Return a hashable argument; of a run its id."""
    if isinstance(value, tuple | list):
        return tuple(map(_identity, value))
    return value.run_id if isinstance(value, RunRow) else cast(Hashable, value)


cached_until_commit = cached_while(lambda session, **_: session.saved_at())
"""Cache a function until something is committed to the project."""
cached_by_documents = cached_while(lambda session, **_: session.store.documents.state())
"""Cache a function until documents or their gold labels change."""


@cached_until_commit
def review_revision(session: ProjectSession) -> tuple[Any, ...]:
    """Return a value that changes with gold labels and reviews, but not with new verdicts."""
    latest = session.store.events.all(limit=1)
    return (*session.store.documents.state(), latest[0].seq if latest else 0)


@cached_until_commit
def _scores_basis(session: ProjectSession, reference: Reference, annotator: str) -> Hashable:
    return session.store.annotations.basis(reference, annotator)


cached_by_reviews = cached_while(lambda session, **_: review_revision(session))
"""Cache a function until gold labels or reviews change. New verdicts leave its results as they are."""
cached_by_debates = cached_while(lambda session, **_: _scores_basis(session, "gold", VERDICT))
"""Cache a function until debates, documents or their gold labels change."""
cached_scores = cached_while(
    lambda session, reference, annotator=VERDICT, **_: _scores_basis(session, reference, annotator)
)
"""Cache a function until scores of its arguments ``reference`` and ``annotator`` (default: verdict) may change.

Decisions in Review leave scores of a run's verdict or role against gold as they are.
"""
