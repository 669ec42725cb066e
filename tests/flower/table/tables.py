"""Raw tables and a node's folder for the tests of ``fedkin deploy prepare``."""

from pathlib import Path

import pandas as pd

from fedkin.flower.table.prepare import prepare
from tests.engine.small import small
from tests.flower.node.host_examples import made

COLUMNS = """
label = "outcome"
classes = ["home", "readmitted"]
group = "patient"
missing = ["NA", -999]

[columns]
age = { fill = 61.0, flag = true }
bmi = { fill = 27.5 }
ward = { values = ["heart", "lung"] }
smoker = { values = ["no", "yes"], rest = true, flag = true }
"""


def raw(rows: int = 80) -> pd.DataFrame:
    """Two rows a patient; a gap in age, another one that is written -999, and an unknown ward."""
    return pd.DataFrame(
        {
            "note": "free text, with a comma",
            "patient": [f"P{k // 2}" for k in range(rows)],
            "smoker": ["no", "yes", "NA", "maybe"] * (rows // 4),
            "age": [None if k == 5 else -999 if k == 6 else 40 + k for k in range(rows)],
            "ward": ["heart", "lung", "eye", None] * (rows // 4),
            "bmi": [27.1] * rows,
            "outcome": ["home", "readmitted", "readmitted", "home"] * (rows // 4),
        }
    )


def node(folder: Path, data: str = "data.csv") -> Path:
    """A node's folder whose experiment calls the label ``sick``, with a file of columns."""
    folder.mkdir(exist_ok=True)
    made(folder, small("ditto", data__label="sick"), data=data)
    (folder / "columns.toml").write_text(COLUMNS, encoding="utf-8")
    return folder


def prepared(folder: Path, table: pd.DataFrame, **options: object) -> dict[str, object]:
    """What ``prepare`` made of a table, in a node's folder."""
    table.to_csv(folder / "raw.csv", index=False)
    return prepare(folder, folder / "raw.csv", folder / "columns.toml", **options)  # type: ignore[arg-type]
