"""Render blocks to one HTML file that contains styles, scripts and data."""

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
from pegasos.program.pages.blocks import Block, Chart, Panel, Section, Thresholds
from pegasos.program.pages.wording import unbroken
from pegasos.program.records.codec import to_json


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


def asset(name: str) -> str:
    """Return the text of an asset."""
    return files("pegasos.program.pages").joinpath("assets", name).read_text(encoding="utf-8")


def _alone(script: str) -> str:
    """Return a script in its own scope, so that libraries and page share only names on window."""
    return f"(function () {{\n{script}\n}})();"


def embedded(value: Any) -> str:
    """Return JSON for a script element, without characters that could end the element or begin a tag."""
    text = json.dumps(to_json(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def _environment() -> Any:
    """Return the template environment; it escapes all values."""
    import jinja2

    loader = jinja2.FunctionLoader(asset)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["unbroken"] = unbroken
    environment.filters["groups"] = _groups
    return environment


def _groups(blocks: list[Block]) -> list[tuple[str, list[Block]]]:
    """Return blocks in their order, charts that share lines together, with the class of their group."""

    def kind(block: Block) -> str:
        if not isinstance(block, Chart):
            return ""
        return "halves" if block.half else "pair" if block.fit else ""

    found = [(name, list(group)) for name, group in itertools.groupby(blocks, key=kind)]
    return [(name if len(group) > 1 else "", group) for name, group in found]


def render(title: str, subtitle: str, sections: list[Section]) -> str:
    """Return the page; all text from data is escaped by the template, or is JSON."""
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
    safe = {
        "styles": [Markup(asset("page.css"))],
        "data": Markup(embedded(data)),
        "scripts": [Markup(_alone(script)) for script in (_bundle(), asset("page.js"))],
    }
    given = {"title": title, "subtitle": subtitle, "sections": sections, "evaluates": True}
    return str(_environment().get_template("page.html").render(**given, **safe))


def render_play(title: str, data: Any) -> str:
    """Return the page of `pegasos play`, which `web/build.py` builds from `web/play`."""
    from markupsafe import Markup

    safe = {"styles": [Markup(asset("page.css"))], "data": Markup(embedded(data))}
    return str(_environment().get_template("play.html").render(title=title, **safe))
