"""Genotypes of people, read from PLINK .bed, VCF and BCF files and kept packed at two bits per call."""

from __future__ import annotations

import tempfile
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core.errors import InvalidInput, invalid
from tellall.core.text import said_safely
from tellall.people.genomics.packed_calls import Bytes, Copies, PackedCalls, pack
from tellall.people.genomics.sites import Index, Sites

__all__ = [
    "GENOTYPE_ENDINGS",
    "Genotypes",
    "PackedRows",
    "read_genotypes",
]

GENOTYPE_ENDINGS = (".bed", ".vcf", ".vcf.gz", ".bcf")
_DENSE = 4  # read a range in one go where it has at most this many rows for each row wanted
_HEADER = bytes([0x6C, 0x1B, 1])  # of a .bed file with a row of bytes per site
_SITES = 1024  # sites packed together


@dataclass(frozen=True, eq=False)
class PackedRows:
    """A file of rows of equal width, one per site, after a header.

    Notes
    -----
    The file is read, not mapped: mapped pages would count as the process's memory, and copying a row costs
    far less than scoring it.
    """

    file: Any
    header: int
    width: int
    _turn: Lock = field(default_factory=Lock, repr=False)  # a file has one position; threads take turns

    def __post_init__(self) -> None:
        weakref.finalize(self, self.file.close)

    @classmethod
    def stored(cls, parts: Iterable[Copies], people: int) -> PackedRows:
        """Packs calls (people × sites, some sites at a time) into a temporary file without a name."""
        file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  the rows keep it open
        for calls in parts:
            file.write(pack(calls).tobytes())
        return cls(file, 0, (people + 3) // 4)

    def read(self, index: Index) -> Bytes:
        """Returns the rows at these positions, in this order."""
        if index.size == 0:
            return np.empty((0, self.width), dtype=np.uint8)
        first, last = int(index.min()), int(index.max()) + 1
        if last - first <= _DENSE * index.size:
            rows = np.empty((last - first, self.width), dtype=np.uint8)
            self._fill(rows, first)
            in_order = last - first == index.size and bool((index[1:] > index[:-1]).all())
            return rows if in_order else rows[index - first]
        rows = np.empty((index.size, self.width), dtype=np.uint8)
        for row, position in zip(rows, index.tolist(), strict=True):
            self._fill(row, position)
        return rows

    def _fill(self, rows: Bytes, first: int) -> None:
        left = memoryview(rows.data).cast("B")
        with self._turn:
            self.file.seek(self.header + first * self.width)
            while left.nbytes:
                got = self.file.readinto(left)
                if not got:
                    raise invalid("path", "a file that does not change while it is read", "a shorter file")
                left = left[got:]


@dataclass(frozen=True, eq=False)
class Genotypes:
    """People × sites: how many copies of the counted allele each person has.

    The calls stay in a file, packed, until a chunk of sites is read; `trace` accepts them as they are.

    Attributes
    ----------
    people
        Their names in the file.
    sites
        The sites, and which allele is counted.
    rows
        The packed calls.
    skipped, single
        How many sites were left out because they have more than two alleles, or only one.
    """

    people: tuple[str, ...]
    sites: Sites
    rows: PackedRows
    skipped: int = 0
    single: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of people and of sites."""
        return len(self.people), len(self.sites)

    def chunk(self, start: int, stop: int) -> PackedCalls:
        """Returns the calls at the sites from start to stop (not included)."""
        index = np.arange(start, min(stop, len(self.sites)))
        return self.calls(index, np.zeros(index.size, dtype=bool))

    def calls(self, index: Index, turned: npt.NDArray[np.bool_]) -> PackedCalls:
        """Returns the calls at some sites; where turned, the other allele is counted."""
        return PackedCalls(self.rows.read(index), turned, len(self.people))


def read_genotypes(path: str | Path) -> Genotypes:
    """Reads a PLINK .bed file (with its .bim and .fam), a VCF or a BCF file.

    Notes
    -----
    A .bed file stays where it is and is read a chunk of sites at a time. A VCF, or a .bed file with a row per
    person, is read once and kept packed in a nameless temporary file, which disappears with the genotypes.
    Memory holds the names of people and sites. The counted allele is A1 of the .bim file, or the alternative
    allele of a VCF. Sites of a VCF with one allele or more than two are left out, and a half call counts as
    missing. Needs ``pip install 'tellall[genomics]'``.
    """
    found = Path(path)
    if not found.name.lower().endswith(GENOTYPE_ENDINGS):
        raise invalid("path", f"a file ending in {', '.join(GENOTYPE_ENDINGS)}", str(path))
    if not found.is_file():
        raise invalid("path", "a file that exists", str(path))
    return _read_plink(found) if found.suffix.lower() == ".bed" else _read_vcf(found)


def _read_plink(path: Path) -> Genotypes:
    _need("bed_reader", "bed-reader", path.suffix)
    from bed_reader import open_bed

    for other in (".bim", ".fam"):
        if not path.with_suffix(other).is_file():
            raise invalid("path", f"a .bed file with its {other} file next to it", str(path))
    with path.open("rb") as file:
        by_site = file.read(len(_HEADER)) == _HEADER
    try:
        reader = open_bed(path, num_threads=1)
        sites = Sites.of(reader.sid, reader.chromosome, reader.bp_position, reader.allele_1, reader.allele_2)
        people = tuple(str(name) for name in reader.iid)
        if not by_site:
            some = (np.s_[:, start : start + _SITES] for start in range(0, len(sites), _SITES))
            rows = PackedRows.stored((reader.read(index=each, dtype="int8") for each in some), len(people))
            return Genotypes(people, sites, rows)
    except Exception as error:  # a broken file can break its reader in any way
        raise _unreadable(path, error) from None
    width = (len(people) + 3) // 4
    size, wanted = path.stat().st_size, len(_HEADER) + width * len(sites)
    if size != wanted:
        counts = f"{len(people):,} people of its .fam and {len(sites):,} sites of its .bim"
        raise invalid("path", f"of {wanted:,} bytes, for the {counts}", f"{path} of {size:,} bytes")
    return Genotypes(people, sites, PackedRows(path.open("rb", buffering=0), len(_HEADER), width))


def _read_vcf(path: Path) -> Genotypes:
    _need("cyvcf2", "cyvcf2", "VCF")
    from cyvcf2 import VCF, cyvcf2

    cyvcf2.set_htslib_log_level(0)  # it would print parts of the file; errors are reported below
    sites: list[Sites] = []
    left_out: Counter[str] = Counter()
    try:
        records = VCF(str(path), gts012=True, strict_gt=True)  # a half call counts as missing
        people = tuple(records.samples)
        rows = PackedRows.stored(_vcf_calls(records, sites, left_out), len(people))
        records.close()
    except Exception as error:  # a broken file can break its reader in any way
        raise _unreadable(path, error) from None
    if not sites or not people:
        raise invalid("path", "a file with people and sites of two alleles", str(path))
    return Genotypes(people, Sites.joined(sites), rows, left_out["several"], left_out["one"])


def _vcf_calls(records: Any, sites: list[Sites], left_out: Counter[str]) -> Iterator[Copies]:
    """Yields the calls of some sites at a time; adds the sites to a list and counts those left out."""

    def usable() -> Iterator[tuple[tuple[str, str, int, str, str], Copies]]:
        for record in records:
            if len(record.ALT) == 1:
                site = (record.ID or ".", record.CHROM, record.POS, record.ALT[0], record.REF)
                yield site, np.asarray(record.gt_types, dtype=np.int8)
            else:
                left_out["several" if record.ALT else "one"] += 1

    rest = usable()
    while some := list(islice(rest, _SITES)):
        names, found = zip(*some, strict=True)
        sites.append(Sites.of(*zip(*names, strict=True)))
        calls = np.stack(found, axis=1)
        yield np.where(calls == 3, np.int8(-1), calls)  # 3: not called


def _need(module: str, package: str, what: str) -> None:
    if find_spec(module) is None:
        raise InvalidInput(
            f"Reading {what} files needs {package}. Install it with: pip install 'tellall[genomics]'"
        )


def _unreadable(path: Path, error: Exception) -> InvalidInput:
    return invalid("path", "a readable genotype file", path, f"The reader failed with {said_safely(error)}.")
