"""Terms of printed models, matched to the columns of people and to their values."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tellall.linalg.operators.linear_operator import Array
from tellall.people.dataset import Dataset
from tellall.people.labels import TRUTH, label_number, label_text

__all__ = ["Design", "ModelColumn", "ModelColumns", "PrintedFactor", "PrintedTerm"]

_MOST_READINGS = 16
_TRANSFORMS = {
    "log": "log",
    "np.log": "log",
    "ln": "log",
    "log10": "log10",
    "np.log10": "log10",
    "log2": "log2",
    "np.log2": "log2",
    "log1p": "log1p",
    "np.log1p": "log1p",
    "sqrt": "sqrt",
    "np.sqrt": "sqrt",
    "exp": "exp",
    "np.exp": "exp",
    "scale": "scale",
    "standardize": "scale",
    "center": "center",
    "as.numeric": "",
    "as.integer": "",
    "c": "",
    "I": "",
}
_CALL = re.compile(r"(?P<call>[\w.]+)\((?P<inside>[^()]*)\)(?P<rest>.*)")
_POWER = re.compile(r"(?P<name>.+?)\s*(?:\^|\*\*|(?=\[))\s*\[?(?P<power>[234])\]?")
_CATEGORY = re.compile(r"(?:C\((?P<factor>[^()]+?)(?:,.*)?\)|(?P<plain>[^\[\]()]+))\[(?:T\.)?(?P<label>.*)\]")
_STATA = re.compile(r"(?P<label>-?\d+)b?n?o?\.(?P<name>\w+)")
_XI = re.compile(r"_I(?P<name>\w+)_(?P<label>-?\w+)")
_FACTORS = ("factor", "as.factor", "C", "relevel", "as.character", "ordered")
_CROSSED = (":", "#", "*", "×", " x ", " X ")
_POLYNOMIAL = re.compile(r"\.[LQC]$|\^\d+$")


@dataclass(frozen=True, eq=False)
class ModelColumn:
    """A column of people as models take it.

    Attributes
    ----------
    name, index
        Its name, and its place among the public columns; None for the secret.
    codes, labels
        Everybody's value as its place among the labels; −1 if it is missing. No labels for many numbers.
    numbers
        Everybody's number, NaN if missing; None for text.
    """

    name: str
    index: int | None
    codes: npt.NDArray[np.int64]
    labels: tuple[str, ...]
    numbers: Array | None

    @property
    def gaps(self) -> npt.NDArray[np.bool_]:
        """Who has no value."""
        return self.codes < 0 if self.numbers is None else np.isnan(self.numbers)

    def label(self, text: str) -> int | None:
        """The place of a label; None if it is not a value of the column."""
        bare = text.strip().strip("'\"`").strip()
        if bare in self.labels:
            return self.labels.index(bare)
        small = bare.casefold()
        same = [at for at, own in enumerate(self.labels) if own.casefold() == small]
        if not same:
            number = TRUTH.get(small, label_number(bare))
            same = [
                at for at, own in enumerate(self.labels) if number is not None and _same_number(own, number)
            ]
        return same[0] if len(same) == 1 else None


def _same_number(own: str, number: float) -> bool:
    said = TRUTH.get(own.casefold(), label_number(own))
    return said is not None and said == number


@dataclass(frozen=True)
class PrintedFactor:
    """A column in a term: as a number, perhaps changed, or as one of its values."""

    column: str
    label: str | None = None
    change: str = ""

    @property
    def plain_name(self) -> str | None:
        """Its name among the terms of an Estimator; None for a changed number."""
        if self.change:
            return None
        return self.column if self.label is None else f"C({self.column})[T.{self.label}]"


@dataclass(frozen=True)
class PrintedTerm:
    """A term of a printed model: a product of columns and values."""

    printed: str
    factors: tuple[PrintedFactor, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it needs."""
        return tuple(dict.fromkeys(factor.column for factor in self.factors))

    @property
    def plain_name(self) -> str | None:
        """Its name among the terms of an Estimator; None if that has no such term."""
        names = [factor.plain_name for factor in self.factors]
        return None if None in names else ":".join(name for name in names if name is not None)


@dataclass(frozen=True, eq=False)
class Design:
    """The columns that some terms make, and who has no gap in them."""

    matrix: Array
    whole: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ModelColumns:
    """All columns of some people, the secret last."""

    columns: tuple[ModelColumn, ...]
    secret: str
    _made: dict[PrintedFactor, Array] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, people: Dataset) -> ModelColumns:
        """The columns of a dataset."""
        public = people.public
        found = []
        for index, column in enumerate(public.columns):
            numbers = public.numbers[index] if public.numbers else None
            codes = np.asarray(public.codes[index]).astype(np.int64)
            size = column.levels - column.gaps
            codes = np.where(codes < size, codes, -1)
            labels = column.labels[:size] if column.cuts is None else ()
            if numbers is None and all(label in ("0", "1") for label in labels):
                values = np.array([float(label) for label in labels] + [np.nan])
                numbers = values[codes]
            kept = None if numbers is None else np.asarray(numbers, dtype=np.float64)
            found.append(ModelColumn(column.name, index, codes, labels, kept))
        if people.secret is not None:
            found.append(_secret_column(people))
        return cls(tuple(found), people.secret_name if people.secret is not None else "")

    @property
    def n(self) -> int:
        """How many people."""
        return int(self.columns[0].codes.size)

    def named(self, text: str) -> ModelColumn | None:
        """The column of a name, also in other letters; None if that is not one column."""
        bare = text.strip().strip("`'\"")
        for column in self.columns:
            if column.name == bare:
                return column
        wanted = _plain(bare)
        same = [column for column in self.columns if _plain(column.name) == wanted and wanted]
        return same[0] if len(same) == 1 else None

    def with_unit(self, text: str) -> ModelColumn | None:
        """The column of a name with a unit behind it: "age (years)"."""
        found = re.fullmatch(r"(.*\S)\s*(?:\([^()]*\)|\[[^\[\]]*\]|, \w+)", text.strip())
        return self.named(found[1]) if found else None

    def readings(self, term: str) -> list[PrintedTerm]:
        """What a printed term may mean, the plainest first; at most a few."""
        term = re.sub(r"\s+", " ", term.strip().strip("`"))
        found = [PrintedTerm(term, (factor,)) for factor in self._factors(term)]
        if found:
            return found[:_MOST_READINGS]
        for sign in _CROSSED:
            parts = (
                re.split(rf"\s*{re.escape(sign.strip())}+\s*", term)
                if sign.strip() not in "xX"
                else term.split(sign)
            )
            if len(parts) < 2 or len(parts) > 4:
                continue
            choices = [self._factors(part) for part in parts]
            products = itertools.islice(itertools.product(*choices), _MOST_READINGS)
            found = [PrintedTerm(term, tuple(product)) for product in products]
            if found:
                return found
        return []

    def _factors(self, text: str) -> list[PrintedFactor]:
        return list(dict.fromkeys(self._read(text.strip())))

    def _read(self, text: str) -> Iterator[PrintedFactor]:
        column = self.named(text)
        if column is not None and column.numbers is not None:
            yield PrintedFactor(column.name)
            return
        if column is not None:
            if len(column.labels) == 2:  # a text of two values in one term: one of them
                yield PrintedFactor(column.name, column.labels[1])
                yield PrintedFactor(column.name, column.labels[0])
            return
        for pattern in (_CATEGORY, _STATA, _XI):
            if found := pattern.fullmatch(text):
                groups = found.groupdict()
                name = (groups.get("factor") or groups.get("plain") or groups.get("name") or "").strip()
                factor = self._labelled(_bare_factor(name), groups["label"])
                if factor is not None:
                    yield factor
                    return
        if text.startswith("c.") and (column := self.named(text[2:])) is not None:
            yield PrintedFactor(column.name)
            return
        if (call := _CALL.fullmatch(text)) is not None:
            yield from self._called(call)
            return
        if _POLYNOMIAL.search(text):
            return
        yield from self._joined(text)

    def _called(self, call: re.Match[str]) -> Iterator[PrintedFactor]:
        """factor(region)2, log(age), I(age^2), age (65+)."""
        name, inside, rest = call["call"], call["inside"].strip(), call["rest"].strip()
        if name in _FACTORS and rest:
            label = rest[4:-1] if rest.startswith("[T.") else rest.strip("[]")
            factor = self._labelled(inside.partition(",")[0], label)
            if factor is not None:
                yield factor
            return
        power = _POWER.fullmatch(inside) if name == "I" else None
        if name in ("np.power", "pow") and (parts := inside.split(",")) and len(parts) == 2:
            power = _POWER.fullmatch(f"{parts[0].strip()}^{parts[1].strip()}")
        if power is not None and (column := self.named(power["name"])) is not None and not rest:
            yield PrintedFactor(column.name, change=f"power {power['power']}")
        elif name in _TRANSFORMS and not rest and (column := self.named(inside)) is not None:
            if column.numbers is not None:
                yield PrintedFactor(column.name, change=_TRANSFORMS[name])
        elif name == "I" and not rest:
            yield from self._changed(inside)
        else:
            yield from self._joined(call.string)

    def _joined(self, text: str) -> Iterator[PrintedFactor]:
        """A name and a value in one word or two, "sexm", "sex: m", or a value that only one column has."""
        for column in self.columns:
            words = [re.escape(word) for word in _plain(column.name).split()]
            found = re.match(r"[\W_]+".join(words), text, re.IGNORECASE) if words else None
            rest = text[found.end() :] if found is not None else ""
            bare = re.sub(r"^\s*(?:==|=|:|_|\.|-|–|\s)\s*|^\s*[(\[]|[)\]]$", "", rest)
            for label in (rest, bare):
                at = column.label(label) if label.strip() else None
                if at is not None:
                    yield PrintedFactor(column.name, column.labels[at])
        measured = self.with_unit(text)
        if measured is not None and measured.numbers is not None:
            yield PrintedFactor(measured.name)
        yield from self._changed(text)
        alone = [
            PrintedFactor(column.name, column.labels[at])
            for column in self.columns
            if (column.numbers is None or label_number(text) is None)
            and (at := column.label(text)) is not None
        ]
        if len(alone) == 1:
            yield alone[0]

    def _changed(self, text: str) -> Iterator[PrintedFactor]:
        """A square or a logarithm by its usual name, where no column has that name: age_sq, log_pay."""
        for pattern, change in (
            (r"(?:ln|log)[_ .]?(?P<name>.+)", "log"),
            (r"(?P<name>.+?)[_ .]?(?:sq|squared|2|²|\^2)", "power 2"),
            (r"(?:sqrt)[_ .]?(?P<name>.+)", "sqrt"),
        ):
            found = re.fullmatch(pattern, text, re.IGNORECASE)
            if found and (column := self.named(found["name"])) is not None and column.numbers is not None:
                yield PrintedFactor(column.name, change=change)

    def _labelled(self, name: str, label: str) -> PrintedFactor | None:
        column = self.named(name)
        at = None if column is None else column.label(label)
        return None if column is None or at is None else PrintedFactor(column.name, column.labels[at])

    def values(self, factor: PrintedFactor) -> Array:
        """Everybody's value of a factor, NaN where it is missing."""
        if factor not in self._made:
            self._made[factor] = self._computed(factor)
        return self._made[factor]

    def _computed(self, factor: PrintedFactor) -> Array:
        column = next(each for each in self.columns if each.name == factor.column)
        if factor.label is not None:
            flags = (column.codes == column.labels.index(factor.label)).astype(np.float64)
            return np.where(column.codes < 0, np.nan, flags)
        assert column.numbers is not None
        x = column.numbers
        with np.errstate(all="ignore"):
            if factor.change.startswith("power"):
                out = x ** int(factor.change[-1])
            elif factor.change == "scale":
                out = (x - np.nanmean(x)) / np.nanstd(x, ddof=1)
            elif factor.change == "center":
                out = x - np.nanmean(x)
            elif factor.change:
                out = getattr(np, factor.change)(x)
            else:
                out = x
        return np.where(np.isfinite(out), out, np.nan)

    def design(self, terms: tuple[PrintedTerm, ...], intercept: int | None) -> Design:
        """The matrix of some terms; with an intercept, ones at its place."""
        made = [np.prod([self.values(factor) for factor in term.factors], axis=0) for term in terms]
        if intercept is not None:
            made.insert(intercept, np.ones(self.n))
        matrix = np.stack(made, axis=1)
        return Design(matrix, ~np.isnan(matrix).any(axis=1))


def _bare_factor(name: str) -> str:
    """The column in "factor(region)" or "C(region, Treatment('n'))"."""
    found = re.fullmatch(r"(?:as\.)?(?:factor|character)\(([^(),]+).*\)", name)
    return found[1] if found else name


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()


def _secret_column(people: Dataset) -> ModelColumn:
    assert people.secret is not None
    if not people.meaning:
        values = people.secret.astype(np.float64)
        distinct, codes = np.unique(values, return_inverse=True)
        labels = tuple(map(label_text, distinct)) if distinct.size <= 50 else ()
        return ModelColumn(people.secret_name, None, codes.astype(np.int64), labels, values)
    said = [TRUTH.get(label.casefold(), label_number(label)) for label in people.meaning]
    codes = people.secret.astype(np.int64)
    known = [number for number in said if number is not None]
    numbers = np.array(known)[codes] if len(known) == len(said) else None
    return ModelColumn(people.secret_name, None, codes, people.meaning, numbers)
