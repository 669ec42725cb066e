"""What a node finds out by itself is the same when its owner asks, when it starts, and when a
server asks.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.flower.node.checked import checked
from fedkin.flower.node.usable import check_fit, experiment_at, own_data
from fedkin.runs.spec import Spec
from tests.engine.small import small
from tests.flower.node.host_examples import ask, made, request

ROWS = "age,bmi,label,split\n" + "".join(f"{20 + k},{k},{k % 2},train\n" for k in range(20))


def own(**changes: object) -> Spec:
    return small("ditto", **changes)


# an experiment, further lines of node.toml → what is said
UNFIT: dict[str, tuple[Callable[[], Spec], dict[str, str], str]] = {
    "a scale of other columns": (
        lambda: own(data__mean=[1.0, 2.0, 3.0]),
        {},
        "data.mean has 3 values",
    ),
    "a model of images": (lambda: own(model__name="cnn"), {}, "cnn"),
    "a measure of numbers": (lambda: own(run__measure="r2"), {}, "r2"),
    "no public file": (
        lambda: small("fedmd", public__source="gone.csv"),
        {},
        "gone.csv",
    ),
    "a model that is not there": (own, {"model": "gone.net:Net"}, "gone"),
}


@pytest.mark.parametrize("case", UNFIT)
def test_data_that_do_not_fit_are_told_by_a_check_and_a_start(case: str, tmp_path: Path) -> None:
    spec, settings, said = UNFIT[case]
    node = made(tmp_path, spec(), data="data.csv", **settings)
    (tmp_path / "data.csv").write_text(ROWS)
    with pytest.raises(FedkinError, match=said):
        checked(tmp_path)
    assert node.look().startswith("no run can have this node until this is mended: ")
    assert said in node.look()


def test_an_experiment_that_is_not_for_nodes(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(ROWS)
    for spec, said in (
        (small("centralized"), "needs everybody's data in one place"),
        (small("ditto", engine__device="cuda:0"), "nodes compute on their CPU"),
        (small("fedavg").replace("method", name="gone.made:method"), "does not import"),
    ):
        node = made(tmp_path, spec, data="data.csv")
        with pytest.raises(FedkinError, match=said):
            checked(tmp_path)
        assert said in node.look()
        assert said in (ask(node, request(spec, steps=()))[0].error or "")


def test_a_node_with_one_class_of_several_has_a_model(tmp_path: Path) -> None:
    node = made(tmp_path, small("ditto"), data="data.npz")
    np.savez(tmp_path / "data.npz", x_train=np.zeros((6, 4), np.float32), y_train=np.zeros(6, int))
    spec, _ = experiment_at(node.config, tmp_path)
    read = own_data(tmp_path / "data.npz", spec)
    assert read.classes == 1
    check_fit(node.config, spec, read)


def test_an_error_keeps_its_family(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("")
    with pytest.raises(FedkinError) as told:
        own_data(path, small("ditto"))
    assert told.value.code == "FED-302"
