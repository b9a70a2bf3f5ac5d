"""regression-noise: its data, its printed tables, how columns were prepared, and its attack."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tellall as ta
from tellall.core.errors import invalid
from tellall.papers.claims import Array
from tellall.papers.reader import read_paper

__all__ = [
    "FAMILIES",
    "LITERAL",
    "PAPER_SIZES",
    "PAPER_SPREAD",
    "PAPER_SWEEP",
    "PREPARATIONS",
    "SCALES",
    "TOLERANCE",
    "UNITS",
    "RegressionData",
    "Regressions",
    "law",
    "law_of_std",
    "load",
    "prepare",
    "unit_of",
]

Rng = np.random.Generator
Index = npt.NDArray[np.integer[Any]]
_FILE, _SECRET = "cancer_reg.csv", "target_deathrate"
TOLERANCE = 1e-10  # of singular values: the row of ones comes d times, and zeros kept would blow up noise
_CUT = 0.05  # where the paper's truncated normal ends, in multiples of its scale

FAMILIES = ("Gaussian", "Laplace", "truncated normal")
LITERAL = "truncated normal, cut at ±0.05"  # whatever its scale, as the words of Section 4.2 can be read
PREPARATIONS = ("standardised", "standardised in the sample", "divided by their deviation")
UNITS = ("as it is", "standardised", "from 0 to 1")
_TABLES = read_paper("regression-noise").tables
# Table 2: data-set size → mean absolute error and its standard deviation over 50 samples
PAPER_SIZES = {n: (error, spread) for n, error, spread in _TABLES["Table 2"]}
# Table 3: scale → mean absolute error under each family, and the standard deviation printed behind each
PAPER_SWEEP, PAPER_SPREAD = (
    {scale: tuple(cell[part] for cell in cells) for scale, *cells in _TABLES["Table 3"]} for part in (0, 1)
)
SCALES = tuple(sorted(PAPER_SWEEP))


# Data


@dataclass(frozen=True, eq=False)
class RegressionData:
    """Public columns (n × d) and a real secret; `paper` says whether these are the paper's own data."""

    name: str
    features: Array
    secret: Array
    columns: tuple[str, ...]
    paper: bool

    @property
    def n(self) -> int:
        """How many records."""
        return self.secret.size

    @property
    def d(self) -> int:
        """How many public columns, one regression each."""
        return len(self.columns)

    def sample(self, n: int, rng: Rng) -> Index:
        """The positions of n records, drawn without replacement."""
        return np.sort(rng.choice(self.n, n, replace=False))


def load(folder: str | Path = ".") -> RegressionData:
    """The paper's data from a file or a folder that holds it; scikit-learn's diabetes patients otherwise.

    Notes
    -----
    Text and columns with missing values are left out, as in the paper (Sec. 4.1). The stand-in is taken only
    if no folder is named and the file is not in the current one.
    """
    path = Path(folder) / _FILE if Path(folder).is_dir() else Path(folder)
    if path.is_file():
        people = ta.read(path, secret=_SECRET, kind="reals")
        named = zip(people.public.names, people.public.numbers, strict=True)
        numbers = {name: column for name, column in named if column is not None and np.isfinite(column).all()}
        if not numbers:
            raise invalid("folder", f"a table with {_SECRET} and columns of numbers", str(path))
        features, secret = (
            np.column_stack(list(numbers.values())),
            np.asarray(people.secret, dtype=np.float64),
        )
        return RegressionData("counties", features, secret, tuple(numbers), True)
    if Path(folder) != Path():
        raise invalid("folder", f"{_FILE}, or a folder that holds it", str(folder))
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes(scaled=False)
    names = tuple(bunch.feature_names)
    return RegressionData("diabetes patients", bunch.data.astype(np.float64), bunch.target, names, False)


def prepare(features: Array, sample: Index, how: str = "standardised") -> Array:
    """The features of a sample, prepared.

    "standardised": centred and divided by the standard deviation of all records; "standardised in the
    sample": by its own; "divided by their deviation": scaled but not centred.
    """
    if how not in PREPARATIONS:
        raise invalid("how", f"one of {', '.join(PREPARATIONS)}", how)
    rows = features[sample]
    reference = rows if how == "standardised in the sample" else features
    spread = reference.std(axis=0)
    centre = 0.0 if how == "divided by their deviation" else reference.mean(axis=0)
    return np.asarray((rows - centre) / np.where(spread > 0, spread, 1.0))


def unit_of(secret: Array, how: str) -> float:
    """One unit of noise in the secret's own unit, if the secret was scaled before fitting.

    Attack and fits are linear, so scaling the secret by 1/c and the answer by c is the same as noise c times
    as large. Shifting the secret changes nothing.
    """
    if how not in UNITS:
        raise invalid("how", f"one of {', '.join(UNITS)}", how)
    return {"as it is": 1.0, "standardised": float(secret.std()), "from 0 to 1": float(np.ptp(secret))}[how]


def law(family: str, scale: float, unit: float = 1.0) -> Any:
    """The noise of one family at the paper's σ or scale, in a unit that is the secret's own or larger."""
    if family == LITERAL:
        return ta.TruncatedNormal(scale * unit, _CUT * unit)
    scale *= unit
    if family == "Gaussian":
        return ta.Gaussian(scale)
    return ta.Laplace(scale) if family == "Laplace" else ta.TruncatedNormal(scale, _CUT, bound_in="scales")


def law_of_std(family: str, std: float) -> Any:
    """The noise of one family with this standard deviation."""
    return law(family, std / law(family, 1.0).std)


# The attack


class Regressions:
    """secret ~ θ_j x_j + b_j for each column j of the features, and the attack that inverts them.

    Notes
    -----
    The coefficients (θ_1, b_1, …, θ_d, b_d) are published. The attacker solves min ‖A s − z‖₂ with, for each
    j, the rows x_jᵀ and 1ᵀ of A and z_j = X_jᵀX_j (θ~_j, b~_j)ᵀ, X_j = [x_j, 1] (regression-noise, Eqs. 1 and
    2, without the stray factor θ~_j of our copy). The d equal rows 1ᵀ carry independent errors on one sum:
    least squares averages them, so A has the same answers as the d + 1 rows x_jᵀ and √d 1ᵀ, and the solution
    of least norm is Bᵀ(BBᵀ)⁺w for these. QR of Bᵀ and a singular value decomposition of (d + 1)²: O(n d²)
    once, O(n d) for each draw of the noise.

    With exact coefficients that solution is the projection of the secret onto the columns and 1: the secret
    itself up to n = d + 1, the fitted values of multiple regression beyond.
    """

    def __init__(self, features: Array) -> None:
        self.features = np.asarray(features, dtype=np.float64)
        self.n, self.d = self.features.shape

    @cached_property
    def _moments(self) -> Array:
        """X_jᵀX_j of each regression: d × 2 × 2."""
        squares, sums = (self.features**2).sum(axis=0), self.features.sum(axis=0)
        return np.stack([np.stack([squares, sums], -1), np.stack([sums, np.full(self.d, self.n)], -1)], 1)

    @cached_property
    def _inverse(self) -> Array:
        """The pseudo-inverse of the attack's d + 1 rows, n × (d + 1), of explicit rank."""
        basis, triangle = np.linalg.qr(np.column_stack([self.features, np.full(self.n, np.sqrt(self.d))]))
        left, singular, right = np.linalg.svd(triangle.T, full_matrices=False)
        kept = singular > TOLERANCE * singular[0]
        return np.asarray(basis @ ((right[kept].T / singular[kept]) @ left[:, kept].T))

    @property
    def rows(self) -> Array:
        """The paper's matrix A, written out: 2d × n."""
        out = np.ones((2 * self.d, self.n))
        out[::2] = self.features.T
        return out

    def fit(self, secret: Array) -> Array:
        """The coefficients (θ_1, b_1, …, θ_d, b_d); where a column is constant, the smallest that fit."""
        designs = np.stack([self.features.T, np.ones((self.d, self.n))], axis=2)
        return np.asarray(np.linalg.pinv(designs, rcond=TOLERANCE) @ secret).ravel()

    def targets(self, coefficients: Array) -> Array:
        """z for each draw: 2d × draws from 2d × draws."""
        pairs = coefficients.reshape(self.d, 2, -1)
        return np.asarray(self._moments @ pairs).reshape(coefficients.shape)

    def attack(self, coefficients: Array) -> Array:
        """The least-squares solution of least norm, one column for each draw: n × draws."""
        targets = self.targets(coefficients).reshape(self.d, 2, -1)
        total = targets[:, 1].mean(axis=0) * np.sqrt(self.d)
        answer = self._inverse @ np.concatenate([targets[:, 0], total[None]])
        return np.asarray(answer[:, 0] if coefficients.ndim == 1 else answer)

    def predictions(self, coefficients: Array) -> Array:
        """What each regression predicts, n × d × draws."""
        pairs = coefficients.reshape(self.d, 2, -1)
        return np.asarray(self.features[:, :, None] * pairs[None, :, 0] + pairs[None, :, 1])

    def utility(self, secret: Array, clean: Array, noisy: Array) -> Array:
        """Mean absolute error of the noisy predictions over that of the clean ones, d × draws."""
        before, after = (
            np.abs(self.predictions(theta) - secret[:, None, None]).mean(axis=0) for theta in (clean, noisy)
        )
        return np.asarray(after / before)
