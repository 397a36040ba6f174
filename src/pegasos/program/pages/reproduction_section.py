"""Section that says how to train the model again."""

from __future__ import annotations

import datetime
import platform
from importlib.metadata import version

from pegasos.program.pages.blocks import Block, Code, Facts
from pegasos.program.pages.values import duration
from pegasos.program.terminal.reproduction import python_lines
from pegasos.search.settings import Setting


def reproduction_blocks(
    setting: Setting,
    command: str | None,
    seed: int | None,
    seconds: float | None,
    versions: dict[str, str] | None = None,
) -> list[Block]:
    """Return the command, the model in Python, and the versions, by default those at work."""
    blocks: list[Block] = [] if command is None else [Code("The command of this run", command)]
    blocks.append(Code("The model in Python", python_lines(setting, seed)))
    facts = {"seed": seed, "duration": duration(seconds)}
    return [*blocks, Facts({**facts, **(current_versions() if versions is None else versions)})]


def current_versions() -> dict[str, str]:
    """Return date, versions and machine."""
    import threadpoolctl

    from pegasos import __version__

    threads = max((each["num_threads"] for each in threadpoolctl.threadpool_info()), default=1)
    libraries = {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")}
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "pegasos": __version__,
        "python": platform.python_version(),
        **libraries,
        "machine": f"{platform.system()} {platform.machine()}, {threads} threads",
    }
