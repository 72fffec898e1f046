"""Tests of the columns that may be gold; those of whole mappings are in ``test_mapping_suggestions.py``."""

from __future__ import annotations

from core.ingest.gold_suggestions import columns_by_rater
from tests.each_row import each_row


@each_row(
    ("columns", "labels", "raters"),
    [
        ("good food_anna,good food_ben,bar_anna,bar_ben", "good food,good food,bar,bar", "anna,ben,anna,ben"),
        ("a_rater_x,a_rater_y,b_rater_x,b_rater_y", "a,a,b,b", "rater_x,rater_y,rater_x,rater_y"),
        ("food_anna,food_ben,bar_anna", "", ""),  # not every rater has every label
        ("room_size,room_noise", "", ""),  # only one label
        ("food_anna,bar_anna", "", ""),  # only one rater
        ("food,bar", "", ""),
    ],
)
def test_label_columns_by_any_rater(columns: str, labels: str, raters: str) -> None:
    sources = columns_by_rater(columns.split(","))
    assert ",".join(source.label for source in sources) == labels
    assert ",".join(source.rater for source in sources) == raters
