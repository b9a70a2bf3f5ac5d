import numpy as np
import pytest

import tellall as ta
from tellall.attack.baselines import Baseline, typical
from tellall.attack.secret import Secret
from tellall.audits.measures.risk import Risk
from tests.conftest import random_people


@pytest.fixture(scope="module")
def attack() -> tuple[ta.Reconstruction, np.ndarray]:
    people = random_people(120, 10, seed=0)
    release = ta.publish(people, ta.Marginals(3), ta.Gaussian(1.0), rng=1)
    return ta.reconstruct(release, people.public), people.secret


def test_the_numbers_are_what_they_say(attack):
    reconstruction, secret = attack
    risk = ta.score(reconstruction, secret)
    assert risk.accuracy == np.mean(reconstruction.guess == secret)
    assert risk.hamming == np.sum(reconstruction.guess != secret)
    assert set(risk.baselines) == {"majority", "public", "own group", "population", "together"}
    assert risk.baselines[risk.baseline] == max(risk.baselines.values())
    assert risk.advantage == pytest.approx(risk.accuracy - max(risk.baselines.values()))
    assert risk.interval[0] < risk.advantage < risk.interval[1]
    assert risk.found(1) == np.mean(reconstruction.guess[secret == 1])
    named, right = risk.named(0.9)
    said = (reconstruction.guess == 1) & (reconstruction.confidence >= 0.9)
    assert (named, right) == (said.sum(), (said & (secret == 1)).sum())


def told(secret: np.ndarray, chance: np.ndarray | float) -> Baseline:
    """A baseline that gives the truth this chance."""
    chances = np.broadcast_to(chance, secret.shape)
    return Baseline("told", secret, np.where(secret == 1, chances, 1 - chances))


def test_sure_guesses_have_three_times_the_odds_of_any_baseline():
    people = random_people(120, 12, seed=0)
    secret = people.secret
    reconstruction = ta.reconstruct(
        ta.publish(people, ta.Marginals(3), ta.Gaussian(0.4), rng=1), people.public, "least-squares"
    )
    usual = np.where(np.arange(secret.size) < 60, 0.9, 0.6)
    risk = ta.score(reconstruction, secret, [told(secret, usual)])
    given = np.where(reconstruction.guess == secret, usual, 1 - usual)
    odds = reconstruction.confidence / np.maximum(1 - reconstruction.confidence, 1e-15)
    sure = (reconstruction.confidence >= 0.95) & (odds >= 3 * given / (1 - given))
    assert np.array_equal(risk.sure(), sure)
    wanted = sure & (reconstruction.guess == secret)
    assert not risk.luck.explained
    assert np.array_equal(risk.exposed_people(), wanted)
    assert risk.exposed == wanted.sum()
    assert risk.exposed_at(0.95, 0) + risk.exposed_at(0.95, 1) == risk.exposed
    assert risk.exposed_at(0.99) <= risk.exposed


def test_what_luck_explains_exposes_nobody(attack):
    """A baseline at .949 and an attack at .951 make nobody exposed, however many are guessed right."""
    reconstruction, secret = attack
    nearly = told(secret, 0.949)
    risk = ta.score(reconstruction, secret, [nearly])
    assert risk.luck.right <= risk.luck.sure
    assert risk.luck.explained
    assert risk.exposed == 0


def test_whom_a_baseline_knows_is_known_anyway(attack):
    """From a chance of 0.95 on, whatever the odds of the attack."""
    reconstruction, secret = attack
    for chance, anyway in ((0.9499, False), (0.95, True), (0.998, True)):
        risk = ta.score(reconstruction, secret, [told(secret, chance)])
        assert (sum(risk.known_by_value.values()) > 0) == (anyway and bool(risk._surer(0.95).any()))
        assert not (anyway and risk.sure().any())


def test_a_baseline_sure_of_the_wrong_value_does_not_hide_anybody(attack):
    reconstruction, secret = attack
    wrong = Baseline("wrong", 1 - secret, np.where(secret == 1, 0.01, 0.99))
    usual = typical(secret, Secret.of(2))
    assert ta.score(reconstruction, secret, [wrong, usual]).exposed == (
        ta.score(reconstruction, secret, [usual]).exposed
    )


def test_people_are_proved_alone_or_as_a_group():
    """Two of three groups of equal people are all alike; a person alone in a cell is proved alone."""
    public = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [5, 5, 5, 1], axis=0)
    secret = np.r_[np.ones(5), np.zeros(5), [1, 0, 1, 0, 0], [1]].astype(int)
    people = ta.Dataset.from_arrays(public, secret)
    risk = ta.score(ta.reconstruct(ta.publish(people, ta.Marginals(3)), people.public), people.secret)
    assert (risk.proved_group, risk.proved_alone) == (10, 1)
    assert risk.proved_group_by_value == {"0": 5, "1": 5}
    assert risk.proved_alone_by_value == {"0": 0, "1": 1}
    assert not risk.exposed_people()[:10].any()  # what a whole group shows exposes nobody alone


def test_four_one_way_tables_of_many_people_expose_nobody():
    """Nobody is singled out by counts of hundreds: the attack and a baseline say nearly the same."""
    rng = np.random.default_rng(3)
    public = rng.integers(0, 3, (300, 4))
    people = ta.Dataset.from_arrays(public, (rng.random(300) < 0.05).astype(int))
    risk = ta.score(ta.reconstruct(ta.publish(people, ta.Marginals(2)), people.public), people.secret)
    assert risk.exposed == 0


def test_a_release_about_other_people_proves_nothing():
    rng = np.random.default_rng(5)
    public = rng.integers(0, 2, (60, 6))
    others = ta.Dataset.from_arrays(public, rng.integers(0, 2, 60))
    attack = ta.reconstruct(ta.publish(others, ta.Marginals(5)), others.public)
    assert (attack.identified == "proved").any()
    risk = ta.score(attack, 1 - others.secret)
    assert risk.contradicted
    assert risk.proved_alone == risk.proved_group == 0


def test_nothing_in_a_score_is_random(attack):
    first, again = ta.score(*attack), ta.score(*attack)
    assert first.interval == again.interval
    assert dict(first.baselines) == dict(again.baselines)


def test_the_baseline_has_no_advantage_over_itself(attack):
    reconstruction, secret = attack
    chance = np.where(reconstruction.guess == 1, reconstruction.confidence, 1 - reconstruction.confidence)
    itself = Baseline("attack", reconstruction.guess, chance)
    risk = ta.score(reconstruction, secret, [itself])
    assert risk.advantage == 0
    assert risk.interval[0] == -risk.interval[1]  # as much for as against, and as wide as 120 people allow
    assert 0.03 < risk.interval[1] < 0.04
    assert risk.exposed == 0


@pytest.mark.parametrize("seed", range(3))
def test_pure_noise_has_no_advantage(seed):
    people = random_people(400, 12, seed=seed)
    release = ta.publish(people, ta.Marginals(3), ta.Gaussian(1e6), rng=seed)
    risk = ta.score(ta.reconstruct(release, people.public), people.secret)
    assert risk.interval[0] <= 0 <= risk.interval[1]
    assert risk.exposed == 0


@pytest.mark.slow
def test_pure_noise_about_real_people_has_no_advantage(nhanes):
    release = ta.publish(nhanes, ta.Marginals(3), ta.Gaussian(1e6), rng=0)
    risk = ta.score(ta.reconstruct(release, nhanes.public), nhanes.secret)
    assert risk.interval[0] <= 0 <= risk.interval[1]
    assert risk.exposed == 0


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("protect", [ta.Gaussian(1e6), ta.Suppression(1e9)], ids=repr)
def test_a_release_that_tells_nothing_scores_nothing_whatever_the_rate(rate, protect):
    rng = np.random.default_rng(1)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (300, 8)), (rng.random(300) < rate).astype(int))
    attack = ta.reconstruct(ta.publish(people, ta.Marginals(3), protect, rng=0), people.public)
    risk = ta.score(attack, people.secret)
    assert risk.interval[0] <= 0 <= risk.interval[1]
    assert risk.exposed == 0


def test_one_holder_or_none_can_be_scored():
    secret = np.zeros(100, dtype=int)
    secret[3] = 1
    people = ta.Dataset.from_arrays(np.random.default_rng(0).integers(0, 2, (100, 8)), secret)
    attack = ta.reconstruct(ta.publish(people, ta.Marginals(3)), people.public)
    assert ta.score(attack, secret).baselines["majority"] == 0.99
    assert ta.score(attack, np.zeros(100)).baselines["majority"] == 1.0


def test_the_text_gives_the_baseline_and_the_interval(attack):
    text = repr(ta.score(*attack))
    assert "strongest baseline" in text
    assert "[" in text


@pytest.mark.parametrize(
    ("secret", "says"),
    [
        (np.zeros(3), "one bit per person"),
        (np.full(120, 2), "bits, 0 or 1"),
        (np.full(120, np.nan), "bits, 0 or 1"),
        (np.array(["a"] * 120), "one bit per person"),
    ],
)
def test_a_bad_secret_is_refused(attack, secret, says):
    with pytest.raises(ta.InvalidInput, match=says):
        ta.score(attack[0], secret)


def test_bad_questions_are_refused(attack):
    risk = ta.score(*attack, [typical(attack[1], Secret.of(2))])
    with pytest.raises(ta.InvalidInput, match="level must be"):
        risk.exposed_at(0.2)
    with pytest.raises(ta.InvalidInput, match="value must be"):
        risk.exposed_at(0.95, 3)
    for wrong in ([], ["majority"]):
        with pytest.raises(ta.InvalidInput, match="baselines must be"):
            ta.score(*attack, wrong)
    with pytest.raises(ta.InvalidInput, match="reconstruction must be"):
        ta.score(None, attack[1])


def with_rule(exceptions: int, n: int = 120):
    """A secret that a public column tells but for some people, and 11 other columns."""
    rng = np.random.default_rng(12)
    column = (rng.random(n) < 0.35).astype(int)
    secret = column.copy()
    secret[:exceptions] ^= 1
    return ta.Dataset.from_arrays(np.column_stack([column, rng.integers(0, 2, (n, 11))]), secret)


@pytest.mark.parametrize("exceptions", [0, 2])
def test_what_everybody_knew_is_not_disclosed_and_exceptions_are(exceptions):
    """Tables of other columns prove nearly everybody: only exceptions were not known before."""
    people = with_rule(exceptions)
    attributes = [(f"a{one}", f"a{other}") for one in range(1, 12) for other in range(1, one)]
    attack = ta.reconstruct(ta.publish(people, ta.Marginals(3, attributes)), people.public)
    risk = ta.score(attack, people.secret)
    rule, alone = np.arange(people.n) >= exceptions, risk._proved == "alone"
    known = risk._proved == "known"
    assert attack.proved.sum() > 100
    assert known[rule].sum() > 100
    assert (risk._expected[alone] < 0.95).all()
    assert alone[rule].sum() <= exceptions  # nobody follows the rule surely where somebody alike breaks it
    assert not risk.exposed_people()[rule].any()
    assert not known[~rule].any()
    assert sum(risk.known_by_value.values()) >= known.sum()
    assert sum(risk.learnt_by_value.values()) == alone.sum() >= (attack.proved & ~rule).sum()


def moved(n: int, times: float, expected: float, right: int, *, trusted: bool = True) -> Risk:
    """An attack on n bits that multiplies everybody's odds, and is right about the first so many."""
    odds = times * expected / (1 - expected)
    hit = np.arange(n) < right
    return Risk(
        secret=Secret.of(2),
        baselines={"majority": 0.5},
        baseline="majority",
        _truth=np.ones(n, dtype=int),
        _guess=hit.astype(int),
        _off=(~hit).astype(float),
        _confidence=np.full(n, odds / (1 + odds)),
        _expected=np.full(n, expected),
        _narrowest=np.zeros(0),
        _baseline_off={"majority": np.zeros(n)},
        _proved=np.full(n, ""),
        _few=np.zeros(n, dtype=bool),
        _trusted=trusted,
    )


def test_luck_is_tested_on_everybody_whose_odds_are_trebled():
    """Sure or not: 40 of 40 guesses at .8 against .55 are no luck, though nobody is sure."""
    assert not moved(40, 4, 0.55, 40).luck.explained
    assert moved(40, 2.9, 0.55, 40).luck.moved == 0
    assert moved(40, 4, 0.55, 24).luck.explained
    found = moved(40, 4, 0.55, 40).luck
    assert (found.sure, found.moved, found.moved_right) == (0, 40, 40)


def test_what_a_checked_posterior_says_overwhelmingly_counts_whatever_luck_explains():
    """Two people can always be right by luck; odds of 100 n times the baseline's cannot be."""
    assert moved(2, 50, 0.6, 2).luck.explained
    assert moved(2, 50, 0.6, 2).exposed == 0
    assert moved(2, 250, 0.6, 2).exposed == 2
    assert moved(2, 250, 0.6, 2, trusted=False).exposed == 0


def test_small_cells_of_people_all_alike_give_each_of_them_away():
    """Of twelve alike in a cell nobody is given away, of three each is, unless a baseline knows them."""
    columns = np.repeat(range(6), [40, 40, 12, 40, 3, 40])
    mixed = [np.arange(40) < ones for ones in (10, 30, 36, 4)]
    secret = np.concatenate([*mixed[:2], np.ones(12), mixed[2], np.ones(3), mixed[3]]).astype(int)
    people = ta.Dataset.from_arrays(columns[:, None], secret)
    release = ta.publish(people, ta.Marginals(2))
    risk = ta.score(ta.reconstruct(release, people.public), people.secret)
    assert risk.proved_group == 15
    assert risk.proved_few_by_value == {"0": 0, "1": 3}
    assert risk.learnt_by_value == {"0": 0, "1": 3}
