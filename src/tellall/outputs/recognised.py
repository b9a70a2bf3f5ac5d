"""The document that says what outputs are, without judging them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from tellall.core.made import Made
from tellall.core.records import ALWAYS, Meaning
from tellall.outputs.output_folder import OutputFolder, RecognisedOutput

__all__ = ["OutputsFound"]


@dataclass(frozen=True, kw_only=True)
class OutputsFound(Made):
    """What every output of a folder is found to be, and what an outsider is taken to know."""

    document: Annotated[Literal["outputs"], ALWAYS] = "outputs"
    secret: Annotated[str, Meaning("The column that nobody should learn about a person.")]
    meaning: Annotated[tuple[str, ...], Meaning("Its values in the order of their codes.")]
    known: Annotated[tuple[str, ...], Meaning("The columns that an outsider is taken to know.")]
    assumed_unknown: Annotated[tuple[str, ...], Meaning("The other columns but the secret.")]
    outputs: tuple[RecognisedOutput, ...]

    @classmethod
    def of(cls, folder: OutputFolder) -> OutputsFound:
        """The document about the outputs of a folder."""
        return cls(
            secret=folder.secret,
            meaning=folder.meaning,
            known=folder.known,
            assumed_unknown=folder.assumed_unknown,
            outputs=folder.records,
        )
