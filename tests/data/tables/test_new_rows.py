"""A table whose rows come after training, read as the run's own table was."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.tables.encoding import Category, Encoding, Number, Words
from fedkin.data.tables.new_rows import encoded, read_later, style
from tests.data.tables.table_examples import write

ENCODING = Encoding(
    (
        Number("age", fill=40, mean=40, std=4, flag=False),
        Category("ward", ("07", "icu"), rest=True, flag=False),
        Words("note", ("cough", "fever")),
    )
)
TEXT = "bed;note;ward;age\n7;fever fever;07;48,0\n8;cough;ICU ;38,0\n"
OPTIONS = {"separator": ";", "decimal": ",", "unify": ["ward"], "scale": "standard"}


def test_columns_stand_in_any_order_and_words_stay_words(tmp_path: Path) -> None:
    path = Path(write(tmp_path, TEXT))
    read = read_later(path, ENCODING, {**OPTIONS, "unify": []}, ("bed",))
    assert read.frame["ward"].tolist() == ["07", "ICU "]  # text: no leading zero is lost
    assert read.frame["bed"].tolist() == ["7", "8"]
    cells, said = encoded(read, ENCODING, ("bed",))
    assert cells.dtype == np.float32
    np.testing.assert_allclose(
        cells,
        [[2, 1, 0, 0, 0, np.log(3)], [-0.5, 0, 0, 1, np.log(2), 0]],
        rtol=1e-6,
    )
    assert len(said) == 1
    assert "is none of the values that the model knows by name: 'ICU '" in said[0]


def test_spellings_are_those_of_the_run(tmp_path: Path) -> None:
    later = TEXT.replace("07", "icu")
    read = read_later(Path(write(tmp_path, later)), ENCODING, OPTIONS, ())
    cells, said = encoded(read, ENCODING, ())
    assert cells[:, 2].tolist() == [1, 1]
    assert said == ("columns that the model does not use: bed",)


def test_a_column_that_is_lacking_is_named(tmp_path: Path) -> None:
    path = Path(write(tmp_path, "bed;age\n7;48\n"))
    with pytest.raises(FedkinError, match=r"lacks the column 'ward' and 1 more, which the run was"):
        read_later(path, ENCODING, OPTIONS, ())


def test_words_where_there_were_numbers(tmp_path: Path) -> None:
    path = Path(write(tmp_path, TEXT.replace("38,0", "old")))
    with pytest.raises(FedkinError, match=r"line 3: column 'age' holds 'old', but the mo"):
        encoded(read_later(path, ENCODING, OPTIONS, ()), ENCODING, ("bed",))


def test_cells_that_training_never_had_are_no_advice_on_training(tmp_path: Path) -> None:
    path = Path(write(tmp_path, TEXT.replace("38,0", "inf")))
    with pytest.raises(FedkinError, match=r"line 3: column 'age' is infinite .*: correct it$"):
        encoded(read_later(path, ENCODING, OPTIONS, ()), ENCODING, ("bed",))
    dates = pd.DataFrame({"age": [40], "ward": [pd.Timestamp("2020-01-01")], "note": ["cough"]})
    dates.to_parquet(tmp_path / "dates.parquet")
    with pytest.raises(FedkinError, match=r"column 'ward' holds dates, but .* with words there$"):
        encoded(read_later(tmp_path / "dates.parquet", ENCODING, {}, ()), ENCODING, ())


@pytest.mark.parametrize("gap", ["", "?", "NA"])
def test_booleans_are_numbers_with_gaps_too(tmp_path: Path, gap: str) -> None:
    encoding = Encoding((Number("age", fill=0.5, mean=0, std=1, flag=False),))
    path = Path(write(tmp_path, f"age\ntrue\n{gap}\nFALSE\n"))
    cells, said = encoded(read_later(path, encoding, {}, ()), encoding, ())
    assert cells[:, 0].tolist() == [1, 0.5, 0]
    assert "line 3 has no value" in said[0]
    path = Path(write(tmp_path, "age\n48\n1\ntrue\n"))
    with pytest.raises(FedkinError, match=r"line 4: column 'age' holds 'true', but the model"):
        encoded(read_later(path, encoding, {}, ()), encoding, ())


@pytest.mark.parametrize("cells", ["true\nFALSE", "TRUE\n\nfalse", "true\n?"])
def test_booleans_where_there_were_numbers(cells: str, tmp_path: Path) -> None:
    """A temperature is not 1: training's mean and spread are of no booleans."""
    encoding = Encoding((Number("age", fill=48, mean=48, std=9, flag=False),))
    path = Path(write(tmp_path, f"age\n{cells}\n"))
    with pytest.raises(FedkinError, match=r"(?i)line 2: column 'age' holds 'true'.*, but the mode"):
        encoded(read_later(path, encoding, {}, ()), encoding, ())


@pytest.mark.parametrize(("mean", "std"), [(0.5, 0.5), (0.1, 0.3), (0, 1), (1, 1)])
def test_booleans_where_there_were_booleans(mean: float, std: float, tmp_path: Path) -> None:
    encoding = Encoding((Number("ill", fill=mean, mean=mean, std=std, flag=False),))
    path = Path(write(tmp_path, "ill\ntrue\nfalse\n"))
    cells, _ = encoded(read_later(path, encoding, {}, ()), encoding, ())
    assert cells[:, 0].tolist() == pytest.approx([(1 - mean) / std, -mean / std])


def test_a_word_keeps_its_zeros_where_marks_are_taken_out(tmp_path: Path) -> None:
    path = Path(write(tmp_path, "bed;note;ward;age\n7;fever;07;48\n8;cough;<5;38\n"))
    options = {"separator": ";", "missing": {"ward": ["<5"]}}
    assert read_later(path, ENCODING, options, ()).frame["ward"][0] == "07"


def test_how_files_are_written_is_taken_from_the_run() -> None:
    assert style({**OPTIONS, "encoding": "latin-1"}, ("ward",)) == (("ward",), ";", ",", "latin-1")
    assert style({"label": "x"}) == ((), ",", ".", "utf-8")


def test_a_file_written_unlike_the_runs_is_told_without_an_option(tmp_path: Path) -> None:
    encoding = Encoding((Number("age", fill=0.5, mean=0, std=1, flag=False),))
    path = Path(write(tmp_path, "age;bed\n1;2\n"))
    with pytest.raises(FedkinError, match=r"by ';': save it with ',', as the run's tables are$"):
        read_later(path, encoding, {}, ())
    path.write_bytes("age,größe\n1,2\n".encode("latin-1"))
    with pytest.raises(FedkinError, match=r"is not UTF-8 text: save it as utf-8, as the run's tab"):
        read_later(path, encoding, {}, ())
