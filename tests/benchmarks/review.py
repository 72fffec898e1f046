"""Measure the speed of Review with many documents: ``python -m tests.benchmarks.review [--documents 100000]``.

Creates a project of that many documents in a temporary folder with SQL: three roles on each document, gold on a third,
reviews on a fiftieth. Prints the time of each action of a reviewer (median of three, in milliseconds) relative to its
bound, and the time of ``count(*)`` over the annotations as a reference for the machine.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from core.codebook import Codebook, Label
from core.documents import Document
from core.services.project_session import ProjectSession
from core.services.review import accuracy_estimate, actions, browser_data, queue
from core.services.review.queue import QueueFilter
from core.store.project import Project
from tests.core.store.helpers import make_settings

BOUND = 500
EDIT_BOUND = 300
ACTOR = "bench"
NAMES = ("Cleanliness", "Service", "Price", "Location", "Food")


def fill(project: Project, count: int) -> str:
    """Create the project and return the run's id. Roles agree except in about one list in twenty, chosen by hashes."""
    book = Codebook(labels=tuple(Label(name=name) for name in NAMES))
    project.store.codebooks.save(book)
    project.store.documents.add([Document("d000000", {"text": "the first"})])
    run_id = project.store.runs.create(make_settings(book, codebook_version=1), ["d000000"]).run_id
    items = sorted(label.id for label in book.labels)
    cursor = project._connection.cursor()

    def value_of(item: str, column: int, role: str) -> str:
        other = f"if(hash(n * 11 + {column}) % 20 = 0, '{role}', '')"
        return f"if(hash('{item}' || n::VARCHAR || {other}) % 100 < 30, 'true', 'false')"

    def values_of(role: str) -> str:
        pairs = " || ', ' || ".join(f"'\"{item}\": ' || {value_of(item, i, role)}" for i, item in enumerate(items))
        return f"'{{' || {pairs} || '}}'"

    id, rows = "'d' || lpad(n::VARCHAR, 6, '0')", f"FROM range({count}) t(n)"
    cursor.execute("BEGIN")
    cursor.execute("DELETE FROM documents")
    cursor.execute("DELETE FROM run_documents")
    cursor.execute(
        f"""INSERT INTO documents BY NAME SELECT {id} AS id, n AS position, 1 AS import_id, 'text' AS field,
        'Review ' || n || ': the room was ' || (['clean', 'dirty', 'fine'])[(1 + hash(n) % 3)::INT] || '. '
            || repeat('We stayed for some nights and went on. ', (hash(n * 3) % 9)::INT) AS text,
        '{{}}' AS context, 8 + (hash(n * 3) % 9)::INT * 8 AS words, '{{}}' AS source, '' AS group_name {rows}"""
    )
    cursor.execute("INSERT INTO run_documents SELECT ?, id, position FROM documents", [run_id])
    quote = f'[{{"item": "{items[0]}", "quote": "the room", "field": "text", "start": 8, "end": 16, "match": "exact"}}]'
    for turn, role in enumerate(("extractor", "critic", "judge")):
        cursor.execute(
            f"""INSERT INTO turns BY NAME SELECT '{run_id}' AS run_id, {id} AS document_id, {turn} AS turn,
            'k{turn}-' || n AS key, '{role}' AS role, 0 AS round, '[]' AS replies_to,
            '' AS item, 0 AS retry, 'labels' AS form,
            '{{"connection": "builtin", "model": "lexical"}}' AS role_model, '[]' AS messages, false AS cached,
            '{{}}' AS reading, {values_of(role)} AS values, '{quote}' AS evidence, 1 AS evidence_total,
            if(hash(n * 5) % 15 = 0, 0, 1) AS evidence_supported, false AS superseded {rows}"""
        )
        cursor.execute(
            f"""INSERT INTO replies BY NAME SELECT 'k{turn}-' || n AS key, {values_of(role)} AS text, '' AS reasoning,
            'stop' AS finish_reason, 500 AS prompt_tokens, 50 AS completion_tokens, 0 AS cached_tokens,
            0 AS reasoning_tokens, false AS estimated, 0.0001 AS cost_usd, 1.5 AS seconds, 1.7e9 AS unix_time,
            '[]' AS refused_params,
            '{run_id}' AS run_id, 'm' AS served_model {rows}"""
        )
        for column, item in enumerate(items):
            for annotator, at in ((role, str(turn)), *([("verdict", "NULL")] if role == "judge" else [])):
                cursor.execute(
                    f"""INSERT INTO annotations BY NAME SELECT '{run_id}' AS run_id, {id} AS document_id,
                    '{annotator}' AS annotator, {at} AS turn, '{item}' AS item, {value_of(item, column, role)} AS value,
                    '' AS reason {rows}"""
                )
    cursor.execute(
        f"""INSERT INTO verdicts BY NAME SELECT '{run_id}' AS run_id, {id} AS document_id,
        if(hash(n * 13) % 50 = 0, 'unresolved', 'verdict') AS status, {values_of("judge")} AS values,
        1.7e9 AS unix_time,
        '{{"values": ' || {values_of("judge")} || ', "reasons": {{}}, "notes": [], "error": null}}' AS verdict {rows}"""
    )
    cursor.execute(
        """INSERT INTO gold SELECT document_id, 'gold', item,
        if(hash(document_id || item) % 20 = 0, if(value = 'true', 'false', 'true'), value)
        FROM annotations WHERE annotator = 'verdict' AND hash(document_id) % 3 = 0"""
    )
    cursor.execute("COMMIT")
    cursor.close()
    return run_id


def timed(name: str, act: Callable[[], object], bound: float | None = BOUND) -> None:
    """Run the action three times and print the median."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        act()
        times.append(1000 * (time.perf_counter() - start))
    median = statistics.median(times)
    print(f"{name:34}{median:8.0f} ms" + (f"  {median / bound:5.2f} of the bound" if bound else ""), flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Project(Path(folder) / "large.duckdb") as project:
        run_id = fill(project, options.documents)
        store = project.store
        session = cast(
            ProjectSession,
            SimpleNamespace(
                store=store,
                saved_at=lambda: project.saved_at,
                trainer=SimpleNamespace(schedule=lambda: None),
            ),
        )
        session.document = partial(ProjectSession.document, session)  # type: ignore[method-assign]
        run = store.runs.get(run_id)
        assert run is not None
        timed("count(*) of annotations", lambda: project._connection.rows("SELECT count(*) FROM annotations"), None)
        start = time.perf_counter()
        queue.viewpoint(session, run)
        print(f"{'reasons after a run, once':34}{1000 * (time.perf_counter() - start):8.0f} ms")
        actions.submit(
            session, run_id, [f"d{n:06}" for n in range(0, options.documents, 50)], actions.Attribution("another")
        )
        timed("Focus: the queue", lambda: browser_data.queue_rows(session, run, QueueFilter(sort="queue"), actor=ACTOR))
        timed("Focus: a document", lambda: browser_data.document(session, run, "d000100", actor=ACTOR))
        timed("Focus: progress", lambda: browser_data.progress(session, run, actor=ACTOR))
        timed("Grid: opening", lambda: queue.review_page(session, run, QueueFilter(), actor=ACTOR))
        pages = options.documents // 50
        timed("Grid: the last page", lambda: queue.review_page(session, run, QueueFilter(number=pages), actor=ACTOR))
        timed(
            "Grid: the queue, page 500",
            lambda: queue.review_page(session, run, QueueFilter(sort="queue", number=500), actor=ACTOR),
        )
        timed(
            "Grid: sorted by urgency", lambda: queue.review_page(session, run, QueueFilter(sort="reasons"), actor=ACTOR)
        )
        timed("Grid: sorted by length", lambda: queue.review_page(session, run, QueueFilter(sort="words"), actor=ACTOR))
        timed(
            "Grid: filtered by reason",
            lambda: queue.review_page(session, run, QueueFilter(reason="flipped"), actor=ACTOR),
        )
        label = run.settings.codebook.labels[1].id
        timed("Grid: filtered by label", lambda: queue.review_page(session, run, QueueFilter(label=label), actor=ACTOR))
        timed("Grid: searched", lambda: queue.review_page(session, run, QueueFilter(search="dirty"), actor=ACTOR))
        ids = iter(range(1000, options.documents))

        def edit() -> None:
            actions.edit(session, run_id, [f"d{next(ids):06}"], label, True, actions.Attribution(ACTOR))

        def submit() -> None:
            actions.submit(session, run_id, [f"d{next(ids):06}"], actions.Attribution(ACTOR))

        timed("an edit, saved", edit, EDIT_BOUND)
        timed("a submission, saved", submit, EDIT_BOUND)
        drawn = iter(queue.list_queue(session, run, QueueFilter(sort="queue", size=50), actor=ACTOR).sampling.items())
        document, draw = next(drawn)
        actions.submit(session, run_id, [document], actions.Attribution(ACTOR), sampling={document: draw})
        accuracy_estimate.estimate_accuracy(session, run)

        def estimate() -> None:
            document, draw = next(drawn)
            actions.submit(session, run_id, [document], actions.Attribution(ACTOR), sampling={document: draw})
            accuracy_estimate.estimate_accuracy(session, run)

        timed("a submission and the estimate", estimate)


if __name__ == "__main__":
    main()
