"""Parts of the user's own paper on a run: methods, tables of results, prompts, model versions, references, design file.

A ``Manuscript`` is built from what the project holds; ``manuscript_formats`` writes it. Each table of results
names the address of the view that shows its numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

from core.codebook import CHOICE_ITEM, Codebook, Kind, label_noun
from core.csv_text import to_csv
from core.debate import personas, protocols
from core.debate.protocol_spec import FROM_REVIEWS, PRESET, WEIGHTS
from core.debate.protocols import panel
from core.documents import Reference, Value
from core.errors import MootError
from core.formatting import format_count, format_number, format_percent, format_timestamp, join_names, plural
from core.runs import LEXICAL_MODEL, RoleModel, RunRow, RunSettings, Template, builtin_name
from core.services.document_samples import fixed_sample
from core.services.evaluation import annotation_arrays, corrected_regression, held_out
from core.services.evaluation.evaluation import EvaluationReport, evaluate
from core.services.evaluation.reference import reference_names
from core.services.evaluation.repeated_runs import repeats, siblings
from core.services.manuscript_formats import Block, Listing, Manuscript, ManuscriptTable
from core.services.project_session import ProjectSession
from core.services.prompt_templates import OTHER_MOOT, own_prompts, sent_templates
from core.services.review import review_plan
from core.services.review.agreement import blind_report
from core.services.runs.configuration import changed_params, describe_model, describe_sampling, role_titles
from core.services.runs.cost_estimate import adaptive_savings
from core.stats import metrics
from core.stats.intervals import Estimate, format_estimate
from core.stats.sampling import WeightedSample
from core.store.annotation_sources import GOLD, AnnotationSource, source_of

_KINDS: Mapping[Kind, str] = {
    "multilabel": "any number of labels",
    "choice": "exactly one label",
    "rating": "a rating on each dimension",
}


_NOTHING = (
    "No document has both a verdict and a reference label that the run has not learned from. Review documents or "
    "import gold labels."
)


def build(session: ProjectSession, run: RunRow, reference: Reference = "gold") -> Manuscript:
    """Return the text of a paper on a run and its scores against a reference. UsageError for an unknown reference."""
    report = evaluate(session, run, reference)
    view = f"evaluate?{urlencode({'run': run.run_id, 'reference': reference})}"
    claim, claimed = _claim(session, run)
    regressions = [_regression(session, run, formula) for formula in corrected_regression.saved_formulas(session, run)]
    is_estimated = any(isinstance(block, ManuscriptTable) for block in regressions)
    methods = [
        _annotation(session, run),
        " ".join([_reference(session, run, report), *_shaping(report)]) if report.n else "",
        claim,
        _REGRESSION if is_estimated else "",
    ]
    scores = [*_results(report, view), *_iterations(session, run, reference, view)] if report.n else [_NOTHING]
    results = [*scores, claimed, *regressions]
    sections: dict[str, tuple[Block, ...]] = {
        "Methods": tuple(filter(None, methods)),
        "Results": tuple(filter(None, results)),
        "Appendix: codebook": tuple(_codebook(run.settings)),
        "Appendix: models": (_models(session, run),),
        **_appendix_of_protocol(run.settings),
        "Appendix: prompts": tuple(
            Listing(f"{role} ({template.name})", template.text) for role, template in _prompts(session, run).items()
        ),
    }
    title = f"{session.name}: {run.title}, reference: {reference_names(reference).noun}"
    return Manuscript(title, sections, _bibliography(" ".join(methods)))


def design_file(session: ProjectSession, run: RunRow) -> str:
    """Return the sampling design as CSV: a row for each document with a complete verdict, in the order of the run.

    - ``order``: the place of the document among the reviewed ones
    - ``selected``: how it was selected
    - ``probability``: the chance with which it was drawn next
    - ``weight``: the calibrated number of documents that it represents; empty without a review and if discarded
    - ``population``: the number of all documents
    - ``group``: its group
    - ``human_ITEM`` and ``model_ITEM``: the reviewed value and the verdict

    In R: ``svydesign(ids = ~document, weights = ~weight, data = subset(d, !is.na(weight)))``. In Python: ``ppi_py``
    with the human and model columns and the weights.
    """
    codebook = run.settings.codebook
    loaded = annotation_arrays.reviewed_sample(session, run)
    sample, weights = loaded.sample, loaded.design.weights(len(loaded.documents))
    positions = {row: number for number, row in enumerate(loaded.order.tolist())}
    groups = session.store.annotations.groups(run.run_id)
    methods = {selection.document_id: selection.how for selection in session.store.sampling_frames.selections()}
    rows = []
    for row in np.flatnonzero(loaded.population).tolist():
        document, values, review = loaded.documents[row], {"model": loaded.verdicts[row]}, {}
        if (number := positions.get(row)) is not None:
            is_kept = loaded.is_kept[number]
            values |= {"human": loaded.reference[row]} if is_kept else {}
            review = {
                "order": number + 1,
                "selected": methods.get(document, ""),
                "probability": float(sample.probabilities[number]) or None,
                "weight": float(weights[row]) if is_kept else None,
            }
        cells = {
            f"{side}_{name}": _value(codebook, value)
            for side, of_side in values.items()
            for name, value in zip(codebook.item_names, of_side, strict=True)
        }
        rows.append({"document": document, **review, "population": sample.population, "group": groups[row], **cells})
    about = ("document", "order", "selected", "probability", "weight", "population", "group")
    return to_csv(rows, [*about, *(f"{side}_{name}" for side in ("human", "model") for name in codebook.item_names)])


def _annotation(session: ProjectSession, run: RunRow) -> str:
    settings, codebook = run.settings, run.settings.codebook
    titles, roles = role_titles(settings), dict[str, list[str]]()
    for role, model in _asked_models(settings).items():
        roles.setdefault(describe_model(model), []).append(titles.get(role, role))
    models = "; ".join(f"{model} ({join_names(names)})" for model, names in roles.items())
    if any(
        model.is_builtin and builtin_name(model.model)[0] == LEXICAL_MODEL for model in settings.role_models.values()
    ):
        models += ". The word-list baseline (builtin/lexical) is not a language model"
    documents = format_count(run.documents, "document")
    if run.ended < run.documents:
        documents = f"{run.ended:,} of {documents}"
    label_count = format_count(len(codebook.labels), label_noun(codebook.kind))
    return " ".join(
        (
            f"We annotated {documents} with {label_count} ({_KINDS[codebook.kind]}) in Moot, by {_protocol(settings)}.",
            *_selection(session, run),
            f"Models: {models}.",
            *_procedure(settings),
            *_circumstances(session, run),
            f"Of these documents {run.verdicts:,} received a verdict, {run.unresolved:,} remained unresolved (a reply "
            f"could not be read completely, or the debate did not decide), and {run.failed:,} failed.",
            *([f"The run finished on {format_timestamp(run.finished_at)}."] if run.finished_at else []),
            "Codebook, prompts and the models' versions as reported by the servers are in the appendix.",
        )
    )


def _asked_models(settings: RunSettings) -> dict[str, RoleModel]:
    """Return the models of a run by role, without roles that its parameters leave nothing to do."""
    spec = protocols.known(settings)
    counts = spec.request_counts(protocols.params_of(settings), settings.codebook) if spec else {}
    return {role: model for role, model in settings.role_models.items() if role not in counts or counts[role].maximum}


def _protocol(settings: RunSettings) -> str:
    spec = protocols.known(settings)
    if spec is None:
        return f"the protocol {settings.protocol}"
    values = protocols.params_of(settings)
    name, method = str(values.get(PRESET, "")), values.get("method")
    preset = spec.presets.get(name)
    variants = [name, method] if preset is not None and preset.params.get("method") == method else [method]
    source = next((_VARIANT_SOURCES[name] for name in variants if name in _VARIANT_SOURCES), spec.source)
    return f"the {spec.title} protocol ({source})"


def _procedure(settings: RunSettings) -> Iterable[str]:
    """Yield sentences on what the parameters and the protocol determine, whatever their defaults are."""
    spec, kind = protocols.known(settings), settings.codebook.kind
    if spec is None:
        params = changed_params(settings)
        yield from [f"Parameters: {'; '.join(params)}."] if params else []
        return
    values = protocols.params_of(settings)
    if preset := spec.presets.get(values.get(PRESET, "")):
        yield f"The settings started from the preset {values[PRESET]} ({preset.title})."
    is_prompted = not all(model.is_builtin for model in settings.role_models.values())
    if is_prompted and not settings.params.get(protocols.custom.SCRIPT):
        of_paper = "follow those of the paper in other words, where it gives any"
        written = of_paper if preset and preset.templates else "are Moot's own"
        is_changed = any(not label.endswith(OTHER_MOOT) for label in own_prompts(settings).values())
        changed = ", and some were changed for this run" if is_changed else ""
        yield f"The instructions to the models {written}{changed}."
    shown = [param for param in spec.params if not param.hidden and param.has_effect(values, kind)]
    if shown:
        used = {**values, "shots": spec.shots(values)}  # few-shot shows at least one example
        words = [f"{param.title.lower()} = {param.format(used[param.name])}" for param in shown]
        yield f"Parameters: {'; '.join(words)}."
    if spec.uses_personas:
        persona_set = panel.persona_set_of(values)
        members, groups = len(persona_set.members), [group.name for group in persona_set.groups]
        yield f"{format_count(members, 'persona')} in {format_count(len(groups), 'group')}: {join_names(groups)}."
        quotes = [quote for member in persona_set.members for quote in member.persona.evidence if quote.supported]
        if sources := sorted({quote.source for quote in quotes}):
            yield f"Quotations from {join_names(sources)} support what the personas look for."
    if vote := spec.describe_vote(values, kind):
        yield vote
    if kind != "rating" and str(values.get(WEIGHTS)).startswith(FROM_REVIEWS):
        yield (
            "A vote is weighted by the log odds that its model is right, from reviewed documents (Nitzan and Paroush, "
            "1982)."
        )
    yield "A reply that could not be read was requested once more."
    if enforced := spec.enforced.get(kind):
        yield enforced


def _circumstances(session: ProjectSession, run: RunRow) -> Iterable[str]:
    """Yield sentences on the documents and examples in prompts, on early decisions, and on seed and iteration."""
    settings, spec = run.settings, protocols.known(run.settings)
    first = session.store.documents.load(session.store.runs.document_ids(run.run_id)[:1], gold=False)
    for document in first:
        text, *context = document.fields
        if context:
            yield f"Prompts show the text ({text}) with {join_names(context)} as context."
    if spec is not None and spec.shots(protocols.params_of(settings)):
        pool = len(session.store.precedents.frozen(run.run_id) or ())
        source = f"Examples in prompts came from {format_count(pool, 'labelled document')} outside the run"
        none = "Prompts had no examples, because no document outside the run was labelled."
        yield f"{source}, the most similar first." if pool else none
    if settings.handling.on_long != "fail":
        treatment = {"cut": "truncated", "skip": "left unresolved"}[settings.handling.on_long]
        yield f"Documents that did not fit into the context of a model were {treatment}."
    if (early := adaptive_savings(session, run)) is not None:
        yield (
            f"{format_count(early.short, 'document')} {'was' if early.short == 1 else 'were'} decided early, without a "
            f"debate; {early.audited:,} more, drawn at random, could have been and had a full debate as a check."
        )
    yield f"Seed of Moot's own random choices: {settings.seed}."
    refused, titles = _refused_settings(session, run), role_titles(settings)
    for name in dict.fromkeys(name for names in refused.values() for name in names):
        roles = join_names([titles.get(role, role) for role, names in refused.items() if name in names])
        yield f"The server refused the setting {name} of {roles}, which was then left out."
    if any(model.sampling.seed is not None for model in settings.role_models.values()):
        yield "Each iteration and each sample has a seed of its own, counted from the seed of the model."
    iterations = [row.run_id for row in siblings(session, run)]
    if len(iterations) > 1 and run.run_id in iterations:
        yield f"This is iteration {iterations.index(run.run_id) + 1} of {len(iterations)} with the same settings."


_SETTINGS = {
    "temperature": "temperature",
    "top_p": "top p",
    "seed": "seed",
    "reasoning_effort": "effort",
    "think": "effort",
    "response_format": "JSON schema",
}
"""Words for settings of a model, by the name that a server may refuse."""


def _refused_settings(session: ProjectSession, run: RunRow) -> dict[str, list[str]]:
    """Return the settings that the server of a role refused in words, by role; roles without any are left out."""
    by_role = session.store.transcripts.refused_params(run.run_id).items()
    words = {role: [_SETTINGS[name] for name in sorted(names) if name in _SETTINGS] for role, names in by_role}
    return {role: names for role, names in words.items() if names}


def _selection(session: ProjectSession, run: RunRow) -> Iterable[str]:
    """Yield a sentence on how the documents were selected from those of the project, if not all were used."""
    prepass = run.settings.prepass
    if prepass.ambiguous:
        votes = session.run(prepass.ambiguous).settings
        (model,) = votes.role_models.values()
        label = " on at least one label" if len(votes.codebook.items) > 1 else ""
        yield (
            f"Only ambiguous documents were used: those for which the shares of the two most common of "
            f"{votes.params['k']} answers of {describe_model(model)} differ by at most {prepass.theta:g}{label} "
            "(Courtroom-LLM 2024, section 4.2)."
        )
        return
    imported = session.store.documents.count_imported(run.created_at)
    if run.documents >= imported:
        return
    used, ids = session.store.runs.document_ids(run.run_id), session.store.documents.ids()[:imported]
    if used in (first := ids[: len(used)], fixed_sample(ids, len(used))):
        selected = "are the first of" if used == first else "were drawn at random from"
        yield f"The documents {selected} the {len(ids):,} of the project."


def _codebook(settings: RunSettings) -> Iterable[Block]:
    """Yield unit and domain, the guideline, the definitions, and a paragraph on the examples of each label with any.

    Keywords are in it if a role has the built-in model, the only one that sees them.
    """
    codebook = settings.codebook
    domain = f' and the domain "{codebook.domain}"' if codebook.domain else ""
    yield f'Prompts call a document "{codebook.unit}"{domain}.'
    if codebook.guideline:
        yield codebook.guideline
    noun = label_noun(codebook.kind)
    columns: dict[str, Sequence[str]] = {
        noun.capitalize(): codebook.names,
        "Definition": [label.description for label in codebook.labels],
    }
    if codebook.scales:
        columns["Scale"] = [str(scale) for scale in codebook.scales]
    yield ManuscriptTable(tuple(columns), tuple(zip(*columns.values(), strict=True)), f"Definitions of the {noun}s")
    shows_keywords = any(model.is_builtin for model in settings.role_models.values())
    for label in codebook.labels:
        parts = {
            "Include": "; ".join(f'"{example}"' for example in label.include),
            "Exclude": "; ".join(f'"{example}"' for example in label.exclude),
            "Keywords of the built-in model": ", ".join(label.keywords) if shows_keywords else "",
        }
        if words := [f"{title}: {text}." for title, text in parts.items() if text]:
            yield " ".join([f"{label.name}.", *words])


def _prompts(session: ProjectSession, run: RunRow) -> Mapping[str, Template]:
    """Return the templates that the debates of a run use, by key; all of them if they cannot be simulated."""
    settings = run.settings
    first = session.store.documents.load(session.store.runs.document_ids(run.run_id)[:1], gold=False)
    if protocols.known(settings) is None or not first:
        return settings.templates
    try:
        return sent_templates(settings.model_copy(update={"params": protocols.params_of(settings)}), first[0])
    except (KeyError, MootError):  # a run of an older version, which had other templates
        return settings.templates


def _appendix_of_protocol(settings: RunSettings) -> dict[str, tuple[Block, ...]]:
    """Return the appendix with the personas of a panel, or with the description of a custom protocol."""
    if (spec := protocols.known(settings)) is not None and spec.uses_personas:
        persona_set = panel.persona_set_of(protocols.params_of(settings))
        return {"Appendix: personas": (Listing("Personas", personas.dump_yaml(persona_set)),)}
    if script := str(settings.params.get(protocols.custom.SCRIPT, "")):
        return {"Appendix: protocol": (Listing("Description", script),)}
    return {}


def _reference(session: ProjectSession, run: RunRow, report: EvaluationReport) -> str:
    basis, counted = report.basis, report.coverage.describe(report.reference)
    if basis.design == "sample":
        return _review(session, run, report)
    noun = reference_names(report.reference).noun
    if source_of(report.reference).by_author:
        noun = "the labels of the authors of the texts (Ma et al., 2025)"
    elif report.raters:
        noun += f", {report.describe_raters(join_names([*report.raters]))}"
    if basis.warning:
        counted = f"{counted}. {basis.warning}".removesuffix(".")
    if basis.design == "by_hand":
        sight = _sight(session, run, source_of(report.reference).who)
        sample, without_weight = _sample(session, run, report)
        ways = {"drawn at random, too few for intervals": sample.drawn} if sample.drawn else {}
        counts = [f"{format_count(count, 'document')} {way}" for way, count in (ways | without_weight).items()]
        return (
            f"The reference is {noun} ({counted}).{sight} The documents are not a random sample of the run: "
            f"{join_names(counts)}. The scores describe these documents alone and have no intervals."
        )
    intervals, wilson = "Intervals are at 95% over documents", "Wilson intervals (Wilson, 1927)"
    if basis.design == "groups":
        groups = format_count(basis.units, "group")
        intervals = f"Documents of one group depend on each other; intervals are at 95% over {groups}"
        wilson += f" {_EFFECTIVE}"
    if run.settings.codebook.kind != "rating":
        intervals += f"; those of shares are {wilson}"
    return f"The reference is {noun} ({counted}). {intervals}.{_agreement(session, run, report)}"


def _shaping(report: EvaluationReport) -> Iterable[str]:
    """Yield the sentence on scored documents that may have shaped the codebook or the prompts of the run, if any."""
    if words := held_out.caveat(report.basis.shaped_by):
        yield f"{words}; scores on other documents may be lower."


def _review(session: ProjectSession, run: RunRow, report: EvaluationReport) -> str:
    """Return the paragraph on a reference that is a sample of reviewed documents, or all of them."""
    sample, without_weight = _sample(session, run, report)
    population = f"{report.basis.population:,}"
    person = source_of(report.reference).who
    people = sum(person in ("", name) for name in session.store.agreement.submitted(run.run_id))
    who = f" by {format_count(people, 'person', 'people')}" if people else ""
    sight, discarded = _sight(session, run, person), ""
    if count := report.basis.discarded:
        discarded = f" {format_count(count, 'document')} {plural(count, 'was', 'were')} discarded."
    if sample.complete:
        return (
            f"The reference is the review of all {population} documents with a complete verdict{who}.{discarded}"
            f"{sight} Scores describe these documents exactly and have no intervals."
        )
    drawn, current = format_count(sample.drawn, "document"), review_plan.current_plan(session, run)
    compared = current is not None and current.claim == "better"
    favoured = "on which the two runs differ" if compared else "with signs of error and rare labels"
    chances = (
        "with equal probabilities"
        if sample.is_even[sample.draws].all()
        else f"with known, unequal probabilities, which favour documents {favoured} (Des Raj, 1956; Farquhar et al., "
        "2021)"
    )
    chosen = "".join(
        f" {format_count(count, 'reviewed document')} {plural(count, 'was', 'were')} {way}, and "
        f"{plural(count, 'counts only for itself', 'count only for themselves')}."
        for way, count in without_weight.items()
    )
    if discarded:
        discarded += " The estimates are for the documents that would be kept (Särndal et al., 1992)."
    return (
        f"The reference is the review of documents{who}.{sight} {drawn} of {population} were drawn one after another "
        f"{chances}.{chosen}{discarded} Each document drawn is weighted by its selection probability, and weights are "
        "calibrated to the verdicts on all documents (Deville and Särndal, 1992). Intervals are at 95% and account "
        f"for the design; those of shares are Wilson intervals (Wilson, 1927) {_EFFECTIVE}."
    )


_EFFECTIVE = "with the effective number of cases (Korn and Graubard, 1998)"
"""Addition to the intervals of shares of documents that depend on each other or were drawn."""


def _sight(session: ProjectSession, run: RunRow, person: str) -> str:
    """Return a sentence on whether a person, or all reviewers for an empty name, saw the verdicts of the run."""
    seen = blind_report(session, run, person)
    if not seen.blind.n + seen.shown.n:
        return " No value was decided in the review of this run; values come from the reviews of other runs."
    blind = f"{format_count(seen.blind.n, 'value')} {plural(seen.blind.n, 'was', 'were')} decided"
    return f" {blind} before the reviewer saw the verdict, {seen.shown.n:,} with it in view."


_WAYS = {
    "drawn": "drawn in the review of a part of the documents",
    "queue": "taken in the order of the review queue",
}
"""How a document without weight for others was selected, by method; the others were chosen by hand."""


def _sample(session: ProjectSession, run: RunRow, report: EvaluationReport) -> tuple[WeightedSample, Counter[str]]:
    """Return the reviewed documents that a report is based on.

    With them is the number of those without a known probability, by how they were selected.
    """
    loaded = annotation_arrays.verdict_arrays(session, run, report.reference)
    design = annotation_arrays.sampling_design(session, run, report.reference, loaded)
    assert design.sample is not None
    selections = session.store.sampling_frames.selections(source_of(report.reference).who)
    methods = {selection.document_id: selection.how for selection in selections}
    rows = design.order[~design.sample.draws].tolist()
    return design.sample, Counter(_WAYS.get(methods[loaded.documents[row]], "chosen by hand") for row in rows)


def _ties(session: ProjectSession, run: RunRow, report: EvaluationReport) -> str:
    """Return sentences on values of several raters without a majority, and on those of one rater alone."""
    codebook, loaded = run.settings.codebook, annotation_arrays.verdict_arrays(session, run)
    if not report.raters or codebook.kind == "rating":
        return ""
    grids = (
        annotation_arrays.load_reference(
            session.store, run.run_id, codebook, loaded.documents, str(AnnotationSource(GOLD, name))
        )
        for name in report.raters
    )
    answers = np.sum([~np.isnan(grid) for grid in grids], axis=0)
    ties, single = int(((answers > 0) & np.isnan(loaded.reference)).sum()), int((answers == 1).sum())
    differ = "the raters differ" if len(report.raters) == 2 else "the raters tie"
    left_out = f" Where {differ} ({format_count(ties, 'value')}), there is no gold." if ties else ""
    alone = f" Where only one rater answered ({format_count(single, 'value')}), this answer is gold." if single else ""
    return left_out + alone


def _agreement(session: ProjectSession, run: RunRow, report: EvaluationReport) -> str:
    """Return sentences on the agreement of several raters; empty for one rater."""
    alphas = {name: format_estimate(estimate) for name, estimate in report.agreement.items()}
    shown = [alpha if name == CHOICE_ITEM else f"{name} {alpha}" for name, alpha in alphas.items()]
    intervals = _with_intervals(report.agreement.values())
    level = "ordinal" if run.settings.codebook.kind == "rating" else "nominal"
    alpha = f" Krippendorff's {level} alpha of the raters{intervals}: {', '.join(shown)}." if shown else ""
    return _ties(session, run, report) + alpha


def _claim(session: ProjectSession, run: RunRow) -> tuple[str, str]:
    """Return the paragraph about the plan of the review and the sentence with its result, empty without a plan."""
    current = review_plan.current_plan(session, run)
    if current is None:
        return "", ""
    codebook = run.settings.codebook
    status = review_plan.plan_status(session, run, current)
    expected, stop = f" at an expected error of {format_percent(current.expected)}", "it was narrow enough"
    if current.claim == "better":
        expected, stop = "", f"one run was better, or neither could be by {100 * current.points:g} points"
    match current.claim:
        case "f1":
            method = "The result was computed once, after the planned number of reviews."
        case "error":
            method = (
                "Levels of certainty were tested once, after the planned number of reviews, in a fixed sequence with "
                "exact binomial tests on documents drawn with equal probabilities (Angelopoulos et al., 2021)."
            )
        case _:
            method = (
                "The interval is always-valid (an asymptotic confidence sequence, Waudby-Smith et al., 2024), so that "
                f"the review could stop as soon as {stop}."
            )
    earlier = review_plan.reviewed_before(session, run)
    reviewed = f"After the review of {format_count(earlier, 'document')}" if earlier else "Before the review"
    planned = (
        f"{reviewed}, the claim was fixed: {review_plan.describe_claim(codebook, current)}; "
        f"{format_count(current.reviews, 'review')} were planned{expected}, and {status.drawn:,} were used. {method}"
    )
    return planned, review_plan.describe_result(codebook, status)


_REGRESSION = (
    "Regressions combine the verdicts on all documents with the labels of the reviewed ones, each weighted by its "
    "selection probability, so that errors of the models do not bias the coefficients (prediction-powered inference, "
    "Angelopoulos et al., 2023; design-based supervised learning, Egami et al., 2023). Standard errors account for the "
    "selection of the reviewed documents, are robust to unequal variances, and to dependence within groups where "
    "documents have groups."
)


def _regression(session: ProjectSession, run: RunRow, formula: corrected_regression.Formula) -> Block:
    """Return the table of a regression; the error as text if it cannot be estimated."""
    try:
        analysis = corrected_regression.analyse(session, run, formula)
    except MootError as error:
        return str(error)
    head, rows = corrected_regression.table(analysis)
    return ManuscriptTable(head, rows, f"{formula.family.capitalize()} regression {formula}: {analysis.sentence}")


def _results(report: EvaluationReport, view: str) -> Iterable[ManuscriptTable]:
    item, reference = label_noun(report.scores.kind), reference_names(report.reference).noun
    overall = [metric for metric in metrics.metrics(report.scores.kind) if metric.headline]
    intervals = _with_intervals(report.scores[metric.key] for metric in overall)
    scores = [(metric.name, _cell(report.scores[metric.key])) for metric in overall]
    if report.excluded and report.strict:
        main = metrics.main_metric(report.scores.kind).name
        scores.append((f"{main}, documents without a verdict as wrong", _cell(report.strict_main)))
    level = "; Krippendorff's alpha is ordinal" if report.scores.kind == "rating" else ""
    yield ManuscriptTable(
        ("Score", "Value"),
        tuple(scores),
        f"Scores over all {item}s against {reference}{intervals}{level}",
        view,
    )
    names, cells = report.scores.table(_cell, lambda metric: metric.averages)
    differs = f"; n differs by {item}, because some of the {report.n:,} documents lack one of them on some {item}s"
    counted = "n: documents with the reference and a verdict"
    counted += differs if any(scores.n != report.n for scores in report.scores.labels.values()) else ""
    yield ManuscriptTable(
        (item.capitalize(), "n", *names),
        tuple((name, f"{report.scores.labels[name].n:,}", *row) for name, row in cells.items()),
        f"Scores of each {item} against {reference}{intervals}; {counted}",
        view,
    )


def _iterations(session: ProjectSession, run: RunRow, reference: Reference, view: str) -> Iterable[ManuscriptTable]:
    """Yield a table of the headline scores over all iterations, if a run has several."""
    result = repeats(session, run, reference)
    if result is None or len(result.runs) < 2:
        return
    rows = [
        (metric.name, *map(format_number, (score.mean, score.sd, score.low, score.high)))
        for metric in metrics.metrics(run.settings.codebook.kind)
        if metric.headline and (score := result.measures[metric.key]).n
    ]
    noun = reference_names(reference).noun
    caption = f"Scores over {len(result.runs)} iterations against {noun}, on the documents that all of them debated"
    yield ManuscriptTable(("Score", "Mean", "SD", "Lowest", "Highest"), tuple(rows), caption, view)


def _with_intervals(estimates: Iterable[Estimate]) -> str:
    """Return the words that say that values have intervals; nothing if none of these has one."""
    return ", with 95% intervals" if any(estimate.shown_interval for estimate in estimates) else ""


def _cell(estimate: Estimate) -> str:
    """Return a score with its interval, which stays on one line in narrow columns."""
    value, _, interval = format_estimate(estimate).partition(" ")
    return " ".join(filter(None, (value, interval.replace(" ", "\u00a0"))))


def _models(session: ProjectSession, run: RunRow) -> ManuscriptTable:
    served, titles = session.store.transcripts.served_models(run.run_id), role_titles(run.settings)
    refused = _refused_settings(session, run)
    rows = [
        (
            titles.get(role, role),
            model.spec,
            ", ".join(sorted(served.get(role, ()))) or "not reported",
            "none" if model.is_builtin else describe_sampling(model.sampling),
            *([", ".join(refused.get(role, ["none"]))] if refused else []),
        )
        for role, model in _asked_models(run.settings).items()
    ]
    head = ("Role", "Model", "Version reported by the server", "Settings", *(["Refused settings"] if refused else []))
    return ManuscriptTable(head, tuple(rows), "Models")


def _value(codebook: Codebook, value: float) -> Value | None:
    if np.isnan(value):
        return None
    if codebook.kind == "choice":
        return codebook.labels[int(value)].name
    return int(value) if codebook.kind == "multilabel" else float(value)


# -- references


_TSENG = "Tseng et al. 2025, Evaluating Large Language Models as Expert Annotators, section 3.1"
_COURTROOM = "Courtroom-LLM 2024, section 4"
_VARIANT_SOURCES = {
    **dict.fromkeys(("vanilla", "cot", "self_consistency", "self_refine"), _TSENG),
    **dict.fromkeys(("few_shot", "vote"), _COURTROOM),
    "form": "Liu et al. 2023, G-Eval, section 2",
    "single-agent": "Maada et al. 2025, ECJ-LLM, section 5.1.1",
    "chateval": "Chan et al. 2023, ChatEval",
}
"""Source of a single annotator's method, or of a preset that is not from its protocol's paper."""


def _bibliography(methods: str) -> dict[str, str]:
    """Return the entries of ``manuscript.bib`` that the methods cite, and those without a citation above them."""
    entries = {}
    for text in Path(__file__).with_name("manuscript.bib").read_text(encoding="utf-8").strip().split("\n\n"):
        citation, _, entry = text.partition("@")
        if citation.strip("% \n") in methods:
            entries[entry[entry.index("{") + 1 : entry.index(",")]] = f"@{entry}"
    return entries
