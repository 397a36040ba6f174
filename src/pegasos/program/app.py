"""The program itself: it finds the commands, and turns whatever goes wrong into one line and an exit code.

Heavy packages are imported inside the commands, so that help and completion are quick.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import pkgutil
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import typer

from pegasos import __version__
from pegasos.program import commands
from pegasos.program.errors import BadModel, UsageError
from pegasos.program.terminal import console
from pegasos.program.terminal.options import expanded, option

#: Exit codes, as `pegasos --help` tells them.
ERROR, USAGE, BAD_DATA, BAD_MODEL, INTERRUPTED = 1, 2, 3, 4, 130

#: What typer raises for a call that it cannot read: in some versions a class of click, in others one of its own.
_Unreadable: Any = typer.BadParameter.__mro__[1]

_HELP = """Linear predictors and their kernel versions: Perceptron, Pegasos, SDCA.

\b
Examples:
  pegasos tune my.csv                       find, refit and save a good model
  pegasos train my.csv -m pegasos --kernel gaussian:8 --lam 1e-4 -o my.model
  pegasos run my.model my.csv               its errors, training and test rows apart
  pegasos predict my.model new.csv -o labels.csv

\b
DATA is a file (CSV, Parquet, svmlight, HDF5, npz; - for standard input) or a named set:
  digits, quadric, moons, circles, xor, blobs, usps, binary10

\b
Exit codes: 0 fine, 1 error, 2 wrong usage, 3 bad data, 4 bad model file, 130 interrupted.
"""


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"pegasos {__version__}")
        raise typer.Exit


def _callback(
    debug: Annotated[bool, option(None, "Show the traceback of an error.", "--debug")] = False,
    version: Annotated[
        bool, option(None, "Show the version and stop.", "--version", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    console.state.debug = debug


def build() -> typer.Typer:
    program = typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    program.callback(help=_HELP)(_callback)
    found = [importlib.import_module(f"{commands.__name__}.{each.name}") for each in pkgutil.iter_modules(commands.__path__)]
    for module in sorted(found, key=lambda module: module.PLACE):
        command, name = _guarded(expanded(module.command)), module.__name__.rpartition(".")[2]
        for each in [name, *getattr(module, "ALIASES", ())]:
            program.command(each, hidden=each != name, short_help=getattr(module, "SHORT", None))(command)
    return program


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run a command and end the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr] # a λ must not be an error anywhere
    warnings.showwarning = _show_warning
    with contextlib.suppress(ValueError):  # not in the main thread
        # A polite kill ends the program as Ctrl-C does: what is done is kept.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    code = run(arguments)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _abandon_output()
        code = code or ERROR
    if code == INTERRUPTED:
        os._exit(code)  # threads may still be at work on what nobody waits for
    sys.exit(code)


def run(arguments: list[str] | None = None) -> int:
    """Run a command and answer its exit code."""
    console.state.debug = console.state.quiet = False
    arguments = sys.argv[1:] if arguments is None else arguments
    console.state.arguments = list(arguments)
    try:
        result = build()(arguments or ["--help"], standalone_mode=False, prog_name="pegasos")
    except _Unreadable as error:
        path = "pegasos" if error.ctx is None else error.ctx.command_path
        console.complain(f"{error.format_message()}\nTry '{path} --help'.")
        return USAGE
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    return result if isinstance(result, int) else 0


def _guarded(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command, ending with its exit code whatever happens in it."""

    @functools.wraps(command)
    def run(**values: Any) -> None:
        try:
            command(**values)
        except (typer.Exit, _Unreadable):
            raise
        except (KeyboardInterrupt, typer.Abort):
            console.complain("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # the reader of our output has gone, for example `head`
            _abandon_output()
            raise typer.Exit(ERROR) from None
        except Exception as error:
            if console.state.debug:
                raise
            raise typer.Exit(_explain(error)) from None

    return run


def _abandon_output() -> None:
    """What is still waiting to be written goes nowhere, without a complaint at the end of the process."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _explain(error: Exception) -> int:
    """Say what went wrong; answers the exit code."""
    from pegasos.program.tables.dataset import BadData

    text = str(error)
    if isinstance(error, MemoryError):
        text = "not enough memory. Give a smaller --memory, fewer rows, or a machine with more."
    elif isinstance(error, TimeoutError):
        text = _in_options(error)
    elif isinstance(error, OSError):
        text = f"{error.strerror or error}{'' if error.filename is None else f': {error.filename}'}"
    elif isinstance(error, ModuleNotFoundError):
        text = f"the package {error.name!r} is needed for this: pip install '.[all]' in a clone"
    elif not isinstance(error, ValueError):
        text = f"unexpected {type(error).__name__}: {error}. Please report it; --debug shows where it was."
    console.complain(text)
    codes = {UsageError: USAGE, BadData: BAD_DATA, BadModel: BAD_MODEL}
    return next((code for kind, code in codes.items() if isinstance(error, kind)), ERROR)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    console.say(f"warning: {_in_options(message) if isinstance(message, Warning) else message}")


def _in_options(problem: Exception) -> str:
    """An error or warning of the library in the words of the command line: what happened, and which option helps."""
    from pegasos.learners.convergence import CellsNotConverged, NotConverged  # heavy, and loaded if they raised or warned
    from pegasos.search.sweep import OutOfTime

    if isinstance(problem, NotConverged):
        precision = ", or give the data as float64" if problem.single else ""
        return (
            f"{problem.fact} (--tol {problem.tolerance:g}) for {problem.late} of {problem.columns} predictors. "
            f"Raise --epochs or --lam, scale the features, or accept a larger --tol{precision}."
        )
    if isinstance(problem, CellsNotConverged):
        return f"{problem.fact} (see gap in results.csv): raise --epochs or --tol."
    if isinstance(problem, OutOfTime):
        return f"no setting was complete after {problem.seconds:g} seconds: raise --max-time, or try fewer settings."
    return str(problem)
