"""What a client is given: the schedule, its evaluation, its failures."""

import math
import random

import numpy as np
import pytest
import torch
from torch import nn

from fedkin.core.rng import Key, python_draws
from fedkin.engine.codec import decode, encode
from fedkin.engine.op import Task
from fedkin.engine.store import StoreError
from fedkin.runtime.device import CPU
from fedkin.runtime.generators import drawing_from
from fedkin.setup.build import assemble
from fedkin.setup.hosts import host_of
from tests.engine.small import small


def test_evaluation_against_a_plain_loop(tmp_path):
    parts = assemble(small("fedavg"))
    host = host_of(parts, sorted(parts.infos), tmp_path)
    model = nn.Linear(64, 10)
    state = {"parameters": {"1.weight": model.weight.detach(), "1.bias": model.bias.detach()}}
    answers = list(
        host.do("evaluate_all", 1, [Task(client, encode(state)) for client in parts.infos])
    )
    for client, answer in zip(parts.infos, answers, strict=True):
        assert answer.error is None
        for split in ("train", "val", "test"):
            x, y = parts.population.part(client, split)
            loss, right = 0.0, 0
            for row in range(len(y)):
                inputs = x[row].float().flatten() / (255 if x.dtype == torch.uint8 else 1)
                out = model(inputs)
                loss += float(-out.detach().log_softmax(0)[y[row]])
                right += int(out.argmax() == y[row])
            found = answer.record.scores["personal"][split]
            assert found[0] == pytest.approx(loss / len(y), rel=1e-5)
            assert found[1] == right / len(y)


def test_evaluation_in_parts_is_the_same(tmp_path, monkeypatch):
    parts = assemble(small("fedavg", run__clients=1))
    host = host_of(parts, [0], tmp_path)
    order = [Task(0, encode({"parameters": parts.models["mlr"].initial}))]
    (whole,) = host.do("evaluate_all", 1, order)
    monkeypatch.setattr("fedkin.engine.evaluation.LARGE", 7)
    (split,) = host.do("evaluate_all", 1, order)
    for name, (loss, accuracy) in whole.record.scores["personal"].items():
        assert split.record.scores["personal"][name] == pytest.approx((loss, accuracy), rel=1e-5)
    weights = torch.cat([batch.weight for batch in host.data(1, 0).whole("train")])
    assert float(weights.sum()) == pytest.approx(1)
    assert len(weights) == parts.infos[0].samples


def test_an_empty_split_has_no_score(tmp_path):
    parts = assemble(small("fedavg", split__val=0.0, split__train=0.8))
    host = host_of(parts, [0], tmp_path)
    (answer,) = host.do(
        "evaluate", 1, [Task(0, encode({"parameters": parts.models["mlr"].initial}))]
    )
    assert all(math.isnan(value) for value in answer.record.scores["personal"]["val"])
    assert answer.record.scores["personal"]["test"][1] >= 0


def failing(parts, client):
    """The method, raising in one client's work."""

    def local(down, own, data):
        if data.info.client == client:
            raise RuntimeError("sensor unplugged")
        return parts.method.client_update(down, own, data)

    return parts._replace(method=parts.method._replace(client_update=local))


def test_one_clients_failure_is_its_own(tmp_path):
    parts = assemble(small("local"))
    host = host_of(failing(parts, 2), sorted(parts.infos), tmp_path)
    answers = list(host.do("local", 1, [Task(client, None) for client in parts.infos]))
    assert [answer.error and answer.error.partition(" (")[0] for answer in answers] == [
        None,
        None,
        "RuntimeError: sensor unplugged",
        None,
        None,
        None,
    ]
    assert [client for client in parts.infos if host.store.get(client) is None] == [2]


@pytest.mark.parametrize("spoil", ["nan", "shape", "extra", "kind"])
def test_a_bad_message_keeps_the_old_state(spoil, tmp_path):
    parts = assemble(small("cgpfl"))
    bad = {
        "nan": lambda up: {"parameters": {name: x / 0 for name, x in up["parameters"].items()}},
        "shape": lambda up: {"parameters": {name: x[:1] for name, x in up["parameters"].items()}},
        "extra": lambda up: {**up, "control": 1.0},
        "kind": lambda up: {"models": up["parameters"]},
    }[spoil]

    def local(down, own, data):
        state, up = parts.method.client_update(down, own, data)
        return state, bad(up)

    host = host_of(parts._replace(method=parts.method._replace(client_update=local)), [0], tmp_path)
    before = encode(host.personal_state(0))
    down = encode({"parameters": parts.models["mlr"].initial})
    (answer,) = host.do("local", 1, [Task(0, down)])
    assert answer.message is None
    why = {
        "nan": "NaN or infinity",
        "shape": "expected [",
        "extra": "the message has control, which expected_update",
        "kind": "sends ['models']",
    }
    assert why[spoil] in answer.error
    assert encode(host.personal_state(0)) == before
    assert host.save(tmp_path, 1) == []


def test_only_changed_states_are_saved(tmp_path):
    parts = assemble(small("local"))
    host = host_of(parts, sorted(parts.infos), tmp_path)
    list(host.do("local", 1, [Task(client, None) for client in (1, 3)]))
    assert host.save(tmp_path, 1) == [1, 3]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "1.1.safetensors",
        "3.1.safetensors",
    ]
    assert host.save(tmp_path, 2) == []
    fresh = host_of(parts, sorted(parts.infos), tmp_path)
    fresh.load({client: tmp_path / f"{client}.1.safetensors" for client in (1, 3)})
    assert all(fresh.digest(client) == host.digest(client) for client in parts.infos)


def test_a_state_that_becomes_empty_is_forgotten(tmp_path):
    parts = assemble(small("local"))
    update = parts.method.client_update
    forgets = parts.method._replace(client_update=lambda *args: ({}, update(*args)[1]))
    for store in ("memory", "disk"):
        host = host_of(parts, [0, 1], tmp_path / store)
        list(host.do("local", 1, [Task(0, None)]))
        host.method = forgets
        list(host.do("local", 2, [Task(0, None), Task(1, None)]))
        assert host.personal_state(0) == {}
        assert host.store.get(1) is None  # who had none keeps none
    host.method = parts.method._replace(client_update=lambda *_: (None, {}))
    (answer,) = host.do("local", 3, [Task(0, None)])
    assert "the state that a client keeps is None: return {} for none" in answer.error


def test_a_setup_message_may_not_write_into_the_state_that_clients_share(tmp_path):
    parts = assemble(small("local"))

    def setup_message(own, data):
        next(iter(own["parameters"].values())).add_(1)
        return {"parameters": own["parameters"]}

    host = host_of(
        parts._replace(method=parts.method._replace(setup_message=setup_message)), [0], tmp_path
    )
    with pytest.raises(StoreError, match="a client's personal state"):
        list(host.do("introduce", 0, [Task(0, None)]))


def test_broadcasts_are_decoded_once(tmp_path, monkeypatch):
    parts = assemble(small("fedavg"))
    host = host_of(parts, sorted(parts.infos), tmp_path)
    calls = []
    monkeypatch.setattr("fedkin.engine.host.decode", lambda blob: calls.append(1) or decode(blob))
    blob = encode({"parameters": parts.models["mlr"].initial})
    list(host.do("evaluate", 1, [Task(client, blob) for client in parts.infos]))
    assert len(calls) == 1


def test_drawing_from_leaves_no_trace():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    with drawing_from(1, CPU):
        one = torch.rand(3)
    assert torch.equal(torch.rand(3), expected)
    with drawing_from(1, CPU):
        assert torch.equal(torch.rand(3), one)
    assert Key(0, 1, 2).integer("local:dropout") != Key(0, 2, 1).integer("local:dropout")


def test_what_a_method_draws_is_of_its_client_and_round(tmp_path):
    """From any global generator; the caller's stand afterwards where they stood."""

    def update(down, own, data):
        drawn = [random.random(), float(np.random.rand()), float(torch.rand(()))]
        return {"drawn": torch.tensor(drawn)}, down

    parts = assemble(small("local", engine__block=2))
    parts = parts._replace(method=parts.method._replace(client_update=update))

    def drawn(round, *clients):
        host = host_of(parts, sorted(parts.infos), tmp_path)
        list(host.do("local", round, [Task(client, None) for client in clients]))
        return [host.personal_state(client)["drawn"].tolist() for client in clients]

    before = random.getstate(), python_draws()
    once = drawn(1, 0, 1)
    assert (random.getstate(), python_draws()) == before
    random.random()
    assert once == drawn(1, 0, 1)
    assert once == [*drawn(1, 0), *drawn(1, 1)]
    others = drawn(2, 0, 1)
    assert all(a != b for a, b in zip(once[0], once[1], strict=True))
    assert all(a != b for a, b in zip(once[0], others[0], strict=True))


def test_normal_numbers_of_numpy_are_each_clients_own_and_the_callers_too(tmp_path):
    """NumPy makes two together and keeps one, which goes with neither client to another."""

    def parts(block):
        found = assemble(small("local", engine__block=block))
        trained = found.method.client_update

        def update(down, own, data):
            before = np.random.randn()
            state, message = trained(down, own, data)
            return {**state, "drawn": torch.tensor([before, np.random.randn()])}, message

        return found._replace(method=found.method._replace(client_update=update))

    def drawn(block):
        host = host_of(parts(block), [0, 1, 2], tmp_path)
        assert not any(
            done.error for done in host.do("local", 1, [Task(k, None) for k in range(3)])
        )
        return [host.personal_state(client)["drawn"].tolist() for client in range(3)]

    np.random.seed(0)
    first = np.random.randn()
    one = drawn(1)
    second = np.random.randn()
    np.random.seed(0)
    assert [first, second] == [np.random.randn(), np.random.randn()]
    assert drawn(3) == one


def test_work_after_an_early_end_has_the_next_rounds_rate_and_its_own_random_streams(tmp_path):
    parts = assemble(small("finetune", run__rounds=4, train__milestones=[3], train__decay=0.25))
    host = host_of(parts, [0], tmp_path)
    planned, early = host.data(5, 0), host.data(5, 0, trained=2)
    assert (planned.decay, early.decay) == (0.25, 1.0)
    assert early.key == planned.key
    down = encode({"parameters": parts.models["mlr"].initial})
    states = []
    for trained in (None, 2, 4):
        list(host.do("finish", 5, [Task(0, down, trained)]))
        states.append(encode(host.personal_state(0)))
    assert states[0] == states[2] != states[1]
