"""private-ols: its numbered objects, in the paper's order."""

from __future__ import annotations

from tellall.papers.claims import Numbered

__all__ = [
    "INDEX",
]

_WORDS = "a definition that is used as it is"
_BOOK = "textbook, cited for the proof of Lemma 1"
# fmt: off
INDEX: tuple[Numbered | str, ...] = (
    Numbered("Def. 1", "neighbours: one row zeroed", _WORDS),
    Numbered("Def. 2", "(ε, δ)-differential privacy", _WORDS),
    Numbered("Def. 3", "the optimal δ of a pair of databases", _WORDS),
    Numbered("Fig. 1", "the sketch (ALS)"),
    Numbered("Table 1", "notation", "nothing is claimed"),
    Numbered("Algorithm 1", "the sketch, under another name", "a slip for Figure 1"),
    Numbered("Thm. 12", "cited only: the sketch in [12]", "a number of another paper"),
    Numbered("Lemma 1", "the sketched solution is normal as the sketch grows"),
    Numbered("Lemma 2", "δ of two multivariate normal laws"),
    Numbered("Lemma 3", "δ of the sketch"),
    Numbered("Prop. 1", "δ of Gaussian noise on the coefficients"),
    Numbered("Prop. 2", "δ of Gaussian noise in the classical calibration"),
    Numbered("Lemma 4", "δ of one random linear combination of the rows"),
    Numbered("Lemma 5", "δ of a random projection of the rows"),
    "Sec. 4",
    Numbered("Def. 4", "unbounded sensitivity", _WORDS),
    Numbered("Def. 5", "useful: the error is at most A on every database", _WORDS),
    Numbered("Lemma 6", "unbounded sensitivity, private: unbounded mean squared error"),
    Numbered("Cor. 1", "the same for matrices, by the variance of a norm"),
    Numbered("Lemma 7", "least squares has unbounded sensitivity at every database"),
    "Sec. 5",
    Numbered("Fig. 2", "privacy against error: the sketch is best"),
    Numbered("Fig. 3", "a black box finds the profile, from below"),
    Numbered("Def. 6", "almost sure convergence", _BOOK),
    Numbered("Thm. 1", "law of large numbers", _BOOK),
    Numbered("Def. 7", "convergence in distribution", _BOOK),
    Numbered("Def. 8", "limiting distribution", _BOOK),
    Numbered("Thm. 2", "central limit theorem", _BOOK),
    Numbered("Table 2", "notation", "nothing is claimed"),
    Numbered("Fig. 4", "projection of padded data (RP LS) and its padding"),
    Numbered("Prop. 3", "the sketched residual is normal"),
    Numbered("Prop. 4", "moments of a normal variable"),
    Numbered("Prop. 5", "mean and covariance of Bᵀggᵀw"),
    Numbered("Lemma 8", "δ of the sketch from leverage and residual"),
    Numbered("Prop. 6", "covariances have full rank"),
    Numbered("Prop. 7", "b′ᵀB′ without a row"),
    Numbered("Prop. 8", "the solution without a row"),
    Numbered("Prop. 9", "the residual without a row"),
    Numbered("Prop. 10", "the determinants' ratio"),
    Numbered("Prop. 11", "E max(0, 1 − exp(bᵀZ + c))"),
    Numbered("Lemma 9", "affine images of normal vectors are normal", _BOOK),
    Numbered("Claim 1", "a small mean squared error concentrates"),
    Numbered("Claim 2", "the solution with one row more"),
    Numbered("Prop. 12", "E max(0, 1 − exp(−(aᵀZ)² + c))"),
    Numbered("Prop. 13", "E max(0, 1 − exp((aᵀZ)² + c)), ‖a‖² > 1/2"),
    Numbered("Prop. 14", "the same, ‖a‖² < 1/2"),
    Numbered("Prop. D.1", "no number: Proposition 12 under the number of its section", "a slip for Prop. 12"),
    Numbered("Lemma 10", "δ of one random linear combination, in closed form"),
    Numbered("Lemma 11", "δ of a random projection, in closed form"),
)
# fmt: on
