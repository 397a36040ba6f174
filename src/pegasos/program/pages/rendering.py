"""From blocks to one HTML file: template, styles, scripts and data, all inside."""

from __future__ import annotations

import contextlib
import functools
import json
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from pegasos.engine.compiling import cache_folder
from pegasos.program.files import write_text
from pegasos.program.pages.blocks import Chart, Section, Thresholds
from pegasos.program.records.codec import to_json

_SCRIPTS = ("base.js", "pictures.js", "explorer.js", "panel.js", "tables.js", "thresholds.js")


@functools.cache
def _bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script: the page asks no network for them.

    To join them takes seconds, so it is kept beside the compiled code.
    """
    import vl_convert

    kept = cache_folder() / f"vega-{version('vl-convert-python')}.js"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return kept.read_text(encoding="utf-8")
    # No text of the libraries may end the script element or open a comment in it.
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    script = script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    with contextlib.suppress(OSError):
        write_text(kept, script)
    return script


def _asset(name: str) -> str:
    return files("pegasos.program.pages").joinpath("assets", name).read_text(encoding="utf-8")


def _alone(script: str) -> str:
    """A script in a scope of its own: the libraries and ours share no names but those on window."""
    return f"(function () {{\n{script}\n}})();"


def embedded(value: Any) -> str:
    """JSON that may stand in a script element: no character of it can end the element or begin a tag."""
    text = json.dumps(to_json(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def render(title: str, subtitle: str, sections: list[Section], data: dict[str, Any]) -> str:
    """The page; everything in it that came from data is escaped by the template, or is JSON as above."""
    import jinja2
    from markupsafe import Markup

    loader = jinja2.FunctionLoader(_asset)
    environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["unbroken"] = lambda text: text.replace(" %", "\u00a0%")  # no line begins with a percent sign
    charts = {block.name: block.spec for section in sections for block in section.blocks if isinstance(block, Chart)}
    for block in (each for section in sections for each in section.blocks if isinstance(each, Thresholds)):
        data = {**data, "thresholds": {**block.data, "charts": block.figures}}
    safe: dict[str, Any] = {"styles": Markup(_asset("page.css")), "data": Markup(embedded({**data, "charts": charts}))}
    safe["scripts"] = [Markup(_alone(script)) for script in (_bundle(), "\n".join(_asset(name) for name in _SCRIPTS))]
    filled = [section for section in sections if section.blocks]
    return environment.get_template("page.html").render(title=title, subtitle=subtitle, sections=filled, **safe)
