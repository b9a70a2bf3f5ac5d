"""One file for each paper: its tables and figures, ours beside theirs.

A paper is a module with ``rerun(folder, *, quick, rng, progress)`` that gives a
`PaperRerun`: statements (the paper's, ours, verdict), figures and notes. The
command line, the page, the JSON and the text on a terminal come from that record alone; docs/papers.md shows
how.
"""

from __future__ import annotations
