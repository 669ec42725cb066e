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
        (
            "run --seed 1 --set run.seed=2",
            "--seed 1 and --set run.seed=2 both give run.seed",
        ),
        ("run --set seed=1 --set run.seed=2", "--set seed=1 and --set run.seed=2 both give"),
        ("run --data-dir a --set data.dir=b", "--data-dir a and --set data.dir=b both give"),
        (
            "run --split dirichlet:0.1 --set split.alpha=0.3",
            "--split dirichlet:0.1 and --set split.alpha=0.3 both give split.alpha",
        ),
        ("run --method ditto --set method.name=apfl", "--method ditto and --set method.name=apfl"),
        ("run --engine processes:2 --workers 3", "--engine processes:2 and --workers 3 both give"),
        ("run --model mlr --set model=cnn", "--model mlr and --set model=cnn both give"),
        (
            "run --transform median --set transforms=[]",
            "--transform median and --set transforms=[]",
        ),
        ("doctor --clients 3 --set run.clients=4", "--clients 3 and --set run.clients=4 both"),
        ("sweep --rounds 3 --set run.rounds=4", "--rounds 3 and --set run.rounds=4 both give"),
        ("data check t.csv --client a --set data.client=b", "--client a and --set data.client=b"),
        ("data check t.csv:client=a --client b", "--data t.csv:client=a and --client b"),
        (
            "reproduce claims --data-dir a --set data.dir=b",
            "--set data.dir=b and --data-dir a",
        ),
    ],
)
def test_an_option_given_twice_is_refused(words: str, sentence: str) -> None:
    done = CliRunner().invoke(app, words.split())
    assert done.exit_code == 2
    assert f"error: {sentence}" in done.stderr
    assert "[FED-101]" in done.stderr
