"""The Python interface: mistakes are told when they are made, and a result gives back models and
data.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import fedkin
from fedkin import Experiment, FedkinError, Result, run

SMALL: dict[str, Any] = {
    "clients": 4,
    "rounds": 1,
    "steps": 2,
    "engine": "inprocess",
    "model": "mlr",
}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return run(Experiment("fedavg", **SMALL), out=tmp_path_factory.mktemp("api") / "run")


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


def test_what_they_say_of_themselves(result: Result) -> None:
    shown = repr(Experiment("comet", clients=3, **{"method.clusters": 2}))
    assert shown == "Experiment(method='comet', clients=3, **{'method.clusters': 2})"
    assert eval(shown).spec == Experiment("comet", clients=3, **{"method.clusters": 2}).spec
    assert repr(result) == f"Result({str(result.folder)!r})"
    assert {*fedkin.__all__} <= {*dir(fedkin)}


def test_a_result_of_no_run_is_refused_at_once(tmp_path: Path, result: Result) -> None:
    with pytest.raises(FedkinError, match=r"/nothere does not exist$"):
        Result(tmp_path / "nothere")
    with pytest.raises(FedkinError, match=r"is not a run directory: it has no run\.db$"):
        Result(tmp_path)
    inside = result.folder.parent
    with pytest.raises(FedkinError, match="name one of them, such as"):
        Result(inside)


@pytest.mark.parametrize("client", [4, -1, "9", 1.0, None])
def test_a_client_that_is_not_there(result: Result, client: Any) -> None:
    with pytest.raises(FedkinError, match="clients are 0 to 3"):
        result.personal(client)
    with pytest.raises(FedkinError, match="clients are 0 to 3"):
        result.data(client)


def test_a_view_or_split_that_is_not_there(result: Result) -> None:
    with pytest.raises(FedkinError, match="unknown view 'globall'"):
        result.personal(0, "globall")
    with pytest.raises(FedkinError, match="unknown split 'tset'"):
        result.data(0, "tset")  # type: ignore[arg-type]


def test_a_clients_data_are_those_it_was_measured_on(result: Result) -> None:
    x, y = result.data(np.int64(2))
    assert (x.dtype, y.dtype, tuple(x.shape[1:])) == (torch.uint8, torch.int64, (1, 8, 8))
    assert result.class_names == tuple("0123456789")
    hits = (result.personal(2)(x).argmax(1) == y).double().mean().item()
    rows = result.metrics.query("client == 2 and split == 'test' and view == 'personal'")
    assert hits == pytest.approx(rows.sort_values("round").accuracy.iloc[-1])
    assert len(result.data(2, "train")[0]) > len(x)
    torch.testing.assert_close(result.personal("2")(x), result.personal(2)(x))
    assert torch.equal(result.data("2")[0], x)


def test_a_tables_columns_and_classes_keep_their_order(tmp_path: Path) -> None:
    rows = "".join(f"{i},{('well', 'sick')[i % 2]},{i % 2},{-i}\n" for i in range(40))
    (tmp_path / "t.csv").write_text("b,state,site,a\n" + rows)
    keys = {"data.label": "state", "data.client": "site", "data.scale": "standard"}
    settings = {**SMALL, "clients": 2, "data": str(tmp_path / "t.csv"), "split": "natural", **keys}
    result = run(Experiment("local", **settings), out=tmp_path / "run")
    x, y = result.data(1, "train")
    assert result.class_names == ("sick", "well")
    assert (y == 0).all()
    torch.testing.assert_close(x[:, 0], -x[:, 1])


def test_a_comparison_with_a_folder_that_is_not_there_is_refused(result: Result) -> None:
    with pytest.raises(FedkinError, match="nowhere does not exist: name the folders of runs"):
        result.compare("nowhere")
