"""Genomes: genotypes from PLINK and VCF files, published allele frequencies, and their alleles matched."""

from tellall.genomics.alignment import Alignment, align
from tellall.genomics.frequencies import Frequencies, read_frequencies
from tellall.genomics.genotypes import Genotypes, read_genotypes
from tellall.genomics.sites import Sites

__all__ = [
    "Alignment",
    "Frequencies",
    "Genotypes",
    "Sites",
    "align",
    "read_frequencies",
    "read_genotypes",
]
