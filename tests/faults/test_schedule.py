"""The schedule of random kills: a few in the suite, all of it in the nightly (scripts/kills)."""

import importlib.util
from collections import Counter

import pytest

from tests.engine.small import METHODS
from tests.faults import schedule
from tests.faults.schedule import WAYS, Kill, carried_out

deployed = pytest.mark.skipif(
    not (importlib.util.find_spec("flwr") and importlib.util.find_spec("ray")),
    reason="needs the extras flower and ray",
)
HERE = [
    Kill(3, way, "ditto", 0) for way in ("the coordinator of two workers", "one of two workers")
]
FLOWER = [
    Kill(3, "a node of a deployment", "ditto", 0),
    Kill(3, "a deployment's server", "ditto", 0),
    # at its introduction: its histogram is missing, as in one process that has no answer of it
    Kill(372, "a node of a deployment", "ppfl", 0),
]


@pytest.mark.rotating
@pytest.mark.parametrize("kill", [*HERE, *(pytest.param(one, marks=deployed) for one in FLOWER)])
def test_some_random_kills(kill: Kill) -> None:
    carried_out(kill)


@pytest.mark.slow
def test_five_hundred_random_kills() -> None:
    pytest.importorskip("ray")
    pytest.importorskip("flwr")
    assert schedule.main(15 * len(METHODS), seed=0) == 0


def test_every_method_meets_every_way() -> None:
    found = schedule.schedule(15 * len(METHODS), seed=0)
    met = Counter((kill.method, kill.way) for kill in found)
    for method in METHODS:
        for way in WAYS:
            if method not in schedule.POOLED or "deployment" not in way:
                assert met[method, way] > 0, (method, way)


def test_a_run_that_comes_to_something_else_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    expected, steps, seconds = schedule.plain("fedavg")
    other = {**expected, "fingerprint": "another"}
    monkeypatch.setattr(schedule, "plain", lambda method: (other, steps, seconds))
    with pytest.raises(AssertionError, match="something else"):
        carried_out(Kill(0, "at a step, states in memory", "fedavg", 0))
