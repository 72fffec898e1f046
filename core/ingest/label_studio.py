"""Label Studio exports: the tasks of a JSON export as rows, with the annotations as gold columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import Any, TypeAlias

Choices: TypeAlias = dict[tuple[str, str], list[Any]]
"""Chosen values of one annotation by control and type of the control."""


def is_task(value: Any) -> bool:
    """Return True if a JSON value looks like a task of Label Studio's JSON export."""
    return (
        isinstance(value, dict) and isinstance(value.get("data"), dict) and isinstance(value.get("annotations"), list)
    )


def task_rows(tasks: Sequence[Any]) -> list[Any]:
    """Return the tasks as rows: their data, then one column per label, dimension or single choice.

    A control in which some annotation has several choices or none becomes one column of 1 and 0 per choice; any other
    control becomes one column with its choice. A choice that occurs in several controls with a column per choice gets
    the name of the control in front (``food_good``). Numbers and stars become a column of numbers. If several people
    annotated, the names of the columns end in ``_r`` and the id of the person. A name that the data of some task uses
    gets ``_annotated``. Cancelled annotations, marked spans and answers about a span are left out. Elements that are
    not tasks stay unchanged.
    """
    answers = [[*_annotations(task)] if is_task(task) else [] for task in tasks]
    given = [answer for own in answers for _, answer in own]
    controls = {control: None for answer in given for control in answer}
    several = {
        control: [*dict.fromkeys(choice for answer in given for choice in answer.get(control, []))]
        for control in controls
        if control[1] == "choices" and any(len(answer.get(control, [])) != 1 for answer in given)
    }
    common = {choice for choice, count in Counter(chain.from_iterable(several.values())).items() if count > 1}
    people = {person for own in answers for person, _ in own}
    taken = {name for task in tasks if is_task(task) for name in task["data"]}
    return [
        _row(task, own, several, common, taken, numbered=len(people) > 1) if is_task(task) else task
        for task, own in zip(tasks, answers, strict=True)
    ]


def _annotations(task: Mapping[str, Any]) -> Iterator[tuple[str, Choices]]:
    """Yield the people who annotated a task, each with the answers."""
    for number, annotation in enumerate(task["annotations"], 1):
        if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
            continue
        person = annotation.get("completed_by")
        person = person.get("id") if isinstance(person, dict) else person
        answers: Choices = {}
        results = annotation.get("result")
        for result in results if isinstance(results, list) else ():
            if not isinstance(result, dict):
                continue
            kind, value = str(result.get("type", "")), result.get("value")
            if not isinstance(value, dict) or "start" in value:
                continue
            if kind in ("choices", "number", "rating") and kind in value:
                given = value[kind]
                answers[str(result.get("from_name", kind)), kind] = [
                    one if isinstance(one, int | float) else str(one)
                    for one in (given if isinstance(given, list) else [given])
                ]
        yield str(number if person is None else person), answers


def _row(
    task: Mapping[str, Any],
    answers: Sequence[tuple[str, Choices]],
    several: Mapping[tuple[str, str], Sequence[str]],
    common: Set[str],
    taken: Set[str],
    *,
    numbered: bool,
) -> dict[str, Any]:
    row: dict[str, Any] = dict(task["data"])
    for person, answer in answers:
        end = f"_r{person}" if numbered else ""
        gold: dict[str, Any] = {}
        for control, choices in several.items():
            for choice in choices:
                name = f"{control[0]}_{choice}" if choice in common else choice
                gold[f"{name}{end}"] = int(choice in answer.get(control, []))
        gold |= {
            f"{control[0]}{end}": given[0] for control, given in answer.items() if control not in several and given
        }
        row |= {f"{name}_annotated" if name in taken else name: value for name, value in gold.items()}
    return row
