"""``node.toml`` names the file that was prepared, or its owner is told to."""

from pathlib import Path

from fedkin.flower.node.checked import checked
from tests.flower.table.tables import node, prepared, raw


def test_a_node_that_names_another_file_is_told(tmp_path: Path) -> None:
    folder = node(tmp_path, "data.npz")
    (folder / "data.npz").touch()
    found = prepared(folder, raw())
    assert found["file"] == str(tmp_path / "data.csv")
    assert found["notes"] == ['node.toml names another file: write data = "data.csv" there']


def test_a_node_that_names_a_file_that_is_not_there_names_the_new_one(tmp_path: Path) -> None:
    folder = node(tmp_path, "data.npz")
    before = (folder / "node.toml").read_text()
    (note,) = prepared(folder, raw())["notes"]
    assert note == "node.toml now names data.csv; data.npz, which it named before, is not there"
    assert (folder / "node.toml").read_text() == before.replace("data.npz", "data.csv")
    assert checked(folder)["samples"]
