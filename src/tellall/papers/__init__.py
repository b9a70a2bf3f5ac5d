"""Five papers, rerun with the public names of tellall alone.

Each paper is a table of claims (`Claim` rows: what the paper says, how we tested it, ours, verdict) in the
module of its name; other modules hold experiments that report the numbers. ``rerun(folder, *, quick, rng,
progress)`` returns a `PaperRerun`, from which the command line, the page and the JSON document are made.
"""

from __future__ import annotations
