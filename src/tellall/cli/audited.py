"""What an audit shows while it runs, and the files that it leaves."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

from typer import Context

from tellall.audits.advice import StageName
from tellall.audits.audit import audit, reveal
from tellall.audits.document import Audit
from tellall.audits.plans.asked import Asked, How
from tellall.audits.plans.places import places_of
from tellall.audits.plans.plan_files import people_file
from tellall.audits.plans.policy import Policy, decision
from tellall.audits.plans.record import Origin
from tellall.audits.remedy import most_attacks
from tellall.audits.withheld import mostly_withheld
from tellall.cli.options import (
    Stopped,
    announce,
    forget,
    kept_beside,
    only_writer,
    progress_bar,
    reading,
    resumable,
    tell_assumed,
    time_words,
    write_secret,
)
from tellall.core import files
from tellall.core.curator_key import CuratorKey
from tellall.core.errors import TellallError, invalid
from tellall.core.jobs import Workers
from tellall.core.text import one_line
from tellall.core.work import Progress
from tellall.report import summary
from tellall.report.acro_record import acro_record
from tellall.report.areas_page import audit_lines
from tellall.report.attackers import attacker_lines
from tellall.report.terminal import PlainConsole, audit_text

__all__ = ["AuditRun", "AuditShown", "Signing", "write_acro_record", "write_summaries"]

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
        self.made: tuple[int, float] | None = None  # attacks or areas of this run, and seconds
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
        with written(self.folder):
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
                yield self._timed(through(progress))
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

    def _timed(self, progress: Progress) -> Progress:
        """The same progress; notes how many attacks this run made, and in how many seconds."""
        first: tuple[int, float] | None = None

        def tell(done: int, total: int) -> None:
            nonlocal first
            first = first or (done, monotonic())
            if done > first[0]:
                self.made = done - first[0], monotonic() - first[1]
            progress(done, total)

        return tell

    def _announce_search(self) -> None:
        """Says how long the search for a remedy may take, measured on the attacks made, if that is long."""
        assert self.judged is not None
        if self.made is None:  # all attacks were kept from an earlier run: nothing was measured
            return
        number, seconds = self.made
        if self.pieces == "areas":  # each of them was attacked as often as all people are said to be
            number *= max(1, sum(len(finding.outcomes) for finding in self.judged.found))
        most = seconds / number * most_attacks(self.people)
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
            forget(kept)


@dataclass(frozen=True)
class AuditRun:
    """How the command audits: where it talks, what it may use, and what it writes beside the page."""

    talk: PlainConsole
    how: How
    workers: Workers
    device: str
    signing: Signing
    rules: Policy | None
    policy: Path | None
    markdown: Path | None
    junit: Path | None
    reveal: bool
    quiet: bool
    remedy: bool
    force: bool

    def judge(
        self,
        asked: Asked,
        plan: Path | None,
        outputs: Path | None,
        folder: Path,
        context: Context,
        said: Sequence[str] = (),
    ) -> Audit:
        """The audit, its page and its other files written; ``said`` are the options about outputs."""
        self.signing.check_people(people_file(asked.plan, self.how.data))
        asked = asked.under(self.rules).attackable(self.talk.print).on(self.device)
        people, chosen = asked.people, asked.plan
        if not self.force:
            _refuse_too_much(asked)
        for one in chosen.tells_secret(people):  # said before anything is attacked
            self.talk.print(one.sentence)
        context.with_resource(only_writer(folder))
        shown = AuditShown(folder, self.talk, people.n, by_area=chosen.by is not None, quiet=self.quiet)
        one_by_one = self.workers.processes < 0 and chosen.device != "cpu"  # a device holds one attack
        result = shown.watch(
            lambda: audit(
                people,
                chosen,
                processes=1 if one_by_one else self.workers.processes,
                device=chosen.device,
                cluster=self.workers.cluster,
                work=folder / ".work" if chosen.by is None else kept_beside(folder),
                name=(self.how.data or Path(chosen.data)).name,
                command=_again(asked, plan, outputs, self.policy, self.how, said),
                remedy=self.remedy,
                record=_origin(asked, plan, self.policy, self.rules),
                judged=shown.show,
                stage=shown.stage,
            )
        )
        with written(folder):
            self._write(result, asked, plan, folder)
        return result

    def _write(self, result: Audit, asked: Asked, plan: Path | None, folder: Path) -> None:
        """Writes what there is beside the page, and says where everything is."""
        talk = self.talk
        people = asked.people
        chosen = asked.plan
        if asked.outputs is not None and asked.outputs.made_by:
            write_acro_record(result, asked.outputs.made_by, folder, talk)
        if result.remedy is None:
            for line in mostly_withheld(places_of(people, chosen), chosen.releases, chosen.seed):
                talk.print(line)
        write_summaries(result, self.markdown, self.junit, talk)
        if record := self.signing.write(result, asked, plan, folder, self.rules):
            talk.print(f"The record to be signed is {record}", soft_wrap=True)
        tell_assumed(people.assumed, talk)
        announce(folder / "report.html", talk)
        if self.reveal:
            marked = write_secret(folder / "people", reveal(people, chosen))
            talk.print(f"The people named are in {marked}", soft_wrap=True)


@contextmanager
def written(folder: Path) -> Iterator[None]:
    """Says, if the command is stopped within, that its page is written."""
    try:
        yield
    except Stopped as stop:
        sentence = f"stopped; the page in {folder} is whole, and the same command writes what else was asked."
        raise Stopped(stop.exit_code, sentence) from None


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


def _refuse_too_much(asked: Asked) -> None:
    """Refuses an audit that takes too much memory, and says what would need less."""
    from tellall.audits.plans.memory_needed import memory_of

    needed = memory_of(asked.plan, asked.people, asked.plan.device)
    if not needed.fits:
        raise invalid(
            "the audit",
            "expected to fit into memory",
            needed,
            "Fewer people (a sample, or areas: by), fewer columns, or tables of fewer columns need less; "
            "--force starts it anyway.",
        )


def _again(
    asked: Asked,
    plan: Path | None,
    outputs: Path | None,
    policy: Path | None,
    how: How,
    said: Sequence[str] = (),
) -> str:
    """The command that makes the audit again."""
    if plan is None:
        assert outputs is not None
        assert how.data is not None
        given = [outputs.name, "--data", how.data.name, "--secret", asked.plan.secret, *said]
    else:
        given = [plan.name, *([] if outputs is None else ["--acro", outputs.name])]
    given += [] if policy is None else ["--policy", policy.name]
    given += reading(drop_gaps=how.drop_gaps, kind=how.kind)
    given += ["--may-include"] if how.may_include else []
    given += ["--seed", str(asked.plan.seed)]
    given += [] if asked.plan.device == "cpu" else ["--device", asked.plan.device]
    return shlex.join(["tellall", "audit", *given])


def _origin(asked: Asked, plan: Path | None, policy: Path | None, rules: Policy | None) -> Origin:
    """When the audit is made, and of which files."""
    from tellall.audits.plans.record import record_of

    return record_of(
        None if plan is None else plan.read_bytes(),
        name="plan" if plan is None else plan.name,
        hashes=None if policy is None or rules is None else {policy.name: rules.sha256},
        published=asked.plan.published_files,
    )
