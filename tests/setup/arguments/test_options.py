"""What is typed after ``fedkin run``, as a checked specification."""

import re
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.setup.arguments.options import specification
from tests.cli.command import fedkin

FILE = """
[method]
name = "ditto"
lam = 0.7
[split]
name = "dirichlet"
alpha = 0.3
train = 0.5
val = 0.2
test = 0.3
[run]
rounds = 9
[[transforms]]
name = "norm_bound"
bound = 2.0
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text(FILE)
    return path


def test_settings_and_options_go_before_the_file(file) -> None:
    spec, hints = specification(file, {"rounds": 5, "seed": None}, ["run.seed=4"])
    assert (spec.run.rounds, spec.run.seed) == (5, 4)
    assert spec.method.options == {"lam": 0.7}
    assert specification(file, {"rounds": 5}, [])[0].run.rounds == 5
    assert hints == []


def test_another_choice_drops_the_keys_of_the_old_one(file) -> None:
    spec, hints = specification(file, {"method": "fedprox:mu=0.2", "split": "shards:3"}, [])
    assert (spec.method.name, spec.method.options) == ("fedprox", {"mu": 0.2})
    assert spec.split.name == "shards"
    assert spec.split.train == 0.5  # of every split
    assert "alpha" not in spec.split.options
    assert hints == [
        "[method] lam of the file went with 'ditto': not used for 'fedprox'",
        "[split] alpha of the file went with 'dirichlet': not used for 'shards'",
    ]
    same, none = specification(file, {"split": "dirichlet:0.9"}, [])
    assert (same.split.options, none) == ({"alpha": 0.9}, [])


def test_a_setting_that_chooses_goes_first(file) -> None:
    spec, _ = specification(file, {}, ["method.mu=0.4", "method.name=fedprox"])
    assert spec.method.options == {"mu": 0.4}
    assert specification(file, {}, ["split=iid"])[0].split.name == "iid"


def test_transforms_come_after_those_of_the_file(file) -> None:
    spec, _ = specification(file, {"transform": ["median"]}, [])
    assert [one.name for one in spec.transforms] == ["norm_bound", "median"]


def test_short_forms() -> None:
    given = {
        "model": "dnn:hidden=7",
        "public": "mnist:50",
        "engine": "processes:3",
        "data": "synthetic_mixture:clients=4",
    }
    spec, _ = specification(None, given, [])
    assert (spec.model.name, spec.model.options["hidden"]) == ("dnn", 7)
    assert (spec.public.source, spec.public.samples) == ("mnist", 50)
    assert (spec.engine.name, spec.engine.workers) == ("processes", 3)
    assert spec.data.options == {"clients": 4}
    several, _ = specification(None, {"model": "mlr, dnn:hidden=7"}, [])
    assert several.model.map == {"mlr": "mlr", "dnn:hidden=7": "dnn:hidden=7"}


@pytest.mark.parametrize(
    ("options", "settings", "said"),
    [
        ({}, ["rounds"], "^--set rounds is not understood: write --set section.key=value$"),
        ({"split": "dirichlett:1"}, [], "unknown partition 'dirichlett'.*dirichlet"),
        ({"split": "iid:3"}, [], "partition iid takes no parameter: write --split iid"),
        ({"method": "ditto:3"}, [], "--method ditto:3 is not understood: write ditto:key=value"),
        ({"method": "dito:3"}, [], "unknown method 'dito'.*ditto"),
        ({"method": "my.own:slow:3"}, [], "is not understood: write my.own:slow:key=value$"),
        ({"method": "ditto:slow"}, [], "--method ditto:slow is not understood: write ditto:key="),
        ({"model": "dnn:7"}, [], "--model dnn:7 is not understood: write dnn:key=value"),
        ({"public": "mnist:50,size=3"}, [], r"unknown key of \[public\] 'size'"),
    ],
)
def test_what_is_not_understood(options, settings, said) -> None:
    with pytest.raises(FedkinError, match=said):
        specification(None, options, settings)


def test_what_is_no_experiment(tmp_path) -> None:
    with pytest.raises(FedkinError, match=f"{tmp_path} is a folder: fedkin resume {tmp_path} goes"):
        specification(tmp_path, {}, [])
    with pytest.raises(FedkinError, match=r"a\.csv is no experiment but data: fedkin run --data"):
        specification(tmp_path / "a.csv", {}, [])
    with pytest.raises(FedkinError, match=r"fedkin run --data a\.csv:client=site"):
        specification(Path("a.csv:client=site"), {}, [])
    for typed in ("ditto", "ditto:lam=3", "Per-FedAvg", "my_methods:slower"):
        with pytest.raises(FedkinError, match=f"but a method: fedkin run --method {typed}"):
            specification(Path(typed), {}, [])
    (tmp_path / "ditto").write_text("")
    assert specification(tmp_path / "ditto", {}, [])[0].method.name == "finetune"


def test_advice_for_a_folder_works_as_it_stands(tmp_path: Path) -> None:
    folder = tmp_path / "my search"
    trial = folder / "0000-lr=0.1"
    trial.mkdir(parents=True)
    (trial / "run.db").touch()
    for file, said in (
        (folder, f"fedkin sweep '{trial}/experiment.toml' takes the experiment of a run"),
        (trial, f"fedkin sweep '{trial}/experiment.toml' takes the experiment of a run"),
        (folder, f"fedkin sweep --data '{folder}/' the files in it"),
        (folder / "a.csv", f"fedkin sweep --data '{folder}/a.csv'"),
    ):
        with pytest.raises(FedkinError, match=re.escape(said)):
            specification(file, {}, [], command="sweep")


@pytest.mark.parametrize("command", ["doctor", "sweep"])
def test_the_command_that_was_typed_is_named(command, tmp_path) -> None:
    for file, said in (
        (tmp_path, f"fedkin {command} {tmp_path}/experiment.toml takes the experiment of a run"),
        (tmp_path / "a.csv", f"fedkin {command} --data {tmp_path}/a.csv"),
    ):
        with pytest.raises(FedkinError, match=re.escape(said)):
            specification(file, {}, [], command=command)
        told = fedkin(command, file)
        assert told.exit_code == 2
        assert "fedkin run" not in told.output


def test_a_files_mistakes_are_told_before_the_options(file) -> None:
    file.write_text(FILE.replace("rounds = 9", 'rounds = "many"'))
    with pytest.raises(FedkinError, match=r"a\.toml.*line 12"):
        specification(file, {"rounds": 5}, [])
