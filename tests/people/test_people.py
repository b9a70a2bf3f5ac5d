import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall.people.codes import group_rows
from tellall.people.dataset import as_public


def frame() -> dict[str, object]:
    return {
        "age": [30, 40, 50, 60, None],
        "sex": ["f", "m", None, "f", "m"],
        "country": ["NL"] * 5,
        "ill": ["yes", "no", "no", "yes", "no"],
    }


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, lambda f: {k: np.array(v, object) for k, v in f.items()}]
)
def test_frames_of_any_kind_give_the_same_people(make):
    people = ta.Dataset.from_frame(make(frame()), secret="ill")
    assert people.n == 5
    assert people.public.names == ("age", "sex")
    assert people.public.columns[0].labels == ("30", "40", "50", "60", "missing")
    assert people.public.columns[1].labels == ("f", "m", "missing")
    assert people.public.codes.tolist() == [[0, 1, 2, 3, 4], [0, 1, 2, 0, 1]]
    assert people.secret.tolist() == [1, 0, 0, 1, 0]
    assert people.meaning == ("no", "yes")
    assert [str(one) for one in people.public.left_out] == ["country: the same for everybody"]
    assert np.isnan(people.public.numbers[0][4])
    assert people.public.numbers[1] is None


def test_the_text_says_what_was_cut_and_left_out():
    table = {**frame(), "income": np.linspace(0, 1000, 5)}
    text = repr(ta.Dataset.from_frame(pd.DataFrame(table), secret="ill", bins={"income": [300.0]}))
    assert "left out country: the same for everybody" in text
    assert "cut income at 300" in text


def test_numbers_are_cut_at_quantiles_and_kept_as_numbers():
    values = np.arange(100.0)
    people = ta.Dataset.from_frame({"x": values, "s": np.arange(100) % 2}, secret="s", bins=4)
    column = people.public.columns[0]
    assert column.cuts == (24.5, 49.5, 74.5)
    assert np.bincount(people.public.codes[0]).tolist() == [25, 25, 25, 25]
    assert np.array_equal(people.public.numbers[0], values)
    by_default = ta.Dataset.from_frame({"x": values, "s": np.arange(100) % 2}, secret="s")
    assert by_default.public.columns[0].levels == 10


def test_bins_are_near_pandas_quantile_cuts():
    values = np.random.default_rng(0).gamma(2, size=500).round(1)
    people = ta.Dataset.from_frame({"x": values, "s": np.arange(500) % 2}, secret="s", bins=7)
    wanted = pd.qcut(values, 7, labels=False, duplicates="drop")
    codes = people.public.codes[0].astype(int)
    assert np.abs(codes - wanted).max() <= 1
    assert np.mean(codes == wanted) > 0.85  # six cuts may each move by an eighth of a part, and ties


def test_few_values_stay_as_they_are():
    people = ta.Dataset.from_frame({"x": [1, 2, 3, 1], "s": [0, 1, 1, 0]}, secret="s", bins=3)
    assert people.public.columns[0].labels == ("1", "2", "3")
    assert people.public.columns[0].cuts is None


def test_dates_decimals_booleans_and_categories_are_understood():
    table = pd.DataFrame(
        {
            "day": pd.to_datetime(["2020-01-01", "2020-01-03", None, "2020-01-03"]),
            "money": [Decimal("1.5"), Decimal("2.5"), None, Decimal("1.5")],
            "flag": [True, False, True, True],
            "kind": pd.Categorical(["b", "a", None, "b"]),
            "whole": pd.array([1, 2, None, 1], dtype="Int64"),
            "s": [0, 1, 1, 0],
        }
    )
    people = ta.Dataset.from_frame(table, secret="s")
    start = (datetime.date(2020, 1, 1) - datetime.date(1970, 1, 1)).days
    assert people.public.numbers[0][:2].tolist() == [start, start + 2]
    assert [column.levels for column in people.public.columns] == [3, 3, 2, 3, 3]


def test_a_value_called_missing_is_not_a_missing_value():
    people = ta.Dataset.from_frame({"x": ["missing", None, "a", "a"], "s": [0, 1, 1, 0]}, secret="s")
    assert people.public.columns[0].labels == ("a", "missing", "missing value")
    assert people.public.codes[0].tolist() == [1, 2, 0, 0]


def test_columns_may_have_names_that_are_not_text():
    people = ta.Dataset.from_frame(pd.DataFrame({0: [1, 2, 1], 1: [0, 1, 1]}), secret="1")
    assert people.public.names == ("0",)


def test_labels_that_would_collide_are_written_out():
    people = ta.Dataset.from_frame({"x": [1.00000001, 1.00000002, 1.00000001], "s": [0, 1, 1]}, secret="s")
    assert people.public.columns[0].labels == ("1.00000001", "1.00000002")


def test_arrays_of_bits_whole_numbers_and_reals():
    bits = ta.Dataset.from_arrays([[0, 1], [1, 1], [1, 0]], [0, 1, 0], names=["x", "y"])
    assert bits.public.names == ("x", "y")
    assert bits.public.codes.tolist() == [[0, 1, 1], [1, 1, 0]]
    whole = ta.Dataset.from_arrays([[3], [5], [3]])
    assert whole.public.columns[0].labels == ("3", "5")
    assert whole.secret is None
    reals = ta.Dataset.from_arrays(np.random.default_rng(0).normal(size=(200, 2)))
    assert reals.public.levels == (10, 10)


def test_the_public_view_holds_no_secret(fair):
    assert "secret" not in vars(fair.public)
    assert fair.secret_name not in fair.public.names


@given(st.integers(1, 5), st.integers(2, 30), st.integers(1, 3), st.integers(0, 10**6))
def test_patterns_are_the_distinct_rows(d, n, levels, seed):
    codes = np.random.default_rng(seed).integers(0, levels, (d, n))
    patterns = group_rows(codes)
    assert len(patterns) == len({tuple(row) for row in codes.T})
    assert np.array_equal(patterns.rows[patterns.index], codes.T)
    assert np.array_equal(np.bincount(patterns.index), patterns.counts)
    assert np.array_equal(codes[:, patterns.first].T, patterns.rows)


def test_a_hash_collision_costs_time_and_not_correctness(monkeypatch):
    class Same:
        def integers(self, *args, size, **kwargs):
            return np.ones(size, dtype=np.int64)  # 0 + 1 and 1 + 0 collide

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Same())
    patterns = group_rows(np.array([[0, 1, 0], [1, 0, 1]]))
    assert patterns.counts.tolist() == [2, 1]
    assert patterns.index.tolist() == [0, 1, 0]


def test_taking_people_keeps_all_categories(fair):
    some = fair.take(np.array([5, 3]))
    assert some.public.levels == fair.public.levels
    assert some.secret.tolist() == [fair.secret[5], fair.secret[3]]


def test_whatever_holds_a_public_view_gives_it(fair):
    assert as_public(fair) is fair.public
    assert as_public(fair.public) is fair.public
    assert as_public([[0, 1], [1, 0]]).n == 2


def table(**changes: object) -> dict[str, object]:
    return {"x": [1, 2, 3], "y": ["a", "b", "a"], "s": [0, 1, 1], **changes}


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ta.Dataset.from_frame(table(), secret="t"), r"secret must be a column .* got 't'"),
        (lambda: ta.Dataset.from_frame(table(secrt=[1, 1, 0]), secret="secret"), "Did you mean 'secrt'"),
        (
            lambda: ta.Dataset.from_frame(table(s=[1, 1, 1]), secret="s"),
            "of two values or more; got the same for everybody",
        ),
        (lambda: ta.Dataset.from_frame(table(s=["a", "b", "c"]), secret="s").bits, "got 3 categories"),
        (lambda: ta.Dataset.from_frame(table(s=[0.5, 1.5, 2.5]), secret="s").bits, "got real numbers"),
        (lambda: ta.Dataset.from_frame(table(), secret=None).bits, "with a secret; got no secret"),
        (lambda: ta.Dataset.from_frame(table(s=["a", None, "c"]), secret="s"), "got 1 missing value[.]"),
        (lambda: ta.Dataset.from_frame(table(s=[0, None, 1]), secret="s"), "got 1 missing value[.]"),
        (lambda: ta.Dataset.from_frame(table(), secret="s", public=["z"]), "public must be a column"),
        (lambda: ta.Dataset.from_frame(table(), secret="s", public=["s"]), "other than the secret"),
        (lambda: ta.Dataset.from_frame(table(), secret="s", public=["x", "x"]), "'x' twice"),
        (lambda: ta.Dataset.from_frame(table(), secret="s", bins={"z": 3}), "bins must be a column"),
        (lambda: ta.Dataset.from_frame(table(), secret="s", bins=1), "bins of column 'x'"),
        (lambda: ta.Dataset.from_frame(table(), secret="s", bins={"x": [2.0, 1.0]}), "increasing"),
        (lambda: ta.Dataset.from_frame(table(), secret="s", bins={"y": [2.0]}), "holds text"),
        (lambda: ta.Dataset.from_frame(table(x=[1, 2]), secret="s"), "of one length"),
        (lambda: ta.Dataset.from_frame(table(x=[1, 2, np.inf]), secret="s"), "an infinite value"),
        (lambda: ta.Dataset.from_frame({"s": [0, 1]}, secret="s"), "table must be two people"),
        (lambda: ta.Dataset.from_frame({"x": [], "s": []}, secret="s"), "table must be two people"),
        (lambda: ta.Dataset.from_frame({"x": [1], "s": [0]}, secret="s"), "table must be two people"),
        (lambda: ta.Dataset.from_frame([[1]], secret="s"), "frame must be"),
        (lambda: ta.Dataset.from_frame(pd.DataFrame([[1, 2]], columns=["x", "x"])), "'x' twice"),
        (lambda: ta.Dataset.from_frame({"x": [1, 1], "s": [0, 1]}, secret="s"), "constant columns only"),
        (lambda: ta.Dataset.from_arrays([[0, np.nan], [1, 0]]), "got 1 NaN or infinite values"),
        (lambda: ta.Dataset.from_arrays([[0, 1], [1, 0]], [0.0, np.nan]), "secret must be finite"),
        (lambda: ta.Dataset.from_arrays([[0, 1], [1, 0]], [0, 1, 1]), r"one value per person \(2\)"),
        (lambda: ta.Dataset.from_arrays([[0, 1], [1, 0]], [1, 1]), "got the same for everybody"),
        (lambda: ta.Dataset.from_arrays([0, 1]), "public must be an array of people × attributes"),
        (lambda: ta.Dataset.from_arrays([[0, 1]]), "two people or more"),
        (lambda: ta.Dataset.from_arrays(np.zeros((3, 0))), "people × attributes"),
        (lambda: ta.Dataset.from_arrays([["a"], ["b"]]), "array of numbers"),
        (lambda: ta.Dataset.from_arrays([[0], [1]], names=["x", "y"]), "one per column"),
        (lambda: ta.Dataset.from_arrays([[0, 1], [1, 0]], names=["x", "x"]), "'x' twice"),
        (lambda: ta.Dataset.from_arrays([[0, 1], [1, 0]], names=5), "a list of names"),
        (lambda: ta.Dataset.from_arrays([[0, 1], [1]]), "rows have one length"),
        (lambda: ta.Dataset.from_frame(table(), secret="s", public=5), "a list of names"),
        (lambda: ta.Dataset.from_frame({"a": 1, "s": 0}, secret="s"), "one value per person"),
        (lambda: ta.Dataset.from_frame(table(), secret="s", bins={"x": "abc"}), "cut points"),
    ],
)
def test_bad_tables_get_one_clear_sentence(make, says):
    with pytest.raises(ta.InvalidInput, match=says) as caught:
        make()
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_the_arguments_of_the_contract_work_by_position():
    assert ta.Dataset.from_arrays([[0, 1], [1, 0]], [0, 1], ["x", "y"]).public.names == ("x", "y")
    assert ta.Dataset.from_frame(table(), "s").secret_name == "s"
    assert ta.Dataset.from_frame(pd.DataFrame({0: [1, 2, 1], 1: [0, 1, 1]}), 1).secret.tolist() == [0, 1, 1]


def test_a_column_with_most_people_at_its_largest_value_is_not_constant():
    values = np.r_[np.arange(30.0), np.full(970, 100.0)]
    people = ta.Dataset.from_frame({"v": values, "s": np.arange(1000) % 2}, "s")
    assert people.public.columns[0].cuts == (99.5,)
    assert np.bincount(people.public.codes[0]).tolist() == [30, 970]


def test_cut_points_for_all_columns_are_for_all_numbers():
    people = ta.Dataset.from_frame(table(), "s", bins=[1.5])
    assert people.public.levels == (2, 2)
    assert ta.Dataset.from_frame(table(), "s", bins=np.int64(2)).public.levels == (2, 2)


def test_bits_keep_their_numbers_and_lazy_frames_are_collected():
    assert ta.Dataset.from_arrays([[0, 1], [1, 0]]).public.numbers[1].tolist() == [1.0, 0.0]
    assert ta.Dataset.from_frame(pl.DataFrame(table()).lazy(), "s").n == 3


LARGE = [2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3]


@pytest.mark.parametrize(
    "column",
    [
        np.array(LARGE),
        np.array([2**63 + i for i in range(4)], dtype=np.uint64),
        np.array([-(2**63) + i for i in range(4)]),
        np.array([10**400, 10**400 + 1, 1, 2], dtype=object),
        np.ma.array([*LARGE[:3], 0], mask=[0, 0, 0, 1]),
        pl.Series([*LARGE[:3], None]),
        pd.array([*LARGE[:3], None], dtype="Int64"),
    ],
)
def test_whole_numbers_that_doubles_do_not_hold_stay_apart(column):
    people = ta.Dataset.from_frame({"id": column, "x": [1, 2, 2, 1], "s": [0, 1, 1, 0]}, secret="s")
    assert people.public.names == ("id", "x")
    assert len(set(people.public.codes[0].tolist())) == 4
    assert people.public.numbers[0] is None


def test_a_label_is_the_value_and_no_other():
    values = [1234567.0, 4805013.0, -0.0, 0.1, 1e300, 1 / 3, 1e-7]
    people = ta.Dataset.from_frame({"x": values, "s": [0, 1] * 3 + [0]}, secret="s")
    labels = people.public.columns[0].labels
    assert labels == ("0", "1e-07", "0.1", "0.3333333333333333", "1234567", "4805013", "1e+300")
    assert sorted(values) == [float(label) for label in labels]
    income = ta.Dataset.from_frame({"x": [0, 1, 1], "s": [1234567, 7654321, 2000001]}, "s", kind="categories")
    assert income.meaning == ("1234567", "2000001", "7654321")


def test_an_arrow_table_is_a_frame():
    pa = pytest.importorskip("pyarrow")
    table = frame() | {"kind": pa.array(["b", None, "a", "b", "a"]).dictionary_encode()}
    people = ta.Dataset.from_frame(pa.table(table), secret="ill")
    assert people.public.columns[0].labels == ("30", "40", "50", "60", "missing")
    assert people.public.codes.tolist() == [[0, 1, 2, 3, 4], [0, 1, 2, 0, 1], [1, 2, 0, 1, 0]]


def test_moments_and_clock_times_in_one_column_stay_text():
    zoned = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    column = np.array([zoned, datetime.datetime(2020, 1, 2), None], dtype=object)
    people = ta.Dataset.from_frame({"x": column, "s": [0, 1, 1]}, secret="s")
    assert people.public.numbers[0] is None
