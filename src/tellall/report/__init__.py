"""Reports: the same findings as text and as data."""

from __future__ import annotations
