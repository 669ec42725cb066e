"""What the commands do when all is well: precedence, short forms, listings, plain
progress, JSON.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedkin.cli.listing import kept_list
from fedkin.cli.listing.kept_list import kept
from fedkin.core.errors import FedkinError
from fedkin.experiment.progress import clock
from fedkin.runs.spec import Spec
from fedkin.setup.arguments.options import short_form, specification
from tests.cli.command import SMALL, fedkin, ran, without_record
from tests.report.records_for_tests import write


def spec_of(file: Path | None = None, *settings: str, **options: Any) -> tuple[Spec, list[str]]:
    return specification(file, options, settings)


def test_a_run_says_where_everything_is(tmp_path: Path) -> None:
    out = tmp_path / "my run"
    result = fedkin("run", *SMALL, "--out", out)
    assert result.exit_code == 0, result.output
    assert (out / "report.html").is_file()
    assert str(out / "report.html") in result.stdout
    assert f"fedkin show '{out}'" in result.stdout
    assert re.search(
        r"personal accuracy \d+\.\d\d % \(test, mean of 5 clients\), 95 % interval "
        r"\d+\.\d\d … \d+\.\d\d %; worst decile \d+\.\d\d % \(on \d+ test rows\)$",
        result.stdout,
        re.MULTILINE,
    )


def test_progress_is_plain_lines_where_there_is_no_terminal(tmp_path: Path) -> None:
    result = fedkin(
        "run",
        *SMALL,
        "--rounds",
        30,
        "--split",
        "dirichlet:0.5",
        "--model",
        "mlr",
        "--out",
        tmp_path / "run",
    )
    lines = result.stdout.splitlines()
    assert (
        lines[0] == "fedavg · digits · dirichlet alpha=0.5 · mlr · 5 clients · 30 rounds · seed 0"
    )
    rounds = [line for line in lines if line.startswith("round ")]
    assert rounds[0].startswith("round 1/30  accuracy ")
    assert rounds[-1].startswith("round 30/30  accuracy ")
    assert len(rounds) < 15  # at most one a second between the first and the last
    assert "\x1b" not in result.stdout


def test_show_json_has_the_numbers(tmp_path: Path) -> None:
    found = ran(tmp_path / "run", "--seed", 3)
    assert (found["method"], found["seed"], found["clients"], found["rounds"]) == (
        "fedavg",
        3,
        5,
        2,
    )
    for view in ("personal", "global"):
        for pick in ("final", "best_by_validation", "best_on_test"):
            assert {"mean", "weighted", "std", "worst_decile"} <= found["accuracy"][view][
                pick
            ].keys()
    for rule in ("paper", "unicast"):
        assert {"up", "down"} <= found["communication"][rule]["bytes"].keys()
    assert re.fullmatch("[0-9a-f]{64}", found["fingerprint"])
    assert fedkin("show", tmp_path / "run").exit_code == 0


def test_compare_prints_a_table_or_json(tmp_path: Path) -> None:
    for seed in (1, 2):
        ran(tmp_path / f"seed{seed}", "--seed", seed)
    folders = [tmp_path / "seed1", tmp_path / "seed2"]
    rows = json.loads(fedkin("compare", *folders, "--json").stdout)["runs"]
    assert [row["run"] for row in rows] == ["seed1", "seed2"]
    assert rows[0]["helped"] is None  # nan is no JSON
    assert "seed2" in fedkin("compare", *folders).stdout


def test_compare_of_what_is_no_run_is_a_mistake(tmp_path: Path) -> None:
    ran(tmp_path / "run")
    (tmp_path / "empty").mkdir()
    for name, reason in (("gone", "does not exist"), ("empty", "is not a run directory")):
        result = fedkin("compare", tmp_path / "run", tmp_path / name)
        assert result.exit_code == 2
        assert f"{tmp_path / name} {reason}" in result.stderr
    (tmp_path / "run" / "run.db").write_bytes(b"broken")
    result = fedkin("compare", tmp_path / "run")
    assert result.exit_code == 0
    assert "damaged" in result.stdout


def test_report_prints_where_the_page_is(tmp_path: Path) -> None:
    ran(tmp_path / "run")
    (tmp_path / "run" / "report.html").unlink()
    assert fedkin("report", tmp_path / "run").stdout.strip() == str(
        tmp_path / "run" / "report.html"
    )
    assert (tmp_path / "run" / "report.html").is_file()


def test_a_finished_run_is_left_as_it_is(tmp_path: Path) -> None:
    before = ran(tmp_path / "run")
    result = fedkin("resume", tmp_path / "run")
    assert result.exit_code == 0, result.output
    assert "is finished" in result.stdout
    printed = json.loads(fedkin("resume", tmp_path / "run", "--json").stdout)
    assert printed.items() >= before.items()
    assert set(printed) - set(before) == {"folder", "report"}
    assert json.loads(fedkin("show", tmp_path / "run", "--json").stdout) == before


def test_a_run_without_a_record_yet_is_resumed(tmp_path: Path) -> None:
    """Killed between its first two files."""
    before = ran(tmp_path / "run")
    without_record(tmp_path / "run")
    assert "fedkin resume" in fedkin("run", *SMALL, "--out", tmp_path / "run").stderr
    result = fedkin("resume", tmp_path / "run")
    assert result.exit_code == 0, result.output
    assert (
        json.loads(fedkin("show", tmp_path / "run", "--json").stdout)["fingerprint"]
        == before["fingerprint"]
    )


def test_methods_and_data_as_json_and_text(tmp_path: Path) -> None:
    methods = {one["name"]: one for one in json.loads(fedkin("methods", "--json").stdout)}
    assert "fedavg" in methods
    assert methods["fedavg"]["needs"]["one_architecture"] is True
    validating = [
        name for name, one in methods.items() if one["needs"] and one["needs"]["validation"]
    ]
    assert validating == ["fedfomo", "knn_per", "persfl"]
    np.savez(tmp_path / "mine.npz", x=np.zeros((4, 2), np.float32), y=np.array([0, 1, 0, 1]))
    found = json.loads(fedkin("data", "--data-dir", tmp_path, "--json").stdout)
    present = {one["name"]: one["present"] for one in found["data"]}
    assert present["digits"]
    assert present["mine"]
    assert not present["mnist"]
    assert {one["name"]: one["parameters"] for one in found["partitions"]}["dirichlet"][
        "alpha"
    ] == 0.1
    told = fedkin("methods").stdout
    assert "fedavg" in told
    assert " ".join(told.split()).count("validation samples at every client") == len(validating)
    assert (
        "put mnist.npz or the four IDX files into" in fedkin("data", "--data-dir", tmp_path).stdout
    )


def test_without_a_command_the_help_is_shown() -> None:
    for arguments in ([], ["--help"], ["run", "--help"]):
        result = fedkin(*arguments)
        assert result.exit_code == 0
        assert "Usage" in result.stdout
    assert fedkin("--version").stdout.startswith("fedkin 0.")


def test_options_and_settings_win_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "spec.toml"
    file.write_text("[run]\nrounds = 7\nclients = 9\nseed = 5\n[train]\nlr = 0.3\n")
    spec, hints = spec_of(file, "run.rounds=9", clients=4)
    assert (spec.run.rounds, spec.run.clients, spec.run.seed, spec.train.lr) == (9, 4, 5, 0.3)
    assert hints == []


def test_what_the_file_gave_to_another_choice_is_dropped_with_a_hint(tmp_path: Path) -> None:
    file = tmp_path / "spec.toml"
    file.write_text(
        "[method]\nname='comet'\nlam=3.0\n[split]\nname='two_class'\nlow=30\ntrain=0.5\n[model.map]\na='mlr'\n"
    )
    spec, hints = spec_of(file, "method.lam=7", method="pfedme", split="dirichlet:0.5", model="dnn")
    assert (spec.method.name, spec.method.options) == ("pfedme", {"lam": 7})
    assert (spec.split.name, spec.split.options, spec.split.train) == (
        "dirichlet",
        {"alpha": 0.5},
        0.5,
    )
    assert (spec.model.name, spec.model.map) == ("dnn", {})
    assert hints == [
        "[method] lam of the file went with 'comet': not used for 'pfedme'",
        "[split] low of the file went with 'two_class': not used for 'dirichlet'",
    ]
    same, hints = spec_of(file, method="perfed-ckt")  # another name of the same method
    assert same.method.options == {"lam": 3.0}
    assert hints == []


def test_short_forms() -> None:
    spec, _ = spec_of(
        split="label_groups:groups=[3, 3, 2, 2],train=0.8,test=0.1",
        method="comet:clusters=4,lam=0.5",
        model="dnn:hidden=32",
        public="held-out:200",
        engine="processes:2",
        data="synthetic_mixture:clients=30,dim=5",
    )
    assert (spec.split.options, spec.split.train) == ({"groups": [3, 3, 2, 2]}, 0.8)
    assert spec.method.options == {"clusters": 4, "lam": 0.5}
    assert (spec.model.name, spec.model.options) == ("dnn", {"hidden": 32})
    assert (spec.public.source, spec.public.samples) == ("held-out", 200)
    assert (spec.engine.name, spec.engine.workers) == ("processes", 2)
    assert (spec.data.name, spec.data.options) == ("synthetic_mixture", {"clients": 30, "dim": 5})
    assert spec_of(model="my.package:Net")[0].model.name == "my.package:Net"
    assert spec_of(model="mlr,my.package:Net")[0].model.map == {
        "mlr": "mlr",
        "my.package:Net": "my.package:Net",
    }
    assert spec_of(None, "split=dirichlet:0.2")[0].split.options == {"alpha": 0.2}
    assert spec_of(None, "run.out=2026-01-01")[0].run.out == "2026-01-01"
    with pytest.raises(FedkinError, match="write name:value"):
        short_form("a:", lambda name: "x")


def test_the_usual_names_are_taken_with_a_hint(tmp_path: Path) -> None:
    file = tmp_path / "spec.toml"
    file.write_text("num_clients = 6\njoin_ratio = 0.5\n")
    result = fedkin(
        "run",
        file,
        *SMALL[:2],
        "--method",
        "fedavg",
        "--set",
        "global_rounds=1",
        "--out",
        tmp_path / "run",
    )
    assert result.exit_code == 0, result.output
    hints = [line for line in result.stderr.splitlines() if line.startswith("hint: ")]
    assert hints == [
        "hint: num_clients is called run.clients here",
        "hint: join_ratio is called run.participation here",
        "hint: global_rounds is called run.rounds here",
    ]


def test_what_a_run_wrote_runs_again_to_the_same_result(tmp_path: Path) -> None:
    first = ran(tmp_path / "first", "--seed", 4)
    result = fedkin("run", tmp_path / "first" / "experiment.toml", "--out", tmp_path / "second")
    assert result.exit_code == 0, result.output
    assert (
        json.loads(fedkin("show", tmp_path / "second", "--json").stdout)["fingerprint"]
        == first["fingerprint"]
    )


def test_seconds_for_people() -> None:
    assert [clock(s) for s in (0.0123, 7.44, 42.4, 59.7, 95, 7300)] == [
        "0.012 s",
        "7.4 s",
        "42 s",
        "1 min 00 s",
        "1 min 35 s",
        "2 h 01 min",
    ]


def test_lists_are_kept_until_a_source_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made: list[int] = []

    def make() -> list[int]:
        made.append(1)
        return [3, 5]

    assert [kept("few", make), kept("few", make), len(made)] == [[3, 5], [3, 5], 1]
    (file,) = tmp_path.glob("fedkin/lists/few-*.json")
    file.write_text('["cut o')
    assert (kept("few", make), len(made)) == ([3, 5], 2)  # a damaged one is made again
    monkeypatch.setattr(kept_list, "SOURCES", ("runs",))  # other sources than it was made of
    assert (kept("few", make), len(made)) == ([3, 5], 3)
    assert len(list(tmp_path.glob("fedkin/lists/few-*.json"))) == 1
    monkeypatch.setattr(kept_list, "installed", lambda group: ["another package's"])
    assert (kept("few", make), len(made)) == ([3, 5], 4)


@pytest.mark.parametrize(
    "words", [["show", "run"], ["data"], ["methods"], ["compare", "run", "alone"]]
)
def test_what_trains_nothing_loads_little(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They answer at once: no torch, and nothing else that takes longer to load than they take."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write(tmp_path / "run")
    write(tmp_path / "alone", method="local")  # paired with it: a test of their differences
    assert fedkin("methods").exit_code == 0  # its list is kept from here on
    code = (
        "import sys; from fedkin.cli.app import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "slow = {'torch', 'pandas', 'pyarrow', 'scipy', 'sklearn', 'altair', 'optuna'}\n"
        "assert not slow & {*sys.modules}, slow & {*sys.modules}"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words, "--quiet"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) > 3
