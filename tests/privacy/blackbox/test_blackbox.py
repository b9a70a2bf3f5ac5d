"""The black box: bounds that hold, estimates that reach the exact curve, audits that find what is wrong."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tellall as ta
from tellall import InvalidInput, privacy
from tellall.privacy.blackbox.estimate import estimate_profile, train_score
from tellall.privacy.blackbox.mechanism import as_tables, audit_mechanism
from tellall.privacy.least_squares.noisy import GaussianLeastSquares
from tellall.privacy.least_squares.sketched import SketchedLeastSquares


def normal(mean: float, spread: float = 1.0) -> Any:
    return lambda size, rng: np.random.default_rng(rng).normal(mean, spread, (size, 1))


def regression(size: int = 60, width: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = np.column_stack([np.ones(size), rng.standard_normal((size, width - 1))])
    features[0, 1] = 4.0
    response = features @ np.ones(width) + rng.standard_normal(size)
    response[0] += 2.5
    return features, response


def zeroed(features: np.ndarray, response: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    less_x, less_y = features.copy(), response.copy()
    less_x[0], less_y[0] = 0.0, 0.0
    return less_x, less_y


@pytest.mark.parametrize("rows", [6, 20, 60])
def test_sketched_curve_is_recovered(rows: int) -> None:
    """300 000 draws a side: standard error below 0.0013, so 5 % of δ ≥ 0.1 is nearly 4 of them on each of a
    few points; the seed is fixed, so the outcome is deterministic."""
    data = regression()
    fit = privacy.influence(*data)
    method = SketchedLeastSquares(rows)
    eps = np.array([0.0, 0.1, 0.3, 0.6, 1.0])
    exact = privacy.sketch_delta(eps, fit.leverage[0], fit.residual_share[0], 3, rows)
    got = estimate_profile(method.sampler(*data), method.sampler(*zeroed(*data)), eps, 300_000, rng=2)
    large = exact >= 0.1
    assert large.any()
    assert (np.abs(got.delta(eps)[large] / exact[large] - 1) < 0.05).all()
    assert (got.lower(eps)[large] / exact[large] > 0.9).all()
    assert (got.lower(eps) <= exact).all()
    assert (got.lower(eps) <= got.delta(eps)).all()
    assert got.method == "black box"
    assert "An estimate promises nothing" in str(got)


def test_outputs_that_never_overlap_are_told_apart_at_every_epsilon() -> None:
    """e^ε times a rate of zero is zero, even if e^ε is infinite."""

    def always(value: float) -> Any:
        return lambda size, rng: np.full((size, 1), value)

    profile = estimate_profile(always(0.0), always(1.0), [0.0, 1.0, 800.0], draws=1000, rng=0)
    assert profile.delta([0.0, 700.0, 710.0, 5000.0]).tolist() == [1.0] * 4
    assert profile.epsilon(0.01) == np.inf
    assert np.isfinite(profile.lower([0.0, 710.0])).all()


def test_bounds_hold_in_repeated_runs() -> None:
    """200 runs at 99 %: each fails with probability at most 0.01 (union bound), so 13 or more failures have
    probability below 5e-7 under a binomial of 200 and 0.01."""
    eps = np.array([0.0, 0.5, 1.0, 2.0])
    exact = privacy.gaussian_delta(eps, 1.0, 1.0)
    fails = 0
    for seed in range(200):
        got = estimate_profile(normal(0.0), normal(1.0), eps, 2000, rng=seed, training=500, score="quadratic")
        fails += bool((got.lower(eps) > exact).any())
    assert fails <= 12


def test_bounds_between_grid_points_hold_too() -> None:
    got = estimate_profile(normal(0.0), normal(1.0), [0.5, 1.5], 50_000, rng=0, score="quadratic")
    fine = np.linspace(0, 3, 31)
    exact = privacy.gaussian_delta(fine, 1.0, 1.0)
    assert (got.lower(fine) <= exact).all()
    # Between grid points the neighbouring events speak: an estimate from below, away from zero.
    assert 0.5 * exact[10] < got.delta(1.0) < 1.05 * exact[10]


def test_identical_laws_show_nothing() -> None:
    """Every lower bound is 0 with probability at least 0.9999 (the confidence); the seed is fixed."""
    got = estimate_profile(normal(0.0), normal(0.0), [0.0, 1.0], 20_000, confidence=0.9999, rng=3)
    assert (got.lower([0.0, 1.0]) == 0.0).all()


@pytest.mark.parametrize("kind", ["quadratic", "boosting", "auto"])
def test_laws_that_no_quadratic_separates(kind: Any) -> None:
    """A checkerboard of four squares: only trees find it."""

    def board(parity: int) -> Any:
        def sample(size: int, rng: Any) -> np.ndarray:
            generator = np.random.default_rng(rng)
            x, y = generator.integers(0, 4, size), 2 * generator.integers(0, 2, size)
            y = y + (x + parity) % 2
            return np.column_stack([x + generator.random(size), y + generator.random(size)])

        return sample

    got = estimate_profile(board(0), board(1), [0.0], 3000, rng=1, training=3000, score=kind)
    assert got.lower(0.0) < 0.3 if kind == "quadratic" else got.lower(0.0) > 0.3


def test_outputs_that_are_constant_or_not_finite() -> None:
    constant = estimate_profile(
        lambda size, rng: np.full((size, 2), 1.0),
        lambda size, rng: np.full((size, 2), 1.0 + 1e-9),
        [0.0],
        500,
        rng=0,
    )
    assert constant.lower(0.0) > 0.9

    def sometimes_nan(rate: float) -> Any:
        def sample(size: int, rng: Any) -> np.ndarray:
            generator = np.random.default_rng(rng)
            return np.where(generator.random((size, 1)) < rate, np.nan, generator.standard_normal((size, 1)))

        return sample

    got = estimate_profile(sometimes_nan(0.5), sometimes_nan(0.0), [0.0], 4000, rng=0, score="quadratic")
    assert got.delta(0.0) == pytest.approx(0.5, abs=0.05)


def test_progress_counts_every_draw() -> None:
    told: list[tuple[int, int]] = []
    estimate_profile(
        normal(0.0),
        normal(1.0),
        [0.0],
        1000,
        rng=0,
        training=100,
        score="quadratic",
        progress=lambda done, total: told.append((done, total)),
    )
    assert told[-1] == (2200, 2200)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_same_seed_same_estimate() -> None:
    runs = [
        estimate_profile(normal(0.0), normal(1.0), [0.3], 1000, rng=5, score="quadratic").delta(0.3)
        for _ in range(2)
    ]
    assert runs[0] == runs[1]


def test_trained_score_orders_like_the_likelihood_ratio() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(0, 1, (20_000, 1)), rng.normal(0, 2, (20_000, 1))
    score = train_score(first, second, kind="quadratic")
    at = np.array([[0.0], [1.0], [2.0], [3.0]])
    assert (np.diff(score(at)) < 0).all()
    np.testing.assert_allclose(score(at), np.log(2) - 3 / 8 * at[:, 0] ** 2, atol=0.25)


def test_audit_finds_a_mechanism_without_noise() -> None:
    """The event separates perfectly: the bound on ε is ln of the draws, far above 1, in every run."""

    def exact(features: np.ndarray, response: np.ndarray) -> np.ndarray:
        return np.linalg.lstsq(features, response, rcond=None)[0]

    found = audit_mechanism(exact, regression(), 1.0, 1e-5, draws=400, records=2, rng=0)
    assert found.violated
    assert found.epsilon_lower > 3
    assert found.record == 0
    assert "Refuted with 99 % confidence" in str(found)


def test_audit_finds_half_the_declared_noise_and_passes_the_right_one() -> None:
    """Half the noise for (1, 1e-3): the true δ(1) is near 0.05, found unless 40 000 draws err by ten standard
    errors. The right noise is refuted with probability at most 1e-7 (the confidence asked for)."""
    data = regression()
    right = GaussianLeastSquares(epsilon=1.0, delta=1e-3).noise(*data)
    options: dict[str, Any] = {"changes": ["zero"], "draws": 40_000, "rng": 4}
    half = audit_mechanism(GaussianLeastSquares(std=right / 2), data, 1.0, 1e-3, **options)
    assert half.violated
    assert half.delta_lower > 1e-3
    assert half.epsilon_lower > 1.0
    full = audit_mechanism(GaussianLeastSquares(std=right), data, 1.0, 1e-3, confidence=1 - 1e-7, **options)
    assert not full.violated
    assert "never prove it" in str(full)


@pytest.mark.slow
def test_audit_of_right_mechanisms_rarely_refutes() -> None:
    """40 audits at 99 %: each refutes with probability at most 0.01; 7 or more: below 2e-7."""
    rng = np.random.default_rng(0)
    data = rng.random((30, 1))

    def laplace_sum(table: np.ndarray, rng: np.random.Generator, size: int) -> np.ndarray:
        return table.sum() + rng.laplace(0, 1.0, (size, 1))

    wrong = sum(
        audit_mechanism(laplace_sum, data, 1.0, 0.0, changes=["zero", "drop"], draws=2000, rng=seed).violated
        for seed in range(40)
    )
    assert wrong <= 6


def test_audit_takes_estimators_datasets_and_plain_functions() -> None:
    features, response = regression(40)

    class Ridge:
        """Like scikit-learn: parameters, a random state, coef_ and intercept_ after fit; adds no noise."""

        def __init__(self, random_state: int | None = None) -> None:
            self.random_state = random_state

        def get_params(self) -> dict[str, Any]:
            return {"random_state": self.random_state}

        def set_params(self, random_state: int) -> None:
            self.random_state = random_state

        def fit(self, x: np.ndarray, y: np.ndarray) -> Ridge:
            assert self.random_state is not None
            self.coef_ = np.linalg.solve(x.T @ x + np.eye(x.shape[1]), x.T @ y)
            self.intercept_ = 0.0
            return self

    options: dict[str, Any] = {"draws": 200, "records": 1, "changes": ["drop"], "rng": 0}
    assert audit_mechanism(Ridge(), (features, response), 1.0, 0.0, **options).violated
    view = SimpleNamespace(public=features, secret=response)
    assert audit_mechanism(
        SketchedLeastSquares(500), view, 0.01, 0.0, **{**options, "draws": 20_000}
    ).violated
    state = np.random.default_rng(1)
    assert audit_mechanism(
        lambda t: t.sum() + state.normal(0, 1e-3), features[:, 1], 1.0, 0.0, **options
    ).violated


def test_audit_skips_neighbours_that_the_mechanism_refuses() -> None:
    features = np.column_stack([np.ones(12), np.zeros(12)])
    features[3, 1] = 1.0
    response = np.arange(12.0) % 5
    method = GaussianLeastSquares(std=1.0)
    found = audit_mechanism(method, (features, response), 1.0, 0.1, records=2, draws=500, rng=0)
    assert found.skipped >= 2
    with pytest.raises(InvalidInput, match="able to run on a neighbour"):
        audit_mechanism(method, (features, response), 1.0, 0.1, records=1, changes=["zero"], draws=500, rng=0)


def test_audit_of_a_dp_library() -> None:
    """Independent noise of a third party, audited through its own interface."""
    library = pytest.importorskip(
        "diffprivlib", reason="diffprivlib does not import here", exc_type=ImportError
    )
    data = np.random.default_rng(0).random((25, 1))

    def mean(table: np.ndarray, rng: np.random.Generator) -> float:
        seed = int(rng.integers(2**31))
        return float(library.tools.mean(table[:, 0], epsilon=1.0, bounds=(0, 1), random_state=seed))

    options: dict[str, Any] = {
        "draws": 1500,
        "changes": ["replace"],
        "records": 2,
        "confidence": 1 - 1e-7,
        "rng": 0,
    }
    assert not audit_mechanism(mean, data, 1.0, 0.0, **options).violated


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: estimate_profile(normal(0), normal(1), [-1.0]), "epsilon must be zero or more"),
        (
            lambda: estimate_profile(normal(0), normal(1), [1.0], draws=2),
            "draws must be a whole number of 10 or more",
        ),
        (
            lambda: estimate_profile(normal(0), normal(1), [1.0], confidence=1.0),
            "confidence must be a share strictly",
        ),
        (lambda: estimate_profile(lambda s, r: np.zeros(3), normal(1), [1.0]), "draws when asked for"),
        (lambda: estimate_profile(lambda s, r: ["a"] * s, normal(1), [1.0]), "sampler must be"),
        (lambda: estimate_profile(normal(0), normal(1), [1.0], 100, score="x"), "score must be"),  # type: ignore[arg-type]
        (lambda: audit_mechanism(3, [[1.0], [2.0]], 1.0, 0.0), "mechanism must be a function"),
        (lambda: audit_mechanism(np.mean, "people", 1.0, 0.0), "dataset must be"),
        (lambda: audit_mechanism(np.mean, [[1.0], [np.nan]], 1.0, 0.0), "finite"),
        (lambda: audit_mechanism(np.mean, [[1.0], [2.0]], -1.0, 0.0), "epsilon must be a finite number"),
        (lambda: audit_mechanism(np.mean, [[1.0], [2.0]], 1.0, 1.5), "delta must be a share from 0 to 1"),
        (
            lambda: audit_mechanism(np.mean, [[1.0], [2.0]], 1.0, 0.0, changes=[]),
            "changes must be at least one",
        ),
        (lambda: audit_mechanism(np.mean, [[1.0], [2.0]], 1.0, 0.0, changes=["swap"]), "changes"),  # type: ignore[list-item]
    ],
)
def test_bad_input_is_one_sentence(call: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert words in str(caught.value)


def test_people_with_categories_are_tables_of_codes_and_numbers() -> None:
    frame = {"sex": ["f", "m", "f", "m", "m"], "age": [31.5, 45.0, 62.25, 20.0, 33.0], "ill": [0, 1, 1, 0, 1]}
    columns, secret = as_tables(ta.Dataset.from_frame(frame, secret="ill", bins={"age": [40.0]}))
    assert columns.tolist() == [[0, 31.5], [1, 45.0], [0, 62.25], [1, 20.0], [1, 33.0]]
    assert secret.tolist() == frame["ill"]
