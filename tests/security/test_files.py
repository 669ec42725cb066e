"""Data files and temporary folders: bombs are refused unpacked, nothing is left behind."""

import io
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.files import read_file
from fedkin.core.system import scratch
from fedkin.core.toml import BadToml, parse_toml
from fedkin.data.formats import memory
from fedkin.data.formats.npz import load_arrays
from tests.cli.command import SMALL, fedkin, process, told

DEEP = "[" * 100_000


def header(shape: tuple[int, ...], dtype: str = "<f8") -> bytes:
    """An .npy file's beginning that promises such an array."""
    found = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        found, {"descr": dtype, "fortran_order": False, "shape": shape}
    )
    return found.getvalue()


def archive(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return path


@pytest.mark.parametrize("shape", [(10**12,), (10**6, 10**6), (3, 10**15), (0, 5), (2,)])
def test_a_header_that_lies(shape: tuple[int, ...], tmp_path: Path) -> None:
    content = header(shape) + b"\0" * 40
    with pytest.raises(FedkinError, match="array 'x' is not as large as its header says"):
        load_arrays(archive(tmp_path / "a.npz", x=content))


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path / "a.npz", x=header((10**6,)) + b"\0" * 8 * 10**6)
    assert path.stat().st_size < 20_000
    assert load_arrays(path)["x"].shape == (10**6,)
    monkeypatch.setattr(
        os, "sysconf", lambda name: {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1000}[name]
    )
    with pytest.raises(FedkinError, match="unpacks to 8,000,128 bytes"):
        load_arrays(path)


def test_a_small_archive_may_not_take_what_a_large_one_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight gigabytes out of eight megabytes would take a minute and the machine's memory."""
    monkeypatch.setattr(memory, "LEAST", 1 << 20)
    path = archive(tmp_path / "a.npz", x=header((10**6,)) + b"\0" * 8 * 10**6)
    with pytest.raises(FedkinError, match="unpacks to 8,000,128 bytes, and a file of its size may"):
        load_arrays(path)
    dense = np.random.default_rng(0).bytes(8 * 10**6)
    assert load_arrays(archive(tmp_path / "b.npz", x=header((10**6,)) + dense))["x"].size == 10**6


def test_toml_that_takes_for_ever() -> None:
    for text in (
        f"a = {DEEP}",
        "a = " + "9" * 200_000,
        ".".join("a" * 100_000) + " = 1",
        "a" * (2 << 20),
        "=",
        "\0",
    ):
        with pytest.raises(BadToml):
            parse_toml(text)
    assert parse_toml('a.b = "x.x.x"') == {"a": {"b": "x.x.x"}}


def test_an_experiment_of_that_kind_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(f"run.seed = {'9' * 200_000}")
    assert "is not valid TOML" in told("run", tmp_path / "e.toml")
    assert len(told("run", "--set", f"model.name={'x' * 10**6}")) < 3000


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"x" * 100)
    (tmp_path / "link").symlink_to("file")
    assert read_file(tmp_path / "link", 100) == b"x" * 100
    for name, most, links, why in (
        ("pipe", 100, True, "a pipe"),
        (".", 100, True, "a folder"),
        ("file", 99, True, "larger than 99"),
        ("link", 100, False, "a link"),
    ):
        with pytest.raises(OSError, match=why):
            read_file(tmp_path / name, most, links)


@pytest.mark.rotating
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_told_to_end_leaves_no_samples(
    number: signal.Signals, tmp_path: Path
) -> None:
    """Its temporary folder holds a copy of all samples."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    arguments = ["run", *SMALL[2:], "--engine", "processes:1", "--rounds", "100000", "--out", "run"]
    before, heard = dict(os.environ), signal.signal(number, signal.SIG_DFL)
    os.environ["TMPDIR"] = str(temporary)
    try:
        started = process(*arguments, folder=tmp_path)  # also where nohup ignores the signal
    finally:
        signal.signal(number, heard)
        os.environ.clear()
        os.environ.update(before)
    for _ in range(6000):
        if (tmp_path / "run" / "run.db").exists() and list(temporary.glob("fedkin-*/*.npy")):
            break
        time.sleep(0.1)
    assert list(temporary.glob("fedkin-*/*.npy"))
    started.send_signal(number)
    _, error = started.communicate(timeout=600)
    assert "Traceback" not in error
    assert "fedkin resume" in error
    assert started.returncode == 130
    assert list(temporary.glob("fedkin-*")) == []


def test_what_a_killed_run_left_goes_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code = """
import os, tempfile
from fedkin.core.system.scratch import scratch
with scratch() as folder:
    (folder / "samples").write_text("x")
    os._exit(9)
"""
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=here, check=False)
    (left,) = tmp_path.iterdir()
    foreign = tmp_path / "fedkin-photos"  # of no run: it has no lock
    foreign.mkdir()
    linked = tmp_path / "fedkin-link"
    linked.symlink_to(foreign)
    with scratch.scratch() as young:
        assert left.exists()  # a folder this young may be about to get its lock
        for folder in (left, foreign, young):
            os.utime(folder, (0, 0))
        with scratch.scratch():
            assert {path.name for path in tmp_path.iterdir()} >= {
                foreign.name,
                linked.name,
                young.name,
            }
            assert not left.exists()
            assert young.exists()  # its maker lives


def test_a_client_is_no_path(tmp_path: Path) -> None:
    assert (
        fedkin("run", *SMALL, "--holdout-clients", "0.2", "--out", tmp_path / "run").exit_code == 0
    )
    assert "unknown held-out client" in told("join", tmp_path / "run", "--client", "../..")
