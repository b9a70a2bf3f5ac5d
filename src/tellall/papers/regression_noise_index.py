"""regression-noise: its numbered objects, in the paper's order."""

from __future__ import annotations

from tellall.papers.claims import Numbered

__all__ = [
    "INDEX",
]

# fmt: off
INDEX: tuple[Numbered | str, ...] = (
    Numbered("Eq. 1", "the attack: least squares on the equations of the fits"),
    Numbered("Eq. 2", "the same as a primal problem"),
    Numbered("Eq. 3", "its dual"),
    Numbered("Fig. 1", "flowchart of the method", "nothing is claimed; the rerun follows it"),
    Numbered("Eq. 4", "optimality: the residual"),
    Numbered("Eq. 5", "optimality: Aᵀν = 0"),
    Numbered("Eq. 6", "optimality: ν is the normalised residual, reversed"),
    "Sec. 4.1",
    "Sec. 4.2",
    Numbered("Fig. 2", "error against sample size"),
    "Sec. 4.3",
    Numbered("Fig. 3", "Gaussian noise: attack error, and utility"),
    Numbered("Fig. 4", "Laplace noise: attack error, and utility"),
    Numbered("Fig. 5", "truncated normal noise: attack error, and utility"),
    "Sec. 5",
    Numbered("Table 1", "the 27 columns", "a list; the rerun reads the same columns"),
    Numbered("Table 2", "error against sample size, in numbers"),
    Numbered("Table 3", "attack error of the three noises, in numbers"),
    Numbered("Table 9", "no number: the caption of Table 3 read wrongly", "a misprint of our copy"),
)
# fmt: on
