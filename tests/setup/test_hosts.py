"""The hosts of a run: what they take over, and what a worker is sent."""

import json
import math

from fedkin.methods import user_methods as methods
from fedkin.methods.user_methods import allow
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from fedkin.setup.hosts import host_from_setup, partial_sums_of, replays_of, setup_of
from tests.engine.small import content


def spec(method="fedavg", **settings):
    return parse(content(method, **settings))[0]


PARTS = assemble(spec())


def test_steps_of_a_whole_run_are_counted() -> None:
    share = math.ceil(0.6 * 6) / 6
    assert replays_of(PARTS) == round(3 * share * 4 * 6)
    epochs = assemble(spec(train__epochs=2, train__steps=None))
    batches = sum(math.ceil(info.samples / 16) for info in epochs.infos.values())
    assert replays_of(epochs) == round(3 * share * 2 * batches)
    pooled = assemble(spec("centralized", train__epochs=1, train__steps=None))
    batches = sum(math.ceil(info.samples / 16) for info in pooled.infos.values())
    assert replays_of(pooled) == 3 * batches  # over everybody's samples


def test_messages_stay_where_a_sum_is_enough(tmp_path) -> None:
    assert partial_sums_of(PARTS, tmp_path) is not None
    assert partial_sums_of(assemble(spec("comet")), tmp_path) is None
    masked = PARTS._replace(federation=PARTS.federation._replace(threshold=5))
    assert partial_sums_of(masked, tmp_path) is None


def test_a_worker_is_sent_names_and_numbers(tmp_path) -> None:
    told = setup_of(spec(), tmp_path / "people", [4, 1], tmp_path / "state")
    assert told["clients"] == [4, 1]
    assert parse(told["spec"])[0] == spec()
    assert (told["population"], told["state"]) == (f"{tmp_path}/people", f"{tmp_path}/state")


def test_a_worker_makes_a_method_of_ones_own_again(tmp_path, monkeypatch) -> None:
    """It was allowed where the run began, and is not asked about in each process."""
    own = "tests.parity.halved:halved"
    allow([own])
    parts = assemble(spec(own, method__share=0.25))
    assert parts.spec.method.name == own
    parts.population.save(tmp_path / "people")
    monkeypatch.setattr(methods._code, "_allowed", set())
    sent = setup_of(parts.spec, tmp_path / "people", [0, 1], tmp_path / "state")
    there = host_from_setup(json.loads(json.dumps(sent)))
    assert there.method.name == parts.method.name == "halved"
    assert there.method.hyper == parts.method.hyper == {"lr": parts.spec.train.lr, "share": 0.25}
