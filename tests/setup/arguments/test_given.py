"""Data given as a value, and the copy that a run keeps of them."""

import numpy as np
import pandas as pd
import pytest

from fedkin import Experiment
from fedkin.core.errors import FedkinError
from fedkin.data.sources import load
from fedkin.setup.arguments.given import given_data


def test_a_frame_and_its_columns_are_one_table(tmp_path) -> None:
    frame = pd.DataFrame({"age": [31.5, 40], "site": ["a,b", "c"], "label": [1, 0]}, index=[7, 3])
    one, other = given_data(frame), given_data(dict(frame))
    assert one.content == other.content
    assert one.says == "<DataFrame: 2 rows, 3 columns>"
    assert not one.has_clients
    path = one.write(tmp_path)
    assert path == tmp_path / "given.csv"
    source = load(str(path), client="site")
    assert source.x.ravel().tolist() == [31.5, 40]
    assert source.client.tolist() == ["a,b", "c"]


def test_arrays_are_kept_as_they_are(tmp_path) -> None:
    x = np.arange(6, dtype=np.uint8).reshape(3, 2)
    given = given_data({"x": x, "y": [0, 1, 1], "client": ["u", "v", "u"]})
    assert given.has_clients
    assert given.says == "<arrays: x [3, 2], y [3], client [3]>"
    path = given.write(tmp_path)
    assert path == tmp_path / "given.npz"
    with np.load(path) as kept:
        assert kept["x"].dtype == np.uint8
        np.testing.assert_array_equal(kept["x"], x)
        assert kept["client"].tolist() == ["u", "v", "u"]


def test_parts_that_are_named_are_arrays() -> None:
    parts = {name: np.zeros(2) for name in ("x_train", "y_train", "x_test", "y_test")}
    assert given_data(parts).file == "given.npz"
    del parts["y_test"]
    assert given_data(parts).file == "given.csv"  # columns, then


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"a": [1, 2], "b": [1]}, "^data: columns do not fit together: "),
        (pd.DataFrame({"a": []}), "^data: the DataFrame has no rows$"),
        (7, "^data is a int: give a name, a path, a DataFrame"),
        ([1, 2], "^data is a list: give"),
        ({"x": np.array([{}, 1], dtype=object), "y": [0, 1]}, "the array 'x' holds objects"),
    ],
)
def test_what_is_no_table_is_refused(value, said) -> None:
    with pytest.raises(FedkinError, match=said):
        given_data(value)


@pytest.mark.parametrize(
    ("cell", "what"), [([1, 2], "lists"), ({1, 2}, "sets"), ({"a": 1}, "structs")]
)
def test_cells_that_hold_several_values_are_named(cell, what) -> None:
    frame = pd.DataFrame({"t": [cell, cell], "label": [0, 1]})
    with pytest.raises(FedkinError, match=rf"column 't' of the DataFrame holds {what}: .*drop"):
        given_data(frame)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("Client", "client"), ("clients", "client"), ("group", "client"), ("site", "client")],
)
def test_an_array_that_is_meant_for_the_clients_is_refused(name, meant) -> None:
    arrays = {"x": np.zeros((3, 2)), "y": [0, 1, 1], name: ["u", "v", "u"]}
    with pytest.raises(FedkinError, match=f"no array is called '{name}': did you mean '{meant}'"):
        given_data(arrays)
    assert given_data({**arrays, "client": [0, 1, 0]}).has_clients  # and it is kept beside them


def test_an_array_that_nothing_reads_is_told() -> None:
    arrays = {"x": np.zeros((3, 2)), "y": [0, 1, 1], "client": [0, 1, 0], "weight": np.ones(3)}
    with pytest.warns(UserWarning, match="array 'weight' is kept beside the samples"):
        Experiment("fedavg", data=arrays)
    assert given_data({key: arrays[key] for key in ("x", "y", "client")}).unread == ()


def test_arrays_that_go_for_columns_are_hinted_at() -> None:
    with pytest.raises(FedkinError, match=r"did you mean the array 'x' by 'X'\?"):
        given_data({"X": np.zeros((3, 2)), "y": [0, 1, 1]})
