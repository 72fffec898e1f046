"""Corrections and regressions: labels that a role of a debate turned from wrong to right, and from right to wrong.

Each role that gave a list of labels is a *step*. From one step to the next a cell (document, label) is *corrected*
(wrong to right), *regressed* (right to wrong), kept right or kept wrong. A role without a list carries the previous
one forward. Several agents who answer in parallel are one step with the list of their vote; a tie is wrong. A document
counts if it has gold and both the first and the last role gave a value for every item: the result of an unresolved
debate is not guessed. (After the initial-to-final flips of Courtroom-LLM and the change of minds in figure 4 of Tseng
et al., Evaluating Large Language Models as Expert Annotators.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from core.formatting import format_count, format_points
from core.stats.arrays import Codes, Mask, check_shapes, codes, counted_documents
from core.stats.intervals import Estimate, format_interval, newcombe_paired
from core.stats.metric_intervals import Design, ratio


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of changed and unchanged cells between two roles."""

    corrected: int = 0
    regressed: int = 0
    kept_right: int = 0
    kept_wrong: int = 0

    @property
    def n(self) -> int:
        """Number of cells."""
        return self.corrected + self.regressed + self.kept_right + self.kept_wrong

    @property
    def right_before(self) -> int:
        """Number of right cells at the earlier role."""
        return self.regressed + self.kept_right

    @property
    def right_after(self) -> int:
        """Number of right cells at the later role."""
        return self.corrected + self.kept_right

    @property
    def net(self) -> int:
        """Gain in right cells: corrected minus regressed."""
        return self.corrected - self.regressed


@dataclass(frozen=True, slots=True)
class Flip:
    """Changes by one role (or the whole debate) compared with an earlier one."""

    role: str
    against: str
    total: Tally
    labels: Mapping[str, Tally]
    gain: Estimate
    """Net / cells, -1 to 1, with a 95% interval that accounts for the dependence of the cells of a document and of the
    documents of a group. From reviewed documents it is estimated for all documents."""
    label_gains: Mapping[str, Estimate]

    def gained(self, label: str | None = None) -> float:
        """Return the gain in right cells, of all labels or of one: net, unless reviewed documents are weighted."""
        tally, gain = (self.total, self.gain) if label is None else (self.labels[label], self.label_gains[label])
        return round((gain.value or 0.0) * tally.n, 9)


@dataclass(frozen=True, slots=True)
class FlipTable:
    """Flips of all debates of a run."""

    roles: tuple[str, ...]
    documents: int
    """Documents that count."""
    excluded: int
    """Documents with gold that do not count: the first or the last role left a label without a value."""
    cells: int
    """(document, label) pairs with gold."""
    shares: tuple[Estimate, ...]
    """Share of right cells after each role, with an interval as that of ``Flip.gain``; None without cells."""
    steps: tuple[Flip, ...]
    """One for each role after the first, against the one before it."""
    whole: Flip
    """The last role against the first."""
    errors_by: Mapping[str, int]
    """Number of cells that ended wrong, by the role that lost them: the first from which they stayed wrong."""
    label_errors_by: Mapping[str, Mapping[str, int]]
    """The same for each label: ``[label][role]``."""

    @property
    def note(self) -> str:
        """The documents of counts and of gains, if reviewed documents are weighted and they differ, else empty."""
        if all(change.gained() == change.total.net for change in (*self.steps, self.whole)):
            return ""
        return "Counts are of reviewed documents. Shares and gains are estimated for all documents."


Outcome: TypeAlias = Literal["regressed", "mixed", "corrected", "wrong", "right"]
"""Effect of a change on a document.

``regressed``: labels became wrong, none was corrected. ``corrected``: labels were corrected, none became wrong.
``mixed``: both. Otherwise no label changed, and the document is ``wrong`` on a label or ``right`` on all.
"""


class Changes(NamedTuple):
    """Cells that count by their change, masks ``[document, label]``."""

    corrected: Mask
    regressed: Mask
    kept_right: Mask
    kept_wrong: Mask

    @property
    def outcomes(self) -> npt.NDArray[np.str_]:
        """The ``Outcome`` of each document."""
        corrected, regressed, _, wrong = (cells.any(axis=1) for cells in self)
        return np.select(
            [corrected & regressed, corrected, regressed, wrong], ["mixed", "corrected", "regressed", "wrong"], "right"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Single cells of the flip table, to find the documents behind a number."""

    roles: tuple[str, ...]
    counted: Mask
    """``[document, label]``: included in the flip table."""
    right: Mask
    """``[role, document, label]``: right after that role."""
    error_at: Codes
    """``[document, label]``: index of the role that lost the cell, -1 if it ended right, -2 if it does not count."""
    excluded: int

    def changes(self, before: int, after: int) -> Changes:
        """Return the changes between two roles, given by their indices."""
        was, now = self.right[before], self.right[after]
        return Changes(now & ~was, was & ~now, was & now, self.counted & ~was & ~now)


def trace(reference: npt.ArrayLike, steps: Sequence[tuple[str, npt.ArrayLike]]) -> Trace:
    """Return the path of each cell through a debate.

    ``reference`` and each role's values are ``[document, label]`` codes, -1 (None, NaN) for no value: 1 and 0 for
    multilabel, label codes in one column for a choice, 1 for a right rating and 0 for a wrong one. Roles are in
    speaking order. Raises ValueError for fewer than two roles, and for a repeated name.
    """
    roles = tuple(role for role, _ in steps)
    if len(roles) < 2 or len(set(roles)) != len(roles):
        raise ValueError(f"expected two or more different roles, got {', '.join(roles) or 'none'}")
    gold = codes(reference)
    predicted = [codes(values) for _, values in steps]
    check_shapes(gold, *predicted)
    documents, excluded = counted_documents(gold >= 0, predicted[0] >= 0, predicted[-1] >= 0)
    counted = documents[:, None] & (gold >= 0)
    current, rights = predicted[0], []
    for values in predicted:
        current = np.where(values >= 0, values, current)
        rights.append((current == gold) & counted)
    right = np.stack(rights)
    # The last role at which a cell was right, found from the end; the next role lost the cell.
    last_right = np.where(right.any(axis=0), len(roles) - 1 - right[::-1].argmax(axis=0), -1)
    error_at = np.where(last_right == len(roles) - 1, -1, last_right + 1)
    return Trace(roles, counted, right, np.where(counted, error_at, -2).astype(np.int64), excluded)


def flip_table(
    reference: npt.ArrayLike,
    steps: Sequence[tuple[str, npt.ArrayLike]],
    labels: Sequence[str],
    design: Design | None = None,
) -> FlipTable:
    """Return the flips between the roles of a debate; arguments as for ``trace``, ``labels`` names the columns.

    ``design`` describes how the documents were selected and which depend on each other, by default all are independent.
    """
    design = design or Design()
    path = trace(reference, steps)
    cells = int(path.counted.sum())
    last = len(path.roles) - 1
    lost = [(path.error_at == step).sum(axis=0) for step in range(last + 1)]
    return FlipTable(
        roles=path.roles,
        documents=int(path.counted.any(axis=1).sum()),
        excluded=path.excluded,
        cells=cells,
        shares=tuple(ratio(right.sum(axis=1), path.counted.sum(axis=1), design) for right in path.right),
        steps=tuple(_change(path, step - 1, step, labels, design) for step in range(1, last + 1)),
        whole=_change(path, 0, last, labels, design),
        errors_by={role: int(cells_lost.sum()) for role, cells_lost in zip(path.roles, lost, strict=True)},
        label_errors_by={
            label: {role: int(cells_lost[column]) for role, cells_lost in zip(path.roles, lost, strict=True)}
            for column, label in enumerate(labels)
        },
    )


def sentence(change: Flip, *, than: str, noun: str = "label") -> tuple[tuple[str, bool], ...]:
    """Return a sentence on the change by the debate, in pieces; True marks the outcome, which pages emphasise.

    For example "The debate corrected 139 labels and introduced 67 errors: 72 more correct than the extractor alone
    (+6.0 points, 95% interval 4.3 to 7.7)." ``noun`` names a cell (its plural takes an s). If reviewed documents are
    weighted, the outcome is the one estimated for all documents, and only the counts are those of the reviewed ones.
    """
    total = change.total
    if not total.n:
        return ((f"The debate cannot be compared with {than}: no {noun} has gold and a value from both.", False),)
    if not total.corrected and not total.regressed:
        words = f"The debate changed no {noun} from wrong to correct or back: exactly as many correct as {than}."
        return ((words, False),)
    corrected, errors = format_count(total.corrected, noun), format_count(total.regressed, "error")
    changed = f"he debate corrected {corrected} and introduced {errors}"
    gained = change.gained()
    if gained == total.net:
        start, count = f"T{changed}: ", f"{abs(total.net):,} "
    else:
        start, count = f"Among the reviewed documents, t{changed}. Estimated for all documents: ", ""
    outcome = f"{count}{'more' if gained > 0 else 'fewer'} correct than" if gained else "as many correct as"
    return (
        (start, False),
        (f"{outcome} {than}", True),
        (f" ({_points(change.gain)}).", False),
    )


def _change(path: Trace, before: int, after: int, labels: Sequence[str], design: Design) -> Flip:
    changes = path.changes(before, after)
    four = [cells.sum(axis=0).tolist() for cells in changes]
    per_label = {label: Tally(*counts) for label, *counts in zip(labels, *four, strict=True)}
    total = Tally(*(sum(counts) for counts in four))
    gains = changes.corrected.astype(np.int64) - changes.regressed

    def gain(tally: Tally, columns: slice) -> Estimate:
        sizes = path.counted[:, columns].sum(axis=1)
        if design.is_simple and sizes.max(initial=0) <= 1:
            counts = (tally.kept_right, tally.corrected, tally.regressed, tally.kept_wrong)
            return Estimate(tally.net / tally.n if tally.n else None, newcombe_paired(*counts))
        return ratio(gains[:, columns].sum(axis=1), sizes, design, signed=True)

    return Flip(
        role=path.roles[after],
        against=path.roles[before],
        total=total,
        labels=per_label,
        gain=gain(total, slice(None)),
        label_gains={
            label: gain(tally, slice(column, column + 1)) for column, (label, tally) in enumerate(per_label.items())
        },
    )


def _points(gain: Estimate) -> str:
    text = f"{format_points(gain.value or 0.0)} points"
    return f"{text}, {format_interval(gain.interval, 'points', named=True)}" if gain.interval else text


@dataclass(frozen=True, slots=True)
class Objections:
    """Counts of cells with gold and a value from claim, critic and verdict."""

    cells: int
    raised: int
    """The critic contradicts the claim."""
    justified: int
    """Raised, and the claim was wrong."""
    followed: int
    """Raised, and the verdict equals the critic's value."""
    followed_rightly: int
    """Justified and followed: errors that the critic corrected."""
    followed_wrongly: int
    """Followed although the claim was right: errors that the critic introduced."""
    ignored_rightly: int
    """Raised without justification and not followed."""
    missed: int
    """Wrong claims without an objection."""
    precision: Estimate
    """Share of objections that were justified; None without objections."""
    recall: Estimate
    """Share of wrong claims that the critic objected to; None if no claim was wrong."""
    followed_share: Estimate
    """Share of objections that the verdict followed."""


def objections(
    reference: npt.ArrayLike,
    claim: npt.ArrayLike,
    critic: npt.ArrayLike,
    verdict: npt.ArrayLike,
    design: Design | None = None,
) -> Objections:
    """Return the counts from codes ``[document, item]``, -1 for no value. Raises ValueError for shapes that differ.

    ``design`` as for ``flip_table``.
    """
    gold, claimed, predicted, ended = (codes(values) for values in (reference, claim, critic, verdict))
    check_shapes(gold, claimed, predicted, ended)
    counted = np.minimum(np.minimum(gold, claimed), np.minimum(predicted, ended)) >= 0
    raised = counted & (predicted != claimed)
    wrong = counted & (claimed != gold)
    followed = raised & (ended == predicted)

    def share(part: Mask, among: Mask) -> Estimate:
        return ratio(part.sum(axis=1), among.sum(axis=1), design or Design())

    return Objections(
        cells=int(counted.sum()),
        raised=int(raised.sum()),
        justified=int((raised & wrong).sum()),
        followed=int(followed.sum()),
        followed_rightly=int((followed & wrong & (predicted == gold)).sum()),
        followed_wrongly=int((followed & ~wrong).sum()),
        ignored_rightly=int((raised & ~wrong & ~followed).sum()),
        missed=int((wrong & ~raised).sum()),
        precision=share(raised & wrong, raised),
        recall=share(raised & wrong, wrong),
        followed_share=share(followed, raised),
    )
