"""A comparison as a paper has it."""

from pathlib import Path

from fedkin.report.comparison.compare import comparison
from fedkin.report.comparison.experiments.paper import SPREAD, latex, paper_sheets
from fedkin.report.comparison.tables import markdown
from tests.report.comparison.compare_examples import shift
from tests.report.records_for_tests import write


def test_a_row_is_a_method_with_its_setting_and_the_mean_over_its_seeds(tmp_path: Path) -> None:
    runs = [write(tmp_path / f"local-{seed}", method="local", seed=seed) for seed in (0, 1, 2)]
    runs += [
        shift(write(tmp_path / f"0003-lam={lam}-{seed}", hyper={"lam": lam}, seed=seed), [0.1])
        for lam in (1.0, 2.0)
        for seed in (0, 1)
    ]
    runs.append(write(tmp_path / "half", method="fedavg", finished=False))
    found = comparison(runs)
    scores, costs, *others = paper_sheets(found)
    assert scores.columns[:4] == ["method", "setting", "seeds", "mean"]
    assert [row[:3] for row in scores.rows] == [
        ["local", "", "3 (0–2)"],
        ["comet", "lam = 1.0", "2 (0, 1)"],
        ["comet", "lam = 2.0", "2 (0, 1)"],
    ]
    assert scores.rows[0][3] == "60.00 ± 0.00"
    assert scores.caption.startswith(SPREAD)
    assert scores.caption.endswith("rounds: 2")
    assert [row[:3] for row in costs.rows] == [row[:3] for row in scores.rows]
    cells = dict(zip(costs.columns, costs.rows[0], strict=True))
    assert "±" not in cells["unicast bytes"]  # the same under every seed
    assert not any("mean ± sd" in sheet.title for sheet in others)  # which the first table has
    lines = latex(found).splitlines()
    assert not any("0003" in line for line in lines if not line.startswith("%"))
    assert "% half is unfinished: round 2 of 2" in lines


def test_one_seed_has_no_spread_and_is_not_said_to_be_none(tmp_path: Path) -> None:
    runs = [write(tmp_path / name, method=name, seed=0) for name in ("local", "comet")]
    scores, costs, *_ = paper_sheets(comparison(runs))
    assert "±" not in str([scores, costs])
    assert {row[2] for row in scores.rows} == {"1 (0)"}
    assert "| comet |  | 1 (0) |" in markdown(comparison(runs))  # in the table of pairs, too
