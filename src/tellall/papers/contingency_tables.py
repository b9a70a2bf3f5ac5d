"""The price of privately releasing contingency tables (Kasiviswanathan, Rudelson, Smith, Ullman 2010).

Its claims. The paper has theorems and no experiments. The attacks are run at finite sizes, the spectral
theorem is tried, the mechanisms are attacked, and every constant that can be computed is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import tellall as ta
from tellall.core.amounts import percent
from tellall.core.work import Progress, Tell
from tellall.papers import contingency_attacks as attacks
from tellall.papers import contingency_mechanisms as mechanisms
from tellall.papers.claims import (
    Claim,
    Found,
    Paper,
    PaperPart,
    at_least,
    at_most,
    flips,
    holds_if,
    mended,
    refuted,
    run_parts,
)
from tellall.papers.contingency_attacks import LITTLE, NEARLY_ALL
from tellall.papers.contingency_index import INDEX
from tellall.papers.contingency_lemmas import LEMMAS, lemmas
from tellall.papers.contingency_spectrum import ALLOWED, spectrum, spectrum_work
from tellall.report.kit.plot import number
from tellall.report.paper import PaperRerun, PaperTable

__all__ = [
    "CLAIMS",
    "PAPER",
    "rerun",
]

Run = Callable[[bool, np.random.Generator, Tell], Found]
_MANY, _FEW = percent(NEARLY_ALL, 0), percent(1 - NEARLY_ALL, 0)
_ASKED = f"; we ask for {_MANY} at {LITTLE:g}√n"
_NEARLY = at_least(NEARLY_ALL)
_SETTING = "k = {k}, n = {n}, d = {d}, {tables} tables"
_SPECTRAL = (
    "Ω̃(√(d^k)), asymptotically as for independent rows",
    "k = {one.order}, d = {one.d}, {one.m:,} × {one.n:,}{entries}, median of {draws}; we ask for "
    f"{percent(ALLOWED, 0)} of independent rows' or nearer",
    "σ_min/√m = {one.median:.4f}, 1 − √(n/m) = {one.expected:.4f}: off by {one.off:+.1%}{below}",
    holds_if("close"),
)
_AT = "ε = {epsilon:g}, δ = {delta:g}"
# fmt: off
CLAIMS = (
    Claim("attribute", "attribute attack at little noise", "Thm. 2.7",
          "1 − o(1) of the secrets at noise o(√n)",
          "{label}, n = {n}, {tables} tables, plain least squares" + _ASKED, verdict=_NEARLY,
          asymptotic=True),
    Claim("fails", "how often it fails", "Thm. 2.7, Def. 2.1",
          "recovery with probability 1 − negl(d)",
          f"{{label}}, {{draws}} draws at {LITTLE:g}√n: with more than {_FEW} wrong", verdict=at_most(0.0),
          asymptotic=True),
    Claim("root law", "the √n law: the same noise over √n, growing n", "Thm. 2.7",
          "1 − o(1) at o(√n), whatever n", "k = 3, n = {sizes}, tables = 2n" + _ASKED + " for each",
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
          "1 − o(1) of the rows at noise o(√n)",
          "{label}, n = {n}, {tables} tables, tellall's least squares" + _ASKED, verdict=_NEARLY,
          asymptotic=True),
    Claim("prior", "rows guessed before any release", "Def. 2.3, E-CT-9",
          "at most 1/2 + 2^−d ≤ 2/3; Pr[E] = 2^−d",
          "d = {d}; with d = 1 the condition fails: {single:.2f}",
          "{value:.6f}; “zeros” was right for {alone:.3f} of the rows. 2^−d is the probability of not E: our "
          "copy may have lost the bar. The sum is then 1/2 + 2^−(d+1)", mended("copy")),
    Claim("rank", "equations about the secret that differ", "Sec. 2, E-CT-4",
          "M^(k−1) has d^(k−1) rows, and the tables contain them",
          "k = 3, d = {d}, n = {n}", "rank {value} of {rows} rows: Σ C(d, l) over l < k, {share:.2f} "
          "d^(k−1); "
          "repeated index tuples are no cells of their own",
          mended("wording")),
    Claim("first", "n beyond what can be attacked: the first a people", "Thm. 2.7",
          "1 − o(1) of a = Ω̃(d^(k−1)) people when all others' attributes are zero",
          f"k = 3, d = {{d}}, n = {{n}}, a = {{a}}, noise {{std:g}}; we ask for {_MANY}", verdict=_NEARLY,
          asymptotic=True),
    Claim("everybody", "n beyond what can be attacked: everybody's attributes random", "Thm. 2.7",
          tested="k = 3, d = {d}, n = {n} = {times:g} times the rank, noise {std:g}"),
    Claim("biased", "biased attributes", "Thm. 3.1",
          "the same with rates in (q1, q2)", "k = 3, n = {n}, rates in (0.2, 0.8)" + _ASKED,
          verdict=_NEARLY, asymptotic=True),
    Claim("spectral", "least singular value as for independent rows", "Thm. 2.5, Cor. 2.6", *_SPECTRAL,
          asymptotic=True),
    Claim("huge", "a matrix that is never formed", "Thm. 2.5", *_SPECTRAL, asymptotic=True),
    Claim("apart", "people left out: equal, or with every sign reversed", "Thm. 2.5",
          tested="two equal columns make σ_min zero, which the theorem's failure probability covers; "
          "{people:,} people in all draws", ours="{equal} equal, {reverse} reversed ({where_from})"),
    Claim("printed matrix", "the printed matrix: 0/1, repeated indices", "Thm. 2.5",
          "Ω̃(√(d^k))",
          "σ_min/d, k = 2, d = {d}, {rows:,} × {n}; we ask for 80 % of a quarter of the ±1 form's",
          verdict=at_least("bound"), asymptotic=True),
    *(Claim(f"open {target}", "{target} right: {name}", theorem, "1 − o(1) at noise o(√n)",
        f"{_SETTING}; we ask for {_MANY}", verdict=_NEARLY,
        asymptotic=True)
      for target, theorem in (("secrets", "Thm. 2.7"), ("rows", "Thm. 2.9, Lemma 2.8"))),
    *(Claim(f"capped {target}", "{target} right: {name}", prop, says,
        _SETTING + "; the cap, at ε = δ = 0.1 where noise is private: {why}", verdict=holds_if("kept"))
      for target, prop, says in (
          ("secrets", "Prop. B.3", "nobody recovers 1 − o(1) of the secrets with probability 1 − negl(d)"),
          ("rows", "Prop. B.1", "nobody recovers 1 − o(1) of the rows with probability 1 − negl(d)"))),
    Claim("gate", "the gate (2/3)e^ε + δ", "Lemma B.2",
          "below 1: an (ε, δ)-private release is not row non-private",
          "ε = δ = {epsilon:g}; at ε = 1 it is {vacuous:.2f} and says nothing", verdict=at_most(1 - 1e-9)),
    Claim("serfling", "samples with a cell beyond Serfling's bound", "Prop. B.1, Prop. B.3, E-CT-7",
          "all cells within O(√(n k log(d/k))), with constant probability",
          "n = 200, d = {d}, k = {k}, {runs} samples; we ask for at most 5 % beyond the bound", "{shown}",
          at_most(0.05), asymptotic=True),
    Claim("switch", "where the combined mechanism switches", "Prop. B.1",
          tested="d = {d}, k = {k}, ε = δ = {epsilon:g}; the paper switches at n = m_k = {bound}",
          ours="sampling has the smaller bound up to n = {value:,}, {times:.0f} m_k"),
    Claim("above", "Gaussian noise over the certified lower bound", "Thm. 4.9",
          "no private release with data-independent noise is below Ω(√m_k (1 − δ/ε)/(2^k ε))",
          "k = {k}, d = {first} to {last}, " + _AT, verdict=at_least(1.0), asymptotic=True),
    Claim("tight", "tight in d: how much that ratio grows with d", "Thm. 4.9, Table 1",
          "both are of order √m_k",
          "k = {k}, ratios {low:.1f} to {high:.1f}; we ask for a tenth more at most", verdict=at_most(1.1),
          asymptotic=True),
    Claim("real", "error of a real SuLQ release", "Thm. 4.9", "Ω(√m_k (1 − δ/ε)/(2^k ε)) a cell",
          "k = 2, d = {d}, " + _AT, "{shown}; the certified bound is {bound:.3g}", at_least("bound")),
    Claim("orthogonal", "inner products of a random row are uncorrelated", "Lemma 4.7",
          "E[z zᵀ] is the identity",
          "largest entry of the difference, all rows for (d, k) = (6, 2), (7, 3), (8, 4)",
          verdict=at_most(0.0)),
    Claim("two laws apart", "two laws with a small statistical difference", "Lemma 4.12, E-CT-5",
          "at statistical difference at most e^(1/2) − 1 + δ, E[X²] or E[(Y − a)²] is Ω(a²(1 − δ)²)",
          "X = 0 and Y = a, whose statistical difference is 1; δ = {delta:g} allows {allowed:.4f}",
          "both moments are {value:g}, where a²(1 − δ)² is {bound:.2f} a²: no constant serves, from "
          "δ = 2 − √e = {last:.4f} on", refuted()),
    Claim("neighbours", "one of two neighbours has a large error", "proof of Lemma 4.11, Lemma 4.11, E-CT-5",
          "by Lemma 4.12, and there by (2 − e^(1/2) − δ)² = Ω((1 − δ)²)",
          "random pairs of laws on five points, t up to {far:.2f}",
          "(2 − √e − δ)² is {gone:.0e} at δ = 0.3513. But max ≥ (1 − t) a²/4, t the distance of the laws: "
          "{value:.2f} times that or more in all pairs. Privacy gives t ≤ (√e − 1 + 2δ)/(√e + 1), with which "
          "Lemma 4.11 stands", mended("gap in the proof")),
    Claim("constant answer", "a constant answer is private and wrong on one side only", "App. D, E-CT-9",
          "0 on D, Ω(m_k²) on D′; every entry of Σ(D′) is 2", "d = {d}, k = {k}, m_k = {tables}, n = 1",
          "{here:g} on D, {value:g} = 16 m_k² on D′; entries are {entry:g}", refuted("constant")),
    Claim("general", "noise that may depend on the data: Gaussian noise over our explicit bound", "Thm. 4.21",
          "no private release below the order of {paper_rate}",
          "n = {n:,}, d = {d}, k = {k}, " + _AT + "; Prop. 4.20 with the constants of the repaired lemmas",
          "{value:,.0f} times the {least:.3g} people a cell that every private release needs on some "
          "database; "
          "the rate with constant 1 is {rate.plain:.3g}", at_least(1.0), asymptotic=True),
    Claim("gaussian", "δ of the printed Gaussian noise", "Sec. 1.3, E-CT-1",
          "(ε, δ)-private with standard deviation √(2 m_k log(1/δ))/ε", "ε = {epsilon:g}, δ = {bound:g}, "
          "any d and k; the logarithm's base is left open: ln and log₂",
          "achieves {value:.3g} with ln, {binary:.3g} with log₂; calibrated exactly: {exact:.3g}",
          flips("constant")),
    Claim("laplace", "ε of the printed Laplace noise", "Sec. 1.3, E-CT-2",
          "standard deviation 2 m_k/ε is ε-private", "ε = {bound:g}, k = 2, d = 6; the same for all",
          "that deviation gives {value:.4g}; the scale 2 m_k/ε gives {kept:.4g}", refuted("constant")),
    Claim("tail", "tail of the sampling mechanism", "proof of Prop. B.1, E-CT-7",
          "P(off by s or more) ≤ exp(−2s²/n), by a Chernoff bound",
          "n = {n}, half of them in the sample, s = {s} in the cell",
          "exactly {value:.3g}, where exp(−2s²/n) is {bound:.3g}; Serfling's bound is {serfling:.3g}, and "
          "the "
          "proposition's O(·) stands", mended("gap in the proof")),
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
    "Not tried: the powers of log n in Theorems 2.5, 2.7 and 2.9 (none are seen at these sizes), and failure "
    "probabilities that are too small for draws. Lemmas that bound a probability are tried by that "
    "probability, exactly or with a proven bound, or said to be not tried.",
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
    about: str = "",
) -> PaperRerun:
    """The attacks, the spectral theorem, the mechanisms and the bounds; the folder is not read.

    Notes
    -----
    `quick` takes less than a minute on one core. Otherwise n is 2000 instead of 400, matrices grow to 10¹¹
    entries, and ten to fifteen minutes go by on two cores, nearly all of them on the least singular values
    of the largest.
    """
    works: dict[Run, tuple[int, tuple[str, ...]]] = {
        attacks.attributes: (
            5 if quick else 30,
            ("attribute", "fails", "root law", "above root", "instances", "predicted", "limit"),
        ),
        attacks.rows: (5 if quick else 20, ("row", "prior")),
        attacks.beyond: (5 if quick else 20, ("rank", "first", "everybody", "biased")),
        spectrum: (spectrum_work(quick), ("spectral", "huge", "apart", "printed matrix")),
        mechanisms.mechanisms: (
            5 if quick else 20,
            ("open secrets", "open rows", "capped secrets", "capped rows", "gate"),
        ),
        mechanisms.costs: (1, ("serfling", "switch")),
        mechanisms.privacy: (
            1,
            (
                *("above", "tight", "real", "orthogonal", "two laws apart", "neighbours"),
                *("constant answer", "general"),
            ),
        ),
        mechanisms.errata: (1, ("gaussian", "laplace", "tail")),
    }
    parts = [PaperPart(partial(run, quick), work, keys) for run, (work, keys) in works.items()]
    figures, cases = run_parts([*parts, *lemmas(quick)], rng, progress, PAPER.keys_about(about))
    tables = [_table_1()] if about in ("", "Table 1") else []
    found = PAPER.rerun(figures, cases, rng, quick, tables=tables)
    return found.about(about) if about else found


# fmt: off
_TABLE_1 = (  # guarantee, upper and lower bound on the noise of a cell, as the paper has them
    ("not attribute non-private", "Õ(min{√n, √(d^k)})", "Ω̃(min{√n, √(d^(k−1))})"),
    ("not row non-private", "Õ(min{√n, √(d^k)})", "Ω̃(min{√n, √(d^k)})"),
    ("(ε, δ)-private, noise the same for all data", "O(√(C(d, k) log(1/δ))/(√(2^k) ε))",
     "Ω(√(C(d, k)) (1 − δ/ε)/(2^k ε))"),
    ("(ε, δ)-private", "Õ(min{n, (n²dk/ε)^(1/3), √(C(d, k) log(1/δ))/(√(2^k) ε)})",
     "Ω̃(min{√n (1 − δ/ε)/(2^k √ε), √(C(d, k)) (1 − δ/ε)/(2^k ε)})"),
)
# fmt: on


def _table_1() -> PaperTable:
    """Table 1 beside its rates with constant 1 and no powers of logarithms but those in the formulas."""
    n, d, k, epsilon, delta = 100_000, 20, 3, 0.5, 1e-6
    found = ta.bounds.table(n, d, k, epsilon, delta).rows
    rates = {(row.guarantee, row.side): row.plain or math.nan for row in found}
    rows = [
        (name, upper, lower, number(rates[name, "upper"]), number(rates[name, "lower"]))
        for name, upper, lower in _TABLE_1
    ]
    noise = number(ta.bounds.noisy_tables(d, k, epsilon, delta).std or math.nan)
    least = number(ta.bounds.least_noise(n, d, k, epsilon, delta).per_cell)
    caption = (
        f"noise of a cell. Ours: the rates with constant 1 at n = {n:,}, d = {d}, k = {k}, ε = {epsilon:g}, "
        f"δ = {delta:g}, as the paper gives no constants; Gaussian noise calibrated exactly adds {noise}; "
        f"no noise that is the same for all data is below {least}"
    )
    head = ("guarantee", "the paper, upper", "the paper, lower", "ours, upper", "ours, lower")
    return PaperTable("Table 1", caption, head, tuple(rows))
