"""The table of all clients: searched, sorted, chosen from and downloaded."""

from collections.abc import Mapping
from typing import Any

from fedkin.report import formatting
from fedkin.report.intervals import of_share
from fedkin.report.matrix import Matrix
from fedkin.report.page.clinical import case_of
from fedkin.report.page.gain import Gain
from fedkin.report.page.lead import signed
from fedkin.report.page.tables import search_bar, section, table
from fedkin.report.records import Client, Run, evenly
from fedkin.report.scores import measures
from fedkin.report.words.deployed import CHANCE, SHARE, by_client

CELL = 12  # numbers
MOST = 5000  # rows
CLINICAL = ("sensitivity", "specificity", "ece")


def client_table(
    run: Run,
    summary: Mapping[str, Any],
    what: str,
    matrices: Mapping[str, Matrix],
    gain: Gain | None,
    panel_words: str,
) -> str:
    """One row a client: final scores, gain, data, and the method's last metrics of it.

    Args:
        run: An open run.
        summary: Its ``summary``.
        what: The run's measure.
        matrices: {view: scores}.
        gain: On a baseline; None: there is none.
        panel_words: Who the clients are, where not all are shown.

    Returns:
        HTML.
    """
    named_values = _named_values(summary, len(run.clients))
    numbers = _numbers(run, what, matrices, gain)
    head = [("client", ""), *((name, "n") for name in numbers)]
    head += [("test", "n"), ("train", "n"), ("val", "n"), *_cases(run), ("model", "")]
    head += [(name, "long") for name in named_values]
    rows, names = [], []
    shown = evenly(list(run.clients.items()), MOST)
    for k, client in shown:
        extras = [
            formatting.plain(values[client.name]) if client.name in values else ""
            for values in named_values.values()
        ]
        cells = [cells.get(k, (formatting.NONE, None)) for cells in numbers.values()]
        sizes = [client.test, client.train, client.val]
        cases = [client.histogram[1] if len(client.histogram) == 2 else 0 for _ in _cases(run)]
        rows.append([client.name, *cells, *sizes, *cases, client.architecture, *extras])
        names.append(client.name)
    note = "Choose a client to see it in the charts; choose a heading to sort."
    if len(shown) < len(run.clients):
        note += f" {len(shown):,} of {len(run.clients):,} clients are shown, evenly spaced."
    note += (
        f" {panel_words}; every client is in clients.csv, beside this page." if panel_words else ""
    )
    federation = [
        f"{name} = {formatting.plain(v['federation'])}"
        for name, v in summary["extras"].items()
        if "federation" in v
    ]
    note += f" Of the federation: {'; '.join(federation)}." if federation else ""
    content, above = table(head, rows, names), search_bar("clients")
    return section("table", "The clients", note, content, tall=True, above=above, beside=True)


def _named_values(summary: Mapping[str, Any], clients: int) -> dict[str, Mapping[str, Any]]:
    """{heading: {client's name: value}} of what the method says of clients; of a run that is safe
    what each deploys, in words.
    """
    columns = {name: by for name, by in summary["extras"].items() if _short(by, clients)}
    deploys = by_client(summary)
    if deploys:
        columns = {name: by for name, by in columns.items() if name not in (SHARE, CHANCE)}
        columns["deploys"] = deploys
    return columns


def _cases(run: Run) -> list[tuple[str, str]]:
    """The heading of how many cases a client trained on, where there are two classes."""
    case = case_of(run)
    return [(f"train “{case}”", "n")] if case else []


Cells = dict[int, tuple[str, float | None]]  # client: (text, what to sort by)


def _numbers(
    run: Run, what: str, matrices: Mapping[str, Matrix], gain: Gain | None
) -> dict[str, Cells]:
    """{heading: cells} of what is measured."""
    columns: dict[str, Cells] = {}
    for view, matrix in matrices.items():
        final = matrix.row(-1)
        heading = f"{view} {formatting.label(what)}"
        columns[heading] = {k: (formatting.value(what, v), v) for k, v in final.items()}
        if view == "personal" and what == "accuracy":
            columns["95% interval"] = _intervals(run.clients, final)
    if gain is not None:
        each = gain.by_client.items()
        columns[f"gain on {gain.name}"] = {k: (signed(what, v), v) for k, v in each}
    if matrices:
        view, matrix = next(iter(matrices.items()))
        by_name = measures(run, matrix.rounds[-1], view)
        for name in CLINICAL:
            known = {k: v for k, v in by_name.get(name, {}).items() if v is not None}
            if known and name != what:
                cells: Cells = {k: (formatting.value(name, v), v) for k, v in known.items()}
                columns[formatting.label(name)] = cells
    return columns


def _intervals(clients: Mapping[int, Client], final: Mapping[int, float]) -> Cells:
    """How sure each client's accuracy is, by its test samples; sorted by width."""
    cells: Cells = {}
    for k, value in final.items():
        if k in clients and clients[k].test:
            low, high = of_share(value, clients[k].test)
            cells[k] = (formatting.interval("accuracy", (low, high)), high - low)
    return cells


def _short(values: Mapping[str, Any], clients: int) -> bool:
    """Whether a note is of clients, and fits a cell of the table: a weight for every other client
    does not.
    """
    longest = max((len(value) for value in values.values() if isinstance(value, list)), default=0)
    if set(values) == {"federation"} or any(isinstance(value, dict) for value in values.values()):
        return False
    return longest <= CELL and longest != clients
