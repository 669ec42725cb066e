"""[model] target: labels are standardised for training, and nobody else notices."""

from pathlib import Path

import numpy as np
import pytest

from fedkin import Result
from fedkin.core.errors import FedkinError
from fedkin.experiment.run import experiment, run
from fedkin.setup.build import assemble
from fedkin.setup.loaded_run import load
from tests.cli.command import fedkin


def table(path: Path, unit: float, offset: float) -> str:
    """Five clients; the label is a noisy linear function, in any unit."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(150, 2))
    y = offset + unit * (x @ [1.0, -2.0] + 0.1 * rng.normal(size=150))
    lines = [
        f"s{k % 5},{u},{v},{label!r}"
        for k, ((u, v), label) in enumerate(zip(x.tolist(), y.tolist(), strict=True))
    ]
    path.write_text("\n".join(["site,u,v,label", *lines]))
    return str(path)


def ran(folder: Path, method: str, unit: float, offset: float, target: object) -> Path:
    folder.mkdir()
    content = {
        "data": {"name": table(folder / "t.csv", unit, offset), "client": "site"},
        "model": {"name": "mlr", "target": target},
        "method": {"name": method, **({"affinity": "none"} if method == "ppfl" else {})},
        "train": {"lr": 0.2},
        "run": {"rounds": 3, "evaluate_every": 3},
        "engine": {"name": "inprocess", "compile": "trace"},
    }
    return run(experiment(content), folder / "run")


@pytest.mark.parametrize("method", ["fedavg", "ppfl"])
def test_it_is_training_on_standardised_labels(method: str, tmp_path: Path) -> None:
    """Labels of another unit and place, standardised: the same parameters, and errors in the
    labels' units.
    """
    unit, offset = 5000.0, 40000.0
    ours = Result(ran(tmp_path / "far", method, unit, offset, "standard"))
    mean, deviation = load(tmp_path / "far" / "run")[1].spec.model.target
    assert (mean, deviation) == (
        pytest.approx(offset, rel=0.2),
        pytest.approx(unit * 5**0.5, rel=0.2),
    )
    plain = Result(
        ran(tmp_path / "near", method, unit / deviation, (offset - mean) / deviation, "none")
    )
    for name in ("rmse", "mae"):
        far, near = (found.summary["measures"]["personal"][name]["mean"] for found in (ours, plain))
        assert far == pytest.approx(near * deviation, rel=1e-3)
        assert near < 0.7, "it has learned: without a model it would be 1"
    x, y = ours.data(2)
    told = ours.personal(2)(x)[:, 0].detach()
    assert float((told - y).abs().mean()) < deviation, "predictions are in the labels' units"
    loss = ours.summary["loss"]["personal"]["final"]["mean"]
    assert loss == pytest.approx(
        plain.summary["loss"]["personal"]["final"]["mean"] * deviation**2, rel=1e-3
    )


def test_who_can_have_one(tmp_path: Path) -> None:
    data = {"name": table(tmp_path / "t.csv", 1.0, 0.0), "client": "site"}
    with pytest.raises(FedkinError, match="not categorical: are they numbers"):
        assemble(experiment({"model": {"target": "standard"}, "method": {"name": "local"}}))
    with pytest.raises(FedkinError, match=r"model\.target"):
        experiment({"data": data, "model": {"target": [0.0, 0.0]}})
    parts = assemble(
        experiment({"data": data, "model": {"target": [3.0, 2.0]}, "method": {"name": "local"}})
    )
    assert parts.spec.model.target == (3.0, 2.0)


def test_a_newcomer_and_an_export_are_in_the_labels_units(tmp_path: Path) -> None:
    folder = ran(tmp_path / "far", "fedavg", 5000.0, 40000.0, "standard")
    mine = tmp_path / "mine.csv"
    rows = (tmp_path / "far" / "t.csv").read_text().splitlines()
    mine.write_text(
        "\n".join(
            ["u,v,label", *(row.removeprefix("s0,") for row in rows if row.startswith("s0,"))]
        )
    )
    found = fedkin("join", folder, "--data", mine, "--rounds", 1)
    assert found.exit_code == 0, found.output
    rmse = float(found.stdout.split("test RMSE ")[1].split()[0])
    assert 50 < rmse < 20000
    done = fedkin("export", folder, "--client", "s1", "--format", "pt2", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
