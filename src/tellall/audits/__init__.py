"""Audits, sweeps and calibrations: attacks tried and judged."""
