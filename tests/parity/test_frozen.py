"""[model] frozen: what nobody trains is not sent and does not change, whichever engine, interrupted
or not.
"""

from functools import cache

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.ops import gradient, scan
from fedkin.core.tree import is_buffer
from fedkin.engine.transports import processes
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from fedkin.methods.fedavg import fedavg
from fedkin.runs.database import read_only
from fedkin.setup.build import assemble
from fedkin.setup.loaded_run import load
from tests.engine.small import FORKED, outcome, outcome_of, small

CONVOLVED = {"model__name": "tests.parity.backbones:Convolved", "model__frozen": ["body."]}
DENSE = {"model__name": "dnn", "model__hidden": 5, "model__frozen": "body"}
ALONE = {"body.0.weight", "body.0.bias", "body.1.weight", "body.1.bias"}
STATISTICS = {"buffer:body.1.running_mean", "buffer:body.1.running_var"}
CASES = {
    "fedavg": ("fedavg", CONVOLVED),
    "fedavg-dense": ("fedavg", DENSE),
    "fedavg-adam": ("fedavg", {**CONVOLVED, "train__optimizer": "adam"}),
    "ditto": ("ditto", CONVOLVED),
    "fedrep": ("fedrep", {**CONVOLVED, "method__personal": ["head."]}),
    "persfl": ("persfl", DENSE),  # walks side by side
    "ifca": ("ifca", DENSE),  # several first draws
    "feddf": ("feddf", DENSE),  # the server's steps
    "knn_per": ("knn_per", {**CONVOLVED, "model__head": "head"}),  # what enters the head
    "apfl": ("apfl", DENSE),  # a mixture of two models
}


def privacy(unit, clip, noise):
    """[privacy] of one unit."""
    names = {"unit": unit, "clip": clip, "noise": noise, "delta": 1e-5}
    return {f"privacy__{name}": value for name, value in names.items()}


CHANGING = {  # what runs between a message and a step
    "adam": {"train__optimizer": "adam"},
    "bfloat16": {"train__precision": "bfloat16"},
    "private-clients": privacy("client", 1.0, 0.5),
    "private-samples": privacy("sample", 1.0, 0.5),
}
COMPILED = pytest.param({"engine__compile": "always"}, id="compiled", marks=pytest.mark.slow)


def spec(case, **settings):
    method, own = CASES[case]
    return small(method, **{**own, **settings})


@cache
def plain(case):
    return outcome_of(spec(case))


class Stop(Exception):
    pass


@pytest.mark.rotating
@pytest.mark.parametrize("case", CASES)
def test_worker_processes_map_one_file(case, tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "subprocess", FORKED)
    engine = {"engine__name": "processes", "engine__workers": 2}
    assert outcome(run(spec(case, **engine), tmp_path / "run")) == plain(case)


@pytest.mark.rotating
@pytest.mark.parametrize("case", ["fedavg", "fedavg-adam", "ditto"])
def test_interrupted_and_resumed(case, tmp_path):
    def stop(record):
        if record.round == 2:
            raise Stop

    with pytest.raises(Stop):
        run(spec(case), tmp_path / "run", progress=stop)
    assert outcome(resume(tmp_path / "run")) == plain(case)


@pytest.mark.rotating
@pytest.mark.parametrize("case", CASES)
def test_steps_side_by_side_are_the_same_within_rounding(case, tmp_path):
    wide = load(run(spec(case, engine__block=4), tmp_path / "wide"))
    alone = load(run(spec(case), tmp_path / "alone"))
    for client in range(6):
        torch.testing.assert_close(
            wide.coordinator.views(client, 4), alone.coordinator.views(client, 4)
        )
    assert not any("one by one" in said for said in wide.coordinator.transport.remarks())


@pytest.mark.rotating
@pytest.mark.parametrize("case", CASES)
def test_neither_tracing_nor_compiling_keeps_their_values(case, tmp_path):
    def plainly(mode):
        return load(run(spec(case, engine__compile=mode), tmp_path / mode))

    told, never = plainly("trace"), plainly("never")
    for client in range(6):
        torch.testing.assert_close(
            told.coordinator.views(client, 4), never.coordinator.views(client, 4)
        )


def head_alone(frozen):
    """FedAvg on the whole model whose steps leave some parameters alone, written by hand."""
    method = fedavg(lr=0.05)

    def step(model, w, batch, rate):
        slope = gradient(model.loss)(w, batch)
        return {
            name: value
            if name in frozen
            else slope[name]
            if is_buffer(name)
            else value - rate * slope[name]
            for name, value in w.items()
        }

    def client_update(received, own, data):
        w = scan(step, received["parameters"], data.batches(), 0.05 * data.decay)
        return own, {"parameters": w}

    return method._replace(client_update=client_update)


def test_it_is_fedavg_in_which_only_the_head_is_trained(tmp_path):
    body = {"1.weight", "1.bias"}
    whole = {**DENSE, "model__frozen": (), "engine__compile": "never"}
    hand = head_alone(body)
    folder = run(small("fedavg", **whole), tmp_path / "hand", method=hand)
    by_hand = load(folder, method=hand)
    frozen = load(run(spec("fedavg-dense", engine__compile="never"), tmp_path / "run"))
    assert set(frozen.coordinator.state["parameters"]) == {"3.weight", "3.bias"}
    for name, value in frozen.coordinator.state["parameters"].items():
        assert value.equal(by_hand.coordinator.state["parameters"][name])
    (model,) = frozen.parts.models.values()
    (start,) = by_hand.parts.models.values()
    for name in body:
        assert model.frozen[name].equal(start.initial[name])
        assert model.frozen[name].equal(by_hand.coordinator.state["parameters"][name])


@pytest.mark.parametrize("case", ["fedavg", "ditto"])
def test_the_ledger_has_what_is_trained_alone(case, tmp_path):
    folder = run(spec(case), tmp_path / "run")
    hidden = 3 * 6 * 6
    trained = hidden * 5 + 5 + 5 * 10 + 10
    with read_only(folder) as database:
        facts = database.facts()
        sent = database.rows("SELECT DISTINCT parameters FROM messages WHERE parameters > 0")
    assert sent == [(trained,)]
    assert facts["parameters"] == {"tests.parity.backbones:Convolved": trained}
    (frozen,) = facts["frozen"].values()
    assert frozen["parameters"] == 3 * 9 + 3 + 4 * 3
    assert any(f"42 of {trained + 42:,} parameters are frozen" in one for one in facts["said"])


@pytest.mark.rotating
@pytest.mark.parametrize(
    "settings", [*(pytest.param(how, id=name) for name, how in CHANGING.items()), COMPILED]
)
def test_nothing_changes_them(settings, tmp_path):
    asked = spec("fedavg", **settings)
    before = {name: value.clone() for name, value in one(assemble(asked).models).frozen.items()}
    after = one(load(run(asked, tmp_path / "run")).parts.models)
    assert set(before) == ALONE | STATISTICS
    assert all(after.frozen[name].equal(value) for name, value in before.items())
    assert not set(after.initial) & set(before)


def one(models):
    (model,) = models.values()
    return model


def test_weights_that_a_constructor_loads_and_that_are_others_later(tmp_path, monkeypatch):
    weights = torch.nn.Linear(64, 7).state_dict()
    torch.save(weights, tmp_path / "weights.pt")
    monkeypatch.setenv("FEDKIN_TEST_WEIGHTS", str(tmp_path / "weights.pt"))
    settings = {"model__name": "tests.parity.backbones:Pretrained", "model__frozen": "body"}

    def stop(record):
        if record.round == 1:
            raise Stop

    with pytest.raises(Stop):
        run(small("fedavg", **settings), tmp_path / "run", progress=stop)
    held = one(assemble(small("fedavg", **settings)).models).frozen
    assert all(held[f"body.{name}"].equal(value) for name, value in weights.items())
    torch.save(torch.nn.Linear(64, 7).state_dict(), tmp_path / "weights.pt")
    with pytest.raises(FedkinError, match=r"frozen parameters of model .*Pretrained' are not"):
        resume(tmp_path / "run")
    torch.save(weights, tmp_path / "weights.pt")
    assert outcome(resume(tmp_path / "run"))["fingerprint"]
