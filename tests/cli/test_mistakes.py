"""Every mistake on the command line: one sentence that names it and the nearest valid choice, exit
code 2.
"""

import os
import sqlite3
from pathlib import Path

import pytest

from tests.cli.command import SMALL, fedkin, ran, told

MISTAKES = [
    (["--out", ""], "--out is empty: name a folder or a file, or leave --out away"),
    (["--out="], "--out is empty: name a folder or a file, or leave --out away"),
    (["--data", str(Path(__file__))], "test_mistakes.py is of no kind that fedkin reads (.npz, "),
    (["--method", "fedavgg"], "unknown method 'fedavgg': did you mean 'fedavg'?"),
    (["--method", "comet:cluster=4"], "'cluster': did you mean 'clusters'?"),
    (["--set", "method.lamm=1", "--method", "comet"], "'lamm': did you mean 'lam'?"),
    (["--set", "train.gamma=1"], "unknown key 'train.gamma' (choices: batch_size"),
    (["--set", "privacy.epsilon=8"], "a target stands in noise = { epsilon = 8, delta = 1e-5 }"),
    (["--set", "run.rounds=true"], "run.rounds: it must be a number, not True"),
    (["--set", "train.lr=false"], "train.lr: it must be a number, not False"),
    (
        ["--clients", "3", "--set", "num_clients=4"],
        "--clients 3 and --set num_clients=4 both give run.clients: leave one of them out",
    ),
    (["--data", "digit"], "unknown data set 'digit': did you mean 'digits'?"),
    (["--data", "missing.csv"], "file missing.csv does not exist"),
    (["--data", "mnist"], "put mnist.npz into the data folder"),
    (["--data-dir", "/nowhere/at/all"], "/nowhere/at/all, which is not a folder"),
    (["--model", "mrl"], "unknown model 'mrl': did you mean 'mlr'?"),
    (
        ["--set", "model.hidden=0"],
        "model.hidden of dnn is a whole number from 1 on, not 0: its default is 128",
    ),
    (["--model", "dnn:hidden=1.5"], "model.hidden of dnn is a whole number from 1 on, not 1.5"),
    (["--model", "no.such.module:Net"], "model 'no.such.module:Net' cannot be imported"),
    (
        ["--model", "json:JSONDecoder"],
        "model 'json:JSONDecoder' is not called: it is not a class of a torch.nn.Module",
    ),
    (["--split", "dirichlett:0.1"], "unknown partition 'dirichlett': did you mean 'dirichlet'?"),
    (["--split", "dirichlett"], "unknown partition 'dirichlett': did you mean 'dirichlet'?"),
    (["--split", "dirichlet:alhpa=0.1"], "'alhpa': did you mean 'alpha'?"),
    (["--split", "iid:3"], "partition iid takes no parameter"),
    (["--split", "dirichlet:0.1,5"], "write name:value or name:key=value,key=value"),
    (["--split", "dirichlet:0"], "alpha=0 must be a number greater than 0"),
    (["--split", "dirichlet:-1"], "alpha=-1 must be a number greater than 0"),
    (["--split", "dirichlet:nan"], "split.alpha is NaN or infinity: give a finite number"),
    (
        ["--method", "fedprox:mu=inf"],
        "method.mu is NaN or infinity: give a finite number",
    ),
    (
        ["--method", "fedprox:mu=nan"],
        "method.mu is NaN or infinity: give a finite number",
    ),
    (
        ["--split", "label_groups:3"],
        "split.groups of label_groups must be a list of whole numbers or a list of lists of "
        "whole numbers, not 3: its "
        "default is [3, 3, 2, 2]",
    ),
    (
        ["--split", "shards:true"],
        "split.per_client of shards must be a whole number, not True: its default is 2",
    ),
    (["--split", "natural"], "digits has no natural clients"),
    (
        ["--data", "synthetic_mixture:dim=1.5"],
        "data.dim of synthetic_mixture must be a whole number, not 1.5: its",
    ),
    (
        ["--data", "synthetic_mixture:clients=abc"],
        "data.clients of synthetic_mixture must be a whole number, not 'abc'",
    ),
    (
        ["--data", "linear_toy", "--set", "data.sigmas=5"],
        "must be a list of numbers, not 5: its default is [2.0, 5.0",
    ),
    (["--engine", "inproces"], "unknown value 'inproces': did you mean 'inprocess'?"),
    (
        ["--set", "model.target=standart"],
        "model.target: unknown value 'standart': did you mean 'standard'? (choices: auto, none, "
        "standard; or a list of numbers)",
    ),
    (["--public", "held-out:sample=3"], "'sample': did you mean 'samples'?"),
    (["--participation", "0"], "run.participation: input should be greater than 0"),
    (["--participation", "1.5"], "run.participation: input should be less than or equal to 1"),
    (["--participation", "nan"], "run.participation: input should be a finite number"),
    (["--clients", "0"], "run.clients: input should be greater than or equal to 1"),
    (["--clients", "5000", "--split", "iid"], "5000 clients cannot share 1797 samples"),
    (["--rounds", "0"], "run.rounds: input should be greater than or equal to 1"),
    (["--rounds", "many"], "nvalid value for '--rounds'"),
    (["--seed", "-1"], "run.seed: input should be greater than or equal to 0"),
    (["--workers", "0"], "engine.workers: input should be greater than or equal to 1"),
    (["--set", "train.lr=0"], "train.lr: input should be greater than 0"),
    (["--set", "train.epochs=2"], "train: give steps or epochs, not both"),
    (["--set", "train.stepps=2"], "unknown key 'train.stepps': did you mean 'steps'?"),
    (["--set", "trian.steps=2"], "unknown key 'trian': did you mean 'train'?"),
    (["--set", "train=2"], "train is a section"),
    (["--set", "train.lr"], "write --set section.key=value"),
    (["--num-clients", "4"], "--num-clients is called run.clients here"),
    (["--round", "4"], "--rounds"),
    (["--method", "comet", "--set", "method.clusters=9"], "9 clusters of 5 participants"),
    (["--method", "comet", "--public", "held-out:5000"], "public size=5000 is not possible"),
    (["--set", "model.map.a=mlr", "--set", "model.map.b=dnn"], "fedavg needs one architecture"),
]


@pytest.mark.parametrize(
    ("arguments", "sentence"), MISTAKES, ids=[" ".join(a) for a, _ in MISTAKES]
)
def test_a_wrong_option_is_told_in_one_sentence(
    arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FEDKIN_DATA", raising=False)
    out = tmp_path / "run"
    where = () if arguments[0].startswith("--out") else ("--out", out)
    assert sentence in told("run", *SMALL, *arguments, *where)
    assert not out.exists()  # nothing is left behind


TABLE = "age,site\n" + "1,north\n2,north\n3,north\n4,south\n"
TABLES = [
    (
        TABLE,
        ["--set", "data.encoding=1252"],
        "in quotes it is text, --set 'data.encoding=\"1252\"'",
    ),
    (
        TABLE,
        ["--set", "data.separator=1"],
        "data.separator of a table must be text, not 1: in quotes it is text",
    ),
    (
        TABLE,
        ["--set", "data.drop=[1, 2]"],
        "data.drop of a table must be text or a list of texts, not [1, 2]",
    ),
    (TABLE, [], "name it with --set data.label=COLUMN (columns: age, site)"),
    (TABLE.replace(",", ";"), [], "separated by ';'? fedkin reads commas"),
    (
        "b," + TABLE.replace("\n", "\n0,").removesuffix("0,"),
        [
            "--set",
            "data.label=age",
            "--set",
            "data.client=site",
            "--split",
            "natural",
            "--clients",
            "2",
        ],
        "client south has 1 sample, too few for train and val and test",
    ),
]


@pytest.mark.parametrize(
    ("content", "arguments", "sentence"), TABLES, ids=[sentence for _, _, sentence in TABLES]
)
def test_a_wrong_table_is_told_with_its_remedy(
    content: str, arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text(content)
    small = [*SMALL, "--data", tmp_path / "t.csv", "--out", tmp_path / "run"]
    said = told("run", *small, *arguments)
    assert sentence in said
    if "too few" in said:
        assert "--set split.empty=drop" in said


FILES = [
    ("[run]\nrounds = 3\nround = 4\n", "unknown key 'run.round' (line 3): did you mean 'rounds'?"),
    ("[run]\n\nrounds = 'many'\n", "run.rounds (line 3): input should be a valid integer"),
    ("[rnu]\nrounds = 3\n", "unknown key 'rnu' (line 1): did you mean 'run'?"),
    (
        "[engine]\nname = 'process'\n",
        "engine.name (line 2): unknown value 'process': did you mean 'processes'?",
    ),
    ("[train]\nsteps = 1\nepochs = 1\n", "train (line 1): give steps or epochs, not both"),
    ("[train]\nmilestones = [5, 'ten']\n", "train.milestones.1 (line 2)"),
    ("data = 'digits'\n", "data (line 1) is a section: write data.name = 'digits'"),
    ("[run]\nrounds = \n", "is not valid TOML"),
    ("[run]\nrounds = 3\nrounds = 4\n", "at line 3"),
]


@pytest.mark.parametrize(("content", "sentence"), FILES, ids=[sentence for _, sentence in FILES])
def test_a_wrong_file_is_told_with_its_line(content: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "spec.toml"
    file.write_text(content)
    # the options would hide the mistake, if the file were not checked by itself
    said = told("run", file, *SMALL, "--out", tmp_path / "run")
    assert sentence in said
    assert str(file) in said


def test_a_wrong_option_is_not_told_with_the_line_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text("[run]\nrounds = 3\n")
    said = told("run", tmp_path / "spec.toml", "--rounds", "0")
    assert said.startswith("command line: run.rounds: ")


def test_files_and_folders_that_do_not_fit(tmp_path: Path) -> None:
    assert "absent.toml does not exist: check the path" in told("run", tmp_path / "absent.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    assert "cannot be read: it is no text, so no experiment" in told("run", tmp_path / "bytes.toml")
    (tmp_path / "t.csv").write_text("a,label\n1,0\n")
    assert f"is no experiment but data: fedkin run --data {tmp_path / 't.csv'}" in told(
        "run", tmp_path / "t.csv"
    )
    (tmp_path / "full").mkdir()
    assert "is a folder: fedkin resume" in told("run", tmp_path / "full")
    (tmp_path / "full" / "thesis.txt").write_text("do not touch")
    said = told("run", *SMALL, "--out", tmp_path / "full")
    assert "exists and is not empty" in said
    assert os.listdir(tmp_path / "full") == ["thesis.txt"]
    assert "cannot be made" in told(
        "run", *SMALL, "--out", tmp_path / "full" / "thesis.txt" / "run"
    )
    for command in ("show", "resume", "report"):
        assert "is not a run directory" in told(command, tmp_path / "full")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_directory_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    assert "cannot be made" in told("run", *SMALL, "--out", tmp_path / "locked" / "run")


def test_a_run_of_another_version_is_refused_with_the_reason(tmp_path: Path) -> None:
    ran(tmp_path / "run")
    with sqlite3.connect(tmp_path / "run" / "run.db") as database:
        database.execute("UPDATE facts SET value = '99' WHERE name = 'version'")
    for command in ("show", "resume", "report"):
        assert "was written in version 99 of the run format" in told(command, tmp_path / "run")


def test_an_unknown_command_names_the_nearest() -> None:
    assert "rnu" in told("rnu")
    assert "DIR" in told("show")


def test_a_bug_is_not_dressed_as_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("fedkin.cli.listing.methods.methods", broken)
    with pytest.raises(ZeroDivisionError):
        fedkin("methods")
