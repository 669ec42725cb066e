"""benchmarks/by_steps.py: a round is told under the steps that it took."""

from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from benchmarks import by_steps


def test_each_round_stands_under_what_the_round_before_drew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: rounds 1 to 4 take 1, 2000, 2 and 1 steps; the draw of round 4 is for nobody."""
    drawn = [(0, 1.0), (1, 2000.0), (2, 2.0), (3, 1.0), (4, 7.0)]
    scored = [(1, 0.2), (2, 0.9), (3, 0.4), (4, 0.3)]
    run = SimpleNamespace(
        notes=pd.DataFrame(
            [{"round": at, "name": "next_steps", "value": k} for at, k in drawn]
            + [{"round": 2, "name": "next_pulls", "value": 9.0}]
        ),
        metrics=pd.DataFrame(
            [
                {"round": at, "view": view, "split": "test", "accuracy": score + more}
                for at, score in scored
                for view, more in (("personal", -0.1), ("personal", 0.1), ("global", 0.05))
            ]
        ),
        summary={"rounds": 4},
    )
    monkeypatch.setattr(by_steps, "Result", lambda folder: run)
    table = by_steps.by_steps(tmp_path, last=4)
    assert [(group.left, group.right) for group in table.index[:2]] == [(1, 2), (2, 3)]
    assert table["count"].tolist() == [2, 1, 1]
    assert table["mean"].tolist() == pytest.approx([25.0, 40.0, 90.0])
    with pytest.raises(SystemExit, match="the last 5 rounds were not all run"):
        by_steps.by_steps(tmp_path, last=5)
