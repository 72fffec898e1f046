"""Tests of the columns of the review grid."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from app.screens.review.grid_options import grid_options, header_height
from core.codebook import Codebook, Label, Scale
from core.services.review.browser_data import speakers

ROLES = {"general_public": "General public", "coordinator": "Coordinator", "aggregator": "Aggregator"}


def rows(*labels: dict) -> list:
    return [SimpleNamespace(roles=dict.fromkeys(ROLES) | label) for label in labels]


def test_role_without_labels_has_no_column():
    assert speakers(rows({}, {"general_public": {"label": "x"}}), ROLES) == {"general_public": "General public"}


def test_all_roles_have_columns_if_none_could_be_read():
    assert speakers(rows({}, {}), ROLES) == ROLES
    assert speakers([], ROLES) == ROLES


SMALL = 1004 - 16
"""Pixels of the grid's width at a window width of 1280, without the scroll bar."""


def book(kind: str, labels: int) -> Codebook:
    names = ["miscellaneous", "food", "service", "staff", "price", "ambience", "menu", "place"]
    scale = Scale(min=1, max=5) if kind == "rating" else None
    return Codebook(kind=kind, scale=scale, labels=tuple(Label(name=name) for name in names[:labels]))


def least_width(codebook: Codebook) -> int:
    """Return the least width of a row in pixels, without the columns that a narrow grid leaves out."""
    roles = dict.fromkeys(("extractor", "critic", "judge"), "Role")
    options = grid_options(codebook, roles, None, {}, lambda code: code, is_document_open=False)
    columns = [column for group in options["columnDefs"] for column in group["children"] if not column.get("hide")]
    widths = {
        column.get("colId", column.get("field")): column["minWidth"] if "flex" in column else column.get("width")
        for column in columns
        if column.get("field") not in options["context"]["optional"]
    }
    widths["_id"] = 112
    return options["selectionColumnDef"]["width"] + sum(widths.values())


@pytest.mark.parametrize(("kind", "labels"), [("multilabel", 5), ("multilabel", 8), ("choice", 8), ("rating", 4)])
def test_row_fits_a_small_screen(kind, labels):
    assert least_width(book(kind, labels)) <= SMALL, "narrow a column, or add it to `optional` in grid_options"


def test_click_cycles_through_the_points_of_the_dimensions_own_scale():
    labels = (Label(name="Fluency", id="f", scale=Scale(min=0, max=2)), Label(name="Overall", id="o"))
    codebook = Codebook(kind="rating", labels=labels)
    options = grid_options(codebook, {}, None, {}, lambda code: code, is_document_open=False)
    assert options["context"]["values"] == {"v_f": ["0", "1", "2"], "v_o": ["1", "2", "3", "4", "5"]}


def test_names_of_many_labels_and_long_names_are_vertical():
    short = [Label(name=f"label {number}") for number in range(7)]
    assert header_height(Codebook(labels=tuple(short[:6]))) == header_height(book("choice", 8)) == 52
    assert header_height(Codebook(labels=tuple(short))) > 52
    assert header_height(book("multilabel", 1)) > 52
