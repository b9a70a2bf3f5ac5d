"""`python -m tellall` is the command `tellall`."""

from __future__ import annotations

from tellall.cli import main

if __name__ == "__main__":
    main()
