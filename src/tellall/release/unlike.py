"""Values that the declared rounding cannot give: a mistake in them, or in what was declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tellall.algebra.operators.base import Array
from tellall.release.protections.protection import Protection
from tellall.release.protections.rounding import Rounding

__all__ = ["not_rounded", "unlike_rounding"]

_NAMED = 3  # values that are named


def not_rounded(values: Array, protections: Sequence[Protection]) -> npt.NDArray[np.bool_]:
    """Which values the last rounding cannot have produced: no count, and no number, leads to those."""
    last = _rounding(protections)
    if last is None:
        return np.zeros(values.shape, dtype=bool)
    return np.asarray(~np.isnan(values) & ~last.rounds_to(values))


def unlike_rounding(
    values: Array, protections: Sequence[Protection], cell: Callable[[int], Mapping[str, str]]
) -> str:
    """A sentence that counts such values and names the first of them; empty if there are none.

    ``cell`` gives the value of each column in the cell of a value, by its index.
    """
    last, odd = _rounding(protections), np.flatnonzero(not_rounded(values, protections))
    if last is None or not odd.size:
        return ""
    named = []
    for at in odd[:_NAMED].tolist():
        where = ", ".join(f"{name} = {label}" for name, label in cell(at).items())
        named.append(f"{values[at]:.10g}" + (f" where {where}" if where else ""))
    more = f" and {odd.size - _NAMED:,} more" if odd.size > _NAMED else ""
    do = "does" if odd.size == 1 else "do"
    return (
        f"{odd.size:,} of {values.size:,} values {do} not come from rounding to {last.base:g}: "
        f"{'; '.join(named)}{more}"
    )


def _rounding(protections: Sequence[Protection]) -> Rounding | None:
    """The rounding that nothing but hiding follows."""
    last = next((one for one in reversed(protections) if not one.hides), None)
    return last if isinstance(last, Rounding) else None
