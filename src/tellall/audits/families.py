"""Families: protections of one kind with a single number, its scale; a larger one protects more."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tellall.core.checks import at_least_zero
from tellall.core.errors import InvalidInput, invalid
from tellall.core.text import said
from tellall.protections.additive import TruncatedNormal
from tellall.protections.calibrated import SuLQ
from tellall.protections.protection import Protection, as_protections
from tellall.protections.record_changes import Subsample, Swapping
from tellall.release import catalogue

__all__ = [
    "CUT",
    "DELTA",
    "NAMELESS",
    "STRIDE",
    "Family",
    "as_family",
    "least_scale",
]

# The least scale that passes, in few tries: a bracket on the log scale, then bisection.

STRIDE = 4.0  # between two tries of the bracket
_DOWN = 3  # strides down before zero is tried


def least_scale(
    passes: Callable[[float], bool],
    start: float,
    *,
    most: float,
    tolerance: float,
    tries: int,
    expects: Callable[[int], object] | None = None,
) -> float | None:
    """A scale that passes while one at most ``1 + tolerance`` times smaller does not; None if none passes.

    Notes
    -----
    From the start by factors of four until one scale fails and one passes, then halving the interval on the
    log scale: a factor of four takes log₂(ln 4/ln(1 + tolerance)) tries, five for 5 %. Zero is tried once
    three strides down have all passed. If the tries run out first, the answer is the least scale that passed.
    Whatever is returned has passed; it is the least if every scale above a passing one passes too. Before
    each try ``expects`` is called with about how many tries are still to come, this one included.

    Examples
    --------
    >>> round(least_scale(lambda scale: scale >= 7.3, 1.0, most=1e9, tolerance=0.05, tries=15), 2)
    7.34
    """
    told: Callable[[int], object] = expects or (lambda _: None)
    in_a_stride = math.ceil(math.log2(max(2.0, math.log(STRIDE) / math.log1p(tolerance))))
    left = tries - in_a_stride
    low, high = 0.0, math.inf
    scale, strides = min(start, most), 0
    while left > 0:
        left -= 1
        told(_expected(strides, in_a_stride) if not low else 1 + in_a_stride)
        if passes(scale):
            high, strides = scale, strides + 1
            if low:
                break
            if strides == _DOWN + 1:
                left -= 1
                told(_expected(strides, in_a_stride))
                if passes(0.0):
                    return 0.0
            scale /= STRIDE
        else:
            low = scale
            if high < math.inf or scale >= most:
                break
            scale = min(scale * STRIDE, most)
    if not math.isfinite(high):
        return None
    halvings = (
        tries if not low else math.ceil(math.log2(max(1.0, math.log(high / low) / math.log1p(tolerance))))
    )
    for done in range(halvings if low else 0):
        told(halvings - done)
        middle = math.sqrt(low * high)
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


def _expected(strides: int, in_a_stride: int) -> int:
    """About how many tries are still to come after so many strides down that passed, this one included.

    The next stride may be the last, and is then halved; or all pass, zero too.
    """
    return round(math.sqrt(max(1, _DOWN + 2 - strides) * (1 + in_a_stride)))


CUT = 2.0  # the truncated normal's bound, in scales
DELTA = 1e-6  # of SuLQ, and of every (ε, δ) that is reported for a law with a whole curve of them

NAMELESS = "family"  # what a function without a name is called

Protections = tuple[Protection, ...]


@dataclass(frozen=True)
class Family:
    """Protections by scale.

    Attributes
    ----------
    name
        The name of the kind.
    build
        From a scale above zero to a protection, or a list of them.
    most
        The largest scale there is.
    meaning
        What the scale is, if it is not the class's own parameter.
    """

    name: str
    build: Callable[[float], Any]
    most: float = math.inf
    meaning: str = ""

    def at(self, scale: float) -> Protections:
        """The protections at a scale; none at all at zero.

        Examples
        --------
        >>> from tellall.protections.additive import Gaussian
        >>> as_family(Gaussian).at(2.0), as_family(Gaussian).at(0)
        ((Gaussian(std=2.0),), ())
        """
        number = at_least_zero("scale", scale)
        if number > self.most:
            raise invalid("scale", f"at most {self.most:g} for {self.name}", scale)
        if number == 0:
            return ()
        try:
            return as_protections(self.build(number))
        except TypeError as error:
            rule = "a class made from one number, or a function from a scale to a protection"
            raise invalid("family", rule, self.name, f"It said: {said(error, 120)}.") from None


_SPECIAL: dict[type, Family] = {
    TruncatedNormal: Family(
        "TruncatedNormal",
        lambda scale: TruncatedNormal(scale, CUT, "scales"),
        meaning=f"cut at ±{CUT:g} scales",
    ),
    SuLQ: Family("SuLQ", lambda scale: SuLQ(1 / scale, DELTA), meaning=f"1/ε at δ = {DELTA:g}"),
    Subsample: Family(
        "Subsample", lambda scale: Subsample(1 / (1 + scale)), meaning="people left out per kept"
    ),
    Swapping: Family("Swapping", Swapping, most=1.0),
}


def as_family(family: object) -> Family:
    """The family of a class (or its name), or of a function from a scale to a protection.

    Notes
    -----
    A class is called with the scale as its one argument, but for ``TruncatedNormal`` (cut at two scales),
    ``SuLQ`` (the scale is 1/ε, δ = 1e-6), ``Subsample`` (the scale is the people left out for each one kept)
    and ``Swapping`` (up to 1).
    """
    if isinstance(family, Family):
        return family
    if isinstance(family, str):
        known = catalogue.kinds("protection")
        if family not in known:
            near = catalogue.nearest(family, known)
            raise InvalidInput(f"family must be one of {', '.join(known)}; got '{family[:60]}'.{near}")
        family = known[family]
    if isinstance(family, type):
        if family not in catalogue.kinds("protection").values():
            raise invalid("family", "a class of protections such as Gaussian, or a function", family.__name__)
        return _SPECIAL.get(family, Family(family.__name__, family))
    if not callable(family) or isinstance(family, Protection):
        rule = "a class such as Gaussian, or a function from a scale to a protection"
        raise invalid("family", rule, family)
    name = getattr(family, "__name__", NAMELESS)
    return Family(NAMELESS if name == "<lambda>" else name, family)


def check_scales(scales: Sequence[float]) -> tuple[float, ...]:
    """The scales, rising, each once."""
    try:
        numbers = [at_least_zero("scales", scale) for scale in scales]
    except TypeError:
        raise invalid("scales", "a list of numbers, zero or more", scales) from None
    if not numbers:
        raise invalid("scales", "one number or more", "none")
    return tuple(sorted(set(numbers)))
