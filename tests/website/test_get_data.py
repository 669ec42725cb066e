"""The scripts of docs/data.md make the benchmarks' files of what others publish."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedkin.data.sources import load
from tests.data.official_layouts import (
    ROLES,
    SUBJECTS,
    WRITERS,
    write_har,
    write_leaf_femnist,
    write_leaf_shakespeare,
)
from website.staging import ROOT


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The page's scripts, in their order, in a folder with what they read."""
    monkeypatch.chdir(tmp_path)
    write_har(Path("UCI HAR Dataset"))
    write_leaf_femnist(Path("leaf/femnist/data"))
    write_leaf_shakespeare(Path("leaf/shakespeare/data"))
    page = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    section = page.split("\n## Get the data\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def ran(code: str) -> dict[str, Any]:
    space: dict[str, Any] = {}
    exec(code, space)
    return space


def test_uci_har(scripts: list[str]) -> None:
    space = ran(scripts[0])
    source = load("har", "data")
    subjects = sorted(one for part in SUBJECTS.values() for one in part)
    assert source.x.shape == (len(subjects) * 24, 9, 128)
    assert source.client is not None
    assert source.client.tolist() == np.repeat(subjects, 24).tolist()
    assert source.y[:24].tolist() == [0] * 12 + [4] * 12
    assert source.truth["bout"].tolist() == np.repeat(np.arange(len(subjects) * 4), 6).tolist()
    signals = Path("UCI HAR Dataset/train/Inertial Signals")
    walked = np.loadtxt(signals / "total_acc_y_train.txt", dtype=np.float32)[30]
    subject_1_walking_first = source.x[0, 7]  # subject 3 stands first in the file
    assert space["SIGNALS"][7] == "total_acc_y"
    np.testing.assert_array_equal(subject_1_walking_first, walked)


def test_leafs_femnist(scripts: list[str]) -> None:
    ran(scripts[1])
    source = load("femnist", "data")
    direct = load("leaf/femnist/data/", shape=[1, 28, 28])
    np.testing.assert_array_equal(source.x, np.rint(direct.x * 255))
    for key in ("y", "client", "official_test"):
        np.testing.assert_array_equal(getattr(source, key), getattr(direct, key))
    assert source.x.dtype == np.uint8
    assert set(source.client) == set(WRITERS)  # type: ignore[arg-type]
    assert source.class_names[10] == "A"


def test_leafs_shakespeare(scripts: list[str]) -> None:
    Path("data").mkdir()
    ran(scripts[2])
    roles = json.loads(Path("data/shakespeare.json").read_text())
    assert list(roles) == list(ROLES)
    assert [len(speeches) for speeches in roles.values()] == [6, 6]
    source = load("shakespeare", "data")
    assert set(source.client) == set(ROLES)  # type: ignore[arg-type]
    direct = load("leaf/shakespeare/data/")
    assert direct.x.shape[1] == source.x.shape[1] == 80
