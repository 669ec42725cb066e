"""partial_fl (FedAlt, FedSim), fedsim, fedper and lg_fedavg beside
tests/reference/partial_fl.py.
"""

import pytest
import torch
from torch import nn

from fedkin.core.errors import FedkinError
from fedkin.core.layers import select
from fedkin.core.model import from_module
from fedkin.methods import make
from tests.laws.small import same
from tests.methods.federation import (
    WIDTH,
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import partial_fl as reference
from tests.reference.model import accuracy, mean_loss

LR, ROUNDS = 0.3, 4
WORK = {
    "epochs": {"epochs": 2},
    "some": {"steps": 3, "participation": 0.6},
    "decay": {
        "epochs": 1,
        "participation": 0.6,
        "milestones": (2, 3),
        "decay": 0.5,
        "compile": "trace",
    },
}
HIDDEN, OUT = ["hidden.weight", "hidden.bias"], ["out.weight", "out.bias"]
SPLITS = {  # architecture, the choice, the names that it means
    "last": ("dnn", "last", OUT),
    "first": ("dnn", "first", HIDDEN),
    "prefixes": ("dnn", ("hidden.b", "out.w"), ["hidden.bias", "out.weight"]),
    "every bias": ("dnn", "*bias", ["hidden.bias", "out.bias"]),
    "mlr": ("mlr", ("bias",), ["bias"]),
}


def compare(name, kind, personal, work, hyper, alternate=False, uniform=False):
    """A run of the method, and the reference with the same batches: states, messages, scores."""
    model = architecture(kind)
    run = Federated(make(name, hyper, {"lr": LR}), population(), {kind: model}, **work).run(ROUNDS)
    who, plan = run.participants(ROUNDS), run.plan(ROUNDS)
    rates = [run.rates(rate, ROUNDS) for rate in (LR, hyper.get("personal_lr", LR))]
    apart = (
        run.plan(ROUNDS, purpose="personal", steps=hyper.get("personal_steps"))
        if alternate
        else None
    )
    first = arrays(model.initial)
    theirs = reference.partial_fl(
        first, run.data, plan, who, personal, *rates, personal_plan=apart, uniform=uniform
    )
    before = {n: v for n, v in first.items() if n not in personal}
    for moment, other, active in zip(run.moments, theirs, who, strict=True):
        u = other["server"]["model"]
        agree(name, moment.state, {"parameters": u})
        agree(
            name, moment.up, {k: {"parameters": upload} for k, upload in other["uploads"].items()}
        )
        agree(name, moment.down, {k: {"parameters": before} for k in active})
        agree(name, moment.own, {k: {"parameters": v} for k, v in other["personal"].items()})
        for k in run.data:
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            w = {**u, **other["personal"][k]}
            agree_scores(name, moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y))
        before = u


@pytest.mark.certifies("partial_fl", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_fedalt(split, work):
    kind, choice, names = split
    compare("partial_fl", kind, names, work, {"personal": choice}, alternate=True)


@pytest.mark.certifies("partial_fl", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_fedalt_with_steps_and_a_rate_of_its_own(work):
    compare(
        "partial_fl", "dnn", OUT, work, {"personal_steps": 5, "personal_lr": 0.1}, alternate=True
    )


@pytest.mark.certifies("partial_fl", "fedsim", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("rate", [{}, {"personal_lr": 0.05}], ids=str)
@pytest.mark.parametrize(
    ("name", "schedule"), [("partial_fl", {"schedule": "simultaneous"}), ("fedsim", {})]
)
def test_fedsim(name, schedule, rate, work):
    compare(name, "dnn", OUT, work, {**schedule, **rate})


@pytest.mark.certifies("fedper", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_fedper(split, work):
    kind, choice, names = split
    compare("fedper", kind, names, work, {"personal": choice})


@pytest.mark.certifies("lg_fedavg", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_lg_fedavg(split, work):
    kind, choice, names = split
    others = [name for name in architecture(kind).initial if name not in names]
    compare("lg_fedavg", kind, others, work, {"shared": choice})


@pytest.mark.certifies("fedrep", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_fedrep(split, work):
    """The head's τ steps, then those of the representation; the plain mean at the server."""
    kind, choice, names = split
    hyper = {"personal": choice, "personal_steps": 5, "personal_lr": 0.2}
    compare("fedrep", kind, names, work, hyper, alternate=True, uniform=True)


@pytest.mark.certifies("fedrep", "law")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_fedrep_is_fedalt_with_a_plain_mean(work):
    """Equal to the bit, in states, messages and what clients keep."""
    both = [
        Federated(
            make(name, {"weights": "uniform", "personal_steps": 2}, {"lr": LR}),
            population(),
            {"dnn": architecture("dnn")},
            **work,
        ).run(ROUNDS)
        for name in ("fedrep", "partial_fl")
    ]
    for a, b in zip(both[0].moments, both[1].moments, strict=True):
        assert same(a.state, b.state)
        assert same(a.own, b.own)
        assert same(a.up, b.up)


@pytest.mark.certifies("fedbn", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_fedbn_on_layers_that_are_named(split, work):
    """Whatever stays at home, the rest is trained with it and averaged plainly."""
    kind, choice, names = split
    compare("fedbn", kind, names, work, {"personal": choice}, uniform=True)


@pytest.mark.certifies("fedbn", "law")
def test_fedbn_keeps_the_layers_with_statistics():
    """Beside a loop of torch's own modules: only linear layers travel, whole batches, one step."""
    people, model = population(dtype=torch.float32, classes=2), normed()
    run = Federated(
        make("fedbn", {}, {"lr": 0.1}), people, {"normed": model}, batch_size=64, epochs=1
    ).run(2, evaluate=False)
    shared, own = dict(model.initial), {k: dict(model.initial) for k in run.infos}
    for _ in range(2):
        sent = []
        for k in run.infos:
            mine = {**own[k], **{name: shared[name] for name in ("0.weight", "0.bias", "3.weight")}}
            own[k] = by_torch(mine, *people.part(k, "train"))
            sent.append(own[k])
        for name in ("0.weight", "0.bias", "3.weight"):
            shared[name] = torch.stack([each[name] for each in sent]).mean(0)
    for k, kept in run.moments[-1].own.items():
        assert set(kept["parameters"]) == {"1.weight", "1.bias", *STATISTICS}
        for name, value in kept["parameters"].items():
            torch.testing.assert_close(torch.from_numpy(value), own[k][name])
    for name, value in run.moments[-1].state["parameters"].items():
        torch.testing.assert_close(torch.from_numpy(value), shared[name])


def by_torch(values, x, y):
    """One step of torch's own SGD on all rows, with the module's own batch norm."""
    module = nn.Sequential(
        nn.Linear(WIDTH, 3),
        nn.BatchNorm1d(3),
        nn.BatchNorm1d(3, affine=False),
        nn.Linear(3, 2, bias=False),
    )
    module.load_state_dict(
        {name.removeprefix("buffer:"): value for name, value in values.items()}, strict=False
    )
    torch.nn.functional.cross_entropy(module(x), y).backward()
    torch.optim.SGD(module.parameters(), lr=0.1).step()
    found = module.state_dict()
    return {name: found[name.removeprefix("buffer:")].clone() for name in values}


def test_fedbn_of_a_model_without_statistics():
    with pytest.raises(FedkinError, match="'norm': the model has no layer with running statistics"):
        Federated(make("fedbn", {}, {"lr": LR}), population(), {"dnn": architecture("dnn")})


def test_aliases():
    assert make("fedalt", {}, {"lr": LR}).hyper["schedule"] == "alternate"
    assert (
        make("fedlg", {}, {"lr": LR}).name == make("lg-fedavg", {}, {"lr": LR}).name == "lg_fedavg"
    )


# --- which layers


def normed():
    """Names 0.weight 0.bias, 1.weight 1.bias and statistics 1.running_mean 1.running_var,
    2.running_… , 3.weight.
    """
    layers = (
        nn.Linear(WIDTH, 3),
        nn.BatchNorm1d(3),
        nn.BatchNorm1d(3, affine=False),
        nn.Linear(3, 2, bias=False),
    )
    return from_module("normed", nn.Sequential(*layers))


STATISTICS = {f"buffer:{layer}.running_{which}" for layer in (1, 2) for which in ("mean", "var")}
ONE = {name for name in STATISTICS if ":1." in name}
CHOICES = {
    "last": {"3.weight"},
    "first": {"0.weight", "0.bias"},
    "1.": {"1.weight", "1.bias", *ONE},
    ("1.", "3."): {"1.weight", "1.bias", "3.weight", *ONE},
    "*bias": {"0.bias", "1.bias"},
    "all": {"0.weight", "0.bias", "1.weight", "1.bias", "3.weight", *STATISTICS},
    (): set(),
}


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_running_statistics_go_with_their_layer(choice):
    assert select(normed().initial, choice, "layer") == CHOICES[choice]


def test_the_last_layers_statistics_are_part_of_it():
    assert select({"a.weight": 0, "b.weight": 0, "buffer:b.mean": 0}, "last", "layer") == {
        "b.weight",
        "buffer:b.mean",
    }


@pytest.mark.parametrize("name", ["fedper", "fedsim", "partial_fl", "lg_fedavg"])
@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_statistics_are_kept_or_averaged_with_their_layer(name, choice):
    """Messages hold the shared layers and their statistics, states the personal ones and theirs;
    views hold all.
    """
    chosen = CHOICES[choice]
    everything = set(normed().initial)
    key, mine = ("shared", everything - chosen) if name == "lg_fedavg" else ("personal", chosen)
    people = population(dtype=torch.float32, classes=2)
    run = Federated(
        make(name, {key: choice}, {"lr": 0.1}), people, {"normed": normed()}, epochs=1
    ).run(2)
    for moment in run.moments:
        for k in run.infos:
            assert set(moment.own[k].get("parameters", {})) == mine
            for message in (moment.up[k], moment.down[k]):
                assert set(message.get("parameters", {})) == everything - mine
    first = arrays(normed().initial)
    for name_of, value in arrays(run.coordinator.views(0, 3)["personal"]).items():
        assert (
            name_of not in STATISTICS
            or (value != first[name_of]).any()
            or moved_not(name, name_of, mine)
        )


def moved_not(name, statistic, mine):
    """Statistics of a layer without weights stand still in FedAlt where its half has none."""
    return name == "partial_fl" and (
        mine <= STATISTICS or set(normed().initial) - mine <= STATISTICS
    )


MISTAKES = [
    (
        "fedper",
        {"personal": "ot."},
        "dnn",
        r"unknown personal layer 'ot\.': did you mean .*hidden\.bias.*out\.weight",
    ),
    (
        "fedper",
        {"personal": ["out.", "nothing"]},
        "dnn",
        "unknown personal layer 'nothing'.*choices: hidden.bias",
    ),
    (
        "lg_fedavg",
        {"shared": "nothing"},
        "dnn",
        "unknown shared layer 'nothing'.*choices: hidden.bias",
    ),
    (
        "fedper",
        {},
        "mlr",
        r"personal layer 'last': the model has one layer only: name .* as in \['bias'\]",
    ),
    ("lg_fedavg", {}, "mlr", "shared layer 'last': the model has one layer only"),
    (
        "partial_fl",
        {"personal": "first"},
        "mlr",
        "personal layer 'first': the model has one layer only",
    ),
    ("ppfl", {"canonical": ("out.", "nothing")}, "dnn", "unknown canonical layer 'nothing'"),
    ("ppfl", {"canonical": ()}, "dnn", "unknown canonical layer"),
]


@pytest.mark.parametrize(("name", "hyper", "kind", "sentence"), MISTAKES)
def test_layers_that_do_not_exist(name, hyper, kind, sentence):
    """Said before training, and with the names that exist."""
    with pytest.raises(FedkinError, match=sentence) as caught:
        Federated(make(name, hyper, {"lr": LR}), population(), {kind: architecture(kind)}, steps=1)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "hyper",
    [
        {"schedule": "both"},
        {"personal_lr": 0.0},
        {"personal_steps": 0},
        {"personal_steps": 2, "schedule": "simultaneous"},
    ],
)
def test_out_of_range(hyper):
    with pytest.raises(FedkinError, match="partial_fl"):
        make("partial_fl", hyper, {"lr": LR})
