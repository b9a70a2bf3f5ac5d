"""The row attack: which candidate rows are in the data whose tables were published."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.attack.reconstruct.attack import Reconstruction, reconstruct
from tellall.core.checks import are_bits
from tellall.core.errors import invalid
from tellall.linalg.operators.linear_operator import Array
from tellall.people.codes import Column, group_rows
from tellall.people.dataset import Dataset, Public, unknown_name
from tellall.people.shape import Shape
from tellall.protections.protection import Rng
from tellall.release.release import Release
from tellall.statistics.marginals import Marginals, Tables
from tellall.statistics.statistic import Equations, Statistic

__all__ = [
    "reconstruct_rows",
]

ABSENT = ("left out", "zeros")


def reconstruct_rows(
    release: Release,
    candidates: Dataset | Public | npt.ArrayLike,
    decoder: str = "auto",
    prior: float | None = None,
    rng: Rng = None,
    *,
    absent: str = "left out",
) -> Reconstruction:
    """Returns, for each candidate row, the best guess at whether it is in the data behind the release.

    Parameters
    ----------
    release
        Published tables: of public columns (`Tables`, or Marginals of people without a
        secret), or Marginals with a secret that the candidates carry too.
    candidates
        The rows that may be in the data, one per person; rows may repeat. Everybody in the data must be among
        them, and their columns must have the same values as the release's.
    decoder, prior, rng
        As in `reconstruct`; the prior is the share of candidates that are in the data.
    absent
        "left out": the data hold nobody but candidates who are present. "zeros": absent candidates are in the
        data as rows of zeros, as in the paper, and the cell of zeros is not used.

    Returns
    -------
    Reconstruction
        Its secret is presence: ``guess`` is 1 for candidates said to be in the data.

    Notes
    -----
    With bits p_i for presence, the cell c of a table counts Σ_i 1[row i in c] p_i: the row reduction
    Dst(s) = diag(s) Mᵀ of the contingency-tables paper (Sec. 2), with every cell pattern used. It is solved
    like any other evidence. ±1 inner products are the same evidence (`walsh`): white
    noise in cells is white noise in them.

    Examples
    --------
    >>> from tellall.release.release import publish
    >>> rows = np.array([[0, 0, 1], [0, 1, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]])
    >>> release = publish(Dataset.from_arrays(rows[[0, 2, 3]]), Tables(2))
    >>> reconstruct_rows(release, rows).guess.tolist()
    [1, 0, 1, 1, 0]
    """
    if not isinstance(release, Release):
        raise invalid("release", "a Release", type(release).__name__)
    if absent not in ABSENT:
        raise invalid("absent", f"one of {', '.join(map(repr, ABSENT))}", absent)
    rows, tables = _as_tables(release, candidates)
    expected = tables.size(rows)
    if release.values.size != expected:
        raise invalid(
            "candidates",
            f"rows whose columns have the values of the release ({release.values.size} cells)",
            f"rows whose tables have {expected}",
        )
    people = rows.n if absent == "zeros" or release.shape is None else release.shape.people
    presence = _Presence(tables, people, absent == "zeros", scale=tables.scale)
    about_presence = Release(release.values, presence, release.protections)
    attack = reconstruct(about_presence, rows, decoder, prior, rng)
    assert isinstance(attack, Reconstruction)  # presence is a bit
    return attack


@dataclass(frozen=True)
class _Presence(Statistic):
    """Tables as a statistic of which candidates are present."""

    published: Tables
    people: int
    zeros: bool
    scale: str = field(kw_only=True)

    def describe(self) -> str:
        return self.published.describe()

    def size(self, public: Public) -> int:
        return self.published.size(public)

    def units(self, public: Public) -> float:
        return float(self.people) if self.scale == "fractions" else 1.0

    def values(self, dataset: Dataset) -> Array:
        counts = self.published.membership(dataset.public) @ dataset.bits.astype(np.float64)
        return np.asarray(counts / self.units(dataset.public))

    def equations(self, public: Public, values: Array) -> Equations:
        sets = self.published.sets(public)
        target = values.copy()
        if self.zeros:  # how many rows of zeros there are is not known
            sizes = [int(np.prod([public.levels[place] for place in places])) for places in sets]
            target[np.cumsum([0, *sizes[:-1]])] = np.nan
        used = sorted({place for places in sets for place in places})
        return Equations(self.published.membership(public), target, group_rows(public.codes[used]).index)


def _as_tables(release: Release, candidates: Dataset | Public | npt.ArrayLike) -> tuple[Public, Tables]:
    """Returns the candidates with the release's columns, and the release as tables of them."""
    statistic = release.statistic
    if not isinstance(statistic, Tables | Marginals) or release.where is not None:
        raise invalid("release", "one of tables of everybody (Tables or Marginals)", release.describe())
    if not statistic.counts_people or not isinstance(statistic.ways, int):
        raise invalid(
            "release", "one of counts of people in tables of equally many ways", statistic.describe()
        )
    public, secret = _candidates(candidates, release.columns, release.shape)
    if isinstance(statistic, Tables):
        return public, statistic
    if secret is None:
        raise invalid("candidates", "a Dataset whose secret is the release's", "rows without a secret")
    place = len(public.columns)
    sets = [(*places, place) for places in statistic.sets(public)]
    column, codes = secret
    extended = Public((*public.columns, column), np.vstack([public.codes, codes.astype(public.codes.dtype)]))
    return extended, Tables(statistic.ways, sets, scale=statistic.scale)


def _candidates(
    candidates: Dataset | Public | npt.ArrayLike, columns: tuple[str, ...], shape: Shape | None
) -> tuple[Public, tuple[Column, npt.NDArray[Any]] | None]:
    """Returns the public columns that the release is about, and the secret if the candidates have one."""
    secret = None
    if isinstance(candidates, Dataset) and candidates.secret is not None and candidates.levels:
        secret = (Column(candidates.secret_name, tuple(candidates.meaning)), candidates.secret)
    if isinstance(candidates, Dataset):
        public = candidates.public
    else:
        public = candidates if isinstance(candidates, Public) else _from_array(candidates, shape)
    names = columns or public.names
    for name in names:
        if name not in public.names:
            raise unknown_name("candidates", name, public.names)
    places = [public.names.index(name) for name in names]
    if shape is not None and shape.cuts != tuple(public.columns[place].cuts for place in places):
        advice = "Read them with bins= the release's shape.bins."
        raise invalid("candidates", "numbers cut where the release cuts them", "other cut points", advice)
    return Public(tuple(public.columns[place] for place in places), public.codes[places]), secret


def _from_array(candidates: npt.ArrayLike, shape: Shape | None) -> Public:
    """Returns the candidates as columns: bits unchanged, other numbers cut at the release's cut points."""
    try:
        array = np.asarray(candidates)
    except ValueError:
        raise invalid("candidates", "rows of one length", "rows of different lengths") from None
    if array.ndim == 2 and array.size and are_bits(array):
        columns = tuple(Column(f"a{place}", ("0", "1")) for place in range(array.shape[1]))
        return Public(columns, np.ascontiguousarray(array.T, dtype=np.uint8))
    if shape is None or array.ndim != 2 or array.shape[1] != len(shape.names):
        return Dataset.from_arrays(array).public
    bins = {name: cuts for name, cuts in zip(shape.names, shape.cuts, strict=True) if cuts}
    return Dataset.from_frame(dict(zip(shape.names, array.T, strict=True)), bins=bins).public
