"""Detection of decisions made under a label definition that has changed since.

A decision is pinned to the codebook version that the reviewer saw. It is stale if the definition differs now.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.codebook import CHOICE_ITEM, Codebook
from core.hashing import digest
from core.runs import RunSettings
from core.services.session import ProjectSession


def outdated(session: ProjectSession) -> tuple[tuple[str, int], ...]:
    """Return (item, version) for each earlier version that defines an item of the latest codebook differently.

    Versions without the item are left out. Empty with fewer than two versions.
    """
    versions = session.store.codebooks.history()
    if len(versions) < 2:
        return ()
    now = _words(versions[0].codebook)
    return tuple(
        (item, version.version)
        for version in versions[1:]
        for item, words in _words(version.codebook).items()
        if item in now and now[item] != words
    )


def version_seen(session: ProjectSession, settings: RunSettings) -> int:
    """Return the version whose definitions a reviewer of this run sees.

    This is the latest version if it has all items of the run, otherwise the version of the run; 0 if neither was saved.
    """
    latest = session.store.codebooks.latest()
    return latest.version if latest and fits(latest.codebook, settings.codebook) else settings.codebook_version


def shown(session: ProjectSession, codebook: Codebook) -> Codebook:
    """Return the codebook to show beside a run's verdicts: the latest if it has all items of the run, else its own."""
    latest = session.store.codebooks.latest()
    return latest.codebook if latest and fits(latest.codebook, codebook) else codebook


def fits(latest: Codebook, own: Codebook) -> bool:
    """Return True if ``latest`` has the kind and all labels of ``own``, so that its decisions can be shown there."""
    return latest.kind == own.kind and {label.id for label in own.labels} <= {label.id for label in latest.labels}


def _words(codebook: Codebook) -> Mapping[str, str]:
    """Return a hash of each item's definition; the single item of a choice covers all labels."""
    if codebook.kind == "choice":
        return {CHOICE_ITEM: digest(sorted([label.id, label.definition_hash] for label in codebook.labels))}
    return {label.id: label.definition_hash for label in codebook.labels}
