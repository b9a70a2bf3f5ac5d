"""Reference people of another population are refused, and people of one population are not."""

import numpy as np
import pytest
from tests.conftest import SHARED

import tellall as ta
from tellall.core.errors import InvalidInput
from tellall.tracing import exchangeable
from tellall.tracing.exchangeable import compare_populations
from tellall.tracing.inputs import read_input
from tellall.tracing.tracing_verdict import judge_tracing

GENOMES = SHARED / "data"
POOL = {"attack": "pool", "threshold": "empirical", "coding": "genotypes", "alleles": "frequencies"}


class Populations:
    """Populations that drifted apart from one ancestor (Balding and Nichols), in blocks of linked sites.

    The two alleles of a person at a block's sites come from one of few founders' haplotypes, so that sites of
    a block are strongly dependent.
    """

    def __init__(self, drift, *, blocks=150, linked=10, founders=40, seed=0):
        rng = np.random.default_rng(seed)
        ancestor = rng.uniform(0.1, 0.9, (blocks, linked))
        self.rng, self.blocks = rng, np.arange(blocks)
        haplotypes = rng.random((founders, blocks, linked)) < ancestor
        # founders of a block are common or rare in each population; their shares drift like alleles
        common = np.full((blocks, founders), 1 / founders)
        self.shares = [
            np.array([rng.dirichlet(row * (1 - drift) / drift) for row in common]) if drift else common
            for _ in range(2)
        ]
        self.haplotypes = haplotypes

    def draw(self, which, people):
        total = 0
        for _ in range(2):
            chance = self.rng.random((people, self.blocks.size, 1))
            founder = (self.shares[which].cumsum(axis=1)[None] < chance).sum(axis=2)
            founder = np.minimum(founder, self.haplotypes.shape[0] - 1)
            total = total + self.haplotypes[founder, self.blocks[None, :]].reshape(people, -1)
        return total.astype(np.int8)


def compared(cohort_means, targets, reference, n=None, **options):
    given = read_input(
        cohort_means, targets, reference, coding="genotypes", n=n, clip=True, alleles="frequencies", **options
    )
    return compare_populations(given)


@pytest.mark.parametrize("drift", [0.01, 0.05, 0.1])
@pytest.mark.parametrize("known", [True, False])
def test_a_reference_of_another_population_is_refused(drift, known):
    """20 outsiders of the cohort's population: without the check most are named at a stated rate of 5 %.

    At the least drift the ratio is 2.0 with standard deviation 0.08 (40 seeds), and 1.0 with 0.04 for people
    of one population (200 draws), so what is refused begins near 1.1, over ten standard deviations below. The
    people of one population who pass at the end do so for this seed; 1 of 100 would not.
    """
    found = Populations(drift, seed=int(1000 * drift))
    ours, theirs, own = found.draw(0, 70), found.draw(1, 50), found.draw(0, 50)
    means, options = ours[:50].mean(axis=0) / 2, {**POOL, "n": 50 if known else None}
    with pytest.raises(InvalidInput, match="probably another population") as refused:
        ta.trace(means, ours, theirs, **options)
    assert str(refused.value).startswith("reference must be people of the population")
    assert ("published means" in str(refused.value)) == known
    tracing = ta.trace(means, ours, theirs, **options, anyway=True)
    assert tracing.member[50:].mean() > 0.3  # the harm that is refused
    assert tracing.exchangeability.status == "different"
    assert tracing.exchangeability.anyway
    assert any("probably another population" in note for note in tracing.notes)
    assert judge_tracing(tracing).word == "inconclusive"
    risk = ta.score(tracing, np.arange(70) < 50)
    assert "probably another population" in judge_tracing(tracing, risk).sentence
    fine = ta.trace(means, ours, own, **options)
    assert fine.exchangeability.status == "alike"
    assert fine.notes == ()
    assert judge_tracing(fine).word != "inconclusive"


def test_foreign_targets_are_refused():
    found = Populations(0.05)
    cohort, reference, foreign = found.draw(0, 40), found.draw(0, 40), found.draw(1, 20)
    result = compared(cohort.mean(axis=0) / 2, foreign, reference, n=40)
    assert result.targets.far
    assert not result.means.far


@pytest.mark.parametrize(("pool", "behind", "many"), [(40, 30, 20), (12, 60, 10), (80, 15, 40)])
def test_people_of_one_population_are_rarely_refused(pool, behind, many):
    """At 1 % in all, 14 or more of 200 refusals have a probability below 1e-7 (binomial)."""
    found = Populations(0.0, blocks=60)
    refused = 0
    for _ in range(200):
        people = found.draw(0, behind + many + pool)
        targets = people[: behind + many][found.rng.permutation(behind + many)[:many]]
        result = compared(people[:behind].mean(axis=0) / 2, targets, people[behind + many :], n=behind)
        refused += result.status == "different"
    assert refused < 14


@pytest.mark.parametrize("lacking", [0.05, 0.4])
@pytest.mark.parametrize("side", ["targets", "reference"])
def test_missing_calls_are_no_other_population(lacking, side):
    """At 1 % in all, 11 or more of 100 refusals have a probability below 1e-7 (binomial)."""
    found = Populations(0.0, blocks=60)
    refused = 0
    for _ in range(100):
        people = found.draw(0, 100)
        means = people[:30].mean(axis=0) / 2
        rows = people[30:60] if side == "targets" else people[60:]
        rows[found.rng.random(rows.shape) < lacking] = -1
        refused += compared(means, people[30:60], people[60:], n=30).status == "different"
    assert refused < 11


@pytest.mark.parametrize(
    "protect", [ta.Gaussian(0.05), ta.Laplace(0.03), ta.Rounding(0.1), [ta.Subsample(0.3), ta.Rounding(0.05)]]
)
def test_a_release_says_what_was_done_to_its_means(protect):
    """Declared errors are no other population; the same errors undeclared are."""
    found = Populations(0.0, blocks=60, seed=3)
    cohort, others, reference = found.draw(0, 200), found.draw(0, 20), found.draw(0, 60)
    cohort[0], cohort[1] = 0, 2  # a column without differences is not published
    release = ta.publish(ta.Dataset.from_arrays(cohort), ta.Means(), protect, rng=0)
    options = {"attack": "pool", "threshold": "empirical", "coding": "genotypes"}
    tracing = ta.trace(release, others, reference, **options)
    assert tracing.exchangeability.status == "alike"
    assert tracing.exchangeability.means.people == (60 if isinstance(protect, list) else 200)
    assert tracing.exchangeability.means.p_value > 1e-3
    plain = {"n": 200, "alleles": "counts", "anyway": True, **options}
    undeclared = ta.trace(release.values, others, reference, **plain)
    assert undeclared.exchangeability.means.ratio > tracing.exchangeability.means.ratio + 0.05
    if not isinstance(protect, list):
        declared = ta.trace(release.values, others, reference, **plain, noise=protect)
        assert declared.exchangeability.means == tracing.exchangeability.means


def test_what_cannot_be_checked_is_said():
    found = Populations(0.0, blocks=60)
    cohort, others, reference = found.draw(0, 30), found.draw(0, 20), found.draw(0, 40)
    means = cohort.mean(axis=0) / 2
    for pool in (1, 2, 5, 9):
        said = compared(means, others, reference[:pool], n=30)
        assert said.status == "not checked"
        assert f"{pool} reference" in said.sentence
        assert "named" in said.sentence
    alone = compared(means, others[:1], reference)
    assert alone.status == "not checked"
    assert "1 target is too few, it takes 10, and it is not known how many people" in alone.sentence
    assert compared(means, others[:1], reference, n=30).status == "alike"
    assert compared(means, others, reference).status == "alike"
    unknown = compared(means, others[:3], reference, n=30, noise=ta.Unknown())
    assert "the error of the means is not known" in unknown.sentence
    same = np.repeat(reference[:1], 40, axis=0)
    assert "no attribute varies enough" in compared(means, others, same, n=30).sentence


def test_names_that_nobody_checked_are_for_a_person_to_judge():
    """The theorems assume one population; with one reference person that cannot be seen."""
    rng = np.random.default_rng(0)
    p = rng.uniform(-1, 1, 20_000)
    people = np.where(rng.random((31, p.size)) < (1 + p) / 2, 1, -1)
    arguments = people[:10].mean(axis=0), people[:30], people[30:]
    tracing = ta.trace(*arguments, threshold="hoeffding")
    assert tracing.member[:10].all()
    assert not tracing.member[10:].any()
    verdict = judge_tracing(tracing)
    assert verdict.word == "inconclusive"
    assert verdict.exit_code == 3
    assert "1 reference person is too few" in verdict.sentence
    assert judge_tracing(tracing, ta.score(tracing, np.arange(30) < 10)).word == "traced"
    assert judge_tracing(ta.trace(*arguments, threshold="hoeffding", anyway=True)).word == "traced"


@pytest.mark.parametrize("coding", ["signs", "bits", "genotypes", "reals"])
def test_the_coding_changes_nothing(coding):
    """The same two-valued people in every coding have the same distances."""
    rng = np.random.default_rng(4)
    bits = (rng.random((90, 200)) < rng.uniform(0.3, 0.7, 200)).astype(int)
    slope, start = {"signs": (2, -1), "bits": (1, 0), "genotypes": (2, 0), "reals": (2, -1)}[coding]
    people = slope * bits + start
    means = people[:30].mean(axis=0) / (2 if coding == "genotypes" else 1)
    found = compare_populations(
        read_input(means, people[30:50], people[50:], coding=coding, n=30, clip=False, alleles="frequencies")
    )
    plain = compare_populations(
        read_input(bits[:30].mean(axis=0), bits[30:50], bits[50:], coding="bits", n=30, clip=True)
    )
    for one, other in ((found.means, plain.means), (found.targets, plain.targets)):
        assert one.ratio == pytest.approx(other.ratio, rel=1e-5)
        assert one.p_value == pytest.approx(other.p_value, abs=1e-3)


def test_the_distance_is_the_definition(monkeypatch):
    """Squared distance, scaled, over the mean of the reference's own contrasts: the variances' sum."""
    rng = np.random.default_rng(5)
    people = rng.choice([-1, 1], (60, 300))
    q, targets, reference = people[:20].mean(axis=0), people[20:30], people[30:]
    given = read_input(q, targets, reference, coding="signs", n=20, clip=True)
    found = compare_populations(given)
    w, spread = reference.mean(axis=0), reference.var(axis=0, ddof=1).sum()
    means = ((q - w) ** 2).sum() / (1 / 20 + 1 / 30) / spread
    other = ((targets.mean(axis=0) - w) ** 2).sum() / (1 / 10 + 1 / 30) / spread
    assert found.means.ratio == pytest.approx(means, rel=1e-5)
    assert found.targets.ratio == pytest.approx(other, rel=1e-5)
    from tellall.people.attributes import chunks

    monkeypatch.setattr(chunks, "_BYTES", 1)  # chunks change nothing
    again = compare_populations(given)
    assert again.means.ratio == pytest.approx(means, rel=1e-5)
    assert again.targets.p_value == pytest.approx(found.targets.p_value, abs=1e-3)


def test_many_reference_people_and_sites_are_looked_at_in_part(monkeypatch):
    found = Populations(0.1, blocks=60)
    means = found.draw(0, 50).mean(axis=0) / 2
    monkeypatch.setattr(exchangeable, "_CONTRASTS", 12)
    monkeypatch.setattr(exchangeable, "_FEWEST", 200)
    monkeypatch.setattr(exchangeable, "_CALLS", 100)
    assert compared(means, found.draw(0, 20), found.draw(0, 60), n=50).status == "alike"
    assert compared(means, found.draw(0, 20), found.draw(1, 60), n=50).status == "different"


@pytest.mark.skipif(not (GENOMES / "genotypes.bed").is_file(), reason="the shared genomes are not here")
@pytest.mark.parametrize(("ours", "theirs"), [("FIN", "TSI"), ("GBR", "TSI"), ("TSI", "IBS")])
def test_populations_of_europe(ours, theirs):
    import csv

    pytest.importorskip("bed_reader")
    genomes = ta.genomics.read_genotypes(GENOMES / "genotypes.bed")
    codes = genomes.chunk(0, genomes.shape[1]).codes()
    calls = np.where(codes > 2, -1, codes).astype(np.int8)
    with (GENOMES / "genotypes.pop.csv").open() as file:
        where = np.array([row["population"] for row in csv.DictReader(file)])
    home, abroad = calls[where == ours], calls[where == theirs]
    home = home[np.random.default_rng(0).permutation(len(home))]  # a random split, as the check assumes
    called = (home[:30] >= 0).sum(axis=0)
    means = np.where(home[:30] >= 0, home[:30], 0).sum(axis=0) / np.maximum(2 * called, 1)
    with pytest.raises(InvalidInput, match="probably another population"):
        ta.trace(means, home[:50], abroad[:40], n=30, **POOL)
    named = ta.trace(means, home[:50], abroad[:40], n=30, anyway=True, **POOL).member
    assert named[30:].mean() > 0.2
    fine = ta.trace(means, home[:50], home[50:90], n=30, **POOL)
    assert fine.exchangeability.status == "alike"
    assert fine.member[:30].all()
