"""Traps of a specification."""

import pytest
from torch import nn

from fedkin.doctor.traps import traps_of
from fedkin.experiment.run import experiment
from fedkin.setup.build import assemble
from tests.doctor.diagnosis_examples import QUICK


class EndsInSoftmax(nn.Sequential):
    """A module whose author put the softmax in."""

    def __init__(self, classes: int) -> None:
        super().__init__(nn.Flatten(), nn.Linear(64, classes), nn.Softmax(1))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"method__name": "ifca", "method__clusters": 6}, "groups will be empty"),
        ({"train__batch_size": 2000}, "fewer training samples than a batch"),
        ({"split__val": 0.0, "split__train": 0.8}, "no validation samples"),
        ({"run__participation": 0.25, "run__rounds": 4}, "1.0 rounds on average"),
        ({"model__name": "tests.parity.normed:Normed"}, "batch norm"),
        ({"model__name": f"{__name__}:EndsInSoftmax"}, "softmax"),
    ],
)
def test_traps_are_told(changes: dict[str, object], said: str) -> None:
    calm = {**QUICK, "run__rounds": 30, "train__batch_size": 10}
    assert any(said in trap for trap in traps_of(assemble(experiment(**{**calm, **changes}))))
    assert not any(said in trap for trap in traps_of(assemble(experiment(**calm))))


def test_advice_that_can_be_followed() -> None:
    full = traps_of(assemble(experiment(**{**QUICK, "run__participation": 1.0})))
    assert [trap for trap in full if "rounds on average" in trap] == [
        "a client takes part in 4.0 rounds on average: ask for more rounds"
    ]
    part = traps_of(assemble(experiment(**{**QUICK, "run__participation": 0.25})))
    assert any("ask for more rounds, or a larger run.participation" in trap for trap in part)
