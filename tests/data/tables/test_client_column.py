"""A column of clients that was forgotten."""

from pathlib import Path

from fedkin.data.sources import load
from fedkin.data.tables.client_column import likely_clients
from tests.cli.command import fedkin, told

LIKELY = ["site", "Hospital", "user_id", "clientId", "patient no.", "Subjects"]


def test_a_forgotten_column_of_clients_is_asked_for(tmp_path: Path) -> None:
    for name in LIKELY:
        rows = [f"{i % 5},{i / 7},{i % 2}" for i in range(60)]
        (tmp_path / "t.csv").write_text("\n".join([f"{name},n,label", *rows]))
        assert likely_clients(load(str(tmp_path / "t.csv"))) == {name: 5}
    sentence = told(
        "run", "--data", tmp_path / "t.csv", "--method", "local", "--out", tmp_path / "run"
    )
    assert (
        "column 'Subjects' (5 values) looks like its clients: take them with --set "
        "data.client=Subjects, or say" in sentence
    )
    assert not (tmp_path / "run").exists()
    checked = fedkin("data", "check", tmp_path / "t.csv").stdout
    assert "column 'Subjects' looks like it (5 values)" in checked
    assert "--client Subjects" in checked
    small = [
        "--engine",
        "inprocess",
        "--rounds",
        "1",
        "--set",
        "train.steps=1",
        "--method",
        "local",
        "--clients",
        "3",
    ]
    done = fedkin(
        "run", "--data", tmp_path / "t.csv", "--split", "iid", *small, "--out", tmp_path / "run"
    )
    assert done.exit_code == 0, done.output
    assert fedkin("resume", tmp_path / "run").exit_code == 0


def test_columns_that_are_no_clients_are_not_asked_for(tmp_path: Path) -> None:
    rows = [f"{i},{i % 5 + 0.5},{i % 5},{i % 5},{i % 2}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["patient,site,site temperature,ward,label", *rows]))
    assert likely_clients(load(str(tmp_path / "t.csv"))) == {}
