"""partial_fl (FedAlt, FedSim), fedsim, fedper and lg_fedavg beside
tests/reference/partial_fl.py.
"""

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.methods import make
from tests.methods.federation import (
    Federated,
    architecture,
    arrays,
    population,
)
from tests.methods.partial_fl_examples import (
    CHOICES,
    LR,
    OUT,
    SPLITS,
    STATISTICS,
    WORK,
    compare,
    normed,
)


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


def test_aliases():
    assert make("fedalt", {}, {"lr": LR}).hyper["schedule"] == "alternate"
    assert (
        make("fedlg", {}, {"lr": LR}).name == make("lg-fedavg", {}, {"lr": LR}).name == "lg_fedavg"
    )


# --- which layers


@pytest.mark.rotating
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
        r"unknown personal layer 'ot\.' \(choices: hidden\.bias.*out\.weight",
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
        r"last': the model has one layer only, but for frozen ones: take .* as in \['bias'\]",
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
