"""GivenOutputs: the outputs of a case, what a person says about them, and what they were found to be."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tellall.audits.plans.asked import How, SaidOfOutputs
from tellall.audits.plans.draft import as_toml_value
from tellall.audits.plans.plan import Plan
from tellall.audits.trial import Planned
from tellall.core import files
from tellall.core.errors import InvalidInput, invalid
from tellall.core.records import read
from tellall.outputs.found import FoundOutputs
from tellall.outputs.output_folder import OutputFolder, RecognisedOutput
from tellall.outputs.read import read_outputs

__all__ = ["GivenOutputs"]

Plain = dict[str, Any]
_SAID, _FOUND, _PLAN = "outputs.json", "found.json", "plan.toml"
_KEPT = re.compile(r"output-[0-9]{1,4}(\.[a-z0-9]+)+")
_MOST_FILES, _MOST_ADDED = 200, 20


@dataclass(frozen=True)
class GivenOutputs:
    """Files of outputs in the folder of a case, under names of ours, and one file with what is said of them.

    What outputs were found to be is kept until files or the secret change.
    """

    folder: Path

    @property
    def text(self) -> str:
        """What is said about the outputs, as it is kept; empty if the case is about no outputs."""
        path = self.folder / _SAID
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    @property
    def _said(self) -> Plain:
        return files.read_json(self.folder / _SAID, what="outputs") if self.text else {}

    @property
    def secret(self) -> str:
        """The column that nobody should learn."""
        return str(self._said.get("secret", ""))

    @property
    def listed(self) -> list[Plain]:
        """The files, each with its own name and ours."""
        return list(self._said.get("files", []))

    @property
    def answers(self) -> Mapping[str, int]:
        """What a person said an output is: the number of a meaning, 0 for none of them."""
        return dict(self._said.get("answers", {}))

    @property
    def added(self) -> list[Plain]:
        """The releases that are not made yet, as a plan writes them."""
        return list(self._said.get("added", []))

    @property
    def seed(self) -> int:
        """The seed of the audit."""
        return int(self._said.get("seed", 0))

    @property
    def key(self) -> str:
        """Changes whenever what outputs are has to be found again."""
        parts = [self.secret, *(one[key] for one in self.listed for key in ("name", "sha256"))]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def begin(self, secret: str, seed: int) -> None:
        """Makes the case one about outputs and not about a plan; those that are there stay."""
        (self.folder / _PLAN).unlink(missing_ok=True)
        if self.secret != secret:
            self._write({"secret": secret, "seed": seed, "files": self.listed, "added": []})

    def end(self) -> None:
        """Makes the case one about no outputs."""
        for one in self.listed:
            if _KEPT.fullmatch(one["kept"]):
                (self.folder / one["kept"]).unlink(missing_ok=True)
        for name in (_SAID, _FOUND):
            (self.folder / name).unlink(missing_ok=True)

    def take(self, path: Path, name: str, ending: str) -> None:
        """Takes a file in; one of the same name is replaced."""
        if not self.text:
            raise invalid("outputs", "added after the secret was chosen", name)
        others = [one for one in self.listed if one["name"] != name]
        if len(others) >= _MOST_FILES:
            raise invalid("outputs", f"at most {_MOST_FILES} files", len(others) + 1)
        taken = {one["kept"].partition(".")[0] for one in others}
        number = next(k for k in range(1, _MOST_FILES + 2) if f"output-{k}" not in taken)
        kept = f"output-{number}{ending}"
        for one in self.listed:
            if one["name"] == name and one["kept"] != kept:
                (self.folder / one["kept"]).unlink(missing_ok=True)
        new = {"kept": kept, "name": name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        path.rename(self.folder / kept)
        self._change(files=[*others, new], answers=self._answers_but(name))

    def drop(self, name: str) -> None:
        """Removes a file."""
        for one in self.listed:
            if one["name"] == name:
                (self.folder / one["kept"]).unlink(missing_ok=True)
        others = [one for one in self.listed if one["name"] != name]
        self._change(files=others, answers=self._answers_but(name))

    def answer(self, output: str, number: int | None) -> None:
        """Keeps what a person says an output is; None forgets it."""
        others = {name: one for name, one in self.answers.items() if name != output}
        self._change(answers=others if number is None else {**others, output: number})

    def add(self, entry: Plain) -> None:
        """Adds a release that is not made yet."""
        if len(self.added) >= _MOST_ADDED:
            raise invalid("releases", f"at most {_MOST_ADDED}, to be added by clicking", len(self.added))
        if any(one["name"] == entry["name"] for one in self.added):
            raise invalid("release", "one that is not in the list", entry["name"])
        self._planned([entry])
        self._change(added=[*self.added, entry])

    def remove(self, place: int) -> None:
        """Removes a release that is not made yet."""
        self._change(added=[*self.added[:place], *self.added[place + 1 :]])

    def read(self) -> FoundOutputs:
        """The tables and models in the files, under the names that they came with."""
        found = FoundOutputs()
        for one in self.listed:
            if _KEPT.fullmatch(one["kept"]):
                found = found.joined(read_outputs(self.folder / one["kept"], one["name"]))
        return found

    def said(self) -> SaidOfOutputs:
        """What is said about the outputs, for an audit."""
        return SaidOfOutputs(self.secret, confirm=self.answers, planned=self._planned(self.added))

    def how(self, data: Path) -> How:
        """How the people are read."""
        return How(data, self.seed)

    def command(self, data: str) -> str:
        """What repeats the audit, with the files in a folder called outputs."""
        answers = [word for name, one in self.answers.items() for word in ("--confirm", f"{name}={one}")]
        added = [word for entry in self.added for word in ("--add", as_toml_value(entry))]
        what = ["outputs", "--data", data, "--secret", self.secret, *answers, *added]
        return shlex.join(["tellall", "audit", *what, "--seed", str(self.seed)])

    @property
    def found(self) -> list[RecognisedOutput] | None:
        """What the outputs were found to be; None if that is not known."""
        path = self.folder / _FOUND
        if not path.is_file():
            return None
        try:
            known = files.read_json(path, what="found")
            if known["key"] != self.key:
                return None
            return [read(RecognisedOutput, one, what="found") for one in known["outputs"]]
        except (InvalidInput, KeyError):  # written by another tellall
            return None

    def keep(self, found: OutputFolder, key: str) -> None:
        """Keeps what the outputs with this key were found to be."""
        outputs = [one.as_json() for one in found.records]
        files.write_json(self.folder / _FOUND, {"key": key, "outputs": outputs}, lasting=False)

    def _planned(self, entries: Sequence[Plain]) -> tuple[Planned, ...]:
        if not entries:
            return ()
        return Plan.from_mapping({"secret": self.secret, "releases": list(entries)}).planned

    def _answers_but(self, file: str) -> dict[str, int]:
        """What is said about the outputs of other files."""
        return {name: one for name, one in self.answers.items() if not f"{name},".startswith(f"{file},")}

    def _change(self, **changes: Any) -> None:
        self._write(self._said | changes)

    def _write(self, said: Plain) -> None:
        files.write_json(self.folder / _SAID, said)
