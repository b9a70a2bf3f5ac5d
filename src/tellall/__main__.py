"""The command `tellall`, also as `python -m tellall`."""

from __future__ import annotations

import sys

__all__ = ["main"]

_INTERRUPTED, _FAULT = 130, 70  # as in core/exits.py, which may be what cannot be loaded


def main() -> None:
    """Loads the command and runs it; one that cannot be loaded is a fault, and no verdict."""
    try:
        from tellall.cli import main as command
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except Exception as error:
        what = getattr(error, "name", None) or "a part of it"
        kind = type(error).__name__
        print(
            f"tellall: it cannot be loaded ({kind}: {what}); nothing was decided. Install tellall again.",
            file=sys.stderr,
        )
        sys.exit(_FAULT)
    command()


if __name__ == "__main__":
    main()
