"""In-memory cache of computed results, invalidated when the project changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from core.documents import VERDICT, Reference
from core.services.project_session import ProjectSession

P = ParamSpec("P")
T = TypeVar("T")
MAX_ENTRIES = 100

_guard = threading.Lock()
_locks: dict[Hashable, threading.Lock] = {}
"""Locks of the entries that are being computed. A result may be computed from others; never the reverse."""
_entries: OrderedDict[Hashable, tuple[Hashable, Any]] = OrderedDict()
"""Key to (version, result). Keys contain the store, so a project opened later never gets another one's results."""


def cached(session: ProjectSession, make: Callable[[], T], *key: Hashable, basis: Hashable = None) -> T:
    """Return the cached result of ``make`` while ``basis`` is equal, and compute it again once ``basis`` changes.

    ``key`` names the result completely: function and arguments. Thread-safe: of two calls at once, one computes.
    """
    key = (session.store, *key)
    with _guard:
        if (entry := _entries.get(key)) is not None and entry[0] == basis:
            _entries.move_to_end(key)
            return cast(T, entry[1])
        turn = _locks.setdefault(key, threading.Lock())
    with turn:
        with _guard:
            if (entry := _entries.get(key)) is not None and entry[0] == basis:
                return cast(T, entry[1])
        try:
            result = make()
            with _guard:
                _entries[key] = basis, result
                _entries.move_to_end(key)
                while len(_entries) > MAX_ENTRIES:
                    _entries.popitem(last=False)
        finally:
            with _guard:
                _locks.pop(key, None)
    return result


def cached_while(
    basis: Callable[..., Hashable],
) -> Callable[[Callable[Concatenate[ProjectSession, P], T]], Callable[Concatenate[ProjectSession, P], T]]:
    """Cache a function while ``basis``, called with the session and the other arguments by name, returns the same.

    Arguments must be hashable; a run counts by its id.
    """

    def decorate(function: Callable[Concatenate[ProjectSession, P], T]) -> Callable[Concatenate[ProjectSession, P], T]:
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
    return cast(Hashable, getattr(value, "run_id", value))


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
cached_scores = cached_while(
    lambda session, reference="gold", annotator=VERDICT, **_: _scores_basis(session, reference, annotator)
)
"""Cache a function until scores of its arguments ``annotator`` (verdict) and ``reference`` (gold) may change.

Decisions in Review leave scores of a run's verdict or role against gold as they are.
"""
