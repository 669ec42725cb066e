"""Tables of a Markdown page that commands renew: what stands between ``<!-- NAME -->`` and ``<!--
end -->``.
"""

import json
import statistics
from pathlib import Path
from typing import Any

END = "<!-- end -->"


def renew(page: Path, name: str, head: str, rows: list[str], order: list[str]) -> None:
    """Put rows into a page's table: a row that begins with the same cell is replaced, the others
    stay.

    ``order``: the first cells of all rows that the table may have, in their order.
    """
    _, table, _ = _parts(page, name)
    kept = {_first(line): line for line in table.splitlines()[2:]}
    kept.update((_first(row), row) for row in rows)
    put(page, name, "\n".join([head, *(kept[cell] for cell in order if cell in kept)]))


def put(page: Path, name: str, text: str) -> None:
    """Put a text in the place of what stands there."""
    before, _, after = _parts(page, name)
    page.write_text(f"{before}{text}\n{END}{after}", encoding="utf-8")


def _parts(page: Path, name: str) -> tuple[str, str, str]:
    """What stands before, in and after the place."""
    before, start, rest = page.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
    if not start:
        raise SystemExit(f"{page} has no line <!-- {name} -->")
    table, _, after = rest.partition(END)
    return before + start, table, after


def json_lines(file: Path) -> list[dict[str, Any]]:
    """The rows that a benchmark has finished; none where it has not begun."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def line_of(cells: list[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"


def spread(values: list[float]) -> str:
    """Mean of shares over seeds, in %, and their sample standard deviation where there
    are several.
    """
    sd = f" ± {100 * statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{100 * statistics.mean(values):.2f}{sd}"


def averages(found: list[dict[str, Any]]) -> tuple[list[dict[str, float]], str, str]:
    """Of a setting's summaries, one a seed: final personal accuracies, the mean worst decile in %,
    and the mean MB.
    """
    at = [each["accuracy"]["personal"]["final"] for each in found]
    bytes = statistics.mean(each["communication"]["unicast"]["bytes"]["total"] for each in found)
    return (
        at,
        f"{100 * statistics.mean(each['worst_decile'] for each in at):.1f}",
        f"{bytes / 1e6:.1f}",
    )


def _first(line: str) -> str:
    return line.split("|")[1].strip()
