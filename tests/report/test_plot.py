import json
import math
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall.core.records import read
from tellall.report.kit.drawing import draw
from tellall.report.kit.marks import GLYPH, SLIM, WIDTH, Scale, log_ticks
from tellall.report.kit.plot import Axis, Figure, Rule, Series, number, numbers

reals = st.floats(-1e6, 1e6) | st.sampled_from([math.nan, math.inf, -math.inf, 0.0])
kinds = st.sampled_from(["line", "points", "both", "steps"])


@st.composite
def figures(draw_):
    series = []
    for label in draw_(st.lists(st.text(max_size=9), min_size=1, max_size=4)):
        points = draw_(st.lists(st.tuples(reals, reals, st.floats(0, 10)), max_size=8))
        x, y, width = zip(*points, strict=True) if points else ((), (), ())
        low, high = ([v - s * w for v, w in zip(y, width, strict=True)] for s in (1, -1))
        banded = draw_(st.booleans())
        series.append(
            Series(label, x, y, low=low if banded else (), high=high if banded else (), kind=draw_(kinds))
        )
    rules = [Rule(v, "rule", axis) for v, axis in draw_(st.lists(st.tuples(reals, st.sampled_from("xy"))))]
    x, y = (Axis("axis", log=draw_(st.booleans())) for _ in range(2))
    return Figure("title", "caption", x, y, tuple(series), tuple(rules))


def of(marks, tag, kind=""):
    """The marks of this tag whose class begins so."""
    return [mark for mark in marks if mark.tag == tag and mark.at["class"].startswith(kind)]


def pixels(chart):
    """Every coordinate of every mark, those inside path data included."""
    for mark in (*chart.under, *chart.inside, *chart.over):
        for name, value in mark.at.items():
            if name in ("d", "points"):
                yield from map(float, re.findall(r"-?[\d.]+(?:e[-+]?\d+)?", value))
            elif name not in ("class", "transform"):
                yield value


def tick_ends(chart, axis):
    """Where ticks stand along an axis, with their words."""
    return [(mark.at[axis], mark.text) for mark in of(chart.under, "text", f"{axis}-tick")]


@given(figures(), st.sampled_from([WIDTH, SLIM]))
def test_every_figure_can_be_drawn_tabled_and_kept_as_json(figure, width):
    drawing = draw(figure, width)
    assert drawing.width == width
    assert all(math.isfinite(value) and abs(value) <= 4200 for value in pixels(drawing))
    frame = drawing.frame
    for at, _ in tick_ends(drawing, "x"):
        assert frame["x"] + 5.8 <= at <= frame["x"] + frame["width"] - 5.8
    for before, after in pairwise(tick_ends(drawing, "x")):
        assert after[0] - before[0] >= GLYPH * (len(before[1]) + len(after[1])) / 2
    for at, _ in tick_ends(drawing, "y"):
        assert frame["y"] + 5.8 <= at - 4 <= frame["y"] + frame["height"] - 5.8
    assert [label for label, _ in drawing.key] == [one.label for one in figure.series]
    head, rows, count = numbers(figure)
    assert all(len(row) == len(head) for row in rows)
    assert count == len(rows)
    plain = json.loads(json.dumps(figure.as_json(), allow_nan=False))
    again = read(Figure, plain, what="figure")
    assert again.as_json() == plain
    assert draw(again, width).inside == drawing.inside or any(
        math.isinf(value) for one in figure.series for value in (*one.x, *one.y, *one.low, *one.high)
    )


@given(st.floats(1e-12, 1e3), st.floats(1.5, 1e12))
def test_log_ticks_are_few_and_within(low, ratio):
    marks = log_ticks(low, low * ratio)
    assert len(marks) <= 9
    assert marks == sorted(set(marks))
    assert all(low * 0.999 <= mark <= low * ratio * 1.001 for mark in marks)
    assert marks or ratio < 2.6


@given(st.floats(0.1, 10), st.floats(1.1, 100), st.booleans())
def test_a_scale_keeps_order_and_ends(low, ratio, log):
    scale = Scale(low, low * ratio, 300, 20, log)
    assert (scale(low), scale(low * ratio)) == (300, 20)
    assert scale(low * ratio**0.7) <= scale(low * ratio**0.2)


def test_a_gap_splits_the_line_and_zero_leaves_a_log_chart():
    series = Series("s", [1, 2, 3, 4, 5], [1, 0.1, math.nan, 1, 0])
    chart = draw(Figure("t", "c", Axis("x"), Axis("y", log=True, low=0.01), (series,)))
    first, second = of(chart.inside, "polyline", "curve c0")
    assert len(first.at["points"].split()) == 2
    assert float(second.at["points"].split()[-1].split(",")[1]) == 4000


def test_kinds_have_their_own_marks():
    def drawn(kind, **interval):
        series = (Series("s", [0, 1], [1, 2], kind=kind, **interval),)
        return draw(Figure("t", "c", Axis("x"), Axis("y"), series)).inside

    def count(kind, **interval):
        marks = drawn(kind, **interval)
        kinds = (("polyline", "curve"), ("path", "m0"), ("path", "bar-of"), ("polygon", "band"))
        return tuple(len(of(marks, *one)) for one in kinds)

    interval = {"low": [0, 1], "high": [2, 3]}
    assert count("line") == (1, 0, 0, 0)
    assert count("points") == (0, 2, 0, 0)
    assert count("both") == (1, 2, 0, 0)
    assert count("points", **interval) == (0, 2, 2, 0)
    assert count("line", **interval) == (1, 0, 0, 1)
    assert len(of(drawn("steps"), "polyline")[0].at["points"].split()) == 3


def test_a_histogram_stands_on_zero():
    series = Series("h", [0, 1, 2], [3, 1], kind="histogram")
    chart = draw(Figure("t", "c", Axis("x"), Axis("y"), (series,)))
    (area,), (outline,) = of(chart.inside, "polygon", "fill"), of(chart.inside, "polyline")
    assert area.at["points"] == outline.at["points"]
    points = [tuple(map(float, p.split(","))) for p in outline.at["points"].split()]
    assert points[0][1] == points[-1][1] == chart.frame["y"] + chart.frame["height"] - 6
    assert points[1][1] < points[3][1]


def test_categories_name_their_places():
    axis = Axis("what", categories=("and", "exclusive or, which is a long name for a small place"))
    figure = Figure("t", "c", axis, Axis("y"), (Series("s", [0, 1], [0.5, 0.7], kind="points"),))
    assert numbers(figure)[1][0] == ["and", "0.5"]
    assert tick_ends(draw(figure), "x")[0][1] == "and"
    many = Axis("what", categories=tuple(f"category number {k}" for k in range(12)))
    slanted = of(draw(Figure("t", "c", many, Axis("y"), figure.series)).under, "text", "x-tick")
    assert len(slanted) == 12
    assert all("rotate" in mark.at["transform"] for mark in slanted)


def test_words_are_set_in_lines_where_a_telephone_is_too_narrow_for_them():
    axis = Axis("noise on a published value, standard deviation of it", "shares of all people")
    rule = Rule(0.6, "threshold (the median; each target has its own)", "x")
    figure = Figure("t", "c", axis, axis, (Series("s", [0, 1], [1, 2]),), (rule,))
    for width, counts in ((WIDTH, (1, 1, 1)), (SLIM, (2, 2, 2))):
        chart = draw(figure, width)
        x_words, y_words = (of(chart.under, "text", kind) for kind in ("middle soft-word", "soft-word"))
        assert tuple(map(len, (x_words, y_words, of(chart.over, "text", "rule-word")))) == counts
        for one in (*x_words, *y_words, *chart.over):
            assert GLYPH * len(one.text) <= width
        top, bottom = chart.frame["y"] + 6, chart.frame["y"] + chart.frame["height"] - 6
        assert y_words[-1].at["y"] < top
        assert bottom < x_words[0].at["y"] <= x_words[-1].at["y"] < chart.height


def test_long_tables_keep_the_rows_that_compare():
    fine = Series("law", np.linspace(0, 1, 101), np.linspace(1, 0, 101))
    seen = Series("seen", [0, 0.5, 1], [1, 0.5, 0], kind="points")
    _, rows, count = numbers(Figure("t", "c", Axis("x"), Axis("y"), (fine, seen)), most=10)
    assert count == 101
    assert len(rows) <= 10
    assert sum(row[2] != "" for row in rows) == 3


@pytest.mark.parametrize("value", [0.0, 1.0, 12345.678, 1e-7, -3.25, 1e12, 0.1 + 0.2])
def test_numbers_can_be_read_back(value):
    assert float(number(value).replace(",", "")) == pytest.approx(value, rel=1e-3)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Series("s", [1], [1, 2]), "x must be 2 numbers"),
        (lambda: Series("s", [1], [1], kind="pie"), "kind must be one of"),
        (lambda: Series("s", [1], [1], low=[1]), "low must be as many"),
        (lambda: Axis("x", log=True, low=0.0), "axis must be within"),
        (lambda: Axis("x", low=2.0, high=1.0), "axis must be from a low"),
        (lambda: Rule(1.0, "r", "z"), "axis must be 'x' or 'y'"),
        (lambda: Figure("t", "c", Axis("x"), Axis("y"), ()), "series must be from one to 6"),
    ],
)
def test_what_cannot_be_drawn_is_refused(make, says):
    with pytest.raises(ta.InvalidInput, match=says):
        make()
