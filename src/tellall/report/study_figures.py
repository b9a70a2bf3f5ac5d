"""The figures of a sweep and of a calibration: privacy and utility against noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import nan

from tellall.audits.calibrate import Calibration, Evaluation
from tellall.audits.sweep import Sweep, SweepRow
from tellall.core.amounts import gain, points
from tellall.report.kit.plot import MOST_SERIES, Axis, Figure, Kind, Rule, Series

__all__ = ["calibration_figures", "sweep_figures"]

_OTHERS = "other protections"
_WHISKERS = "Bars are 95 % intervals over people and draws of the noise."
_SHADED = "Shaded areas are 95 % intervals over people and draws of the noise."
_DRAWS = "Shaded areas are 95 % intervals over draws of the noise."
_BELOW = "Values further below zero are not drawn: there the attack does far worse than the baseline."
_LOST = "Mean absolute error of a planned value; a withheld value counts as guessed from its public count."
_ERROR = "mean error, including withheld values"
_LEARNT = (
    "People with a sensitive value who are proved by arithmetic, or about whom the attack is surely right "
    "beyond what any baseline explains"
)
Part = Callable[[SweepRow], float | None]
_DECADES = 20.0  # a scale is logarithmic from this ratio of the largest to the least value


def _std(row: SweepRow) -> float | None:
    return row.std


def _loss(row: SweepRow) -> float | None:
    return row.loss


def _advantage(row: SweepRow) -> float:
    return row.advantage


def _low(row: SweepRow) -> float:
    return row.low


def _high(row: SweepRow) -> float:
    return row.high


_INTERVAL = (_low, _high)


@dataclass(frozen=True)
class _AxisWords:
    """How privacy is measured: as shares of people or, for a real secret, as the error of the guesses."""

    factor: float
    attack_title: str
    attack: str
    attack_axis: Axis
    advantage: str
    advantage_axis: Axis

    @classmethod
    def of(cls, *, real: bool, secret: str) -> _AxisWords:
        if not real:
            return cls(
                100.0,
                "How many are guessed right",
                "The share of people whose secret the attack guesses.",
                Axis("people guessed right", "in 100"),
                "People guessed right beyond the strongest baseline: what the release itself gives away.",
                Axis("advantage", "people in 100"),
            )
        unit = f"unit of {secret}"
        return cls(
            1.0,
            "How far off the guesses are",
            "The mean absolute error of the attack's guesses: lower is less private.",
            Axis("mean absolute error of a guess", unit),
            "How much closer the attack comes than the strongest baseline, in-sample fit left out: what the "
            "release gives away.",
            Axis("advantage", unit),
        )


def sweep_figures(
    found: Sweep, *, limit: float | None = None, exposed_limit: int | None = None
) -> tuple[Figure, ...]:
    """The figures of a sweep: the attack, its advantage and the reader's error against noise; the frontier.

    Notes
    -----
    Of several decoders, the strongest is drawn. A protection without a law of noise
    (suppression, for example) is drawn against its error only. The unprotected release is a rule, because a
    log scale has no zero. A limit is a share of people, so it is not drawn for a real secret. People are
    drawn where their number is limited. Points have the colour of the verdict on their protection.
    """
    words, worst = _AxisWords.of(real=found.real, secret=found.secret), _worst(found.rows)
    exact = next((row for row in worst if row.loss == 0), None)
    noisy = [row for row in worst if row.loss]
    rules = [] if exact is None else [Rule(words.factor * exact.advantage, "unprotected")]
    rules += [] if limit is None or found.real else [Rule(100 * limit, f"limit {points(limit, '')}")]
    random = [row for row in noisy if row.std]
    return (
        *_against_noise(random, exact, rules, words, found.units),
        *([] if found.real else _learnt_against_noise(random, exact, exposed_limit, found.units)),
        *_withheld(noisy, found.units),
        *_frontier(noisy, rules, words, found.units),
    )


def _withheld(rows: Sequence[SweepRow], units: str) -> Iterator[Figure]:
    """How much is withheld by each protection; nothing where everything is shown."""
    if any(row.missing for row in rows):
        yield Figure(
            "What is withheld",
            "The share of the planned values that each protection withholds, against what the reader loses "
            "in all.",
            Axis(_ERROR, units, log=True),
            Axis("values withheld", "in 100", low=0.0),
            _by_family(rows, lambda row: row.missing, x=_loss, kind="points", factor=100.0, judged=True),
        )


def _against_noise(
    rows: Sequence[SweepRow], exact: SweepRow | None, rules: Sequence[Rule], words: _AxisWords, units: str
) -> Iterator[Figure]:
    if not rows:
        return
    noise = _noise(units)
    ends = (lambda row: row.accuracy_low, lambda row: row.accuracy_high)
    families = _by_family(rows, lambda row: row.accuracy, ends, factor=words.factor, most=MOST_SERIES - 1)
    baseline = sorted({row.std or 0.0: words.factor * row.baseline_accuracy for row in rows}.items())
    yield Figure(
        words.attack_title,
        f"{words.attack} {_SHADED} The strongest baseline guesses without the person's own record.",
        noise,
        words.attack_axis,
        (*families, Series("strongest baseline", *zip(*baseline, strict=True))),
        () if exact is None else (Rule(words.factor * exact.accuracy, "unprotected"),),
    )
    axis, note = _cut(rows, words)
    yield Figure(
        "Advantage against noise",
        f"{words.advantage} {_SHADED}{note}",
        noise,
        axis,
        _by_family(rows, _advantage, _INTERVAL, factor=words.factor, judged=True),
        tuple(rules),
    )
    yield Figure(
        "What the reader loses against noise",
        f"{_LOST} {_DRAWS}",
        noise,
        Axis(_ERROR, units, log=True),
        _by_family(rows, _loss, (lambda row: row.loss_low, lambda row: row.loss_high)),
    )
    models = [row for row in rows if row.mae_ratio is not None]
    if models:
        wide = max(row.mae_ratio or 0.0 for row in models) > _DECADES
        yield Figure(
            "Predictions against noise",
            "How many times as far off the models' predictions are as without protection, averaged over "
            "models and draws of the noise.",
            noise,
            Axis("error of a prediction", "times that of the exact model", log=wide),
            _by_family(models, lambda row: row.mae_ratio),
            (Rule(1.0, "unprotected"),),
        )


def _people_axis(counts: Sequence[float], limit: int) -> Axis:
    """From nobody up; one person more or less never fills the chart."""
    return Axis("people with a sensitive value", low=0.0, high=None if max(*counts, limit) >= 5 else 5.0)


def _noise(units: str) -> Axis:
    return Axis("noise on a published value, standard deviation", units, log=True)


def _learnt_against_noise(
    rows: Sequence[SweepRow], exact: SweepRow | None, most: int | None, units: str
) -> Iterator[Figure]:
    if not rows or most is None:
        return
    bare = [] if exact is None else [Rule(exact.learnt, "unprotected")]
    yield Figure(
        "People proved alone or exposed, against noise",
        f"{_LEARNT}; the mean over draws of the noise.",
        _noise(units),
        _people_axis([row.learnt for row in (*rows, *([] if exact is None else [exact]))], most),
        _by_family(rows, lambda row: row.learnt, judged=True),
        (*bare, Rule(most, f"limit {most:,}")),
    )


def _frontier(
    rows: Sequence[SweepRow], rules: Sequence[Rule], words: _AxisWords, units: str
) -> Iterator[Figure]:
    if not rows:
        return
    most = MOST_SERIES - 1
    families = _by_family(
        rows,
        _advantage,
        _INTERVAL,
        x=_loss,
        kind="points",
        factor=words.factor,
        most=most,
        judged=True,
    )
    best = sorted((row.loss or 0.0, words.factor * row.advantage) for row in rows if row.frontier)
    axis, note = _cut(rows, words)
    yield Figure(
        "Privacy against utility",
        "Down is more private, left is more useful. No other protection beats those on the frontier on both "
        "counts; a protection above it can be replaced by a better one, unless the difference is within the "
        f"bars. {_WHISKERS}{note}",
        Axis(_ERROR, units, log=True),
        axis,
        (*families, *([Series("frontier", *zip(*best, strict=True))] if best else [])),
        tuple(rules),
    )


def calibration_figures(found: Calibration, exposed_limit: int | None = None) -> tuple[Figure, ...]:
    """The figures of a calibration: advantage, people and error at every scale tried, limits, the answer."""
    tried = sorted((one for one in found.history if one.scale > 0), key=lambda one: one.scale)
    if not tried:
        return ()
    words = _AxisWords.of(real=found.real, secret=found.secret)
    x = [one.scale for one in tried]
    limit = f"limit {gain(found.max_advantage, found.real, '')}"
    wide = x[-1] > _DECADES * x[0]
    axis = Axis(f"scale of {found.family}", log=wide)
    answer = (Rule(found.scale, f"{found.scale:.4g} is enough", "x"),) if found.scale else ()
    low, high = ([words.factor * one.interval[side] for one in tried] for side in (0, 1))
    advantage = Series(
        "the decoder that gains most",
        x,
        [words.factor * one.advantage for one in tried],
        low=low,
        high=high,
        kind="points",
        verdicts=[one.verdict for one in tried],
    )
    return (
        Figure(
            "Advantage at every scale tried",
            f"{words.advantage} {_WHISKERS} A scale passes if its bar ends under the limit and no more "
            "people are given away than allowed.",
            axis,
            words.advantage_axis,
            (advantage,),
            (Rule(words.factor * found.max_advantage, limit), *answer),
        ),
        *_learnt_at_scales(tried, axis, answer, None if found.real else exposed_limit),
        Figure(
            "What the reader loses at every scale tried",
            _LOST,
            axis,
            Axis(_ERROR, found.units, log=wide and all(one.loss > 0 for one in tried)),
            (Series("mean error", x, [one.loss for one in tried], kind="both"),),
            answer,
        ),
    )


def _learnt_at_scales(
    tried: Sequence[Evaluation], axis: Axis, answer: Sequence[Rule], most: int | None
) -> Iterator[Figure]:
    if most is None:
        return
    x, learnt = [one.scale for one in tried], [one.learnt for one in tried]
    yield Figure(
        "People proved alone or exposed at every scale tried",
        f"{_LEARNT}.",
        axis,
        _people_axis(learnt, most),
        (Series("people", x, learnt, kind="both", verdicts=[one.verdict for one in tried]),),
        (Rule(most, f"limit {most:,}"), *answer),
    )


def _cut(rows: Sequence[SweepRow], words: _AxisWords) -> tuple[Axis, str]:
    """The axis of the advantage, cut as far below zero as it goes above, and a note if it is cut."""
    most = words.factor * max(row.high for row in rows)
    if most <= 0 or words.factor * min(row.low for row in rows) >= -2 * most:
        return words.advantage_axis, ""
    return replace(words.advantage_axis, low=-most), f" {_BELOW}"


def _by_family(
    rows: Sequence[SweepRow],
    y: Part,
    ends: tuple[Part, Part] | None = None,
    *,
    x: Part = _std,
    kind: Kind = "both",
    factor: float = 1.0,
    most: int = MOST_SERIES,
    judged: bool = False,
) -> tuple[Series, ...]:
    """A series for each family; the families beyond the most that can be drawn share one."""

    def at(row: SweepRow) -> float:
        return x(row) or 0.0

    def scaled(several: Sequence[SweepRow], part: Part) -> list[float]:
        return [nan if (value := part(row)) is None else factor * value for row in several]

    families: dict[str, list[SweepRow]] = {}
    for row in sorted(rows, key=at):
        families.setdefault(row.family, []).append(row)
    named = sorted(families, key=lambda family: -len(families[family]))
    if len(named) > most:
        rest = [row for family in named[most - 1 :] for row in families.pop(family)]
        families[_OTHERS] = sorted(rest, key=at)
        named = [*named[: most - 1], _OTHERS]
    return tuple(
        Series(
            family,
            [at(row) for row in families[family]],
            scaled(families[family], y),
            low=scaled(families[family], ends[0]) if ends else (),
            high=scaled(families[family], ends[1]) if ends else (),
            kind="points" if family == _OTHERS else kind,
            verdicts=[row.verdict for row in families[family]] if judged else (),
        )
        for family in named
    )


def _worst(rows: Sequence[SweepRow]) -> list[SweepRow]:
    """For each protection the strongest decoder; on the frontier if any decoder is."""
    chosen: dict[tuple[str, float | None, str], SweepRow] = {}
    for row in rows:
        before = chosen.get(row.choice, row)
        higher = max(before, row, key=lambda one: one.advantage)
        chosen[row.choice] = replace(higher, frontier=before.frontier or row.frontier)
    return list(chosen.values())
