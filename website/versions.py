"""Several versions of the site beside each other: FOLDER/VERSION/, and a page that lists them."""

import html
import json
import re
from pathlib import Path

from website.placed import put

LIST, INDEX = "versions.json", "index.html"
VERSION = re.compile(r"\d+(\.\d+)*[\w.+-]*")


def keep(built: Path, folder: Path, version: str) -> Path:
    """Put a built site into its version's folder, and list every version that is there.

    Args:
        built: The site.
        folder: Where the versions stand; others in it stay as they are.
        version: Such as 0.1.0.

    Returns:
        The page that lists them.

    Raises:
        SystemExit: Something else than a site stands in the version's folder.
    """
    put(built, folder / version)
    found = [
        path.name
        for path in folder.iterdir()
        if VERSION.fullmatch(path.name) and (path / INDEX).is_file()
    ]
    newest_first = sorted(found, key=_order, reverse=True)
    listed = [{"version": name, "title": name, "aliases": []} for name in newest_first]
    listed[0]["aliases"] = ["latest"]
    (folder / LIST).write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
    page = folder / INDEX
    page.write_text(_page(newest_first), encoding="utf-8")
    return page


def _order(version: str) -> list[tuple[int, str]]:
    """Numbers as numbers; 0.2.0 stands above 0.2.0.dev1."""
    parts = re.split(r"[.+-]", version)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts] + [(0, "")]


def _page(versions: list[str]) -> str:
    links = "".join(
        f'<li><a href="{html.escape(name)}/{INDEX}">fedkin {html.escape(name)}</a>'
        f"{' (latest)' if place == 0 else ''}</li>"
        for place, name in enumerate(versions)
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        '<meta name="color-scheme" content="light dark"><title>fedkin: versions</title>'
        "<style>body{font:1.1rem/1.6 system-ui;max-width:40rem;margin:3rem auto;padding:0 1rem}"
        "</style>"
        f"<main><h1>fedkin</h1><p>The documentation of each version.</p><ul>{links}</ul></main>"
        "</html>\n"
    )
