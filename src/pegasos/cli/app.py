"""The program itself: it finds the commands, and turns whatever goes wrong into one line and an exit code.

Heavy packages are imported inside the commands, so that help and completion are quick.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pkgutil
import signal
import sys
import warnings
from typing import Annotated, Any, NoReturn

import click
import typer

from pegasos import __version__
from pegasos.cli import commands, console
from pegasos.cli.options import expanded

#: Exit codes, as `pegasos --help` tells them.
ERROR, USAGE, BAD_DATA, BAD_MODEL, INTERRUPTED = 1, 2, 3, 4, 130

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
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    console.state.debug = debug


def build() -> typer.Typer:
    """The program with all commands of the folder."""
    program = typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    program.callback(help=_HELP)(_callback)
    found = [importlib.import_module(f"{commands.__name__}.{each.name}") for each in pkgutil.iter_modules(commands.__path__)]
    for module in sorted(found, key=lambda module: module.PLACE):
        name = module.__name__.rpartition(".")[2]
        for number, each in enumerate([name, *getattr(module, "ALIASES", ())]):
            program.command(each, hidden=number > 0)(expanded(module.command))
    return program


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run a command and end the process with its exit code."""
    warnings.showwarning = _show_warning
    _let_terminate()
    code = _guarded(arguments)
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
    os._exit(code) if code == INTERRUPTED else sys.exit(code)


def _let_terminate() -> None:
    """A polite kill ends the program as Ctrl-C does: what is done is kept."""

    def stop(signum: int, frame: Any) -> None:
        raise KeyboardInterrupt

    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, stop)


def _guarded(arguments: list[str] | None) -> int:
    console.state.debug = False
    try:
        result = build()(arguments, standalone_mode=False, prog_name="pegasos")
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        console.complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone, for example `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ERROR
    except Exception as error:
        if console.state.debug:
            raise
        return _explain(error)


def _explain(error: Exception) -> int:
    from pegasos.data.dataset import BadData

    if isinstance(error, BadData):
        console.complain(str(error))
        return BAD_DATA
    if type(error).__name__ == "BadModel":  # its home is heavy to import, and it is loaded if one was raised
        console.complain(str(error))
        return BAD_MODEL
    if isinstance(error, MemoryError):
        console.complain("not enough memory. Give a smaller --memory, fewer rows, or a machine with more.")
    elif isinstance(error, OSError):
        console.complain(f"{error.strerror or error}{'' if error.filename is None else f': {error.filename}'}")
    elif isinstance(error, ModuleNotFoundError):
        console.complain(f"the package {error.name!r} is needed for this: pip install 'pegasos[all]'")
    elif isinstance(error, (ValueError, TimeoutError)):
        console.complain(str(error))
    else:
        console.complain(f"unexpected {type(error).__name__}: {error}. Please report it; --debug shows where it was.")
    return ERROR


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    console.say(f"warning: {message}")
