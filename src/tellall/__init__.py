"""tellall tells people who publish statistics what those statistics give away about the people in them."""

from __future__ import annotations

from tellall.errors import CannotLinearise, InvalidInput, SolverFailed, TellallError

__version__ = "0.1.0"
__all__ = ["CannotLinearise", "InvalidInput", "SolverFailed", "TellallError"]
