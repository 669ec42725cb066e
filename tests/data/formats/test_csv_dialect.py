"""Whether the CSV files of a folder are written alike."""

from pathlib import Path

import pandas as pd
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.quality.problem import Unreadable
from fedkin.data.sources import load
from tests.data.tables.table_examples import write


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_table_of_another_separator_than_the_rest_is_named(
    separator: str, tmp_path: Path
) -> None:
    for name in "abcd":
        mark = ";" if name == "c" else ","
        write(tmp_path, mark.join(["age", "label"]) + f"\n1{mark}0\n", f"{name}.csv")
    with pytest.raises(
        FedkinError, match=r"c\.csv is separated by ';' and the other 3 by ',': save"
    ):
        load(f"{tmp_path}/", separator=separator)
    write(tmp_path, "age\tlabel\n1\t0\n", "d.csv")
    with pytest.raises(
        FedkinError, match=r"c\.csv is .* by ';'; d\.csv is .* by a tab and the other 2 by ','"
    ):
        load(f"{tmp_path}/")


def test_a_table_without_a_separator_keeps_nobody_from_being_mended(tmp_path: Path) -> None:
    write(tmp_path, "age;label\n1;0\n", "a.csv")
    pd.DataFrame({"age": [2], "label": [1]}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(Unreadable) as told:
        load(f"{tmp_path}/")
    assert told.value.problems[0].fix == {"data.separator": ";"}


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252"])
def test_a_table_of_another_encoding_than_the_rest_is_named(encoding: str, tmp_path: Path) -> None:
    for name in "abcd":
        (tmp_path / f"{name}.csv").write_text("größe,label\n1,0\n", encoding="utf-8")
    (tmp_path / "c.csv").write_text("größe,label\n1,0\n", encoding="latin-1")
    with pytest.raises(
        FedkinError,
        match=r"c\.csv is encoded as latin-1 and the other 3 as utf-8: save it like those",
    ) as told:
        load(f"{tmp_path}/", encoding=encoding)
    assert not isinstance(told.value, Unreadable)  # no encoding mends it


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_so_is_one_that_a_spreadsheet_wrote_as_utf_16(encoding: str, tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.csv").write_text("age,label\n1,0\n", encoding="utf-8")
    (tmp_path / "c.csv").write_text("age,label\n1,0\n", encoding="utf-16")
    with pytest.raises(FedkinError, match=r"c\.csv is encoded as utf-16 and the other 2 as utf-8"):
        load(f"{tmp_path}/", encoding=encoding)


def test_an_encoding_that_fits_every_table_is_named(tmp_path: Path) -> None:
    """Of what has no other letters latin-1 reads the same."""
    for name, cell in (("a", "x"), ("b", "größe"), ("c", "x")):
        (tmp_path / f"{name}.csv").write_text(f"ward,label\n{cell},0\n", encoding="latin-1")
    with pytest.raises(Unreadable, match=r"b\.csv is not UTF-8 text: .* data.encoding=latin-1"):
        load(f"{tmp_path}/")
    source = load(f"{tmp_path}/", encoding="latin-1")
    assert source.columns is not None
    (tmp_path / "b.csv").write_text("ward,label\ngröße,0\n", encoding="gbk", errors="replace")
    load(f"{tmp_path}/", encoding="gbk")  # of others nobody knows
