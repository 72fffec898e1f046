"""In-memory cache of computed results, invalidated when the project changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from core.services.session import ProjectSession

P = ParamSpec("P")
T = TypeVar("T")
KEPT = 100

_guard = threading.Lock()
_making: dict[Hashable, threading.Lock] = {}
"""Locks of the entries that are being computed. A result may be computed from others; never the reverse."""
_known: OrderedDict[Hashable, tuple[Hashable, Any]] = OrderedDict()
"""Key to (version, result). Keys contain the store, so a project opened later never gets another one's results."""


def remembered(session: ProjectSession, make: Callable[[], T], *what: Hashable) -> T:
    """Return the cached result of ``make``, computed again after the project file changed.

    ``what`` names the result completely: function and arguments. Thread-safe: of two calls at once, one computes.
    """
    return kept(session, make, *what, basis=session.saved_at())


def measured(session: ProjectSession, reference: str, make: Callable[[], T], *what: Hashable) -> T:
    """Cache scores of runs against a reference.

    Review decisions, drafts and settings do not invalidate scores against gold.
    """
    basis = remembered(session, lambda: session.store.evaluations.basis(reference), "basis", reference)
    return kept(session, make, reference, *what, basis=basis)


def known(session: ProjectSession) -> tuple[Any, ...]:
    """Return a value that changes with gold labels and reviews, but not with new verdicts."""

    def look() -> tuple[Any, ...]:
        latest = session.store.events.all(limit=1)
        return (*session.store.documents.state(), latest[0].seq if latest else 0)

    return remembered(session, look, "what is known")


def kept(session: ProjectSession, make: Callable[[], T], *what: Hashable, basis: Hashable = None) -> T:
    """Return the cached result of ``make`` as long as ``basis`` is equal, whatever else is written."""
    key = (session.store, *what)
    with _guard:
        if (found := _known.get(key)) is not None and found[0] == basis:
            _known.move_to_end(key)
            return cast(T, found[1])
        turn = _making.setdefault(key, threading.Lock())
    with turn:
        with _guard:
            if (found := _known.get(key)) is not None and found[0] == basis:
                return cast(T, found[1])
        try:
            made = make()
            with _guard:
                _known[key] = basis, made
                _known.move_to_end(key)
                while len(_known) > KEPT:
                    _known.popitem(last=False)
        finally:
            with _guard:
                _making.pop(key, None)
    return made


def cached_scores(
    function: Callable[Concatenate[ProjectSession, P], T],
) -> Callable[Concatenate[ProjectSession, P], T]:
    """Cache a function until scores against its argument ``reference`` (default gold) may change.

    Decisions in Review leave scores against gold as they are. Other arguments must be hashable; a run counts by its id.
    """
    return _cached(function, lambda session, make, key, of: measured(session, of, make, *key))


def cached_until_commit(
    function: Callable[Concatenate[ProjectSession, P], T],
) -> Callable[Concatenate[ProjectSession, P], T]:
    """Cache a function until something is committed to the project. Arguments as of ``cached_scores``."""
    return _cached(function, lambda session, make, key, _: remembered(session, make, *key))


def _cached(
    function: Callable[Concatenate[ProjectSession, P], T], look_up: Callable[..., T]
) -> Callable[Concatenate[ProjectSession, P], T]:
    parameters = signature(function)

    @wraps(function)
    def cached(session: ProjectSession, /, *args: P.args, **options: P.kwargs) -> T:
        bound = parameters.bind(session, *args, **options)
        bound.apply_defaults()
        _, *values = bound.arguments.values()
        key = (function.__module__, function.__qualname__, *map(_identity, values))
        of = bound.arguments.get("reference", "gold")
        return look_up(session, lambda: function(session, *args, **options), key, of)

    return cached


def _identity(value: Any) -> Hashable:
    """Return a hashable argument; of a run its id."""
    if isinstance(value, tuple):
        return tuple(map(_identity, value))
    return cast(Hashable, getattr(value, "run_id", value))
