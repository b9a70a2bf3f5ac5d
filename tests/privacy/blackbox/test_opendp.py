"""audit_mechanism on a mechanism of another library, which draws its own randomness."""

import numpy as np
import pytest

import tellall as ta

dp = pytest.importorskip("opendp.prelude", reason="opendp is not installed")


@pytest.mark.parametrize(("scale", "refuted"), [(0.02, False), (0.002, True)])
def test_a_declared_epsilon_is_refuted_only_if_wrong(scale, refuted):
    """A right declaration is refuted with probability at most 1e-7.

    The careless one has a tenth of the noise: its neighbour is several scales away, the event found has
    probabilities near 1 and near 0, and 2,000 draws on each side miss that with far smaller probability.
    """
    dp.enable_features("contrib")
    bounded = dp.vector_domain(dp.atom_domain(bounds=(0.0, 1.0), nan=False), size=50), dp.symmetric_distance()
    declared = (bounded >> dp.t.then_mean() >> dp.m.then_laplace(scale=0.02)).map(2)
    assert declared == pytest.approx(1.0)
    mean = bounded >> dp.t.then_mean() >> dp.m.then_laplace(scale=scale)
    people = np.random.default_rng(0).random((50, 1))
    audit = ta.audit_mechanism(
        lambda table: mean(table[:, 0].tolist()),
        people,
        epsilon=declared,
        delta=0.0,
        changes=["replace"],
        draws=2000,
        confidence=1 - 1e-7,
    )
    assert audit.violated == refuted
