"""Methods by the names that papers and other libraries give them."""

import pytest

from fedkin.cli.listing.methods import named
from fedkin.core.errors import FedkinError, letters
from fedkin.methods import ALIASES, METHODS, known_name

WRITTEN = {
    "FedAvg": "fedavg",
    "fed_avg": "fedavg",
    "FedRep": "fedrep",
    "pFedMe": "pfedme",
    "Per-FedAvg": "per_fedavg",
    "PerFedAvg": "per_fedavg",
    "LG-FedAvg": "lg_fedavg",
    "kNN-Per": "knn_per",
    "Fed-RoD": "fedrod",
    "MOON": "moon",
    "L2GD": "l2sgd",
    "FedAvg FT": "finetune",
    "FedAvg+": "finetune",
    "PerAvg": "per_fedavg",
    "FedCP": "fedcp",
    "GPFL": "gpfl",
    "PerAda": "perada",
    "FedKD": "fedkd",
    "Local-Only": "local",
    "ClusteredFL": "clustered_fl",
    "DS-FL": "ds_fl",
    "comet": "comet",
}


@pytest.mark.parametrize(("written", "method"), WRITTEN.items())
def test_as_it_is_written(written, method):
    assert known_name(written) == method
    (listed,) = named(written)
    assert listed["name"] == method


def test_no_two_methods_are_one_name():
    names = {letters(name): name for name in METHODS}
    assert len(names) == len(METHODS)
    for alias, method in ALIASES.items():
        assert method in METHODS
        assert names.get(letters(alias), method) == method


def test_what_is_like_none():
    with pytest.raises(FedkinError, match="unknown method 'FedAvgg': did you mean"):
        known_name("FedAvgg")
