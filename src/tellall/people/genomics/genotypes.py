"""Genotypes of people: PLINK .bed by bed-reader, VCF and BCF by cyvcf2, scored a block of sites at a time."""

from __future__ import annotations

import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.errors import InvalidInput, invalid
from tellall.people.genomics.packed_calls import PackedCalls, pack
from tellall.people.genomics.sites import Places, Sites

__all__ = [
    "GENOTYPE_ENDINGS",
    "Bytes",
    "Genotypes",
    "InMemory",
    "Packed",
    "PackedRows",
    "Plink",
    "read_genotypes",
]

# Rows of packed calls that stay in a file until they are asked for.

Bytes = npt.NDArray[np.uint8]
_DENSE = 4  # rows read for each one wanted, at most, before each is read alone


@dataclass(frozen=True, eq=False)
class PackedRows:
    """A file of rows of equal width, one per site, after a header.

    Notes
    -----
    Read, not mapped: mapped pages would count as the process's memory, and copying a row costs less than its
    scoring by far.
    """

    file: Any
    header: int
    width: int
    _place: Lock = field(default_factory=Lock, repr=False)  # a file has one, and threads read by turns

    def __post_init__(self) -> None:
        weakref.finalize(self, self.file.close)

    def read(self, places: Places) -> Bytes:
        """The rows at these places, in this order."""
        if places.size == 0:
            return np.empty((0, self.width), dtype=np.uint8)
        first, last = int(places.min()), int(places.max()) + 1
        if last - first <= _DENSE * places.size:
            rows = np.empty((last - first, self.width), dtype=np.uint8)
            self._fill(rows, first)
            in_a_row = last - first == places.size and bool((places[1:] > places[:-1]).all())
            return rows if in_a_row else rows[places - first]
        rows = np.empty((places.size, self.width), dtype=np.uint8)
        for row, place in zip(rows, places.tolist(), strict=True):
            self._fill(row, place)
        return rows

    def _fill(self, rows: Bytes, first: int) -> None:
        left = memoryview(rows.data).cast("B")
        with self._place:
            self.file.seek(self.header + first * self.width)
            while left.nbytes:
                got = self.file.readinto(left)
                if not got:
                    raise invalid(
                        "path", "a file that stays as it is while it is read", "one that became shorter"
                    )
                left = left[got:]


GENOTYPE_ENDINGS = (".bed", ".vcf", ".vcf.gz", ".bcf")
MISSING = -127
_HEADER = bytes([0x6C, 0x1B, 1])  # of a .bed file with a row of bytes per site
_SITES = 1024  # of a VCF, packed together

Calls = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Genotypes(ABC):
    """People × sites: how many copies of the counted allele each person has, negative where not called.

    Attributes
    ----------
    people
        Their names in the file.
    sites
        Where, and which allele is counted.
    skipped
        How many sites were left out: more than two alleles.
    single
        How many sites were left out: one allele only.
    """

    people: tuple[str, ...]
    sites: Sites
    skipped: int
    single: int = field(default=0, kw_only=True)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of people and of sites."""
        return len(self.people), len(self.sites)

    @abstractmethod
    def take(self, places: Places) -> Calls:
        """The calls of everybody at some sites, people × sites."""

    def take_packed(self, places: Places) -> Bytes | None:
        """The same, sites × bytes of four people, where the file holds them so; see ``PackedCalls``."""
        return None

    def block(self, start: int, stop: int) -> Calls:
        """The calls at the sites from start to stop (not included)."""
        return self.take(np.arange(start, min(stop, len(self.sites))))

    def packed(self, start: int, stop: int) -> PackedCalls | None:
        """The packed calls at the sites from start to stop (not included)."""
        rows = self.take_packed(np.arange(start, min(stop, len(self.sites))))
        return None if rows is None else PackedCalls(rows, np.zeros(len(rows), dtype=bool), len(self.people))


@dataclass(frozen=True, eq=False)
class Packed(Genotypes):
    """Genotypes that stay in a file, two bits a call, until a block of them is read."""

    rows: PackedRows

    def take_packed(self, places: Places) -> Bytes | None:
        return self.rows.read(places)

    def take(self, places: Places) -> Calls:
        rows = self.rows.read(places)
        codes = PackedCalls(rows, np.zeros(len(rows), dtype=bool), len(self.people)).codes()
        return np.where(codes > 2, np.int8(MISSING), codes)


@dataclass(frozen=True, eq=False)
class Plink(Genotypes):
    """Genotypes that stay in a PLINK .bed file; scored as they lie there where it has a row per site."""

    reader: Any
    rows: PackedRows | None

    def take_packed(self, places: Places) -> Bytes | None:
        return None if self.rows is None else self.rows.read(places)

    def take(self, places: Places) -> Calls:
        calls: Calls = self.reader.read(index=np.s_[:, places], dtype="int8", order="F")
        return calls


@dataclass(frozen=True, eq=False)
class InMemory(Genotypes):
    """Genotypes held as one byte a call."""

    calls: Calls

    def take(self, places: Places) -> Calls:
        return self.calls[:, places]


def read_genotypes(path: str | Path) -> Genotypes:
    """The genotypes in a PLINK .bed file (with its .bim and .fam) or a VCF or BCF file.

    Notes
    -----
    .bed files are read block by block and never held whole; VCF files are read once and kept, two bits a
    call, in a temporary file without a name, which is gone when the genotypes are. What is held is the list
    of people and sites. The counted allele is A1 of the .bim file, and the alternative allele of a VCF. Sites
    of a VCF with more than two alleles, or one, are left out, and half a call is a missing one. Needs
    ``pip install 'tellall[genomics]'``.
    """
    place = Path(path)
    ending = next((e for e in GENOTYPE_ENDINGS if place.name.lower().endswith(e)), None)
    if ending is None:
        raise invalid("path", f"a file ending in {', '.join(GENOTYPE_ENDINGS)}", str(path))
    if not place.is_file():
        raise invalid("path", "a file that exists", str(path))
    return _read_plink(place) if ending == ".bed" else _read_vcf(place)


def _read_plink(place: Path) -> Plink:
    _need("bed_reader", "bed-reader", place.suffix)
    from bed_reader import open_bed

    for other in (".bim", ".fam"):
        if not place.with_suffix(other).is_file():
            raise invalid("path", f"a .bed file with its {other} file beside it", str(place))
    try:
        reader = open_bed(place, num_threads=1)
        sites = Sites.of(reader.sid, reader.chromosome, reader.bp_position, reader.allele_1, reader.allele_2)
        people = tuple(str(name) for name in reader.iid)
    except Exception as error:  # a broken file can break its reader in any way
        raise _unreadable(place, error) from None
    return Plink(people, sites, 0, reader, _bed_rows(place, len(people), len(sites)))


def _bed_rows(place: Path, people: int, sites: int) -> PackedRows | None:
    """The rows of a .bed file, None where it has a row per person (bed-reader reads those)."""
    with place.open("rb") as file:
        header = file.read(len(_HEADER))
    if header != _HEADER:
        return None
    width = (people + 3) // 4
    size, wanted = place.stat().st_size, len(_HEADER) + width * sites
    if size != wanted:
        rule = f"of {wanted:,} bytes, for the {people:,} people of its .fam and {sites:,} sites of its .bim"
        raise invalid("path", rule, f"{place} of {size:,} bytes")
    return PackedRows(place.open("rb", buffering=0), len(_HEADER), width)


def _read_vcf(place: Path) -> Packed:
    _need("cyvcf2", "cyvcf2", "VCF")
    from cyvcf2 import VCF

    store = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  the genotypes keep it open
    sites: list[Sites] = []
    skipped, single = 0, 0
    try:
        with_people = VCF(str(place), gts012=True, strict_gt=True)  # a call that is half there is missing
        people = tuple(with_people.samples)
        for names, calls, several, alone in _vcf_parts(with_people):
            skipped, single = skipped + several, single + alone
            if names:
                store.write(pack(np.stack(calls, axis=1)).tobytes())
                sites.append(Sites.of(*zip(*names, strict=True)))
        with_people.close()
    except Exception as error:  # a broken file can break its reader in any way
        raise _unreadable(place, error) from None
    if not sites or not people:
        raise invalid("path", "a file with people and sites of two alleles", str(place))
    rows = PackedRows(store, 0, (len(people) + 3) // 4)
    return Packed(people, Sites.joined(sites), skipped, rows, single=single)


def _vcf_parts(
    records: Any,
) -> Iterator[tuple[list[tuple[str, str, int, str, str]], list[Calls], int, int]]:
    """Names and calls of some sites at a time, and how many sites of several alleles and of one are not."""
    names: list[tuple[str, str, int, str, str]] = []
    calls: list[Calls] = []
    skipped, single = 0, 0
    for record in records:
        if len(record.ALT) != 1:
            skipped, single = skipped + (len(record.ALT) > 1), single + (not record.ALT)
            continue
        found = np.asarray(record.gt_types, dtype=np.int8)
        calls.append(np.where(found == 3, np.int8(MISSING), found))
        names.append((record.ID or ".", record.CHROM, record.POS, record.ALT[0], record.REF))
        if len(names) == _SITES:
            yield names, calls, skipped, single
            names, calls, skipped, single = [], [], 0, 0
    yield names, calls, skipped, single


def _need(module: str, package: str, what: str) -> None:
    if find_spec(module) is None:
        raise InvalidInput(
            f"Reading {what} files needs {package}. Install it with: pip install 'tellall[genomics]'"
        )


def _unreadable(place: Path, error: Exception) -> InvalidInput:
    said = " ".join(str(error).split())
    return invalid("path", "a readable genotype file", str(place), f"The reader said: {said[:160]}")
