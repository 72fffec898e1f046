"""Whose annotations a comparison takes: one way to name the gold, a rater of it, the authors of the texts, what people
settled, one person, and a run's verdict or role. Any of them may be the truth, and any may be compared with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from core.annotations import VERDICT
from core.errors import UsageError

GOLD: Final = "gold"
REVIEWED: Final = "reviewed"
RUN: Final = "run"
SEPARATOR = "@"
AUTHOR: Final = "author"
"""The rater under whose name authors label their own texts (Ma et al., *Authors Should Label Their Own Documents*); by
itself it names that source, too."""


@dataclass(frozen=True, slots=True)
class AnnotationSource:
    """Whose annotations.

    Its name, which ``source_of`` reads: ``gold`` (of several raters the majority, of ratings the mean), ``gold@RATER``,
    ``author`` (short for ``gold@author``), ``reviewed`` (what people settled), ``reviewed@PERSON``, ``run:ID`` (a run's
    verdicts), ``run:ID/ROLE``.
    """

    kind: Literal["gold", "reviewed", "run"]
    who: str = ""
    """The rater or the person, empty for all of them together; of a run its id."""
    role: str = ""
    """Of a run: a role, or ``verdict``."""

    @property
    def by_author(self) -> bool:
        """Whether these are the authors' own labels."""
        return self.kind == GOLD and self.who.casefold() in (AUTHOR, "authors")

    def __str__(self) -> str:
        if self.kind == RUN:
            return f"{RUN}:{self.who}" if self.role == VERDICT else f"{RUN}:{self.who}/{self.role}"
        return f"{self.kind}{SEPARATOR}{self.who}" if self.who else self.kind


def of_run(run_id: str, role: str = VERDICT) -> AnnotationSource:
    """A run's verdicts, or what one of its roles says."""
    return AnnotationSource(RUN, run_id, role)


def source_of(name: str) -> AnnotationSource:
    """The source that a name means. UsageError for anything else; whether the rater or run exists is not asked."""
    if name == AUTHOR:
        return AnnotationSource(GOLD, AUTHOR)
    kind, at, who = name.partition(SEPARATOR)
    if kind == GOLD and bool(at) == bool(who):
        return AnnotationSource(GOLD, who)
    if kind == REVIEWED and bool(at) == bool(who):
        return AnnotationSource(REVIEWED, who)
    if name.startswith(f"{RUN}:"):
        run_id, _, role = name.removeprefix(f"{RUN}:").partition("/")
        if run_id:
            return AnnotationSource(RUN, run_id, role or VERDICT)
    raise UsageError(
        f"There is no truth '{name}'.", "Compare with gold, gold@RATER, author, reviewed, reviewed@PERSON or run:ID."
    )


# What one person submitted, whatever others made of the same documents since.
_PERSON = """
SELECT document_id, item, arg_max(after, seq) AS value FROM events
WHERE kind = 'review' AND actor = {who} AND act NOT IN (SELECT act FROM undone_acts) AND document_id IN (
    SELECT document_id FROM events
    WHERE kind = 'review_status' AND actor = {who} AND act NOT IN (SELECT act FROM undone_acts)
    GROUP BY document_id HAVING arg_max(after, seq) = '"Submitted"'
)
GROUP BY document_id, item HAVING arg_max(after, seq) IS NOT NULL
"""


def select(source: AnnotationSource, prefix: str, *, raters: int) -> tuple[str, dict[str, Any]]:
    """SQL that gives (document_id, item, value) of a source, and its parameters, named with ``prefix``.

    ``raters`` is how many raters the gold has: one needs no vote.
    """
    match source.kind:
        case "gold" if source.who:
            rows = f"SELECT document_id, item, value FROM gold WHERE rater = ${prefix}_who"
            return rows, {f"{prefix}_who": source.who}
        case "gold":
            return f"SELECT document_id, item, value FROM {'gold' if raters == 1 else 'gold_labels'}", {}
        case "reviewed" if source.who:
            return _PERSON.format(who=f"${prefix}_who"), {f"{prefix}_who": source.who}
        case "reviewed":
            return "SELECT document_id, item, value FROM reviewed_labels", {}
        case "run":
            rows = (
                "SELECT document_id, item, value FROM run_values "
                f"WHERE run_id = ${prefix}_who AND annotator = ${prefix}_role"
            )
            return rows, {f"{prefix}_who": source.who, f"{prefix}_role": source.role}
