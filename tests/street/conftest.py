"""tellall as typed, and a served folder."""

from tests.cli.conftest import tellall

__all__ = ["tellall"]
