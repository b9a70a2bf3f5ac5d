"""Experiments: attacks tried and judged. Audits, sweeps and calibrations."""
