"""What an archive says of its own size, before anything of it is unpacked."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.formats import npz_size
from fedkin.data.formats.npz_size import check_size


def archive(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as into:
        for name, content in members.items():
            into.writestr(f"{name}.npy", content)
    return path


def array(shape: tuple[int, ...], *, missing: int = 0, dtype: str = "<f4") -> bytes:
    """An array file whose header promises a shape, with so many bytes too few behind it."""
    out = io.BytesIO()
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, header)
    return out.getvalue() + bytes(4 * int(np.prod(shape)) - missing)


def test_honest_archives_pass(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros((7, 3)), names=np.array(["a", "bc"]))
    check_size(tmp_path / "a.npz")
    check_size(archive(tmp_path / "b.npz", x=array((5, 2)), empty=array((0, 9))))
    (tmp_path / "c.npz").write_bytes(b"no archive: numpy says so")
    check_size(tmp_path / "c.npz")


def test_what_would_not_fit_is_refused_unread(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = archive(tmp_path / "a.npz", x=array((1000,)), y=array((1000,)))
    whole = sum(one.file_size for one in zipfile.ZipFile(path).infolist())
    assert path.stat().st_size < whole / 10
    monkeypatch.setattr(npz_size, "room_of_compressed", lambda path: whole)
    check_size(path)
    monkeypatch.setattr(npz_size, "room_of_compressed", lambda path: whole - 1)
    with pytest.raises(
        FedkinError, match=f"unpacks to {whole:,} bytes, and a file of its size may take"
    ):
        check_size(path)


def test_too_many_arrays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = archive(tmp_path / "a.npz", **{f"x{at}": array((1,)) for at in range(4)})
    monkeypatch.setattr(npz_size, "MEMBERS", 4)
    check_size(path)
    monkeypatch.setattr(npz_size, "MEMBERS", 3)
    with pytest.raises(FedkinError, match="has 4 arrays, more than 3"):
        check_size(path)


@pytest.mark.parametrize(
    "content", [array((3, 5), missing=4), array((3, 5)) + b"more", array((2**41, 0))]
)
def test_a_header_that_promises_another_size(content: bytes, tmp_path: Path) -> None:
    path = archive(tmp_path / "a.npz", good=array((2,)), bad=content)
    with pytest.raises(FedkinError, match="damaged: array 'bad' is not as large as its header"):
        check_size(path)


def test_python_objects_are_not_measured(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.array([{}, []], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        check_size(tmp_path / "a.npz")
