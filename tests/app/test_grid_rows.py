"""Columns of the grid: those who gave labels, and nobody else."""

from __future__ import annotations

from types import SimpleNamespace

from app.views.grid_rows import speakers

ROLES = {"general_public": "General public", "coordinator": "Coordinator", "aggregator": "Aggregator"}


def rows(*said: dict) -> list:
    return [SimpleNamespace(roles=dict.fromkeys(ROLES) | each) for each in said]


def test_a_role_that_never_gives_labels_takes_no_column():
    assert speakers(rows({}, {"general_public": {"label": "x"}}), ROLES) == {"general_public": "General public"}


def test_nobody_is_dropped_where_nobody_could_be_read():
    assert speakers(rows({}, {}), ROLES) == ROLES
    assert speakers([], ROLES) == ROLES
