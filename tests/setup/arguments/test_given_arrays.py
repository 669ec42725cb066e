"""Arrays that Python callers give under names that nothing reads."""

import numpy as np
import pytest

from fedkin import Experiment
from fedkin.core.errors import FedkinError
from fedkin.setup.arguments.given import given_data


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
