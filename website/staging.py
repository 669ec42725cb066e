"""Pages of the repository, in the folder that the site is built from."""

import os
import posixpath
import re
import shutil
from pathlib import Path

from website.markdown import staged

ROOT = Path(__file__).resolve().parent.parent
AT_THE_ROOT = {  # pages that do not stand in docs/, and where they stand in the site
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "vulnerabilities.md",
}
LANGUAGES = {".py": "python", ".toml": "toml", ".cff": "yaml", ".md": "markdown", ".csv": "text"}


class Stage:
    """Copies pages, and shows what they link to outside of docs/ as pages of its own."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.shown: set[str] = set()

    def everything(self) -> None:
        """Every page and picture of docs/, and the pages at the repository's root."""
        for path in sorted((ROOT / "docs").rglob("*")):
            if path.suffix == ".md":
                self.page(path)
            elif path.is_file():
                place = self.target / path.relative_to(ROOT / "docs")
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)
        for name in AT_THE_ROOT:
            self.page(ROOT / name)

    def page(self, path: Path) -> None:
        """One page, with its links where they lead in the site."""
        source = path.relative_to(ROOT).as_posix()
        place = place_of(source)
        text = staged(
            path.read_text(encoding="utf-8"), lambda link: self._moved(link, source, place)
        )
        self.write(place, text)

    def write(self, place: str, text: str) -> None:
        """A page of this text."""
        path = self.target / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def _moved(self, link: str, source: str, place: str) -> str:
        if re.match(r"[a-z]+:|#", link):
            return link
        target, mark, anchor = link.partition("#")
        meant = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if not (ROOT / meant).exists():
            raise FileNotFoundError(f"{source} links to {link}, which does not exist")
        goes = place_of(meant)
        if not meant.startswith("docs/") and meant not in AT_THE_ROOT:
            goes = self._show(meant)
        return os.path.relpath(goes, posixpath.dirname(place) or ".") + mark + anchor

    def _show(self, meant: str) -> str:
        """A file or a folder of the repository as a page; returns where it stands."""
        path = ROOT / meant
        place = f"files/{meant}.md"
        if meant in self.shown:
            return place
        self.shown.add(meant)
        parts = (
            sorted(
                one for one in path.rglob("*") if one.is_file() and "__pycache__" not in one.parts
            )
            if path.is_dir()
            else [path]
        )
        lines = [f"# {meant}", ""]
        for part in parts:
            name = part.relative_to(ROOT).as_posix()
            lines += [f"## {name}", ""] if path.is_dir() else []
            language = LANGUAGES.get(part.suffix, "text")
            lines += [f"````{language}", part.read_text(encoding="utf-8").rstrip("\n"), "````", ""]
        self.write(place, "\n".join(lines))
        return place


def place_of(source: str) -> str:
    """Where a page of the repository stands in the site."""
    return AT_THE_ROOT.get(source, source.removeprefix("docs/"))
