"""An experiment as a value: mistakes are told when they are made."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedkin import Experiment, FedkinError


@pytest.mark.parametrize(
    ("method", "settings", "sentence"),
    [
        ("comte", {}, "unknown method 'comte': did you mean 'comet'?"),
        ("comet", {"method.cluster": 3}, "'cluster': did you mean 'clusters'?"),
        ("comet", {"method.clusters": 0}, "clusters"),
        ("comet", {"data": "digit"}, "unknown data set 'digit': did you mean 'digits'?"),
        ("comet", {"public": "mnits"}, "unknown data set 'mnits': did you mean 'mnist'?"),
        (
            "comet",
            {"split": "dirichlett"},
            "unknown partition 'dirichlett': did you mean 'dirichlet'?",
        ),
        ("comet", {"model": "mrl"}, "unknown model 'mrl': did you mean 'mlr'?"),
        ("comet", {"rounds": 0}, "Experiment: run.rounds"),
        ("comet", {"run.round": 3}, "did you mean 'rounds'?"),
    ],
)
def test_a_mistake_is_told_at_construction(
    method: str, settings: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(FedkinError) as error:
        Experiment(method, **settings)
    assert sentence in str(error.value)
    assert "specification:" not in str(error.value)


def test_names_that_exist_are_taken() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Experiment(
            "local",
            data="table.csv",
            **{"data.label": "y", "model.map": {"a": "mlr", "b": "my.nets:Net"}},
        )
        Experiment("comet", data="mnist", public="held-out")


def test_an_npz_of_the_data_folder_is_a_data_set(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", x=np.zeros((4, 2)), y=np.array([0, 1, 0, 1]))
    Experiment("local", data="own", **{"data.dir": str(tmp_path)})
    with pytest.raises(FedkinError, match="did you mean 'own'"):
        Experiment("local", data="owm", **{"data.dir": str(tmp_path)})


def test_renamed_keys_are_warned_of() -> None:
    with pytest.warns(UserWarning, match=r"num_clients is called run\.clients here") as caught:
        assert Experiment("local", num_clients=7).spec.run.clients == 7
    assert caught[0].filename == __file__


def test_an_experiment_says_how_it_was_made() -> None:
    shown = repr(Experiment("comet", clients=3, **{"method.clusters": 2}))
    assert shown == "Experiment(method='comet', clients=3, **{'method.clusters': 2})"
    assert eval(shown).spec == Experiment("comet", clients=3, **{"method.clusters": 2}).spec
