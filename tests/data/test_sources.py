"""Readers against small files written here: right bytes give the right samples, wrong bytes give
one sentence.
"""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.formats.text import FILES
from fedkin.data.sources import SOURCES, load

RNG = np.random.default_rng(0)
STEMS = {
    "x_train": "train-images",
    "y_train": "train-labels",
    "x_test": "t10k-images",
    "y_test": "t10k-labels",
}


@pytest.fixture(autouse=True)
def _no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FEDKIN_DATA", raising=False)


def one_sentence(error: pytest.ExceptionInfo[FedkinError], *words: str) -> None:
    text = str(error.value)
    assert "\n" not in text
    assert "Traceback" not in text
    for word in words:
        assert word in text, f"{word!r} is not in: {text}"


def fails(name: str | Path, dir: Path | None, *words: str, **params: object) -> None:
    with pytest.raises(FedkinError) as error:
        load(str(name), dir, **params)  # type: ignore[arg-type]
    one_sentence(error, *words)


def mnist_arrays(train: int = 7, test: int = 3) -> dict[str, np.ndarray]:
    return {
        "x_train": RNG.integers(0, 256, (train, 28, 28), np.uint8),
        "y_train": RNG.integers(0, 10, train).astype(np.uint8),
        "x_test": RNG.integers(0, 256, (test, 28, 28), np.uint8),
        "y_test": RNG.integers(0, 10, test).astype(np.uint8),
    }


def idx_bytes(array: np.ndarray) -> bytes:
    return (
        bytes([0, 0, 8, array.ndim])
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.tobytes()
    )


def write_idx(folder: Path, arrays: dict[str, np.ndarray], *, gz: bool, dash: str = "-") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for key, array in arrays.items():
        name = f"{STEMS[key]}{dash}idx{array.ndim}-ubyte"
        raw = idx_bytes(array)
        (folder / (name + ".gz" if gz else name)).write_bytes(gzip.compress(raw) if gz else raw)


# --- IDX


@pytest.mark.parametrize("gz", [True, False])
@pytest.mark.parametrize("sub", ["mnist", "."])
@pytest.mark.parametrize("dash", ["-", "."])
def test_idx_files_give_every_pixel_and_label(
    tmp_path: Path, gz: bool, sub: str, dash: str
) -> None:
    arrays = mnist_arrays()
    write_idx(tmp_path / sub, arrays, gz=gz, dash=dash)
    source = load("mnist", tmp_path)
    assert source.x.shape == (10, 1, 28, 28)
    assert source.x.dtype == np.uint8
    assert source.y.dtype == np.int64
    np.testing.assert_array_equal(source.x[:7, 0], arrays["x_train"])
    np.testing.assert_array_equal(source.x[7:, 0], arrays["x_test"])
    np.testing.assert_array_equal(source.y, np.concatenate([arrays["y_train"], arrays["y_test"]]))
    assert source.official_test is not None
    np.testing.assert_array_equal(source.official_test, [False] * 7 + [True] * 3)
    assert source.classes == 10


def test_fashion_mnist_has_its_own_names_and_folder(tmp_path: Path) -> None:
    write_idx(tmp_path / "fashion_mnist", mnist_arrays(), gz=True)
    assert load("fashion_mnist", tmp_path).class_names[9] == "Ankle boot"
    fails("mnist", tmp_path, "mnist", "--data-dir", "FEDKIN_DATA")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda raw: b"\x00\x00\x0d" + raw[3:], ("magic", "train-images")),
        (lambda raw: raw[:-5], ("damaged", "bytes follow")),
        (lambda raw: raw + b"\0", ("damaged",)),
        (lambda raw: raw[:6], ("damaged",)),
        (lambda raw: b"", ("magic",)),
        (lambda raw: b"<html>not found</html>", ("magic",)),
    ],
)
def test_damaged_idx_is_one_sentence(tmp_path: Path, spoil, words) -> None:  # type: ignore[no-untyped-def]
    write_idx(tmp_path / "mnist", mnist_arrays(), gz=False)
    path = tmp_path / "mnist" / "train-images-idx3-ubyte"
    path.write_bytes(spoil(path.read_bytes()))
    fails("mnist", tmp_path, *words)


@pytest.mark.parametrize(
    "spoil", [lambda raw: raw[: len(raw) // 2], lambda raw: b"no gzip", lambda raw: raw[:-1]]
)
def test_truncated_gzip_is_one_sentence(tmp_path: Path, spoil) -> None:  # type: ignore[no-untyped-def]
    write_idx(tmp_path / "mnist", mnist_arrays(), gz=True)
    path = tmp_path / "mnist" / "t10k-labels-idx1-ubyte.gz"
    path.write_bytes(spoil(path.read_bytes()))
    fails("mnist", tmp_path, "t10k-labels", "damaged or cut short")


def test_corrupt_gzip_body_is_one_sentence(tmp_path: Path) -> None:
    write_idx(tmp_path / "mnist", mnist_arrays(), gz=True)
    path = tmp_path / "mnist" / "train-images-idx3-ubyte.gz"
    raw = bytearray(path.read_bytes())
    raw[200:260] = bytes(60)
    path.write_bytes(bytes(raw))
    fails("mnist", tmp_path, "damaged")


def test_idx_missing_one_file_names_it(tmp_path: Path) -> None:
    write_idx(tmp_path / "mnist", mnist_arrays(), gz=True)
    (tmp_path / "mnist" / "t10k-labels-idx1-ubyte.gz").unlink()
    fails("mnist", tmp_path, "t10k-labels-idx1-ubyte.gz")


def test_idx_with_more_images_than_labels(tmp_path: Path) -> None:
    arrays = mnist_arrays()
    write_idx(tmp_path / "mnist", arrays | {"y_train": arrays["y_train"][:-1]}, gz=True)
    fails("mnist", tmp_path, "as many images as labels")


def test_idx_label_out_of_range(tmp_path: Path) -> None:
    arrays = mnist_arrays()
    arrays["y_train"][2] = 17
    write_idx(tmp_path / "mnist", arrays, gz=True)
    fails("mnist", tmp_path, "label 17", "10 classes")


# --- CIFAR


def write_cifar(
    folder: Path, files: list[str], label_bytes: int, classes: int, rows: int = 3
) -> list[np.ndarray]:
    folder.mkdir(parents=True)
    parts = []
    for file in files:
        part = RNG.integers(0, 256, (rows, label_bytes + 3072), np.uint8)
        part[:, :label_bytes] = RNG.integers(0, classes, (rows, label_bytes))
        part.tofile(folder / file)
        parts.append(part)
    return parts


CIFAR10 = [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]


@pytest.mark.parametrize("sub", ["cifar10", "cifar-10-batches-bin", "cifar10/cifar-10-batches-bin"])
def test_cifar10_binary(tmp_path: Path, sub: str) -> None:
    rows = np.concatenate(write_cifar(tmp_path / sub, CIFAR10, 1, 10))
    source = load("cifar10", tmp_path)
    assert source.x.shape == (18, 3, 32, 32)
    np.testing.assert_array_equal(source.y, rows[:, 0])
    assert source.x[5, 2, 4, 7] == rows[5, 1 + 2 * 1024 + 4 * 32 + 7]  # channel, row, column
    assert source.official_test is not None
    assert source.official_test.sum() == 3
    assert source.official_test[-3:].all()


def test_cifar100_binary_uses_fine_labels(tmp_path: Path) -> None:
    rows = np.concatenate(write_cifar(tmp_path / "cifar100", ["train.bin", "test.bin"], 2, 20))
    source = load("cifar100", tmp_path)
    np.testing.assert_array_equal(source.y, rows[:, 1])
    assert source.classes == 100


def test_cifar_faults(tmp_path: Path) -> None:
    write_cifar(tmp_path / "cifar10", CIFAR10, 1, 10)
    path = tmp_path / "cifar10" / "data_batch_3.bin"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    fails("cifar10", tmp_path, "data_batch_3.bin", "3073-byte")
    path.write_bytes(bytes([200]) + whole[1:])
    fails("cifar10", tmp_path, "label 200")
    path.unlink()
    fails("cifar10", tmp_path, "lacks data_batch_3.bin")


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
        ({"x": np.ones((2, 2)), "y": np.array(["a", "b"])}, ("<U1",)),
        ({"x": np.array([["a"], ["b"]]), "y": np.arange(2)}, ("<U1",)),
        ({"x": np.ones((2, 2))}, ("lacks", "x_train", "has x")),
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
    fails("digits", None, "takes no parameter", clients=3)
    fails("linear_toy", None, "did you mean 'rows'", row=3)


def test_digits_need_no_file() -> None:
    from sklearn.datasets import load_digits

    source = load("digits")
    assert source.x.shape == (1797, 1, 8, 8)
    assert source.x.dtype == np.uint8
    raw, y = load_digits(return_X_y=True)
    np.testing.assert_allclose(source.x.reshape(1797, 64) / 255, raw / 16, atol=0.5 / 255 + 1e-9)
    assert source.x.max() == 255
    np.testing.assert_array_equal(source.y, y)
