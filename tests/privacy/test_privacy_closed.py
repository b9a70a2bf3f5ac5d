"""Gaussian mechanism and random projection against golden numbers and against mpmath."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tellall import InvalidInput, privacy

Golden = dict[str, list[dict[str, Any]]]


def test_gaussian_mechanism_golden(golden: Golden) -> None:
    for case in golden["gaussian_mechanism_delta"]:
        got = privacy.gaussian_delta(float(case["eps"]), float(case["c"]), 1.0)
        assert got == pytest.approx(float(case["delta"]), rel=1e-12)
    for case in golden["gaussian_mechanism_prop2"]:
        ratio = float(case["eps_nominal"]) / np.sqrt(2 * np.log(1.25 / float(case["delta_nominal"])))
        assert ratio == pytest.approx(float(case["c"]), rel=1e-12)
        got = privacy.gaussian_delta(float(case["eps_prime"]), ratio, 1.0)
        assert got == pytest.approx(float(case["delta_prime"]), rel=1e-12)


def test_gaussian_calibration_golden(golden: Golden) -> None:
    for case in golden["analytic_gaussian_calibration"]:
        eps, delta, moved = (float(case[k]) for k in ("eps", "delta", "sensitivity"))
        std = privacy.gaussian_std(eps, delta, sensitivity=moved)
        assert std == pytest.approx(float(case["sigma_min"]), rel=1e-12)
        assert privacy.gaussian_delta(eps, moved, std) <= delta
        assert privacy.gaussian_epsilon(delta, moved, std) == pytest.approx(eps, rel=1e-10)
        classical = moved * np.sqrt(2 * np.log(1.25 / delta)) / eps
        assert classical == pytest.approx(float(case["sigma_classical_1.25"]), rel=1e-12)
        assert (classical > std) == (privacy.gaussian_delta(eps, moved, classical) < delta)


def test_calibrated_noise_keeps_its_promise_whatever_the_sensitivity() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        eps, delta = float(rng.uniform(0.1, 4)), float(10 ** rng.uniform(-9, -1))
        moved = float(10 ** rng.uniform(-6, 6))
        std = privacy.gaussian_std(eps, delta, sensitivity=moved)
        assert privacy.gaussian_delta(eps, moved, std) <= delta
        assert privacy.gaussian_delta(eps, moved, std * (1 - 1e-12)) > delta * (1 - 1e-10)


def test_projection_golden(golden: Golden) -> None:
    for case in golden["random_projection_delta"]:
        args = float(case["eps"]), float(case["p"]), case["r"]
        forward, backward = float(case["delta_D_to_Dprime"]), float(case["delta_Dprime_to_D"])
        assert privacy.projection_delta(*args, direction="forward") == pytest.approx(forward, rel=1e-11)
        assert privacy.projection_delta(*args, direction="backward") == pytest.approx(backward, rel=1e-11)
        assert privacy.projection_delta(*args) == pytest.approx(max(forward, backward), rel=1e-11)
    for case in golden["random_projection_from_matrix"]:
        leverage = float(Fraction(case["leverage_exact"]))
        got = privacy.projection_delta(0.5, leverage, 3)
        assert got == pytest.approx(float(case["delta_r3_eps0.5"]), rel=1e-12)


def test_padding_golden(golden: Golden) -> None:
    for case in golden["fig4_c2"]:
        eps, delta, bound = (float(case[k]) for k in ("eps", "delta", "c1"))
        assert privacy.projection_leverage(eps, delta, case["r"]) == pytest.approx(
            float(case["p_star"]), rel=1e-12
        )
        for form, name in (("exact", "exact_min"), ("sqrt", "sqrt_form_const4"), ("printed", "printed")):
            got = privacy.padding(eps, delta, case["r"], row_bound=bound, c2=form)  # type: ignore[arg-type]
            assert got**2 == pytest.approx(float(case[f"c2sq_{name}"]), rel=1e-12)
        # Sheffet's form is far on the private side; half of it, as other code has it, is private too.
        printed, half = float(case["c2sq_sqrt_form_const4"]), float(case["c2sq_sqrt_form_const2"])
        spent = privacy.projection_delta(eps, bound**2 / (bound**2 + printed), case["r"])
        assert spent == pytest.approx(float(case["delta_at_const4"]), rel=1e-5)
        assert half == pytest.approx(printed / 2, rel=1e-12)
        assert privacy.projection_delta(eps, bound**2 / (bound**2 + half), case["r"]) < delta


def test_expectations_golden(golden: Golden) -> None:
    for case in golden["prop11_14_expectations"]:
        c, value = float(case["c"]), float(case["value"])
        if case["prop"] == 11:
            got = privacy.linear_loss_expectation(float(case["norm_b"]), c)
        else:
            sign = -1 if case["prop"] == 12 else 1
            got = privacy.square_loss_expectation(float(case["norm_a"]), c, sign=sign)
        assert got == pytest.approx(value, rel=1e-12), case


def gaussian_reference(eps: float, ratio: float) -> float:
    with mpmath.workdps(60):
        e, c = mpmath.mpf(eps), mpmath.mpf(ratio)
        return float(mpmath.ncdf(c / 2 - e / c) - mpmath.exp(e) * mpmath.ncdf(-c / 2 - e / c))


@settings(max_examples=150, deadline=None)
@given(st.floats(0, 30), st.floats(-6, 2.5))
def test_gaussian_keeps_relative_accuracy(eps: float, log_ratio: float) -> None:
    ratio = 10.0**log_ratio
    want = gaussian_reference(eps, ratio)
    got = privacy.gaussian_delta(eps, ratio, 1.0)
    assert 0.0 <= got <= 1.0
    # The exponent −(ε/c − c/2)²/2 is itself rounded: its size times the unit of rounding is the limit.
    slack = 1e-13 * (1.0 + (eps / ratio) ** 2)
    assert got == pytest.approx(want, rel=max(1e-12, slack), abs=1e-300)


def projection_reference(eps: float, leverage: float, rows: int, forward: bool) -> float:
    with mpmath.workdps(60):
        e, p, r = mpmath.mpf(eps), mpmath.mpf(leverage), mpmath.mpf(rows)
        if forward:
            far = (2 * e - r * mpmath.log(1 - p)) / p
            upper = [mpmath.gammainc(r / 2, x / 2, regularized=True) for x in ((1 - p) * far, far)]
            return float(upper[0] - mpmath.exp(e) * upper[1])
        far = (-2 * e - r * mpmath.log(1 - p)) / p
        if far <= 0:
            return 0.0
        lower = [mpmath.gammainc(r / 2, 0, x / 2, regularized=True) for x in (far, (1 - p) * far)]
        return float(lower[0] - mpmath.exp(e) * lower[1])


@pytest.mark.parametrize("rows", [1, 2, 7, 100, 3000])
@pytest.mark.parametrize("leverage", [1e-6, 1e-3, 0.05, 0.0999, 0.3, 0.9, 0.999])
def test_projection_keeps_accuracy(rows: int, leverage: float) -> None:
    for eps in (0.0, 1e-3, 0.1, 1.0, 5.0):
        for way in ("forward", "backward"):
            want = projection_reference(eps, leverage, rows, way == "forward")
            got = privacy.projection_delta(eps, leverage, rows, direction=way)
            assert got == pytest.approx(want, rel=1e-9, abs=1e-14)
            assert 0.0 <= got <= 1.0


def test_projection_forward_is_the_larger_and_grows_with_leverage() -> None:
    eps = np.linspace(0.001, 6, 25)[:, None, None]
    leverage = np.linspace(0.001, 0.999, 60)[None, :, None]
    rows = np.array([1, 2, 5, 20, 100])[None, None, :]
    forward = privacy.projection_delta(eps, leverage, rows, direction="forward")
    backward = privacy.projection_delta(eps, leverage, rows, direction="backward")
    assert (forward >= backward - 1e-13).all()
    assert (np.diff(forward, axis=1) >= -1e-13).all()
    assert (np.diff(forward, axis=0) <= 1e-13).all()


def test_projection_with_one_row_is_lemma_10() -> None:
    # Lemma 10's two formulas are the expectations of Props. 12 and 14 in X² (E-PO-2 is about the direction).
    p, eps = 0.3, 0.05
    a2, c = p / (2 * (1 - p)), eps - 0.5 * np.log1p(-p)
    forward = privacy.square_loss_expectation(np.sqrt(a2), c, sign=-1)
    assert privacy.projection_delta(eps, p, 1, direction="forward") == pytest.approx(forward, rel=1e-12)
    backward = privacy.square_loss_expectation(np.sqrt(p / 2), eps + 0.5 * np.log1p(-p))
    assert privacy.projection_delta(eps, p, 1, direction="backward") == pytest.approx(backward, rel=1e-12)


def test_ends() -> None:
    assert privacy.gaussian_delta(0.3, np.inf, 1.0) == 1.0
    assert privacy.gaussian_delta(0.0, 0.0, 1.0) == 0.0
    assert privacy.projection_delta(2.0, 1.0, 3) == 1.0
    assert privacy.projection_delta(0.0, 0.0, 3) == 0.0
    assert privacy.gaussian_std(1.0, 1e-6, sensitivity=0.0) == 0.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: privacy.gaussian_delta(-0.1, 1, 1), "epsilon must be zero or more and finite; got -0.1"),
        (lambda: privacy.gaussian_delta(np.nan, 1, 1), "epsilon"),
        (lambda: privacy.gaussian_delta(1, 1, 0.0), "std must be above zero; got 0.0"),
        (lambda: privacy.gaussian_delta(1, -1, 1), "sensitivity"),
        (lambda: privacy.gaussian_std(1.0, 1.0), "delta must be a share strictly between 0 and 1; got 1.0"),
        (lambda: privacy.gaussian_std(1.0, 0.0), "delta"),
        (lambda: privacy.projection_delta(1, 1.5, 2), "joint_leverage must be between 0 and 1; got 1.5"),
        (lambda: privacy.projection_delta(1, 0.5, 2.5), "rows must be a whole number"),
        (lambda: privacy.projection_delta(1, 0.5, 0), "rows"),
        (lambda: privacy.projection_delta(1, 0.5, 2, direction="both"), "direction"),
        (lambda: privacy.padding(0.0, 1e-5, 2, c2="sqrt"), "epsilon must be a finite number above zero"),
        (lambda: privacy.padding(1.0, 1e-5, 2, row_bound=0.0), "row_bound"),
        (lambda: privacy.padding(1.0, 1e-5, 2, c2="other"), "c2"),  # type: ignore[arg-type]
        (lambda: privacy.gaussian_delta("a", 1, 1), "epsilon"),
    ],
)
def test_bad_arguments_are_named(call: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert words in str(caught.value)


def test_profile_inverts_itself_and_speaks() -> None:
    profile = privacy.PrivacyProfile(
        curve=lambda e: privacy.gaussian_delta(e, 1.0, 2.0),
        mechanism="a noisy sum",
        worst_record=3,
        leverage=0.5,
    )
    for delta in (0.1, 1e-3, 1e-8):
        eps = profile.epsilon(delta)
        assert profile.delta(eps) <= delta
        assert profile.delta(eps) == pytest.approx(delta, rel=1e-9)
    assert profile.epsilon(0.9) == 0.0
    assert "Relative to the data at hand" in str(profile)
    assert "one row replaced by zeros" in str(profile)
    assert "row 3" in str(profile)
    with pytest.raises(InvalidInput, match="delta must be a share strictly between 0 and 1"):
        profile.epsilon(0.0)
    with pytest.raises(InvalidInput, match="epsilon must be zero or more"):
        profile.delta(-1.0)
