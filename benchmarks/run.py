"""Every benchmark, each in a process of its own that writes its own sections of RESULTS.md.

python benchmarks/run.py [--quick] [SCRIPT ...]

Some 35 minutes on one core of a quiet machine, a third of them in growth.py. One that fails, or misses
something that is not installed here, leaves its sections of RESULTS.md as they were; the last lines say so.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from timing import TITLES, sections, write_section


def main() -> None:
    """Run them one after the other on one thread; one that fails does not stop the others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only the small sizes; nothing is written")
    parser.add_argument("scripts", nargs="*", help=f"only these of {', '.join(TITLES)}")
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.scripts if name not in TITLES]:
        parser.error(f"scripts must be of {', '.join(TITLES)}; got {unknown[0]}")
    scripts, began, failed = chosen.scripts or list(TITLES), time.monotonic(), list[str]()
    for number, script in enumerate(scripts, start=1):
        minutes = (time.monotonic() - began) / 60
        sys.stderr.write(f"[{number} of {len(scripts)}, {minutes:.0f} min] {script}: {TITLES[script]}\n")
        if not ran(script, quick=chosen.quick):
            failed.append(script)
        sys.stdout.write("\n")
        sys.stdout.flush()
    sys.stderr.write(f"done in {(time.monotonic() - began) / 60:.0f} minutes\n")
    if failed:
        sys.exit(f"failed, and their sections of RESULTS.md are as they were: {', '.join(failed)}")


def ran(script: str, *, quick: bool) -> bool:
    """Whether a script ran to its end; what it wrote before it failed is taken back."""
    before = sections()
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(Path(__file__).with_name(script)), *(["--quick"] if quick else [])]
    if not subprocess.run(command, check=False, env=environment).returncode:
        return True
    for title, body in before.items():
        if title.startswith(TITLES[script]) and body != sections().get(title):
            write_section(title, body.strip("\n"))
    return False


if __name__ == "__main__":
    main()
