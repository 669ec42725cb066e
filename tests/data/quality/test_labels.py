"""Labels that are rather amounts."""

from pathlib import Path

import numpy as np

from fedkin.data.quality.labels import label_problems
from fedkin.data.sources import load
from tests.data.tables.findings_examples import found, sentences


def test_labels_that_are_rather_amounts_are_told(tmp_path: Path) -> None:
    rows = [f"{'ab'[i % 2]},{i % 9},{i * 37 % 30}" for i in range(900)]
    told = sentences(found(tmp_path, "\n".join(["site,n,label", *rows]), client="site"))
    assert any(
        "30 whole numbers, 0 to 29, each taken for a class" in text and "task=regression" in text
        for text in told
    )
    rows = [f"{'ab'[i % 2]},{i % 9},c{i * 37 % 30}" for i in range(900)]
    assert not any(
        "amounts" in text for text in sentences(found(tmp_path, "\n".join(["site,n,label", *rows])))
    )


def test_counts_and_grades_are_told_and_codes_are_not(tmp_path: Path) -> None:
    def told(label: str) -> list[str]:
        rows = [f"{'ab'[i % 2]},{i % 9},{label.format(i * 37 % 6)}" for i in range(900)]
        return sentences(found(tmp_path, "\n".join(["site,n,label", *rows]), client="site"))

    assert (
        "the labels are 6 whole numbers, 0 to 5, each taken for a class: if they count or rank, "
        "predict them as numbers; if not, say data.task=classification (data.task=regression)"
    ) in told("{}")
    for codes in ("{}0", "c{}"):
        assert not any("whole numbers" in text for text in told(codes))


def test_what_only_looks_like_a_whole_number_is_a_name(tmp_path: Path) -> None:
    for odd in ("--5", "-", "5" * 30):
        rows = [
            f"{'ab'[i % 2]},{i % 9},{('1', '2', '3', '4', odd)[i * 37 % 5]}" for i in range(900)
        ]
        told = sentences(found(tmp_path, "\n".join(["site,n,label", *rows]), client="site"))
        assert not any("whole numbers" in text for text in told)


def test_floats_of_an_archive_that_are_few_whole_numbers_are_told(tmp_path: Path) -> None:
    path, x = tmp_path / "a.npz", np.zeros((60, 2), dtype=np.float32)
    np.savez(path, x=x, y=np.arange(60) % 2.0)
    (said,) = [one.sentence for one in label_problems(load(str(path)))]
    assert said == (
        "y holds floats and 2 different whole numbers, each taken for an amount: if they are "
        "classes, save y as integers from 0 on"
    )
    for y in (np.arange(60) % 2 + 0.5, np.arange(60.0)):
        np.savez(path, x=x, y=y)
        assert label_problems(load(str(path))) == []
    np.savez(path, x=x[:30], y=np.arange(30) % 2.0)  # few rows say nothing
    assert label_problems(load(str(path))) == []
