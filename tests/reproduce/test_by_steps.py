"""benchmarks/by_steps.py: a round is told under the steps that it took."""

from pathlib import Path

import pytest

from benchmarks.by_steps import by_steps
from fedkin.api import Experiment


def test_each_round_stands_under_its_own_draw(tmp_path: Path) -> None:
    experiment = Experiment("l2sgd", rounds=8, clients=3, engine="inprocess", **{"method.p": 0.4})
    result = experiment.run(tmp_path / "run")
    table = by_steps(tmp_path / "run", last=5)
    assert table["count"].sum() == 5
    notes = result.notes
    drawn = notes[notes["name"] == "next_steps"].set_index("round")["value"]
    metrics = result.metrics
    personal = metrics[(metrics["view"] == "personal") & (metrics["split"] == "test")]
    for group, row in table.iterrows():
        mine = [number for number in range(4, 9) if int(drawn[number - 1]) in group]
        assert len(mine) == row["count"]
        scores = personal[personal["round"].isin(mine)]["accuracy"]
        assert row["mean"] == pytest.approx(100 * scores.mean())
