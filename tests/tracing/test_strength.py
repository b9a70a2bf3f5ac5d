import math
from itertools import product

import numpy as np
import pytest

import tellall as ta


def close(value, text):
    assert value == pytest.approx(float(text), rel=1e-12, abs=1e-15)


def test_uniform(golden):
    for case in golden["strong_uniform"]:
        a, b, alpha = float(case["a"]), float(case["b"]), float(case["alpha"])
        close(ta.strength(("uniform", a, b), alpha), case["gamma_exact"])
        density = ta.strength(lambda p, width=b - a: 1 / width, alpha, support=(a, b))
        assert density == pytest.approx(float(case["gamma_exact"]), abs=1e-7)


def test_beta(golden):
    for case in golden["strong_beta"]:
        u, v, alpha = float(case["u"]), float(case["v"]), float(case["alpha"])
        close(ta.strength(("beta", u, v), alpha), case["gamma_exact"])
        assert ta.strength(("beta", u, v), alpha) > float(case["gamma_paper"])
    b23 = math.gamma(2) * math.gamma(3) / math.gamma(5)
    by_density = ta.strength(lambda p: ((1 + p) / 2) * ((1 - p) / 2) ** 2 / (2 * b23), 0.1)
    assert by_density == pytest.approx(ta.strength(("beta", 2, 3), 0.1), abs=1e-6)


def test_ideal_gaussian_and_robust(golden):
    for case in golden["strong_ideal"]:
        close(ta.strength(("ideal", float(case["a"])), float(case["alpha"])), case["gamma"])
    for case in golden["strong_gaussian_uniform_mean"]:
        close(ta.strength(("gaussian", float(case["sigma"])), float(case["alpha"])), case["gamma"])
    for case in golden["robustly_strong_uniform"]:
        close(ta.robust_strength(float(case["eta"])), case["gamma_exact"])
    assert ta.robust_strength(0.86725) == pytest.approx(1 / 3, abs=1e-5)


def test_plan(golden):
    names = {
        "d_min_fig1_azuma_32": "attributes",
        "m_min_corrected_48": "pool_people",
        "beta_max": "pool_beta",
        "prop26_count": "pool_traced",
    }
    for case in golden["tracing_parameters"]:
        plan = ta.tracing_plan(case["n"], float(case["gamma"]), float(case["alpha"]), float(case["delta"]))
        for key, name in names.items():
            if key in case:
                close(getattr(plan, name), case[key])
        if "d_min_fig2_1152" in case:
            larger = max(float(case["d_min_fig2_1152"]), float(case["d_min_fig2_64"]))
            close(plan.pool_attributes, larger)
        else:
            assert plan.pool_attributes is None


def test_lemma5_identity(golden):
    """E[f·Σ(x_i − p)] = g′(p)(1 − p²), by enumeration and by the derivative of the polynomial g."""
    for case in golden["lemma5_identity"]:
        n, p = case["n"], float(case["p"])
        f = np.array(case["f"], dtype=float)
        points = np.array([[1 if i >> j & 1 else -1 for j in range(n)] for i in range(2**n)])

        def mean(at, points=points, f=f):
            return float((f * np.prod((1 + points * at) / 2, axis=1)).sum())

        weights = np.prod((1 + points * p) / 2, axis=1)
        close(mean(p), case["g(p)"])
        close((f * weights * (points - p).sum(axis=1)).sum(), case["E[f sum(x_i-p)]"])
        grid = np.cos(np.linspace(0, np.pi, n + 1))
        polynomial = np.polynomial.Polynomial.fit(grid, [mean(x) for x in grid], n)
        slope = float(polynomial.deriv()(p)) * (1 - p * p)
        assert slope == pytest.approx(float(case["E[f sum(x_i-p)]"]), rel=1e-9)


def test_strength_falls_with_bias():
    for distribution in (("uniform", -1, 1), ("beta", 2, 3), ("ideal", 0.9), ("gaussian", 1.0)):
        values = [ta.strength(distribution, alpha) for alpha in (0, 0.1, 0.2, 0.4)]
        assert values == sorted(values, reverse=True)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: ta.strength(("uniform", 1, -1), 0.1), "an interval within"),
        (lambda: ta.strength(("uniform", 1), 0.1), "'uniform' and 2 numbers"),
        (lambda: ta.strength(("normal", 1), 0.1), "a density function or a tuple"),
        (lambda: ta.strength(("beta", 0, 1), 0.1), "above zero"),
        (lambda: ta.strength(("ideal", 1), 0.1), "between 0 and 1"),
        (lambda: ta.strength(("gaussian", -1), 0.1), "above zero"),
        (lambda: ta.strength(("uniform", -1, 1), -0.1), "alpha must be a finite number, zero or more"),
        (lambda: ta.strength(lambda p: 3.0, 0.1), "integral over its support is one"),
        (lambda: ta.robust_strength(0), "eta must be a finite number above zero"),
        (lambda: ta.tracing_plan(0, 0.5, 0.1, 0.05), "n must be"),
        (lambda: ta.tracing_plan(5, 0.0, 0.1, 0.05), "gamma must be a finite number above zero"),
        (lambda: ta.tracing_plan(5, 0.5, 0.1, 1.5), "delta must be"),
    ],
)
def test_bad_input_is_one_sentence(call, says):
    with pytest.raises(ta.InvalidInput, match=says):
        call()


def test_no_number_of_ways_is_forgotten():
    for n, delta in product((1, 10, 1000), (0.05, 1e-6)):
        plan = ta.tracing_plan(n, 0.3, 0.1, delta)
        assert plan.pool_attributes >= 64 * n
        assert plan.attributes >= plan.n**2


@pytest.mark.parametrize("value", ["a", None, [0.5], 1j])
def test_a_density_returns_numbers(value):
    with pytest.raises(ta.InvalidInput, match="distribution must be a density function that returns numbers"):
        ta.strength(lambda p: value, 0.1)
    with pytest.raises(ta.InvalidInput, match="support must be"):
        ta.strength(lambda p: 0.5, 0.1, support=("a", 1) if value == "a" else value)
