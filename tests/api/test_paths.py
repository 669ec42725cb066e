from pathlib import Path, PurePosixPath

import pytest

from fedkin.api.experiment import Experiment, run
from fedkin.api.paths import path_of
from fedkin.api.result import Result, resume
from fedkin.core.errors import FedkinError


@pytest.mark.parametrize("given", ["a/b", Path("a/b"), PurePosixPath("a/b")])
def test_a_text_or_a_path_is_a_path(given: object) -> None:
    assert path_of(given, "out") == Path("a/b")


@pytest.mark.parametrize("given", [None, 3, b"a/b", ["a"]])
def test_nothing_else_is_one(given: object) -> None:
    kind = type(given).__name__
    with pytest.raises(FedkinError, match=rf"^out is a path \(.*\), not {kind}"):
        path_of(given, "out")


@pytest.mark.parametrize(
    "asked",
    [
        lambda: Experiment.read(None),
        lambda: Experiment("fedavg").write(None),
        lambda: run(Experiment("fedavg"), out=3),
        lambda: Experiment("fedavg").sweep({"train.lr": [0.1]}, out=3),
        lambda: resume(None),
        lambda: Result(None),
    ],
)
def test_whoever_asks_for_a_path_says_what_it_is_for(asked) -> None:
    with pytest.raises(FedkinError, match="is a path"):
        asked()


def test_an_experiment_file_has_the_ending_that_commands_read(tmp_path: Path) -> None:
    with pytest.raises(FedkinError, match=r"an experiment file ends in \.toml"):
        Experiment("fedavg").write(tmp_path / "x.json")
    assert not list(tmp_path.iterdir())
