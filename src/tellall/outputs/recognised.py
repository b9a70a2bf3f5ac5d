"""The document that says what outputs are, without judging them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from tellall.core.records import ALWAYS, VERSION, Meaning, Record
from tellall.core.version import __version__, versions
from tellall.outputs.output_folder import OutputFolder, RecognisedOutput

__all__ = ["OutputsFound"]


@dataclass(frozen=True, kw_only=True)
class OutputsFound(Record):
    """What every output of a folder is found to be, and what an outsider is taken to know."""

    schema_version: Annotated[Literal[2], ALWAYS] = VERSION
    document: Annotated[Literal["outputs"], ALWAYS] = "outputs"
    tellall: Annotated[str, ALWAYS] = __version__
    versions: Annotated[dict[str, str], ALWAYS] = field(default_factory=versions)
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
