"""The Euclidean-section constant from above: a vector on which the l1 norm is small for its l2 norm."""

from __future__ import annotations

from tellall.bounds.sizes import whole
from tellall.errors import invalid
from tellall.linops import LinearOperator
from tellall.noise import Rng, as_rng
from tellall.solve.section import SectionBound, section_upper_bound

__all__ = ["SectionBound", "euclidean_section"]


def euclidean_section(
    operator: LinearOperator, *, starts: int = 4, iterations: int = 20, rng: Rng = 0
) -> SectionBound:
    """A certified upper bound on α, the largest with ‖A x‖₁ ≥ α √m ‖A x‖₂ for all x.

    Parameters
    ----------
    operator
        A.
    starts, iterations
        Random starts of each kind, and descent steps from each start.
    rng
        Seed.

    Notes
    -----
    Any x gives an upper bound, and the lower the better; α itself is not efficiently computable. The search
    is :func:`tellall.solve.section_upper_bound`. linear-reconstruction, Theorem 2.2; E-LR-1 for why α tends
    to zero for 0/1 products of attributes.

    Examples
    --------
    >>> import numpy as np
    >>> from tellall.linops import Dense
    >>> euclidean_section(Dense(np.eye(4))).alpha
    0.5
    """
    if not isinstance(operator, LinearOperator):
        raise invalid("operator", "a LinearOperator such as evidence.operator", type(operator).__name__)
    whole("starts", starts, least=0), whole("iterations", iterations, least=0)
    return section_upper_bound(operator, as_rng(rng), starts=starts, steps=iterations)
