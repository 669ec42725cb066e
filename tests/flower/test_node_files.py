"""docs/deploy.md, "From raw files to a node's file": what its scripts write is what nodes take."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedkin.flower.node.data import columns_of, read

Image = pytest.importorskip("PIL.Image")
PAGE = Path(__file__).parents[2] / "docs" / "deploy.md"
NAME = "### From raw files to a node's file"


def scripts() -> tuple[str, str]:
    section = PAGE.read_text(encoding="utf-8").split(NAME)[1].split("\n### ")[0]
    of_tables, of_images = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    return of_tables, of_images


def test_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    raw = pd.DataFrame(
        {
            "patient": [k // 2 for k in range(80)],
            "age": [None if k == 5 else 40.0 + k for k in range(80)],
            "bmi": 27.0,
            "ward": ["heart", "lung", "eye", None] * 20,
            "outcome": ["home", "readmitted", "readmitted", "home"] * 20,
        }
    )
    raw.to_csv("raw.csv", index=False)
    exec(compile(scripts()[0], "table", "exec"), {})
    own = read(Path("data.csv"), "readmitted")
    assert columns_of(own) == ("age", "bmi", "ward = heart", "ward = lung")
    sizes = [len(own.rows(split)[0]) for split in ("train", "val", "test")]
    assert sum(sizes) == 80
    assert all(size % 2 == 0 for size in sizes)  # both rows of each patient
    written = pd.read_csv("data.csv")
    assert written["age"][5] == 61.0
    assert written["readmitted"].tolist() == [0, 1, 1, 0] * 20
    assert written["ward = lung"].tolist() == [0, 1, 0, 0] * 20
    raw.assign(outcome="moved").to_csv("raw.csv", index=False)
    with pytest.raises(ValueError, match="'moved' is not in list"):
        exec(compile(scripts()[0], "table", "exec"), {})


def test_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("healthy", "ill"):
        Path("raw", name).mkdir(parents=True)
        for k in range(20):
            mode = "L" if k % 2 else "RGB"
            image = Image.new(mode, (70 + k, 90), 200 if name == "ill" else 10)
            image.save(Path("raw", name, f"{k}.png"))
    exec(compile(scripts()[1], "images", "exec"), {})
    own = read(Path("data.npz"))
    assert own.x.shape == (40, 3, 64, 64)
    bright = (own.x.float().flatten(1).mean(1) > 60).numpy()
    assert np.array_equal(bright, own.y.numpy() == 1)
