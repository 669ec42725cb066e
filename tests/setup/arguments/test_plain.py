"""Values of numpy, torch and pathlib in an experiment, and what no file holds."""

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fedkin import Experiment, FedkinError
from fedkin.setup.arguments.plain import plain


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.str_("a"), "a"),
        (np.array([[1, 2]]), [[1, 2]]),
        (torch.tensor(2), 2),
        ({"a": (np.int8(1), Path("b"))}, {"a": [1, "b"]}),
        ({"y", "x"}, ["x", "y"]),
        (datetime.date(2020, 1, 2), "2020-01-02"),
        (None, None),
    ],
)
def test_a_value_is_a_plain_one(value: Any, expected: Any) -> None:
    made = plain("key", value)
    assert made == expected
    assert type(made) is type(expected)


def test_an_experiment_takes_them_and_is_written_and_read_again(tmp_path: Path) -> None:
    made = Experiment(
        "cgpfl",
        data_dir=tmp_path,
        out=tmp_path / "run",
        split={"name": "label_groups", "groups": np.array([3, 3, 2, 2])},
        **{"method.clusters": np.int64(2), "public.source": Path("mine.csv")},
    )
    file = made.write(tmp_path / "mine.toml")
    assert Experiment.read(file).spec == made.spec
    changed = Experiment.read(
        file, out=tmp_path / "b", seed=np.int64(2), split={"groups": np.array([5, 5])}
    )
    assert changed.spec.run.out == str(tmp_path / "b")
    assert (changed.spec.run.seed, changed.spec.split.options) == (2, {"groups": [5, 5]})


@pytest.mark.parametrize("value", [object(), 1j, b"a", [print]])
def test_what_no_file_holds_is_refused(tmp_path: Path, value: Any) -> None:
    with pytest.raises(FedkinError, match=r"^method__x=… holds a .*: give a number, a text, or a"):
        Experiment("local", method__x=value)
    file = Experiment("local").write(tmp_path / "mine.toml")
    with pytest.raises(FedkinError, match=r"^method__x=… holds a .*: give a number, a text, or a"):
        Experiment.read(file, method__x=value)
