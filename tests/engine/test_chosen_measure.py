"""The experiment's measure is taken in every round, others once; thresholds are validation's."""

from pathlib import Path

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.measures import IN_SCORES, suited
from fedkin.core.method import plain_prediction
from fedkin.engine.measures import threshold
from fedkin.experiment.run import experiment, run
from fedkin.runs.database import read_only
from fedkin.runs.spec import Spec
from fedkin.setup.build import assemble
from fedkin.setup.hosts import host_of


@pytest.fixture
def rare(tmp_path: Path) -> Spec:
    """Three sites, a tenth of the labels is 1."""
    rng = np.random.default_rng(0)
    rows = [
        f"s{k % 3},{u:.4f},{v:.4f},{int(u + v > 1.8)}"
        for k, (u, v) in enumerate(rng.normal(size=(240, 2)))
    ]
    (tmp_path / "t.csv").write_text("\n".join(["site,u,v,label", *rows]))
    return experiment(
        data__name=str(tmp_path / "t.csv"),
        data__client="site",
        method__name="fedavg",
        model__name="mlr",
        engine__name="inprocess",
        engine__compile="trace",
        run__rounds=2,
    )


def test_only_the_chosen_one_is_taken_in_every_round(rare: Spec, tmp_path: Path) -> None:
    with read_only(run(rare, tmp_path / "run")) as database:
        names = "SELECT DISTINCT name FROM measures WHERE round = ? ORDER BY name"
        assert [database.rows(names, at) for at in (1, 2)] == [[("auc",)], [("auc",)]]
        last = {name for (name,) in database.rows(names, 3)}
        facts = database.facts()
    assert last == {*suited("two classes"), "threshold", "se"} - {*IN_SCORES}
    assert facts["measure"] == facts["spec"]["run"]["measure"] == "auc"
    assert facts["why"].endswith(
        "of the training labels are of the rare class: accuracy would mislead"
    )


def test_the_threshold_is_chosen_on_validation(rare: Spec, tmp_path: Path) -> None:
    parts = assemble(rare)
    data = host_of(parts, [0, 1, 2], tmp_path).data(1, 0)
    view = data.model.initial
    found = data.measures(view, plain_prediction)
    val, test = (data._predict(view, split, plain_prediction) for split in ("val", "test"))
    chosen = threshold(val)
    assert chosen != threshold(test)
    assert found["test"]["threshold"] == found["val"]["threshold"] == chosen
    positive = test.y == 1
    assert found["test"]["sensitivity"] == (test.p[positive, 1] >= chosen).mean()
    assert found["test"]["specificity"] == (test.p[~positive, 1] < chosen).mean()


def test_what_does_not_fit_is_refused_before_training(rare: Spec) -> None:
    wrong = rare.model_copy(update={"run": rare.run.model_copy(update={"measure": "rmse"})})
    with pytest.raises(FedkinError, match=r"run.measure = 'rmse' is not for two classes: choose"):
        assemble(wrong)
