"""Tables of several formats and folders of tables."""

import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.formats import frames
from fedkin.data.formats.frames import Style, read_file
from fedkin.data.sources import load
from fedkin.data.tables.table import read_table
from tests.data.tables.table_examples import write

GOOD = "age,ward,label,site\n31,2.5,sick,north\n40,1,well,007\n22,-3e2,well,NA\n"


def test_a_folder_with_a_table_for_each_client(tmp_path: Path) -> None:
    folder = tmp_path / "sites"
    folder.mkdir()
    write(folder, "age,ward,label\n1,a,0\n2,b,1\n", "north.csv")
    write(folder, "ward,label,age\nc,1,3\n", "south.csv")
    write(folder, "age,ward,label\n", "west.csv")
    source = load(f"{folder}/")
    assert source.client is not None
    assert source.client.tolist() == ["north", "north", "south"]
    assert source.x.tolist() == [[1, 0], [2, 1], [3, 2]]
    assert source.said == ("1 of 3 files have no rows, and so are no clients: west.csv",)
    write(folder, "age,ward,label\n1,a,0\nx,b,1\n3,b,1\n4,b,1\n", "east.csv")
    with pytest.raises(FedkinError, match=r"east\.csv, line 3: column 'age' holds 'x'"):
        load(f"{folder}/")
    write(folder, "age,word,label\n1,a,0\n", "east.csv")
    with pytest.raises(
        FedkinError, match=r"east\.csv has 'word' and north\.csv does not|'ward' and east\.csv"
    ):
        load(f"{folder}/")


def test_all_files_of_a_folder_that_are_at_fault_are_named(tmp_path: Path) -> None:
    for name in "bcde":
        write(tmp_path, "age,bmi,label\n1,2,0\n", f"{name}.csv")
    write(tmp_path, "age,BMI,label\n1,2,0\n", "a.csv")
    with pytest.raises(
        FedkinError,
        match=r"a\.csv: its columns are not those of b\.csv: .*a\.csv does not, which has 'BMI'",
    ):
        load(f"{tmp_path}/")
    write(tmp_path, "age,bmi,label,x\n1,2,0,1\n", "e.csv")
    with pytest.raises(FedkinError, match=r"has 'BMI': .* and 1 more file: .*e\.csv has 'x'"):
        load(f"{tmp_path}/")
    write(tmp_path, "age,age,label\n1,2,0\n", "b.csv")
    write(tmp_path, "age,bmi,label\n1,2,0\n1,2\n", "c.csv")
    with pytest.raises(
        FedkinError, match=r"'age' appears twice: .* and 1 more file: .*c\.csv, line 3"
    ):
        load(f"{tmp_path}/")


def test_a_name_of_another_encoding_is_no_clients(tmp_path: Path) -> None:
    write(tmp_path, "age,label\n1,0\n2,1\n", "north.csv")
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/M\xfcller.csv")).write_text("age,label\n1,0\n")
    except OSError:
        pytest.skip("names are UTF-8 on this system")
    with pytest.raises(FedkinError, match=r"table 'M\\udcfcller' is no UTF-8 text: rename"):
        load(f"{tmp_path}/")


def test_not_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,label\n\xff\xfe,1\n")
    with pytest.raises(FedkinError, match="UTF-8"):
        load(str(tmp_path / "t.csv"))
    with pytest.raises(FedkinError, match="'auto', 'classification' or 'regression'"):
        load(write(tmp_path, GOOD), task="guess")
    with pytest.raises(FedkinError, match="unknown parameter"):
        load(write(tmp_path, GOOD), tusk="auto")


def test_clients_stand_in_one_order_in_every_format(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": range(12), "label": [0, 1] * 6, "who": range(11, -1, -1)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    one, other = (load(str(tmp_path / name), client="who") for name in ("t.csv", "t.parquet"))
    assert (
        np.unique(one.client).tolist() == np.unique(other.client).tolist() == list(range(12))
    )  # 10 after 9
    (tmp_path / "named.csv").write_text("a,label,who\n1,0,10\n2,1,9\n3,1,07\n", encoding="utf-8")
    assert load(str(tmp_path / "named.csv"), client="who").client.tolist() == ["10", "9", "07"]


def test_a_line_is_counted_as_an_editor_does(tmp_path: Path) -> None:
    """A cell in quotes may have several lines, and a column's name too."""
    path = tmp_path / "t.csv"
    path.write_bytes(b'"a\nb";c\n1;x\n2;"y\r\nz\n"\n3;"w"\n4;v\n')
    place = read_file(path, Style(separator=";")).place
    assert [place(row) for row in range(4)] == [f"{path}, line {n}" for n in (3, 4, 7, 8)]
    path.write_bytes('"a";c\n1;"ü\nz"\n3;w\n'.encode("utf-16"))
    place = read_file(path, Style(separator=";", encoding="utf-16")).place
    assert [place(row) for row in range(2)] == [f"{path}, line {n}" for n in (2, 4)]


def test_a_fault_after_a_cell_of_several_lines_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('note,age\n"two\nlines",1\nx,2\ny,old\nz,4\n')
    with pytest.raises(FedkinError, match="line 5: column 'age' holds 'old'"):
        read_table(path, label="note")
    path.write_text('"a\nb",c\n1\n')
    with pytest.raises(FedkinError, match="line 3: 1 cells under 2 column names"):
        read_file(path, Style())


def test_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {"a": [1, 2, 3], "b": [True, False, True], "label": ["u", "v", "u"], "who": [4, 5, 5]}
    )
    frame.to_parquet(tmp_path / "t.parquet")
    source = load(str(tmp_path / "t.parquet"), client="who")
    assert source.x.tolist() == [[1, 1], [2, 0], [3, 1]]
    assert source.y.tolist() == [0, 1, 0]
    assert source.client is not None
    assert source.client.tolist() == [4, 5, 5]
    frame.assign(a=[1.0, None, 3.0]).to_parquet(tmp_path / "t.parquet")
    assert np.isnan(load(str(tmp_path / "t.parquet")).x[1, 0])
    frame.assign(a=pd.to_datetime(["2020-01-01"] * 3)).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(FedkinError, match=r"row 0: column 'a' holds dates.*data\.drop"):
        load(str(tmp_path / "t.parquet"))
    (tmp_path / "t.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(FedkinError, match=r"t\.parquet") as error:
        load(str(tmp_path / "t.parquet"))
    assert "\n" not in str(error.value)


def test_the_columns_of_many_files_are_compared_in_time(tmp_path: Path) -> None:
    """Each name once: of pairs of names it would be 1.6 billion, and minutes."""
    names = [f"a rather long name of a column {at}" for at in range(40_000)]
    begin = time.process_time()
    frames._same(names, names[::-1], tmp_path / "a.csv", tmp_path / "b.csv")
    with pytest.raises(FedkinError, match=r"a\.csv has 'last' and b\.csv does not"):
        frames._same([*names, "last"], names, tmp_path / "a.csv", tmp_path / "b.csv")
    with pytest.raises(FedkinError, match=r"b\.csv has 'last' and a\.csv does not"):
        frames._same(names, [*names, "last"], tmp_path / "a.csv", tmp_path / "b.csv")
    assert time.process_time() - begin < 5
