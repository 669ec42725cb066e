"""The leaderboard's offline pages, made of the rows in docs/leaderboard."""

from functools import cache
from pathlib import Path

from fedkin.bench.leaderboard.page import page
from fedkin.bench.row import read_rows, whole_cases
from website.measured import EDITION
from website.staging import ROOT

ROWS = ROOT / "docs" / "leaderboard"


def complete(stage: Path) -> None:
    """Writes a page for each file of rows, and links it from the leaderboard's own page.

    Raises:
        ValueError: That page has no place for the links.
    """
    bench, heading = stage / "bench.md", f"\n## {EDITION}\n"
    text = bench.read_text(encoding="utf-8")
    if text.count(heading) != 1:
        raise ValueError(f"docs/bench.md has no heading {EDITION!r}, below which pages are linked")
    links = []
    for rows in sorted(ROWS.glob("*.jsonl")):
        place = stage / "leaderboard" / f"{rows.stem}.html"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_board(rows), encoding="utf-8")
        links.append(f"[{rows.stem}](leaderboard/{place.name})")
    said = f"All of it, to sort, filter and see in charts: {', '.join(links)}.\n"
    bench.write_text(text.replace(heading, f"{heading}\n{said}"), encoding="utf-8")


@cache
def _board(rows: Path) -> str:
    return page(whole_cases(read_rows(rows)))
