"""The table of all clients of a comparison: a column a run, searched, sorted and downloaded."""

from collections.abc import Mapping, Sequence
from typing import Any

from fedkin.report import formatting
from fedkin.report.comparison.run_row import ComparedRun
from fedkin.report.page.tables import search_bar, section, table
from fedkin.report.records import evenly, opened

RUNS, MOST = 12, 5000  # columns, rows


def client_scores(seen: Sequence[ComparedRun], baseline: str) -> str:
    """Final personal test scores, client by client; "" without two runs of the same clients.

    Args:
        seen: The runs, as they were looked at.
        baseline: The method or the name of the run that stands first.

    Returns:
        HTML, or "".
    """
    whole = [one for one in seen if one.finished and one.personal]
    first = next((one for one in whole if baseline in (one.name, one.row["method"])), None)
    if first is None:
        return ""
    others = [one for one in whole if one is not first and one.same_data(first)]
    same = [first, *(one for one in others if one.row["seed"] == first.row["seed"])][:RUNS]
    if len(same) < 2:
        return ""
    clients = sorted(set.union(*(set(one.personal) for one in same)))
    names = _names(first)
    shown = evenly(clients, MOST)
    rows = [
        [names.get(k, str(k)), *(_cell(first.measure, one.personal.get(k)) for one in same)]
        for k in shown
    ]
    head = [("client", ""), *((one.name, "n") for one in same)]
    note = (
        f"Final test {formatting.label(first.measure)} of personal models; "
        "finished runs of the same data and seed. Choose a heading to sort."
    )
    if len(shown) < len(clients):
        note += f" {len(shown):,} of {len(clients):,} clients are shown, evenly spaced."
    if len(others) + 1 > len(same):
        note += f" {len(same)} of {len(others) + 1} runs are shown."
    content = table(head, rows, marks=[""] * len(rows))
    above = search_bar("clients")
    return section("each", "The clients", note, content, tall=True, above=above, beside=True)


def _names(one: ComparedRun) -> Mapping[int, str]:
    if one.folder is None:
        return {}
    with opened(one.folder) as run:
        return {k: client.name for k, client in run.clients.items()}


def _cell(measure: str, value: float | None) -> Any:
    return (formatting.NONE, None) if value is None else (formatting.value(measure, value), value)
