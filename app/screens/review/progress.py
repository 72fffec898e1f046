"""Area below the review: its plan, accuracy estimate, suggested codebook examples, and the classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from html import escape

import streamlit as st

from app.pages import open_page
from app.state import ReviewState, state
from app.widgets import charts, codebook_versions
from app.widgets.alerts import error_box, error_boxes
from app.widgets.elements import download
from app.widgets.labels import select_label, swatch_html
from app.widgets.layout import empty
from app.widgets.metric_tables import Metric, bar_html, estimate_data, interval_html, mark_html, metric_strip, strong
from core.codebook import Codebook, Kind
from core.errors import MootError
from core.formatting import MISSING, format_count, format_number, format_percent, format_signed, plural
from core.runs import RunRow
from core.services import classifier
from core.services.evaluation import annotation_arrays, run_comparison
from core.services.project_session import ProjectSession
from core.services.review import accuracy_estimate, actions, agreement, browser_data, queue, review_plan
from core.services.review import codebook_examples as teaching
from core.services.review.accuracy_estimate import TARGET_WIDTH, AccuracyEstimate, LabelEstimate
from core.services.review.codebook_examples import PART_NAMES, CodebookExample, Effect, Part
from core.services.review.review_plan import CLAIMS, Claim, PlanStatus, ReviewPlan
from core.stats.intervals import Estimate, format_interval


def draw(session: ProjectSession, run: RunRow, document_id: str | None, actor: str) -> None:
    """Draw the lines below the review: a suggested example, if there is one, and the accuracy estimate.

    ``document_id`` is the focused document.
    """
    example = ReviewState.edited_example.pop()
    if example is not None:
        _example_dialog(session, run, example, actor)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="review-progress"):
        added = ReviewState.example_saved.pop()
        if added:
            st.html(f'<div class="moot-remark" role="status">{escape(added)}</div>', width="stretch")
        has_status = not added and not _suggest(session, run, document_id, actor)
        if has_status:
            with st.container(width="stretch"):
                _status(session, run)
        if count := len(agreement.agreement_report(session, run).open):
            st.button(
                f"Resolve {format_count(count, 'disagreement')}",
                type="tertiary",
                icon=":material/balance:",
                key="review-resolve",
                on_click=ReviewState.view.set,
                args=("Agreement",),
                help="Decide the labels on which reviewers disagree.",
            )
        if st.button(
            "Plan",
            type="tertiary",
            icon=":material/flag:",
            key="review-plan-open",
            help="State what you want to claim, and see how many reviews it takes.",
        ):
            _plan_dialog(session, run, actor)
        if st.button(
            "Accuracy and classifier",
            type="tertiary",
            icon=":material/monitoring:",
            key="review-proof-open",
            help="Accuracy of each label, and whether more review improves the classifier",
        ):
            _accuracy_dialog(session, run)
    if not has_status:
        _status(session, run)
    codebook_versions.accepted_lessons(session)


def _status(session: ProjectSession, run: RunRow) -> None:
    """Draw the state of the plan, without a plan the accuracy estimate."""
    current = review_plan.current_plan(session, run)
    if current is not None:
        words = plan_sentence(run, review_plan.plan_status(session, run, current))
        st.html(f'<div class="moot-remark" role="status" data-plan>{words}</div>')
    else:
        words = accuracy_sentence(accuracy_estimate.estimate_accuracy(session, run), run.settings.codebook.kind)
        st.html(f'<div class="moot-remark" role="status">{words}</div>')


def _suggest(session: ProjectSession, run: RunRow, document_id: str | None, actor: str) -> bool:
    """Draw a suggestion from the focused or the last corrected document. Returns True if there is one."""
    for candidate in dict.fromkeys((document_id, state.review.corrected_document)):
        suggestions = _suggestions(session, run, candidate, actor) if candidate is not None else []
        if suggestions:
            state.review.corrected_document = candidate
            _offer(session, run, suggestions, actor, elsewhere=candidate != document_id)
            return True
    return False


def _offer(
    session: ProjectSession,
    run: RunRow,
    suggestions: list[tuple[CodebookExample, Effect | None]],
    actor: str,
    *,
    elsewhere: bool,
) -> None:
    """Draw the first suggestion with words, else a button to choose words."""
    example, effect = next((suggestion for suggestion in suggestions if suggestion[1] is not None), suggestions[0])
    words = f"Your correction of {escape(example.document_id)} can be added as an example of its label."
    codebook = teaching.extended_codebook(session, run)
    if effect is not None and codebook is not None:
        words = example_sentence(example, effect, codebook, more=len(suggestions) - 1, elsewhere=elsewhere)
    st.html(f'<div class="moot-example">{words}</div>', width="stretch")
    st.button(
        "Choose words" if effect is None else "Change words",
        type="secondary" if effect is None else "tertiary",
        on_click=ReviewState.edited_example.set,
        args=(example,),
        key="review-teach-change",
    )
    if effect is not None:
        st.button(
            f"Add as {PART_NAMES[example.part]}",
            icon=":material/add:",
            on_click=_keep,
            args=(session, run, example, actor),
            key="review-teach-add",
        )


def _suggestions(
    session: ProjectSession, run: RunRow, document_id: str, actor: str
) -> list[tuple[CodebookExample, Effect | None]]:
    """Return the suggestions from a document's corrections. Empty while the verdict is hidden from the reviewer."""
    record = actions.load_record(session, run, document_id, actor=actor)
    if record is None or not record.reviews or browser_data.is_verdict_hidden(session, run, record, actor):
        return []
    return teaching.open_suggestions(session, run, record)


def _keep(session: ProjectSession, run: RunRow, example: CodebookExample, actor: str) -> None:
    """Add an example to the codebook. The next page run shows the result."""
    try:
        version = teaching.add_example(session, run, example, actor=actor)
    except MootError as error:
        state.review.example_saved = str(error)
    else:
        state.review.example_saved = f"Saved as version {version} of the codebook. New runs use it."


@st.dialog("Add as example", width="large")
def _example_dialog(session: ProjectSession, run: RunRow, example: CodebookExample, actor: str) -> None:
    codebook = teaching.extended_codebook(session, run) or run.settings.codebook
    edited = _example_form(example, codebook)
    if not edited.text.strip():
        st.html('<div class="moot-remark q">Type or paste words of the text to preview the change.</div>')
        return
    with error_boxes():
        _example_effect(teaching.preview_example(session, run, edited))
        st.html(
            '<div class="moot-remark q">This document is excluded from evaluations of runs whose codebook contains '
            "these words.</div>"
        )
        if st.button("Add example", type="primary", key="teach-keep"):
            _keep(session, run, edited, actor)
            st.rerun()


@st.dialog("Accuracy and classifier", width="large")
def _accuracy_dialog(session: ProjectSession, run: RunRow) -> None:
    with st.spinner("Estimating the accuracy"):
        estimate = accuracy_estimate.estimate_accuracy(session, run)
    accuracy_details(estimate, run.settings.codebook.kind)
    with st.container(border=True, key="accuracy-classifier", gap="small"):
        status = classifier.status(session)
        st.html(
            '<div class="moot-panel"><h2>Classifier</h2>'
            "<span>trained on your decisions, not a language model</span></div>"
        )
        left, right = st.columns(2, gap="medium")
        with left:
            classifier_status(status)
        with right:
            learning_curve(status)
        if status.ready:
            _classifier_buttons(session)
        with st.expander("Import a classifier"):
            imported_classifier(session)


def imported_classifier(session: ProjectSession) -> None:
    """Draw the import of a classifier file from another project, and the button that runs the classifier."""
    upload = st.file_uploader("A .skops file that Moot exported", type=["skops"], key="classifier-import")
    if upload is None:
        return
    with error_boxes():
        with st.spinner("Reading the classifier"):
            imported = classifier.import_classifier(session, upload.getvalue(), upload.name)
        known, unknown = ", ".join(imported.known), ", ".join(imported.unknown)
        missing = f" Not trained on {unknown}: these stay unresolved." if unknown else ""
        st.html(
            f'<div class="moot-remark">Trained on {imported.documents:,} documents of another project. '
            f"Labels: {escape(known)}.{escape(missing)} The classifier of this project stays unchanged.</div>"
        )
        if st.button("Annotate all documents with it", icon=":material/play_arrow:", key="classifier-import-annotate"):
            state.run_id = classifier.annotate_with_imported(session, imported).run_id
            open_page("run")


def _classifier_buttons(session: ProjectSession) -> None:
    with st.container(horizontal=True, gap="small"):
        if st.button(
            "Annotate all documents",
            icon=":material/play_arrow:",
            key="classifier-annotate",
            help="Starts a free local run. Compare it on Evaluate.",
        ):
            state.run_id = classifier.annotate(session).run_id
            open_page("run")
        download(
            "Classifier file",
            lambda: classifier.body(session),
            f"{session.name}-classifier{classifier.SUFFIX}",
            type="tertiary",
            key="classifier-file",
            help="A skops file: contains no code and no pickle",
        )
        download(
            "Model card",
            lambda: classifier.card(session),
            f"{session.name}-classifier.md",
            "text/markdown",
            type="tertiary",
            icon="description",
            key="classifier-card",
            help="Training data and performance",
        )


_PART_WORDS: Mapping[Part, str] = {
    "include": "to the include examples of",
    "exclude": "to the exclude examples of",
    "keywords": "to the keywords of",
}


def _example_form(example: CodebookExample, codebook: Codebook) -> CodebookExample:
    """Draw the choice of label, part and words, and return the resulting example."""
    key = f"teach-{example.document_id}-{example.label_id}"
    left, right = st.columns(2)
    index = next((index for index, label in enumerate(codebook.labels) if label.id == example.label_id), 0)
    with left:
        label_id = select_label(codebook, key=f"{key}-label", index=index)
    parts = list(PART_NAMES)
    part = right.selectbox(
        "Add as", parts, index=parts.index(example.part), format_func=PART_NAMES.__getitem__, key=f"{key}-part"
    )
    text = st.text_area("Words", example.text, height=80, key=f"{key}-words", placeholder="A short quote from the text")
    return CodebookExample(example.document_id, label_id, part, text or "")


def _example_effect(effect: Effect) -> None:
    """Draw the effect of an example: the diff and the affected documents."""
    codebook_versions.changes(effect.changes)
    matching, decisions = format_count(effect.matching, "reviewed document"), format_count(effect.stale, "decision")
    words = (
        f"{effect.net}. The words occur in {matching}. The change is saved as version {effect.version} of the "
        f"codebook. Review then marks {decisions} on this label that {plural(effect.stale, 'was', 'were')} made before."
    )
    st.html(f'<div class="moot-remark">{escape(words)}</div>')


def example_sentence(
    example: CodebookExample, effect: Effect, codebook: Codebook, *, more: int, elsewhere: bool
) -> str:
    """Return a suggested example as HTML.

    ``more`` counts further suggestions. ``elsewhere`` is True when another document is in focus.
    """
    label = codebook.label(example.label_id)
    further = f" {format_count(more, 'more correction')} here." if more else ""
    source = f" of {escape(example.document_id)}" if elsewhere else ""
    return (
        f"<b>Suggested example</b> Add <q>{escape(example.text)}</q>{source} {_PART_WORDS[example.part]} "
        f"{swatch_html(label.colour)}<b>{escape(label.name)}</b>. {effect.net}.{further}"
    )


def accuracy_sentence(estimate: AccuracyEstimate, kind: Kind) -> str:
    """Return the accuracy estimate and the next step as one sentence in HTML."""
    if not estimate.documents:
        return "No document has a verdict for every label yet."
    correct = f"<b>{format_percent(estimate.right.value, 1)}</b> of {review_plan.values_noun(kind)} are correct"
    if estimate.complete:
        return f"All {estimate.documents:,} documents are reviewed: {correct}."
    if not estimate.has_interval and not estimate.missing:
        return "The reviewed documents give no interval for the accuracy yet. Review more of the queue."
    if not estimate.has_interval:
        count = format_count(estimate.missing, "more document")
        return (
            f"Submit {count} in the order of the queue for a first estimate of the accuracy on all "
            f"{estimate.documents:,} documents."
        )
    span = format_interval(estimate.right.interval, "percent", digits=1, named=True)
    points = f"±{TARGET_WIDTH * 50:g} points"
    more = estimate.more()
    next_step = f"Review about {more:,} more for {points}." if more else f"That is {points} or better."
    return f"Estimated accuracy: {correct}, {span}. {next_step}"


def accuracy_details(estimate: AccuracyEstimate, kind: Kind) -> None:
    """Draw the estimates over all documents, and those of each label by method."""
    metric_strip(_figures(estimate))
    if not estimate.has_interval:
        st.html(f'<div class="moot-remark">{accuracy_sentence(estimate, kind)}</div>')
        return
    measure = "mean rating" if kind == "rating" else "share of documents"
    heads = ["", f"Verdicts, {measure}", "Reviewed documents only", "Combined estimate", ""]
    head = "".join(f"<th>{name}</th>" for name in (heads if kind == "rating" else [*heads, "F1"]))
    rows = "".join(_estimate_row(label, kind) for label in estimate.labels)
    st.html(f'<table class="moot-estimate"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>')
    if estimate.complete:
        st.html('<div class="moot-remark q">All documents are reviewed, so the estimates are exact.</div>')
        return
    st.html(
        '<div class="moot-remark q">The mark is the estimate for all documents, the strong bar its 95% interval '
        "by prediction-powered inference, the faint bar that of the reviewed documents only, and the circle the "
        "verdicts. Each document is weighted by its selection probability. Documents that you picked by hand count for "
        "themselves only.</div>"
    )


def classifier_status(status: classifier.ClassifierStatus) -> None:
    """Draw the status of the classifier."""
    words = "Not trained yet."
    if status.ready:
        score = "not available" if status.score.value is None else f"{status.score.value:.3f}"
        span = f", {format_interval(status.score.interval, named=True)}" if status.score.interval else ""
        words = (
            f"Trained on {status.documents:,} documents with codebook version {status.version}. Cross-validated "
            f"{escape(status.measure)} {score}{span}, on {status.tested:,} of them."
            f"{'' if status.complete else ' Reviewed documents are harder than most.'}{_gain(status)}"
            f"{' Training on your latest decisions.' if status.is_training else ''}"
        )
    elif status.is_training:
        words = "The first training is running."
    elif status.missing:
        words = f"Submit {format_count(status.missing, 'more document')} to train it."
    error = f'<div class="moot-remark"><span class="bad">{escape(status.error)}</span></div>' if status.error else ""
    legend = (
        '<div class="moot-remark q">The learning curve shows the score on the same held-out documents by number of '
        "training documents, from none on. The band is the 95% interval.</div>"
    )
    st.html(f'<div class="moot-remark">{words}</div>{error}{legend if status.curve else ""}')


def learning_curve(status: classifier.ClassifierStatus) -> None:
    """Draw the classifier's score by the number of training documents, an empty state while it is not known."""
    rows = [{"documents": point.documents, **estimate_data(point.score, "score")} for point in status.curve]
    if not rows:
        text = "It shows how the score on held-out documents changes with the number of reviewed documents."
        empty("No learning curve yet", text, sign="bars", key="learning-curve")
        return
    charts.draw(charts.learning_curve(rows, status.measure), rows, key="learning-curve", title="Learning curve")


def _gain(status: classifier.ClassifierStatus) -> str:
    """Return a sentence about the effect of more training documents, empty without an estimate."""
    interval = status.gain.interval
    if status.gain.value is None or interval is None:
        return ""
    advice = " It is not certain that more review improves it."
    if interval.low > 0:
        advice = " More review is likely to improve it."
    return (
        f" Training on all of these documents instead of half of them changes it by {format_signed(status.gain.value)} "
        f"({format_interval(interval, named=True)}).{'' if status.complete else advice}"
    )


def _figures(estimate: AccuracyEstimate) -> list[Metric]:
    drawn = format_count(estimate.drawn, "random draw")
    reviewed = [f"of {estimate.documents:,}, {drawn}"]
    if estimate.examples:
        reviewed.append(strong(f"{estimate.examples:,}", "unres") + " used as examples")
    right, f1 = format_interval(estimate.right.interval, named=True), format_interval(estimate.f1.interval)
    if estimate.complete:
        right = f1 = "exact"
    return [
        Metric("Labels correct", estimate.right, notes=(right,)),
        *([Metric("Macro F1", estimate.f1, notes=(f1,))] if estimate.f1.value is not None else []),
        Metric("Reviewed", text=f"{estimate.reviewed:,}", notes=tuple(reviewed)),
    ]


def _estimate_row(label: LabelEstimate, kind: Kind) -> str:
    def text(value: float) -> str:
        low, high = label.scale.min, label.scale.max
        return format_number(low + value * (high - low), 2) if kind == "rating" else format_percent(value, 1)

    bar = bar_html(  # from 0 to 1; along the scale for ratings
        interval_html(label.sampled.interval, "wide"),
        interval_html(label.powered.interval),
        mark_html(label.powered.value),
        mark_html(label.naive, "naive"),
    )
    return (
        f"<tr><td>{swatch_html(label.colour)}{escape(label.name)}</td><td>{text(label.naive)}</td>"
        f"<td>{_estimate_html(label.sampled, text)}</td><td><b>{_estimate_html(label.powered, text)}</b></td>"
        f"<td>{bar}</td>{'' if kind == 'rating' else f'<td>{_estimate_html(label.f1, format_number)}</td>'}</tr>"
    )


def _estimate_html(estimate: Estimate, text: Callable[[float], str]) -> str:
    """Return a value and its interval; without the interval if that has no width."""
    interval = estimate.interval
    if estimate.value is None:
        return MISSING
    if interval is None or interval.low == interval.high:
        return text(estimate.value)
    return f"{text(estimate.value)} <small>{text(interval.low)} to {text(interval.high)}</small>"


# -- plan of the review

DEFAULTS: dict[Claim, tuple[int, int]] = {
    "share": (5, 10),
    "correct": (3, 10),
    "f1": (10, 10),
    "better": (2, 0),
    "error": (10, 3),
}
"""Precision (or bound) and expected error of each claim in percent."""


def plan_sentence(run: RunRow, status: PlanStatus) -> str:
    """Return the state of a plan and the next step as HTML."""
    codebook, current = run.settings.codebook, status.plan
    result = escape(review_plan.describe_result(codebook, status))
    if status.enough:
        return f"<b>Enough reviews.</b> {result}"
    claim = escape(review_plan.describe_claim(codebook, current))
    if status.complete:
        return f"Plan: {claim}. All {status.population:,} documents are reviewed. {result}"
    remaining = current.reviews - status.drawn
    more = f"about {remaining:,} more" if remaining > 0 else "more, as there are more errors than expected"
    if current.claim == "f1" and remaining <= 0:
        more = "too few for an interval: plan again with a smaller margin of error"
    return f"Plan: {claim}. {status.drawn:,} reviewed, {more}. {result}"


@st.dialog("Plan the review", width="large")
def _plan_dialog(session: ProjectSession, run: RunRow, actor: str) -> None:
    """Draw the dialog: the current plan, the fields of another one, and the buttons that start or end a plan."""
    current = review_plan.current_plan(session, run)
    if current is not None:
        st.html(f'<div class="moot-remark">{plan_sentence(run, review_plan.plan_status(session, run, current))}</div>')
    estimate = accuracy_estimate.estimate_accuracy(session, run)
    if not estimate.sample.complete:
        new_plan = _new_plan(session, run)
    else:
        new_plan = None
        if current is None:
            words = accuracy_sentence(estimate, run.settings.codebook.kind)
            st.html(f'<div class="moot-remark">{words} No plan is needed.</div>')
    save = partial(review_plan.save_plan, session, run, actor=actor)
    with st.container(horizontal=True, gap="small"):
        if new_plan and st.button("Start this plan", type="primary", key="plan-start", on_click=save, args=(new_plan,)):
            st.rerun()
        if current and st.button("End the current plan", key="plan-end", on_click=save, args=(None,)):
            st.rerun()


def _new_plan(session: ProjectSession, run: RunRow) -> ReviewPlan | None:
    """Draw the fields of a plan and its number of reviews, and return the plan; None if it is impossible."""
    claim_plan = _claim_fields(session, run)
    try:
        with st.spinner("Simulating reviews"):
            needed = review_plan.plan_reviews(session, run, claim_plan, queue.review_settings(session).even)
    except MootError as error:
        error_box(error)
        return None
    if needed is None:
        st.html('<div class="moot-remark">More reviews are needed than there are documents. Allow more points.</div>')
        return None
    reviews = "random reviews" if claim_plan.claim == "error" else "reviews of the queue in its order"
    looks = _looks(claim_plan.claim)
    st.html(f'<div class="moot-remark" data-needed="{needed}">About <b>{needed:,}</b> {reviews}.{looks}</div>')
    return replace(claim_plan, reviews=needed)


def _claim_fields(session: ProjectSession, run: RunRow) -> ReviewPlan:
    """Draw the fields of a plan in two columns, and return the plan without its number of reviews."""
    codebook = run.settings.codebook
    other_runs = [
        row
        for row in annotation_arrays.ranked_runs(session)
        if row.run_id != run.run_id and row.verdicts and run_comparison.are_comparable(codebook, row.settings.codebook)
    ]
    impossible = {"share", "f1"} if codebook.kind == "rating" else set()
    claims = [name for name in CLAIMS if name not in impossible and (name != "better" or other_runs)]
    left, right = st.columns(2)
    values = review_plan.values_noun(codebook.kind)
    titled = {name: CLAIMS[name].format(values=values) for name in claims}
    claim: Claim = left.selectbox("Claim", claims, format_func=titled.__getitem__, key="plan-claim")
    label = ""
    if claim in ("share", "f1"):
        with right:
            label = select_label(codebook, key="plan-label")
    other = ""
    if claim == "better":
        runs = {row.run_id: row.title for row in other_runs}
        other = right.selectbox("Compared with", list(runs), format_func=lambda id: runs[id], key="plan-other")
    points, expected = DEFAULTS[claim]
    titles = {
        "error": "Upper limit for wrong accepted verdicts, %",
        "better": f"Difference in correct {values} to detect, points",
    }
    title = titles.get(claim, "Margin of error, points")
    points = left.number_input(title, 1, 40, points, key=f"plan-points-{claim}")
    expected = (
        0
        if claim == "better"
        else right.number_input(
            f"Expected share of wrong {values}, %" if claim != "error" else "Expected share of wrong verdicts, %",
            0,
            45,
            expected,
            key=f"plan-expected-{claim}",
            help="Your guess. It affects the planned number of reviews, not the validity of the result.",
        )
    )
    return ReviewPlan(claim, label, points / 100, expected / 100, other=other)


def _looks(claim: Claim) -> str:
    if claim == "better":
        return " Documents on which the runs differ come first. You may stop as soon as one run is better."
    if claim in ("share", "correct"):
        return " You may stop as soon as the interval is narrow enough: it is valid at any time."
    return " The result is computed once, after this number of reviews."
