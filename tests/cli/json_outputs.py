"""What every command with ``--json`` prints, of small work; ``python -m tests.cli.json_outputs``
writes their schemas (website/json_output.json).
"""

import csv
import io
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import tomli_w

from fedkin.bench.row import ROWS, read_rows
from fedkin.core.files import write_file
from fedkin.reproduce.claim import read_claims, rows_of
from fedkin.reproduce.finished_rows import CLAIMS, FinishedRun, read_csv, text_of
from fedkin.reproduce.from_files.kept_verdicts import REASONS
from fedkin.reproduce.row_spec import spec_of
from fedkin.reproduce.same_settings import digest_of
from tests.bench.tiny import CONTENT
from tests.cli.command import fedkin
from tests.export.clinics import write_clinics
from tests.reproduce.claim_examples import ONE
from website.json_page import FILE
from website.json_schema import of

TRAINING = ["--rounds", "1", "--engine", "inprocess", "--set", "train.steps=2"]
CHANGES = {  # of every row that is reproduced
    "run.rounds": 2,
    "engine.name": "inprocess",
    "data.clients": 4,
    "run.evaluate_every": 1,
}
SHORT = ["--set", "run.rounds=1", "--set", "engine.name=inprocess", "--set", "train.steps=2"]


def typed(folder: Path) -> dict[str, list[list[object]]]:
    """The commands, each with what is typed after it, in the order in which they can be done."""
    table = write_clinics(folder / "patients.csv", clinics=4)
    data = ["--data", f"{table}:client=hospital,label=outcome"]
    one, two, numbers = folder / "one", folder / "two", folder / "numbers"
    left = ["--holdout-clients", "0.25"]
    # under another seed: what is told over seeds
    again = [folder / f"{name}-again" for name in ("one", "two", "numbers")]
    toy = ["--data", "linear_toy", "--split", "natural", "--method", "fedavg", *TRAINING]
    return {
        "run": [
            [*data, "--method", "local", *TRAINING, *left, "--out", one],
            [*data, "--method", "fedavg", *TRAINING, *left, "--out", two],
            [*data, "--method", "local", *TRAINING, *left, "--seed", "1", "--out", again[0]],
            [*data, "--method", "fedavg", *TRAINING, *left, "--seed", "1", "--out", again[1]],
            [*toy, "--out", numbers],
            [*toy, "--seed", "1", "--out", again[2]],
        ],
        "show": [[one], [two], [numbers]],
        "compare": [[one, two, *again[:2]], [one, two], [numbers, again[2]], [numbers]],
        "report": [[one]],
        "methods": [[], ["fedavg"]],
        "methods --certificate": [[], ["comet"]],
        "methods local --check": [[]],
        "data": [[], ["--data-dir", folder]],
        "data check": [[data[1]]],
        "doctor": [[*data, "--rounds", "0"]],
        "explain FED-301": [[]],
        "explain": [[]],
        "export": [[one, "--client", "H02", "--format", "pt2"], [two, "--view", "global"]],
        "predict": [[one, "--client", "H02", "--data", table]],
        "join": [[two, "--client", "H01"]],
        "audit": [[one]],
        "reproduce --list": [[]],
        "sweep": [
            [*data, "--method", "fedavg", *SHORT, "--space", "train.lr=0.1", "--out", folder / "s"]
        ],
        "bench list": [[]],
        **reproduced(folder / "reproduction"),
        **benched(folder / "suite.toml", folder / "bench"),
    }


def reproduced(out: Path) -> dict[str, list[list[object]]]:
    """A figure in closed form, one that trains, and claims that were made up."""
    quick = [f"--set={key}={value}" for key, value in CHANGES.items()]
    two = [*quick, "--seeds", "2", "--rows", "N2", "--out", out]
    claims = [*quick, "--seeds=1", "--out", out / "claims"]
    told = [*quick, "--seeds=1", "--out", out / "told", "--finished", "--from"]
    return {
        "reproduce": [
            ["comet-figure-2", "--out", out],
            ["ppfl-figure-8", *two],
            ["ppfl-figure-8", *two, "--finished"],
            ["ppfl-figure-8", "--finished", "--out", out / "empty"],
        ],
        "reproduce claims": [
            [*claims, "--finished"],
            [*claims, "--rows", "N2,slow"],
            [*told, lambda: kept(out / "claims")],
        ],
        "reproduce claims --dry-run": [claims],
    }


def kept(folder: Path) -> Path:
    """A folder of verdicts, now with a reason why a row was not run, and with finished rows at the
    papers' own scale.
    """
    columns, lines = read_csv(folder / CLAIMS)
    lines[0][REASONS] = "its data are not here"
    table = io.StringIO()
    writer = csv.DictWriter(table, columns)
    writer.writeheader()
    writer.writerows(lines)
    write_file(folder / CLAIMS, table.getvalue().encode())
    rows = rows_of(read_claims("p", ONE), "full")
    runs = [
        FinishedRun(
            name, 0, {"scalars": 8.0}, 1.0, digest_of(spec_of(rows[name], 0, CHANGES)), "f", "0"
        )
        for name in ("slow", "ppfl-f8-N2")
    ]
    write_file(folder / "rows.csv", text_of(runs).encode())
    return folder


def benched(suite: Path, out: Path) -> dict[str, list[list[object]]]:
    """The suite of tests/bench, typed."""
    write_file(suite, tomli_w.dumps(CONTENT).encode())
    least = [suite, "--trust-code", "--workers", "1", "--out", out]

    def a_row() -> str:
        return next(row.id for row in read_rows(out / ROWS) if row.method == "fedavg")

    return {
        "bench run": [least],
        "bench verify": [[a_row, "--rows", out / ROWS, "--trust-code"]],
    }


def printed(command: str, more: Iterable[object]) -> Any:
    """Pure JSON, and nothing else, on standard output; whatever data this machine has."""
    words = [one() if callable(one) else one for one in more]
    with patch.dict(os.environ), patch("fedkin.reproduce.claim._texts", lambda: {"p": ONE}):
        os.environ.pop("FEDKIN_DATA", None)
        done = fedkin(*command.split(), *words, "--json")
    assert done.exit_code in (0, 1), (command, done.output)
    return json.loads(done.stdout)


def outputs(folder: Path) -> dict[str, list[Any]]:
    """Every command's outputs."""
    return {
        command: [printed(command, more) for more in asked]
        for command, asked in typed(folder).items()
    }


def deployed(folder: Path) -> Iterator[Any]:
    """What ``deploy join`` prints, from nodes in this process; needs the extra flower.
    tests/flower/test_newcomer.py holds them against the schema.
    """
    from fedkin.flower import newcomer
    from tests.flower.test_newcomer import site

    for method in ("comet", "cgpfl", "ppfl"):
        own = folder / f"site-{method}"
        own.mkdir()
        fleet, _ = site(own, method)
        for rounds in (None, 1):
            yield newcomer.serve(fleet.grid, fleet.folder, fleet.out, "late", rounds)


def states(folder: Path) -> Iterator[Any]:
    """What ``deploy status`` prints, before a run and in one, of a SuperLink that the test plays;
    needs the extra flower. tests/flower/operator/test_status.py holds it against the schema.
    """
    from fedkin.flower.config import SUBMITTED
    from fedkin.flower.operator import command_line
    from fedkin.flower.operator.earlier_costs import costs_of_runs
    from fedkin.flower.operator.site import init
    from fedkin.flower.operator.status import status
    from fedkin.runs.database import create
    from fedkin.runs.directory import RECORD
    from tests.engine.small import small

    site = init(folder / "site", small("fedavg", run__clients=2), ("a", "b"), "127.0.0.1:9092")
    answers: dict[str, Any] = {"nodes": [], "runs": [{"status": "running"}]}
    with patch.object(command_line.CommandLine, "ask", lambda *_: answers):
        yield status(site, costs_of_runs(site))
        write_file(site / SUBMITTED, json.dumps({"run": "1", "flower": "12"}).encode())
        yield status(site, costs_of_runs(site))
        (site / "runs" / "1").mkdir(parents=True)
        noise = {"epsilon": 2.5, "delta": 1e-5, "noise": 2.0, "rounds": 3}
        create(site / "runs" / "1" / RECORD, {"privacy": noise, "finished": False}).close()
        yield status(site, costs_of_runs(site))


def looks(folder: Path) -> Iterator[Any]:
    """What ``deploy check`` prints, of a table, of arrays and in a rehearsal; needs the extra
    flower. tests/flower/node/test_checked.py holds it against the schema.
    """
    import numpy as np

    from fedkin.flower.node.checked import checked
    from tests.engine.small import small
    from tests.flower.node.host_examples import made

    node = folder / "node"
    node.mkdir()
    write_file(node / "data.csv", b"age,label,split\n61,0,train\n40,1,train\n35,1,val\n")
    np.savez(node / "data.npz", x_train=np.zeros((4, 8, 8, 3)), y_train=np.arange(4) / 2)
    for data in ("data.csv", "data.npz", None):
        made(node, small("ditto"), data=data)
        yield checked(node)


def preparations(folder: Path) -> Iterator[Any]:
    """What ``deploy prepare`` prints, with and without unknown words and notes; needs the extra
    flower. tests/flower/table/test_prepare.py holds it against the schema.
    """
    from fedkin.flower.table.prepare import prepare
    from tests.flower.table.tables import node, raw

    at = node(folder / "prepared")
    raw().to_csv(at / "raw.csv", index=False)
    raw().drop(columns="note").assign(ward="lung", smoker="no").to_csv(at / "b.csv", index=False)
    yield prepare(at, at / "raw.csv", at / "columns.toml")
    yield prepare(at, at / "b.csv", at / "columns.toml", replace=True)


def as_written(found: Any) -> str:
    """Schemas as the file has them."""
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = {command: of(printed) for command, printed in outputs(Path(folder)).items()}
        found["deploy check"] = of(list(looks(Path(folder))))
        found["deploy prepare"] = of(list(preparations(Path(folder))))
        found["deploy join"] = of(list(deployed(Path(folder))))
        found["deploy status"] = of(list(states(Path(folder))))
    FILE.write_text(as_written(found), encoding="utf-8")


if __name__ == "__main__":
    main()
