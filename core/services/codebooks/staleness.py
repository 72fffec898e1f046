"""Which decisions were made under a definition that has changed since. A label is pinned to the version of the codebook
that the person saw; it is stale when the words that define it are others now."""

from __future__ import annotations

from collections.abc import Mapping

from core.codebook import CHOICE_ITEM, Codebook
from core.hashing import digest
from core.runs import RunSettings
from core.services.session import ProjectSession


def outdated(session: ProjectSession) -> tuple[tuple[str, int], ...]:
    """(item, version) for every item of the latest codebook and each version that defined it with other words. A
    version that did not have the item, or a codebook without versions, gives none."""
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
    """The version whose definitions a person sees who reviews this run: the latest when it has all of the run's items,
    else the run's own; 0 when neither was saved."""
    latest = session.store.codebooks.latest()
    return latest.version if latest and fits(latest.codebook, settings.codebook) else settings.codebook_version


def shown(session: ProjectSession, codebook: Codebook) -> Codebook:
    """The codebook whose definitions are shown beside a run's verdicts: the latest if it has all of the run's items."""
    latest = session.store.codebooks.latest()
    return latest.codebook if latest and fits(latest.codebook, codebook) else codebook


def fits(latest: Codebook, own: Codebook) -> bool:
    """Whether what is decided with ``own`` can be told in terms of ``latest``."""
    return latest.kind == own.kind and {label.id for label in own.labels} <= {label.id for label in latest.labels}


def _words(codebook: Codebook) -> Mapping[str, str]:
    """A hash of what defines each item: of a choice all of its labels."""
    if codebook.kind == "choice":
        return {CHOICE_ITEM: digest(sorted([label.id, label.definition_hash] for label in codebook.labels))}
    return {label.id: label.definition_hash for label in codebook.labels}
