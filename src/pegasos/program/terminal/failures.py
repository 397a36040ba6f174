"""Messages and exit codes of errors and warnings, with command-line options as advice."""

from __future__ import annotations

import math
import os
from typing import Any

from pegasos.program import files
from pegasos.program.errors import BadData, BadModel, UsageError
from pegasos.program.terminal import console

#: Exit codes, as `pegasos --help` lists them.
ERROR, USAGE, BAD_DATA, BAD_MODEL, INTERRUPTED = 1, 2, 3, 4, 130

_NO_MEMORY = "not enough memory. Give a smaller --memory, fewer rows, or a machine with more."
_LIMITED = "This shell limits it: `ulimit -v` should be unlimited"
#: Variables that libraries parse as integers on import, with the smallest valid value; prefixes of
#: other variables that configure libraries; and the harmless ones among them.
_WHOLE = {"NUMBA_NUM_THREADS": 1, "POLARS_MAX_THREADS": 1, "SOURCE_DATE_EPOCH": 0}
_LIBRARIES, _HARMLESS = ("NUMBA_", "POLARS_"), {"NUMBA_CACHE_DIR", *_WHOLE}
#: Bytes of address space that suffice for NumPy, SciPy, Numba and Polars with all of their threads,
#: and the smallest number with which they can be imported.
_ADDRESS_SPACE, _LEAST_ADDRESS_SPACE = 4 * 2**30, 2**30


def check_environment() -> None:
    """Refuse limits and environment variables with which libraries cannot be imported."""
    if _address_space() < _LEAST_ADDRESS_SPACE:  # OpenBLAS would try forever
        raise MemoryError
    for name, least in _WHOLE.items():
        value = os.environ.get(name, "1")
        if not (value.isascii() and value.isdigit() and int(value[:9]) >= least):
            raise UsageError(
                f"the environment variable {name} is {value!r}; it must be a whole number >= "
                f"{least}. Unset it, or correct it."
            )


def explain(error: Exception) -> int:
    """Print the message of an error and return the exit code."""
    if isinstance(error, BrokenPipeError):  # the reader of our output has gone, for example `head`
        console.abandon_output()
        return ERROR
    console.complain(_message(error))
    codes = {UsageError: USAGE, BadData: BAD_DATA, BadModel: BAD_MODEL}
    return next((code for kind, code in codes.items() if isinstance(error, kind)), ERROR)


def _message(error: Exception) -> str:
    text, limited = f"{type(error).__name__}: {error}", _address_space() < _ADDRESS_SPACE
    if isinstance(error, MemoryError):
        return f"{_NO_MEMORY} {_LIMITED}." if limited else _NO_MEMORY
    if isinstance(error, TimeoutError):
        return in_options(error)
    if isinstance(error, OSError):
        return _system_message(error)
    if isinstance(error, ModuleNotFoundError):
        return f"the package {error.name!r} is needed for this: pip install '.[all]' in a clone"
    if isinstance(error, ValueError):
        return str(error)
    if limited:
        return f"{_NO_MEMORY} {_LIMITED} ({text})."
    suspects = {name for name in os.environ if name.startswith(_LIBRARIES)} - _HARMLESS
    if suspects:
        return (
            f"a library failed ({text}), and these environment variables change libraries: "
            f"{', '.join(sorted(suspects))}. Unset them."
        )
    return f"unexpected {text}. Please report it; --debug shows the traceback."


def _address_space() -> float:
    """Return the limit of the address space in bytes; under a low one, libraries fail on import."""
    try:
        import resource
    except ImportError:  # Windows
        return math.inf
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return math.inf if limit == resource.RLIM_INFINITY else limit


def _system_message(error: OSError) -> str:
    """Return the message of a system error, with advice for known ones."""
    if not files.is_full(error):
        from pegasos.search.store import StoreFailure

        if isinstance(error, StoreFailure):
            return str(error)
        where = "" if error.filename is None else f": {error.filename}"
        return f"{error.strerror or error}{where}"
    if error.filename is None:
        return (
            "no space left where the results are written; they are incomplete. Make room, and "
            "repeat the same command."
        )
    if isinstance(error, files.NoSpace) and error.temporary:
        return (
            f"no space left for temporary files in {error.filename}: make room, or set TMPDIR to "
            "a folder on another disk."
        )
    return (
        f"no space left for {error.filename}: the incomplete file was removed, an older one is "
        "unchanged, and finished settings are kept. Make room and repeat the same command."
    )


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning; a replacement of `warnings.showwarning`."""
    console.say(f"warning: {in_options(message) if isinstance(message, Warning) else message}")


def in_options(problem: Exception) -> str:
    """Return the message of a library error or warning, with command-line options as advice."""
    # Heavy modules, which are loaded already if they raised or warned.
    from pegasos.learners.parameters import NotConverged
    from pegasos.search.decisions import ScaleWarning
    from pegasos.search.sweep import OutOfTime

    if isinstance(problem, NotConverged):
        precision = ", or give the data as float64" if problem.single else ""
        return (
            f"{problem.fact} Raise --epochs or --lam, scale the features, or accept a larger "
            f"--tol{precision}."
        )
    if isinstance(problem, ScaleWarning):
        return f"{problem.fact}; try -m sdca-logistic, or --class-weight balanced."
    if isinstance(problem, OutOfTime):
        return (
            f"no setting was complete after {problem.seconds:g} seconds: raise --max-time, or try "
            "fewer settings."
        )
    return str(problem)
