"""What travels between server and nodes: measures among it."""

import json
import math
from typing import get_args

import pytest

from fedkin.core.measures import ASIDE, MEASURES
from fedkin.flower.envelope import Measure, NodeReply, Refused, opened, sealed

pytest.importorskip("flwr")


REPLY = NodeReply(version="1", experiment="", run="", name="c0").model_dump_json()


STEP = '"steps":[{"op":"evaluate_all","round":3,"measures":%s}]'


@pytest.mark.parametrize(
    ("measures", "reason"),
    [
        ('{"personal": {"test": {"rmse": -1.0}}}', "rmse is never -1"),
        ('{"personal": {"test": {"auc": 1.5}}}', "auc is never 1.5"),
        ('{"personal": {"test": {"secret": 1.0}}}', "'rmse', 'mae'"),
        ('{"personal": {"mine": {"rmse": 1.0}}}', "'train', 'val' or 'test'"),
        ('{"personal": {"test": {"rmse": "<b>"}}}', "valid number"),
        ('{"personal": {"test": {"rmse": null}}}', "valid number"),
        (json.dumps({"x" * 65: {}}), "match pattern"),
        (json.dumps({"\x1b[31mred": {}}), "match pattern"),
        (json.dumps({k: {} for k in range(17)}), "at most 16 items"),
    ],
)
def test_what_measures_cannot_be_is_refused(measures, reason):
    with pytest.raises(Refused, match=reason):
        opened(NodeReply, with_measures(measures))


def test_a_model_that_diverged_has_measures_that_are_no_numbers():
    reply = opened(
        NodeReply, with_measures('{"personal": {"test": {"rmse": NaN, "mae": Infinity}}}')
    )
    (found,) = (
        step.measures["personal"]["test"] for step in opened(NodeReply, sealed(reply)).steps
    )
    assert math.isnan(found["rmse"])
    assert found["mae"] == math.inf


def with_measures(text: str) -> bytes:
    return REPLY.replace('"steps":[]', STEP % text).encode()


def test_names_are_those_that_are_told():
    names = [name for part in get_args(Measure) for name in get_args(part)]
    assert names == [*MEASURES, *ASIDE]
