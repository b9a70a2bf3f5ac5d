import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall.report.axes import Scale, log_ticks
from tellall.report.drawing import draw
from tellall.report.figures import GLYPH, SLIM, WIDTH
from tellall.report.plot import Axis, Figure, Rule, Series, number, numbers

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


def pixels(drawing):
    for shape in drawing.shapes:
        for line in (*shape.lines, *shape.bands):
            yield from (float(value) for point in line.split() for value in point.split(","))
        for whisker in shape.whiskers:
            yield from whisker
    for rule in drawing.rules:
        yield from (rule.x1, rule.x2, rule.y1, rule.y2, rule.text_x, *(line.at for line in rule.text))


@given(figures(), st.sampled_from([WIDTH, SLIM]))
def test_every_figure_can_be_drawn_tabled_and_kept_as_json(figure, width):
    drawing = draw(figure, width)
    assert drawing.width == width
    assert all(math.isfinite(value) and abs(value) <= 4200 for value in pixels(drawing))
    for tick in drawing.x_ticks:
        assert drawing.left - 0.2 <= tick.at <= drawing.right + 0.2
    for before, after in pairwise(drawing.x_ticks):
        assert after.at - before.at >= GLYPH * (len(before.text) + len(after.text)) / 2
    for tick in drawing.y_ticks:
        assert drawing.top - 0.2 <= tick.at <= drawing.bottom + 0.2
    head, rows, count = numbers(figure)
    assert all(len(row) == len(head) for row in rows)
    assert count == len(rows)
    plain = json.loads(json.dumps(figure.as_json(), allow_nan=False))
    again = Figure.from_json(plain)
    assert again.as_json() == plain
    assert draw(again, width).shapes == drawing.shapes or any(
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
    (shape,) = draw(Figure("t", "c", Axis("x"), Axis("y", log=True, low=0.01), (series,))).shapes
    assert len(shape.lines) == 2
    assert float(shape.lines[1].split()[-1].split(",")[1]) == 4000


def test_kinds_have_their_own_marks():
    def shape(kind, **interval):
        return draw(
            Figure("t", "c", Axis("x"), Axis("y"), (Series("s", [0, 1], [1, 2], kind=kind, **interval),))
        ).shapes[0]

    interval = {"low": [0, 1], "high": [2, 3]}
    assert (len(shape("line").lines), len(shape("line").marks)) == (1, 0)
    assert (len(shape("points").lines), len(shape("points").marks)) == (0, 2)
    assert (len(shape("both").lines), len(shape("both").marks)) == (1, 2)
    assert len(shape("points", **interval).whiskers) == 2
    assert len(shape("line", **interval).bands) == 1
    assert len(shape("steps").lines[0].split()) == 3


def test_a_histogram_stands_on_zero():
    series = Series("h", [0, 1, 2], [3, 1], kind="histogram")
    drawing = draw(Figure("t", "c", Axis("x"), Axis("y"), (series,)))
    points = [tuple(map(float, p.split(","))) for p in drawing.shapes[0].lines[0].split()]
    assert points[0][1] == points[-1][1] == drawing.bottom
    assert points[1][1] < points[3][1]


def test_categories_name_their_places():
    axis = Axis("what", categories=("and", "exclusive or, which is a long name for a small place"))
    figure = Figure("t", "c", axis, Axis("y"), (Series("s", [0, 1], [0.5, 0.7], kind="points"),))
    assert numbers(figure)[1][0] == ["and", "0.5"]
    assert draw(figure).x_ticks[0].text == "and"
    many = Axis("what", categories=tuple(f"category number {k}" for k in range(12)))
    assert draw(Figure("t", "c", many, Axis("y"), figure.series)).slanted


def test_words_are_set_in_lines_where_a_telephone_is_too_narrow_for_them():
    axis = Axis("noise on a published value, standard deviation of it", "shares of all people")
    rule = Rule(0.6, "threshold (the middle one: each target has its own)", "x")
    figure = Figure("t", "c", axis, axis, (Series("s", [0, 1], [1, 2]),), (rule,))
    for width, counts in ((WIDTH, (1, 1, 1)), (SLIM, (2, 2, 2))):
        drawing = draw(figure, width)
        (line,) = drawing.rules
        assert tuple(map(len, (drawing.x_label, drawing.y_label, line.text))) == counts
        for one in (*drawing.x_label, *drawing.y_label, *line.text):
            assert GLYPH * len(one.text) <= width
        assert drawing.y_label[-1].at < drawing.top
        assert drawing.bottom < drawing.x_label[0].at <= drawing.x_label[-1].at < drawing.height


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
