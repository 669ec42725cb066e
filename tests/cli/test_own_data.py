"""From a table to a model in use, as README.md and docs/own_data.md show it."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from fedkin.data.sources import load
from tests.cli.command import fedkin
from tests.cli.test_documents import ROOT, block
from tests.export.clinics import write_clinics

SHORT = ["--rounds", "2", "--engine", "inprocess", "--set", "train.steps=3"]


@pytest.mark.rotating
def test_five_commands_from_a_table_to_an_exported_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_clinics(tmp_path / "patients.csv", clinics=8)
    section = (ROOT / "README.md").read_text().split("## From your own table to a model in use")[1]
    commands = section.split("```bash\n")[1].split("```")[0].splitlines()
    assert len(commands) == 5
    for command in commands:
        arguments = shlex.split(command)[1:]
        done = fedkin(*arguments, *(SHORT if arguments[0] == "run" else []))
        assert done.exit_code == 0, (command, done.output)
    assert json.loads((tmp_path / "runs/ppfl/export/H07/card.json").read_text())["method"] == "ppfl"
    assert (tmp_path / "runs/ppfl/export/H07/model.pt2").stat().st_size > 0


def write_pfllib(root: Path) -> None:
    """Files as PFLlib writes them: a pickled dict a client, in train/ and test/."""
    rng = np.random.default_rng(0)
    for part, size in (("train", 6), ("test", 3)):
        folder = root / part
        folder.mkdir(parents=True)
        for client in range(20):
            data = {
                "x": rng.random((size, 1, 4, 4), dtype=np.float32),
                "y": rng.integers(0, 3, size),
            }
            np.savez(folder / f"{client}.npz", data=np.array(data, dtype=object))


def test_the_lines_that_convert_pfllibs_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_pfllib(tmp_path / "mnist")
    exec(block("docs/own_data.md", "python"), {})
    source = load("./mnist_clients.npz")
    assert source.x.shape == (180, 1, 4, 4)
    assert source.client is not None
    assert source.official_test is not None
    assert np.bincount(source.client[source.official_test].astype(int)).tolist() == [3] * 20
    saved = np.load(tmp_path / "mnist" / "test" / "7.npz", allow_pickle=True)["data"].tolist()
    mine = source.official_test & (source.client.astype(int) == 7)
    np.testing.assert_array_equal(source.x[mine], saved["x"])
