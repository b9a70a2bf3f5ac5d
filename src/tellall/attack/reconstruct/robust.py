"""How many wrong values ℓ1 decoding of some releases survives."""

from __future__ import annotations

from tellall.evidence.contrasts import EVERY, say
from tellall.evidence.evidence import Evidence
from tellall.linalg.solvers.certificate import Survival, survival

__all__ = ["survival_of"]

_MOST = 5e9  # rows² × unknowns up to which it is computed


def survival_of(evidence: Evidence) -> Survival | None:
    """Returns how many equations may be wrong; complete tables are put into contrasts, as in decoder "lp".

    None if rounding leaves intervals, for which nothing is certified, or if there are too many equations.
    """
    system = say(evidence, EVERY, intervals=False) or evidence.system
    rows, unknowns = system.operator.shape
    if not rows or not unknowns or rows * rows * unknowns > _MOST or system.rows.slack.any():
        return None
    return survival(system.operator, 1 / system.rows.rest)
