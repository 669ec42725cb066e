"""``fedkin init``: on a clean, a messy and a hostile table it ends with an experiment that runs, is
compared, and exports a model.
"""

import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fedkin.cli.app import app
from fedkin.data.tables.proposals import proposals
from tests.cli.command import fedkin, told

SHORT = ("--rounds", "2", "--engine", "inprocess", "--set", "train.steps=2")


def table(path: Path, header: str, row: str, yes: str = "yes") -> None:
    """Six sites, 40 rows each; the label follows the first number, with another sign at half of
    the sites.
    """
    rng = np.random.default_rng(5)
    lines = [header]
    for i in range(240):
        site, a, b = i % 6, rng.normal(), rng.normal()
        label = yes if a * (1 if site < 3 else -1) + 0.3 * b > 0 else "no"
        cells = {"site": f"S{site}", "a": f"{a:.3f}", "b": f"{b:.3f}", "label": label, "i": i}
        lines.append(row.format(**cells))
    path.write_text("\n".join(lines) + "\n")


def answered(text: str, *arguments: str) -> str:
    result = CliRunner().invoke(app, ["init", *arguments], input=text)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.rotating
def test_a_clean_table_ends_with_a_comparison_and_a_model() -> None:
    table(Path("sensors.csv"), "plant,a,b,failure", "{site},{a},{b},{label}")
    output = answered("sensors.csv\n\n\n\n\n")
    content = tomllib.loads(Path("experiment.toml").read_text())
    assert content["data"] == {"name": "sensors.csv", "client": "plant", "label": "failure"}
    commands = [line.split()[1:] for line in output.splitlines() if line.startswith("  fedkin ")]
    runs = [words for words in commands if words[0] == "run"]
    assert len(runs) == 2
    for words in runs:
        assert fedkin(*words, *SHORT).exit_code == 0
    for words in commands[2:]:
        done = fedkin(*words)
        assert done.exit_code == 0, done.output
    assert len(list(Path("runs").glob("*/export/**/*.safetensors"))) == 6


def test_the_method_that_is_advised_can_be_made_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {
        "verdict": {"federate": True, "says": "federate"},
        "candidates": [{"method": "ditto", "reason": "it gained most"}],
        "safe": ["ditto"],
    }
    monkeypatch.setattr("fedkin.doctor.plan.diagnosis", lambda *_, **__: found)
    table(Path("sensors.csv"), "plant,a,b,failure", "{site},{a},{b},{label}")
    output = answered("", "sensors.csv", "--client", "plant", "--yes")
    told_of = (
        "fewer clients lose by it: with [method] safe = true each client deploys a federated "
        "model, or a mixture with the one that it trained alone, only where its"
    )
    assert told_of in " ".join(output.split())
    (line,) = (line for line in output.splitlines() if "method.safe" in line)
    assert fedkin(*line.split()[1:], *SHORT).exit_code == 0
    assert Path("runs/ditto-safe").is_dir()
    Path("experiment.toml").unlink()
    found["safe"] = []
    assert "safe" not in answered("", "sensors.csv", "--client", "plant", "--yes")


def test_a_messy_table_is_mended_in_the_file() -> None:
    head = "id,ward,crp,note,outcome"
    row = "{i},{site},<5,{a} {b},{label}"
    table(Path("wards.csv"), head, row, yes="Yes ")
    lines = Path("wards.csv").read_text().splitlines()
    for at in range(1, 200):
        cells = lines[at].split(",")
        cells[2], cells[3] = cells[3].split(" ")
        lines[at] = ",".join([*cells[:4], cells[4].strip().lower() if at % 3 else cells[4]])
    Path("wards.csv").write_text("\n".join(lines) + "\n")
    answered("5\nward\n\n\n", "wards.csv")
    content = tomllib.loads(Path("experiment.toml").read_text())
    assert content["data"]["unify"] == ["outcome"]
    assert "id" in content["data"]["drop"]
    assert content["data"]["missing"]["crp"] == ["<5"]
    assert fedkin("run", "experiment.toml", "--method", "local", *SHORT).exit_code == 0


def test_a_hostile_table_commands_nobody() -> None:
    table(
        Path("t.csv"),
        "client \x1b,=cmd|' /C calc'!A0,[bold]b,label",
        "{site},{a},{b},{label}",
        yes="\x1b]0;owned\x07",
    )
    output = answered("", "t.csv", "--yes")
    assert "\x1b" not in output
    assert "\x07" not in output
    text = Path("experiment.toml").read_text()
    assert "\x1b" not in text
    assert tomllib.loads(text)["data"]["client"] == "client \x1b"
    assert fedkin("run", "experiment.toml", "--method", "local", *SHORT).exit_code == 0


def test_parameters_that_stay_and_unlike_devices_choose_predictions() -> None:
    table(Path("t.csv"), "site,a,b,label", "{site},{a},{b},{label}")
    answered("", "t.csv", "--yes", "--no-parameters", "--out", "private.toml")
    answered("", "t.csv", "--yes", "--other-models", "--out", "devices.toml")
    private = tomllib.loads(Path("private.toml").read_text())
    devices = tomllib.loads(Path("devices.toml").read_text())
    assert private["method"] == devices["method"] == {"name": "ds_fl"}
    assert private["public"] == {"source": "held-out"}
    assert private["model"] == {"name": "mlr"}
    assert devices["model"]["map"] == {"small": "mlr", "large": "dnn"}
    assert fedkin("run", "devices.toml", *SHORT).exit_code == 0


def test_numbers_without_parameters_stay_alone() -> None:
    table(Path("t.csv"), "site,a,b,price,label", "{site},{a},{b},{b},{label}")
    answered("", "t.csv", "--yes", "--no-parameters", "--label", "price")
    assert tomllib.loads(Path("experiment.toml").read_text())["method"] == {"name": "local"}


@pytest.mark.rotating
def test_what_no_key_mends_is_counted_too() -> None:
    output = answered("", "digits", "--yes")
    assert "1 remark: 0 fixed in it, 0 proposed behind a #, 1 by hand" in output
    assert "# By hand: no clients are named" in Path("experiment.toml").read_text()


def test_a_folder_of_tables_has_its_clients_already() -> None:
    Path("sites").mkdir()
    for name in ("east", "west"):
        table(Path(f"sites/{name}.csv"), "a,b,label", "{a},{b},{label}")
    output = answered("\n\n\n", "sites")
    assert "Who is a client?" not in output
    assert "client" not in tomllib.loads(Path("experiment.toml").read_text())["data"]


def test_nobody_names_clients() -> None:
    table(Path("t.csv"), "a,b,label", "{a},{b},{label}")
    answered("\n\n\n\n", "t.csv")
    content = tomllib.loads(Path("experiment.toml").read_text())
    assert content["split"]["name"] == "iid"
    assert "invented" in Path("experiment.toml").read_text()


def test_wrong_answers_are_asked_again_and_wrong_options_told() -> None:
    table(Path("t.csv"), "site,a,b,label", "{site},{a},{b},{label}")
    output = answered("9\nlabl\nlabel\n\nperhaps\ny\n\n", "t.csv")
    assert "did you mean 'label'" in output
    assert "neither yes nor no" in output
    assert "t.csv" in told("init", "t.csv", "--yes", "--out", "t.csv")
    assert "did you mean 'site'" in told("init", "t.csv", "--client", "sites", "--out", "b.toml")
    assert "give --label COLUMN, or --yes" in told("init", "t.csv", "--out", "b.toml")
    assert "leave --label and --client out" in told(
        "init", "digits", "--label", "a", "--out", "b.toml"
    )
    assert "does not exist" in told("init", "nothing.csv", "--yes", "--out", "b.toml")


@pytest.mark.parametrize(
    ("header", "label"),
    [("outcome,site,b", "outcome"), ("a,Target_Value,b", "Target_Value"), ("a,b,store", "b")],
)
def test_the_label_that_is_proposed(header: str, label: str) -> None:
    Path("t.csv").write_text(header + "\n" + "1,2,3\n1,3,4\n" * 10)
    found = proposals(Path("t.csv"))
    assert found is not None
    assert found.label == label
