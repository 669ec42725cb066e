"""Methods by the names that papers and other libraries give them."""

import sys

import pytest

from fedkin.certificates.registry import held
from fedkin.cli.listing.methods import named
from fedkin.core.errors import FedkinError, letters
from fedkin.experiment.own_files import method_file
from fedkin.methods import ALIASES, METHODS, OTHERWISE, known_name, make, registry
from fedkin.setup.arguments.options import specification
from fedkin.setup.arguments.typed_method import typed_method
from fedkin.setup.build import method_of
from fedkin.transforms.registry import TRANSFORMS
from tests.experiment.registered import registered

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
    "FedAvgDBE": "feddbe",
    "FedAvg-DBE": "feddbe",
    "Per-FedAvg-HF": "per_fedavg",
    "per_fedavg_hf": "per_fedavg",
    "HF-MAML": "per_fedavg",
}

TOLD = {
    "FedAvgM": "--method fedavg --set server.optimizer=momentum",
    "FedAdam": "--method fedavg --set server.optimizer=adam",
    "fed_yogi": "--method fedavg --set server.optimizer=yogi",
    "FedAdagrad": "--method fedavg --set server.optimizer=adagrad",
    "FedOpt": "--method fedavg --set server.optimizer=adam",
    "Per-FedAvg-FO": "--method per_fedavg:hessian=fo",
    "FO-MAML": "--method per_fedavg:hessian=fo",
    "DP-FedAvg": "--method fedavg --set privacy.clip=1 --set privacy.noise=1 --set "
    "privacy.delta=1e-5",
    "MOCHA": "--method fedu",
    "FedMTL": "--method fedu",
}


@pytest.mark.parametrize(("written", "method"), WRITTEN.items())
def test_as_it_is_written(written, method):
    assert known_name(written) == method
    (listed,) = named(written)
    assert listed["name"] == method


@pytest.mark.parametrize(("written", "instead"), TOLD.items())
def test_what_is_a_setting_here_is_told_with_the_words_to_type(written, instead):
    for asked in (known_name, named, held):
        with pytest.raises(FedkinError, match=f"^unknown method '{written}': ") as error:
            asked(written)
        sentence = str(error.value)
        assert "did you mean" not in sentence
        assert sentence.endswith(f"({instead})")
    options = instead.split()
    method, changes = options[1], [word for word in options[2:] if word != "--set"]
    spec, _ = specification(None, {"method": method}, changes, False, "run")
    method_of(spec)


def test_a_rule_that_is_asked_for_as_a_method_is_told_as_the_transform_that_it_is():
    for written in ("Trimmed-Mean", "median", "RFA", "Krum", "geometric_median"):
        with pytest.raises(FedkinError, match="it is a rule in the place of a method's") as error:
            known_name(written)
        transform = str(error.value).rstrip(")").rpartition(" --transform ")[2]
        assert TRANSFORMS[transform].stage == "rule"


def test_no_two_methods_are_one_name():
    names = {letters(name): name for name in METHODS}
    assert len(names) == len(METHODS)
    for alias, method in ALIASES.items():
        assert method in METHODS
        assert names.get(letters(alias), method) == method


def test_no_name_that_is_told_otherwise_is_a_methods():
    taken = {letters(name) for name in (*METHODS, *ALIASES)}
    assert not taken & OTHERWISE.keys()
    assert all(name == letters(name) for name in OTHERWISE)


def test_no_alias_says_what_capitals_and_hyphens_say_already():
    names = [letters(name) for name in (*METHODS, *ALIASES)]
    assert len(set(names)) == len(names)


def test_no_package_is_imported_for_a_method_of_another(tmp_path, monkeypatch):
    for name in ("asked9", "other9"):
        registered(tmp_path, name)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert make("FedAvg", {}, {"lr": 0.1}).name == "fedavg"
    assert method_file("per-fedavg") == {}
    assert typed_method("fedavg:lr=0.1")[0] == "fedavg"
    assert not {"asked9", "other9"} & sys.modules.keys()
    assert make("asked9", {}, {"lr": 0.1}).name == "asked9"
    assert method_file("Asked-9").keys() == {"asked9"}
    assert "other9" not in sys.modules
    assert {"asked9", "other9"} <= registry().keys()


def test_what_is_like_none():
    with pytest.raises(FedkinError, match="write name = 'comet' and clusters = 3, lam = 2 beside"):
        known_name("comet:clusters=3,lam=2")
    with pytest.raises(FedkinError, match="unknown method 'FedAvgg': did you mean"):
        known_name("FedAvgg")
