"""Risk: what one attack found about each person, beyond what the strongest baseline would have guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from tellall.attack.baselines import ACCEPTED, Baseline, typical
from tellall.attack.baselines import baselines as all_baselines
from tellall.attack.reconstruct.attack import Reconstruction
from tellall.attack.secret import Code, Secret
from tellall.audits.measures.chance_intervals import CHANCE, EXPLAINED, NORMAL, Luck, gain_interval, luck
from tellall.audits.measures.counts import SMALL
from tellall.core.amounts import amount, digits, percent, points, signed
from tellall.core.checks import whole
from tellall.core.errors import invalid
from tellall.core.shown import InNotebook
from tellall.evidence.query import seen_by
from tellall.linalg.operators.linear_operator import Array, IntArray
from tellall.protections.protection import Rng, as_rng
from tellall.tracing.trace import Tracing
from tellall.tracing.tracing_risk import TracingRisk, score_tracing

__all__ = ["LEVELS", "NUMBER", "Mask", "Risk", "risks_of", "score", "strongest_way"]

LEVELS = (0.95, 0.99)  # confidences at which people are counted as exposed
NUMBER = "number"  # the one value under which people with real secrets are counted
_KNOWN = 0.95  # the chance from which a value that a baseline gives is known anyway
_ODDS = 3.0  # how many times the strongest baseline's odds a sure guess must have
_NOTHING_LEARNT = 1e-3

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Risk(InNotebook):
    """How much a release gives away about these people, by one attack.

    Attributes
    ----------
    secret
        What kind of secret was attacked.
    baselines
        The share that each baseline guesses right; for a real secret, its mean absolute error.
    baseline
        The name of the strongest baseline.
    ways
        Among how many ways of guessing this is the one with the largest advantage; its interval is corrected
        for that.
    tried
        How many attacks were tried on the same releases; the interval is corrected for that, too.
    """

    secret: Secret
    baselines: Mapping[str, float]
    baseline: str
    _truth: npt.NDArray[Any]
    _guess: npt.NDArray[Any]
    _off: Array  # 0 where right and 1 where wrong; for a real secret the absolute error
    _confidence: Array  # for a real secret the half-width of the attack's 95 % interval
    _expected: Array  # the largest probability that a baseline gives to the attack's guess
    _narrowest: Array  # for a real secret the half-width of the narrowest baseline's interval
    _baseline_off: Mapping[str, Array]
    _proved: npt.NDArray[np.str_]  # "alone", "group", "known" (alone, but known anyway) or ""
    _few: Mask  # proved as a group by a cell of fewer people than rules allow, and not known anyway
    _fitted_off: Array | None = None  # how far an ordinary fit to everybody is off
    _trusted: bool = False
    contradicted: bool = False  # a proof that the truth contradicts: the release is about other people
    ways: int = 1
    tried: int = 1
    rows: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))  # who these people are
    everybody: int = 0  # of how many

    @property
    def n(self) -> int:
        """How many people were guessed at."""
        return self._off.size

    @property
    def error(self) -> float:
        """The share of people guessed wrong; for a real secret the mean absolute error."""
        return float(self._off.mean())

    @property
    def accuracy(self) -> float:
        """The share of people guessed right; not a number for a real secret."""
        return 1 - self.error if self.secret.levels else float("nan")

    @property
    def hamming(self) -> int:
        """The number of people guessed wrong."""
        return int((~self.right).sum())

    @property
    def right(self) -> Mask:
        """Who is guessed right; for a real secret, whose number the attack's 95 % interval holds."""
        return self._off == 0 if self.secret.levels else self._off <= self._confidence

    @property
    def gain(self) -> Array:
        """What each person gains over the strongest baseline: its error less the attack's."""
        return self._baseline_off[self.baseline] - self._off

    @property
    def advantage(self) -> float:
        """Accuracy beyond the strongest baseline; for a real secret, how much smaller the error is."""
        return float(self.gain.mean())

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the advantage: paired bootstrap over people; see `gain_interval`."""
        return gain_interval(self.gain, largest=self.largest, chance=CHANCE / (self.ways * self.tried))

    @property
    def largest(self) -> float:
        """The most that one person can gain or lose, among those whose gain is not zero."""
        if self.secret.levels:
            return 1.0
        moved = self.gain != 0
        both = self._off[moved], self._baseline_off[self.baseline][moved]
        return float(np.max(both, initial=0.0))

    @property
    def beyond_fit(self) -> Array:
        """For a real secret, what each person gains over an ordinary fit to people with them in it.

        That fit is the population baseline's model without leaving anybody out. If it is no nearer than the
        strongest baseline, or not known, this is the `gain`.
        """
        if (
            self.secret.levels
            or self._fitted_off is None
            or self._fitted_off.mean() >= self._baseline_off[self.baseline].mean()
        ):
            return self.gain
        return self._fitted_off - self._off

    @property
    def in_sample(self) -> float:
        """The part of a real secret's advantage that an ordinary fit has because everybody is in it.

        It measures how well a model fits, and says nothing about single people: one regression on a few
        columns gives away nothing else.
        """
        return max(0.0, min(self.advantage, self.advantage - float(self.beyond_fit.mean())))

    @property
    def values(self) -> tuple[str, ...]:
        """The values of the secret, as counts by value name them."""
        return tuple(map(str, range(self.secret.levels))) or (NUMBER,)

    def sure(self, level: float = LEVELS[0]) -> Mask:
        """Who is guessed with this confidence and at least three times the strongest baseline's odds.

        Whoever is known anyway is not among them. For a real secret: whose 95 % interval is at most a third
        as wide as the narrowest baseline's.
        """
        if not 0.5 <= level <= 1:
            raise invalid("level", "a confidence from 0.5 to 1", level)
        if not self.secret.levels:
            from scipy.special import ndtri

            wider = float(ndtri(0.5 + level / 2)) / NORMAL
            return np.asarray(wider * self._confidence <= self._narrowest / _ODDS)
        return self._surer(level) & (self._expected < _KNOWN)

    def _surer(self, level: float) -> Mask:
        """Who is guessed with this confidence and odds, known anyway or not."""
        return np.asarray((self._confidence >= level) & self._moved(_ODDS))

    def _moved(self, times: float) -> Mask:
        """Whose odds the attack puts at so many times the strongest baseline's, or more."""
        chance = np.minimum(self._confidence, 1 - 1e-15)
        odds, usual = chance / (1 - chance), self._expected / (1 - self._expected)
        return np.asarray(odds >= times * usual)

    @cached_property
    def luck(self) -> Luck:
        """How often guesses are right about those whom the attack moves, and how often luck would make them.

        These are the people whose odds it puts at three times the strongest baseline's, however sure it is of
        them: the sure ones alone are often too few to tell. For a real secret they are the sure ones.
        """
        sure = self.sure()
        moved = self._moved(_ODDS) if self.secret.levels else sure
        parts = []
        for some in (sure, moved):
            expected = np.sort(self._expected[some])  # summed the same in whatever order people are
            parts.append((int(some.sum()), int((self.right & some).sum()), expected))
        (number, right, expected), (most, most_right, law) = parts
        chance = luck(law, most_right)
        return Luck(number, right, float(expected.sum()), chance, most, most_right, float(law.sum()))

    def exposed_people(self, level: float = LEVELS[0]) -> Mask:
        """Who is exposed: guessed right and surely, beyond luck, and not proved as a group.

        Where luck explains what the attack moves, only those count whose odds a posterior that passed its own
        checks multiplies so much that luck does it to anybody in one of a hundred such releases.

        Notes
        -----
        The odds of a guess against a baseline are at most multiplied by what the release says for it. If the
        guess is wrong, it says K times as much for it with a chance of at most 1/K. Of n people that happens
        to none with a chance of 0.99 if K = 100 n.
        """
        learnt = self.right & self.sure(level) & (self._proved != "group")
        if self.luck.explained:
            learnt &= self._trusted & self._moved(self.n / EXPLAINED)
        return np.asarray(learnt)

    @property
    def exposed(self) -> int:
        """The number of people exposed at confidence 0.95."""
        return self.exposed_at(LEVELS[0])

    def exposed_at(self, level: float, value: int | None = None) -> int:
        """How many people are exposed at this confidence; with ``value``, of those who have that value."""
        return int((self.exposed_people(level) & self._of(value)).sum())

    @property
    def proved_alone(self) -> int:
        """How many people are proved, not by a single cell of people all alike, and were not known anyway."""
        return int((self._proved == "alone").sum())

    @property
    def proved_group(self) -> int:
        """How many people are proved because one published cell of two or more shows them all alike."""
        return int((self._proved == "group").sum())

    @property
    def proved_alone_by_value(self) -> dict[str, int]:
        """The people proved alone, by the value of their secret."""
        return self._by_value(self._proved == "alone")

    @property
    def proved_group_by_value(self) -> dict[str, int]:
        """The people proved as a group, by the value of their secret."""
        return self._by_value(self._proved == "group")

    @property
    def proved_few_by_value(self) -> dict[str, int]:
        """Of those proved as a group, the people in cells of too few, by the value of their secret.

        Whoever is known anyway is not among them.
        """
        return self._by_value(self._few)

    @property
    def learnt(self) -> Mask:
        """Whose own record is given away: proved alone, or in a cell of too few, or exposed."""
        return np.asarray((self._proved == "alone") | self._few | self.exposed_people())

    @property
    def learnt_by_value(self) -> dict[str, int]:
        """The people whose own record is given away, by the value of their secret."""
        return self._by_value(self.learnt)

    @property
    def known_by_value(self) -> dict[str, int]:
        """The people known anyway, by the value of their secret.

        They are proved alone, or guessed surely and rightly, to have a value that a baseline gave with a
        chance of 0.95 or more: the release does not disclose it.
        """
        if not self.secret.levels:
            return self._by_value(np.zeros(self.n, dtype=bool))
        sure = self.right & self._surer(LEVELS[0]) & (self._expected >= _KNOWN) & (self._proved == "")
        return self._by_value((self._proved == "known") | sure)

    def named(self, level: float = LEVELS[0], value: int = 1) -> tuple[int, int]:
        """How many are said with this confidence to have this value, and how many of those do."""
        said = (self._guess == value) & (self._confidence >= level)
        return int(said.sum()), int((said & self.right).sum())

    def found(self, value: int = 1) -> float:
        """The share of the people with this value who are guessed to have it."""
        people = self._of(value)
        return float(self.right[people].mean()) if people.any() else float("nan")

    def _of(self, value: int | None) -> Mask:
        if value is None:
            return np.ones(self.n, dtype=bool)
        if isinstance(value, bool) or value not in range(self.secret.levels):
            raise invalid("value", f"from 0 to {self.secret.levels - 1}, or None", value)
        return np.asarray(self._truth == value)

    def _by_value(self, people: Mask) -> dict[str, int]:
        if not self.secret.levels:
            return {NUMBER: int(people.sum())}
        counts = np.bincount(self._truth[people].astype(np.intp), minlength=self.secret.levels)
        return dict(zip(self.values, counts.tolist(), strict=True))

    def spread(self, each: npt.NDArray[np.generic], nothing: object) -> npt.NDArray[Any]:
        """What holds of each of these people, for everybody; ``nothing`` for people who are not judged."""
        out = np.full(self.everybody, nothing, dtype=each.dtype)
        out[self.rows] = each
        return out

    def __repr__(self) -> str:
        low, high = self.interval
        usual = self.baselines[self.baseline]
        if not self.secret.levels:
            return (
                f"Risk: {self.n} real numbers known with mean absolute error {digits(self.error)}; strongest "
                f"baseline ({self.baseline}) {digits(usual)}; advantage {signed(self.advantage)} "
                f"[{signed(low)}, {signed(high)}], {digits(self.in_sample)} of it in-sample fit; "
                f"{self.exposed} people exposed"
            )
        return (
            f"Risk: {percent(self.accuracy)} of {self.n} people right; strongest baseline ({self.baseline}) "
            f"{percent(usual)}; advantage {amount(self.advantage, False, '+')} "
            f"[{points(low)}, {points(high)}]; "
            f"{self.proved_alone + self.proved_group} people proved, {self.exposed} exposed"
        )


@overload
def score(
    reconstruction: Reconstruction,
    secret: npt.ArrayLike,
    baselines: Sequence[Baseline] | None = None,
    rng: Rng = None,
    *,
    tried: int = 1,
) -> Risk: ...
@overload
def score(
    reconstruction: Tracing,
    secret: npt.ArrayLike,
    baselines: None = None,
    rng: Rng = None,
    *,
    tried: int = 1,
) -> TracingRisk: ...
def score(
    reconstruction: object,
    secret: npt.ArrayLike,
    baselines: Sequence[Baseline] | None = None,
    rng: Rng = None,
    *,
    tried: int = 1,
) -> Risk | TracingRisk:
    """The risk: the attack compared with the truth and with what one would have guessed anyway.

    Parameters
    ----------
    reconstruction
        What `reconstruct` or `trace` returned. For a tracing the secret is who was in the data.
    secret
        The true bits, codes of categories or real numbers, in file order.
    baselines
        Baselines computed before; by default all that the release has: majority or median, own group, public
        columns, those that the release does not use, a population model on the release's own columns, the
        attack's own prior if it has one for each person, and all of these together.
    rng
        Accepted like every seed, but without effect: nothing in a score is random.
    tried
        How many attacks were tried on the same releases: the interval of the advantage is corrected for that.
        An audit tries several (``len(finding.outcomes)``); with their number the interval is the audit's.

    Notes
    -----
    Baselines and intervals are functions of people and release. A release that moves nobody's estimate from
    the prior by more than 0.001 tells nothing; the attacker then guesses the majority, so that pure noise
    scores the majority's accuracy whatever the secret's rate. The people judged are those whom the releases
    are about, except those whose secret the attacker was told. For a real secret, an attacker knows what the
    strongest baseline says and can guess in two ways: keep to it for everybody whom the attack does not claim
    to know better, or take the attack's number for everybody (`risks_of`). Neither uses the truth; the one
    with the larger advantage counts, and its interval is corrected for there being two.
    """
    as_rng(rng)
    whole("tried", tried, least=1)
    if isinstance(reconstruction, Tracing):
        return score_tracing(reconstruction, secret)
    if not isinstance(reconstruction, Reconstruction):
        raise invalid("reconstruction", "what ta.reconstruct returns", type(reconstruction).__name__)
    truth = reconstruction.secret.check(secret, reconstruction.n)
    judged = np.flatnonzero(reconstruction.judged)
    if baselines is None:
        public = reconstruction.public
        seen = [seen_by(release, public) for release in reconstruction.releases]
        queries = [query for query in seen if query is not None]
        if judged.size < reconstruction.n:
            queries = [query.take(judged, public) for query in queries]
            public = public.take(judged)
        own = reconstruction.prior
        prior = own[judged] if isinstance(own, np.ndarray) else None
        baselines = all_baselines(queries, public, truth[judged], reconstruction.secret, prior)
    if not isinstance(baselines, Sequence) or not baselines:
        raise invalid("baselines", "one Baseline or more, or None", baselines)
    if not all(isinstance(baseline, Baseline) for baseline in baselines):
        raise invalid("baselines", "one Baseline or more, or None", baselines)
    if judged.size < reconstruction.n:
        baselines = [one.take(judged) if one.guess.size == reconstruction.n else one for one in baselines]
    (risk,) = strongest_way([risks_of(reconstruction, truth[judged], baselines, judged)])
    return replace(risk, rows=judged, everybody=reconstruction.n, tried=tried)


def risks_of(
    attack: Reconstruction,
    truth: npt.NDArray[np.generic],
    baselines: Sequence[Baseline],
    judged: IntArray,
    least: int = SMALL,
) -> tuple[Risk, ...]:
    """The risk for each way of guessing; ``judged`` are the people by index, ``truth`` is their secret.

    Cells of fewer people than ``least`` give each of them away if all are alike.
    There is one way for bits and categories. There are two for real numbers: to believe what the attack says
    about its errors (`_believing`), and to take its estimate for everybody.
    """
    off = {baseline.name: attack.secret.error(baseline.guess, truth) for baseline in baselines}
    strongest = min(off, key=lambda name: float(off[name].mean()))
    if attack.secret.levels:
        return (_risk_of_codes(attack, truth, baselines, judged, least, off, strongest),)
    usual = next(baseline for baseline in baselines if baseline.name == strongest)
    widths = {one.name: one.width for one in baselines if one.width is not None}
    fitted = [one.in_sample for one in baselines if one.in_sample is not None]
    estimate = attack.estimate[judged]
    half = np.abs(attack.interval[judged] - estimate[:, None]).max(axis=1)
    if not attack.sized:
        half = np.full_like(half, np.inf)
    believed = _believing(half, usual)
    ways = (believed,) if believed.all() else (believed, np.ones_like(believed))

    def risk(moved: Mask) -> Risk:
        guess, confidence = np.where(moved, estimate, usual.guess), np.where(moved, half, widths[strongest])
        return Risk(
            secret=attack.secret,
            baselines={name: float(errors.mean()) for name, errors in off.items()},
            baseline=strongest,
            _truth=truth,
            _guess=guess,
            _off=attack.secret.error(guess, truth),
            _confidence=confidence,
            _expected=np.max([_chance_within(one, guess, confidence) for one in baselines], axis=0),
            _narrowest=np.min(list(widths.values()), axis=0),
            _baseline_off=off,
            _proved=np.full(truth.size, ""),
            _few=np.zeros(truth.size, dtype=bool),
            _fitted_off=attack.secret.error(fitted[0], truth) if fitted else None,
            ways=len(ways),
        )

    return tuple(risk(moved) for moved in ways)


def strongest_way(drawn: Sequence[Sequence[Risk]]) -> list[Risk]:
    """The risk of each draw, for the one way of guessing that has the largest advantage over all draws.

    A draw in which the ways agree has one risk.
    """
    ways = max(len(risks) for risks in drawn)
    found = [[replace(risks[min(way, len(risks) - 1)], ways=ways) for risks in drawn] for way in range(ways)]
    return max(found, key=lambda risks: sum(risk.advantage for risk in risks))


def _risk_of_codes(
    attack: Reconstruction,
    truth: npt.NDArray[np.generic],
    baselines: Sequence[Baseline],
    judged: IntArray,
    least: int,
    off: Mapping[str, Array],
    strongest: str,
) -> Risk:
    """The risk of bits and categories."""
    guess, confidence = attack.guess[judged], attack.confidence[judged]
    own = isinstance(attack.prior, np.ndarray)  # then the prior is a baseline, and needs no other guess
    if not own and np.abs(attack.estimate[judged] - attack.prior).max() < _NOTHING_LEARNT:
        usual = typical(truth, attack.secret)
        guess, confidence = usual.guess, usual.chance_of(usual.guess)
    proved, few = np.full(truth.size, ""), np.zeros(truth.size, dtype=bool)
    if isinstance(attack.secret, Code):
        proved, few = (each[judged] for each in _proofs(attack, attack.secret, least))
    contradicted = bool(((proved != "") & (guess != truth)).any())
    expected = np.max([baseline.chance_of(guess) for baseline in baselines], axis=0)
    proved = np.where((proved == "alone") & (expected >= _KNOWN), "known", proved)
    for one in baselines:
        if one.name == ACCEPTED:  # what the curator accepts is known of groups too
            proved = np.where((proved == "group") & (one.chance_of(guess) >= _KNOWN), "known", proved)
    fitted = [one.in_sample for one in baselines if one.in_sample is not None]
    return Risk(
        secret=attack.secret,
        baselines={name: 1 - float(errors.mean()) for name, errors in off.items()},
        baseline=strongest,
        _truth=truth,
        _guess=guess,
        _off=attack.secret.error(guess, truth),
        _confidence=confidence,
        _expected=expected,
        _narrowest=np.zeros(0),
        _baseline_off=off,
        _proved=np.full(truth.size, "") if contradicted else proved,
        _few=few & (expected < _KNOWN) & (not contradicted),
        _fitted_off=attack.secret.error(fitted[0], truth) if fitted else None,
        _trusted=attack.status.word == "trusted",
        contradicted=contradicted,
    )


def _believing(half: Array, usual: Baseline) -> Mask:
    """For whom an attacker who believes the half-widths takes the attack's number; the truth is not used.

    Such an attacker knows the strongest baseline's guesses, and how far off they are on average. For each
    person they take the attack's estimate if it promises a smaller absolute error than the baseline's guess,
    and the baseline's guess otherwise. What the attack promises is a standard deviation, or the largest that
    the values allow if it is "uncalibrated". An absolute error is √(2/π) of that if it is normal, or the same
    part as for the baseline's errors if that is more (people of two kinds).
    """
    assert usual.expected is not None
    assert usual.root is not None
    part = np.maximum(np.sqrt(2 / np.pi), usual.expected / np.maximum(usual.root, 1e-300))
    return np.asarray(part * half / NORMAL < usual.expected)


def _chance_within(baseline: Baseline, guess: Array, half: Array) -> Array:
    """The probability, by a normal law, that a baseline gives to a number this near to the guess."""
    from scipy.special import ndtr

    assert baseline.width is not None
    spread = np.maximum(baseline.width / NORMAL, 1e-300)
    off = guess - baseline.guess
    with np.errstate(over="ignore"):  # a baseline that is never off
        low, high = (off - half) / spread, (off + half) / spread
    return np.asarray(np.clip(ndtr(high) - ndtr(low), 0.001, 0.999))


def _proofs(attack: Reconstruction, secret: Code, least: int) -> tuple[npt.NDArray[np.str_], Mask]:
    """For each person "group" if one cell of two or more people, all alike, proves them; or "alone", or "".

    Also who is proved by such a cell of fewer than ``least`` people.

    Notes
    -----
    A cell is a row of A whose entries are all 1, or all −1. Its count, within the error's bound, is zero or
    everybody in it. For a secret of several values, only a full cell says what its people have.
    """
    proved = attack.proved
    if not proved.any():
        return np.full(proved.size, ""), proved
    evidence, certain = attack.evidence, attack.evidence.certain
    operator, size = certain.operator, evidence.system.size
    net, reach = operator @ size, operator.squared() @ size
    up, cell = net > 0, (np.abs(np.abs(net) - reach) < 0.5) & (reach >= 2)
    lower, upper = np.where(up, certain.low, -certain.high), np.where(up, certain.high, -certain.low)
    alike = cell & secret.settles(lower > reach - 1, upper < 1)
    alike[certain.low.size - (len(evidence.groups) if evidence.values > 1 else 0) :] = False

    def inside(cells: Mask) -> Mask:
        touched = np.abs(operator.T @ np.where(cells, np.sign(net), 0.0)).reshape(evidence.values, -1) > 0.5
        return proved & np.asarray(touched.any(axis=0))[evidence.groups.index]

    return np.where(proved, np.where(inside(alike), "group", "alone"), ""), inside(alike & (reach < least))
