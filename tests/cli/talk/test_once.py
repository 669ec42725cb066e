"""An option that is given twice is refused, by every command."""

import pytest
from typer.testing import CliRunner

from fedkin.cli.app import app


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("run --method local --method fedavg", "--method is given twice: leave one of them out"),
        ("run --seed 0 --seed=1", "--seed is given twice"),
        ("run --set train.lr=1 --set train.steps=2 --set train.lr=2", "--set gives train.lr twice"),
        ("data check t.csv --client a --client b", "--client is given twice"),
        ("data --data-dir a --data-dir b", "--data-dir is given twice"),
        ("bench run smoke --out a --out b", "--out is given twice"),
    ],
)
def test_an_option_given_twice_is_refused(words: str, sentence: str) -> None:
    done = CliRunner().invoke(app, words.split())
    assert done.exit_code == 2
    assert f"error: {sentence}" in done.stderr
    assert "[FED-101]" in done.stderr
