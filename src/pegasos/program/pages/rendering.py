"""Render blocks to one HTML file that contains styles, scripts and data."""

from __future__ import annotations

import contextlib
import functools
import html as escaping
import itertools
import json
import re
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from pegasos.engine.runtime.compiling import cache_folder
from pegasos.program.files import write_text
from pegasos.program.pages.blocks import Block, Chart, Panel, Section, Thresholds
from pegasos.program.pages.values import unbroken
from pegasos.program.records.codec import to_json

#: Numbers that browsers would break at their hyphen.
_POWER = re.compile(r"[-.\d]*\de-\d+")
#: Passes the notebook's theme to the frame: light or dark by its first opaque background.
_THEME_OF_NOTEBOOK = """
(function (frame) {
  const tell = () => {
    for (let at = frame.parentElement; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor.match(/[\\d.]+/g).map(Number);
      const [red, green, blue, alpha = 1] = color;
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
        """Return the page in a frame, which isolates its styles and scripts."""
        look = 'style="width:100%;height:820px;border:0" sandbox="allow-scripts"'
        page, title = escaping.escape(self.html), escaping.escape(self.title)
        frame = f'<iframe srcdoc="{page}" {look} title="{title}"></iframe>'
        return f"{frame}<script>{_THEME_OF_NOTEBOOK}</script>"

    def save(self, path: str | Path) -> Path:
        """Write the page atomically."""
        write_text(path, self.html)
        return Path(path)


@functools.cache
def _bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, so that the page needs no network.

    Bundling takes seconds, so the result is cached beside the compiled code.
    """
    kept = cache_folder() / f"vega-{version('vl-convert-python')}.js"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return kept.read_text(encoding="utf-8")
    import vl_convert

    # No text of the libraries may end the script element or open a comment in it.
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    script = script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    with contextlib.suppress(OSError):
        write_text(kept, script)
    return script


def _asset(name: str) -> str:
    return files("pegasos.program.pages").joinpath("assets", name).read_text(encoding="utf-8")


def embedded(value: Any) -> str:
    """Return JSON for a script element, without characters that could end it or begin a tag."""
    text = json.dumps(to_json(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def _prose(text: str) -> Any:
    """Return text whose units stay on one line: λ = 3, and numbers such as 1e-5."""
    from markupsafe import Markup, escape

    return Markup(_POWER.sub(r'<span class="whole">\g<0></span>', str(escape(unbroken(text)))))


def _groups(blocks: list[Block]) -> list[tuple[str, list[Block]]]:
    """Return blocks in their order, with charts that share a line grouped under a layout."""

    def layout(block: Block) -> str:
        return block.layout if isinstance(block, Chart) and block.layout in ("half", "fit") else ""

    return [(name, list(group)) for name, group in itertools.groupby(blocks, key=layout)]


def _fill(template: str, data: Any, **given: Any) -> str:
    """Return a template filled in; it escapes all values, and data are JSON."""
    import jinja2
    from markupsafe import Markup

    loader = jinja2.FunctionLoader(_asset)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"prose": _prose, "groups": _groups}
    safe = {"styles": [Markup(_asset("page.css"))], "data": Markup(embedded(data))}
    return str(environment.get_template(template).render(**given, **safe))


def render(title: str, subtitle: str, sections: list[Section]) -> str:
    """Return a page of sections; those without blocks are left out."""
    from markupsafe import Markup

    sections = [section for section in sections if section.blocks]
    data: dict[str, Any] = {"charts": {}}
    for block in (each for section in sections for each in section.blocks):
        if isinstance(block, Chart):
            data["charts"][block.name] = block.spec
        elif isinstance(block, Panel):
            data["panel"] = block.data
        elif isinstance(block, Thresholds):
            data["thresholds"] = {**block.data, "charts": block.figures}
    # Each script has its own scope, so that libraries and page share only names on window.
    scripts = [
        Markup(f"(function () {{\n{each}\n}})();") for each in (_bundle(), _asset("page.js"))
    ]
    given = {"title": title, "subtitle": subtitle, "sections": sections}
    return _fill("page.html", data, scripts=scripts, evaluates=True, **given)


def render_play(title: str, data: Any) -> str:
    """Return the page of `pegasos play`, which `web/build.py` builds from `web/play`."""
    return _fill("play.html", data, title=title)
