"""Home: a private folder of audits made in the browser; Case: one of them, all of its state in files."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tellall.audits.document import AuditDocument, read_audit
from tellall.audits.plans.draft import ColumnLook, draft, look_at
from tellall.audits.plans.plan import Plan
from tellall.audits.plans.plan_files import plan_of
from tellall.audits.plans.policy import Policy
from tellall.core import files
from tellall.core.errors import InvalidInput, TellallError, invalid
from tellall.core.locks import PARTIAL, clear_leftovers, is_claimed, private_folder
from tellall.core.text import one_line, plain_text, said
from tellall.core.version import __version__
from tellall.people import readers
from tellall.release.release import Release
from tellall.serve.edits import files_of
from tellall.serve.given_outputs import GivenOutputs

__all__ = ["Case", "Home", "default_folder", "now", "plan_from", "shown_name"]

_ID = re.compile("[0-9a-f]{16}")
_COPY = re.compile(r"people(\.[a-z0-9]+)+")
_PUBLISHED = re.compile(r"published-[0-9]{1,3}\.json")
_RULES = "policy.toml"
_LARGEST_PLAN = 2**20
_LONGEST_NAME = 80


def default_folder() -> Path:
    """Where audits are kept when no folder is named: the user's folder for the state of programs."""
    state = os.environ.get("XDG_STATE_HOME", "")
    return (Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state") / "tellall"


def now() -> str:
    """The time, in words that sort."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


@dataclass(frozen=True)
class Case:
    """One file of people with its plan, its audit and the decision about it.

    Every piece is a file of its own, written whole or not at all and readable by its owner alone, so that a
    server that was killed finds everything again. Names of files are fixed: nothing that a browser sends
    becomes a path.
    """

    folder: Path

    @property
    def id(self) -> str:
        """The name of the case in addresses, drawn at random."""
        return self.folder.name

    # what was opened

    @property
    def about(self) -> dict[str, Any]:
        """The file's own name, its ending, when it was opened, how many people are in it."""
        return files.read_json(self.folder / "case.json", what="case")

    @property
    def name(self) -> str:
        """What the person calls the file."""
        return str(self.about["name"])

    @property
    def data(self) -> Path:
        """The copy of the file."""
        return self.folder / f"people{self.about['ending']}"

    @property
    def columns(self) -> list[ColumnLook]:
        """The columns of the file, counted when it was opened."""
        known = {field.name for field in fields(ColumnLook)}
        return [
            ColumnLook(**{key: value for key, value in look.items() if key in known})
            for look in self.about["columns"]
        ]

    def open_file(self, name: str, ending: str) -> None:
        """Looks at the file that was just copied here, and remembers what is in it."""
        path = self.folder / f"people{ending}"
        try:
            table = readers.read_table(path)
            names = readers.column_names(table)
            looks = [look_at(one, table[one]) for one in names]
        except TellallError as error:
            raise InvalidInput(_about_file(str(error), path, name)) from None
        people = len(table[names[0]]) if names else 0
        if not people:
            raise invalid("file", "one with people in it", name)
        about = {
            "name": name,
            "ending": ending,
            "opened": now(),
            "people": people,
            "assumed": plain_text(getattr(table, "assumed", "")).replace(path.name, name),
            "columns": [asdict(look) for look in looks],
        }
        files.write_json(self.folder / "case.json", about)

    # the outputs, or the plan

    @property
    def given(self) -> GivenOutputs:
        """The outputs that the case is about, if it is about outputs."""
        return GivenOutputs(self.folder)

    @property
    def asked_text(self) -> str:
        """The text that decides what is audited: what is said about outputs, or the plan; empty before."""
        return self.given.text or self.plan_text

    @property
    def plan_text(self) -> str:
        """The plan as TOML; empty before there is one."""
        path = self.folder / "plan.toml"
        return files.read_text(path, what="plan", largest=_LARGEST_PLAN) if path.is_file() else ""

    @property
    def plan(self) -> Plan:
        """The plan, as the command line reads it."""
        return plan_from(self.plan_text, self.folder)

    @property
    def rules(self) -> Policy | None:
        """The rules of the site, which no plan can loosen; None if there are none."""
        return Home(self.folder.parent).rules

    @property
    def asked(self) -> tuple[str, Plan]:
        """What is to be audited: the plan under the rules of the site, and its version, both read once."""
        text = self.plan_text
        version = self._version_of(text)  # first: if a file changes while it is read, this is outdated
        plan, rules = plan_from(text, self.folder), self.rules
        return version, plan if rules is None else rules.under(plan)

    def draft_plan(
        self,
        secret: int,
        public: list[int],
        by: int | None = None,
        known: list[int] | None = None,
        *,
        seed: int = 0,
    ) -> None:
        """Writes a first plan for columns, given by index; an outsider knows those in `known`, or all."""
        looks = self.columns
        names = [looks[index].name for index in sorted({*public, secret, *([] if by is None else [by])})]
        table = readers.read_table(self.data)
        some = known is not None and not {*public, *([] if by is None else [by])} <= set(known)
        self.given.end()
        made = draft(
            {name: table[name] for name in names},
            self.name,
            secret=looks[secret].name,
            by=None if by is None else looks[by].name,
            known=[looks[index].name for index in known if index in public] if some and known else None,
            seed=seed,
        )
        self.write_plan(made.text)

    def write_plan(self, text: str) -> None:
        """Replaces the plan, if it is one; what was measured about the old one is kept until the next run."""
        if len(text.encode()) > _LARGEST_PLAN:
            raise invalid("plan", "at most 1 MB of text", f"{len(text):,} characters")
        plan_from(text, self.folder)
        files.write_text(self.folder / "plan.toml", text)

    def keep_published(self, path: Path, name: str) -> str:
        """Takes a file in as a release that was published before; returns what a plan calls it."""
        try:
            Release.load(path)
        except TellallError as error:
            raise InvalidInput(_about_file(str(error), path, name)) from None
        free = (number for number in range(1, 1000) if not (self.folder / _published(number)).exists())
        kept = _published(next(free))
        path.rename(self.folder / kept)
        return kept

    def drop_unused(self, used: list[str]) -> None:
        """Removes releases that were published before and that the plan does not name any more."""
        for path in self.folder.iterdir():
            if _PUBLISHED.fullmatch(path.name) and path.name not in used:
                path.unlink()

    @property
    def version(self) -> str:
        """Changes whenever plan, rules or releases published before do: an audit of others is outdated."""
        return self._version_of(self.asked_text)

    def _version_of(self, text: str) -> str:
        """A short hash of a plan, the rules that it is under, and the contents of the files that it names."""
        rules = Home(self.folder.parent).rules_text
        named = [] if self.given.text else files_of(text)
        paths = [self.folder / name for name in named if _PUBLISHED.fullmatch(name)]
        contents = [path.read_bytes() for path in paths if path.is_file()]
        parts = [text.encode(), rules.encode(), *contents]
        return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()[:16]

    # results

    def read(self, name: str) -> dict[str, Any] | None:
        """One of the case's own documents, or None."""
        path = self.folder / name
        if not path.is_file():
            return None
        try:
            return files.read_json(path, what=name)
        except InvalidInput:
            return None

    def write(self, name: str, document: dict[str, Any]) -> None:
        """Writes one of the case's own documents."""
        files.write_json(self.folder / name, document, lasting=False)

    @property
    def audit(self) -> AuditDocument | None:
        """The last finished audit; None if there is none that this tellall can read."""
        return self._audit_in("audit/audit.json")

    @property
    def last_audit(self) -> AuditDocument | None:
        """The audit of another plan before that one, to compare with."""
        return self._audit_in("last.json")

    def _audit_in(self, name: str) -> AuditDocument | None:
        known = self.read(name)
        try:
            return None if known is None else read_audit(known)
        except InvalidInput:  # written by another tellall
            return None

    @property
    def audit_text(self) -> str:
        """That document, as it is in its file."""
        return (self.folder / "audit" / "audit.json").read_text(encoding="utf-8")

    @property
    def decision(self) -> dict[str, Any] | None:
        """The decision about the present plan and audit, or None."""
        known = self.read("decision.json")
        if known is None or not self.current:
            return None
        about = [hashlib.sha256(text.encode()).hexdigest() for text in (self.asked_text, self.audit_text)]
        return known if about == [known["plan_sha256"], known["audit_sha256"]] else None

    @property
    def current(self) -> bool:
        """Whether the last finished audit is about the plan as it is now, and by this version of tellall."""
        done = self.read("done.json")
        return done is not None and (done["version"], done.get("tellall")) == (self.version, __version__)

    def forget(self) -> None:
        """Removes the case and everything in it from this machine."""
        shutil.rmtree(self.folder)


@dataclass(frozen=True)
class Home:
    """The folder of all cases, for its owner alone."""

    folder: Path

    @classmethod
    def at(cls, folder: Path) -> Home:
        """The folder, made if needed; one that others can read is refused."""
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise invalid("--folder", "a folder of its own, not a link or a file", folder)
        private_folder(folder)
        if stat.S_IMODE(folder.stat().st_mode) & 0o077:
            rule = "a folder that its owner alone can read, because files of people are kept there"
            raise invalid("--folder", rule, folder, "Run: chmod 700 on it, or choose another.")
        return cls(folder)

    @property
    def cases(self) -> list[Case]:
        """The cases, the one opened last first."""
        known = [
            Case(path)
            for path in self.folder.iterdir()
            if _ID.fullmatch(path.name) and not path.is_symlink() and (path / "case.json").is_file()
        ]
        return sorted(known, key=lambda case: -(case.folder / "case.json").stat().st_mtime)

    @property
    def rules_text(self) -> str:
        """The rules of the site as TOML; empty if there are none."""
        path = self.folder / _RULES
        return files.read_text(path, what="policy", largest=_LARGEST_PLAN) if path.is_file() else ""

    @property
    def rules(self) -> Policy | None:
        """The rules of the site; None if there are none."""
        path = self.folder / _RULES
        return Policy.read(path) if path.is_file() else None

    def write_rules(self, name: str, path: Path) -> None:
        """Takes a file as the rules of the site, if it holds some."""
        try:
            Policy.read(path)
        except TellallError as error:
            raise InvalidInput(_about_file(str(error), path, name)) from None
        path.rename(self.folder / _RULES)

    def drop_rules(self) -> None:
        """Removes the rules of the site."""
        (self.folder / _RULES).unlink(missing_ok=True)

    def clear(self) -> None:
        """Removes files that were not copied whole, because the server was killed; nothing else."""
        clear_leftovers(self.folder, f"*{PARTIAL}")
        for folder in self.folder.iterdir():
            if not _ID.fullmatch(folder.name) or folder.is_symlink() or not folder.is_dir():
                continue
            clear_leftovers(folder, f"*{PARTIAL}")
            names = {path.name for path in folder.iterdir()} - {".lock"}
            copied = all(_COPY.fullmatch(name) or name.endswith(PARTIAL) for name in names)
            if copied and not is_claimed(folder):
                shutil.rmtree(folder)

    def find(self, name: str) -> Case | None:
        """The case with this name, looked for among those that exist; a name never becomes a path."""
        return next((case for case in self.cases if secrets.compare_digest(case.id, name)), None)

    def create(self) -> Case:
        """A new case, still without a file."""
        return Case(private_folder(self.folder / secrets.token_hex(8)))


def shown_name(given: str, endings: Sequence[str], otherwise: str) -> tuple[str, str]:
    """What a file is called in plans and on pages, and its ending; only files that can be read have one.

    Examples
    --------
    >>> ours = (".csv", ".toml")
    >>> shown_name("C:\\\\data\\\\Clinic 7.CSV", ours, "people"), shown_name("../../.csv", ours, "people")
    (('Clinic 7.CSV', '.csv'), ('people.csv', '.csv'))
    """
    name = one_line(re.split(r"[/\\]", given)[-1], _LONGEST_NAME).lstrip(". ")
    ending = next((one for one in endings if given.lower().endswith(one)), "")
    if not ending:
        raise invalid("file", f"one that ends in {', '.join(endings)}", name)
    return (name if name.lower().endswith(ending) else f"{otherwise}{ending}"), ending


def _published(number: int) -> str:
    """Our own name for the file of a release that was published before."""
    return f"published-{number}.json"


def plan_from(text: str, folder: Path) -> Plan:
    """The plan in a text, as the command line would read it from a file in the folder of its case."""
    import tomllib

    try:
        mapping = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise invalid("plan", "TOML", "other text", f"The reader said: {said(error, 120)}.") from None
    listed = mapping.get("published", [])
    before = (
        [str(one.get("file")) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    )
    unknown = [one for one in before if not _PUBLISHED.fullmatch(one) or not (folder / one).is_file()]
    if unknown or any(map(_names_file, _texts(mapping.get("releases")))):
        advice = "Open releases published before on the page of the plan; the command line reads other files."
        raise invalid("plan", "one that names only files opened here, in the browser", "another", advice)
    return plan_of(mapping, folder=folder, needed=("secret", "data"))


def _texts(plain: Any) -> Iterator[str]:
    """Every text in the values of plain data."""
    if isinstance(plain, str):
        yield plain
    elif isinstance(plain, dict | list):
        for part in plain.values() if isinstance(plain, dict) else plain:
            yield from _texts(part)


def _names_file(text: str) -> bool:
    return text.lower().endswith((*readers.ENDINGS, ".gz"))


def _about_file(sentence: str, path: Path, name: str) -> str:
    """An error about our copy of a file, as an error about the file itself."""
    place = rf"; got \S*{re.escape(path.name)}\."
    sentence = sentence.replace(str(path), path.name)
    sentence = re.sub(rf"{re.escape(str(path.parent)[:20])}[^…]*…", path.name, sentence)  # cut short
    return re.sub(place, ".", re.sub("^path must be", f"{name} must be", sentence)).replace(path.name, name)
