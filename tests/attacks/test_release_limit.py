import math

import numpy as np
import pytest

import tellall as ta


def test_power_agrees_with_tracing_simulated_people():
    """The curve's power at d = 400 against the attack itself on 4,000 members and outsiders of 40 releases.

    Both are shares of 1,000 or more dependent on few releases; 0.15 is over five standard errors of either.
    """
    rng = np.random.default_rng(0)
    frequencies = rng.uniform(0.05, 0.5, 500)
    limit = ta.release_limit(frequencies, 50, power=0.9, rate=0.05, most=400, trials=1000, rng=1)
    scores, truth = [], []
    for _ in range(40):
        p = rng.choice(frequencies, 400)
        people = (rng.random((250, 400)) < p).astype(int)
        tracing = ta.trace(
            people[:50].mean(axis=0),
            people[:150],
            people[150:],
            attack="likelihood-ratio",
            coding="bits",
            n=50,
        )
        scores.append((tracing.scores - tracing.scores[50:].mean()) / tracing.scores[50:].std())
        truth.append(np.arange(150) < 50)
    inside, outside = (
        np.concatenate(scores)[np.concatenate(truth)],
        np.concatenate(scores)[~np.concatenate(truth)],
    )
    seen = (inside > np.quantile(outside, 0.95)).mean()
    assert abs(limit.power[-1] - seen) < 0.15


def test_the_limit_grows_with_people_and_with_protection():
    frequencies = np.linspace(0.05, 0.5, 50)
    common = {"power": 0.3, "rate": 0.05, "most": 2000, "trials": 300, "rng": 0}
    few = ta.release_limit(frequencies, 50, **common)
    many = ta.release_limit(frequencies, 400, **common)
    noisy = ta.release_limit(frequencies, 50, protect=ta.Gaussian(0.3), **common)
    assert few.attributes < many.attributes
    assert few.attributes < noisy.attributes
    assert few.searched
    assert few.power[-1] > few.power[0]
    for attack in ("pool", "single", "homer"):
        assert ta.release_limit(frequencies, 50, attack=attack, **common).attributes >= few.attributes // 3
    assert "attributes" in repr(few)


def test_rounded_and_suppressed_frequencies_run():
    limit = ta.release_limit(
        [0.02, 0.4],
        20,
        protect=[ta.Suppression(0.05), ta.Rounding(0.1)],
        coding="genotypes",
        most=200,
        trials=100,
        power=1.0,
        rate=0.05,
        rng=0,
    )
    assert limit.attributes == 200
    assert not limit.searched


def test_accuracy_of_protections():
    exact = ta.accuracy(None, 100, beta=0.05)
    assert exact.bias == 0
    assert exact.alpha == pytest.approx(math.sqrt(2 * math.log(40) / 100))
    assert ta.accuracy(ta.Rounding(0.1), 100, coding="bits").bias == pytest.approx(0.1)
    noisy = ta.accuracy(ta.Gaussian(0.1), 100, beta=0.02)
    assert noisy.alpha == pytest.approx(0.1 * 2.5758293 + math.sqrt(2 * math.log(200) / 100))
    assert noisy.bias == pytest.approx(0.1 * math.sqrt(2 / math.pi))
    both = ta.accuracy([ta.Laplace(0.05), ta.Rounding(0.1)], 100)
    assert both.bias == pytest.approx(0.1)


@pytest.mark.parametrize("protect", [None, ta.Rounding(0.2), ta.Gaussian(0.2), ta.Laplace(0.1)])
def test_accuracy_holds_in_simulation(protect):
    """100,000 means of 40 people: the share beyond alpha is under beta; the bound is loose by far more than
    five standard errors (0.0016)."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0, 1, 100_000)
    mean = rng.binomial(40, p) / 40
    published = mean if protect is None else protect.perturb(mean, rng)
    q = np.clip(2 * published - 1, -1, 1)
    promise = ta.accuracy(protect, 40, beta=0.1, coding="bits")
    assert (np.abs(q - (2 * p - 1)) > promise.alpha).mean() <= promise.beta


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: ta.accuracy(ta.Suppression(3), 10), "protect must be noise laws"),
        (lambda: ta.accuracy(None, 0), "n must be"),
        (lambda: ta.accuracy(None, 10, beta=0), "beta must be"),
        (lambda: ta.accuracy(None, 10, coding="reals"), "coding must be"),
        (lambda: ta.release_limit([], 10), "frequencies must be"),
        (lambda: ta.release_limit([1.2], 10), "frequencies must be"),
        (lambda: ta.release_limit([0.2], 0), "n must be"),
        (lambda: ta.release_limit([0.2], 10, rate=0.001, trials=100), "trials must be 1000 or more"),
        (lambda: ta.release_limit([0.2], 10, power=0.001), "power must be"),
        (lambda: ta.release_limit([0.2], 10, attack="x"), "attack must be"),
        (lambda: ta.release_limit([0.2], 10, reference=0), "reference must be"),
        (lambda: ta.release_limit([0.2], 10, coding="signs"), "coding must be"),
    ],
)
def test_bad_input_is_one_sentence(call, says):
    with pytest.raises(ta.InvalidInput, match=says):
        call()
