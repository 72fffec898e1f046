"""References that a run can be compared with, their names, and the default one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core.codebook import Codebook
from core.documents import VERDICT, Reference
from core.errors import UsageError
from core.runs import RunRow
from core.services.evaluation import latent_truth
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_until_commit
from core.store.annotation_sources import LATENT, source_of


@dataclass(frozen=True, slots=True)
class ReferenceNames:
    """The names of one reference."""

    title: str
    """Alone: "Gold", "Reviewed by Ann"."""
    noun: str
    """Within a sentence, without an article: "gold", "review by Ann"."""
    missing: str
    """Missing from a document without this reference: "gold", "a review by Ann"."""


def reference_names(reference: Reference) -> ReferenceNames:
    """Return the names of a reference. Raises UsageError for an unknown one."""
    source = source_of(reference)
    who = source.who
    match source.kind:
        case "gold" if source.by_author:
            return ReferenceNames("Authors", "authors", "a label by its author")
        case "gold" if who:
            return ReferenceNames(f"Rater {who}", f"rater {who}", f"gold by {who}")
        case "gold":
            return ReferenceNames("Gold", "gold", "gold")
        case "reviewed" if who:
            return ReferenceNames(f"Reviewed by {who}", f"review by {who}", f"a review by {who}")
        case "reviewed":
            return ReferenceNames("Reviewed", "review", "a review")
        case "latent":
            return ReferenceNames("Estimated truth", "estimated truth", "an estimated label")
        case "reviewed+gold":
            return ReferenceNames("Review or gold", "review or gold", "a review or gold")
        case "run":
            role = "" if source.role == VERDICT else f", {source.role}"
            missing = f"a verdict of {who}" if not role else f"a list of {who}{role}"
            return ReferenceNames(f"Run {who}{role}", f"run {who}{role}", missing)


@cached_until_commit
def available_references(session: ProjectSession, run_id: str) -> dict[Reference, int]:
    """Return what the run can be compared with, and how many of its documents each reference covers.

    Always ``gold`` and ``reviewed``; the authors of the texts where they labelled; each rater and each person where
    there are several; other runs; the latent truth of three independent annotators or more, except of ratings.
    """
    codebook = session.run(run_id).settings.codebook
    counts = session.store.annotations.sources(run_id, codebook, latent_truth.independent_runs(session, codebook))
    if codebook.kind == "rating":
        counts.pop(LATENT, None)
    return counts


def default_reference(counts: Mapping[Reference, int], wanted: Reference) -> Reference:
    """Return the wanted reference if it covers a document, else the first by people that does, else gold.

    Scores against the output of models are shown only to those who choose them.
    """
    by_people = (name for name, count in counts.items() if count and source_of(name).kind not in (LATENT, "run"))
    return wanted if counts.get(wanted) else next(by_people, "gold")


def check_reference(session: ProjectSession, reference: str, codebooks: Iterable[Codebook]) -> None:
    """Raise UsageError if the reference does not exist. The latent truth of the codebooks is estimated first."""
    source = source_of(reference)
    if source.kind == "gold" and source.who and source.who not in (raters := session.store.annotations.raters()):
        who = "The authors did not label" if source.by_author else f"The gold labels have no rater '{source.who}'"
        raise UsageError(f"{who}.", f"Raters of the gold labels: {', '.join(raters) or 'nobody'}.")
    if source.kind == "reviewed" and source.who and source.who not in (people := session.store.reviews.reviewers()):
        raise UsageError(f"There is no review by '{source.who}'.", f"Reviewers: {', '.join(people) or 'nobody'}.")
    if source.kind == LATENT:
        for codebook in codebooks:
            latent_truth.refresh(session, codebook)
    if source.kind == "run":
        session.run(source.who)


def check_annotator(session: ProjectSession, rows: Sequence[RunRow], annotator: str) -> str:
    """Return the annotator, a source by its full name. Raises UsageError if it is neither in these runs nor a source.

    Without this check a mistyped name would be scored as an annotator without any values.
    """
    annotators = {VERDICT} | {
        name for row in rows for name in (*row.settings.role_models, *annotating_roles(session, row))
    }
    if annotator in annotators or not rows:
        return annotator
    try:
        source = source_of(annotator)
    except UsageError as error:
        raise UsageError(
            f"These runs have no annotator '{annotator}'.", f"There are: {', '.join(sorted(annotators))}."
        ) from error
    check_reference(session, annotator, [row.settings.codebook for row in rows])
    return str(source)


def annotating_roles(session: ProjectSession, run: RunRow) -> tuple[str, ...]:
    """Return the roles of a run that gave lists of their own, in the order of their first turn."""
    names = session.store.annotations.annotators(run.run_id)
    return tuple(name for name in names if name != VERDICT)
