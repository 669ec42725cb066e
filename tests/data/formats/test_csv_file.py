"""CSV files: marks, empty lines, separators; a wrong line is named."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.formats import csv_file
from fedkin.data.sources import load
from tests.data.tables.table_examples import write

LONG = "1,2,well,a\n" * 20_000
GOOD = "age,ward,label,site\n31,2.5,sick,north\n40,1,well,007\n22,-3e2,well,NA\n"


def test_byte_order_mark_and_empty_lines_at_the_end(tmp_path: Path) -> None:
    assert load(write(tmp_path, "﻿a,label\n1,0\n2,1\n\n\n")).x.tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD.replace("40,1", "forty,1"), ("line 3", "'age'", "'forty'", "not a number")),
        (GOOD.replace("40,1", "40,inf"), ("line 3", "'ward'", "infinite")),
        (GOOD.replace("40,1", "40,1e300"), ("line 3", "'ward'", "too large")),
        (GOOD.replace("-3e2,well", "-3e2,"), ("line 4", "'label'", "empty")),
        (GOOD.replace("well,007", "well,"), ("line 3", "'site'", "empty")),
        (GOOD.replace("40,1,well,007", "40,1,well"), ("line 3", "3 cells under 4 column names")),
        (GOOD + "22,-3", ("line 5", "2 cells under 4 column names", "cut short")),
        (GOOD.replace("40,1,well,007", "40,1,well,007,8"), ("line 3", "5")),
        (
            GOOD.replace("31,2.5,sick,north", "31,2.5,sick,north,9"),
            ("line 2", "5 cells", "4 column names"),
        ),
        (GOOD.replace("40,1,well,007", ""), ("line 3", "empty")),
        (
            GOOD.replace("31,", '"31,') + LONG,
            ("line 2", "a cell has more than 131,072 letters", "quote never closed"),
        ),
        (
            f'{GOOD}50,2,"{LONG}",a\n51,2,well,\n',
            ("line 5", "a cell has more than 131,072 letters"),
        ),
        (
            GOOD.replace("label", "lable"),
            ("no label column 'label'", "did you mean 'lable'", "--set data.label=COLUMN"),
        ),
        (GOOD.replace("site", "sight"), ("no client column 'site'", "sight")),
        (GOOD.replace("ward", "age"), ("'age' appears twice",)),
        (
            GOOD.replace("label", "out"),
            ("name it with --set data.label=COLUMN (columns: age, ward, out, site)",),
        ),
        (GOOD.replace(",", ";"), ("separated by ';'? fedkin reads commas",)),
        (GOOD.replace(",", "\t"), ("separated by a tab? fedkin reads commas",)),
        ("age,ward,label,site\n", ("no rows",)),
        ("", ("empty", "columns")),
        ("label,site\n1,a\n", ("no feature columns",)),
    ],
)
def test_every_fault_of_a_csv_names_its_place(
    tmp_path: Path, text: str, words: tuple[str, ...]
) -> None:
    with pytest.raises(FedkinError) as error:
        load(write(tmp_path, text), client="site")
    assert "\n" not in str(error.value)
    for word in ("t.csv", *words):
        assert word in str(error.value)


def test_other_separators_and_encodings(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("größe;label\n1,5;kühl\n2,5;warm\n".encode("cp1252"))
    source = load(str(path), separator=";", decimal=",", encoding="cp1252")
    assert (source.x.ravel().tolist(), source.class_names) == ([1.5, 2.5], ("kühl", "warm"))
    with pytest.raises(FedkinError, match="not UTF-8 text"):
        load(str(path))
    with pytest.raises(FedkinError, match="is not known: use utf-8"):
        load(str(path), encoding="klingon")


@pytest.mark.parametrize("typed", ["tab", "\\t", "\t"])
def test_a_tab_is_typed_as_a_word(typed: str, tmp_path: Path) -> None:
    path = write(tmp_path, "a\tword\tlabel\n1\tx\t0\n2\t3\t1\n")
    assert len(load(path, separator=typed).x) == 2
    with pytest.raises(
        FedkinError, match=r"separated by a tab\? .*, unless --set data\.separator=tab"
    ):
        load(path)


@pytest.mark.parametrize("typed", ["t", "1", "::", ""])
def test_what_separates_no_cells_is_refused(typed: str, tmp_path: Path) -> None:
    """A shell makes t of an unquoted \\t, and a header has letters."""
    with pytest.raises(FedkinError, match=r"one character that is no letter .* or the word tab$"):
        load(write(tmp_path, "at\tlabel\n1\t0\n"), separator=typed)


def test_a_file_with_commas_where_others_were_said_is_told(tmp_path: Path) -> None:
    path = write(tmp_path, "a,label\n1,0\n")
    with pytest.raises(FedkinError, match=r"separated by ','\? data\.separator is ';', unless"):
        load(path, separator=";")


@pytest.mark.parametrize(
    ("mark", "said"),
    [("?", None), ("", None), ("old", r"line 11: column 'age' holds 'old', which is not a num")],
)
def test_a_decimal_comma_beside_a_word_is_still_one(
    mark: str, said: str | None, tmp_path: Path
) -> None:
    """Pandas reads such a column as words: each number was a category of its own."""
    rows = "".join(f"{at},5;1,{at};{at % 2}\n" for at in range(9))
    path = write(tmp_path, f"age;who;label\n{rows}{mark};2,5;1\n")
    options = {"separator": ";", "decimal": ",", "client": "who"}
    if said is not None:
        with pytest.raises(FedkinError, match=said):
            load(path, **options)  # type: ignore[arg-type]
        return
    source = load(path, **options)  # type: ignore[arg-type]
    np.testing.assert_array_equal(source.x[:, 0], [*(at + 0.5 for at in range(9)), np.nan])
    assert source.client is not None
    assert source.client[3] == "1,3"  # a name is as it is written


def test_many_rows_all_arrive(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(5000, 3)).astype(np.float32)
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(
        label=np.arange(5000) % 7, who=np.arange(5000) % 11
    )
    frame.to_csv(tmp_path / "big.csv", index=False)
    source = load(str(tmp_path / "big.csv"), client="who")
    np.testing.assert_allclose(source.x, x, rtol=1e-6)
    np.testing.assert_array_equal(source.y, np.arange(5000) % 7)
    assert source.client is not None
    assert source.client[12] == 1


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_short_lines_under_many_names_are_refused_however_they_end(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_file, "room", lambda: 1000)
    (tmp_path / "t.csv").write_bytes(f"a,label{end}{end * 99}".encode())
    with pytest.raises(FedkinError, match=r"t\.csv has 100 lines of 2 columns, more cells than"):
        csv_file.read_csv(tmp_path / "t.csv", (), ",", ".", "utf-8")
