"""Reference people who lack calls, scored so that nobody is named for it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tellall.attacks.tracing_blocks import Coding
from tellall.attacks.tracing_contributions import Contribution
from tellall.linops import Array

__all__ = ["spreads", "stretch"]

_THIN = 0.1  # a reference person with less of the spread than this says too little to be stretched


def spreads(q: Array, total: Array, called: Array, coding: Coding, contribution: Contribution) -> Array:
    """The variance of what each attribute adds, over people drawn with the reference people's frequency.

    Notes
    -----
    Half a person is added to either side of the frequency, so that a few calls that are equal do not pass for
    no variance. Zero where no reference person has the call. With c calls the mean over them and the target
    takes 1/(c + 1) of a person's variance about it.
    """
    k = coding.ploidy
    w = np.where(called > 0, total / np.maximum(called, 1), q)
    share = (k * called * (1 + w) / 2 + 0.5) / (k * called + 1)
    chances = (1 - share, share) if k == 1 else ((1 - share) ** 2, 2 * share * (1 - share), share**2)
    adds = [contribution.of(sign, q, w, called) for sign in coding.signs]
    mean = sum(chance * add for chance, add in zip(chances, adds, strict=True))
    variance = sum(chance * (add - mean) ** 2 for chance, add in zip(chances, adds, strict=True))
    return np.asarray(variance * called / (called + 1))


def stretch(beside: Array, centre: Array | float, lost: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Scores filled in with means moved away from the centre, and whose say too little for that.

    Parameters
    ----------
    beside
        Scores in which an attribute that a person lacks stands at the mean.
    centre
        The score of somebody who is the mean in every attribute.
    lost
        The share of the score's variance at the attributes that the person lacks.

    Notes
    -----
    A score filled in with means has the right mean and too small a spread. Where calls are missing at random,
    a share m of them, its variance is (1 − m)²F + m(1 − m)V for the full score's variance F and the sum V of
    the attributes' variances: (1 − m)²F or more, however the attributes go together. Divided by 1 − m the
    spread is that of a full score (attributes that all go together) or more (independent ones, by √(1 − m)).
    """
    thin = lost > 1 - _THIN
    return centre + (beside - centre) / np.where(thin, 1.0, 1 - lost), thin
