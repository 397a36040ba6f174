"""Base class of pages: one self-contained HTML file."""

from __future__ import annotations

import html as escaping
from pathlib import Path

from pegasos.program.files import write_text

#: Tells the page in the frame whether the notebook is dark: by the first background around it that is not transparent.
_THEME_OF_NOTEBOOK = """
(function (frame) {
  const tell = () => {
    for (let at = frame.parentElement; at; at = at.parentElement) {
      const [red, green, blue, alpha = 1] = getComputedStyle(at).backgroundColor.match(/[\\d.]+/g).map(Number);
      if (alpha < 0.5) continue;
      const theme = 2 * red + 5 * green + blue < 8 * 110 ? "dark" : "light";
      frame.contentWindow.postMessage({ theme }, "*");
      return;
    }
  };
  frame.addEventListener("load", tell);
  new MutationObserver(tell).observe(document.body, { attributes: true });
})(document.currentScript.previousElementSibling);
"""


class HtmlPage:
    """Self-contained page; `save(path)` writes it, and Jupyter displays it."""

    def __init__(self, title: str, html: str) -> None:
        self.title, self.html = title, html

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.title!r}, {len(self.html) / 1e6:.1f} MB)"

    def _repr_html_(self) -> str:
        """Return the page in a frame, which isolates styles and scripts; a script passes on the notebook's theme."""
        frame = 'style="width:100%;height:820px;border:0" sandbox="allow-scripts"'
        page = f'<iframe srcdoc="{escaping.escape(self.html)}" {frame} title="{escaping.escape(self.title)}"></iframe>'
        return f"{page}<script>{_THEME_OF_NOTEBOOK}</script>"

    def save(self, path: str | Path) -> Path:
        """Write the page, complete or not at all."""
        write_text(path, self.html)
        return Path(path)
