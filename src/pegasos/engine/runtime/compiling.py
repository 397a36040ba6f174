"""Compilation of the inner loops with Numba, and a safe cache of the compiled code.

Numba's own cache watches only the file of the outer function, needs a writable folder beside the
source or a home folder, and fails without one. Here the folder is named by a hash of the engine's
sources, and is found (or made) for any installation.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import logging
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])

_log = logging.getLogger("pegasos")
_announced = False
_known: set[tuple[Any, ...]] = set()


def _source_hash() -> str:
    digest = hashlib.sha256(f"{numba.__version__} {sys.version_info[:2]}".encode())
    for source in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _user_cache() -> Path | None:
    """Return the user's cache folder by the platform's custom, or None without a home."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) if base and not base.startswith("~") else None


def _ours_alone(folder: Path) -> bool:
    """Tell whether only this user can write to the folder (a cache entry is code)."""
    if not hasattr(os, "getuid"):
        return True
    info = folder.lstat()
    others_write = info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(info.st_mode) and info.st_uid == os.getuid() and not others_write


def _usable(base: Path, *names: str) -> Path | None:
    """Return the folder base/names[0]/..., made if need be, if only this user can write there."""
    folder = base
    try:
        base.parent.mkdir(parents=True, exist_ok=True)
        for name in ("", *names):
            folder = folder / name
            folder.mkdir(exist_ok=True, mode=0o700)
            if (name or base.parent == Path(tempfile.gettempdir())) and not _ours_alone(folder):
                return None
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None


@cache
def cache_folder() -> Path:
    """Return the folder of compiled code for exactly these sources."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    owner = os.getuid() if hasattr(os, "getuid") else "user"
    for base in (
        Path(given) if given else None,
        _user_cache(),
        Path(tempfile.gettempdir()) / f"pegasos-cache-{owner}",
    ):
        folder = None if base is None else _usable(base, "pegasos", f"compiled-{_source_hash()}")
        if folder is not None:
            return folder
    # Nothing lasts: this process compiles for itself.
    own = tempfile.mkdtemp(prefix="pegasos-compiled-")
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return Path(own)


def compiled(function: Function, any_order: bool = False) -> Function:
    """`numba.njit` without the GIL, with IEEE semantics, cached in `cache_folder()`.

    `any_order` lets a sum be taken in any order, as BLAS does, so that it runs in vector
    registers. Unlike `fastmath=True` this assumes nothing about NaN, infinities or zeros.
    """
    before = numba.config.CACHE_DIR
    # Read when the decorator runs, so that other packages' functions are not moved.
    numba.config.CACHE_DIR = str(cache_folder())
    try:
        fastmath = {"reassoc", "contract"} if any_order else False
        return numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=fastmath)(function)
    finally:
        numba.config.CACHE_DIR = before


@intrinsic
def prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of array[index] (1-D) in compiled code, without waiting."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        where = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        # To read, into all levels of cache, data.
        builder.call(function, [where, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@contextlib.contextmanager
def announced(*what: Any) -> Iterator[None]:
    """Log once that code for `what` (a loop and dtypes) is compiled now.

    Without a handler the message goes to stderr; a higher level of the logger "pegasos" hides it.
    """
    global _announced
    # Looking for the file, or even writing its name, takes longer than many a walk.
    if what in _known:
        yield
        return
    marker = cache_folder() / f"{'-'.join(map(str, what))}.ready"
    fresh = not marker.exists()
    if fresh and not _announced:
        _announced = True
        _log.warning("pegasos: compiling, once per machine: a few seconds ...")
    yield
    _known.add(what)
    if fresh:
        with contextlib.suppress(OSError):
            marker.touch()
