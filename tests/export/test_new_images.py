"""New images of a run on images."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.command import fedkin, told


def write_images(folder: Path) -> Path:
    """Dark cats and bright dogs of two clients."""
    Image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for client in ("anna", "ben"):
        for label, shade in (("cat", 40), ("dog", 200)):
            place = folder / client / label
            place.mkdir(parents=True)
            for at in range(12):
                bytes_ = rng.normal(shade, 9, (8, 6)).clip(0, 255).astype(np.uint8)
                Image.fromarray(bytes_).save(place / f"{at}.png")
    return folder


def test_an_image_and_a_folder_of_them_are_read_as_those_of_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Image = pytest.importorskip("PIL.Image")
    monkeypatch.chdir(tmp_path)
    write_images(tmp_path / "photos")
    small = ("--engine", "inprocess", "--rounds", "3", "--method", "local", "--set", "train.lr=0.1")
    assert fedkin("run", "--data", "photos/", *small, "--out", "run").exit_code == 0
    asked = ("predict", "run", "--client", "anna", "--data")
    alone = fedkin(*asked, "photos/ben/dog/0.png").stdout.splitlines()
    assert alone[0] == "file,prediction,p(cat),p(dog)"
    assert alone[1].startswith("0.png,dog,")
    all_of_ben = fedkin(*asked, "photos/ben").stdout.splitlines()
    assert len(all_of_ben) == 25
    Path("photos/ben/dog/._0.png").write_bytes(b"notes of a Mac")
    assert fedkin(*asked, "photos/ben").stdout.splitlines() == all_of_ben
    assert f"dog/{alone[1]}" in all_of_ben
    colour = Image.open("photos/ben/dog/0.png").convert("RGB")
    colour.save("new.png")
    rows = json.loads(fedkin(*asked, "new.png", "--json").stdout)["predictions"]
    assert (rows[0]["file"], rows[0]["prediction"]) == ("new.png", "dog")
    colour.resize((9, 9)).save("new.png")
    assert "has 9×9 pixels, and the model was trained on images of 8×6" in told(*asked, "new.png")
    Path("two").mkdir()
    colour.save("two/a.png")
    colour.resize((9, 9)).save("two/b.png")
    differ = "two/a.png and others differ in size, and the model was trained on images of 8×6"
    assert differ in told(*asked, "two")
    Path("bad.png").write_bytes(b"nonsense")
    assert "bad.png is no readable image" in told(*asked, "bad.png")
    Path("new.dcm").write_bytes(b"DICM")
    assert "this model takes images (.png, .jpg" in told(*asked, "new.dcm")
    Path("nothing").mkdir()
    assert "nothing has no images (.png, .jpg" in told(*asked, "nothing")
    kept = "--keep names columns of a table, and this model takes images"
    assert kept in told(*asked, "photos/ben", "--keep", "name")
