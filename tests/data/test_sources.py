"""Readers against small files written here: right bytes give the right samples, wrong bytes give
one sentence.
"""

from pathlib import Path

import numpy as np
import pytest

from fedkin.data.formats.text import FILES
from fedkin.data.named_sets import SOURCES
from fedkin.data.sources import load
from tests.data.sources_examples import RNG, fails, mnist_arrays


@pytest.fixture(autouse=True)
def _no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FEDKIN_DATA", raising=False)


# --- IDX


# --- CIFAR


# --- NPZ


def test_npz_of_a_known_set(tmp_path: Path) -> None:
    arrays = mnist_arrays()
    np.savez_compressed(tmp_path / "mnist.npz", **arrays)
    source = load("mnist", tmp_path)
    assert source.x.shape == (10, 1, 28, 28)
    assert source.class_names == tuple("0123456789")


def test_npz_turns_colour_channels_first(tmp_path: Path) -> None:
    x = RNG.integers(0, 256, (6, 32, 32, 3), np.uint8)
    np.savez(
        tmp_path / "cifar10.npz",
        x_train=x[:4],
        y_train=np.arange(4),
        x_test=x[4:],
        y_test=np.arange(2),
    )
    source = load("cifar10", tmp_path)
    assert source.x.shape == (6, 3, 32, 32)
    assert source.x[5, 1, 2, 3] == x[5, 2, 3, 1]


def test_own_npz_by_name_and_by_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = RNG.normal(size=(8, 5))
    client = np.array(["b", "a"] * 4)
    np.savez(
        tmp_path / "mine.npz",
        x=x,
        y=np.arange(8) % 3,
        client=client,
        day=np.arange(8),
        scale=np.ones(2),
    )
    by_path = load(str(tmp_path / "mine.npz"))
    monkeypatch.setenv("FEDKIN_DATA", str(tmp_path))
    by_name = load("mine")
    assert by_name.name == by_path.name == "mine"
    assert by_name.x.dtype == np.float32
    np.testing.assert_allclose(by_name.x, x, rtol=1e-6)
    assert by_name.client is not None
    np.testing.assert_array_equal(by_name.client, client)
    assert by_name.official_test is None
    assert by_name.classes == 3
    assert set(by_name.truth) == {"day"}  # a row a sample; "scale" is not


def test_npz_floating_y_is_regression(tmp_path: Path) -> None:
    np.savez(tmp_path / "r.npz", x=np.ones((4, 2)), y=np.array([0.5, 1, 2, 3]))
    source = load("r", tmp_path)
    assert (source.task, source.classes, source.y.dtype) == ("regression", 0, np.float32)


def test_npz_client_numbers_become_names(tmp_path: Path) -> None:
    x = np.zeros((3, 4, 4), np.uint8)
    arrays = {"x_train": x, "y_train": np.arange(3), "x_test": x[:1], "y_test": np.arange(1)}
    arrays |= {
        "client_train": np.array([0, 1, 1]),
        "client_test": np.array([1]),
        "client_name": np.array([b"ann", b"bo"]),
    }
    np.savez(tmp_path / "femnist.npz", **arrays)
    source = load("femnist", tmp_path)
    assert source.client is not None
    assert source.client.tolist() == ["ann", "bo", "bo", "bo"]
    np.savez(tmp_path / "femnist.npz", **(arrays | {"client_test": np.array([2])}))
    fails("femnist", tmp_path, "client_name", "0 to 1")


def test_har_layout(tmp_path: Path) -> None:
    x = RNG.normal(size=(5, 128, 9)).astype(np.float32)
    np.savez(tmp_path / "har.npz", x=x, y=np.arange(5), client=np.arange(5), bout=np.arange(5))
    source = load("har", tmp_path)
    assert source.x.shape == (5, 9, 128)
    assert source.x[3, 7, 100] == x[3, 100, 7]
    assert source.truth["bout"].tolist() == [0, 1, 2, 3, 4]
    assert (
        source.group == "bout"
    )  # windows of one overlap: in a natural partition they stay in one split
    np.savez(
        tmp_path / "har.npz", x=x[:, :, :3], y=np.arange(5), client=np.arange(5), bout=np.arange(5)
    )
    fails("har", tmp_path, "[n, 128, 9]")


NAN = np.array([[0.0, 1.0], [np.nan, 2.0]])


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"x": NAN, "y": np.arange(2)}, ("row 1", "NaN")),
        ({"x": np.full((2, 2), 1e300), "y": np.arange(2)}, ("row 0", "too large")),
        ({"x": np.ones((3, 2)), "y": np.arange(2)}, ("3 rows", "(2,)")),
        ({"x": np.ones((0, 2)), "y": np.arange(0)}, ("no rows",)),
        ({"x": np.ones(3), "y": np.arange(3)}, ("shape (3,)",)),
        ({"x": np.array(1.0), "y": np.arange(3)}, ("shape ()",)),
        ({"x": np.ones((2, 2)), "y": np.array([-1, 0])}, ("label -1", "from 0")),
        ({"x": np.ones((2, 2)), "y": np.array([0, 10**9])}, ("1000000000", "without gaps")),
        ({"x": np.ones((2, 2)), "y": np.array([0.0, np.inf])}, ("row 1 of y",)),
        ({"x": np.ones((2, 2)), "y": np.array(["a", "b"])}, ("y holds texts",)),
        ({"x": np.array([["a"], ["b"]]), "y": np.arange(2)}, ("x holds texts",)),
        ({"x": np.ones((2, 2))}, ("x and no labels y", "public.labeled = false")),
        ({"z": np.ones((2, 2))}, ("lacks", "x_train", "has z")),
        (
            {"x": np.ones((2, 2)), "y": np.arange(2), "client": np.arange(3)},
            ("client has 3 entries", "2 rows"),
        ),
        (
            {"x": np.ones((2, 2)), "y": np.array([0, 3]), "names": np.array(["u", "v"])},
            ("label 3", "2 classes"),
        ),
        (
            {
                "x_train": np.ones((2, 2)),
                "y_train": np.arange(2),
                "x_test": np.ones((1, 3)),
                "y_test": np.arange(1),
            },
            ("x_test rows are (3,)", "(2,)"),
        ),
        (
            {
                "x_train": np.ones((2, 2)),
                "y_train": np.arange(2),
                "x_test": np.ones((1, 2)),
                "y_test": np.arange(2),
            },
            ("y_test", "rows must agree"),
        ),
    ],
)
def test_wrong_npz_contents(
    tmp_path: Path, arrays: dict[str, np.ndarray], words: tuple[str, ...]
) -> None:
    np.savez(tmp_path / "bad.npz", **arrays)
    fails("bad", tmp_path, "bad.npz", *words)


def test_npz_with_python_objects_is_refused(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "bad.npz", x=np.array([{}, []], dtype=object), y=np.arange(2), allow_pickle=True
    )
    fails("bad", tmp_path, "Python objects")


def test_damaged_npz(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "good.npz", x=RNG.normal(size=(200, 20)), y=np.arange(200) % 5)
    raw = (tmp_path / "good.npz").read_bytes()
    (tmp_path / "bad.npz").write_bytes(raw[: len(raw) // 2])
    fails("bad", tmp_path, "bad.npz", "damaged")
    middle = bytearray(raw)
    middle[5000:5100] = bytes(100)
    (tmp_path / "bad.npz").write_bytes(bytes(middle))
    fails("bad", tmp_path, "bad.npz", "damaged")
    (tmp_path / "bad.npz").write_bytes(b"")
    fails("bad", tmp_path, "bad.npz", "damaged")
    (tmp_path / "bad.npz").write_bytes(b"plain text, nothing else")
    fails("bad", tmp_path, "bad.npz")


# --- names


@pytest.mark.parametrize(
    "name", sorted(set(SOURCES) - {"digits", "synthetic_mixture", "linear_toy"})
)
def test_missing_data_say_what_to_put_where(tmp_path: Path, name: str) -> None:
    file = FILES.get(name, name.removesuffix("_extra") + ".npz")
    fails(name, None, file, "--data-dir", "FEDKIN_DATA")
    fails(name, tmp_path, file, "--data-dir", "FEDKIN_DATA", str(tmp_path))


def test_unknown_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "hospital.npz", x=np.ones((2, 2)), y=np.arange(2))
    fails("minst", None, "did you mean 'mnist'")
    fails("hospitl", tmp_path, "did you mean 'hospital'")
    fails("digits", tmp_path / "nowhere", "not a folder")
    fails("some.csv", tmp_path, "some.csv", "does not exist")
    fails(tmp_path / "some.npz", None, "does not exist")
    fails("digits", None, "no columns to choose", client="who")
    fails("hospitalz", None, "unknown data set", label="ill")
    (tmp_path / "clinic.csv").touch()
    fails(tmp_path / "clinic.cvs", None, f"did you mean '{tmp_path / 'clinic.csv'}'")
    (tmp_path / "hospital").mkdir()
    fails(f"{tmp_path}/hospitl/", None, f"did you mean '{tmp_path / 'hospital'}'")
    (tmp_path / "raw").touch()
    fails(tmp_path / "raw", None, "of no kind that fedkin reads", "save it as .csv")
    (tmp_path / "x.npy").touch()
    fails(tmp_path / "x.npy", None, "of no kind that fedkin reads", "numpy.savez(")
    (tmp_path / "x.PNG").touch()
    fails(tmp_path / "x.PNG", None, "x.PNG is one image: name the folder", "CLIENT/CLASS/image")
    fails(f"{tmp_path}/ward/", None, "ward/ does not exist: check the path of the folder")
    fails("digits", None, "takes no parameter", clients=3)
    fails("linear_toy", None, "did you mean 'rows'", row=3)


@pytest.mark.parametrize("name", ["some.csv", "sites/some.parquet"])
def test_keys_behind_a_name_are_those_of_the_option_data(name: str) -> None:
    fails(
        f"{name}:separator=;,client=hospital",
        None,
        f"the name is {name!r}, and each key stands by itself, as in --set 'data.separator=;'",
    )


def test_digits_need_no_file() -> None:
    from sklearn.datasets import load_digits

    source = load("digits")
    assert source.x.shape == (1797, 1, 8, 8)
    assert source.x.dtype == np.uint8
    raw, y = load_digits(return_X_y=True)
    np.testing.assert_allclose(source.x.reshape(1797, 64) / 255, raw / 16, atol=0.5 / 255 + 1e-9)
    assert source.x.max() == 255
    np.testing.assert_array_equal(source.y, y)
