"""What is said, before and after a run, of clients whose model cannot learn from one sample."""

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from torch import Tensor, nn

from fedkin import Experiment
from fedkin.core.errors import FedkinError
from fedkin.experiment.missing_clients import mostly_missing
from fedkin.runs.database import create, read_only
from fedkin.runs.record import Record
from fedkin.runs.recorder import Recorder


class Normalized(nn.Module):
    """A linear layer, batch norm, a head."""

    def __init__(self, shape: tuple[int, ...], classes: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(shape[0], 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, classes)
        )

    def forward(self, x: Tensor) -> Any:
        return self.layers(x)


def table() -> pd.DataFrame:
    """Three clients of 40 rows, and one of three: one for each split."""
    rng = np.random.default_rng(0)
    who = np.repeat(["a", "b", "c", "tiny"], [40, 40, 40, 3])
    x = rng.normal(size=(len(who), 3))
    return pd.DataFrame({"p": x[:, 0], "q": x[:, 1], "r": x[:, 2], "y": x[:, 0] > 0, "who": who})


def experiment(**changes: Any) -> Experiment:
    asked = {"data.client": "who", "data.label": "y", "train.batch_size": 8, **changes}
    return Experiment("fedavg", data=table(), model=Normalized, rounds=2, **asked)


def test_a_client_that_fails_in_every_round_is_in_the_warnings(tmp_path: Path) -> None:
    result = experiment(**{"run.out": str(tmp_path / "run")}).run()
    (one,) = [said for said in result.summary["warnings"] if "failed in every round" in said]
    assert one.startswith("1 client failed in every round: tiny; ")
    plain = Experiment(
        "fedavg",
        data=table(),
        rounds=2,
        **{"data.client": "who", "data.label": "y", "run.out": str(tmp_path / "mlr")},
    ).run()
    assert not [said for said in plain.summary["warnings"] if "failed" in said]


def test_batches_of_one_sample_are_refused_where_the_model_normalizes_over_them(
    tmp_path: Path,
) -> None:
    asked = experiment(**{"train.batch_size": 1, "run.out": str(tmp_path / "run")})
    with pytest.raises(FedkinError, match=r"train\.batch_size is 1, and model .*Normalized"):
        asked.run()


def test_a_client_with_one_sample_is_told_of_before_the_first_round_and_at_the_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[list[str]] = []  # before each record

    def progress(_: Record) -> None:
        told.append([one for one in caplog.messages if "one training sample" in one])

    experiment(**{"run.out": str(tmp_path / "run")}).run(progress=progress)
    assert told[0] == told[-1]
    assert [one.startswith("note: 1 client with one training sample (tiny") for one in told[0]] == [
        True
    ]
    with read_only(tmp_path / "run") as database:
        said = database.facts()["said"]
    (one,) = [sentence for sentence in said if "one training sample" in sentence]
    assert "(tiny the first)" in one


def record(folder: Path, missing: dict[int, list[int]]) -> list[str]:
    """What is said of three rounds of four clients. missing: round → who was."""
    with contextlib.closing(create(folder / "run.db", {})) as database:
        for number in range(1, 4):
            why = dict.fromkeys(missing.get(number, []), "its node is not connected")
            one = Record(number, "round", [0, 1, 2, 3], [], why, {}, {}, {}, {})
            Recorder(folder, database, lambda *_: [], 0).add(one)
        return mostly_missing(database)


def test_a_run_that_mostly_lacked_most_clients_says_so(tmp_path: Path) -> None:
    for number, missing in enumerate(
        ({}, {1: [0, 1, 2]}, {1: [0, 1], 2: [0, 1], 3: [0, 1]}, {1: [0, 1, 2], 3: [1, 2, 3]})
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        said = record(folder, missing)
        assert bool(said) is (number == 3)
    assert said[0].startswith("in 2 of 3 rounds most of the clients that were asked were missing")
