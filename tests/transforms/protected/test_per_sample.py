"""What a client sends is made of noised gradients, of no more steps than were promised."""

from dataclasses import replace

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientInfo, FederationInit
from fedkin.core.model import Batch
from fedkin.core.ops import descend, gradient, local_only, scan
from fedkin.core.protected import private_gradient
from fedkin.core.rng import Key, Secret
from fedkin.core.tree import flat, map_tree, sub
from fedkin.engine.contexts import LocalData, Schedule
from fedkin.methods import make
from fedkin.methods.fedala import mixed_loss
from fedkin.methods.parts.split_model import part_loss
from fedkin.runtime.replay import Runtime
from fedkin.transforms.protected.per_sample import SampleGuarantee, keep_samples_private, steps_of
from fedkin.transforms.safe import errors, safe
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


def start():
    return FederationInit({"dnn": MODEL.initial}, (1,), 0, 3, lambda k: MODEL.initial)


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


def test_a_client_begins_without_its_labels_however_it_asks_for_them() -> None:
    """What it keeps at first its messages may hold."""
    base = method()._replace(client=lambda initial, info: {"labels": tuple(info)[3]})
    made = keep_samples_private(base, GUARANTEE, lambda it: {(1,): 6})
    assert made.client(MODEL.initial, INFO)["labels"].tolist() == [0.0] * 3
    naming = base._replace(client=lambda initial, info: {"labels": info.histogram})
    made = keep_samples_private(naming, GUARANTEE, lambda it: {(1,): 6})
    with pytest.raises(FedkinError, match="histogram of their labels, which no noise covers"):
        made.client(MODEL.initial, INFO)


def test_noise_is_of_the_secret_and_the_round() -> None:
    made = keep_samples_private(method(), GUARANTEE, lambda it: {(1,): 6})

    def sent(**given):
        return made.client_update(RECEIVED, {}, data(**given))[1]["parameters"]["out.bias"]

    assert torch.equal(sent(), sent())
    assert not torch.equal(sent(), sent(secret=Secret(bytes([1] * 32))))
    assert not torch.equal(sent(), sent(round=2))
    with pytest.raises(FedkinError, match="needs a secret to draw noise from, and the client has"):
        sent(secret=None)


def one_step(round=1, **asked):
    """What a client of 2 rows moves in one step; a batch of 4 has both of them in every round."""
    people = population(sizes=(5, 2))
    info, schedule = ClientInfo(1, "dnn", 2, torch.ones(3), 0, 3), Schedule(4, steps=1)
    few = replace(data(round=round), info=info, population=people, schedule=schedule)
    made = keep_samples_private(method(), GUARANTEE._replace(**asked), lambda it: {(1,): 1})
    _, sent = made.client_update(RECEIVED, {}, few)
    return sub(sent["parameters"], MODEL.initial), few


def test_noise_of_the_same_samples_is_another_in_every_round() -> None:
    first, again, second = (flat(one_step(round)[0]) for round in (1, 1, 2))
    assert torch.equal(first, again)
    assert not bool((first == second).any())


def test_without_noise_a_step_over_few_rows_goes_by_their_mean_gradient() -> None:
    moved, few = one_step(clip=1e9, noise=0.0)
    (rows,) = few.whole("train")
    plain = gradient(MODEL.loss)(MODEL.initial, rows)
    torch.testing.assert_close(moved, map_tree(lambda leaf: -0.1 * leaf, plain))


def pair():
    """A client of 2 rows, both in the batch of its only step, and each row by itself."""
    people = population(sizes=(5, 2))
    info, schedule = ClientInfo(1, "dnn", 2, torch.ones(3), 0, 3), Schedule(4, steps=1)
    few = replace(data(), info=info, population=people, schedule=schedule)
    (both,) = few.whole("train")
    return few, [Batch(both.x[k : k + 1], both.y[k : k + 1], torch.ones(1)) for k in range(2)]


def clipped_mean(function, w, rows, *rest):
    """Σ_s clip(g_s) / 2 and the clip: one of both samples is clipped, the other is not."""
    slopes = [gradient(function)(w, MODEL, row, *rest) for row in rows]
    norms = [float(flat(slope).norm()) for slope in slopes]
    clip = sum(norms) / 2
    assert min(norms) < 0.99 * clip
    factors = [min(1.0, clip / norm) / 2 for norm in norms]
    return map_tree(lambda a, b: factors[0] * a + factors[1] * b, *slopes), clip


def worked(made, received, own, few, clip, steps):
    """What a client keeps and sends of one round without noise."""
    asked = GUARANTEE._replace(clip=clip, noise=0.0)
    return keep_samples_private(made, asked, lambda it: {(1,): steps}).client_update(
        received, own, few
    )


HEAD = {name: value for name, value in MODEL.initial.items() if name.startswith("out.")}
BODY = {name: value for name, value in MODEL.initial.items() if name not in HEAD}


@pytest.mark.parametrize("name", ["partial_fl", "fedrep"])
def test_steps_of_the_personal_part_are_clipped_sample_by_sample(name) -> None:
    """The norm is that of the part's gradient: the rest of the model stands still."""
    few, rows = pair()
    slope, clip = clipped_mean(part_loss, HEAD, rows, BODY)
    made = make(name, {"personal": "last", "personal_steps": 1}, {"lr": 0.1})
    kept, _ = worked(made, {"parameters": BODY}, {"parameters": HEAD}, few, clip, 2)
    moved = sub(kept["parameters"], HEAD)
    assert float(flat(moved).norm()) > 1e-3
    torch.testing.assert_close(moved, map_tree(lambda leaf: -0.1 * leaf, slope))


def test_steps_of_the_shared_part_are_clipped_sample_by_sample() -> None:
    few, rows = pair()
    body = {**BODY, "hidden.bias": BODY["hidden.bias"] + 1}  # where every unit is alive
    slope, clip = clipped_mean(part_loss, body, rows, HEAD)
    made = make("fedbabu", {"head": "last"}, {"lr": 0.1})
    _, sent = worked(made, {"parameters": body}, {"parameters": HEAD}, few, clip, 1)
    moved = sub(sent["parameters"], body)
    assert float(flat(moved).norm()) > 1e-3
    torch.testing.assert_close(moved, map_tree(lambda leaf: -0.1 * leaf, slope))


def test_steps_of_the_mixing_weights_are_clipped_sample_by_sample() -> None:
    few, rows = pair()
    mine = map_tree(lambda leaf: leaf + 0.5, MODEL.initial)
    cells = map_tree(lambda leaf: 0 * leaf + 0.5, HEAD)
    slope, clip = clipped_mean(mixed_loss, cells, rows, mine, MODEL.initial)
    given = {"adaptive": "last", "share": 1.0, "first_epochs": 1, "weight_lr": 0.1}
    own = {"parameters": mine, "cells": cells, "rounds": 1}
    kept, _ = worked(make("fedala", given, {"lr": 0.1}), RECEIVED, own, few, clip, 2)
    moved = sub(kept["cells"], cells)
    assert float(flat(moved).norm()) > 1e-3
    torch.testing.assert_close(moved, map_tree(lambda leaf: -0.1 * leaf, slope))


def test_noise_of_few_rows_is_that_of_their_number_and_not_of_the_batch() -> None:
    """The mean of 2 rows moves by C / 2 with one of them: so high is its noise, not C / 4."""
    noised, still = (flat(one_step(clip=2.0, noise=sigma)[0]) for sigma in (3.0, 0.0))
    step = SECRET.normal("sample noise 1 0", 1, len(still))
    assert float((noised - still).norm() / step.norm()) == pytest.approx(0.1 * 3.0 * 2.0 / 2)


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


def test_no_gradient_of_a_sample_is_written_out_in_mixed_models(monkeypatch) -> None:
    """A run of PPFL on UCI HAR takes a tenth of the time so."""
    seen = []
    real = private_gradient.linear_layers

    def noting(*args):
        seen.append(real(*args))
        return seen[-1]

    monkeypatch.setattr(private_gradient, "linear_layers", noting)
    made, received, own = of_ppfl()
    noised = keep_samples_private(made, GUARANTEE, lambda it: {(1,): 12})
    noised.client_update(received, own, data())
    layers = [name.split(".")[0] for name in MODEL.initial if name.endswith("weight")]
    mixed = [f"{k} {name}.weight" for k in range(2) for name in layers]
    assert mixed in [[layer.weight for layer in found.layers] for found in seen]


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
    with pytest.raises(
        FedkinError, match=r"its buffers are constants, set model\.buffers = 'drop'"
    ):
        steps_of(method(), RECEIVED, {}, data(model=mixing))


W = MODEL.initial
SAFE = safe(method(), 0.1, errors)
HOME = {
    "ditto": (method("ditto"), {"parameters": W}, {(1,): 12}, {(1,): 6}),
    "apfl": (
        method("apfl"),
        {"parameters": W, "alpha": 0.5, "mixture": W},
        {(3,): 1, (2,): 5},  # α's step and the first one of v and w: of one mini-batch
        {(1,): 6},
    ),
    "safe": (SAFE, {"own": {}, "alone": W}, {(1,): 12}, {(1,): 6}),
}


def moved(own, alone):
    """How far the model that stays at home is from where it started."""
    return float(flat(sub(own["alone" if alone else "parameters"], W)).norm())


@pytest.mark.parametrize("name", HOME)
def test_work_at_home_without_noise_is_not_accounted_for(name) -> None:
    made, own, all_steps, sent_steps = HOME[name]
    assert steps_of(made, RECEIVED, own, data()) == all_steps
    assert steps_of(made, RECEIVED, own, data(), open_at_home=True) == sent_steps


@pytest.mark.parametrize("name", HOME)
def test_work_at_home_is_plain_and_what_is_sent_is_clipped(name) -> None:
    """A clip of next to nothing and no noise: what is clipped stands still."""
    made, own, *steps = HOME[name]
    for plain in (False, True):
        tight = SampleGuarantee(clip=1e-9, noise=0.0, batch=4, open_at_home=plain)
        after, sent = keep_samples_private(
            made, tight, lambda it, plain=plain: steps[plain]
        ).client_update(RECEIVED, own, data())
        assert float(flat(sub(sent["parameters"], W)).norm()) < 1e-6
        assert (moved(after, name == "safe") > 1e-2) is plain


@pytest.mark.certifies("sample_noise", "law")
def test_what_is_sent_does_not_depend_on_work_at_home() -> None:
    """Ditto's message has the same bits, whatever v was, with its noise and without."""
    made, _, steps, _ = HOME["ditto"]
    other = {"parameters": map_tree(lambda leaf: leaf + 7, W)}
    found = []
    for plain, own in ((False, {"parameters": W}), (True, {"parameters": W}), (True, other)):
        asked = GUARANTEE._replace(open_at_home=plain)
        sent = keep_samples_private(made, asked, lambda it: steps).client_update(
            RECEIVED, own, data()
        )[1]
        found.append(flat(sent["parameters"]))
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def _false_step(model, carry, batch, rate):
    """v by plain samples, u at v + u by noised ones: u speaks of v."""
    v, u = carry
    own = descend(v, gradient(model.loss)(v, local_only(batch)), rate)
    both = map_tree(lambda a, b: a + b, v, u)
    return own, descend(u, gradient(model.loss)(both, batch), rate)


def _head_step(model, carry, batch, rate):
    """The head by plain samples, the body by a noised gradient at that head: it tells of it."""
    head, body = carry
    own = gradient(model.loss)({**head, **body}, local_only(batch))
    shared = gradient(model.loss)({**head, **body}, batch)
    return descend(head, own, rate), descend(body, shared, rate)


def _sends_the_body(received, own, data):
    w = received["parameters"]
    head = {name: value for name, value in w.items() if name.startswith("out")}
    body = {name: value for name, value in w.items() if name not in head}
    _, body = scan(_head_step, (head, body), data.batches(), 0.1)
    return own, {"parameters": body}


def _chained_step(model, carry, batch, rate):
    """What is made at home reaches what is sent after two steps."""
    v, middle, u = carry
    own = descend(v, gradient(model.loss)(v, local_only(batch)), rate)
    return own, v, descend(middle, gradient(model.loss)(u, batch), rate)


def _sends_v(received, own, data):
    made, _ = method("ditto").client_update(received, own, data)
    return made, made


def _sends_v_a_round_later(received, own, data):
    return method("ditto").client_update(received, own, data)[0], own


def _walks(step, parts):
    def client_update(received, own, data):
        *_, u = scan(step, (received["parameters"],) * parts, data.batches(), 0.1)
        return own, {"parameters": u}

    return client_update


@pytest.mark.parametrize(
    "work",
    [
        _sends_v,
        _sends_v_a_round_later,
        _sends_the_body,
        _walks(_false_step, 2),
        _walks(_chained_step, 3),
    ],
)
def test_a_method_that_would_send_what_it_makes_at_home_is_refused(work) -> None:
    made = method("ditto")._replace(client_update=work)
    assert steps_of(made, RECEIVED, {"parameters": W}, data())
    with pytest.raises(FedkinError, match="its clients send what they make at home, without noise"):
        steps_of(made, RECEIVED, {"parameters": W}, data(), open_at_home=True)


@pytest.mark.parametrize("name", ["fedavg", "fedper", "lg_fedavg"])
def test_a_method_without_work_at_home_says_so(name) -> None:
    made = make(name, {}, {"lr": 0.1})
    received, own = made.broadcast(made.server(start()), 1), made.client(W, INFO)
    with pytest.raises(FedkinError, match=f"^privacy.personal = 'plain': {name} declares no step"):
        steps_of(made, received, own, data(), open_at_home=True)
