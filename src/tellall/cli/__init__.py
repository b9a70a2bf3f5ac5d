"""The command line: parse, one library call, write, exit code. One file per command."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Annotated

import typer

import tellall
from tellall.cli.attack import attack
from tellall.cli.audit import audit
from tellall.cli.bounds import bounds
from tellall.cli.calibrate import calibrate
from tellall.cli.demo import demo
from tellall.cli.explain import explain
from tellall.cli.init import init
from tellall.cli.limit import limit
from tellall.cli.paper import paper
from tellall.cli.profile import profile
from tellall.cli.publish import publish
from tellall.cli.sweep import sweep
from tellall.cli.trace import trace
from tellall.cli.usage import UsageError, explain_usage
from tellall.core.errors import NoAnswer, SolverFailed, TellallError, WorkLost

__all__ = [
    "app",
    "main",
]

_INCONCLUSIVE, _INTERRUPTED = 3, 130
_WHERE = "TELLALL_TRACEBACK"

app = typer.Typer(
    name="tellall",
    help="Tells people who publish statistics what those statistics give away about the people in them.",
    epilog="Exit codes: 0 done or below the limit, 1 above the limit, 2 bad input or usage, 3 inconclusive.",
    no_args_is_help=True,
    add_completion=False,
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
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Options that stand before the command."""


_EXAMPLES: dict[Callable[..., None], str] = {
    demo: "tellall demo   |   tellall demo --json > demo.json   |   tellall demo --seed 7",
    init: "tellall init people.csv   |   tellall init people.csv --secret diagnosis",
    audit: "tellall audit people.toml   |   tellall audit people.toml --json > audit.json   |   "
    "tellall audit counties.toml --jobs 4   |   tellall audit people.toml --device cuda",
    sweep: "tellall sweep people.toml -o study   |   tellall sweep people.toml --family Laplace --scales 1,2"
    "   |   tellall sweep counties.toml -o study --cluster tcp://10.0.0.1:8786",
    calibrate: "tellall calibrate people.toml --max-advantage 0.05   |   tellall calibrate a.toml -o study"
    "   |   tellall calibrate counties.toml -o study --jobs 4",
    publish: "tellall publish people.toml -o release.json",
    attack: "tellall attack release.json --public people.csv",
    explain: "tellall explain   |   tellall explain reconstruction",
    profile: "tellall profile wages.csv -y wage   |   tellall profile wages.csv -y wage -x age --delta 1e-6",
    trace: "tellall trace --release freqs.afreq --targets t.bed --reference ref.bed",
    limit: "tellall limit freqs.afreq --people 500   |   tellall limit freqs.afreq -n 500 --round 0.01",
    bounds: "tellall bounds -n 10000 --attributes 20 --ways 3 --epsilon 1 --delta 1e-6",
    paper: "tellall paper robust-tracing   |   tellall paper private-ols --data papers/ --full",
}
for _command, _examples in _EXAMPLES.items():
    app.command(epilog=f"Examples:  {_examples}")(_command)


def _say(message: Warning | str, *rest: object, **more: object) -> None:
    """A warning as one line, without the place in our code that it comes from."""
    typer.echo(f"tellall: {message}", err=True)


def main() -> None:
    """The command `tellall`: what goes wrong is one or two lines on standard error and an exit code.

    2 where the command, a file or a place to write is wrong, 3 where it is not the question that is wrong.
    """
    warnings.showwarning = _say
    try:
        code = app(prog_name="tellall", standalone_mode=False)
        sys.stdout.flush()  # a full disk or a closed pipe is found out here, not after the last word
    except UsageError as error:
        code = _leave(explain_usage(error, sys.argv[1:], [command.__name__ for command in _EXAMPLES]), 2)
    except (NoAnswer, SolverFailed, WorkLost) as error:
        code = _leave(str(error), _INCONCLUSIVE)
    except TellallError as error:
        code = _leave(str(error), 2)
    except MemoryError:
        code = _leave("too little memory on this machine; nothing is known.", _INCONCLUSIVE)
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    except SystemExit:  # what typer makes of a pipe that nobody reads any more; 1 would be a verdict
        code = _leave("standard output cannot be written (nobody reads it).", 2)
    except OSError as error:
        code = _leave(_trouble(error), 2)
    except Exception as error:  # a fault of ours; the 1 that Python would leave with is a verdict
        if os.environ.get(_WHERE):
            raise
        said = " ".join(str(error).split())[:200]
        sentence = f"tellall failed by its own fault ({type(error).__name__}: {said}); nothing is known."
        code = _leave(f"{sentence} {_WHERE}=1 shows where.", _INCONCLUSIVE)
    if code == _INTERRUPTED:
        code = _leave("stopped; nothing was finished.", _INCONCLUSIVE)
    sys.exit(code if isinstance(code, int) else 0)


def _leave(sentence: str, code: int) -> int:
    """The exit code, after the sentence."""
    typer.echo(sentence if sentence.startswith("Usage:") else f"tellall: {sentence}", err=True)
    return code


def _trouble(error: OSError) -> str:
    """What the system said, about which file."""
    if error.filename is not None:
        return f"{error.strerror or error}: {error.filename}"
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left to be written is lost
    return f"standard output cannot be written ({error.strerror or error})."
