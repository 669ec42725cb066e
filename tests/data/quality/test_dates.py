"""Dates that become categories."""

from pathlib import Path

from tests.data.tables.findings_examples import found, sentences


def test_dates_that_become_categories_are_told(tmp_path: Path) -> None:
    def row(i: int) -> str:
        iso, dotted, clock = (
            f"2024-0{i % 9 + 1}-{i % 27 + 1:02}",
            f"{i % 27 + 1}.{i % 9 + 1}.24",
            f"{i % 24}:30",
        )
        return (
            f"{'ab'[i % 2]},{iso},{dotted},{iso} "
            f"{clock},{iso if i % 2 else 'never'},{i % 5}-{i % 3},{i % 2}"
        )

    told = sentences(
        found(tmp_path, "\n".join(["site,iso,dotted,clock,some,code,label", *map(row, range(600))]))
    )
    dates = [text for text in told if "dates" in text]
    assert [text.split("'")[1] for text in dates] == ["iso", "dotted", "clock"]
    assert "holds dates ('2024-01-01'): each is taken for a category" in dates[0]
    assert 'data.drop=["iso"]' in dates[0]
