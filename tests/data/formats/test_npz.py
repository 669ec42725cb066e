"""An .npz that says what its samples are for, a newcomer's or a node's: no label may stand at
another's sample.
"""

import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.data.arrays import Array
from fedkin.data.formats.npz import load_arrays
from fedkin.data.formats.user_files import read_own
from fedkin.data.population import Population
from fedkin.data.sources import load
from fedkin.flower.node.data import read
from fedkin.newcomers.samples import TableLayout, read_newcomer

Reader = Callable[[Path], Population]


def newcomer(path: Path) -> Population:
    rows = np.arange(9)
    held = {"train": (rows[:5],), "val": (rows[5:7],), "test": (rows[7:],)}
    run = Population("run", torch.zeros(9, 3), torch.arange(9) % 2, 2, "classification", **held)
    return read_newcomer(path, run, TableLayout("label", None, {}, (0.6, 0.2, 0.2)), Key(0))


def parts(**others: Array) -> dict[str, Array]:
    """Eight rows to train with and four to choose by; a sample is its number, whose parity is its
    label.
    """
    x, y = np.repeat(np.arange(12, dtype=np.float32)[:, None], 3, axis=1), np.arange(12) % 2
    return {"x_train": x[:8], "y_train": y[:8], "x_val": x[8:], "y_val": y[8:], **others}


@pytest.mark.parametrize("reader", [newcomer, read])
def test_samples_keep_their_labels(reader: Reader, tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", **parts())  # type: ignore[arg-type]
    own = reader(tmp_path / "own.npz")
    assert [len(own.rows(part)[0]) for part in ("train", "val", "test")] == [8, 4, 0]
    assert own.part(0, "val")[0][:, 0].tolist() == [8, 9, 10, 11]
    assert (own.x[:, 0] % 2).tolist() == own.y.tolist()


@pytest.mark.parametrize("reader", [newcomer, read])
@pytest.mark.parametrize(
    ("others", "said"),
    [
        # as many labels as samples, but not in each part
        (
            {"y_train": np.arange(6) % 2, "y_val": np.arange(6) % 2},
            "y_train has shape (6,) and x_train has (8, 3)",
        ),
        ({"y_val": np.arange(3) % 2}, "y_val has shape (3,) and x_val has (4, 3): rows must agree"),
        ({"x_val": np.zeros((4, 2), np.float32)}, "x_val rows are (2,), but x_train rows are (3,)"),
        ({"x_val": np.float32(1)}, "x_val has shape ()"),
        ({"y_val": np.zeros((4, 1), int)}, "y_val rows are (1,), but y_train rows are ()"),
        (
            {"y_val": np.zeros(4)},
            "y_val holds float64 values, but y_train int64: save them as one type",
        ),
        ({"y_val": np.zeros(4, "M8[D]")}, "y_val holds datetime64[D] values, but y_train int64"),
    ],
)
def test_parts_that_do_not_fit(
    reader: Reader, others: dict[str, Array], said: str, tmp_path: Path
) -> None:
    np.savez(tmp_path / "own.npz", **parts(**others))  # type: ignore[arg-type]
    with pytest.raises(FedkinError) as caught:
        reader(tmp_path / "own.npz")
    assert str(caught.value).startswith(f"{tmp_path / 'own.npz'}: {said}")


PIXELS = np.zeros((4, 3, 3), np.uint8)
SPLIT = {"x_train": PIXELS, "y_train": np.arange(4) % 2, "x_test": PIXELS, "y_test": np.arange(4)}


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ({"x_test": PIXELS / 2}, "x_test holds float64 values, but x_train uint8: save them as"),
        ({"x_test": PIXELS.astype(int)}, "x_test holds int64 values, but x_train uint8"),
        ({"y_test": np.arange(4) / 2}, "y_test holds float64 values, but y_train int64"),
        ({"client_train": np.arange(4)}, "has client_train but not the clients of the other samp"),
        ({"client_test": np.arange(4)}, "has client_test but not the clients of the other sampl"),
        ({"x": PIXELS, "y": np.arange(4)}, "has x, y and x_train, y_train, x_test, y_test beside"),
        ({"names": np.array(["cat", "dog", "cat", "elk"])}, "names holds 'cat' twice: give every"),
        ({"class_names": np.array("cat")}, "class_names has shape (): give a list of names"),
        ({"names": np.array([b"\xff"] * 4)}, "names holds bytes that are not UTF-8"),
        (
            {"client_train": np.arange(4), "client_test": np.arange(4.0)},
            "client_test holds float64 values, but client_train int64",
        ),
    ],
)
def test_a_data_set_whose_arrays_do_not_fit(
    others: dict[str, Array], said: str, tmp_path: Path
) -> None:
    np.savez(tmp_path / "own.npz", **(SPLIT | others))  # type: ignore[arg-type]
    with pytest.raises(FedkinError) as caught:
        load(str(tmp_path / "own.npz"))
    assert str(caught.value).startswith(str(tmp_path / "own.npz"))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_data_set_whose_arrays_fit(tmp_path: Path) -> None:
    clients = {"client_train": np.array([0, 0, 1, 1]), "client_test": np.array([1, 1, 0, 0])}
    whole = {**SPLIT, **clients, "y_test": np.arange(4, dtype=np.uint8)}
    np.savez(tmp_path / "own.npz", **whole)  # type: ignore[arg-type]
    source = load(str(tmp_path / "own.npz"))
    assert source.y.tolist() == [0, 1, 0, 1, 0, 1, 2, 3]
    assert source.client is not None
    assert source.client.tolist() == [0, 0, 1, 1, 1, 1, 0, 0]


@pytest.mark.parametrize("client", [np.float64(3), np.array([0.0, np.nan, 1, 1])])
@pytest.mark.parametrize("names", [{}, {"client_name": np.array(["ann", "bo"])}])
def test_clients_that_are_none(client: Array, names: dict[str, Array], tmp_path: Path) -> None:
    arrays = {"x": PIXELS, "y": np.arange(4), "client": client, **names}
    np.savez(tmp_path / "own.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(FedkinError, match=r"own\.npz: client (has shape|holds nan at 1)"):
        load(str(tmp_path / "own.npz"))


@pytest.mark.parametrize("keys", [["x", "y"], ["x", "y", "client"]])
def test_validation_samples_of_a_data_set_are_not_dropped(keys: list[str], tmp_path: Path) -> None:
    more = {f"{key}_val": SPLIT["x_train" if key == "x" else "y_train"] for key in keys}
    np.savez(tmp_path / "own.npz", **(SPLIT | more))  # type: ignore[arg-type]
    named = ", ".join(more)
    with pytest.raises(FedkinError, match=rf"has {named}, and .* append them to x_train and y_tr"):
        load(str(tmp_path / "own.npz"))


def test_flags_are_no_pixels(tmp_path: Path) -> None:
    """A 1 of 255 would be nearly 0; what may be flat pictures stays, and is spoken of."""
    flags = np.arange(8, dtype=np.uint8).reshape(4, 2) % 2
    y = np.array([0, 1, 0, 1])
    np.savez(tmp_path / "own.npz", x=flags, y=y)
    source = load(str(tmp_path / "own.npz"))
    assert (source.x.dtype, source.x.tolist(), source.said) == (np.float32, flags.tolist(), ())
    np.savez(tmp_path / "own.npz", x=flags * 255, y=y)
    flat = load(str(tmp_path / "own.npz"))
    assert flat.x.dtype == np.uint8
    assert flat.said[0].startswith("x is uint8 and so taken for pixels, divided by 255")
    np.savez(tmp_path / "own.npz", x=flags.reshape(4, 1, 2), y=y)
    pictures = load(str(tmp_path / "own.npz"))
    assert (pictures.x.dtype, pictures.said) == (np.uint8, ())


def test_a_name_of_clients_that_is_no_list(tmp_path: Path) -> None:
    x, y, path = np.zeros((4, 2)), np.array([0, 1, 0, 1]), tmp_path / "own.npz"
    np.savez(path, x=x, y=y, client=np.zeros(4, np.int64), client_name=np.array("a"))
    with pytest.raises(FedkinError, match=r"client_name has shape \(\): give a list of names"):
        load(str(path))


def test_an_archive_with_another_file(tmp_path: Path) -> None:
    path = tmp_path / "own.npz"
    np.savez(path, x=np.zeros((4, 2)), y=np.array([0, 1, 0, 1]))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("README.txt", "mine")
    with pytest.raises(FedkinError, match=r"holds 'README\.txt', which is no array"):
        load(str(path))


def test_a_public_archive_without_labels_is_read_where_nobody_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "public.npz"
    np.savez(path, x=np.ones((5, 3), dtype=np.float32))
    assert read_own(str(path), None, {}, "unlabeled").x.shape == (5, 3)
    with pytest.raises(FedkinError, match="has x and no labels y: give y"):
        read_own(str(path), None, {}, "labeled")


def test_a_file_of_another_kind_is_not_said_to_hold_objects(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    path.write_text("age,label\n1,0\n")
    with pytest.raises(FedkinError, match=r"a\.npz cannot be read: it is no \.npz archive; save"):
        load_arrays(path)
    path.write_bytes(pickle.dumps({"x": [1]}))
    with pytest.raises(FedkinError, match="it holds Python objects"):
        load_arrays(path)


def test_a_bare_array_is_no_archive(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((3, 2)))
    path = (tmp_path / "a.npy").rename(tmp_path / "a.npz")
    with pytest.raises(FedkinError, match="holds a bare array, not an"):
        load_arrays(path)
