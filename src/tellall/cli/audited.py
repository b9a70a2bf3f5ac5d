"""What an audit shows while it runs, and the files that it leaves."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

from tellall.audits.advice import StageName
from tellall.audits.document import Audit
from tellall.audits.plans.asked import Asked
from tellall.audits.plans.policy import Policy, decision
from tellall.audits.remedy import most_attacks
from tellall.cli.options import Stopped, progress_bar, resumable, time_words
from tellall.core import files
from tellall.core.curator_key import CuratorKey
from tellall.core.errors import TellallError, invalid
from tellall.core.text import one_line
from tellall.core.work import Progress
from tellall.report import summary
from tellall.report.acro_record import acro_record
from tellall.report.areas_page import audit_lines
from tellall.report.attackers import attacker_lines
from tellall.report.terminal import PlainConsole, audit_text

__all__ = ["AuditShown", "Signing", "write_acro_record", "write_summaries"]

_GOES_ON = "the same command goes on with the search"
_LONG = 120.0  # seconds of a search that are announced
_WORDS = {"culprits": "what each part adds", "remedy": "looking for a remedy"}


class AuditShown:
    """An audit on the terminal and in its folder: the verdict as soon as it is there, then its remedy."""

    def __init__(self, folder: Path, talk: PlainConsole, people: int, *, by_area: bool, quiet: bool) -> None:
        self.folder = folder
        self.talk = talk
        self.people = people
        self.pieces = "areas" if by_area else "attacks"
        self.quiet = quiet
        self.began = monotonic()
        self.judged: Audit | None = None

    def watch(self, audit: Callable[[], Audit]) -> Audit:
        """The audit; with its verdict alone if the search for a remedy fails or is stopped."""
        try:
            done = audit()
        except Stopped as stop:
            if self.judged is None:
                raise
            sentence = f"stopped; the verdict is kept in {self.folder}, without a remedy; {_GOES_ON}."
            raise Stopped(stop.exit_code, sentence) from None
        except KeyboardInterrupt:
            if self.judged is None:
                raise
            said = f"The search for a remedy was stopped; the verdict stands, in {self.folder}; {_GOES_ON}."
            self.talk.print(said)
            return self.judged
        except (TellallError, MemoryError) as error:
            if self.judged is None:
                raise
            why = one_line(str(error), 300)
            self.talk.print(f"The search for a remedy failed; the verdict stands. {why}")
            done = self.judged
        if done is not self.judged:
            done.save(self.folder)
        self._forget()
        if done.remedy is not None:
            self.talk.print(done.remedy.sentence)
        return done

    @contextmanager
    def stage(self, name: StageName) -> Iterator[Progress | None]:
        """Shows the progress of a stage."""
        if name == "attacks":
            with (
                resumable(kept=True, words=self.pieces) as through,
                progress_bar(self.talk, "attacking", quiet=self.quiet) as progress,
            ):
                yield through(progress)
            return
        if name == "culprits":
            self._announce_search()
        with progress_bar(self.talk, _WORDS[name], quiet=self.quiet, open_end=name == "remedy") as progress:
            yield progress

    def show(self, audit: Audit) -> None:
        """Saves and prints the verdict."""
        self.judged = audit
        audit.save(self.folder)
        for text in audit_text(audit.content):
            self.talk.print(text)
        for line in (*audit_lines(audit.content), *attacker_lines(audit.content)):
            self.talk.print(line)

    def _announce_search(self) -> None:
        """Says how long the search for a remedy may take, measured on the attacks made, if that is long."""
        assert self.judged is not None
        made = max(1, sum(len(finding.outcomes) for finding in self.judged.found))
        most = (monotonic() - self.began) / made * most_attacks(self.people)
        if most > _LONG:
            self.talk.print(
                f"The verdict is in {self.folder}. Looking for a change that passes takes at most about "
                f"{time_words(most)}; --no-remedy leaves it out. If it is stopped, the verdict stands; "
                f"{_GOES_ON}.",
                soft_wrap=True,
            )

    def _forget(self) -> None:
        """Removes what was kept in case the command stops: the page has it all. Finished areas stay."""
        for kept in (self.folder / ".work", self.folder / ".areas" / "remedy"):
            if not kept.is_symlink() and not kept.parent.is_symlink():
                shutil.rmtree(kept, ignore_errors=True)


class Signing:
    """The record of a decision, with checks of the files under the curator's key if there is one."""

    def __init__(self, key: Path | None, *, wanted: bool) -> None:
        if key is not None and not wanted:
            raise invalid("--key", "given with --decision", key)
        self.wanted = wanted
        self.curator = None if key is None else CuratorKey.read(key)
        self.people_file: dict[str, str] | None = None

    def check_people(self, data: Path) -> None:
        """Notes the file of people as it is before the audit."""
        self.people_file = None if self.curator is None else self.curator.check(data)

    def write(
        self, audit: Audit, asked: Asked, plan: Path | None, folder: Path, rules: Policy | None
    ) -> Path | None:
        """Writes the record next to the page, if it is wanted."""
        if not self.wanted:
            return None
        about = [folder / "audit.json", *([] if plan is None else [plan]), *asked.files]
        checks = {} if self.curator is None else {_short(path): self.curator.check(path) for path in about}
        text = decision(
            audit.content,
            date=datetime.now(UTC).isoformat(timespec="seconds"),
            policy=rules,
            published=asked.plan.published_files,
            people_file=self.people_file,
            checks=checks,
        )
        return files.write_text(folder / "decision.toml", text)


def write_acro_record(audit: Audit, made_by: str, folder: Path, talk: PlainConsole) -> None:
    """Writes the findings as ACRO would, into the output folder."""
    made = datetime.now().isoformat(timespec="seconds")
    texts = acro_record(audit.content, made_by.split()[-1], made)
    (folder / "checksums").mkdir(exist_ok=True)
    for name, text in texts.items():
        files.write_text(folder / name, text)
    talk.print(f"ACRO's viewer reads {folder / 'results.json'}", soft_wrap=True)


def write_summaries(audit: Audit, markdown: Path | None, junit: Path | None, talk: PlainConsole) -> None:
    """Writes what pipelines read."""
    for path, render in ((markdown, summary.markdown), (junit, summary.junit)):
        if path is not None:
            files.write_text(path, render(audit.content))
            talk.print(f"Wrote {path}", soft_wrap=True)


def _short(path: Path) -> str:
    """A file as a record names it: with the folder it is in."""
    return f"{path.parent.name}/{path.name}".lstrip("/")
