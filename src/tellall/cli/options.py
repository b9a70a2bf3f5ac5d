"""What the commands share: options, the places they write to, their output, the progress bar."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tellall.core import files
from tellall.core.errors import TellallError, WorkLost, invalid
from tellall.core.exits import SIGNALLED
from tellall.core.locks import claimed, clear_leftovers
from tellall.core.records import Record
from tellall.core.text import one_line, plain_text, wrapped
from tellall.core.work import Pace, Progress, listening, sharing

if TYPE_CHECKING:
    from rich.console import Console

    from tellall.audits.studies import Watch

__all__ = [
    "AsJson",
    "BandsFile",
    "Cluster",
    "Data",
    "Decoders",
    "Device",
    "DropGaps",
    "FreshSeed",
    "Html",
    "Jobs",
    "Kind",
    "MayInclude",
    "Out",
    "OutPage",
    "PlanFile",
    "PlanSeed",
    "Quiet",
    "Reveal",
    "Seed",
    "Stopped",
    "Unused",
    "announce",
    "check_folder",
    "check_out",
    "check_page",
    "emit",
    "forget",
    "is_folder",
    "kept_beside",
    "kept_for",
    "only_writer",
    "progress_bar",
    "reading",
    "resumable",
    "say",
    "tell_assumed",
    "time_words",
    "watching",
    "write_page",
    "write_secret",
]

_NOTHING = "stopped; nothing was finished."
_EVERY = 60.0  # seconds between two lines about the progress, without a terminal
# options that no number hangs on
_OF_OUTPUT = ("jobs", "cluster", "as_json", "quiet", "out", "html", "reveal", "first")
_SHOWN = 90  # letters of what is being done

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document; messages go to stderr.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No messages and no progress bar.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Write the JSON document to this file.")]
OutPage = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", help="A folder for the page and its JSON, or a .json file for the JSON only."
    ),
]
BandsFile = Annotated[
    Path | None,
    typer.Option(
        "--bands", metavar="FILE", help="What labels of tables mean: a TOML file with [bands.COLUMN]."
    ),
]
MayInclude = Annotated[
    bool, typer.Option("--may-include", help="The file holds people who may not be in the releases.")
]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also write a page.")]
PlanFile = Annotated[Path, typer.Argument(metavar="PLAN.toml", help="The plan; tellall init writes one.")]
Data = Annotated[Path | None, typer.Option("--data", help="Read the people from here instead.")]
DropGaps = Annotated[
    bool, typer.Option("--drop-gaps", help="Leave out people whose secret is missing; what is made says so.")
]
Kind = Annotated[
    str | None,
    typer.Option(
        "--kind",
        metavar="bits|categories|reals",
        help="What the secret is. Whole numbers of at most 20 different values are categories otherwise.",
    ),
]
PlanSeed = Annotated[int | None, typer.Option("--seed", min=0, help="Use this seed instead of the plan's.")]
FreshSeed = Annotated[
    int | None, typer.Option("--seed", min=0, help="Seed; without it a fresh one each time.")
]
Jobs = Annotated[
    int, typer.Option("--jobs", min=-1, help="How many attacks, or areas, to run at once; -1: one per core.")
]
Decoders = Annotated[
    list[str] | None,
    typer.Option("--decoder", help="A decoder; repeat for more. Default: all that are fast enough."),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="tcp://HOST:PORT",
        help="Work on the Dask cluster at this address; the people are sent there. Needs tellall[cluster].",
    ),
]
Device = Annotated[
    str,
    typer.Option("--device", metavar="cpu|cuda", help="Where equations are solved. Needs tellall[gpu]."),
]
Reveal = Annotated[
    bool, typer.Option("--reveal", help="Also write who is named, to a separate file marked SECRET.")
]
Unused = Annotated[bool, typer.Option("--reveal", help="Accepted; there is nothing to reveal.", hidden=True)]


def reading(*, drop_gaps: bool, kind: str | None) -> list[str]:
    """The options that say how the secret is read, as they were typed."""
    return [*(["--drop-gaps"] if drop_gaps else []), *(["--kind", kind] if kind else [])]


# where output goes


def is_folder(out: Path | None) -> bool:
    """Whether an output path is a folder for a page, not a file for the document alone."""
    return out is not None and (out.is_dir() or out.suffix.lower() != ".json")


def check_folder(folder: Path) -> None:
    """Refuses an output folder that cannot be made, before any work is done."""
    if folder.exists() and not folder.is_dir():
        raise invalid("--out", "a folder, or a new name", str(folder))
    if not folder.parent.is_dir():
        raise invalid("--out", "a folder in a folder that exists", str(folder))
    if not os.access(folder if folder.exists() else folder.parent, os.W_OK):
        raise invalid("--out", "a folder that can be written", str(folder))


def check_out(out: Path | None, option: str = "--out") -> None:
    """Refuses an output file that cannot be written, before any work is done."""
    if out is None:
        return
    if not out.parent.is_dir() or out.is_dir():
        raise invalid(option, "a file in a folder that exists", str(out))
    written = out.parent if out.is_file() or not out.exists() else out  # a pipe or device is written directly
    if not os.access(written, os.W_OK):
        raise invalid(option, "a file in a folder that can be written", str(out))
    clear_leftovers(out.parent)


def check_page(out: Path | None) -> None:
    """Refuses a folder for a page, or a file for its document, that cannot be written."""
    if out is not None and is_folder(out):
        check_folder(out)
    else:
        check_out(out)


def only_writer(out: Path | None) -> AbstractContextManager[None]:
    """Holds an output folder until the command is done; another command that writes there is refused."""
    return claimed(out) if out is not None and is_folder(out) else nullcontext()


def kept_beside(out: Path | None, name: str = "areas") -> Path | None:
    """Where finished areas, or other work, are kept: in the output folder, or next to the output file."""
    if out is None:
        return None
    return out / f".{name}" if is_folder(out) else out.with_name(f".{out.stem}.{name}")


@contextmanager
def kept_for(study: str, out: Path | None, *, areas: bool) -> Iterator[Path | None]:
    """Where a study keeps what is finished; only areas stay there once it is done.

    A sweep and a calibration in one folder use separate folders, named after the study.
    """
    beside = kept_beside(out, "areas" if areas else "work")
    kept = beside and beside / study
    over = False
    try:
        yield kept
        over = True
    except WorkLost:
        raise
    except Stopped as stop:  # between two releases, or while the page is written
        if not stop.told and kept is not None and kept.exists():
            stop.sentence = "stopped; what was measured is kept; run the same command to go on from here."
        raise
    except TellallError:  # the same command would end in the same way
        over = True
        raise
    finally:
        if over and kept is not None and not areas:
            forget(kept)


def forget(kept: Path) -> None:
    """Removes what was kept in case a command stops, and the folder around it if nothing else is there."""
    if not kept.is_symlink() and not kept.parent.is_symlink():
        shutil.rmtree(kept, ignore_errors=True)
        if kept.parent.name.endswith(".work"):
            with suppress(OSError):
                kept.parent.rmdir()


# output


def announce(page: Path, talk: Console) -> None:
    """Prints where a page is."""
    talk.print(f"The page is {page}", highlight=False, markup=False, soft_wrap=True)


def say(text: str, *, err: bool = False) -> None:
    """Prints a text without control marks; results are wrapped, a message stays on one line."""
    typer.echo(plain_text(text) if err else wrapped(plain_text(text)), err=err)


def tell_assumed(sentence: str, talk: Console) -> None:
    """Prints how a text file was read; nothing for other files."""
    if sentence:
        talk.print(sentence)


def emit(document: Record | dict[str, Any], *, as_json: bool, out: Path | None) -> None:
    """Writes the document to standard output, to a file, or both; a file is written whole or not at all."""
    text = files.dump(document)
    if out is not None:
        files.write_text(out, text)
    if as_json:
        sys.stdout.write(text)


def repeated(context: typer.Context) -> str:
    """The command that makes the same numbers again, with every option that they hang on.

    Files are named without their folders, whose names may name people.
    """
    parts: list[str] = []
    seed: list[str] = []
    for option in context.command.params:
        value = context.params.get(str(option.name))
        if option.name in _OF_OUTPUT or value is None:
            continue
        if isinstance(value, bool):
            parts += [] if value == option.default else (option.opts if value else option.secondary_opts)[:1]
            continue
        name = max(option.opts, key=len)
        if name == "--seed":
            seed = [name, str(value)]
            continue
        for one in value if isinstance(value, list | tuple) else [value]:
            written = _without_folder(str(one))
            parts += [name, written] if name.startswith("--") else [written]
    return shlex.join(["tellall", str(context.info_name), *parts, *seed])


def _without_folder(text: str) -> str:
    """What was typed; a file without its folder, also one after a column's name: COLUMN=FILE."""
    column, sign, file = text.rpartition("=")
    return f"{column}{sign}{Path(file).name or file}" if Path(file).exists() else text


def write_page(render: Callable[[], str], html: Path | None, *, quiet: bool) -> None:
    """Writes a page, if one is wanted, and says where it is."""
    if html is not None:
        files.write_text(html, render())
        if not quiet:
            say(f"The page is {html}", err=True)


def write_secret(path: Path, document: Record | dict[str, Any]) -> Path:
    """Writes the file about single people: marked SECRET in its name, readable by its owner alone."""
    return files.write_json(path.with_name(f"{path.stem}.SECRET.json"), document)


# long work


class Stopped(SystemExit):
    """A command that a signal stopped, with its exit code and a sentence on what is kept.

    It is no KeyboardInterrupt, since Ctrl-C may end one search of a command and let the rest go on. It is a
    SystemExit, since event loops let that pass.
    """

    def __init__(self, exit_code: int, sentence: str | None = None) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code
        self.told = sentence is not None  # what was finished is said already
        self.sentence = sentence or _NOTHING


@contextmanager
def resumable(*, kept: bool, words: str = "pieces") -> Iterator[Callable[[Progress | None], Progress]]:
    """Says how much is kept if the work within is stopped; yields a wrapper for its progress function."""
    known = (0, 0)

    def through(progress: Progress | None) -> Progress:
        def tell(done: int, total: int) -> None:
            nonlocal known
            known = done, total
            if progress is not None:
                progress(done, total)

        return tell

    try:
        yield through
    except (KeyboardInterrupt, Stopped) as stop:
        done, total = known
        some = f"{done:,} of {total:,} {words} are kept; " if total else ""
        more = f"{some}run the same command to go on from here" if kept else "nothing was kept"
        code = stop.exit_code if isinstance(stop, Stopped) else SIGNALLED + signal.SIGINT
        raise Stopped(code, f"stopped; {more}.") from None


def watching(talk: Console, *, quiet: bool, kept: bool) -> Watch:
    """For each release of a plan: prints its name, then shows a bar while it is measured."""

    @contextmanager
    def watch(name: str) -> Iterator[Progress | None]:
        talk.print(name)
        with resumable(kept=kept) as known, progress_bar(talk, "measuring", quiet=quiet) as progress:
            yield known(progress)

    return watch


@contextmanager
def progress_bar(
    talk: Console, words: str, *, quiet: bool, open_end: bool = False
) -> Iterator[Progress | None]:
    """A function that the work calls with (done, total): a bar, or without a terminal a line now and then.

    With an open end the total is the most that may be done, and nobody knows how much will be.
    """
    if quiet:
        yield None
        return
    said = _Said(words, open_end=open_end)
    if not talk.is_terminal:
        with _lines(talk, said) as tell:
            yield tell
        return
    from rich import progress as rich_progress
    from rich.progress import BarColumn, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), BarColumn(), TextColumn("{task.fields[now]}", markup=False))
    with rich_progress.Progress(*columns, console=talk, transient=True) as bar:
        task = bar.add_task(words, total=None, now=words)

        def show(doing: str = "") -> None:
            bar.update(task, now=f"{said} {one_line(doing, _SHOWN)}")

        def tell(done: int, total: int) -> None:
            said.note(done, total)
            bar.update(task, completed=done, total=None if open_end else total)
            show()

        with listening(show), sharing(said.note_share):
            yield tell


class _Said:
    """What is said about the progress of some work."""

    def __init__(self, words: str, *, open_end: bool = False) -> None:
        self.words, self.open_end = words, open_end
        self.done = 0
        self.total = 0
        self.began = monotonic()
        self.pace = Pace()
        self.shared = False

    def note(self, done: int, total: int) -> None:
        """Notes how many pieces are done; they are taken to be alike if nobody says which share they are."""
        self.done, self.total = done, total
        if not self.shared and total:
            self.pace.note(done / total, monotonic())

    def note_share(self, share: float) -> None:
        """Notes which share of the work is done."""
        if not self.shared:
            self.shared, self.pace = True, Pace()
        self.pace.note(share, monotonic())

    @property
    def left(self) -> float | None:
        """The seconds that are left; None if nobody knows."""
        return None if self.open_end else self.pace.left(monotonic())

    def __str__(self) -> str:
        return f"{self.words}: {_progress_words(self, monotonic() - self.began)}"


def _progress_words(said: _Said, seconds: float) -> str:
    """How much is done in this time and, if that is known, how much is left."""
    if not said.total:
        return f"{time_words(seconds)} so far"
    left = f", about {time_words(said.left)} left" if said.left is not None else ""
    most = "" if said.open_end else f" of {said.total:,}"
    return f"{said.done:,}{most} done in {time_words(seconds)}{left}"


def time_words(seconds: float) -> str:
    """A time in seconds, minutes or hours, as one would say it.

    Examples
    --------
    >>> time_words(48.2), time_words(150), time_words(8000)
    ('48 s', '2.5 min', '2.2 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextmanager
def _lines(talk: Console, said: _Said) -> Iterator[Progress]:
    """Prints how much is done and about how long the rest takes, so that a log shows it.

    That is every minute and, of work that takes longer, as soon as it is known.
    """
    from threading import Event, Thread

    now = ""
    over = Event()
    told = False

    def line(doing: str) -> None:
        nonlocal told
        told = told or said.left is not None
        more = f" ({one_line(doing, _SHOWN)})" if doing else ""
        talk.print(f"{said}{more}", markup=False)

    def tell(done: int, total: int) -> None:
        said.note(done, total)
        if not told and (said.left or 0.0) > _EVERY:
            line("")

    def hear(doing: str) -> None:
        nonlocal now
        now = doing

    def repeat() -> None:
        while not over.wait(_EVERY):
            line(now)

    watch = Thread(target=repeat, daemon=True)
    watch.start()
    try:
        with listening(hear), sharing(said.note_share):
            yield tell
    finally:
        over.set()
        watch.join()
