"""clients.csv: every client of a run that has more of them than its page shows."""

import csv
import io
from collections.abc import Mapping

from fedkin.core.escaping import cell
from fedkin.report.matrix import Matrix
from fedkin.report.records import Run
from fedkin.report.words.deployed import in_a_word

NAME = "clients.csv"
HEAD = ("client", "number", "model", "train", "val", "test")


def client_rows(
    run: Run, measure: str, matrices: Mapping[str, Matrix], shares: Mapping[str, float]
) -> str:
    """A line a client: who it is, its data, its final score in each view, and of a safe run which
    model it deploys. No name is a formula for the spreadsheet that opens it.

    Args:
        run: An open run.
        measure: The run's measure.
        matrices: {view: scores}.
        shares: client's name → the share in 0..1 of the federated model in what it deploys; {}
            where the run is not safe.

    Returns:
        CSV with a head line.
    """
    finals = {view: matrix.row(-1) for view, matrix in matrices.items()}
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    deploys = ["deploys"] if shares else []
    table.writerow([*HEAD, *(cell(f"{view} {measure}") for view in finals), *deploys])
    for k, client in run.clients.items():
        known = [client.train, client.val, client.test]
        scores = ["" if (v := final.get(k)) is None else f"{v:.9g}" for final in finals.values()]
        share = shares.get(client.name)
        word = ["" if share is None else in_a_word(share)] if shares else []
        table.writerow([cell(client.name), k, cell(client.architecture), *known, *scores, *word])
    return out.getvalue()
