"""Tables of worlds: ``python -m tests.worlds harmless 40 5000`` for 40 runs of each kind from seed 5000."""

from __future__ import annotations

import sys

from tests.worlds.designs import DESIGNS
from tests.worlds.harmless import HARMLESS, POPULATION
from tests.worlds.leaking import ADVERSARY, LEAKS
from tests.worlds.world import Kinds, runs_of, table

LISTS: dict[str, Kinds] = {
    "harmless": HARMLESS,
    "population": POPULATION,
    "leaks": LEAKS,
    "adversary": ADVERSARY,
    "designs": DESIGNS,
}

if __name__ == "__main__":
    _, which, runs, first, *names = sys.argv
    for name, make in LISTS[which].items():
        if names and not any(part in name for part in names):
            continue
        tally = runs_of(name, make, int(runs), int(first))
        print(table([tally]).split("\n", 1)[1], flush=True)
        for decoder, bins in tally.bins.items():
            sure = [
                (one.low, round(one.said), round(one.right)) for one in bins if one.low >= 0.95 and one.said
            ]
            if which in ("designs", "adversary"):
                print("   ", decoder, sure, flush=True)
