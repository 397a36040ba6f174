"""The command-line program: finds the commands, runs one, and ends with an exit code.

Heavy packages are imported inside the commands to keep help and completion fast.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import inspect
import os
import signal
import sys
import warnings
from typing import Annotated, Any, NoReturn

import typer

from pegasos import __version__
from pegasos.program import commands, files
from pegasos.program.commands import ALIASES, COMMANDS
from pegasos.program.terminal import console, failures
from pegasos.program.terminal.options import HINTS, Command, expanded, option

#: The base class of typer's usage errors: defined by click or by typer, depending on the version.
_UsageError: Any = typer.BadParameter.__mro__[1]

#: Heading of the examples in a docstring.
_EXAMPLES = "Examples\n--------\n"
_HELP = """Train, tune and explain linear and kernel classifiers: Perceptron, Pegasos, SDCA.

\b
Examples:
  pegasos tune my.csv                       find and save a good model
  pegasos train my.csv -m pegasos --kernel gaussian:8 --lam 1e-4 -o my.model
  pegasos evaluate my.model my.csv          its error on training and test rows
  pegasos predict my.model new.csv -o labels.csv

\b
DATA is a file (CSV, Parquet, svmlight, HDF5, npz; - for standard input) or a named set:
  digits, quadric, moons, circles, xor, blobs, usps, binary10

\b
Exit codes: 0 success, 1 error, 2 wrong usage, 3 bad data, 4 bad model file, 130 interrupted.
"""


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"pegasos {__version__}")
        raise typer.Exit


_VERSION = option(None, "Show the version.", "--version", is_eager=True, callback=_print_version)


def _callback(
    debug: Annotated[bool, option(None, "Show the traceback of an error.", "--debug")] = False,
    version: Annotated[bool, _VERSION] = False,
) -> None:
    console.state.debug = debug


def build(only: str | None = None) -> typer.Typer:
    """Return the program with all commands, or with the named one if it exists."""
    program = typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    program.callback(help=_HELP)(_callback)
    every = {**{name: name for name in COMMANDS}, **ALIASES}
    for name, target in every.items() if only not in every else [(only, every[only])]:
        module = importlib.import_module(f"{commands.__name__}.{target}")
        # \b keeps the lines of a paragraph.
        text = (inspect.getdoc(module.command) or "").replace(_EXAMPLES, "\b\nExamples:\n")
        short = text.partition("\n")[0]
        add = program.command(
            name, cls=Command, help=text, short_help=short, hidden=name in ALIASES
        )
        add(expanded(module.command, functools.partial(_print_result, module)))
    return program


@functools.cache
def _program(only: str | None = None) -> Any:
    """Return the program as a callable, built once: reading signatures takes long."""
    return typer.main.get_command(build(only))


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run a command and end the process with its exit code."""
    _mend_streams()
    warnings.showwarning = failures.show_warning
    for name in ("SIGTERM", "SIGHUP"):
        # SIGTERM, or a closed terminal, ends the program as Ctrl-C does: finished work is kept.
        _set_signal(name, signal.default_int_handler)
    code = failures.INTERRUPTED
    try:
        code = run(arguments)
        sys.stdout.flush()
    except OSError as error:
        console.abandon_output()
        code = code or failures.explain(error)
    except KeyboardInterrupt:  # while it ended
        code = failures.INTERRUPTED
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        _set_signal(name, signal.SIG_IGN)  # a second signal must not interrupt the cleanup
    files.clean_up()
    if code != failures.INTERRUPTED:  # abandoned threads may still be running
        atexit._run_exitfuncs()
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)  # without finalizers, which would take a third of a second


def _mend_streams() -> None:
    """Make standard streams writable: escape what they cannot encode, replace closed ones."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # stays open as long as the program
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        else:
            with contextlib.suppress(AttributeError, OSError):
                stream.reconfigure(errors="backslashreplace")


def _set_signal(name: str, handler: Any) -> None:
    # ValueError outside of the main thread; Windows has no SIGHUP.
    with contextlib.suppress(ValueError, AttributeError):
        if signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN:  # as under nohup
            signal.signal(getattr(signal, name), handler)


def run(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code; exceptions become messages and codes."""
    arguments = sys.argv[1:] if arguments is None else arguments
    console.state = console.State(arguments=list(arguments))
    try:
        name = next((each for each in arguments if not each.startswith("-")), None)
        result = _program(name)(arguments or ["--help"], standalone_mode=False, prog_name="pegasos")
    except _UsageError as error:
        console.complain(_usage_message(error))
        return failures.USAGE
    except (KeyboardInterrupt, typer.Abort):
        result = failures.INTERRUPTED
    except Exception as error:
        if console.state.debug:
            raise
        return failures.explain(error)
    if result == failures.INTERRUPTED:  # typer returns this code for Ctrl-C
        console.complain("interrupted")
    return result if isinstance(result, int) else 0


def _usage_message(error: Any) -> str:
    name = getattr(error, "option_name", "")
    if name in HINTS:
        return f"there is no option {name}: use {HINTS[name]}."
    path = "pegasos" if error.ctx is None else error.ctx.command_path
    return f"{error.format_message()}\nTry '{path} --help'."


def _print_result(module: Any, found: Any) -> None:
    """Print what a command returns as text or as JSON."""
    if found is not None and console.state.as_json:
        from pegasos.program.records.codec import to_json

        print(console.as_json(getattr(module, "json_of", to_json)(found), indent=2))
    elif found is not None:
        module.show(found)
