"""A first plan for a table of people, with comments that say what to change."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tellall.core.errors import TellallError, invalid
from tellall.core.records import VERSION
from tellall.core.text import escape_marks, one_line
from tellall.people.columns import DEFAULT_BINS, Bins, encode, is_missing
from tellall.people.cuts import is_number_text
from tellall.people.dataset import Dataset, Public, unknown_name
from tellall.people.predictors import predictors
from tellall.people.readers import column_names
from tellall.statistics.statistic import numbers_of

__all__ = [
    "ColumnLook",
    "Draft",
    "as_toml",
    "as_toml_value",
    "draft",
    "likely_secrets",
    "look_at",
    "toml_text",
]

_MOST_LEVELS = 50  # text with more values than this is a name, a key or a remark, and no table is made of it
_MOST_COVARIATES = 8  # of a drafted regression
_PER_COVARIATE = 10  # people for each of its covariates, as most guides ask for
_FEW = 10  # people: smaller groups are reported, and hidden
_PER_PART = 40  # people in each part of a column of numbers, if there are as many
_FEWEST_PARTS = 4


@dataclass(frozen=True)
class Draft:
    """The text of a plan, what was chosen in it, and what public columns tell of the secret."""

    text: str
    secret: str
    public: tuple[str, ...]
    left_out: tuple[str, ...]
    told: tuple[str, ...] = ()


@dataclass(frozen=True)
class ColumnLook:
    """What a column of a table holds, counted.

    Attributes
    ----------
    kind
        "two values", "categories", "numbers", "text", "key", "constant" or "unreadable".
    values
        How many values it has in tables, where numbers are cut into classes; missing ones count as one.
    missing
        For how many people it is missing.
    small, fewest
        How many of these values fewer than 10 people have, and how many people the rarest has.
    reason
        Why no table can be made of it; empty if one can.
    rare
        The values of the smallest groups, at most three.
    """

    name: str
    kind: str
    values: int = 0
    missing: int = 0
    small: int = 0
    fewest: int = 0
    reason: str = ""
    rare: str = ""


def look_at(name: str, raw: object) -> ColumnLook:
    """What a column holds, and whether a plan can make tables of it.

    Examples
    --------
    >>> look = look_at("sex", np.array(["f", "m", "f"]))
    >>> look.kind, look.values, look.small, look.fewest, look.rare
    ('two values', 2, 2, 1, '“m”, “f”')
    """
    try:
        column, codes, numbers = encode(name, raw)
    except TellallError as error:
        return ColumnLook(name, "unreadable", reason=str(error))
    counts = np.bincount(codes, minlength=column.levels)
    kind, reason = "categories" if numbers is None else "numbers", ""
    if column.levels < 2:
        kind, reason = "constant", "the same for everybody"
    elif numbers is None and column.levels > _MOST_LEVELS:
        kind, reason = "text", f"text with {column.levels} values"
    elif numbers is not None and not column.dates and _is_key(numbers):
        kind, reason = "key", "a different whole number for everybody, so a key"
    elif column.levels - column.gaps == 2:
        kind = "two values"
    return ColumnLook(
        name,
        kind,
        values=column.levels,
        missing=int(counts[-1]) if column.gaps else 0,
        small=int((counts < _FEW).sum()),
        fewest=int(counts.min()) if counts.size else 0,
        reason=reason,
        rare="" if reason else _rare(column.labels, counts),
    )


def _rare(labels: Sequence[str], counts: Any) -> str:
    order = [code for code in np.argsort(counts, kind="stable") if counts[code] < _FEW]
    return ", ".join(f"“{one_line(labels[code], 40)}”" for code in order[:3])


def draft(
    table: Any,
    data: str,
    *,
    secret: str | None = None,
    drop_gaps: bool = False,
    kind: str | None = None,
    by: str | None = None,
    known: Sequence[str] | None = None,
    seed: int = 0,
) -> Draft:
    """A commented plan for the columns of a table that lies in the file `data`.

    Parameters
    ----------
    table
        Columns by name; see `read_table`.
    data
        What the plan calls the file.
    secret
        The column to protect; by default the last with two values.
    drop_gaps
        Whether people whose secret is missing are left out.
    kind
        "bits", "categories" or "reals"; by default the secret's values decide.
    by, known, seed
        What the plan says under these keys; None leaves a line to uncomment.

    Notes
    -----
    Drafted is what people publish first: the secret by each column, with small cells hidden and the others
    rounded; means by each column of a real secret; one regression on the numbers. Tables of three columns
    are a line to uncomment.
    """
    names = column_names(table)
    columns = {name: table[name] for name in names}
    chosen = _secret(columns, secret, drop_gaps=drop_gaps)
    kept, left_out = _split(columns, chosen)
    if not kept:
        raise invalid("table", "one with public columns to make tables of", "; ".join(left_out) or "none")
    read = partial(
        Dataset.from_frame,
        {name: columns[name] for name in [*kept, chosen]},
        secret=chosen,
        public=kept,
        kind=kind,
        drop_gaps=drop_gaps,
    )
    people = read()  # says what is wrong with the secret, if anything is
    people = read(bins=_coarser(people)) if _coarser(people) else people
    cuts = {c.name: c.cut_texts for c in people.public.columns if c.cuts}
    told = tuple(one.sentence for one in predictors(people))
    text = _TEMPLATE.format(
        version=VERSION,
        data=toml_text(data),
        secret=toml_text(chosen),
        gaps="drop_gaps = true      # people without a value of it are left out\n" if drop_gaps else "",
        kind=_kind(people.meaning, kind),
        meaning=_meaning(people.meaning) if people.levels else "real numbers",
        public=",\n".join(f"  {toml_text(name)}" for name in kept),
        told="".join(f"# {one_line(sentence, 200)}\n" for sentence in told),
        left_out="".join(f"# left out: {one_line(reason, 200)}\n" for reason in left_out),
        by='# by = "county"       ' if by is None else f"by = {toml_text(by)}  ",
        known='# known = ["age", "sex"]  ' if known is None else f"known = {as_toml_value(list(known))}  ",
        bins="\n".join(f"{toml_text(name)} = [{', '.join(points)}]" for name, points in cuts.items())
        or "# age = [17.5, 39.5, 64.5]",
        limit=_LIMIT if people.levels else _REAL_LIMIT,
        seed=seed,
        releases="\n".join(_releases(people)),
    )
    return Draft(text, chosen, tuple(kept), tuple(left_out), told)


def _releases(people: Dataset) -> list[str]:
    """What people publish first about such a secret, as a plan writes it."""
    covariates = _numeric(people.public)[: min(_MOST_COVARIATES, people.n // _PER_COVARIATE)]
    listed = ", ".join(map(toml_text, covariates))
    found = [_TABLES if people.levels else _MEANS]
    if covariates and people.levels <= 2:
        loss = "logistic" if people.levels else "linear"
        found.append(_REGRESSION.format(loss=loss, columns=listed))
    if len(people.public.columns) > 1:
        found.append(_LARGER_TABLES if people.levels else _LARGER_MEANS)
    return found


def _kind(values: Sequence[str], kind: str | None) -> str:
    """The line of the plan that says what the secret is; a comment if its categories are amounts."""
    if kind is not None:
        return f"kind = {toml_text(kind)}\n"
    amounts = len(values) > 2 and all(map(is_number_text, values))
    return (
        '# kind = "reals"     # its values are amounts, to be published as sums and means\n'
        if amounts
        else ""
    )


def _meaning(values: Sequence[str]) -> str:
    """The values of the secret, on one line."""
    listed = " or ".join(values) if len(values) == 2 else ", ".join(values)
    count = "two" if len(values) == 2 else f"{len(values)}"
    return f"{count} values ({one_line(listed)})"


def _coarser(people: Dataset) -> dict[str, Bins]:
    """How many parts columns of numbers are cut into, where values or the usual parts have too few people."""
    parts = min(max(people.n // _PER_PART, _FEWEST_PARTS), DEFAULT_BINS)
    return {
        column.name: parts
        for column, numbers in zip(people.public.columns, people.public.numbers, strict=True)
        if numbers is not None and column.levels - column.gaps > max(parts, people.n // _PER_PART)
    }


def _numeric(public: Public) -> list[str]:
    """The columns that a regression can use: numbers without gaps, and no dates."""
    found = []
    for index, column in enumerate(public.columns):
        if column.dates:
            continue
        try:
            numbers_of(public, index, "to be used in a regression")
        except TellallError:
            continue
        found.append(column.name)
    return found


def likely_secrets(table: Any) -> list[str]:
    """The columns of two values, the last first: one of them may be what nobody should learn."""
    names = column_names(table)
    return [name for name in reversed(names) if _distinct(table[name]) == 2]


def _secret(columns: dict[str, Any], secret: str | None, *, drop_gaps: bool) -> str:
    if secret is not None:
        if secret not in columns:
            raise unknown_name("secret", secret, list(columns))
        return secret
    two = [
        name for name, raw in columns.items() if _distinct(raw) == 2 and (drop_gaps or not _any_missing(raw))
    ]
    if not two:
        raise invalid(
            "table",
            "one with a column of two values, to be the secret",
            "none without gaps",
            "Name one with --secret, or leave out people without a value with --drop-gaps.",
        )
    return two[-1]


def _split(columns: dict[str, Any], secret: str) -> tuple[list[str], list[str]]:
    """The columns that tables can be made of, and the others with the reason."""
    seen = [look_at(name, raw) for name, raw in columns.items() if name != secret]
    kept = [look.name for look in seen if not look.reason]
    left_out = [f"{look.name}: {look.reason}" for look in seen if look.reason]
    return kept, left_out


def _is_key(numbers: Any) -> bool:
    return bool(
        numbers.size > 20
        and not np.isnan(numbers).any()
        and (numbers == np.round(numbers)).all()
        and np.unique(numbers).size == numbers.size
    )


def _cells(raw: object) -> list[Any]:
    values = raw.to_numpy() if hasattr(raw, "to_numpy") else raw
    cells: Any = np.ma.asarray(values).astype(object)
    return list(cells.filled(None))


def _distinct(raw: object) -> int:
    return len({str(value) for value in _cells(raw) if not is_missing(value)})


def _any_missing(raw: object) -> bool:
    return any(map(is_missing, _cells(raw)))


def toml_text(text: str) -> str:
    """The text as a TOML string; marks that act, and characters above U+FFFF, are escaped."""
    quoted = json.dumps(text, ensure_ascii=False)
    return escape_marks("".join(f"\\U{ord(mark):08x}" if ord(mark) > 0xFFFF else mark for mark in quoted))


def plan_name(data: Path) -> Path:
    """Where a plan for this file goes: next to it."""
    return data.with_suffix(".toml")


_TEMPLATE = """\
# What is going to be published about the people in a file. To see what it gives away:
#   tellall audit THIS_FILE
# Words: tellall explain. Every key of a plan: "The plan" in docs/audit.md.

schema_version = {version}
data = {data}
secret = {secret}  # the column nobody should learn about a person: {meaning}
{kind}{gaps}
# The columns an attacker may know about everybody.
{told}{left_out}public = [
{public},
]
# accepted_predictors = ["ward"]  # public columns that may tell the secret by themselves
{by}# a public column: everything is published separately for each of its values
{known}# what the attacker knows of them; all by default

{limit}
limit = 0.05
exposed_limit = 0     # the most people with a sensitive value who may be proved alone or exposed
# sensitive = ["yes"] # the values that must not be learned; all but the most common one by default
repeats = 1           # draws of the noise that are attacked
seed = {seed}  # of the audit; publishing draws its own
steps = true          # also attack with fewer protections, to see what each buys

# Where numbers are cut for tables; a value on a cut counts as below it. These are round numbers near the
# deciles of the people, so they say a little about them: cuts that you always publish are better.
[bins]
{bins}

# What will be published, one [[releases]] each: they are attacked alone, then all together.
# where = "sex = 'f' and age < 40" in one of them says that it is only about these people.

{releases}"""

_LIMIT = "# The most advantage over the strongest baseline that a release may give: 0.05 is 5 people in 100."
_REAL_LIMIT = (
    "# How much nearer than the strongest baseline an attack may come: 0.05 is 5 % of that baseline's error."
)

_TABLES = """\
[[releases]]
name = "tables"
statistic = { kind = "Marginals", ways = 2 }   # the secret by each public column: two columns a table
protect = [
  { kind = "Suppression", below = 10 },
  { kind = "Rounding", base = 5 },
]
"""

_LARGER_TABLES = """\
# [[releases]]
# name = "tables of the secret by every two columns"
# statistic = { kind = "Marginals", ways = 3 }
# protect = [{ kind = "Suppression", below = 10 }, { kind = "Rounding", base = 5 }]
"""

_MEANS = """\
[[releases]]
name = "means"
statistic = { kind = "CellMeans", ways = 2, counts = true }   # by each public column: two columns a table
protect = { kind = "PPercent", p = 10, complementary = true }   # withholds cells that give somebody away
"""

_LARGER_MEANS = """\
# [[releases]]
# name = "means by every two columns"
# statistic = { kind = "CellMeans", ways = 3, counts = true }
# protect = { kind = "PPercent", p = 10, complementary = true }
"""

_REGRESSION = """\
[[releases]]
name = "regression"
statistic = {{ kind = "Estimator", loss = "{loss}", blocks = [[{columns}]], intercept = true }}
protect = {{ kind = "Rounding", base = 0.001 }}   # coefficients with three decimals; blocks lists its columns
"""


def as_toml(entries: Sequence[dict[str, Any]], table: str = "releases") -> str:
    """Releases as a plan writes them, or entries of another of its tables.

    Examples
    --------
    >>> print(as_toml([{"name": "a", "statistic": {"kind": "Marginals", "ways": 2}, "protect": []}]))
    [[releases]]
    name = "a"
    statistic = { kind = "Marginals", ways = 2 }
    protect = []
    """
    given = [{key: part for key, part in entry.items() if part is not None} for entry in entries]
    return "\n\n".join(
        "\n".join([f"[[{table}]]", *(f"{key} = {as_toml_value(part)}" for key, part in entry.items())])
        for entry in given
    )


def as_toml_value(value: object) -> str:
    """A value as TOML writes it."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(key)} = {as_toml_value(part)}' for key, part in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_toml_value, value))}]"
    if isinstance(value, str):
        return toml_text(value)
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _key(text: str) -> str:
    return text if text.isascii() and text.replace("_", "").isalnum() else toml_text(text)
