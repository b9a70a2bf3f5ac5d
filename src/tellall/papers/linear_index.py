"""linear-reconstruction: its numbered objects, in the paper's order."""

from __future__ import annotations

from tellall.papers.claims import Numbered

__all__ = [
    "INDEX",
]

_CITED = "a number of another paper, cited in the proof of Lemma D.1"
# fmt: off
INDEX: tuple[Numbered | str, ...] = (
    "Sec. 1",
    Numbered("Def. 1", "reconstruction: few bits wrong, nearly always"),
    "Sec. 2.1",
    Numbered("Thm. 2.1", "least squares: at most 4mβ²/σ² bits wrong"),
    Numbered("Def. 2", "Euclidean section: ‖As‖₁ is everywhere near √m‖As‖"),
    Numbered("Thm. 2.2", "LP decoding withstands a constant share of gross errors on a Euclidean section"),
    "Sec. 3",
    Numbered("Def. 3", "a polynomial represents a boolean function"),
    Numbered("Def. 4", "non-degenerate: of full degree"),
    Numbered("Thm. 3.1", "informal: Theorems 3.2 and 3.3 together"),
    Numbered("Def. 5", "row function matrix"),
    Numbered("Claim 1", "counts are a constant and a row function matrix times the secret"),
    Numbered("Thm. 3.2", "counts of a non-degenerate function at noise o(√n): all but o(n) bits"),
    Numbered("Claim 2", "the least singular value of Π_f2 is of order √(d^k)"),
    Numbered("Claim 3", "the same counts in ±1 form"),
    "Eq. 7",
    Numbered("Thm. 3.3", "the same where a constant share of the counts may be anything"),
    Numbered("Def. 6", "row product matrix"),
    Numbered("Def. 7", "τ-random: bounded, centred, variance at least τ²",
        "a definition that is used as it is"),
    Numbered("Def. 8", "iterated logarithm"),
    Numbered("Thm. 3.4", "independent row products: ‖Ax‖₁ ≥ C d^k for every unit x"),
    Numbered("Thm. 3.5", "row products: norm at most c(√(d^k) + √n)"),
    Numbered("Prop. 3.6", "a product of differences is a signed sum of values of h"),
    Numbered("Cor. 3.7", "the same for row function matrices"),
    Numbered("Thm. 3.8", "row functions: ‖Ax‖₁ ≥ C′ d^k for every unit x"),
    Numbered("Thm. 3.9", "row functions: σ_min ≥ C′√(d^k)"),
    "Sec. 4",
    Numbered("Def. 9", "Lipschitz continuous gradient"),
    "Sec. 4.1",
    Numbered("Claim 4", "the gradient of the logistic likelihood has Lipschitz constant ‖XᵀX‖ at most"),
    Numbered("Thm. 4.1", "linear and logistic coefficients at noise o(1/√n): all but o(n) bits"),
    Numbered("Def. 10", "variance condition on a loss"),
    Numbered("Thm. 4.2", "coefficients of any differentiable loss: all but o(n) bits"),
    Numbered("Claim 5", "σ_min of the matrix of Theorem 4.2 is of order √d"),
    Numbered("Def. 11", "non-degenerate, by a sum of signs"),
    Numbered("Lemma A.1", "Definitions 4 and 11 agree"),
    Numbered("Prop. B.1", "a product of signs from restrictions of h"),
    Numbered("Cor. B.2", "the same for row function matrices"),
    Numbered("Thm. B.3", "row functions of ±1: norm at most c(√(d^k) + √n)"),
    Numbered("Thm. B.4", "row functions of ±1 are Euclidean sections"),
    "App. C",
    Numbered("Lemma D.1", "a random matrix moved by a fixed vector is nowhere small on the sphere"),
    Numbered("Lemma D.2", "a random matrix keeps its σ_min when a low rank is added"),
    Numbered("Prop. 2.3", "cited only: the norm of a subgaussian matrix", _CITED),
    Numbered("Prop. 2.5", "cited only: the least singular value of a random matrix", _CITED),
)
# fmt: on
