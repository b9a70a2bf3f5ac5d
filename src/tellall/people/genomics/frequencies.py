"""Published allele frequencies: PLINK .frq, PLINK 2 .afreq and GWAS-SSF, read without any library."""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tellall.core.errors import invalid
from tellall.people.genomics.sites import Sites

__all__ = [
    "FREQUENCY_ENDINGS",
    "Frequencies",
    "read_frequencies",
]

FREQUENCY_ENDINGS = (".frq", ".afreq", ".tsv", ".txt", ".ssf")
_LAST_PLACE = 10**12  # beyond any genome
_MISSING = ("NA", "#NA", ".", "", "nan", "NaN")

# columns: id, chromosome, position, counted allele, other allele, frequency, count, counts per person
_FORMATS = {
    "PLINK .frq": ("SNP", "CHR", None, "A1", "A2", "MAF", "NCHROBS", 2),
    "PLINK 2 .afreq": ("ID", "CHROM", "POS", "ALT", "REF", "ALT_FREQS", "OBS_CT", 2),
    "GWAS-SSF": (
        "variant_id",
        "chromosome",
        "base_pair_location",
        "effect_allele",
        "other_allele",
        "effect_allele_frequency",
        "n",
        1,
    ),
}


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Published allele frequencies.

    Attributes
    ----------
    sites
        Where, and which allele's frequency.
    values
        From 0 to 1, NaN where not published.
    n
        How many people they are over (the median over sites), None where the file does not say.
    skipped
        How many lines were left out: more than two alleles.
    """

    sites: Sites
    values: npt.NDArray[np.float64]
    n: int | None
    skipped: int = 0


def is_frequencies(path: str | Path) -> bool:
    """Whether a file's header is that of allele frequencies."""
    with closing(_lines(Path(path))) as lines:
        header = [name.lstrip("#") for name in next(lines, [])]
    return any(all(name in header for name in wanted[3:6]) for wanted in _FORMATS.values())


def read_frequencies(path: str | Path) -> Frequencies:
    """The allele frequencies in a PLINK .frq, PLINK 2 .afreq or GWAS-SSF file, plain or gzipped.

    Notes
    -----
    The format is told from the header: CHR SNP A1 A2 MAF (.frq; MAF is A1's frequency), #CHROM ID REF ALT
    ALT_FREQS (.afreq), chromosome base_pair_location effect_allele other_allele effect_allele_frequency
    (GWAS-SSF, whose sites go by their rsid where they have one). Sites with more than two alleles are left
    out. One pass, memory for the columns used.
    """
    place = Path(path)
    lines = _lines(place)
    header = [name.lstrip("#") for name in next(lines, [])]
    for wanted in _FORMATS.values():
        needed = [name for name in wanted[3:6] if isinstance(name, str)]
        if all(name in header for name in needed):
            break
    else:
        raise invalid("path", f"a frequency file ({', '.join(_FORMATS)})", str(path), _seen(header))
    *names, ploidy = wanted
    columns = [header.index(name) if isinstance(name, str) and name in header else None for name in names]
    rsid = header.index("rsid") if wanted[0] == "variant_id" and "rsid" in header else None
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
            continue
        rows.append(_row(text, number))
    if not rows:
        raise invalid("path", "a file with frequencies in it", str(path))
    ids, chromosome, position, counted, other, values, counts = zip(*rows, strict=True)
    frequency = np.array(values)
    if np.nanmin(frequency, initial=0.0) < 0 or np.nanmax(frequency, initial=0.0) > 1:
        worst = frequency[(frequency < 0) | (frequency > 1)][0]
        raise invalid("frequencies", "from 0 to 1", float(worst))
    people = np.array(counts) / int(str(ploidy))
    known = people[~np.isnan(people)]
    n = round(float(np.median(known))) or None if known.size else None
    return Frequencies(Sites.of(ids, chromosome, position, counted, other), frequency, n, skipped)


def _row(text: list[str], number: int) -> tuple[str, str, int, str, str, float, float]:
    try:
        position = int(float(text[2])) if text[2] not in _MISSING else 0
        value = float(text[5]) if text[5] not in _MISSING else float("nan")
        count = float(text[6]) if text[6] not in _MISSING else float("nan")
    except (ValueError, OverflowError):
        raise invalid("path", "a file of numbers where numbers belong", f"line {number}: {text}") from None
    if not 0 <= position <= _LAST_PLACE:
        raise invalid("path", f"a file of positions from 0 to {_LAST_PLACE:,}", f"{text[2]} in line {number}")
    if count < 0 or math.isinf(count):
        raise invalid("path", "a file of finite counts of zero or more", f"{text[6]} in line {number}")
    return text[0], text[1], position, text[3], text[4], value, count


def _lines(place: Path) -> Generator[list[str], None, None]:
    """The cells of each line; comment lines (##) and empty ones left out."""
    if not place.is_file():
        raise invalid("path", "a file that exists", str(place))
    with gzip.open(place, "rt") if place.suffix == ".gz" else place.open() as file:
        try:
            for line in file:
                if line.strip() and not line.startswith("##"):
                    yield line.rstrip("\n").split("\t") if "\t" in line else line.split()
        except (EOFError, zlib.error):
            raise invalid("path", "a gzip file that is whole and sound", place) from None
        except (UnicodeDecodeError, gzip.BadGzipFile):
            raise invalid("path", "a text file", str(place)) from None


def _seen(header: list[str]) -> str:
    return f"Its first line is: {' '.join(header)[:80]}" if header else "It is empty."
