"""Arrays of an .npz file under names that nothing reads."""

from pathlib import Path

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.arrays import Array
from fedkin.data.formats.user_files import read_own
from fedkin.data.sources import load
from fedkin.flower.node.data import read

X, Y = np.arange(12, dtype=np.float32).reshape(6, 2), np.arange(6) % 2
WHOLE = {"x": X, "y": Y}
DIVIDED = {"x_train": X, "y_train": Y, "x_test": X, "y_test": Y}


def saved(folder: Path, arrays: dict[str, Array]) -> str:
    np.savez(folder / "own.npz", **arrays)  # type: ignore[arg-type]
    return str(folder / "own.npz")


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({**WHOLE, "Client": Y}, "no array is called 'Client': did you mean 'client'?"),
        ({**WHOLE, "clients": Y}, "no array is called 'clients': did you mean 'client'?"),
        ({"X": X, "y": Y}, "no array is called 'X': did you mean 'x'?"),
        ({**WHOLE, "Names": np.array(["a", "b"])}, "did you mean 'names'?"),
        ({**DIVIDED, "Client_train": Y, "client_test": Y}, "did you mean 'client_train'?"),
        ({**DIVIDED, "client": Y}, "has client beside x_train: there client_train and client_test"),
        ({**DIVIDED, "y": Y}, "has y beside x_train: there y_train and y_test are read"),
        ({**WHOLE, "client_name": np.array(["a", "b"])}, "has client_name and no client: give"),
        ({**WHOLE, "X_test": X, "Y_test": Y}, "has x, y and X_test, Y_test beside them: keep x, y"),
        ({**WHOLE, "X_val": X}, "has x, y and X_val beside them: keep x, y alone"),
        ({**DIVIDED, "x_valid": X}, "has x_valid, and validation samples are a share of each"),
        ({**DIVIDED, "X_val": X, "Labels_val": Y}, "has X_val, Labels_val, and validation samples"),
    ],
)
def test_an_array_that_is_meant_for_another_one_is_refused(
    arrays: dict[str, Array], said: str, tmp_path: Path
) -> None:
    path = saved(tmp_path, arrays)
    with pytest.raises(FedkinError) as caught:
        load(path)
    assert str(caught.value).startswith(path)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({**WHOLE, "bout": Y}, ["'bout' is kept beside the samples, and no model sees it"]),
        (
            {**WHOLE, "site": Y},
            ["'site' is kept beside the samples, and no model sees it: did you mean 'client'?"],
        ),
        ({**WHOLE, "version": np.array(3)}, ["'version' is not read"]),
        ({**WHOLE, "feature_names": np.array(["a", "b"])}, ["'feature_names' is not read"]),
        (
            {**WHOLE, "target_names": np.array(["a", "b"])},
            ["'target_names' is not read: did you mean 'class_names'?"],
        ),
        (
            {**WHOLE, "clas_names": np.array(["a", "b"])},
            ["'clas_names' is not read: did you mean 'class_names'?"],
        ),
        (
            {**WHOLE, "client": Y, "clients": Y},
            ["'clients' is kept beside the samples, and no model sees it"],
        ),
        ({**DIVIDED, "bout_train": Y}, ["'bout_train' is not read"]),
        (
            {**DIVIDED, "bout_train": Y, "bout_test": Y},
            [
                "'bout_train' is kept beside the samples, and no model sees it",
                "'bout_test' is kept beside the samples, and no model sees it",
            ],
        ),
        ({**DIVIDED, "client_train": Y, "client_test": Y}, []),
        ({**WHOLE, "client": Y, "client_name": np.array(["a", "b"])}, []),
    ],
)
def test_an_array_that_nothing_reads_is_told(
    arrays: dict[str, Array], said: list[str], tmp_path: Path
) -> None:
    assert load(saved(tmp_path, arrays)).said == tuple(f"the array {one}" for one in said)


@pytest.mark.parametrize(("name", "meant"), [("X_val", "x_val"), ("y_valid", "y_val")])
def test_a_nodes_arrays_are_not_dropped_for_their_spelling(
    name: str, meant: str, tmp_path: Path
) -> None:
    path = saved(tmp_path, {"x_train": X, "y_train": Y, name: X})
    with pytest.raises(FedkinError, match=f"no array is called '{name}': did you mean '{meant}'"):
        read(Path(path))


@pytest.mark.parametrize("name", ["labels", "Y", "clients", "Names", "client_name"])
def test_a_public_set_without_labels_needs_no_array_but_x(name: str, tmp_path: Path) -> None:
    path = saved(tmp_path, {"x": X, name: Y})
    kept = f"the array {name!r} is kept beside the samples, and no model sees it"
    said = () if name == "client_name" else (kept,)  # which has a name that is read
    assert read_own(path, None, {}, "unlabeled").said == said
    with pytest.raises(FedkinError, match="no array is called 'X': did you mean 'x'"):
        read_own(saved(tmp_path, {"X": X, name: Y}), None, {}, "unlabeled")
