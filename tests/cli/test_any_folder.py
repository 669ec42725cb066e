"""A run is resumed, and looked at, from any folder, however its files were named."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fedkin import Experiment
from fedkin.core.errors import FedkinError
from fedkin.experiment.run import experiment
from fedkin.runs.spec import Spec
from fedkin.setup.arguments.options import specification
from fedkin.setup.build import assemble
from tests.cli.command import SMALL, fedkin, without_record

ROWS = ["site,a,b,label", *(f"{i % 5},{i * 0.1},{i % 7},{i % 2}" for i in range(120))]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a table, a folder of tables, a public set, and a data folder."""
    (tmp_path / "here" / "sites").mkdir(parents=True)
    (tmp_path / "here" / "store").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("t.csv").write_text("\n".join(ROWS))
    for site in range(4):
        Path(f"sites/{site}.csv").write_text(
            "\n".join(["a,b,label", *(f"{i},{site},{i % 2}" for i in range(20))])
        )
    Path("exp.toml").write_text('data = {name = "t.csv", client = "site"}')
    for name in ("public", "store/own"):
        np.savez(f"{name}.npz", x=np.ones((300, 8, 8), np.uint8), y=np.arange(300) % 2)
    return tmp_path / "here"


def typed(options: dict[str, str], *settings: str) -> Spec:
    return specification(None, options, settings)[0]


WAYS: dict[str, Callable[[], Spec]] = {
    "--data": lambda: typed({"data": "t.csv:client=site"}),
    "--data of a bare folder": lambda: typed({"data": "sites"}),
    "--data of a folder": lambda: typed({"data": "sites/:label=label"}),
    "--set data.name": lambda: typed({}, "data.name=t.csv", "data.client=site"),
    "a file": lambda: specification(Path("exp.toml"), {}, [])[0],
    "--public": lambda: typed({"method": "feddf", "public": "public.npz:20"}),
    "--set data.dir": lambda: typed({}, "data.name=own", "data.dir=store"),
    "Python": lambda: Experiment("local", **{"data.name": "./t.csv", "data.client": "site"}).spec,
    "Python, a keyword": lambda: Experiment("local", data="sites").spec,
    "a dict": lambda: experiment(data__name="t.csv", data__client="site"),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_a_run_records_is_found_from_elsewhere(
    way: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = assemble(WAYS[way]())
    monkeypatch.chdir(here.parent / "elsewhere")
    again = assemble(parts.spec)
    assert again.population.digest() == parts.population.digest()
    assert again.spec == parts.spec


def test_a_run_is_used_from_elsewhere(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = fedkin("run", "exp.toml", *SMALL[:-4], "--set", "train.steps=2", "--out", "r")
    assert done.exit_code == 0, done.output
    monkeypatch.chdir(here.parent / "elsewhere")
    asked = [
        "predict",
        "../here/r",
        "--client",
        "3",
        "--data",
        "../here/t.csv",
        "--out",
        "found.csv",
    ]
    done = fedkin(*asked)
    assert done.exit_code == 0, done.output
    without_record(here / "r")
    assert fedkin("resume", "../here/r").exit_code == 0


def test_names_of_what_is_not_a_file_stay(here: Path) -> None:
    """A folder that happens to be called like a data set, or like what [public] says."""
    for name in ("digits", "held-out"):
        Path(name).mkdir()
    parts = assemble(typed({"data": "digits", "method": "feddf"}))
    assert (parts.spec.data.name, parts.spec.public.source) == ("digits", "held-out")


def test_a_mistake_is_told_as_it_was_written(here: Path) -> None:
    with pytest.raises(FedkinError, match=r"^file gone\.csv does not exist"):
        assemble(typed({}, "data.name=gone.csv"))
    with pytest.raises(FedkinError, match="names gone, which is not a folder"):
        assemble(typed({}, "data.name=t.csv", "data.dir=gone"))
