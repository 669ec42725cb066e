"""Labels that are rather amounts."""

from pathlib import Path

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
