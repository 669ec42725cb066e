"""What every command with ``--json`` prints, of small work; ``python -m tests.cli.json_outputs``
writes their schemas (website/json_output.json).
"""

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.cli.command import fedkin
from tests.export.clinics import write_clinics
from website.json_page import FILE
from website.json_schema import of

TRAINING = ["--rounds", "1", "--engine", "inprocess", "--set", "train.steps=2"]
SHORT = ["--set", "run.rounds=1", "--set", "engine.name=inprocess", "--set", "train.steps=2"]


def typed(folder: Path) -> dict[str, list[list[object]]]:
    """The commands, each with what is typed after it, in the order in which they can be done."""
    table = write_clinics(folder / "patients.csv", clinics=4)
    data = ["--data", f"{table}:client=hospital,label=outcome"]
    one, two, numbers = folder / "one", folder / "two", folder / "numbers"
    left = ["--holdout-clients", "0.25"]
    return {
        "run": [
            [*data, "--method", "local", *TRAINING, *left, "--out", one],
            [*data, "--method", "fedavg", *TRAINING, *left, "--out", two],
            [
                "--data",
                "linear_toy",
                "--split",
                "natural",
                "--method",
                "fedavg",
                *TRAINING,
                "--out",
                numbers,
            ],
        ],
        "show": [[one], [two], [numbers]],
        "compare": [[one, two], [numbers]],
        "report": [[one]],
        "methods": [[], ["fedavg"]],
        "methods --certificate": [[], ["comet"]],
        "data": [[]],
        "data check": [[data[1]]],
        "doctor": [[*data, "--rounds", "0"]],
        "explain FED-301": [[]],
        "explain": [[]],
        "export": [[one, "--client", "H02", "--format", "pt2"]],
        "predict": [[one, "--client", "H02", "--data", table]],
        "join": [[two, "--client", "H01"]],
        "audit": [[one]],
        "reproduce --list": [[]],
        "sweep": [
            [*data, "--method", "fedavg", *SHORT, "--space", "train.lr=0.1", "--out", folder / "s"]
        ],
        "bench list": [[]],
    }


def printed(command: str, more: Iterable[object]) -> Any:
    """Pure JSON, and nothing else, on standard output."""
    done = fedkin(*command.split(), *more, "--json")
    assert done.exit_code in (0, 1), (command, done.output)
    return json.loads(done.stdout)


def outputs(folder: Path) -> dict[str, list[Any]]:
    """Every command's outputs."""
    return {
        command: [printed(command, more) for more in asked]
        for command, asked in typed(folder).items()
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = {command: of(printed) for command, printed in outputs(Path(folder)).items()}
    FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
