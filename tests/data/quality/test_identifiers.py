"""A number for every row is an identifier."""

from pathlib import Path

from tests.data.tables.findings_examples import found, sentences


def test_a_number_for_every_row_is_an_identifier(tmp_path: Path) -> None:
    rows = [
        f"{'ab'[i % 2]},{1000 - i},{123456780 + i},{i * 7 % 30},{i / 3},{i % 2}" for i in range(60)
    ]
    told = sentences(
        found(tmp_path, "\n".join(["site,id,mrn,age,size,label", *rows]), client="site")
    )
    assert [text.split("'")[1] for text in told if "as identifiers do" in text] == ["id", "mrn"]
