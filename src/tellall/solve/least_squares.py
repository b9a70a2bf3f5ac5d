"""Weighted least squares with a ridge and a box, and the Gaussian posterior that goes with it."""

from __future__ import annotations

from dataclasses import dataclass

from tellall.solve.box import BoxProblem, Prepared
from tellall.solve.factorised import Factorised
from tellall.solve.matrix_free import MatrixFree

__all__ = ["BoxProblem", "LeastSquares", "Prepared"]


@dataclass(frozen=True)
class LeastSquares:
    """Options of the least-squares solver.

    Parameters
    ----------
    gram_limit
        Up to this many unknowns the Gram matrix is formed and factorised; above, only products are used.
    tolerance
        Largest change of an unknown (relative to its box) that still counts as settled.
    gradient_steps
        Cheap steps tried first where only products are used.
    deflation, patience
        Directions deflated once conjugate gradients have taken more than `patience` iterations.
    probes
        Random vectors for the posterior variances where the inverse is not formed (fewer of them beyond a
        million unknowns, four at least); the standard error of the p-th is at most √(Σ_{q≠p} C_pq² / probes),
        and less where the variances are alike.

    Notes
    -----
    The box is handled by the primal-dual active set method: guess which unknowns sit on a bound, solve for
    the others, read the next guess off the gradient; it ends, usually in under ten rounds, at the exact
    minimiser. Should it cycle, accelerated projected gradient steps finish the work. One Cholesky
    factorisation per round (n³/3 flops) below the limit; above, projected gradient steps of Barzilai and
    Borwein's length first, which settle well-conditioned problems, then a few conjugate gradient steps a
    round, each two products with the operator. Where those are slow to settle (0/1 attributes have d + 1
    directions far above the others) a randomised Nyström approximation of the Hessian, `deflation` products
    once, becomes the preconditioner of every later step (Frangella, Tropp and Udell 2023).
    """

    gram_limit: int = 10_000
    tolerance: float = 1e-6
    rounds: int = 60
    cg_iterations: int = 500
    deflation: int = 300
    patience: int = 40
    gradient_steps: int = 20
    probes: int = 64

    def prepare(self, problem: BoxProblem) -> Prepared:
        """The problem made ready to be solved for many targets."""
        small = problem.operator.shape[1] <= self.gram_limit
        return Factorised(problem, self) if small else MatrixFree(problem, self)
