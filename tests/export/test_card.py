"""The card as text: names as they are read, and only tables that belong there."""

import json
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.export.card import as_markdown
from fedkin.export.opened import Opened
from tests.cli.command import fedkin
from tests.export.clinics import write_clinics


def card_of(tmp_path: Path, method: str, *formats: str) -> tuple[Path, dict]:
    """Of H01, after one round; the table's column `bmi` has a bar and two spaces in its name."""
    table = write_clinics(tmp_path / "patients.csv", clinics=3)
    text = table.read_text().replace(",bmi,", ",body |  mass,", 1)
    table.write_text(text)
    given = f"{table}:client=hospital,label=outcome"
    few = ["--engine", "inprocess", "--rounds", "1", "--set", "train.steps=2"]
    done = fedkin("run", *few, "--data", given, "--method", method, "--out", tmp_path / "run")
    assert done.exit_code == 0, done.output
    for format in formats:
        done = fedkin("export", tmp_path / "run", "--client", "H01", "--format", format)
        assert done.exit_code == 0, done.output
    folder = tmp_path / "run" / "export" / "H01"
    card = json.loads((folder / "card.json").read_text()) if formats else {}
    return folder, card


def test_a_columns_name_breaks_no_table(tmp_path: Path) -> None:
    folder, _ = card_of(tmp_path, "local", "safetensors")
    assert "body \\| mass" in (folder / "card.md").read_text()


def test_tensors_are_listed_where_a_file_holds_them(tmp_path: Path) -> None:
    _, card = card_of(tmp_path, "fedem:components=2", "safetensors")
    assert len(card["tensors"]) > 2
    listed = [f"| {one['name']} | {one['shape']} |" for one in card["tensors"]]
    assert all(line in as_markdown(card) for line in listed)
    without = {**card, "files": {"model.pt2": card["files"]["model.safetensors"]}}
    assert not any(line in as_markdown(without) for line in listed)


@pytest.mark.parametrize("key", ["client", "architecture"])
def test_a_join_whose_names_are_no_texts_is_damaged(key: str, tmp_path: Path) -> None:
    card_of(tmp_path, "local")
    there = tmp_path / "there"
    there.mkdir()
    told = {"client": "H09", "architecture": "mlr", "data_digest": "", key: ["mlr"]}
    (there / "join.json").write_text(json.dumps(told))
    with pytest.raises(FedkinError, match="is damaged, or of an older fedkin"):
        Opened(tmp_path / "run").member(str(there))
