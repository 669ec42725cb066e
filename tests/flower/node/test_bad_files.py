"""Files that no reader takes: their node's owner is told in one sentence, which names the file, and
a start goes on.
"""

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedkin.core.errors import FedkinError
from fedkin.flower.node import data
from fedkin.flower.node.checked import checked
from tests.cli.command import fedkin
from tests.engine.small import small
from tests.flower.node.host_examples import made

X, Y = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32), np.arange(50) % 2
ROWS = "age,bmi,label,split\n" + "".join(
    f"{20 + k},{k}.5,{k % 2},{'test' if k % 4 == 3 else 'train'}\n" for k in range(20)
)
TABLE = pd.read_csv(io.StringIO(ROWS))


def npz(path: Path, damage: Callable[[bytes], bytes] = lambda content: content) -> None:
    np.savez(path, x_train=X, y_train=Y)
    path.write_bytes(damage(path.read_bytes()))


def packed(path: Path, kind: int, start: int) -> None:
    file = io.BytesIO()
    np.save(file, X)
    with zipfile.ZipFile(path, "w", kind) as archive:
        archive.writestr("x_train.npy", file.getvalue())
    content = path.read_bytes()
    path.write_bytes(content[:start] + b"\x55" * 30 + content[start + 30 :])


def header(path: Path, text: bytes) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        size = len(text).to_bytes(2, "little")
        archive.writestr("x_train.npy", b"\x93NUMPY\x01\x00" + size + text + b"\0" * 8)


def bomb(path: Path) -> None:
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("x_train.npy", "w") as file,
    ):
        shape = {"descr": "<f4", "fortran_order": False, "shape": (1 << 40,)}
        np.lib.format.write_array_header_1_0(file, shape)
        file.write(b"\0" * (1 << 22))


def parquet(path: Path, damage: Callable[[bytes], bytes]) -> None:
    TABLE.to_parquet(path)
    path.write_bytes(damage(path.read_bytes()))


def text(content: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(content, encoding="utf-8")


FILES: dict[str, Callable[[Path], object]] = {
    "empty.npz": lambda path: path.write_bytes(b""),
    "cut.npz": lambda path: npz(path, lambda content: content[: len(content) // 2]),
    "overwritten.npz": lambda path: npz(
        path, lambda content: content[:300] + b"\xff" * 40 + content[340:]
    ),
    "encrypted.npz": lambda path: npz(
        path,
        lambda content: content.replace(b"PK\x03\x04\x2d\0\0\0", b"PK\x03\x04\x2d\0\1\0").replace(
            b"PK\x01\x02\x2d\x03\x2d\0\0\0", b"PK\x01\x02\x2d\x03\x2d\0\1\0"
        ),
    ),
    "lzma.npz": lambda path: packed(path, zipfile.ZIP_LZMA, 60),
    "bz2.npz": lambda path: packed(path, zipfile.ZIP_BZIP2, 60),
    "unclosed.npz": lambda path: header(path, b"(" * 16),
    "deep.npz": lambda path: header(path, b"{'descr':" + b"[" * 5000),
    "bytes.npz": lambda path: header(path, b"\xff" * 16),
    "negative.npz": lambda path: header(
        path, b"{'descr':'<f4','fortran_order':False,'shape':(-1,)}\n"
    ),
    "bomb.npz": bomb,
    "objects.npz": lambda path: np.savez(
        path, x_train=np.array([{1: 2}] * 6, dtype=object), y_train=Y[:6]
    ),
    "words.npz": lambda path: np.savez(path, x_train=np.array([["a"]] * 6), y_train=Y[:6]),
    "scalar.npz": lambda path: np.savez(path, x_train=np.float32(3), y_train=Y),
    "folder.npz": lambda path: path.mkdir(),
    "folder.csv": lambda path: path.mkdir(),
    "pipe.csv": lambda path: os.mkfifo(path),
    "loop.csv": lambda path: path.symlink_to(path.name),
    "nowhere.csv": lambda path: path.symlink_to("gone.csv"),
    "cut.csv": text(ROWS[:-9]),
    "quote.csv": text(ROWS + '"3,4'),
    "bytes.csv": lambda path: path.write_bytes(np.random.default_rng(0).bytes(2000)),
    "long.csv": text(ROWS + f"30,2,{'9' * 5000},train\n"),
    "large.csv": text(ROWS + f"30,2,{'9' * 20},train\n"),
    "gap.csv": text(ROWS + "30,2,1,\n"),
    "cut.parquet": lambda path: parquet(path, lambda content: content[: len(content) // 2]),
    "pages.parquet": lambda path: parquet(
        path, lambda content: content[:40] + b"\xff" * 60 + content[100:]
    ),
    "foot.parquet": lambda path: parquet(
        path, lambda content: content[:-200] + b"\xff" * 60 + content[-140:]
    ),
    "text.parquet": text(ROWS),
    "lists.parquet": lambda path: TABLE.assign(age=[[1, 2]] * 20).to_parquet(path),
    "table.xlsx": lambda path: path.write_bytes(b"PK\x03\x04" + b"\0" * 100),
    "array.npy": lambda path: np.save(path, X),
}


@pytest.mark.parametrize("name", FILES)
def test_it_is_one_sentence_about_the_file(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    FILES[name](path)
    node = made(tmp_path, small("ditto"), data=name)
    with pytest.raises(FedkinError) as told:
        checked(tmp_path)
    sentence = str(told.value)
    assert sentence.startswith(f"{path}")
    assert len(sentence.splitlines()) == 1
    assert "--set" not in sentence
    assert "client" not in sentence.removeprefix(f"{path}")
    assert node.look().startswith("no run can have this node until this is mended: its data cannot")
    capsys.readouterr()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError("no room\nfor it"), "cannot be read: RuntimeError: no room"),
        (MemoryError(), "takes more memory than this machine has"),
    ],
)
def test_what_no_check_foresaw_is_a_sentence_too(
    error: Exception, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(data, "_table", fails)
    made(tmp_path, small("ditto"), data="data.csv")
    (tmp_path / "data.csv").write_text(ROWS)
    done = fedkin("deploy", "check", str(tmp_path))
    assert done.exit_code == 2
    assert f"data.csv {said}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of another user's: the tests may be run by one who may read everything."""
    real = Path.open

    def refused(self: Path, *given: object, **named: object) -> object:
        if self.name == "data.csv":
            raise PermissionError(13, "Permission denied", str(self))
        return real(self, *given, **named)  # type: ignore[call-overload]

    made(tmp_path, small("ditto"), data="data.csv")
    (tmp_path / "data.csv").write_text(ROWS)
    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(FedkinError, match=r"data\.csv cannot be read: Permission denied"):
        checked(tmp_path)
