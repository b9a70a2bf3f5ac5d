"""The short parts of the reruns, judged and drawn like the whole; whole reruns are slow tests."""

import json
from functools import partial

import numpy as np
import pytest
from tests.report.pages import Tags

from tellall.papers import (
    contingency_mechanisms,
    contingency_tables,
    linear_attacks,
    linear_matrices,
    linear_reconstruction,
    robust_tracing,
)
from tellall.papers.claims import PaperPart, run_parts
from tellall.report.paper_page import render

EFFORT = {name: quick for name, (quick, _) in linear_reconstruction.PAPER.effort.items()}
EFFORT |= {"bound_people": 60, "bound_runs": 2, "low_rank_runs": 7}
SHORT = {
    "linear-reconstruction": (
        linear_reconstruction.PAPER,
        [
            partial(part, EFFORT)
            for part in (linear_attacks.bound, linear_matrices.ranks, linear_matrices.low_rank)
        ],
    ),
    "contingency-tables": (
        contingency_tables.PAPER,
        [
            partial(part, True)
            for part in (
                contingency_mechanisms.costs,
                contingency_mechanisms.privacy,
                contingency_mechanisms.errata,
            )
        ],
    ),
}


def judged(paper, figures, cases):
    """The page's statements; rendering them must not fail."""
    found = paper.rerun(figures, cases, 0, True)
    json.dumps(found.as_json(), allow_nan=False)  # fails if a number is none
    Tags.of(render(found))
    return found.statements


@pytest.mark.parametrize("name", SHORT)
def test_short_parts_have_their_verdicts(name):
    paper, parts = SHORT[name]
    figures, cases = run_parts([PaperPart(part) for part in parts], 0, None)
    statements = judged(paper, figures, cases)
    assert len(statements) >= 5
    assert {one.verdict for one in statements} >= {"holds"}
    assert not [one.what for one in statements if one.verdict == "not reproduced"]


def test_strong_distributions_and_soundness_of_tracing():
    rng = np.random.default_rng(0)
    cases = [*robust_tracing._strengths(2, rng), *robust_tracing._soundness(2, rng)]
    statements = judged(robust_tracing.PAPER, (), cases)
    assert len(statements) >= 5
    assert {one.verdict for one in statements} <= {"holds", "our own addition"}
