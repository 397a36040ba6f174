"""The program: `pegasos`, or `python -m pegasos`."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line; without the packages it needs, say how to get them."""
    # To load the packages makes a million objects, none of which is garbage: looking through them takes a tenth of that time.
    gc.set_threshold(200_000, 30)
    try:
        from pegasos.program.app import main as run
    except ModuleNotFoundError as error:
        sys.exit(
            f"pegasos: the program needs the package {error.name!r}: pip install '.[app]' in a clone"
        )
    run()


if __name__ == "__main__":
    main()
