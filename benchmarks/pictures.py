"""Pictures of what was measured, drawn from the tables of docs/performance.md, so that both say the
same.

    python -m benchmarks.pictures [--out DIR]

Writes peers.svg (seconds a round, and where the machine's products alone would end) and scale.svg
(clients against seconds and memory).
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import altair as alt

from fedkin.report.charts.base import BLUE

PAGE, FOLDER = Path("docs/performance.md"), Path("docs/images")
PEERS, SCALE = "| workload |", "| clients |"  # how the tables' first lines begin
GREY = "#8a8a8a"
WIDTH = 460
Row = dict[str, Any]


def table(page: str, head: str) -> Iterator[list[str]]:
    """The cells of the lines of a table."""
    for line in page[page.index(head) :].splitlines()[2:]:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split("|")]


def peers(page: str) -> alt.VConcatChart:
    """A panel a workload: a bar of seconds for everybody, a tick for the roofline of the same
    method.
    """
    panels: dict[str, list[Row]] = {}
    for workload, who, seconds, _, _, share, _ in table(page, PEERS):
        products = float(seconds) * float(share.rstrip("%")) / 100
        row = {
            "who": who,
            "ours": who.startswith("fedkin"),
            "seconds": float(seconds),
            "products": products,
        }
        panels.setdefault(workload, []).append(row)
    title = (
        "Seconds a round (bars), and those of its products alone, the fastest on all cores (ticks)"
    )
    return alt.vconcat(*(_workload(name, rows) for name, rows in panels.items()), title=title)


def _workload(name: str, rows: list[Row]) -> alt.LayerChart:
    base = alt.Chart(alt.Data(values=rows)).encode(y=alt.Y("who:N", sort=None, title=None))
    bars = base.mark_bar().encode(
        x=alt.X("seconds:Q", title="seconds a round"),
        color=alt.condition("datum.ours", alt.value(BLUE), alt.value(GREY)),
    )
    numbers = base.mark_text(align="left", dx=4).encode(
        x="seconds:Q", text=alt.Text("seconds:Q", format=".3f")
    )
    ticks = base.mark_tick(thickness=2, color="black").encode(x="products:Q")
    return alt.layer(bars, ticks, numbers).properties(title=name, width=WIDTH)


def scale(page: str) -> alt.VConcatChart:
    """Two panels over the number of clients: seconds a round and the highest memory."""
    cells = (line for line in table(page, SCALE) if line[0].replace(",", "").isdigit())
    rows = [
        {
            "clients": int(clients.replace(",", "")),
            "seconds": float(seconds),
            "memory": float(memory),
        }
        for clients, seconds, _, memory in cells
    ]
    axis = alt.Axis(values=[row["clients"] for row in rows], format=",")
    base = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(point=True, color=BLUE)
        .properties(width=WIDTH, height=140)
    )
    base = base.encode(x=alt.X("clients:Q", scale=alt.Scale(type="log"), axis=axis))
    panels = [
        base.encode(y=alt.Y("seconds:Q", title="seconds a round")),
        base.encode(y=alt.Y("memory:Q", title="memory of the process, MB")),
    ]
    return alt.vconcat(*panels, title="40 participants a round of ever more clients")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", metavar="DIR", type=Path, default=FOLDER, help="default: %(default)s"
    )
    out: Path = parser.parse_args().out
    page = PAGE.read_text(encoding="utf-8")
    out.mkdir(parents=True, exist_ok=True)
    for draw in (peers, scale):
        chart: Any = draw(page)
        chart.configure(background="white", padding=12).save(out / f"{draw.__name__}.svg")


if __name__ == "__main__":
    main()
