"""A fault in a node's table is named by its own cell and line, here, and by the line to others."""

import pandas as pd
import pytest

from fedkin.core.errors import FedkinError
from fedkin.flower.node.data import read
from fedkin.flower.node.reasons import of_data, of_failure

GOOD = {"bmi": "21", "age": "50", "sick": "1", "split": "train"}
FAULTS = {
    "a word": ("bmi", "Mrs Smith", "column 'bmi' holds 'Mrs Smith', which is not a number"),
    "a label": ("sick", "Mrs Smith", "column 'sick' holds 'Mrs Smith': number the classes alike"),
    "a gap": ("age", "", "column 'age' is empty: fill it"),
    "a gap among labels": ("sick", "", "column 'sick' is empty: fill it"),
}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("case", FAULTS)
def test_the_cell_at_fault_is_named(case, ending, tmp_path, capsys):
    column, cell, said = FAULTS[case]
    rows = pd.DataFrame([GOOD | {"age": str(40 + k)} for k in range(6)])
    rows.loc[3, column] = cell or None
    path = tmp_path / f"data.{ending}"
    if ending == "csv":
        rows.to_csv(path, index=False)
    else:
        numbers = [name for name in ("bmi", "age") if name != column or not cell]
        rows.astype(dict.fromkeys(numbers, float)).to_parquet(path)
    place = "line 5" if ending == "csv" else "row 3"
    with pytest.raises(FedkinError) as found:
        read(path, "sick")
    assert str(found.value).startswith(f"{path}, {place}: {said}")
    told = of_data(found.value, path)
    where = f"data.{ending}, {place}, column '{column}'"
    assert told == f"its data cannot be read: {where}: its log says what is wrong"
    capsys.readouterr()


def test_no_text_of_a_server_commands_the_terminal_of_a_node(capsys):
    assert (
        of_failure(ValueError("\x1b[2Jnothing\r\x07")) == "ValueError, of which its log says more"
    )
    shown = capsys.readouterr().err
    assert "nothing" in shown
    assert shown.strip().isprintable()
