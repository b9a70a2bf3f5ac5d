"""The audit: a plan in, a verdict and a page out."""

from tellall.audit.plan import Entry, Plan
from tellall.audit.result import Audit, Finding, Skipped
from tellall.audit.run import audit, reveal

__all__ = ["Audit", "Entry", "Finding", "Plan", "Skipped", "audit", "reveal"]
