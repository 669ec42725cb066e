"""What a node's owner is told of its data."""

from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from fedkin.core.errors import FedkinError
from fedkin.flower.node.checked import checked
from fedkin.flower.node.host import Node
from fedkin.runs.spec import parse
from fedkin.setup.privacy import SEEDED_MASKS, SEEDED_NOISE
from tests.cli.command import fedkin
from tests.cli.json_outputs import as_written, looks
from tests.engine.small import content, small
from tests.flower.node.host_examples import made
from website.json_page import schemas
from website.json_schema import of


def table(rows: int = 40, label: str = "0") -> str:
    rng = np.random.default_rng(0)
    lines = ["age,bmi,label,split"]
    for k in range(rows):
        age, bmi = rng.normal([61, 0.5], [18, 1]).round(2).tolist()
        lines.append(
            f"{age},{bmi},{label if k == 3 else k % 3},{['train', 'train', 'test'][k % 3]}"
        )
    return "\n".join(lines) + "\n"


def test_what_is_found_of_a_table(tmp_path: Path) -> None:
    made(tmp_path, small("ditto"), data="data.csv")
    (tmp_path / "data.csv").write_text(table())
    found = checked(tmp_path)
    assert found["samples"] == {"train": 27, "val": 0, "test": 13}
    assert (found["columns"], found["shape"], found["task"]) == (
        ["age", "bmi"],
        [2],
        "classification",
    )
    assert found["classes"] == {"0": 14, "1": 13}
    none, far = found["notes"]
    assert none == "no validation samples: nothing is chosen by this node's scores"
    assert far.startswith("columns enter the model as they are, far from 0: age (mean ")
    assert "bmi" not in far


def test_noise_and_masks_of_the_seed_are_told_loudly(tmp_path: Path) -> None:
    privacy = {
        "secure_aggregation": {"threshold": 3},
        "noise": 1.0,
        "clip": 1.0,
        "where": "client",
        "delta": 1e-5,
    }
    for seeded in (False, True):
        asked = {**content("fedavg"), "privacy": {**privacy, "seeded": seeded}}
        made(tmp_path, parse(asked)[0], data="data.csv")
        (tmp_path / "data.csv").write_text(table())
        loud = [SEEDED_NOISE, SEEDED_MASKS] if seeded else []
        assert [one for one in checked(tmp_path)["notes"] if "NOT PRIVATE" in one] == loud
        assert Node(tmp_path).look().splitlines()[:-1] == loud


def test_columns_that_are_scaled_are_no_note(tmp_path: Path) -> None:
    made(tmp_path, small("ditto", data__mean=[61.0, 0.0], data__std=[18.0, 1.0]), data="data.csv")
    (tmp_path / "data.csv").write_text(table())
    assert len(checked(tmp_path)["notes"]) == 1
    made(tmp_path, small("ditto", data__mean=[1.0, 2.0, 3.0]), data="data.csv")
    with pytest.raises(FedkinError, match=r"data\.mean has 3 values"):
        checked(tmp_path)


def test_images_and_a_rehearsal(tmp_path: Path) -> None:
    made(tmp_path, small("ditto"), data="data.npz")
    x, y = np.zeros((6, 8, 8, 3), dtype=np.uint8), np.arange(6) % 2
    np.savez(tmp_path / "data.npz", x_train=x, y_train=y)
    found = checked(tmp_path)
    assert (found["shape"], found["columns"], found["classes"]) == ([3, 8, 8], [], {"0": 3, "1": 3})
    assert len(found["notes"]) == 2  # neither validation nor test samples
    made(tmp_path, small("ditto"))
    assert checked(tmp_path) == {"client": "c1", "data": None}


def test_the_command_says_what_is_wrong_and_where(tmp_path: Path) -> None:
    made(tmp_path, small("ditto"), data="data.csv")
    done = fedkin("deploy", "check", str(tmp_path))
    assert done.exit_code == 2
    assert "data.csv is not there: node.toml names it as the node's data" in done.stderr
    assert "write data" not in done.stderr
    (tmp_path / "data.parquet").touch()
    done = fedkin("deploy", "check", str(tmp_path))
    assert 'data; if it is data.parquet, write data = "data.parquet"' in done.stderr
    (tmp_path / "public.npz").touch()
    assert "write data" not in fedkin("deploy", "check", str(tmp_path)).stderr, "one of two"
    (tmp_path / "data.csv").write_text(table(label="ill"))
    done = fedkin("deploy", "check", str(tmp_path))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "data.csv, line 5: column 'label' holds 'ill', which is not a number" in done.stderr
    (tmp_path / "data.csv").write_text(table())
    done = fedkin("deploy", "check", str(tmp_path))
    assert done.stdout.splitlines() == [
        "node     c1",
        "data     data.csv can be used",
        "samples  27 train, 0 val, 13 test",
        "columns  2: age, bmi",
        "classes  of so many training samples: 0 (14), 1 (13)",
    ]
    assert done.stderr.count("note: ") == 2
    (tmp_path / "data.csv").write_text(table(label="0.5"))
    done = fedkin("deploy", "check", str(tmp_path))
    assert done.stdout.splitlines()[-1] == (
        "labels   numbers, for a regression: classes would be whole numbers"
    )


def test_a_start_says_what_the_host_has_or_lacks(tmp_path: Path) -> None:
    node = made(tmp_path, small("ditto"), data="data.csv")
    lacks = "no run can have this node until this is mended: its data cannot be read: data.csv"
    assert node.look() == f"{lacks} is not there"
    (tmp_path / "data.csv").write_text(table(label="ill"))
    assert node.look() == f"{lacks}, line 5, column 'label': its log says what is wrong"
    (tmp_path / "data.csv").write_text(table())
    assert node.look() == "its data: 27 train, 0 val, 13 test samples"
    assert made(tmp_path, small("ditto")).look().endswith(": a rehearsal")


def test_its_json_is_what_its_schema_says(tmp_path: Path) -> None:
    printed, schema = list(looks(tmp_path)), schemas()["deploy check"]
    for found in printed:
        assert not list(Draft202012Validator(schema).iter_errors(found))
    assert as_written(of(printed)) == as_written(schema)
