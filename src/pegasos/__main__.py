"""Entry point of the command-line program: ``pegasos``, or ``python -m pegasos``."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the program; if a package is missing, tell how to install it."""
    # Importing the packages creates a million objects, none of them garbage: scanning them takes a
    # tenth of the import time.
    gc.set_threshold(200_000, 30)
    try:
        from pegasos.program.app import main as run
    except ModuleNotFoundError as error:
        sys.exit(
            f"pegasos: the program needs the package {error.name!r}: pip install '.[app]' in a "
            "clone"
        )
    run()


if __name__ == "__main__":
    main()
