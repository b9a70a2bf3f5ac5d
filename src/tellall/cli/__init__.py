"""The command line: parse, one library call, print, exit code. One file per command."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Annotated, Any, NoReturn

import typer

import tellall
from tellall.cli.attack import attack
from tellall.cli.audit import audit
from tellall.cli.bounds import bounds
from tellall.cli.calibrate import calibrate
from tellall.cli.check import check
from tellall.cli.demo import demo
from tellall.cli.explain import explain
from tellall.cli.hidden import hidden
from tellall.cli.init import init
from tellall.cli.limit import limit
from tellall.cli.options import Stopped, say
from tellall.cli.paper import paper
from tellall.cli.profile import profile
from tellall.cli.publish import publish
from tellall.cli.recognise import recognise
from tellall.cli.rows import rows
from tellall.cli.serve import serve
from tellall.cli.sweep import sweep
from tellall.cli.trace import trace
from tellall.core.errors import NoAnswer, SolverFailed, TellallError, WorkLost
from tellall.core.exits import (
    DONE,
    FAULT,
    REFUSED,
    SIGNALLED,
    TRACEBACK,
    UNSETTLED,
    fault_sentence,
    lacks_memory,
    place_of,
)
from tellall.core.text import one_line

__all__ = [
    "app",
    "main",
    "parse_command",
]

# what the system says of an output that takes no more, and of work for which it has no room
_UNWRITABLE = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
_NO_ROOM = {errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE}
_COMPLETION = "_TELLALL_COMPLETE"
# newer versions of typer bring their own copy of click, older ones use the installed click
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def _unwrapped(heading: str, *lines: str) -> str:
    """Lines below a heading, as they are: \\b keeps help from joining them."""
    return "\n".join([heading, "", "\b", *lines])


app = typer.Typer(
    name="tellall",
    help="Tells people who publish statistics what those statistics give away about the people in them.",
    epilog=_unwrapped(
        "Examples:",
        "tellall demo                                  what tables give away",
        "tellall init people.csv --secret diagnosis    a plan for your people",
        "tellall audit people.toml                     its verdict and its page",
    )
    + "\n\nExit codes: 0 done or pass, 1 fail, 2 bad input or usage, or too much memory, 3 review or "
    "not settled: a person has to decide, 70 a fault of tellall, 130 or 143 stopped.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tellall {tellall.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options that come before the command."""


_EXAMPLES: dict[Callable[..., None], tuple[str, ...]] = {
    demo: ("tellall demo", "tellall demo --json > demo.json", "tellall demo --seed 7"),
    init: ("tellall init people.csv", "tellall init people.csv --secret diagnosis"),
    audit: (
        "tellall audit outputs --data people.csv --secret ill",
        "tellall audit people.toml",
        "tellall audit people.toml --json > audit.json",
        "tellall audit counties.toml --jobs 4",
        "tellall audit new.xlsx --data people.csv --secret ill --published old.csv",
        "tellall audit people.toml --device cuda",
    ),
    recognise: (
        "tellall recognise outputs --data people.csv --secret ill",
        "tellall recognise table.csv --data people.csv --secret ill --json",
    ),
    check: (
        "tellall check --new-key curator.key",
        "tellall check audit/decision.toml --data people.csv --key curator.key",
    ),
    serve: ("tellall serve", "tellall serve --port 8080 --no-browser"),
    sweep: (
        "tellall sweep people.toml -o study",
        "tellall sweep people.toml --family Laplace --scales 1,2",
        "tellall sweep counties.toml -o study --cluster tcp://10.0.0.1:8786",
    ),
    calibrate: (
        "tellall calibrate people.toml --max-advantage 0.05",
        "tellall calibrate people.toml -o study",
        "tellall calibrate counties.toml -o study --jobs 4",
    ),
    publish: ("tellall publish people.toml -o release.json",),
    attack: (
        "tellall attack release.json --public people.csv",
        "tellall attack all.json women.json --public people.csv",
        "tellall attack a.json b.json --public people.csv --where 'b.json: age < 40'",
        "tellall attack sample.json --public register.csv --may-include",
    ),
    rows: (
        "tellall rows age_sex.csv race_age.csv",
        "tellall rows blocks.csv --by block -o rows.json",
        "tellall rows release.json --reveal",
        "tellall rows age_sex.csv --round 5",
    ),
    hidden: (
        "tellall hidden table.csv region.hrc",
        "tellall hidden tables --html hidden.html",
        "tellall hidden turnover.csv --value turnover",
    ),
    explain: ("tellall explain", "tellall explain reconstruction"),
    profile: (
        "tellall profile wages.csv -y wage",
        "tellall profile wages.csv -y wage -x age --delta 1e-6",
        "tellall profile wages.csv -y wage --html profile.html",
    ),
    trace: (
        "tellall trace --release freqs.afreq --targets t.bed --reference ref.bed",
        "tellall trace --release f.afreq --targets t.bed --reference r.bed -o traced",
    ),
    limit: (
        "tellall limit freqs.afreq --people 500",
        "tellall limit freqs.afreq -n 500 --round 0.01 --html limit.html",
    ),
    bounds: ("tellall bounds -n 10000 --attributes 20 --ways 3 --epsilon 1 --delta 1e-6",),
    paper: ("tellall paper robust-tracing", "tellall paper private-ols --data papers/ --full"),
}
for _command, _examples in _EXAMPLES.items():
    app.command(epilog=_unwrapped("Examples:", *_examples))(_command)


@cache
def _all_commands() -> Any:
    """Every command with its options, as click has them."""
    return typer.main.get_command(app)


def parse_command(words: Sequence[str]) -> str:
    """Reads a command line as the command would, without running it, and returns the command's name.

    Examples
    --------
    >>> parse_command(["audit", "people.toml", "--seed", "3"])
    'audit'
    """
    group = _all_commands()
    name, *arguments = words
    if name not in group.commands:
        raise UsageError(f"No such command '{name}'")
    group.commands[name].make_context(name, arguments)
    return name


def main() -> None:
    """The command `tellall`: every failure is one or two lines on standard error and an exit code.

    The codes are those of `core.exits`. Python leaves with 1 after an error that nobody catches, and 1 would
    be a verdict; so every error is caught here.
    """
    _open_closed()
    warnings.showwarning = _warn
    if _COMPLETION in os.environ:  # a shell asks which words could come next
        _all_commands()(prog_name="tellall")
    for kind in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(kind) is signal.SIG_DFL:  # nohup has SIGHUP ignored
            signal.signal(kind, _stop)
    try:
        code = _run(sys.argv[1:])
        sys.stdout.flush()  # a full disk or a closed pipe fails here, while it can still be explained
    except KeyboardInterrupt:
        code = _leave("stopped; nothing was finished.", SIGNALLED + signal.SIGINT)
    except Stopped as stop:
        code = _leave(stop.sentence, stop.exit_code)
    except BaseException as error:
        code = _leave(*_explained(error))
    sys.exit(code)


def _open_closed() -> None:
    """Gives outputs that were closed before the start a place to go, so that no other file becomes one."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  open until the end


def _stop(number: int, _frame: object) -> NoReturn:
    """Stops as Ctrl-C does: what is unfinished is cleared away."""
    raise Stopped(SIGNALLED + number)


def _run(words: Sequence[str]) -> int:
    """The exit code of a command line; its errors pass as they are."""
    group = _all_commands()
    try:
        with group.make_context("tellall", list(words)) as context:
            group.invoke(context)
    except typer.Exit as left:
        return left.exit_code
    return DONE


def _explained(error: BaseException) -> tuple[str, int]:
    """What to say about an error, and the exit code that goes with it."""
    if isinstance(error, UsageError):
        return explain_usage(error, sys.argv[1:], [command.__name__ for command in _EXAMPLES]), REFUSED
    if isinstance(error, WorkLost):
        return str(error), FAULT
    if isinstance(error, NoAnswer | SolverFailed):
        return str(error), UNSETTLED
    if isinstance(error, TellallError):
        return str(error), REFUSED
    if lacks_memory(error):
        return "this machine has too little memory for it; there is no result.", REFUSED
    if isinstance(error, OSError) and (said := _said_by_system(error)):
        return said, REFUSED
    if os.environ.get(TRACEBACK):
        _print(place_of(error))
    return fault_sentence(error), FAULT


def _said_by_system(error: OSError) -> str:
    """What the system refused, in a sentence; empty if the error is not about files, room or output."""
    what = error.strerror or "the system refused it"
    if error.filename is not None:
        return f"{what}: {error.filename}"
    if error.errno in _UNWRITABLE:
        return _unwritten("nobody reads it" if error.errno == errno.EPIPE else what)
    if error.errno in _NO_ROOM:
        return f"this machine has too little room for it ({what}); there is no result."
    return ""


def _warn(message: Warning | str, *rest: object, **more: object) -> None:
    """Prints a warning as one line, without the line of our code that raised it."""
    say(f"tellall: {one_line(str(message), 400)}", err=True)


def _leave(sentence: str, code: int) -> int:
    """The exit code, after printing the sentence."""
    _print(sentence if sentence.startswith("Usage:") else f"tellall: {sentence}")
    return code


def _print(text: str) -> None:
    """Prints to standard error; if that cannot be written, the exit code still says what happened."""
    try:
        say(text, err=True)
    except (OSError, ValueError):
        _discard(sys.stderr)


def _unwritten(reason: str) -> str:
    """The sentence for a standard output that fails; what is left to be written goes nowhere."""
    _discard(sys.stdout)
    return f"standard output cannot be written ({reason})."


def _discard(stream: Any) -> None:
    """Lets the rest of a stream go nowhere: if it cannot be written, Python ends with a code of its own."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def explain_usage(error: Any, arguments: Sequence[str], commands: Sequence[str]) -> str:
    """One sentence: what is missing, unknown or wrong in a command, and where its options are listed.

    Examples
    --------
    >>> explain_usage(UsageError("No such option: --sed"), ["audit", "--sed"], ["audit"])
    'no such option: --sed; see tellall audit --help.'
    """
    if type(error).__name__ == "NoArgsIsHelpError":
        return str(error.format_message())
    known = next((f"{word} " for word in arguments[:1] if word in commands), "")
    what = _mistake(error)
    return f"{what}{' See' if what.endswith('?') else '; see'} tellall {known}--help."


def _mistake(error: Any) -> str:
    param = getattr(error, "param", None)
    if param is None:
        text = _one_line(error.format_message()).replace(" (Possible options: ", " (there are ")
        lower = text if text[:2].isupper() else f"{text[:1].lower()}{text[1:]}"
        return lower or "the command cannot be understood"
    if getattr(param, "param_type_name", "") == "argument":
        name = str(getattr(param, "metavar", None) or str(param.name).upper())
    else:
        name = str(max(param.opts, key=len))  # the long form
    if type(error).__name__ == "MissingParameter":
        said = _one_line(getattr(param, "help", None) or "")
        return f"{name} must be given ({said})" if said else f"{name} must be given"
    rule = re.sub(r", unable to .*$", "", _one_line(error.message))
    rule, count = re.subn(r"^Input should be ", "must be ", rule)
    return f"{name} {rule}{_typed(error)}" if count else f"{name}: {rule}"


def _one_line(text: object) -> str:
    return " ".join(str(text).split()).rstrip(".")


def _typed(error: Any) -> str:
    """The text that was typed, if the error still has it."""
    try:
        typed = str(error.__cause__.errors()[0]["input"])
    except (AttributeError, IndexError, KeyError, TypeError):
        return ""
    return f"; got {typed if len(typed) <= 80 else f'{typed[:79]}…'}"
