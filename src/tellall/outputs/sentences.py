"""Sentences about recognised outputs, for a checker to confirm or correct."""

from __future__ import annotations

import numpy as np

from tellall.core.amounts import count_of, list_of
from tellall.outputs.releases import hiding_of
from tellall.outputs.search import FittedTable, PanelFit
from tellall.statistics.cell_counts import TOTAL

__all__ = ["differences_of", "nearest_of", "sentence_of", "steps_of"]

_MOST_CELLS = 4


def sentence_of(fitted: FittedTable) -> str:
    """What a table is, in a sentence without an end: "counts of ill by sex and age, rounded to 5"."""
    names = [axis.variable.name for axis in fitted.axes]
    secret = [axis.variable.name for axis in fitted.axes if axis.variable.secret]
    said = list_of(_parts(fitted)) or "a table"
    target = any(fit.measure.target is not None for fit in fitted.fits)
    if secret and not target:
        said += f" of {secret[0]}"
        names = [name for name in names if name not in secret]
    if names:
        said += f" by {list_of(names)}"
    over = {tuple(sorted(fit.measure.over)) for fit in fitted.fits if fit.measure.kind == "share"} - {()}
    if len(over) == 1 and len(fitted.axes) > 1:
        (places,) = over
        inside = [axis.variable.name for at, axis in enumerate(fitted.axes) if at not in places]
        said += f", of the people with each {list_of(inside)}" if inside else ", of all"
    if fitted.where:
        said += f", for people with {fitted.where}"
    gone = _left_out(fitted)
    if gone:
        said += f", without people who have no {gone}"
    return ", ".join([said, *steps_of(fitted)])


def _parts(fitted: FittedTable) -> list[str]:
    """What is shown: the kinds of number of each column, each column once."""
    kinds: dict[str, list[str]] = {}
    for fit in fitted.fits:
        measure = fit.measure
        column = ""
        if measure.target is not None:
            value = "" if measure.value is None else f" = {measure.target.texts[measure.value]}"
            column = f" of {measure.target.name}{value}"
        kinds.setdefault(column, []).append(measure.words)
    return [f"{list_of(list(dict.fromkeys(words)))}{column}" for column, words in kinds.items()]


def _left_out(fitted: FittedTable) -> str:
    if fitted.whole == "all":
        return ""
    names = [
        a.variable.name for a in fitted.axes if not np.array_equal(a.total(fitted.whole), a.total("all"))
    ]
    return " or ".join(names)


def steps_of(fitted: FittedTable) -> tuple[str, ...]:
    """What was done to the numbers, as far as they say."""
    found: list[str] = []
    for fit in fitted.fits:
        hidden = hiding_of(fit)
        if hidden is not None:
            found.append(f"cells under {hidden.threshold:g} hidden")
            if hidden.complementary:
                found.append("others hidden to protect them")
        if fit.base is not None:
            found.append(f"rounded to {fit.base:g}")
            ties = _ties(fit)
            if ties:
                found.append(ties)
    return tuple(dict.fromkeys(found))


def _ties(fit: PanelFit) -> str:
    """Which rules for halves fit; empty if there are none."""
    assert fit.base is not None
    over = fit.expected.values / fit.base
    half = fit.shown & (np.abs(over - np.floor(over) - 0.5) < 1e-9)
    if not half.any():
        return ""
    up = fit.numbers[half] > fit.expected.values[half]
    even = np.floor(over[half]) % 2 == 1
    rules = []
    if up.all():
        rules.append("up")
    if np.array_equal(up, even):
        rules.append("to even")
    if (~up).all():
        rules.append("down")
    return f"halves {' or '.join(rules)}" if rules else "halves either way"


def nearest_of(fitted: FittedTable) -> str:
    """The nearest explanation of a table that does not agree in every cell, and what differs."""
    agree, shown = fitted.agreeing
    off = []
    for fit in fitted.fits:
        wrong = fit.shown & ~fit.agrees
        off += np.abs(fit.numbers - fit.expected.values)[wrong].tolist()
    if not agree:
        return f"no cell agrees with these people; its labels would be those of {sentence_of(fitted)}"
    said = f"the nearest is {sentence_of(fitted)}: {shown - agree} of {count_of(shown, 'cell')}"
    if not off:
        return f"{said} differ in what is hidden"
    most = np.nanmax(off) if not np.isnan(off).all() else np.nan
    same = np.allclose(off, most)
    by = f" by {'' if same else 'at most '}{most:g}" if np.isfinite(most) else ""
    version = ": another version of the data?" if shown - agree <= max(3, shown // 4) else ""
    return f"{said} {'differs' if shown - agree == 1 else 'differ'}{by}{version}"


def differences_of(first: FittedTable, other: FittedTable) -> tuple[str, ...]:
    """Cells whose numbers are others under a second meaning, before rounding and hiding."""
    found = []
    for one, two in zip(first.fits, other.fits, strict=False):
        if len(one.expected.values) != len(two.expected.values):
            continue
        same = np.isclose(one.expected.values, two.expected.values, equal_nan=True)
        for at in np.flatnonzero(~same)[:_MOST_CELLS]:
            place = _place(first, one, int(at))
            found.append(f"{place}: {one.expected.values[at]:.6g} or {two.expected.values[at]:.6g}")
    return tuple(found)


def _place(fitted: FittedTable, fit: PanelFit, at: int) -> str:
    words = [
        f"{axis.variable.name} {axis.labels[code]}"
        for axis, code in zip(fitted.axes, fit.panel.codes[at], strict=True)
        if code != TOTAL
    ]
    return ", ".join(words) or "all"
