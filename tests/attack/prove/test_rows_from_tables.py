"""Rows from tables alone: against every set of people there is, and against an integer solver."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from tests.attack.prove.forwards import ALONE, can_be, fits_controlled

import tellall as ta


def brute_force(release, shape, people, protect):
    """The least and the largest count of each row, over all people whose tables may be these."""
    size = int(np.prod(shape))
    codes = np.stack(np.unravel_index(np.arange(size), shape))
    listed = np.array(list(combinations_with_replacement(range(size), people)), dtype=np.intp)
    every = np.zeros((len(listed), size), dtype=np.int64)
    np.add.at(every, (np.arange(len(listed))[:, None], listed.reshape(len(listed), people)), 1)
    fits, start = np.ones(len(every), dtype=bool), 0
    for columns in release.statistic.sets(_Levels(shape)):
        levels = [shape[column] for column in columns]
        cell = np.ravel_multi_index(tuple(codes[list(columns)]), levels)
        counts = every @ (cell[:, None] == np.arange(np.prod(levels))).astype(np.int64)
        published = release.values[start : start + counts.shape[1]]
        start += counts.shape[1]
        for column, value in enumerate(published):
            allowed = np.array([can_be(value, count, protect) for count in range(people + 1)])
            fits &= allowed[counts[:, column]]
        fits &= fits_controlled(published, counts, protect)
    return every[fits]


class _Levels:
    def __init__(self, shape):
        self.columns, self.levels = shape, shape


def instance(seed):
    rng = np.random.default_rng(seed)
    shape = [(2, 2, 2), (3, 2, 2), (2, 3), (2, 2, 2, 2)][rng.integers(4)]
    n = int(rng.integers(3, 6 if len(shape) == 4 else 8))
    rows = np.column_stack([rng.integers(0, levels, n) for levels in shape])
    rows[: max(shape)] = np.minimum(np.arange(min(n, max(shape)))[:, None], np.array(shape) - 1)
    people = ta.Dataset.from_frame({f"c{j}": column.astype(str) for j, column in enumerate(rows.T)})
    protect = [ALONE[i] for i in rng.choice(len(ALONE), int(rng.integers(0, 3)), replace=False)]
    ways = int(rng.integers(1, len(shape)))
    release = ta.publish(people, ta.Tables(ways), protect, rng=seed)
    return people, release, [one.as_published() for one in protect]  # publishing says where halves went


def check(seed):
    people, release, protect = instance(seed)
    shape = people.public.levels
    every = brute_force(release, shape, people.n, protect)
    found = ta.rows_from_tables(release)
    assert np.array_equal(found.lower, every.min(axis=0)), (seed, release)
    assert np.array_equal(found.upper, every.max(axis=0)), (seed, release)
    assert found.unique == (len(every) == 1)
    assert found.solutions.least <= len(every) <= found.solutions.most
    assert not found.solutions.exact or found.solutions.least == len(every)
    assert any(np.array_equal(found.solution, one) for one in every)
    assert found.status.word == "solved"
    score = found.score(people)
    assert score.wrong == 0
    assert score.certain == len(found.certain) == int((every.min(axis=0) > 0).sum())
    return score.certain


def test_bounds_are_those_of_all_people_there_can_be():
    assert sum(check(seed) for seed in range(7, 19)) > 5


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_a_thousand_releases_against_all_people_there_can_be(block):
    assert sum(check(seed) for seed in range(100 * block, 100 * block + 100)) > 50


def by_integer_solver(joint, unknown, sign):
    certain, size = joint.certain, joint.upper.size
    cost = np.zeros(size)
    cost[unknown] = sign
    limits = LinearConstraint(certain.operator.to_sparse(), certain.low, certain.high)
    upper = np.where(np.isinf(joint.upper), 1000, joint.upper)
    found = milp(cost, constraints=limits, bounds=Bounds(0, upper), integrality=np.ones(size))
    return sign * round(found.fun)


def block(seed, n=30):
    """People of a block: age in 10 groups, sex, race in 5, household size in 7."""
    rng = np.random.default_rng(seed)
    race = rng.choice(5, n, p=rng.dirichlet([6, 1.5, 1, 0.6, 0.4]))
    return np.column_stack([rng.integers(0, 10, n), rng.integers(0, 2, n), race, rng.integers(0, 7, n)])


def census_tables(rows, protect=None):
    names, levels = ("age", "sex", "race", "size"), (10, 2, 5, 7)
    tables = []
    for chosen in (("age", "sex"), ("race", "sex"), ("race", "age"), ("size", "age")):
        at = [names.index(name) for name in chosen]
        counts = np.zeros([levels[j] for j in at])
        np.add.at(counts, tuple(rows[:, at].T), 1)
        counts = counts if protect is None else protect.perturb(counts, 1)
        tables.append(ta.CountTable({names[j]: range(levels[j]) for j in at}, counts, protect))
    return tables


@pytest.mark.parametrize("protect", [None, pytest.param(ta.Suppression(2), marks=pytest.mark.slow)], ids=str)
def test_a_census_block_has_the_bounds_of_an_integer_solver(protect):
    rows = block(3, 20)[: 20 if protect is None else 8]
    found = ta.rows_from_tables(census_tables(rows, protect), people=len(rows))
    assert found.columns == ("age", "sex", "race", "size")
    assert found.status.word == "solved"
    assert found.score(rows).wrong == 0
    rng = np.random.default_rng(0)
    for unknown in rng.choice(np.flatnonzero(found.upper > 0), 4, replace=False):
        assert found.lower[unknown] == by_integer_solver(found.joint, unknown, 1)
        assert found.upper[unknown] == by_integer_solver(found.joint, unknown, -1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_every_row_of_blocks_against_an_integer_solver(seed):
    found = ta.rows_from_tables(census_tables(block(seed)))
    for unknown in np.flatnonzero(found.joint.upper > 0):
        assert found.lower[unknown] == by_integer_solver(found.joint, unknown, 1)
        assert found.upper[unknown] == by_integer_solver(found.joint, unknown, -1)


def test_the_secret_is_the_last_column_and_releases_of_different_tables_are_read_together():
    people = ta.Dataset.from_frame(
        {"age": ["a", "b", "b", "c", "a"], "sex": ["f", "m", "f", "f", "m"], "s": [0, 1, 1, 0, 1]}, secret="s"
    )
    both = ta.rows_from_tables([ta.publish(people, ta.Tables(2)), ta.publish(people, ta.Marginals(2))])
    assert both.columns == ("age", "sex", "secret")
    assert both.rows.shape == (12, 3)
    assert both.rows[1].tolist() == [0, 0, 1]
    assert both.score(people).wrong == 0
    one = ta.rows_from_tables(ta.publish(people, ta.Tables(2)))
    assert one.unique
    assert [tuple(row) for row, _ in one.certain] == sorted({(0, 0), (1, 1), (1, 0), (2, 0), (0, 1)})


def test_totals_bound_hidden_cells():
    cells = ta.CountTable({"a": ["x", "y"], "b": ["u", "v"]}, [[4, np.nan], [np.nan, 9]], ta.Suppression(3))
    total = ta.CountTable({"a": ["x", "y"]}, [6, 9])
    alone = ta.rows_from_tables(cells)
    assert (alone.lower.tolist(), alone.upper.tolist()) == ([4, 0, 0, 9], [4, 2, 2, 9])
    assert not alone.unique
    with_totals = ta.rows_from_tables([cells, total])
    assert with_totals.lower.tolist() == [4, 2, 0, 9]
    assert with_totals.unique
    assert ta.rows_from_tables([cells, ta.CountTable({}, [15])]).upper.tolist() == [4, 2, 2, 9]
    assert ta.rows_from_tables(cells, people=17).unique


def test_contradictory_tables_are_said_to_be_so_and_prove_nothing():
    one = ta.CountTable({"a": ["x", "y"], "b": ["u", "v"]}, [[1, 2], [3, 0]])
    other = ta.CountTable({"a": ["x", "y"]}, [3, 2])
    found = ta.rows_from_tables([one, other])
    assert found.status.word == "contradictory"
    assert found.certain == found.likely == ()
    assert found.solution is None
    assert not found.unique
    assert {(cell.table, cell.cell["a"]) for cell in found.contradiction} == {("a × b", "y"), ("a", "y")}
    assert found.score([[0, 0]]).first == {}
    assert ta.rows_from_tables(one, people=5).contradiction


def test_noise_without_a_bound_proves_nothing_and_still_ranks():
    rows = block(1, 30)
    noisy = ta.rows_from_tables(census_tables(rows, ta.Gaussian(0.3)), people=30, draws=40)
    assert noisy.certain == ()
    right, _ = noisy.score(rows).first[10]
    assert right >= 4  # by chance less than one
    assert ta.rows_from_tables(census_tables(rows, ta.Gaussian(0.3))).upper.tolist() == [np.inf] * 700


def test_exact_tables_that_settle_every_row_are_ranked_beside_a_noisy_one():
    exact = ta.CountTable({"age": ["a", "b"], "ill": ["no", "yes"]}, [[3, 2], [4, 3]])
    noisy = ta.CountTable({"age": ["a", "b"]}, [5.3, 6.8], ta.Gaussian(1.0))
    found = ta.rows_from_tables([exact, noisy])
    assert [row.share for row in found.likely] == [1.0] * 4
    assert found.score([[0, 0]] * 3).certain == 4


def test_likely_rows_are_ranked_the_same_by_the_same_seed():
    tables = census_tables(block(2, 12))
    first, again = (ta.rows_from_tables(tables, rng=5) for _ in range(2))
    assert first.likely == again.likely
    assert first.likely is not None
    other = ta.rows_from_tables(tables, rng=6)
    assert np.array_equal(first.lower, other.lower)
    shares = [row.share for row in first.likely]
    certain = len(first.certain)
    assert shares[:certain] == [1.0] * certain
    assert shares[certain:] == sorted(shares[certain:], reverse=True)
    assert first.named(first.likely[0].row).keys() == {"age", "sex", "race", "size"}


def test_without_steps_bounds_are_propagated_alone():
    tables = census_tables(block(0))
    quick, full = (ta.rows_from_tables(tables, proof_effort=effort) for effort in (0, 10_000))
    assert (quick.lower <= full.lower).all()
    assert (quick.upper >= full.upper).all()
    assert quick.status.word == "not converged"
    assert not quick.unique


def test_what_cannot_be_read_is_refused_in_a_sentence():
    wide = [ta.CountTable({f"c{j}": range(50)}, np.ones(50)) for j in range(5)]
    with pytest.raises(ta.InvalidInput, match="at most 1,000,000 combinations; got 312,500,000"):
        ta.rows_from_tables(wide)
    with pytest.raises(ta.InvalidInput, match="one table with columns"):
        ta.rows_from_tables([])
    with pytest.raises(ta.InvalidInput, match="the same values, or ranges, or values told by Bands"):
        ta.rows_from_tables([ta.CountTable({"a": ["x"]}, [1]), ta.CountTable({"a": ["y"]}, [1])])
    people = ta.Dataset.from_arrays([[0, 1], [1, 0]], secret=[0, 1])
    with pytest.raises(ta.InvalidInput, match="tables of everybody"):
        ta.rows_from_tables(ta.publish(people, ta.Means()))
    with pytest.raises(ta.InvalidInput, match="about the same people"):
        ta.rows_from_tables(
            [ta.CountTable({"a": ["x"]}, [1], people=1), ta.CountTable({"b": ["x"]}, [2], people=2)]
        )
    with pytest.raises(ta.InvalidInput, match="one per cell"):
        ta.CountTable({"a": ["x", "y"]}, [1])
    with pytest.raises(ta.InvalidInput, match="different values"):
        ta.CountTable({"a": ["x", "x"]}, [1, 2])


def test_a_crosstab_with_hidden_cells_and_totals_is_read():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"sex": list("fffmmm"), "ill": [0, 0, 1, 0, 1, 1]})
    people = ta.Dataset.from_frame(frame, secret="ill")
    table = pd.crosstab(frame.sex, frame.ill, margins=True).astype(float)
    table.loc["f", 1] = table.loc["m", 0] = np.nan
    found = ta.rows_from_tables(ta.from_crosstab(table, people, ta.Suppression(2)))
    assert found.columns == ("sex", "secret")
    assert found.lower.tolist() == found.upper.tolist() == [2, 1, 1, 2]


def test_the_truth_must_have_the_columns_of_the_tables():
    people = ta.Dataset.from_arrays([[0, 1], [1, 0], [1, 1]], secret=[0, 1, 1])
    found = ta.rows_from_tables(ta.CountTable({"b": ["x", "y"]}, [1, 2]))
    with pytest.raises(ta.InvalidInput, match="people with the column 'b'"):
        found.score(people)


def test_a_release_about_some_of_the_people_is_refused():
    people = ta.Dataset.from_arrays([[0, 1], [1, 0], [1, 1]], secret=[0, 1, 1])
    release = ta.publish(people, ta.Marginals(2), where="a0 = 1")
    with pytest.raises(ta.InvalidInput, match="of everybody, or with printed labels"):
        ta.rows_from_tables(release)


def part_tables(seed, protect=None):
    """Random people, tables of them all, and a table of the women, of whom their number is published."""
    rng = np.random.default_rng(seed)
    labels = {"sex": ("f", "m"), "age": ("0", "1", "2"), "size": ("1", "2")}
    rows = np.column_stack([rng.integers(0, len(values), 6) for values in labels.values()])

    def table(names, of, **more):
        at = [list(labels).index(name) for name in names]
        counts = np.zeros([len(labels[name]) for name in names])
        np.add.at(counts, tuple(of[:, at].T), 1)
        return ta.CountTable({name: labels[name] for name in names}, counts, protect, **more)

    women = rows[rows[:, 0] == 0]
    young = women[women[:, 1] < 2]
    part = table(["size"], young, where="sex = 'f' and age != '2'", people=len(young))
    return rows, [table(["sex", "age"], rows, people=6), table(["age", "size"], rows), part]


@pytest.mark.parametrize("seed", range(4))
def test_a_table_of_some_of_the_people_is_read_beside_the_others(seed):
    rows, tables = part_tables(seed)
    every = [
        np.bincount(np.array(chosen), minlength=12) for chosen in combinations_with_replacement(range(12), 6)
    ]
    shape, counts = (2, 3, 2), np.array(every)
    cube = counts.reshape(-1, *shape)
    true = np.zeros(shape)
    np.add.at(true, tuple(rows.T), 1)
    fits = (cube.sum(axis=3) == true.sum(axis=2)).all(axis=(1, 2))
    fits &= (cube.sum(axis=1) == true.sum(axis=0)).all(axis=(1, 2))
    wider = counts[fits]
    fits &= (cube[:, 0, :2].sum(axis=1) == true[0, :2].sum(axis=0)).all(axis=1)
    found = ta.rows_from_tables(tables)
    assert found.columns == ("sex", "age", "size")
    assert np.array_equal(found.lower, counts[fits].min(axis=0))
    assert np.array_equal(found.upper, counts[fits].max(axis=0))
    assert found.score(rows).wrong == 0
    without = ta.rows_from_tables(tables[:2])
    assert np.array_equal(without.upper, wider.max(axis=0))
    assert (found.lower >= without.lower).all()
    assert (found.upper <= without.upper).all()


def test_a_table_of_some_of_the_people_may_be_hidden_and_contradict():
    _, (first, second, part) = part_tables(1)
    hidden = ta.CountTable({"size": ["1", "2"]}, [np.nan, np.nan], ta.Suppression(9), where=part.where.text)
    alone, beside = ta.rows_from_tables([first, second]), ta.rows_from_tables([first, second, hidden])
    assert np.array_equal(alone.lower, beside.lower)
    wrong = ta.CountTable({"size": ["1", "2"]}, [7, 0], where="sex = 'f'")
    found = ta.rows_from_tables([first, second, wrong])
    assert found.status.word == "contradictory"
    assert any("where sex = 'f'" in cell.table for cell in found.contradiction)


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("weight = 'x'", "about columns of the tables"),
        ("sex = 'x'", "one of the 2 values of the column 'sex'"),
        ("sex = 1", "a quoted text"),
        ("sex =", "condition"),
        (3, "a condition such as"),
    ],
)
def test_conditions_that_tables_cannot_have_are_refused(where, says):
    first = ta.CountTable({"sex": ["f", "m"]}, [2, 3])
    with pytest.raises(ta.InvalidInput, match=says):
        ta.rows_from_tables([first, ta.CountTable({"age": ["0", "1"]}, [1, 1], where=where)])


def test_few_solutions_are_counted_and_many_are_bounded():
    few = ta.rows_from_tables(census_tables(block(3, 8)))
    assert few.solutions.exact
    assert str(few.solutions) == f"one of {few.solutions.least} possible"
    many = ta.rows_from_tables(census_tables(block(0, 40)), proof_effort=0)
    assert many.solutions.least < many.solutions.most
    assert "at most 10^" in str(many.solutions)
    noisy = ta.rows_from_tables(census_tables(block(0, 10), ta.Gaussian(1.0)))
    assert noisy.solutions is None


@pytest.mark.parametrize(
    "changed", [{"where": "sex = 'm'"}, {"counts": [2, 1]}, {"people": 4}, {"protect": ta.Rounding(3)}]
)
def test_work_kept_for_one_table_is_not_taken_for_another(changed, tmp_path):
    whole = ta.CountTable({"age": ["0-19", "20+"], "sex": ["f", "m"]}, [1, 0, 2, 0])
    first = {"columns": {"age": ["0-19", "20+"]}, "counts": [1, 2], "where": "sex = 'f'"}
    for asked in (first, first | changed):
        tables = [whole, ta.CountTable(**asked)]
        assert ta.rows_by_area({"a": tables}, work=tmp_path) == ta.rows_by_area({"a": tables})
