"""Running statistics stay at home: what the server handles has empty tensors in their places.

Whole federations with them: tests/laws/test_buffers.py.
"""

import pytest
import torch
from torch import nn

from fedkin.core.errors import FedkinError
from fedkin.core.model import from_module
from fedkin.core.tree import BUFFER
from fedkin.methods import make
from fedkin.transforms.local_batch_norm import emptied, filled, found, keep_batch_norm_local

MEAN, VAR = BUFFER + "1.running_mean", BUFFER + "1.running_var"


class Data:
    model = from_module("net", nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)))


INITIAL = Data.model.initial


def test_statistics_leave_empty_places_and_everything_else_is_the_same_object() -> None:
    stack = {MEAN: torch.ones(4, 3), "0.bias": torch.ones(4, 3)}
    tree = {"parameters": INITIAL, "all": {"stack": stack, "n": 7}}
    gone = emptied(tree, INITIAL)
    assert gone["parameters"][MEAN].shape == (0,)
    assert gone["all"]["stack"][MEAN].shape == (4, 0)
    assert gone["parameters"]["0.weight"] is INITIAL["0.weight"]
    assert gone["all"]["stack"]["0.bias"] is stack["0.bias"]
    assert gone["all"]["n"] == 7
    assert INITIAL[MEAN].shape == (3,)


def test_statistics_are_found_by_their_paths() -> None:
    seen = found({"parameters": INITIAL, "other": {"deep": {VAR: torch.tensor([4.0])}}})
    assert seen.keys() == {f"parameters/{MEAN}", f"parameters/{VAR}", f"other/deep/{VAR}"}
    assert seen[f"other/deep/{VAR}"].tolist() == [4]


def test_a_message_gets_the_clients_own_back() -> None:
    own = {"statistics": {f"parameters/{MEAN}": torch.tensor([1.0, 2.0, 3.0])}}
    message = {"parameters": emptied(INITIAL, INITIAL), "teacher": {MEAN: torch.empty(0)}}
    got = filled(message, own, Data())
    assert got["parameters"][MEAN].tolist() == [1, 2, 3]
    assert got["teacher"][MEAN].tolist() == [1, 2, 3]  # sent from elsewhere, of that name
    assert got["parameters"][VAR].tolist() == [1, 1, 1]  # the initial one
    got["parameters"][MEAN].zero_()
    assert own["statistics"][f"parameters/{MEAN}"].tolist() == [1, 2, 3]  # a copy


def test_a_servers_models_have_no_statistics() -> None:
    runs = make("feddf", {}, {"lr": 0.1})
    with pytest.raises(FedkinError, match="choose 'global' or 'drop'"):
        keep_batch_norm_local(runs)
