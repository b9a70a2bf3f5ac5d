"""Release: what the world sees of a statistic after its protections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tellall.data import Dataset, Imprint, Public, as_public
from tellall.errors import invalid
from tellall.linops import Array
from tellall.noise import Exact, Noise
from tellall.protections import Protection, as_protections, noise_of, prepare
from tellall.saved import Saved, load, save
from tellall.statistics import Statistic

__all__ = ["Release"]


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """Published values, what they are, and what was done to them; no secret and no person in it.

    Attributes
    ----------
    values
        Flat float64, missing (NaN) where suppressed.
    statistic
        What was computed.
    protections
        What was done to it, in order.
    columns
        The names of the public columns it was computed over.
    imprint
        What it remembers of the public table it was made for, so that it meets no other.
    levels
        How many values the secret has: two for bits, zero for real numbers.
    """

    values: Array
    statistic: Statistic
    protections: tuple[Protection, ...] = ()
    columns: tuple[str, ...] = ()
    imprint: Imprint | None = None
    levels: int = 2

    @property
    def noise(self) -> Noise:
        """The law of the error of a value, in the units of what is published."""
        return noise_of(self.protections)

    @classmethod
    def from_values(
        cls,
        statistic: Statistic,
        values: npt.ArrayLike,
        *,
        public: Public | Dataset | npt.ArrayLike,
        noise: Noise | None = None,
        protect: Protection | Sequence[Protection] | None = None,
        levels: int = 2,
    ) -> Release:
        """The release that an outsider builds from published numbers (NaN where suppressed).

        ``protect`` is what is known to have been done to them, in order, where that is more than noise: with
        ``Suppression(10)`` in it a missing value is known to be under 10. ``levels`` is how many values the
        secret has, zero where it is a real number.
        """
        view = as_public(public)
        if not isinstance(statistic, Statistic):
            raise invalid("statistic", "a statistic such as Marginals(3)", statistic)
        try:
            array = np.asarray(values, dtype=np.float64).ravel()
        except (TypeError, ValueError):
            raise invalid("values", "numbers, NaN where suppressed", values) from None
        expected = statistic.size_for(view, levels)
        if array.size != expected:
            raise invalid("values", f"{expected} numbers, one per published value", f"{array.size} numbers")
        if np.isinf(array).any():
            raise invalid("values", "finite, or NaN where suppressed", "an infinite value")
        if noise is not None and not isinstance(noise, Noise):
            raise invalid("noise", "a noise law such as Gaussian(2.0), or None", noise)
        if noise is not None and protect is not None:
            raise invalid("protect", "left out where noise is given", protect, "Put the noise into it.")
        settled = statistic.settle(view)
        done = prepare(as_protections(protect if noise is None else noise), settled, view)
        laws = tuple(law for law in done if not isinstance(law, Exact))
        return cls(array, settled, laws, view.names, view.imprint, levels)

    def save(self, path: str | Path) -> Path:
        """The path, after the release is in it: JSON, with Parquet beside it where the values are many.

        Notes
        -----
        What is saved is what is published: no seed, no secret, no person; of the public rows their number
        and a fingerprint.
        """
        parts = Saved(self.values, self.statistic, self.protections, self.columns, self.imprint, self.levels)
        return save(parts, _place(path))

    @classmethod
    def load(cls, path: str | Path) -> Release:
        """The release that was saved there."""
        parts = load(_place(path))
        return cls(
            parts.values, parts.statistic, parts.protections, parts.columns, parts.imprint, parts.levels
        )

    def __repr__(self) -> str:
        missing = int(np.isnan(self.values).sum())
        done = ", ".join(map(repr, self.protections)) or "exact"
        gone = f", {missing} suppressed" if missing else ""
        return f"Release of {self.statistic.describe()}: {self.values.size} values{gone}; {done}"


def _place(path: str | Path) -> Path:
    if not isinstance(path, str | Path):
        raise invalid("path", "the path of a file", path)
    return Path(path)
