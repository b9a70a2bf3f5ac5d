"""The drawn example: invented people, a single solution, the same whatever the audit found."""

import pytest

from tellall.report.marks import SLIM, WIDTH
from tellall.report.worked import CELLS, PEOPLE, consistent, draw_example


def test_no_published_cell_is_about_one_person_and_all_of_them_have_one_solution():
    assert min(len(who) for _, who, _ in CELLS) > 1
    assert len(consistent()) == 1


def test_each_cell_is_needed():
    """Without any one of the counts somebody's secret stays open."""
    for left_out in CELLS:
        rest = [cell for cell in CELLS if cell is not left_out]
        ways = [
            ill
            for ill in [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
            if all(sum(ill[i] for i in who) == count for _, who, count in rest)
        ]
        assert len(ways) > 1


@pytest.mark.parametrize("width", [WIDTH, SLIM])
def test_the_drawing_says_what_the_equations_give(width):
    chart = draw_example(width)
    words = [mark.text for mark in chart.under if mark.tag == "text"]
    for (name, what), ill in zip(PEOPLE, consistent()[0], strict=True):
        assert words[words.index(f"{name} ({what})") + 1] == ("ill" if ill else "not ill")
    for name, who, count in CELLS:
        assert words[words.index(f"ill, {name}") + 1] == str(count)
        assert words[words.index(" + ".join(PEOPLE[i][0] for i in who)) + 1] == f"= {count}"
    for mark in chart.under:
        if mark.tag == "rect":
            assert mark.at["x"] + mark.at["width"] <= width
            assert mark.at["y"] + mark.at["height"] <= chart.height
