"""Every benchmark, each in a process of its own that writes its own section of RESULTS.md.

python benchmarks/run.py [--quick]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from timing import TITLES


def main() -> None:
    """Run them one after the other on one thread; one that fails does not stop the others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only the small sizes; nothing is written")
    small = ["--quick"] if parser.parse_args().quick else []
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    failed = []
    for script in TITLES:
        command = [sys.executable, str(Path(__file__).with_name(script)), *small]
        if subprocess.run(command, check=False, env=environment).returncode:
            failed.append(script)
        sys.stdout.write("\n")
        sys.stdout.flush()
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
