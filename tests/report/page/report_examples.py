"""What the tests of report and of its parts have in common."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any


class Elements(HTMLParser):
    """All elements with their attributes, and the text of the scripts by id."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.text = ""
        self.inside = ""  # the id of the script that is open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag == "script":
            self.inside = dict(attrs).get("id") or "code"

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.scripts[self.inside] = self.scripts.get(self.inside, "") + data
        else:
            self.text += data


def parsed(path: Path) -> Elements:
    elements = Elements()
    elements.feed(path.read_text(encoding="utf-8"))
    return elements


def figures(path: Path) -> dict[str, dict[str, Any]]:
    return {figure["name"]: figure for figure in json.loads(parsed(path).scripts["figures"])}
