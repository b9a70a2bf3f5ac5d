import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import norm

from tellall.linalg.posterior.model import Channel, observation


def log_z(channel: Channel, residual: float, spread: float) -> float:
    """log ∫ P(z | u) N(u; p, spread) du up to a constant, the error on a fine grid."""
    std, h = float(np.sqrt(channel.noise)), float(channel.slack[0]) if channel.slack is not None else 0.0
    error = np.linspace(residual - 10 * spread**0.5, residual + 10 * spread**0.5, 20_001)
    density = norm.pdf(error, scale=std)
    if h:
        density = (ndtr((error + h) / std) - ndtr((error - h) / std)) / (2 * h)
    if channel.gross_variance is not None:
        gross = norm.pdf(error, scale=channel.gross_variance**0.5)
        density = (1 - channel.share) * density + channel.share * gross
    return float(np.log(np.mean(density * norm.pdf(error, loc=residual, scale=spread**0.5))))


@pytest.mark.parametrize(
    "channel",
    [
        Channel(0.7),
        Channel(0.04, np.array([1.5])),
        Channel(0.7, None, 0.2, 30.0),
        Channel(0.09, np.array([2.5]), 0.1, 60.0),
        Channel(1.0, np.array([1e-4])),
    ],
    ids=["gaussian", "interval", "contaminated", "both", "narrow"],
)
@given(st.floats(-4, 4), st.floats(0.2, 5))
def test_score_and_curvature_are_the_derivatives_of_the_evidence(channel, residual, spread):
    step = 1e-2
    around = [log_z(channel, residual + shift, spread) for shift in (-step, 0, step)]
    score, curvature, _ = channel.respond(np.array([residual]), spread)
    # a larger residual is a smaller belief: the derivative in the belief is minus that in the residual
    assert np.isclose(score[0], -(around[2] - around[0]) / (2 * step), atol=2e-3)
    second = (around[2] - 2 * around[1] + around[0]) / step**2
    assert np.isclose(curvature[0], -second, atol=2e-3)


@given(st.floats(-1e6, 1e6), st.floats(1e-9, 1e3), st.floats(1e-3, 10), st.floats(0, 100))
def test_nothing_overflows_far_out(residual, spread, variance, slack):
    for channel in (Channel(variance, np.array([slack])), Channel(variance, np.array([slack]), 0.1, 1e4)):
        score, curvature, _ = channel.respond(np.array([residual]), spread)
        assert np.isfinite(score).all()
        assert np.isfinite(curvature).all()
        assert score[0] * residual >= 0


@pytest.mark.parametrize("residual", [1e3, -1e7, 1e20, 1e90])
def test_far_beyond_its_interval_an_error_is_gaussian(residual):
    for slack in (0.01, 2.5):
        score, curvature, _ = Channel(1e-12, np.array([slack])).respond(np.array([residual]), 0.0)
        assert score[0] == pytest.approx((residual - np.sign(residual) * slack) * 1e12, rel=1e-9)
        assert curvature[0] == pytest.approx(1e12, rel=1e-6)


def test_learning_finds_the_gross_errors_and_the_noise():
    rng = np.random.default_rng(0)
    channel = Channel(1.0).contaminated(rng.normal(size=10), 0.5)
    truth = Channel(9.0, None, 0.3, 900.0)
    nothing = np.zeros(20_000)
    residual = truth.publish(nothing, nothing, rng) + rng.normal(0, 0.5**0.5, 20_000)
    for _ in range(200):
        channel = channel.learn(residual, 0.5, channel.respond(residual, 0.5)[2])
    assert abs(channel.share - 0.3) < 0.02
    assert abs(channel.scale - 9) < 0.5
    assert abs(np.sqrt(channel.gross_variance) - 30) < 1
    assert abs(channel.agreement(residual, 0.5, channel.respond(residual, 0.5)[2]) - 1) < 0.05


def test_noise_as_declared_is_left_alone():
    rng = np.random.default_rng(1)
    channel = Channel(4.0, None, 0.05, 400.0)
    residual = channel.publish(np.zeros(5000), np.zeros(5000), rng)
    learnt = channel.learn(residual, 1e-9, channel.respond(residual, 1e-9)[2])
    assert learnt.scale == 1
    plain = Channel(4.0)
    assert plain.learn(residual, 1e-9, 0.0) is plain


def test_samples_have_the_declared_variance():
    rng, nothing = np.random.default_rng(2), np.zeros(100_000)
    truth, slack = rng.uniform(-50, 50, 100_000), np.full(100_000, 3.0)
    for unseen in (None, np.ones(100_000, dtype=bool)):
        errors = Channel(4.0, slack, unseen=unseen).publish(truth, nothing, rng) - truth
        assert abs(errors.var() - 7.0) < 5 * 7.0 * np.sqrt(2 / 100_000)  # lighter tails than a Gaussian's
    rounded = Channel(1e-12, slack).publish(truth, nothing + 1, rng)
    assert np.allclose(rounded, 6 * np.rint((truth - 1) / 6) + 1)
    gross = Channel(1.0, None, 0.25, 16.0).publish(nothing, nothing, np.random.default_rng(3))
    assert abs(gross.var() - 5.0) < 0.25


def test_rows_without_a_value_say_nothing_of_the_noise():
    rng = np.random.default_rng(3)
    residual = rng.normal(0, 2, 400)
    residual[:20] = rng.normal(0, 60, 20)
    unseen = np.arange(400) >= 300
    slack = np.where(unseen, 5.0, 0.0)
    both = Channel(4.0, slack, unseen=unseen).contaminated(residual, 1.0)
    seen = Channel(4.0).contaminated(residual[:300], 1.0)
    for _ in range(4):
        answer, alone = both.respond(residual, 1.0), seen.respond(residual[:300], 1.0)
        assert np.allclose(answer[0][:300], alone[0])
        both, seen = both.learn(residual, 1.0, answer[2]), seen.learn(residual[:300], 1.0, alone[2])
    assert (both.share, both.scale) == pytest.approx((seen.share, seen.scale))
    assert both.agreement(residual, 1.0, answer[2]) == pytest.approx(
        seen.agreement(residual[:300], 1.0, alone[2])
    )
    assert (1 / both.total[unseen] < 1e-12).all()


def test_an_interval_amounts_to_the_observation_with_its_mean_and_variance():
    rng = np.random.default_rng(0)
    draws = rng.normal(1.0, 2.0, 400_000)
    kept = draws[np.abs(draws + rng.normal(0, 0.5, draws.size) - 3.0) < 1.5]
    one = np.ones(1)
    value, std = observation(one, 4 * one, 3 * one, 1.5 * one, 0.25 * one)
    variance = 1 / (1 / 4 + 1 / std**2)
    # about 120,000 draws are kept: six standard errors
    assert variance * (1 / 4 + value / std**2) == pytest.approx(
        kept.mean(), abs=6 * kept.std() / kept.size**0.5
    )
    assert variance == pytest.approx(kept.var(), rel=6 * (2 / kept.size) ** 0.5)
