"""Documents that may have shaped the codebook or the prompts of a run, so that scores on them are too high for others.

Compare, Evaluate, the accuracy of Review and the methods of a paper name their number beside the scores.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from core.debate import protocols
from core.formatting import plural
from core.runs import RunRow, RunSettings
from core.services.project_session import ProjectSession
from core.services.prompt_templates import OTHER_MOOT, own_prompts
from core.services.result_cache import cached_by_reviews
from core.stats.arrays import Mask
from core.store.lab import ACCEPTED_CHANGES, SPLIT, Split


def version_of(settings: RunSettings) -> Hashable:
    """Return the definitions and the project's own prompts of a run; equal if nobody changed either between two runs.

    The prompts of a custom protocol belong to the protocol and do not count.
    """
    codebook, own = settings.codebook, own_prompts(settings)
    if settings.params.get(protocols.custom.SCRIPT):
        own = {}
    texts = {settings.templates[key].text for key, label in own.items() if not label.endswith(OTHER_MOOT)}
    words = (codebook.guideline, codebook.unit, codebook.domain)
    return frozenset(codebook.definition_hashes.items()), words, frozenset(texts)


@cached_by_reviews
def shaping_documents(session: ProjectSession, run: RunRow) -> frozenset[str]:
    """Return the documents that are not held out and may have shaped the version of a run before its first use.

    Each had a label by then, and a verdict of an earlier version, so that an error could be seen. Where a suggested
    change was accepted by then, a label is enough. Gold counts as known from the start.
    """
    lab, runs = session.store.lab, session.store.runs
    created = runs.creation_times()
    settings = {run_id: found for run_id in created if (found := runs.settings(run_id)) is not None}
    own = settings[run.run_id]
    version, labels = version_of(own), own.codebook.label_names.keys()
    first_used = min(created[run_id] for run_id, other in settings.items() if version_of(other) == version)
    earlier = [
        run_id
        for run_id, other in settings.items()
        if created[run_id] < first_used and not labels.isdisjoint(other.codebook.label_names)
    ]
    documents = lab.labelled_before(first_used) & lab.ended_before(earlier, first_used) if earlier else set()
    accepted = [created[trial.after_run] for trial in lab.trials(ACCEPTED_CHANGES) if trial.after_run in created]
    if by_then := [time for time in accepted if time <= first_used]:
        documents |= lab.labelled_before(max(by_then))
    if documents and (split := session.store.settings.get(SPLIT)) is not None:
        documents -= lab.held_out_among(Split(**split), list(documents))
    return frozenset(documents)


def shaped_by(session: ProjectSession, run: RunRow, documents: tuple[str, ...]) -> Mask:
    """Return a mask ``[document]``: True for documents that may have shaped the codebook or the prompts of a run."""
    shaping = shaping_documents(session, run)
    return np.array([document in shaping for document in documents], dtype=np.bool_)


def caveat(count: int) -> str:
    """Return the words on ``count`` scored documents that may have shaped a version; empty for 0."""
    if not count:
        return ""
    are = plural(count, "is", "are")
    return f"{count:,} of the scored documents {are} not held out and may have shaped the codebook or prompts"
