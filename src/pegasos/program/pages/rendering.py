"""From blocks to one HTML file: template, styles, scripts and data, all inside."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from pegasos.engine.runtime.compiling import cache_folder
from pegasos.program.files import write_text
from pegasos.program.pages.blocks import Block, Chart, Section, Thresholds
from pegasos.program.pages.wording import unbroken
from pegasos.program.records.codec import to_json

_SCRIPTS = ("base.js", "pictures.js", "tables.js", "explorer.js", "panel.js", "thresholds.js")


@functools.cache
def _bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script: the page asks no network for them.

    To join them takes seconds, so it is kept beside the compiled code.
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


def asset(name: str) -> str:
    """A file that pages are made of."""
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


def _environment() -> Any:
    """Templates that escape whatever is put into them."""
    import jinja2
    from markupsafe import Markup

    loader = jinja2.FunctionLoader(asset)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["unbroken"] = unbroken
    environment.filters["groups"] = _groups
    environment.globals["theme"] = Markup(asset("theme.js"))
    return environment


def _groups(blocks: list[Block]) -> list[list[Block]]:
    """Blocks in their order; charts of half the width that follow each other are one group, which stands side by side."""
    halves = itertools.groupby(blocks, key=lambda block: isinstance(block, Chart) and block.half)
    return [
        group
        for half, each in halves
        for group in ([list(each)] if half else [[block] for block in each])
    ]


def render(title: str, subtitle: str, sections: list[Section], data: dict[str, Any]) -> str:
    """The page; everything in it that came from data is escaped by the template, or is JSON as above."""
    from markupsafe import Markup

    charts = {
        block.name: block.spec
        for section in sections
        for block in section.blocks
        if isinstance(block, Chart)
    }
    for block in (
        each for section in sections for each in section.blocks if isinstance(each, Thresholds)
    ):
        data = {**data, "thresholds": {**block.data, "charts": block.figures}}
    safe: dict[str, Any] = {
        "styles": [Markup(asset("page.css"))],
        "data": Markup(embedded({**data, "charts": charts})),
    }
    safe["scripts"] = [
        Markup(_alone(script))
        for script in (_bundle(), "\n".join(asset(name) for name in _SCRIPTS))
    ]
    filled = [section for section in sections if section.blocks]
    given = {"title": title, "subtitle": subtitle, "sections": filled, "evaluates": True}
    return str(_environment().get_template("page.html").render(**given, **safe))


def render_play(title: str, data: Any) -> str:
    """Return the page of `pegasos play`, which `web/build.py` builds from `web/play`."""
    from markupsafe import Markup

    safe = {"styles": [Markup(asset("page.css"))], "data": Markup(embedded(data))}
    return str(_environment().get_template("play.html").render(title=title, **safe))
