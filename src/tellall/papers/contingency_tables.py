"""The price of privately releasing contingency tables (Kasiviswanathan, Rudelson, Smith, Ullman 2010), rerun.

The paper has theorems and no experiments: attacks are run at finite sizes, the spectral theorem is looked at,
the mechanisms are attacked, and every constant that can be computed is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from tellall.attack.blackbox.estimate import Progress
from tellall.papers.contingency_attacks import LITTLE, NEARLY_ALL, Attributes
from tellall.papers.contingency_costs import Costs
from tellall.papers.contingency_errata import Errata
from tellall.papers.contingency_mechanisms import SLACK, Mechanisms
from tellall.papers.contingency_privacy import Privacy
from tellall.papers.contingency_rows import Beyond, Rows
from tellall.papers.contingency_spectrum import Spectrum
from tellall.papers.parts import Found, Part, run_parts
from tellall.release.protections.law import Rng
from tellall.report.paper import PaperRerun, Statement
from tellall.report.plot import Figure

__all__ = [
    "rerun",
]

_NOTES = (
    "The paper has theorems and no experiments: each is tried at finite sizes. Its o(·), Ω̃(·) and 1 − o(1) "
    f"have no constants; ours are given: little noise is {LITTLE:g}√n, nearly all is {NEARLY_ALL:.0%}.",
    "k counts the secret in the attribute attack (tables of k − 1 public columns and the secret); rows of "
    "M^(k) are taken over distinct index sets, which are the cells that are published (E-CT-4).",
    "Plain least squares is the paper's attack; tellall's decoder adds a box and a prior and is called so.",
    f"Caps are about means; a measured mean may exceed one by {SLACK} standard errors before it is said to. "
    "Other verdicts go by the value, not by the ends of its interval (95 % over runs or draws).",
    "Not reproduced: the powers of log n in Theorems 2.5, 2.7 and 2.9 (none are seen at these sizes) and the "
    "failure probabilities (no failure was seen); Theorem 4.21 and the mechanism of Blum, Ligett and Roth, "
    "whose constants are unknown; the proofs of Lemma 4.14 (E-CT-6) and Proposition 4.20.",
    "The combined mechanism and Walsh noise are attacked on tables with a secret. On tables of rows, where "
    "the two halves of the combined mechanism are attacked each by itself, its rule is applied by hand.",
    "Certified lower bounds hold for noise that does not depend on the data, one row replaced.",
)


class _Kind(Protocol):
    """What each part of the rerun gives."""

    @classmethod
    def measure(cls, *, quick: bool = True, rng: Rng = 0) -> _Kind:
        """The part, computed."""
        ...

    def statements(self) -> Iterator[Statement]:
        """Ours beside the paper's."""
        ...

    def figures(self) -> Iterator[Figure]:
        """What was drawn."""
        ...


def rerun(
    folder: str | Path = ".", *, quick: bool = True, rng: Rng = 0, progress: Progress | bool | None = None
) -> PaperRerun:
    """The attacks, the spectral theorem, the mechanisms and the bounds; no data are read from the folder.

    Notes
    -----
    `quick` takes less than a minute on one core. Otherwise n is 2000 instead of 400, matrices grow to 10¹¹
    entries, and ten to fifteen minutes go by on two cores, nearly all of them on the least singular values
    of the largest.
    """
    parts = (
        _part(Attributes, quick, 5 if quick else 30),
        _part(Rows, quick, 5 if quick else 20),
        _part(Beyond, quick, 5 if quick else 20),
        Part(
            lambda stream, tell: _told(Spectrum.measure(quick=quick, rng=stream, tell=tell)),
            Spectrum.work(quick=quick),
        ),
        _part(Mechanisms, quick, 5 if quick else 20),
        *(_part(kind, quick) for kind in (Costs, Privacy, Errata)),
    )
    figures, statements = run_parts(parts, rng, progress)
    return PaperRerun(
        name="contingency-tables",
        title="The price of privately releasing contingency tables",
        reference="Kasiviswanathan, Rudelson, Smith, Ullman, STOC 2010",
        statements=statements,
        figures=figures,
        notes=_NOTES,
        seed=rng if isinstance(rng, int) else None,
        quick=quick,
    )


def _part(kind: type[_Kind], quick: bool, work: int = 1) -> Part:
    return Part(lambda stream, _: _told(kind.measure(quick=quick, rng=stream)), work)


def _told(found: _Kind) -> Found:
    return found.figures(), found.statements()
