"""Scores: an attack compared with the truth and with what one would have guessed anyway."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array, IntArray
from tellall.attack.baselines import Baseline, typical
from tellall.attack.baselines import baselines as all_baselines
from tellall.attack.reconstruct.attack import Reconstruction
from tellall.attack.secret import Code
from tellall.attack.trace.risk import TracingRisk, score_tracing
from tellall.attack.trace.trace import Tracing
from tellall.core.errors import invalid
from tellall.experiment.measures.intervals import NORMAL
from tellall.experiment.measures.risk import Mask, Risk
from tellall.release.protections.protection import Rng, as_rng
from tellall.release.sight import seen_by

__all__ = ["risks_of", "score", "strongest_way"]

_NOTHING_LEARNT = 1e-3


@overload
def score(
    reconstruction: Reconstruction,
    secret: npt.ArrayLike,
    baselines: Sequence[Baseline] | None = None,
    rng: Rng = None,
) -> Risk: ...
@overload
def score(
    reconstruction: Tracing, secret: npt.ArrayLike, baselines: None = None, rng: Rng = None
) -> TracingRisk: ...
def score(
    reconstruction: Any,
    secret: npt.ArrayLike,
    baselines: Sequence[Baseline] | None = None,
    rng: Rng = None,
) -> Risk | TracingRisk:
    """The risk: the attack compared with the truth and with what one would have guessed anyway.

    Parameters
    ----------
    reconstruction
        What `reconstruct` or `trace` returned. For a tracing the secret is who was in the data.
    secret
        The true bits, codes of categories or real numbers, in file order.
    baselines
        Baselines computed before; where not given, all that the release has: majority or median,
        own group, public columns, and a population model on the release's own columns.
    rng
        Taken like every seed, and without effect: nothing in a score is random.

    Notes
    -----
    Baselines and intervals are functions of people and release. A release that moves
    nobody's estimate from the prior by more than 0.001 tells nothing; the attacker then guesses the majority,
    so that pure noise scores the majority's accuracy whatever the secret's rate. Judged are the people whom
    the releases are about, without those whose secret the attacker was told. Of a real secret an
    attacker knows what the strongest baseline says. One keeps to it for everybody whose number the attack
    does not claim to know better, another takes the attack's number for everybody (`risks_of`). The truth has
    no part in what either of them guesses; the one with the larger advantage counts, and its interval is
    corrected for there being two.
    """
    as_rng(rng)
    if isinstance(reconstruction, Tracing):
        return score_tracing(reconstruction, secret)
    if not isinstance(reconstruction, Reconstruction):
        raise invalid("reconstruction", "what ta.reconstruct returns", type(reconstruction).__name__)
    truth = reconstruction.secret.check(secret, reconstruction.n)
    judged = np.flatnonzero(reconstruction.judged)
    if baselines is None:
        public = reconstruction.public
        seen = [
            release.statistic if release.shape == public.shape else seen_by(release, public)
            for release in reconstruction.releases
        ]
        statistics = [statistic for statistic in seen if statistic is not None]
        if judged.size < reconstruction.n:
            statistics = [statistic.take(judged, public) for statistic in statistics]
            public = public.take(judged)
        baselines = all_baselines(statistics, public, truth[judged], reconstruction.secret)
    if not isinstance(baselines, Sequence) or not baselines:
        raise invalid("baselines", "one Baseline or more, or None", baselines)
    if not all(isinstance(baseline, Baseline) for baseline in baselines):
        raise invalid("baselines", "one Baseline or more, or None", baselines)
    if judged.size < reconstruction.n:
        baselines = [one.take(judged) if one.guess.size == reconstruction.n else one for one in baselines]
    (risk,) = strongest_way([risks_of(reconstruction, truth[judged], baselines, judged)])
    return replace(risk, rows=judged, everybody=reconstruction.n)


def risks_of(
    attack: Reconstruction, truth: npt.NDArray[Any], baselines: Sequence[Baseline], judged: IntArray
) -> tuple[Risk, ...]:
    """The risk of the people who are judged, by index, for each way of guessing; the truth is theirs.

    Of bits and categories one way. Of real numbers two: whoever believes what the attack says of its errors
    (`_believing`), and whoever takes its estimate of everybody.
    """
    off = {baseline.name: attack.secret.error(baseline.guess, truth) for baseline in baselines}
    strongest = min(off, key=lambda name: float(off[name].mean()))
    if attack.secret.levels:
        return (_risk_of_codes(attack, truth, baselines, judged, off, strongest),)
    usual = next(baseline for baseline in baselines if baseline.name == strongest)
    widths = {one.name: one.width for one in baselines if one.width is not None}
    fitted = [one.in_sample for one in baselines if one.in_sample is not None]
    estimate = attack.estimate[judged]
    half = np.abs(attack.interval[judged] - estimate[:, None]).max(axis=1)
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
            _fitted_off=attack.secret.error(fitted[0], truth) if fitted else None,
            ways=len(ways),
        )

    return tuple(risk(moved) for moved in ways)


def strongest_way(drawn: Sequence[Sequence[Risk]]) -> list[Risk]:
    """The risk of each draw by one way of guessing for all: that with the largest advantage over all draws.

    Where the ways agree in a draw it has one risk.
    """
    ways = max(len(risks) for risks in drawn)
    found = [[replace(risks[min(way, len(risks) - 1)], ways=ways) for risks in drawn] for way in range(ways)]
    return max(found, key=lambda risks: sum(risk.advantage for risk in risks))


def _risk_of_codes(
    attack: Reconstruction,
    truth: npt.NDArray[Any],
    baselines: Sequence[Baseline],
    judged: IntArray,
    off: Mapping[str, Array],
    strongest: str,
) -> Risk:
    """The risk of bits and categories."""
    guess, confidence = attack.guess[judged], attack.confidence[judged]
    if np.abs(attack.estimate[judged] - attack.prior).max() < _NOTHING_LEARNT:
        usual = typical(truth, attack.secret)
        guess, confidence = usual.guess, usual.chance_of(usual.guess)
    proved = np.full(truth.size, "")
    if isinstance(attack.secret, Code):
        proved = _proofs(attack, attack.secret)[judged]
    contradicted = bool(((proved != "") & (guess != truth)).any())
    return Risk(
        secret=attack.secret,
        baselines={name: 1 - float(errors.mean()) for name, errors in off.items()},
        baseline=strongest,
        _truth=truth,
        _guess=guess,
        _off=attack.secret.error(guess, truth),
        _confidence=confidence,
        _expected=np.max([baseline.chance_of(guess) for baseline in baselines], axis=0),
        _narrowest=np.zeros(0),
        _baseline_off=off,
        _proved=np.full(truth.size, "") if contradicted else proved,
        contradicted=contradicted,
    )


def _believing(half: Array, usual: Baseline) -> Mask:
    """For whom an attacker who believes half-widths takes the attack's number: without a look at the truth.

    They know people as the strongest baseline does, and how far that is off on average. For each
    person they keep to the attack's estimate where it promises a smaller absolute error than the baseline's
    guess has, and to the baseline's guess otherwise. What the attack promises is a standard deviation, the
    largest that the values allow where it is "uncalibrated". An absolute error is √(2/π) of that if it is
    normal, and as large a part as of the baseline's errors if that is more (people of two kinds).
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
    return np.asarray(np.clip(ndtr((off + half) / spread) - ndtr((off - half) / spread), 0.001, 0.999))


def _proofs(attack: Reconstruction, secret: Code) -> npt.NDArray[np.str_]:
    """For each person "group" where one cell of two or more people, all alike, is proof enough; or "alone".

    Notes
    -----
    A cell is a row of A whose entries are all 1, or all −1. Its count, within the error's bound, is zero or
    everybody in it. Of a secret of several values only a full cell says what its people have.
    """
    proved = attack.proved
    if not proved.any():
        return np.where(proved, "alone", "")
    evidence, certain = attack.evidence, attack.evidence.certain
    operator, size = certain.operator, evidence.system.size
    net, reach = operator @ size, operator.squared() @ size
    up, cell = net > 0, (np.abs(np.abs(net) - reach) < 0.5) & (reach >= 2)
    least, most = np.where(up, certain.low, -certain.high), np.where(up, certain.high, -certain.low)
    alike = cell & secret.settles(least > reach - 1, most < 1)
    alike[certain.low.size - (len(evidence.groups) if evidence.values > 1 else 0) :] = False
    turned = np.where(alike, np.sign(net), 0.0)
    touched = np.abs(operator.T @ turned).reshape(evidence.values, -1) > 0.5
    group = np.asarray(touched.any(axis=0))[evidence.groups.index]
    return np.where(proved, np.where(group, "group", "alone"), "")
