"""Data files of strangers: small ones that inflate, and saved sets that name others' files."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.formats import memory
from fedkin.data.sources import load
from tests.data.formats.test_hugging_face import write_saved

LITTLE = 64 << 20  # bytes that these tests have for a file


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine with little memory left."""
    monkeypatch.setattr(memory, "room", lambda: LITTLE)
    monkeypatch.setattr("fedkin.data.formats.csv_file.room", lambda: LITTLE)


@pytest.mark.usefixtures("little")
def test_short_lines_under_many_names(tmp_path: Path) -> None:
    """Each empty line of a CSV file is a row of gaps: 60 kB are 400 million cells."""
    path = tmp_path / "a.csv"
    path.write_text(",".join(f"c{at}" for at in range(20_000)) + "\n" * 20_000)
    with pytest.raises(FedkinError, match="20,000 lines of 20,000 columns, more cells than"):
        load(str(path), label="c0")


def test_more_columns_than_can_be_worked_with(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(",".join(f"c{at}" for at in range(200_001)) + "\n\n")
    with pytest.raises(FedkinError, match="has 200,001 columns, more than 200,000"):
        load(str(path), label="c0")


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_a_columnar_file_that_inflates(ending: str, tmp_path: Path) -> None:
    """One long text, and 10,000 times the number of it: some kilobytes are 1 GB."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    feather = pytest.importorskip("pyarrow.feather")
    numbers = np.zeros(10_000, dtype=np.int32)
    texts = arrow.DictionaryArray.from_arrays(numbers, ["x" * 100_000])
    table = arrow.table({"a": texts, "label": numbers})
    path = tmp_path / f"a.{ending}"
    if ending == "parquet":
        parquet.write_table(table, path, compression="zstd", store_schema=False)
    else:
        wide = {f"c{at}": np.zeros(1_000_000) for at in range(60)}
        feather.write_feather(arrow.table(wide), path, compression="zstd")
    assert path.stat().st_size < 200_000
    with pytest.raises(FedkinError, match="takes more than 67,108,864 bytes of memory"):
        load(str(path))
    with pytest.raises(FedkinError, match="takes more than 67,108,864 bytes of memory"):
        load(f"{tmp_path}/")


def test_a_table_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "zeros.csv").symlink_to("/dev/zero")
    with pytest.raises(FedkinError, match=r"zeros\.csv is no file"):
        load(str(tmp_path / "zeros.csv"))


@pytest.mark.parametrize("ending", ["feather", "parquet"])
def test_a_damaged_text_is_found_before_it_is_read(ending: str, tmp_path: Path) -> None:
    """In a text that is none, and behind an offset that leads elsewhere, lies anything."""
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    path = tmp_path / f"table.{ending}"
    table = arrow.table({"word": ["kettle", "quince"] * 9, "a": range(18), "label": [0, 1, 2] * 6})
    if ending == "feather":
        feather.write_feather(table, path, compression="uncompressed")
    else:
        parquet.write_table(table, path, compression="none", use_dictionary=False)
    assert len(load(str(path), label="label").x) == 18
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"kettle", b"ket\x80le"))
    with pytest.raises(FedkinError, match=r"is not a readable \w+ file: .*UTF.?8"):
        load(str(path), label="label")


COLUMNS = {"a": [1, 2, 3], "label": [0, 1, 1]}
NO_NAMES = ["a\0b", "\ud800"]
OUTSIDE = "is not in that folder"


@pytest.mark.parametrize("how", ["absolute", "above", "link", "split", *NO_NAMES])
def test_a_saved_data_set_reads_its_own_folder_only(how: str, tmp_path: Path) -> None:
    write_saved(tmp_path / "private", COLUMNS, {})
    secret = tmp_path / "private" / "data-00000-of-00001.arrow"
    saved = tmp_path / "saved"
    write_saved(saved, COLUMNS, {})
    assert load(f"{saved}/").x.tolist() == [[1], [2], [3]]
    if how in NO_NAMES:
        (saved / "state.json").write_text(json.dumps({"_data_files": [{"filename": how}]}))
    elif how == "link":
        (saved / secret.name).unlink()
        (saved / secret.name).symlink_to(secret)
    elif how == "split":
        (saved / "dataset_dict.json").write_text(json.dumps({"splits": ["../private"]}))
    else:
        name = str(secret) if how == "absolute" else f"../private/{secret.name}"
        (saved / "state.json").write_text(json.dumps({"_data_files": [{"filename": name}]}))
    with pytest.raises(FedkinError, match=OUTSIDE):
        load(f"{saved}/")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("state.json", {"_data_files": [1]}),
        ("state.json", {"_data_files": [{"filename": None}]}),
        ("state.json", {"_data_files": 7}),
        ("dataset_info.json", {"features": [1]}),
        ("dataset_dict.json", {"splits": 5}),
        ("dataset_dict.json", {"splits": [[]]}),
    ],
)
def test_a_saved_data_set_of_another_form(file: str, content: object, tmp_path: Path) -> None:
    write_saved(tmp_path / "saved", COLUMNS, {})
    (tmp_path / "saved" / file).write_text(json.dumps(content))
    with pytest.raises(FedkinError, match=r"damaged|not there"):
        load(f"{tmp_path / 'saved'}/")


@pytest.mark.parametrize("file", ["state.json", "dataset_info.json", "dataset_dict.json"])
@pytest.mark.parametrize("how", ["deep", "no text", "endless"])
def test_a_saved_data_set_that_is_described_by_anything(
    file: str, how: str, tmp_path: Path
) -> None:
    write_saved(tmp_path / "saved", COLUMNS, {})
    path = tmp_path / "saved" / file
    path.unlink(missing_ok=True)
    if how == "endless":
        with open(path, "wb") as sparse:
            sparse.truncate(1 << 40)
    else:
        path.write_bytes(b"[" * 100_000 if how == "deep" else b"\xff")
    with pytest.raises(FedkinError, match="damaged"):
        load(f"{tmp_path / 'saved'}/")


def test_pictures_of_a_saved_data_set_lie_in_its_folder(tmp_path: Path) -> None:
    picture = pytest.importorskip("PIL.Image")
    grey = picture.fromarray(np.full((3, 4), 7, dtype=np.uint8))
    grey.save(tmp_path / "out.png")
    names = {"own": "in.png", "above": "../out.png", "absolute": str(tmp_path / "out.png")}
    for folder, name in names.items():
        columns = {"image": [{"bytes": None, "path": name}], "label": [0]}
        write_saved(tmp_path / folder, columns, {"image": {"_type": "Image"}})
    grey.save(tmp_path / "own" / "in.png")
    assert load(f"{tmp_path / 'own'}/").x.tolist() == [[[[7] * 4] * 3]]
    for folder in ("above", "absolute"):
        with pytest.raises(FedkinError, match="is not in the data set's folder"):
            load(f"{tmp_path / folder}/")


def test_a_picture_that_is_a_program_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pillow has Ghostscript interpret what begins as PostScript does, whatever its name."""
    pytest.importorskip("PIL.Image")
    programs, started = tmp_path / "bin", tmp_path / "started"
    programs.mkdir()
    (programs / "gs").write_text(f"#!/bin/sh\necho $* >> {started}\n")
    (programs / "gs").chmod(0o700)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    file = tmp_path / "photos" / "ann" / "cat" / "1.png"
    file.parent.mkdir(parents=True)
    head = "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\n"
    file.write_text(f"{head}showpage\n%%EOF\n")
    with pytest.raises(FedkinError, match=r"1\.png is no readable image: .* none of PNG, JPEG"):
        load(f"{tmp_path / 'photos'}/")
    assert not started.exists()


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("", "ann/cat/1.png"),
        ("", "train/a.json"),
        ("", "a.json"),
        ("a.json", "a.json"),
        ("a.npz", "a.npz"),
        ("", "data-00000-of-00001.arrow"),
    ],
)
def test_a_pipe_is_no_data_file(name: str, file: str, tmp_path: Path) -> None:
    """To open one is to wait, for ever, for whoever writes into it: another process opens it."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes have names on this system")
    pytest.importorskip("PIL.Image")
    folder = tmp_path / "data"
    if file.endswith(".arrow"):
        write_saved(folder, COLUMNS, {})
        (folder / file).unlink()
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(folder / file)
    code = "import sys; from fedkin.data.sources import load; load(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, f"{folder}/{name}"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.stderr.splitlines()[-1].startswith("fedkin.core.errors.FedkinError: ")
    assert "pipe" in done.stderr or "is no file" in done.stderr or "holds nothing" in done.stderr
