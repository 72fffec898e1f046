"""What was worked out lately, for as long as it holds: a page that is drawn at each click need not count again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

from core.services.evaluation.grids import Reference
from core.services.session import ProjectSession

T = TypeVar("T")
KEPT = 100

_guard = threading.Lock()
_making: dict[Hashable, threading.Lock] = {}
"""Held while what it stands for is made. What is made of parts waits for these in turn; no part waits for its whole."""
_known: OrderedDict[Hashable, tuple[Hashable, Any]] = OrderedDict()
"""What each rests upon, and itself. Keyed by the store, so that none that is open later can be taken for it."""


def remembered(session: ProjectSession, make: Callable[[], T], *what: Hashable) -> T:
    """What ``make`` gave last for ``what`` (name it whole: function and arguments) in this project, made anew when
    something was committed to the file since. Safe from any thread; of two that ask at once one makes it."""
    return kept(session, make, *what, basis=session.saved_at())


def measured(session: ProjectSession, reference: Reference, make: Callable[[], T], *what: Hashable) -> T:
    """``remembered`` for what runs scored against a truth: a decision in Review, a draft or a setting leaves scores
    against gold as they are."""
    basis = remembered(session, lambda: session.store.evaluations.basis(reference), "basis", reference)
    return kept(session, make, reference, *what, basis=basis)


def known(session: ProjectSession) -> tuple[Any, ...]:
    """A value that differs whenever what gold or a person says of documents may; verdicts that come in leave it."""

    def look() -> tuple[Any, ...]:
        latest = session.store.events.all(limit=1)
        return (*session.store.documents.state(), latest[0].seq if latest else 0)

    return remembered(session, look, "what is known")


def kept(session: ProjectSession, make: Callable[[], T], *what: Hashable, basis: Hashable = None) -> T:
    """``remembered`` for what stays true for as long as its ``basis`` is equal, whatever is written meanwhile; what
    rested upon another one is let go."""
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
