"""Audit of a mechanism that declares (ε, δ): search neighbours, then prove on fresh draws."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tellall.core.checks import at_least_zero, share, whole
from tellall.core.errors import TellallError, invalid
from tellall.core.work import Progress, reporter
from tellall.privacy.blackbox.estimate import Floats, Score, ScoreKind, Seed, bounds, train_score

__all__ = [
    "Change",
    "MechanismAudit",
    "Runner",
    "Tables",
    "as_runner",
    "as_tables",
    "audit_mechanism",
    "neighbours_of",
]

Change = Literal["zero", "drop", "replace"]

Tables = tuple[Floats, ...]
Runner = Callable[[Tables, int, np.random.Generator], Floats]


def as_tables(dataset: object) -> Tables:
    """Returns the tables of some data, a row for each record."""
    if hasattr(dataset, "public") and hasattr(dataset, "secret"):
        parts: Sequence[Any] = [_numbers(dataset.public), dataset.secret]
    elif isinstance(dataset, (tuple, list)) and all(np.ndim(part) >= 1 for part in dataset):
        parts = dataset if isinstance(dataset, tuple) else [dataset]
    else:
        parts = [dataset]
    try:
        tables = tuple(np.asarray(part, dtype=np.float64) for part in parts if part is not None)
    except (TypeError, ValueError):
        raise invalid(
            "dataset", "a table of numbers or a pair (features, response)", type(dataset).__name__
        ) from None
    sizes = {len(table) if table.ndim else 0 for table in tables}
    if len(sizes) != 1 or min(sizes) < 2:
        raise invalid("dataset", "tables with one row for each record, two records or more", sorted(sizes))
    if not all(np.isfinite(table).all() for table in tables):
        raise invalid("dataset", "finite numbers", "NaN or infinity", "Drop or fill such rows first.")
    return tables


def _numbers(public: object) -> Any:
    """Returns the columns of a public view as numbers if it kept them, otherwise as codes."""
    if not hasattr(public, "codes"):
        return public
    codes = np.asarray(public.codes)  # a row for each column
    kept = getattr(public, "numbers", ()) or [None] * len(codes)
    columns = [own if numbers is None else numbers for own, numbers in zip(codes, kept, strict=True)]
    return np.column_stack(columns)


def neighbours_of(
    tables: Tables, changes: Sequence[Change], records: int
) -> Iterator[tuple[int, Change, Tables]]:
    """Yields the neighbours that change one of the most influential records: (record, change, tables)."""
    for change in changes:
        if change not in ("zero", "drop", "replace"):
            raise invalid("changes", "some of 'zero', 'drop', 'replace'", change)
    if not changes:
        raise invalid("changes", "at least one of 'zero', 'drop', 'replace'", "none")
    for record in _ranked(tables)[:records]:
        for change in changes:
            if change == "drop":
                yield record, change, tuple(np.delete(table, record, axis=0) for table in tables)
                continue
            copies = tuple(table.copy() for table in tables)
            for table in copies:
                table[record] = 0.0 if change == "zero" else np.median(table, axis=0)
            yield record, change, copies


def _ranked(tables: Tables) -> list[int]:
    """Ranks records by leverage in all columns and by influence on a fit of the last column, in turn."""
    joined = np.column_stack([table.reshape(len(table), -1) for table in tables])
    scale = np.linalg.norm(joined, axis=0)
    joined = joined[:, scale > 0.0] / scale[scale > 0.0]
    if joined.shape[1] == 0:
        return list(range(len(joined)))

    def basis(columns: Floats) -> Floats:
        left, values, _ = np.linalg.svd(columns, full_matrices=False)
        return np.asarray(left[:, values > 1e-10 * values[0]])

    leverage = (basis(joined) ** 2).sum(axis=1)
    order = [np.argsort(-leverage, kind="stable")]
    if joined.shape[1] > 1:
        inner = basis(joined[:, :-1])
        weight = (inner**2).sum(axis=1)
        residual = joined[:, -1] - inner @ (inner.T @ joined[:, -1])
        influence = np.abs(residual) * np.sqrt(weight) / np.maximum(1.0 - weight, 1e-12)
        order.append(np.argsort(-influence, kind="stable"))
    return list(dict.fromkeys(int(record) for pair in zip(*order, strict=True) for record in pair))


def as_runner(mechanism: object) -> Runner:
    """Returns a function that runs the mechanism on tables many times and gives a row for each output."""
    if hasattr(mechanism, "sampler"):
        return lambda tables, size, rng: _as_table(mechanism.sampler(*tables)(size, rng), size)
    if hasattr(mechanism, "fit"):
        if "rng" in inspect.signature(mechanism.fit).parameters:
            return _repeat(lambda tables, rng: mechanism.fit(*tables, rng=rng))
        return _repeat(lambda tables, rng: _fitted(mechanism, tables, rng))
    if not callable(mechanism):
        raise invalid(
            "mechanism", "a function of the data, or an object with `fit`", type(mechanism).__name__
        )
    try:
        known = set(inspect.signature(mechanism).parameters)
    except (TypeError, ValueError):
        known = set()
    if "size" in known and "rng" in known:
        return lambda tables, size, rng: _as_table(mechanism(*tables, size=size, rng=rng), size)
    if "rng" in known:
        return _repeat(lambda tables, rng: mechanism(*tables, rng=rng))
    return _repeat(lambda tables, rng: mechanism(*tables))


def _repeat(once: Callable[[Tables, np.random.Generator], Any]) -> Runner:
    def run(tables: Tables, size: int, rng: np.random.Generator) -> Floats:
        return _as_table(
            [np.ravel(np.asarray(once(tables, rng), dtype=np.float64)) for _ in range(size)], size
        )

    return run


def _fitted(estimator: Any, tables: Tables, rng: np.random.Generator) -> Floats:
    copy = deepcopy(estimator)
    if hasattr(copy, "get_params") and "random_state" in copy.get_params():
        copy.set_params(random_state=int(rng.integers(2**31)))
    copy = copy.fit(*tables) or copy
    parts = [np.ravel(getattr(copy, name)) for name in ("coef_", "intercept_") if hasattr(copy, name)]
    if not parts:
        raise TypeError(
            f"{type(estimator).__name__} has no coef_ after fit; pass a function that returns its release"
        )
    return np.concatenate(parts).astype(np.float64)


def _as_table(outputs: object, size: int) -> Floats:
    try:
        table = np.asarray(outputs, dtype=np.float64).reshape(size, -1)
    except ValueError:
        raise invalid("mechanism", "such that every output has the same length", "ragged outputs") from None
    return table


@dataclass(frozen=True)
class MechanismAudit:
    """What an audit proves against a declared (ε, δ).

    Attributes
    ----------
    violated
        Whether the declaration is refuted at this confidence.
    epsilon, delta
        What was declared.
    delta_lower, epsilon_lower
        Lower bounds on the true δ at the declared ε, and on the true ε at the declared δ.
    record, change, direction
        The neighbour that shows it: which row, what was done to it, which side was likelier in the event.
    draws
        Fresh draws on each side behind the bounds.
    tried, skipped
        Neighbours searched, on other draws, and neighbours on which the mechanism refused to run.
    """

    violated: bool
    epsilon: float
    delta: float
    delta_lower: float
    epsilon_lower: float
    record: int
    change: str
    direction: str
    draws: int
    confidence: float
    tried: int
    skipped: int

    def __str__(self) -> str:
        found = (
            f"ε is at least {self.epsilon_lower:.3g} at δ = {self.delta:g}; "
            f"δ is at least {self.delta_lower:.3g} at ε = {self.epsilon:g}"
        )
        where = f"row {self.record}, {self.change}, {self.draws} draws on each side"
        if self.violated:
            return f"Refuted with {100 * self.confidence:g} % confidence: {found} ({where})."
        return (
            f"Not refuted: the strongest of {self.tried} neighbours proves only that {found} ({where}). "
            "An audit can refute a promise, never prove it."
        )


def audit_mechanism(
    mechanism: object,
    dataset: object,
    epsilon: float,
    delta: float,
    *,
    changes: Sequence[Change] = ("zero", "drop", "replace"),
    records: int = 4,
    draws: int = 5000,
    screening: int | None = None,
    confidence: float = 0.99,
    score: ScoreKind = "quadratic",
    rng: Seed = None,
    progress: Progress | bool | None = None,
) -> MechanismAudit:
    """Finds the largest violation of a declared (ε, δ) that can be proved from the mechanism's outputs.

    Parameters
    ----------
    mechanism : object
        One of: a function of the data tables (given ``rng``, and ``size`` for many draws at once, if it takes
        them); an object with ``sampler(features, response)`` or ``fit(features, response, rng)``; a
        scikit-learn-like estimator, whose ``coef_`` and ``intercept_`` are its output.
    dataset : object
        A table, a pair (features, response), or anything with ``public`` and ``secret``.
    epsilon, delta : float
        What the mechanism declares; δ may be 0.
    changes : sequence of {"zero", "drop", "replace"}
        What makes a neighbour: a record zeroed, dropped, or replaced by the median record. Leave out the
        changes that the declaration does not cover.
    records : int
        How many records to try, those with the most leverage and influence first.
    draws, screening : int
        Fresh draws on each side for the proof; draws on each side for the search in each neighbour (by
        default a quarter of `draws`).
    confidence : float
        A mechanism that keeps its promise is refuted with probability at most 1 − confidence.

    Notes
    -----
    Neighbour, score, direction and threshold are chosen on the screening draws; one event is then tested on
    fresh draws by Clopper and Pearson's bounds, each at (1 − confidence)/2. Takes (records·changes +
    1)·screening + 2·draws runs of the mechanism.

    Examples
    --------
    >>> import numpy as np
    >>> def noisy_mean(table, rng, size):
    ...     return table.mean() + rng.laplace(0, 0.01, (size, 1))  # says ε = 1 for 50 values in [0, 1]
    >>> data = np.random.default_rng(0).random((50, 1))
    >>> audit_mechanism(noisy_mean, data, 1.0, 0.0, changes=["zero"], rng=1).violated
    True
    """
    eps = at_least_zero("epsilon", epsilon)
    slack = share("delta", delta)
    level = share("confidence", confidence, zero=False, one=False)
    fresh = whole("draws", draws, least=10)
    trial = whole("screening", max(20, fresh // 4) if screening is None else screening, least=20)
    tables, run = as_tables(dataset), as_runner(mechanism)
    neighbours = list(neighbours_of(tables, changes, whole("records", records)))
    generators = iter(np.random.default_rng(rng).spawn(3 + len(neighbours)))
    best: _Event | None = None
    skipped = 0
    with reporter(progress, (1 + len(neighbours)) * trial + 2 * fresh) as report:
        here = run(tables, trial, next(generators))
        report(trial)
        for index, (_, _, other) in enumerate(neighbours):
            try:
                there = run(other, trial, next(generators))
            except (TellallError, ValueError, ArithmeticError, np.linalg.LinAlgError):
                skipped += 1
                report(trial)
                continue
            report(trial)
            event = _search(here, there, eps, fresh, 1.0 - level, score, index)
            if best is None or event.promise > best.promise:
                best = event
        if best is None:
            raise invalid(
                "mechanism", "able to run on a neighbour of the data", "an error on every neighbour"
            )
        record, change, other = neighbours[best.index]
        inside = []
        for side in (tables, other):
            outputs = run(side, fresh, next(generators))
            inside.append(int((best.score(outputs) * best.sign > best.threshold).sum()))
            report(fresh)
    more, less = inside if best.sign > 0 else inside[::-1]
    low, high = bounds(np.array(more), np.array(less), fresh, 1.0 - level)
    delta_lower = float(np.clip(low - np.exp(eps) * high, 0.0, 1.0))
    excess = float(low) - slack
    return MechanismAudit(
        violated=delta_lower > slack,
        epsilon=eps,
        delta=slack,
        delta_lower=delta_lower,
        epsilon_lower=max(0.0, float(np.log(excess / high))) if excess > 0.0 else 0.0,
        record=record,
        change={"zero": "zeroed", "drop": "dropped", "replace": "replaced by the median record"}[change],
        direction="forward" if best.sign > 0 else "backward",
        draws=fresh,
        confidence=level,
        tried=len(neighbours) - skipped,
        skipped=skipped,
    )


@dataclass(frozen=True)
class _Event:
    """An event worth testing: sign·score > threshold, on the neighbour with this index."""

    promise: float
    index: int
    score: Score
    sign: float
    threshold: float


def _search(
    here: Floats, there: Floats, eps: float, fresh: int, miss: float, kind: ScoreKind, index: int
) -> _Event:
    if here.shape[1] != there.shape[1]:
        raise invalid("mechanism", "such that outputs have the same length on neighbours", there.shape)
    half = len(here) // 2
    score = train_score(here[:half], there[:half], kind=kind)
    first, second = score(here), score(there)
    found = []
    for sign, mine, other in ((1.0, first, second), (-1.0, -second, -first)):
        values = np.unique(np.concatenate([mine[:half], other[:half]]))
        cuts = (values[:-1] + values[1:]) / 2.0 if len(values) > 1 else values
        cuts = cuts[:: max(1, len(cuts) // 400)]
        rates = [np.array([(side > cut).mean() for cut in cuts]) for side in (mine[:half], other[:half])]
        # what the proof would show if the fresh draws came out like these
        low, high = bounds(np.round(rates[0] * fresh), np.round(rates[1] * fresh), fresh, miss)
        at = int(np.argmax(low - np.exp(eps) * high))
        # judged on the other half of the screening draws, where nothing was chosen
        seen = [(side[half:] > cuts[at]).mean() * fresh for side in (mine, other)]
        low, high = bounds(np.round(seen[0]), np.round(seen[1]), fresh, miss)
        found.append(_Event(float(low - np.exp(eps) * high), index, score, sign, float(cuts[at])))
    return max(found, key=lambda event: event.promise)
