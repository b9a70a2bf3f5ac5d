"""Cell keys: only the plan has them, and changes made by clicking keep them."""

from __future__ import annotations

from dataclasses import replace

from tellall.audits.advised import Remedy
from tellall.serve import views
from tests.audits.plans.test_policy import DOCUMENT

TABLE = [[-1.0, 0.5], [1.0, 0.5]]
PLANNED = [
    {"name": "a", "protect": [{"kind": "CellKey", "table": TABLE, "key": 12345}]},
    {"name": "b", "protect": [{"kind": "Rounding", "base": 5.0}]},
]
WITHOUT = {"kind": "CellKey", "table": TABLE}


def test_a_remedy_keeps_the_cell_keys_of_the_plan() -> None:
    changed = [
        {"name": "a", "protect": [WITHOUT]},
        {"name": "b", "protect": [{"kind": "Rounding", "base": 10.0}]},
    ]
    remedy = Remedy(found=True, sentence="Round.", entries=tuple(changed))
    document = replace(DOCUMENT, remedy=remedy)
    made = views.remedied(document, PLANNED)
    assert made == [PLANNED[0], changed[1]]


def test_a_point_of_the_slider_keeps_the_cell_key_of_the_plan() -> None:
    hidden = {"kind": "Suppression", "below": 5.0}
    release = {"name": "a", "points": [{"protect": [WITHOUT, hidden]}]}
    made = views.protected(PLANNED, release, 0)
    assert made[0]["protect"] == [{**WITHOUT, "key": 12345}, hidden]
    assert made[1] is PLANNED[1]
