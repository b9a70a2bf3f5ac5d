import json

import numpy as np
import pytest
from tests.conftest import first_fast
from tests.report.pages import Tags

import tellall as ta
from tellall.papers.robust_tracing import rerun
from tellall.report.paper_page import render


@pytest.mark.slow
def test_every_statement_holds():
    """Deterministic by its seed."""
    found = rerun(rng=0)
    assert len(found.statements) > 20
    corrections = {"constant": 2, "wording": 2, "gap in the proof": 2, "copy": 1, "false as worded": 2}
    assert {word: found.counts[word] for word in corrections} == corrections
    assert not found.counts["not reproduced"]
    false = {one.where for one in found.statements if one.verdict == "false as worded"}
    assert false == {"Sec. II-D, E-RT-3", "Lemma 25, E-RT-6"}
    law, level, _, released = found.figures
    for series in law.series:  # the n² law: the same share of members at the same d/n², whatever n
        assert series.y[0] < 0.2
        assert series.y[-1] == 1.0
    promised = next(series for series in level.series if series.label == "δ, as promised")
    for series in level.series[:2]:
        seen = [(y, x) for x, y in zip(series.x, series.y, strict=True) if y == y]
        assert seen
        assert all(y <= x for y, x in seen)
    assert promised.x == promised.y
    assert len(released.x.categories) == len(released.series[0].y) == 9
    json.dumps(found.as_json(), allow_nan=False)  # fails if a number is none
    Tags.of(render(found))


def powers(attacks, *, n, d, pool, protect, releases, rate=0.01):
    """The power of each attack at the false-positive rate, per release, over the same people."""
    rng = np.random.default_rng([n, d, pool])
    found = {name: [] for name in attacks}
    for _ in range(releases):
        p = rng.uniform(0.05, 0.95, d)
        people = (rng.random((n + 200 + pool, d)) < p).astype(np.int8)
        q = people[:n].mean(axis=0)
        if protect is not None:
            q = protect.perturb(q, rng)
        for name in attacks:
            tracing = ta.trace(
                q,
                people[: n + 200],
                people[n + 200 :],
                attack=name,
                threshold="empirical",
                coding="bits",
                n=n,
                anyway=True,  # people of one population, and noise that is not declared
            )
            found[name].append(ta.score(tracing, np.arange(n + 200) < n).power(rate).value)
    return {name: np.array(values) for name, values in found.items()}


@pytest.mark.parametrize("releases", first_fast([80, 200]))
def test_with_many_reference_people_the_likelihood_ratio_is_strongest(releases):
    """Exact frequencies, 2n reference people: a lead over each other by a paired 99 % interval."""
    attacks = ("likelihood-ratio", "pool", "single", "homer")
    found = powers(attacks, n=50, d=600, pool=100, protect=None, releases=releases)
    for name in ("pool", "single", "homer"):
        lead = found["likelihood-ratio"] - found[name]
        margin = 2.576 * lead.std(ddof=1) / np.sqrt(lead.size)
        assert lead.mean() - margin > 0, name


def test_on_noisy_means_the_pool_overtakes():
    """Noise of 0.1 on frequencies over 50 people: the likelihood ratio believes them too much."""
    found = powers(
        ("likelihood-ratio", "pool"), n=50, d=2000, pool=100, protect=ta.Gaussian(0.1), releases=15
    )
    assert found["pool"].mean() > found["likelihood-ratio"].mean()
