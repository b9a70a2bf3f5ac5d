"""Genomes: genotypes from PLINK and VCF files, published allele frequencies, and their alleles matched."""

from __future__ import annotations

from tellall.people.genomics.alignment import Alignment, align
from tellall.people.genomics.frequencies import Frequencies, read_frequencies
from tellall.people.genomics.genotypes import Genotypes, read_genotypes
from tellall.people.genomics.sites import Sites

__all__ = [
    "Alignment",
    "Frequencies",
    "Genotypes",
    "Sites",
    "align",
    "read_frequencies",
    "read_genotypes",
]
