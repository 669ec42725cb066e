"""docs/deploy.md, "From raw files to a node's file": what its file of columns and
its script make is what nodes take; and "A node's state" has every file that must survive."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedkin.flower.node.data import columns_of, read
from fedkin.flower.node.privacy_ledger import SPENT
from fedkin.flower.node.protected_runs import BEGUN
from fedkin.flower.node.request_log import ASKED
from fedkin.flower.node.store import MODEL, SALT, SUFFIX
from fedkin.flower.table.prepare import prepare
from fedkin.runs.directory import SECRET
from tests.flower.table.tables import node

Image = pytest.importorskip("PIL.Image")
PAGE = Path(__file__).parents[2] / "docs" / "deploy.md"
NAME = "### From raw files to a node's file"


def blocks(kind: str) -> list[str]:
    section = PAGE.read_text(encoding="utf-8").split(NAME)[1].split("\n### ")[0]
    return re.findall(rf"```{kind}\n(.*?)```", section, re.DOTALL)


def test_a_table(tmp_path: Path) -> None:
    folder = node(tmp_path)
    raw = pd.DataFrame(
        {
            "patient": [k // 2 for k in range(80)],
            "age": [None if k == 5 else 40.0 + k for k in range(80)],
            "bmi": 27.0,
            "ward": ["heart", "lung", "eye", None] * 20,
            "outcome": ["home", "readmitted", "readmitted", "home"] * 20,
        }
    )
    raw.to_csv(tmp_path / "raw.csv", index=False)
    (text,) = blocks("toml")
    (folder / "columns.toml").write_text(text, encoding="utf-8")
    prepare(folder, tmp_path / "raw.csv", folder / "columns.toml")
    own = read(folder / "data.csv", "sick")
    inputs = ("age", "age is missing", "bmi", "ward = heart", "ward = lung", "ward is another")
    assert columns_of(own) == inputs
    assert [len(own.rows(split)[0]) for split in ("train", "val", "test")] == [48, 16, 16]


def test_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("healthy", "ill"):
        Path("raw", name).mkdir(parents=True)
        for k in range(20):
            mode = "L" if k % 2 else "RGB"
            image = Image.new(mode, (70 + k, 90), 200 if name == "ill" else 10)
            image.save(Path("raw", name, f"{k}.png"))
    (script,) = blocks("python")
    exec(compile(script, "images", "exec"), {})
    own = read(Path("data.npz"))
    assert own.x.shape == (40, 3, 64, 64)
    bright = (own.x.float().flatten(1).mean(1) > 60).numpy()
    assert np.array_equal(bright, own.y.numpy() == 1)


def test_the_files_of_a_nodes_state() -> None:
    section = PAGE.read_text(encoding="utf-8").split("## A node's state\n")[1].split("\n## ")[0]
    named = re.findall(r"^\| `state/([^`]+)`", section, re.MULTILINE)
    of_a_run = (f"ROUND{SUFFIX}", f"{MODEL}{SUFFIX}", ASKED)
    assert set(named) == {*(f"RUN/{name}" for name in of_a_run), BEGUN, SPENT, SECRET, SALT}
