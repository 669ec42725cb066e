"""What a client sends is made of noised gradients, of no more steps than were promised."""

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientInfo
from fedkin.core.rng import Key, Secret
from fedkin.engine.contexts import LocalData, Schedule
from fedkin.methods import make
from fedkin.runtime.replay import Runtime
from fedkin.transforms.protected.per_sample import SampleGuarantee, keep_samples_private, steps_of
from tests.engine.small import METHODS
from tests.methods.federation import architecture, population

GUARANTEE = SampleGuarantee(clip=0.5, noise=1.0, batch=4)
MODEL = architecture("dnn")
PEOPLE = population(sizes=(5, 40))
INFO = ClientInfo(1, "dnn", 40, torch.ones(3), 0, 3)


SECRET = Secret(bytes(32))


def data(secret=SECRET, round=1, model=MODEL):
    key = Key(7, round, 1)
    return LocalData(
        INFO, model, key, PEOPLE, Runtime("never"), Schedule(4, steps=6), secret=secret
    )


def method(name="fedavg"):
    return make(name, METHODS[name], {"lr": 0.1})


RECEIVED = {"parameters": MODEL.initial}


def test_steps_are_counted_without_training() -> None:
    assert steps_of(method(), RECEIVED, {}, data()) == {(1,): 6}
    ditto = steps_of(method("ditto"), RECEIVED, {"parameters": MODEL.initial}, data())
    assert ditto == {(1,): 12}  # the shared model's and the personal one's


def test_more_than_was_promised_is_not_sent() -> None:
    made = keep_samples_private(method(), GUARANTEE, lambda it: {(1,): 6})
    _, sent = made.client_update(RECEIVED, {}, data())
    assert sent["parameters"].keys() == MODEL.initial.keys()
    few = keep_samples_private(method(), GUARANTEE, lambda it: {(1,): 5})
    with pytest.raises(FedkinError, match="a client of fedavg took more noised steps than"):
        few.client_update(RECEIVED, {}, data())
    other = keep_samples_private(method(), GUARANTEE, lambda it: {(2,): 9})
    with pytest.raises(FedkinError, match="its message is not sent"):
        other.client_update(RECEIVED, {}, data())


def test_noise_is_of_the_secret_and_the_round() -> None:
    made = keep_samples_private(method(), GUARANTEE, lambda it: {(1,): 6})

    def sent(**given):
        return made.client_update(RECEIVED, {}, data(**given))[1]["parameters"]["out.bias"]

    assert torch.equal(sent(), sent())
    assert not torch.equal(sent(), sent(secret=Secret(bytes([1] * 32))))
    with pytest.raises(FedkinError, match="needs a secret to draw noise from, and the client has"):
        sent(secret=None)


@pytest.mark.parametrize(
    ("name", "received", "said"),
    [
        ("centralized", RECEIVED, "centralized trains on everybody's samples in one place"),
        ("fedproto", RECEIVED, "does not fit fedproto: .*; try fedavg, or ditto"),
    ],
)
def test_what_no_noise_covers_is_refused(name, received, said) -> None:
    with pytest.raises(FedkinError, match=f"^privacy.unit = 'sample'.*{said}"):
        steps_of(method(name), received, {"parameters": MODEL.initial}, data())


def of_ppfl(**changes):
    given = {**METHODS["ppfl"], "affinity": "none", "membership_steps": "batches", **changes}
    made = make("ppfl", given, {"lr": 0.1})
    theta = {name: torch.stack([w, w]) for name, w in MODEL.initial.items()}
    even = torch.full((2,), 0.5, dtype=theta["out.bias"].dtype)
    received = {
        "parameters": theta,
        "coefficients": {"pull": 0 * even, "membership": even},
        "control": {"block": 0, "share": 0.25},
    }
    return made, received, {"membership": even}


def test_orders_that_change_no_step_are_followed() -> None:
    """PPFL's membership and its models, each a walk over the round's mini-batches."""
    made, received, own = of_ppfl()
    assert steps_of(made, received, own, data()) == {(1,): 12}
    noised = keep_samples_private(made, GUARANTEE, lambda it: {(1,): 12})
    sent = [noised.client_update(received, own, data(round=r))[1] for r in (1, 1, 2)]
    assert torch.equal(sent[0]["coefficients"], sent[1]["coefficients"])
    assert not torch.equal(sent[0]["coefficients"], sent[2]["coefficients"])
    assert float(sent[0]["coefficients"].sum()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (
            of_ppfl(schedule="random", membership_steps=2),
            "does not fit ppfl",
        ),
        (of_ppfl(membership_steps="full"), "does not fit ppfl"),
        (of_ppfl(affinity="label_cosine"), "does not fit ppfl"),
        (
            (method("l2sgd"), {**RECEIVED, "control": {"pulls": 1, "steps": 5}}, RECEIVED),
            "the server of l2sgd tells clients anew in each round",
        ),
    ],
)
def test_orders_that_change_the_steps_are_refused(made, said) -> None:
    with pytest.raises(FedkinError, match=f"^privacy.unit = 'sample'.*{said}"):
        steps_of(*made, data())


def test_a_model_that_mixes_samples_is_refused() -> None:
    mixing = MODEL._replace(pads=False, name="bn")
    with pytest.raises(FedkinError, match=r"model bn mixes the samples of a mini-batch \(batch no"):
        steps_of(method(), RECEIVED, {}, data(model=mixing))
