"""What was measured of each method: rows of the tables of results, reproductions, leaderboard."""

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

from fedkin.bench.row import read_rows
from fedkin.methods import METHODS
from fedkin.reproduce.measures import MEASURES
from website.markdown import table
from website.staging import ROOT

DOCS = ROOT / "docs"
MEASURED = ("measured (final)", "measured", "test accuracy")  # heads of the column of measurements
FINAL = ("", MEASURES["accuracy"][0], MEASURES["weighted accuracy"][0])
METHOD = re.compile(r"--method (\w+)")
EDITION = "Leaderboard tables"  # the heading of docs/bench.md that has the rows
SPECIFICATION = re.compile(r"examples/papers/\w+\.toml")


class Measured(NamedTuple):
    """One row: the page that has it, its heading and anchor there, and its cells."""

    page: str
    heading: str
    row: str
    value: str
    published: str

    @property
    def link(self) -> str:
        """The heading, as a link from a method's page."""
        return f"[{self.heading}](../{self.page}#{_anchor(self.heading)})"


def lines(name: str) -> list[str]:
    """The part of a method's page with every row that was measured of it."""
    found = by_method().get(name, [])
    head = ["", f"### Measured rows of {name}", ""]
    if not found:
        return [
            *head,
            f"None yet: `fedkin bench run small --methods {name} --out bench` adds some.",
        ]
    said = (
        "Test scores of the clients' own models after the last round. Each table has the command."
    )
    rows = [[one.link, one.row, one.value, one.published or "–"] for one in found]
    return [*head, said, "", *table(["table", "row", "measured", "published"], rows)]


@cache
def by_method() -> dict[str, list[Measured]]:
    """Every measured row, by the method that it is of."""
    found: dict[str, list[Measured]] = {}
    pages = [DOCS / "results.md", *sorted((DOCS / "reproduction").glob("*.md"))]
    for path in pages:
        for name, one in _rows(path):
            found.setdefault(name, []).append(one)
    for name, one in _leaderboard():
        found.setdefault(name, []).append(one)
    return found


def _rows(path: Path) -> Iterator[tuple[str, Measured]]:
    """The measured rows of a page's tables, with their method."""
    heading, head = "", []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            heading, head = line.lstrip("# "), []
        elif not line.startswith("|"):
            head = []
        elif not head:
            head = _cells(line)
        elif row := dict(zip(head, _cells(line))):
            if row.get("what", "") not in FINAL:  # a page of a preset has other numbers beside
                continue
            value = next((row[key] for key in MEASURED if row.get(key)), "")
            name = row.get("method") or _method(row.get("command", ""))
            if name in METHODS and re.match(r"-?\d", value):
                page = path.relative_to(DOCS).as_posix()
                titled = row.get("run") or row.get("row") or row.get("setting") or name
                yield name, Measured(page, heading, titled, value, row.get("published", ""))


def _leaderboard() -> Iterator[tuple[str, Measured]]:
    """Mean over seeds of each method's rows at equal rounds."""
    scores: dict[tuple[str, str, str], list[float]] = {}
    unfit: dict[tuple[str, str, str], str] = {}
    for path in sorted((DOCS / "leaderboard").glob("*.jsonl")):
        for row in read_rows(path):
            place = (row.method, row.suite, row.setting)
            if row.missing:
                unfit[place] = row.missing
            elif "rounds" in row.budgets and row.mean is not None:
                scores.setdefault(place, []).append(row.mean)
    for (name, suite, setting), reason in unfit.items():
        yield name, Measured("bench.md", EDITION, f"{suite}: {setting}", f"not run: {reason}", "")
    for (name, suite, setting), values in scores.items():
        spread = f" ± {100 * stdev(values):.2f}" if len(values) > 1 else ""
        value = f"{100 * mean(values):.2f}{spread}"
        yield name, Measured("bench.md", EDITION, f"{suite}: {setting}", value, "")


def _method(command: str) -> str:
    """The method of a command: its option, else that of the file that it names."""
    if found := METHOD.search(command):
        return found[1]
    if not (file := SPECIFICATION.search(command)):
        return ""
    content = tomllib.loads((ROOT / file[0]).read_text(encoding="utf-8"))
    return str(content["method"]["name"])


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _anchor(heading: str) -> str:
    """What the site's parser makes of a heading."""
    plain = unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())
