"""Files that wait to be imported: held for all tabs, by project, not without end."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from core.services.data.import_job import Importing
from core.services.data.importing import Draft, read
from core.services.data.pending_imports import MOST, PendingImports


def draft(name: str = "a.csv") -> Draft:
    return read(b"id,text\n1,some soup\n2,some bread\n", name)


def test_it_is_held_until_it_is_dropped_and_by_its_project():
    waiting, here = PendingImports(), Path("p.duckdb")
    first, second = waiting.add(draft("a.csv"), here), waiting.add(draft("b.csv"), here)
    other = waiting.add(draft("c.csv"), None)
    assert [one.draft.name for one in waiting.of(here)] == ["b.csv", "a.csv"]
    assert waiting.of(None) == (other,)
    waiting.change(first.id, draft("renamed.csv"))
    assert [one.draft.name for one in waiting.of(here)] == ["b.csv", "renamed.csv"]
    waiting.drop(second.id)
    assert waiting.get(second.id) is None


def test_what_is_gone_stays_gone():
    waiting = PendingImports()
    one = waiting.add(draft(), None)
    waiting.drop(one.id)
    waiting.drop(one.id)
    waiting.change(one.id, draft())
    waiting.work(one.id, None)
    assert waiting.of(None) == ()


def test_the_oldest_is_let_go_but_none_that_is_being_imported():
    waiting = PendingImports()
    busy, *rest = [waiting.add(draft(f"{number}.csv"), None) for number in range(MOST)]
    waiting.work(busy.id, cast(Importing, object()))
    waiting.add(draft("last.csv"), None)
    assert waiting.get(busy.id) is not None
    assert waiting.get(rest[0].id) is None
    assert len(waiting.of(None)) == MOST
