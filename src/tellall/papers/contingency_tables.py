"""The price of privately releasing contingency tables (Kasiviswanathan, Rudelson, Smith, Ullman 2010).

Its claims. The paper has theorems and no experiments. The attacks are run at finite sizes, the spectral
theorem is tried, the mechanisms are attacked, and every constant that can be computed is computed.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from tellall.core.amounts import percent
from tellall.core.work import Progress
from tellall.papers import contingency_attacks as attacks
from tellall.papers import contingency_mechanisms as mechanisms
from tellall.papers.claims import Claim, Paper, at_least, at_most, flips, holds_if, mended, run_parts
from tellall.papers.contingency_attacks import LITTLE, NEARLY_ALL
from tellall.papers.contingency_index import INDEX
from tellall.papers.contingency_lemmas import LEMMAS, lemmas
from tellall.papers.contingency_spectrum import ALLOWED, spectrum, spectrum_work
from tellall.report.paper import PaperRerun

__all__ = [
    "CLAIMS",
    "PAPER",
    "rerun",
]

_MANY, _FEW = percent(NEARLY_ALL, 0), percent(1 - NEARLY_ALL, 0)
_HERE = f"here: {_MANY} at {LITTLE:g}√n"
_NEARLY = at_least(NEARLY_ALL)
_SETTING = "k = {k}, n = {n}, d = {d}, {tables} tables"
_OPEN = f"for comparison: 1 − o(1) at noise o(√n); here: {_MANY}"
_SPECTRAL = (
    f"Ω̃(√(d^k)), asymptotically as for independent rows; here: within {percent(ALLOWED, 0)} of them",
    "k = {one.order}, d = {one.d}, {one.m:,} × {one.n:,}{entries}, median of {draws}",
    "σ_min/√m = {one.median:.4f}, 1 − √(n/m) = {one.expected:.4f}: off by {one.off:+.1%}{below}",
    holds_if("close"),
)
_AT = "ε = {epsilon:g}, δ = {delta:g}"
# fmt: off
CLAIMS = (
    Claim("attribute", "attribute attack at little noise", "Thm. 2.7",
          f"1 − o(1) of the secrets at noise o(√n); {_HERE}",
          "{label}, n = {n}, {tables} tables, plain least squares", verdict=_NEARLY, asymptotic=True),
    Claim("fails", "how often it fails", "Thm. 2.7, Def. 2.1",
          f"recovery with probability 1 − negl(d); here: no draw with more than {_FEW} wrong",
          f"{{label}}, {{draws}} draws at {LITTLE:g}√n", verdict=at_most(0.0), asymptotic=True),
    Claim("root law", "the √n law: the same noise over √n, growing n", "Thm. 2.7",
          f"1 − o(1) at o(√n), whatever n; {_HERE} for each", "k = 3, n = {sizes}, tables = 2n",
          verdict=_NEARLY, asymptotic=True),
    Claim("above root", "the √n law: above √n", "Thm. 2.7",
          tested="share right at 2.5√n, the largest over n = {sizes}"),
    Claim("instances", "instances with more people wrong than the proof's bound", "Prop. 2.4",
          "never more than 4‖e‖²/σ_min² people wrong, whatever the errors",
          "{count:,} random and adversarial instances, k = 3, n = 40 to 120; at most {largest:.0%} of the "
          "bound was reached", verdict=at_most(0.0)),
    Claim("predicted", "predicted accuracy against measured", "Prop. 2.4",
          tested="largest distance over noises, {label}, n = {n}, σ/√n from {low} to {high}"),
    Claim("limit", "no decoder beats the limit Φ(‖M_i‖/(2σ)) of one who knows all other secrets", "Sec. 2.1",
          tested="largest lead of least squares with box and prior where the limit is below 0.999, k = 3"),
    Claim("row", "row attack at little noise", "Thm. 2.9, Lemma 2.8",
          f"1 − o(1) of the rows at noise o(√n); {_HERE}",
          "{label}, n = {n}, {tables} tables", verdict=_NEARLY, asymptotic=True),
    Claim("prior", "rows guessed before any release", "Def. 2.3, E-CT-9",
          "at most 1/2 + 2^−d ≤ 2/3; Pr[E] printed as 2^−d is Pr[not E], and the sum is 1/2 + 2^−(d+1)",
          "d = {d}; with d = 1 the condition fails: {single:.2f}",
          "{value:.6f}; “zeros” was right for {alone:.3f} of the rows", mended("wording")),
    Claim("rank", "equations about the secret that differ", "Sec. 2, E-CT-4",
          "M^(k−1) has d^(k−1) = {rows} rows; repeated index tuples are no cells of their own",
          "k = 3, d = {d}, n = {n}", "rank {value}: Σ C(d, l) over l < k, {share:.2f} d^(k−1)",
          mended("wording")),
    Claim("first", "n beyond what can be attacked: the first a people", "Thm. 2.7",
          f"1 − o(1) of a = Ω̃(d^(k−1)) people when all others' attributes are zero; here: {_MANY}",
          "k = 3, d = {d}, n = {n}, a = {a}, noise {std:g}", verdict=_NEARLY, asymptotic=True),
    Claim("everybody", "n beyond what can be attacked: everybody's attributes random", "Thm. 2.7",
          tested="k = 3, d = {d}, n = {n} = {times:g} times the rank, noise {std:g}"),
    Claim("biased", "biased attributes", "Thm. 3.1",
          f"the same with rates in (q1, q2); {_HERE}, rates in (0.2, 0.8)", "k = 3, n = {n}",
          verdict=_NEARLY, asymptotic=True),
    Claim("spectral", "least singular value as for independent rows", "Thm. 2.5, Cor. 2.6", *_SPECTRAL,
          asymptotic=True),
    Claim("huge", "a matrix that is never formed", "Thm. 2.5", *_SPECTRAL, asymptotic=True),
    Claim("apart", "people left out: equal, or with every sign reversed", "Thm. 2.5",
          "two equal columns make σ_min zero; the theorem's failure probability covers them",
          "{people:,} people in all draws", "{equal} equal, {reverse} reversed ({where_from})"),
    Claim("printed matrix", "the printed matrix: 0/1, repeated indices", "Thm. 2.5",
          "Ω̃(√(d^k)); here: at least 80 % of a quarter of the ±1 form's",
          "σ_min/d, k = 2, d = {d}, {rows:,} × {n}", verdict=at_least("bound"), asymptotic=True),
    *(Claim(f"open {target}", "{target} right: {name}", theorem, _OPEN, _SETTING, verdict=_NEARLY,
        asymptotic=True)
      for target, theorem in (("secrets", "Thm. 2.7"), ("rows", "Thm. 2.9, Lemma 2.8"))),
    *(Claim(f"capped {target}", "{target} right: {name}", prop, "{why}", _SETTING, verdict=holds_if("kept"))
      for target, prop in (("secrets", "Prop. B.3"), ("rows", "Prop. B.1"))),
    Claim("gate", "the gate (2/3)e^ε + δ", "Lemma B.2",
          "below 1: an (ε, δ)-private release is not row non-private",
          "ε = δ = {epsilon:g}; at ε = 1 it is {vacuous:.2f} and says nothing", verdict=at_most(1 - 1e-9)),
    Claim("serfling", "samples with a cell beyond Serfling's bound", "Prop. B.1, Prop. B.3, E-CT-7",
          "all cells within O(√(n k log(d/k))), constant probability; here: at most 5 % of samples beyond",
          "n = 200, d = {d}, k = {k}, {runs} samples", verdict=at_most(0.05)),
    Claim("switch", "where the combined mechanism switches", "Prop. B.1",
          "at n = m_k = {bound}: right up to a constant", "d = {d}, k = {k}, ε = δ = {epsilon:g}",
          "sampling has the smaller bound up to n = {value:,}, {times:.0f} m_k"),
    Claim("above", "Gaussian noise over the certified lower bound", "Thm. 4.9",
          "no private release with data-independent noise is below Ω(√m_k (1 − δ/ε)/(2^k ε))",
          "k = {k}, d = {first} to {last}, " + _AT, verdict=at_least(1.0), asymptotic=True),
    Claim("tight", "tight in d: how much that ratio grows with d", "Thm. 4.9, Table 1",
          "both are of order √m_k: the ratio stays; here: by at most a tenth",
          "k = {k}, ratios {low:.1f} to {high:.1f}", verdict=at_most(1.1), asymptotic=True),
    Claim("real", "error of a real SuLQ release", "Thm. 4.9", "at least the certified {bound:.3g} a cell",
          "k = 2, d = {d}, " + _AT, verdict=at_least("bound")),
    Claim("orthogonal", "inner products of a random row are uncorrelated", "Lemma 4.7",
          "E[z zᵀ] is the identity",
          "largest entry of the difference, all rows for (d, k) = (6, 2), (7, 3), (8, 4)",
          verdict=at_most(0.0)),
    Claim("neighbours", "one of two neighbours has a large error", "proof of Lemma 4.12, Lemma 4.11, E-CT-5",
          "Ω(a²(1 − δ)²) by (2 − √e − δ)², which is {gone:.0e} at δ = 0.3513",
          "random pairs of laws on five points, t up to {far:.2f}",
          "max ≥ (1 − t) a²/4, t the distance of the laws: {value:.2f} times that or more in all pairs",
          mended("gap in the proof")),
    Claim("constant answer", "a constant answer is private and wrong on one side only", "App. D, E-CT-9",
          "0 on D, Ω(m_k²) on D′; entries of Σ(D′) printed as 2", "d = {d}, k = {k}, m_k = {tables}, n = 1",
          "{here:g} on D, {value:g} = 16 m_k² on D′; entries are {entry:g}", mended("constant")),
    Claim("general", "noise that may depend on the data: Gaussian noise over our explicit bound", "Thm. 4.21",
          "no private release below the order of {rate.formula}",
          "n = {n:,}, d = {d}, k = {k}, " + _AT + "; Prop. 4.20 with the constants of the repaired lemmas",
          "{value:,.0f} times the {least:.3g} people a cell that every private release needs on some "
          "database; "
          "the rate with constant 1 is {rate.plain:.3g}", at_least(1.0), asymptotic=True),
    Claim("synthetic", "synthetic data (Blum, Ligett, Roth)", "Prop. A.3, Cor. A.4, Thm. A.2, E-CT-3",
          "distortion Õ((n²dk/ε)^(1/3)); Sec. 1.3 prints the exponent 2/3 of the mean squared error",
          "n = {n:,}, d = {d}, k = {k}, " + _AT,
          "the algorithm takes exponential time and its constant is unknown; with constant 1 off by "
          "{off:,.0f} of {n:,} people a cell", "not tried"),
    Claim("gaussian", "δ of the printed Gaussian noise", "Sec. 1.3, E-CT-1",
          "(ε, δ)-private with standard deviation √(2 m_k log(1/δ))/ε, δ = {bound:g}; the logarithm's base "
          "is left open", "ε = {epsilon:g}, any d and k",
          "achieves {value:.3g} with ln, {binary:.3g} with log₂; calibrated exactly: {exact:.3g}",
          flips("constant")),
    Claim("laplace", "ε of the printed Laplace noise", "Sec. 1.3, E-CT-2",
          "standard deviation 2 m_k/ε is ε-private, ε = {bound:g}", "k = 2, d = 6; the same for all",
          "that deviation gives {value:.4g}; the scale 2 m_k/ε gives {kept:.4g}", mended("constant")),
    Claim("tail", "tail of the sampling mechanism", "proof of Prop. B.1, E-CT-7",
          "P(off by {s} or more) ≤ exp(−2s²/n) = {bound:.3g}",
          "n = {n}, half of them in the sample, {s} in the cell",
          "exactly {value:.3g}; Serfling's bound: {serfling:.3g}", mended("constant")),
    *LEMMAS,
)
# fmt: on
_NOTES = (
    "The paper has theorems and no experiments: each is tried at finite sizes. Its o(·), Ω̃(·) and 1 − o(1) "
    f"have no constants; ours are given: little noise is {LITTLE:g}√n, nearly all is {_MANY}.",
    "k counts the secret in the attribute attack (tables of k − 1 public columns and the secret); rows of "
    "M^(k) are taken over distinct index sets, which are the cells that are published (E-CT-4).",
    "Plain least squares is the paper's attack; tellall's decoder adds a box and a prior and is "
    "named as tellall's.",
    f"Caps are about means; a measured mean may exceed one by {mechanisms.SLACK} standard errors before it "
    "counts as above. Other verdicts go by the value, not by the ends of its interval (95 % over runs or "
    "draws).",
    "Not tried: the powers of log n in Theorems 2.5, 2.7 and 2.9 (none are seen at these sizes) and the "
    "failure probabilities (no failure was seen); the mechanism of Blum, Ligett and Roth, "
    "whose constants are unknown.",
    "The combined mechanism and Walsh noise are attacked on tables with a secret. On tables of rows, where "
    "the two halves of the combined mechanism are each attacked separately, its rule is applied by hand.",
    "Certified lower bounds hold for noise that does not depend on the data, one row replaced.",
)
PAPER = Paper(
    "contingency-tables",
    "The price of privately releasing contingency tables",
    "Kasiviswanathan, Rudelson, Smith, Ullman, STOC 2010",
    CLAIMS,
    _NOTES,
    INDEX,
)


def rerun(
    folder: str | Path = ".",
    *,
    quick: bool = True,
    rng: int | np.random.Generator | None = 0,
    progress: Progress | None = None,
) -> PaperRerun:
    """The attacks, the spectral theorem, the mechanisms and the bounds; the folder is not read.

    Notes
    -----
    `quick` takes less than a minute on one core. Otherwise n is 2000 instead of 400, matrices grow to 10¹¹
    entries, and ten to fifteen minutes go by on two cores, nearly all of them on the least singular values
    of the largest.
    """
    works = (
        (attacks.attributes, 5 if quick else 30),
        (attacks.rows, 5 if quick else 20),
        (attacks.beyond, 5 if quick else 20),
        (spectrum, spectrum_work(quick)),
        (mechanisms.mechanisms, 5 if quick else 20),
        (mechanisms.costs, 1),
        (mechanisms.privacy, 1),
        (mechanisms.errata, 1),
        (lemmas, 1),
    )
    parts = [(partial(run, quick), work) for run, work in works]
    figures, cases = run_parts(parts, rng, progress)
    return PAPER.rerun(figures, cases, rng, quick)
