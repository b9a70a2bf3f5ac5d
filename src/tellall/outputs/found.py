"""What is found in files of outputs: tables as they are printed, models, and what was not read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tellall.core.amounts import count_of
from tellall.core.not_done import NotDone
from tellall.outputs.output_folder import Source
from tellall.people.printed_numbers import Shown, decimal_sign, shown_of

__all__ = ["FittedModel", "FoundOutputs", "FoundTable", "Recorded", "Source"]


@dataclass(frozen=True)
class Recorded:
    """What a program that made an output says about it; others wrote it: it is read, never run.

    Attributes
    ----------
    id
        Its name in the program's record.
    kind
        Its kind there: "table", "regression", "survival plot".
    command, summary, status
        The analyst's command, the program's findings, and its verdict; each empty if unknown.
    """

    id: str
    kind: str = ""
    command: str = ""
    summary: str = ""
    status: str = ""


@dataclass(frozen=True)
class FoundTable:
    """A table as printed.

    Attributes
    ----------
    source
        Where it was found.
    cells
        Its lines, all of one length, header lines and label columns among them. A cell that is merged is
        repeated in every place that it covers, and so is a label over empty cells where the layout says that
        they mean the same; repetitions are marked as ``continued``.
    title, notes
        The lines above and below it.
    heads, sides
        How many header lines and label columns it has, where its layout says so; None where only what the
        labels mean can tell.
    decimal, sure
        The sign of decimals that its numbers were read with, and whether no other is possible.
    recorded
        What the program that made it says.
    """

    source: Source
    cells: tuple[tuple[Shown, ...], ...]
    title: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    heads: int | None = None
    sides: int | None = None
    decimal: str = "."
    sure: bool = True
    recorded: Recorded | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """How many lines and columns it has, headers and labels included."""
        return len(self.cells), len(self.cells[0]) if self.cells else 0

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """What is printed in each cell."""
        return tuple(tuple(cell.text for cell in line) for line in self.cells)

    def with_decimal(self, sign: str) -> FoundTable:
        """The same table, its numbers read with "." or "," as the sign of decimals."""
        cells = tuple(
            tuple(replace(shown_of(cell.text, sign), continued=cell.continued) for cell in line)
            for line in self.cells
        )
        return replace(self, cells=cells, decimal=sign)

    @classmethod
    def of_texts(cls, lines: Sequence[Sequence[str]], source: Source | None = None) -> FoundTable:
        """A table of texts, as in examples; shorter lines are filled up with empty cells.

        Examples
        --------
        >>> table = FoundTable.of_texts([["sex", "no", "yes"], ["f", "1,204", "*"]])
        >>> table.cells[1][1].number, table.cells[1][2].hidden, table.shape
        (1204.0, True, (2, 3))
        """
        width = max(map(len, lines), default=0)
        sign, sure = decimal_sign(text for line in lines for text in line)
        cells = tuple(
            tuple(shown_of(text, sign) for text in [*line, *[""] * (width - len(line))]) for line in lines
        )
        return cls(source or Source("memory"), cells, decimal=sign, sure=sure)

    def __str__(self) -> str:
        return "\n".join(" | ".join(line) for line in self.texts)


@dataclass(frozen=True)
class FittedModel:
    """A printed model.

    Attributes
    ----------
    source
        Where it was found.
    kind
        "linear", "logistic", "poisson", "probit" or another word of the program's; empty if it does not say.
    response
        The name of what is modelled; empty if it is not named.
    terms
        The name of each coefficient, as printed, the intercept's included.
    coefficients
        Each as printed.
    standard_errors, intervals
        Each as printed, an interval with its low and high end; None if there are none.
    n
        How many people it is about; None if it does not say.
    family, link
        Of a generalised linear model, as printed.
    formula, call
        As printed: ``ill ~ age + sex``, and the whole command.
    covariance
        How the standard errors were computed, as printed: "nonrobust", "HC1", "robust".
    exponentiated
        Whether the coefficients are printed as odds or rate ratios.
    outcomes
        For each coefficient, the value of the response that it is about, where there are several.
    statistics
        Other numbers about the fit, by name: "R-squared", "Log-Likelihood".
    title
        The lines above it.
    recorded
        What the program that made it says.
    """

    source: Source
    kind: str
    response: str
    terms: tuple[str, ...]
    coefficients: tuple[Shown, ...]
    standard_errors: tuple[Shown, ...] | None = None
    intervals: tuple[tuple[Shown, Shown], ...] | None = None
    n: int | None = None
    family: str = ""
    link: str = ""
    formula: str = ""
    call: str = ""
    covariance: str = ""
    exponentiated: bool = False
    outcomes: tuple[str, ...] = ()
    statistics: tuple[tuple[str, Shown], ...] = field(default=())
    title: tuple[str, ...] = ()
    recorded: Recorded | None = None


@dataclass(frozen=True)
class FoundOutputs:
    """What files of outputs hold.

    Attributes
    ----------
    tables, models
        In the order of the files, and of their places there.
    skipped
        What was not read, each with the reason.
    """

    tables: tuple[FoundTable, ...] = ()
    models: tuple[FittedModel, ...] = ()
    skipped: tuple[NotDone, ...] = ()

    def joined(self, other: FoundOutputs) -> FoundOutputs:
        """These, and then what other files hold."""
        return FoundOutputs(
            (*self.tables, *other.tables), (*self.models, *other.models), (*self.skipped, *other.skipped)
        )

    def __str__(self) -> str:
        found = f"{count_of(len(self.tables), 'table')}, {count_of(len(self.models), 'model')}"
        return f"{found}, {count_of(len(self.skipped), 'output')} not read"
