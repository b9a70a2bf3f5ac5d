import math

import numpy as np
import pytest
from tests.conftest import first_fast

import tellall as ta
from tellall.people.attributes.codings import CODINGS
from tellall.tracing.thresholds import gaussian_exact

ATTACKS = [
    ("single", {}),
    ("pool", {"alpha": 0.1}),
    ("pool", {}),
    ("likelihood-ratio", {"n": 12}),
    ("homer", {}),
]
KINDS = ["uniform", "beta", "skewed"]


def signs_of(coding, people):
    """The ±1 coding of people, NaN where a call is missing."""
    return np.array([*coding.signs, np.nan])[coding.codes("people", people)]


def frequencies(kind: str, d: int, rng) -> np.ndarray:
    """Population means in [−1, 1]."""
    if kind == "uniform":
        return rng.uniform(-1, 1, d)
    return 2 * rng.beta(*((2, 3) if kind == "beta" else (0.3, 4)), d) - 1


def draw(p: np.ndarray, people: int, rng) -> np.ndarray:
    return np.where(rng.random((people, p.size)) < (1 + p) / 2, 1, -1).astype(np.int8)


class TestGolden:
    def test_fig1(self, golden):
        for case in golden["fig1_attack"]:
            q, delta = np.array(case["q"], dtype=float), float(case["delta"])
            paper = ta.trace(q, [case["y"]], [case["z"]], delta=delta, threshold="paper")
            smaller = ta.trace(q, [case["y"]], [case["z"]], delta=delta, threshold="hoeffding")
            assert paper.scores[0] == pytest.approx(float(case["score"]), rel=1e-12)
            assert paper.threshold == pytest.approx(float(case["tau_fig1_sqrt8"]), rel=1e-12)
            assert smaller.threshold == pytest.approx(float(case["tau_data_dependent_2|q|sqrt"]), rel=1e-12)
            ones = ta.trace(np.ones(q.size), [case["y"]], [case["z"]], delta=delta, threshold="hoeffding")
            assert ones.threshold == pytest.approx(float(case["tau_prop2_2sqrt"]), rel=1e-12)

    def test_fig1_worst_case(self, golden):
        """The binomial tail above our threshold is the golden one."""
        from scipy.special import bdtrc, ndtr

        for case in golden["fig1_worst_case_false_positive"]:
            d, delta = case["d"], float(case["delta"])
            one = np.ones((1, d))
            for rule, key in (
                ("hoeffding", "P[S>2 sqrt(d ln 1/delta)]"),
                ("paper", "P[S>sqrt(8 d ln 1/delta)]"),
            ):
                tau = ta.trace(one[0], one, -one, delta=delta, threshold=rule).threshold
                tail = bdtrc(math.floor(d + tau / 2), 2 * d, 0.5)
                assert tail == pytest.approx(float(case[key]), rel=1e-9)
                assert tail <= delta
            limit = ndtr(-math.sqrt(2 * math.log(1 / delta)))
            assert limit == pytest.approx(float(case["gauss_limit_Q(sqrt(2 ln 1/delta))"]), rel=1e-12)

    def test_fig2(self, golden):
        for case in golden["fig2_attack"]:
            tracing = ta.trace(
                np.array(case["q"], dtype=float),
                case["y"],
                [case["z0"], *case["z1..zm"]],
                attack="pool",
                alpha=float(case["alpha"]),
                delta=float(case["delta"]),
            )
            assert tracing.scores[0] == pytest.approx(float(case["score"]), rel=1e-12)
            assert tracing.threshold == pytest.approx(float(case["tau"]), rel=1e-12)

    def test_fig3(self, golden):
        from scipy.special import ndtr

        for case in golden["fig3_attack"]:
            d, sigma, delta = case["d"], float(case["sigma_max"]), float(case["delta"])
            people = np.zeros((1, d))
            tracing = ta.trace(
                np.ones(d), people, people + 1.0, attack="gaussian", sigma_max=sigma, delta=delta
            )
            assert tracing.threshold == pytest.approx(float(case["tau"]), rel=1e-12)
            level = ndtr(-tracing.threshold / (math.sqrt(2 * d) * sigma))
            assert level == pytest.approx(float(case["exact_level"]), rel=1e-12)
            exact = gaussian_exact(math.sqrt(d), sigma, delta)
            assert exact == pytest.approx(float(case["tau_exact_level_delta"]), rel=1e-12)


def adds(x, q, w, others, rule, attack, alpha, n):
    if attack == "single":
        return x * q
    if attack == "pool":
        return x * np.clip(q - w, -2 * alpha, 2 * alpha)
    if attack == "homer":
        return (abs(x - w) - abs(x - q)) / 2
    k = rule.ploidy
    a = (k * n * (1 + q) / 2 + 0.5) / (k * n + 1)
    b = (k * others * (1 + w) / 2 + 0.5) / (k * others + 1)
    f = (1 + x) / 2
    return k * (f * math.log(a / b) + (1 - f) * math.log((1 - a) / (1 - b)))


def slow_conformal(q, target, reference, coding, attack, alpha=math.inf, n=1):
    """Everybody among the target and the reference, each with the mean of all the others, one by one."""
    rule = CODINGS[coding]
    bag = signs_of(rule, np.vstack([target[None], reference]).astype(float))
    filled, lost, spread = np.zeros(len(bag)), np.zeros(len(bag)), 0.0
    for j, column in enumerate(bag.T):
        have, others = ~np.isnan(column), int((~np.isnan(column[1:])).sum())
        if others == 0 and attack == "single":
            continue
        if not have[0] and attack != "single":
            continue
        values = []
        for i in np.flatnonzero(have):
            rest = np.delete(column, i)[~np.isnan(np.delete(column, i))]
            w = rest.mean() if rest.size else q[j]
            values.append(adds(column[i], q[j], w, rest.size, rule, attack, alpha, n))
        mean = np.nanmean(column[1:]) if others else q[j]
        average = mean * q[j] if attack == "single" else np.mean(values)
        filled[have] += values
        filled[~have] += average
        if others:
            share = (rule.ploidy * others * (1 + mean) / 2 + 0.5) / (rule.ploidy * others + 1)
            chance = [
                math.comb(rule.ploidy, g) * share**g * (1 - share) ** (rule.ploidy - g) for g in (0, 1, 2)
            ]
            each = np.array([adds(x, q[j], mean, others, rule, attack, alpha, n) for x in rule.signs])
            chance = np.array(chance[: each.size])
            variance = chance @ each**2 - (chance @ each) ** 2
            variance *= others / (others + 1)
            lost[~have] += variance
            spread += variance
    own, rest = filled[0], filled[1:]
    if lost[1:].any():
        if attack == "single":
            means = signs_of(rule, reference.astype(float))
            means = means[:, ~np.isnan(means).all(axis=0)]
            centre = np.nanmean(means, axis=0) @ q[~np.isnan(bag[1:]).all(axis=0)]
        else:
            centre = filled.mean()
        rest = centre + (rest - centre) / (1 - lost[1:] / spread)
    return own, (1 + (rest >= own - 1e-9).sum()) / (rest.size + 1)


@pytest.mark.parametrize("coding", ["signs", "bits", "genotypes"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("attack", "options"), ATTACKS)
def test_conformal_scores_equal_the_definition(coding, missing, attack, options):
    rng = np.random.default_rng(5)
    values = np.array(CODINGS[coding].values, dtype=float)
    people = rng.choice(values, size=(31, 40))
    people[:, 3] = values[0]
    if missing:
        people[rng.random(people.shape) < 0.2] = np.nan
        people[12:, 7] = np.nan
    cohort, targets, reference = people[:6], people[6:12], people[12:]
    signs = signs_of(CODINGS[coding], cohort)
    q = np.nan_to_num(np.nansum(signs, axis=0) / np.maximum((~np.isnan(signs)).sum(axis=0), 1))
    means = q if coding == "signs" else (q + 1) / 2
    tracing = ta.trace(
        means,
        targets,
        reference,
        attack=attack,
        threshold="empirical",
        coding=coding,
        delta=0.1,
        anyway=True,  # the means are over fewer people than n, and one call is the same for nearly everybody
        **options,
    )
    for i, target in enumerate(targets):
        n = options.get("n", 1)
        alpha = options.get("alpha", math.inf)
        own, p_value = slow_conformal(q, target, reference, coding, attack, alpha, n)
        assert tracing.scores[i] == pytest.approx(own, rel=1e-9, abs=1e-9)
        assert tracing.p_values[i] == p_value
    limit = np.broadcast_to(tracing.threshold, tracing.scores.shape)
    assert (tracing.member == (tracing.scores > limit)).all()


def test_chunks_change_nothing(monkeypatch):
    from tellall.people.attributes import chunks
    from tellall.tracing import scores as tracing_scores

    rng = np.random.default_rng(1)
    people = rng.integers(0, 3, (40, 300))
    means = people[:10].mean(axis=0) / 2

    def everything():
        empirical = [
            ta.trace(
                means, people[:20], people[20:], attack=a, threshold="empirical", coding="genotypes", **o
            )
            for a, o in ATTACKS
        ]
        sound = ta.trace(means, people[:20], people[20:], attack="pool", alpha=0.2, coding="genotypes")
        return [*empirical, sound]

    whole = everything()
    monkeypatch.setattr(chunks, "_BYTES", 1)
    for a, b in zip(whole, everything(), strict=True):
        np.testing.assert_allclose(a.scores, b.scores, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(a.p_values, b.p_values, rtol=1e-11)
    monkeypatch.setattr(tracing_scores, "_DOUBLE_WORK", 0)
    for a, b in zip(whole, everything(), strict=True):
        np.testing.assert_allclose(a.scores, b.scores, rtol=1e-5, atol=1e-5)


class Counted:
    """People that are made chunk by chunk, and remember the largest chunk asked for."""

    def __init__(self, people, attributes):
        self.shape, self.largest = (people, attributes), 0

    def chunk(self, start, stop):
        self.largest = max(self.largest, self.shape[0] * (stop - start))
        return np.random.default_rng(start).integers(0, 3, (self.shape[0], stop - start)).astype(np.int8)


@pytest.mark.parametrize("attack", ["single", "pool"])
@pytest.mark.parametrize("threshold", ["hoeffding", "empirical"])
def test_people_stream_through_in_chunks(attack, threshold):
    targets, reference = Counted(4000, 5000), Counted(30, 5000)
    means = np.full(5000, 0.5)
    tracing = ta.trace(
        means, targets, reference, attack=attack, alpha=0.1, threshold=threshold, coding="genotypes"
    )
    assert np.isfinite(tracing.scores).all()
    assert targets.largest < 4000 * 5000  # the whole was never held


@pytest.mark.parametrize("release", first_fast(["rounded", "exact", "noisy"]))
@pytest.mark.parametrize("kind", first_fast(KINDS))
def test_hoeffding_and_paper_are_sound(kind, release):
    """13,500 outsiders in each of the nine cases: 270 releases, each with its own reference people.

    The level is at most 0.0072 in the exact worst case at δ = 0.05, where 0.05 is allowed. Outsiders of one
    release share a reference person, so 270 shares in [0, 1] of mean 0.0072 or less are averaged: that their
    mean passes 0.05 has probability below 1e-6 by the Chernoff bound, exp(−270·KL(0.05, 0.0072)).
    """
    rng = np.random.default_rng([KINDS.index(kind), len(release)])
    delta, releases, each = 0.05, 270, 50
    hits = {"single": 0, "pool": 0, "paper": 0, "pool, paper": 0}
    for _ in range(releases):
        p = frequencies(kind, 200, rng)
        q = draw(p, 10, rng).mean(axis=0)
        if release == "rounded":
            q = np.round(q / 0.25) * 0.25
        elif release == "noisy":
            q = q + rng.normal(0, 0.3, q.size)
        outsiders, reference = draw(p, each, rng), draw(p, 6, rng)
        for name, options in (
            ("single", {"threshold": "hoeffding"}),
            ("paper", {"threshold": "paper"}),
            ("pool", {"attack": "pool", "alpha": 0.3, "threshold": "hoeffding"}),
            ("pool, paper", {"attack": "pool", "alpha": 0.3, "threshold": "paper"}),
        ):
            hits[name] += ta.trace(q, outsiders, reference, delta=delta, **options).traced
    assert max(hits.values()) <= delta * releases * each, hits
    assert hits["paper"] <= hits["single"]
    assert hits["pool, paper"] <= hits["pool"]


def test_at_the_planned_size_every_member_is_traced_and_nobody_else():
    """n = 10, d = 21,570, δ = 0.05; each of 200 false alarms has probability below 1e-9 at this size."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        p = rng.uniform(-1, 1, 21_570)
        people = draw(p, 31, rng)
        tracing = ta.trace(people[:10].mean(axis=0), people[:30], people[30:], threshold="hoeffding")
        assert tracing.member[:10].all()
        assert not tracing.member[10:].any()


def test_only_the_subsample_is_traced():
    """The mean of 4 of the 10: those 4 and nobody else in at least 97 % of 40 runs."""
    right = 0
    for seed in range(40):
        rng = np.random.default_rng([9, seed])
        people = draw(rng.uniform(-1, 1, 21_570), 31, rng)
        tracing = ta.trace(people[:4].mean(axis=0), people[:30], people[30:], threshold="paper", delta=0.05)
        right += bool(tracing.member[:4].all() and not tracing.member[4:].any())
    assert right >= 0.97 * 40


def test_gaussian_people_with_random_spreads_are_traced():
    rng = np.random.default_rng(3)
    d, n = 40_000, 10
    mu, sigma = rng.uniform(-1, 1, d), rng.uniform(0.2, 1, d)
    people = mu + sigma * rng.normal(size=(41, d))
    q = np.clip(people[:n].mean(axis=0), -1, 1)
    for rule in ("paper", "hoeffding", "empirical"):
        tracing = ta.trace(
            q, people[:20], people[20:], attack="gaussian", sigma_max=1.0, threshold=rule, delta=0.05
        )
        assert tracing.member[:n].all()
        assert tracing.member[n:].sum() <= 1


def test_a_release_of_means_is_traced_in_its_own_coding():
    rng = np.random.default_rng(0)
    frequency = rng.uniform(0.05, 0.5, 4000)
    frequency[:3] = 0.0  # constant columns are left out of the release
    people = (rng.random((60, 4000, 2)) < frequency[:, None]).sum(axis=2)
    cohort = ta.Dataset.from_arrays(people[:20])
    release = ta.publish(cohort, ta.Means())
    assert release.values.size < 4000
    tracing = ta.trace(
        release, people[:40], people[40:], attack="pool", threshold="empirical", coding="genotypes"
    )
    assert tracing.attributes == release.values.size
    assert tracing.member[:20].all()
    by_name = ta.trace(release, cohort, people[40:], attack="pool", threshold="empirical", coding="genotypes")
    np.testing.assert_allclose(by_name.scores, tracing.scores[:20])
    counts = people[:20].mean(axis=0)
    as_counts = ta.trace(counts, people[:40], people[40:], coding="genotypes", threshold="hoeffding")
    as_frequencies = ta.trace(counts / 2, people[:40], people[40:], coding="genotypes", threshold="hoeffding")
    np.testing.assert_allclose(as_counts.scores, as_frequencies.scores)
    assert any("allele counts" in note for note in as_counts.notes)
    for means, said in ((counts, True), (counts / 2, False)):  # one reference person is enough to tell
        alone = ta.trace(means, people[:40], people[40:41], coding="genotypes", threshold="hoeffding")
        assert any("allele counts" in note for note in alone.notes) == said
    turned = {"coding": "genotypes", "alleles": "frequencies", "anyway": True}
    told = ta.trace(counts / 2, people[:40], 2 - people[40:], **turned)
    assert not any("allele counts" in note for note in told.notes)


def test_garbage_columns_and_suppressed_ones():
    """Accurate only on average: a tenth of the means is garbage, a tenth is missing."""
    rng = np.random.default_rng(2)
    people = draw(rng.uniform(-1, 1, 30_000), 31, rng)
    q = people[:10].mean(axis=0)
    q[:3000] = rng.uniform(-1, 1, 3000)
    q[3000:6000] = np.nan
    q[6000:6100] = 3.0
    tracing = ta.trace(q, people[:30], people[30:], threshold="hoeffding")
    assert tracing.member[:10].all()
    assert not tracing.member[10:].any()
    assert tracing.attributes == 27_000
    assert len(tracing.notes) == 3  # the last: one reference person is too few to be checked


def test_benjamini_hochberg_names_members_at_the_rate():
    rng = np.random.default_rng(4)
    p = rng.uniform(-1, 1, 3000)
    people = draw(p, 400, rng)
    tracing = ta.trace(
        people[:20].mean(axis=0), people[:200], people[200:], attack="pool", threshold="empirical", delta=0.1
    )
    named = tracing.discoveries()
    assert named[:20].all()
    assert named[20:].sum() <= 10
    assert not ta.trace(-p, people[:5], people[200:], threshold="hoeffding").discoveries(0.01).any()


GOOD = np.array([[1, -1, 1], [-1, 1, 1], [1, 1, -1]])


@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        (([0.1, 0.2, 0.3], GOOD, GOOD), {"attack": "guess"}, "attack must be one of single"),
        (([0.1, 0.2, 0.3], GOOD, GOOD), {"delta": 1.0}, "delta must be a share strictly between 0 and 1"),
        (([0.1, 0.2, 0.3], GOOD, GOOD), {"delta": "x"}, "delta must be a share strictly between 0 and 1"),
        (([0.1, 0.2], GOOD, GOOD), {}, "targets must be people with the 2 attributes"),
        (([0.1, 0.2, 0.3], GOOD, GOOD[:, :2]), {}, "reference must be people with the 3"),
        (([], GOOD[:, :0], GOOD[:, :0]), {}, "means must be one published value or more"),
        (([np.nan] * 3, GOOD, GOOD), {}, "all missing"),
        (([0.1, np.inf, 0.3], GOOD, GOOD), {}, "means must be finite"),
        (([0.1, 0.2, 0.3], GOOD * 2, GOOD), {}, "targets must be -1, 1"),
        (([0.1, 0.2, 0.3], GOOD, [[0, 1, 1]]), {}, "reference must be -1, 1"),
        (([0.1, 0.2, 0.3], GOOD, np.zeros((0, 3))), {}, "one person or more"),
        (([0.1, 0.2, 0.3], GOOD, GOOD[:1]), {"attack": "pool", "alpha": 0.1}, "two people or more"),
        (([0.1, 0.2, 0.3], GOOD, GOOD), {"attack": "pool"}, "alpha must be given"),
        (([0.1, 0.2, 0.3], GOOD, GOOD), {"attack": "pool", "alpha": -1.0}, "alpha must be a finite number"),
        (([0.1, 0.2, 0.3], GOOD, GOOD), {"attack": "gaussian"}, "sigma_max must be given"),
        (([0.1, 0.2, 0.3], GOOD, GOOD), {"attack": "homer", "threshold": "paper"}, "'empirical'"),
        (([0.1, 0.2, 0.3], GOOD, GOOD), {"threshold": "best"}, "threshold must be one of"),
        (([0.1, 0.2, 0.3], GOOD, GOOD), {"coding": "letters"}, "coding must be"),
        (([0.1, 0.2, 0.3], GOOD, GOOD), {"n": 0}, "n must be"),
        (([0.1, 0.2, 0.3], GOOD, GOOD), {"alleles": "sums"}, "alleles must be 'frequencies' or 'counts'"),
        (([0.1, 0.2, 0.3], [["a", "b", "c"]], GOOD), {}, "targets must be an array of numbers"),
    ],
)
def test_bad_input_is_one_sentence(arguments, options, says):
    with pytest.raises(ta.InvalidInput, match=says) as error:
        ta.trace(*arguments, **options)
    assert "\n" not in str(error.value)


def test_too_few_reference_people_and_copies_are_noticed():
    rng = np.random.default_rng(0)
    people = draw(np.zeros(50), 8, rng)
    tracing = ta.trace(people[:3].mean(axis=0), people[:5], people[4:], threshold="empirical")
    assert not tracing.member.any()
    assert tracing.threshold == math.inf
    assert any("can name nobody" in note for note in tracing.notes)
    assert any("are also reference people" in note for note in tracing.notes)


def test_a_release_of_tables_is_refused(fair):
    with pytest.raises(ta.InvalidInput, match=r"a release of Means\(\)"):
        ta.trace(ta.publish(fair, ta.Marginals(2)), GOOD, GOOD)
