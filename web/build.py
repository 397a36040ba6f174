"""Build the page of `pegasos play`: join the modules of web/play into one file.

python web/build.py
"""

from __future__ import annotations

import re
from pathlib import Path

SOURCES = Path(__file__).parent / "play"
BUILT = Path(__file__).parents[1] / "src" / "pegasos" / "program" / "pages" / "assets" / "play.html"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w.]+)";\n', flags=re.MULTILINE)
_EXPORT = re.compile(r"^export (?=const|function|class)", flags=re.MULTILINE)


def join_modules(start: str = "main.js") -> str:
    """Return a module and its imports as one script, each module once and after its imports.

    The modules share one scope, so their names must differ. An import is one line without renaming.
    """
    texts: dict[str, str] = {}

    def add(name: str) -> None:
        if name in texts:
            return
        text = (SOURCES / name).read_text(encoding="utf-8")
        texts[name] = ""
        for needed in _IMPORT.findall(text):
            add(needed)
        del texts[name]  # a dictionary keeps the order of insertion
        texts[name] = _EXPORT.sub("", _IMPORT.sub("", text))

    add(start)
    return "\n".join(texts.values())


def build() -> str:
    """Return the template of the page with its styles and its script inside."""
    parts = {
        "play.css": (SOURCES / "play.css").read_text(encoding="utf-8"),
        "main.js": f'(function () {{\n"use strict";\n{join_modules()}\n}})();',
    }
    page = (SOURCES / "play.html").read_text(encoding="utf-8")
    for name, text in parts.items():
        page = page.replace(f"<!-- {name} -->", f"{{% raw %}}{text}{{% endraw %}}")
    return page


if __name__ == "__main__":
    BUILT.write_text(build(), encoding="utf-8")
