"""What DS-FL and KT-pFL have in common, beside plain PyTorch."""

import torch

from fedkin.core.method import ClientInfo, FederationInit
from fedkin.core.rng import Key
from fedkin.engine.contexts import LocalData, Schedule
from fedkin.methods.parts.codistillation import codistil, distillation_step, log_predictions
from fedkin.runtime.replay import Runtime
from tests.methods.federation import CLASSES, architecture, population

LR = torch.tensor(0.2, dtype=torch.float64)
T = torch.tensor(3.0, dtype=torch.float64)
PEOPLE = population(sizes=(5, 9), public=8)
MODEL = architecture("dnn")
HYPER = {"lr": 0.2, "distill_lr": 0.7, "distill_steps": 2, "public_batch": 3, "temperature": 3.0}


def info(client=1):
    samples = len(PEOPLE.train[client])
    return ClientInfo(client, "dnn", samples, torch.ones(CLASSES), 8, CLASSES)


def data(round=1, client=1):
    schedule = Schedule(4, steps=3, milestones=(1,), milestone_factor=0.5)
    key = Key(7, round, client)
    return LocalData(info(client), MODEL, key, PEOPLE, Runtime("never"), schedule)


def test_a_step_descends_softened_cross_entropy() -> None:
    x, target = PEOPLE.public[:5], torch.softmax(torch.arange(15.0).view(5, 3) % 4, 1).double()
    leaves = {name: value.clone().requires_grad_() for name, value in MODEL.initial.items()}
    told = torch.log_softmax(MODEL.outputs(leaves, x) / 3, 1)
    loss = torch.nn.functional.kl_div(told, target, reduction="batchmean")
    slopes = torch.autograd.grad(loss, list(leaves.values()))
    found = distillation_step(MODEL, MODEL.initial, (x, target), LR, T)
    for name, slope in zip(leaves, slopes):
        torch.testing.assert_close(found[name], MODEL.initial[name] - 0.2 * slope)


def test_who_imitates_itself_stays() -> None:
    x = PEOPLE.public
    target = torch.softmax(MODEL.outputs(MODEL.initial, x) / 3, 1)
    found = distillation_step(MODEL, MODEL.initial, (x, target), LR, T)
    for name, value in MODEL.initial.items():
        torch.testing.assert_close(found[name], value, atol=1e-12, rtol=0)


def test_predictions_are_log_probabilities_without_a_graph() -> None:
    w = {name: value.clone().requires_grad_() for name, value in MODEL.initial.items()}
    found = log_predictions(MODEL, w, PEOPLE.public)
    assert not found.requires_grad
    torch.testing.assert_close(found.exp().sum(1), torch.ones(8, dtype=torch.float64))


def test_the_first_round_has_no_target_and_the_next_the_mean() -> None:
    method = codistil(**HYPER)
    start = FederationInit({"dnn": MODEL.initial}, (0, 1), 8, CLASSES, lambda k: MODEL.initial)
    state = method.server(start)
    assert state["predictions"].shape == (0, CLASSES)
    own = method.client(MODEL.initial, info())
    kept, sent = method.client_update(state, own, data())
    assert sent["predictions"].shape == (8, CLASSES)
    expected = torch.softmax(log_predictions(MODEL, kept["parameters"], PEOPLE.public) / 3, 1)
    torch.testing.assert_close(sent["predictions"], expected)
    assert method.distillation_target(state, own, expected).target is None
    from fedkin.core.aggregation import Mean

    after = method.server_update(state, Mean((0, 1), {"predictions": expected}, {}, 2.0), None)
    target = method.distillation_target(after, own, expected)
    assert target.target is after["predictions"]
    assert (target.public_batch, target.temperature, target.pull) == (3, 3.0, 1.0)


def test_a_target_is_imitated_at_the_rounds_learning_rate() -> None:
    method = codistil(**HYPER)
    own = {"parameters": MODEL.initial}
    target = {"predictions": torch.full((8, CLASSES), 1 / 3, dtype=torch.float64)}
    none = {"predictions": torch.zeros((0, CLASSES), dtype=torch.float64)}
    told, alone = (method.client_update(of, own, data())[0]["parameters"] for of in (target, none))
    late = method.client_update(target, own, data(round=2))[0]["parameters"]
    distance = {
        name: [float((of[name] - MODEL.initial[name]).norm()) for of in (told, alone, late)]
        for name in MODEL.initial
    }
    assert all(a != b for a, b, _ in distance.values())  # the target has a say
    assert sum(c for *_, c in distance.values()) < sum(a for a, *_ in distance.values())


def test_only_predictions_travel() -> None:
    method = codistil(**HYPER)
    wanted = method.expected_update({"predictions": torch.zeros(0, CLASSES)}, info())
    assert {name: tuple(leaf.shape) for name, leaf in wanted.items()} == {"predictions": (8, 3)}
    assert not method.needs.one_architecture
    assert (method.aggregation.weight, method.aggregation.kinds) == ("uniform", ("predictions",))
