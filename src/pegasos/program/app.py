"""The command-line program: finds the commands, and turns errors into a message and an exit code.

Heavy packages are imported inside the commands to keep help and completion fast.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import math
import os
import pkgutil
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import typer

from pegasos import __version__
from pegasos.program import commands, files
from pegasos.program.errors import BadModel, UsageError
from pegasos.program.terminal import console
from pegasos.program.terminal.options import HINTS, Command, expanded, option

#: Exit codes, as `pegasos --help` lists them.
ERROR, USAGE, BAD_DATA, BAD_MODEL, INTERRUPTED = 1, 2, 3, 4, 130

#: The base class of typer's usage errors: defined by click or by typer, depending on the version.
_Unreadable: Any = typer.BadParameter.__mro__[1]

_NO_MEMORY = "not enough memory. Give a smaller --memory, fewer rows, or a machine with more."
_LIMITED = "This shell limits it: `ulimit -v` should be unlimited"
#: Variables that libraries parse as integers on import, with the smallest valid value; prefixes of
#: other variables that configure libraries; and the harmless ones among them.
_WHOLE = {"NUMBA_NUM_THREADS": 1, "POLARS_MAX_THREADS": 1, "SOURCE_DATE_EPOCH": 0}
_LIBRARIES, _HARMLESS = ("NUMBA_", "POLARS_"), {"NUMBA_CACHE_DIR", *_WHOLE}
#: Bytes of address space that suffice for NumPy, SciPy, Numba and Polars with all of their threads,
#: and the smallest number with which they can be imported.
_ADDRESS_SPACE, _LEAST_ADDRESS_SPACE = 4 * 2**30, 2**30

_HELP = """Linear predictors and their kernel versions: Perceptron, Pegasos, SDCA.

\b
Examples:
  pegasos tune my.csv                       find, refit and save a good model
  pegasos train my.csv -m pegasos --kernel gaussian:8 --lam 1e-4 -o my.model
  pegasos evaluate my.model my.csv          its errors, training and test rows separately
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
        bool,
        option(
            None, "Show the version and stop.", "--version", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    console.state.debug = debug


def build(only: str | None = None) -> typer.Typer:
    """Return the program with all commands, or with this one if there is a command of that name."""
    program = typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    program.callback(help=_HELP)(_callback)
    names = [each.name for each in pkgutil.iter_modules(commands.__path__)]
    names = [only] if only in names else names
    found = [importlib.import_module(f"{commands.__name__}.{name}") for name in names]
    for module in sorted(found, key=lambda module: module.PLACE):
        command, name = _guarded(expanded(module.command)), module.__name__.rpartition(".")[2]
        for each in [name, *getattr(module, "ALIASES", ())]:
            program.command(each, cls=Command, hidden=each != name, short_help=module.SHORT)(
                command
            )
    return program


@functools.cache
def _program(only: str | None = None) -> Any:
    """Return the program as a callable, built once: reading signatures takes long."""
    return typer.main.get_command(build(only))


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run a command and end the process with its exit code."""
    _mend_streams()
    warnings.showwarning = _show_warning
    for name in ("SIGTERM", "SIGHUP"):
        # SIGTERM, or a closed terminal, ends the program as Ctrl-C does: finished work is kept.
        _set_signal(name, signal.default_int_handler)
    try:
        code = _flushed(run(arguments))
    except KeyboardInterrupt:  # while it ended
        code = INTERRUPTED
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        _set_signal(name, signal.SIG_IGN)  # a second signal must not interrupt the cleanup
    files.clean_up()
    _leave(code)


def _leave(code: int) -> NoReturn:
    """Run the exit handlers, then exit without finalizers, which would take a third of a second."""
    if code != INTERRUPTED:  # abandoned threads may still be running
        atexit._run_exitfuncs()
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)


def _mend_streams() -> None:
    """Make standard streams writable: escape what they cannot encode, replace closed ones."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open as long as the program
        else:
            with contextlib.suppress(AttributeError, OSError):
                stream.reconfigure(errors="backslashreplace")


def _set_signal(name: str, handler: Any) -> None:
    with contextlib.suppress(
        ValueError, AttributeError
    ):  # not in the main thread; Windows has no SIGHUP
        if signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN:  # as under nohup
            signal.signal(getattr(signal, name), handler)


def _flushed(code: int) -> int:
    """Flush standard output and return the exit code."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _abandon_output()
        return code or _explain(error)
    return code


def run(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code."""
    console.state.debug = console.state.quiet = False
    arguments = sys.argv[1:] if arguments is None else arguments
    console.state.arguments = list(arguments)
    try:
        name = next((each for each in arguments if not each.startswith("-")), None)
        result = _program(name)(arguments or ["--help"], standalone_mode=False, prog_name="pegasos")
    except _Unreadable as error:
        path = "pegasos" if error.ctx is None else error.ctx.command_path
        name = getattr(error, "option_name", "")
        text = f"{error.format_message()}\nTry '{path} --help'."
        if name in HINTS:
            text = f"there is no option {name}: use {HINTS[name]}."
        console.complain(text)
        return USAGE
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except OSError as error:  # help and the version go to standard output, too
        return _explain(error)
    return result if isinstance(result, int) else 0


def _guarded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that turns exceptions into messages and exit codes."""

    @functools.wraps(command)
    def run(**values: Any) -> None:
        try:
            if _address_space() < _LEAST_ADDRESS_SPACE:  # OpenBLAS would try forever
                raise MemoryError
            _check_environment()
            command(**values)
        except (typer.Exit, _Unreadable):
            raise
        except (KeyboardInterrupt, typer.Abort):
            console.complain("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if console.state.debug:
                raise
            raise typer.Exit(_explain(error)) from None

    return run


def _check_environment() -> None:
    """Refuse environment variables that make the import of a library fail."""
    for name, least in _WHOLE.items():
        value = os.environ.get(name, "1")
        if not (value.isascii() and value.isdigit() and int(value[:9]) >= least):
            raise UsageError(
                f"the environment variable {name} is {value!r}; it must be a whole number >= {least}. Unset it, or correct it."
            )


def _odd_variables() -> list[str]:
    """Return environment variables that configure libraries, except the harmless ones."""
    return sorted(name for name in set(os.environ) - _HARMLESS if name.startswith(_LIBRARIES))


def _abandon_output() -> None:
    """Discard unwritten output, so that the interpreter reports no error when it closes."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _explain(error: Exception) -> int:
    """Print the message of an error and return the exit code."""
    try:
        from pegasos.program.tables.dataset import BadData
    except MemoryError:
        console.complain(_NO_MEMORY)
        return ERROR
    if isinstance(error, BrokenPipeError):  # the reader of our output has gone, for example `head`
        _abandon_output()
        return ERROR
    text = str(error)
    if isinstance(error, MemoryError):
        text = f"{_NO_MEMORY} {_LIMITED}." if _address_space() < _ADDRESS_SPACE else _NO_MEMORY
    elif isinstance(error, TimeoutError):
        text = _in_options(error)
    elif isinstance(error, OSError):
        text = _system_words(error)
    elif isinstance(error, ModuleNotFoundError):
        text = f"the package {error.name!r} is needed for this: pip install '.[all]' in a clone"
    elif not isinstance(error, ValueError) and _address_space() < _ADDRESS_SPACE:
        text = f"{_NO_MEMORY} {_LIMITED} ({type(error).__name__}: {error})."
    elif not isinstance(error, ValueError) and (suspects := _odd_variables()):
        what = f"{type(error).__name__}: {error}"
        text = f"a library failed ({what}), and these environment variables change libraries: {', '.join(suspects)}. Unset them."
    elif not isinstance(error, ValueError):
        text = f"unexpected {type(error).__name__}: {error}. Please report it; --debug shows the traceback."
    console.complain(text)
    codes = {UsageError: USAGE, BadData: BAD_DATA, BadModel: BAD_MODEL}
    return next((code for kind, code in codes.items() if isinstance(error, kind)), ERROR)


def _address_space() -> float:
    """Return the limit of the address space in bytes; under a low one, libraries fail on import."""
    try:
        import resource
    except ImportError:  # Windows
        return math.inf
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return math.inf if limit == resource.RLIM_INFINITY else limit


def _system_words(error: OSError) -> str:
    """Return the message of a system error, with advice for known ones."""
    if not files.is_full(error):
        from pegasos.search.store import StoreFailure

        if isinstance(error, StoreFailure):
            return str(error)
        return f"{error.strerror or error}{'' if error.filename is None else f': {error.filename}'}"
    if isinstance(error, files.NoSpace) and error.temporary:
        return f"no space left for temporary files in {error.filename}: make room, or set TMPDIR to a folder on another disk."
    if error.filename is None:
        return "no space left where the results are written; they are incomplete. Make room, and repeat the same command."
    if isinstance(error, files.NoSpace) and error.resumed is not None:
        kept = f"finished settings are kept in {error.resumed}. Make room and repeat the same command, which resumes there."
    else:
        kept = "the incomplete file was removed; an older one is unchanged. Make room, or choose another disk, and try again."
    return f"no space left for {error.filename}: {kept}"


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    console.say(f"warning: {_in_options(message) if isinstance(message, Warning) else message}")


def _in_options(problem: Exception) -> str:
    """Return the message of a library error or warning, with command-line options as advice."""
    from pegasos.learners.convergence import (
        CellsNotConverged,
        NotConverged,
    )  # heavy, and loaded if they raised or warned
    from pegasos.learners.scaling import BadlyScaled
    from pegasos.search.decisions import ScaleWarning
    from pegasos.search.sweep import OutOfTime

    if isinstance(problem, NotConverged):
        precision = ", or give the data as float64" if problem.single else ""
        return (
            f"{problem.fact} (--tol {problem.tolerance:g}) for {problem.late} of {problem.columns} predictors. "
            f"Raise --epochs or --lam, scale the features, or accept a larger --tol{precision}."
        )
    if isinstance(problem, BadlyScaled):
        return f"{problem.fact}: only the large columns influence it. Use --scale standardize, or -m sdca."
    if isinstance(problem, ScaleWarning):
        return f"{problem.fact}; try -m sdca-logistic, or --class-weight balanced."
    if isinstance(problem, CellsNotConverged):
        return f"{problem.fact} (see gap in results.csv): raise --epochs or --tol."
    if isinstance(problem, OutOfTime):
        return f"no setting was complete after {problem.seconds:g} seconds: raise --max-time, or try fewer settings."
    return str(problem)
