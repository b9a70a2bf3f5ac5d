"""CP-SAT behind our questions: never wrong, whatever the coefficients, and apart from highspy."""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from scipy.sparse import csr_array

from tellall.linalg.solvers.constraints import Constraints, Wishes
from tellall.linalg.solvers.solution import Component


def system(matrix, low, high, upper, gaps=()):
    matrix = np.array(matrix, dtype=float)
    m, n = matrix.shape
    ends = (np.array(low, dtype=float), np.array(high, dtype=float))
    box = (np.zeros(n), np.array(upper, dtype=float))
    return Component(csr_array(matrix), *ends, *box, gaps, np.arange(n), np.arange(m))


def wishes(*rows):
    unknown, least, most = zip(*rows, strict=True)
    return Wishes(np.array(unknown), np.array(least, dtype=float), np.array(most, dtype=float))


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("unit", [1.0, 0.1, 1e-7, 1 / 3, 12345.678])
def test_answers_are_those_of_a_list_of_all_points(seed, unit):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-1, 3, (4, 5))
    low = rng.integers(0, 4, 4)
    high = low + rng.integers(0, 2, 4)
    gaps = ((0, np.array([int(low[0])])),) if seed % 2 and unit == 1.0 else ()
    part = system(matrix * unit, low * unit - 1e-5 * unit, high * unit + 1e-5 * unit, np.full(5, 2.0), gaps)
    every = np.stack(np.unravel_index(np.arange(3**5), (3,) * 5), axis=1)
    image = every @ matrix.T
    fits = ((image >= low) & (image <= high)).all(axis=1)
    if gaps:
        fits &= image[:, 0] != low[0]
    engine = Constraints(part)
    answer = engine.find(1000)
    assert answer.none == (not fits.any())
    assert answer.none or (answer.solution is not None)
    asked = wishes((0, 2, 2), (1, 1, 1))
    met = fits & ((every[:, 0] == 2) | (every[:, 1] == 1))
    again = engine.find(1000, asked)
    assert again.none == (not met.any())
    if again.solution is not None:
        assert asked.met(again.solution).any()
    engine.narrow(2, 1, 1)
    assert engine.find(1000, asked).none == (not (met & (every[:, 2] == 1)).any())


def test_numbers_too_large_for_it_get_no_answer():
    answer = Constraints(system([[1e18, 1e18]], [1e18], [1e18], [9, 9])).find(1000)
    assert answer.solution is None
    assert not answer.none


def test_a_direction_is_followed():
    part = system([[1, 1, 1]], [2], [2], [2, 2, 2])
    assert Constraints(part).find(1000, direction=np.array([1.0, 0.0, -1.0])).solution[0] >= 1


QUESTION = """
import sys
import numpy as np
import tellall as ta
rng = np.random.default_rng(3)
people = ta.Dataset.from_arrays(rng.integers(0, 2, (30, 12)), rng.integers(0, 2, 30))
attack = ta.reconstruct(ta.publish(people, ta.Marginals(2)), people.public, "least-squares")
print((attack.identified == "proved").sum(), attack.undecided, "ortools" in sys.modules)
"""


def test_where_highspy_is_loaded_a_child_process_answers():
    if find_spec("highspy") is None:
        pytest.skip("highspy is not installed")
    told = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
        for code in (QUESTION, f"import highspy\n{QUESTION}")
    ]
    alone, apart = told
    assert alone[2] == "True"
    assert apart[2] == "False"
    assert alone[:2] == apart[:2]
    assert int(alone[0]) > 0


def test_gaps_of_a_row_that_is_not_whole_prove_nothing():
    part = system([[0.5, 0.5]], [1.0], [1.0], [2, 2], ((0, np.array([2**30])),))
    assert Constraints(part).find(1000).solution is not None


def test_a_wide_row_with_gaps_is_not_listed():
    part = system([[10**9, 1]], [0], [10**10], [9, 1], ((0, np.array([0, 10**9])),))
    answer = Constraints(part).find(1000, wishes((0, 0, 1), (0, 0, 1)))
    assert answer.solution is not None
    assert answer.solution[1] == 1
