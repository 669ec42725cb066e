"""``fedkin data check``: all faults of a file in one pass, one specification with all fixes, which
then is clean.
"""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from fedkin.cli.data import _clients
from fedkin.data.sources import load
from tests.cli.command import fedkin

ONE_STEP = (
    *("--rounds", "1", "--engine", "inprocess"),
    *("--set", "train.steps=1", "--method", "local"),
)


@pytest.fixture
def wards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table with eleven faults: nobody could train on it, and several would mislead."""
    rng = np.random.default_rng(1)
    monkeypatch.chdir(tmp_path)
    lines = ['id,ward no,age,crp,"blood ""type""",seen,discharge_date,status,unit,result']
    for i in range(400):
        age, ill = int(rng.integers(20, 90)), rng.random() < 0.4
        crp = "<5" if rng.random() < 0.1 else f"{rng.gamma(2, 10):.1f}"
        word = ("yes", "Yes ")[rng.random() < 0.2] if ill else "no"
        when = [f"2024-0{rng.integers(1, 9)}-1{rng.integers(0, 9)}" for _ in range(2)]
        cells = [
            1000 + i,
            f"W{i % 5}",
            -1 if i % 29 == 0 else age,
            crp,
            rng.choice(["A", "B", "b "]),
            *when,
        ]
        lines.append(
            ",".join(map(str, [*cells, "dead" if ill else "home", 5, "" if i == 77 else word]))
        )
    lines += [lines[9], "W9".join(lines[13].split("W2"))]
    path = tmp_path / "wards.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


CHECK = ("--client", "ward no", "--label", "reslt")


@pytest.mark.parametrize(("short", "fixed"), [(1, True), (3, False)])
def test_a_client_that_a_run_refuses_is_a_refusal_of_the_check(
    short: int, fixed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all are too small there is nothing to leave out."""
    monkeypatch.chdir(tmp_path)
    sizes = [1 if site < short else 30 for site in range(3)]
    rows = [f"s{site},{k},{k % 2}" for site, size in enumerate(sizes) for k in range(size)]
    Path("t.csv").write_text("\n".join(["site,x,y", *rows]))
    given = ("t.csv", "--client", "site", "--label", "y")
    done = fedkin("data", "check", *given, "--json")
    assert done.exit_code == 1
    (small,) = [p for p in json.loads(done.stdout)["problems"] if p["kind"] == "small client"]
    assert bool(small["fix"]) is fixed
    again = fedkin("data", "check", *given, "--set", "split.empty=drop")
    assert again.exit_code == (0 if fixed else 1)


def test_all_faults_come_in_one_pass_and_one_specification_mends_them(wards: Path) -> None:
    done = fedkin("data", "check", "wards.csv", *CHECK, "--fix", "fixed.toml", "--json")
    assert done.exit_code == 1, done.output
    problems = json.loads(done.stdout)["problems"]
    about = {(one["kind"], *one["columns"]) for one in problems}
    assert about >= {
        ("column", "result"),
        ("unlabeled", "result"),
        ("words among numbers", "crp"),
        ("constant", "unit"),
        ("date", "seen"),
        ("after the outcome", "discharge_date"),
        ("identifier", "id"),
        ("leak", "status"),
        ("sentinel", "age"),
        ("spelling", "result"),
        ("spelling", 'blood "type"'),
        ("duplicates",),
        ("small client",),
    }, about
    fixed = tomllib.loads(Path("fixed.toml").read_text())
    assert fixed["data"]["drop"] == ["unit", "seen", "discharge_date", "id", "status"]
    assert fixed["data"]["missing"] == {"crp": ["<5"], "age": [-1]}
    assert fixed["data"]["unify"] == ["result", 'blood "type"']
    assert fixed["split"]["empty"] == "drop"
    again = fedkin("data", "check", "fixed.toml", "--json")
    assert again.exit_code == 0, again.output
    left = json.loads(again.stdout)
    assert {one["kind"] for one in left["problems"]} <= {"small client", "one class", "duplicates"}
    assert [one["name"] for one in left["classes"]] == ["no", "yes"]
    assert {one["name"]: one["missing"] for one in left["columns"]}["age"] == 14
    assert fedkin("run", "fixed.toml", *ONE_STEP, "--out", "run").exit_code == 0
    asked = fedkin("predict", "run", "--client", "W1", "--data", "wards.csv")
    assert asked.exit_code == 0, asked.output
    assert "blood" not in asked.stderr, "its spellings are those of training"


def test_the_specification_says_why_beside_each_fix(wards: Path) -> None:
    fedkin("data", "check", "wards.csv", *CHECK, "--fix", "fixed.toml")
    text = Path("fixed.toml").read_text()
    assert "# Written by: fedkin data check wards.csv" in text
    lines = [line.strip() for line in text.splitlines()]
    before = lines[lines.index('"status",') - 1]
    assert before.startswith("#")
    assert "leave it out" in text
    assert max(map(len, lines)) <= 100


def test_a_file_with_notes_of_a_user_is_not_replaced(wards: Path) -> None:
    typed = ("data", "check", "wards.csv", *CHECK, "--fix", "fixed.toml")
    fedkin(*typed)
    before = Path("fixed.toml").read_text()
    assert "there already" not in fedkin(*typed).stderr, "it would be the same again"
    Path("fixed.toml").write_text(before + "# mine\n")
    again = fedkin(*typed)
    assert (again.exit_code, Path("fixed.toml").read_text()) == (2, before + "# mine\n")
    assert "fixed.toml is there already: choose another name with --fix" in again.stderr


def test_what_only_a_person_can_judge_stays_behind_a_sign(tmp_path: Path) -> None:
    rows = [f"{'abc'[i % 3]},{i % 7}.{i},{i * 7 % 60}" for i in range(600)] + ["d,1.5,3"] * 4
    (tmp_path / "t.csv").write_text("\n".join(["site,n,label", *rows]))
    fix = tmp_path / "fixed.toml"
    done = fedkin("data", "check", tmp_path / "t.csv", "--client", "site", "--fix", fix)
    assert "perhaps: the labels are" in done.stdout
    text = fix.read_text()
    assert '\n# task = "regression"\n' in text
    assert "\n# least = 25\n" in text
    content = tomllib.loads(text)
    assert "task" not in content["data"]
    assert "least" not in content.get("split", {})


def test_a_fault_without_a_fix_is_one_sentence_and_names_the_others(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("site;n;label\n" + "a;1;0\n" * 9 + ";1;0\n")
    done = fedkin("data", "check", tmp_path / "t.csv", "--client", "site")
    assert done.exit_code == 2
    assert "column 'site' is empty" in done.stderr
    assert "besides 1 fault with a fix" in done.stderr


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [
        (
            "7",
            "data.missing of a table must be a list of values or a table of lists of values, not 7",
        ),
        ("{m = [1]}", "unknown column of data.missing"),
        ("{n = 1}", "data.missing"),
    ],
)
def test_marks_for_nothing_that_are_none(missing: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("site,n,label\n" + "a,1,0\nb,2,1\n" * 9)
    done = fedkin(
        "data", "check", tmp_path / "t.csv", "--client", "site", "--set", f"data.missing={missing}"
    )
    assert done.exit_code == 2
    assert sentence in done.stderr, done.stderr


def test_clients_with_too_few_samples_to_judge_are_left_out(tmp_path: Path) -> None:
    rows = ["a,1.5,0", "b,2.5,1"] * 20 + ["c,3.5,1"] * 9
    (tmp_path / "t.csv").write_text("\n".join(["site,n,label", *rows]))
    keys = ("--data", f"{tmp_path / 't.csv'}:client=site", "--set", "split.least=10")
    done = fedkin("run", *keys, *ONE_STEP, "--out", tmp_path / "run")
    assert done.exit_code == 0, done.output
    left_out = "1 of 3 clients have fewer than 10 samples (split.least) and are left out, 9 rows: c"
    assert left_out in done.stderr


def test_cells_that_stand_for_nothing_and_spellings_of_one_thing(tmp_path: Path) -> None:
    rows = "a,-1,F,1\na,<5,f ,-1\nb,7,M,2\nb,8,m,3\n" * 3
    (tmp_path / "t.csv").write_text("site,n,sex,other,label\n" + rows.replace("\n", ",0\n"))
    source = load(str(tmp_path / "t.csv"), client="site", missing={"n": ["<5", -1]}, unify=["sex"])
    assert source.columns is not None
    assert [column.values for column in source.columns.columns] == [(), ("f", "m"), ()]
    np.testing.assert_array_equal(source.x[:4, 0], [np.nan, np.nan, 7, 8])
    np.testing.assert_array_equal(source.x[:4, 2], [1, -1, 2, 3])
    everywhere = load(str(tmp_path / "t.csv"), client="site", missing=["<5", -1])
    np.testing.assert_array_equal(everywhere.x[:4, 2], [1, np.nan, 2, 3])


def test_a_leak_is_told_before_a_run_and_by_the_doctor(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{'abc'[i % 3]},{rng.normal():.4f},{i * 7 % 2},{i * 7 % 2}" for i in range(200)]
    (tmp_path / "t.csv").write_text("\n".join(["site,n,copy,label", *rows]))
    data = ("--data", f"{tmp_path / 't.csv'}:client=site")
    done = fedkin("run", *data, *ONE_STEP, "--out", tmp_path / "run")
    assert "note: column 'copy' alone tells the label of 100.0 % of the rows" in done.stderr
    traps = json.loads(fedkin("doctor", *data, "--rounds", "0", "--json").stdout)["traps"]
    assert any("column 'copy' alone" in trap for trap in traps)


def test_clients_of_one_size_have_so_many_samples_each() -> None:
    known = {"first": ["a"], "smallest": 60, "largest": 60, "median": 60.0}
    assert _clients({**known, "count": 2}) == "2 (a, …); samples 60 each"
    assert _clients({**known, "count": 1}) == "1 (a); samples 60"
    several = {**known, "count": 2, "smallest": 5, "median": 32.5}
    assert _clients(several) == "2 (a, …); samples 5 to 60, median 32.5"


@pytest.fixture
def hospitals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of three hospitals' tables, one of which never saw a severe case."""
    monkeypatch.chdir(tmp_path)
    Path("all").mkdir()
    for name, outcomes in (("hill", "nms"), ("lake", "nms"), ("west", "nm")):
        rows = [f"{20 + at},{at % 7},{outcomes[at % len(outcomes)]}" for at in range(60)]
        Path("all", f"{name}.csv").write_text("\n".join(["age,bp,outcome", *rows]) + "\n")
    return Path("all")


def test_a_hospital_that_lacks_a_class_is_told(hospitals: Path) -> None:
    found = fedkin("data", "check", hospitals, "--label", "outcome")
    assert found.exit_code == 0
    assert "1 client has no sample at all of some class (west: no 's')" in found.output


def test_a_label_that_is_not_there_is_named_by_the_option_of_this_command(hospitals: Path) -> None:
    found = fedkin("data", "check", hospitals)
    assert found.exit_code == 2
    assert "all has no label column 'label': name it with --label COLUMN" in found.output
    assert "(columns: age, bp, outcome)" in found.output  # "client" is in no file
