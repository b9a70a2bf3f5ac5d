"""Published allele frequencies: PLINK .frq, PLINK 2 .afreq and GWAS-SSF, read without any library."""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.people.genomics.sites import Sites

__all__ = [
    "FREQUENCY_ENDINGS",
    "Frequencies",
    "is_frequencies",
    "read_frequencies",
]

FREQUENCY_ENDINGS = (".frq", ".afreq", ".tsv", ".txt", ".ssf")
_LAST_POSITION = 10**12  # beyond any genome
_MISSING = ("NA", "#NA", ".", "", "nan", "NaN")


class _Format(NamedTuple):
    """The names of a format's columns, and how many counts a person adds."""

    name: str
    id: str
    chromosome: str
    position: str
    counted: str
    other: str
    frequency: str
    observed: str
    per_person: int

    def fits(self, header: list[str]) -> bool:
        return all(column in header for column in (self.counted, self.other, self.frequency))


_FORMATS = (
    _Format("PLINK .frq", "SNP", "CHR", "", "A1", "A2", "MAF", "NCHROBS", 2),
    _Format("PLINK 2 .afreq", "ID", "CHROM", "POS", "ALT", "REF", "ALT_FREQS", "OBS_CT", 2),
    _Format(
        "GWAS-SSF",
        "variant_id",
        "chromosome",
        "base_pair_location",
        "effect_allele",
        "other_allele",
        "effect_allele_frequency",
        "n",
        1,
    ),
)


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Published allele frequencies.

    Attributes
    ----------
    sites
        The sites, and which allele's frequency is given.
    values
        From 0 to 1; NaN where not published.
    n
        How many people they are over (the median over sites); None if the file does not say.
    skipped
        How many sites were left out because they have more than two alleles.
    """

    sites: Sites
    values: npt.NDArray[np.float64]
    n: int | None
    skipped: int = 0


def is_frequencies(path: str | Path) -> bool:
    """Returns whether a file's header is that of allele frequencies."""
    with closing(_lines(Path(path))) as lines:
        header = _header(lines)
    return any(known.fits(header) for known in _FORMATS)


def read_frequencies(path: str | Path) -> Frequencies:
    """Reads the allele frequencies in a PLINK .frq, PLINK 2 .afreq or GWAS-SSF file, plain or gzipped.

    Notes
    -----
    The header shows the format: CHR SNP A1 A2 MAF (.frq; MAF is A1's frequency), #CHROM ID REF ALT ALT_FREQS
    (.afreq), chromosome base_pair_location effect_allele other_allele effect_allele_frequency (GWAS-SSF,
    whose sites go by their rsid if they have one). Sites with more than two alleles are left out. One
    pass; memory for the columns used.
    """
    lines = _lines(Path(path))
    header = _header(lines)
    found = next((known for known in _FORMATS if known.fits(header)), None)
    if found is None:
        seen = f"Its first line is: {' '.join(header)[:80]}" if header else "It is empty."
        known = ", ".join(one.name for one in _FORMATS)
        raise invalid("path", f"a frequency file ({known})", str(path), seen)
    columns = [header.index(name) if name in header else None for name in found[1:8]]
    rsid = header.index("rsid") if found.id == "variant_id" and "rsid" in header else None
    rows: list[tuple[str, str, int, str, str, float, float]] = []
    skipped = 0
    for number, cells in enumerate(lines, 2):
        if len(cells) < len(header):
            raise invalid("path", f"a table of {len(header)} columns", f"line {number} with {len(cells)}")
        text = [cells[column] if column is not None else "." for column in columns]
        if rsid is not None and cells[rsid] not in _MISSING:  # holds in every build of the genome
            text[0] = cells[rsid]
        if "," in text[3] or "," in text[4]:
            skipped += 1
        else:
            rows.append(_row(text, number))
    if not rows:
        raise invalid("path", "a file with frequencies in it", str(path))
    *sites, values, counts = zip(*rows, strict=True)
    frequency = np.array(values)
    outside = (frequency < 0) | (frequency > 1)
    if outside.any():
        raise invalid("frequencies", "from 0 to 1", float(frequency[outside][0]))
    people = np.array(counts) / found.per_person
    known_people = people[~np.isnan(people)]
    n = round(float(np.median(known_people))) or None if known_people.size else None
    return Frequencies(Sites.of(*sites), frequency, n, skipped)


def _header(lines: Generator[list[str], None, None]) -> list[str]:
    return [name.lstrip("#") for name in next(lines, [])]


def _row(text: list[str], number: int) -> tuple[str, str, int, str, str, float, float]:
    try:
        position = int(float(text[2])) if text[2] not in _MISSING else 0
        value = float(text[5]) if text[5] not in _MISSING else float("nan")
        count = float(text[6]) if text[6] not in _MISSING else float("nan")
    except (ValueError, OverflowError):
        raise invalid("path", "a file of numbers where numbers belong", f"line {number}: {text}") from None
    if not 0 <= position <= _LAST_POSITION:
        rule = f"a file of positions from 0 to {_LAST_POSITION:,}"
        raise invalid("path", rule, f"{text[2]} in line {number}")
    if count < 0 or math.isinf(count):
        raise invalid("path", "a file of finite counts of zero or more", f"{text[6]} in line {number}")
    return text[0], text[1], position, text[3], text[4], value, count


def _lines(path: Path) -> Generator[list[str], None, None]:
    """Yields the cells of each line, except comment lines (##) and empty ones."""
    if not path.is_file():
        raise invalid("path", "a file that exists", str(path))
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        try:
            for line in file:
                if line.strip() and not line.startswith("##"):
                    yield line.rstrip("\n").split("\t") if "\t" in line else line.split()
        except (EOFError, zlib.error):
            raise invalid("path", "a gzip file that is whole and sound", path) from None
        except (UnicodeDecodeError, gzip.BadGzipFile):
            raise invalid("path", "a text file", str(path)) from None
