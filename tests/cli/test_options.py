"""Options that several commands take."""

from pathlib import Path

from fedkin.cli.options import path_as_text


def test_a_path_is_text_and_none_stays_none() -> None:
    assert path_as_text(Path("runs") / "first") == str(Path("runs/first"))
    assert path_as_text(None) is None
