"""Test installations: cost of imports, location of compiled code, and compiling once."""

from __future__ import annotations

import ctypes
import json
import os
import pwd
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

import pegasos

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="folders and rights are those of Linux"
)

PACKAGE = Path(pegasos.__file__).parent
MESSAGE = "pegasos: compiling, once per machine: a few seconds ..."
#: A path that nobody can make, whatever their rights.
NOWHERE = "/dev/null/nowhere"

FIT = """
import json, sys
import numpy as np
from pegasos import SDCA, Pegasos, Perceptron
from pegasos.engine.runtime.compiling import cache_folder

random = np.random.default_rng(0)
X = random.normal(size=(40, 3))
y = (X[:, 0] > 0).astype(int)
scores = []
for what in sys.argv[1:]:
    name, kernel, dtype = what.split(",")
    learner = {"pegasos": Pegasos(n_iter=50), "perceptron": Perceptron(epochs=2), "sdca": SDCA(tol=0.1)}[name]
    learner.set_params(kernel=kernel or None, random_state=0).fit(X.astype(dtype), y)
    scores.append(float(np.abs(learner.decision_function(X[:3].astype(dtype))).sum()))

from numba.core.dispatcher import Dispatcher

found = {}
for module in [module for name, module in sys.modules.items() if name.split(".")[0] == "pegasos"]:
    for thing in vars(module).values():
        if isinstance(thing, Dispatcher):
            found[f"{thing.py_func.__module__}.{thing.py_func.__name__}"] = thing
print(json.dumps({
    "folder": str(cache_folder()),
    "scores": scores,
    "misses": {name: sum(thing.stats.cache_misses.values()) for name, thing in found.items()},
    "hits": {name: sum(thing.stats.cache_hits.values()) for name, thing in found.items()},
}))
"""
FOLDER = "from pegasos.engine.runtime.compiling import cache_folder; print(cache_folder())"
KERNEL = ["pegasos,gaussian,float64"]
#: Both loops, all learners, both dtypes.
ALL = [
    f"{name},{kernel},{dtype}"
    for dtype in ("float64", "float32")
    for kernel in ("", "gaussian")
    for name in ("pegasos", "perceptron", "sdca")
]


def without_override() -> None:
    """Drop root's CAP_DAC_OVERRIDE, so that read-only folders are read-only."""
    if os.getuid() == 0:
        ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)


def run(
    code: str,
    *arguments: str,
    site: Path = PACKAGE.parent,
    quick: bool = True,
    **variables: str | None,
) -> Any:
    """Run a fresh process; `quick` lowers Numba's optimization, which does not change the cache."""
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "TMPDIR")
        and not name.startswith(("PYTEST", "COV", "NUMBA"))
    }
    env |= {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"} | (
        {"NUMBA_OPT": "1"} if quick else {}
    )
    for name, value in variables.items():
        env.pop(name, None)
        if value is not None:
            env[name] = value
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=env,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        preexec_fn=without_override,
    )


def answer(process: Any) -> Any:
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def folder_of(engine: Path = PACKAGE / "engine", **variables: str | None) -> Path:
    """Return the cache folder of a process with these variables."""
    spec = spec_from_file_location("another_compiling", engine / "runtime" / "compiling.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "TMPDIR", *variables):
            patch.delenv(name, raising=False)
        for name, value in variables.items():
            if value is not None:
                patch.setenv(name, value)
        patch.setattr(tempfile, "tempdir", None)  # found anew
        return Path(module.cache_folder())


def folder_of_a_process(**variables: str | None) -> Path:
    process = run(FOLDER, **variables)
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    return Path(process.stdout.strip())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def private(path: Path) -> str:
    path.mkdir(mode=0o700, parents=True)
    return str(path)


# imports


def test_importing_the_package_imports_nothing_large() -> None:
    code = "import sys, pegasos; pegasos.__version__, dir(pegasos); print(*sorted(m.split('.')[0] for m in sys.modules))"
    process = run(code)
    assert process.returncode == 0, process.stderr
    loaded = set(process.stdout.split())
    assert "pegasos" in loaded
    assert not loaded & {"sklearn", "numba", "numpy", "scipy", "llvmlite", "joblib"}


def test_every_public_name_can_be_imported() -> None:
    code = "import pegasos; print(*[getattr(pegasos, name).__name__.rpartition('.')[2] for name in pegasos.__all__])"
    process = run(code)
    assert process.stdout.split() == pegasos.__all__, process.stderr
    assert {"Pegasos", "Perceptron", "SDCA"} <= set(pegasos.__all__) <= set(dir(pegasos))
    with pytest.raises(AttributeError, match="module 'pegasos' has no attribute 'Pegasus'"):
        _ = pegasos.Pegasus


def test_dir_shows_the_public_names_alone() -> None:
    assert [name for name in dir(pegasos) if not name.startswith("__")] == sorted(pegasos.__all__)


def test_what_is_declared_is_imported() -> None:
    """Every declared dependency is imported somewhere."""
    project = tomllib.loads(
        (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    )["project"]
    extras = project["optional-dependencies"]
    declared = [
        *project["dependencies"],
        *extras["app"],
        *extras["hdf5"],
        *extras["dask"],
        *extras["onnx"],
        *extras["plot"],
    ]
    names = {re.split(r"[<>=\[]", each)[0] for each in declared}
    modules = {"scikit-learn": "sklearn", "vl-convert-python": "vl_convert"}
    sources = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    unused = [
        name
        for name in names
        if not re.search(rf"^\s*(import|from) {modules.get(name, name)}\b", sources, re.MULTILINE)
    ]
    assert unused == []
    assert set(extras) == {"app", "hdf5", "dask", "onnx", "plot", "all", "bench", "docs", "dev"}


def test_importing_the_learners_prints_and_compiles_nothing(tmp_path: Path) -> None:
    process = run("import pegasos.learners", NUMBA_CACHE_DIR=private(tmp_path / "cache"))
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")
    assert not list((tmp_path / "cache").rglob("*.nb?"))


# compiled once


def check_compiled_once(cache: str, what: list[str], quick: bool) -> None:
    first = run(FIT, *what, quick=quick, NUMBA_CACHE_DIR=cache)
    before = answer(first)
    assert first.stderr.splitlines() == [MESSAGE], "said once, and nothing else"
    assert Path(before["folder"]).parent.parent == Path(cache)
    assert mode(Path(before["folder"])) == 0o700
    assert sum(before["misses"].values()) > 0
    second = run(FIT, *what, quick=quick, NUMBA_CACHE_DIR=cache)
    after = answer(second)
    assert second.stderr == ""
    assert after["folder"] == before["folder"]
    assert after["misses"] == dict.fromkeys(after["misses"], 0), "nothing is compiled again"
    assert after["hits"]["pegasos.engine.walk.loops.walk_block"] >= 1
    assert after["scores"] == before["scores"], "the same machine code gives the same bits"


@pytest.mark.slow
def test_only_the_first_process_compiles(tmp_path: Path) -> None:
    check_compiled_once(private(tmp_path / "cache"), KERNEL, quick=True)


@pytest.mark.slow
def test_all_learners_are_compiled_once(tmp_path: Path) -> None:
    check_compiled_once(private(tmp_path / "cache"), ALL, quick=False)


@pytest.mark.slow
def test_no_option_compiles_once_more(tmp_path: Path) -> None:
    """Three fits compile all functions that other options need."""
    code = """
import numpy as np, sys
from pegasos import Pegasos, Perceptron, SDCA
from pegasos.engine.walk.loops import walk_block, walk_rows
from pegasos.engine.rows.sources import add_lines
X = np.random.default_rng(0).normal(size=(300, 3))
y = np.arange(300) % 2
def sizes():
    return [len(loop.signatures) for loop in (walk_block, walk_rows, add_lines)]
for kernel in (None, "gaussian"):
    Pegasos(kernel=kernel, n_iter=300, random_state=0).fit(X, y)
    Pegasos(kernel=kernel, n_iter=300, projection=True, random_state=0).fit(X, y)
    SDCA(kernel=kernel, tol=0.5, finish=False).fit(X, y)
before = sizes()
for kernel in (None, "gaussian"):
    for options in ({"batch_size": 256}, {"batch_size": 300}, {"projection": True}, {"average": False}, {"loss": "logistic"},
                    {"draws": "independent"}, {"fit_intercept": True}, {"batch_size": 256, "projection": True}):
        Pegasos(kernel=kernel, n_iter=3, random_state=0, **options).fit(X, y, np.ones(300))
    Perceptron(kernel=kernel, epochs=2).fit(X, y)
    SDCA(kernel=kernel, tol=0.5).fit(X, y)
frozen = X.copy(); frozen.flags.writeable = False
Pegasos(n_iter=3).fit(frozen, y)
Pegasos(n_iter=3).fit(X, np.arange(300) % 40)
Pegasos(kernel="precomputed", n_iter=3).fit(X @ X.T, y)
print(before, sizes())
"""
    process = run(code, NUMBA_CACHE_DIR=private(tmp_path / "cache"))
    assert process.returncode == 0, process.stderr
    before, after = json.loads("[" + process.stdout.strip().replace("] [", "], [") + "]")
    assert after == before == [1, 1, 1]


@pytest.mark.slow
def test_two_first_processes_at_once(tmp_path: Path) -> None:
    """Both may compile, neither fails, and the cache is valid."""
    cache = private(tmp_path / "cache")
    env = {
        **os.environ,
        "NUMBA_CACHE_DIR": cache,
        "NUMBA_OPT": "1",
        "PYTHONPATH": str(PACKAGE.parent),
    }
    command = [sys.executable, "-c", FIT, *KERNEL]
    pair = [
        subprocess.Popen(
            command, env=env, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    results = [process.communicate(timeout=300) for process in pair]
    assert [process.returncode for process in pair] == [0, 0], results
    third = answer(run(FIT, *KERNEL, NUMBA_CACHE_DIR=cache))
    assert third["scores"] == json.loads(results[0][0])["scores"]


# where compiled code is kept


def test_a_read_only_package_without_a_home(tmp_path: Path) -> None:
    """The cache goes to the temporary folder, for this user only."""
    with read_only_package(tmp_path) as variables:
        process = run("import pegasos.learners;" + FOLDER, **variables)
    assert process.returncode == 0, process.stderr
    folder = Path(process.stdout.strip())
    assert folder.parent == tmp_path / "temporary" / f"pegasos-cache-{os.getuid()}" / "pegasos"
    assert mode(folder) == 0o700


@pytest.mark.slow
def test_a_read_only_package_without_a_home_compiles_once(tmp_path: Path) -> None:
    with read_only_package(tmp_path) as variables:
        before = sorted(variables["site"].rglob("*"))
        first = run(FIT, *KERNEL, **variables)
        result = answer(first)
        assert first.stderr.splitlines() == [MESSAGE]
        folder = Path(result["folder"])
        assert folder.is_relative_to(tmp_path / "temporary")
        assert folder.stat().st_uid == os.getuid()
        assert list(folder.rglob("*.nbc")), "compiled code lies there"
        second = run(FIT, *KERNEL, **variables)
        assert sum(answer(second)["misses"].values()) == 0
        assert second.stderr == ""
        assert sorted(variables["site"].rglob("*")) == before, (
            "nothing was written beside the source"
        )


@contextmanager
def read_only_package(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Return a copy of the package without write permission, and an environment without a home."""
    site, temporary = tmp_path / "site", tmp_path / "temporary"
    shutil.copytree(PACKAGE, site / "pegasos", ignore=shutil.ignore_patterns("__pycache__"))
    temporary.mkdir()
    folders = [site, *(path for path in site.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o555)
    variables: dict[str, Any] = {
        "site": site,
        "HOME": NOWHERE,
        "XDG_CACHE_HOME": None,
        "NUMBA_CACHE_DIR": None,
        "TMPDIR": str(temporary),
    }
    try:
        probe = run(
            "import pathlib, pegasos; (pathlib.Path(pegasos.__file__).parent / 'probe').touch()",
            **variables,
        )
        if probe.returncode == 0:
            pytest.skip("this user can write to read-only folders")
        assert "Permission denied" in probe.stderr
        yield variables
    finally:
        for path in folders:
            path.chmod(0o755)


def test_the_order_of_folders(tmp_path: Path) -> None:
    """NUMBA_CACHE_DIR, the user's cache, the temporary folder: the first that is writable."""
    given, user, temporary = (private(tmp_path / name) for name in ("given", "user", "temporary"))
    everything: dict[str, str | None] = {
        "NUMBA_CACHE_DIR": given,
        "XDG_CACHE_HOME": user,
        "TMPDIR": temporary,
        "HOME": NOWHERE,
    }
    chosen = folder_of(**everything)
    assert chosen.is_relative_to(given)
    assert folder_of(**everything | {"NUMBA_CACHE_DIR": None}).is_relative_to(user)
    assert folder_of(**everything | {"NUMBA_CACHE_DIR": NOWHERE}).is_relative_to(user)
    assert folder_of(
        **everything | {"NUMBA_CACHE_DIR": NOWHERE, "XDG_CACHE_HOME": NOWHERE}
    ).is_relative_to(temporary)
    assert folder_of(
        **everything | {"NUMBA_CACHE_DIR": None, "XDG_CACHE_HOME": None, "HOME": user}
    ).is_relative_to(f"{user}/.cache")
    assert all(mode(path) == 0o700 for path in tmp_path.rglob("compiled-*"))


def test_an_unset_home_is_that_of_the_user_data_base() -> None:
    process = run(
        "from pegasos.engine.runtime.compiling import _user_cache; print(_user_cache())",
        HOME=None,
        XDG_CACHE_HOME=None,
    )
    assert process.stdout.strip() == f"{pwd.getpwuid(os.getuid()).pw_dir}/.cache"


def test_the_folder_is_named_by_the_sources(tmp_path: Path) -> None:
    """Different versions of the package never share compiled code."""
    site = tmp_path / "site"
    shutil.copytree(PACKAGE, site / "pegasos", ignore=shutil.ignore_patterns("__pycache__"))
    cache = private(tmp_path / "cache")
    ours = folder_of(NUMBA_CACHE_DIR=cache)
    engine = site / "pegasos" / "engine"
    assert folder_of(engine, NUMBA_CACHE_DIR=cache) == ours, "the same sources"
    assert Path(run(FOLDER, site=site, NUMBA_CACHE_DIR=cache).stdout.strip()) == ours, (
        "in a process, too"
    )
    for source in ("walk/rules.py", "rows/sources.py", "optimum/hinge/pair_steps.py"):
        path = engine / source
        before = path.read_text()
        path.write_text(before + "\n# another version\n")
        assert folder_of(engine, NUMBA_CACHE_DIR=cache) != ours, source
        path.write_text(before)


def test_all_compiled_code_is_in_the_folder_whose_sources_are_hashed() -> None:
    compiled = [path for path in PACKAGE.rglob("*.py") if "import compiled" in path.read_text()]
    assert compiled and all(path.is_relative_to(PACKAGE / "engine") for path in compiled)


# cached code is code


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path: Path) -> None:
    given, user = private(tmp_path / "given"), private(tmp_path / "user")
    variables = {"NUMBA_CACHE_DIR": given, "XDG_CACHE_HOME": user}
    folder = folder_of(**variables)
    assert folder.is_relative_to(given)
    for rights in (0o770, 0o702):
        folder.chmod(rights)
        assert folder_of(**variables).is_relative_to(user)
    folder.chmod(0o755)
    assert folder_of(**variables) == folder, "others may read"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_not_used(tmp_path: Path) -> None:
    given, user = private(tmp_path / "given"), private(tmp_path / "user")
    folder = folder_of(NUMBA_CACHE_DIR=given, XDG_CACHE_HOME=user)
    os.chown(folder, 12345, -1)
    assert folder_of(NUMBA_CACHE_DIR=given, XDG_CACHE_HOME=user).is_relative_to(user)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_below_another_users_is_not_used(tmp_path: Path) -> None:
    """A folder owned by another user could be exchanged by that user."""
    temporary = tmp_path / "temporary"
    taken = temporary / f"pegasos-cache-{os.getuid()}"
    taken.mkdir(parents=True)
    taken.chmod(0o777)
    os.chown(taken, 12345, -1)
    folder = folder_of(HOME=NOWHERE, XDG_CACHE_HOME=NOWHERE, TMPDIR=str(temporary))
    assert not folder.is_relative_to(taken)


def test_without_any_folder_a_process_compiles_for_itself(tmp_path: Path) -> None:
    """Without a temporary folder the process uses one of its own and removes it."""
    (tmp_path / f"pegasos-cache-{os.getuid()}").write_text("")
    variables = {
        "HOME": NOWHERE,
        "XDG_CACHE_HOME": NOWHERE,
        "NUMBA_CACHE_DIR": NOWHERE,
        "TMPDIR": str(tmp_path),
    }
    one, other = folder_of_a_process(**variables), folder_of_a_process(**variables)
    assert one != other
    assert one.parent == other.parent == tmp_path
    assert one.name.startswith("pegasos-compiled-")
    assert not list(tmp_path.glob("pegasos-compiled-*"))
