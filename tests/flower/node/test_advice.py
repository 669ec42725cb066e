"""What a node's own output says of a file that cannot be read: what its owner can do."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.flower.node.data import read
from fedkin.flower.node.reasons import of_data

ROWS = "".join(f"{20 + k},{k % 2},{split}\n" for split in ("train", "val") for k in range(8))
NUMBERS = "".join(f"{k},0,train\n" for k in range(30))
FILES = {
    "a; file": (
        f"bmi,sick,split\n{ROWS}".replace(",", ";"),
        "is one column: separated by ';'? Save it with commas",
    ),
    "Latin-1": (
        f"größe,sick,split\n{ROWS}".encode("latin-1"),
        "is not UTF-8 text: save it as UTF-8",
    ),
    "UTF-16": (
        f"bmi,sick,split\n{ROWS}".encode("utf-16-le"),
        "holds zero bytes between its letters: save it as UTF-8",
    ),
    "no label": (
        f"bmi,sick,split\n20,,train\n{ROWS}",
        ", line 2: column 'sick' is empty: fill it, or leave the row out",
    ),
    "too large": (
        f"bmi,sick,split\n1e300,0,train\n{ROWS}",
        ", line 2: column 'bmi' is infinite or too large for float32: correct it, or leave the "
        "column out",
    ),
    "a word among numbers": (
        f"bmi,sick,split\nn/k,0,train\n{NUMBERS}",
        ", line 2: column 'bmi' holds 'n/k', which is not a number: correct it, or turn words into "
        "numbers, alike on all nodes",
    ),
    "no split": (
        f"bmi,sick,part\n{ROWS}",
        " has no column 'split': it says train, val or test of every row (columns: bmi, sick, "
        "part)",
    ),
    "another label": (
        f"bmi,sck,split\n{ROWS}",
        " has no label column 'sick': did you mean 'sck'? Name it so in the file, as [data] label "
        "of the experiment has it (columns: bmi, sck, split)",
    ),
    "no training rows": (
        f"bmi,sick,split\n{ROWS}".replace("train", "test"),
        " has no samples to train on: give it rows of split train, or x_train",
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_no_option_is_advised_that_a_node_does_not_have(case, tmp_path, capsys):
    content, said = FILES[case]
    path = tmp_path / "data.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FedkinError) as found:
        read(path, "sick")
    of_data(found.value, path)
    logged = capsys.readouterr().err.strip()
    assert logged.startswith(str(path))
    assert said in logged
    assert "--set" not in logged
