"""Reports: the same findings as text, pages and figures."""

from __future__ import annotations
