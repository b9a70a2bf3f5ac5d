"""Large data, each row against its reference in the same run, with whatever is installed here.

python benchmarks/scale.py [cells] [cluster] [gpu] [million] [ten-million] [--quick]
"""

from __future__ import annotations

import argparse
import sys
import warnings
from importlib.util import find_spec

from scale_cells import cells
from scale_cluster import cluster
from scale_gpu import gpu
from scale_people import million, ten_million
from tellall.linalg.operators.linear_operator import HOST, find_device
from timing import Section

SECTIONS = {
    "cells": cells,
    "cluster": cluster,
    "gpu": gpu,
    "million": million,
    "ten-million": ten_million,
}
PARTS = {
    "cells": "tables",
    "cluster": "many areas",
    "gpu": "on a GPU",
    "million": "a million people, from people to guesses",
    "ten-million": "ten million people, from people to guesses",
}


def absent(name: str) -> str:
    """What a section needs and this machine lacks; empty if it can run."""
    if name == "cells":
        return ""
    if name == "cluster":
        return "" if find_spec("distributed") else "needs pip install 'tellall[cluster]'"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = find_device("cuda") is not HOST
    return "" if found else "needs CUDA and pip install 'tellall[gpu]'"


def main() -> None:
    """Run the sections, print each row when it is ready; sections that cannot run here keep their results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}; all where none is given")
    parser.add_argument("--quick", action="store_true", help="small sizes; nothing is written")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"sections must be of {', '.join(SECTIONS)}; got {unknown[0]}")
    names = ("work", "size", "reference", "reference time ÷ ours", "peak memory", "right")
    for name in chosen.sections or SECTIONS:
        if (missing := absent(name)) and not chosen.quick:
            sys.stdout.write(f"{PARTS[name]}: {missing}; RESULTS.md keeps what it had.\n\n")
            continue
        section = Section("scale.py", names, part=PARTS[name], keep=not chosen.quick)
        for row in SECTIONS[name](chosen.quick):
            section.add(row)


if __name__ == "__main__":
    main()
