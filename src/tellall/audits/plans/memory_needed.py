"""Memory: what an audit will need, before it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tellall.attack.baselines import BLOCKED
from tellall.audits.plans.plan import Plan
from tellall.evidence.query import Query
from tellall.linalg.operators.compose import MOST_ENTRIES, MOST_PLACES
from tellall.linalg.operators.linear_operator import HOST, Device, find_device
from tellall.linalg.operators.row_blocks import SHARED
from tellall.people.areas import split
from tellall.people.codes import PACKED, Numbers
from tellall.people.dataset import Dataset

__all__ = [
    "FACTORISED",
    "Memory",
    "in_blocks",
    "memory_of",
    "tables_and_rows",
    "unknowns_of",
    "written_out",
]

_BASE = 300 << 20  # the program and its libraries
_MODELS = 90  # bytes of a person's column in the best predictor from public columns
_VECTORS = 40  # numbers kept per equation and per unknown while solving
_SQUARES = 4  # matrices of the unknowns that are held at once where they are factorised
FACTORISED = 10_000  # unknowns up to which that is done
_WRITTEN_OUT = 30_000_000  # entries up to which the equations are also written out
_ROW_SIDE = 8  # matrices of distinct equations × unknowns at once, where there are fewer equations
_COPIES = 6  # of them at once, in numbers of eight bytes: whole, without zeros, and of distinct rows
_PLACE = 6  # bytes of an entry of equations in blocks, with its copies
_RIDGES = 400  # bytes of an unknown in the population model, over all ridges
_ENTRY = 24  # bytes of such an entry, with its copies
_DENSE = 0.1  # share of entries that are not zero from which zeros are written too


@dataclass(frozen=True)
class Memory:
    """Bytes that an audit is expected to need.

    Attributes
    ----------
    releases
        For each release by name, the attack on it: its equations and the work of solving them.
    together
        The attack on all releases at once.
    people
        The data themselves.
    host, device
        The most held at once by one attack on the host, and on the device (zero if there is none).
    free, device_free
        What is free now.

    Notes
    -----
    An estimate, within a factor of two of what was measured for tables: matrices of unknowns, or of distinct
    equations, that solvers factorise; equations as they are kept (a table takes four bytes a person; products
    of attributes take eight bytes per attribute and person if there are fewer than 2^24 of these, and one bit
    each if there are more or on a device), a block of work if they are bits, the equations as they are
    written out, and forty numbers for each equation and unknown. Each process that attacks needs as much.
    """

    releases: tuple[tuple[str, int], ...]
    together: int
    people: int
    host: int
    device: int
    free: int
    device_free: int

    @property
    def fits(self) -> bool:
        """Whether one attack after the other fits into what is free now."""
        return self.host <= self.free and self.device <= self.device_free

    def __str__(self) -> str:
        text = f"about {_said(self.host)} of memory ({_said(self.free)} free)"
        if self.device:
            text += f" and {_said(self.device)} of the device's ({_said(self.device_free)} free)"
        return text


def memory_of(plan: Plan, dataset: Dataset, device: str = "cpu") -> Memory:
    """What the audit of this plan about these people will need; ``device`` as in `audit`."""
    chosen = find_device(device)
    if plan.by is not None:  # one area after the other: the largest
        dataset = max(split(dataset, plan.by), key=lambda area: area.n).dataset
    public = dataset.public
    people = public.codes.nbytes + (public.numbers.nbytes if isinstance(public.numbers, Numbers) else 0)
    queries = [entry.query for entry in plan.releases]
    alone = [_attack(dataset, [query], chosen) for query in queries]
    together = _attack(dataset, queries, chosen)
    elsewhere = chosen.name != "cpu"
    return Memory(
        releases=tuple((entry.name, host) for entry, (host, _) in zip(plan.releases, alone, strict=True)),
        together=together[0],
        people=people,
        host=_BASE
        + people
        + max(_MODELS * dataset.n * len(public.columns), *(host for host, _ in (*alone, together))),
        device=max(there for _, there in (*alone, together)),
        free=find_device("cpu").free_memory,
        device_free=chosen.free_memory if elsewhere else 0,
    )


def unknowns_of(dataset: Dataset) -> int:
    """How many numbers an attack solves for: one for each value of each group of people alike."""
    each = 1 if dataset.levels == 2 else max(dataset.levels, 1)
    return each * min(dataset.n, len(dataset.public.patterns))


def tables_and_rows(dataset: Dataset, queries: Sequence[Query]) -> tuple[int, int] | None:
    """How many tables there are, and their distinct equations; None for other statistics."""
    public = dataset.public
    each = [len(query.statistic.tables(public)) for query in queries]
    if not all(each):
        return None
    return sum(each), sum(query.size_for(public, dataset.levels) for query in queries) // 2


def written_out(tables: int, unknowns: int) -> bool:
    """Whether the equations of this many tables are written out and factorised."""
    return 2 * tables * unknowns <= MOST_ENTRIES


def in_blocks(tables: int, unknowns: int) -> bool:
    """Whether the equations of this many tables are at least kept in blocks and factorised."""
    return 2 * tables * unknowns <= MOST_PLACES


def _attack(dataset: Dataset, queries: Sequence[Query], device: Device) -> tuple[int, int]:
    """Bytes of one attack on the host and on the device."""
    public, unknowns = dataset.public, unknowns_of(dataset)
    rows = sum(query.size_for(public, dataset.levels) for query in queries)
    equations = sum(query.memory(public) for query in queries)
    vectors = 8 * _VECTORS * (rows + unknowns)
    # once as they are kept, once for the groups of people, once for what a product needs: of bits a block
    host = 3 * equations + vectors
    if dataset.n * len(public.columns) >= PACKED:
        host += HOST.block
    found = tables_and_rows(dataset, queries)
    if unknowns <= FACTORISED:
        if found is not None and 2 * found[1] <= unknowns:  # solved through the rows
            host += 8 * _ROW_SIDE * found[1] * unknowns
            pairs = unknowns * found[0] * (found[0] + 1) // 2  # of rows that share an unknown
            host += _ENTRY * pairs if pairs <= SHARED else 0
        else:
            host += 8 * _SQUARES * unknowns * unknowns
            if rows * unknowns <= _WRITTEN_OUT:
                host += _COPIES * 8 * rows * unknowns
    elif found is not None:
        tables, distinct = found
        blocks = _PLACE * tables * unknowns + 32 * distinct**2
        solved = 0
        if written_out(tables, unknowns):
            solved = 2 * _ENTRY * tables * unknowns + 32 * distinct**2
            solved += 24 * distinct * unknowns if tables > _DENSE * distinct else 0
        elif in_blocks(tables, unknowns):
            solved = blocks
        fitted = _RIDGES * unknowns + (blocks if distinct <= BLOCKED else 0)  # the population model
        host += max(fitted, solved)
    if device.name == "cpu":
        return host, 0
    there = sum(query.memory(public, packed=True) for query in queries)
    return host, there + vectors + device.block


def _said(size: int) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{max(size / 2**20, 1):.0f} MiB"
