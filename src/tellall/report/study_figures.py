"""The figures of a sweep and of a calibration, from their plain data: privacy and utility against noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tellall.errors import invalid
from tellall.report.plot import MOST_SERIES, Axis, Figure, Rule, Series

__all__ = ["calibration_figures", "sweep_figures"]

Row = dict[str, Any]
_OTHERS = "other protections"
_WHISKERS = "Bars are 95 % intervals over people and draws of the noise."
_SHADED = "Shaded are 95 % intervals over people and draws of the noise."
_DECADES = 20.0  # from this ratio of the largest to the least on, a scale is logarithmic


def sweep_figures(plain: dict[str, Any], *, limit: float | None = None) -> tuple[Figure, ...]:
    """What a sweep shows: accuracy, advantage and error against noise, and the frontier.

    Notes
    -----
    Of several decoders the one with the highest upper limit is drawn. What has no law of noise (suppression,
    say) is drawn against its error alone. The release with nothing done is a rule, since zero is on no log
    scale.
    """
    if plain["real"]:
        raise invalid("sweep", "about bits or categories, to be drawn", "a real secret")
    worst = _worst(plain["rows"])
    exact = [row for row in worst if row["loss"] == 0]
    noisy = [row for row in worst if row["loss"] > 0]
    lawful = [row for row in noisy if row["std"]]
    figures = []
    if lawful:
        noise = Axis("noise on a published value, standard deviation", plain["units"], log=True)
        figures += [
            _accuracy(lawful, exact, noise),
            _advantage(lawful, exact, noise, limit),
            _error(lawful, noise, plain["units"]),
        ]
    if noisy:
        figures.append(_frontier(noisy, exact, plain["units"], limit))
    return tuple(figures)


def calibration_figures(plain: dict[str, Any]) -> tuple[Figure, ...]:
    """What a calibration tried: advantage and error against the scale, the limit and the answer marked."""
    tried = sorted((one for one in plain["history"] if one["scale"] > 0), key=lambda one: one["scale"])
    if not tried:
        return ()
    x = [one["scale"] for one in tried]
    wide = x[-1] > _DECADES * x[0]
    axis = Axis(f"scale of {plain['family']}", log=wide)
    answer = (Rule(plain["scale"], f"{plain['scale']:.4g} is enough", "x"),) if plain["scale"] else ()
    low, high = ([100 * one["interval"][side] for one in tried] for side in (0, 1))
    advantage = Series(
        "the decoder that gains most",
        x,
        [100 * one["advantage"] for one in tried],
        low=low,
        high=high,
        kind="points",
    )
    return (
        Figure(
            "Advantage at every scale tried",
            f"People guessed right beyond the strongest baseline. {_WHISKERS} A scale passes where its bar "
            "ends under the limit.",
            axis,
            Axis("advantage", "people in 100"),
            (advantage,),
            (Rule(100 * plain["max_advantage"], "limit"), *answer),
        ),
        Figure(
            "What the reader loses at every scale tried",
            "Mean absolute error of a published value; one that is not shown counts as zero.",
            axis,
            Axis("mean error", plain["units"], log=wide and all(one["loss"] > 0 for one in tried)),
            (Series("mean error", x, [one["loss"] for one in tried], kind="both"),),
            answer,
        ),
    )


def _accuracy(rows: Sequence[Row], exact: Sequence[Row], noise: Axis) -> Figure:
    drawn = _by_family(rows, "accuracy", ("accuracy_low", "accuracy_high"), most=MOST_SERIES - 1)
    baseline = sorted({row["std"]: 100 * row["baseline_accuracy"] for row in rows}.items())
    guess = Series("strongest baseline", *zip(*baseline, strict=True))
    return Figure(
        "How many are guessed right",
        f"The share of people whose secret the attack guesses. {_SHADED} The strongest baseline is what "
        "one guesses without a person's own record.",
        noise,
        Axis("people guessed right", "in 100"),
        (*drawn, guess),
        _nothing_done(exact, "accuracy"),
    )


def _advantage(rows: Sequence[Row], exact: Sequence[Row], noise: Axis, limit: float | None) -> Figure:
    return Figure(
        "Advantage against noise",
        f"People guessed right beyond the strongest baseline: what the release itself gives away. {_SHADED}",
        noise,
        Axis("advantage", "people in 100"),
        _by_family(rows, "advantage", ("low", "high")),
        (*_nothing_done(exact, "advantage"), *_limit(limit)),
    )


def _error(rows: Sequence[Row], noise: Axis, units: str) -> Figure:
    return Figure(
        "What the reader loses against noise",
        "Mean absolute error of a published value; one that is not shown counts as zero. Shaded are 95 % "
        "intervals over draws of the noise.",
        noise,
        Axis("mean error", units, log=True),
        _by_family(rows, "loss", ("loss_low", "loss_high"), factor=1.0),
    )


def _frontier(rows: Sequence[Row], exact: Sequence[Row], units: str, limit: float | None) -> Figure:
    drawn = _by_family(rows, "advantage", ("low", "high"), x="loss", kind="points", most=MOST_SERIES - 1)
    best = sorted((row["loss"], 100 * row["advantage"]) for row in rows if row["frontier"])
    marked = (Series("frontier", *zip(*best, strict=True)),) if best else ()
    return Figure(
        "Privacy against utility",
        "Down is more private, left is more useful. On the frontier are the protections that no other beats "
        f"in both; what lies above it can be replaced by something better, unless the difference is within "
        f"the bars. {_WHISKERS}",
        Axis("mean error of a published value", units, log=True),
        Axis("advantage", "people in 100"),
        (*drawn, *marked),
        (*_nothing_done(exact, "advantage"), *_limit(limit)),
    )


def _by_family(
    rows: Sequence[Row],
    name: str,
    ends: tuple[str, str],
    *,
    x: str = "std",
    kind: Any = "both",
    factor: float = 100.0,
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
            low=[factor * row[ends[0]] for row in families[family]],
            high=[factor * row[ends[1]] for row in families[family]],
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


def _nothing_done(exact: Sequence[Row], name: str) -> tuple[Rule, ...]:
    return (Rule(100 * exact[0][name], "nothing done"),) if exact else ()


def _limit(limit: float | None) -> tuple[Rule, ...]:
    return () if limit is None else (Rule(100 * limit, "limit"),)
