"""What every page has around its content: one file with style, charts and script inside, and
nothing to fetch.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib import resources
from importlib.metadata import version as version_of
from typing import Any

import altair as alt
import vl_convert

from fedkin.report.charts.base import Figure
from fedkin.report.page.kept_text import kept_text

# Nothing may be fetched, whatever a chart or a name says; Vega compiles its expressions, hence
# unsafe-eval.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src "
    "'unsafe-inline'; img-src data: blob:"
)


SCRIPTS = ("theme.js", "tables.js", "page.js")


def document(title: str, parts: Sequence[str], content: Mapping[str, Any]) -> str:
    """The whole page.

    Args:
        title: Of the page.
        parts: HTML of its body, in order.
        content: name of an element → what page.js reads in it, as plain values.

    Returns:
        HTML, which fetches nothing.
    """
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{_asset('page.css')}</style></head><body>",
            *parts,
            *(
                f'<script type="application/json" id="{name}">{_inert(rows)}</script>'
                for name, rows in content.items()
            ),
            f"<script>{_libraries()}</script>",
            f"<script>{''.join(map(_asset, SCRIPTS))}</script>",
            "</body></html>\n",
        ]
    )


def places(figures: Sequence[Figure], level: int = 2) -> list[str]:
    """Where the figures are drawn, in order; what a chart shows is described to those who do
    not see it.

    Args:
        figures: In their order.
        level: Of their headings.

    Returns:
        HTML, one a figure.
    """
    return [
        f'<figure id="{escape(drawn.name)}"><h{level}>{escape(drawn.title)}</h{level}>'
        f"<figcaption>{escape(drawn.note)}</figcaption>{_tools(drawn)}"
        f'<div class="chart" id="chart-{escape(drawn.name)}" role="img"'
        f' aria-label="{escape(f"{drawn.title}. {drawn.note}")}"></div></figure>'
        for drawn in figures
    ]


def _tools(drawn: Figure) -> str:
    """The choice of what a figure shows, and its downloads."""
    choice = ""
    if drawn.others:
        labels = [drawn.label, *(label for label, _ in drawn.others)]
        options = "".join(f"<option>{escape(label)}</option>" for label in labels)
        choice = (
            f'<label>{escape(drawn.choice)}: <select class="measure">{options}</select></label> '
        )
    saves = "".join(
        f'<button type="button" data-save="{kind}" aria-label="{escape(drawn.title)} as '
        f'{kind.upper()}">{kind.upper()}</button>'
        for kind in ("svg", "png", "csv")
    )
    return f'<p class="tools">{choice}<span class="saves">Save {saves}</span></p>'


@cache
def _libraries() -> str:
    """Vega, Vega-Lite and vega-embed, once; the version that altair's charts are written for."""
    wanted = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    # None: the newest it has
    version = wanted if wanted in vl_convert.get_vegalite_versions() else None

    def make() -> str:
        bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", version)
        return bundle.replace("</script", "<\\/script")

    return kept_text(f"vega-{version_of('vl-convert-python')}-{version}.js", make)


def _inert(content: Any) -> str:
    """JSON that cannot end the script element that holds it, whatever the clients are called."""
    return json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _asset(name: str) -> str:
    return resources.files("fedkin.report.page").joinpath(name).read_text(encoding="utf-8")
