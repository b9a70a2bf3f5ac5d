"""The figures of a sweep and of a calibration, from their plain data: privacy and utility against noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tellall.report.plot import MOST_SERIES, Axis, Figure, Rule, Series

__all__ = [
    "calibration_figures",
    "sweep_figures",
]

Row = dict[str, Any]
_OTHERS = "other protections"
_WHISKERS = "Bars are 95 % intervals over people and draws of the noise."
_SHADED = "Shaded are 95 % intervals over people and draws of the noise."
_DRAWS = "Shaded are 95 % intervals over draws of the noise."
_BELOW = "Not drawn is what lies further below zero: the attack is then far worse than the baseline."
_LOST = "Mean absolute error of a published value; one that is not shown counts as zero."
_DECADES = 20.0  # from this ratio of the largest to the least on, a scale is logarithmic


@dataclass(frozen=True)
class _Words:
    """How privacy is measured and told: shares of people, or of a real secret how far off its guesses are."""

    factor: float
    attack_title: str
    attack: str
    attack_axis: Axis
    advantage: str
    advantage_axis: Axis

    @classmethod
    def of(cls, plain: dict[str, Any]) -> _Words:
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
            "The mean absolute error of the attack's guesses: the lower, the less private.",
            Axis("mean absolute error of a guess", unit),
            "How much nearer the attack comes than the strongest baseline: what the release gives away.",
            Axis("advantage", unit),
        )


def sweep_figures(plain: dict[str, Any], *, limit: float | None = None) -> tuple[Figure, ...]:
    """What a sweep shows: the attack, its advantage and the reader's error against noise, and the frontier.

    Notes
    -----
    Of several decoders the one with the highest upper limit is drawn. What has no law of noise (suppression,
    say) is drawn against its error alone. The release with nothing done is a rule, since zero is on no log
    scale. A limit is a share of people, and is not drawn where the secret is a real number.
    """
    words = _Words.of(plain)
    limit = None if plain["real"] else limit
    worst = _worst(plain["rows"])
    exact = [row for row in worst if row["loss"] == 0]
    noisy = [row for row in worst if row["loss"] > 0]
    lawful = [row for row in noisy if row["std"]]
    figures = []
    if lawful:
        noise = Axis("noise on a published value, standard deviation", plain["units"], log=True)
        figures += [
            _attack(lawful, exact, noise, words),
            _advantage(lawful, exact, noise, limit, words),
            _error(lawful, noise, plain["units"]),
            *_predictions(lawful, noise),
        ]
    if noisy:
        figures.append(_frontier(noisy, exact, plain["units"], limit, words))
    return tuple(figures)


def calibration_figures(plain: dict[str, Any]) -> tuple[Figure, ...]:
    """What a calibration tried: advantage and error against the scale, the limit and the answer marked."""
    tried = sorted((one for one in plain["history"] if one["scale"] > 0), key=lambda one: one["scale"])
    if not tried:
        return ()
    words, x = _Words.of(plain), [one["scale"] for one in tried]
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
    )
    return (
        Figure(
            "Advantage at every scale tried",
            f"{words.advantage} {_WHISKERS} A scale passes where its bar ends under the limit.",
            axis,
            words.advantage_axis,
            (advantage,),
            (Rule(words.factor * plain["max_advantage"], "limit"), *answer),
        ),
        Figure(
            "What the reader loses at every scale tried",
            _LOST,
            axis,
            Axis("mean error", plain["units"], log=wide and all(one["loss"] > 0 for one in tried)),
            (Series("mean error", x, [one["loss"] for one in tried], kind="both"),),
            answer,
        ),
    )


def _attack(rows: Sequence[Row], exact: Sequence[Row], noise: Axis, words: _Words) -> Figure:
    ends = ("accuracy_low", "accuracy_high")
    drawn = _by_family(rows, "accuracy", ends, factor=words.factor, most=MOST_SERIES - 1)
    baseline = sorted({row["std"]: words.factor * row["baseline_accuracy"] for row in rows}.items())
    guess = Series("strongest baseline", *zip(*baseline, strict=True))
    return Figure(
        words.attack_title,
        f"{words.attack} {_SHADED} The strongest baseline is what one guesses without a person's own record.",
        noise,
        words.attack_axis,
        (*drawn, guess),
        _nothing_done(exact, "accuracy", words),
    )


def _advantage(
    rows: Sequence[Row], exact: Sequence[Row], noise: Axis, limit: float | None, words: _Words
) -> Figure:
    axis, told = _cut(rows, words)
    return Figure(
        "Advantage against noise",
        f"{words.advantage} {_SHADED}{told}",
        noise,
        axis,
        _by_family(rows, "advantage", ("low", "high"), factor=words.factor),
        (*_nothing_done(exact, "advantage", words), *_limit(limit)),
    )


def _error(rows: Sequence[Row], noise: Axis, units: str) -> Figure:
    return Figure(
        "What the reader loses against noise",
        f"{_LOST} {_DRAWS}",
        noise,
        Axis("mean error", units, log=True),
        _by_family(rows, "loss", ("loss_low", "loss_high")),
    )


def _predictions(rows: Sequence[Row], noise: Axis) -> tuple[Figure, ...]:
    """Where coefficients are published, how much further off their predictions are."""
    known = [row for row in rows if row.get("mae_ratio") is not None]
    if not known:
        return ()
    ratios = [row["mae_ratio"] for row in known]
    return (
        Figure(
            "Predictions against noise",
            "How many times further off the models' predictions are than without protection, averaged over "
            "models and draws of the noise.",
            noise,
            Axis("error of a prediction", "times that of the exact model", log=max(ratios) > _DECADES),
            _by_family(known, "mae_ratio"),
            (Rule(1.0, "nothing done"),),
        ),
    )


def _frontier(
    rows: Sequence[Row], exact: Sequence[Row], units: str, limit: float | None, words: _Words
) -> Figure:
    drawn = _by_family(
        rows,
        "advantage",
        ("low", "high"),
        x="loss",
        kind="points",
        factor=words.factor,
        most=MOST_SERIES - 1,
    )
    best = sorted((row["loss"], words.factor * row["advantage"]) for row in rows if row["frontier"])
    marked = (Series("frontier", *zip(*best, strict=True)),) if best else ()
    axis, told = _cut(rows, words)
    return Figure(
        "Privacy against utility",
        "Down is more private, left is more useful. On the frontier are the protections that no other beats "
        f"in both; what lies above it can be replaced by something better, unless the difference is within "
        f"the bars. {_WHISKERS}{told}",
        Axis("mean error of a published value", units, log=True),
        axis,
        (*drawn, *marked),
        (*_nothing_done(exact, "advantage", words), *_limit(limit)),
    )


def _cut(rows: Sequence[Row], words: _Words) -> tuple[Axis, str]:
    """The axis of the advantage, cut as far below zero as it goes above, and what to say of that."""
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
) -> tuple[Series, ...]:
    """A series for each family, those beyond the most that can be told apart in one."""
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
        )
        for family in named
    )


def _worst(rows: Sequence[Row]) -> list[Row]:
    """The decoder with the highest upper limit, of each protection; its mark is any decoder's."""
    chosen: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = (row["family"], row["scale"], row["protection"])
        if key not in chosen or row["high"] > chosen[key]["high"]:
            chosen[key] = {**row, "frontier": row["frontier"] or chosen.get(key, row)["frontier"]}
    return list(chosen.values())


def _nothing_done(exact: Sequence[Row], name: str, words: _Words) -> tuple[Rule, ...]:
    return (Rule(words.factor * exact[0][name], "nothing done"),) if exact else ()


def _limit(limit: float | None) -> tuple[Rule, ...]:
    return () if limit is None else (Rule(100 * limit, "limit"),)
