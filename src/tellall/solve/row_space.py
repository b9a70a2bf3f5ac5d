"""Which unknowns a linear system determines, whatever the right-hand side."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tellall.linops import LinearOperator

__all__ = ["row_space"]


def row_space(operator: LinearOperator) -> tuple[int, npt.NDArray[np.bool_]]:
    """The rank of A, and for each unknown whether its unit vector lies in the row space of A.

    Notes
    -----
    Pivoted Cholesky of the Gram matrix, scaled to unit diagonal: with U11, U12 its first `rank` rows, the
    null space is spanned by [−U11⁻¹ U12; I], and an unknown is determined exactly where every null vector
    vanishes. O(n · rank²) time after the Gram matrix.

    Examples
    --------
    >>> from tellall.linops import Dense
    >>> rank, determined = row_space(Dense([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]))
    >>> rank, determined.tolist()
    (2, [True, False, False])
    """
    from scipy.linalg import lapack, solve_triangular

    gram = np.asarray(operator.gram(), dtype=np.float64)
    n = gram.shape[0]
    norms = np.sqrt(gram.diagonal())
    safe = np.where(norms > 0, norms, 1.0)
    gram /= safe[:, None] * safe
    factor, pivots, rank, _ = lapack.dpstrf(gram, tol=n * 1e-13, lower=0)
    determined = np.zeros(n, dtype=bool)
    lead = pivots[:rank] - 1
    if rank == n:
        determined[:] = True
    elif rank:
        null = solve_triangular(factor[:rank, :rank], factor[:rank, rank:])
        determined[lead] = np.abs(null).max(axis=1) < 1e-7
    return int(rank), determined
