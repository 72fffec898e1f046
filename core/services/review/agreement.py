"""Several people on the same documents: how far they agree, where they don't, and who decides. And one person twice:
what was decided before the verdict was shown, and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.codebook import Codebook
from core.documents import Value
from core.errors import UsageError
from core.runs import RunRow
from core.services.codebooks import staleness
from core.services.review import review
from core.services.session import ProjectSession
from core.stats.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha
from core.stats.intervals import Interval, wilson
from core.store.agreement import ReviewerValues
from core.store.reviews import Decision, ReviewChange


@dataclass(frozen=True, slots=True)
class ItemAgreement:
    """How far people agree on an item: ``n`` documents that at least two decided, the share of them on which all say
    the same, kappa (Cohen's of two people, Fleiss' of more; None for ratings) and Krippendorff's alpha (ordinal for
    ratings), each None where it is undefined."""

    item: str
    n: int
    same: float | None
    kappa: float | None
    alpha: float | None


@dataclass(frozen=True, slots=True)
class Dispute:
    """An item of a document on which people differ: each one's value, and what was decided between them by whom."""

    document_id: str
    item: str
    said: Mapping[str, Value]
    decided: Value | None = None
    by: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """What several people said: documents submitted by person, documents that two or more submitted, agreement by item,
    and every dispute in the order of the run."""

    people: Mapping[str, int]
    documents: int
    items: tuple[ItemAgreement, ...]
    disputes: tuple[Dispute, ...]

    @property
    def open(self) -> tuple[Dispute, ...]:
        """Disputes that nobody decided yet."""
        return tuple(dispute for dispute in self.disputes if dispute.decided is None)


@dataclass(frozen=True, slots=True)
class Share:
    """A share with its counts and 95% interval; None for both where nothing was counted."""

    count: int
    n: int

    @property
    def value(self) -> float | None:
        """0 to 1."""
        return self.count / self.n if self.n else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's."""
        return wilson(self.count, self.n)


@dataclass(frozen=True, slots=True)
class BlindReport:
    """What deciding blind shows: the share of blind values that were changed after the reveal, how many of the changes
    went ``towards`` the verdict, and the share of values that agree with the verdict when given blind and when it was
    in sight. The last two are of different documents; a gap between them is what showing the verdict may do."""

    changed: Share
    towards: int
    blind: Share
    shown: Share


def panel(session: ProjectSession, run: RunRow) -> Panel:
    """How far the people who reviewed the run agree."""
    codebook = run.settings.codebook
    said = session.store.readers.double(run.run_id, codebook.items)
    adjudicated = session.store.readers.adjudicated()
    together: dict[tuple[str, str], dict[str, Value]] = {}
    for one in said:
        together.setdefault((one.document_id, one.item), {})[one.actor] = one.value
    disputes = []
    for (document, item), values in together.items():
        if len(set(values.values())) > 1:
            decided, by = adjudicated.get((document, item), (None, ""))
            disputes.append(Dispute(document, item, values, decided, by))
    return Panel(
        people=session.store.readers.submitted(run.run_id),
        documents=len({one.document_id for one in said}),
        items=tuple(_agreement(item, said, codebook) for item in codebook.items),
        disputes=tuple(disputes),
    )


def decide(
    session: ProjectSession, run: RunRow, document_id: str, item: str, value: Value | None, *, actor: str | None = None
) -> review.Saved:
    """Settle a dispute: this value counts from now on, whoever says something else. None opens it again. On disk when
    this returns. UsageError for a value that the item cannot have."""
    review.check(run.settings.codebook, item, value)
    before = session.store.readers.adjudicated().get((document_id, item), (None, ""))[0]
    if before is None and value is None:
        raise UsageError("Nothing was decided here yet.", "Take over one of the values.")
    decision = Decision(document_id, (ReviewChange(item, before, value),), adjudicated=True)
    version = staleness.version_seen(session, run.settings) or None
    events = session.store.reviews.record(
        [decision], actor=actor or review.reviewer(), run_id=run.run_id, codebook_version=version
    )
    return review.Saved(events[0].at, (document_id,))


def blind_report(session: ProjectSession, run: RunRow) -> BlindReport:
    """How far decisions follow the verdict, blind and shown."""
    found = session.store.readers.anchoring(run.run_id)
    return BlindReport(
        changed=Share(found.changed, found.blind),
        towards=found.towards,
        blind=Share(found.blind_agreed, found.blind),
        shown=Share(found.shown_agreed, found.shown),
    )


def _agreement(item: str, said: Sequence[ReviewerValues], codebook: Codebook) -> ItemAgreement:
    own = [one for one in said if one.item == item]
    documents = {document: place for place, document in enumerate(dict.fromkeys(one.document_id for one in own))}
    people = {actor: place for place, actor in enumerate(sorted({one.actor for one in own}))}
    if len(people) < 2:
        return ItemAgreement(item, 0, None, None, None)
    table = np.full((len(documents), len(people)), None, dtype=object)
    for one in own:
        table[documents[one.document_id], people[one.actor]] = one.value
    several = [row for row in table if sum(value is not None for value in row) > 1]
    same = sum(len({value for value in row if value is not None}) == 1 for row in several)
    rating = codebook.kind == "rating"
    if rating:
        kappa = None
    elif len(people) == 2:
        kappa = cohen_kappa(table[:, 0], table[:, 1]).value
    else:
        kappa = fleiss_kappa(table).value
    alpha = krippendorff_alpha(table.astype(np.float64) if rating else table, "ordinal" if rating else "nominal").value
    return ItemAgreement(item, len(several), same / len(several) if several else None, kappa, alpha)
