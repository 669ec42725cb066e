"""The committed rows of the leaderboard, as tables in docs/bench.md and docs/choosing.md.

    python -m benchmarks.leaderboard [--add bench/rows.jsonl]

``--add`` takes the rows of finished searches over into docs/leaderboard, one file a suite; rows
that stand there already stay as they are.
"""

import argparse
from pathlib import Path

from benchmarks import defaults, edges
from benchmarks.page import END, line_of
from fedkin.bench.latest_searches import latest_searches
from fedkin.bench.leaderboard.entries import POOLED, Entry, entries
from fedkin.bench.leaderboard.markdown import markdown, notes
from fedkin.bench.leaderboard.titles import titles_of
from fedkin.bench.row import Row, append, read_rows, whole_cases
from fedkin.report import formatting

DOCS = Path(__file__).resolve().parent.parent / "docs"
ROWS = DOCS / "leaderboard"
SUITES = ("small", "standard")
# who is so near the best may be chosen for what else it has
NEAR = 0.01  # a point of a share
NEAR_PART = 0.02  # of the best, of a measure that is no share: perplexity, say
HEAD = ["federation", "alone", "fedavg", "best", "fewest clients hurt", "fewest bytes"]


def rows() -> list[Row]:
    """All that are committed."""
    return whole_cases([row for path in sorted(ROWS.glob("*.jsonl")) for row in read_rows(path)])


def add(path: Path) -> int:
    """Take rows over; returns how many were new."""
    there = {row.id for row in rows()}
    new = [row for row in whole_cases(read_rows(path)) if row.id not in there]
    ROWS.mkdir(exist_ok=True)
    for suite in {row.suite for row in new}:
        append(ROWS / f"{suite}.jsonl", [row for row in new if row.suite == suite])
    return len(new)


def at_equal_rounds(found: list[Row]) -> list[Entry]:
    """Means over seeds of what was run with the rounds as budget."""
    return [one for one in entries(found) if one.budget == "rounds"]


def choices(found: list[Row]) -> str:
    """A row a federation: who is best, and whom to take for what else counts, at equal rounds."""
    titles = titles_of(found)
    told = [one for one in at_equal_rounds(found) if one.method != POOLED]
    lines = [line_of(HEAD), "|" + "---|" * len(HEAD)]
    for federation in dict.fromkeys(one.federation for one in told):
        mine = [one for one in told if one.federation == federation]
        by = {one.method: one for one in mine}
        best = mine[0]
        near = [one for one in mine if _is_near(one, best)]
        gain = [one for one in mine if one.gain is not None and one.gain > 0]  # else: alone
        unhurt = min(gain or [by["local"]], key=lambda one: (one.hurt or 0.0, -one.mean))
        cheap = min(near, key=lambda one: one.bytes)
        cells = [titles[federation]]
        cells += [_score(by[name]) if name in by else "–" for name in ("local", "fedavg")]
        cells += [
            f"{best.method} {_score(best)}",
            f"{unhurt.method} {_score(unhurt)}, {formatting.percent_or_dash(unhurt.hurt)}",
            f"{cheap.method} {_score(cheap)}, {formatting.size(cheap.bytes)}",
        ]
        lines.append(line_of(cells))
    return "\n".join(lines) + "\n"


def _is_near(one: Entry, best: Entry) -> bool:
    within = NEAR if formatting.is_share(best.measure) else NEAR_PART * abs(best.mean)
    return abs(one.mean - best.mean) <= within


def _score(one: Entry) -> str:
    return formatting.value(one.measure, one.mean)


def tables() -> list[tuple[Path, str, str]]:
    """(page, place, table)."""
    found = latest_searches(rows())
    small, standard = ([row for row in found if row.suite == name] for name in SUITES)
    return [
        (DOCS / "bench.md", "leaderboard", _with_ranks(small)),
        (DOCS / "bench.md", "standard", _with_ranks(standard)),
        (DOCS / "bench.md", "edges", edges.table(found)),
        (DOCS / "bench.md", "defaults", defaults.table(found, defaults.known())),
        (DOCS / "choosing.md", "leaderboard", choices(small)),
        (DOCS / "choosing.md", "standard", choices(standard)),
    ]


def _with_ranks(mine: list[Row]) -> str:
    return "\n".join(filter(None, [markdown(mine), notes(mine)]))


def put(page: Path, name: str, text: str) -> None:
    """What stands between a page's ``<!-- NAME -->`` and ``<!-- end -->``."""
    before, start, rest = page.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition(END)
    if not start or not end:
        raise SystemExit(f"{page} has no place <!-- {name} -->")
    page.write_text(before + start + text + end + after, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--add", type=Path, help="a file of rows to take over")
    given = parser.parse_args()
    if given.add:
        print(f"{add(given.add)} new rows")
    for page, name, text in tables():
        put(page, name, text)


if __name__ == "__main__":
    main()
