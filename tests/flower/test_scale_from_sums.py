"""docs/deploy.md, "Scale from sums": what it prints is the scale that fedkin fits to all rows."""

import re
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest

from fedkin.data.tables.encoding import fit
from fedkin.data.tables.recipe import Column, Recipe

PAGE = Path(__file__).parents[2] / "docs" / "deploy.md"
COLUMNS = ("year", "bmi", "same")


def test_the_scale_of_all_nodes_is_that_of_the_pooled_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    section = PAGE.read_text(encoding="utf-8").split("### Scale from sums")[1].split("\n### ")[0]
    on_a_node, on_the_operators = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    rng, pooled = np.random.default_rng(0), []
    for node, rows in enumerate((5, 40, 17)):
        columns = [rng.integers(1990, 2030, rows), rng.normal(27, 4, rows), np.full(rows, 0.3)]
        x = np.stack(columns, axis=1)
        pooled.append(x)
        lines = [f"{a!r},{b!r},{c!r},{k % 2},train" for k, (a, b, c) in enumerate(x.tolist())]
        lines += ["9999.0,999.0,9.0,0,test"]  # rows that nobody trains on
        home = tmp_path / str(node)
        home.mkdir()
        monkeypatch.chdir(home)
        Path("data.csv").write_text("\n".join([",".join([*COLUMNS, "readmitted,split"]), *lines]))
        exec(compile(on_a_node, "node", "exec"), {})
        shutil.copy("sums.json", tmp_path / f"sums-{node}.json")
    monkeypatch.chdir(tmp_path)
    exec(compile(on_the_operators, "operator", "exec"), {})
    said = tomllib.loads(capsys.readouterr().out)
    x = np.concatenate(pooled)
    encoding = fit(Recipe(tuple(map(Column, COLUMNS))), x, np.arange(len(x)))
    assert said["mean"] == pytest.approx([one.mean for one in encoding.features])
    assert said["std"] == pytest.approx([one.std for one in encoding.features])
