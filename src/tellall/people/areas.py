"""Areas: the people who share a value of a public column, such as a county, published separately."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tellall.core.amounts import count_of
from tellall.core.errors import invalid
from tellall.people.codes import IntArray
from tellall.people.columns import encode
from tellall.people.dataset import Dataset

__all__ = [
    "FEWEST",
    "Area",
    "area_seed",
    "fingerprint",
    "split",
    "too_small",
    "values_as_text",
]

FEWEST = 4  # people needed to compare an attack with a baseline


@dataclass(frozen=True, eq=False)
class Area:
    """The people with one value of a column.

    Attributes
    ----------
    name
        The value; "missing" for people without one.
    people
        Their indices in the whole table.
    whole
        The whole table, without the column.
    """

    name: str
    people: IntArray
    whole: Dataset

    @property
    def n(self) -> int:
        """How many people."""
        return int(self.people.size)

    @property
    def dataset(self) -> Dataset:
        """The people, with the categories and cut points of the whole table; made anew at each call."""
        return self.whole.take(self.people)

    def seed(self, seed: int) -> int:
        """The area's own seed, derived from this seed and the area's name."""
        return area_seed(seed, self.name)


def split(dataset: Dataset, by: str) -> list[Area]:
    """The areas of a table, in the order of the column's values.

    Notes
    -----
    Tables of every area have the categories of the whole table, as an agency publishes them: a category that
    nobody in the area has is a cell of zeros. The column itself is the same for everybody in an area and is
    left out.

    Examples
    --------
    >>> people = Dataset.from_frame({"town": ["a", "b", "b", "a"], "x": [0, 0, 1, 1], "s": [0, 1, 1, 0]}, "s")
    >>> [(area.name, area.people.tolist()) for area in split(people, "town")]
    [('a', [0, 3]), ('b', [1, 2])]
    """
    public = dataset.public
    index = public.position(by, "by")
    column = public.columns[index]
    if column.cuts is not None:
        seen = f"'{by}', a number cut into {column.levels} parts"
        raise invalid("by", "a column whose values are kept", seen, "Make it text: each value is an area.")
    if len(public.columns) < 2:
        raise invalid("public", "one column or more besides the one that makes areas", f"'{by}' alone")
    others = [other for other in range(len(public.columns)) if other != index]
    whole = replace(dataset, public=public.choose(others))
    codes = public.codes[index].astype(np.int64)
    order = np.argsort(codes, kind="stable")  # people stay in file order within an area
    edges = np.searchsorted(codes[order], np.arange(column.levels + 1))
    return [
        Area(label, order[start:stop], whole)
        for label, start, stop in zip(column.labels, edges[:-1], edges[1:], strict=True)
        if stop > start
    ]


def too_small(area: Area) -> str | None:
    """Why an area has too few people to be attacked; None if it has enough."""
    if area.n >= FEWEST:
        return None
    about = "that person" if area.n == 1 else "each of them"
    people = count_of(area.n, "person", "people")
    return (
        f"{people}: whatever is published about the area is nearly about {about}. "
        f"Baselines need {FEWEST} people, so the risk is unknown. It is safer not to publish this area alone."
    )


def area_seed(seed: int, name: str) -> int:
    """The seed of the area with this name, whatever other areas there are.

    Examples
    --------
    >>> area_seed(0, "Autauga") == area_seed(0, "Autauga") != area_seed(0, "Baldwin")
    True
    """
    raw = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    words = [int(word) for word in np.frombuffer(raw, dtype="<u4")]
    state = np.random.SeedSequence(seed, spawn_key=words).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(11))  # 53 bits: every reader of JSON keeps them


def fingerprint(dataset: Dataset) -> str:
    """A hash of everything in a dataset: names, codes, numbers, secret, in order."""
    digest = hashlib.sha256()
    columns = [[column.name, column.labels, column.cuts] for column in dataset.public.columns]
    digest.update(json.dumps([columns, dataset.secret_name, dataset.meaning]).encode())
    for codes in dataset.public.codes:
        digest.update(codes.astype(np.int64).tobytes())
    for numbers in dataset.public.numbers:
        digest.update(b"-" if numbers is None else np.ascontiguousarray(numbers).tobytes())
    if dataset.secret is not None:
        digest.update(np.ascontiguousarray(dataset.secret).tobytes())
    return digest.hexdigest()


def values_as_text(name: str, raw: object) -> npt.NDArray[np.object_]:
    """A column with every value as text, so that each is a category; None where missing.

    Examples
    --------
    >>> values_as_text("county", np.array([1001.0, float("nan"), 56045.0])).tolist()
    ['1001', None, '56045']
    """
    column, codes, numbers = encode(name, raw)
    if numbers is None:
        texts: list[str | None] = [*column.labels[:-1], None] if column.gaps else [*column.labels]
    else:
        distinct, codes = np.unique(numbers, return_inverse=True)  # one NaN, the last
        texts = [_number_as_text(float(value)) for value in distinct]
    found: npt.NDArray[np.object_] = np.array(texts, dtype=object)[codes]
    return found


def _number_as_text(value: float) -> str | None:
    if np.isnan(value):
        return None
    return str(int(value)) if value.is_integer() else repr(value)
