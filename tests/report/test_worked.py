"""The drawn example: invented people, a single solution, the same whatever the audit found."""

import itertools

import numpy as np
import pytest

from tellall.report.kit.marks import SLIM, WIDTH
from tellall.report.worked_example import COUNTS, GROUPS, PEOPLE, SUMS, draw_example

EXAMPLES = pytest.mark.parametrize("example", [COUNTS, SUMS], ids=["counts", "sums"])


@EXAMPLES
def test_no_published_cell_is_about_one_person_and_all_of_them_have_one_solution(example):
    assert min(len(who) for _, who in GROUPS) > 1
    assert example.solution() == example.secrets


def test_each_count_is_needed():
    """Without any one of the counts somebody's secret stays open."""
    for left_out in range(3):
        rest = [(GROUPS[i][1], COUNTS.cells[i]) for i in range(3) if i != left_out]
        ways = [
            ill
            for ill in itertools.product((0, 1), repeat=3)
            if all(sum(ill[i] for i in who) == count for who, count in rest)
        ]
        assert len(ways) > 1


def test_each_sum_is_needed():
    among = np.array([[i in who for i in range(3)] for _, who in GROUPS], dtype=float)
    assert np.linalg.matrix_rank(among) == 3


@EXAMPLES
@pytest.mark.parametrize("width", [WIDTH, SLIM])
def test_the_drawing_says_what_the_equations_give(example, width):
    chart = draw_example(example, width)
    words = [mark.text for mark in chart.under if mark.tag == "text"]
    for (name, what), secret in zip(PEOPLE, example.solution(), strict=True):
        assert words[words.index(f"{name} ({what})") + 1] == example.told(secret)
    for (name, who), cell in zip(GROUPS, example.cells, strict=True):
        assert words[words.index(f"{example.word}, {name}") + 1] == str(cell)
        assert words[words.index(" + ".join(PEOPLE[i][0] for i in who)) + 1] == f"= {cell}"
    for mark in chart.under:
        if mark.tag == "rect":
            assert mark.at["x"] + mark.at["width"] <= width
            assert mark.at["y"] + mark.at["height"] <= chart.height


def test_the_caption_tells_the_sums_that_are_drawn():
    total, women = SUMS.cells[2], SUMS.cells[0]
    told = f"together they earn {total}, the women {women} of it, so the only man earns {total - women}."
    assert told in SUMS.caption
