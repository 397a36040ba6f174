"""A page that is one file: what all pages share."""

from __future__ import annotations

import html as escaping
from pathlib import Path

from pegasos.program.files import write_text
from pegasos.program.pages.rendering import asset


class HtmlPage:
    """`html` is all of it; `save(path)` writes it, Jupyter shows it."""

    def __init__(self, title: str, html: str) -> None:
        self.title, self.html = title, html

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.title!r}, {len(self.html) / 1e6:.1f} MB)"

    def _repr_html_(self) -> str:
        """For Jupyter: in a frame of its own, so that neither page's styles and scripts touch the other's;
        a script beside it tells whether the notebook is dark."""
        frame = 'style="width:100%;height:820px;border:0" sandbox="allow-scripts"'
        page = f'<iframe srcdoc="{escaping.escape(self.html)}" {frame} title="{escaping.escape(self.title)}"></iframe>'
        return f"{page}<script>{asset('notebook.js')}</script>"

    def save(self, path: str | Path) -> Path:
        """Write the page, complete or not at all."""
        write_text(path, self.html)
        return Path(path)
