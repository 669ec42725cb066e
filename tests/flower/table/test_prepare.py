"""A node's raw table becomes the file that it trains on, alike on all nodes."""

import re
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from fedkin.core.errors import FedkinError
from fedkin.data.formats.frames import Style
from fedkin.flower.node.checked import checked
from fedkin.flower.node.data import columns_of, read
from fedkin.flower.table import prepare as module
from fedkin.flower.table.prepare import prepare
from tests.cli.command import fedkin
from tests.cli.json_outputs import as_written, preparations
from tests.flower.table.tables import COLUMNS, node, prepared, raw
from website.json_page import schemas
from website.json_schema import of

INPUTS = ["age", "age is missing", "bmi", "ward = heart", "ward = lung"]
INPUTS += ["smoker = no", "smoker = yes", "smoker is another", "smoker is missing"]


def test_a_table_becomes_the_nodes_file(tmp_path: Path) -> None:
    folder = node(tmp_path)
    found = prepared(folder, raw())
    assert stat.S_IMODE((folder / "data.csv").stat().st_mode) == 0o600  # whatever the umask
    assert found == {
        "file": str(folder / "data.csv"),
        "rows": 80,
        "samples": {"train": 48, "val": 16, "test": 16},
        "columns": 9,
        "unknown": [
            {"column": "ward", "rows": 20, "words": ["eye"]},
            {"column": "smoker", "rows": 20, "words": ["maybe"]},
        ],
        "filled": [
            {"column": "age", "rows": 2},
            {"column": "ward", "rows": 20},
            {"column": "smoker", "rows": 20},
        ],
        "dropped": ["note"],
        "notes": [],
    }
    written = pd.read_csv(folder / "data.csv")
    assert [*written] == [*INPUTS, "sick", "split"]
    assert written["age"][[5, 6, 7]].tolist() == [61, 61, 47]
    assert written["age is missing"].to_numpy().nonzero()[0].tolist() == [5, 6]
    assert written["bmi"].unique().tolist() == [27.1]
    assert written["ward = lung"].tolist() == [0, 1, 0, 0] * 20
    assert written["smoker is another"].tolist() == [0, 0, 0, 1] * 20
    assert written["sick"].tolist() == [0, 1, 1, 0] * 20
    assert (written["split"][0::2].to_numpy() == written["split"][1::2].to_numpy()).all()
    assert list(columns_of(read(folder / "data.csv", "sick"))) == INPUTS
    assert checked(folder)["samples"] == found["samples"]


def test_other_orders_of_columns_and_formats_give_the_same(tmp_path: Path) -> None:
    files = []
    turned = raw()[[*raw()][::-1]]
    for name, style, write in (
        ("a.csv", Style(), lambda path: raw().to_csv(path, index=False)),
        ("b.parquet", Style(), lambda path: turned.to_parquet(path)),
        (
            "c.csv",
            Style(separator=";", decimal=",", encoding="latin-1"),
            lambda path: turned.to_csv(path, index=False, sep=";", decimal=",", encoding="latin-1"),
        ),
    ):
        folder = node(tmp_path / name)
        write(folder / name)
        prepare(folder, folder / name, folder / "columns.toml", style)
        files.append(pd.read_csv(folder / "data.csv").drop(columns="split"))
    for other in files[1:]:
        pd.testing.assert_frame_equal(files[0], other)


def test_the_parts_are_drawn_from_the_systems_randomness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = iter([1, 2, 1])
    monkeypatch.setattr(module.secrets, "randbits", lambda bits: next(drawn))
    splits = []
    for name in "abc":
        prepared(node(tmp_path / name), raw())
        splits.append(pd.read_csv(tmp_path / name / "data.csv")["split"].tolist())
    assert splits[0] == splits[2] != splits[1]


def test_another_unit_and_a_regression(tmp_path: Path) -> None:
    folder = node(tmp_path)
    text = COLUMNS.replace('classes = ["home", "readmitted"]', "parts = [0.5, 0, 0.5]")
    (folder / "columns.toml").write_text(text.replace('group = "patient"\n', ""))
    table = raw().assign(outcome=np.arange(80) / 8)
    found = prepared(folder, table, times={"bmi": 2.0, "age": 0.5})
    written = pd.read_csv(folder / "data.csv")
    assert (written["bmi"][0], written["age"][0], written["age"][5]) == (54.2, 20, 61)
    assert written["sick"].tolist() == (np.arange(80) / 8).tolist()
    assert found["samples"] == {"train": 40, "val": 0, "test": 40}
    assert checked(folder)["task"] == "regression"


def test_a_file_that_is_there_stays_unless_it_is_asked_for(tmp_path: Path) -> None:
    folder = node(tmp_path)
    (folder / "data.csv").write_text("mine")
    with pytest.raises(FedkinError, match="would train on what was a test before: keep it, or"):
        prepared(folder, raw())
    assert (folder / "data.csv").read_text() == "mine"
    assert any("drawn anew" in one for one in prepared(folder, raw(), replace=True)["notes"])
    with pytest.raises(FedkinError, match="is the raw table itself"):
        prepare(folder, folder / "data.csv", folder / "columns.toml", replace=True)


# what is done to the raw table, and to the file of columns → what is said
FAULTS: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], Callable[[str], str], str]] = {
    "a label that is no class": (
        lambda table: table.assign(outcome=["moved", "home"] * 40),
        str,
        r"raw\.csv, line 2: column 'outcome' holds none of the classes of \S+columns\.toml, as in "
        r"40 rows in all: 'moved'",
    ),
    "no label": (
        lambda table: table.assign(outcome=["home", None] * 40),
        str,
        r"raw\.csv, line 3: column 'outcome' is empty, as in 40 rows in all",
    ),
    "no patient": (
        lambda table: table.assign(patient=["P", None] * 40),
        str,
        r"raw\.csv, line 3: column 'patient' is empty",
    ),
    "a column that is not there": (
        lambda table: table.drop(columns=["bmi", "ward"]),
        str,
        r"raw\.csv lacks 2 columns that all nodes have: 'bmi', 'ward' \(columns: note, ",
    ),
    "a word among numbers": (
        lambda table: table.assign(bmi=["27", "fat"] * 40),
        str,
        r"line 3: column 'bmi' holds 'fat' \(and 39 more like it\), but \S+ says that it hol",
    ),
    "dates": (
        lambda table: table.assign(bmi="2020-01-01"),
        str,
        "column 'bmi' holds '2020-01-01'",
    ),
    "one patient": (
        lambda table: table.assign(patient="P"),
        str,
        r"raw\.csv has 1 value of 'patient' for 3 parts",
    ),
    "no rows": (lambda table: table[:0], str, r"raw\.csv has no rows"),
    "the label's name": (
        str,
        lambda text: text.replace("bmi =", "sick ="),
        "has the name of the experiment's label",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_what_is_wrong_is_said_and_nothing_written(case: str, tmp_path: Path) -> None:
    change, rewrite, said = FAULTS[case]
    folder = node(tmp_path)
    (folder / "columns.toml").write_text(rewrite(COLUMNS))
    table = raw()
    if case == "the label's name":
        table["sick"] = 1
    else:
        table = change(table)
    with pytest.raises(FedkinError, match=said):
        prepared(folder, table)
    assert not (folder / "data.csv").exists()


def test_the_command_says_what_it_did(tmp_path: Path) -> None:
    folder = node(tmp_path)
    raw().to_csv(folder / "raw.csv", index=False, sep=";")
    given = ("deploy", "prepare", folder, "--columns", folder / "columns.toml", "--table")
    done = fedkin(*given, folder / "raw.csv")
    assert done.exit_code == 2
    assert "is one column: separated by ';'? fedkin reads commas, unless --separator ';'" in (
        done.stderr
    )
    done = fedkin(*given, folder / "raw.csv", "--separator", ";", "--times", "bmi=x")
    assert "--times bmi=x is not understood: write COLUMN=NUMBER" in done.stderr
    done = fedkin(*given, folder / "raw.csv", "--separator", ";", "--times", "bmi=1.0")
    assert done.stdout.splitlines() == [
        f"file     {folder / 'data.csv'}",
        "rows     80",
        "samples  48 train, 16 val, 16 test",
        "columns  9 inputs",
        "left out note",
    ]
    assert done.stderr.splitlines()[:2] == [
        "note: gaps are filled, in so many rows: age (2), ward (20), smoker (20)",
        "note: column 'ward': 20 rows have words that the file of columns does not: 'eye'",
    ]
    assert re.search(r"next: fedkin deploy check \S+", done.stderr)


def test_its_json_is_what_its_schema_says(tmp_path: Path) -> None:
    printed, schema = list(preparations(tmp_path)), schemas()["deploy prepare"]
    for found in printed:
        assert not list(Draft202012Validator(schema).iter_errors(found))
    assert as_written(of(printed)) == as_written(schema)
