"""Folders of pictures."""

import re
import struct
from pathlib import Path

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.quality.problem import Unreadable
from fedkin.data.sources import load
from tests.data.formats.user_files_examples import write_pictures


def test_pictures(tmp_path: Path) -> None:
    folder = write_pictures(tmp_path / "photos")
    (folder / "README.txt").write_text("mine")
    (folder / "phone9").mkdir()
    source = load(f"{folder}/")
    assert source.x.shape == (12, 1, 4, 5)
    assert source.x[:, 0, 0, 0].tolist() == list(range(12))
    assert source.y.tolist() == [0, 0, 0, 1, 1, 1] * 2
    assert source.class_names == ("cat", "dog")
    assert source.client is not None
    assert source.client.tolist() == ["phone0"] * 6 + ["phone1"] * 6
    assert source.said == (
        "1 file is not of the form CLIENT/CLASS/image and left out: README.txt",
        "1 folder has no images, so no client: phone9",
    )
    assert load(f"{folder}/", colour="rgb", size=[2, 3]).x.shape == (12, 3, 2, 3)


def test_hidden_files_and_folders_of_other_programs_are_no_samples(tmp_path: Path) -> None:
    folder = write_pictures(tmp_path / ".data" / "photos")
    first = folder / "phone0" / "cat" / "0.png"
    (first.parent / "._0.png").write_bytes(b"notes of a Mac")
    for hidden in (folder / ".thumbnails" / "cat", folder / "phone0" / ".checkpoints"):
        hidden.mkdir(parents=True)
        (hidden / "0.png").write_bytes(first.read_bytes())
    source = load(f"{folder}/")
    assert source.x.shape == (12, 1, 4, 5)
    assert source.class_names == ("cat", "dog")
    assert source.said == (
        "3 files are not of the form CLIENT/CLASS/image and left out: ._0.png, 0.png, 0.png",
    )


def test_faults_of_pictures_name_the_file(tmp_path: Path) -> None:
    Image = pytest.importorskip("PIL.Image")
    folder = write_pictures(tmp_path / "photos")
    odd = folder / "phone1" / "dog" / "2.png"
    whole = odd.read_bytes()
    odd.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FedkinError, match=r"dog/2\.png is no readable image"):
        load(f"{folder}/")
    odd.write_bytes(b"")
    with pytest.raises(FedkinError, match=r"dog/2\.png is no .*it has 0 bytes: copy it again"):
        load(f"{folder}/")
    Image.fromarray(np.zeros((9, 9), dtype=np.uint8)).save(odd)
    with pytest.raises(FedkinError, match=r"2\.png has 9×9 pixels and .* has 4×5.*data\.size"):
        load(f"{folder}/")
    flat = tmp_path / "mine" / "flat"
    flat.mkdir(parents=True)
    Image.fromarray(np.zeros((9, 9), dtype=np.uint8)).save(flat / "1.png")
    with pytest.raises(FedkinError, match=r"no images of the form CLIENT/CLASS/image: sort them"):
        load(f"{flat}/")


def test_all_images_that_cannot_be_taken_are_named(tmp_path: Path) -> None:
    Image = pytest.importorskip("PIL.Image")
    folder = write_pictures(tmp_path / "photos")
    odd = [folder / "phone0" / "cat" / "1.png", folder / "phone1" / "dog" / "2.png"]
    for file in odd:
        Image.fromarray(np.zeros((9, 9), dtype=np.uint8)).save(file)
    with pytest.raises(Unreadable, match=r"10 of 4×5, 2 of 9×9.*data\.size=\[4, 5\]") as told:
        load(f"{folder}/")
    assert told.value.problems[0].fix == {"data.size": [4, 5]}
    for client in ("phone0", "phone1"):
        (folder / client / "dog" / "0.png").write_bytes(b"nonsense")
    with pytest.raises(FedkinError, match=r"phone0/dog/0\.png is no .*phone1/dog/0.*9×9"):
        load(f"{folder}/")


@pytest.mark.parametrize(
    ("layout", "told"),
    [
        ("CLASS", "found CLASS/image, as in torchvision's ImageFolder: .* so move cat, dog to"),
        ("train/CLASS", "found train/CLASS/image, and 'train' is no client"),
        ("anna/train/CLASS", "found CLIENT/train/CLASS/image: fedkin divides each client's"),
    ],
)
def test_layouts_that_people_have_are_named(layout: str, told: str, tmp_path: Path) -> None:
    Image = pytest.importorskip("PIL.Image")
    for label in ("cat", "dog"):
        folder = tmp_path / "photos" / layout.replace("CLASS", label)
        folder.mkdir(parents=True)
        Image.fromarray(np.zeros((9, 9), dtype=np.uint8)).save(folder / "1.png")
    with pytest.raises(FedkinError, match=told):
        load(f"{tmp_path}/photos/")


@pytest.mark.parametrize(
    ("inner", "told"),
    [("phone0", "as one client has it"), ("phone1/dog", "the images of one class")],
)
def test_a_folder_too_deep_names_the_folder_of_all_clients(
    inner: str, told: str, tmp_path: Path
) -> None:
    folder = write_pictures(tmp_path / "photos")
    end = f"{told}: give the folder of all clients, {folder.resolve()}"
    with pytest.raises(FedkinError, match=re.escape(end) + "$"):
        load(f"{folder / inner}/")


def test_images_that_are_not_taken_as_they_are_are_counted(tmp_path: Path) -> None:
    Image = pytest.importorskip("PIL.Image")
    folder = write_pictures(tmp_path / "photos")
    assert load(f"{folder}/").said == ()
    for number, mode in enumerate(("RGB", "RGBA")):
        Image.new(mode, (5, 4)).save(folder / "phone1" / "dog" / f"{number}.png")
    assert load(f"{folder}/").said == (
        "10 of 12 images are grey and taken as colour (phone0: 6 of 6, phone1: 4 of 6)",
        "1 of 12 images have an alpha channel, which is left out (phone1: 1 of 6)",
    )
    assert len(load(f"{folder}/", colour="rgb").said) == 1


@pytest.mark.parametrize("ending", ["tiff", "gif"])
def test_a_file_of_several_pages_is_no_sample(ending: str, tmp_path: Path) -> None:
    Image = pytest.importorskip("PIL.Image")
    folder = write_pictures(tmp_path / "photos")
    pages = [Image.fromarray(np.full((4, 5), grey, dtype=np.uint8)) for grey in (0, 99, 200)]
    file = folder / "phone1" / "dog" / f"x.{ending}"
    pages[0].save(file, save_all=True, append_images=pages[1:])
    with pytest.raises(FedkinError, match=rf"x\.{ending} holds 3 images, of which one sample"):
        load(f"{folder}/")
    pages[0].save(file)
    assert len(load(f"{folder}/").x) == 13


def test_of_sixteen_bits_the_upper_eight_are_taken(tmp_path: Path) -> None:
    Image = pytest.importorskip("PIL.Image")
    folder = write_pictures(tmp_path / "photos")
    values = np.arange(1000, 61000, 500, dtype=np.uint16).reshape(10, 12)
    files = sorted(folder.glob("*/*/*.png"))
    for file in files:
        Image.fromarray(values).save(file)
    found = load(f"{folder}/")
    assert found.x.shape == (len(files), 1, 10, 12)
    np.testing.assert_array_equal(found.x[0, 0], (values >> 8).astype(np.uint8))
    Image.fromarray(np.full((10, 12), 200, dtype=np.uint16)).save(files[3])
    with pytest.raises(FedkinError, match="uses 8 of its 16 bits a pixel: write it with 8"):
        load(f"{folder}/")
    Image.fromarray(np.full((10, 12), 0.5, dtype=np.float32)).save(files[3].with_suffix(".tiff"))
    files[3].unlink()
    with pytest.raises(FedkinError, match="holds numbers that are no pixels of 8 or 16 bits"):
        load(f"{folder}/")


@pytest.mark.filterwarnings("error")
def test_a_large_picture_is_no_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytest.importorskip("PIL.Image"), "MAX_IMAGE_PIXELS", 15)
    assert len(load(f"{write_pictures(tmp_path / 'photos')}/").x) == 12  # of 20 pixels each


TURNED = 6  # to the right by a quarter


def noted(*entries: tuple[int, int, int, int]) -> bytes:
    """A photo's notes (EXIF): its orientation, and entries of tag, type, count and value."""
    every = [(0x0112, 3, 1, TURNED), *entries]
    body = b"".join(struct.pack("<HHII", *entry) for entry in every)
    return b"Exif\0\0II*\0\x08\0\0\0" + struct.pack("<H", len(every)) + body + bytes(4)


@pytest.mark.parametrize(
    ("ending", "bits"), [("png", 8), ("tiff", 8), ("jpg", 8), ("png", 16), ("tiff", 16)]
)
def test_a_photo_is_turned_as_its_camera_was_held(ending: str, bits: int, tmp_path: Path) -> None:
    Image = pytest.importorskip("PIL.Image")
    pixels = np.zeros((2, 3), dtype=f"uint{bits}")
    pixels[0, 0] = 2**bits - 1
    for one in ("a", "b"):
        (tmp_path / "phone" / one).mkdir(parents=True)
        exif = Image.Exif()
        exif[0x0112] = TURNED
        file = tmp_path / "phone" / one / f"1.{ending}"
        Image.fromarray(pixels).save(file, exif=exif)
    x = load(f"{tmp_path}/").x
    assert x.shape == (2, 1, 3, 2)
    assert (x[:, 0, 0, 1] > 200).all()


@pytest.mark.parametrize("ending", ["png", "jpg"])
@pytest.mark.parametrize(
    ("notes", "turned"),
    [
        (noted((0x011A, 1, 1, 5)), True),  # a resolution that is no fraction
        (noted((0x0102, 3, 1, 8)), True),  # bits of a pixel, as a TIFF has them
        (noted((0x0100, 2, 3, 0x4142)), True),  # a width in letters
        (b"Exif\0\0no notes at all", False),
        (noted()[:20], False),  # cut off
    ],
    ids=["resolution", "bits", "width", "garbage", "cut off"],
)
@pytest.mark.filterwarnings("error")
def test_odd_notes_of_a_photo_take_no_pixel_away(
    notes: bytes, turned: bool, ending: str, tmp_path: Path
) -> None:
    Image = pytest.importorskip("PIL.Image")
    for one in ("a", "b"):
        (tmp_path / "phone" / one).mkdir(parents=True)
        file = tmp_path / "phone" / one / f"1.{ending}"
        Image.fromarray(np.zeros((2, 3), dtype=np.uint8)).save(file, exif=notes)
    assert load(f"{tmp_path}/").x.shape == ((2, 1, 3, 2) if turned else (2, 1, 2, 3))
