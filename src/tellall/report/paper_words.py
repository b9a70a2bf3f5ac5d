"""The words for what became of a paper's statement, and what each means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

__all__ = ["GRAVEST", "MEANINGS", "PaperVerdict"]

PaperVerdict = Literal[
    "holds",
    "holds within our range",
    "false as worded",
    "gap in the proof",
    "constant",
    "wording",
    "copy",
    "not reproduced",
    "not tried (other data)",
    "not tried",
    "our own addition",
]
MEANINGS: Mapping[PaperVerdict, str] = {
    "holds": "our run is on the side that the paper promises",
    "holds within our range": "the paper gives no sizes or constants: it holds at the sizes and bars tried",
    "false as worded": "we give a counterexample to the statement as printed; no other constant mends it",
    "gap in the proof": "a step of the proof fails; the statement may hold",
    "constant": "as printed a number in it is off; another one mends it, which we name",
    "wording": "loose words or an open choice; read as we say, it holds",
    "copy": "a misprint that may be only in our copy of the paper",
    "not reproduced": "our run does not show it, which does not disprove it",
    "not tried (other data)": "it is about the paper's own data, and this run had other data",
    "not tried": "we did not test it, and say why",
    "our own addition": "the paper makes no claim; this is what happens",
}
GRAVEST: tuple[PaperVerdict, ...] = (  # of several verdicts on one object, the first of these leads
    "false as worded",
    "gap in the proof",
    "constant",
    "wording",
    "copy",
    "not reproduced",
    "holds within our range",
    "holds",
    "not tried (other data)",
)
