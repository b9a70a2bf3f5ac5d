"""The figures of a sweep and of a calibration, from their documents: privacy and utility against noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tellall.core.amounts import gain, points
from tellall.report.plot import MOST_SERIES, Axis, Figure, Rule, Series

__all__ = ["calibration_figures", "sweep_figures"]

Row = dict[str, Any]
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
_DECADES = 20.0  # a scale is logarithmic from this ratio of the largest to the least value


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
    def of(cls, plain: dict[str, Any]) -> _AxisWords:
        if not plain["real"]:
            return cls(
                100.0,
                "How many are guessed right",
                "The share of people whose secret the attack guesses.",
                Axis("people guessed right", "in 100"),
                "People guessed right beyond the strongest baseline: what the release itself gives away.",
                Axis("advantage", "people in 100"),
            )
        unit = f"unit of {plain['secret']}"
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
    plain: dict[str, Any], *, limit: float | None = None, exposed_limit: int | None = None
) -> tuple[Figure, ...]:
    """The figures of a sweep: the attack, its advantage and the reader's error against noise; the frontier.

    Notes
    -----
    Of several decoders, the strongest is drawn. A protection without a law of noise
    (suppression, for example) is drawn against its error only. The unprotected release is a rule, because a
    log scale has no zero. A limit is a share of people, so it is not drawn for a real secret. People are
    drawn where their number is limited. Points have the colour of the verdict on their protection.
    """
    words, worst = _AxisWords.of(plain), _worst(plain["rows"])
    exact = next((row for row in worst if row["loss"] == 0), None)
    noisy = [row for row in worst if row["loss"]]
    rules = [] if exact is None else [Rule(words.factor * exact["advantage"], "unprotected")]
    rules += [] if limit is None or plain["real"] else [Rule(100 * limit, f"limit {points(limit, '')}")]
    random = [row for row in noisy if row["std"]]
    return (
        *_against_noise(random, exact, rules, words, plain["units"]),
        *([] if plain["real"] else _learnt_against_noise(random, exact, exposed_limit, plain["units"])),
        *_withheld(noisy, plain["units"]),
        *_frontier(noisy, rules, words, plain["units"]),
    )


def _withheld(rows: Sequence[Row], units: str) -> Iterator[Figure]:
    """How much is withheld by each protection; nothing where everything is shown."""
    if any(row["missing"] for row in rows):
        yield Figure(
            "What is withheld",
            "The share of the planned values that each protection withholds, against what the reader loses "
            "in all.",
            Axis(_ERROR, units, log=True),
            Axis("values withheld", "in 100", low=0.0),
            _by_family(rows, "missing", x="loss", kind="points", factor=100.0, judged=True),
        )


def _against_noise(
    rows: Sequence[Row], exact: Row | None, rules: Sequence[Rule], words: _AxisWords, units: str
) -> Iterator[Figure]:
    if not rows:
        return
    noise = _noise(units)
    ends = ("accuracy_low", "accuracy_high")
    families = _by_family(rows, "accuracy", ends, factor=words.factor, most=MOST_SERIES - 1)
    baseline = sorted({row["std"]: words.factor * row["baseline_accuracy"] for row in rows}.items())
    yield Figure(
        words.attack_title,
        f"{words.attack} {_SHADED} The strongest baseline guesses without the person's own record.",
        noise,
        words.attack_axis,
        (*families, Series("strongest baseline", *zip(*baseline, strict=True))),
        () if exact is None else (Rule(words.factor * exact["accuracy"], "unprotected"),),
    )
    axis, note = _cut(rows, words)
    yield Figure(
        "Advantage against noise",
        f"{words.advantage} {_SHADED}{note}",
        noise,
        axis,
        _by_family(rows, "advantage", ("low", "high"), factor=words.factor, judged=True),
        tuple(rules),
    )
    yield Figure(
        "What the reader loses against noise",
        f"{_LOST} {_DRAWS}",
        noise,
        Axis(_ERROR, units, log=True),
        _by_family(rows, "loss", ("loss_low", "loss_high")),
    )
    models = [row for row in rows if row.get("mae_ratio") is not None]
    if models:
        wide = max(row["mae_ratio"] for row in models) > _DECADES
        yield Figure(
            "Predictions against noise",
            "How many times as far off the models' predictions are as without protection, averaged over "
            "models and draws of the noise.",
            noise,
            Axis("error of a prediction", "times that of the exact model", log=wide),
            _by_family(models, "mae_ratio"),
            (Rule(1.0, "unprotected"),),
        )


def _people_axis(counts: Sequence[float], limit: int) -> Axis:
    """From nobody up; one person more or less never fills the chart."""
    return Axis("people with a sensitive value", low=0.0, high=None if max(*counts, limit) >= 5 else 5.0)


def _noise(units: str) -> Axis:
    return Axis("noise on a published value, standard deviation", units, log=True)


def _learnt_against_noise(
    rows: Sequence[Row], exact: Row | None, most: int | None, units: str
) -> Iterator[Figure]:
    if not rows or most is None:
        return
    bare = [] if exact is None else [Rule(exact["learnt"], "unprotected")]
    yield Figure(
        "People proved alone or exposed, against noise",
        f"{_LEARNT}; the mean over draws of the noise.",
        _noise(units),
        _people_axis([row["learnt"] for row in (*rows, *([] if exact is None else [exact]))], most),
        _by_family(rows, "learnt", judged=True),
        (*bare, Rule(most, f"limit {most:,}")),
    )


def _frontier(rows: Sequence[Row], rules: Sequence[Rule], words: _AxisWords, units: str) -> Iterator[Figure]:
    if not rows:
        return
    most = MOST_SERIES - 1
    families = _by_family(
        rows,
        "advantage",
        ("low", "high"),
        x="loss",
        kind="points",
        factor=words.factor,
        most=most,
        judged=True,
    )
    best = sorted((row["loss"], words.factor * row["advantage"]) for row in rows if row["frontier"])
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


def calibration_figures(plain: dict[str, Any], exposed_limit: int | None = None) -> tuple[Figure, ...]:
    """The figures of a calibration: advantage, people and error at every scale tried, limits, the answer."""
    tried = sorted((one for one in plain["history"] if one["scale"] > 0), key=lambda one: one["scale"])
    if not tried:
        return ()
    words, x = _AxisWords.of(plain), [one["scale"] for one in tried]
    limit = f"limit {gain(plain['max_advantage'], plain['real'], '')}"
    wide = x[-1] > _DECADES * x[0]
    axis = Axis(f"scale of {plain['family']}", log=wide)
    answer = (Rule(plain["scale"], f"{plain['scale']:.4g} is enough", "x"),) if plain["scale"] else ()
    low, high = ([words.factor * one["interval"][side] for one in tried] for side in (0, 1))
    advantage = Series(
        "the decoder that gains most",
        x,
        [words.factor * one["advantage"] for one in tried],
        low=low,
        high=high,
        kind="points",
        verdicts=[one["verdict"] for one in tried],
    )
    return (
        Figure(
            "Advantage at every scale tried",
            f"{words.advantage} {_WHISKERS} A scale passes if its bar ends under the limit and no more "
            "people are given away than allowed.",
            axis,
            words.advantage_axis,
            (advantage,),
            (Rule(words.factor * plain["max_advantage"], limit), *answer),
        ),
        *_learnt_at_scales(tried, axis, answer, None if plain["real"] else exposed_limit),
        Figure(
            "What the reader loses at every scale tried",
            _LOST,
            axis,
            Axis(_ERROR, plain["units"], log=wide and all(one["loss"] > 0 for one in tried)),
            (Series("mean error", x, [one["loss"] for one in tried], kind="both"),),
            answer,
        ),
    )


def _learnt_at_scales(
    tried: Sequence[Row], axis: Axis, answer: Sequence[Rule], most: int | None
) -> Iterator[Figure]:
    if most is None:
        return
    x, learnt = [one["scale"] for one in tried], [one["learnt"] for one in tried]
    yield Figure(
        "People proved alone or exposed at every scale tried",
        f"{_LEARNT}.",
        axis,
        _people_axis(learnt, most),
        (Series("people", x, learnt, kind="both", verdicts=[one["verdict"] for one in tried]),),
        (Rule(most, f"limit {most:,}"), *answer),
    )


def _cut(rows: Sequence[Row], words: _AxisWords) -> tuple[Axis, str]:
    """The axis of the advantage, cut as far below zero as it goes above, and a note if it is cut."""
    most = words.factor * max(row["high"] for row in rows)
    if most <= 0 or words.factor * min(row["low"] for row in rows) >= -2 * most:
        return words.advantage_axis, ""
    return replace(words.advantage_axis, low=-most), f" {_BELOW}"


def _by_family(
    rows: Sequence[Row],
    name: str,
    ends: tuple[str, str] | None = None,
    *,
    x: str = "std",
    kind: Any = "both",
    factor: float = 1.0,
    most: int = MOST_SERIES,
    judged: bool = False,
) -> tuple[Series, ...]:
    """A series for each family; the families beyond the most that can be drawn share one."""
    families: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row[x]):
        families.setdefault(row["family"], []).append(row)
    named = sorted(families, key=lambda family: -len(families[family]))
    if len(named) > most:
        rest = [row for family in named[most - 1 :] for row in families.pop(family)]
        families[_OTHERS] = sorted(rest, key=lambda row: row[x])
        named = [*named[: most - 1], _OTHERS]
    return tuple(
        Series(
            family,
            [row[x] for row in families[family]],
            [factor * row[name] for row in families[family]],
            low=[factor * row[ends[0]] for row in families[family]] if ends else (),
            high=[factor * row[ends[1]] for row in families[family]] if ends else (),
            kind="points" if family == _OTHERS else kind,
            verdicts=[row["verdict"] for row in families[family]] if judged else (),
        )
        for family in named
    )


def _worst(rows: Sequence[Row]) -> list[Row]:
    """For each protection the strongest decoder; on the frontier if any decoder is."""
    chosen: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = (row["family"], row["scale"], row["protection"])
        before = chosen.get(key, row)
        higher = max(before, row, key=lambda one: one["advantage"])
        chosen[key] = {**higher, "frontier": before["frontier"] or row["frontier"]}
    return list(chosen.values())
