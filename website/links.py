"""Links of a built site that lead nowhere, and what a page would fetch from elsewhere."""

from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHES = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src")}


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            if (tag, name) in FETCHES | {("a", "href")} and value:
                self.links.append(value)
            if (tag, name) in FETCHES and value:
                self.fetched.append(value)


@cache  # a page's navigation has the links of all the others in its folder
def _target(folder: Path, place: str) -> Path | None:
    """The file of the site that a link leads to from a page in a folder."""
    target = (folder / unquote(place)).resolve()
    target = target / "index.html" if target.is_dir() else target
    return target if target.is_file() else None


@cache
def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def broken(site: Path) -> list[str]:
    """Every link of every page to a file or an anchor of the site that is not there."""
    found = []
    for path in sorted(site.rglob("*.html")):
        if path.name == "404.html":  # it is served in the place of any page
            continue
        for link in dict.fromkeys(_read(path).links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = _target(path.parent, parts.path) if parts.path else path
            missing = target is None
            if target is not None and parts.fragment and target.suffix == ".html":
                missing = unquote(parts.fragment) not in _read(target).anchors
            if missing and parts.fragment != "__skip":
                found.append(f"{path.relative_to(site)}: {link}")
    return found


def from_elsewhere(site: Path) -> list[str]:
    """What pages would fetch from another host while they are read."""
    return sorted(
        f"{path.relative_to(site)}: {link}"
        for path in site.rglob("*.html")
        for link in _read(path).fetched
        if urlsplit(link).netloc
    )
