"""Genotypes of people: PLINK .bed by bed-reader, VCF and BCF by cyvcf2, read a block of sites at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.errors import InvalidInput, invalid
from tellall.genomics.sites import Places, Sites

__all__ = ["GENOTYPE_ENDINGS", "Genotypes", "InMemory", "Plink", "read_genotypes"]

GENOTYPE_ENDINGS = (".bed", ".vcf", ".vcf.gz", ".bcf")
MISSING = -127

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
    """

    people: tuple[str, ...]
    sites: Sites
    skipped: int

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of people and of sites."""
        return len(self.people), len(self.sites)

    @abstractmethod
    def take(self, places: Places) -> Calls:
        """The calls of everybody at some sites, people × sites."""

    def block(self, start: int, stop: int) -> Calls:
        """The calls at the sites from start to stop (not included)."""
        return self.take(np.arange(start, min(stop, len(self.sites))))


@dataclass(frozen=True, eq=False)
class Plink(Genotypes):
    """Genotypes that stay in a PLINK .bed file, two bits a call, until a block of them is read."""

    reader: Any

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
    .bed files are read block by block and never held whole; VCF files are read once, one byte a call. The
    counted allele is A1 of the .bim file, and the alternative allele of a VCF. Sites of a VCF with more than
    two alleles are left out. Needs ``pip install 'tellall[genomics]'``.
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
    return Plink(people, sites, 0, reader)


def _read_vcf(place: Path) -> InMemory:
    _need("cyvcf2", "cyvcf2", "VCF")
    from cyvcf2 import VCF

    rows: list[Calls] = []
    names: list[tuple[str, str, int, str, str]] = []
    skipped = 0
    try:
        with_people = VCF(str(place), gts012=True)
        people = tuple(with_people.samples)
        for record in with_people:
            if len(record.ALT) != 1:
                skipped += 1
                continue
            calls = np.asarray(record.gt_types, dtype=np.int8)
            rows.append(np.where(calls == 3, np.int8(MISSING), calls))
            names.append((record.ID or ".", record.CHROM, record.POS, record.ALT[0], record.REF))
        with_people.close()
    except Exception as error:  # a broken file can break its reader in any way
        raise _unreadable(place, error) from None
    if not rows or not people:
        raise invalid("path", "a file with people and sites of two alleles", str(place))
    return InMemory(people, Sites.of(*zip(*names, strict=True)), skipped, np.stack(rows, axis=1))


def _need(module: str, package: str, what: str) -> None:
    if find_spec(module) is None:
        raise InvalidInput(
            f"Reading {what} files needs {package}. Install it with: pip install 'tellall[genomics]'"
        )


def _unreadable(place: Path, error: Exception) -> InvalidInput:
    said = " ".join(str(error).split())
    return invalid("path", "a readable genotype file", str(place), f"The reader said: {said[:160]}")
