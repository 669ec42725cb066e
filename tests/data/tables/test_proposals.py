"""What the columns of a table are likely to be for."""

from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.tables.proposals import proposals
from tests.data.tables.table_examples import write

ROWS = "".join(f"{at % 4},{at},{at * at},{at % 2},{at}\n" for at in range(12))


def test_a_label_has_its_name_and_clients_have_several_rows(tmp_path: Path) -> None:
    found = proposals(Path(write(tmp_path, f"hospital,patient_id,Out_come,age,bed\n{ROWS}")))
    assert found is not None
    assert found.columns == ("hospital", "patient_id", "Out_come", "age", "bed")
    assert found.label == "Out_come"
    assert found.clients == {"hospital": 4}  # patient_id: one row each
    assert not found.folder


def test_without_such_a_name_the_last_column_that_is_no_client(tmp_path: Path) -> None:
    text = "".join(f"{at},{at % 2},{at % 3}\n" for at in range(12))
    found = proposals(Path(write(tmp_path, f"age,sick,site\n{text}")))
    assert found is not None
    assert (found.label, found.clients) == ("sick", {"site": 3})


def test_one_client_is_none(tmp_path: Path) -> None:
    found = proposals(Path(write(tmp_path, "site,label\n" + "a,1\n" * 9)))
    assert found is not None
    assert found.clients == {}


def test_files_of_a_folder_are_the_clients(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv"):
        write(tmp_path, f"site,label\n{'x,1' if name == 'a.csv' else 'y,0'}\n" * 1, name)
    found = proposals(tmp_path)
    assert found is not None
    assert (found.folder, found.clients, found.label) == (True, {}, "label")


def test_of_what_is_no_table_nothing_is_asked(tmp_path: Path) -> None:
    (tmp_path / "a.npz").touch()
    assert proposals(tmp_path / "a.npz") is None
    assert proposals(tmp_path) is None


@pytest.mark.parametrize(("mark", "encoding"), [(";", "utf-8"), ("\t", "utf-8"), (";", "latin-1")])
def test_another_separator_or_encoding_is_found(tmp_path: Path, mark: str, encoding: str) -> None:
    text = "site,age,label\n" + "Köln,1,a\nBonn,2,b\n" * 9
    (tmp_path / "t.csv").write_text(text.replace(",", mark), encoding=encoding)
    found = proposals(tmp_path / "t.csv")
    assert found is not None
    assert (found.columns, found.label, found.clients) == (
        ("site", "age", "label"),
        "label",
        {"site": 2},
    )


def test_what_has_no_fix_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,a\n1,2\n")
    with pytest.raises(FedkinError, match="appears twice"):
        proposals(tmp_path / "t.csv")
