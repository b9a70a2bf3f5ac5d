"""Changes to people's numbers before they are added up: top-coding, and multiplicative noise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tellall.core.checks import above_zero, at_least_zero, is_number
from tellall.core.errors import invalid
from tellall.people.dataset import Dataset
from tellall.protections.additive import Gaussian, TruncatedNormal
from tellall.protections.protection import Exact, Noise, Protection, Rng, Unknown

__all__ = ["MultiplicativeNoise", "TopCoding"]


@dataclass(frozen=True)
class TopCoding(Protection):
    """Numbers above ``at`` are replaced by ``at`` before anything is computed.

    Notes
    -----
    How far a value is off depends on the numbers above ``at``, which no outsider knows: the law is unknown,
    and nothing is proved. Numbers that are not above ``at`` are published exactly.

    Examples
    --------
    >>> people = Dataset.from_arrays([[0], [1], [1]], secret=[2.5, 1.0, 40.0])
    >>> TopCoding(10.0).records(people).secret.tolist()
    [2.5, 1.0, 10.0]
    """

    at: float

    def __post_init__(self) -> None:
        if not is_number(self.at) or not np.isfinite(self.at):
            raise invalid("at", "a finite number", self.at)
        object.__setattr__(self, "at", float(self.at))

    @property
    def law(self) -> Noise:
        return Unknown()

    @property
    def random(self) -> bool:
        return False

    def records(self, dataset: Dataset, rng: Rng = None) -> Dataset:
        """The people, with nobody's number above the limit."""
        return replace(dataset, secret=np.minimum(_numbers(dataset, "top-coded"), self.at))


@dataclass(frozen=True)
class MultiplicativeNoise(Protection):
    """Everybody's number is multiplied by 1 + e, with normal e of this spread, before anything is computed.

    Parameters
    ----------
    std
        The standard deviation of e: 0.1 typically moves a number by a tenth of itself.
    bound
        The largest absolute e, if it is cut off; the factor is then within 1 ± bound.

    Notes
    -----
    A person has the same factor in all tables of a release, so sums stay consistent (Evans, Zayatz and
    Slanta 1998). The error of a sum, Σ s_i e_i, depends on the numbers themselves: an outsider does not know
    its law, and nothing is proved.
    """

    std: float
    bound: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "std", at_least_zero("std", self.std))
        if self.bound is not None:
            object.__setattr__(self, "bound", above_zero("bound", self.bound))

    @property
    def law(self) -> Noise:
        return Unknown() if self.std else Exact()

    @property
    def random(self) -> bool:
        return self.std > 0

    def records(self, dataset: Dataset, rng: Rng = None) -> Dataset:
        """The people, with each number multiplied by its own factor."""
        numbers = _numbers(dataset, "multiplied")
        law = Gaussian(self.std) if self.bound is None else TruncatedNormal(self.std, self.bound)
        return replace(dataset, secret=numbers * (1 + law.sample(numbers.size, rng)))


def _numbers(dataset: Dataset, done: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if dataset.secret is None or dataset.levels:
        raise invalid("secret", f"real numbers, to be {done}", "bits, categories or none")
    return np.asarray(dataset.secret, dtype=np.float64)
