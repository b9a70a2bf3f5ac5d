"""Workplace: the folder where finished findings wait for the rest, so that a stopped audit continues."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tellall import store
from tellall.audit.result import Finding, Job, Skipped, outcome
from tellall.errors import InvalidInput, invalid

__all__ = ["Workplace"]


@dataclass(frozen=True)
class Workplace:
    """One audit's findings, a file each; a file is whole or not there."""

    folder: Path

    @classmethod
    def of(cls, folder: str | Path, key: str) -> Workplace:
        """The workplace of the audit with this key."""
        place = Path(folder) / key
        if Path(folder).is_symlink() or place.is_symlink():
            raise invalid("work", "a folder of its own, not a link", str(folder))
        place.mkdir(parents=True, exist_ok=True)
        return cls(place)

    def load(self, job: Job) -> Finding | Skipped | None:
        """What was found before, or None."""
        path = self._path(job)
        if path.is_symlink() or not path.is_file():
            return None
        try:
            return outcome(job, store.read_json(path, what="finding"))
        except (InvalidInput, KeyError, TypeError, ValueError):
            return None  # not what we wrote: find it again

    def keep(self, finding: Finding | Skipped) -> None:
        """The finding goes into its file."""
        store.write_json(self._path(finding.job), finding.as_json())

    def clear(self) -> None:
        """Nothing of this audit is left, nor the folder around it if it is empty."""
        import shutil

        shutil.rmtree(self.folder, ignore_errors=True)
        if self.folder.parent.is_dir() and not any(self.folder.parent.iterdir()):
            self.folder.parent.rmdir()

    def _path(self, job: Job) -> Path:
        return self.folder / f"{job.index:04d}.json"
