"""What the columns of a table are for: of the clients' own, and of a public one."""

import pandas as pd
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.formats.frames import Read
from fedkin.data.tables.schema import Roles, as_asked, listed

ROLES = Roles(
    client="site",
    label="sick",
    task="regression",
    drop=("id", "gone"),
    categorical="ward",
    text=("note", "gone"),
    group="visit",
    about=("sex",),
    missing={"ward": ["?"], "gone": [1]},
    unify=("ward", "gone"),
    duplicates="drop",
)
COLUMNS = ("visit", "id", "ward", "note", "sick", "site", "sex")
READ = Read(pd.DataFrame([range(7), range(7, 14)], columns=COLUMNS), str)


def test_a_private_table_is_as_it_is() -> None:
    assert as_asked(READ, "a.csv", ROLES) == (READ, ROLES)


def test_of_a_public_table_nothing_is_missed_that_no_model_sees() -> None:
    read, roles = as_asked(READ, "p.csv", ROLES._replace(publicity="labeled"))
    assert read is READ
    assert roles == ROLES._replace(
        publicity="labeled",
        client=None,
        group=None,
        about=(),
        drop=["id", "sex", "site", "visit"],
        categorical=["ward"],
        text=["note"],
        missing={"ward": ["?"]},
        unify=["ward"],
        duplicates="keep",
    )
    few = Read(READ.frame[["ward", "sick"]], str)
    assert as_asked(few, "p.csv", ROLES._replace(publicity="labeled"))[1].drop == []
    marks = ROLES._replace(publicity="labeled", missing=["?"])  # a list is for all columns
    assert as_asked(few, "p.csv", marks)[1].missing == ["?"]


def test_the_labels_of_an_unlabelled_one_are_not_read() -> None:
    read, roles = as_asked(READ, "p.csv", ROLES._replace(publicity="unlabeled"))
    assert read.frame["sick"].tolist() == [0, 0]
    assert READ.frame["sick"].tolist() == [4, 11]
    assert roles.task == "auto"
    without = Read(READ.frame.drop(columns="sick"), str)
    assert as_asked(without, "p.csv", ROLES._replace(publicity="unlabeled"))[0].frame[
        "sick"
    ].tolist() == [0, 0]


def test_a_labelled_one_needs_its_label() -> None:
    without = Read(READ.frame.drop(columns="sick"), str)
    with pytest.raises(FedkinError, match=r"^p\.csv has no column 'sick', the label of the priv"):
        as_asked(without, "p.csv", ROLES._replace(publicity="labeled"))


def test_one_name_or_several() -> None:
    assert listed("drop", "id") == ("id",)
    assert listed("drop", ["id", "x"]) == ("id", "x")
    for wrong in (7, ["id", 7], None):
        with pytest.raises(FedkinError, match=r"^data\.drop=.* must be a list of column names$"):
            listed("drop", wrong)
