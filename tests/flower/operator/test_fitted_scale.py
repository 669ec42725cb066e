"""What an operator is told of columns that nodes do not standardise."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from fedkin.cli import deploy
from fedkin.flower.operator.fitted_scale import unscaled
from fedkin.runs.spec import parse
from fedkin.setup.population import population_of


def written(path: Path, word: str = "") -> Path:
    rng = np.random.default_rng(0)
    lines = ["age,bmi,site,ill"]
    for k in range(60):
        age, bmi = rng.normal([61, 27], [18, 5]).round(1).tolist()
        lines.append(f"{age},{word or bmi},{'ns'[k % 2]},{k % 3 % 2}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_pair_is_the_one_that_a_run_fits(tmp_path: Path) -> None:
    table = {"name": str(written(tmp_path / "t.csv")), "client": "site", "label": "ill"}
    spec = parse({"data": table})[0]
    note = unscaled(spec)
    assert note is not None
    pair = tomllib.loads("\n".join(re.findall(r"(?:mean|std) = \[.*?\]", note)))
    encoding = population_of(spec, False).encoding
    assert pair["mean"] == pytest.approx([one.mean for one in encoding.features], rel=1e-5)
    assert pair["std"] == pytest.approx([one.std for one in encoding.features], rel=1e-5)


def test_other_experiments(tmp_path: Path) -> None:
    assert unscaled(parse({"data": {"name": "digits"}})[0]) is None
    table = {"name": "patients", "label": "ill"}
    assert unscaled(parse({"data": {**table, "mean": [1.0]}})[0]) is None
    unknown = unscaled(parse({"data": table})[0])
    assert unknown is not None
    assert unknown.endswith('every node (docs/deploy.md, "Scale from sums")')
    words = {"name": str(written(tmp_path / "t.csv", "much")), "client": "site", "label": "ill"}
    assert unscaled(parse({"data": words})[0]) == unknown


def test_init_says_it_of_real_nodes_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "fedkin")
    table = written(tmp_path / "t.csv")
    spec = tmp_path / "e.toml"
    spec.write_text(f'[data]\nname = "{table}"\nclient = "site"\nlabel = "ill"\n')
    deploy.init(tmp_path / "a", spec, "n,s", insecure=True, rehearse=True)
    assert "nodes do not standardise" not in caplog.text
    deploy.init(tmp_path / "b", spec, "n,s", insecure=True)
    assert "fedkin run fits mean = [" in caplog.text
