"""The tutorials run as their pages show them, with few rounds; what the pages claim of the way they
work holds.
"""

import importlib.util
import json
import re
import shlex
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from fedkin.flower.deployable import check_deployable
from fedkin.runs.database import read_only
from fedkin.runs.record import FEDERATION
from fedkin.runs.spec import parse
from tests.cli.command import fedkin

ROOT = Path(__file__).parents[2]
PAGES, SCRIPTS = ROOT / "docs" / "tutorials", ROOT / "examples" / "tutorials"
SHORT = ["--rounds", "2", "--engine", "inprocess"]


def script(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A script of a tutorial, imported by its own name from its own folder, as ``python NAME.py``
    finds it.
    """
    monkeypatch.syspath_prepend(str(SCRIPTS))
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["phones", "population", "median"])
def test_the_page_shows_the_script(name: str) -> None:
    found = re.search(r"```python\n(.*?)```", (PAGES / f"{name}.md").read_text(), re.DOTALL)
    assert found is not None
    assert found[1] == (SCRIPTS / f"{name}.py").read_text()


def commands(name: str) -> None:
    """Types what the page shows after its script ran."""
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    typed = [
        line
        for code in re.findall(r"```bash\n(.*?)```", page, re.DOTALL)
        for line in code.splitlines()
    ]
    assert typed
    for command in typed:
        done = fedkin(*shlex.split(command)[1:])
        assert done.exit_code == 0, (command, done.output)


@pytest.mark.rotating
def test_my_hospital_csvs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    script("hospitals", monkeypatch).main(hospitals=8)
    found = re.search(r"```bash\n(.*?)```", (PAGES / "hospitals.md").read_text(), re.DOTALL)
    assert found is not None
    for command in found[1].splitlines():
        arguments = shlex.split(command)[1:]
        done = fedkin(*arguments, *(SHORT if arguments[0] == "run" else []))
        assert done.exit_code == 0, (command, done.output)
    rows = pd.read_csv("hospitals/H07.csv")
    answers = pd.read_csv("H07.csv")
    assert list(answers) == ["prediction", "p(no)", "p(yes)"]
    assert len(answers) == len(rows)


@pytest.mark.rotating
def test_phones_with_different_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    phones = script("phones", monkeypatch)
    results = phones.main(rounds=1)
    commands("phones")
    for result in results.values():
        assert result.summary["model"] == ", ".join(sorted(phones.MODELS.values()))
    up = results["comet"].communication.query("direction == 'up'")
    assert up["predictions"].sum() > 0
    assert up["parameters"].sum() == 0


def test_understand_my_population(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = script("population", monkeypatch).main(rounds=2)
    commands("population")
    assert len(table) == 4
    assert table[[0, 1, 2, 3]].sum(axis=1).to_numpy() == pytest.approx(1, abs=0.03)


def test_add_a_method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    results = script("median", monkeypatch).main(rounds=2)
    commands("median")
    assert results["fedmedian"].summary["method"] == "fedmedian"
    models = [
        [p.detach() for p in results[name].personal(0).parameters()]
        for name in ("fedavg", "fedmedian")
    ]
    assert any(not a.equal(b) for a, b in zip(*models))


@pytest.mark.rotating
def test_hospitals_with_noise_and_masks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    script("hospitals", monkeypatch).main(hospitals=8)
    page = (PAGES / "private_hospitals.md").read_text()
    toml, commands = (
        re.search(rf"```{kind}\n(.*?)```", page, re.DOTALL) for kind in ("toml", "bash")
    )
    assert toml is not None
    assert commands is not None
    on_nodes = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)[1]
    check_deployable(parse(tomllib.loads(toml[1]) | tomllib.loads(on_nodes))[0])
    Path("private.toml").write_text(toml[1])
    for command in commands[1].splitlines():
        arguments = shlex.split(command)[1:]
        done = fedkin(*arguments, *(SHORT if arguments[0] == "run" else []))
        assert done.exit_code == 0, (command, done.output)
        if arguments[0] == "doctor":
            said = " ".join(done.output.split())
            assert re.search(r"epsilon (8|7\.\d+) at delta 1e-05", said), said
    with read_only(Path("runs/private")) as database:
        assert database.rows("SELECT DISTINCT client FROM metrics") == [(FEDERATION,)]
        epsilon = database.facts()["privacy"]["epsilon"]
        assert 0 < epsilon <= 8
        up = database.rows("SELECT bytes FROM messages WHERE direction = 'up' AND parameters > 0")
    assert up
    # what the page says is exact, and with the model
    card = json.loads(Path("runs/private/export/H07/card.json").read_text())
    exact = page.partition("## What is not protected")[2]
    columns = {one["name"]: one for one in card["input"]["columns"]}
    assert all(f"`{name}`" in exact for name in columns)
    assert {name for name, one in columns.items() if one.get("mean")} == {"age", "bmi", "crp"}
    assert columns["ward"]["values"]
