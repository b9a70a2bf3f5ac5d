"""The lemmas of four papers, tried as the reruns try them; and what they say of a broken implementation."""

from functools import cache, partial

import numpy as np
import pytest

import tellall as ta
from tellall.papers import (
    contingency_bounds,
    contingency_lemmas,
    contingency_synthetic,
    linear_lemmas,
    private_ols_lemmas,
    tracing_lemmas,
)
from tellall.papers.claims import filled
from tellall.papers.reader import read_paper
from tellall.papers.regression_noise_attack import Regressions


def in_turn(runs, *more):
    """All experiments of a module with one stream of random numbers."""
    return lambda rng: [case for run in runs for case in run(*more, rng)]


def claims_of(name):
    return read_paper(name.split(",")[0]).claims


PARTS = {
    "linear-reconstruction, identities": linear_lemmas._identities,
    "linear-reconstruction, losses": linear_lemmas._losses,
    "linear-reconstruction, matrices": partial(linear_lemmas._random_matrices, (20, 40, 80)),
    "contingency-tables, Section 3": partial(contingency_lemmas._random_matrices, True),
    "contingency-tables, inequalities": contingency_lemmas._inequalities,
    "contingency-tables, tails": contingency_lemmas._tails,
    "contingency-tables, Section 4": in_turn(contingency_bounds.LOWER_BOUNDS),
    "contingency-tables, synthetic": contingency_synthetic.synthetic_data,
    "robust-tracing": in_turn(tracing_lemmas.LEMMAS, 6),
    "private-ols": in_turn(private_ols_lemmas.LEMMAS),
}
SLOW = {
    "linear-reconstruction, decoding": in_turn((linear_lemmas._decoding, linear_lemmas._share_of_errors)),
    "linear-reconstruction, spread": partial(linear_lemmas._spreads, (20, 26, 32)),
}


@cache
def cases(name):
    """What a part reports from seed 0, once for all tests."""
    return list((PARTS | SLOW)[name](rng=np.random.default_rng(0)))


def judged(name, seed=0):
    return filled(claims_of(name), (PARTS | SLOW)[name](rng=np.random.default_rng(seed)))


@pytest.mark.parametrize("name", [*PARTS, *(pytest.param(one, marks=pytest.mark.slow) for one in SLOW)])
def test_every_lemma_has_a_verdict_that_is_not_a_failure(name):
    statements = filled(claims_of(name), cases(name))
    assert len(statements) >= 2
    assert not [str(one) for one in statements if one.verdict == "not reproduced"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 8))
@pytest.mark.parametrize("name", [*PARTS, *SLOW])
def test_verdicts_do_not_depend_on_the_seed(name, seed):
    verdicts = [sorted((one.where, one.verdict) for one in judged(name, either)) for either in (0, seed)]
    assert verdicts[0] == verdicts[1]


def test_every_claim_of_these_experiments_is_reported():
    runs = {"_logarithms", *(run.__name__ for run in contingency_bounds.LOWER_BOUNDS), "synthetic_data"}
    runs |= {run.__name__ for run in (*tracing_lemmas.LEMMAS, *private_ols_lemmas.LEMMAS)}
    runs |= {name for name in vars(linear_lemmas) if name.startswith("_")}
    for paper in ("linear-reconstruction", "contingency-tables", "robust-tracing", "private-ols"):
        reported = {key for name in PARTS if name.startswith(paper) for key, _ in cases(name)}
        later = {"explicit", "share of errors", "logarithms", "spread", "spread of functions"}
        asked = {one.key for one in claims_of(paper) if {one.run, f"_{one.run}"} & runs}
        assert asked - reported <= later


def failing(statements):
    return {one.where.split(", ")[0] for one in statements if one.verdict == "not reproduced"}


def test_a_polynomial_with_a_wrong_sign_is_caught(monkeypatch):
    monkeypatch.setattr(ta, "multilinear", lambda table, right=ta.multilinear: -right(table))
    assert "Def. 3" in failing(judged("linear-reconstruction, identities"))


def test_inner_products_without_their_signs_are_caught(monkeypatch):
    right = contingency_bounds.inner_products
    monkeypatch.setattr(contingency_bounds, "inner_products", lambda rows, k: np.sign(right(rows, k)))
    assert failing(judged("contingency-tables, Section 4")) >= {"Lemma 4.24"}


def test_a_threshold_half_as_large_is_caught(monkeypatch):
    """Level Q(√(ln(1/δ)/2)) = 0.11 at δ = 0.05."""

    class Halved:
        def __init__(self, found):
            self.threshold = np.asarray(found.threshold) / 2

    monkeypatch.setattr(ta, "trace", lambda *args, right=ta.trace, **more: Halved(right(*args, **more)))
    said = filled(claims_of("robust-tracing"), tracing_lemmas._thresholds(1, np.random.default_rng(0)))
    assert failing(said) == {"Prop. 2", "Fig. 1"}


def test_lemma_11_s_form_is_caught(monkeypatch):
    def printed(epsilon, p, rows, *, direction="larger"):
        return private_ols_lemmas._lemma_11(float(p), int(rows), float(epsilon))

    monkeypatch.setattr(ta.privacy, "projection_delta", printed)
    said = filled(claims_of("private-ols"), private_ols_lemmas._projections(np.random.default_rng(0)))
    assert failing(said) >= {"Lemma 4", "Lemma 10", "Lemma 11"}


def test_an_attack_that_leaves_out_an_equation_is_caught():
    """regression-noise: exact up to d + 1 records with every equation, and not with one less."""
    rng = np.random.default_rng(0)
    claim = next(one for one in claims_of("regression-noise") if one.key == "exact")
    models, secret = Regressions(rng.normal(size=(6, 5))), rng.normal(10, 3, 6)
    clean = models.fit(secret)
    words = {"edge": 6, "data": "made up", "size": "6", "samples": 1}
    for broken in (False, True):
        rows, targets = models.rows, models.targets(clean)
        kept = slice(2, None) if broken else slice(None)  # the first column's two equations
        guess = np.linalg.lstsq(rows[kept], targets[kept], rcond=None)[0]
        case = {"value": float(np.abs(guess - secret).mean()), **words}
        assert claim.judged(case).verdict == ("not reproduced" if broken else "holds")
