"""``fedkin data``: what there is to choose from."""

import io

import numpy as np
import pytest
from rich.console import Console

from fedkin.cli.listing.lists import data, show_data
from fedkin.data.named_sets import SOURCES
from fedkin.data.partitions.registry import PARTITIONS


@pytest.fixture
def folder(tmp_path):
    np.savez(tmp_path / "har.npz", x=np.zeros(1))
    np.savez(tmp_path / "mine.npz", x=np.zeros(1))
    np.savez(tmp_path / "femnist.npz", x=np.zeros(1))
    (tmp_path / "fashion_mnist").mkdir()
    for part in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
        (tmp_path / "fashion_mnist" / f"{part}-ubyte.gz").touch()
    return tmp_path


def by_name(found):
    return {one["name"]: one for one in found["data"]}


def test_what_is_there_is_said_to_be_where(folder) -> None:
    found = by_name(data(folder))
    assert list(found) == [*SOURCES, "mine"]
    assert found["har"]["where"] == str(folder / "har.npz")
    assert found["femnist_extra"]["where"] == str(folder / "femnist.npz")
    assert found["fashion_mnist"]["where"] == str(folder / "fashion_mnist")
    assert found["mine"]["summary"] == "A file of the data folder."
    assert found["digits"]["where"] == "comes with scikit-learn"
    assert found["linear_toy"]["where"] == "generated"


def test_what_is_not_there_says_what_to_put_where(folder) -> None:
    found = by_name(data(folder))
    assert found["mnist"] == {
        **found["mnist"],
        "present": False,
        "where": None,
        "missing": f"put mnist.npz or the four IDX files into {folder}",
    }
    assert found["cifar10"]["missing"] == (
        f"put cifar10.npz or the official binary files into {folder}"
    )
    (folder / "fashion_mnist" / "t10k-labels-idx1-ubyte.gz").unlink()
    assert "t10k-labels" in by_name(data(folder))["fashion_mnist"]["missing"]


def test_without_a_folder_one_is_asked_for(monkeypatch, tmp_path) -> None:
    monkeypatch.delenv("FEDKIN_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    found = data(None)
    assert found["folder"] is None
    assert by_name(found)["har"]["missing"] == "name a data folder that holds har.npz"
    assert by_name(found)["digits"]["present"]


def test_partitions_have_their_parameters_and_all_is_printed(folder) -> None:
    found = data(folder)
    splits = {one["name"]: one["parameters"] for one in found["partitions"]}
    assert splits.keys() == PARTITIONS.keys()
    assert "alpha" in splits["dirichlet"]
    out = io.StringIO()
    show_data(Console(file=out, width=200), found)
    text = out.getvalue()
    assert f"data folder: {folder}" in text
    assert all(name in text for name in (*splits, *by_name(found)))
    assert f"not found: put mnist.npz or the four IDX files into {folder}" in text
